//! Hosts and packet ports: elements of the path around transport endpoints with their applications, or at the
//! border to real stacks.
//!
//! Only this crate depends on both path and transport.

mod codec;
mod deadlines;
mod departures;
mod dispatch;
mod echo;
mod end;
mod external_sockets;
mod external_udp;
mod flow_port;
mod frame_port;
mod host;
mod macroflow;
mod manager;
mod multi_connection;
mod node_port;
mod port;
mod udp;

pub use self::codec::{ADDRESSES, CodecConfig, WireCodec, path_address};
pub use self::deadlines::Deadlines;
pub use self::departures::Departure;
pub use self::echo::{EchoClient, EchoServer};
pub use self::end::{AnyEnd, EndReport, FlowEnd, end, finished, keep_packets, report, take_packets};
pub use self::external_sockets::{ExternalSockets, SocketOrder, SocketState};
pub use self::external_udp::ExternalUdp;
pub use self::flow_port::{ExternalReport, FlowPort, FlowPortConfig};
pub use self::frame_port::{FramePort, FramePortConfig, FramePortCounters};
pub use self::host::{Host, HostConfig, HostCounters};
pub use self::macroflow::{GRANTS, Granter, Membership};
pub use self::manager::{Listed, Managed, ManagedFlow, Manager};
pub use self::multi_connection::MultiConnectionHost;
pub use self::node_port::{NodePort, NodePortCounters};
pub use self::port::{PacketPort, PortQueues};
pub use self::udp::{DatagramConfig, UdpSink, UdpSource};
