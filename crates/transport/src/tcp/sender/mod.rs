//! The sending half of a connection: it owns the parts and calls them in order.
//!
//! One acknowledgement: **digest** (facts) → **rtt** → **spurious** (verdict) → **response** (if
//! spurious: restore, go on with the next unsent segment) → **recovery** (what is gone, how much may be
//! sent) → timer. Stream offsets are 64 bits: the SYN is 0, data start at 1, a FIN follows the data.

mod ack;
mod act;
mod timed;
mod timeout;
mod trace;
mod transmit;

use super::cc::Window;
use super::config::Config;
use super::recovery::Strategy;
use super::response::Responder;
use super::spurious::{Detector, Episode};
use crate::recovery::rto::RtoTimer;
use crate::recovery::scoreboard::Scoreboard;
use base::truth::Cause;
use base::{Span, Time};
use std::sync::Arc;
use timed::Timed;

/// What is saved at a timeout, to be restored if it was spurious. Not saved: the scoreboard and the
/// recovery's counters (the timeout ended that recovery), the back-off (the timer has its own rules),
/// and the round-trip estimate except as the floor that RFC 4015 asks for.
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
    /// Its variation.
    pub rttvar: Span,
}

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    config: Arc<Config>,
    una: u64,
    nxt: u64,
    max: u64,
    /// One past the last byte the application wrote.
    end: u64,
    closed: bool,
    established: bool,
    syn_expired: bool,
    peer_window: u64,
    /// Congestion window.
    pub window: Window,
    /// Retransmission timer.
    pub rto: RtoTimer,
    /// What the receiver reported beyond `una`.
    pub scoreboard: Scoreboard,
    pub(super) strategy: Strategy,
    detector: Detector,
    responder: Responder,
    episode: Option<Episode>,
    /// Highest sequence number sent when recovery or a timeout began.
    recover: u64,
    /// Where `una` was at the last expiration.
    expired_at: Option<u64>,
    /// Without a timeout up to here, a window has passed quietly.
    quiet_mark: u64,
    /// Why the next segment below `max` is resent.
    resend_cause: Cause,
    /// The response has already counted what this acknowledgement lets out.
    opened: bool,
    /// Bytes let out by limited transmit since the last new acknowledgement.
    limited: u64,
    timed: Timed,
}

impl Sender {
    /// A sender before its SYN.
    pub fn new(config: impl Into<Arc<Config>>) -> Self {
        let config = config.into();
        // Until the peer says otherwise its window is taken to be like ours.
        let peer = config.receiver.window.bytes(config.mss, u64::from(u32::MAX)).min(u64::from(u32::MAX));
        Sender {
            una: 0,
            nxt: 0,
            max: 0,
            end: 1,
            closed: false,
            established: false,
            syn_expired: false,
            peer_window: peer,
            window: Window::new(&config, peer),
            rto: RtoTimer::new(config.rto),
            scoreboard: Scoreboard::default(),
            strategy: Strategy::new(&config),
            detector: Detector::new(config.spurious),
            responder: Responder::new(&config, peer),
            episode: None,
            recover: 0,
            expired_at: None,
            quiet_mark: 0,
            resend_cause: Cause::GoBackN,
            opened: false,
            limited: 0,
            timed: Timed::default(),
            config,
        }
    }

    /// Its choices.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Oldest byte not acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }
    /// Next byte to send.
    pub fn nxt(&self) -> u64 {
        self.nxt
    }
    /// One past the highest byte sent.
    pub fn max_sent(&self) -> u64 {
        self.max
    }
    /// One past the last byte written.
    pub fn end(&self) -> u64 {
        self.end
    }
    /// Bytes outstanding.
    pub fn flight(&self) -> u64 {
        self.max - self.una
    }
    /// Segment size.
    pub fn mss(&self) -> u32 {
        self.config.mss
    }
    pub(super) fn dupthresh(&self) -> u32 {
        self.config.dupthresh
    }
    /// The peer's window, bytes.
    pub fn peer_window(&self) -> u64 {
        self.peer_window
    }
    /// Where recovery ends.
    pub fn recover(&self) -> u64 {
        self.recover
    }
    /// True once the SYN is acknowledged.
    pub fn established(&self) -> bool {
        self.established
    }
    /// True while lost segments are repaired without a timeout.
    pub fn recovering(&self) -> bool {
        self.strategy.recovering()
    }
    /// Bytes believed to be in the network, if the recovery counts them.
    pub fn pipe(&self) -> Option<u64> {
        self.strategy.pipe(self)
    }
    /// True if everything written was acknowledged, and the FIN if there is one.
    pub fn done(&self) -> bool {
        self.closed && self.una >= self.fin_end()
    }

    pub(super) fn one_way(&self) -> bool {
        self.config.handshake == super::config::Handshake::OneWay
    }
    pub(super) fn fin_end(&self) -> u64 {
        self.end + u64::from(self.closed && !self.one_way())
    }

    /// Offers more bytes.
    pub fn write(&mut self, bytes: u64) {
        self.end += bytes;
    }
    /// Nothing more will be written.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Withdraws what was not yet sent, and closes.
    pub fn stop(&mut self) {
        self.end = self.max.clamp(1, self.end);
        self.closed = true;
    }

    /// When the timer expires.
    pub fn next_timeout(&self) -> Time {
        self.rto.deadline()
    }
}
