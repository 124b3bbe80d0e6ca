//! The claim: what misled the verdicts on timeouts once does not do so again. Each case is the smallest capture that shows
//! it, written down by hand: what was sent, what came back, 100 ms each way and then some.
//!
//! TA-01, TA-03: verdicts on timeouts from the sender's capture.

use analyse::{Analyser, Flow, Keep, Kind, Need, Observation, Reason};
use base::wire::{TcpHead, flag};
use base::{Span, Time};
use std::net::{IpAddr, Ipv4Addr};

const SEGMENT: u32 = 1000;
/// A round trip, ms.
const TRIP: u32 = 200;

/// A connection whose receiver uses SACK and reports duplicates; without timestamps.
struct Trace(Vec<Observation>);

impl Trace {
    /// Opened, and `clean` segments sent and answered one by one; the next is sent at the second value, ms.
    fn opened(clean: u32) -> (Trace, u32) {
        let mut trace = Trace(Vec::new());
        let syn = |seq| TcpHead {
            seq,
            flags: flag::SYN,
            mss: Some(1000),
            permits_sack: true,
            ..TcpHead::default()
        };
        trace.push(0, true, 0, syn(0));
        trace.push(TRIP, false, 0, TcpHead { ack: 1, flags: flag::SYN | flag::ACK, ..syn(0) });
        for n in 0..clean {
            trace.send(TRIP + n * TRIP, n);
            trace.answer(TRIP + (n + 1) * TRIP, n + 1, &[]);
        }
        (trace, TRIP + clean * TRIP)
    }

    fn push(&mut self, ms: u32, out: bool, payload: u32, mut head: TcpHead) {
        let address = |last: u8| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let (from, to) = if out { (1, 2) } else { (2, 1) };
        (head.source, head.destination) = (u16::from(from) * 100, u16::from(to) * 100);
        head.window = 60_000;
        self.0.push(Observation {
            t: Time::ZERO + Span::from_millis(u64::from(ms)),
            interface: 0,
            source: address(from),
            destination: address(to),
            id: None,
            size: 40 + payload,
            payload,
            ecn: 0,
            head,
        });
    }

    /// Segment `n` leaves.
    fn send(&mut self, ms: u32, n: u32) {
        self.last(ms, n, 0);
    }

    /// The same, with a flag.
    fn last(&mut self, ms: u32, n: u32, fin: u8) {
        let head = TcpHead { seq: 1 + n * SEGMENT, ack: 1, flags: flag::ACK | fin, ..TcpHead::default() };
        self.push(ms, true, SEGMENT, head);
    }

    /// All before segment `n` is acknowledged; blocks of segments from one to before another.
    fn answer(&mut self, ms: u32, n: u32, blocks: &[(u32, u32)]) {
        let bytes: Vec<(u32, u32)> = blocks.iter().map(|b| (1 + b.0 * SEGMENT, 1 + b.1 * SEGMENT)).collect();
        self.says(ms, 1 + n * SEGMENT, &bytes);
    }

    fn says(&mut self, ms: u32, ack: u32, blocks: &[(u32, u32)]) {
        let mut head = TcpHead { seq: 1, ack, flags: flag::ACK, ..TcpHead::default() };
        for block in blocks {
            head.sack[usize::from(head.sacks)] = *block;
            head.sacks += 1;
        }
        self.push(ms, false, 0, head);
    }

    fn analysed(&self) -> Flow {
        let mut analyser = Analyser::new(Keep::default());
        self.0.iter().for_each(|o| analyser.push(o));
        analyser.finish().remove(0)
    }
}

/// The likelihoods of all retransmissions; all were weighed.
fn likelihoods(flow: &Flow) -> Vec<f64> {
    let all = &flow.ways[0].retransmissions;
    all.iter().map(|r| r.likelihood.unwrap_or_else(|| panic!("not weighed: {r:?}"))).collect()
}

fn kinds(flow: &Flow) -> Vec<Kind> {
    flow.ways[0].timeouts.iter().map(|t| t.kind).collect()
}

/// Courses in which much is lost that must have arrived do not crowd out the one in which all answers were.
#[test]
fn a_long_row_of_lost_answers_is_weighed() {
    let (mut trace, t) = Trace::opened(10);
    for n in 10..50 {
        trace.send(t + n, n);
    }
    // Two copies of the first arrive, and all the rest: only the last answer comes back.
    for wait in [1000, 3000, 7000] {
        trace.send(t + wait, 10);
    }
    trace.answer(t + 7000 + TRIP, 50, &[(10, 11)]);
    let t = t + 7000 + TRIP;
    for n in 50..54 {
        trace.send(t + n, n);
        trace.answer(t + n + TRIP, n + 1, &[]);
    }
    trace.send(t + 500, 54);
    trace.answer(t + 500 + TRIP, 55, &[]);
    let flow = trace.analysed();
    let likely = likelihoods(&flow);
    assert_eq!(likely.len(), 3);
    // Of the last one an earlier copy was there for sure.
    assert!(likely[2] > 0.99, "{likely:?}");
    assert_eq!(kinds(&flow)[2], Kind::Spurious);
}

/// The first segment of all: the answer to the opening is no answer to data.
#[test]
fn trouble_right_after_the_opening_is_weighed() {
    let (mut trace, t) = Trace::opened(0);
    trace.send(t, 0);
    trace.send(t + 1000, 0);
    trace.answer(t + 1000 + TRIP, 1, &[(0, 1)]);
    for n in 1..6 {
        trace.send(t + 1000 + n * TRIP, n);
        trace.answer(t + 1000 + (n + 1) * TRIP, n + 1, &[]);
    }
    let flow = trace.analysed();
    assert!(likelihoods(&flow)[0] > 0.99);
    assert_eq!(kinds(&flow), [Kind::Spurious]);
}

/// The FIN counts as a byte in what is acknowledged and reported, and is none of the data.
#[test]
fn a_fin_is_no_byte_of_the_data() {
    let (mut trace, t) = Trace::opened(10);
    trace.send(t, 10);
    trace.last(t, 11, flag::FIN);
    trace.answer(t + TRIP, 11, &[]);
    // The answer to the last one is lost, and the segment sent again reported.
    trace.last(t + 1200, 11, flag::FIN);
    let end = 1 + 12 * SEGMENT + 1;
    trace.says(t + 1200 + TRIP, end, &[(1 + 11 * SEGMENT, end)]);
    let flow = trace.analysed();
    assert!(likelihoods(&flow)[0] > 0.99);
    assert_eq!(kinds(&flow), [Kind::Spurious]);

    // And the last but one is lost, so that what lies beyond the gap ends with the FIN.
    let (mut trace, t) = Trace::opened(10);
    trace.send(t, 10);
    trace.last(t, 11, flag::FIN);
    trace.says(t + TRIP, 1 + 10 * SEGMENT, &[(1 + 11 * SEGMENT, end)]);
    trace.send(t + 1200, 10);
    trace.says(t + 1200 + TRIP, end, &[]);
    let flow = trace.analysed();
    assert!(likelihoods(&flow)[0] < 0.01);
    assert_eq!(kinds(&flow), [Kind::Genuine]);
}

/// Which rule for echoes a receiver follows is a question only where it echoes: without timestamps, no number of troubles
/// makes courses of events go unasked.
#[test]
fn the_last_of_many_troubles_is_weighed_like_the_first() {
    let (mut trace, mut t) = Trace::opened(10);
    let mut n = 10;
    for _ in 0..150 {
        // The last three are lost; then twice what is sent again.
        for i in 0..4 {
            trace.send(t, n + i);
        }
        trace.answer(t + TRIP, n + 1, &[]);
        for wait in [1200, 3200, 7200] {
            trace.send(t + wait, n + 1);
        }
        // One of the copies' answers is lost: a duplicate is reported.
        trace.answer(t + 7200 + TRIP, n + 2, &[(n + 1, n + 2)]);
        t += 7200 + TRIP;
        for i in 2..4 {
            trace.send(t, n + i);
            trace.answer(t + TRIP, n + i + 1, &[]);
            t += TRIP;
        }
        n += 4;
        for _ in 0..2 {
            trace.send(t, n);
            trace.answer(t + TRIP, n + 1, &[]);
            (t, n) = (t + TRIP, n + 1);
        }
    }
    assert!(likelihoods(&trace.analysed()).len() >= 450);
}

/// A timer for what may be out of order would have expired when the first segment was reported that was sent so much later:
/// what expires here is the retransmission timer (RFC 8985 section 6.2).
#[test]
fn the_timer_expires_between_duplicates() {
    let (mut trace, t) = Trace::opened(10);
    trace.send(t, 10);
    trace.send(t + 150, 11);
    trace.send(t + 190, 12);
    trace.answer(t + 150 + TRIP, 10, &[(11, 12)]);
    trace.send(t + 150 + TRIP, 13);
    trace.answer(t + 150 + TRIP + 190, 10, &[(11, 13)]);
    trace.send(t + 150 + TRIP + 240, 10);
    trace.answer(t + 150 + TRIP + 240 + TRIP, 14, &[]);
    let flow = trace.analysed();
    let all = &flow.ways[0].retransmissions;
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].reason, all[0].need), (Reason::Timeout, Need::Needed));
}

/// What SACK has reported is no answer that is missing. Packets overtake each other here, so that the rules stand alone.
#[test]
fn what_was_reported_was_answered() {
    let (mut trace, t) = Trace::opened(10);
    trace.send(t, 10);
    trace.send(t, 11);
    trace.send(t, 12);
    trace.answer(t + TRIP, 10, &[(11, 13)]);
    // An older answer comes late.
    trace.answer(t + TRIP + 10, 9, &[]);
    trace.answer(t + TRIP + 20, 10, &[(11, 12)]);
    for wait in [1200, 3200, 7200] {
        trace.send(t + wait, 10);
    }
    trace.answer(t + 7200 + TRIP, 13, &[]);
    let flow = trace.analysed();
    assert_eq!(kinds(&flow)[0], Kind::Genuine, "{:?}", flow.ways[0].timeouts);
}
