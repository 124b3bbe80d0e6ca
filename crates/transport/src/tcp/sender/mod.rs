//! TCP sender ([`Sender`]): send variables, loss recovery, detection of and response to spurious retransmissions,
//! and the congestion state saved at a timeout.
//!
//! [`Tcb`] contains the send variables and the actions on them, [`Strategy`] detects and repairs losses, and
//! [`Responder`] responds to a spurious timeout. Strategy and responder do not use each other.
//!
//! Processing of an ACK: **digest** → **RTT sample** → **verdict** of the spurious detector → **response** (if
//! spurious: restores the window, continues with unsent data) → **recovery** (losses, transmission) → timer. Stream offsets
//! are 64 bits: the SYN is 0, data start at 1, a FIN follows the data.

mod ack;
mod ack_digest;
mod dupack_hint;
mod duplicates;
mod ecn_echo;
mod feedback;
mod macroflow;
mod pacing;
mod path_mtu;
mod persist;
mod recovery_actions;
mod rtt_probe;
mod sequence;
mod spurious_judgement;
mod spurious_response;
mod tcb;
mod tcb_sharing;
mod timeout;
mod timers;
mod trace;
mod transmit;
mod validation;
mod write_queue;

use super::config::Config;
use super::recovery::Strategy;
use super::response::Responder;
use crate::endpoint::Io;
use crate::recovery::tcb_cache::TcbCache;
use base::{Span, Time};
use std::sync::Arc;
pub use tcb::Tcb;
pub use timers::{Timer, Timers};

pub use crate::endpoint::Verdicts;

/// Congestion state saved before a timeout or a fast retransmit, restored if the retransmission was spurious. Not
/// saved: scoreboard, recovery counters (a timeout ends a recovery), and back-off (the timer has its own rules). RFC 4015
/// uses the saved RTT estimate as a minimum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saved {
    /// Congestion window, bytes.
    pub cwnd: f64,
    /// Slow-start threshold, bytes.
    pub ssthresh: f64,
    /// Bytes outstanding.
    pub flight: u64,
    /// Smoothed round-trip time.
    pub srtt: Span,
    /// RTT variation (RTTVAR).
    pub rttvar: Span,
    /// One past the highest byte sent.
    pub max: u64,
    /// No loss was detected on this connection before, apart from spurious retransmissions.
    pub lossless: bool,
}

/// Sender of a connection's data.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    /// Send variables, and the actions on them.
    pub tcb: Tcb,
    strategy: Strategy,
    responder: Responder,
    /// Sequence number. When SND.UNA reaches it, a window of data was acknowledged without a timeout.
    quiet_mark: u64,
}

impl Sender {
    /// A sender before its SYN.
    pub fn new(config: impl Into<Arc<Config>>) -> Self {
        let config = config.into();
        let strategy = Strategy::new(&config);
        let tcb = Tcb::new(config, &strategy);
        let responder = Responder::new(&tcb.config, tcb.peer_window());
        Sender { tcb, strategy, responder, quiet_mark: 0 }
    }

    /// Replaces options and strategy by those of `fresh`, when only the SYN was sent.
    pub(super) fn start_anew(&mut self, fresh: Sender) {
        let Sender { tcb, strategy, responder, quiet_mark } = fresh;
        self.tcb.start_anew(tcb);
        (self.strategy, self.responder, self.quiet_mark) = (strategy, responder, quiet_mark);
    }

    /// Configuration of this sender.
    pub fn config(&self) -> &Config {
        &self.tcb.config
    }
    /// Oldest byte not acknowledged.
    pub fn una(&self) -> u64 {
        self.tcb.una()
    }
    /// Next byte to send.
    pub fn nxt(&self) -> u64 {
        self.tcb.nxt()
    }
    /// One past the highest byte sent.
    pub fn max_sent(&self) -> u64 {
        self.tcb.max_sent()
    }
    /// One past the last byte written.
    pub fn end(&self) -> u64 {
        self.tcb.seq.end
    }
    /// Bytes outstanding.
    pub fn flight(&self) -> u64 {
        self.tcb.flight()
    }
    /// The peer's window, bytes.
    pub fn peer_window(&self) -> u64 {
        self.tcb.peer_window()
    }
    /// Recovery point: one past the highest byte sent when recovery or a timeout began.
    pub fn recover(&self) -> u64 {
        self.tcb.recover()
    }
    /// True once the SYN is acknowledged.
    pub fn established(&self) -> bool {
        self.tcb.status.established
    }
    /// True once the connection was aborted after too many retransmissions.
    pub fn gave_up(&self) -> bool {
        self.tcb.status.gave_up
    }
    /// True while lost segments are repaired without a timeout.
    pub fn recovering(&self) -> bool {
        self.tcb.recovery.recovering()
    }
    /// Window inflation by duplicate ACKs, bytes; not included in [`super::cc::Window::cwnd`].
    pub fn inflation(&self) -> u64 {
        self.tcb.recovery.inflation
    }
    /// Estimate of the bytes in flight, if the recovery keeps one.
    pub fn pipe(&self) -> Option<u64> {
        self.strategy.pipe(&self.tcb)
    }
    /// Verdict counts of the spurious detector.
    pub fn verdicts(&self) -> Verdicts {
        self.tcb.verdicts()
    }
    /// True if the stream is closed, and all data and the FIN were acknowledged.
    pub fn done(&self) -> bool {
        self.tcb.seq.done()
    }

    /// Appends `bytes` to the send stream.
    pub fn write(&mut self, bytes: u64) {
        self.tcb.seq.end += bytes;
    }
    /// Closes the send stream.
    pub fn close(&mut self) {
        self.tcb.seq.closed = true;
    }
    /// Discards unsent data and closes.
    pub fn stop(&mut self) {
        self.tcb.stop();
    }

    /// Sends segments within the windows, at most `burst` of them (0: no limit).
    pub fn send_window(&mut self, io: &mut Io<'_>, burst: u32) {
        self.tcb.send_window(io, burst);
    }
    /// Shares the TCB through `cache`.
    pub(in crate::tcp) fn share(&mut self, cache: TcbCache) {
        self.tcb.share(cache);
    }
    /// Initialises from the TCB cache when the connection begins.
    pub(in crate::tcp) fn take_over(&mut self, now: Time) {
        self.tcb.take_over(now);
    }
}
