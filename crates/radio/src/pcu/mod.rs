//! Cell with a real PCU: model of base station, mobiles and SGSN for GPRS bearers whose network-side RLC/MAC is a
//! program (osmo-pcu).
//!
//! The caller starts the PCU and transfers its messages. [`Station`] produces the
//! messages for the PCU and processes its answers: PCUIF toward the base station ([`crate::wire::pcuif`]), NS
//! and BSSGP over UDP toward the SGSN ([`crate::wire::gb`]). Packets use the ports of a
//! [`crate::cell::Cell`].
//!
//! | file | subject |
//! |---|---|
//! | `config` | configuration as plain data; configuration file of the PCU |
//! | `station` | block periods of the base station |
//! | `phone` | a mobile: access, TBFs, reports, timers |
//! | `uplink`, `downlink` | uplink and downlink TBF of a mobile |
//! | `changes` | cell changes |
//! | `area` | routing area update |
//! | `count` | counters of radio use |
//! | `link` | LLC in acknowledged mode |
//! | `store` | packets as octets of LLC frames, and reassembly |
//! | `gb` | network service, BSSGP, flow control |
//! | `element` | the network element |
//! | `tap` | messages in the format of captures |
//!
//! Simplifications: an uplink block reaches the PCU at the end of its block period. AGCH and PCH carry a message
//! after a fixed time ([`station::GRANT`], every [`station::PAGING`]). GPRS attach and PDP context activation are
//! assumed to be complete.

mod area;
mod changes;
pub mod config;
mod count;
mod downlink;
pub mod element;
mod gb;
mod link;
mod phone;
pub mod station;
mod store;
pub mod tap;
mod uplink;

pub use station::{Counts, Station};

/// An interface of the PCU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PcuInterface {
    /// PCUIF, toward the base station.
    Station,
    /// Datagrams of the network service, toward the SGSN.
    Gb,
}

/// A message on an interface of the PCU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Interface of the message.
    pub link: PcuInterface,
    /// Octets of the message.
    pub octets: Vec<u8>,
}
