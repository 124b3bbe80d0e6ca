//! RACK loss detection (RFC 8985).
//!
//! A segment is lost if a segment sent sufficiently later has arrived (RFC 8985). Retransmissions are judged
//! by the same rule, the reordering window adapts to observed reordering, and tail loss probes are sent
//! (`tail_probe.rs`). Without SACK, NewReno replaces it.
//!
//! There is no go-back-N after a timeout: segments sent long enough ago are marked lost and retransmitted as
//! the window opens; later segments may still arrive (section 6.3).

use super::prr::Proportional;
use super::{LossRecovery, Phase, RecoveryState, tail_probe};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::recovery::sent::Record;
use crate::recovery::wheel::{LEAST, expiry};
use crate::tcp::config::{RackCopy, RackOrder};
use crate::tcp::sender::{Tcb, Timer};
use base::event::Event;
use base::truth::Cause;
use base::{Span, Time};

/// Recoveries without a D-SACK after which a widened reordering window is reset (section 6.2 step 4).
const PERSISTS: u32 = 16;

/// RACK state.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// `RACK.xmit_ts`, `RACK.end_seq`: transmission time and end of the most recently sent segment that
    /// arrived.
    newest: (Time, u64),
    /// The segment of `newest` was a retransmission: segments above it may have been sent earlier.
    newest_resent: bool,
    /// `RACK.rtt`: RTT of the segment of `newest`.
    rtt: Span,
    /// `RACK.min_RTT`.
    min_rtt: Option<Span>,
    /// `RACK.fack`: one past the highest byte that arrived.
    fack: u64,
    reordering_seen: bool,
    /// `RACK.dsack_round`: no further D-SACK widens the reordering window until this offset is acknowledged.
    dsack_round: Option<u64>,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    reo_wnd: Span,
    /// Time of the last window reduction.
    reduced: Time,
    /// Recovery has begun, and nothing has been retransmitted yet.
    begins: bool,
    prr: Proportional,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            newest: (Time::ZERO, 0),
            newest_resent: false,
            rtt: Span::default(),
            min_rtt: None,
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            reo_wnd: Span::default(),
            reduced: Time::ZERO,
            begins: false,
            prr: Proportional::default(),
        }
    }
}

impl Rack {
    /// Steps 1 to 3 of section 6.2 for one segment that has just arrived; returns whether it gives an RTT
    /// sample. `fack`: highest byte that had arrived before this ACK, with `RackOrder::Before`.
    fn arrived(&mut self, now: Time, record: &Record, echo: Option<Time>, fack: Option<u64>) -> bool {
        let rtt = now.since(record.sent);
        if !record.resent {
            //= RFC 8985 section 6.2 step 1: update RACK.min_RTT
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        //= RFC 8985 section 6.2 step 3: below the highest byte that arrived, and sent once: reordered
        let fack = fack.unwrap_or(self.fack);
        self.fack = self.fack.max(record.end);
        if record.end < fack && !record.resent {
            self.reordering_seen = true;
        }
        //= RFC 8985 section 6.2 step 2: an ACK of the original gives no sample for the retransmission
        let of_the_original = record.resent
            && (echo.is_some_and(|echo| echo < record.sent) || self.min_rtt.is_some_and(|least| rtt < least));
        if of_the_original {
            return false;
        }
        if record.sent_after(self.newest.0, self.newest.1) {
            self.newest = (record.sent, record.end);
            self.newest_resent = record.resent;
        }
        true
    }

    /// Step 4 of section 6.2.
    fn update_reo_wnd(&mut self, tcb: &Tcb, dsack: bool, exiting: bool, sacked: u32) {
        //= RFC 8985 section 6.2 step 4: at most one D-SACK per RTT counts
        if self.dsack_round.is_some_and(|round| tcb.una() >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && dsack {
            self.dsack_round = Some(tcb.max_sent());
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = PERSISTS;
        } else if exiting {
            //= RFC 8985 section 6.2 step 4: 16 recoveries without a D-SACK reset the window
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
        self.reo_wnd = self.compute_reo_wnd(tcb, sacked);
    }

    fn compute_reo_wnd(&self, tcb: &Tcb, sacked: u32) -> Span {
        //= RFC 8985 section 6.2 step 4: no reordering seen: no wait in recovery or after DupThresh
        if !self.reordering_seen && (tcb.recovery.phase != Phase::Open || sacked >= tcb.dupthresh()) {
            return Span::default();
        }
        //= RFC 8985 section 6.2 step 4: RACK.reo_wnd = min(reo_wnd_mult * min_RTT / 4, SRTT)
        let least = self.min_rtt.unwrap_or_default().as_nanos();
        let window = Span::from_nanos(least.saturating_mul(u64::from(self.reo_wnd_mult)) / 4);
        window.min(tcb.rto.srtt())
    }
}

/// Boxed: it is by far the largest state, and other strategies should not carry its size.
impl LossRecovery for Box<Rack> {
    const NEEDS_SACK: bool = true;
    const KEEPS_RECORD: bool = true;
    const SKIPS_REPORTED: bool = true;
    const KEEPS_REPORTS: bool = true;
    const GOES_BACK: bool = false;
    const HEARS_IDLE: bool = false;

    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        if ack.old && !ack.sack_news {
            return;
        }
        let fack = (tcb.config().rack.order == RackOrder::Before).then_some(self.fack);
        let all = tcb.config().rack.copy == RackCopy::Echo;
        if let Some(sent) = &tcb.sent {
            for record in sent.fresh() {
                tcb.recovery.tail_probe.measured |= !record.resent;
                //= RFC 8985 section 6.2 step 2: RACK.rtt = rtt, for each segment newly acknowledged, in turn
                let echo = ack.echo.filter(|_| all || record.end <= ack.ack);
                if self.arrived(io.now, record, echo, fack) {
                    self.rtt = io.now.since(record.sent);
                }
            }
        }
        tcb.recovery.tail_probe.measured |= ack.sample.is_some();
        tail_probe::on_ack(tcb, ack);
        let fast = tcb.recovery.phase == Phase::Fast;
        let exiting = tcb.recovery.phase != Phase::Open && ack.newly_acked > 0 && ack.ack >= tcb.recover();
        if ack.newly_acked > 0 {
            tcb.advance(io, ack, true);
        } else if tcb.config().rack.restart && tells_of_before(tcb) {
            tcb.rto.restart(io.now);
        }
        if exiting {
            self.leave(tcb, io, ack);
        }
        let sacked = tcb.sent.as_ref().map_or(0, |sent| sent.sacked_segments());
        let widens = self.reordering_seen || !tcb.config().rack.widen_reordered;
        self.update_reo_wnd(tcb, ack.dsack && widens, exiting, sacked);
        let again = exiting && tcb.config().rack.again && is_lost(tcb);
        if again {
            self.enter(tcb, io, self.reduced);
        }
        if ack.newly_acked > 0 && !again && (!fast || (exiting && tcb.config().grow_on_exit)) {
            tcb.open_window(ack);
        } else {
            tcb.report_rtt(ack);
        }
        let lost = self.detect(tcb, io);
        tcb.report_losses_and_delivery(io.now);
        self.reduce(tcb, ack.delivered, ack.newly_acked > 0 && !lost);
        let max = tcb.max_sent();
        self.fill(tcb, io, false);
        if tcb.max_sent() == max {
            tail_probe::schedule(tcb, io.now, false); // new data have scheduled it
        }
    }

    fn on_timeout(&mut self, recovery: &mut RecoveryState) {
        (recovery.phase, self.prr) = (Phase::Timeout, Proportional::default());
        //= RFC 8985 section 7.1: RTO recovery resets the loss probe
        recovery.tail_probe.reset();
    }

    fn resend(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) {
        tcb.timers.stop(Timer::Reordering);
        tcb.timers.stop(Timer::Probe);
        let Some(sent) = &mut tcb.sent else { return };
        //= RFC 8985 section 6.3: the first segment is lost, and so are segments sent long enough ago
        for i in 0..sent.records().len() {
            let record = &sent.records()[i];
            if i == 0 || record.sent + self.rtt + self.reo_wnd <= io.now {
                sent.mark_lost(i);
            }
        }
        self.fill(tcb, io, true);
    }

    fn on_spurious(&mut self, tcb: &mut Tcb) {
        if let Some(sent) = &mut tcb.sent {
            sent.none_lost();
        }
        (tcb.recovery.phase, self.prr) = (Phase::Open, Proportional::default());
        // The apparent ACK of the retransmission acknowledged the original: it is no evidence of reordering.
        (self.newest, self.newest_resent) = ((Time::ZERO, 0), false);
        refresh(tcb);
    }

    fn on_timer(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, timer: Timer) {
        match timer {
            //= RFC 8985 section 6.2 step 5: when the reordering timer expires, detect again
            Timer::Reordering => {
                let found = self.detect(tcb, io);
                let counts = if found { self.prr.of_a_timer() } else { 0 };
                self.reduce(tcb, counts, false);
                self.fill(tcb, io, false);
            }
            Timer::Probe => tail_probe::send(tcb, io),
            Timer::Release => self.fill(tcb, io, false),
            Timer::Persist => {} // the sender's own
        }
    }

    fn pipe(&self, tcb: &Tcb) -> Option<u64> {
        tcb.sent.as_ref().map(|sent| sent.in_flight())
    }
}

impl Rack {
    fn leave(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let (fast, prr) = (tcb.recovery.recovering(), std::mem::take(&mut self.prr));
        tcb.recovery.phase = Phase::Open;
        prr.end(&mut tcb.window);
        if fast {
            io.record(|| Event::RecoveryEnded { ack: ack.ack });
        }
    }

    /// Step 5 of section 6.2: marks segments lost that were sent sufficiently before an arrived one, and sets
    /// the reordering timer for the others. True if a segment is newly lost.
    #[inline]
    fn detect(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) -> bool {
        tcb.timers.stop(Timer::Reordering);
        let sacked = tcb.sent.as_ref().map_or(0, |sent| sent.sacked());
        if tcb.recovery.phase == Phase::Open && sacked == 0 && !self.newest_resent {
            return false; // everything outstanding was sent after the last arrived segment
        }
        self.detect_among_older(tcb, io)
    }

    /// [`Rack::detect`] when segments sent before the newest arrived one may be outstanding.
    fn detect_among_older(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) -> bool {
        let (phase, wheel) = (tcb.recovery.phase, tcb.config().rto.wheel);
        let Some(sent) = &mut tcb.sent else { return false };
        let (rtt, reo_wnd) = (self.rtt, self.reo_wnd);
        let due = |at: Time| at + rtt + reo_wnd;
        //= RFC 8985 section 6.2 step 5: sent before the newest arrived segment, and its time has expired
        let late = sent.before(self.newest).take_while(|(at, _)| due(*at) <= io.now);
        let mut late: Vec<usize> = late.map(|(_, end)| sent.index(end - 1)).collect();
        late.sort_unstable(); // losses are counted in the order of the data
        let found = !late.is_empty();
        let mut found_again = false;
        for i in late {
            let record = &sent.records()[i];
            found_again |= record.resent && record.sent >= self.reduced;
            sent.mark_lost(i);
        }
        // The timer covers the others, up to the one sent last.
        if let Some((at, _)) = sent.before(self.newest).next_back() {
            let due = due(at);
            let at = if wheel { expiry(io.now, due.since(io.now) + LEAST) } else { due };
            tcb.timers.set(Timer::Reordering, at);
        }
        match phase {
            Phase::Open if found => self.enter(tcb, io, io.now),
            //= RFC 8985 section 9.3: without PRR a lost retransmission brings the window down again
            Phase::Fast if found_again && !self.prr.is_on() && !tcb.owns_window() => {
                tcb.halve_again();
                self.reduced = io.now;
            }
            _ => {}
        }
        found
    }

    /// Starts a recovery whose first retransmission was sent at `began`.
    fn enter(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, began: Time) {
        let prr = Proportional::begin(tcb);
        tcb.begin_recovery(io, began);
        tcb.halve_both();
        tcb.timers.stop(Timer::Probe);
        tcb.recovery.begin();
        (self.prr, self.reduced, self.begins) = (prr, began, true);
        //= RFC 8985 section 7.1: fast recovery resets the loss probe
        tcb.recovery.tail_probe.reset();
    }

    /// Sets the window by proportional rate reduction.
    fn reduce(&mut self, tcb: &mut Tcb, delivered: u64, safe: bool) {
        let pipe = tcb.sent.as_ref().map_or(0, |sent| sent.in_flight());
        self.prr.on_ack(&mut tcb.window, delivered, pipe, safe);
    }

    /// Retransmits lost segments, oldest first, then sends new data, as far as the window allows. With
    /// `at_once`, the first segment is sent regardless of the window.
    fn fill(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, at_once: bool) {
        if tcb.sent.as_ref().is_some_and(|sent| sent.lost() > 0) {
            self.fill_with_lost(tcb, io, at_once);
        }
        self.begins = false;
        refresh(tcb);
        let max = tcb.max_sent();
        tcb.send_window(io, 0);
        let sent = tcb.max_sent() - max;
        self.prr.sent(sent);
        if tcb.recovery.phase == Phase::Open && tcb.recovery.gone > 0 {
            tcb.let_out_beyond_flight(sent);
        }
    }

    /// Retransmits lost segments, oldest first.
    fn fill_with_lost(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, at_once: bool) {
        let mss = tcb.window.mss;
        let phase = tcb.recovery.phase;
        let mut cause = match phase {
            Phase::Timeout if at_once => Cause::Timeout,
            Phase::Timeout => Cause::GoBackN,
            // The first retransmission of a new recovery ignores the window.
            _ if self.begins => Cause::Fast,
            _ => Cause::Recovery,
        };
        let mut forced = at_once || self.begins;
        while let Some(sent) = &tcb.sent {
            // While F-RTO sends new data only, nothing is retransmitted (RFC 5682).
            if tcb.sends_only_new()
                || sent.lost() == 0
                || (!forced && tcb.window.cwnd - (sent.in_flight() as f64) < mss)
            {
                break;
            }
            let Some(&Record { start, end, .. }) = sent.first_lost() else { break };
            if !forced && !tcb.released(io.now) {
                break; // the release timer continues here
            }
            tcb.retransmit_range(io, start, end, cause);
            if tcb.config().rack.restart && start == tcb.una() && !at_once {
                tcb.rto.restart(io.now);
            }
            self.prr.sent(end - start);
            cause = if phase == Phase::Timeout { Cause::GoBackN } else { Cause::Recovery };
            forced = false;
        }
    }
}

/// Whether the first segment that this ACK covers was sent before the last transmission of the oldest
/// outstanding one (Linux 6.12, net/ipv4/tcp_input.c: `tcp_clean_rtx_queue`).
fn tells_of_before(tcb: &Tcb) -> bool {
    let Some(sent) = &tcb.sent else { return false };
    let first = sent.fresh().iter().find(|record| !record.resent);
    first.zip(sent.records().front()).is_some_and(|(first, oldest)| first.sent < oldest.sent)
}

/// Whether any segment is known to be lost, retransmitted or not (Linux 6.12, net/ipv4/tcp_input.c:
/// `tcp_time_to_recover`).
fn is_lost(tcb: &Tcb) -> bool {
    let mut records = tcb.sent.iter().flat_map(|sent| sent.records());
    records.any(|record| !record.sacked && (record.lost || record.resent))
}

/// Updates the outstanding bytes that do not count against the window. Before recovery, this lets SACK blocks
/// send new data, which is limited transmit (RFC 3042) and follows its option.
fn refresh(tcb: &mut Tcb) {
    let counts = tcb.recovery.phase != Phase::Open || tcb.config().limited_transmit;
    let gone = tcb.sent.as_ref().map_or(0, |sent| sent.sacked() + sent.lost());
    tcb.recovery.gone = if counts { gone } else { 0 };
}
