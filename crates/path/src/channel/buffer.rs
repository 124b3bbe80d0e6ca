//! Send and receive buffer of a link: packets behind the input queue until their delivery (catalogue SW-27, SW-28).
//!
//! One list in order of arrival holds the send buffer, the packet in service, packets in propagation, and
//! packets that wait in the receive buffer for an earlier one. Each packet records its own progress.

use super::time_queue::TimeQueue;
use crate::qdisc::{Room, Waiting};
use base::packet::{DropReason, Packet};
use base::{Span, Time};
use std::collections::VecDeque;

/// A packet on the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) packet: Packet,
    /// Arrival at the input queue.
    pub(crate) joined: Time,
    /// Start of its first frame; [`Time::NEVER`] before.
    pub(crate) began: Time,
    /// Bytes to be cut into frames.
    pub(crate) body: u32,
    pub(crate) frames: u32,
    /// Frames begun, retransmissions excluded.
    pub(crate) sent: u32,
    /// Frames that have not arrived and may still do so.
    pub(crate) missing: u32,
    /// Frames without feedback.
    pub(crate) unheard: u32,
    /// Propagation delay.
    pub(crate) delay: Span,
    /// Arrival of the last frame so far.
    pub(crate) arrival: Time,
    pub(crate) corrupt: bool,
    /// Set if it will not be delivered.
    pub(crate) lost: Option<DropReason>,
    /// Whether it is in the send buffer.
    buffered: bool,
    /// Delivered or dropped; kept for the sender only.
    pub(crate) gone: bool,
}

/// A packet that leaves the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) packet: Packet,
    /// Set if it is dropped instead of delivered.
    pub(crate) lost: Option<DropReason>,
    pub(crate) corrupt: bool,
}

impl Unit {
    fn is_whole(&self) -> bool {
        self.missing == 0
    }
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    packets: usize,
    bytes: u64,
}

impl Amount {
    fn add(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
    fn sub(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }
}

/// Packets of a link behind its queue.
pub(crate) struct Buffer {
    units: VecDeque<Unit>,
    /// Number of the first packet in `units`.
    base: u64,
    /// Number of the first packet with frames to begin.
    current: u64,
    in_order: bool,
    /// Packets that find the receive buffer full are lost.
    bounded: bool,
    /// With in-order delivery: number of the next packet to deliver, and time of the last delivery.
    next: u64,
    last: Time,
    /// Without in-order delivery: packets with known arrival, ordered by it.
    flying: TimeQueue<u64>,
    /// With in-order delivery and a bounded receive buffer: packets that arrive later than all before them,
    /// with their arrival, ascending.
    records: VecDeque<(u64, Time)>,
    send: Amount,
    /// Packets begun and not delivered.
    under_way: Amount,
    /// Packets not yet gone.
    held: usize,
}

impl Buffer {
    pub(crate) fn new(in_order: bool, bounded: bool) -> Self {
        Buffer {
            units: VecDeque::new(),
            base: 0,
            current: 0,
            in_order,
            bounded,
            next: 0,
            last: Time::ZERO,
            flying: TimeQueue::new(),
            records: VecDeque::new(),
            send: Amount::default(),
            under_way: Amount::default(),
            held: 0,
        }
    }

    /// Packets on the link.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// The packet with this number, if it is still there.
    pub(crate) fn get(&self, number: u64) -> Option<&Unit> {
        self.units.get(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Unit> {
        self.units.get_mut(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }

    /// The first packet with frames to begin.
    pub(crate) fn current(&self) -> Option<(u64, &Unit)> {
        Some((self.current, self.get(self.current)?))
    }

    /// Whether the send buffer has room for a packet of `size`.
    pub(crate) fn takes(&self, room: Room, size: u32) -> bool {
        room.takes(self.send.packets, self.send.bytes, size)
    }

    /// Whether the receive buffer permits another packet in progress.
    pub(crate) fn may_begin(&self, room: Room) -> bool {
        room.packets.is_none_or(|n| self.under_way.packets < n as usize)
            && room.bytes.is_none_or(|n| self.under_way.bytes < n)
    }

    /// Adds a packet from the queue.
    pub(crate) fn push(&mut self, waiting: Waiting, body: u32, frames: u32) {
        self.send.add(waiting.packet.size);
        self.held += 1;
        self.units.push_back(Unit {
            packet: waiting.packet,
            joined: waiting.joined,
            began: Time::NEVER,
            body,
            frames,
            sent: 0,
            missing: frames,
            unheard: 0,
            delay: Span::ZERO,
            arrival: Time::ZERO,
            corrupt: false,
            lost: None,
            buffered: true,
            gone: false,
        });
    }

    /// Begins the next frame of the current packet; returns the packet's number, the packet, and the frame's
    /// number.
    pub(crate) fn begin(&mut self, now: Time) -> Option<(u64, &mut Unit, u32)> {
        let number = self.current;
        let i = usize::try_from(number.checked_sub(self.base)?).ok()?;
        let unit = self.units.get_mut(i)?;
        let frame = unit.sent;
        if frame == 0 {
            unit.began = now;
            self.under_way.add(unit.packet.size);
        }
        unit.sent += 1;
        if unit.sent == unit.frames {
            self.current += 1;
        }
        Some((number, unit, frame))
    }

    /// Releases a packet from the send buffer.
    pub(crate) fn release(&mut self, number: u64) {
        if let Some(unit) = self.get_mut(number)
            && std::mem::take(&mut unit.buffered)
        {
            let size = unit.packet.size;
            self.send.sub(size);
        }
        if self.units.front().is_some_and(|unit| unit.gone) {
            self.tidy();
        }
    }

    /// The arrival of a packet's remaining frames is now known. `room`: receive buffer of a link without ARQ;
    /// a packet that finds it full is lost.
    pub(crate) fn known(&mut self, number: u64, room: Option<Room>) {
        if !self.in_order {
            if let Some(unit) = self.get(number) {
                let arrival = unit.arrival;
                self.flying.insert(arrival, number);
            }
            return;
        }
        if !self.bounded {
            return;
        }
        let Some((arrival, size)) = self.get(number).map(|u| (u.arrival, u.packet.size)) else { return };
        while self.records.front().is_some_and(|(record, _)| *record < self.next) {
            self.records.pop_front();
        }
        // With in-order delivery, all packets from the first later arrival on wait at this packet's arrival.
        let from = self.records.partition_point(|(_, latest)| *latest <= arrival);
        let from = self.records.get(from).map(|(record, _)| *record);
        if self.records.back().is_none_or(|(record, latest)| *record < number && *latest < arrival) {
            self.records.push_back((number, arrival));
        }
        let Some(room) = room else { return };
        let from = if self.last > arrival { Some(self.next) } else { from };
        let Some(first) = from.and_then(|from| usize::try_from(from.saturating_sub(self.base)).ok()) else {
            return;
        };
        let mut waiting = Amount::default();
        let before = usize::try_from(number - self.base).unwrap_or(0);
        for unit in self.units.range(first.min(before)..before).filter(|u| !u.gone) {
            if unit.arrival <= arrival && unit.lost.is_none() {
                waiting.add(unit.packet.size);
            }
        }
        if !room.takes(waiting.packets, waiting.bytes, size)
            && let Some(unit) = self.get_mut(number)
        {
            unit.lost = unit.lost.or(Some(DropReason::QueueFull));
        }
    }

    /// Time of the next delivery.
    pub(crate) fn next_delivery(&self) -> Time {
        if !self.in_order {
            return self.flying.next();
        }
        match self.get(self.next) {
            Some(unit) if unit.is_whole() => unit.arrival.max(self.last),
            _ => Time::NEVER,
        }
    }

    /// Takes the next packet delivered, or lost, by `now`.
    #[inline]
    pub(crate) fn deliver(&mut self, now: Time) -> Option<Delivery> {
        if self.next_delivery() > now {
            return None;
        }
        let number = if self.in_order { self.next } else { self.flying.pop()? };
        self.last = self.last.max(now);
        let delivery = self.take(number)?;
        self.tidy();
        Some(delivery)
    }

    /// Takes the current packet off the link, in any state.
    pub(crate) fn take_current(&mut self) -> Option<Delivery> {
        let number = self.current;
        self.get(number)?;
        self.current += 1;
        let delivery = self.take(number);
        self.release(number);
        self.tidy();
        delivery
    }

    /// Marks a packet as gone.
    fn take(&mut self, number: u64) -> Option<Delivery> {
        let unit = self.get_mut(number)?;
        unit.gone = true;
        let Unit { packet, lost, corrupt, began, .. } = *unit;
        if !began.is_never() {
            self.under_way.sub(packet.size);
        }
        self.held -= 1;
        Some(Delivery { packet, lost, corrupt })
    }

    /// Stops the frames of a packet; the receiving side learns of it at `arrival`.
    pub(crate) fn give_up(&mut self, number: u64, arrival: Time, reason: DropReason) {
        let Some(unit) = self.get_mut(number) else { return };
        unit.sent = unit.frames;
        unit.missing = 0;
        unit.lost = unit.lost.or(Some(reason));
        unit.arrival = unit.arrival.max(arrival);
        if number == self.current {
            self.current += 1;
        }
    }

    /// Drops records of packets that are gone and fully acknowledged.
    fn tidy(&mut self) {
        while self.get(self.next).is_some_and(|unit| unit.gone) {
            self.next += 1;
        }
        while self.units.front().is_some_and(|unit| unit.gone && !unit.buffered && unit.unheard == 0) {
            self.units.pop_front();
            self.base += 1;
        }
        self.next = self.next.max(self.base);
        if self.units.is_empty() {
            self.units.clear();
        }
    }

    /// Takes the last packet that has not begun.
    pub(crate) fn take_unbegun(&mut self) -> Option<Unit> {
        self.units.back().filter(|unit| unit.sent == 0 && !unit.gone)?;
        let unit = self.units.pop_back()?;
        self.send.sub(unit.packet.size);
        self.held -= 1;
        Some(unit)
    }

    /// Takes the first packet, in any state.
    pub(crate) fn take_any(&mut self) -> Option<Unit> {
        self.flying.clear();
        while let Some(unit) = self.units.pop_front() {
            self.base += 1;
            if unit.buffered {
                self.send.sub(unit.packet.size);
            }
            self.current = self.current.max(self.base);
            self.next = self.next.max(self.base);
            if !unit.gone {
                if !unit.began.is_never() {
                    self.under_way.sub(unit.packet.size);
                }
                self.held -= 1;
                return Some(unit);
            }
        }
        None
    }
}
