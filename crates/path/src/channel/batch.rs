//! Batch processing of frames in steady service: constant rate, open gates, constant ARQ feedback delay, no lost frame
//! outstanding.
//!
//! The steps between two calls are then ends of frames and feedback that only frees room. Their frames are processed in
//! one loop, with the order of random draws and all times of single steps. Packets enter the send buffer at the end of
//! the loop: between two calls nothing joins the queues, so the order in which packets leave them stays.
//!
//! A packet whose last frame ends later is left to the next call, with all of its frames: until then they have no effect.

use super::allocation::Allocation;
use super::arq::{Arq, Frame};
use super::buffer::Unit;
use super::error::{Errors, FrameOutcome};
use super::follow::Service;
use super::{Channel, InService, MOST_LOAD};
use crate::capacity::Capacity;
use crate::element::{Cx, Element as _};
use base::event::Category;
use base::packet::{DropReason, Packet};
use base::{Rate, Span, Time};

/// The resolution of time.
pub(super) const INSTANT: Span = Span::from_nanos(1);

/// Frames of the packet in service.
struct Rest {
    /// Number of frames to start.
    more: u32,
    /// Bytes of the last frame.
    bytes: u32,
    /// Distance of the ends of frames, except the last.
    gap: Span,
    /// End of the last frame.
    end: Time,
}

/// Last frames of packets with one body, at one rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastFrame {
    rate: Rate,
    body: u32,
    bytes: u32,
    span: Span,
}

/// Transmission times of the last two frame lengths, at one rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameTimes {
    rate: Rate,
    known: [(u32, Span); 2],
}

impl FrameTimes {
    #[inline]
    fn span_of(&mut self, rate: Rate, bytes: u32) -> Span {
        if self.rate == rate {
            if self.known[0].0 == bytes {
                return self.known[0].1;
            }
            self.known.swap(0, 1);
            if self.known[0].0 == bytes {
                return self.known[0].1;
            }
        }
        self.compute(rate, bytes)
    }

    #[cold]
    fn compute(&mut self, rate: Rate, bytes: u32) -> Span {
        let span = rate.span_of(u64::from(bytes));
        if self.rate != rate {
            *self = FrameTimes { rate, known: [(bytes, span); 2] };
        }
        self.known[0] = (bytes, span);
        span
    }
}

impl Channel {
    /// Rate of the present state or of the link, if it is constant until the next state change.
    #[inline]
    pub(super) fn steady_rate(&self) -> Option<Rate> {
        let rate = match (self.followers.rate(), &self.capacity) {
            (Some(rate), _) => rate,
            (None, Capacity::Fixed(rate)) => *rate,
            _ => return None,
        };
        (rate.bps() > 0).then_some(rate)
    }

    /// End of a transmission of `bytes` bytes that starts at `now`, at the rate of the present state or of the link.
    #[inline]
    pub(super) fn finish(&mut self, now: Time, bytes: u32) -> Time {
        match self.steady_rate() {
            Some(rate) => now + self.frame_times.span_of(rate, bytes),
            None => self.finish_at_varying_rate(now, bytes),
        }
    }

    /// Whether frames may start at `t` and no gate, state or signal prevents it; cached until the next closure.
    #[inline]
    pub(super) fn is_open(&mut self, t: Time) -> bool {
        self.service == Service::Go
            && !self.closed_by_hand
            && self.followers.paused() <= t
            && (self.open.0 <= t && t < self.open.1 || self.passes_gates(t))
    }

    #[inline(never)]
    fn passes_gates(&mut self, t: Time) -> bool {
        let mut until = Time::NEVER;
        for gate in &mut self.gates {
            let (closed, end) = gate.gate.phase(t, t);
            if closed {
                return false;
            }
            until = until.min(end);
        }
        self.open = (t, until);
        true
    }

    /// Processes the steps before `limit` as far as the service is steady; false if nothing was done. `defers`: whether
    /// frames of a packet that ends later may be left to the next call.
    pub(super) fn run(&mut self, cx: &mut Cx<'_>, limit: Time, defers: bool) -> bool {
        if !self.late || self.arq.as_ref().is_some_and(|arq| !arq.is_steady()) {
            return false;
        }
        let last = limit;
        let mut limit = limit.min(self.followers.next_change()).min(self.next_lost());
        if self.queues.may_expire() {
            limit = limit.min(self.queues.expires());
        }
        if self.in_service.is_some()
            && let Some(rate) = self.steady_rate()
        {
            while let Some(service) = &self.in_service
                && service.end < limit
            {
                let service = *service;
                if let Some(rest) = self.rest(&service, rate) {
                    if rest.end >= limit && defers && limit == last && self.may_defer(&service, &rest) {
                        (self.deferred, self.busy) = (rest.end, rest.end);
                        break;
                    }
                    if rest.end < limit && self.run_packet(cx, &service, &rest) {
                        continue;
                    }
                }
                self.run_frames(cx, service, rate, limit);
                if self.arq.as_ref().is_some_and(|arq| !arq.is_steady()) {
                    return true;
                }
                limit = limit.min(self.next_lost());
            }
        }
        if self.in_service.is_some() {
            self.run_feedback(limit);
            self.fill(cx);
        } else if self.resume.is_never() && self.queues.len() == 0 && self.buffer.current().is_none() {
            let last = self.run_feedback(limit);
            if last > Time::ZERO {
                self.idle(last);
            }
        }
        true
    }

    /// Time of the next feedback on a lost frame.
    #[inline]
    fn next_lost(&self) -> Time {
        self.arq.as_ref().map_or(Time::NEVER, Arq::next_lost)
    }

    /// Processes feedback due before `limit`; returns the time of the last one, or [`Time::ZERO`].
    #[inline]
    pub(super) fn run_feedback(&mut self, limit: Time) -> Time {
        let Some(arq) = &mut self.arq else { return Time::ZERO };
        let buffer = &mut self.buffer;
        arq.hear(limit, |unit, frames| buffer.acknowledge(unit, frames))
    }

    /// The frames of the packet in service, if neither a gate nor the window holds one up; none for a repeated frame and
    /// for a packet that was given up.
    #[inline]
    fn rest(&mut self, service: &InService, rate: Rate) -> Option<Rest> {
        let InService { frame, end, .. } = *service;
        let unit = self.buffer.get(frame.unit).filter(|unit| unit.lost != Some(DropReason::GivenUp))?;
        let (body, frames, sent) = (unit.body, unit.frames, unit.sent);
        if frame.repeated > 0 {
            return None;
        }
        let more = frames - sent;
        if more == 0 {
            return Some(Rest { more, bytes: frame.bytes, gap: Span::ZERO, end });
        }
        if self.last_frame.body != body || self.last_frame.rate != rate {
            let (bytes, span) = self.frame_time(rate, body, frames - 1);
            self.last_frame = LastFrame { rate, body, bytes, span };
        }
        let LastFrame { bytes, span: last, .. } = self.last_frame;
        let full = if more > 1 { self.frame_times.span_of(rate, frame.bytes) } else { last };
        let start = if more > 1 { end + full.times(u64::from(more - 1)) } else { end };
        let passes = self.arq.as_ref().is_none_or(|arq| arq.allowance() >= more)
            && self.is_open(end)
            && start < self.open.1;
        passes.then_some(Rest { more, bytes, gap: full, end: start + last })
    }

    /// Whether the frames of a packet in service may be processed when the last one has ended: until then they have no
    /// effect, since the feedback on a lost frame comes later.
    #[inline]
    fn may_defer(&self, service: &InService, rest: &Rest) -> bool {
        self.arq.as_ref().is_none_or(|arq| arq.feedback_at(service.end) > rest.end)
    }

    /// Processes the ends of all frames of the packet in service, and starts the next packet. False, without an effect,
    /// if a frame has an error.
    #[inline]
    fn run_packet(&mut self, cx: &mut Cx<'_>, service: &InService, rest: &Rest) -> bool {
        let (frame, more) = (service.frame, rest.more);
        let full = (frame.bytes, more);
        for i in 0..self.errors.len() {
            if !self.errors[i].passes(full, rest.bytes, rest.end) {
                self.errors[..=i].iter_mut().for_each(Errors::undo);
                return false;
            }
        }
        cx.count_frames(more);
        let complete = self.buffer.advance(frame.unit, more, more + 1, rest.end, self.arq.is_some());
        if let Some(arq) = &mut self.arq {
            arq.begun(more);
            let frame = Frame { good: true, last: frame.last || more > 0, bytes: rest.bytes, ..frame };
            arq.ended_in_turn(frame, more + 1, service.end, rest.gap, rest.end);
        }
        if complete {
            self.complete(frame.unit);
        }
        self.in_service = None;
        self.go_on(cx, rest.end);
        true
    }

    /// Registers a packet whose frames have all arrived.
    #[inline]
    fn complete(&mut self, number: u64) {
        if self.buffer.registers() {
            let room = self.receive_buffer.filter(|_| self.arq.is_none());
            self.buffer.known(number, room);
        }
    }

    /// Starts the next frame at `end`, when a frame without an error has ended.
    #[inline]
    fn go_on(&mut self, cx: &mut Cx<'_>, end: Time) {
        self.idle_since = end;
        cx.now = end;
        let is_buffered = self.buffer.current().is_some();
        if !is_buffered && self.queues.len() == 0 {
            // With ARQ the feedback on this frame is outstanding, so the resources stay.
            self.resume = Time::NEVER;
            if self.arq.is_none() {
                self.idle(end);
            }
        } else if !self.begins_next(end) {
            self.run_feedback(end + INSTANT);
            self.serve(cx);
        } else if is_buffered {
            self.begin_new(cx);
        } else {
            self.begin_waiting(cx);
        }
    }

    /// Processes the end of the frame in service, which is before `limit`, and of the following frames of its packet one
    /// by one; then starts the next frame.
    #[inline(never)]
    fn run_frames(&mut self, cx: &mut Cx<'_>, service: InService, rate: Rate, limit: Time) {
        let InService { mut frame, mut end, .. } = service;
        let unit = self.buffer.get(frame.unit).filter(|unit| unit.lost != Some(DropReason::GivenUp));
        let Some(unit) = unit.filter(|_| frame.repeated == 0) else {
            cx.now = end;
            self.run_feedback(end);
            return self.step(cx);
        };
        let (body, frames, before) = (unit.body, unit.frames, unit.sent);
        let mut sent = before;
        let open = if sent < frames && self.is_open(end) { self.open.1 } else { Time::ZERO };
        let allowance = self.arq.as_ref().map_or(u32::MAX, Arq::allowance);
        let most = frames.min(before.saturating_add(allowance));
        let (first, mut gap, mut ended) = (end, Span::ZERO, 0);
        let full = if sent + 1 < frames { self.frame_time(rate, body, sent) } else { (0, Span::ZERO) };
        let last = if sent < frames { self.frame_time(rate, body, frames - 1) } else { (0, Span::ZERO) };
        let mut latest = end;
        let (mut outcome, mut hit) = (FrameOutcome::default(), false);
        let next = loop {
            for errors in &mut self.errors {
                if errors.hits(end, frame.bytes) {
                    errors.affect(&mut outcome);
                    hit = true;
                }
            }
            if hit {
                break None;
            }
            ended += 1;
            latest = end;
            if sent >= most || end >= open {
                break None;
            }
            sent += 1;
            frame.last = sent == frames;
            let (bytes, span) = if frame.last { last } else { full };
            frame.bytes = bytes;
            end = latest + span;
            if ended == 1 {
                gap = span;
            }
            if end >= limit {
                break Some(InService { frame, left: frame.bytes, end });
            }
        };
        let begun = sent - before;
        cx.count_frames(begun);
        let complete = self.buffer.advance(frame.unit, begun, ended, latest, self.arq.is_some());
        if let Some(arq) = &mut self.arq {
            arq.begun(begun);
            if ended > 0 {
                let is_last = frame.last && next.is_none() && end == latest;
                arq.ended_in_turn(Frame { good: true, last: is_last, ..frame }, ended, first, gap, latest);
            }
        }
        if complete {
            self.complete(frame.unit);
        }
        self.in_service = next;
        if next.is_some() {
            self.idle_since = latest;
        } else if hit {
            self.idle_since = end;
            cx.now = end;
            self.run_feedback(end + INSTANT);
            self.received(end, frame, outcome);
            self.serve(cx);
        } else {
            self.go_on(cx, end);
        }
    }

    /// Bytes and transmission time of frame `number` of a packet.
    #[inline]
    fn frame_time(&mut self, rate: Rate, body: u32, number: u32) -> (u32, Span) {
        let bytes = self.framing.bytes(body, number);
        (bytes, self.frame_times.span_of(rate, bytes))
    }

    /// Lower bound of the arrival of a packet that is not complete.
    #[cold]
    pub(super) fn earliest_arrival(&mut self) -> Time {
        let bound = self.due + self.least_delay;
        let quiet = self.late && self.buffer.is_in_order() && self.arq.as_ref().is_none_or(Arq::is_quiet);
        let (Some(service), Some(rate), true) = (self.in_service, self.steady_rate(), quiet) else {
            return bound;
        };
        let Some(unit) = self.buffer.get(service.frame.unit) else { return bound };
        let Unit { body, frames, sent, delay, .. } = *unit;
        let mut end = service.end;
        if sent < frames {
            let between = u64::from(frames - 1 - sent);
            end = end
                + self.frame_time(rate, body, sent).1.times(between)
                + self.frame_time(rate, body, frames - 1).1;
        }
        end + delay
    }

    /// Enqueues an arriving packet that finds a frame in service and no event due, in a queue with drop-tail only and behind
    /// others or a full send buffer; false, without an effect, in all other cases.
    #[inline]
    pub(super) fn queue_up(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> bool {
        let now = cx.now();
        if !self.batches
            || self.due.min(self.exit) <= now
            || self.followers.next_change() <= now
            || self.queues.may_expire()
            || self.holds() >= MOST_LOAD
        {
            return false;
        }
        let waits = self.queues.len() > 0;
        let enters = |room| self.buffer.takes(room, if waits { 0 } else { packet.size });
        if self.send_buffer.is_some_and(enters) {
            return false;
        }
        self.queues.append(now, packet)
    }

    /// Starts an arriving packet that finds the channel idle and its queue without active management; false, without an
    /// effect, in all other cases.
    #[inline]
    pub(super) fn express(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> bool {
        let now = cx.now();
        if !self.late
            || self.in_service.is_some()
            || !self.queues.is_strict()
            || self.queues.len() > 0
            || self.due.min(self.exit) <= now
            || self.followers.next_change() <= now
            || self.buffer.current().is_some()
            || cx.records(Category::Path)
            || self.arq.as_ref().is_some_and(|arq| !arq.is_steady() || !arq.allows())
            || self.receive_buffer.is_some_and(|room| self.arq.is_some() && !self.buffer.may_begin(room))
            || !self.allocation.as_ref().is_none_or(Allocation::is_held)
            || !self.is_open(now)
        {
            return false;
        }
        let at_once = self.send_buffer.is_none_or(|room| self.buffer.takes(room, packet.size));
        if !self.queues.passes(packet, at_once) {
            return false;
        }
        self.resume = Time::NEVER;
        self.begin_packet(cx, packet, now);
        true
    }

    /// Whether the next frame starts at `t` without a look at repeats, feedback and allocation.
    #[inline(always)] // part of `go_on`
    fn begins_next(&mut self, t: Time) -> bool {
        // Where the choice between classes depends on when it is made, the send buffer is filled first.
        let in_order = self.queues.is_strict() || self.send_buffer.is_none();
        in_order
            && self.allocation.as_ref().is_none_or(Allocation::is_held)
            && self.has_new()
            && self.is_open(t)
    }
}
