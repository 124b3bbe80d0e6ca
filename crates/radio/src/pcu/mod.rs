//! Base station, mobiles and SGSN side around a PCU that is a program: GPRS bearers whose RLC/MAC of the network is real.
//!
//! The PCU (osmo-pcu of Osmocom) is started and spoken to elsewhere. [`Station`] says what it is told and takes what
//! it answers: PCUIF toward the base station ([`crate::wire::pcuif`]), NS and BSSGP over UDP toward the SGSN
//! ([`crate::wire::gb`]). Packets come in and go out as of a [`crate::cell::Cell`], by the same ports.
//!
//! | file | subject |
//! |---|---|
//! | `config` | plain data; the PCU's own configuration |
//! | `station` | block periods of the base station |
//! | `phone` | a mobile: access, TBFs, reports, timers |
//! | `uplink`, `downlink` | the TBFs of a mobile |
//! | `store` | packets as LLC frames of octets, and back |
//! | `gb` | network service, BSSGP, flow control |
//! | `element` | the network element |
//! | `tap` | messages as captures have them |
//!
//! Departures: an uplink block reaches the PCU when its block period is over. AGCH and PCH carry a message after a
//! fixed time ([`station::GRANT`], every [`station::PAGING`]); what precedes a context (attach) is done.

pub mod config;
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
pub enum Link {
    /// PCUIF, toward the base station.
    Station,
    /// Datagrams of the network service, toward the SGSN.
    Gb,
}

/// A message on an interface of the PCU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Which interface.
    pub link: Link,
    /// Its octets.
    pub octets: Vec<u8>,
}
