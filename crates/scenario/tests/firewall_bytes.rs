//! A stateful firewall between packets of real stacks: TCP of both IP versions, UDP, ICMP errors, fragments (GP-01).

use base::rng::Seed;
use base::tcp::Segment;
use base::trace::Tracer;
use base::wire::segment::{self, End, IpFields};
use base::wire::{self, flag, icmp};
use base::{Span, Time};
use host::{FlowPort, PacketPort as _};
use path::{ElementId, Network};
use scenario::NoFiles;
use std::net::{IpAddr, Ipv4Addr};

const SERVER: [u8; 4] = [10, 0, 0, 1];
const PHONE: [u8; 4] = [10, 0, 0, 2];

/// A server outside, a phone inside, and the firewall between them.
struct Bench {
    network: Network,
    server: ElementId,
    phone: ElementId,
    now: Time,
}

impl Bench {
    fn new(keys: &str) -> Bench {
        let text = format!(
            r#"
            williwaw = 1
            [[hop]]
            name = "gi"
            between = ["server", "phone"]
            delay = "1 ms"
            firewall = {{ {keys} }}
            [[flow]]
            name = "flow"
            from = "server"
            to = "phone"
            transport = "linux"
            app = "bulk"
            "#
        );
        let scenario = scenario::read("test", text.as_bytes(), &NoFiles).unwrap_or_else(|e| panic!("{e:?}"));
        let world = scenario::build::build(scenario.first(), Seed { seed: 1, repetition: 0 }, Tracer::off());
        let (mut network, ends) = (world.network, world.flows[0]);
        network.start(None);
        Bench { network, server: ends.from, phone: ends.to, now: Time::ZERO }
    }

    fn wait(&mut self, s: u64) {
        self.now += Span::from_secs(s);
    }

    /// What leaves at the ends within 10 ms after a packet enters: at the server, at the phone.
    fn send(&mut self, from_phone: bool, packet: &[u8]) -> [Vec<Vec<u8>>; 2] {
        let end = if from_phone { self.phone } else { self.server };
        let taken = self.network.enter(self.now, end, |port: &mut FlowPort, cx| port.inject(cx, packet));
        assert!(matches!(taken, Some(Ok(_))));
        self.now += Span::from_millis(10);
        self.network.run_until(self.now);
        [self.server, self.phone].map(|end| {
            let mut all = Vec::new();
            while let Some(Some(leaving)) =
                self.network.enter(self.now, end, |port: &mut FlowPort, _| port.next_departure())
            {
                all.push(leaving.bytes.to_vec());
            }
            all
        })
    }

    /// Whether a packet arrives at the other end unchanged, and nothing else happens.
    fn passes(&mut self, from_phone: bool, packet: &[u8]) -> bool {
        let [server, phone] = self.send(from_phone, packet);
        let (there, here) = if from_phone { (server, phone) } else { (phone, server) };
        assert!(here.is_empty() && there.iter().all(|p| p == packet));
        !there.is_empty()
    }
}

/// A TCP packet between the phone's port 4000 and the server's port 80.
fn tcp_of(from_phone: bool, segment: &Segment, v6: bool) -> Vec<u8> {
    let end = |last: [u8; 4], port| {
        let v6_address = || [0xfd00, 0, 0, 0, 0, 0, 0, u16::from(last[3])].into();
        let address: IpAddr = if v6 { v6_address() } else { last.into() };
        End { address, port, ..End::NOBODY }
    };
    let (phone, server) = (end(PHONE, 4000), end(SERVER, 80));
    let (from, to) = if from_phone { (phone, server) } else { (server, phone) };
    let mut bytes = Vec::new();
    segment::packet(&mut bytes, &from, &to, segment, IpFields { ttl: 64, ..IpFields::default() }, usize::MAX);
    bytes
}

fn tcp(from_phone: bool, segment: &Segment) -> Vec<u8> {
    tcp_of(from_phone, segment, false)
}

fn syn() -> Segment {
    Segment { syn: true, ..Segment::default() }
}
fn syn_ack() -> Segment {
    Segment { syn: true, has_ack: true, ack: 1, ..Segment::default() }
}
fn data() -> Segment {
    Segment { seq: 1, ack: 1, has_ack: true, len: 100, ..Segment::default() }
}

fn udp(from_phone: bool, port: u16) -> Vec<u8> {
    let mut inside = vec![0; 20];
    let (from, to, ports) =
        if from_phone { (PHONE, SERVER, [port, 53]) } else { (SERVER, PHONE, [53, port]) };
    inside[..2].copy_from_slice(&ports[0].to_be_bytes());
    inside[2..4].copy_from_slice(&ports[1].to_be_bytes());
    inside[5] = 20;
    let mut out = Vec::new();
    segment::around(
        &mut out,
        Ipv4Addr::from(from),
        Ipv4Addr::from(to),
        wire::UDP,
        &inside,
        IpFields { divisible: true, ..IpFields::default() },
    );
    out
}

/// GP-01: a connection that the phone opens passes in both directions, by either IP version; one that the server opens does
/// not pass.
#[test]
fn gp_01_only_the_phone_opens_connections() {
    for v6 in [false, true] {
        let mut b = Bench::new("");
        let mut pass = |from_phone, segment: &Segment| b.passes(from_phone, &tcp_of(from_phone, segment, v6));
        assert!(!pass(false, &syn()) && !pass(false, &data()) && !pass(true, &data()));
        assert!(pass(true, &syn()) && pass(false, &syn_ack()) && pass(true, &data()) && pass(false, &data()));
    }
    let mut b = Bench::new("open-to = [\"flow\"]");
    assert!(b.passes(false, &tcp(false, &syn())) && b.passes(true, &tcp(true, &syn_ack())));
}

/// GP-01: the idle timeout depends on the state: a SYN without an answer has the transitory one, an established connection
/// its own, and a closed one the transitory one again.
#[test]
fn gp_01_timeouts_by_state() {
    let keys = "established = \"100 s\", transitory = \"10 s\"";
    let mut b = Bench::new(keys);
    assert!(b.passes(true, &tcp(true, &syn())));
    b.wait(11);
    assert!(!b.passes(false, &tcp(false, &syn_ack())));
    assert!(b.passes(true, &tcp(true, &syn())) && b.passes(false, &tcp(false, &syn_ack())));
    b.wait(90);
    assert!(b.passes(false, &tcp(false, &data())));
    b.wait(90);
    assert!(b.passes(true, &tcp(true, &Segment { fin: true, ..data() })));
    b.wait(90);
    assert!(b.passes(false, &tcp(false, &Segment { fin: true, ..data() })));
    b.wait(11);
    assert!(!b.passes(true, &tcp(true, &data())));
}

/// GP-01: a segment without an entry is answered by an RST that its sender accepts; an RST is answered by nothing.
#[test]
fn gp_01_a_reset_answers_a_segment_without_an_entry() {
    let mut b = Bench::new("unknown = \"reset\"");
    let [server, phone] = b.send(false, &tcp(false, &syn()));
    assert!(phone.is_empty());
    let head = |packet: &[u8]| wire::read(packet).unwrap().tcp.unwrap();
    let [reset] = server.as_slice() else { panic!("{server:?}") };
    let tcp_head = head(reset);
    assert_eq!((tcp_head.source, tcp_head.destination), (4000, 80));
    assert_eq!((tcp_head.flags, tcp_head.ack), (flag::RST | flag::ACK, 1));
    let [server, phone] = b.send(true, &tcp(true, &Segment { ack: 77, ..data() }));
    assert!(server.is_empty());
    let [reset] = phone.as_slice() else { panic!("{phone:?}") };
    assert_eq!((head(reset).flags, head(reset).seq), (flag::RST, 77));
    assert!(!b.passes(true, &tcp(true, &Segment { rst: true, ..data() })));
}

/// GP-01: UDP entries are by ports; an ICMP error passes only if it quotes a packet of an entry.
#[test]
fn gp_01_datagrams_and_icmp_errors() {
    let mut b = Bench::new("other = \"30 s\"");
    let error = |port| icmp::too_big(&udp(true, port), 576).unwrap();
    assert!(!b.passes(false, &udp(false, 4000)) && !b.passes(false, &error(4000)));
    assert!(b.passes(true, &udp(true, 4000)) && b.passes(false, &udp(false, 4000)));
    assert!(b.passes(false, &error(4000)) && !b.passes(false, &error(4001)));
    assert!(!b.passes(false, &udp(false, 4001)));
    b.wait(31);
    assert!(!b.passes(false, &error(4000)) && !b.passes(false, &udp(false, 4000)));
}

/// GP-01: a later fragment has no ports and passes; the first one decides.
#[test]
fn gp_01_the_first_fragment_decides() {
    let mut b = Bench::new("");
    let fragments = wire::fragment::cut(&udp(false, 4000), 36).unwrap();
    let passed: Vec<bool> = fragments.iter().map(|fragment| b.passes(false, fragment)).collect();
    assert!(passed.len() == 2 && passed == [false, true], "{passed:?}");
}
