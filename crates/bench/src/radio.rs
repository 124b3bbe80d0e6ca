//! Benchmark: processor time for a radio block of a GPRS bearer, with RLC, MAC and LLC, without transports.

use crate::clock::{Clock, each, least};
use crate::say;
use base::packet::{Flags, Packet};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use path::{Cx, Element, Network, Port};
use radio::cell::config::{CellConfig, Delays, UserConfig};
use radio::cell::{Cell, element};
use radio::mac::tbf::{Durations, TbfConfig};
use radio::quality::Source;
use std::time::Duration;

/// Takes what leaves the cell.
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

/// A saturated downlink of CS-2 whose TBF is always there.
pub(crate) fn measure() {
    for (slots, loss) in [(1, 0.0), (4, 0.0), (4, 0.1)] {
        // Short runs, so that the least is one that nothing else interrupted.
        let (took, blocks) = least(60, || saturated(slots, loss));
        say(&format!(
            "radio     {slots} timeslots, {loss} of blocks lost: {:.1} ns a radio block",
            each(took, blocks)
        ));
    }
}

fn saturated(slots: u8, loss: f64) -> (Duration, u64) {
    const PACKETS: u64 = 100;
    let mut user = UserConfig::new("phone");
    // Class 34: five timeslots each way.
    user.class = radio::mac::multislot::of(34).unwrap_or(user.class);
    (user.down.slots, user.up.slots) = (slots, 1);
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
    let clock = Clock::start();
    // Packets come as fast as the bearer takes them: 12 kbit/s a timeslot, 1511 octets of RLC for each.
    let batch = PACKETS as f64 * 1511.0 / (1500.0 * f64::from(slots) * (1.0 - loss));
    let (mut at, mut id) = (0.0, 0);
    while at < 200.0 {
        let born = Time::from_secs_f64(at);
        for _ in 0..PACKETS {
            id += 1;
            let packet = Packet { id, born, size: 1500, flags: Flags::DATA, ..Packet::NONE };
            network.inject(born, cell, element::down(0), packet);
        }
        at += batch;
        network.run_until(Time::from_secs_f64(at));
    }
    let took = clock.stop();
    let counts = network.element::<Cell>(cell).and_then(|cell| cell.counts(0)).unwrap_or_default();
    (took, counts.down.blocks() + counts.up.blocks())
}
