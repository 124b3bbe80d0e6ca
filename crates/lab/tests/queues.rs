//! Queue management of the overview's section 4.1, charging of 4.4 and the receiver congestion manager of 5.5, from
//! scenario files, each compared with arithmetic.

mod common;

use base::Time;
use base::event::Event;
use base::packet::DropReason;
use common::metric;
use lab::once::{Options, RunOutcome, run_once};
use scenario::Model;
use scenario::metric::Metric;

fn play(model: &Model) -> RunOutcome {
    run_once(model, 0, Options { trace: true, shuffle_ties: None })
}

fn bulk(queue: &str, flows: usize, more: &str) -> Model {
    let mut text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "400 kbit/s"
        delay = "200 ms"
        queue = {{ down = {queue}, up = "unlimited" }}
        {more}
        [run]
        limit = "60 s"
        "#
    );
    for i in 0..flows {
        text.push_str(&format!(
            r#"
            [[flow]]
            name = "f{i}"
            from = "server"
            to = "phone"
            start = "{} ms"
            priority = {}
            transport = {{ tcp = {{ mss = "960 B", timestamps = false, recovery = "newreno", window = "200 segments", delayed-ack.timer = "0 s" }} }}
            app = {{ bulk = {{ lasts = "60 s" }} }}
            "#,
            100 * i,
            flows - i
        ));
    }
    testkit::model::<&str>(&text, &[])
}

fn drops(outcome: &RunOutcome, until: f64) -> Vec<(f64, DropReason)> {
    let of = |r: &base::event::Record| match r.event {
        Event::Dropped { reason, .. } if r.t.as_secs_f64() < until => Some((r.t.as_secs_f64(), reason)),
        _ => None,
    };
    outcome.world.network.records().iter().filter_map(of).collect()
}

/// One packet goes at the first crossing of the soft threshold, which is the bandwidth-delay product of 20 packets, and slow start
/// ends without an overflow (QM-06).
#[test]
fn a_single_drop_ends_slow_start() {
    let dual = play(&bulk("{ dual-threshold = { soft = \"20 packets\", hard = \"60 packets\" } }", 1, ""));
    let tail = play(&bulk("{ drop-tail = { limit = \"60 packets\" } }", 1, ""));
    let first = drops(&dual, 10.0);
    // At the crossing the window is two products; until the sender hears of the loss it doubles once more, to a queue of three
    // products, which is the hard threshold.
    assert!(first[0].1 == DropReason::Early && first.len() <= 2, "{first:?}");
    assert!(drops(&tail, 10.0).len() > 20, "{:?}", drops(&tail, 10.0));
    assert!(metric(&dual, 0, Metric::QueueDelay) < 0.6 * metric(&tail, 0, Metric::QueueDelay));
    assert!(metric(&dual, 0, Metric::Throughput) >= 0.95 * metric(&tail, 0, Metric::Throughput));
}

/// The victim may be the head, and with several flows a counter lets the next drop hit another one (QM-07).
#[test]
fn other_flows_lose_one_too() {
    let queue = |more: &str| {
        format!("{{ dual-threshold = {{ soft = \"20 packets\", hard = \"60 packets\"{more} }} }}")
    };
    let flows = |outcome: &RunOutcome| {
        let mut flows: Vec<u32> = (outcome.world.network.records().iter())
            .filter_map(|r| match r.event {
                Event::Dropped { flow, reason: DropReason::Early, .. } if r.t.as_secs_f64() < 6.0 => {
                    Some(flow)
                }
                _ => None,
            })
            .collect();
        flows.dedup();
        flows
    };
    let alone = play(&bulk(&queue(""), 2, ""));
    let both = play(&bulk(&queue(", another-packets = 5, victim = \"head\""), 2, ""));
    assert!(flows(&both).len() > flows(&alone).len(), "{:?} {:?}", flows(&both), flows(&alone));
}

/// A sparse flow beside bulk waits for a packet or two, not for the queue; bulk keeps the link busy (RFC 8290).
#[test]
fn fq_codel_lets_sparse_flows_pass() {
    let voice = r#"
        [[flow]]
        name = "voice"
        from = "server"
        to = "phone"
        start = "5 s"
        transport = "udp"
        app = { cbr = { rate = "8 kbit/s", packet = "100 B", lasts = "40 s" } }
    "#;
    let of = |queue: &str| play(&bulk(queue, 2, voice));
    let voice_at = |outcome: &RunOutcome| metric(outcome, 0, Metric::MessageDelay);
    let (fair, codel, tail) = (
        of("{ fq-codel = { target = \"50 ms\", interval = \"500 ms\" } }"),
        of("{ codel = { target = \"50 ms\", interval = \"500 ms\" } }"),
        of("{ drop-tail = { limit = \"60 packets\" } }"),
    );
    // 200 ms of propagation, its own 2.6 ms, and at most one packet of 20 ms in service.
    assert!(voice_at(&fair) < 0.225, "{}", voice_at(&fair));
    assert!(voice_at(&fair) < voice_at(&codel) && voice_at(&codel) < voice_at(&tail));
    let rate = |outcome: &RunOutcome| (1..3).map(|i| metric(outcome, i, Metric::Throughput)).sum::<f64>();
    assert!(rate(&fair) > 0.9 * rate(&tail), "{} {}", rate(&fair), rate(&tail));
    let (a, b) = (metric(&fair, 1, Metric::Throughput), metric(&fair, 2, Metric::Throughput));
    assert!((a / b - 1.0).abs() < 0.15, "{a} {b}");
}

const ABORT: &str = r#"
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
    queue = { drop-tail = { limit = "50 kB" } }
    [[flow]]
    name = "pages"
    from = "phone"
    to = "server"
    transport = { tcp = { mss = "960 B", window = "60 segments", initial-window = "10 segments" } }
    app = { request-reply = { count = 1, request = "300 B", reply = "500 kB", patience = "15 s" } }
    [run]
    limit = "120 s"
"#;

/// When the last byte of the aborted connection was delivered after the abort, and how many packets were, s.
fn stale(outcome: &RunOutcome) -> (f64, usize) {
    let aborted = 15.0;
    let radio = outcome.world.names.iter().position(|n| n == "radio.down").unwrap() as u32;
    let after: Vec<f64> = (outcome.world.network.records().iter())
        .filter(|r| r.source.0 == radio && matches!(r.event, Event::Delivered { .. }))
        .map(|r| r.t.as_secs_f64() - aborted)
        .filter(|t| *t > 0.0)
        .collect();
    (after.iter().copied().fold(0.0, f64::max), after.len())
}

/// Without the flush, stale data arrive for backlog / rate; with it, at most two packets (QM-09, C136).
#[test]
fn a_reset_empties_the_queue_of_its_connection() {
    let off = stale(&play(&testkit::model::<&str>(ABORT, &[])));
    let on = stale(&play(&testkit::model(ABORT, &["hop.radio.rst-flush=true"])));
    // 60 segments of 1000 B are under way at most; 48 to 50 kB of them are queued: 20 s.
    assert!((15.0..26.0).contains(&off.0), "{off:?}");
    // One packet is in service, and each packet that the server sent while the reset was in flight is answered by a
    // reset.
    assert!(on.1 <= 2 && on.0 < 1.2, "{on:?}");
}

/// If the reset is lost, the server's retransmission passes, and the reset that answers it flushes (QM-09).
#[test]
fn a_lost_reset_is_made_up_for() {
    let lost = [
        "hop.radio.rst-flush=true",
        "hop.core.loss=[{ name = \"gone\", directions = \"up\", probability = 1.0 }]",
    ];
    // Everything toward the server is lost behind the node: the node has flushed, the server knows nothing and goes on.
    let text = ABORT.replace("[[flow]]", "[[hop.gate]]\nname = \"deaf\"\ndirections = \"up\"\nmode = \"drop\"\nspikes = [[\"15 s\", \"4 s\"]]\n[[flow]]");
    let outcome = play(&testkit::model(&text, &lost[..1]));
    let (last, packets) = stale(&outcome);
    // The first reset went into the closed gate; a segment of the queue, answered by another one after 19 s, flushes it.
    assert!(last > 3.5 && last < 7.0 && packets < 20, "{last} {packets}");
}

/// Twice the rate of the link: half of the billed volume is delivered (CH-01, CH-02, CH-07, C137).
#[test]
fn the_gateway_bills_what_the_link_loses() {
    for (offered, expected) in [(0.5, 1.0), (1.0, 1.0), (2.0, 2.0), (4.0, 4.0)] {
        let text = format!(
            r#"
            williwaw = 1
            [[hop]]
            name = "radio"
            between = ["gateway", "phone"]
            rate = "40 kbit/s"
            delay = "300 ms"
            queue = {{ drop-tail = {{ limit = "5 packets" }} }}
            charging = true
            [[flow]]
            name = "stream"
            from = "gateway"
            to = "phone"
            transport = {{ udp = {{ payload = "472 B", header = "28 B" }} }}
            app = {{ cbr = {{ rate = "{} kbit/s", packet = "472 B", lasts = "300 s" }} }}
            [run]
            limit = "320 s"
            "#,
            40.0 * offered * 472.0 / 500.0
        );
        let outcome = play(&testkit::model::<&str>(&text, &[]));
        let ratio = metric(&outcome, 0, Metric::BilledGateway) / metric(&outcome, 0, Metric::BilledRadio);
        assert!((ratio / expected - 1.0_f64).abs() < 0.02, "{offered}: {ratio}");
        assert_eq!(metric(&outcome, 0, Metric::BilledResent), 0.0);
        let counters = outcome.world.network.counters();
        assert_eq!(metric(&outcome, 0, Metric::BilledGateway), counters.bytes[0] as f64);
        assert_eq!(metric(&outcome, 0, Metric::BilledRadio), counters.bytes[1] as f64);
    }
}

/// Retransmissions are counted apart, for a reduced charge (CH-06).
#[test]
fn retransmissions_are_billed_apart() {
    let lossy = "charging = true\n[[hop.loss]]\nname = \"noise\"\ndirections = \"down\"\nprobability = 0.02";
    let outcome = play(&bulk("{ drop-tail = { limit = \"60 packets\" } }", 1, lossy));
    let resent = metric(&outcome, 0, Metric::BilledResent);
    let delivered_again = metric(&outcome, 0, Metric::SegmentsRetransmitted) * 1000.0;
    assert!(resent > 0.8 * delivered_again && resent <= delivered_again, "{resent} {delivered_again}");
    // Billed at a quarter of their volume, they take three quarters of it off the bill of the radio network.
    let discounted = play(&bulk(
        "{ drop-tail = { limit = \"60 packets\" } }",
        1,
        &lossy.replace("charging = true", "charging = true\nresent-charge = 0.25"),
    ));
    let of = |m| (metric(&outcome, 0, m), metric(&discounted, 0, m));
    let (radio, resent_both) = (of(Metric::BilledRadio), of(Metric::BilledResent));
    assert_eq!(resent_both.0, resent_both.1);
    assert!((radio.0 - radio.1 - 0.75 * resent).abs() < 1e-6, "{radio:?} {resent}");
    // The gateway's counter sees copies that the air loses again, too.
    let gateway = of(Metric::BilledGateway);
    assert!(gateway.0 - gateway.1 >= radio.0 - radio.1, "{gateway:?} {radio:?}");
    let text = "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n\
                delay = \"1 ms\"\nresent-charge = 0.5\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n\
                app = { bulk = { bytes = \"1 kB\" } }";
    let wrong = scenario::read("test.toml", text.as_bytes(), &scenario::NoFiles).map(|_| ()).unwrap_err();
    assert!(wrong.to_string().contains("add `charging = true`"), "{wrong}");
}

const MANAGED: &str = "[[node]]\nname = \"phone\"\ncongestion-manager = { hop = \"radio\", headroom = 1.2 }";

/// Shares follow priorities, the queue is the sum of windows less the bandwidth-delay product, and nothing is lost (CM-01,
/// CM-02, CM-09, C138).
#[test]
fn windows_follow_priorities() {
    let none = play(&bulk("{ drop-tail = { limit = \"60 packets\" } }", 2, ""));
    let managed = play(&bulk("{ drop-tail = { limit = \"60 packets\" } }", 2, MANAGED));
    let rate = |o: &RunOutcome, i: usize| metric(o, i, Metric::Throughput);
    let ratio = rate(&managed, 0) / rate(&managed, 1);
    assert!((ratio / 2.0 - 1.0).abs() < 0.15, "{ratio}");
    assert_eq!(
        metric(&managed, 0, Metric::PacketsDropped) + metric(&managed, 1, Metric::PacketsDropped),
        0.0
    );
    assert!(metric(&none, 0, Metric::PacketsDropped) > 0.0);
    // 1.2 x 400 kbit/s x (400 ms + 30 ms) = 25.8 kB of windows; 0.42 s of round trip hold 21 kB with their headers;
    // the rest, about 4.8 kB less the rounding to whole segments, waits for 96 ms at most.
    let waits = metric(&managed, 0, Metric::QueueDelay);
    assert!(waits < 0.13 && waits < 0.3 * metric(&none, 0, Metric::QueueDelay), "{waits}");
    assert!(rate(&managed, 0) + rate(&managed, 1) > 0.9 * (rate(&none, 0) + rate(&none, 1)));
}

/// Where the access rate is not known, the estimate comes near it: the link is busy and the queue is short of its limit (CM-06).
#[test]
fn an_estimated_window_keeps_the_link_busy() {
    let estimated = MANAGED.replace("headroom = 1.2", "estimate = \"8 kB\"");
    let none = play(&bulk("{ drop-tail = { limit = \"60 packets\" } }", 2, ""));
    let managed = play(&bulk("{ drop-tail = { limit = \"60 packets\" } }", 2, &estimated));
    let rate = |o: &RunOutcome| (0..2).map(|i| metric(o, i, Metric::Throughput)).sum::<f64>();
    let lost = |o: &RunOutcome| (0..2).map(|i| metric(o, i, Metric::PacketsDropped)).sum::<f64>();
    assert!(rate(&managed) > 0.85 * rate(&none), "{} {}", rate(&managed), rate(&none));
    assert!(lost(&managed) < lost(&none), "{} {}", lost(&managed), lost(&none));
}

/// After a handover to a fast network (its product is 78 packets, that of the slow one 3) the hint opens the windows at once (CM-05, CM-08, MO-05).
#[test]
fn a_handover_hint_lets_the_sender_burst() {
    let handover = r#"
        [[state-machine]]
        name = "network"
        [[state-machine.state]]
        name = "gprs"
        lasts = "20 s"
        next = "wlan"
        [[state-machine.state.on]]
        name = "radio"
        rate = "20 kbit/s"
        delay = "300 ms"
        [[state-machine.state]]
        name = "wlan"
        [[state-machine.state.on]]
        name = "radio"
        rate = "2 Mbit/s"
        delay = "150 ms"
    "#;
    let sent = |more: &str| {
        let outcome =
            play(&bulk("{ drop-tail = { limit = \"20 packets\" } }", 1, &format!("{handover}\n{more}")));
        let in_second = |r: &&base::event::Record| {
            let t = r.t;
            t >= Time::from_secs_f64(20.0)
                && t < Time::from_secs_f64(21.0)
                && matches!(r.event, Event::DataSent { .. })
        };
        outcome.world.network.records().iter().filter(in_second).count()
    };
    let (with, without) = (sent(MANAGED), sent(""));
    assert!(with > 2 * without, "{with} {without}");
}

/// Small packets beside a download wait for a packet in service, not for the queue (QM-08).
#[test]
fn small_packets_are_protected() {
    let voice = r#"
        [[flow]]
        name = "keys"
        from = "server"
        to = "phone"
        start = "10 s"
        transport = "udp"
        app = { cbr = { rate = "2 kbit/s", packet = "50 B", lasts = "40 s" } }
    "#;
    let first = "[[hop.class]]\nname = \"small\"\nat-most = \"200 B\"\npriority = 1\n";
    let wait = |more: &str| {
        let outcome = play(&bulk("{ drop-tail = { limit = \"60 packets\" } }", 1, &format!("{more}{voice}")));
        metric(&outcome, 0, Metric::MessageDelay) - 0.2
    };
    let (with, without) = (wait(first), wait(""));
    // Its own 1.6 ms and, at most, the 20 ms of a packet in service.
    assert!(with < 0.022, "{with}");
    assert!(without > 0.4, "{without}");
}

/// The two alternatives to the flush on reset: a small buffer and a small window leave less behind, and both need to know the link
/// beforehand (QM-14).
#[test]
fn the_alternatives_to_a_flush_leave_less_behind() {
    let stale_of = |set: &[&str]| stale(&play(&testkit::model(ABORT, set))).0;
    let none = stale_of(&[]);
    let buffer = stale_of(&["hop.radio.queue={ drop-tail = { limit = \"5 kB\" } }"]);
    let window = stale_of(&["flow.pages.transport.tcp.window=6 segments"]);
    // 5 packets of 0.4 s each, or 6; and the round trip.
    assert!(buffer < 4.0 && window < 4.0 && none > 15.0, "{buffer} {window} {none}");
}

/// An outage that outlasts the persistence of the sender ends the connection; one that does not is waited for (MO-08, TB-25, C174).
#[test]
fn an_outage_of_minutes_meets_persistence() {
    let gate = "[[hop.gate]]\nname = \"tunnel\"\nat = \"after-queue\"\nmode = \"drop\"\nspikes = [[\"5 s\", \"120 s\"]]";
    let of = |give_up: &str| {
        let text = format!(
            r#"
            williwaw = 1
            [[hop]]
            name = "radio"
            between = ["server", "phone"]
            rate = "200 kbit/s"
            delay = "100 ms"
            {gate}
            [[flow]]
            name = "f"
            from = "server"
            to = "phone"
            transport = {{ tcp = {{ mss = "1000 B", give-up = "{give_up}" }} }}
            app = {{ bulk = {{ bytes = "300 kB" }} }}
            [run]
            limit = "20 min"
            "#
        );
        metric(&play(&testkit::model::<&str>(&text, &[])), 0, Metric::SegmentsDelivered)
    };
    assert!(of("30 s") < 300.0);
    assert_eq!((of("200 s"), of("0 s")), (300.0, 300.0));
}

/// A base station polices real-time traffic apart from the rest, and deletes copies of what still waits (QM-11).
#[test]
fn a_base_station_polices_and_deletes_copies() {
    let voice = r#"
        [[hop.class]]
        name = "real-time"
        flows = ["voice"]
        priority = 1
        police = { rate = "40 kbit/s", burst = "1 kB" }
        [[flow]]
        name = "voice"
        from = "server"
        to = "phone"
        transport = { udp = { payload = "472 B", header = "28 B" } }
        app = { cbr = { rate = "80 kbit/s", packet = "472 B", lasts = "50 s" } }
    "#;
    let outcome = play(&bulk("{ drop-tail = { limit = \"60 packets\" } }", 1, voice));
    // 40 of the 80 x 500 / 472 kbit/s pass.
    let (made, came) =
        (metric(&outcome, 0, Metric::MessagesSent), metric(&outcome, 0, Metric::MessagesDelivered));
    assert!((came / made - 40.0 / (80.0 * 500.0 / 472.0)).abs() < 0.02, "{came} of {made}");
    // A timer that expires while everything waits behind a pause: the copies of what waits are deleted.
    let pause = "[[hop.gate]]\nname = \"pause\"\nspikes = [[\"10 s\", \"8 s\"]]";
    let received = |more: &str| {
        let outcome =
            play(&bulk("{ drop-tail = { limit = \"60 packets\" } }", 1, &format!("{more}\n{pause}")));
        let twice = |r: &&base::event::Record| matches!(r.event, Event::DataReceived { duplicate: true, .. });
        let early = drops(&outcome, 60.0).iter().filter(|d| d.1 == DropReason::Early).count();
        (outcome.world.network.records().iter().filter(twice).count(), early)
    };
    let (with, without) = (received("delete-copies = true"), received(""));
    assert!(with.1 > 0 && with.0 < without.0, "{with:?} {without:?}");
}

/// QM-13: with strict priority a stream beside a busy link gets nothing through; with a bounded switching interval it has a
/// packet through in each of them, and the busy class loses no more than that.
#[test]
fn qm_13_bounded_switching_interval() {
    let run = |bound: &str| {
        let text = format!(
            r#"
            williwaw = 1
            [[hop]]
            name = "radio"
            between = ["server", "phone"]
            rate = "40 kbit/s"
            delay = "50 ms"
            [[hop.class]]
            name = "first"
            directions = "down"
            flows = ["busy"]
            priority = 1
            [[hop.class]]
            name = "second"
            directions = "down"
            flows = ["thin"]
            priority = 2
            {bound}
            [[flow]]
            name = "busy"
            from = "server"
            to = "phone"
            transport = {{ udp = {{ payload = "472 B", header = "28 B" }} }}
            app = {{ cbr = {{ rate = "80 kbit/s", packet = "472 B", lasts = "60 s" }} }}
            [[flow]]
            name = "thin"
            from = "server"
            to = "phone"
            transport = {{ udp = {{ payload = "472 B", header = "28 B" }} }}
            app = {{ cbr = {{ rate = "8 kbit/s", packet = "472 B", lasts = "50 s" }} }}
            [run]
            limit = "50 s"
            "#
        );
        let outcome = play(&testkit::model::<&str>(&text, &[]));
        (metric(&outcome, 0, Metric::MessagesDelivered), metric(&outcome, 1, Metric::MessagesDelivered))
    };
    let (_, starved) = run("");
    assert!(starved <= 2.0, "{starved}");
    let (busy, bounded) = run("turn-within = \"1 s\"");
    // A packet each second or so: 50 s less the beginning; the link carries ten a second.
    assert!((40.0..=50.0).contains(&bounded), "{bounded}");
    assert!(busy > 430.0, "{busy}");
}

/// SW-21: the first link stops the adapter of a host, with a window of its own in each direction. What waits before the link
/// never exceeds the window, whatever the host sends at once; the rest waits in the adapter.
#[test]
fn sw_21_the_first_link_stops_the_adapter_of_a_host() {
    let text = include_str!("../../../scenarios/channel/adapter.toml");
    let waiting = |set: &[&str]| {
        let outcome = play(&testkit::model(text, set));
        let most = |link: &str| {
            let of = outcome.world.names.iter().position(|name| name == link).unwrap();
            let before = |r: &base::event::Record| match r.event {
                Event::Enqueued { waiting, .. } if r.source.0 as usize == of => Some(waiting),
                _ => None,
            };
            outcome.world.network.records().iter().filter_map(before).max().unwrap()
        };
        (most("radio.down"), most("adapter.down"), metric(&outcome, 0, Metric::PacketsDropped))
    };
    let (link, adapter, dropped) = waiting(&[]);
    // Three before the one that joins them: a window of four.
    assert_eq!((link, dropped), (3, 0.0));
    assert!(adapter > 10, "{adapter}");
    let (link, _, dropped) = waiting(&["hop.adapter.flow-control.window=2"]);
    assert_eq!((link, dropped), (1, 0.0));
    let (link, adapter, dropped) = waiting(&["hop.adapter.flow-control.window=1000"]);
    assert!(link > 2 && adapter == 0 && dropped > 0.0, "{link} {adapter} {dropped}");
}
