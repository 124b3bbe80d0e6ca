//! The deadline-aware router against arithmetic, against the plain link, and under random traffic.

mod common;

use base::packet::{Flags, Packet};
use base::rng::Seed;
use base::{Rate, Span, Time};
use common::{Bench, packet, s, span};
use path::capacity::Capacity;
use path::deadline::{Check, DeadlineLink, Expired, Margin, Order, Overflow, Policy, RemainingPath, Units};
use path::gate::{Closures, Gate};
use path::link::{Link, LinkConfig, LinkGate, QueueLimit};
use proptest::prelude::*;

fn config(bps: u64, delay: f64, bytes: Option<u64>, packets: Option<u32>) -> LinkConfig {
    LinkConfig {
        capacity: Capacity::Fixed(Rate::from_bps(bps)),
        delay: span(delay),
        limit: QueueLimit { bytes, packets, ..QueueLimit::default() },
    }
}

fn gates(closed: &[(f64, f64)]) -> Vec<LinkGate> {
    if closed.is_empty() {
        return Vec::new();
    }
    let list = closed.iter().map(|&(a, b)| (s(a), s(b))).collect();
    let gate = Gate::new(Closures::List(list), "g", Seed { seed: 1, repetition: 0 });
    vec![LinkGate { gate, stores: true }]
}

fn bench(config: LinkConfig, closed: &[(f64, f64)], policy: Policy) -> Bench {
    let gates = gates(closed);
    Bench::chain(vec![Box::new(move |n| n.add(DeadlineLink::new(config, gates, policy)))]).start()
}

fn fixed(margin: f64) -> Policy {
    Policy { margin: Margin::Fixed(span(margin)), ..Policy::default() }
}

fn living(ordinal: u32, size: u32, seconds: f64) -> Packet {
    Packet { lives: (seconds * 1e6) as u32, ..packet(ordinal, size) }
}

/// Sends the news ticker of the paper's figure 3: 8 datagrams of 640 bytes and headers every 5 s.
fn ticker(bench: &mut Bench, ticks: u32) {
    for tick in 0..ticks {
        for i in 0..8 {
            bench.put(s(5.0 * f64::from(tick)), living(8 * tick + i + 1, 668, 5.0));
        }
    }
}

/// NS-13, C128: the closed form of figure 3. A FIFO of 11 kbit/s holds 16 to 26 s; without a check the datagrams of
/// ticks created in the outage leave one after the other from its end, and those that leave after their deadline are
/// counted.
#[test]
fn the_news_ticker_of_figure_3_in_closed_form_to_the_packet() {
    let (rate, delay) = (11_000, 0.3);
    let service = 668.0 * 8.0 / 11_000.0;
    // By hand: departures of a FIFO whose server stands still from 16 to 26 s.
    let (mut free, mut late, mut last_late) = (0.0_f64, 0, 0.0_f64);
    let mut arrivals = Vec::new();
    for tick in 0..16 {
        for _ in 0..8 {
            let mut start = free.max(5.0 * f64::from(tick));
            if (16.0..26.0).contains(&start) {
                start = 26.0;
            }
            free = start + service;
            arrivals.push(free + delay);
            if free + delay > 5.0 * f64::from(tick) + 5.0 {
                late += 1;
                last_late = free + delay;
            }
        }
    }
    let unchecked = Policy { check: Check::Off, ..Policy::default() };
    let mut b = bench(config(rate, delay, Some(100_000), None), &[(16.0, 26.0)], unchecked);
    ticker(&mut b, 16);
    let arrived = b.arrived();
    assert_eq!(arrived.len(), arrivals.len());
    for (got, by_hand) in arrived.iter().zip(&arrivals) {
        assert!((got.0.as_secs_f64() - by_hand).abs() < 1e-6, "{} against {by_hand}", got.0.as_secs_f64());
    }
    let expired = |all: &[(Time, Packet)]| all.iter().filter(|(t, p)| *t > p.deadline()).count();
    assert_eq!(expired(&arrived), late);
    assert!(last_late >= 36.0, "expired datagrams for 10 s and more after the outage: until {last_late}");
    // With the check none is late, and the first arrival after the outage was created in the last tick before its end.
    let mut b = bench(config(rate, delay, Some(100_000), None), &[(16.0, 26.0)], fixed(0.9));
    ticker(&mut b, 16);
    let arrived = b.arrived();
    assert_eq!(expired(&arrived), 0);
    let first = arrived.iter().find(|(t, _)| *t > s(26.0)).unwrap();
    assert_eq!(first.1.born, s(25.0), "fresh at once");
    assert!(first.0 <= s(26.0 + 2.0 * service + delay));
    assert!(b.is_conserved());
}

/// AT-28, C134: a clock ahead by the lifetime drops everything, one behind by the time in the queue nothing.
#[test]
fn a_skewed_clock_expires_too_much_or_nothing() {
    let seconds = |s: i64| s * 1_000_000_000;
    for (skew, arrive) in [(seconds(5), 0), (seconds(-30), 40), (0, 16)] {
        let policy = Policy { skew, ..fixed(0.9) };
        let mut b = bench(config(11_000, 0.3, Some(100_000), None), &[(0.0, 20.0)], policy);
        ticker(&mut b, 5);
        let arrived = b.arrived().len();
        if skew == 0 {
            assert!((8..40).contains(&arrived), "{arrived} of 40, about {arrive}");
        } else {
            assert_eq!(arrived, arrive, "skew {skew}");
        }
    }
}

/// AT-21, AT-22: checked at the head the queue keeps expired packets and drops a valid one at its tail; checked whole it
/// makes room. The margin of the path is its arithmetic.
#[test]
fn sweeping_the_queue_makes_room_for_valid_packets() {
    for (check, expected) in [(Check::Head, vec![1, 6]), (Check::Queue, vec![1, 5, 6])] {
        let policy = Policy { check, ..fixed(0.0) };
        let mut b = bench(config(8_000, 0.0, None, Some(3)), &[], policy);
        b.put(s(0.0), living(1, 3000, 10.0));
        for i in 2..=4 {
            b.put(s(0.0), living(i, 1000, 1.0));
        }
        b.put(s(2.0), living(5, 1000, 10.0));
        b.put(s(4.5), living(6, 1000, 10.0));
        assert_eq!(b.arrivals().iter().map(|a| a.1).collect::<Vec<_>>(), expected, "{check}");
    }
    let rest = RemainingPath { delay: span(0.5), per_byte_ns: 2e6 };
    let policy = Policy { margin: Margin::Path(vec![rest; 4]), ..Policy::default() };
    let mut b = bench(config(8_000, 0.5, None, None), &[], policy);
    // 1000 bytes need 0.5 + 2 s: 2.4 s of life are too short, 2.6 s are not.
    b.put(s(0.0), living(1, 1000, 2.4));
    b.put(s(10.0), living(2, 1000, 2.6));
    assert_eq!(b.arrivals().iter().map(|a| a.1).collect::<Vec<_>>(), [2]);
}

/// AT-12: the packet behind dropped ones reports that they expired, and only that one.
#[test]
fn the_next_packet_carries_the_expiry() {
    let policy = Policy { signals: true, ..fixed(0.0) };
    let mut b = bench(config(8_000, 0.0, None, None), &[(0.0, 5.0)], policy);
    b.put(s(0.0), living(1, 1000, 2.0));
    b.put(s(0.0), living(2, 1000, 2.0));
    b.put(s(1.0), living(3, 1000, 20.0));
    b.put(s(1.0), living(4, 1000, 20.0));
    let arrived = b.arrived();
    let flags: Vec<(u32, bool)> =
        arrived.iter().map(|(_, p)| (p.ordinal, p.flags.has(Flags::EXPIRED))).collect();
    assert_eq!(flags, [(3, true), (4, false)]);
}

/// AT-23, AT-27: expired packets go last, whole or as headers.
#[test]
fn expired_packets_are_demoted_or_cut() {
    for (expired, sizes) in [(Expired::Demote, [500, 1000]), (Expired::Headers, [500, 40])] {
        let policy = Policy { expired, ..fixed(0.0) };
        let mut b = bench(config(8_000, 0.0, None, None), &[(0.0, 5.0)], policy);
        b.put(s(0.0), living(1, 1000, 2.0));
        b.put(s(1.0), living(2, 500, 20.0));
        let arrived = b.arrived();
        assert_eq!(arrived.iter().map(|(_, p)| p.ordinal).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(arrived.iter().map(|(_, p)| p.size).collect::<Vec<_>>(), sizes);
        assert_eq!(arrived[1].1.flags.has(Flags::STUB), expired == Expired::Headers);
        assert!(b.is_conserved());
    }
}

fn of_unit(ordinal: u32, unit: u16, last: bool, seconds: f64) -> Packet {
    let p = living(ordinal, 1000, seconds);
    let flags = p.flags.with(Flags::WHOLE).with(if last { Flags::LAST } else { Flags::default() });
    Packet { unit, flags, ..p }
}

/// AT-24: one fragment lost for want of room takes the rest of its unit with it; a sender that retransmits keeps them.
#[test]
fn a_unit_that_lost_a_fragment_is_dropped_whole() {
    for (whole, expected) in [(true, vec![1, 4, 5]), (false, vec![1, 2, 4, 5])] {
        let policy = Policy { units: Units::Drop, ..fixed(0.0) };
        let mut b = bench(config(8_000, 0.0, None, Some(1)), &[], policy);
        let cut = |p: Packet| if whole { p } else { Packet { flags: Flags::DATA, ..p } };
        b.put(s(0.0), cut(of_unit(1, 1, false, 60.0)));
        b.put(s(0.1), cut(of_unit(2, 1, false, 60.0)));
        b.put(s(0.2), cut(of_unit(3, 1, true, 60.0))); // no room
        b.put(s(3.0), cut(of_unit(4, 2, false, 60.0)));
        b.put(s(3.1), cut(of_unit(5, 2, true, 60.0)));
        assert_eq!(b.arrivals().iter().map(|a| a.1).collect::<Vec<_>>(), expected);
        assert!(b.is_conserved());
    }
}

/// AT-25: no fragment leaves before the last one is there; a unit that never gets whole expires.
#[test]
fn a_unit_is_collected_before_it_is_sent() {
    let policy = Policy { units: Units::Collect, ..fixed(0.0) };
    let mut b = bench(config(8_000, 0.0, None, None), &[], policy);
    b.put(s(0.0), of_unit(1, 1, false, 60.0));
    b.put(s(4.0), of_unit(2, 1, true, 60.0));
    b.put(s(20.0), of_unit(3, 2, false, 5.0));
    assert_eq!(b.arrivals(), [(s(5.0), 1), (s(6.0), 2)]);
    assert!(b.is_conserved());
}

/// AT-26: the earliest deadline first, or the most important class; AT-40: the least important makes room.
#[test]
fn scheduling_and_overflow_follow_deadline_and_class() {
    let policy = Policy { order: Order::EarliestDeadline, ..fixed(0.0) };
    let mut b = bench(config(8_000, 0.0, None, None), &[], policy);
    for (i, life) in [(1, 50.0), (2, 40.0), (3, 20.0), (4, 30.0)] {
        b.put(s(0.0), living(i, 1000, life));
    }
    assert_eq!(b.arrivals().iter().map(|a| a.1).collect::<Vec<_>>(), [1, 3, 4, 2]);
    let policy = Policy { order: Order::Priority, overflow: Overflow::LeastImportant, ..fixed(0.0) };
    let mut b = bench(config(8_000, 0.0, None, Some(2)), &[], policy);
    for (i, class) in [(1, 2), (2, 2), (3, 1), (4, 0), (5, 2)] {
        b.put(s(0.0), Packet { class, ..living(i, 1000, 50.0) });
    }
    assert_eq!(b.arrivals().iter().map(|a| a.1).collect::<Vec<_>>(), [1, 4, 3]);
    assert!(b.is_conserved());
}

/// AT-37: while the rate is poor a packet waits for a better one, as long as its deadline allows.
#[test]
fn packets_are_held_for_better_radio_while_the_deadline_allows() {
    let steps = vec![(s(0.0), Rate::from_bps(1_000)), (s(20.0), Rate::from_bps(80_000))];
    let policy = Policy { hold_below_bps: 10_000, ..fixed(0.0) };
    let mut c = config(0, 0.0, None, None);
    c.capacity = Capacity::Steps { steps, period: None };
    let mut b = bench(c.clone(), &[], policy.clone());
    b.put(s(0.0), living(1, 1000, 60.0));
    assert_eq!(b.arrivals(), [(s(20.1), 1)]);
    // 8 s of transmission at the poor rate: the latest start for a deadline of 12 s is 4 s.
    let mut b = bench(c, &[], policy);
    b.put(s(0.0), living(1, 1000, 12.0));
    assert_eq!(b.arrivals(), [(s(12.0), 1)]);
}

fn traffic() -> impl Strategy<Value = Vec<(u16, u16, u16, u8, u8)>> {
    prop::collection::vec((0_u16..2000, 1_u16..1500, 1_u16..8000, 0_u8..3, 0_u8..5), 1..120)
}

fn send(b: &mut Bench, traffic: &[(u16, u16, u16, u8, u8)], lives: bool) {
    let mut at = Time::ZERO;
    for (i, &(gap, size, life, class, unit)) in traffic.iter().enumerate() {
        at += Span::from_millis(u64::from(gap));
        let p = packet(i as u32 + 1, u32::from(size));
        let lives = if lives { u32::from(life) * 1000 } else { Packet::ALWAYS };
        let flags = if unit % 2 == 0 { p.flags.with(Flags::LAST) } else { p.flags.with(Flags::WHOLE) };
        b.put(at, Packet { lives, class, unit: u16::from(unit), flags, ..p });
    }
}

proptest! {
    /// Without lifetimes the router is the plain link, to the nanosecond.
    #[test]
    fn without_deadlines_it_is_the_plain_link(t in traffic(), limit in 1_u32..20, from in 0.0..60.0_f64, length in 0.0..20.0_f64) {
        let c = config(30_000, 0.3, None, Some(limit));
        let closed = [(from, from + length)];
        let mut ours = bench(c.clone(), &closed, Policy::default());
        let gates = gates(&closed);
        let mut plain = Bench::chain(vec![Box::new(move |n| n.add(Link::new(c, gates)))]).start();
        send(&mut ours, &t, false);
        send(&mut plain, &t, false);
        prop_assert_eq!(ours.arrivals(), plain.arrivals());
    }

    /// Whatever the policy, no packet is lost from the books, and with the check nothing starts that has expired.
    #[test]
    fn packets_are_conserved_and_none_is_late(
        t in traffic(), limit in 1_u32..20, from in 0.0..60.0_f64, length in 0.0..20.0_f64,
        check in 1_usize..3, expired in 0_usize..3, order in 0_usize..3, units in 0_usize..3, overflow in 0_usize..2, hold in 0_u64..2,
    ) {
        let rest = RemainingPath { delay: span(0.3), per_byte_ns: 8e9 / 30_000.0 };
        let policy = Policy {
            check: Check::ALL[check], expired: Expired::ALL[expired], order: Order::ALL[order], units: Units::ALL[units],
            overflow: Overflow::ALL[overflow], margin: Margin::Path(vec![rest; 4]), signals: true,
            hold_below_bps: hold * 40_000, ..Policy::default()
        };
        let demotes = policy.expired != Expired::Drop;
        let mut b = bench(config(30_000, 0.3, None, Some(limit)), &[(from, from + length)], policy);
        send(&mut b, &t, true);
        let arrived = b.arrived();
        prop_assert!(b.is_conserved());
        if !demotes {
            let late: Vec<_> = arrived.iter().filter(|(t, p)| *t > p.deadline() + Span::from_nanos(2000)).collect();
            prop_assert!(late.is_empty(), "{late:?}");
        }
    }
}
