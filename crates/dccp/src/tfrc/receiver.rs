//! TFRC receiver (RFC 5348 section 6): loss event rate, receive rate, the feedback timer.

use super::{Arrival, Feedback, LossHistory, equation};
use base::{Span, Time};
use std::collections::VecDeque;

/// When reports are due, and the time that their receive rates cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reports {
    /// At a timer of a round trip and at loss events; a round trip at least (RFC 5348 section 6.2).
    Timer,
    /// Where [`Receiver::demand`] asks and at loss events; since the last report.
    Demand,
}

/// TFRC receiver of one flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    history: LossHistory,
    /// Bytes per packet, averaged.
    size: f64,
    /// The sender's estimate in the newest packet.
    rtt: Span,
    /// Send time and arrival of the newest packet.
    newest: Option<(Time, Time)>,
    highest: u64,
    /// Bytes since the last report, and since when they are counted.
    bytes: u64,
    since: Time,
    /// Arrival times and bytes of packets since the last report, and of two round trips before it.
    arrivals: VecDeque<(Time, u32)>,
    /// Receive rate of the last report that covered data, and the highest of all reports, bytes per second.
    last_rate: f64,
    most_rate: f64,
    reports: Reports,
    /// The report that is due follows a loss event.
    begun: bool,
    timer: Time,
    due: bool,
    packets: u64,
}

/// Weight of the old average in the smoothed packet size.
const SIZE_MEMORY: f64 = 0.9;
/// Until the sender knows a round trip, reports are this far apart.
const UNKNOWN_RTT: Span = Span::from_millis(500);

impl Receiver {
    /// A receiver without packets.
    pub fn new(discounting: bool) -> Self {
        Receiver {
            history: LossHistory::new(discounting),
            size: 0.0,
            rtt: Span::ZERO,
            newest: None,
            highest: 0,
            bytes: 0,
            since: Time::ZERO,
            arrivals: VecDeque::new(),
            last_rate: 0.0,
            most_rate: 0.0,
            reports: Reports::Timer,
            begun: false,
            timer: Time::NEVER,
            due: false,
            packets: 0,
        }
    }

    /// A receiver without packets that uses `history`.
    pub fn with(history: LossHistory) -> Self {
        Receiver { history, ..Receiver::new(true) }
    }

    /// This receiver without a feedback timer, as in Linux (net/dccp/ccids/ccid3.c): reports at loss events and on demand. A rate
    /// covers the time since the last report, and the first loss interval follows from it alone; a report at a loss event
    /// repeats the last rate.
    pub fn without_timer(mut self) -> Self {
        self.reports = Reports::Demand;
        self
    }

    /// A report is due now, unless losses may lie before the newest packet.
    pub fn demand(&mut self) {
        self.due |= !self.history.is_pending();
    }

    /// A data packet arrived. `sent` is its timestamp, `rtt` the sender's estimate (zero: unknown).
    pub fn on_packet(&mut self, now: Time, seq: u64, size: u32, sent: Time, rtt: Span, marked: bool) {
        self.on_arrival(now, Arrival { seq, marked, ..Arrival::default() }, size, sent, rtt);
    }

    /// Arrival of a data packet with its NDP Count and window counter ([`Arrival`]).
    pub fn on_arrival(&mut self, now: Time, arrival: Arrival, size: u32, sent: Time, rtt: Span) {
        let first = self.packets == 0;
        self.packets += 1;
        self.size = if first {
            f64::from(size)
        } else {
            SIZE_MEMORY * self.size + (1.0 - SIZE_MEMORY) * f64::from(size)
        };
        if !rtt.is_zero() {
            self.rtt = rtt;
        }
        if first {
            self.since = now;
        } else {
            if self.timer.is_never() && self.reports == Reports::Timer {
                //= RFC 5348 section 6.2: without data the feedback timer goes on, and a rate covers no earlier expiry
                let rounds = now.since(self.since).as_nanos() / self.round().as_nanos().max(1);
                self.since += Span::from_nanos(rounds * self.round().as_nanos());
            }
            self.bytes += u64::from(size);
            self.arrivals.push_back((now, size));
        }
        if first || arrival.seq > self.highest {
            self.highest = arrival.seq;
            self.newest = Some((sent, now));
        }
        let begun = self.count(now, arrival);
        //= RFC 5348 section 6.1: a new loss event makes the feedback timer expire at once
        if first || begun {
            (self.due, self.begun) = (true, begun);
        }
        if self.timer.is_never() && self.reports == Reports::Timer {
            self.timer = now + self.round();
        }
    }

    /// A packet without data arrived: it may show that data before it are lost.
    pub fn on_dataless(&mut self, now: Time, seq: u64, ndp: u64) {
        let arrival = Arrival { seq, ndp, dataless: true, ..Arrival::default() };
        if self.count(now, arrival) && self.bytes > 0 {
            (self.due, self.begun) = (true, true);
        }
    }

    /// Puts a packet into the history; true if a loss event began.
    fn count(&mut self, now: Time, arrival: Arrival) -> bool {
        let (size, round) = (self.size.max(1.0), self.round().as_secs_f64());
        let rate = match self.reports {
            Reports::Demand => self.rate_until(now),
            Reports::Timer => self.most_rate.max(self.rate_until(now)),
        };
        self.history.on_arrival(now, arrival, self.rtt, || {
            //= RFC 5348 section 6.3.1: the first interval gives the highest receive rate so far when it is put into the equation
            let rate = rate.max(size / (2.0 * round));
            1.0 / equation::loss_rate(size, round, rate)
        })
    }

    fn round(&self) -> Span {
        if self.rtt.is_zero() { UNKNOWN_RTT } else { self.rtt }
    }

    /// The receive rate over the time since the last report; with a timer over a round trip at least.
    fn rate_until(&self, now: Time) -> f64 {
        if self.bytes == 0 {
            return self.last_rate;
        }
        if self.reports == Reports::Demand {
            return self.bytes as f64 / now.since(self.since).as_secs_f64().max(1e-6);
        }
        //= RFC 5348 section 6.2: packets received within the previous R_m seconds, also when a loss event hurries the report
        //= RFC 4342 section 8.3: over the larger of the round trip and the time since the last report
        let window = now.since(self.since).max(self.round());
        let start = now.as_nanos().saturating_sub(window.as_nanos());
        let newest = self.arrivals.iter().rev().take_while(|(at, _)| at.as_nanos() > start);
        newest.map(|(_, size)| f64::from(*size)).sum::<f64>() / window.as_secs_f64()
    }

    /// Discards arrivals that no later report can cover, also with a round trip that has doubled.
    fn forget(&mut self, now: Time) {
        let start = now.as_nanos().saturating_sub(2 * self.round().as_nanos());
        while self.arrivals.front().is_some_and(|(at, _)| at.as_nanos() <= start) {
            self.arrivals.pop_front();
        }
    }

    /// Due time of the next report; [`Time::NEVER`] if none.
    pub fn next_timeout(&self) -> Time {
        if self.due { Time::ZERO } else { self.timer }
    }

    /// The report that is due, if data arrived since the last one.
    pub fn report(&mut self, now: Time) -> Option<Feedback> {
        if self.next_timeout() > now {
            return None;
        }
        let first = self.due && self.packets == 1;
        let repeats = self.begun && self.reports == Reports::Demand && self.last_rate > 0.0;
        (self.due, self.begun) = (false, false);
        let (sent, arrived) = self.newest?;
        if self.bytes == 0 && !first {
            //= RFC 5348 section 6.2: no data since the last feedback: no packet, and the timer starts again
            // Its expiries are counted when data arrive.
            self.timer = Time::NEVER;
            return None;
        }
        let rate = match (first, repeats) {
            (true, _) => 0.0,
            (_, true) => self.last_rate,
            _ => self.rate_until(now),
        };
        self.last_rate = rate;
        self.most_rate = self.most_rate.max(rate);
        self.bytes = 0;
        self.since = now;
        self.forget(now);
        if self.reports == Reports::Timer {
            self.timer = now + self.round();
        }
        Some(Feedback { sent, held: now.since(arrived), rate, loss: self.history.rate() })
    }

    /// Loss events, intervals and rate.
    pub fn history(&self) -> &LossHistory {
        &self.history
    }
    /// The sender's round trip as last reported by it.
    pub fn rtt(&self) -> Span {
        self.rtt
    }
}
