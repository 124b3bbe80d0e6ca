//! DCCP connections over simulated links: handshake, both congestion controls, losses, close; and the bytes on the wire.

use base::packet::{FlowId, NodeId};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use dccp::ackvec::{AckVector, State as AckState};
use dccp::connection::{Lifetime, State};
use dccp::packet::{Feature, Kind, Negotiation, Opt, ResetCode};
use dccp::{Ccid, Config, Connection, Dccp, wire};
use host::{Host, HostConfig};
use path::capacity::Capacity;
use path::link::{Link, LinkConfig, QueueLimit};
use path::loss::{Loss, Rule};
use path::{ElementId, Network, Port};
use proptest::prelude::*;
use transport::app::{App, Bulk, Sink};
use transport::endpoint::Role;

struct Run {
    network: Network,
    from: ElementId,
    to: ElementId,
}

/// Bulk data over a link of `bps`, `delay_ms` and room for `room` packets, with random losses.
fn run(config: &Config, bps: u64, delay_ms: u64, room: u32, loss: f64, app: Bulk, seconds: u64) -> Run {
    let sink = Sink::new(Some(u64::MAX));
    over(config, (bps, delay_ms, room, None), loss, [Box::new(app), Box::new(sink)], seconds)
}

/// Applications of both ends over links with equal room.
fn run_with(
    config: &Config,
    (bps, delay_ms, room): (u64, u64, u32),
    loss: f64,
    apps: [Bulk; 2],
    seconds: u64,
) -> Run {
    let [from, to] = apps;
    over(config, (bps, delay_ms, room, Some(room)), loss, [Box::new(from), Box::new(to)], seconds)
}

fn over(
    config: &Config,
    (bps, delay_ms, room, room_back): (u64, u64, u32, Option<u32>),
    loss: f64,
    [app, sink]: [Box<dyn App>; 2],
    seconds: u64,
) -> Run {
    let mut network = Network::new(1, Tracer::off());
    let end = |role, node, peer| HostConfig {
        flow: FlowId(0),
        node: NodeId(node),
        peer: NodeId(peer),
        role,
        start: Time::ZERO,
    };
    let link = |packets| {
        let limit = QueueLimit { packets, ..QueueLimit::default() };
        let capacity = Capacity::Fixed(Rate::from_bps(bps));
        Link::new(LinkConfig { capacity, delay: Span::from_millis(delay_ms), limit }, Vec::new())
    };
    let server = Config { isn: 5000, ..config.clone() };
    let to = Host::holding(&end(Role::Passive, 1, 0), Connection::new(server, Role::Passive), sink);
    let from = Host::holding(&end(Role::Active, 0, 1), Connection::new(config.clone(), Role::Active), app);
    let to = network.add(to);
    let stream = Seed { seed: 1, repetition: 0 }.stream("loss", "test");
    let lossy = network.add(Loss::new(Rule::Random(loss), stream));
    let down = network.add(link(Some(room)));
    let from = network.add(from);
    let up = network.add(link(room_back));
    network.wire(from, Port(0), down, Port(0));
    network.wire(down, Port(0), lossy, Port(0));
    network.wire(lossy, Port(0), to, Port(0));
    network.wire(to, Port(0), up, Port(0));
    network.wire(up, Port(0), from, Port(0));
    network.start(None);
    network.run_until(Time::ZERO + Span::from_secs(seconds));
    Run { network, from, to }
}

impl Run {
    fn sender(&self) -> &Connection {
        self.network.element::<Host<Connection>>(self.from).unwrap().connection()
    }
    fn receiver(&self) -> &Connection {
        self.network.element::<Host<Connection>>(self.to).unwrap().connection()
    }
    fn kbps(&self, seconds: u64) -> f64 {
        8.0 * self.receiver().bytes_received() as f64 / seconds as f64 / 1000.0
    }
}

fn of(ccid: Ccid) -> Config {
    Config { ccids: vec![ccid], ..Config::default() }
}

/// RT-05, NS-14: both congestion controls use a 400 kbit/s link well, the link on which the kernel's CCID 3 delivered
/// 364 kbit/s.
#[test]
fn both_congestion_controls_use_the_link() {
    for (ccid, least) in [(Ccid::Tfrc, 320.0), (Ccid::Tcplike, 340.0)] {
        let run = run(&of(ccid), 400_000, 50, 20, 0.0, Bulk::new(None, None), 60);
        assert_eq!((run.sender().state(), run.receiver().state()), (State::Open, State::Open));
        assert_eq!(run.receiver().ccid(), ccid);
        let rate = run.kbps(60);
        assert!((least..400.0).contains(&rate), "{ccid}: {rate} kbit/s");
        println!("{ccid}: {rate} kbit/s, {:?}", run.sender().counters());
    }
}

/// RT-05: both ends send data, so that acknowledgements of each stand between its data (RFC 4342 section 6.1.1). Neither takes them
/// for losses, and both half-connections use their link.
#[test]
fn acknowledgements_between_data_are_no_losses() {
    let config = of(Ccid::Tfrc);
    let both = run_with(&config, (400_000, 50, 20), 0.0, [Bulk::new(None, None), Bulk::new(None, None)], 60);
    let one = run(&config, 400_000, 50, 20, 0.0, Bulk::new(None, None), 60);
    let back = 8.0 * both.sender().bytes_received() as f64 / 60.0 / 1000.0;
    println!("there {:.0}, back {back:.0} kbit/s; one way {:.0}", both.kbps(60), one.kbps(60));
    assert!(both.kbps(60) > 0.9 * one.kbps(60), "{} {}", both.kbps(60), one.kbps(60));
    assert!(back > 0.9 * one.kbps(60), "{back}");
}

/// A transfer of a fixed size ends: losses are not retransmitted, the close is answered, both ends are gone.
#[test]
fn a_transfer_ends_with_the_close_although_packets_were_lost() {
    for ccid in [Ccid::Tfrc, Ccid::Tcplike] {
        let run = run(&of(ccid), 400_000, 50, 50, 0.02, Bulk::new(Some(200_000), None), 600);
        let (from, to) = (run.sender(), run.receiver());
        assert_eq!((from.state(), to.state()), (State::TimeWait, State::TimeWait), "{ccid}");
        assert_eq!(from.counters().data_sent, 200);
        assert!(to.counters().data_received < 200 && to.counters().data_received > 180);
        let host = run.network.element::<Host<Connection>>(run.from).unwrap();
        assert!(host.finished().is_some());
        assert_eq!((run.network.bodies(), run.network.packets_inside()), (0, 0));
        assert_eq!(run.network.ledgers()[0].verdicts(), [], "nothing is retransmitted");
    }
}

/// The equation's rate comes out at a loss rate that the link sets: 5 % independent losses, 200 ms, ample capacity.
#[test]
fn tfrc_follows_its_equation_under_random_loss() {
    let run = run(&of(Ccid::Tfrc), 10_000_000, 100, 1000, 0.02, Bulk::new(None, None), 600);
    let rate = run.kbps(600);
    // One loss starts an event, and all within a round trip are one: the event rate is a little below 2 %.
    let by_equation = 8.0 * dccp::tfrc::equation::throughput(1016.0, 0.2, 0.02) / 1000.0 * 1000.0 / 1016.0;
    assert!((0.8..1.5).contains(&(rate / by_equation)), "{rate} against {by_equation} kbit/s");
}

/// Lifetimes reach the head of data and acknowledgements.
#[test]
fn lifetimes_are_set_from_the_timeout() {
    let config = Config { lifetime: Lifetime::Rto, ack_lifetime: Some(Span::from_secs(3)), ..of(Ccid::Tfrc) };
    let run = run(&config, 400_000, 50, 20, 0.0, Bulk::new(None, None), 20);
    assert!(run.kbps(20) > 200.0);
}

/// Different services do not connect; the client learns the reason.
#[test]
fn a_wrong_service_code_is_refused() {
    let config = Config { ccids: vec![Ccid::Tfrc], ..Config::default() };
    let mut network = Network::new(1, Tracer::off());
    let end = |role, node, peer| HostConfig {
        flow: FlowId(0),
        node: NodeId(node),
        peer: NodeId(peer),
        role,
        start: Time::ZERO,
    };
    let to = Connection::new(Config { service: 7, ..config.clone() }, Role::Passive);
    let to = network.add(Host::holding(&end(Role::Passive, 1, 0), to, Box::new(Sink::new(None))));
    let link = || {
        let capacity = Capacity::Fixed(Rate::from_bps(1_000_000));
        Link::new(
            LinkConfig { capacity, delay: Span::from_millis(1), limit: QueueLimit::default() },
            Vec::new(),
        )
    };
    let down = network.add(link());
    let from = Host::holding(
        &end(Role::Active, 0, 1),
        Connection::new(config, Role::Active),
        Box::new(Bulk::new(Some(10), None)),
    );
    let from = network.add(from);
    let up = network.add(link());
    for (a, b) in [(from, down), (down, to), (to, up), (up, from)] {
        network.wire(a, Port(0), b, Port(0));
    }
    network.start(None);
    network.run_until(Time::ZERO + Span::from_secs(10));
    let from = network.element::<Host<Connection>>(from).unwrap().connection();
    assert_eq!((from.state(), from.counters().errors), (State::Closed, 1));
}

fn option() -> impl Strategy<Value = Opt> {
    let bytes = prop::collection::vec(any::<u8>(), 0..20);
    prop_oneof![
        Just(Opt::Mandatory),
        Just(Opt::SlowReceiver),
        bytes.clone().prop_map(Opt::InitCookie),
        (0_u64..1 << 48).prop_map(Opt::NdpCount),
        any::<u32>().prop_map(Opt::Timestamp),
        any::<u32>().prop_map(Opt::ElapsedTime),
        any::<u32>().prop_map(Opt::LossEventRate),
        any::<u32>().prop_map(Opt::ReceiveRate),
        any::<u32>().prop_map(Opt::DataChecksum),
        (any::<u32>(), 1_u32..1 << 30).prop_map(|(t, e)| Opt::TimestampEcho(t, e)),
        prop::collection::vec((0_usize..4, 1_u32..200), 1..20).prop_map(|runs| {
            let mut vector = AckVector::default();
            runs.into_iter().for_each(|(s, n)| vector.push(AckState::ALL[s], n));
            Opt::AckVector(vector)
        }),
        bytes.prop_map(|b| Opt::Feature(Negotiation::ChangeL, Feature::Ccid.number(), b)),
    ]
}

proptest! {
    /// An encoded packet is decoded to an equal one.
    #[test]
    fn the_wire_format_is_read_back(
        kind in 0_usize..10, seq in 0_u64..1 << 47, ack in 0_u64..1 << 47, ccval in 0_u8..16,
        payload in 0_u32..1500, options in prop::collection::vec(option(), 0..6),
    ) {
        let kind = Kind::ALL[kind];
        let mut packet = Dccp::new(kind, seq, (!matches!(kind, Kind::Request | Kind::Data)).then_some(ack));
        (packet.ccval, packet.payload) = (ccval, payload);
        packet.options = options;
        // Vectors side by side are one on the wire.
        packet.options.dedup_by(|a, b| matches!((a, b), (Opt::AckVector(_), Opt::AckVector(_))));
        if matches!(kind, Kind::Request | Kind::Response) {
            packet.service = 99;
        }
        if kind == Kind::Reset {
            packet.reset = Some((ResetCode::Aborted, [1, 2, 3]));
        }
        let mut bytes = Vec::new();
        wire::write(&packet, &mut bytes);
        let addresses = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        wire::seal(&mut bytes, addresses.0, addresses.1);
        prop_assert!(wire::is_intact(&bytes, addresses.0, addresses.1));
        let header = usize::from(bytes[4]) * 4;
        prop_assert_eq!(bytes.len(), header + payload as usize);
        if header < 1020 {
            prop_assert_eq!(wire::read(&bytes, (seq, ack)), Ok(packet));
        }
    }

    /// Any bytes are a packet or a reason.
    #[test]
    fn reading_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = wire::read(&bytes, (0, 0));
        let _ = wire::is_intact(&bytes, [1, 2, 3, 4].into(), [5, 6, 7, 8].into());
    }

    /// Whatever is lost, a transfer ends and every packet is accounted for.
    #[test]
    fn any_loss_rate_ends_in_order(loss in 0.0..0.4_f64, three in any::<bool>(), room in 1_u32..30) {
        let ccid = if three { Ccid::Tfrc } else { Ccid::Tcplike };
        let run = run(&of(ccid), 200_000, 30, room, loss, Bulk::new(Some(30_000), None), 100_000);
        let counters = run.receiver().counters();
        prop_assert!(counters.data_received <= run.sender().counters().data_sent);
        prop_assert!(matches!(run.sender().state(), State::TimeWait | State::Closed), "{:?}", run.sender().state());
        prop_assert_eq!((run.network.bodies(), run.network.packets_inside()), (0, 0));
    }
}
