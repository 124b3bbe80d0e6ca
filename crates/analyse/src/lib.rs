//! TCP capture analysis: verdicts on retransmissions and timeouts, causes of idle time, evidence.
//!
//! Packets that were seen go in, connections with verdicts come out: which retransmission was needed, which timeout
//! spurious, what the sender waited for, and how each is known.
//!
//! Nothing here reads a file or knows a clock: whoever reads a capture makes an [`Observation`] of every TCP
//! segment and hands it to an [`Analyser`]. Memory hangs on the connections that are open and on what went wrong in
//! them, not on the number of packets.
//!
//! | question | file |
//! |---|---|
//! | what was seen of a packet | `observation` |
//! | did the capture take it twice | `twice` |
//! | whose is it | `table`, `connection` |
//! | what was sent, what came back | `direction`, `answer`, `digest`, `copies`, `ranges` |
//! | why was it sent again | `reason` |
//! | was that needed, and how is it known | `judge` |
//! | what of that follows from the order of packets alone | `plain` |
//! | which course of events explains all of it best | `replay`, `lattice`, `mirror` |
//! | round trips, the receiver's clock, where the capture stands | `rtt`, `clockwork`, `place` |
//! | what held the sender up | `idle` |
//! | what follows for the whole connection | `outcome`, `fault`, `profile`, `fairness` |
//! | what does a capture of the other end add | `join` |
//! | what happened in the layers below meanwhile, and what it cost | `below`, `episode` |
//! | associations of SCTP | `association` |
//! | all of it in three sentences | `story` |

mod answer;
pub mod association;
mod believed;
pub mod below;
mod chances;
mod clockwork;
mod connection;
mod copies;
mod course;
mod digest;
mod direction;
pub mod episode;
pub mod fairness;
pub mod fault;
pub mod flow;
mod habits;
pub mod idle;
pub mod join;
mod judge;
mod keep;
mod lattice;
mod mirror;
mod numbers;
mod observation;
mod outcome;
mod pace;
mod past;
mod pieces;
pub mod place;
mod plain;
pub mod profile;
mod ranges;
pub mod reason;
mod replay;
mod rtt;
mod skip;
pub mod story;
mod table;
mod twice;

pub use copies::Evidence;
pub use flow::{Flow, Kind, Way};
pub use judge::Need;
pub use keep::Keep;
pub use observation::{Endpoint, Observation};
pub use reason::Reason;
pub use rtt::RttSummary;
pub use table::Analyser;
