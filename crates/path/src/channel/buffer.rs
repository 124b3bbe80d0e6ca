//! Send and receive buffer of a channel: packets from the input queue until their delivery (catalogue SW-27, SW-28).
//!
//! One list in order of arrival contains the packets of the send buffer, in service, in propagation, and in the
//! receive buffer. Each entry ([`Unit`]) counts the frames sent, received and acknowledged of its packet.

use super::time_queue::TimeQueue;
use super::units::Units;
use crate::qdisc::Room;
use base::packet::{DropReason, Packet};
use base::{Span, Time};
use std::collections::VecDeque;

/// Entry of a packet on the channel, with the progress of its frames.
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
    /// Frames not yet received; 0 if the packet is complete or discarded.
    pub(crate) missing: u32,
    /// With ARQ: frames begun whose acknowledgement is outstanding.
    pub(crate) unheard: u32,
    /// Propagation delay.
    pub(crate) delay: Span,
    /// Latest arrival of the frames received so far.
    pub(crate) arrival: Time,
    pub(crate) corrupt: bool,
    /// Reason if the packet will be dropped instead of delivered.
    pub(crate) lost: Option<DropReason>,
    /// Whether the packet is in the send buffer.
    buffered: bool,
    /// Delivered or dropped; the entry remains until the send buffer and ARQ no longer need it.
    pub(crate) gone: bool,
}

impl Unit {
    /// Empty placeholder.
    pub(super) const NONE: Unit = Unit {
        packet: Packet::NONE,
        joined: Time::ZERO,
        began: Time::NEVER,
        body: 0,
        frames: 0,
        sent: 0,
        missing: 0,
        unheard: 0,
        delay: Span::ZERO,
        arrival: Time::ZERO,
        corrupt: false,
        lost: None,
        buffered: false,
        gone: true,
    };

    #[inline]
    fn is_whole(&self) -> bool {
        self.missing == 0
    }

    /// Whether the packet was delivered or dropped, and neither send buffer nor ARQ needs the entry.
    #[inline]
    fn is_needless(&self) -> bool {
        self.gone && !self.buffered && self.unheard == 0
    }
}

/// Start of a packet that is not in the send buffer before.
pub(crate) struct Start {
    /// Arrival at the input queue.
    pub(crate) joined: Time,
    /// Start of its first frame.
    pub(crate) began: Time,
    /// Bytes to be cut into frames.
    pub(crate) body: u32,
    pub(crate) frames: u32,
    /// Frames whose acknowledgement is outstanding.
    pub(crate) unheard: u32,
    /// Propagation delay.
    pub(crate) delay: Span,
}

/// Number of packets, and their bytes.
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

/// Packets of a channel behind its input queues.
pub(crate) struct Buffer {
    /// Entries in order of arrival; numbers are consecutive.
    units: Units,
    /// Number of the first packet with frames to begin.
    current: u64,
    in_order: bool,
    /// Whether packets that find the receive buffer full are lost.
    bounded: bool,
    /// With in-order delivery: number of the next packet to deliver.
    next: u64,
    /// Time of the last delivery.
    last: Time,
    /// Without in-order delivery: numbers of complete packets, ordered by arrival.
    flying: TimeQueue<u64>,
    /// With in-order delivery and a bounded receive buffer: number and arrival of the packets that arrive later
    /// than all packets before them, ascending.
    records: VecDeque<(u64, Time)>,
    /// Contents of the send buffer.
    send: Amount,
    /// Packets begun, and neither delivered nor dropped.
    under_way: Amount,
    /// Packets neither delivered nor dropped.
    held: usize,
}

impl Buffer {
    pub(crate) fn new(in_order: bool, bounded: bool) -> Self {
        Buffer {
            units: Units::new(),
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

    /// Number of packets neither delivered nor dropped.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Entry of the packet with this number, if it still exists.
    #[inline]
    pub(crate) fn get(&self, number: u64) -> Option<&Unit> {
        self.units.get(number)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Unit> {
        self.units.get_mut(number)
    }

    /// The first packet with frames to begin.
    #[inline]
    pub(crate) fn current(&self) -> Option<(u64, &Unit)> {
        Some((self.current, self.get(self.current)?))
    }

    /// Whether the send buffer has room for a packet of `size`.
    #[inline]
    pub(crate) fn takes(&self, room: Room, size: u32) -> bool {
        room.takes(self.send.packets, self.send.bytes, size)
    }

    /// Whether the receive buffer has room for another packet, counting those begun as inside.
    #[inline]
    pub(crate) fn may_begin(&self, room: Room) -> bool {
        room.packets.is_none_or(|n| self.under_way.packets < n as usize)
            && room.bytes.is_none_or(|n| self.under_way.bytes < n)
    }

    /// Adds a packet that arrived at `joined`: `body` bytes in `frames` frames.
    #[inline]
    pub(crate) fn push(&mut self, packet: &Packet, joined: Time, body: u32, frames: u32) {
        self.send.add(packet.size);
        self.held += 1;
        if let Some(unit) = self.units.push_place() {
            // Field by field, so that the packet is copied once.
            unit.packet = *packet;
            (unit.joined, unit.began) = (joined, Time::NEVER);
            (unit.body, unit.frames) = (body, frames);
            (unit.sent, unit.missing, unit.unheard) = (0, frames, 0);
            (unit.delay, unit.arrival) = (Span::ZERO, Time::ZERO);
            (unit.corrupt, unit.lost, unit.buffered, unit.gone) = (false, None, true, false);
        }
    }

    /// Adds a packet and begins its first frame, if no packet waits for its start. Returns its number.
    #[inline(always)] // part of the start of a packet
    pub(crate) fn push_begun(&mut self, packet: &Packet, start: &Start) -> u64 {
        debug_assert!(self.current().is_none());
        self.send.add(packet.size);
        self.under_way.add(packet.size);
        self.held += 1;
        if let Some(unit) = self.units.push_place() {
            unit.packet = *packet;
            (unit.joined, unit.began) = (start.joined, start.began);
            (unit.body, unit.frames) = (start.body, start.frames);
            (unit.sent, unit.missing, unit.unheard) = (1, start.frames, start.unheard);
            (unit.delay, unit.arrival) = (start.delay, Time::ZERO);
            (unit.corrupt, unit.lost, unit.buffered, unit.gone) = (false, None, true, false);
        }
        let number = self.current;
        self.current += u64::from(start.frames == 1);
        number
    }

    /// Begins the next frame of the current packet; returns the packet's number, its entry, and the number of the
    /// frame within it.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time) -> Option<(u64, &mut Unit, u32)> {
        let number = self.current;
        let unit = self.units.get_mut(number)?;
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

    /// Counts frames of the current packet, or of the last packet begun: `begun` more were begun and `ended` arrived, the
    /// last one sent by `latest`. Returns whether the packet is complete.
    #[inline]
    pub(crate) fn advance(&mut self, number: u64, begun: u32, ended: u32, latest: Time, arq: bool) -> bool {
        let Some(unit) = self.get_mut(number) else { return false };
        unit.sent += begun;
        unit.missing -= ended;
        if arq {
            unit.unheard += begun;
        }
        if ended > 0 {
            unit.arrival = unit.arrival.max(latest + unit.delay);
        }
        let complete = unit.missing == 0 && ended > 0;
        if begun > 0 && unit.sent == unit.frames {
            self.current += 1;
        }
        complete
    }

    /// Releases a packet from the send buffer.
    #[inline]
    pub(crate) fn release(&mut self, number: u64) {
        if let Some(unit) = self.get_mut(number)
            && std::mem::take(&mut unit.buffered)
        {
            let size = unit.packet.size;
            self.send.sub(size);
        }
        self.forget();
    }

    /// Counts the feedback on `frames` frames of a packet. After the last feedback the packet leaves the send buffer.
    #[inline]
    pub(crate) fn acknowledge(&mut self, number: u64, frames: u32) {
        if let Some(unit) = self.get_mut(number) {
            unit.unheard -= frames.min(unit.unheard);
            if unit.unheard == 0 && unit.sent == unit.frames {
                let (size, buffered) = (unit.packet.size, std::mem::take(&mut unit.buffered));
                if buffered {
                    self.send.sub(size);
                }
                self.forget();
            }
        }
    }

    /// Registers the arrival of a packet that is complete or discarded. `room`: limit of the receive buffer of a
    /// channel without ARQ; a packet that exceeds it is lost.
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
        // In-order delivery: from the first packet with a later arrival on, all packets received before this one
        // wait in the receive buffer.
        let from = self.records.partition_point(|(_, latest)| *latest <= arrival);
        let from = self.records.get(from).map(|(record, _)| *record);
        if self.records.back().is_none_or(|(record, latest)| *record < number && *latest < arrival) {
            self.records.push_back((number, arrival));
        }
        let Some(room) = room else { return };
        let from = if self.last > arrival { Some(self.next) } else { from };
        let Some(first) = from.map(|from| from.max(self.units.base())) else { return };
        let mut waiting = Amount::default();
        for unit in self.units.range(first.min(number)..number).filter(|u| !u.gone) {
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

    /// Whether [`Buffer::known`] has an effect.
    #[inline]
    pub(crate) fn registers(&self) -> bool {
        self.bounded || !self.in_order
    }

    /// Number of packets in the send buffer.
    #[inline]
    pub(crate) fn buffered(&self) -> usize {
        self.send.packets
    }

    /// Time of the next delivery.
    #[inline]
    pub(crate) fn next_delivery(&self) -> Time {
        if !self.in_order {
            return self.flying.next();
        }
        match self.get(self.next) {
            Some(unit) if unit.is_whole() => unit.arrival.max(self.last),
            _ => Time::NEVER,
        }
    }

    /// Whether packets are delivered in order.
    #[inline]
    pub(crate) fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// Whether the next packet to deliver is known: no other one can be delivered before.
    #[inline]
    pub(crate) fn is_next_known(&self) -> bool {
        self.in_order && self.get(self.next).is_some_and(Unit::is_whole)
    }

    /// Number and entry of the next packet whose delivery or drop is due by `now`, which [`Buffer::leave`] removes; as
    /// an error, the time of the next delivery.
    #[inline]
    pub(crate) fn due(&mut self, now: Time) -> Result<(u64, &Unit), Time> {
        if !self.in_order {
            return self.due_in_any_order(now);
        }
        self.due_in_order(now)
    }

    /// [`Buffer::due`] with in-order delivery.
    #[inline]
    pub(crate) fn due_in_order(&mut self, now: Time) -> Result<(u64, &Unit), Time> {
        let number = self.next;
        match self.get(number) {
            Some(unit) if unit.is_whole() => {
                let at = unit.arrival.max(self.last);
                if at <= now { Ok((number, unit)) } else { Err(at) }
            }
            _ => Err(Time::NEVER),
        }
    }

    fn due_in_any_order(&mut self, now: Time) -> Result<(u64, &Unit), Time> {
        let next = self.flying.next();
        if next > now {
            return Err(next);
        }
        let number = self.flying.pop().unwrap_or_default();
        self.get(number).map(|unit| (number, unit)).ok_or(Time::NEVER)
    }

    /// With in-order delivery: removes the next packet, which was delivered or dropped `now`.
    #[inline]
    pub(crate) fn leave_next(&mut self, now: Time) {
        self.last = self.last.max(now);
        let number = self.next;
        self.next += 1;
        self.held -= 1;
        let Some(unit) = self.units.get_mut(number) else { return };
        unit.gone = true;
        let (begun, size, needless) = (!unit.began.is_never(), unit.packet.size, unit.is_needless());
        if begun {
            self.under_way.sub(size);
        }
        // Usually the first entry is the only one that is no longer needed.
        if needless && number == self.units.base() {
            self.units.drop_front();
        }
        if self.get(self.next).is_some_and(|unit| unit.gone) {
            self.tidy();
        }
    }

    /// Removes a packet that was delivered or dropped `now`.
    #[inline]
    pub(crate) fn leave(&mut self, number: u64, now: Time) {
        self.last = self.last.max(now);
        if let Some(unit) = self.get_mut(number) {
            unit.gone = true;
            let size = unit.packet.size;
            if !unit.began.is_never() {
                self.under_way.sub(size);
            }
            self.held -= 1;
        }
        self.tidy();
    }

    /// Removes the current packet, to be dropped.
    pub(crate) fn take_current(&mut self) -> Option<Packet> {
        let number = self.current;
        self.get(number)?;
        self.current += 1;
        let packet = self.take(number);
        self.release(number);
        self.tidy();
        packet
    }

    /// Marks a packet as delivered or dropped.
    #[inline]
    fn take(&mut self, number: u64) -> Option<Packet> {
        let unit = self.get_mut(number)?;
        unit.gone = true;
        let (packet, begun) = (unit.packet, !unit.began.is_never());
        if begun {
            self.under_way.sub(packet.size);
        }
        self.held -= 1;
        Some(packet)
    }

    /// Discards a packet: no more of its frames are sent. In-order delivery continues behind it at `arrival`.
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

    /// Removes the entries of packets that were delivered or dropped and are fully acknowledged.
    #[inline]
    fn tidy(&mut self) {
        while self.get(self.next).is_some_and(|unit| unit.gone) {
            self.next += 1;
        }
        self.forget();
    }

    /// Removes the first entries as far as they are no longer needed.
    #[inline]
    fn forget(&mut self) {
        while self.units.front().is_some_and(Unit::is_needless) {
            self.units.drop_front();
        }
        self.next = self.next.max(self.units.base());
    }

    /// Removes the last packet, if its transmission has not begun.
    pub(crate) fn take_unbegun(&mut self) -> Option<Unit> {
        self.units.back().filter(|unit| unit.sent == 0 && !unit.gone)?;
        let unit = self.units.pop_back()?;
        self.send.sub(unit.packet.size);
        self.held -= 1;
        Some(unit)
    }

    /// Removes the first packet that is neither delivered nor dropped, in any state of transmission.
    pub(crate) fn take_any(&mut self) -> Option<Unit> {
        self.flying.clear();
        while let Some(unit) = self.units.pop_front() {
            if unit.buffered {
                self.send.sub(unit.packet.size);
            }
            self.current = self.current.max(self.units.base());
            self.next = self.next.max(self.units.base());
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
