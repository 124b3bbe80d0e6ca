//! CCID 3, TFRC congestion control (RFC 4342): window counter of the sender, feedback options of the receiver.

use super::{Fate, Rules};
use crate::packet::{Dccp, Opt};
use crate::tfrc::{Arrival, Feedback, LossHistory, Receiver, Sender, SenderConfig};
use base::{Span, Time};
use std::collections::VecDeque;

/// Packets whose send times are remembered for reports.
const REMEMBERED: usize = 16_384;
/// The window counter advances by at most this much at once (RFC 4342 section 8.1).
const MOST_STEP: u64 = 5;
/// Steps of the window counter in a round trip.
const STEPS_PER_ROUND: u64 = 4;

/// Longest round trip that Linux takes (net/dccp/dccp.h: DCCP_SANE_RTT_MAX).
const MOST_RTT: Span = Span::from_secs(3);

/// A packet that no report has acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: u64,
    at: Time,
    /// Window counter, continued beyond 15; none for a packet without data.
    counter: Option<u64>,
}

/// The sending half of CCID 3.
#[derive(Clone, Debug)]
pub struct Ccid3 {
    tfrc: Sender,
    rules: Rules,
    /// Packets not yet reported, from the first with data on.
    sent: VecDeque<Sent>,
    /// Window counter, and when it last advanced; never before the first packet with data.
    counter: u64,
    counted: Time,
    /// The counter of the newest packet with data.
    shown: u64,
    loss: f64,
    loss_reports: u64,
}

impl Ccid3 {
    /// A half-connection before its first packet.
    pub fn new(config: SenderConfig, rules: Rules) -> Self {
        Ccid3 {
            tfrc: Sender::new(config),
            rules,
            sent: VecDeque::new(),
            counter: 0,
            counted: Time::NEVER,
            shown: 0,
            loss: 0.0,
            loss_reports: 0,
        }
    }
    /// Earliest time of the next packet.
    pub fn next_send(&self) -> Time {
        self.tfrc.next_send()
    }
    /// Sets the RTT measured in the handshake; it gives the initial rate (RFC 5348 section 4.2).
    pub fn seed(&mut self, now: Time, rtt: Span) {
        self.tfrc.seed(now, rtt);
    }
    /// Records that a data packet of `bytes` bytes is sent; returns its window counter.
    pub fn on_send(&mut self, now: Time, seq: u64, bytes: u32, more_waits: bool) -> u8 {
        self.tfrc.on_size(bytes);
        self.tfrc.on_send(now, more_waits);
        self.count(now);
        self.remember(Sent { seq, at: now, counter: Some(self.counter) });
        (self.counter % 16) as u8
    }

    fn count(&mut self, now: Time) {
        if self.counted.is_never() {
            self.counted = now;
        }
        //= RFC 4342 section 8.1: the counter advances once per quarter of a round trip, by at most 5 between two packets
        let quarter = self.tfrc.rtt().as_nanos() / STEPS_PER_ROUND;
        if let Some(quarters) = now.since(self.counted).as_nanos().checked_div(quarter)
            && quarters > 0
        {
            self.counter += quarters.min(MOST_STEP);
            self.counted = now;
        }
        // Two consecutive packets differ by at most 5, even if an acknowledgement and an idle period both advanced the counter.
        self.counter = self.counter.min(self.shown + MOST_STEP);
        self.shown = self.counter;
    }

    /// A packet without data leaves: a report may acknowledge it, and its round trip counts.
    pub fn on_dataless_sent(&mut self, now: Time, seq: u64) {
        // Packets before the first data packet are not stored: feedback never covers them.
        if !self.sent.is_empty() {
            self.remember(Sent { seq, at: now, counter: None });
        }
    }

    fn remember(&mut self, sent: Sent) {
        self.sent.push_back(sent);
        if self.sent.len() > REMEMBERED {
            self.sent.pop_front();
        }
    }

    /// The application has data that congestion control delays.
    pub fn on_blocked(&mut self, now: Time) {
        self.tfrc.on_blocked(now);
    }
    /// A report arrived.
    pub fn on_ack(&mut self, now: Time, packet: &Dccp, mut fate: impl FnMut(Fate)) {
        let Some(ack) = packet.ack else { return };
        if let Some(vector) = packet.ack_vector() {
            let oldest = self.sent.front().map_or(u64::MAX, |s| s.seq);
            vector.each(ack, |seq, state| {
                if seq >= oldest {
                    fate(Fate { seq, arrived: state != crate::ackvec::State::Missing });
                }
            });
        }
        let (mut rate, mut loss, mut elapsed) = (None, None, Span::ZERO);
        for option in &packet.options {
            match option {
                Opt::ReceiveRate(r) => rate = Some(f64::from(*r)),
                Opt::LossEventRate(u32::MAX) => loss = Some(0.0),
                Opt::LossEventRate(inverse) => loss = Some(1.0 / f64::from((*inverse).max(1))),
                Opt::ElapsedTime(t) => elapsed = Span::from_nanos(10_000 * u64::from(*t)),
                _ => {}
            }
        }
        let at = self.sent.partition_point(|s| s.seq < ack);
        let found = self.sent.get(at).filter(|s| s.seq == ack).copied();
        let reported = at + usize::from(found.is_some());
        if packet.ack_vector().is_none() {
            // Without a vector, lost and received packets below the acknowledged number cannot be distinguished.
            self.sent.iter().take(reported).for_each(|s| fate(Fate { seq: s.seq, arrived: true }));
        }
        self.sent.drain(..reported);
        let Some(found) = found else { return };
        //= RFC 4342 section 8.1: after an acknowledgement of counter i the counter SHOULD be at least i + 4
        if let Some(least) = found.counter.map(|i| i + STEPS_PER_ROUND)
            && self.counter < least
            && self.rules == Rules::Rfc
        {
            (self.counter, self.counted) = (least, now);
        }
        let (mut sent, Some(rate), Some(loss)) = (found.at, rate, loss) else { return };
        if self.rules == Rules::Linux {
            // RTT samples are limited to `MOST_RTT`.
            let longest = (MOST_RTT + elapsed).as_nanos();
            sent = sent.max(Time::from_nanos(now.as_nanos().saturating_sub(longest)));
        }
        if loss > self.loss {
            self.loss_reports += 1;
        }
        self.loss = loss;
        self.tfrc.on_feedback(now, &Feedback { sent, held: elapsed, rate, loss });
    }
    /// Expiry of the nofeedback timer.
    pub fn next_timeout(&self) -> Time {
        self.tfrc.next_timeout()
    }
    /// Handles the expiry of the nofeedback timer.
    pub fn on_timeout(&mut self, now: Time) {
        self.tfrc.on_timeout(now);
    }
    /// Retransmission timeout of an equivalent TCP: four round trips.
    pub fn rto(&self) -> Option<Span> {
        self.tfrc.rto()
    }
    /// Smoothed round trip.
    pub fn rtt(&self) -> Span {
        self.tfrc.rtt()
    }
    /// Allowed rate, bytes per second.
    pub fn rate(&self) -> f64 {
        self.tfrc.rate()
    }
    /// Expirations of the nofeedback timer.
    pub fn expirations(&self) -> u64 {
        self.tfrc.expirations()
    }
    /// Reports with a higher loss event rate than the one before.
    pub fn loss_reports(&self) -> u64 {
        self.loss_reports
    }
}

/// The receiving half of CCID 3.
#[derive(Clone, Debug)]
pub struct Reporter {
    tfrc: Receiver,
    /// First arrivals of recent counter values; the values go on beyond 15. With Linux's rules two at most: where the present
    /// round trip began, and the newest value.
    counters: VecDeque<(u64, Time)>,
    rtt: Span,
    /// Highest number, and when it arrived.
    newest: (u64, Time),
    rules: Rules,
    /// Window counter of the newest packet with data, and that of the last report, 0 to 15.
    shown: u8,
    reported: u8,
}

impl Reporter {
    /// A half-connection before its first packet.
    pub fn new(rules: Rules) -> Self {
        let history = LossHistory::new(false).by_counter();
        let tfrc = match rules {
            Rules::Rfc => Receiver::with(history),
            Rules::Linux => Receiver::with(history.brief_start()).without_timer(),
        };
        Reporter {
            tfrc,
            counters: VecDeque::new(),
            rtt: Span::ZERO,
            newest: (0, Time::ZERO),
            rules,
            shown: 0,
            reported: 0,
        }
    }

    /// A data packet arrived.
    pub fn on_data(&mut self, now: Time, packet: &Dccp, size: u32, marked: bool) {
        match self.rules {
            Rules::Rfc => self.learn(now, packet.ccval),
            Rules::Linux => self.learn_in_turn(now, packet.ccval),
        }
        self.arrived(now, packet.seq);
        let (seq, ndp, counter) = (packet.seq, packet.ndp_count(), packet.ccval);
        let arrival = Arrival { seq, ndp, counter, marked, ..Arrival::default() };
        self.tfrc.on_arrival(now, arrival, size, now, self.rtt);
        self.shown = counter;
        //= RFC 4342 section 10.3: the receiver MAY report by the window counter in place of its own estimate of the round trip
        if self.rules == Rules::Linux
            && u64::from(counter.wrapping_sub(self.reported) & 15) >= STEPS_PER_ROUND
        {
            self.tfrc.demand();
        }
    }

    /// A packet without data arrived: it has a number, and reports acknowledge the newest number.
    pub fn on_dataless(&mut self, now: Time, packet: &Dccp) {
        self.arrived(now, packet.seq);
        self.tfrc.on_dataless(now, packet.seq, packet.ndp_count());
    }

    fn arrived(&mut self, now: Time, seq: u64) {
        if seq >= self.newest.0 {
            self.newest = (seq, now);
        }
    }

    /// The round trip of the handshake, until window counters give a newer sample.
    pub fn seed(&mut self, rtt: Span) {
        if self.rtt.is_zero() {
            self.rtt = rtt;
        }
    }

    //= RFC 4342 section 8.1: the receiver estimates the round trip from the arrival of window counters four apart
    // A step of 5 is the cap, so its duration is unknown; differences of 2 and 3 are scaled to a round trip.
    fn learn(&mut self, now: Time, counter: u8) {
        let step =
            self.counters.back().map_or(0, |(last, _)| u64::from(counter.wrapping_sub(*last as u8) & 15));
        if !self.counters.is_empty() && (step == 0 || step > 8) {
            return;
        }
        let count = self.counters.back().map_or(u64::from(counter), |(last, _)| last + step);
        while self.counters.front().is_some_and(|(from, _)| from + 4 < count) {
            self.counters.pop_front();
        }
        if let Some(&(from, at)) = self.counters.front().filter(|(from, _)| from + 2 <= count) {
            self.sample(now.since(at).as_nanos() * STEPS_PER_ROUND / (count - from));
        }
        self.counters.push_back((count, now));
    }

    /// Adds a round-trip sample, nanoseconds, to the average.
    fn sample(&mut self, nanos: u64) {
        let nanos = nanos.max(1);
        let before = if self.rtt.is_zero() { nanos } else { self.rtt.as_nanos() };
        self.rtt = Span::from_nanos((9 * before + nanos) / 10);
    }

    /// The same as in Linux (net/dccp/ccids/lib/packet_history.c): one sample for each round trip, until the first loss event.
    fn learn_in_turn(&mut self, now: Time, counter: u8) {
        if self.tfrc.history().events() > 0 {
            return;
        }
        let counter = u64::from(counter);
        let Some(&(from, began)) = self.counters.front() else {
            return self.counters.push_back((counter, now));
        };
        let newest = self.counters.get(1).copied();
        let step = counter.wrapping_sub(from) & 15;
        match (step, newest) {
            (0, None) => {}
            (1..STEPS_PER_ROUND, _) => {
                self.counters.truncate(1);
                self.counters.push_back((counter, now));
            }
            (STEPS_PER_ROUND, _) => {
                self.sample(now.since(began).as_nanos());
                self.counters = VecDeque::from([(counter, now)]);
            }
            (_, newest) => {
                if let Some((last, at)) = newest {
                    // Integer division, as in Linux.
                    self.sample(
                        STEPS_PER_ROUND / (last.wrapping_sub(from) & 15).max(1) * at.since(began).as_nanos(),
                    );
                }
                self.counters = VecDeque::from([(counter, now)]);
            }
        }
    }

    /// Due time of the next report.
    pub fn next_timeout(&self) -> Time {
        self.tfrc.next_timeout()
    }
    /// The options of the report that is due.
    pub fn report(&mut self, now: Time) -> Option<Vec<Opt>> {
        let feedback = self.tfrc.report(now)?;
        self.reported = self.shown;
        let inverse = if feedback.loss > 0.0 { (1.0 / feedback.loss) as u32 } else { u32::MAX };
        let held = now.since(self.newest.1).as_nanos() / 10_000;
        Some(vec![
            Opt::ElapsedTime(held.min(u64::from(u32::MAX)) as u32),
            Opt::LossEventRate(inverse),
            Opt::ReceiveRate(feedback.rate.min(f64::from(u32::MAX)) as u32),
        ])
    }
    /// The round trip that it has estimated.
    pub fn rtt(&self) -> Span {
        self.rtt
    }
    /// Loss events and intervals.
    pub fn history(&self) -> &LossHistory {
        self.tfrc.history()
    }
}
