//! UDP flows of a capture: rate, gaps and silences of each direction; for QUIC (RFC 9000) the RTT by the spin bit.
//!
//! QUIC is recognised by the invariants of its long header (RFC 8999 section 5.1) and a known version. The
//! spin bit (RFC 9000 section 17.4) is used only if the edges of both directions interlock: the server
//! reflects, the client inverts. Ends may also disable it or set it at random.

use crate::Endpoint;
use base::wire::UDP;
use base::{Span, Time};
use capture::{Frame, Transport};
use std::collections::BTreeMap;

/// Upper limit of flows; datagrams of further flows are only counted.
const MOST: usize = 4096;
/// Upper limit of datagrams stored as points for each direction.
const MOST_POINTS: usize = 200_000;
/// Upper limit of stored spin bit edges, both directions together.
const MOST_EDGES: usize = 100_000;
/// Number of longest gaps, and of longest silences, stored.
const GAPS: usize = 8;
/// Shortest time between datagrams of one direction that counts as a gap.
const LEAST_GAP: Span = Span::from_millis(200);
/// Shortest time without datagrams in either direction that counts as a silence.
const SILENCE: Span = Span::from_secs(1);
/// Least number of edges for a valid spin bit.
const EDGES: usize = 8;
/// Least share of edges that interlock with the preceding edge, for a valid spin bit.
const SHARE: f64 = 0.9;

/// Time without datagrams in one direction (gap) or in both (silence).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Time of the last datagram before the gap.
    pub from: Time,
    /// Duration of the gap.
    pub lasts: Span,
}

/// Statistics of one direction of a UDP flow.
#[derive(Clone, Debug, Default)]
pub struct DatagramDirection {
    /// Number of datagrams.
    pub packets: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Times of the first and the last datagram.
    pub span: Option<(Time, Time)>,
    /// Longest gaps, longest first.
    pub gaps: Vec<Gap>,
    /// Time and payload length in bytes of each datagram, if points are stored.
    pub points: Vec<(Time, u32)>,
}

impl DatagramDirection {
    /// Payload rate from the first datagram to the last, bit/s; None with fewer than two.
    pub fn rate_bps(&self) -> Option<f64> {
        let (from, until) = self.span?;
        let seconds = until.since(from).as_secs_f64();
        (seconds > 0.0).then(|| self.bytes as f64 * 8.0 / seconds)
    }
}

/// RTT samples by the spin bit (RFC 9000 section 17.4).
#[derive(Clone, Debug, PartialEq)]
pub struct Spin {
    /// Completion time and RTT of each sample, seconds.
    pub samples: Vec<(Time, f64)>,
    /// Minimum, s.
    pub min_s: f64,
    /// Median, s.
    pub median_s: f64,
    /// Maximum, s.
    pub max_s: f64,
    /// Median RTT between the capture point and the server, s.
    pub to_server_s: f64,
}

/// State of the spin bit of a QUIC flow.
#[derive(Clone, Debug, PartialEq)]
pub enum SpinBit {
    /// The spin bit is valid.
    Spins(Spin),
    /// The edges do not interlock: random values, or a capture of one direction only.
    Random,
    /// Constant: the ends do not use it.
    Constant,
}

/// Facts about a QUIC flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Quic {
    /// QUIC version of the long headers: 1 is RFC 9000.
    pub version: u32,
    /// Datagrams that begin with a long header: handshake, 0-RTT, Retry.
    pub long_headers: u64,
    /// Spin bit of the short headers.
    pub spin: SpinBit,
}

/// UDP datagrams between two endpoints.
#[derive(Clone, Debug)]
pub struct DatagramFlow {
    /// Endpoints; the source of the first captured datagram is first.
    pub ends: [Endpoint; 2],
    /// Time of the first datagram.
    pub first: Time,
    /// Time of the last datagram.
    pub last: Time,
    /// Statistics of the datagrams from the first endpoint, and from the second.
    pub directions: [DatagramDirection; 2],
    /// Longest silences (1 s or more without datagrams in either direction), in order of time.
    pub silences: Vec<Gap>,
    /// Number of all silences.
    pub silence_count: u64,
    /// QUIC facts, if the flow is QUIC.
    pub quic: Option<Quic>,
    /// Capture interface index.
    pub interface: u32,
}

impl DatagramFlow {
    /// Index of the direction that carried more payload.
    pub fn main(&self) -> usize {
        usize::from(self.directions[1].bytes > self.directions[0].bytes)
    }
}

/// UDP flow with its spin bit edges.
struct FlowTracker {
    flow: DatagramFlow,
    version: Option<u32>,
    long_headers: u64,
    /// Last spin bit of each direction.
    bit: [Option<bool>; 2],
    /// Spin bit edges: time, direction, new value.
    edges: Vec<(Time, usize, bool)>,
}

/// Flow key: the smaller endpoint, the larger endpoint, interface.
type Key = (Endpoint, Endpoint, u32);

/// UDP flows of a capture.
pub struct Datagrams {
    keep: bool,
    packets: u64,
    flows: BTreeMap<Key, FlowTracker>,
    left_out: u64,
}

/// Inserts `gap` into the [`GAPS`] longest gaps, longest first.
fn keep_longest(gaps: &mut Vec<Gap>, gap: Gap) {
    let place = gaps.partition_point(|kept| kept.lasts >= gap.lasts);
    if place < GAPS {
        gaps.insert(place, gap);
        gaps.truncate(GAPS);
    }
}

/// QUIC version of a long header with connection IDs of valid length, if known (RFC 8999, 9000, 9369, drafts).
fn quic_version(payload: &[u8]) -> Option<u32> {
    let (&first, rest) = payload.split_first()?;
    let (version, rest) = rest.split_first_chunk::<4>()?;
    let version = u32::from_be_bytes(*version);
    let known = matches!(version, 1 | 0x6b33_43cf) || version >> 8 == 0x00ff_0000;
    let (&length, rest) = rest.split_first()?;
    let (&next, _) = rest.get(usize::from(length)..)?.split_first()?;
    (first & 0xc0 == 0xc0 && known && length <= 20 && next <= 20).then_some(version)
}

impl Datagrams {
    /// Empty table. `points`: store each datagram for plots.
    pub fn new(points: bool) -> Datagrams {
        Datagrams { keep: points, packets: 0, flows: BTreeMap::new(), left_out: 0 }
    }

    /// Number of UDP datagrams.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Processes a frame; frames without UDP are ignored.
    pub fn push(&mut self, frame: &Frame<'_>) {
        let Ok(packet) = frame.decode() else { return };
        let Transport::Udp { source, destination } = packet.transport else { return };
        if packet.ip.protocol != UDP {
            return;
        }
        self.packets += 1;
        let t = Time::from_nanos(u64::try_from(frame.time_ns).unwrap_or(0));
        let from = Endpoint { address: packet.ip.source, port: source };
        let to = Endpoint { address: packet.ip.destination, port: destination };
        let interface = frame.interface;
        let key = if from <= to { (from, to, interface) } else { (to, from, interface) };
        if self.flows.len() >= MOST && !self.flows.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let follow = self.flows.entry(key).or_insert_with(|| FlowTracker::new([from, to], t, interface));
        follow.push(
            t,
            usize::from(follow.flow.ends[0] != from),
            packet.payload_len,
            packet.payload,
            self.keep,
        );
    }

    /// UDP flows by time of their first datagram, and number of datagrams left out. A flow seen at several interfaces
    /// is reported once: at the interface with most datagrams.
    pub fn finish(self) -> (Vec<DatagramFlow>, u64) {
        let mut best: BTreeMap<(Endpoint, Endpoint), DatagramFlow> = BTreeMap::new();
        for ((a, b, _), follow) in self.flows {
            let flow = follow.finish();
            let packets = |flow: &DatagramFlow| flow.directions[0].packets + flow.directions[1].packets;
            match best.get(&(a, b)) {
                Some(kept) if packets(kept) >= packets(&flow) => {}
                _ => drop(best.insert((a, b), flow)),
            }
        }
        let mut all: Vec<DatagramFlow> = best.into_values().collect();
        all.sort_by_key(|flow| flow.first);
        (all, self.left_out)
    }
}

impl FlowTracker {
    fn new(ends: [Endpoint; 2], t: Time, interface: u32) -> FlowTracker {
        let flow = DatagramFlow {
            ends,
            first: t,
            last: t,
            directions: Default::default(),
            silences: Vec::new(),
            silence_count: 0,
            quic: None,
            interface,
        };
        FlowTracker { flow, version: None, long_headers: 0, bit: [None; 2], edges: Vec::new() }
    }

    fn push(&mut self, t: Time, direction: usize, length: u32, payload: &[u8], keep: bool) {
        // Capture times of several queues may step back slightly.
        let t = t.max(self.flow.last);
        let quiet = t.since(self.flow.last);
        if quiet >= SILENCE {
            self.flow.silence_count += 1;
            keep_longest(&mut self.flow.silences, Gap { from: self.flow.last, lasts: quiet });
        }
        self.flow.last = t;
        let counted = &mut self.flow.directions[direction];
        counted.packets += 1;
        counted.bytes += u64::from(length);
        let (first, last) = counted.span.unwrap_or((t, t));
        if t.since(last) >= LEAST_GAP {
            keep_longest(&mut counted.gaps, Gap { from: last, lasts: t.since(last) });
        }
        counted.span = Some((first, t));
        if keep && counted.points.len() < MOST_POINTS {
            counted.points.push((t, length));
        }
        let Some(&first) = payload.first() else { return };
        if first & 0x80 != 0 {
            if let Some(version) = quic_version(payload) {
                self.version = self.version.or(Some(version));
                self.long_headers += 1;
            }
        } else if first & 0x40 != 0 && self.version.is_some() {
            let bit = first & 0x20 != 0;
            let changed = self.bit[direction].is_some_and(|before| before != bit);
            self.bit[direction] = Some(bit);
            if changed && self.edges.len() < MOST_EDGES {
                self.edges.push((t, direction, bit));
            }
        }
    }

    fn finish(mut self) -> DatagramFlow {
        self.flow.silences.sort_by_key(|gap| gap.from);
        let (long_headers, spin) = (self.long_headers, spin(&self.edges));
        self.flow.quic = self.version.map(|version| Quic { version, long_headers, spin });
        self.flow
    }
}

/// RTT samples from the spin bit edges. Direction 0 is the client, which sent the first captured datagram.
fn spin(edges: &[(Time, usize, bool)]) -> SpinBit {
    if edges.is_empty() {
        return SpinBit::Constant;
    }
    // An edge of the server repeats the client's last value; an edge of the client inverts the server's last value.
    let follows = |a: &(Time, usize, bool), b: &(Time, usize, bool)| {
        a.1 != b.1 && if b.1 == 1 { a.2 == b.2 } else { a.2 != b.2 }
    };
    let locked = edges.windows(2).filter(|pair| follows(&pair[0], &pair[1])).count();
    if edges.len() < EDGES || (locked as f64) < SHARE * (edges.len() - 1) as f64 {
        return SpinBit::Random;
    }
    let seconds = |a: Time, b: Time| b.since(a).as_secs_f64();
    let mut samples = Vec::new();
    let mut to_server = Vec::new();
    for three in edges.windows(3) {
        if follows(&three[0], &three[1]) && follows(&three[1], &three[2]) && three[0].1 == 0 {
            samples.push((three[2].0, seconds(three[0].0, three[2].0)));
            to_server.push(seconds(three[0].0, three[1].0));
        }
    }
    if samples.is_empty() {
        return SpinBit::Random;
    }
    let mut sorted: Vec<f64> = samples.iter().map(|(_, x)| *x).collect();
    sorted.sort_by(f64::total_cmp);
    to_server.sort_by(f64::total_cmp);
    let (min_s, max_s) = (sorted[0], sorted[sorted.len() - 1]);
    let median_s = sorted[sorted.len() / 2];
    SpinBit::Spins(Spin { samples, min_s, median_s, max_s, to_server_s: to_server[to_server.len() / 2] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn ends() -> [Endpoint; 2] {
        [40_000, 443].map(|port| Endpoint { address: [192, 0, 2, 1].into(), port })
    }

    const LONG: &[u8] = &[0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0];

    #[test]
    fn gaps_and_silences_are_told_apart() {
        let mut follow = FlowTracker::new(ends(), at(0), 0);
        for (t, direction) in [(0, 0), (10, 1), (400, 0), (410, 1), (2000, 0), (2100, 0)] {
            follow.push(at(t), direction, 1000, b"x", true);
        }
        let flow = follow.finish();
        assert_eq!(flow.quic, None);
        assert_eq!((flow.directions[0].packets, flow.directions[1].packets), (4, 2));
        let lengths =
            |gaps: &[Gap]| gaps.iter().map(|gap| gap.lasts.as_nanos() / 1_000_000).collect::<Vec<_>>();
        assert_eq!(lengths(&flow.directions[0].gaps), [1600, 400]);
        assert_eq!(lengths(&flow.directions[1].gaps), [400]);
        assert_eq!((lengths(&flow.silences), flow.silence_count), (vec![1590], 1));
        let rate = flow.directions[0].rate_bps().unwrap();
        assert!((rate - 32_000.0 / 2.1).abs() < 1e-6, "{rate}");
    }

    /// A client that inverts and a server that reflects: 60 ms RTT beyond the capture point, 20 ms before it.
    #[test]
    fn a_spinning_bit_gives_round_trips() {
        let mut follow = FlowTracker::new(ends(), at(0), 0);
        follow.push(at(0), 0, 1200, LONG, false);
        follow.push(at(60), 1, 1200, LONG, false);
        let short = |bit: bool| [0x40 | if bit { 0x20 } else { 0 }, 7, 7, 7];
        let mut bit = false;
        for round in 0..12 {
            let t = 100 + 80 * round;
            for i in 0..4 {
                follow.push(at(t + i), 0, 100, &short(bit), false);
            }
            for i in 0..4 {
                follow.push(at(t + 60 + i), 1, 1200, &short(bit), false);
            }
            bit = !bit;
        }
        let quic = follow.finish().quic.unwrap();
        assert_eq!((quic.version, quic.long_headers), (1, 2));
        let SpinBit::Spins(spin) = quic.spin else { panic!("{quic:?}") };
        assert!((spin.median_s - 0.08).abs() < 1e-9 && (spin.to_server_s - 0.06).abs() < 1e-9, "{spin:?}");
        assert_eq!(spin.samples.len(), 10);
    }

    #[test]
    fn a_random_or_constant_bit_tells_nothing() {
        let mut random = FlowTracker::new(ends(), at(0), 0);
        let mut constant = FlowTracker::new(ends(), at(0), 0);
        let mut x = 12_345_u64;
        for t in 0..400 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let direction = (t % 2) as usize;
            let first = 0x40 | if x >> 63 == 1 { 0x20 } else { 0 };
            let payload = if t < 2 { LONG } else { &[first, 1, 2] };
            random.push(at(t), direction, 100, payload, false);
            constant.push(at(t), direction, 100, if t < 2 { LONG } else { &[0x41, 1, 2] }, false);
        }
        assert_eq!(random.finish().quic.map(|quic| quic.spin), Some(SpinBit::Random));
        assert_eq!(constant.finish().quic.map(|quic| quic.spin), Some(SpinBit::Constant));
    }

    #[test]
    fn other_datagrams_are_not_quic() {
        for payload in [
            &b"\xc0"[..],
            b"\xc0\0\0\0\x02\x08",
            b"\x80\0\0\0\x01\x00\x00",
            b"\xc0\0\0\0\x01\x15aaaaaaaaaaaaaaaaaaaaaaaa",
            b"hello, world",
        ] {
            assert_eq!(quic_version(payload), None, "{payload:?}");
        }
        assert_eq!(quic_version(LONG), Some(1));
    }

    proptest::proptest! {
        /// Arbitrary payloads at arbitrary times are counted within bounds.
        #[test]
        fn any_datagrams_are_followed(all in proptest::collection::vec((0_u64..5000, 0_usize..2, proptest::collection::vec(proptest::num::u8::ANY, 0..40)), 0..60)) {
            let mut follow = FlowTracker::new(ends(), at(0), 0);
            for (t, direction, payload) in &all {
                follow.push(at(*t), *direction, payload.len() as u32, payload, true);
            }
            let flow = follow.finish();
            assert_eq!(flow.directions.iter().map(|direction| direction.packets).sum::<u64>(), all.len() as u64);
            assert!(flow.directions.iter().all(|direction| direction.gaps.len() <= GAPS));
        }
    }
}
