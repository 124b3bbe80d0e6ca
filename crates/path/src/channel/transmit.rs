//! Transmitter of a channel: from the input queues through the send buffer to the frame in service.

use super::arq::{Arq, Frame};
use super::buffer::Start;
use super::credit::Credit;
use super::{Channel, InService};
use crate::element::Cx;
use crate::qdisc::{Room, Waiting};
use base::Time;
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};

impl Channel {
    /// Fills the send buffer and starts the next frame; sets `resume` if transmission is suspended.
    #[inline]
    pub(super) fn serve(&mut self, cx: &mut Cx<'_>) {
        self.resume = Time::NEVER;
        self.fill(cx);
        if self.in_service.is_none() {
            self.start(cx);
        }
    }

    /// Starts the next frame; sets `resume` if transmission is suspended.
    #[inline(never)]
    fn start(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        loop {
            let repeats = self.arq.as_ref().is_some_and(Arq::repeats);
            if !repeats && !self.has_new() {
                self.idle(now);
                return;
            }
            let (open, drops) = if self.is_open(now) { (now, false) } else { self.opens(now) };
            if drops && self.drop_next(cx, repeats) {
                self.fill(cx);
                continue;
            }
            if drops || open > now {
                self.resume = open;
                return;
            }
            if let Some(allocation) = &mut self.allocation {
                let at = allocation.request(now);
                if at > now {
                    self.resume = at;
                    return;
                }
            }
            self.begin(cx, repeats);
            self.fill(cx);
            if self.in_service.is_some() {
                return;
            }
        }
    }

    /// Starts the holding time of the resources if no packet waits and no ARQ feedback is outstanding.
    pub(super) fn idle(&mut self, now: Time) {
        let heard = self.arq.as_ref().is_none_or(|arq| arq.next().is_never());
        if let Some(allocation) = &mut self.allocation
            && heard
            && self.queues.len() == 0
            && self.buffer.current().is_none()
        {
            allocation.idle(now);
        }
    }

    /// Whether a new frame is available, and ARQ window, receive buffer and credit permit its start.
    pub(super) fn has_new(&self) -> bool {
        let window = self.arq.as_ref().is_none_or(Arq::allows);
        let under_way = match (self.receive_buffer, &self.arq) {
            (Some(room), Some(_)) => self.buffer.may_begin(room),
            _ => true,
        };
        let may_begin = || under_way && self.credit.as_ref().is_none_or(Credit::allows);
        window
            && match self.buffer.current() {
                Some((_, unit)) => unit.sent > 0 || may_begin(),
                None => self.queues.len() > 0 && may_begin(),
            }
    }

    /// Drops the next packet at a closed gate or in a dropping state, or takes it out of its queue for the next
    /// call. False if frames wait instead: with ARQ, retransmissions and packets that have begun.
    fn drop_next(&mut self, cx: &mut Cx<'_>, repeats: bool) -> bool {
        let Some((number, unit)) = self.buffer.current().filter(|_| !repeats) else {
            if !repeats {
                self.take_in(cx);
            }
            return !repeats;
        };
        if unit.sent == 0 {
            if let Some(packet) = self.buffer.take_current() {
                cx.drop(packet, DropReason::Outage);
            }
            return true;
        }
        if self.arq.is_some() {
            return false;
        }
        let arrival = cx.now() + unit.delay;
        self.buffer.give_up(number, arrival, DropReason::Outage);
        self.buffer.known(number, None);
        true
    }

    /// Moves packets from the queues into the send buffer while it has room.
    #[inline]
    pub(super) fn fill(&mut self, cx: &mut Cx<'_>) {
        let Some(room) = self.send_buffer else { return };
        if self.queues.len() > 0 && self.buffer.takes(room, 0) {
            self.fill_to(cx, room);
        }
    }

    /// Moves packets into a send buffer of size `room`.
    #[inline(never)]
    fn fill_to(&mut self, cx: &mut Cx<'_>, room: Room) {
        while self.queues.head().is_some_and(|head| self.buffer.takes(room, head.size)) {
            self.take_in(cx);
        }
    }

    /// Moves one packet from the queues to the send buffer; AQM may drop the packet instead.
    #[inline]
    fn take_in(&mut self, cx: &mut Cx<'_>) {
        let plain = if self.grants { None } else { self.queues.take_plain(Time::NEVER, Time::NEVER) };
        match plain {
            Some(waiting) => self.push(&waiting),
            None => self.take_in_any(cx),
        }
    }

    /// The general case of [`Channel::take_in`].
    fn take_in_any(&mut self, cx: &mut Cx<'_>) {
        if let Some(waiting) = self.granting(cx, 0, |queues, cx| queues.take(cx)) {
            self.push(&waiting);
        }
    }

    /// Adds a packet to the send buffer.
    fn push(&mut self, waiting: &Waiting) {
        let body = self.framing.body(waiting.packet.size);
        self.buffer.push(&waiting.packet, waiting.joined, body, self.framing.count(body));
    }

    /// Starts the transmission of a frame: a retransmission or a new one.
    pub(super) fn begin(&mut self, cx: &mut Cx<'_>, repeats: bool) {
        if repeats {
            return self.begin_repeat(cx);
        }
        if self.buffer.current().is_none() {
            return self.begin_waiting(cx);
        }
        self.begin_new(cx);
    }

    /// Starts the first frame of the next packet in the queues; AQM may drop the packet instead.
    #[inline]
    pub(super) fn begin_waiting(&mut self, cx: &mut Cx<'_>) {
        if !self.grants
            && let Some(waiting) = self.queues.take_plain(self.advanced, cx.now())
        {
            return self.begin_packet(cx, &waiting.packet, waiting.joined);
        }
        self.take_in_any(cx);
        self.begin_new(cx);
    }

    /// Moves a packet into the send buffer and starts its first frame, if no packet waits there for its start.
    #[inline(always)] // two callers, in the loop over packets
    pub(super) fn begin_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet, joined: Time) {
        let now = cx.now();
        cx.count_frames(1);
        let frames = self.packet_frames.again(&self.framing, packet.size);
        let delay = self.followers.delay().unwrap_or(self.delay);
        let unheard = u32::from(self.arq.is_some());
        let start = Start { joined, began: now, body: frames.body, frames: frames.count, unheard, delay };
        let number = self.buffer.push_begun(packet, &start);
        self.note_start(cx, packet, joined);
        self.put_in_service(now, number, frames.first, frames.count == 1);
    }

    /// Spends credit for a packet whose first frame starts, and counts its sojourn time in the queue.
    #[inline]
    fn note_start(&mut self, cx: &mut Cx<'_>, packet: &Packet, joined: Time) {
        let now = cx.now();
        if let Some(credit) = self.credit.as_mut().filter(|_| !packet.flags.has(Flags::VIRTUAL)) {
            credit.spend();
        }
        if packet.flags.has(Flags::DATA)
            && let Some(ledger) = cx.ledger(packet)
        {
            ledger.queue_delay_ns += now.since(joined).as_nanos();
            ledger.queue_waits += 1;
        }
        let packet = packet.id;
        cx.record(Category::Path, now, || Event::ServiceStarted { packet });
    }

    /// Puts a new frame of packet `number` into service.
    #[inline(always)] // part of the two starts
    fn put_in_service(&mut self, now: Time, number: u64, bytes: u32, last: bool) {
        match &mut self.arq {
            Some(arq) => arq.begun(1),
            // Without ARQ the packet leaves the send buffer now.
            None => self.buffer.release(number),
        }
        let end = self.finish(now, bytes);
        let frame = Frame { unit: number, bytes, repeated: 0, good: false, last };
        self.in_service = Some(InService { frame, left: bytes, end });
    }

    /// Starts the retransmission of a frame.
    #[cold]
    fn begin_repeat(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        cx.count_frames(1);
        let Some(frame) = self.arq.as_mut().and_then(Arq::repeat) else { return };
        let frame = Frame { repeated: frame.repeated + 1, last: true, ..frame };
        let id = self.buffer.get(frame.unit).map_or(0, |unit| unit.packet.id);
        cx.record(Category::Path, now, || Event::FrameRepeated { packet: id, time: frame.repeated });
        let end = self.finish(now, frame.bytes);
        self.in_service = Some(InService { frame, left: frame.bytes, end });
    }

    /// Starts the next frame of the current packet.
    #[inline]
    pub(super) fn begin_new(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        cx.count_frames(1);
        let Some((number, unit, nth)) = self.buffer.begin(now) else { return };
        let bytes = self.framing.bytes(unit.body, nth);
        let last = unit.sent == unit.frames;
        unit.unheard += u32::from(self.arq.is_some());
        if nth == 0 {
            unit.delay = self.followers.delay().unwrap_or(self.delay);
            let (packet, joined) = (unit.packet, unit.joined);
            self.note_start(cx, &packet, joined);
        }
        self.put_in_service(now, number, bytes, last);
    }

    /// Whether an arriving packet of `size` bytes leaves the queue at once, so that no queue limit applies.
    pub(super) fn is_free(&mut self, now: Time, size: u32) -> bool {
        if self.queues.len() > 0 {
            return false;
        }
        if let Some(room) = self.send_buffer {
            return self.buffer.takes(room, size);
        }
        if self.in_service.is_some()
            || self.arq.as_ref().is_some_and(Arq::repeats)
            || self.buffer.current().is_some()
        {
            return false;
        }
        if self.is_open(now) {
            return true;
        }
        let (open, drops) = self.opens(now);
        drops || open <= now
    }
}
