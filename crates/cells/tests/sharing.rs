//! A timeslot shared at equal priority as M/G/1 processor sharing (Kleinrock 1967): mean transfer time x / (C (1 - load)).

use base::packet::{Flags, FlowId, Packet};
use base::rng::{Seed, Stream};
use base::trace::Tracer;
use base::{Span, Time};
use cells::adaptation::Rule;
use cells::config::{Config, Mobile, Placing};
use cells::curve::Curves;
use cells::system::{Cells, Plan};
use path::{Cx, Element, Network, Port};
use radio::coding::Scheme;

/// Octets of a packet with its LLC header.
const PACKET: u32 = 1500;
/// RLC octets of MCS-9 a second on one timeslot: two blocks of 74 octets, 50 times.
const RATE: f64 = 7400.0;

/// Files for mobiles at Poisson instants; their sizes are 5, 20 or 80 packets.
struct Files {
    stream: Stream,
    mobiles: u32,
    mean_gap: f64,
    next: Time,
    until: Time,
    /// By mobile: begin and packets of each file under way, oldest first.
    open: Vec<std::collections::VecDeque<(Time, u32)>>,
    /// Mobile, packets and time of each finished file.
    done: Vec<(u32, u32, f64)>,
}

const SIZES: [u32; 3] = [5, 20, 80];

impl Element for Files {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        let mobile = u32::from(port.0) / 2;
        if !packet.flags.has(Flags::FIN) {
            return;
        }
        if let Some((begun, packets)) = self.open[mobile as usize].pop_front() {
            self.done.push((mobile, packets, cx.now().since(begun).as_secs_f64()));
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        let mobile = (self.stream.uniform() * f64::from(self.mobiles)) as u32;
        let packets = SIZES[(self.stream.uniform() * 3.0) as usize % 3];
        self.open[mobile as usize].push_back((now, packets));
        for k in 0..packets {
            let id = cx.emit_virtual(PACKET);
            let flags = Flags::VIRTUAL.with(Flags::DATA);
            let flags = if k + 1 == packets { flags.with(Flags::FIN) } else { flags };
            let packet = Packet { id, born: now, size: PACKET, flow: FlowId(mobile), flags, ..Packet::NONE };
            cx.forward(Port((2 * mobile + 1) as u16), packet);
        }
        let gap = -libm::log(self.stream.uniform().max(1e-12)) * self.mean_gap;
        self.next = now + Span::from_secs_f64(gap);
        if self.next > self.until {
            self.next = Time::NEVER;
        }
    }

    fn next_wake(&self) -> Time {
        self.next
    }

    fn holds(&self) -> usize {
        0
    }
}

/// Mean time of a file beyond the fixed delays, over its time alone on the slot, and the load, over three cells.
fn stretch(load: f64) -> (f64, f64) {
    let mobiles = 240;
    let mut config = Config::default();
    config.radio.fixed_ci_db = Some(100.0);
    config.mac.slots = 1;
    config.mac.mobile_slots = [1, 1];
    config.mac.most = [500, 7];
    config.core.buffer = 1 << 30;
    (config.adaptation.rule, config.adaptation.initial) = (Rule::Fixed, Scheme::Mcs9);
    config.mobiles = (0..mobiles)
        .map(|identity| Mobile { placing: Placing::Near(0, 1.0), speed: 0.0, identity: u64::from(identity) })
        .collect();
    config.check().unwrap();
    // A file of n packets: its RLC octets, with a length indicator for each packet.
    let framed = f64::from(PACKET + config.core.llc_octets + 1);
    let octets = |n: u32| f64::from(n) * framed;
    let mean = SIZES.map(octets).iter().sum::<f64>() / 3.0;
    let fixed = (config.core.delay + config.mac.setup[0]).as_secs_f64() + 0.03;
    let seconds = 20_000;
    let files = Files {
        stream: Seed { seed: 7, repetition: 0 }.stream("files", "arrivals"),
        mobiles,
        mean_gap: mean / RATE / load / 3.0,
        next: Time::ZERO,
        until: Time::ZERO + Span::from_secs(seconds),
        open: vec![Default::default(); mobiles as usize],
        done: Vec::new(),
    };
    let plan = Plan { config, curves: Curves::built_in(), observe: Default::default() };
    let mut network = Network::new(0, Tracer::off());
    let cells = network.add(Cells::new(&plan, "net", Seed { seed: 1, repetition: 0 }));
    let files = network.add(files);
    for port in 0..2 * mobiles as u16 {
        network.wire(files, Port(port), cells, Port(port));
        network.wire(cells, Port(port), files, Port(port));
    }
    network.start(None);
    network.run_until(Time::ZERO + Span::from_secs(seconds + 2000));
    let element = network.element::<Cells>(cells).unwrap();
    let mut by_cell = std::collections::BTreeMap::<u32, (f64, f64)>::new();
    for (mobile, packets, took) in &network.element::<Files>(files).unwrap().done {
        let sums = by_cell.entry(element.mobile(*mobile as usize).0).or_default();
        *sums = (sums.0 + took - fixed, sums.1 + octets(*packets) / RATE);
    }
    assert_eq!(by_cell.len(), 3, "the mobiles lie in the three sectors of one site");
    // Load differs between the sectors; 1 / (1 - load) is weighed by the work of each.
    let (mut took, mut expected) = (0.0, 0.0);
    for (time, work) in by_cell.values() {
        took += time;
        expected += work / (1.0 - work / seconds as f64);
    }
    let work: f64 = by_cell.values().map(|(_, work)| work).sum();
    (took / work, expected / work)
}

/// EG-11, EG-15: files of very different sizes wait as in processor sharing, at low and at high load.
#[test]
fn eg_11_eg_15_one_slot_is_processor_sharing() {
    for load in [0.2, 0.6] {
        let (measured, expected) = stretch(load);
        println!("load {load}: {measured:.3} times the time alone, M/G/1-PS {expected:.3}");
        assert!((measured / expected - 1.0).abs() < 0.08, "load {load}: {measured} beside {expected}");
    }
}
