//! Restarts of network elements: what each of them loses, who waits, counters, events (WL-14).

mod common;

use base::Span;
use base::dist::Dist;
use base::event::{CellStep, Event};
use common::{Bench, permanent, s};
use radio::bssgp::Bucket;
use radio::cell::config::{CellConfig, NetworkElement, PcuSite, Restart, RestartTimes, UserConfig};
use radio::cell::element;

/// A cell in which an element restarts for 3 s from `at` seconds on.
fn restarting(element: NetworkElement, pcu_at: PcuSite, at: f64, users: Vec<UserConfig>) -> CellConfig {
    let restart = Restart {
        name: "crash".into(),
        element,
        times: RestartTimes::Listed(vec![s(at)]),
        lasts: Dist::Constant(3e9),
    };
    CellConfig { pcu_at, restarts: vec![restart], ..CellConfig::of(users) }
}

fn one() -> UserConfig {
    let mut user = permanent(1);
    user.llc.n201 = 1520;
    user
}

/// Downlink packets that arrived, packets lost in the restart.
fn lost(config: &CellConfig) -> (Bench, usize, u64) {
    let mut b = Bench::new(config);
    // 500 octets each, 17 blocks of 20 ms: the PCU has the first ten until 3.4 s.
    (0..10).for_each(|_| b.down(0.0, 489));
    b.down(3.0, 489);
    b.down(6.0, 489);
    b.run(20.0);
    assert!(b.conserved());
    let (got, counts) = (b.got(element::down(0)), b.cell().counts(0).unwrap());
    assert!(got.iter().all(|(at, _)| *at < 2.2 || *at > 5.2), "{got:?}");
    assert_eq!(got.len() as u64 + counts.down.restarted, 12);
    (b, got.len(), counts.down.restarted)
}

/// WL-14: a PCU that restarts loses its queue and what comes meanwhile; then data flow again.
#[test]
fn wl_14_a_pcu_loses_its_queue_and_all_tbfs() {
    let config = restarting(NetworkElement::Pcu, PcuSite::Bsc, 2.2, vec![one()]);
    let (b, got, lost) = lost(&config);
    // Six packets have arrived by 2.1 s; all others but the one after the restart are lost.
    assert_eq!((got, lost), (7, 5));
    let counts = b.cell().counts(0).unwrap();
    assert_eq!((counts.restarts, counts.restart_time), ([1, 0, 0], 3_000_000_000));
    assert_eq!((counts.changes, counts.calls, counts.down.flushed), (0, 0, 0));
    assert_eq!((counts.down.lost_tbfs, counts.up.lost_tbfs), (1, 1));
    let steps: Vec<(f64, CellStep)> = b
        .network
        .records()
        .iter()
        .filter_map(|r| match r.event {
            Event::Mobility { step, .. } => Some((r.t.as_secs_f64(), step)),
            _ => None,
        })
        .collect();
    assert_eq!(steps, [(2.2, CellStep::PcuRestart), (5.2, CellStep::Restarted)]);
}

/// WL-14: a BSC takes the PCU with it only if that is a part of it. Otherwise the queue of the PCU stays, and what the
/// BSC carries is LLC frames to a base station, which are lost, or radio blocks, which wait.
#[test]
fn wl_14_a_bsc_takes_its_own_pcu_with_it() {
    let with = |pcu_at| {
        let (b, _, lost) = lost(&restarting(NetworkElement::Bsc, pcu_at, 2.2, vec![one()]));
        assert_eq!(b.cell().counts(0).unwrap().restarts, [0, 1, 0]);
        lost
    };
    assert_eq!([PcuSite::Bsc, PcuSite::Bts, PcuSite::Sgsn].map(with), [5, 1, 0]);
}

/// WL-14: an SGSN loses what it holds and what comes; the PCU goes on with its queue.
#[test]
fn wl_14_an_sgsn_loses_its_queue() {
    let mut user = one();
    // One packet of 500 octets each 0.5 s; five have passed by 2.2 s.
    user.sgsn.bucket = Some(Bucket { size: 500, leak: base::Rate::from_bps(8000) });
    let mut b = Bench::new(&restarting(NetworkElement::Sgsn, PcuSite::Bsc, 2.2, vec![user]));
    (0..10).for_each(|_| b.down(0.0, 489));
    // Up, the frame that is whole before the restart passes, the one within is lost, the one behind passes.
    b.up(0.5, 489);
    b.down(3.0, 489);
    b.up(3.0, 489);
    b.down(6.0, 489);
    b.up(6.0, 489);
    b.run(20.0);
    assert!(b.conserved());
    let counts = b.cell().counts(0).unwrap();
    assert_eq!(b.got(element::down(0)).len(), 6);
    assert_eq!((counts.down.restarted, counts.up.restarted), (6, 1));
    assert_eq!(b.got(element::up(0)).iter().map(|(_, id)| *id).collect::<Vec<_>>(), [11, 15]);
    assert_eq!((counts.restarts, counts.down.lost_tbfs), ([0, 0, 1], 0));
}

/// WL-14: uplink data wait in the terminal for the end of the restart. All mobiles of the cell notice it; only those in use
/// count it.
#[test]
fn wl_14_uplink_data_wait_in_the_terminal() {
    let mut other = one();
    other.name = "other".into();
    let mut b = Bench::new(&restarting(NetworkElement::Pcu, PcuSite::Bsc, 40.0, vec![one(), other]));
    // The first one is under way when the restart begins.
    b.up(39.9, 489);
    b.up(40.5, 489);
    b.run(60.0);
    let got = b.got(element::up(0));
    assert_eq!(got.iter().map(|(_, id)| *id).collect::<Vec<_>>(), [1, 2]);
    assert!(got.iter().all(|(at, _)| (43.0..44.0).contains(at)), "{got:?}");
    assert_eq!([0, 1].map(|m| b.cell().counts(m).unwrap().restarts[0]), [1, 0]);
}

/// WL-14: restarts by a distribution come again and again, and each one lasts as drawn.
#[test]
fn wl_14_drawn_restarts() {
    let mut config = restarting(NetworkElement::Pcu, PcuSite::Bsc, 2.2, vec![one()]);
    config.restarts[0].times = RestartTimes::Every(Dist::Exponential(20e9));
    config.restarts[0].lasts = Dist::Constant(2e9);
    let mut b = Bench::new(&config);
    (0..2000).for_each(|i| b.down(f64::from(i), 100));
    b.run(2000.0);
    let counts = b.cell().counts(0).unwrap();
    // A restart each 22 s in the mean, 2 s long: in a share of 1/11 of the time packets are lost.
    let restarts = counts.restarts[0] as f64;
    assert!((restarts - 2000.0 / 22.0).abs() < 30.0, "{restarts}");
    let mean = Span::from_nanos(counts.restart_time).as_secs_f64() / restarts;
    assert!((mean - 2.0).abs() < 0.02, "{mean}");
    let lost = counts.down.restarted as f64;
    assert!((lost / restarts - 2.0).abs() < 0.35, "{lost} in {restarts}");
}
