//! SCTP: the Stream Control Transmission Protocol (RFC 9260) as a pure state machine, with partial reliability (RFC
//! 3758).
//!
//! Modules: [`chunk`] (content and bytes of a packet), [`association`] (one end, from INIT to SHUTDOWN
//! COMPLETE), [`stream`] (messages, their order and reassembly), [`path`] (a destination address with its
//! window, timer and heartbeats) and [`wire`] (codec for a peer that is a real stack). The retransmission
//! timer is shared with TCP (`transport::recovery::rto`).
//!
//! Departures: transmission sequence numbers are 64-bit offsets from the initial TSN and wrap only on the
//! wire; payload bytes are counted, not carried; there is no authentication (RFC 4895) and no dynamic address
//! reconfiguration (RFC 5061).

pub mod association;
pub mod chunk;
pub mod config;
pub mod path;
pub mod stream;
pub mod wire;

pub use association::Association;
pub use chunk::Packet;
pub use config::Config;
