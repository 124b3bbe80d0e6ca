//! Radio bearers of mobile networks: GPRS and EGPRS protocol layers, HSCSD, W-CDMA and cdma2000 bearers, a model cell,
//! cell reselection (3GPP TS 44.060, 44.064, 44.065, 45.002, 45.003, 48.018).
//!
//! Single bearers and networks of cells use the same protocol code. They differ in the block error model, which the
//! caller supplies together with clock and random numbers.
//!
//! | part | type | role of the caller |
//! |---|---|---|
//! | coding schemes | [`coding::Scheme`], [`coding::Properties`] | nothing: data |
//! | retransmission schemes of EGPRS | [`family::again`], [`family::pairs`] | nothing: [`rlc::send::Sender::next`] applies them |
//! | sender of a TBF | [`rlc::send::Sender`] | `feed.push(octets, token)` for each LLC PDU; once per block period and timeslot `next(tick, scheme, preempt)` returns a [`rlc::send::RadioBlock`]; `on_report` when a report arrives |
//! | receiver of a TBF | [`rlc::receive::Receiver`] | `take(bsn, part, last)` for each RLC block that is decoded, then `sender.feed.deliver(taken.complete, ..)` delivers complete PDUs in order; `report()` when a report is due |
//! | report policy | [`rlc::poll::Poller`] | `block(gap, force)` for each block sent (downlink) or received (uplink) |
//! | countdown, multislot classes, round robin of a timeslot | [`mac`] | calls the functions |
//! | cell with a real PCU (osmo-pcu) | [`pcu::Station`] | transfers messages between the station and the program |
//! | time base | [`tdma`] | one step each [`tdma::BLOCK`] of 20 ms; a [`tdma::Tick`] is the number of the step |
//! | timers, counters, limits | [`parameters`] | reads the table or a preset |
//!
//! **Link quality.** A [`rlc::send::Unit`] has block number, part, attempt and the scheme that determines its content.
//! Together with the radio block's scheme these are all inputs of a link model. Incremental redundancy is a task of
//! the caller: index the soft memory by `bsn`, and clear it when [`rlc::receive::Receiver::has`]
//! becomes true or the TBF ends. [`family::combines`] tests whether two transmissions can be combined.
//!
//! **Consecutive TBFs.** The LLC queue is a part of the sender and remains after the end of a TBF. `restart(numbering, ..)`
//! begins with block 0 and segments unacknowledged PDUs again; the caller creates a new receiver. A PDU that was
//! delivered before and is segmented again is not delivered twice; `restart` reports its token, for the duplicate that LLC has
//! to discard.
//!
//! ```
//! use radio::coding::Scheme;
//! use radio::rlc::{Mode, Numbering, receive::Receiver, send::{SendOptions, Sender}};
//!
//! let mut sender = Sender::new(Numbering::GPRS, Mode::Acknowledged, SendOptions::default());
//! let mut receiver = Receiver::new(Numbering::GPRS, Mode::Acknowledged, false);
//! sender.feed.push(1510, "a packet");
//! let mut tick = 0;
//! while receiver.vq() < 51 {
//!     let block = sender.next(tick, Scheme::Cs2, true).expect("there is something to send");
//!     let arrives = tick % 10 != 3;
//!     for unit in block.units().filter(|_| arrives) {
//!         let taken = receiver.take(unit.bsn, unit.part, unit.last);
//!         sender.feed.deliver(taken.complete, |pdu| assert_eq!(pdu, "a packet"));
//!     }
//!     if tick % 20 == 19 {
//!         sender.on_report(&receiver.report(), tick);
//!     }
//!     tick += 1;
//! }
//! ```

pub mod bssgp;
pub mod cell;
pub mod coding;
mod crowd;
pub mod family;
pub mod framed;
pub mod llc;
pub mod mac;
pub mod mobility;
pub mod parameters;
pub mod pcu;
pub mod quality;
pub mod rlc;
pub mod tdma;
pub mod timeline;
pub mod wire;
