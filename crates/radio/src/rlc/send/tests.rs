//! Tests of the RLC sender, mostly against the receiver over a channel with deterministic losses.

use super::*;
use crate::rlc::receive::{Receiver, Report};
use base::rng::Seed;
use proptest::prelude::*;

fn sender(rules: SendOptions) -> Sender<u32> {
    Sender::new(Numbering::GPRS, Mode::Acknowledged, rules)
}

/// GP-11: the 65th block is not sent before a report arrives.
#[test]
fn gp_11_the_window_stalls_at_the_65th_block() {
    let mut s = sender(SendOptions { preemptive: false, ..SendOptions::default() });
    s.feed.push(30 * 100, 0);
    let sent = (0..100).filter(|t| s.next(*t, Scheme::Cs2, false).is_some()).count();
    assert_eq!(sent, 64);
    assert!(s.is_stalled() && s.counts().stalled == 36);
}

/// GP-16: without new data the sender retransmits unacknowledged blocks cyclically, unless pre-emptive retransmission
/// is disabled.
#[test]
fn gp_16_idle_retransmission_cycles() {
    let mut s = sender(SendOptions::default());
    s.feed.push(90, 0);
    let order: Vec<(Bsn, Reason)> =
        (0..7).filter_map(|t| s.next(t, Scheme::Cs2, true)).map(|b| (b.first.bsn, b.first.reason)).collect();
    use Reason::{Idle, New};
    assert_eq!(order, [(0, New), (1, New), (2, New), (0, Idle), (1, Idle), (2, Idle), (0, Idle)]);
    assert!(s.next(8, Scheme::Cs2, false).is_none());
}

/// GP-17: a report sent before the retransmission arrives does not cause a second retransmission.
#[test]
fn gp_17_hold_off_suppresses_repeats() {
    for (hold_off, repeated) in [(0, 2), (8, 1)] {
        let mut s = sender(SendOptions { hold_off, ..SendOptions::default() });
        let mut r = Receiver::new(Numbering::GPRS, Mode::Acknowledged, false);
        s.feed.push(30 * 20, 0);
        for t in 0..20 {
            let b = s.next(t, Scheme::Cs2, false).unwrap().first;
            if b.bsn != 3 {
                r.take(b.bsn, b.part, b.last);
            }
        }
        s.on_report(&r.report(), 20);
        assert_eq!(s.next(21, Scheme::Cs2, false).map(|b| b.first.bsn), Some(3));
        s.on_report(&r.report(), 24);
        s.next(25, Scheme::Cs2, false);
        assert_eq!(s.counts().missing, repeated);
    }
}

/// Old and forged reports change no block outside of V(A) to V(S).
#[test]
fn reports_from_elsewhere_are_harmless() {
    let mut s = sender(SendOptions::default());
    s.feed.push(3000, 0);
    (0..10).for_each(|t| _ = s.next(t, Scheme::Cs2, false));
    let forged = Report { complete: 5000, end: 9000, received: Bits::new(64), last: true };
    let heard = s.on_report(&forged, 10);
    assert_eq!((heard.acknowledged, s.va(), s.vs()), (10, 10, 10));
    let wide = Report { complete: 0, end: 12, received: Bits::new(1024), last: false };
    s.next(11, Scheme::Cs2, false);
    assert_eq!(s.on_report(&wide, 12).acknowledged, 0);
}

/// EG-10: MCS-9 carries two blocks; a single missing block is retransmitted with MCS-6, or in halves with
/// MCS-3.
#[test]
fn eg_10_two_blocks_and_halves() {
    let rules = SendOptions { preemptive: false, hold_off: 0, resegment: true };
    let mut s: Sender<u32> = Sender::new(Numbering::egprs(192), Mode::Acknowledged, rules);
    let mut r = Receiver::new(Numbering::egprs(192), Mode::Acknowledged, true);
    s.feed.push(74 * 6, 0);
    let first = s.next(0, Scheme::Mcs9, false).unwrap();
    assert_eq!((first.first.bsn, first.second.map(|u| u.bsn)), (0, Some(1)));
    r.take(0, BlockPart::Whole, false);
    let second = s.next(1, Scheme::Mcs9, false).unwrap();
    second.units().for_each(|u| _ = r.take(u.bsn, u.part, u.last));
    s.on_report(&r.report(), 5);
    let again = s.next(6, Scheme::Mcs2, false).unwrap();
    assert_eq!((again.scheme, again.first.bsn, again.first.part), (Scheme::Mcs3, 1, BlockPart::First));
    r.take(1, BlockPart::First, false);
    let half = s.next(7, Scheme::Mcs2, false).unwrap();
    assert_eq!((half.first.bsn, half.first.part), (1, BlockPart::Second));
    assert_eq!(r.take(1, BlockPart::Second, false).complete, 4);
    assert!(!s.has_work() || s.feed.has_data());
}

#[test]
fn a_block_missing_alone_goes_with_mcs_6() {
    let mut s: Sender<u32> = Sender::new(
        Numbering::egprs(64),
        Mode::Acknowledged,
        SendOptions { preemptive: false, ..SendOptions::default() },
    );
    s.feed.push(74 * 2, 0);
    let pair = s.next(0, Scheme::Mcs9, false).unwrap();
    assert!(pair.second.is_some_and(|u| u.last) && !pair.first.last);
    let mut r = Receiver::new(Numbering::egprs(64), Mode::Acknowledged, false);
    r.take(1, BlockPart::Whole, true);
    s.on_report(&r.report(), 1);
    let alone = s.next(2, Scheme::Mcs9, false).unwrap();
    assert_eq!((alone.scheme, alone.first.bsn, alone.second), (Scheme::Mcs6, 0, None));
}

/// Transfers over a channel with block loss probability `loss`. Reports are sent every `every` blocks, arrive after
/// `delay` ticks and are lost with the same probability.
fn transfer(
    sizes: &[u32],
    scheme: Scheme,
    window: u32,
    loss: f64,
    seed: u64,
) -> (Vec<usize>, u64, SendCounts) {
    let numbering = if scheme.is_egprs() { Numbering::egprs(window) } else { Numbering::GPRS };
    let mut s: Sender<usize> = Sender::new(
        numbering,
        Mode::Acknowledged,
        SendOptions { preemptive: true, hold_off: 0, resegment: true },
    );
    let mut r = Receiver::new(numbering, Mode::Acknowledged, scheme.is_egprs());
    sizes.iter().enumerate().for_each(|(i, n)| s.feed.push(*n, i));
    let mut chance = Seed { seed, repetition: 0 }.stream("rlc", "loss");
    let mut reports: Vec<(Tick, Report)> = Vec::new();
    let mut got = Vec::new();
    for now in 0..200_000 {
        if let Some(at) = reports.iter().position(|(t, _)| *t <= now) {
            let (_, report) = reports.remove(at);
            if s.on_report(&report, now).all {
                return (got, u64::from(now), s.counts());
            }
        }
        let wanted = if scheme.is_egprs() && now % 7 == 0 { Scheme::Mcs1 } else { scheme };
        if let Some(block) = s.next(now, wanted, true) {
            for unit in block.units() {
                if chance.uniform() >= loss {
                    let taken = r.take(unit.bsn, unit.part, unit.last);
                    s.feed.deliver(taken.complete, |i| got.push(i));
                }
            }
        }
        if now % 10 == 9 && chance.uniform() >= loss {
            reports.push((now + 6, r.report()));
        }
    }
    (got, 200_000, s.counts())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// GP-08, GP-09: every PDU is delivered once and in order, under any loss.
    #[test]
    fn gp_08_everything_arrives_once_and_in_order(
        sizes in proptest::collection::vec(1u32..1600, 1..12),
        scheme in 0usize..13,
        window in 64u32..1024,
        loss in 0.0f64..0.6,
        seed in any::<u64>(),
    ) {
        let (got, ticks, _) = transfer(&sizes, Scheme::ALL[scheme], window, loss, seed);
        prop_assert!(ticks < 200_000, "it ends");
        prop_assert_eq!(got, (0..sizes.len()).collect::<Vec<_>>());
    }
}

/// Efficiency of selective repeat without stalls, the ratio of new blocks to blocks sent, is 1 - p.
#[test]
fn efficiency_of_selective_repeat_is_one_less_the_error_rate() {
    for loss in [0.02, 0.1, 0.2] {
        let mut s = sender(SendOptions { preemptive: false, hold_off: 2, resegment: false });
        let mut r = Receiver::new(Numbering::GPRS, Mode::Acknowledged, false);
        let mut chance = Seed { seed: 1, repetition: 0 }.stream("rlc", "loss");
        (0..2000).for_each(|i| s.feed.push(1500, i));
        for now in 0..60_000 {
            if let Some(block) = s.next(now, Scheme::Cs2, false)
                && chance.uniform() >= loss
            {
                r.take(block.first.bsn, block.first.part, block.first.last);
                s.feed.deliver(r.vq(), |_| ());
            }
            if now % 4 == 3 {
                s.on_report(&r.report(), now);
            }
        }
        let counts = s.counts();
        let efficiency = counts.new as f64 / (counts.new + counts.missing) as f64;
        assert!((efficiency - (1.0 - loss)).abs() < 0.005, "{efficiency} at {loss}");
    }
}
