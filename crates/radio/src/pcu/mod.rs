//! Base station, mobiles and SGSN around a real PCU: GPRS bearers whose RLC/MAC on the network side is a
//! program.
//!
//! The caller starts the PCU (osmo-pcu of Osmocom) and carries its messages. [`Station`] produces the
//! messages for the PCU and handles its answers: PCUIF toward the base station ([`crate::wire::pcuif`]), NS
//! and BSSGP over UDP toward the SGSN ([`crate::wire::gb`]). Packets use the ports of a
//! [`crate::cell::Cell`].
//!
//! | file | subject |
//! |---|---|
//! | `config` | plain data; the PCU's own configuration |
//! | `station` | block periods of the base station |
//! | `phone` | a mobile: access, TBFs, reports, timers |
//! | `uplink`, `downlink` | the TBFs of a mobile |
//! | `changes` | changes of cell |
//! | `count` | radio use |
//! | `store` | packets as LLC frames of octets, and back |
//! | `gb` | network service, BSSGP, flow control |
//! | `element` | the network element |
//! | `tap` | messages in the format of captures |
//!
//! Departures: an uplink block reaches the PCU at the end of its block period. AGCH and PCH carry a message
//! after a fixed time ([`station::GRANT`], every [`station::PAGING`]). GPRS attach and context activation are
//! taken as done.

mod changes;
pub mod config;
mod count;
mod downlink;
pub mod element;
mod gb;
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
    /// Which interface.
    pub link: PcuInterface,
    /// Its octets.
    pub octets: Vec<u8>,
}
