//! RTCP against values computed by hand (RFC 3550 sections 6.2 to 6.4, appendices A.3, A.7 and A.8), and against the
//! impairments of a path.

use base::packet::{FlowId, NodeId};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use host::{Host, HostConfig};
use path::capacity::Capacity;
use path::link::{Link, LinkConfig, QueueLimit};
use path::loss::{Loss, Rule};
use path::{Network, Port};
use proptest::prelude::*;
use rtp::interval::{Interval, Members, deterministic};
use rtp::reception::Reception;
use rtp::reporter::{Reporter, ReporterConfig, ntp};
use rtp::wire::Header;
use rtp::{Block, Compound, Config, Format, SenderInfo, Session};
use transport::app::connections::MessageLog;
use transport::app::message_stream::{MessagePlan, MessageSchedule, UsefulLife};
use transport::app::messages::{Manner, MessageSink, MessageSource};
use transport::endpoint::Role;

fn seconds(s: f64) -> Time {
    Time::from_secs_f64(s)
}

/// RT-03: of the packets 1 to 10 the numbers 4 and 5 are missing: 2 lost, 2/10 of 256 = 51. Of 11 to 14 one is missing: 3 lost,
/// 256/4 = 64. A duplicate then makes the loss of an interval negative: fraction 0, cumulative loss one less.
#[test]
fn loss_is_counted_as_in_appendix_a_3() {
    let mut reception = Reception::new(1);
    for seq in [1, 2, 3, 6, 7, 8, 9, 10] {
        assert!(reception.on_packet(seq, 0, 0));
    }
    assert_eq!((reception.lost(), reception.extended(), reception.fraction()), (2, 10, 51));
    [11, 12, 14].into_iter().for_each(|seq| assert!(reception.on_packet(seq, 0, 0)));
    assert_eq!((reception.lost(), reception.fraction()), (3, 64));
    (0..3).for_each(|_| assert!(reception.on_packet(15, 0, 0)));
    assert_eq!((reception.lost(), reception.fraction()), (1, 0));
}

/// RT-03: the sequence number wraps; a jump is not counted before a second packet continues it (appendix A.1).
#[test]
fn sequence_numbers_wrap_and_restart() {
    let mut reception = Reception::new(65_534);
    for seq in [65_534, 65_535, 0, 1, 65_535] {
        assert!(reception.on_packet(seq, 0, 0), "{seq}");
    }
    assert_eq!((reception.extended(), reception.lost(), reception.received()), (65_537, -1, 5));
    assert!(!reception.on_packet(30_000, 0, 0));
    assert!(reception.on_packet(2, 0, 0), "a stray packet changes nothing");
    assert!(!reception.on_packet(40_000, 0, 0));
    assert!(reception.on_packet(40_001, 0, 0), "a restart");
    assert_eq!((reception.extended(), reception.lost()), (40_001, 0));
}

/// RT-03: transit times of 0, 160, 0, 0 ticks: sixteenths of jitter 160, 160 + 160 - 10 = 310, 310 - 19 = 291; 291 / 16 = 18.
#[test]
fn jitter_is_that_of_appendix_a_8() {
    let mut reception = Reception::new(0);
    for (n, transit) in [0_u32, 160, 0, 0].into_iter().enumerate() {
        reception.on_packet(n as u16, 160 * n as u32, 160 * n as u32 + transit);
    }
    assert_eq!(reception.jitter(), 18);
}

/// RT-03: by hand: 64 kbit/s, RTCP 400 octets/s. Two participants, packets of 100 octets: the minimum of 5 s, 2.5 s at first.
/// 100 receivers and a sender of 101: senders have 100 octets/s, 100 * 1 / 100 = 1 s, the minimum; receivers 300 octets/s:
/// 100 * 100 / 300 = 33.333 s.
#[test]
fn intervals_are_those_of_section_6_2() {
    assert_eq!(deterministic(2, 1, 400.0, true, 100.0, true), 2.5);
    assert_eq!(deterministic(2, 1, 400.0, true, 100.0, false), 5.0);
    assert_eq!(deterministic(101, 1, 400.0, true, 100.0, false), 5.0);
    assert!((deterministic(101, 1, 400.0, false, 100.0, false) - 33.333_333).abs() < 1e-6);
    // More than a quarter are senders: all share: 100 * 40 / 400 = 10 s.
    assert_eq!(deterministic(40, 20, 400.0, true, 100.0, false), 10.0);
}

/// RT-03: randomised intervals lie between 0.5 and 1.5 times 5 s over e - 3/2 after reconsideration; their mean is near 5 s
/// (section 6.3.1: the compensation makes the mean that of the deterministic interval).
#[test]
fn the_mean_interval_is_the_deterministic_one() {
    let chance = Seed { seed: 4, repetition: 0 }.stream("s", "rtcp");
    let mut interval = Interval::new(chance, 400.0, 100);
    let members = Members { all: 2, senders: 1, sends: true };
    interval.start(Time::ZERO, members);
    let (mut last, mut gaps) = (None, Vec::new());
    while gaps.len() < 20_000 {
        let now = interval.next();
        if interval.expire(now, members) {
            gaps.extend(last.map(|last: Time| now.since(last).as_secs_f64()));
            last = Some(now);
        }
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let (low, high) = (5.0 * 0.5 / 1.218_281_8, 5.0 * 1.5 / 1.218_281_8);
    println!("mean interval {mean:.3} s, from {low:.3} to {high:.3} s");
    assert!(gaps.iter().all(|gap| (low..high).contains(gap)));
    assert!((mean - 5.0).abs() < 0.05, "{mean}");
}

fn reporter(name: &str) -> Reporter {
    let config = ReporterConfig { cname: name.to_owned(), clock: 8000, bandwidth: 8000.0 };
    Reporter::new(config, Seed { seed: 1, repetition: 0 }.stream(name, "rtcp"))
}

/// RT-03, the numbers of RFC 3550 figure 2: a sender report at n, a report block at r with DLSR 5.25 s, read at A with A - LSR - DLSR
/// = 6.125 s.
#[test]
fn the_round_trip_is_that_of_figure_2() {
    let mut source = reporter("source");
    let start = seconds(1000.125);
    source.on_sent(start, 160);
    let lsr = (ntp(start) >> 16) as u32;
    let block =
        Block { ssrc: source.ssrc(), last_report: lsr, since_last_report: 0x0005_4000, ..Block::default() };
    let heard = Compound { ssrc: 7, blocks: vec![block], ..Compound::default() };
    let at = seconds(1000.125 + 5.25 + 6.125);
    assert_eq!(source.on_compound(at, &heard, 60), Some(block));
    assert!((source.statistics.round_trip.as_secs_f64() - 6.125).abs() < 2e-5);
    // A block about another source, or without a sender report before it, gives none.
    source.on_compound(at, &Compound { blocks: vec![Block { ssrc: 3, ..block }], ..heard.clone() }, 60);
    source.on_compound(at, &Compound { blocks: vec![Block { last_report: 0, ..block }], ..heard }, 60);
    assert_eq!(source.statistics.round_trips, 1);
}

/// A stream over a path of 64 kbit/s with 100 ms each way; its sender's and its receiver's ends, and packets lost by the path.
fn stream(format: Format, loss: f64, lasts: f64) -> (Reporter, Reporter, u64) {
    let mut network = Network::new(1, Tracer::off());
    let end = |role, node, peer| HostConfig {
        flow: FlowId(0),
        node: NodeId(node),
        peer: NodeId(peer),
        role,
        start: Time::ZERO,
    };
    let link = || {
        let capacity = Capacity::Fixed(Rate::from_bps(256_000));
        let limit = QueueLimit::default();
        Link::new(LinkConfig { capacity, delay: Span::from_millis(100), limit }, Vec::new())
    };
    let seed = Seed { seed: 9, repetition: 0 };
    let plan = MessagePlan {
        size: base::dist::Dist::Constant(160.0),
        every: base::dist::Dist::Constant(20e6),
        bursts: None,
        count: None,
        lasts: Some(Span::from_secs_f64(lasts)),
        useful: UsefulLife::Always,
        stream: None,
    };
    let letters = MessageLog::default();
    let config = Config { format, bandwidth: 8000.0, ..Config::default() };
    let session = |role, name: &str| Session::new(config.clone(), role, seed.stream(name, "rtp"));
    let source =
        MessageSource::new(MessageSchedule::new(&plan, "s", seed), Manner::default(), letters.clone());
    let to = Host::holding(
        &end(Role::Passive, 1, 0),
        session(Role::Passive, "b"),
        Box::new(MessageSink::new(letters, UsefulLife::Always)),
    );
    let from = Host::holding(&end(Role::Active, 0, 1), session(Role::Active, "a"), Box::new(source));
    let to = network.add(to);
    let lossy = network.add(Loss::new(Rule::Random(loss), seed.stream("loss", "test")));
    let (down, from, up) = (network.add(link()), network.add(from), network.add(link()));
    for (a, b) in [(from, down), (down, lossy), (lossy, to), (to, up), (up, from)] {
        network.wire(a, Port(0), b, Port(0));
    }
    network.start(None);
    network.run_until(seconds(lasts + 100.0));
    let reporter = |at| network.element::<Host<Session>>(at).unwrap().connection().reporter().clone();
    (reporter(from), reporter(to), network.counters().dropped)
}

/// RT-03: the last report equals the path's behaviour: packets lost, highest number; the round trip is 200 ms and the times of
/// transmission (a sender report of 28 + 20 + 32 octets or more, at 256 kbit/s), and the jitter of a queue that is empty is nothing.
#[test]
fn reports_tell_what_the_path_did() {
    let (source, sink, dropped) = stream(Format::Pcmu, 0.05, 120.0);
    let about = source.statistics.about.unwrap();
    let reception = sink.reception().unwrap();
    println!("{about:?}, dropped {dropped}, {:?}", source.statistics);
    // Sender reports may be lost too, and no receiver can count losses after its last arrival.
    let reports_lost = source.statistics.sent - sink.statistics.received;
    let unseen = 6000 - reception.received() - u64::try_from(reception.lost()).unwrap();
    assert_eq!(u64::try_from(about.lost).unwrap(), dropped - reports_lost - unseen, "of 6000 packets");
    assert!(unseen < 5 && (200..400).contains(&dropped), "{unseen} {dropped}");
    assert_eq!(
        (about.lost, about.highest),
        (reception.lost(), reception.extended()),
        "the BYE has the last word"
    );
    let rtt = source.statistics.round_trip.as_secs_f64();
    // Report and answer of at most 96 octets each behind a data packet of 200 octets: 12.25 ms at 256 kbit/s.
    assert!((0.2..0.212_25).contains(&rtt), "{rtt}");
    assert_eq!(about.jitter, 0, "equal transit times");
    // About 120 / 5 reports of each end, and a BYE.
    assert!((18..=32).contains(&source.statistics.sent), "{}", source.statistics.sent);
}

/// RFC 3550 section 6.3.5: an end that only receives stops reporting once nothing was heard for five intervals of 5 s, looked at when
/// a report is due; 6.2.1: its statistics stay, and a packet begins the reports anew.
#[test]
fn a_silent_participant_is_timed_out_and_may_come_back() {
    let config = ReporterConfig { cname: "receiver".into(), clock: 8000, bandwidth: 8000.0 };
    let mut receiver = Reporter::new(config, Seed { seed: 3, repetition: 0 }.stream("timeout", "rtp"));
    let mut seq = 0_u16;
    // Packets 20 ms apart from `from` to `to`, every tenth of them lost; the times of reports until `until`.
    let mut play = |receiver: &mut Reporter, from: f64, to: f64, until: f64| {
        let (mut reports, mut next) = (Vec::new(), from);
        loop {
            let due = receiver.next_timeout();
            let arrival = if next < to { seconds(next) } else { Time::NEVER };
            let now = due.min(arrival);
            if now > seconds(until) {
                return reports;
            }
            if now == arrival {
                seq += 1;
                next += 0.02;
                if seq.is_multiple_of(10) {
                    continue;
                }
                receiver.start(now);
                assert!(receiver.on_data(now, 7, seq, 160 * u32::from(seq)));
            } else if let Some(report) = receiver.report(now) {
                reports.push((now.as_secs_f64(), report.blocks.first().map(|block| block.lost)));
            }
        }
    };
    let first = play(&mut receiver, 0.0, 20.0, 1000.0);
    // Heard until 20 s: timed out at 45 s at the earliest, and a report is due within 1.5 x 5 s / (e - 3/2) of each other.
    let last = first.last().unwrap().0;
    assert!((45.0 - 6.16..45.0).contains(&last), "{first:?}");
    assert_eq!(receiver.next_timeout(), Time::NEVER);
    let again = play(&mut receiver, 1000.0, 1020.0, 1020.0);
    assert!(again.len() >= 3, "{again:?}");
    // 1000 packets before the silence and 1000 behind it, of which a tenth is lost: one count.
    let lost = again.last().unwrap().1.unwrap();
    assert!((150..=200).contains(&lost), "{again:?}");
}

/// Strategy for compound packets.
fn compounds() -> impl Strategy<Value = Compound> {
    let block = (any::<u32>(), any::<u8>(), -0x80_0000..0x80_0000_i32, any::<[u32; 4]>());
    let block =
        block.prop_map(|(ssrc, fraction, lost, [highest, jitter, last_report, since_last_report])| Block {
            ssrc,
            fraction,
            lost,
            highest,
            jitter,
            last_report,
            since_last_report,
        });
    let info = (any::<u64>(), any::<[u32; 3]>()).prop_map(|(ntp, [timestamp, packets, octets])| SenderInfo {
        ntp,
        timestamp,
        packets,
        octets,
    });
    let parts = (
        any::<u32>(),
        prop::option::of(info),
        prop::collection::vec(block, 0..31),
        "[a-z]{0,40}",
        any::<bool>(),
    );
    parts.prop_map(|(ssrc, sender, blocks, cname, bye)| Compound { ssrc, sender, blocks, cname, bye })
}

proptest! {
    /// RT-03: a compound packet is read as it was written, and its length field is right.
    #[test]
    fn compound_packets_are_read_as_written(compound in compounds()) {
        let mut bytes = Vec::new();
        compound.write(&mut bytes);
        prop_assert_eq!(bytes.len() as u32, compound.len());
        prop_assert_eq!(bytes.len() % 4, 0);
        prop_assert_eq!(Compound::read(&bytes).unwrap(), compound);
    }

    /// RT-02: a header is read as it was written.
    #[test]
    fn headers_are_read_as_written(marker: bool, payload_type in 0..128_u8, seq: u16, timestamp: u32, ssrc: u32) {
        let header = Header { marker, payload_type, seq, timestamp, ssrc, length: 12 };
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        prop_assert_eq!(Header::read(&bytes).unwrap(), header);
    }

    /// RT-03: for arrivals in any order within 100 of each other, with losses and duplicates, cumulative loss is expected less
    /// received, and fractions weighted by expected packets add up to the losses where none is negative.
    #[test]
    fn a_reception_counts_what_came(steps in prop::collection::vec((0_u16..40, any::<bool>()), 1..400)) {
        let mut reception = Reception::new(1000);
        prop_assert!(reception.on_packet(1000, 0, 0));
        let (mut highest, mut received) = (1000_u64, 1_u64);
        for (step, back) in steps {
            let seq = if back { highest - u64::from(step).min(highest - 1000) } else { highest + u64::from(step) };
            prop_assert!(reception.on_packet(seq as u16, 0, 0));
            highest = highest.max(seq);
            received += 1;
        }
        prop_assert_eq!(u64::from(reception.extended()), highest);
        prop_assert_eq!(i64::from(reception.lost()), (highest - 999) as i64 - received as i64);
    }
}
