//! Hosts: the elements that hold a transport endpoint and its application, and give every packet its head.
//! Only this crate depends on both path and transport.

mod codec;
mod datagram;
mod deadlines;
mod dispatch;
mod door;
mod echo;
mod end;
mod host;
mod machine;
mod macroflow;
mod manager;
mod outlet;
mod party;
mod remote;
mod said;
mod wire;

pub use self::codec::{ADDRESSES, CodecConfig, WireCodec, path_address};
pub use self::datagram::{DatagramConfig, Hearer, Speaker};
pub use self::deadlines::Deadlines;
pub use self::door::{Door, DoorConfig, Gate, Told};
pub use self::echo::{EchoClient, EchoServer};
pub use self::end::{AnyEnd, EndReport, FlowEnd, end, finished, keep_packets, report, take_packets};
pub use self::host::{Host, HostConfig, HostCounters};
pub use self::machine::{Machine, MachineCounters};
pub use self::macroflow::{GRANTS, Granter, Membership};
pub use self::manager::{Listed, Managed, ManagedFlow, Manager};
pub use self::outlet::Leaving;
pub use self::party::Party;
pub use self::remote::{Order, Remote, Standing};
pub use self::said::Said;
pub use self::wire::{Wire, WireConfig, WireCounters};
