//! TCP-Friendly Rate Control (RFC 5348) and the Datagram Congestion Control Protocol (RFC 4340, 4341, 4342).

pub mod ackvec;
pub mod ccid;
pub mod connection;
pub mod flow;
pub mod packet;
pub mod tfrc;
pub mod wire;

pub use ccid::Ccid;
pub use connection::{Config, Connection};
pub use flow::{Flow, FlowConfig};
pub use packet::Dccp;
