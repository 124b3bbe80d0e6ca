//! Network element of a cell with a real PCU: two ports for each mobile (as in [`crate::cell::element`]), block periods,
//! messages of the PCU.

use super::Message;
use super::station::Station;
use crate::tdma;
use base::packet::{DropReason, Packet};
use base::{Span, Time};
use path::{Cx, Element, Port};

/// Delay of a block period after its nominal start, so that packets that arrive at this time take part in it.
const AFTER: Span = Span::from_nanos(1);

impl Station {
    /// Handles a message of the PCU.
    pub fn on_message(&mut self, cx: &mut Cx<'_>, message: &Message) {
        self.receive(message, cx.now());
        self.settle(cx);
    }

    /// The PCU has terminated: drops all packets in the cell.
    pub fn close(&mut self, cx: &mut Cx<'_>) {
        self.closed = true;
        for phone in &mut self.phones {
            let out = phone.out.iter_mut().chain([&mut phone.core]).flat_map(|out| out.drain(..));
            let inside: Vec<Packet> = out.map(|(_, packet)| packet).collect();
            let under = phone.stores.iter_mut().flat_map(super::store::Store::clear);
            inside.into_iter().chain(under).for_each(|packet| cx.drop(packet, DropReason::Unclaimed));
        }
    }

    /// Emits packets that have left the bearer and ends dropped packets.
    fn settle(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        for (packet, reason) in self.drops.drain(..) {
            cx.drop(packet, reason);
        }
        for (i, phone) in self.phones.iter_mut().enumerate() {
            for (direction, out) in phone.out.iter_mut().enumerate() {
                while out.front().is_some_and(|(t, _)| *t <= now) {
                    let Some((_, packet)) = out.pop_front() else { break };
                    cx.count_hop();
                    cx.forward(Port((2 * i + direction) as u16), packet);
                }
            }
        }
        // Packets between the core network and the SGSN.
        for user in 0..self.phones.len() {
            while let Some((_, packet)) = self.phones[user].core.front().copied().filter(|(t, _)| *t <= now) {
                self.phones[user].core.pop_front();
                self.take_down(user, packet, now);
            }
        }
        for (packet, reason) in self.drops.drain(..) {
            cx.drop(packet, reason);
        }
    }

    fn tick_time(&self) -> Time {
        tdma::start_of(self.next) + AFTER
    }
}

impl Element for Station {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        let user = usize::from(port.0 / 2);
        if self.closed {
            return cx.drop(packet, DropReason::Unclaimed);
        }
        if port.0.is_multiple_of(2) {
            match self.phones.get_mut(user) {
                Some(phone) => phone.core.push_back((cx.now() + phone.delays.core, packet)),
                None => self.take_down(user, packet, cx.now()),
            }
        } else {
            self.take_up(user, packet);
        }
        self.settle(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        if self.closed {
            return;
        }
        if self.tick_time() <= cx.now() {
            self.tick();
        }
        if self.pass.is_some_and(|t| t <= cx.now()) {
            self.advance(cx.now());
        }
        self.settle(cx);
    }

    fn next_wake(&self) -> Time {
        if self.closed {
            return Time::NEVER;
        }
        let outs = self.phones.iter().flat_map(|p| p.out.iter().chain([&p.core]));
        let out = outs.filter_map(|out| out.front().map(|(t, _)| *t)).min().unwrap_or(Time::NEVER);
        self.tick_time().min(out).min(self.pass.unwrap_or(Time::NEVER))
    }

    fn holds(&self) -> usize {
        self.phones.iter().map(super::phone::Phone::inside).sum()
    }
}
