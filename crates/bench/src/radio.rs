//! Benchmark of radio blocks of a GPRS bearer (RLC, MAC and LLC, without transports), and of a study of whole
//! bulk transfers.

use crate::clock::{Clock, each, least};
use crate::say;
use base::packet::{Flags, Packet};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use lab::once::{Options, run_once};
use path::{Cx, Element, Network, Port};
use radio::cell::config::{CellConfig, Delays, UserConfig};
use radio::cell::{Cell, element};
use radio::mac::tbf::{Durations, TbfConfig};
use radio::quality::Source;
use std::time::Duration;

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

/// Bulk transfers like the measurements of 2001: 150 kB with 536-octet segments and a window of 16 kB
/// (radio-facts, hscsd), here over CS-2 with three timeslots at 12 dB.
const STUDY: &str = r#"
williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
radio = { gprs = { class = 4, scheme = "cs-2", errors = { c-i = { db = 12 } } } }
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = { tcp = { mss = "536 B", window = "16 kB" } }
app = { bulk = { bytes = "150 kB" } }
[run]
limit = "1 h"
"#;
const TRANSFERS: u64 = 40;

/// All transfers of the study, transports included; the target is one second.
fn study() {
    let model = match scenario::read("study", STUDY.as_bytes(), &scenario::NoFiles) {
        Ok(scenario) => scenario.first().clone(),
        Err(wrong) => panic!("{}", wrong.render(scenario::Style::default())),
    };
    let took = least(5, || {
        let clock = Clock::start();
        let mut complete = true;
        for repetition in 0..TRANSFERS {
            complete &= run_once(&model, repetition, Options::default()).complete;
        }
        assert!(complete, "a transfer did not end");
        (clock.wall(), TRANSFERS)
    });
    say(&format!("radio     {TRANSFERS} x 150 kB over GPRS: {:.3} s", took.0.as_secs_f64()));
}

/// Saturated downlink of CS-2 with a permanent TBF; and the study.
pub(crate) fn measure() {
    study();
    for (slots, loss) in [(1, 0.0), (4, 0.0), (4, 0.1)] {
        // Runs are short, so that the minimum is one without interruption.
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
    // Multislot class 34: five timeslots each way.
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
    // Packets arrive at the rate of the bearer: 12 kbit/s per timeslot, 1511 octets of RLC for each packet.
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
