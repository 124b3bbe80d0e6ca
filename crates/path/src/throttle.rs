//! Throttle of datagrams at a receiving host: packets above a flow's share of the access link are dropped, or
//! marked for a sender with congestion control (Gurtov, overview, section 5.5; catalogue CM-03, CM-04).
//!
//! A datagram sender has no receive window to limit it. It responds to a drop or mark at the host as to one in the
//! network. The mark stays within the host, so packets are marked even if they are not ECN-capable.

use crate::channel::policer::Policer;
use crate::element::{Cx, Element, Port, Signal};
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::{Rate, Time};

/// Rate of the access link and window of the host from a given time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessCondition {
    /// Start time.
    pub from: Time,
    /// Rate of the access link.
    pub rate: Rate,
    /// Aggregate window of the host, bytes.
    pub window: u64,
}

/// Throttle of one flow.
pub struct Throttle {
    access: Vec<AccessCondition>,
    /// Fraction of the access link's rate for this flow.
    share: f64,
    /// Minimum size of the token bucket, bytes.
    least: u64,
    /// Number of entries of `access` that have begun.
    begun: usize,
    /// Token bucket in force; none: all packets pass.
    bucket: Option<Policer>,
    /// Whether excess packets are marked instead of dropped.
    marks: bool,
}

impl Throttle {
    /// `access`: conditions in ascending order of time, before the first of which all packets pass; `share`:
    /// fraction of the access link for the flow; `least`: minimum bucket size, bytes; `marks`: whether excess
    /// packets are marked instead of dropped.
    pub fn new(access: Vec<AccessCondition>, share: f64, least: u64, marks: bool) -> Self {
        Throttle { access, share, least, begun: 0, bucket: None, marks }
    }

    /// New token bucket for the present condition and share; `None` before the first condition, or at rate 0.
    fn bucket(&self) -> Option<Policer> {
        let access = self.access[..self.begun].last()?;
        let rate = Rate::from_bps((access.rate.bps() as f64 * self.share) as u64);
        let burst = ((access.window as f64 * self.share) as u64).max(self.least);
        (rate.bps() > 0).then(|| Policer::new(rate, burst))
    }

    /// Starts the conditions due by `now`; returns whether a packet of `size` bytes conforms.
    fn conforms(&mut self, now: Time, size: u32) -> bool {
        while self.access.get(self.begun).is_some_and(|access| access.from <= now) {
            self.begun += 1;
            self.bucket = self.bucket().or(self.bucket);
        }
        self.bucket.as_mut().is_none_or(|bucket| bucket.conforms(now, size))
    }
}

impl Element for Throttle {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, mut packet: Packet) {
        if packet.flags.has(Flags::DATA) && !self.conforms(cx.now(), packet.size) {
            if !self.marks {
                return cx.drop(packet, DropReason::Early);
            }
            packet.ecn = 3;
            let (now, id) = (cx.now(), packet.id);
            cx.record(Category::Path, now, || Event::Marked { packet: id });
        }
        cx.forward(Port(0), packet);
    }
    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        if let Signal::Share(share) = signal {
            let before = self.bucket;
            self.conforms(cx.now(), 0);
            self.share = share;
            // The new bucket is full no earlier than the old one would have been.
            self.bucket = self.bucket().map(|bucket| bucket.as_full_as(before.as_ref()));
        }
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}
