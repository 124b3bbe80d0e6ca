//! Tests of unneeded segments on links: the share for each link and for each flow, against the events of the
//! run.

mod common;

use base::Time;
use base::event::Event;
use base::packet::DropReason;
use common::metric;
use lab::once::{Options, RunOutcome, run_once};
use scenario::Model;
use scenario::metric::Metric;
use std::collections::BTreeSet;

fn play(model: &Model) -> RunOutcome {
    run_once(model, 0, Options { trace: true, shuffle_ties: None })
}

/// Bulk data for 60 s over a link with pauses.
fn paused(queue: &str, spikes: &str) -> Model {
    let text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "400 kbit/s"
        delay = "200 ms"
        queue = {{ down = {queue}, up = "unlimited" }}
        [[hop.gate]]
        name = "pause"
        spikes = {spikes}
        [[flow]]
        name = "f"
        from = "server"
        to = "phone"
        transport = {{ tcp = {{ mss = "960 B", timestamps = false, recovery = "newreno", window = "200 segments", delayed-ack.timer = "0 s" }} }}
        app = {{ bulk = {{ lasts = "60 s" }} }}
        [run]
        limit = "60 s"
        "#
    );
    testkit::model::<&str>(&text, &[])
}

/// The share of the link that went to segments sent without need (TA-12).
#[test]
fn the_share_of_unneeded_segments_is_told() {
    let outcome = play(&paused("\"unlimited\"", r#"[["10 s", "5 s"]]"#));
    let (unneeded, sent) =
        (metric(&outcome, 0, Metric::UnneededRetransmissions), metric(&outcome, 0, Metric::SegmentsSent));
    assert!(unneeded > 0.0);
    assert_eq!(metric(&outcome, 0, Metric::UnneededLinkRatio), unneeded / sent);
}

/// A copy that the flow's own queue dropped did not reach the link (TA-12).
#[test]
fn ta_12_what_a_queue_dropped_is_no_share_of_the_link() {
    let outcome = play(&paused(
        "{ drop-tail = { limit = \"12 packets\" } }",
        r#"[["10 s", "5 s"], ["25 s", "6 s"], ["42 s", "7 s"]]"#,
    ));
    let records = outcome.world.network.records();
    let full = |r: &base::event::Record| match r.event {
        Event::Dropped { packet, reason: DropReason::QueueFull, .. } => Some(packet),
        _ => None,
    };
    let queued: BTreeSet<u64> = records.iter().filter_map(full).collect();
    let again = outcome.world.network.ledgers()[0].verdicts();
    let ordinals = records.iter().filter_map(|r| match r.event {
        Event::DataSent { packet, .. } => Some(packet),
        _ => None,
    });
    let dropped: BTreeSet<u32> =
        (1..).zip(ordinals).filter(|(_, packet)| queued.contains(packet)).map(|(n, _)| n).collect();
    let carried = again.iter().filter(|v| v.unneeded && !dropped.contains(&v.ordinal)).count();
    let unneeded = again.iter().filter(|v| v.unneeded).count();
    assert!(0 < carried && carried < unneeded, "{carried} of {unneeded}");
    let reached = metric(&outcome, 0, Metric::SegmentsSent) - dropped.len() as f64;
    assert_eq!(metric(&outcome, 0, Metric::UnneededLinkRatio), carried as f64 / reached);
}

/// TA-12: load of each of several links, against the events of the run; a copy dropped by the first queue does not
/// count for the second link.
#[test]
fn ta_12_the_share_of_unneeded_segments_of_each_link() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "core"
        between = ["server", "gateway"]
        rate = "300 kbit/s"
        delay = "20 ms"
        queue = { drop-tail = { limit = "1 packets" } }
        [[hop.loss]]
        name = "fibre"
        directions = "down"
        probability = 0.05
        [[hop]]
        name = "radio"
        between = ["gateway", "phone"]
        rate = "200 kbit/s"
        delay = "200 ms"
        queue = { drop-tail = { limit = "20 packets" } }
        [[hop.gate]]
        name = "pause"
        spikes = [["6 s", "5 s"], ["30 s", "6 s"], ["60 s", "6 s"], ["90 s", "6 s"], ["120 s", "6 s"], ["150 s", "6 s"], ["180 s", "6 s"], ["210 s", "6 s"]]
        [[hop.loss]]
        name = "air"
        directions = "down"
        probability = 0.02
        [[flow]]
        name = "f"
        from = "server"
        to = "phone"
        transport = { tcp = { mss = "960 B", recovery = "newreno" } }
        app = { bulk = { bytes = "3 MB" } }
        [run]
        limit = "3000 s"
        links = true
        "#;
    let model = testkit::model::<&str>(text, &[]);
    let outcome = play(&model);
    let (tables, all) = (
        lab::system::tables::rows(&model, &outcome.world, Time::ZERO + model.run.limit),
        lab::system::tables::all(),
    );
    let at = all.iter().position(|t| t.name == "links").unwrap();
    let names: Vec<&str> = tables[at].iter().map(|r| r.0.as_str()).collect();
    assert_eq!(names, ["core.down", "core.up", "radio.down", "radio.up"]);
    let get = |link: &str, column: &str| {
        let row = tables[at].iter().find(|r| r.0 == link).unwrap();
        row.1[all[at].columns.iter().position(|c| c.name == column).unwrap()].unwrap()
    };
    let sent = metric(&outcome, 0, Metric::SegmentsSent);
    assert_eq!(get("core.down", "segments_reached"), sent);
    let records = outcome.world.network.records();
    let data: BTreeSet<u64> = records
        .iter()
        .filter_map(|r| if let Event::DataSent { packet, .. } = r.event { Some(packet) } else { None })
        .collect();
    let delivered = |link: &str| {
        let of = outcome.world.names.iter().position(|n| n == link).unwrap();
        let by = |r: &&base::event::Record| {
            r.source.0 as usize == of
                && matches!(r.event, Event::Delivered { packet } if data.contains(&packet))
        };
        records.iter().filter(by).count() as f64
    };
    for link in ["core.down", "radio.down"] {
        let carried = get(link, "segments_carried");
        assert_eq!(carried, delivered(link), "{link}");
        assert_eq!(get(link, "unneeded_carried_ratio"), get(link, "unneeded_carried") / carried, "{link}");
    }
    let passed_on = get("core.down", "segments_carried") - get("core.down", "segments_lost");
    assert_eq!(get("radio.down", "segments_reached"), passed_on);
    assert!(get("core.down", "segments_queue_dropped") > 0.0 && get("radio.down", "segments_lost") > 0.0);
    let unneeded = metric(&outcome, 0, Metric::UnneededRetransmissions);
    let of = |link| get(link, "unneeded_carried");
    assert!(of("core.down") <= unneeded && of("radio.down") > 0.0);
    assert!(
        of("radio.down") < of("core.down"),
        "some end before it: {}, {}",
        of("radio.down"),
        of("core.down")
    );
    // The way back carries acknowledgements alone.
    assert_eq!(get("radio.up", "segments_reached"), 0.0);
}
