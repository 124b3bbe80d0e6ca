//! Tests of whole SCTP transfers over the network: set-up, loss, shutdown, messages, streams, partial
//! reliability.

mod common;

use base::Span;
use base::event::{Category, Event};
use base::truth::Cause;
use common::{Way, lab, recorded};
use sctp::Config;
use sctp::association::State;
use transport::app::{Bulk, Sink, Socket as _};

fn bulk(bytes: u64) -> [Box<dyn transport::app::App>; 2] {
    [Box::new(Bulk::new(Some(bytes), None)), Box::new(Sink::new(Some(bytes)))]
}

fn way() -> Way {
    Way::of(1_000_000, Span::from_millis(50))
}

/// SC-01: set-up, data and shutdown.
#[test]
fn a_transfer_ends_with_a_shutdown_and_nothing_is_left() {
    let mut l = lab(&Config::default(), &[way()], 1, bulk(100_000));
    l.run(60.0);
    assert_eq!(l.receiver().received(), 100_000);
    assert_eq!(l.sender().acknowledged(), 100_000);
    assert_eq!((l.sender().state(), l.receiver().state()), (State::Closed, State::Closed));
    let done = l.host(l.to).finished().unwrap();
    // Two round trips for the set-up, then 100 kB with headers at 1 Mbit/s with slow start.
    assert!(done > common::secs(0.8) && done < common::secs(2.0), "{done:?}");
    assert_eq!(l.network.ledgers()[0].verdicts(), []);
    assert_eq!((l.network.bodies(), l.network.packets_inside()), (0, 0));
}

/// SC-06: gap reports repair a loss before T3-rtx expires.
#[test]
fn one_lost_chunk_is_repaired_by_a_fast_retransmit() {
    let lossy = Way { loses: vec![(20, 20)], ..way() };
    let mut l = lab(&Config::default(), &[lossy], 1, bulk(200_000));
    l.run(60.0);
    assert_eq!(l.receiver().received(), 200_000);
    assert_eq!(l.sender().counts().fast_retransmits, 1);
    assert_eq!(l.sender().counts().timeouts, 0);
    let verdicts = l.network.ledgers()[0].verdicts();
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    assert!(verdicts[0].cause == Cause::Fast && !verdicts[0].unneeded);
}

#[test]
fn a_flight_without_its_tail_is_repaired_by_the_timer() {
    let lossy = Way { loses: vec![(1, 3)], ..way() };
    let mut l = lab(&Config::default(), &[lossy], 1, bulk(4_000));
    l.run(60.0);
    assert_eq!(l.receiver().received(), 4_000);
    assert!(l.sender().counts().timeouts >= 1);
    assert!(l.network.ledgers()[0].verdicts().iter().all(|v| !v.unneeded));
}

/// SC-03: go-back-N after a spurious timeout.
#[test]
fn a_delay_spike_makes_a_spurious_timeout_and_go_back_n_that_the_peer_reports() {
    let config = Config { spurious: sctp::config::Spurious::DuplicateTsn, ..Config::default() };
    let spike = Way {
        pause: Some((common::secs(1.0), common::secs(4.0))),
        ..Way::of(400_000, Span::from_millis(100))
    };
    let mut l = lab(&config, &[spike], 1, bulk(400_000));
    l.run(120.0);
    assert_eq!(l.receiver().received(), 400_000);
    let verdicts = l.network.ledgers()[0].verdicts();
    let spurious = verdicts.iter().filter(|v| v.unneeded).count();
    assert!(spurious > 0 && l.receiver().counts().duplicates >= spurious as u64);
    let said = l.records().iter().any(|r| matches!(r.event, Event::Verdict { spurious: true, .. }));
    assert!(said, "the duplicate report is a verdict");
}

#[test]
fn heavy_loss_delays_and_stops_nothing() {
    for seed in 0..12 {
        let lossy = Way { loss: 0.15, ..way() };
        let mut l = lab(&Config::default(), &[lossy], seed, bulk(60_000));
        l.run(3000.0);
        assert_eq!(l.receiver().received(), 60_000, "seed {seed}");
        assert_eq!((l.network.bodies(), l.network.packets_inside()), (0, 0));
    }
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let run = || {
        let mut l = lab(&Config::default(), &[Way { loss: 0.1, ..way() }], 7, bulk(80_000));
        l.run(600.0);
        (l.host(l.from).counters(), l.host(l.to).counters(), l.host(l.to).finished())
    };
    assert_eq!(run(), run());
}

#[test]
fn a_lost_init_is_repeated_after_the_initial_timeout_and_given_up_in_the_end() {
    let deaf = Way { loss: 1.0, ..way() };
    let mut l = recorded(&Config::default(), &[deaf], 1, bulk(1000), &[Category::Packets]);
    l.run(1000.0);
    let sent = l.network.tracer().take_sightings();
    let times: Vec<f64> = sent.iter().filter(|s| s.source.0 == l.from.0).map(|s| s.t.as_secs_f64()).collect();
    assert_eq!(times.len(), 9, "INIT and Max.Init.Retransmits = 8 more: {times:?}");
    assert!(
        times.windows(2).take(5).enumerate().all(|(i, w)| (w[1] - w[0] - f64::from(1 << i)).abs() < 1e-9)
    );
    assert!(l.sender().closed());
}
