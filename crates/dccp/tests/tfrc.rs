//! TFRC against tables made by hand (RFC 5348 sections 3.1, 5.4) and against its own rules.

use base::{Span, Time};
use dccp::tfrc::history::WEIGHTS;
use dccp::tfrc::{Arrival, Feedback, LossHistory, Receiver, Sender, SenderConfig, equation};
use proptest::prelude::*;

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

/// RT-06: the equation for s = 1000 B and R = 0.1 s, worked out by hand with ten digits.
///
/// p = 0.01: sqrt(0.02/3) = 0.0816496581; 12 sqrt(0.03/8) 0.01 1.0032 = 0.0073719807; X = 1000 / (0.1 * 0.0890216388).
#[test]
fn the_equation_agrees_with_hand_made_values_to_six_digits() {
    let table = [(0.01, 112_332.234), (0.1, 17_701.020_8), (0.000_1, 1_223_643.59), (1.0, 41.098_818_8)];
    for (p, by_hand) in table {
        let x = equation::throughput(1000.0, 0.1, p);
        assert!((x / by_hand - 1.0).abs() < 1e-6, "{p}: {x} against {by_hand}");
    }
}

/// RT-06: equal intervals average to themselves; the newest four weigh 1, then 0.8, 0.6, 0.4, 0.2.
#[test]
fn loss_intervals_are_weighted_as_in_section_5_4() {
    assert_eq!(WEIGHTS, [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]);
    let mut history = LossHistory::new(false);
    history.set(1, &[100.0; 8]);
    assert!((history.rate() - 0.01).abs() < 1e-12);
    // By hand: (10 + 20 + 30 + 40 + 0.8 50 + 0.6 60 + 0.4 70 + 0.2 80) / 6 = 220 / 6 = 36.666667.
    history.set(1, &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]);
    assert!((history.mean().unwrap() - 36.666_667).abs() < 1e-6);
    // An open interval of 200: (200 + 10 + 20 + 30 + 0.8 40 + 0.6 50 + 0.4 60 + 0.2 70) / 6 = 360 / 6 = 60.
    history.set(200, &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]);
    assert!((history.mean().unwrap() - 60.0).abs() < 1e-6);
    // Three intervals: (10 + 20 + 30) / 3 = 20, and with an open one of 40: (40 + 10 + 20) / 3 = 23.333333.
    history.set(40, &[10.0, 20.0, 30.0]);
    assert!((history.mean().unwrap() - 23.333_333).abs() < 1e-6);
}

/// Section 5.5 by hand: mean 100, open 800, DF = 200 / 800 = 0.25:
/// (800 + 0.25 (3 100 + 0.8 100 + 0.6 100 + 0.4 100 + 0.2 100)) / (1 + 0.25 5) = 925 / 2.25 = 411.111111.
#[test]
fn a_long_open_interval_discounts_the_others() {
    let mut history = LossHistory::new(true);
    history.set(800, &[100.0; 8]);
    assert!((history.mean().unwrap() - 411.111_111).abs() < 1e-6);
}

/// Losses within one round trip are one event; the event's interval counts from its first lost packet.
#[test]
fn losses_of_one_round_trip_are_one_event() {
    let rtt = Span::from_millis(100);
    let mut history = LossHistory::new(false);
    for seq in 0..1000_u64 {
        if [100, 103, 500].contains(&seq) {
            continue;
        }
        history.on_packet(ms(10 * seq), seq, rtt, false, || 50.0);
    }
    assert_eq!((history.events(), history.lost()), (2, 3));
    assert_eq!(history.intervals().collect::<Vec<_>>(), [400.0, 50.0]);
    assert_eq!(history.open_interval(), Some(500));
}

/// Two packets that overtake are no loss; three later ones are (NDUPACK).
#[test]
fn reordering_by_less_than_three_is_no_loss() {
    let rtt = Span::from_millis(1);
    let mut history = LossHistory::new(false);
    for (i, seq) in [0, 1, 3, 4, 2, 5, 6, 7, 8].into_iter().enumerate() {
        history.on_packet(ms(i as u64), seq, rtt, false, || 50.0);
    }
    assert_eq!(history.events(), 0);
    for (i, seq) in [10, 11, 12].into_iter().enumerate() {
        history.on_packet(ms(20 + i as u64), seq, rtt, false, || 50.0);
    }
    assert_eq!(history.events(), 1);
}

/// RFC 4342 section 6.1.1: packets without data are no loss, whether they arrive or an NDP Count tells of them, and no part of
/// loss intervals.
#[test]
fn packets_without_data_are_no_losses() {
    let rtt = Span::from_millis(100);
    let mut history = LossHistory::new(false);
    // Of each ten numbers the last three carry no data: 7 arrives, 8 is lost, 9 arrives with a count of two or is lost too.
    for seq in 0..3000_u64 {
        let (place, block) = (seq % 10, seq / 10);
        if place == 8 || place == 9 && block % 2 == 0 || [1000, 2000].contains(&seq) {
            continue;
        }
        let ndp = match place {
            0 if block > 0 => 3,
            9 => 2,
            _ => 0,
        };
        let arrival = Arrival { seq, ndp, dataless: place >= 7, ..Arrival::default() };
        history.on_arrival(ms(10 * seq), arrival, rtt, || 50.0);
    }
    assert_eq!(history.events(), 2);
    assert_eq!(history.intervals().collect::<Vec<_>>(), [700.0, 50.0]);
    // 1000 numbers from 2000 on, and 3 in 10 of them carry no data.
    let open = history.open_interval().unwrap();
    assert!((699..=703).contains(&open), "{open}");
}

/// A packet without data that arrives late, or of which a late packet tells, fills the gap.
#[test]
fn a_late_ndp_count_fills_the_gap() {
    let rtt = Span::from_millis(1);
    let mut history = LossHistory::new(false);
    let arrive = |history: &mut LossHistory, at: u64, seq: u64, ndp: u64| {
        history.on_arrival(ms(at), Arrival { seq, ndp, ..Arrival::default() }, rtt, || 50.0)
    };
    for (at, (seq, ndp)) in [(0, 0), (1, 0), (5, 0), (4, 2), (6, 0), (7, 0), (8, 0)].into_iter().enumerate() {
        assert!(!arrive(&mut history, at as u64, seq, ndp), "{seq}");
    }
    // Without the count of packet 4 the numbers 2 and 3 would be lost.
    assert_eq!((history.events(), history.lost()), (0, 0));
}

/// RT-07: without reports the rate halves again and again, down to a packet in 64 s.
#[test]
fn silence_slows_the_sender_gradually() {
    let mut sender = Sender::new(SenderConfig::default());
    sender.on_send(ms(0), true);
    let report = |sent, rate| Feedback { sent, held: Span::ZERO, rate, loss: 0.0 };
    sender.on_feedback(ms(100), &report(ms(0), 0.0));
    assert!((sender.rate() - 40_000.0).abs() < 1.0, "4 packets of 1000 bytes in 0.1 s: {}", sender.rate());
    let mut before = sender.rate();
    for _ in 0..30 {
        let at = sender.next_timeout();
        sender.on_send(at, true);
        sender.on_timeout(at);
        assert!(sender.rate() >= before / 2.0 - 1e-9 && sender.rate() <= before);
        before = sender.rate();
    }
    assert!((sender.rate() - 1000.0 / 64.0).abs() < 1e-9);
}

/// Slow start doubles at most once per round trip, and never beyond twice the received rate.
#[test]
fn slow_start_is_bounded_by_the_receive_rate() {
    let mut sender = Sender::new(SenderConfig::default());
    sender.on_send(ms(0), true);
    sender.on_feedback(ms(100), &Feedback { sent: ms(0), held: Span::ZERO, rate: 0.0, loss: 0.0 });
    sender.on_blocked(ms(150));
    sender.on_feedback(ms(200), &Feedback { sent: ms(100), held: Span::ZERO, rate: 30_000.0, loss: 0.0 });
    assert!((sender.rate() - 60_000.0).abs() < 1.0, "{}", sender.rate());
}

proptest! {
    /// The inverse gives back the loss rate.
    #[test]
    fn the_inverse_inverts(p in 1e-7..1.0_f64, rtt in 0.001..5.0_f64) {
        let rate = equation::throughput(1460.0, rtt, p);
        let back = equation::loss_rate(1460.0, rtt, rate);
        prop_assert!((back / p - 1.0).abs() < 1e-6);
    }

    /// Whatever arrives, the rate of loss events stays between 0 and 1 and no more events begin than packets are lost
    /// or marked.
    #[test]
    fn a_history_survives_any_arrivals(steps in prop::collection::vec((0_u64..400, 0_u64..50, any::<bool>()), 1..300)) {
        let mut receiver = Receiver::new(true);
        let mut now = Time::ZERO;
        let mut marks = 0;
        for (seq, gap, marked) in steps {
            now += Span::from_millis(gap);
            receiver.on_packet(now, seq, 500, now, Span::from_millis(20), marked);
            marks += u64::from(marked);
            if let Some(report) = receiver.report(now) {
                prop_assert!((0.0..=1.0).contains(&report.loss) && report.rate >= 0.0);
            }
        }
        let history = receiver.history();
        prop_assert!(history.events() <= history.lost() + marks);
    }

    /// Whatever is reported, the rate stays finite, positive, and at least a packet in 64 s.
    #[test]
    fn a_sender_survives_any_reports(steps in prop::collection::vec((0_u64..3000, 0.0..1e6_f64, 0.0..1.0_f64, 0_u8..4), 1..200)) {
        let mut sender = Sender::new(SenderConfig::default());
        let mut now = Time::ZERO;
        for (gap, rate, loss, kind) in steps {
            let before = now;
            now += Span::from_millis(gap);
            match kind {
                0 => sender.on_send(now, true),
                1 => sender.on_blocked(now),
                2 => sender.on_timeout(now),
                _ => sender.on_feedback(now, &Feedback { sent: before, held: Span::ZERO, rate, loss }),
            }
            prop_assert!(sender.rate().is_finite() && sender.rate() >= 1000.0 / 64.0 - 1e-9);
        }
    }
}
