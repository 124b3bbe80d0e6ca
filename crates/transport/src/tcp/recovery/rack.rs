//! RACK loss detection (RFC 8985).
//!
//! A segment is lost if one sent well after it has arrived: RACK (RFC 8985). Retransmissions are judged like any
//! other segment, reordering is measured and waited for, and the tail of a flight is probed (`tail_probe.rs`).
//! Without SACK NewReno takes its place.
//!
//! After a timeout nothing is sent again from the oldest byte on: what was sent long enough ago is taken
//! for lost and resent as the window opens, what was sent later may still arrive (section 6.3).

use super::prr::Proportional;
use super::tail_probe::{self, TailProbe};
use super::{Rules, state as state_of};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::recovery::sent::Record;
use crate::recovery::wheel::{LEAST, expiry};
use crate::tcp::config::{RackCopy, RackOrder};
use crate::tcp::sender::{Sender, Timer};
use base::event::Event;
use base::truth::Cause;
use base::{Span, Time};

/// What is going on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Phase {
    /// Nothing is known to be lost.
    #[default]
    Open,
    /// Fast recovery, until what was outstanding at its beginning is acknowledged.
    Fast,
    /// Likewise after a timeout.
    Timeout,
}

/// How many recoveries without a D-SACK a widened reordering window lasts (section 6.2 step 4).
const PERSISTS: u32 = 16;

/// RACK between acknowledgements.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    pub(super) phase: Phase,
    /// `RACK.xmit_ts`, `RACK.end_seq`: when the segment sent last of all that arrived was sent, its end.
    newest: (Time, u64),
    /// It was a retransmission: later originals may have been sent before it.
    newest_resent: bool,
    /// `RACK.rtt`: the round trip of that segment.
    rtt: Span,
    /// `RACK.min_RTT`.
    min_rtt: Option<Span>,
    /// `RACK.fack`: one past the highest byte that arrived.
    fack: u64,
    reordering_seen: bool,
    /// `RACK.dsack_round`: until this is acknowledged one D-SACK has widened the window.
    dsack_round: Option<u64>,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    reo_wnd: Span,
    /// When the window came down last.
    reduced: Time,
    /// Recovery has begun, and nothing was resent yet.
    begins: bool,
    prr: Proportional,
    /// Bytes outstanding that are not in the network.
    gone: u64,
    pub(super) probe: TailProbe,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            phase: Phase::Open,
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
            gone: 0,
            probe: TailProbe::default(),
        }
    }
}

pub(super) fn state(sender: &mut Sender) -> &mut Rack {
    state_of::<Box<Rack>>(sender)
}

impl Rack {
    /// Steps 1 to 3 of section 6.2 for one segment that has just arrived; whether it says how long a
    /// round trip is.
    /// `fack`: the highest that had arrived before this acknowledgement, if it is that which counts.
    fn arrived(&mut self, now: Time, record: &Record, echo: Option<Time>, fack: Option<u64>) -> bool {
        let rtt = now.since(record.sent);
        if !record.resent {
            //= RFC 8985 section 6.2 step 1: update RACK.min_RTT
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        //= RFC 8985 section 6.2 step 3: below the highest that arrived, and sent once: reordered
        let fack = fack.unwrap_or(self.fack);
        self.fack = self.fack.max(record.end);
        if record.end < fack && !record.resent {
            self.reordering_seen = true;
        }
        //= RFC 8985 section 6.2 step 2: an acknowledgement of the original says nothing of the copy
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
    fn update_reo_wnd(&mut self, sender: &Sender, dsack: bool, exiting: bool, sacked: u32) {
        //= RFC 8985 section 6.2 step 4: at most one D-SACK a round trip counts
        if self.dsack_round.is_some_and(|round| sender.una() >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && dsack {
            self.dsack_round = Some(sender.max_sent());
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = PERSISTS;
        } else if exiting {
            //= RFC 8985 section 6.2 step 4: 16 recoveries without a D-SACK reset the window
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
        self.reo_wnd = self.compute_reo_wnd(sender, sacked);
    }

    fn compute_reo_wnd(&self, sender: &Sender, sacked: u32) -> Span {
        //= RFC 8985 section 6.2 step 4: no reordering seen: no wait in recovery or after DupThresh
        if !self.reordering_seen && (self.phase != Phase::Open || sacked >= sender.dupthresh()) {
            return Span::default();
        }
        //= RFC 8985 section 6.2 step 4: RACK.reo_wnd = min(reo_wnd_mult * min_RTT / 4, SRTT)
        let least = self.min_rtt.unwrap_or_default().as_nanos();
        let window = Span::from_nanos(least.saturating_mul(u64::from(self.reo_wnd_mult)) / 4);
        window.min(sender.rto.srtt())
    }
}

/// Boxed: it is by far the largest state, and those who do without it are not to carry it.
impl Rules for Box<Rack> {
    const NEEDS_SACK: bool = true;
    const KEEPS_RECORD: bool = true;
    const SKIPS_REPORTED: bool = true;
    const KEEPS_REPORTS: bool = true;
    const GOES_BACK: bool = false;

    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        if ack.old && !ack.sack_news {
            return;
        }
        let mut s = *state(sender);
        let fack = (sender.config().rack_order == RackOrder::Before).then_some(s.fack);
        let all = sender.config().rack_copy == RackCopy::Echo;
        if let Some(sent) = &sender.sent {
            for record in sent.fresh() {
                s.probe.measured |= !record.resent;
                //= RFC 8985 section 6.2 step 2: RACK.rtt = rtt, for each segment newly acknowledged, in turn
                let echo = ack.echo.filter(|_| all || record.end <= ack.ack);
                if s.arrived(io.now, record, echo, fack) {
                    s.rtt = io.now.since(record.sent);
                }
            }
        }
        s.probe.measured |= ack.sample.is_some();
        *state(sender) = s;
        tail_probe::on_ack(sender, ack);
        let fast = s.phase == Phase::Fast;
        let exiting = s.phase != Phase::Open && ack.newly_acked > 0 && ack.ack >= sender.recover();
        if ack.newly_acked > 0 {
            sender.advance(io, ack, true);
        } else if sender.config().rack_restart && tells_of_before(sender) {
            sender.rto.restart(io.now);
        }
        if exiting {
            leave(sender, io, ack);
        }
        let mut s = *state(sender);
        let sacked = sender.sent.as_ref().map_or(0, |sent| sent.sacked_segments());
        let widens = s.reordering_seen || !sender.config().rack_widen_reordered;
        s.update_reo_wnd(sender, ack.dsack && widens, exiting, sacked);
        *state(sender) = s;
        let again = exiting && sender.config().rack_again && is_lost(sender);
        if again {
            enter(sender, io, s.reduced);
        }
        if ack.newly_acked > 0 && !again && (!fast || (exiting && sender.config().grow_on_exit)) {
            sender.open_window(ack);
        } else {
            sender.hear_round_trip(ack);
        }
        let lost = detect(sender, io);
        sender.hear_then_deliver(io.now);
        reduce(sender, ack.delivered, ack.newly_acked > 0 && !lost);
        let max = sender.max_sent();
        fill(sender, io, false);
        tail_probe::schedule(sender, io, sender.max_sent() > max);
    }

    fn on_timeout(&mut self) {
        (self.phase, self.prr) = (Phase::Timeout, Proportional::default());
        //= RFC 8985 section 7.1: RTO recovery resets the loss probe
        self.probe.reset();
    }

    fn resend(sender: &mut Sender, io: &mut Io<'_>) {
        sender.timers.stop(Timer::Reordering);
        sender.timers.stop(Timer::Probe);
        let s = *state(sender);
        let Some(sent) = &mut sender.sent else { return };
        //= RFC 8985 section 6.3: the first segment is lost, and what was sent long enough ago
        for i in 0..sent.records().len() {
            let record = &sent.records()[i];
            if i == 0 || record.sent + s.rtt + s.reo_wnd <= io.now {
                sent.mark_lost(i);
            }
        }
        fill(sender, io, true);
    }

    fn on_spurious(sender: &mut Sender) {
        if let Some(sent) = &mut sender.sent {
            sent.none_lost();
        }
        let s = state(sender);
        (s.phase, s.prr) = (Phase::Open, Proportional::default());
        // What seemed to answer the retransmission answered the original: it says nothing of the order.
        (s.newest, s.newest_resent) = ((Time::ZERO, 0), false);
        refresh(sender);
    }

    fn on_new_data(sender: &mut Sender, io: &mut Io<'_>) {
        tail_probe::schedule(sender, io, true);
    }

    fn on_timer(sender: &mut Sender, io: &mut Io<'_>, timer: Timer) {
        match timer {
            //= RFC 8985 section 6.2 step 5: when the reordering timer expires, detect again
            Timer::Reordering => {
                let found = detect(sender, io);
                let counts = if found { state(sender).prr.of_a_timer() } else { 0 };
                reduce(sender, counts, false);
                fill(sender, io, false);
            }
            Timer::Probe => tail_probe::send(sender, io),
            Timer::Release => fill(sender, io, false),
            Timer::Persist => {} // the sender's own
        }
    }

    fn recovering(&self) -> bool {
        self.phase == Phase::Fast
    }

    fn beyond(&self) -> u64 {
        self.gone
    }

    fn pipe(&self, sender: &Sender) -> Option<u64> {
        sender.sent.as_ref().map(|sent| sent.in_flight())
    }
}

/// Whether what was reported first was sent before the oldest segment was sent again (Linux 6.12, net/ipv4/tcp_input.c:
/// `tcp_clean_rtx_queue`).
fn tells_of_before(sender: &Sender) -> bool {
    let Some(sent) = &sender.sent else { return false };
    let first = sent.fresh().iter().find(|record| !record.resent);
    first.zip(sent.records().front()).is_some_and(|(first, oldest)| first.sent < oldest.sent)
}

/// Whether something is known to be lost, resent or not (Linux 6.12, net/ipv4/tcp_input.c: `tcp_time_to_recover`).
fn is_lost(sender: &Sender) -> bool {
    let mut records = sender.sent.iter().flat_map(|sent| sent.records());
    records.any(|record| !record.sacked && (record.lost || record.resent))
}

fn leave(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    let s = state(sender);
    let (fast, prr) = (s.phase == Phase::Fast, std::mem::take(&mut s.prr));
    s.phase = Phase::Open;
    prr.end(&mut sender.window);
    if fast {
        io.record(|| Event::RecoveryEnded { ack: ack.ack });
    }
}

/// Step 5 of section 6.2: takes for lost what was sent well before something that arrived, and waits for
/// what was not sent long enough before it. True if something is newly lost.
fn detect(sender: &mut Sender, io: &mut Io<'_>) -> bool {
    sender.timers.stop(Timer::Reordering);
    let (s, wheel) = (*state(sender), sender.config().rto.wheel);
    let Some(sent) = &mut sender.sent else { return false };
    if s.phase == Phase::Open && sent.sacked() == 0 && !s.newest_resent {
        return false; // everything outstanding was sent after everything that arrived
    }
    let due = |at: Time| at + s.rtt + s.reo_wnd;
    //= RFC 8985 section 6.2 step 5: sent before the newest that arrived, and its time is up
    let late = sent.before(s.newest).take_while(|(at, _)| due(*at) <= io.now);
    let mut late: Vec<usize> = late.map(|(_, end)| sent.index(end - 1)).collect();
    late.sort_unstable(); // losses are counted in the order of the data
    let found = !late.is_empty();
    let mut found_again = false;
    for i in late {
        let record = &sent.records()[i];
        found_again |= record.resent && record.sent >= s.reduced;
        sent.mark_lost(i);
    }
    // The others are waited for, the one sent last the longest.
    if let Some((at, _)) = sent.before(s.newest).next_back() {
        let due = due(at);
        let at = if wheel { expiry(io.now, due.since(io.now) + LEAST) } else { due };
        sender.timers.set(Timer::Reordering, at);
    }
    match s.phase {
        Phase::Open if found => enter(sender, io, io.now),
        //= RFC 8985 section 9.3: without PRR a lost retransmission brings the window down again
        Phase::Fast if found_again && !s.prr.is_on() && !sender.owns_window() => {
            sender.halve_again();
            state(sender).reduced = io.now;
        }
        _ => {}
    }
    found
}

/// A recovery begins, whose first retransmission is of `began`.
fn enter(sender: &mut Sender, io: &mut Io<'_>, began: Time) {
    let prr = Proportional::begin(sender);
    sender.begin_recovery(io, began);
    sender.halve_both();
    sender.timers.stop(Timer::Probe);
    let s = state(sender);
    (s.phase, s.prr, s.reduced, s.begins) = (Phase::Fast, prr, began, true);
    //= RFC 8985 section 7.1: fast recovery resets the loss probe
    s.probe.reset();
}

/// Proportional rate reduction sets the window by what was delivered.
fn reduce(sender: &mut Sender, delivered: u64, safe: bool) {
    let mut prr = state(sender).prr;
    let pipe = sender.sent.as_ref().map_or(0, |sent| sent.in_flight());
    prr.on_ack(&mut sender.window, delivered, pipe, safe);
    state(sender).prr = prr;
}

/// How much of what is outstanding does not count against the window. Before recovery that is what lets
/// out new data on reports, which is limited transmit (RFC 3042) and follows its option.
fn refresh(sender: &mut Sender) {
    let counts = state(sender).phase != Phase::Open || sender.config().limited_transmit;
    let gone = sender.sent.as_ref().map_or(0, |sent| sent.sacked() + sent.lost());
    state(sender).gone = if counts { gone } else { 0 };
}

/// Resends what is lost, oldest first, then sends new data, as far as the window allows; the first
/// segment in any case if `at_once`.
fn fill(sender: &mut Sender, io: &mut Io<'_>, at_once: bool) {
    let mss = sender.window.mss;
    let s = *state(sender);
    let mut cause = match s.phase {
        Phase::Timeout if at_once => Cause::Timeout,
        Phase::Timeout => Cause::GoBackN,
        // The first segment of a recovery that has just begun goes whatever the window says.
        _ if s.begins => Cause::Fast,
        _ => Cause::Recovery,
    };
    let mut forced = at_once || s.begins;
    state(sender).begins = false;
    while let Some(sent) = &sender.sent {
        // Where a detector wants to see what new data do, nothing is resent meanwhile (RFC 5682).
        if sender.sends_only_new()
            || sent.lost() == 0
            || (!forced && sender.window.cwnd - (sent.in_flight() as f64) < mss)
        {
            break;
        }
        let Some(&Record { start, end, .. }) = sent.first_lost() else { break };
        if !forced && !sender.released(io.now) {
            break; // the timer of release goes on with it
        }
        sender.retransmit_range(io, start, end, cause);
        if sender.config().rack_restart && start == sender.una() && !at_once {
            sender.rto.restart(io.now);
        }
        state(sender).prr.sent(end - start);
        cause = if s.phase == Phase::Timeout { Cause::GoBackN } else { Cause::Recovery };
        forced = false;
    }
    refresh(sender);
    let max = sender.max_sent();
    sender.send_window(io, 0);
    let sent = sender.max_sent() - max;
    state(sender).prr.sent(sent);
    if s.phase == Phase::Open && state(sender).gone > 0 {
        sender.let_out_beyond_flight(sent);
    }
}
