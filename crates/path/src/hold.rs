//! Delay before the queue: packets are held while the gate is closed (catalogue NS-02).
//!
//! The queue continues to drain while arriving packets are held, and receives all of them at once when the
//! gate opens. This is the original delay generator of the SCTP study (catalogue NS-02), where 60 held
//! segments overflow a queue of 50.

use crate::element::{Cx, Element, Port};
use crate::gate::Gate;
use base::Time;
use base::packet::{DropReason, Packet};
use std::collections::VecDeque;

/// Gate in front of a queue.
pub struct Hold {
    gate: Gate,
    stores: bool,
    held: VecDeque<Packet>,
    opens: Time,
}

impl Hold {
    /// Holds packets while `gate` is closed if it `stores`, drops them otherwise.
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
