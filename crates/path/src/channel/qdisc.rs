//! Queueing disciplines: the seam between a class of packets and the queue that holds them.
//!
//! A discipline decides which packet is kept, which leaves next and which is dropped. Each is a file of its own and one
//! line in the list below.

use super::fq_codel::FqCoDel;
use super::queue::{Fifo, QueueConfig, Waiting};
use crate::element::Cx;
use base::packet::Packet;
use base::{Span, Time};

/// What a class asks of its queue.
pub(crate) trait Qdisc {
    /// Packets that wait.
    fn len(&self) -> usize;
    /// Packets that wait and are no background load.
    fn real(&self) -> usize;
    /// The packet that leaves next unless a manager drops it; unchanged until it is taken or another comes.
    fn head(&mut self) -> Option<&Packet>;
    /// When the next packet has waited too long.
    fn expires(&self) -> Time;
    /// Drops what has waited too long; how many.
    fn expire(&mut self, cx: &mut Cx<'_>) -> usize;
    /// A packet comes when the link has had nothing to do for `idle`; with `at_once` it would not have to wait, and no
    /// limit holds for it. Returns how many packets were dropped, it may be among them.
    fn join(&mut self, cx: &mut Cx<'_>, packet: Packet, idle: Span, at_once: bool) -> usize;
    /// Takes the packet at the head; dropped in place of that, and none, if its manager or its deadline says so.
    fn take(&mut self, cx: &mut Cx<'_>) -> Option<Waiting>;
    /// Drops the packets for which `which` holds; how many.
    fn flush(&mut self, cx: &mut Cx<'_>, which: &dyn Fn(&Cx<'_>, &Packet) -> bool) -> usize;
}

macro_rules! qdiscs {
    ($($(#[$doc:meta])+ $name:ident($type:ty);)+) => {
        /// A queue by its discipline.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "the usual discipline is the large one, and a link has few queues")]
        pub(crate) enum Queue { $($(#[$doc])+ $name($type)),+ }

        impl Qdisc for Queue {
            #[inline]
            fn len(&self) -> usize {
                match self { $(Queue::$name(q) => q.len()),+ }
            }
            fn real(&self) -> usize {
                match self { $(Queue::$name(q) => q.real()),+ }
            }
            #[inline]
            fn head(&mut self) -> Option<&Packet> {
                match self { $(Queue::$name(q) => q.head()),+ }
            }
            fn expires(&self) -> Time {
                match self { $(Queue::$name(q) => q.expires()),+ }
            }
            fn expire(&mut self, cx: &mut Cx<'_>) -> usize {
                match self { $(Queue::$name(q) => q.expire(cx)),+ }
            }
            fn join(&mut self, cx: &mut Cx<'_>, packet: Packet, idle: Span, at_once: bool) -> usize {
                match self { $(Queue::$name(q) => q.join(cx, packet, idle, at_once)),+ }
            }
            fn take(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
                match self { $(Queue::$name(q) => q.take(cx)),+ }
            }
            fn flush(&mut self, cx: &mut Cx<'_>, which: &dyn Fn(&Cx<'_>, &Packet) -> bool) -> usize {
                match self { $(Queue::$name(q) => q.flush(cx, which)),+ }
            }
        }
    };
}

// THE list of disciplines.
qdiscs! {
    /// First in, first out, with a drop policy and a manager.
    Fifo(Fifo);
    /// Flow queues with CoDel (RFC 8290).
    FqCoDel(Box<FqCoDel>);
}

impl Queue {
    pub(crate) fn new(config: QueueConfig) -> Self {
        match config.fair {
            Some(fair) => Queue::FqCoDel(Box::new(FqCoDel::new(fair, config.room))),
            None => Queue::Fifo(Fifo::new(config)),
        }
    }
}
