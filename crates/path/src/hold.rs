//! Gate before the queue of a link: packets that arrive while it is closed are held or dropped (catalogue NS-02).
//!
//! While arriving packets are held, the queue continues to drain. When the gate opens, all held packets arrive at
//! the queue at the same time. The delay generator of the SCTP study works like this: 60 held segments overflow a
//! queue of 50.

use crate::element::{Cx, Element, Port};
use crate::gate::Gate;
use base::Time;
use base::packet::{DropReason, Packet};
use std::collections::VecDeque;

/// Gate in front of a queue.
pub struct Hold {
    gate: Gate,
    /// Whether packets are held; otherwise they are dropped.
    stores: bool,
    held: VecDeque<Packet>,
    /// Time at which the gate opens, as of the last query.
    opens: Time,
}

impl Hold {
    /// `stores`: whether packets are held while `gate` is closed; otherwise they are dropped.
    pub fn new(gate: Gate, stores: bool) -> Self {
        Hold { gate, stores, held: VecDeque::new(), opens: Time::ZERO }
    }
}

impl Element for Hold {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        if self.held.is_empty() {
            self.opens = self.gate.open_from(cx.now(), cx.now());
        }
        if self.opens <= cx.now() {
            cx.forward(Port(0), packet);
        } else if self.stores {
            self.held.push_back(packet);
        } else {
            cx.drop(packet, DropReason::Outage);
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        if self.opens <= cx.now() {
            for packet in self.held.drain(..) {
                cx.forward(Port(0), packet);
            }
        }
    }

    fn next_wake(&self) -> Time {
        if self.held.is_empty() { Time::NEVER } else { self.opens }
    }

    fn holds(&self) -> usize {
        self.held.len()
    }
}
