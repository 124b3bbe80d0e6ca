//! Radio bearers of GSM networks: channel coding, RLC, MAC, LLC, SNDCP, BSSGP, mobility (3GPP TS 44.060, 44.064,
//! 44.065, 45.002, 45.003, 48.018).
//!
//! One engine serves single bearers and networks of cells. They differ in the block error model, which
//! belongs to the caller, as do the clock and all randomness.
//!
//! | part | type | role of the caller |
//! |---|---|---|
//! | coding schemes | [`coding::Scheme`], [`coding::Properties`] | nothing: data |
//! | repeats of EGPRS | [`family::again`], [`family::pairs`] | nothing: [`rlc::send::Sender::next`] applies them |
//! | sending side of a TBF | [`rlc::send::Sender`] | `feed.push(octets, token)` for each LLC PDU; once a block period and timeslot `next(tick, scheme, preempt)` gives a [`rlc::send::RadioBlock`]; `on_report` when a report arrives |
//! | receiving side | [`rlc::receive::Receiver`] | `take(bsn, part, last)` for each RLC block that arrived, then `sender.feed.deliver(taken.complete, ..)` hands over whole PDUs in order; `report()` when one is due |
//! | when a report is due | [`rlc::poll::Poller`] | `block(gap, force)` for each block sent (downlink) or received (uplink) |
//! | countdown, multislot classes, round robin of a timeslot | [`mac`] | queries |
//! | a PCU that is a program | [`pcu::Station`] | exchanges messages with the program |
//! | time base | [`tdma`] | steps each [`tdma::BLOCK`] of 20 ms; a [`tdma::Tick`] is their number |
//! | timers, counters, limits | [`parameters`] | reads the table, or a preset |
//!
//! **Link quality.** A [`rlc::send::Unit`] has block number, part, attempt and the scheme that fixes its
//! content. With the radio block's scheme this is the whole input of a link model. Incremental redundancy
//! belongs to the caller: key the soft memory by `bsn`, and clear it when [`rlc::receive::Receiver::has`]
//! becomes true or the TBF ends. [`family::combines`] tests whether two transmissions can be combined.
//!
//! **Consecutive TBFs.** The LLC queue belongs to the sender and outlives TBFs. `restart(numbering, ..)`
//! begins with block 0 and segments unacknowledged PDUs again; the receiver is created anew. A PDU delivered
//! before and segmented again is not delivered twice; `restart` names it, which is the duplicate that LLC has
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
pub mod wire;
