//! Analysis of TCP, SCTP and UDP captures: verdicts on retransmissions and timeouts, causes of idle time, RTT,
//! faults and a diagnosis for each connection.
//!
//! Input: observed packets. Output: connections; each verdict (needed or unneeded retransmission, spurious timeout)
//! has its evidence.
//!
//! The crate does no I/O and reads no clock. The caller turns each TCP segment of a capture into an
//! [`Observation`] for an [`Analyser`]. Memory grows with open connections and their episodes, not with
//! packets.
//!
//! | part | content |
//! |---|---|
//! | `association` | SCTP associations: retransmitted chunks, timeouts, gap reports |
//! | `datagram` | UDP flows: rate, gaps, silences; spin bit of QUIC |
//! | `intake` | observations, duplicate frames of the capture, the capture point |
//! | `connection` | connections by four-tuple, with two directions each |
//! | `direction` | one direction of a connection: data segments, their ACKs, idle time, outcome |
//! | `facts` | send log, ACK facts, RTT, receiver clock, trigger of a retransmission |
//! | `verdict` | needed or unneeded: in-order delivery, fates of copies |
//! | `hypotheses` | event courses that explain an episode: HMM search, receiver model, transitions, ACK timing |
//! | `findings` | report: timeouts, idle causes, faults, lower-layer events, join of two captures, diagnosis |

pub mod association;
mod connection;
pub mod datagram;
mod direction;
mod facts;
mod findings;
mod hypotheses;
mod intake;
mod verdict;

pub use connection::table::Analyser;
pub use facts::copies::Evidence;
pub use facts::reason::{self, Reason};
pub use facts::rtt::RttSummary;
pub use findings::flow::{Flow, FlowDirection, RecoveryVerdict};
pub use findings::{choice, episode, fairness, fault, flow, idle, join, lower_layers, profile, story};
pub use intake::capture_point;
pub use intake::limits::Limits;
pub use intake::observation::{Endpoint, Observation, observe};
pub use verdict::Need;
