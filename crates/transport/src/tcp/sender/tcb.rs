//! Transmission control block of the TCP sender ([`Tcb`]): send variables, peer's window, connection state, and the
//! state of congestion control, timers, detector and recovery.
//!
//! The other files of this folder contain its methods. A recovery strategy has access to this block, not to the
//! whole sender.

use super::duplicates::Duplicates;
use super::feedback::Feedback;
use super::macroflow::Member;
use super::pacing::Pacer;
use super::path_mtu::Search;
use super::persist::Probing;
use super::rtt_probe::RttProbe;
use super::sequence::Sequence;
use super::spurious_judgement::SpuriousJudgement;
use super::tcb_sharing::Sharing;
use super::timers::Timers;
use super::validation::{CwndUsage, LostVolume};
use super::write_queue::Queue;
use crate::endpoint::Verdicts;
use crate::recovery::rto::RtoTimer;
use crate::recovery::scoreboard::Scoreboard;
use crate::recovery::sent::SendRecords;
use crate::tcp::cc::{CongestionAlgorithm, Controller, Window};
use crate::tcp::config::{Config, Handshake};
use crate::tcp::ecn::Ecn;
use crate::tcp::recovery::{RecoveryState, Strategy};
use std::sync::Arc;

/// The peer's receive window.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerWindow {
    /// Window offered last (SND.WND), bytes.
    pub(super) window: u64,
    /// Largest window that the peer can offer, bytes: 65 535 without window scaling.
    pub(super) most: u64,
}

/// 2.9 segments in 1/1024 s, in segments a nanosecond.
const FEW: f64 = 2.9 * 1024.0 / 1e9;

/// State of the connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Status {
    /// The SYN was acknowledged.
    pub(super) established: bool,
    /// The SYN's timer expired.
    pub(super) syn_expired: bool,
    /// R2 has passed (RFC 1122 section 4.2.3.5): the connection is aborted and sends nothing.
    pub(super) gave_up: bool,
    /// The last ACK was of [`Tcb::rests_on`], and no timer has expired since.
    pub(super) rested: bool,
}

/// Send variables. There may be thousands of blocks, so fields are ordered for the cache: those that every
/// ACK and every segment touch come first, rarely used ones last.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Tcb {
    pub(super) seq: Sequence,
    pub(super) peer: PeerWindow,
    pub(super) config: Arc<Config>,
    pub(super) status: Status,
    /// Part of the recovery state that is visible outside the strategy.
    pub(in crate::tcp) recovery: RecoveryState,
    /// Congestion window.
    pub window: Window,
    /// Ranges that the receiver has SACKed above SND.UNA.
    pub scoreboard: Scoreboard,
    /// Timers other than the retransmission timer.
    pub timers: Timers,
    /// Record of transmissions, where an option needs it (`Config::keeps_record`).
    pub sent: Option<Box<SendRecords>>,
    pub(super) duplicates: Duplicates,
    pub(super) feedback: Feedback,
    /// ECN state.
    pub(in crate::tcp) ecn: Ecn,
    pub(super) probing: Probing,
    pub(super) pacer: Pacer,
    /// Retransmission timer.
    pub rto: RtoTimer,
    pub(super) timed: RttProbe,
    pub(super) used: CwndUsage,
    /// Data retransmitted in a recovery that began in the non-validated phase (RFC 7661).
    pub(super) lost_volume: Option<Box<LostVolume>>,
    /// Congestion control.
    pub control: Controller,
    pub(super) judging: SpuriousJudgement,
    /// TCB cache shared by the connections to this destination.
    pub(super) sharing: Option<Box<Sharing>>,
    /// Write queue of Linux, if it is modelled (`Config::defer`).
    pub(super) queue: Option<Box<Queue>>,
    /// Path MTU search after a black hole.
    pub(super) search: Option<Search>,
    /// Stream of a congestion manager that shares the window among connections.
    pub(super) macroflow: Option<Box<Member>>,
}

impl Tcb {
    /// State before the SYN.
    pub(super) fn new(config: Arc<Config>, strategy: &Strategy) -> Self {
        // Until the first segment of the peer arrives, its window is assumed to equal the local one.
        let peer = config.receiver.window.bytes(config.mss, u64::from(u32::MAX)).min(u64::from(u32::MAX));
        let control = Controller::new(&config);
        let feedback = Feedback::new(&control, matches!(strategy, Strategy::Rack(_)));
        let mut sent = config.keeps_record().then(|| Box::new(strategy.record()));
        if let Some(sent) = sent.as_mut().filter(|_| feedback.losses) {
            sent.tell_losses();
        }
        let one_way = config.opening.handshake == Handshake::OneWay;
        Tcb {
            seq: Sequence::new(!one_way),
            peer: PeerWindow {
                window: peer,
                most: if config.scales_windows() { u64::from(u32::MAX) } else { 65_535 },
            },
            status: Status::default(),
            recovery: RecoveryState::new(strategy, config.rack.tail_loss_probe),
            window: Window::new(&config, peer),
            scoreboard: Scoreboard::default(),
            timers: Timers::default(),
            sent,
            duplicates: Duplicates::new(&config),
            feedback,
            ecn: Ecn::new(config.ecn.offer, one_way),
            probing: Probing::default(),
            pacer: Pacer::new(&config, control.wants_rates()),
            rto: RtoTimer::new(config.rto),
            timed: RttProbe::default(),
            used: CwndUsage::default(),
            lost_volume: None,
            control,
            judging: SpuriousJudgement::new(&config),
            sharing: None,
            queue: config
                .segmentation
                .defer
                .then(|| Box::new(Queue::new(config.segmentation.send_buffer, config.mss))),
            search: None,
            macroflow: None,
            config,
        }
    }

    /// Replaces options by those of `fresh`, when only the SYN was sent. Keeps sequence numbers, timers, and the send
    /// time and timeouts of the SYN.
    pub(super) fn start_anew(&mut self, fresh: Tcb) {
        let old = std::mem::replace(self, fresh);
        let established = self.status.established;
        (self.seq, self.status) = (old.seq, old.status);
        self.status.established = established;
        (self.rto, self.timed, self.ecn, self.timers) = (old.rto, old.timed, old.ecn, old.timers);
        self.judging.carry_over(&old.judging);
        self.duplicates.expired_at = old.duplicates.expired_at;
        self.sharing = old.sharing;
        self.macroflow = old.macroflow;
        if self.sent.is_some() && old.sent.is_some() {
            self.sent = old.sent;
        }
    }

    /// Configuration of this sender.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Oldest byte not acknowledged.
    pub fn una(&self) -> u64 {
        self.seq.una
    }
    /// Next byte to send.
    pub fn nxt(&self) -> u64 {
        self.seq.nxt
    }
    /// One past the highest byte sent.
    pub fn max_sent(&self) -> u64 {
        self.seq.max
    }
    /// Bytes outstanding.
    pub fn flight(&self) -> u64 {
        self.seq.flight()
    }
    /// Segment size, bytes.
    pub fn mss(&self) -> u32 {
        self.config.mss
    }
    /// The peer's window, bytes.
    pub fn peer_window(&self) -> u64 {
        self.peer.window
    }
    /// Recovery point: one past the highest byte sent when recovery or a timeout began.
    pub fn recover(&self) -> u64 {
        self.seq.recover
    }
    /// Verdict counts of the spurious detector.
    pub fn verdicts(&self) -> Verdicts {
        self.judging.verdicts
    }
    /// Current duplicate-ACK threshold.
    pub(in crate::tcp) fn dupthresh(&self) -> u32 {
        self.duplicates.threshold
    }
    pub(super) fn one_way(&self) -> bool {
        !self.seq.fin
    }
    pub(super) fn fin_end(&self) -> u64 {
        self.seq.fin_end()
    }

    /// Discards unsent data and closes.
    pub(super) fn stop(&mut self) {
        self.seq.end = self.seq.max.clamp(1, self.seq.end);
        if let Some(queue) = &mut self.queue {
            queue.cut(self.seq.end);
        }
        self.seq.closed = true;
    }

    /// Segments per TSO burst: those of about one millisecond at the pacing rate, 2 to 44.
    pub(in crate::tcp) fn group(&self) -> u64 {
        // Pacing rate of Linux: two windows per RTT while cwnd is below half of ssthresh, 1.2 windows afterwards.
        let factor = if self.window.cwnd < self.window.ssthresh / 2.0 { 2.0 } else { 1.2 };
        let bytes = factor * self.window.cwnd;
        // Clearly fewer than three segments a millisecond: no division.
        let srtt = self.rto.srtt();
        if bytes <= FEW * self.window.mss * (srtt.as_nanos() as i64 as f64) || srtt.is_zero() {
            return 2;
        }
        let rate = bytes / srtt.as_secs_f64();
        ((rate / 1024.0 / self.window.mss) as u64).clamp(2, 44)
    }
    /// Whether unsent data are kept in portions, which then determine PSH.
    pub(in crate::tcp) fn keeps_portions(&self) -> bool {
        self.queue.is_some()
    }
}
