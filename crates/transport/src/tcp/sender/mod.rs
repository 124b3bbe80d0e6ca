//! The sending half of a connection: it owns the parts and calls them in order.
//!
//! One acknowledgement: **digest** (facts) → **rtt** → **spurious** (verdict) → **response** (if
//! spurious: restore, go on with the next unsent segment) → **recovery** (what is gone, how much may be
//! sent) → timer. Stream offsets are 64 bits: the SYN is 0, data start at 1, a FIN follows the data.

mod ack;
mod act;
mod duplicates;
mod echo;
mod heuristic;
mod judge;
mod pacing;
mod path_mtu;
mod persist;
mod queue;
mod share;
mod timed;
mod timeout;
mod timers;
mod trace;
mod transmit;
mod validation;

use super::cc::{Control, Controller, Window};
use super::config::Config;
use super::ecn::Ecn;
use super::recovery::Strategy;
use super::response::Responder;
use super::spurious::{Detector, Episode};
use crate::recovery::rto::RtoTimer;
use crate::recovery::scoreboard::Scoreboard;
use crate::recovery::sent::Sent;
use base::Span;
use base::truth::Cause;
use heuristic::Hint;
use pacing::Pacer;
use path_mtu::Search;
use persist::Probing;
use queue::Queue;
use share::Sharing;
use std::sync::Arc;
use timed::Timed;
pub use timers::{Timer, Timers};
use validation::{LostVolume, Used};

pub use judge::Verdicts;

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
    /// One past the highest byte sent.
    pub max: u64,
    /// No loss was detected before on this connection, but for those found spurious.
    pub lossless: bool,
}

/// The sending half of a connection. In this order, since there may be thousands: what every
/// acknowledgement and every segment touch comes first, what few ever need comes last.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    una: u64,
    nxt: u64,
    max: u64,
    /// One past the last byte the application wrote.
    end: u64,
    peer_window: u64,
    /// Without window scaling no peer can offer more.
    most_window: u64,
    config: Arc<Config>,
    closed: bool,
    established: bool,
    syn_expired: bool,
    gave_up: bool,
    /// What is reported is passed over when it goes back.
    skips_reported: bool,
    /// On this acknowledgement nothing is resent.
    only_new: bool,
    /// The recovery wants to hear of new data.
    probes: bool,
    /// The response has already counted what this acknowledgement lets out.
    opened: bool,
    /// Whether duplicates do more here than recovery makes of them.
    special_duplicates: bool,
    /// Congestion window.
    pub window: Window,
    /// What the receiver reported beyond `una`.
    pub scoreboard: Scoreboard,
    /// Timers beside the retransmission timer.
    pub timers: Timers,
    /// What was sent when, if somebody needs to know (`Config::keeps_record`).
    pub sent: Option<Box<Sent>>,
    /// Without a timeout up to here, a window has passed quietly.
    quiet_mark: u64,
    /// Bytes let out by limited transmit since the last new acknowledgement.
    limited: u64,
    /// Duplicates since the last new acknowledgement, if anything asks for them.
    series: u32,
    /// Duplicates that convince.
    dupthresh: u32,
    /// Why the next segment below `max` is resent.
    resend_cause: Cause,
    /// Whether the detector looks at acknowledgements.
    watches: bool,
    /// Whether the congestion control wants to know how fast data are delivered.
    wants_rates: bool,
    /// Whether it wants to know of every segment found lost.
    hears_losses: bool,
    /// Of those before it hears what was delivered: the recovery sees to it.
    losses_first: bool,
    /// Congestion marks.
    pub(super) ecn: Ecn,
    probing: Probing,
    pacer: Pacer,
    pub(super) strategy: Strategy,
    /// Retransmission timer.
    pub rto: RtoTimer,
    timed: Timed,
    /// The expirations since data were last acknowledged.
    episode: Option<Episode>,
    /// What the detector is to judge.
    case: Option<Episode>,
    /// What it has judged.
    verdicts: Verdicts,
    used: Used,
    /// What was resent since a loss that found the window not validated.
    lost_volume: Option<Box<LostVolume>>,
    /// Timeouts and fast retransmits, without those found spurious.
    losses: u64,
    /// Highest sequence number sent when recovery or a timeout began.
    recover: u64,
    /// Where `una` was at the last expiration.
    expired_at: Option<u64>,
    /// From, to: bytes that stay marked as lost though the timeout was spurious. Only where the flight is counted by marks.
    marked: (u64, u64),
    /// Least round trip seen, if rates are measured.
    min_rtt: Option<Span>,
    responder: Responder,
    /// Who moves the window.
    pub control: Controller,
    detector: Detector,
    hint: Hint,
    /// What connections to this destination share, if they do.
    sharing: Option<Box<Sharing>>,
    /// The portions in which data wait, if they matter.
    queue: Option<Box<Queue>>,
    /// The search for the largest segment that passes, after a black hole.
    search: Option<Search>,
}

impl Sender {
    /// A sender before its SYN.
    pub fn new(config: impl Into<Arc<Config>>) -> Self {
        let config = config.into();
        // Until the peer says otherwise its window is taken to be like ours.
        let peer = config.receiver.window.bytes(config.mss, u64::from(u32::MAX)).min(u64::from(u32::MAX));
        let strategy = Strategy::new(&config);
        let (detector, control) = (Detector::new(&config), Controller::new(&config));
        let hears_losses = control.hears_losses();
        let mut sent = config.keeps_record().then(|| Box::new(strategy.record()));
        if let Some(sent) = sent.as_mut().filter(|_| hears_losses) {
            sent.tell_losses();
        }
        Sender {
            hears_losses,
            losses_first: hears_losses && matches!(strategy, Strategy::Rack(_)),
            watches: detector.watches(),
            wants_rates: control.wants_rates(),
            una: 0,
            nxt: 0,
            max: 0,
            end: 1,
            closed: false,
            established: false,
            syn_expired: false,
            gave_up: false,
            peer_window: peer,
            most_window: if config.scales_windows() { u64::from(u32::MAX) } else { 65_535 },
            window: Window::new(&config, peer),
            ecn: Ecn::new(config.ecn, config.handshake == super::config::Handshake::OneWay),
            probing: Probing::default(),
            used: Used::default(),
            lost_volume: None,
            pacer: Pacer::new(&config, control.wants_rates()),
            min_rtt: None,
            control,
            rto: RtoTimer::new(config.rto),
            scoreboard: Scoreboard::default(),
            sent,
            timers: Timers::default(),
            only_new: false,
            skips_reported: strategy.skips_reported(),
            probes: config.tail_loss_probe && matches!(strategy, Strategy::Rack(_)),
            strategy,
            detector,
            responder: Responder::new(&config, peer),
            episode: None,
            case: None,
            verdicts: Verdicts::default(),
            losses: 0,
            recover: 0,
            expired_at: None,
            marked: (0, 0),
            quiet_mark: 0,
            resend_cause: Cause::GoBackN,
            opened: false,
            limited: 0,
            series: 0,
            dupthresh: config.dupthresh,
            special_duplicates: duplicates::are_special(&config),
            timed: Timed::default(),
            hint: Hint::default(),
            sharing: None,
            queue: config.defer.then(|| Box::new(Queue::new(config.send_buffer, config.mss))),
            search: None,
            config,
        }
    }

    /// Takes over the choices of `fresh` after nothing but its SYN was sent: what was written, when the SYN left and how
    /// often it had to be repeated stay.
    pub(super) fn start_anew(&mut self, fresh: Sender) {
        let old = std::mem::replace(self, fresh);
        (self.una, self.nxt, self.max, self.end) = (old.una, old.nxt, old.max, old.end);
        (self.closed, self.gave_up, self.syn_expired) = (old.closed, old.gave_up, old.syn_expired);
        (self.rto, self.timed, self.ecn, self.timers) = (old.rto, old.timed, old.ecn, old.timers);
        (self.episode, self.case, self.expired_at) = (old.episode, old.case, old.expired_at);
        (self.recover, self.losses, self.verdicts) = (old.recover, old.losses, old.verdicts);
        self.sharing = old.sharing;
        if self.sent.is_some() && old.sent.is_some() {
            self.sent = old.sent;
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
        self.dupthresh
    }
    /// The peer's window, bytes.
    pub fn peer_window(&self) -> u64 {
        self.peer_window
    }
    /// Segments that are handed to the network card as one: what is sent in about a millisecond, two at least.
    pub(super) fn group(&self) -> u64 {
        let srtt = self.rto.srtt().as_secs_f64();
        if srtt == 0.0 {
            return 2;
        }
        // Twice the window in a round trip while it may double, a fifth more than it afterwards.
        let factor = if self.window.cwnd < self.window.ssthresh / 2.0 { 2.0 } else { 1.2 };
        let rate = factor * self.window.cwnd / srtt;
        ((rate / 1024.0 / self.window.mss) as u64).clamp(2, 44)
    }
    /// What waits does so in portions, which say where PSH is.
    pub(super) fn keeps_portions(&self) -> bool {
        self.queue.is_some()
    }
    /// Where recovery ends.
    pub fn recover(&self) -> u64 {
        self.recover
    }
    /// True once the SYN is acknowledged.
    pub fn established(&self) -> bool {
        self.established
    }
    /// True once the connection was given up.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }
    /// True while lost segments are repaired without a timeout.
    pub fn recovering(&self) -> bool {
        self.strategy.recovering()
    }
    /// By how many bytes duplicates inflate the window, which is not counted in [`Window::cwnd`].
    pub fn inflation(&self) -> u64 {
        self.strategy.inflation()
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
        if let Some(queue) = &mut self.queue {
            queue.cut(self.end);
        }
        self.closed = true;
    }
}
