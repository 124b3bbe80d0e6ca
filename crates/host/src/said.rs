//! Datagram workload whose socket is outside the network.
//!
//! One end is an element of the network without packets of its own. Its datagrams become orders for the
//! process that holds the socket, or that process reports arrivals back. [`crate::Remote`] is the counterpart
//! for connections.

use base::Time;
use base::packet::Packet;
use path::{Cx, Element, Port};
use std::collections::VecDeque;
use transport::app::datagrams::{Datagram, Hearing, Speaking};
use transport::app::seen::Seen;

/// One end of a datagram flow whose socket is outside.
pub struct Said {
    end: End,
    orders: VecDeque<Datagram>,
}

/// Direction.
#[allow(clippy::large_enum_variant, reason = "there are two in a flow")]
enum End {
    Speaks(Speaking),
    Hears(Hearing),
}

impl Said {
    /// The sending end.
    pub fn speaking(speaking: Speaking) -> Said {
        Said { end: End::Speaks(speaking), orders: VecDeque::new() }
    }
    /// The receiving end.
    pub fn hearing(hearing: Hearing) -> Said {
        Said { end: End::Hears(hearing), orders: VecDeque::new() }
    }

    /// Whether it is the sending end.
    pub fn speaks(&self) -> bool {
        matches!(self.end, End::Speaks(_))
    }
    /// Takes the next datagram to be sent outside.
    pub fn next_order(&mut self) -> Option<Datagram> {
        self.orders.pop_front()
    }
    /// A datagram with this ordinal arrived outside.
    pub fn hear(&mut self, now: Time, ordinal: u32) {
        if let End::Hears(hearing) = &mut self.end {
            hearing.hear(now, ordinal, None);
        }
    }

    /// Time of the last message sent; at the receiving end, the end of the source, but not before the last
    /// arrival.
    pub fn finished(&self) -> Option<Time> {
        match &self.end {
            End::Speaks(speaking) => speaking.finished(),
            End::Hears(hearing) => hearing.finished().map(|at| at.max(hearing.last())),
        }
    }
    /// Statistics of the source or sink.
    pub fn seen(&self) -> &Seen {
        match &self.end {
            End::Speaks(speaking) => speaking.seen(),
            End::Hears(hearing) => hearing.seen(),
        }
    }
}

impl Element for Said {
    /// The packets pass through the door beside it.
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
