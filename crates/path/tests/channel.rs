//! Channel stages against arithmetic: buffer, framing, allocation, errors, repeats, delivery. Driven from outside, packet
//! by packet.

mod common;

use base::packet::{DropReason, Flags, Packet};
use base::{Rate, Span, Time};
use common::{Bench, SEED, always, order, packet, plain, s, span};
use path::capacity::Capacity;
use path::channel::allocation::Allocation;
use path::channel::arq::ArqConfig;
use path::channel::class::{ClassConfig, ClassRule, PacketKind};
use path::channel::error::{ErrorProcess, ErrorRate, Errors, Mode};
use path::channel::frame::Framing;
use path::channel::{Channel, ChannelConfig};
use path::gate::{Closures, Gate};
use path::link::{Link, LinkConfig, LinkGate, QueueLimit};
use path::qdisc::{Discard, FifoConfig, Room};
use proptest::prelude::*;

fn packets(n: u32) -> Option<Room> {
    Some(Room { packets: Some(n), bytes: None })
}

fn queue(n: u32) -> ClassConfig {
    ClassConfig {
        queue: FifoConfig { room: packets(n).unwrap(), ..FifoConfig::default() }.into(),
        ..ClassConfig::default()
    }
}

fn errors(chance: ErrorRate, mode: Mode) -> Errors {
    Errors::new(ErrorProcess::Steady(chance), mode, SEED.stream("radio.noise@radio.down", "error"))
}

fn arq(attempts: Option<u32>, feedback: f64) -> ArqConfig {
    ArqConfig { attempts, time: None, feedback: always(feedback), window: None }
}

/// Which of `n` frames come wrong with probability `p`, as the stream of [`errors`] says.
fn wrong(n: usize, p: f64) -> Vec<bool> {
    let mut stream = SEED.stream("radio.noise@radio.down", "error");
    (0..n).map(|_| stream.uniform() < p).collect()
}

proptest! {
    /// A channel without options behaves like the plain link, packet for packet: two computations of one model, one at
    /// enqueue, one event by event.
    #[test]
    fn sw_19_a_channel_of_nothing_more_is_a_link(
        sends in proptest::collection::vec((0u64..200, 40u32..1500), 1..120),
        packets in 1u32..20,
        bytes in proptest::option::of(500u64..20_000),
        head in any::<bool>(),
        steps in any::<bool>(),
        closures in proptest::collection::vec((0u64..300, 1u64..50, any::<bool>()), 0..5),
    ) {
        let mut t = 0;
        let mut gates = Vec::new();
        for (gap, length, stores) in closures {
            t += gap;
            let closed = Closures::List(vec![(s(t as f64 / 10.0), s((t + length) as f64 / 10.0))]);
            gates.push(LinkGate { gate: Gate::new(closed, "g", SEED), stores });
            t += length;
        }
        let capacity = if steps {
            let steps = vec![(s(0.0), Rate::from_bps(80_000)), (s(2.0), Rate::from_bps(7_000)), (s(5.0), Rate::from_bps(0)), (s(6.0), Rate::from_bps(200_000))];
            Capacity::Steps { steps, period: Some(span(7.0)) }
        } else {
            Capacity::Fixed(Rate::from_bps(80_000))
        };
        let config = LinkConfig {
            capacity: capacity.clone(),
            delay: span(0.05),
            limit: QueueLimit { packets: Some(packets), bytes, drop_head: head },
        };
        let link = Link::new(config, gates.clone());
        let discard = if head { Discard::Head } else { Discard::Tail };
        let room = Room { packets: Some(packets), bytes };
        let class = ClassConfig { queue: FifoConfig { room, discard, ..FifoConfig::default() }.into(), ..ClassConfig::default() };
        let config = ChannelConfig { capacity, delay: span(0.05), classes: vec![class], gates, ..plain(0) };
        let mut a = Bench::chain(vec![Box::new(|n| n.add(link))]).start();
        let mut b = Bench::of(config).start();
        let mut at = 0;
        for (i, (gap, size)) in sends.iter().enumerate() {
            at += gap;
            for bench in [&mut a, &mut b] {
                bench.send(at as f64 / 1000.0, i as u32 + 1, *size);
            }
        }
        prop_assert_eq!(a.arrivals(), b.arrivals());
        let (of_a, of_b) = (&a.network.ledgers()[0], &b.network.ledgers()[0]);
        prop_assert_eq!((of_a.queue_drops, of_a.other_drops), (of_b.queue_drops, of_b.other_drops));
        prop_assert!(b.is_conserved());
    }
}

/// SW-27: seven in the queue and four in the send buffer wait beside the one in service, as in the case study.
#[test]
fn sw_27_a_send_buffer_extends_the_queue() {
    let config = ChannelConfig { classes: vec![queue(7)], send_buffer: packets(4), ..plain(8_000) };
    let mut b = Bench::of(config).start();
    for i in 1..=20 {
        b.send(0.0, i, 1000);
    }
    assert_eq!(order(&b.arrivals()), (1..=12).collect::<Vec<_>>());
    assert_eq!(b.network.ledgers()[0].queue_drops, 8);
}

/// SW-27: a limit in bytes.
#[test]
fn sw_27_a_send_buffer_may_be_of_bytes() {
    let send_buffer = Some(Room { packets: None, bytes: Some(2500) });
    let mut b = Bench::of(ChannelConfig { classes: vec![queue(1)], send_buffer, ..plain(8_000) }).start();
    for i in 1..=6 {
        b.send(0.0, i, 1000);
    }
    assert_eq!(order(&b.arrivals()), [1, 2, 3, 4], "one in service, two in the buffer, one in the queue");
}

/// SW-25, SW-26: 100 bytes in frames of 20 with 5 around each, and 10 around the packet: 110 + 6 * 5 = 140 bytes.
#[test]
fn sw_25_frames_take_their_time() {
    let framing = Framing { factor: 1.0, around: 10, payload: Some(20), overhead: 5, padded: false };
    let mut b = Bench::of(ChannelConfig { framing, delay: span(0.5), ..plain(8_000) }).start();
    b.send(0.0, 1, 100);
    b.send(0.0, 2, 100);
    assert_eq!(b.arrivals(), [(s(0.64), 1), (s(0.78), 2)]);
}

/// SW-26: compression to a half.
#[test]
fn sw_26_compression_shortens_service_and_leaves_the_packet_as_it_was() {
    let framing = Framing { factor: 0.5, ..Framing::default() };
    let mut b = Bench::of(ChannelConfig { framing, ..plain(8_000) }).start();
    b.send(0.0, 1, 1000);
    let arrived = b.arrived();
    assert_eq!((arrived[0].0, arrived[0].1.size), (s(0.5), 1000));
}

/// SW-25, SW-38: a lost frame loses its packet, and the others of the packet take their time all the same.
#[test]
fn sw_25_a_lost_frame_loses_the_packet() {
    let framing = Framing { payload: Some(250), ..Framing::default() };
    let config =
        ChannelConfig { framing, errors: vec![errors(ErrorRate::Frame(0.2), Mode::Drop)], ..plain(8_000) };
    let mut b = Bench::of(config).start();
    for i in 1..=50 {
        b.send(0.0, i, 1000);
    }
    let lost = wrong(200, 0.2);
    let whole: Vec<(Time, u32)> = (1..=50u32)
        .filter(|i| !lost[(*i as usize - 1) * 4..*i as usize * 4].contains(&true))
        .map(|i| (s(f64::from(i)), i))
        .collect();
    assert!(whole.len() > 10 && whole.len() < 30);
    assert_eq!(b.arrivals(), whole);
    assert!(b.is_conserved());
}

/// SW-37: corrupt frames are marked and forwarded.
#[test]
fn sw_37_corrupt_packets_go_on() {
    let config = ChannelConfig { errors: vec![errors(ErrorRate::Bit(1e-4), Mode::Corrupt)], ..plain(8_000) };
    let mut b = Bench::of(config).start();
    for i in 1..=100 {
        b.send(0.0, i, 1000);
    }
    let seen: Vec<bool> = b.arrived().iter().map(|(_, p)| p.flags.has(Flags::CORRUPT)).collect();
    assert_eq!(seen, wrong(100, ErrorRate::Bit(1e-4).of(1000)));
    assert!(seen.contains(&true) && seen.contains(&false));
}

/// SW-39: delayed frames hold up later ones where order is kept, and are overtaken where it is not.
#[test]
fn sw_39_errors_delay() {
    let late = wrong(30, 0.2);
    assert!(late[0..10].iter().filter(|l| **l).count() >= 1);
    for in_order in [true, false] {
        let mode = Mode::Delay(always(2.5));
        let config =
            ChannelConfig { errors: vec![errors(ErrorRate::Frame(0.2), mode)], in_order, ..plain(8_000) };
        let mut b = Bench::of(config).start();
        for i in 1..=30 {
            b.send(0.0, i, 1000);
        }
        let mut expected = Vec::new();
        let mut latest = Time::ZERO;
        for i in 1..=30u32 {
            let alone = s(f64::from(i)) + if late[i as usize - 1] { span(2.5) } else { Span::ZERO };
            latest = latest.max(alone);
            expected.push((if in_order { latest } else { alone }, i));
        }
        expected.sort();
        assert_eq!(b.arrivals(), expected);
    }
}

/// SW-28: with room for one, those that come behind a late packet and find the receive buffer full are lost.
#[test]
fn sw_28_a_full_receive_buffer_loses() {
    let late = wrong(60, 0.2);
    let alone = |w: &[bool]| w[0] && !w[1..].contains(&true);
    let first = late.windows(4).position(alone).unwrap() as u32 + 1;
    let mode = Mode::Delay(always(3.5));
    let config = ChannelConfig {
        errors: vec![errors(ErrorRate::Frame(0.2), mode)],
        receive_buffer: packets(1),
        ..plain(8_000)
    };
    let mut b = Bench::of(config).start();
    for i in 1..=first + 3 {
        b.send(10.0 * f64::from(i.min(first)), i, 1000);
    }
    let seen = order(&b.arrivals());
    assert_eq!(
        seen,
        (1..=first + 1).collect::<Vec<_>>(),
        "the one behind it waits, two find the buffer full"
    );
    assert!(b.is_conserved());
}

/// SW-28, SW-29: a frame is repeated after the far end's report, before new ones, and order is kept.
#[test]
fn sw_28_a_link_repeats_what_came_wrong() {
    let first = wrong(40, 0.3);
    for in_order in [true, false] {
        let config = ChannelConfig {
            errors: vec![errors(ErrorRate::Frame(0.3), Mode::Drop)],
            arq: Some(arq(None, 1.5)),
            in_order,
            ..plain(8_000)
        };
        let mut b = Bench::of(config).start();
        for i in 1..=12 {
            b.send(0.0, i, 1000);
        }
        // By hand: one frame a second; a frame with errors at t is available again from t + 1.5 on, and is sent first.
        let (mut repeats, mut next, mut now, mut draw) = (Vec::<(f64, u32)>::new(), 1, 0.0, 0);
        let mut arrived: Vec<(f64, u32)> = Vec::new();
        while arrived.len() < 12 {
            let ready = repeats.iter().position(|r| r.0 <= now);
            let which = match ready {
                Some(at) => repeats.remove(at).1,
                None if next <= 12 => {
                    next += 1;
                    next - 1
                }
                None => {
                    now = repeats[0].0;
                    continue;
                }
            };
            now += 1.0;
            if first[draw] {
                repeats.push((now + 1.5, which));
            } else {
                arrived.push((now, which));
            }
            draw += 1;
        }
        assert!(draw > 14, "some came wrong");
        let mut expected: Vec<(Time, u32)> = arrived.iter().map(|&(t, i)| (s(t), i)).collect();
        if in_order {
            expected.sort_by_key(|e| e.1);
            let mut latest = Time::ZERO;
            for e in &mut expected {
                latest = latest.max(e.0);
                e.0 = latest;
            }
        }
        assert_eq!(b.arrivals(), expected);
        assert!(b.is_conserved());
    }
}

/// SW-39: persistence in attempts and in time; a packet that is given up is skipped.
#[test]
fn a_link_gives_up() {
    for (attempts, time, ends) in [(Some(2), None, 6.0), (None, Some(span(3.2)), 4.0), (Some(0), None, 2.0)] {
        let config = ChannelConfig {
            errors: vec![errors(ErrorRate::Frame(1.0), Mode::Drop)],
            arq: Some(ArqConfig { attempts, time, feedback: always(1.0), window: None }),
            ..plain(8_000)
        };
        let mut b = Bench::of(config).start();
        b.send(0.0, 1, 1000);
        // A second for the frame, a second until its fate is known, and so on.
        b.network.run_until(s(ends - 1e-9));
        assert_eq!(b.network.packets_inside(), 1);
        b.network.run_until(s(ends));
        assert_eq!(b.network.packets_inside(), 0);
        assert!(b.is_conserved() && b.arrivals().is_empty());
    }
}

/// SW-29: a window of one frame is stop-and-wait: a frame of 1 s and 1.5 s until the answer; one of three keeps the
/// link busy.
#[test]
fn sw_29_the_window_bounds_the_rate() {
    let last = |window: Option<u32>, receive_buffer: Option<Room>| {
        let arq = ArqConfig { window, ..arq(None, 1.5) };
        let config = ChannelConfig { arq: Some(arq), delay: span(0.75), receive_buffer, ..plain(8_000) };
        let mut b = Bench::of(config).start();
        for i in 1..=10 {
            b.send(0.0, i, 1000);
        }
        b.arrivals().last().unwrap().0
    };
    assert_eq!(last(Some(1), None), s(9.0 * 2.5 + 1.75));
    assert_eq!(last(Some(3), None), s(10.75));
    assert_eq!(last(None, packets(1)), s(10.0 * 1.75), "the next begins when the one before is delivered");
    assert_eq!(last(None, packets(2)), s(10.75));
}

/// SW-30: a packet that comes to an idle link waits for resources; they are kept for a while.
#[test]
fn sw_30_an_idle_link_must_be_allocated() {
    let allocation = Some(Allocation::new(always(0.5), always(2.0)));
    let mut b = Bench::of(ChannelConfig { allocation, ..plain(8_000) }).start();
    for (at, i) in [(0.0, 1), (0.2, 2), (4.0, 3), (7.5, 4)] {
        b.send(at, i, 1000);
    }
    // 0.5 + 1, + 1; kept until 4.5, so the third at once; kept until 7, so the fourth waits again.
    assert_eq!(b.arrivals(), [(s(1.5), 1), (s(2.5), 2), (s(5.0), 3), (s(9.0), 4)]);
}

/// SW-24: how long a packet may wait in the queue.
#[test]
fn sw_24_a_packet_may_stay_so_long() {
    let class = ClassConfig {
        queue: FifoConfig { stay: Some(span(2.5)), ..FifoConfig::default() }.into(),
        ..ClassConfig::default()
    };
    let mut b = Bench::of(ChannelConfig { classes: vec![class], ..plain(8_000) }).start();
    for i in 1..=5 {
        b.send(0.0, i, 1000);
    }
    b.send(2.4, 6, 1000);
    assert_eq!(b.arrivals(), [(s(1.0), 1), (s(2.0), 2), (s(3.0), 3), (s(4.0), 6)]);
    assert_eq!(b.network.ledgers()[0].queue_drops, 2);
}

fn discarding(discard: Discard) -> Bench {
    let room = packets(3).unwrap();
    let class = ClassConfig {
        queue: FifoConfig { room, discard, ..FifoConfig::default() }.into(),
        ..ClassConfig::default()
    };
    Bench::of(ChannelConfig { classes: vec![class], ..plain(8_000) }).start()
}

/// SW-23: the packet sent first goes, wherever it stands.
#[test]
fn sw_23_the_oldest_makes_room() {
    let mut b = discarding(Discard::Oldest);
    let mut put = |i: u32, born: f64| {
        let p = Packet { born: s(born), ..packet(i, 1000) };
        b.sent += 1;
        b.network.inject(s(5.0), b.entry, path::Port(0), p);
    };
    for (i, born) in [(1, 4.0), (2, 3.0), (3, 1.0), (4, 2.0), (5, 2.5), (6, 0.5)] {
        put(i, born);
    }
    assert_eq!(order(&b.arrivals()), [1, 2, 4, 5]);
}

/// QM-10: those whose deadline is over make room, and go when their turn comes.
#[test]
fn qm_10_deadlines_are_kept() {
    let mut b = discarding(Discard::Late);
    for (i, millis) in [(1, 9000), (2, 400), (3, 9000), (4, 1500)] {
        b.put(s(0.0), Packet { lives: 1000 * millis, ..packet(i, 1000) });
    }
    b.put(s(0.5), Packet { lives: 8_500_000, ..packet(5, 1000) });
    b.put(s(0.6), Packet { lives: 8_400_000, ..packet(6, 1000) });
    assert_eq!(order(&b.arrivals()), [1, 3, 5], "2 made room for 5, nothing for 6, 4 was late at the head");
    assert!(b.is_conserved());
}

/// SW-23: each packet is as likely to go as the others.
#[test]
fn sw_23_random_drops_spare_nobody() {
    let mut kept = [0u32; 4];
    for round in 0..400u64 {
        let stream = base::rng::Seed { seed: 1, repetition: round }.stream("radio.down", "queue");
        let mut b = discarding(Discard::Random(stream));
        for i in 1..=5 {
            b.send(0.0, i, 1000);
        }
        for i in order(&b.arrivals()).into_iter().filter(|i| *i > 1) {
            kept[i as usize - 2] += 1;
        }
    }
    // Three of four are kept: 300 of 400, standard deviation 8.7.
    assert!(kept.iter().all(|k| (270..=330).contains(k)), "{kept:?}");
}

fn class(rule: ClassRule, priority: u32, weight: u32) -> ClassConfig {
    ClassConfig { rule, priority, weight, ..ClassConfig::default() }
}

/// SW-47: small packets first, then acknowledgements by service class, then the rest.
#[test]
fn sw_47_smaller_priorities_go_first() {
    let small = ClassRule { size: Some((0, 200)), ..ClassRule::default() };
    let voice = ClassRule { service: Some((46, 46)), ..ClassRule::default() };
    let acks = ClassRule { kind: Some(PacketKind::Ack), ..ClassRule::default() };
    let classes =
        vec![class(acks, 3, 1), class(voice, 1, 1), class(small, 2, 1), class(ClassRule::default(), 9, 1)];
    let mut b = Bench::of(ChannelConfig { classes, ..plain(8_000) }).start();
    b.send(0.0, 1, 1000);
    b.send(0.1, 2, 1000);
    b.put(s(0.2), Packet { flags: Flags::ACK, ..packet(3, 300) });
    b.send(0.3, 4, 100);
    b.put(s(0.4), Packet { class: 46, ..packet(5, 1000) });
    b.send(0.5, 6, 100);
    assert_eq!(order(&b.arrivals()), [1, 5, 4, 6, 3, 2]);
}

/// SW-47, QM-13: classes of one priority share by weight, whatever the sizes of their packets.
#[test]
fn sw_47_weights_share_the_link() {
    let flow =
        |n: usize| ClassRule { ledgers: Some((0..4).map(|l| l == 2 * n).collect()), ..ClassRule::default() };
    let classes = vec![class(flow(0), 1, 3), class(flow(1), 1, 1), class(ClassRule::default(), 9, 1)];
    let mut b = Bench::of(ChannelConfig { classes, ..plain(80_000) }).start();
    for i in 0..4000u32 {
        let (flow, size) = if i % 2 == 0 { (0, 1500) } else { (1, 300) };
        b.put(s(0.0), Packet { flow: base::packet::FlowId(flow), ..packet(i + 1, size) });
    }
    let half = s(50.0);
    let mut bytes = [0u64; 2];
    for (_, p) in b.arrived().iter().filter(|(t, _)| *t <= half) {
        bytes[p.flow.0 as usize] += u64::from(p.size);
    }
    let share = bytes[0] as f64 / (bytes[0] + bytes[1]) as f64;
    assert!((share - 0.75).abs() < 0.01, "{share}: {bytes:?}");
    assert!(b.is_conserved());
}

/// Theory: with Poisson arrivals and constant service, M/D/1, the mean wait is rho / (2 (1 - rho)) services.
#[test]
fn sw_31_waits_as_a_single_server_does() {
    let mut b = Bench::of(plain(8_000_000)).start();
    let rho = 0.7;
    let mut gaps =
        base::dist::Sampler::new(base::dist::Dist::Exponential(1e6 / rho), SEED.stream("x", "gaps"));
    let n = 200_000u32;
    let mut at = Time::ZERO;
    let mut sent = Vec::new();
    for i in 1..=n {
        at += Span::from_nanos(gaps.draw() as u64);
        b.put(at, packet(i, 1000));
        sent.push(at);
    }
    let waits =
        b.arrivals().iter().map(|(t, i)| t.since(sent[*i as usize - 1]).as_secs_f64() - 1e-3).sum::<f64>();
    let mean = waits / f64::from(n) * 1e3;
    let expected = rho / (2.0 * (1.0 - rho));
    assert!((mean - expected).abs() < 0.03, "{mean} against {expected}");
}

/// The same, of two priorities: Cobham's formula, W1 = R / (1 - rho1), W2 = W1 / (1 - rho).
#[test]
fn sw_47_waits_as_priorities_say() {
    let small = ClassRule { service: Some((1, 1)), ..ClassRule::default() };
    let classes = vec![class(small, 1, 1), class(ClassRule::default(), 2, 1)];
    let mut b = Bench::of(ChannelConfig { classes, ..plain(8_000_000) }).start();
    let (rho1, rho2) = (0.3, 0.4);
    let rho: f64 = rho1 + rho2;
    let mut gaps =
        base::dist::Sampler::new(base::dist::Dist::Exponential(1e6 / rho), SEED.stream("x", "gaps"));
    let mut which = SEED.stream("x", "which");
    let n = 200_000u32;
    let mut at = Time::ZERO;
    let mut sent = Vec::new();
    for i in 1..=n {
        at += Span::from_nanos(gaps.draw() as u64);
        let first = which.uniform() < rho1 / rho;
        b.put(at, Packet { class: u8::from(first), ..packet(i, 1000) });
        sent.push(at);
    }
    let (mut waits, mut counts) = ([0.0; 2], [0.0; 2]);
    for (t, p) in b.arrived() {
        waits[usize::from(p.class)] += t.since(sent[p.ordinal as usize - 1]).as_secs_f64() * 1e3 - 1.0;
        counts[usize::from(p.class)] += 1.0;
    }
    let residual = rho / 2.0;
    let expected = [residual / (1.0 - rho1) / (1.0 - rho), residual / (1.0 - rho1)];
    for k in 0..2 {
        let mean = waits[k] / counts[k];
        assert!((mean - expected[k]).abs() < 0.04 * expected[k] + 0.01, "{mean} against {}", expected[k]);
    }
}

/// Drops with their reasons are in the trace.
#[test]
fn drops_have_their_reasons() {
    assert_eq!(DropReason::GivenUp.name(), "given-up");
    assert_eq!(DropReason::Expired.name(), "expired");
}

/// A plain mixture of everything that a channel can be asked for.
fn anything() -> impl Strategy<Value = (u8, u32, u32, u32, bool, u32)> {
    (any::<u8>(), 1u32..8, 1u32..6, 1u32..6, any::<bool>(), 20u32..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Whatever is asked for: packets are conserved, time goes forward, order is kept where it is asked for, nothing is
    /// left inside, and the same again gives the same.
    #[test]
    fn conserves_whatever_is_asked_for(
        sends in proptest::collection::vec((0u64..400, 40u32..1500), 1..80),
        (what, room, send, receive, in_order, payload) in anything(),
        p in 0.0f64..0.6,
    ) {
        let run = || {
            let has = |bit: u8| what >> bit & 1 == 1;
            let room = Room { packets: Some(room), bytes: None };
            let discard = if has(0) { Discard::Random(SEED.stream("q", "queue")) } else { Discard::Head };
            let stay = has(1).then_some(span(1.0));
            let class = ClassConfig { queue: FifoConfig { room, discard, stay, ..FifoConfig::default() }.into(), ..ClassConfig::default() };
            let mode = if has(2) { Mode::Delay(always(0.3)) } else { Mode::Drop };
            let config = ChannelConfig {
                classes: vec![class],
                delay: span(0.1),
                framing: Framing { payload: has(3).then_some(payload), overhead: 3, ..Framing::default() },
                send_buffer: has(4).then_some(Room { packets: Some(send), bytes: None }),
                receive_buffer: has(5).then_some(Room { packets: Some(receive), bytes: None }),
                allocation: has(6).then(|| Allocation::new(always(0.2), always(0.1))),
                errors: vec![errors(ErrorRate::Frame(p), mode)],
                arq: has(7).then(|| ArqConfig { attempts: Some(3), time: None, feedback: always(0.15), window: Some(4) }),
                in_order,
                ..plain(80_000)
            };
            let mut b = Bench::of(config).start();
            let mut at = 0;
            for (i, (gap, size)) in sends.iter().enumerate() {
                at += gap;
                b.send(at as f64 / 1000.0, i as u32 + 1, *size);
            }
            (b.arrivals(), b.is_conserved(), b.network.counters())
        };
        let (arrivals, conserved, counters) = run();
        prop_assert!(conserved, "{counters:?}");
        prop_assert!(arrivals.windows(2).all(|w| w[0].0 <= w[1].0));
        if in_order {
            prop_assert!(arrivals.windows(2).all(|w| w[0].1 < w[1].1));
        }
        prop_assert_eq!(run().0, arrivals);
    }
}

#[test]
fn an_empty_channel_never_wakes() {
    let mut b = Bench::chain(vec![Box::new(|n| n.add(Channel::new(plain(8_000))))]).start();
    assert_eq!(b.network.next_wake(), None);
    b.send(0.0, 1, 1000);
    b.arrivals();
    assert_eq!(b.network.next_wake(), None);
}
