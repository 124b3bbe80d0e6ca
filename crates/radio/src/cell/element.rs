//! Network element of a model cell: two ports for each mobile (downlink even, uplink odd), triggers of reselection.

use super::content::Content;
use super::{Cell, Direction, tdma};
use crate::mobility::Extent;
use base::event::Category;
use base::packet::Packet;
use base::{Span, Time};
use path::{Cx, Element, Port, Signal};

/// Delay of a tick's execution after its start, so that packets that arrive at the start take part in the tick.
/// it.
const AFTER: Span = Span::from_nanos(1);

/// Downlink port of a mobile: packets enter from the core network and leave at the mobile.
pub const fn down(user: u16) -> Port {
    Port(2 * user)
}
/// Uplink port of a mobile: packets enter at the mobile and leave to the core network.
pub const fn up(user: u16) -> Port {
    Port(2 * user + 1)
}

impl Cell {
    /// Updates which event categories are recorded.
    #[inline(always)]
    fn listen(&mut self, cx: &Cx<'_>) {
        self.side.log = cx.records(Category::Radio);
        if cx.records(Category::Packets) && self.side.content.is_none() {
            self.keep_content();
        }
    }

    #[inline(never)]
    fn keep_content(&mut self) {
        self.side.content = Some(Box::new(Content::new(self.users.len())));
        for user in &mut self.users {
            user.down.sender.keep_cuts();
            user.up.sender.keep_cuts();
        }
    }

    /// Emits packets that have left the bearer, records events and ends dropped packets.
    #[inline(always)]
    fn settle(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        // Most ticks have neither drops nor events; the test costs less than draining.
        if !self.side.drops.is_empty() || !self.side.events.is_empty() {
            self.report_effects(cx);
        }
        if self.side.out_at <= now {
            self.forward_out(cx, now);
        }
    }

    #[inline(never)]
    fn report_effects(&mut self, cx: &mut Cx<'_>) {
        self.side.drops.drain(..).for_each(|(packet, reason)| cx.drop(packet, reason));
        self.side.events.drain(..).for_each(|(t, event)| cx.record(Category::Radio, t, || event));
    }

    /// Forwards the packets that leave the bearer by `now`.
    #[inline(never)]
    fn forward_out(&mut self, cx: &mut Cx<'_>, now: Time) {
        for (i, user) in self.users.iter_mut().enumerate() {
            for (direction, out) in user.out.iter_mut().enumerate() {
                while out.front().is_some_and(|(t, _)| *t <= now) {
                    let Some((_, packet)) = out.pop_front() else { break };
                    cx.count_hop();
                    cx.forward(Port((2 * i + direction) as u16), packet);
                }
            }
        }
        let fronts = self.users.iter().flat_map(|u| &u.out).filter_map(|out| out.front());
        self.side.out_at = fronts.map(|(t, _)| *t).min().unwrap_or(Time::NEVER);
    }
}

impl Element for Cell {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        self.listen(cx);
        let now = cx.now();
        self.catch_up_before(now);
        let direction = if port.0.is_multiple_of(2) { Direction::Down } else { Direction::Up };
        self.take(usize::from(port.0 / 2), direction, packet, now);
        self.settle(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.listen(cx);
        self.catch_up_before(cx.now());
        self.settle(cx);
    }

    fn next_wake(&self) -> Time {
        let tick = self.next.map_or(Time::NEVER, |n| tdma::start_of(n) + AFTER);
        tick.min(self.side.out_at)
    }

    fn next_exit(&self) -> Time {
        // A block that starts now is complete after its time on the air.
        let tick = self.next.map_or(Time::NEVER, |n| tdma::start_of(n) + tdma::AIR);
        tick.min(self.side.out_at)
    }

    /// Triggers a reselection of a mobile, selected by number: state 0 draws the neighbour, state n selects the nth
    /// [`Extent`].
    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        let Signal::State { machine, state } = signal else { return };
        self.listen(cx);
        let now = cx.now();
        self.catch_up_before(now);
        if let Some(user) = self.users.get_mut(usize::from(machine)) {
            let neighbour = usize::from(state).checked_sub(1).and_then(|i| Extent::ALL.get(i).copied());
            user.force(neighbour, now, &mut self.air, &mut self.side);
            user.due = user.due.max(self.done);
            let due = user.due;
            self.next = Some(self.next.map_or(due, |n| n.min(due)));
        }
        self.settle(cx);
    }

    fn holds(&self) -> usize {
        self.users.iter().map(super::User::inside).sum()
    }
}

impl Cell {
    /// Executes the ticks before `now`; a packet that arrives at the start of a tick takes part in the tick.
    fn catch_up_before(&mut self, now: Time) {
        while let Some(n) = self.next.filter(|n| tdma::start_of(*n) < now) {
            self.tick(n);
        }
    }
}
