//! Loaded link: a plain link with background load that ends behind this link, simulated without wake-ups.
//!
//! Before any other event at the link, the load packets that have arrived since the last event are enqueued, each at
//! its own time, and those that have left are removed. [`crate::background::Background`] and
//! [`crate::background::Absorber`] around a [`Link`] give the same result at four calls and two wake-ups per packet.
//!
//! Counters do not contain load that has arrived since the last event at the link. Load packets have no complete
//! events; where events of load are needed, use the two elements.

use crate::background::Source;
use crate::element::{Cx, Element, Port, Signal};
use crate::link::Link;
use base::packet::Packet;
use base::{Span, Time};

/// A link without head drop, and its load sources. All packets with [`base::packet::Flags::VIRTUAL`] on the link
/// come from these sources.
pub struct LoadedLink {
    link: Link,
    /// Load sources, in order of their packets at equal times; empty after [`Signal::Cease`].
    sources: Vec<Source>,
    /// Arrival of the next load packet at the queue.
    due: Time,
    /// Next wake-up: departure at the far end of the first packet that is not load, or of the last packet after
    /// the sources have ceased.
    exit: Time,
}

impl LoadedLink {
    /// A link with load sources.
    pub fn new(link: Link, sources: Vec<Source>) -> Self {
        let mut loaded = LoadedLink { link, sources, due: Time::NEVER, exit: Time::NEVER };
        loaded.look_ahead();
        loaded
    }

    /// Updates the arrival of the next load packet.
    #[inline]
    fn look_ahead(&mut self) {
        self.due = self.sources.iter().map(Source::next).min().unwrap_or(Time::NEVER);
    }

    /// Enqueues the load that has arrived before the event in process.
    #[inline]
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        // At equal times sources run right after their link and before all elements upstream.
        let end = if cx.is_past_own_turn() { now + Span::from_nanos(1) } else { now };
        if self.due < end {
            self.catch_up_to(cx, end);
            cx.now = now;
        }
    }

    #[inline(never)]
    fn catch_up_to(&mut self, cx: &mut Cx<'_>, end: Time) {
        while self.due < end {
            let t = self.due;
            self.absorb(cx, t);
            if self.skip(cx, end) {
                continue;
            }
            let Some(source) = self.sources.iter_mut().find(|source| source.next() == t) else { return };
            let packet = source.send(cx);
            cx.now = t;
            self.link.take(cx, &packet);
            self.look_ahead();
        }
    }

    /// Counts load that finds the link idle and leaves before `end`, without simulating each packet; false if no
    /// packet was counted.
    #[inline]
    fn skip(&mut self, cx: &mut Cx<'_>, end: Time) -> bool {
        let [source] = &mut self.sources[..] else { return false };
        let Some((size, gap)) = source.steady() else { return false };
        let packets = self.link.idles(source.next(), end, size, gap);
        if packets > 0 {
            source.skip(packets);
            cx.pass_virtual(packets, size);
            self.look_ahead();
        }
        packets > 0
    }

    /// Removes the load at the front that has reached the far end by `t`.
    #[inline]
    fn absorb(&mut self, cx: &mut Cx<'_>, t: Time) {
        while self.link.slots().get(0).is_some_and(|slot| slot.arrival <= t && slot.is_load()) {
            self.link.absorb(cx);
        }
    }

    /// Updates `exit`. Packets leave in order: a packet dropped at a gate has no propagation delay, but is removed
    /// after the packets before it.
    fn look_for_exit(&mut self) {
        let slots = self.link.slots();
        let mut latest = Time::ZERO;
        for slot in (0..slots.len()).filter_map(|i| slots.get(i)) {
            latest = latest.max(slot.arrival);
            if !slot.is_load() {
                self.exit = latest;
                return;
            }
        }
        let left = self.sources.is_empty() && slots.len() > 0;
        self.exit = if left { latest } else { Time::NEVER };
    }
}

impl Element for LoadedLink {
    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        self.arrive(cx, port, &packet);
    }

    #[inline]
    fn arrive(&mut self, cx: &mut Cx<'_>, _port: Port, packet: &Packet) -> Time {
        self.catch_up(cx);
        let before = self.link.slots().len();
        self.link.take(cx, packet);
        if self.exit.is_never() && self.link.slots().len() > before {
            self.look_for_exit();
        }
        self.exit
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.catch_up(cx);
        let now = cx.now();
        let mut left = false;
        while let Some(slot) = self.link.slots().get(0).filter(|slot| slot.arrival <= now) {
            if slot.is_load() {
                self.link.absorb(cx);
            } else {
                self.link.deliver_another(cx, now);
            }
            left = true;
        }
        if left {
            self.look_for_exit();
        }
    }

    fn next_wake(&self) -> Time {
        self.exit
    }

    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        self.catch_up(cx);
        self.absorb(cx, cx.now());
        if signal == Signal::Cease {
            self.sources.clear();
            self.look_ahead();
        } else {
            self.link.on_signal(cx, signal);
        }
        self.look_for_exit();
    }

    fn holds(&self) -> usize {
        self.link.holds()
    }
}
