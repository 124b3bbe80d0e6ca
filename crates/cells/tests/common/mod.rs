//! A network of cells with full buffers: each packet that arrives is replaced by a new one.
#![allow(dead_code, reason = "each test file uses a part of it")]

use base::packet::{Flags, FlowId, Packet};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use cells::config::{Config, Mobile, Placing};
use cells::curve::Curves;
use cells::system::{Cells, Plan};
use path::{Cx, Element, ElementId, Network, Port};

/// Keeps packets waiting for each mobile; the mobiles answer each second packet with a small one.
pub(crate) struct Load {
    mobiles: u32,
    /// Packets that wait for each.
    ahead: u32,
    size: u32,
    answers: bool,
    started: bool,
    /// Keeps time and number of each packet received.
    records: bool,
    /// Maximum number of packets per mobile.
    limit: u64,
    pub(crate) sent: Vec<u64>,
    pub(crate) received: Vec<Vec<(Time, u32)>>,
    pub(crate) answered: u64,
    pub(crate) heard: u64,
}

impl Load {
    pub(crate) fn new(mobiles: u32, ahead: u32, size: u32) -> Load {
        Load {
            mobiles,
            ahead,
            size,
            answers: false,
            started: false,
            records: true,
            limit: u64::MAX,
            sent: vec![0; mobiles as usize],
            received: vec![Vec::new(); mobiles as usize],
            answered: 0,
            heard: 0,
        }
    }

    pub(crate) fn answering(mut self) -> Load {
        self.answers = true;
        self
    }

    /// Keeps no lists of packets, which would grow with the time of a benchmark.
    pub(crate) fn unrecorded(mut self) -> Load {
        self.records = false;
        self
    }

    pub(crate) fn limited(mut self, packets: u64) -> Load {
        self.limit = packets;
        self
    }

    fn send(&mut self, cx: &mut Cx<'_>, mobile: u32) {
        let m = mobile as usize;
        if self.sent[m] >= self.limit {
            return;
        }
        self.sent[m] += 1;
        let id = cx.emit_virtual(self.size);
        let packet = Packet {
            id,
            born: cx.now(),
            size: self.size,
            ordinal: self.sent[m] as u32,
            flow: FlowId(mobile),
            flags: Flags::VIRTUAL.with(Flags::DATA),
            ..Packet::NONE
        };
        cx.forward(Port((2 * mobile + 1) as u16), packet);
    }
}

impl Element for Load {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        let mobile = u32::from(port.0) / 2;
        if port.0 % 2 == 1 {
            self.heard += 1;
            return;
        }
        if self.records {
            self.received[mobile as usize].push((cx.now(), packet.ordinal));
        }
        self.send(cx, mobile);
        if self.answers && packet.ordinal.is_multiple_of(2) {
            self.answered += 1;
            let id = cx.emit_virtual(40);
            let answer = Packet {
                id,
                born: cx.now(),
                size: 40,
                flow: FlowId(mobile),
                flags: Flags::VIRTUAL,
                ..Packet::NONE
            };
            cx.forward(Port((2 * mobile) as u16), answer);
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.started = true;
        for mobile in 0..self.mobiles {
            (0..self.ahead).for_each(|_| self.send(cx, mobile));
        }
    }

    fn next_wake(&self) -> Time {
        if self.started { Time::NEVER } else { Time::ZERO }
    }

    fn holds(&self) -> usize {
        0
    }
}

/// `n` mobiles anywhere at a speed in km/h.
pub(crate) fn mobiles(n: u64, kmh: f64) -> Vec<Mobile> {
    (0..n).map(|identity| Mobile { placing: Placing::Uniform, speed: kmh / 3.6, identity }).collect()
}

/// Runs a network of cells with a load for some seconds.
pub(crate) fn run(config: Config, load: Load, seconds: u64) -> (Network, ElementId, ElementId) {
    run_seed(config, load, seconds, 1)
}

pub(crate) fn run_seed(
    config: Config,
    load: Load,
    seconds: u64,
    seed: u64,
) -> (Network, ElementId, ElementId) {
    let (mut network, cells, load) = start(config, load, seed);
    network.run_until(Time::ZERO + Span::from_secs(seconds));
    (network, cells, load)
}

/// A network of cells with a load, at time 0.
pub(crate) fn start(config: Config, load: Load, seed: u64) -> (Network, ElementId, ElementId) {
    let n = config.mobiles.len() as u16;
    config.check().unwrap();
    let plan = Plan { config, curves: Curves::built_in(), observe: Default::default() };
    let mut network = Network::new(0, Tracer::off());
    let cells = network.add(Cells::new(&plan, "net", Seed { seed, repetition: 0 }));
    let load = network.add(load);
    for m in 0..2 * n {
        network.wire(load, Port(m), cells, Port(m));
        network.wire(cells, Port(m), load, Port(m));
    }
    network.start(None);
    (network, cells, load)
}
