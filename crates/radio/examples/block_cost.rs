//! Cost of a radio block of a GPRS bearer with a saturated downlink: RLC, MAC and LLC, no traces, no transports. Run
//! it under `valgrind --tool=callgrind` as `block_cost TIMESLOTS LOSS SECONDS` with two numbers of seconds; the
//! difference of the instructions over that of the blocks, which it prints, is the cost of one.

use base::packet::{Flags, Packet};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use path::{Cx, Element, Network, Port};
use radio::cell::config::{CellConfig, Delays, UserConfig};
use radio::cell::{Cell, element};
use radio::mac::multislot;
use radio::mac::tbf::{Durations, TbfConfig};
use radio::quality::Source;
use std::io::Write as _;

/// Sink of packets that leave the cell.
struct Sink;

impl Element for Sink {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.discard(&packet);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}

/// Packets that come at once.
const BATCH: u64 = 100;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: f64| args.get(at).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (slots, loss, seconds) = (number(0, 1.0), number(1, 0.0), number(2, 200.0));
    let mut user = UserConfig::new("phone");
    // Class 34: five timeslots each way.
    user.class = multislot::of(34).unwrap_or(user.class);
    (user.down.slots, user.up.slots) = (slots as u8, 1);
    user.tbf = TbfConfig { permanent: true, setup: Durations::none(), ..TbfConfig::default() };
    user.delays = Delays { abis: Span::ZERO, ..Delays::default() };
    user.down.quality = Source::Constant { data: loss, control: 0.0 };
    let mut network = Network::new(1, Tracer::off());
    let sinks = [network.add(Sink), network.add(Sink)];
    let cell = network.add(Cell::new(&CellConfig::of(vec![user]), Seed { seed: 1, repetition: 0 }));
    for (port, sink) in sinks.into_iter().enumerate() {
        network.wire(cell, Port(port as u16), sink, Port(0));
    }
    network.start(None);
    // Packets come as fast as the bearer takes them: 12 kbit/s a timeslot, 1511 octets of RLC for each.
    let every = BATCH as f64 * 1511.0 / (1500.0 * slots * (1.0 - loss));
    let (mut at, mut id) = (0.0, 0);
    while at < seconds {
        let born = Time::from_secs_f64(at);
        for _ in 0..BATCH {
            id += 1;
            let packet = Packet { id, born, size: 1500, flags: Flags::DATA, ..Packet::NONE };
            network.inject(born, cell, element::down(0), packet);
        }
        at += every;
        network.run_until(Time::from_secs_f64(at));
    }
    let counts = network.element::<Cell>(cell).and_then(|cell| cell.counts(0)).unwrap_or_default();
    let _ = writeln!(std::io::stdout(), "{}", counts.down.blocks() + counts.up.blocks());
}
