//! Closed forms of the network's optimisations: backlog of a queue, duration of stale data, datagrams under a
//! congestion manager, and waiting packets at a handover.

mod common;

use base::Time;
use base::event::{Event, Record};
use base::packet::DropReason;
use common::metric;
use lab::once::{Options, RunOutcome, run_once};
use scenario::metric::Metric;

fn play(text: &str, set: &[&str]) -> RunOutcome {
    run_once(&testkit::model(text, set), 0, Options { trace: true, shuffle_ties: None })
}

/// Records of the link toward the phone.
fn radio(outcome: &RunOutcome) -> impl Iterator<Item = &Record> {
    let link = outcome.world.names.iter().position(|name| name == "radio.down").unwrap() as u32;
    outcome.world.network.records().iter().filter(move |r| r.source.0 == link)
}

/// A hop of 400 kbit/s and 200 ms each way, and downloads of packets of 1000 bytes over it.
fn downloads(windows: &[u32], more: &str) -> String {
    let mut text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "400 kbit/s"
        delay = "200 ms"
        queue = "unlimited"
        {more}
        [run]
        limit = "60 s"
        "#
    );
    for (i, window) in windows.iter().enumerate() {
        text.push_str(&format!(
            r#"
            [[flow]]
            name = "f{i}"
            from = "server"
            to = "phone"
            start = "{} ms"
            transport = {{ tcp = {{ mss = "960 B", timestamps = false, window = "{window} segments", delayed-ack.timer = "0 s" }} }}
            app = {{ bulk = {{ lasts = "60 s" }} }}
            "#,
            100 * i
        ));
    }
    text
}

/// Queue = sum of the windows less the bandwidth-delay product: 20 ms a packet, and 0.4 s of propagation, an acknowledgement
/// of 0.8 ms and a packet in service hold 21.04 of them; one that comes finds the others (CM-09).
#[test]
fn the_queue_is_the_windows_less_the_product() {
    for windows in [&[30][..], &[40], &[20, 25], &[15, 20, 30]] {
        let outcome = play(&downloads(windows, ""), &[]);
        let waiting: Vec<f64> = radio(&outcome)
            .filter(|r| r.t > Time::from_secs_f64(30.0))
            .filter_map(|r| match r.event {
                Event::Enqueued { waiting, .. } => Some(f64::from(waiting)),
                _ => None,
            })
            .collect();
        let mean = waiting.iter().sum::<f64>() / waiting.len() as f64;
        let expected = f64::from(windows.iter().sum::<u32>()) - 1.0 - 21.04;
        assert!((mean - expected).abs() < 1.0, "{windows:?}: {mean} {expected}");
    }
}

/// Stale seconds = bytes / rate: the backlog at the abort of a program keeps the link busy for this time (QM-09,
/// C136). The window of 40 kB less the data in flight is known beforehand, too.
#[test]
fn stale_data_come_for_their_bytes_by_the_rate() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "core"
        between = ["server", "node"]
        rate = "10 Mbit/s"
        delay = "20 ms"
        [[hop]]
        name = "radio"
        between = ["node", "phone"]
        rate = "20 kbit/s"
        delay = "150 ms"
        queue = "unlimited"
        [[flow]]
        name = "pages"
        from = "phone"
        to = "server"
        transport = { tcp = { mss = "960 B", timestamps = false, window = "WINDOW segments", initial-window = "10 segments", delayed-ack.timer = "0 s" } }
        app = { request-reply = { count = 1, request = "300 B", reply = "500 kB", patience = "60 s" } }
        [run]
        limit = "200 s"
    "#;
    for window in [10, 20, 40] {
        let outcome = play(&text.replace("WINDOW", &window.to_string()), &[]);
        let last =
            radio(&outcome).filter(|r| matches!(r.event, Event::Delivered { .. })).map(|r| r.t.as_secs_f64());
        let stale = last.fold(0.0, f64::max) - 60.0 - 0.15;
        // 0.4 s a packet; 0.34 s of propagation hold one packet, the one in service is under way.
        let expected = 0.4 * (f64::from(window) - 1.0);
        assert!((stale - expected).abs() < 0.81, "{window}: {stale} {expected}");
    }
}

const MANAGED: &str = "[[node]]\nname = \"phone\"\ncongestion-manager = { hop = \"radio\", headroom = 1.2, datagrams = \"MODE\" }";

fn beside(transport: &str, app: &str, mode: &str) -> RunOutcome {
    let flow = format!(
        "{}\n[[flow]]\nname = \"datagrams\"\nfrom = \"server\"\nto = \"phone\"\ntransport = {transport}\napp = {app}",
        MANAGED.replace("MODE", mode)
    );
    let queue = "queue = { drop-tail = { limit = \"60 packets\" } }";
    play(&downloads(&[200], &flow).replace("queue = \"unlimited\"", queue), &[])
}

/// CM-03: datagrams of 300 kbit/s beside a download on 400 kbit/s, equal priorities: their share is 200 kbit/s, and the rest is
/// dropped at the host. The download has half of the aggregate window.
#[test]
fn datagrams_are_dropped_down_to_their_share() {
    let cbr = "{ cbr = { rate = \"283.2 kbit/s\", packet = \"472 B\", lasts = \"55 s\" } }";
    let udp = "{ udp = { payload = \"472 B\", header = \"28 B\" } }";
    let outcome = beside(udp, cbr, "drop");
    let share = metric(&outcome, 0, Metric::MessagesDelivered) / metric(&outcome, 0, Metric::MessagesSent);
    assert!((share - 2.0 / 3.0).abs() < 0.03, "{share}");
    let free = beside(udp, cbr, "free");
    let all = metric(&free, 0, Metric::MessagesDelivered) / metric(&free, 0, Metric::MessagesSent);
    assert!(all > 0.9, "{all}");
    let early = |o: &RunOutcome| {
        let of = |r: &&Record| matches!(r.event, Event::Dropped { reason: DropReason::Early, .. });
        o.world.network.records().iter().filter(of).count()
    };
    assert!(early(&outcome) > 0 && early(&free) == 0);
}

/// CM-04: a sender of TFRC hears of marks, stays near its share of 200 kbit/s, and loses nothing for it.
#[test]
fn marks_slow_a_sender_that_controls_congestion() {
    let outcome = beside("\"tfrc\"", "{ bulk = { lasts = \"55 s\" } }", "mark");
    let free = beside("\"tfrc\"", "{ bulk = { lasts = \"55 s\" } }", "free");
    let rate = |o: &RunOutcome| metric(o, 0, Metric::Throughput);
    assert!(rate(&outcome) < 220e3 && rate(&outcome) > 60e3, "{}", rate(&outcome));
    assert!(rate(&free) != rate(&outcome));
    let marks =
        outcome.world.network.records().iter().filter(|r| matches!(r.event, Event::Marked { .. })).count();
    assert!(marks > 0 && metric(&outcome, 0, Metric::PacketsDropped) == 0.0, "{marks}");
}

/// A network change at 20 s, and the packets waiting then.
fn handover(from: (&str, &str), to: (&str, &str), entered: &str) -> String {
    format!(
        r#"
        [[state-machine]]
        name = "network"
        [[state-machine.state]]
        name = "old"
        lasts = "20 s"
        next = "new"
        [[state-machine.state.on]]
        name = "radio"
        rate = "{}"
        delay = "{}"
        [[state-machine.state]]
        name = "new"
        {entered}
        [[state-machine.state.on]]
        name = "radio"
        rate = "{}"
        delay = "{}"
        "#,
        from.0, from.1, to.0, to.1
    )
}

/// CM-08: warned two seconds before a handover to a slow network, the window shrinks in time, and the new link's queue
/// holds little; informed at the handover, the old link's whole product lands there.
#[test]
fn a_hint_before_a_handover_keeps_the_queue_short() {
    let longest = |ahead: &str| {
        let node = format!(
            "[[node]]\nname = \"phone\"\ncongestion-manager = {{ hop = \"radio\", headroom = 1.2, ahead = \"{ahead}\" }}"
        );
        let more = handover(("2 Mbit/s", "150 ms"), ("20 kbit/s", "300 ms"), "") + &node;
        let outcome = play(&downloads(&[200], &more), &[]);
        let waiting =
            radio(&outcome).filter(|r| r.t > Time::from_secs_f64(20.0)).filter_map(|r| match r.event {
                Event::Enqueued { waiting, .. } => Some(waiting),
                _ => None,
            });
        waiting.max().unwrap_or(0)
    };
    let (told, surprised) = (longest("2 s"), longest("0 s"));
    assert!(told <= 6 && surprised > 30, "{told} {surprised}");
}

/// MO-06, MO-12: what waits at the old base station is moved to the new one, which takes two seconds: nothing is lost, and
/// everything that waited comes that much later. Lost instead (`flush`), it has to be sent again from the server.
#[test]
fn buffered_data_move_with_a_delay() {
    let of = |entered: &str| {
        let more = handover(("400 kbit/s", "200 ms"), ("400 kbit/s", "200 ms"), entered);
        let outcome = play(&downloads(&[40], &more), &[]);
        let times: Vec<f64> = radio(&outcome)
            .filter(|r| matches!(r.event, Event::Delivered { .. }))
            .map(|r| r.t.as_secs_f64())
            .collect();
        let gap = times.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
        (gap, metric(&outcome, 0, Metric::PacketsDropped), metric(&outcome, 0, Metric::SegmentsRetransmitted))
    };
    let (gap, dropped, resent) = of("pause = \"2 s\"");
    // The packet in service finishes; then two seconds and a packet's 20 ms.
    assert!((gap - 2.02).abs() < 0.021 && dropped == 0.0, "{gap} {dropped} {resent}");
    let (_, dropped, resent) = of("pause = \"2 s\"\nflush = \"all\"");
    assert!(dropped > 18.0 && resent >= 18.0, "{dropped} {resent}");
}

/// PR-09, MO-05: without context transfer each flow's next packet has its full header after a handover. On a busy link the
/// last packet leaves later by those 36 B of each flow; with it, and with RFC 1144's differences, by nothing.
#[test]
fn lost_contexts_cost_a_full_header_of_each_flow() {
    const FLOWS: usize = 4;
    let delivered = |scheme: &str, entered: &str| -> Vec<f64> {
        // Slower by so little that no timer expires.
        let more = format!("header-compression = \"{scheme}\"\n")
            + &handover(("400 kbit/s", "200 ms"), ("320 kbit/s", "200 ms"), entered);
        let outcome = play(&downloads(&[30; FLOWS], &more), &[]);
        let delivered = radio(&outcome).filter(|r| matches!(r.event, Event::Delivered { .. }));
        delivered.map(|r| r.t.as_secs_f64()).collect()
    };
    for (scheme, saved) in [("rfc2507", 36.0), ("rohc", 35.0)] {
        let (lost, kept) =
            (delivered(scheme, "contexts = \"lost\""), delivered(scheme, "contexts = \"transferred\""));
        let last = lost.len().min(kept.len()) - 1;
        let (late, expected) = (lost[last] - kept[last], FLOWS as f64 * saved * 8.0 / 320_000.0);
        assert!((late - expected).abs() < 1e-6, "{scheme}: {late} s, by sizes {expected} s");
    }
    assert_eq!(delivered("rfc1144", "contexts = \"lost\""), delivered("rfc1144", ""));
}

/// PR-13: frames are kept at the base station through a radio outage and repeated afterwards, so that TCP loses
/// nothing; without copies, data sent into the outage are lost.
#[test]
fn copies_are_kept_through_an_outage() {
    let of = |arq: &str| {
        let more = format!(
            "{arq}\n[[state-machine]]\nname = \"coverage\"\n\
             [[state-machine.state]]\nname = \"good\"\nlasts = \"20 s\"\nnext = \"gone\"\n\
             [[state-machine.state]]\nname = \"gone\"\nlasts = \"8 s\"\nnext = \"back\"\n\
             [[state-machine.state.on]]\nname = \"radio\"\nerror = {{ probability = 1.0 }}\n\
             [[state-machine.state]]\nname = \"back\"\n"
        );
        let outcome = play(&downloads(&[30], &more), &[]);
        let lost = outcome
            .world
            .network
            .records()
            .iter()
            .filter(|r| matches!(r.event, Event::Dropped { .. }) && r.t > Time::from_secs_f64(19.0));
        (lost.count(), metric(&outcome, 0, Metric::GenuineTimeouts), metric(&outcome, 0, Metric::Throughput))
    };
    let (with, without) = (of("arq = { feedback = \"0 s\" }"), of(""));
    assert!(with.0 == 0 && with.1 == 0.0, "{with:?}");
    assert!(without.0 > 20 && without.2 < 0.9 * with.2, "{without:?} {with:?}");
}

/// QM-11: real-time packets of 80 kbit/s are shaped to 40 kbit/s: all that fit into the shaper's 20 kB arrive, at that rate, and
/// later by what waits, 20 kB at 5 kB/s; a download beside them is not held.
#[test]
fn a_shaper_delays_what_a_policer_drops() {
    let voice = r#"
        [[hop.class]]
        name = "real-time"
        directions = "down"
        flows = ["voice"]
        priority = 1
        shape = { rate = "40 kbit/s", burst = "1000 B", limit = "20 kB" }
        [[flow]]
        name = "voice"
        from = "server"
        to = "phone"
        transport = { udp = { payload = "472 B", header = "28 B" } }
        app = { cbr = { rate = "75.52 kbit/s", packet = "472 B", lasts = "40 s" } }
    "#;
    let outcome = play(&downloads(&[30], voice), &[]);
    let (sent, came) =
        (metric(&outcome, 0, Metric::MessagesSent), metric(&outcome, 0, Metric::MessagesDelivered));
    // 40 s at 5 kB/s, and what waits at the end: 40 packets of 500 bytes.
    assert!((came - (400.0 + 40.0)).abs() < 4.0 && sent > 790.0, "{came} of {sent}");
    let latest = metric(&outcome, 0, Metric::MessageDelayMax);
    assert!((latest - (0.2 + 4.0)).abs() < 0.15, "{latest}");
    assert!(metric(&outcome, 1, Metric::Throughput) > 0.85 * (400e3 - 40e3) * 0.96, "the download goes on");
}
