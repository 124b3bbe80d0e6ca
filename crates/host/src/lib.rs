//! Where path and transport meet: the one element that holds an endpoint and its application, and
//! gives every packet its head. Nothing else knows both sides.

mod codec;
mod datagram;
mod dispatch;
mod door;
mod host;
mod machine;
mod outlet;
mod party;
mod remote;
mod said;
mod wire;

pub use self::codec::{ADDRESSES, CodecConfig, WireCodec};
pub use self::datagram::{DatagramConfig, Hearer, Speaker};
pub use self::door::{Door, DoorConfig, Gate, Told};
pub use self::host::{Host, HostConfig, HostCounters};
pub use self::machine::{Machine, MachineCounters};
pub use self::outlet::Leaving;
pub use self::party::Party;
pub use self::remote::{Order, Remote, Standing};
pub use self::said::Said;
pub use self::wire::{Wire, WireConfig, WireCounters};

use base::Time;
use path::{ElementId, Network};

/// When the workload at this end of a flow was done, if it was; none for an element that has no workload.
pub fn finished(network: &Network, end: ElementId) -> Option<Option<Time>> {
    if let Some(host) = network.element::<Host>(end) {
        return Some(host.finished());
    }
    if let Some(party) = network.element::<Party>(end) {
        return Some(party.workload().finished());
    }
    if let Some(remote) = network.element::<Remote>(end) {
        return Some(remote.workload().finished());
    }
    if let Some(said) = network.element::<Said>(end) {
        return Some(said.finished());
    }
    if let Some(speaker) = network.element::<Speaker>(end) {
        return Some(speaker.finished());
    }
    network.element::<Hearer>(end).map(Hearer::finished)
}
