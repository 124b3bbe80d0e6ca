//! Polls of downlink TBFs: which are answered, on which timeslots, how many may stay without an answer.

mod common;

use base::event::{Event, TbfStep};
use base::{Span, Time};
use common::{Bench, permanent};
use radio::cell::config::{CellConfig, UserConfig};
use radio::cell::element;
use radio::quality::{Source, Steps};
use radio::rlc::poll::Policy;

fn one(user: UserConfig) -> CellConfig {
    CellConfig::of(vec![user])
}

/// Blocks of the mobile by block period, and reports of downlink data: tick, from the trace.
fn uplink(b: &Bench) -> (Vec<u64>, Vec<u64>) {
    let tick = |t: Time| t.as_nanos() / radio::tdma::BLOCK.as_nanos();
    let (mut blocks, mut reports) = (Vec::new(), Vec::new());
    for record in b.network.records() {
        match record.event {
            Event::RadioBlock { up: true, .. } => blocks.push(tick(record.t)),
            Event::RadioReport { up: false, .. } => reports.push(tick(record.t)),
            _ => {}
        }
    }
    (blocks, reports)
}

/// 44.060 section 10.4.5: a mobile answers the polls that it decodes, and no others.
#[test]
fn polls_that_do_not_arrive_are_not_answered() {
    let mut user = permanent(1);
    // Every block is lost from 5 s to 9 s; the queue never runs dry.
    let all_lost = Steps(vec![(0, 0.0), (250, 1.0), (450, 0.0)]);
    user.down.quality = Source::Recorded(all_lost);
    user.n3105 = u32::MAX;
    let mut b = Bench::new(&one(user));
    (0..40).for_each(|_| b.down(0.0, 500));
    b.run(40.0);
    assert_eq!(b.got(element::down(0)).len(), 40);
    let (_, reports) = uplink(&b);
    // A poll of the last good block is answered up to six block periods later.
    assert_eq!(reports.iter().filter(|t| (257..=452).contains(*t)).count(), 0, "{reports:?}");
    assert!(reports.iter().any(|t| *t < 250) && reports.iter().any(|t| *t > 452));
}

/// GP-04: a mobile of class 4 sends on one timeslot, data or a report, never both in one block period; class 10 on two.
#[test]
fn gp_04_a_mobile_sends_on_no_more_timeslots_than_its_class() {
    for (class, down, up) in [(4, 3, 1), (8, 4, 1), (10, 3, 2), (6, 2, 2)] {
        let mut user = UserConfig::new("phone");
        user.class = radio::mac::multislot::of(class).unwrap();
        (user.down.slots, user.up.slots) = (down, up);
        for d in [&mut user.down, &mut user.up] {
            d.policy = Policy::Every { n: 7 };
            d.quality = Source::Constant { data: 0.1, control: 0.02 };
        }
        user.tbf.hold_down = Span::from_secs(1);
        let mut b = Bench::new(&one(user));
        for i in 0..60 {
            b.down(f64::from(i) * 0.3, 1480);
            b.up(f64::from(i) * 0.3, 700);
        }
        b.run(200.0);
        assert!(b.got(element::down(0)).len() == 60 && b.got(element::up(0)).len() == 60);
        let (mut blocks, reports) = uplink(&b);
        assert!(reports.len() > 50, "{}", reports.len());
        blocks.sort_unstable();
        let most = blocks.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap();
        assert_eq!(most, usize::from(up), "class {class}");
    }
}

/// N3105: the poll that reaches the limit is the last one, as in osmo-pcu (docs/pcu-agreement.md).
#[test]
fn n3105_counts_to_its_limit() {
    for n3105 in [1, 8, 12] {
        let mut user = UserConfig::new("phone");
        (user.n3105, user.tbf.hold_down) = (n3105, Span::ZERO);
        // No report arrives.
        user.up.quality = Source::Constant { data: 0.0, control: 1.0 };
        let mut b = Bench::new(&one(user));
        b.down(0.0, 100);
        b.run(n3105 as f64 * 2.0 + 4.0);
        let lost = b.network.records().iter().find_map(|r| match r.event {
            Event::Tbf { step: TbfStep::Lost, up: false, .. } => Some(r.t),
            _ => None,
        });
        let lost = lost.expect("the TBF is lost");
        let answers = b
            .network
            .records()
            .iter()
            .filter(|r| r.t < lost && matches!(r.event, Event::RadioReport { up: false, .. }));
        assert_eq!(answers.count() as u32, n3105);
    }
}
