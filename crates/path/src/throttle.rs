//! Throttle of datagrams at a receiving host: packets above a flow's share of the access link are dropped, or
//! marked for a sender with congestion control (Gurtov, overview, section 5.5; catalogue CM-03, CM-04).
//!
//! A datagram sender cannot be limited by a receive window; a drop or mark at the host looks to it like one
//! in the network. A mark is passed to the host's own transport, even if the packet is not ECN-capable.

use crate::channel::policer::Policer;
use crate::element::{Cx, Element, Port, Signal};
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::{Rate, Time};

/// Condition of the access link from a given time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessCondition {
    /// Start time.
    pub from: Time,
    /// Rate of the link.
    pub rate: Rate,
    /// Aggregate window of the host, bytes.
    pub window: u64,
}

/// Throttle of one flow.
pub struct Throttle {
    access: Vec<AccessCondition>,
    /// Fraction of the link for this flow.
    share: f64,
    /// Smallest bucket, bytes.
    least: u64,
    /// Number of conditions that have begun.
    begun: usize,
    bucket: Option<Policer>,
    marks: bool,
}

impl Throttle {
    /// With ascending conditions; before the first one, all packets pass. `share`: fraction of the link for
    /// the flow; `least`: smallest bucket, bytes.
    pub fn new(access: Vec<AccessCondition>, share: f64, least: u64, marks: bool) -> Self {
        Throttle { access, share, least, begun: 0, bucket: None, marks }
    }

    /// Token bucket of the current share; `None`: no limit.
    fn bucket(&self) -> Option<Policer> {
        let access = self.access[..self.begun].last()?;
        let rate = Rate::from_bps((access.rate.bps() as f64 * self.share) as u64);
        let burst = ((access.window as f64 * self.share) as u64).max(self.least);
        (rate.bps() > 0).then(|| Policer::new(rate, burst))
    }

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
            // The new bucket is as empty as the old one was, in seconds of its rate.
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
