//! A cell in a network of its own, fed packet by packet, and sinks that keep its output.

#![allow(dead_code, reason = "each test file uses a part")]

use base::Span;
use base::event::Category;
use base::packet::{Flags, Packet};
use base::rng::Seed;
use base::trace::Tracer;
use path::{ElementId, Network, Port};
use radio::cell::config::{CellConfig, Delays, UserConfig};
use radio::cell::{Cell, element};
use radio::mac::tbf::{Durations, TbfConfig};
pub(crate) use testkit::chain::{SEED, Sink, s};

/// A cell with a sink behind each port.
pub(crate) struct Bench {
    pub(crate) network: Network,
    pub(crate) cell: ElementId,
    sinks: Vec<ElementId>,
    sent: u64,
}

impl Bench {
    pub(crate) fn new(config: &CellConfig) -> Bench {
        Bench::seeded(config, SEED)
    }

    pub(crate) fn seeded(config: &CellConfig, seed: Seed) -> Bench {
        let mut network = Network::new(1, Tracer::of(&[Category::Radio, Category::Path]));
        let ports = 2 * config.users.len();
        let sinks: Vec<ElementId> = (0..ports).map(|_| network.add(Sink::default())).collect();
        let cell = network.add(Cell::new(config, seed));
        for (port, sink) in sinks.iter().enumerate() {
            network.wire(cell, Port(port as u16), *sink, Port(0));
        }
        network.start(None);
        Bench { network, cell, sinks, sent: 0 }
    }

    fn send(&mut self, at: f64, size: u32, port: Port) {
        self.sent += 1;
        let packet = Packet { id: self.sent, born: s(at), size, flags: Flags::DATA, ..Packet::NONE };
        self.network.inject(s(at), self.cell, port, packet);
    }
    pub(crate) fn down(&mut self, at: f64, size: u32) {
        self.send(at, size, element::down(0));
    }
    pub(crate) fn up(&mut self, at: f64, size: u32) {
        self.send(at, size, element::up(0));
    }
    pub(crate) fn down_of(&mut self, user: u16, at: f64, size: u32) {
        self.send(at, size, element::down(user));
    }

    /// Output of a port: time and packet.
    pub(crate) fn got(&self, port: Port) -> Vec<(f64, u64)> {
        let sink = self.network.element::<Sink>(self.sinks[usize::from(port.0)]).unwrap();
        sink.0.iter().map(|(t, p)| (t.as_secs_f64(), p.id)).collect()
    }
    pub(crate) fn run(&mut self, until: f64) {
        self.network.run_until(s(until));
    }
    pub(crate) fn cell(&self) -> &Cell {
        self.network.element::<Cell>(self.cell).unwrap()
    }
    pub(crate) fn conserved(&self) -> bool {
        let out: usize = (0..self.sinks.len()).map(|p| self.got(Port(p as u16)).len()).sum();
        let inside = self.network.packets_inside();
        self.sent as usize == out + inside + self.network.counters().dropped as usize
    }
}

/// A mobile whose TBFs are there from the start, without any delay but the air's.
pub(crate) fn permanent(slots_down: u8) -> UserConfig {
    let mut user = UserConfig::new("phone");
    user.class = radio::mac::multislot::of(34).unwrap();
    user.down.slots = slots_down;
    user.up.slots = 1;
    user.tbf = TbfConfig { permanent: true, setup: Durations::none(), ..TbfConfig::default() };
    user.delays = Delays { abis: Span::ZERO, ..Delays::default() };
    user.sgsn.gb_overhead = 0;
    user
}
