//! Path of packets outside of the radio interface: core network (Gn), SGSN queue with flow control, Gb, terminal and
//! cable.

use super::content::TapPoint;
use super::user::{User, llc};
use super::{Direction, Side};
use crate::bssgp::PduFate;
use base::event::FrameFate;
use base::packet::{DropReason, Packet};
use base::{Span, Time};

impl User {
    /// A packet for the mobile enters the core network; returns its arrival time at the SGSN.
    pub(super) fn enter_down(&mut self, packet: Packet, now: Time, side: &mut Side) -> Time {
        self.down.counts.offered += u64::from(packet.size);
        let at = self.beyond_gn(&packet, now, 0);
        self.core.push_back((at, packet));
        self.advance_down(now, side);
        at
    }

    /// A packet enters the terminal's uplink buffer or is dropped; returns the time at which it can be sent.
    pub(super) fn enter_up(&mut self, packet: Packet, now: Time, side: &mut Side) -> Time {
        let octets = u64::from(packet.size);
        self.up.counts.offered += octets;
        let full = self.terminal.octets.is_some_and(|most| self.terminal_octets + octets > most)
            || self.terminal.packets.is_some_and(|most| self.terminal_packets >= most);
        if full {
            self.up.counts.full += 1;
            side.drops.push((packet, DropReason::QueueFull));
            return now;
        }
        self.terminal_octets += octets;
        self.terminal_packets += 1;
        let me = u32::from(self.me);
        let traffic = self.traffic_of(&packet);
        let User { frames, abm, backlog, segmentation, .. } = self;
        let serial = side.describe(self.me, true, &packet, *segmentation);
        frames.take(packet, serial, traffic, segmentation.frames(packet.size), |id, octets| {
            side.note(now, || llc(me, true, packet.id, octets, FrameFate::Queued));
            match abm {
                Some([_, up]) => up.push(id),
                None => backlog.push_back(id),
            }
        });
        now
    }

    /// Advances core network, SGSN queue and Gb to `now`.
    #[inline]
    pub(super) fn advance_down(&mut self, now: Time, side: &mut Side) {
        let front = [self.core.front().map(|(t, _)| *t), self.sgsn_next, self.pcu.front().map(|(t, _)| *t)];
        // In most block periods no packet or PDU moves here.
        if self.sgsn_held > now || front.into_iter().any(|at| at.is_some_and(|t| t <= now)) {
            self.advance_stages(now, side);
        }
    }

    fn advance_stages(&mut self, now: Time, side: &mut Side) {
        while let Some((at, packet)) = self.core.front().copied().filter(|(t, _)| *t <= now) {
            self.core.pop_front();
            self.pass(at, side);
            self.admit(at, packet, side);
        }
        self.pass(now, side);
    }

    /// Queues a packet that reaches the SGSN, as LLC PDUs, or drops it.
    fn admit(&mut self, at: Time, packet: Packet, side: &mut Side) {
        if at < self.sgsn_away {
            self.down.counts.restarted += 1;
            side.drops.push((packet, DropReason::Restarted));
            return;
        }
        let (mut pdus, mut octets) = (0, 0);
        self.segmentation
            .frames(packet.size)
            .for_each(|n| (pdus, octets) = (pdus + 1, octets + u64::from(n)));
        if !self.sgsn.has_room(pdus, octets) {
            self.down.counts.full += 1;
            side.drops.push((packet, DropReason::QueueFull));
            return;
        }
        let traffic = self.traffic_of(&packet);
        let User { frames, abm, sgsn, segmentation, .. } = self;
        let serial = side.describe(self.me, false, &packet, *segmentation);
        frames.take(packet, serial, traffic, segmentation.frames(packet.size), |id, octets| match abm {
            Some([down, _]) => down.push(id),
            None => sgsn.push(at, octets, id),
        });
        self.sgsn_next = self.sgsn.next_pass();
    }

    /// Sends PDUs of the SGSN queue that may leave by `now`, and moves PDUs from Gb into the PCU.
    pub(super) fn pass(&mut self, now: Time, side: &mut Side) {
        if self.sgsn_held > now {
            self.leave_turn(side);
            return;
        }
        while self.sgsn_next.is_some_and(|t| t <= now) {
            let queued = self.down.sender.feed.waiting();
            // Until the SGSN learns of a cell change it sends to the old cell, limited by the leak rate only.
            let left = self.change.is_some_and(|c| now < c.known);
            if !left && self.rlc_buffer.is_some_and(|most| queued >= most) {
                self.gated = true;
                self.leave_turn(side);
                break;
            }
            if std::mem::take(&mut self.gated) {
                self.sgsn.hold(now);
            }
            if let (Some(cell), Some(octets)) = (&mut side.bucket, self.sgsn.head()) {
                let from = self.sgsn_next.unwrap_or(now);
                match cell.pass(self.me, octets, from, now) {
                    Ok(at) if at > from => self.sgsn.hold(at),
                    Ok(_) => {}
                    Err(again) => {
                        self.sgsn_next = Some(again);
                        break;
                    }
                }
            }
            match self.sgsn.pass(now) {
                Some(PduFate::At(t, id)) => {
                    let frame = self.frames.get(id);
                    let (serial, on_gb) = (frame.serial, frame.octets + self.gb.gb_overhead);
                    let t = side.abis.as_mut().map_or(t, |abis| abis.carry(0, t, on_gb));
                    side.content(|log| log.frame(t, TapPoint::Gb, serial));
                    self.pcu.push_back((t.max(self.sgsn_held), id));
                    if self.rlc_buffer.is_some() {
                        self.take_from_gb(now, side);
                    }
                }
                Some(PduFate::Expired(id)) => self.end(Direction::Down, id, DropReason::Expired, now, side),
                None => {}
            }
            self.sgsn_next = self.sgsn.next_pass();
        }
        self.take_from_gb(now, side);
    }

    /// Removes the mobile from the waiting list of the cell's bucket.
    fn leave_turn(&self, side: &mut Side) {
        if let Some(cell) = &mut side.bucket {
            cell.leave(self.me);
        }
    }

    /// Moves frames that have crossed Gb into the RLC queue of the PCU.
    fn take_from_gb(&mut self, now: Time, side: &mut Side) {
        while let Some((t, id)) = self.pcu.front().copied().filter(|(t, _)| *t <= now) {
            self.pcu.pop_front();
            if t < self.pcu_away {
                self.end(Direction::Down, id, DropReason::Restarted, t, side);
                continue;
            }
            let frame = self.frames.get_mut(id);
            frame.since = t;
            let octets = frame.octets;
            self.ask_hold(Direction::Down, id);
            self.down.sender.feed.push(octets, id);
            side.note(t, || {
                llc(u32::from(self.me), false, self.frames.packet(id).id, octets, FrameFate::Queued)
            });
        }
    }

    /// Time at which an uplink packet, complete at the PCU at `t`, leaves the core.
    pub(super) fn beyond_gb(&mut self, packet: &Packet, t: Time, side: &mut Side) -> Time {
        let on_gb = packet.size + self.gb.gb_overhead;
        let t = side.abis.as_mut().map_or(t, |abis| abis.carry(1, t, on_gb));
        let start = t.max(self.gb_up_free);
        let octets = u64::from(on_gb);
        self.gb_up_free = start + self.gb.gb_rate.map_or(Span::ZERO, |rate| rate.span_of(octets));
        self.beyond_gn(packet, self.gb_up_free + self.gb.gb_delay, 1)
    }

    /// Time at which a packet that enters Gn at `t` leaves the core network; `way`: 0 downlink, 1 uplink.
    fn beyond_gn(&mut self, packet: &Packet, t: Time, way: usize) -> Time {
        let Some(rate) = self.delays.gn_rate else { return t + self.delays.core };
        let octets = u64::from(packet.size + self.delays.gn_overhead);
        self.gn_free[way] = t.max(self.gn_free[way]) + rate.span_of(octets);
        self.gn_free[way] + self.delays.core
    }

    /// Time at which a downlink packet that is complete at the mobile at `t` leaves the cable.
    pub(super) fn beyond_cable(&mut self, packet: &Packet, t: Time) -> Time {
        let start = (t + self.delays.terminal).max(self.cable_free);
        let cable = self.delays.cable;
        self.cable_free = start + cable.map_or(Span::ZERO, |rate| rate.span_of(u64::from(packet.size)));
        self.cable_free
    }
}
