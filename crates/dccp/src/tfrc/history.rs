//! Loss-event history of a TFRC receiver (RFC 5348 section 5): detection, loss intervals, their weighted average.
//!
//! Sequence numbers count packets from any start and never wrap here. Packets of DCCP without data have numbers too and are
//! no part of loss intervals (RFC 4342 section 6.1.1). History discounting (section 5.5) is optional.

use base::{Span, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// Loss intervals that are averaged (RFC 5348 section 5.4: n = 8).
pub const INTERVALS: usize = 8;
/// Weights of the average, newest first (RFC 5348 section 5.4).
pub const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Later packets after which a missing packet counts as lost (RFC 5348 section 5.1: NDUPACK).
const LATER: u32 = 3;
/// Upper bound of the loss events in one series of losses, so that a forged number takes bounded time. Loss
/// rates use the newest [`INTERVALS`] only.
const EVENTS_OF_A_HOLE: usize = 1024;
/// Least discount of old intervals (RFC 5348 section 5.5: THRESHOLD).
const LEAST_DISCOUNT: f64 = 0.25;

/// Consecutive packets that are missing.
#[derive(Clone, Copy, Debug)]
struct Hole {
    from: u64,
    to: u64,
    /// Packet number just before the hole, and the arrival time used for it.
    before: (u64, Time),
    /// First packet received after the hole, and its arrival time.
    after: (u64, Time),
    /// Packets with higher numbers that have arrived since.
    later: u32,
    /// Window counter of the packet before, continued beyond 15.
    counter: u64,
}

/// Criterion that separates two losses into two loss events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    /// A round trip between their nominal arrivals (RFC 5348 section 5.2).
    Time,
    /// A round trip between nominal arrivals, and a received packet between the losses.
    TimeAndHole,
    /// More than [`SAME_EVENT`] steps of the window counter among packets that arrived between them.
    Counter,
}

/// Most steps of the window counter, each a quarter of a round trip, within a loss event (RFC 4342 section 10.1).
const SAME_EVENT: u64 = 4;

/// A loss event: its first lost packet.
#[derive(Clone, Copy, Debug)]
struct Event {
    seq: u64,
    /// When it would have arrived.
    at: Time,
    /// Window counter of the packet before.
    counter: u64,
}

/// A loss interval that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Interval {
    packets: f64,
    /// Discount factor accumulated at the starts of later loss events.
    discount: f64,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub seq: u64,
    /// It carries no data: nothing of the flow, but it has a number (DCCP).
    pub dataless: bool,
    /// Packets without data just before it, as counted by the sender (RFC 4340 section 7.7: NDP Count).
    pub ndp: u64,
    /// Window counter, 0 to 15, of a packet with data (RFC 4342 section 8.1).
    pub counter: u8,
    /// It has an ECN mark.
    pub marked: bool,
    /// The packets missing just before it are known not to be lost to congestion.
    pub forgive: bool,
}

/// Ranges of packets without data that are remembered one by one; older ones are only counted.
const RANGES: usize = 64;

/// Numbers of packets without data since the newest loss event began.
#[derive(Clone, Debug, Default)]
struct Dataless {
    /// Counted only.
    older: u64,
    /// From and to.
    ranges: VecDeque<(u64, u64)>,
}

impl Dataless {
    fn add(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        match self.ranges.back_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.ranges.push_back((from, to)),
        }
        if self.ranges.len() > RANGES
            && let Some((from, to)) = self.ranges.pop_front()
        {
            self.older += to - from;
        }
    }
    fn count(&self) -> u64 {
        self.older + self.ranges.iter().map(|(from, to)| to - from).sum::<u64>()
    }
    /// Discards all numbers below `seq`; returns how many were discarded.
    fn forget_below(&mut self, seq: u64) -> u64 {
        let all = self.count();
        self.older = 0;
        self.ranges.retain_mut(|(from, to)| {
            *from = seq.max(*from);
            from < to
        });
        all - self.count()
    }
}

/// Loss-event history of one flow.
#[derive(Clone, Debug)]
pub struct LossHistory {
    /// One past the highest number received.
    next: Option<u64>,
    last: Time,
    holes: VecDeque<Hole>,
    /// Window counter of the newest packet with data, continued beyond 15.
    counter: u64,
    /// The newest loss event.
    event: Option<Event>,
    /// Closed intervals, newest first, at most [`INTERVALS`].
    closed: VecDeque<Interval>,
    discounting: bool,
    apart: Apart,
    /// The interval before the first loss event is forgotten at the second one.
    brief_start: bool,
    dataless: Dataless,
    events: u64,
    lost: u64,
}

impl LossHistory {
    /// An empty history.
    pub fn new(discounting: bool) -> Self {
        LossHistory {
            next: None,
            last: Time::ZERO,
            holes: VecDeque::new(),
            counter: 0,
            event: None,
            closed: VecDeque::new(),
            discounting,
            apart: Apart::Time,
            brief_start: false,
            dataless: Dataless::default(),
            events: 0,
            lost: 0,
        }
    }

    /// This history, but missing packets in a row are one loss event however long the silence was: not RFC 5348, whose
    /// nominal arrivals make several of them after a pause of several round trips.
    pub fn one_event_a_hole(mut self) -> Self {
        self.apart = Apart::TimeAndHole;
        self
    }

    /// This history for CCID 3, which separates loss events by the window counter, not by time.
    pub fn by_counter(mut self) -> Self {
        self.apart = Apart::Counter;
        self
    }

    /// This history, but the second loss event puts its own interval in the place of the one before the first event, as Linux
    /// does: not RFC 5348, which averages over both.
    pub fn brief_start(mut self) -> Self {
        self.brief_start = true;
        self
    }

    /// Packet `seq` arrived; `rtt` is the sender's estimate, `marked` an ECN mark. True if a loss event began.
    /// `first` gives the length of the interval before the first loss event (RFC 5348 section 6.3.1).
    pub fn on_packet(
        &mut self,
        now: Time,
        seq: u64,
        rtt: Span,
        marked: bool,
        first: impl FnOnce() -> f64,
    ) -> bool {
        self.on_arrival(now, Arrival { seq, marked, ..Arrival::default() }, rtt, first)
    }

    /// Arrival of any packet, with or without data.
    pub fn on_arrival(
        &mut self,
        now: Time,
        arrival: Arrival,
        rtt: Span,
        first: impl FnOnce() -> f64,
    ) -> bool {
        let Arrival { seq, dataless, ndp, counter, marked, forgive } = arrival;
        // Numbers of packets without data that lie directly before this one.
        let bare = seq.saturating_sub(ndp);
        let next = self.next.unwrap_or(seq);
        self.excuse(bare, seq.min(next));
        if seq >= next {
            for hole in &mut self.holes {
                hole.later += 1;
            }
            let data_end = bare.max(next);
            if data_end > next && !forgive {
                let (before, after) = ((next - 1, self.last), (seq, now));
                let hole = Hole { from: next, to: data_end, before, after, later: 1, counter: self.counter };
                self.holes.push_back(hole);
            }
            if !dataless {
                self.counter = continued(self.counter, counter);
            }
            self.dataless.add(data_end, seq + u64::from(dataless));
            self.next = Some(seq.saturating_add(1));
        } else if self.fill(&arrival) && dataless {
            self.dataless.add(seq, seq + 1);
        }
        let mut begun = self.declare(rtt);
        self.last = now;
        //= RFC 5348 section 5.3: a marked packet is detected as a congestion event as soon as it arrives
        let here = Event { seq, at: now, counter: self.counter };
        if marked && self.begins(&here, rtt) {
            begun = true;
            self.begin(here);
        }
        if !begun {
            return false;
        }
        if self.closed.is_empty() {
            self.close(first().max(1.0));
        }
        true
    }

    /// Missing packets from `from` to `to` are known to have carried no data: they are no losses.
    fn excuse(&mut self, from: u64, to: u64) {
        if from >= to || self.holes.back().is_none_or(|hole| hole.to <= from) {
            return;
        }
        let mut left = VecDeque::with_capacity(self.holes.len() + 1);
        for hole in std::mem::take(&mut self.holes) {
            let (start, end) = (hole.from.max(from), hole.to.min(to));
            if start >= end {
                left.push_back(hole);
                continue;
            }
            self.dataless.add(start, end);
            for part in [Hole { to: start, ..hole }, Hole { from: end, ..hole }] {
                if part.from < part.to {
                    left.push_back(part);
                }
            }
        }
        self.holes = left;
    }

    /// A missing packet arrived after all; false if it was not missing.
    fn fill(&mut self, late: &Arrival) -> bool {
        let seq = late.seq;
        let Some(at) = self.holes.iter().position(|h| h.from <= seq && seq < h.to) else { return false };
        let hole = self.holes[at];
        for later in self.holes.iter_mut().take(at) {
            later.later += 1;
        }
        let left = Hole { to: seq, later: hole.later + 1, ..hole };
        let counter = if late.dataless { hole.counter } else { continued(hole.counter, late.counter) };
        let right = Hole { from: seq + 1, counter, ..hole };
        self.holes.remove(at);
        if right.from < right.to {
            self.holes.insert(at, right);
        }
        if left.from < left.to {
            self.holes.insert(at, left);
        }
        true
    }

    /// Declares holes lost after `LATER` later arrivals; true if a loss event began.
    fn declare(&mut self, rtt: Span) -> bool {
        let mut begun = false;
        while let Some(hole) = self.holes.front().copied().filter(|h| h.later >= LATER) {
            self.holes.pop_front();
            self.lost += hole.to - hole.from;
            //= RFC 4342 section 10.1: a series of consecutive losses is a single loss event
            let last = if self.apart == Apart::Time { hole.to } else { hole.from + 1 };
            let mut from = hole.from;
            for _ in 0..EVENTS_OF_A_HOLE {
                let Some(event) = self.next_event(&hole, from..last, rtt) else { break };
                self.begin(event);
                (begun, from) = (true, event.seq + 1);
            }
        }
        begun
    }

    /// The first of these losses of a hole that begins a loss event; times of losses do not decrease.
    fn next_event(&self, hole: &Hole, losses: Range<u64>, rtt: Span) -> Option<Event> {
        let event = |seq| Event { seq, at: nominal(hole, seq), counter: hole.counter };
        let (mut from, mut to) = (losses.start, losses.end);
        while from < to {
            let middle = from + (to - from) / 2;
            if self.begins(&event(middle), rtt) { to = middle } else { from = middle + 1 }
        }
        (from < losses.end).then(|| event(from))
    }

    fn begins(&self, new: &Event, rtt: Span) -> bool {
        self.event.is_none_or(|old| match self.apart {
            //= RFC 5348 section 5.2: a new loss event starts if T_old + R_old < T_new
            Apart::Time | Apart::TimeAndHole => old.at + rtt < new.at,
            //= RFC 4342 section 10.1: a packet between the losses has a window counter more than 4 from C(X_prev)
            Apart::Counter => old.counter + SAME_EVENT < new.counter,
        })
    }

    fn begin(&mut self, new: Event) {
        self.events += 1;
        if let Some(old) = self.event {
            let discount = self.discount();
            for interval in &mut self.closed {
                interval.discount *= discount;
            }
            //= RFC 5348 section 5.3: the loss interval is S_loss(B) - S_loss(A)
            //= RFC 4342 section 6.1.1: packets without data do not count
            let dataless = self.dataless.forget_below(new.seq);
            if self.brief_start && self.events == 2 {
                self.closed.clear();
            }
            self.close(new.seq.saturating_sub(old.seq).saturating_sub(dataless) as f64);
        } else {
            self.dataless.forget_below(new.seq);
        }
        self.event = Some(new);
    }

    fn close(&mut self, packets: f64) {
        self.closed.push_front(Interval { packets: packets.max(1.0), discount: 1.0 });
        self.closed.truncate(INTERVALS);
    }

    /// Packets with data since the newest loss event began; none before the first one.
    pub fn open_interval(&self) -> Option<u64> {
        let start = self.event?.seq;
        Some(self.next?.saturating_sub(start).saturating_sub(self.dataless.count()))
    }

    /// Closed intervals in packets, newest first.
    pub fn intervals(&self) -> impl Iterator<Item = f64> + '_ {
        self.closed.iter().map(|i| i.packets)
    }

    /// Replaces the history, for checks against tables: closed intervals, newest first, and the open one.
    pub fn set(&mut self, open: u64, closed: &[f64]) {
        self.next = Some(open);
        self.event = Some(Event { seq: 0, at: Time::ZERO, counter: 0 });
        self.closed = closed.iter().map(|p| Interval { packets: *p, discount: 1.0 }).collect();
        self.closed.truncate(INTERVALS);
    }

    /// Factor for all closed intervals while the open one is long (RFC 5348 section 5.5).
    fn discount(&self) -> f64 {
        if !self.discounting {
            return 1.0;
        }
        let (Some(open), Some(mean)) = (self.open_interval(), self.mean_closed()) else { return 1.0 };
        let open = open as f64;
        //= RFC 5348 section 5.5: if I_0 > 2 * I_mean, DF = max(2 * I_mean / I_0, THRESHOLD)
        if open > 2.0 * mean { (2.0 * mean / open).max(LEAST_DISCOUNT) } else { 1.0 }
    }

    /// Average of the closed intervals.
    fn mean_closed(&self) -> Option<f64> {
        let (mut total, mut weights) = (0.0, 0.0);
        for (interval, weight) in self.closed.iter().zip(WEIGHTS) {
            total += interval.packets * weight * interval.discount;
            weights += weight * interval.discount;
        }
        (weights > 0.0).then(|| total / weights)
    }

    /// Average loss interval in packets, the open one counted where that makes it longer; none before the first
    /// loss event.
    pub fn mean(&self) -> Option<f64> {
        let closed = self.mean_closed()?;
        let open = self.open_interval()? as f64;
        //= RFC 5348 section 5.4: I_tot = max(I_tot0, I_tot1)
        let discount = self.discount();
        let (mut total, mut weights) = (open * WEIGHTS[0], WEIGHTS[0]);
        for (interval, weight) in self.closed.iter().zip(&WEIGHTS[1..]) {
            total += interval.packets * weight * interval.discount * discount;
            weights += weight * interval.discount * discount;
        }
        // Before eight intervals are known both sums have the weights of as many as there are.
        if self.closed.len() < INTERVALS {
            let known = self.closed.len();
            let (mut shorter, mut known_weights) = (open * WEIGHTS[0], WEIGHTS[0]);
            for (interval, weight) in self.closed.iter().take(known - 1).zip(&WEIGHTS[1..]) {
                shorter += interval.packets * weight * interval.discount * discount;
                known_weights += weight * interval.discount * discount;
            }
            return Some(closed.max(shorter / known_weights));
        }
        Some(closed.max(total / weights))
    }

    /// Loss event rate: the inverse of the average interval; 0 before the first loss event.
    pub fn rate(&self) -> f64 {
        self.mean().map_or(0.0, |mean| 1.0 / mean)
    }

    /// Packets are missing that may still come.
    pub fn is_pending(&self) -> bool {
        !self.holes.is_empty()
    }
    /// Loss events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Packets declared lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// The window counter `now`, 0 to 15, of a packet behind one with `before`, continued beyond 15.
fn continued(before: u64, now: u8) -> u64 {
    before + (u64::from(now).wrapping_sub(before) & 15)
}

/// Estimated arrival of a missing packet: interpolated between its neighbours by number.
fn nominal(hole: &Hole, seq: u64) -> Time {
    //= RFC 5348 section 5.2: T_loss = T_before + ((T_after - T_before) * Dist(S_loss, S_before) / Dist(S_after, S_before))
    let ((from, early), (to, late)) = (hole.before, hole.after);
    let span = u128::from(late.since(early).as_nanos());
    let part = span * u128::from(seq - from) / u128::from((to - from).max(1));
    early + Span::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
}
