//! Link served by somebody outside: asked for the delivery time of each packet (catalogue SW-18).
//!
//! A driver hands in whoever answers. The answer is final: a packet that was given a time arrives then, and packets overtake
//! each other if their times say so; those of one time keep the order in which they came.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::event::{Category, Event};
use base::packet::{DropReason, Packet};
use std::collections::BTreeMap;

/// A packet, as it is shown outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arriving {
    /// When it reached the link.
    pub at: Time,
    /// Its number in the network.
    pub number: u64,
    /// Bytes, all headers counted.
    pub size: u32,
    /// Its flow, in the order of the scenario.
    pub flow: u32,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is delivered then; after it has come.
    At(Time),
    /// It is lost.
    Lost,
}

/// Who says what becomes of packets.
pub trait Server: Send {
    /// The fate of a packet that has just come.
    fn fate(&mut self, packet: &Arriving) -> Fate;
}

/// One direction of such a link. Nothing passes before a server is there.
#[derive(Default)]
pub struct Outside {
    server: Option<Box<dyn Server>>,
    waiting: BTreeMap<(Time, u64), Packet>,
    count: u64,
}

impl Outside {
    /// Gives it who answers from now on; none: all that comes is lost.
    pub fn serve(&mut self, server: Option<Box<dyn Server>>) {
        self.server = server;
    }
}

impl Element for Outside {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let (number, size, flow) = (packet.id, packet.size, packet.flow.0);
        let arriving = Arriving { at: cx.now(), number, size, flow };
        let fate = self.server.as_mut().map_or(Fate::Lost, |server| server.fate(&arriving));
        match fate {
            Fate::At(t) => {
                self.waiting.insert((t.max(cx.now()), self.count), packet);
                self.count += 1;
            }
            Fate::Lost => cx.drop(packet, DropReason::Loss),
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= cx.now()) {
            let packet = first.remove();
            cx.count_hop();
            cx.record(Category::Path, cx.now(), || Event::Delivered { packet: packet.id });
            cx.forward(Port(0), packet);
        }
    }

    fn next_wake(&self) -> Time {
        self.waiting.first_key_value().map_or(Time::NEVER, |((t, _), _)| *t)
    }

    fn holds(&self) -> usize {
        self.waiting.len()
    }
}
