//! Queue stages: credit between them, and changes of state at one instant.

mod common;

use base::dist::{Dist, Sampler};
use base::packet::{Flags, Packet};
use base::{Span, Time};
use common::{Bench, Builder, SEED, always, order, packet, plain, s, span};
use path::Signal;
use path::channel::class::ClassConfig;
use path::channel::credit::Credit;
use path::channel::error::{ErrorProcess, ErrorRate, Errors, Mode};
use path::channel::follow::{Flush, Follower, Service, StateParameters};
use path::channel::{Channel, ChannelConfig};
use path::qdisc::{FifoConfig, Room};
use path::states::{MachineState, Plan, StateMachine};
use proptest::prelude::*;
use std::sync::Arc;

fn stage(config: ChannelConfig) -> Builder {
    Box::new(|network| network.add(Channel::new(config)))
}

fn holding(n: u32) -> Vec<ClassConfig> {
    let room = Room { packets: Some(n), bytes: None };
    vec![ClassConfig { queue: FifoConfig { room, ..FifoConfig::default() }.into(), ..ClassConfig::default() }]
}

/// SW-21: a fast stage before a slow one with room for three. Without credit most are lost there; with a window of
/// three none is, and they wait in the first stage.
#[test]
fn sw_21_a_full_stage_stops_the_one_before() {
    for window in [None, Some(3)] {
        let fast = ChannelConfig { credit: window.map(|n| Credit::new(n, Span::ZERO)), ..plain(80_000) };
        let slow = ChannelConfig { classes: holding(3), grants: window.is_some(), ..plain(8_000) };
        let mut b = Bench::chain(vec![stage(fast), stage(slow)]).start();
        for i in 1..=20 {
            b.send(0.0, i, 1000);
        }
        b.network.run_until(s(5.0));
        let before = b.network.element::<Channel>(b.chain[0]).map(path::Element::holds);
        let arrivals = b.arrivals();
        if window.is_some() {
            // 0.1 s to the second stage, then one a second: it is never without.
            let expected: Vec<(Time, u32)> = (1..=20).map(|i| (s(0.1 + f64::from(i)), i)).collect();
            assert_eq!(arrivals, expected);
            assert_eq!(
                before,
                Some(20 - 5 - 3),
                "at 5 s five are in or through service and three wait there"
            );
        } else {
            assert!(arrivals.len() < 8, "{}", arrivals.len());
        }
        assert!(b.is_conserved());
    }
}

/// SW-21: credit that takes a while bounds the rate to a window a round trip.
#[test]
fn sw_21_credit_takes_its_time() {
    let first = ChannelConfig { credit: Some(Credit::new(2, span(0.7))), delay: span(0.3), ..plain(800_000) };
    let second = ChannelConfig { grants: true, ..plain(800_000) };
    let mut b = Bench::chain(vec![stage(first), stage(second)]).start();
    for i in 1..=41 {
        b.send(0.0, i, 1000);
    }
    // Two every 10 ms + 0.3 s + 0.7 s: the last begins 20 windows after the first.
    let last = b.arrivals().last().unwrap().0;
    assert_eq!(last, s(20.0 * 1.01 + 0.01 + 0.3 + 0.01));
}

/// SW-20, SW-21: three stages in series, the last the slowest: it stops the second, the second the first.
#[test]
fn sw_20_a_pipeline_is_stopped_from_its_end() {
    let with = |bps, window: Option<u32>, grants| ChannelConfig {
        credit: window.map(|n| Credit::new(n, Span::ZERO)),
        classes: holding(2),
        grants,
        ..plain(bps)
    };
    let stages = [with(80_000, Some(2), false), with(40_000, Some(2), true), with(8_000, None, true)];
    let mut b = Bench::chain(stages.into_iter().map(stage).collect()).start();
    for i in 1..=12 {
        b.send(0.0, i, 1000);
    }
    let arrivals = b.arrivals();
    assert_eq!(order(&arrivals), [1, 2, 3], "the first has room for two beside the one in service");
    // Accepted packets continue without a loss; all losses were at the entry.
    assert_eq!(b.network.ledgers()[0].queue_drops, 9);
}

proptest! {
    /// SW-21: whatever comes and whatever the errors, credit is not lost and not made: with a window that fits into the
    /// next queue nothing overflows there, and everything that is not lost on the air arrives.
    #[test]
    fn sw_21_credit_is_conserved(
        sends in proptest::collection::vec((0u64..300, 40u32..1500, any::<bool>()), 1..80),
        window in 1u32..5,
        delay_ms in 0u64..300,
        p in 0.0f64..0.5,
    ) {
        let noise = Errors::new(ErrorProcess::Steady(ErrorRate::Frame(p)), Mode::Drop, SEED.stream("n", "error"));
        let first = ChannelConfig {
            credit: Some(Credit::new(window, Span::from_millis(delay_ms))),
            errors: vec![noise],
            delay: span(0.05),
            ..plain(80_000)
        };
        let second = ChannelConfig { classes: holding(window), grants: true, ..plain(20_000) };
        let mut b = Bench::chain(vec![stage(first), stage(second)]).start();
        let mut at = 0;
        for (i, (gap, size, _)) in sends.iter().enumerate() {
            at += gap;
            b.send(at as f64 / 1000.0, i as u32 + 1, *size);
        }
        let arrived = b.arrivals().len();
        let ledger = &b.network.ledgers()[0];
        prop_assert_eq!(ledger.queue_drops, 0);
        prop_assert_eq!(arrived + ledger.other_drops as usize, sends.len());
        prop_assert!(b.is_conserved());
    }
}

fn state(name: &str, lasts: Option<f64>, next: usize, pause: Option<f64>) -> MachineState {
    let constant = |x: Option<f64>| x.map(|x| Dist::Constant(x * 1e9));
    MachineState {
        name: name.into(),
        lasts: constant(lasts),
        next: vec![(next, 1.0)],
        pause: constant(pause),
    }
}

fn follower(states: Vec<MachineState>, settings: Vec<StateParameters>) -> Follower {
    let plan = Plan { name: "mobility".into(), states, first: 0, script: Vec::new() };
    Follower::new(0, StateMachine::new(Arc::new(plan), SEED), settings)
}

fn constant(x: f64) -> Sampler {
    Sampler::new(Dist::Constant(x), SEED.stream("x", "constant"))
}

fn rate(bps: u64) -> StateParameters {
    StateParameters { rate: Some(constant(bps as f64)), ..StateParameters::default() }
}

fn sent(config: ChannelConfig, times: &[f64]) -> Bench {
    let mut b = Bench::of(config).start();
    for (i, at) in times.iter().enumerate() {
        b.send(*at, i as u32 + 1, 1000);
    }
    b
}

/// SW-42: a state's rate catches the frame in service with the bytes it still has to send; rate 0 freezes it.
#[test]
fn sw_42_a_state_changes_the_rate_under_a_packet() {
    let states = vec![
        state("fast", Some(0.5), 1, None),
        state("frozen", Some(4.0), 2, None),
        state("slow", None, 0, None),
    ];
    let followers = vec![follower(states, vec![StateParameters::default(), rate(0), rate(4_000)])];
    let mut b = sent(ChannelConfig { followers, ..plain(8_000) }, &[0.0, 0.0]);
    // Half of it by 0.5 s, nothing until 4.5 s, the rest and the second at half the rate.
    assert_eq!(b.arrivals(), [(s(5.5), 1), (s(7.5), 2)]);
}

/// SW-40, SW-42: a state that holds, one that drops.
#[test]
fn sw_40_states_hold_or_drop() {
    for (service, expected) in [
        (Service::Hold, vec![(s(1.0), 1), (s(11.0), 2), (s(12.0), 3), (s(13.0), 4)]),
        (Service::Drop, vec![(s(1.0), 1), (s(13.0), 4)]),
    ] {
        let states = vec![
            state("good", Some(0.5), 1, None),
            state("gone", Some(9.5), 2, None),
            state("back", None, 0, None),
        ];
        let gone = StateParameters { service, ..StateParameters::default() };
        let followers =
            vec![follower(states, vec![StateParameters::default(), gone, StateParameters::default()])];
        let mut b = sent(ChannelConfig { followers, ..plain(8_000) }, &[0.0, 0.1, 5.0, 12.0]);
        assert_eq!(b.arrivals(), expected);
        assert!(b.is_conserved());
    }
}

/// SW-41: a handover: at one instant another rate and delay, half a second of silence, and what waits is lost.
#[test]
fn sw_41_a_handover_changes_many_things_at_once() {
    let states = vec![state("old", Some(2.5), 1, None), state("new", None, 0, Some(0.5))];
    let new = StateParameters {
        rate: Some(constant(16_000.0)),
        delay: Some(always(0.1)),
        flush: Flush::Waiting,
        ..StateParameters::default()
    };
    let followers = vec![follower(states, vec![StateParameters::default(), new])];
    let mut b =
        sent(ChannelConfig { followers, delay: span(0.3), ..plain(8_000) }, &[0.0, 0.0, 0.0, 0.0, 0.0, 2.6]);
    // The third is in service at 2.5 s with half to go: at the new rate 0.25 s, and it is on the way as it began.
    assert_eq!(b.arrivals(), [(s(1.3), 1), (s(2.3), 2), (s(3.05), 3), (s(3.6), 6)]);
    assert!(b.is_conserved());
}

/// SW-41: and everything on the link is lost.
#[test]
fn sw_41_a_handover_may_lose_what_is_under_way() {
    let states = vec![state("old", Some(2.4), 1, None), state("new", None, 0, None)];
    let new = StateParameters { flush: Flush::All, ..StateParameters::default() };
    let followers = vec![follower(states, vec![StateParameters::default(), new])];
    let config = ChannelConfig { followers, delay: span(0.5), ..plain(8_000) };
    let mut b = sent(config, &[0.0, 0.0, 0.0, 0.0, 2.4, 2.5]);
    assert_eq!(b.arrivals(), [(s(1.5), 1), (s(3.9), 5), (s(4.9), 6)]);
    assert!(b.is_conserved());
}

/// SW-42: errors by state, those of the case study: 1 % for 40 s, then 10 %.
#[test]
fn sw_42_errors_follow_the_state() {
    let with = |p: f64, name: &str| StateParameters {
        errors: Some(Errors::new(
            ErrorProcess::Steady(ErrorRate::Frame(p)),
            Mode::Drop,
            SEED.stream(name, "error"),
        )),
        ..StateParameters::default()
    };
    let states = vec![state("good", Some(40.0), 1, None), state("bad", None, 0, None)];
    let followers = vec![follower(states, vec![with(0.01, "good"), with(0.1, "bad")])];
    let mut b = Bench::of(ChannelConfig { followers, ..plain(8_000_000) }).start();
    for i in 1..=80_000u32 {
        b.send(f64::from(i) * 1e-3, i, 500);
    }
    let arrivals = b.arrivals();
    let good = arrivals.iter().filter(|a| a.1 < 40_000).count() as f64 / 40_000.0;
    let bad = arrivals.iter().filter(|a| a.1 >= 40_000).count() as f64 / 40_000.0;
    assert!((good - 0.99).abs() < 0.003 && (bad - 0.9).abs() < 0.006, "{good} {bad}");
}

/// SW-42, SW-43: two stages follow one machine; a trigger reaches both at once, and everything due before it is done
/// before. Replayed from the record, it gives equal results.
#[test]
fn sw_43_a_trigger_changes_all_stages_at_once() {
    let states = || vec![state("good", None, 0, None), state("poor", Some(3.0), 0, None)];
    let run = |by_hand: bool| {
        let stages = (0..2).map(|_| {
            let script = if by_hand { Vec::new() } else { vec![(s(2.25), 1)] };
            let plan = Plan { name: "mobility".into(), states: states(), first: 0, script };
            let machine = StateMachine::new(Arc::new(plan), SEED);
            let settings = vec![StateParameters::default(), rate(1_000)];
            let followers = vec![Follower::new(0, machine, settings)];
            stage(ChannelConfig { followers, ..plain(8_000) })
        });
        let mut b = Bench::chain(stages.collect());
        for &id in &b.chain {
            b.network.lend("mobility.poor", id, Signal::State { machine: 0, state: 1 });
        }
        b = b.start();
        for i in 1..=6 {
            b.send(0.0, i, 1000);
        }
        if by_hand {
            assert!(b.network.trigger(s(2.25), "mobility.poor"));
            assert!(!b.network.trigger(s(2.25), "mobility.worse"));
        }
        let arrivals = b.arrivals();
        (arrivals, b.network.triggers().done().map(|(t, n)| (t, n.to_owned())).collect::<Vec<_>>())
    };
    let (by_hand, done) = run(true);
    assert_eq!(done, [(s(2.25), "mobility.poor".to_owned())]);
    // The second is in service at the second stage, the third at the first; both lose 3 s less the eighth they get.
    assert_eq!(&by_hand[..2], [(s(2.0), 1), (s(5.625), 2)]);
    assert_eq!(run(false).0, by_hand);
}

/// SW-42: an idle link does not keep the network awake, and knows the state when a packet comes.
#[test]
fn an_idle_link_follows_without_waking() {
    let states = vec![state("a", Some(1.0), 1, None), state("b", Some(1.0), 0, None)];
    let followers = vec![follower(states, vec![rate(8_000), rate(4_000)])];
    let mut b = Bench::of(ChannelConfig { followers, ..plain(1) }).start();
    assert_eq!(b.network.next_wake(), None);
    b.send(1001.0, 1, 250);
    b.send(1002.0, 2, 250);
    assert_eq!(b.arrivals(), [(s(1001.5), 1), (s(1002.25), 2)]);
    assert_eq!(b.network.next_wake(), None);
}

/// SW-45: delays drawn by state.
#[test]
fn a_state_draws_its_delay() {
    let drawn = StateParameters {
        delay: Some(Sampler::new(Dist::Uniform(1e9, 2e9), SEED.stream("x", "delay"))),
        ..StateParameters::default()
    };
    let followers = vec![follower(vec![state("a", None, 0, None)], vec![drawn])];
    let times: Vec<f64> = (0..200).map(|i| f64::from(i) * 5.0).collect();
    let mut b = sent(ChannelConfig { followers, ..plain(8_000) }, &times);
    let took: Vec<f64> =
        b.arrivals().iter().zip(&times).map(|((t, _), at)| t.as_secs_f64() - at - 1.0).collect();
    assert!(took.iter().all(|d| (1.0..2.0).contains(d)));
    let mean = took.iter().sum::<f64>() / 200.0;
    assert!((mean - 1.5).abs() < 0.07, "{mean}");
}

/// SW-45: a state draws its rate each time it is entered, and keeps it as long as it lasts.
#[test]
fn a_state_draws_its_rate() {
    let drawn = StateParameters {
        rate: Some(Sampler::new(Dist::Uniform(8e3, 16e3), SEED.stream("x", "rate"))),
        ..StateParameters::default()
    };
    let followers = vec![follower(vec![state("a", Some(10.0), 0, None)], vec![drawn])];
    let times: Vec<f64> = (0..400).map(|i| f64::from(i / 2) * 10.0 + f64::from(i % 2) * 4.0 + 1.0).collect();
    let mut b = sent(ChannelConfig { followers, ..plain(1_000) }, &times);
    let arrivals = b.arrivals();
    let rates: Vec<f64> =
        arrivals.iter().zip(&times).map(|((t, _), at)| 8_000.0 / (t.as_secs_f64() - at)).collect();
    assert!(rates.iter().all(|rate| (7_999.0..16_001.0).contains(rate)));
    assert!(rates.chunks(2).all(|pair| (pair[0] - pair[1]).abs() < 0.01), "the same within a stay");
    assert!(
        rates.windows(2).skip(1).step_by(2).all(|pair| (pair[0] - pair[1]).abs() > 1e-3),
        "another in the next"
    );
    let mean = rates.iter().sum::<f64>() / 400.0;
    assert!((mean - 12_000.0).abs() < 500.0, "{mean}");
}

/// SW-45: a state draws how likely frames are wrong.
#[test]
fn a_state_draws_its_share_of_errors() {
    let drawn = Sampler::new(Dist::Uniform(0.0, 0.5), SEED.stream("x", "probability"));
    let process = ErrorProcess::Drawn(drawn, 0.0);
    let errors = Some(Errors::new(process, Mode::Drop, SEED.stream("x", "error")));
    let drawn = StateParameters { errors, ..StateParameters::default() };
    let followers = vec![follower(vec![state("a", Some(1.0), 0, None)], vec![drawn])];
    let times: Vec<f64> = (0..40_000).map(|i| f64::from(i) * 1e-3 + 5e-4).collect();
    let mut b = sent(ChannelConfig { followers, ..plain(80_000_000) }, &times);
    let mut lost = [1000i32; 40];
    for (_, ordinal) in b.arrivals() {
        lost[(ordinal as usize - 1) / 1000] -= 1;
    }
    let mean = f64::from(lost.iter().sum::<i32>()) / 40_000.0;
    assert!((0.18..0.32).contains(&mean), "{mean}");
    // By chance alone a stay would be within 0.04 of the mean: three deviations of 1000 frames.
    let far = lost.iter().filter(|n| (f64::from(**n) / 1000.0 - mean).abs() > 0.06).count();
    assert!(far > 20, "{far} of 40 stays have a share of their own");
}

/// SW-49: virtual packets neither spend credit nor give it.
#[test]
fn sw_49_background_load_leaves_credit_alone() {
    let first = ChannelConfig { credit: Some(Credit::new(1, Span::ZERO)), ..plain(80_000) };
    let second = ChannelConfig { grants: true, classes: holding(50), ..plain(8_000) };
    let mut b = Bench::chain(vec![stage(first), stage(second)]).start();
    for i in 1..=30 {
        let flags = if i % 3 == 0 { Flags::DATA } else { Flags::VIRTUAL };
        b.put(s(0.0), Packet { flags, ..packet(i, 1000) });
    }
    assert_eq!(b.arrivals().len(), 30);
    assert!(b.is_conserved());
}
