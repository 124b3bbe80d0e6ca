//! The sending half of a connection: it owns the parts and calls them in order.
//!
//! One acknowledgement: **digest** (facts) → **rtt** → **spurious** (verdict) → **response** (if
//! spurious: restore, go on with the next unsent segment) → **recovery** (what is gone, how much may be
//! sent) → timer. Stream offsets are 64 bits: the SYN is 0, data start at 1, a FIN follows the data.

use super::cc::Window;
use super::config::{BackoffReset, BugFix, Config, Halving, Recovery, RepeatedTimeout, Timing};
use super::recovery::Strategy;
use super::response::{Responder, Scene};
use super::spurious::{Detector, Episode, Step};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::recovery::rto::RtoTimer;
use crate::recovery::scoreboard::Scoreboard;
use base::event::{Category, Event};
use base::tcp::Segment;
use base::truth::Cause;
use base::{Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

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

/// Which segments are being timed, when timestamps do not do it.
#[derive(Clone, Debug, Default)]
struct Timed {
    /// One segment: where it ends and when it was first sent.
    one: Option<(u64, Time)>,
    /// Every segment, likewise, if every one is timed.
    each: VecDeque<(u64, Time)>,
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

    fn one_way(&self) -> bool {
        self.config.handshake == super::config::Handshake::OneWay
    }
    fn fin_end(&self) -> u64 {
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

    // ---- one acknowledgement -------------------------------------------------------------------

    /// Takes in the acknowledgement that `segment` carries.
    pub fn on_ack(&mut self, io: &mut Io<'_>, segment: &Segment) {
        if segment.ack > self.max {
            return; // acknowledges what was never sent (RFC 9293 section 3.10.7.4)
        }
        let window_changed = u64::from(segment.window) != self.peer_window;
        if segment.ack >= self.una {
            self.peer_window = u64::from(segment.window);
        }
        let digest = self.digest(io.now, segment, window_changed);
        io.record(|| Event::AckReceived {
            ack: digest.ack,
            window: segment.window,
            duplicate: digest.newly_acked == 0,
        });
        if !segment.sack.is_empty() {
            self.record_sack(io, segment);
        }
        if digest.newly_acked > 0 {
            self.take_sample(&digest);
        }
        match self.detector.on_ack(&digest) {
            Step::Undecided => {}
            step => self.judge(io, &digest, step == Step::Spurious),
        }
        Strategy::on_ack(self, io, &digest);
        self.opened = false;
        if digest.newly_acked > 0 {
            self.episode = None;
            if self.una >= self.quiet_mark {
                self.quiet_mark = self.max;
                self.responder.on_quiet_window();
            }
        }
        self.record_state(io);
    }

    fn digest(&mut self, now: Time, segment: &Segment, window_changed: bool) -> AckDigest {
        let ack = segment.ack;
        let newly_acked = ack.saturating_sub(self.una);
        let mut sack_news = false;
        let mut dsack = false;
        if !segment.sack.is_empty() {
            let blocks = segment.sack.as_slice();
            //= RFC 2883 section 4: below the cumulative ACK, or within the second block
            dsack = blocks[0].right <= ack
                || blocks.get(1).is_some_and(|b| b.left <= blocks[0].left && blocks[0].right <= b.right);
            let from = ack.max(self.una);
            self.scoreboard.acked(from);
            for block in blocks {
                sack_news |= self.scoreboard.add(*block, from, self.max);
            }
        }
        let echo = segment.timestamps.map(|t| t.echo).filter(|_| self.config.timestamps);
        let outstanding = self.max > self.una;
        AckDigest {
            now,
            ack,
            newly_acked,
            old: ack < self.una,
            //= RFC 5681 section 2: same acknowledgement and window, data outstanding, none carried
            duplicate: ack == self.una
                && outstanding
                && !window_changed
                && segment.len == 0
                && !segment.syn
                && !segment.fin,
            sack_news,
            dsack,
            echo,
            sample: if newly_acked > 0 { self.sample(now, ack, echo) } else { None },
            ece: segment.ece,
        }
    }

    /// The round trip that this acknowledgement measured.
    fn sample(&mut self, now: Time, ack: u64, echo: Option<Time>) -> Option<Span> {
        if self.config.timestamps {
            return echo.map(|e| now.since(e));
        }
        if self.config.rto.timing == Timing::Segment {
            let mut last = None;
            while self.timed.each.front().is_some_and(|(end, _)| *end <= ack) {
                last = self.timed.each.pop_front();
            }
            return last.map(|(_, sent)| now.since(sent));
        }
        self.timed.one.filter(|(end, _)| *end <= ack).map(|(_, sent)| now.since(sent))
    }

    fn take_sample(&mut self, ack: &AckDigest) {
        let partial = self.strategy.repairs_partially() && ack.ack < self.recover;
        let sample = ack.sample.filter(|_| !partial || self.config.rto.sample_partial_acks);
        if let Some(rtt) = sample {
            self.rto.sample(rtt);
        }
        let timed = self.timed.one.is_some_and(|(end, _)| end <= ack.ack);
        if timed {
            self.timed.one = None;
        }
        let ends = match self.config.rto.backoff_reset {
            BackoffReset::TimedSegment => timed,
            BackoffReset::Sample => sample.is_some(),
            BackoffReset::NewAck => true,
        };
        if ends {
            self.rto.end_backoff();
        }
    }

    /// The detector has given its verdict on the last timeout.
    fn judge(&mut self, io: &mut Io<'_>, ack: &AckDigest, spurious: bool) {
        let Some(episode) = self.episode else { return };
        let detector = self.detector.name();
        io.record(|| Event::Verdict { spurious, detector });
        if !spurious {
            self.responder.on_genuine();
            return;
        }
        //= RFC 4015 section 3.2 step 5: go on with the next unsent segment
        self.nxt = self.max;
        // Nothing was resent, so duplicates below the old recovery point mean a loss again.
        self.recover = self.una;
        let scene = Scene {
            episode: &episode,
            ack,
            window: &mut self.window,
            rto: &mut self.rto,
            flight: self.max - ack.ack,
        };
        self.opened = self.responder.on_spurious(scene);
    }

    // ---- the timer -----------------------------------------------------------------------------

    /// The retransmission timer has expired.
    pub fn on_timeout(&mut self, io: &mut Io<'_>) {
        if self.max == self.una {
            self.rto.stop();
            self.window.cwnd = self.window.cwnd.max(self.window.mss);
            self.send_window(io, 0);
            return;
        }
        let expirations = self.episode.map_or(1, |e| e.expirations + 1);
        let (seq, rto) = (self.una, self.rto.timeout());
        io.record(|| Event::RtoFired { seq, rto, expirations });
        let was_recovering = self.strategy.recovering();
        self.strategy.on_timeout();
        self.window.cwnd = self.window.cwnd.max(self.window.mss);
        match &mut self.episode {
            Some(episode) => episode.expirations = expirations,
            None => {
                let saved = Saved {
                    cwnd: self.window.cwnd,
                    ssthresh: self.window.ssthresh,
                    flight: self.flight(),
                    srtt: self.rto.srtt(),
                    rttvar: self.rto.rttvar(),
                };
                self.episode = Some(Episode { began: io.now, expirations, saved });
            }
        }
        if self.established {
            let repeated = self.expired_at == Some(self.una);
            if !(repeated && self.config.repeated_timeout == RepeatedTimeout::Hold) {
                self.halve_threshold();
            }
            // Later studies leave out timeouts inside loss recovery (catalogue EI-04).
            if !was_recovering || self.config.judge_in_recovery {
                self.detector.on_timeout(io.now);
            }
        } else {
            self.syn_expired = true;
        }
        self.expired_at = Some(self.una);
        self.window.cwnd = self.window.mss;
        self.recover = self.max;
        self.quiet_mark = self.max;
        if self.config.recovery != Recovery::Rfc6675 {
            //= RFC 2018 section 8: after a timeout the reports are not believed any more
            self.scoreboard.clear();
        }
        self.rto.back_off();
        self.rto.restart(io.now);
        self.untime();
        self.nxt = self.una;
        self.resend_cause = Cause::Timeout;
        self.send_window(io, 0);
        self.record_state(io);
    }

    // ---- actions of the recovery strategies ----------------------------------------------------

    /// The acknowledgement is accepted: moves the window on, and restarts the timer or stops it.
    pub(super) fn advance(&mut self, io: &mut Io<'_>, ack: &AckDigest, restart: bool) {
        self.acknowledge(io, ack, restart);
        self.nxt = self.nxt.max(self.una);
    }

    /// The same, but transmission goes on from where it was.
    pub(super) fn acknowledge(&mut self, io: &mut Io<'_>, ack: &AckDigest, restart: bool) {
        self.una = ack.ack;
        self.limited = 0;
        self.scoreboard.acked(self.una);
        // With a closed window nothing would ever start it again: the timer opens it.
        let waits = self.window.cwnd < self.window.mss && self.una < self.fin_end();
        if self.max == self.una && !waits {
            self.rto.stop();
        } else if restart {
            self.rto.restart(io.now);
        }
    }

    /// The acknowledgement opens the congestion window.
    pub(super) fn open_window(&mut self, ack: &AckDigest) {
        if !self.established {
            self.established = true;
            let initial = self.config.initial_window.bytes(self.config.mss, self.peer_window) as f64;
            //= RFC 5681 section 3.1: one segment if the SYN was lost
            let conformant = !self.one_way();
            let initial = if self.syn_expired && conformant { self.window.mss } else { initial };
            self.window.cwnd = initial.max(self.window.mss); // never less than a segment
            return;
        }
        if self.opened {
            return;
        }
        if self.config.cwnd_validation {
            //= RFC 7661 section 4.1: a window that was not filled does not grow
            let flight_before = self.flight() + ack.newly_acked;
            if (flight_before as f64) < self.window.cwnd / 2.0 {
                return;
            }
        }
        self.window.open(ack.newly_acked);
    }

    /// Whether duplicates may cause a fast retransmit now (RFC 2582 section 5).
    pub(super) fn may_fast_retransmit(&self) -> bool {
        match self.config.bug_fix {
            BugFix::Off => true,
            BugFix::LessCareful => self.una >= self.recover,
            BugFix::Careful => self.una > self.recover,
        }
    }

    /// Notes where recovery will end.
    pub(super) fn begin_fast_retransmit(&mut self, io: &mut Io<'_>) {
        self.recover = self.max;
        let (seq, recover) = (self.una, self.recover);
        io.record(|| Event::FastRetransmit { seq, recover });
        self.untime();
        if self.config.restart_on_fast_retransmit {
            self.rto.restart(io.now);
        }
    }

    fn half(&self) -> f64 {
        let mss = self.window.mss;
        match self.config.halving {
            //= RFC 5681 equation 4, without what limited transmit added (section 3.2 step 2)
            Halving::Flight => (self.flight() - self.limited.min(self.flight())) as f64 / 2.0,
            Halving::Window => {
                let usable = (self.window.bytes() + self.strategy.inflation()).min(self.peer_window);
                (usable / u64::from(self.config.mss) / 2) as f64 * mss
            }
        }
    }

    /// ssthresh = half, at least two segments.
    pub(super) fn halve_threshold(&mut self) {
        self.window.ssthresh = self.half().max(2.0 * self.window.mss);
    }

    /// ssthresh = cwnd = half, the threshold at least two segments. Where the window is halved in whole
    /// segments, a window of one becomes none: until something new is acknowledged only duplicates
    /// inflate it, and the next timeout takes it for one.
    pub(super) fn halve_both(&mut self) {
        let half = self.half();
        self.halve_threshold();
        self.window.cwnd = match self.config.halving {
            Halving::Flight => self.window.ssthresh,
            Halving::Window => half,
        };
    }

    /// Tahoe: sends everything again from the oldest byte on.
    pub(super) fn go_back(&mut self, io: &mut Io<'_>) {
        self.nxt = self.una;
        self.resend_cause = Cause::Fast;
        self.send_window(io, 0);
    }

    /// Resends the segment at `seq`; returns where it ends.
    pub(super) fn retransmit(&mut self, io: &mut Io<'_>, seq: u64, cause: Cause) -> u64 {
        let end = self.send_at(io, seq, cause);
        // Karn: what is resent can no longer be timed. Nor can what lies above, unless timestamps do the
        // timing: its acknowledgement waits for the hole to be filled.
        let above = if self.config.timestamps { end } else { u64::MAX };
        if self.timed.one.is_some_and(|(last, _)| seq < last && last <= above) {
            self.timed.one = None;
        }
        self.rto.ensure(io.now);
        end
    }

    /// What lies below has been sent: goes on from there at the earliest.
    pub(super) fn skip_to(&mut self, seq: u64) {
        self.nxt = self.nxt.max(seq);
    }

    /// Sends what the windows allow, at most `burst` segments (0: any number).
    pub fn send_window(&mut self, io: &mut Io<'_>, burst: u32) {
        let window = (self.window.bytes() + self.strategy.inflation()).min(self.peer_window);
        let limit = self.una + window;
        let mut sent = 0;
        while burst == 0 || sent < burst {
            if !self.send_next(io, limit) {
                return;
            }
            sent += 1;
        }
    }

    /// Sends the next segment if the peer's window allows it, whatever the congestion window says.
    pub(super) fn send_one_within_peer_window(&mut self, io: &mut Io<'_>) -> bool {
        let limit = self.una + self.peer_window;
        self.send_next(io, limit)
    }

    /// RFC 3042: on the `duplicates`-th duplicate, one new segment beyond the congestion window.
    pub(super) fn limited_transmit(&mut self, io: &mut Io<'_>, duplicates: u32) {
        if !self.config.limited_transmit || self.nxt < self.max {
            return;
        }
        let extra = u64::from(duplicates) * u64::from(self.config.mss);
        let limit = self.una + (self.window.bytes() + extra).min(self.peer_window);
        let before = self.nxt;
        if self.send_next(io, limit) {
            self.limited += self.nxt - before;
        }
    }

    // ---- sending -------------------------------------------------------------------------------

    /// Sends the segment at `nxt` if it ends by `limit`.
    fn send_next(&mut self, io: &mut Io<'_>, limit: u64) -> bool {
        if self.config.recovery == Recovery::Rfc6675 && self.nxt < self.max {
            // What the receiver has reported is not sent again.
            if let Some(end) = self.scoreboard.end_of_range_at(self.nxt) {
                self.nxt = end;
            }
        }
        if self.nxt >= self.fin_end() || (!self.established && self.nxt > 0) {
            return false;
        }
        let end = self.segment_end(self.nxt);
        // A window smaller than a segment lets one out only if nothing else is.
        let end = if end > limit {
            if self.flight() > 0 || limit <= self.nxt || self.nxt >= self.end {
                return false;
            }
            limit
        } else {
            end
        };
        let cause = if self.nxt >= self.max {
            Cause::New
        } else {
            std::mem::replace(&mut self.resend_cause, Cause::GoBackN)
        };
        if cause == Cause::New {
            self.time(io.now, end);
        }
        self.send_range(io, self.nxt, end, cause);
        self.nxt = end;
        self.max = self.max.max(end);
        self.rto.ensure(io.now);
        true
    }

    /// Where the segment that starts at `seq` ends.
    fn segment_end(&self, seq: u64) -> u64 {
        if seq == 0 {
            return 1; // the SYN stands alone
        }
        if seq >= self.end {
            return self.fin_end();
        }
        let mut end = (seq + u64::from(self.config.mss)).min(self.end);
        if seq < self.max {
            // Resent as it was cut before, and not into what is reported.
            end = end.min(self.max.max(seq + 1));
            if let Some(next) = self.scoreboard.next_range_after(seq)
                && self.config.recovery == Recovery::Rfc6675
            {
                end = end.min(next);
            }
        }
        end
    }

    fn send_at(&mut self, io: &mut Io<'_>, seq: u64, cause: Cause) -> u64 {
        let end = self.segment_end(seq);
        self.send_range(io, seq, end, cause);
        end
    }

    fn send_range(&mut self, io: &mut Io<'_>, seq: u64, end: u64, cause: Cause) {
        let syn = seq == 0;
        let fin = end > self.end;
        let len = (end - seq - u64::from(syn) - u64::from(fin)) as u32;
        io.send(Segment { seq, len, syn, fin, ..Segment::default() }, 0, cause);
    }

    // ---- timing without timestamps ---------------------------------------------------------------

    fn time(&mut self, now: Time, end: u64) {
        if self.timed.one.is_none() {
            self.timed.one = Some((end, now));
        }
        if self.config.rto.timing == Timing::Segment && !self.config.timestamps {
            self.timed.each.push_back((end, now));
        }
    }

    /// Something is resent: what was sent before can no longer be timed (Karn and Partridge 1987).
    fn untime(&mut self) {
        self.timed.one = None;
        self.timed.each.clear();
    }

    // ---- trace -----------------------------------------------------------------------------------

    #[cold]
    fn record_sack(&self, io: &mut Io<'_>, segment: &Segment) {
        for block in segment.sack.as_slice() {
            io.record(|| Event::SackBlock { left: block.left, right: block.right });
        }
    }

    #[inline]
    fn record_state(&self, io: &mut Io<'_>) {
        if !io.tracer.wants(Category::Transport) {
            return;
        }
        let (cwnd, flight) = (self.window.bytes(), self.flight());
        let ssthresh = self.window.ssthresh_bytes();
        io.record(|| Event::Window {
            cwnd: u32::try_from(cwnd).unwrap_or(u32::MAX),
            ssthresh,
            flight: u32::try_from(flight).unwrap_or(u32::MAX),
        });
        let (rto, srtt, rttvar) = (self.rto.timeout(), self.rto.srtt(), self.rto.rttvar());
        io.record(|| Event::Timer { rto, srtt, rttvar });
    }
}
