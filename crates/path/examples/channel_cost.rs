//! Cost of a packet on a plain link, and on a channel with equal or more options. Run it under `valgrind
//! --tool=callgrind` with the name of a case; divide the excess over `none` by the number of packets.

use base::dist::{Dist, Sampler};
use base::packet::Packet;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use path::background::Source;
use path::capacity::Capacity;
use path::channel::allocation::Allocation;
use path::channel::arq::ArqConfig;
use path::channel::class::{ClassConfig, ClassRule};
use path::channel::error::{ErrorProcess, ErrorRate, Errors, Mode};
use path::channel::frame::Framing;
use path::channel::{Channel, ChannelConfig};
use path::link::{Link, LinkConfig, QueueLimit};
use path::loaded::LoadedLink;
use path::qdisc::Room;
use path::{Cx, Element, Network, Port, Signal};

const PACKETS: u32 = 100_000;

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

/// All options off except those in the name, joined by `+`.
fn channel(names: &str) -> ChannelConfig {
    let mut config = ChannelConfig::plain(Capacity::Fixed(Rate::from_bps(10_000_000)), Span::from_millis(20));
    let room = |packets| Some(Room { packets: Some(packets), bytes: None });
    let stream = |what| Seed { seed: 1, repetition: 0 }.stream("radio", what);
    let drawn = |dist, what| Sampler::new(dist, stream(what));
    for name in names.split('+') {
        match name {
            "channel" => {}
            "buffers" => (config.send_buffer, config.receive_buffer) = (room(16), room(400)),
            "framing" => config.framing = Framing { payload: Some(500), overhead: 10, ..Framing::default() },
            "arq" => {
                let feedback = drawn(Dist::Constant(8e6), "feedback");
                config.arq = Some(ArqConfig { attempts: Some(6), time: None, feedback, window: Some(4096) });
            }
            "class" => {
                let rule = ClassRule { size: Some((0, 100)), ..ClassRule::default() };
                config.classes.insert(0, ClassConfig { rule, ..ClassConfig::default() });
            }
            "allocation" => {
                let takes = drawn(Dist::Uniform(1e6, 2e6), "takes");
                config.allocation = Some(Allocation::new(takes, drawn(Dist::Constant(1e8), "keeps")));
            }
            "errors" => {
                let chance = ErrorProcess::Steady(ErrorRate::Bit(1e-8));
                config.errors = vec![Errors::new(chance, Mode::Drop, stream("error"))];
            }
            _ => panic!("`{name}` is no case"),
        }
    }
    config
}

fn main() {
    let which = std::env::args().nth(1).unwrap_or_else(|| "channel".to_owned());
    let (capacity, delay) = (Capacity::Fixed(Rate::from_bps(10_000_000)), Span::from_millis(20));
    let mut network = Network::new(1, Tracer::off());
    let sink = network.add(Sink);
    let entry = match which.as_str() {
        "none" => sink,
        "link" => {
            network.add(Link::new(LinkConfig { capacity, delay, limit: QueueLimit::default() }, vec![]))
        }
        "loaded" => {
            // A tenth of the rate beside the packets' nine tenths.
            let load = Source::new(Rate::from_bps(1_000_000), 210, Time::ZERO);
            let link = Link::new(LinkConfig { capacity, delay, limit: QueueLimit::default() }, vec![]);
            network.add(LoadedLink::new(link, vec![load]))
        }
        _ => network.add(Channel::new(channel(&which))),
    };
    if entry != sink {
        network.wire(entry, Port(0), sink, Port(0));
    }
    network.start(None);
    for i in 1..=PACKETS {
        // Four at a time, at nine tenths of the rate: some wait, some do not.
        let at = Time::ZERO + Span::from_nanos(u64::from(i / 4) * 4 * 888_889);
        let packet = Packet { born: at, ..testkit::chain::packet(i, 1000) };
        network.inject(at, entry, Port(0), packet);
    }
    let end = network.now();
    network.signal(end, entry, Signal::Cease);
    network.run_until(Time::from_secs_f64(1e6));
    assert_eq!(network.packets_inside(), 0);
    if which != "loaded" {
        assert_eq!(network.counters().absorbed, u64::from(PACKETS));
    }
}
