//! Throttle of datagrams at a receiving host: packets above a flow's share of the access link are dropped, or
//! marked for a sender with congestion control (Gurtov, overview, section 5.5; catalogue CM-03, CM-04).
//!
//! A datagram sender cannot be limited by a receive window; a drop or mark at the host looks to it like one
//! in the network. A mark is passed to the host's own transport, even if the packet is not ECN-capable.

use crate::channel::policer::Policer;
use crate::element::{Cx, Element, Port};
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::{Rate, Time};

/// Share of the access link from a given time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Start time.
    pub from: Time,
    /// Token rate.
    pub rate: Rate,
    /// Bucket size, bytes.
    pub burst: u64,
}

/// Throttle of one flow.
pub struct Throttle {
    shares: Vec<Share>,
    /// Number of shares that have begun.
    begun: usize,
    bucket: Option<Policer>,
    marks: bool,
}

impl Throttle {
    /// With ascending shares; before the first one, all packets pass.
    pub fn new(shares: Vec<Share>, marks: bool) -> Self {
        Throttle { shares, begun: 0, bucket: None, marks }
    }

    fn conforms(&mut self, now: Time, size: u32) -> bool {
        while let Some(share) = self.shares.get(self.begun).filter(|share| share.from <= now) {
            self.bucket = Some(Policer::new(share.rate, share.burst));
            self.begun += 1;
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
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}
