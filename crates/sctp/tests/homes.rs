//! Tests of SCTP multihoming (RFC 9260 sections 5.4, 6.4, 8): heartbeats, failover and return (SC-05).

mod common;

use base::Span;
use common::{Way, lab, secs};
use sctp::Config;
use sctp::path::Reachability;
use transport::app::{Bulk, Sink, Socket as _};

fn apps(bytes: Option<u64>) -> [Box<dyn transport::app::App>; 2] {
    [Box::new(Bulk::new(bytes, None)), Box::new(Sink::new(bytes))]
}

fn two(primary: Way) -> [Way; 2] {
    [primary, Way::of(500_000, Span::from_millis(80))]
}

fn good() -> Way {
    Way::of(500_000, Span::from_millis(40))
}

/// SC-05: heartbeats.
#[test]
fn an_idle_path_is_confirmed_and_then_tested_once_per_interval() {
    let mut l = lab(&Config::default(), &two(good()), 3, apps(None));
    l.run(310.0);
    let sender = l.sender();
    assert!(sender.paths().iter().all(|path| path.reach == Reachability::Active));
    let counts = sender.counts();
    // One heartbeat for confirmation, then one every 30 s plus 0.5 to 1.5 RTO.
    assert!((9..=11).contains(&counts.heartbeats), "{counts:?}");
    assert_eq!(counts.heartbeats, counts.heartbeats_acked);
    assert_eq!(counts.failovers, 0);
}

/// Section 8.2: the path becomes inactive when its errors exceed Path.Max.Retrans; each error takes one RTO,
/// doubled each time.
#[test]
fn failover_takes_no_longer_than_the_sum_of_the_timeouts() {
    for most in [0, 1, 2, 3, 5] {
        // A small window, so that the queue adds little to the RTT.
        let config = Config { path_max_retransmissions: most, window: 8_000, ..Config::default() };
        let broken = Way { pause: Some((secs(10.0), secs(100_000.0))), ..good() };
        let mut l = lab(&config, &two(broken), 3, apps(None));
        let mut at = None;
        for step in 100..6000 {
            l.run(f64::from(step) / 10.0);
            if l.sender().counts().failovers > 0 {
                at = Some(f64::from(step) / 10.0);
                break;
            }
        }
        let took = at.expect("it fails over") - 10.0;
        let before_failover = l.sender().counts().heartbeats;
        // RTO.Min is 1 s here, and the timer may have just been started: at most 1, 2, 4 ... 60 s for each
        // error.
        let bound: f64 = (0..=most).map(|n| f64::from(1u32 << n).min(60.0)).sum::<f64>() + 1.0;
        assert!(took <= bound, "Path.Max.Retrans {most}: {took} s, bound {bound} s");
        assert!(took >= bound / 2.0 - 1.5, "Path.Max.Retrans {most}: {took} s is too soon");
        let before = l.receiver().received();
        l.run(1300.0);
        assert!(l.receiver().received() > before + 1_000_000, "data flow by the other path");
        // The inactive path is probed once per HB.interval (30 s) plus RTO, which soon is 60 s, with a jitter
        // of 0.5 to 1.5 RTO. None of these heartbeats is acknowledged.
        let counts = l.sender().counts();
        let (tests, answered) = (counts.heartbeats - before_failover, counts.heartbeats_acked);
        let expected = (1300.0 - 10.0 - took) / 90.0;
        println!(
            "Path.Max.Retrans {most}: failover after {took:.1} s, bound {bound:.0} s; {before_failover} heartbeats before it, \
             {tests} to the inactive path in {:.0} s (about {expected:.1}), {answered} answered in all",
            1290.0 - took
        );
        assert!((tests as f64 - expected).abs() < 0.35 * expected + 3.0, "{tests} {expected}");
        assert!(answered <= before_failover, "{counts:?}");
        assert_eq!(l.sender().paths()[0].reach, Reachability::Inactive);
    }
}

#[test]
fn a_path_that_comes_back_is_used_again() {
    let config = Config { path_max_retransmissions: 1, ..Config::default() };
    let broken = Way { pause: Some((secs(10.0), secs(60.0))), ..good() };
    let mut l = lab(&config, &two(broken), 3, apps(None));
    l.run(40.0);
    assert_eq!(l.sender().paths()[0].reach, Reachability::Inactive);
    l.run(200.0);
    assert_eq!(l.sender().paths()[0].reach, Reachability::Active);
    assert_eq!(l.sender().counts().failovers, 2);
}

#[test]
fn a_transfer_over_two_lossy_paths_is_whole_and_judged_in_one_ledger() {
    let ways = two(Way { loss: 0.05, ..good() });
    let mut l = lab(&Config::default(), &ways, 5, apps(Some(200_000)));
    l.run(2000.0);
    assert_eq!(l.receiver().received(), 200_000);
    let verdicts = l.network.ledgers()[0].verdicts();
    assert!(verdicts.iter().filter(|v| !v.unneeded).count() > 0);
    assert_eq!((l.network.bodies(), l.network.packets_inside()), (0, 0));
}

#[test]
fn an_unreachable_peer_is_given_up_after_association_max_retransmissions() {
    let config = Config { association_max_retransmissions: 4, heartbeat: None, ..Config::default() };
    let broken = Way { pause: Some((secs(5.0), secs(100_000.0))), ..good() };
    let mut l = lab(&config, &[broken], 3, apps(None));
    l.run(300.0);
    assert!(l.sender().closed());
    assert_eq!(l.sender().counts().timeouts, 5);
}
