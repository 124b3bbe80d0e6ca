//! Effect of a state change on the packets of a channel: new rate of the frame in service, flush.
//!
//! The frame in service continues with its remaining bytes at the new rate. The entry of a state may flush the
//! waiting packets, or all packets on the channel.

use super::follow::Flush;
use super::{Channel, InService};
use crate::capacity::Capacity;
use crate::element::Cx;
use crate::states::Change;
use base::Time;
use base::event::{Category, Event};
use base::packet::DropReason;

impl Channel {
    /// Runs `act`, which may change the rate; the frame in service keeps its remaining bytes.
    pub(super) fn with_service_kept(&mut self, cx: &mut Cx<'_>, act: impl FnOnce(&mut Self, &mut Cx<'_>)) {
        let left = self.left(cx.now());
        act(self, cx);
        self.reschedule(cx.now(), left);
    }

    /// Records a state change of machine `number`, and applies its flush and service.
    pub(super) fn changed(&mut self, cx: &mut Cx<'_>, number: u16, change: Change) {
        let (machine, state, triggered) = (u32::from(number), change.state as u32, change.triggered);
        cx.record(Category::Path, change.at, || Event::StateEntered { machine, state, triggered });
        match self.followers.flush(number) {
            Flush::None => {}
            Flush::Waiting => self.flush_waiting(cx),
            Flush::All => self.flush_all(cx),
        }
        self.service = self.followers.service();
    }

    fn flush_waiting(&mut self, cx: &mut Cx<'_>) {
        self.granting(cx, 0, |queues, cx| queues.flush(cx, &|_, _| true));
        while let Some(unit) = self.buffer.take_unbegun() {
            cx.drop(unit.packet, DropReason::Flushed);
        }
    }

    fn flush_all(&mut self, cx: &mut Cx<'_>) {
        self.flush_waiting(cx);
        while let Some(unit) = self.buffer.take_any() {
            self.lose(cx, unit.packet, DropReason::Flushed);
        }
        if let Some(arq) = &mut self.arq {
            arq.clear();
        }
        if self.in_service.take().is_some() {
            self.idle_since = cx.now();
        }
        self.exit = Time::NEVER;
    }

    /// Recomputes the end of the frame in service, which has `left` bytes to send; none: no frame is in service.
    fn reschedule(&mut self, now: Time, left: Option<u32>) {
        let Some(left) = left else { return };
        let end = if left == 0 { now } else { self.finish(now, left) };
        if let Some(service) = &mut self.in_service {
            (service.left, service.end) = (left, end);
        }
    }

    /// Remaining bytes of the frame in service, before a change of rate; none: no frame is in service.
    fn left(&mut self, now: Time) -> Option<u32> {
        let InService { end, left, .. } = self.in_service?;
        if end.is_never() {
            return Some(left); // no progress since the last computation
        }
        let bits = match self.followers.rate() {
            Some(rate) => Capacity::Fixed(rate).bits_between(now, end),
            None => self.capacity.bits_between(now, end),
        };
        Some(u32::try_from(bits.div_ceil(8)).unwrap_or(u32::MAX).min(left))
    }
}
