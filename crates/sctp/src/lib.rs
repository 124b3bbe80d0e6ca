//! SCTP: the Stream Control Transmission Protocol (RFC 9260) as a pure state machine, with partial reliability (RFC 3758).
//!
//! Modules are named after the protocol's nouns: [`chunk`] (contents and bytes of a packet), [`association`] (one end,
//! from INIT to SHUTDOWN COMPLETE), [`stream`] (messages, their order and reassembly) and [`path`] (a destination
//! address with its window, timer and heartbeats). [`wire`] serves ends whose peer is a real stack. The retransmission
//! timer is the one that TCP's sender uses (`transport::recovery::rto`).
//!
//! Departures: transmission sequence numbers are 64-bit offsets from the initial one and wrap only on the wire; payload bytes
//! are counted, not carried; there is no authentication (RFC 4895) and no change of addresses (RFC 5061).

pub mod association;
pub mod chunk;
pub mod config;
pub mod path;
pub mod stream;
pub mod wire;

pub use association::Association;
pub use chunk::Packet;
pub use config::Config;
