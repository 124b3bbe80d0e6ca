//! Tests of congestion managers on one link: receiver priorities that change during transfers (CM-07), and
//! one congestion window for several connections (RFC 3124, CM-10).

use base::packet::{FlowId, NodeId};
use base::trace::Tracer;
use base::{Rate, Span, Time};
use host::{GRANTS, Granter, Host, HostConfig, Managed, ManagedFlow, Manager, Membership};
use path::capacity::Capacity;
use path::link::{Link, LinkConfig, QueueLimit};
use path::router::Router;
use path::{ElementId, Network, Port, Signal};
use std::sync::Arc;
use transport::app::{Bulk, Sink};
use transport::macroflow::Macroflow;
use transport::tcp::config::{Sack, WindowSize, WindowsConfig};
use transport::tcp::receiver::{Aggregate, WindowManager};
use transport::tcp::recovery::Recovery;
use transport::tcp::{Config, Role};

const MSS: u32 = 960;

/// A download: start in s; bytes, or unlimited; weight.
type Download = (f64, Option<u64>, u32);

struct Path {
    network: Network,
    /// Sender and receiver of each flow.
    ends: Vec<(ElementId, ElementId)>,
    manager: Option<ElementId>,
    macroflow: Option<Macroflow>,
}

#[derive(Clone, Copy, PartialEq)]
enum Managing {
    Nobody,
    /// Aggregate window of the receiver, bytes.
    Receiver(u64),
    Sender,
}

fn at(seconds: f64) -> Time {
    Time::from_secs_f64(seconds)
}

/// Downloads over 400 kbit/s and 200 ms each way with a queue of 60 packets; a packet has 1000 B and takes 20 ms.
fn path(downloads: &[Download], managing: Managing) -> Path {
    let mut tcp = Config {
        mss: MSS,
        timestamps: false,
        sack: Sack::Off,
        recovery: Recovery::NewReno,
        window_scale: true,
        windows: WindowsConfig { initial: WindowSize::Segments(10), ..WindowsConfig::default() },
        ..Config::default()
    };
    tcp.receiver.window = WindowSize::Segments(400);
    let tcp = Arc::new(tcp);
    let mut network = Network::new(downloads.len(), Tracer::off());
    let windows = match managing {
        Managing::Receiver(bytes) => Some(WindowManager::new(Aggregate::Known(vec![(Time::ZERO, bytes)]))),
        Managing::Nobody | Managing::Sender => None,
    };
    let macroflow = (managing == Managing::Sender).then(|| Macroflow::new(u64::from(MSS) * 10));
    let mut flows = Vec::new();
    let mut ends = Vec::new();
    for (i, &(start, bytes, weight)) in downloads.iter().enumerate() {
        let config = |role| HostConfig {
            flow: FlowId(i as u32),
            node: NodeId(u16::from(role == Role::Passive)),
            peer: NodeId(u16::from(role == Role::Active)),
            role,
            start: at(start),
        };
        let mut to = Host::new(config(Role::Passive), tcp.clone(), Box::new(Sink::new(bytes)));
        if let Some(windows) = &windows {
            let number = windows.add_flow(weight);
            to = to.managed(windows, number);
            let managed = Managed::Windows(number);
            flows.push(ManagedFlow { name: format!("f{i}"), priority: weight, managed });
        }
        let mut from = Host::new(config(Role::Active), tcp.clone(), Box::new(Bulk::new(bytes, None)));
        if let Some(macroflow) = &macroflow {
            from = from.sending_in(&Membership { macroflow: macroflow.clone(), owner: i as u16, weight });
        }
        ends.push((network.add(from), network.add(to)));
    }
    for down in [true, false] {
        let link = network.add(Link::new(
            LinkConfig {
                capacity: Capacity::Fixed(Rate::from_bps(400_000)),
                delay: Span::from_millis(200),
                limit: QueueLimit { packets: Some(60), ..QueueLimit::default() },
            },
            Vec::new(),
        ));
        let ports = (0..2 * downloads.len())
            .map(|ledger| (ledger % 2 == usize::from(!down)).then_some(Port((ledger / 2) as u16)));
        let router = network.add(Router::new(ports.collect()));
        network.wire(link, Port(0), router, Port(0));
        for (i, &(from, to)) in ends.iter().enumerate() {
            let (source, target) = if down { (from, to) } else { (to, from) };
            network.wire(source, Port(0), link, Port(0));
            network.wire(router, Port(i as u16), target, Port(0));
        }
    }
    let manager = windows.map(|windows| {
        let names: Vec<String> = flows.iter().map(|flow| flow.name.clone()).collect();
        let id = network.add(Manager::new(flows, windows, Vec::new()));
        for (number, name) in names.iter().enumerate() {
            let signal = Signal::Set { number: number as u16, value: 0 };
            network.lend_value(&format!("{name}.priority"), 1..=1000, id, signal);
        }
        id
    });
    if let Some(macroflow) = &macroflow {
        let id = network.add(Granter::new(macroflow.clone()));
        for (owner, &(from, _)) in ends.iter().enumerate() {
            network.wire(id, Port(owner as u16), from, GRANTS);
            network.wire(from, GRANTS, id, Port(owner as u16));
        }
    }
    network.start(None);
    Path { network, ends, manager, macroflow }
}

impl Path {
    fn received(&self, flow: usize) -> u64 {
        use transport::app::Socket as _;
        self.network.element::<Host>(self.ends[flow].1).unwrap().connection().received()
    }
    /// Bytes of each flow that reach the receiver in an interval, s.
    fn during(&mut self, from: f64, until: f64) -> Vec<f64> {
        self.network.run_until(at(from));
        let before: Vec<u64> = (0..self.ends.len()).map(|flow| self.received(flow)).collect();
        self.network.run_until(at(until));
        (0..self.ends.len()).map(|flow| (self.received(flow) - before[flow]) as f64).collect()
    }
    fn finished(&self, flow: usize) -> f64 {
        let host = self.network.element::<Host>(self.ends[flow].1).unwrap();
        host.finished().map_or(f64::INFINITY, Time::as_secs_f64)
    }
}

/// CM-07: a call changes shares of 2 to 1 to 1 to 2. The backlog equals the windows minus the bandwidth-delay
/// product throughout, and no packet is lost.
#[test]
fn cm_07_priorities_change_while_data_come() {
    // 26 kB of payload: 27 packets, of which 21.04 are in flight or in service.
    let mut path = path(&[(0.0, None, 2), (0.1, None, 1)], Managing::Receiver(26_000));
    let before = path.during(10.0, 30.0);
    assert!(path.network.trigger(at(30.0), "f1.priority=4"));
    let after = path.during(35.0, 60.0);
    println!("shares before {before:?} and after {after:?}");
    assert!((before[0] / before[1] / 2.0 - 1.0).abs() < 0.15, "{before:?}");
    assert!((after[1] / after[0] / 2.0 - 1.0).abs() < 0.15, "{after:?}");
    assert_eq!(path.network.counters().dropped, 0);
    let listed = path.network.element::<Manager>(path.manager.unwrap()).unwrap().list(at(60.0));
    assert_eq!((listed[0].priority, listed[1].priority), (2, 4));
    assert_eq!((listed[0].window, listed[1].window), (Some(26_000 / 3), Some(26_000 * 2 / 3)));
    assert_eq!(listed[1].received, Some(path.received(1)));
    assert!(!path.network.trigger(at(60.0), "f1.priority=0"));
}

/// CM-10: grants are proportional to the weights.
#[test]
fn cm_10_shares_follow_weights() {
    for weight in [1, 3] {
        let mut path = path(&[(0.0, None, weight), (0.1, None, 1)], Managing::Sender);
        let bytes = path.during(10.0, 60.0);
        println!("weights {weight} and 1: {bytes:?}");
        assert!((bytes[0] / bytes[1] / f64::from(weight) - 1.0).abs() < 0.1, "{weight}: {bytes:?}");
    }
}

/// CM-10: after start-up, four streams lose as many packets as one connection, and far fewer than four
/// independent ones, whose windows grow by four segments per round trip; the link is equally busy.
#[test]
fn cm_10_four_streams_behave_as_one_connection() {
    let four: Vec<Download> = (0..4).map(|i| (0.1 * f64::from(i), None, 1)).collect();
    let of = |downloads: &[Download], managing| {
        let mut path = path(downloads, managing);
        path.network.run_until(at(100.0));
        let before = path.network.counters().dropped;
        let bytes: f64 = path.during(100.0, 500.0).iter().sum();
        ((path.network.counters().dropped - before) as f64, bytes * 8.0 / 400.0)
    };
    let (one, shared, alone) =
        (of(&four[..1], Managing::Sender), of(&four, Managing::Sender), of(&four, Managing::Nobody));
    println!("dropped packets and bit/s: one {one:?}, four with one window {shared:?}, four alone {alone:?}");
    assert!(shared.0 <= 2.0 * one.0 && 2.0 * shared.0 < alone.0, "{one:?} {shared:?} {alone:?}");
    assert!(shared.1 > 0.95 * one.1, "{shared:?} {one:?}");
}

/// CM-10: transfers end without outstanding data, all data delivered, whatever is lost.
#[test]
fn cm_10_nothing_is_left_outstanding() {
    let downloads: Vec<Download> = (0..6).map(|i| (0.3 * f64::from(i), Some(200_000), 1 + i)).collect();
    let mut path = path(&downloads, Managing::Sender);
    path.network.run_until(at(300.0));
    assert!((0..6).all(|flow| path.received(flow) == 200_000));
    assert!(path.network.counters().dropped > 0);
    let macroflow = path.macroflow.as_ref().unwrap();
    assert_eq!((macroflow.state().outstanding, macroflow.granted()), (0, Vec::new()));
}

/// CM-10: a stream that starts later uses the existing window: it sends 16 segments right after the
/// handshake. Alone it would send ten, and the rest one round trip of 0.42 s later.
#[test]
fn cm_10_a_later_stream_finds_the_window_open() {
    let took = |managing| {
        let mut path = path(&[(0.0, Some(60 * 960), 1), (1.9, Some(16 * 960), 1)], managing);
        path.network.run_until(at(60.0));
        path.finished(1) - 1.9
    };
    let (shared, alone) = (took(Managing::Sender), took(Managing::Nobody));
    println!("16 segments: {shared:.3} s after another stream, {alone:.3} s alone");
    // Handshake, half a round trip, and 16 packets of 20 ms each.
    assert!((shared - (0.4 + 0.2 + 0.32)).abs() < 0.03, "{shared}");
    assert!(alone > shared + 0.2, "{alone} {shared}");
}
