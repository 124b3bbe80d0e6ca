//! Datagram workload whose socket is outside the network.
//!
//! One end stands in the network without a packet: what its application says becomes orders for whoever holds the
//! socket there, or what that one hears is told to it. [`crate::Remote`] does the same for connections.

use base::Time;
use base::packet::Packet;
use path::{Cx, Element, Port};
use std::collections::VecDeque;
use transport::app::datagrams::{Datagram, Hearing, Speaking};
use transport::app::seen::Seen;

/// One end of a flow of datagrams whose socket is outside.
pub struct Said {
    end: End,
    orders: VecDeque<Datagram>,
}

/// What it does.
#[allow(clippy::large_enum_variant, reason = "there are two in a flow")]
enum End {
    Speaks(Speaking),
    Hears(Hearing),
}

impl Said {
    /// The end that speaks.
    pub fn speaking(speaking: Speaking) -> Said {
        Said { end: End::Speaks(speaking), orders: VecDeque::new() }
    }
    /// The end that listens.
    pub fn hearing(hearing: Hearing) -> Said {
        Said { end: End::Hears(hearing), orders: VecDeque::new() }
    }

    /// It is the end that speaks.
    pub fn speaks(&self) -> bool {
        matches!(self.end, End::Speaks(_))
    }
    /// The next datagram that is to be sent outside.
    pub fn next_order(&mut self) -> Option<Datagram> {
        self.orders.pop_front()
    }
    /// The datagram of this number was heard outside.
    pub fn hear(&mut self, now: Time, ordinal: u32) {
        if let End::Hears(hearing) = &mut self.end {
            hearing.hear(now, ordinal, None);
        }
    }

    /// When the last was said; at the other end, since when no more is, but not before the last one came.
    pub fn finished(&self) -> Option<Time> {
        match &self.end {
            End::Speaks(speaking) => speaking.finished(),
            End::Hears(hearing) => hearing.finished().map(|at| at.max(hearing.last())),
        }
    }
    /// What it said or heard.
    pub fn seen(&self) -> &Seen {
        match &self.end {
            End::Speaks(speaking) => speaking.seen(),
            End::Hears(hearing) => hearing.seen(),
        }
    }
}

impl Element for Said {
    /// Its packets pass the door beside it.
    fn on_packet(&mut self, _cx: &mut Cx<'_>, _port: Port, _packet: Packet) {}
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let Said { end, orders } = self;
        if let End::Speaks(speaking) = end {
            speaking.speak(cx.now(), |datagram| orders.push_back(datagram));
        }
    }
    fn next_wake(&self) -> Time {
        match &self.end {
            End::Speaks(speaking) => speaking.next_wake(),
            End::Hears(_) => Time::NEVER,
        }
    }
    fn holds(&self) -> usize {
        0
    }
}
