//! Tests of workload durations against arithmetic, on a link where all packets can be counted; abandoned,
//! lost and retransmitted data are reported. Each test names its catalogue features.

use lab::once::{Options, RunOutcome, run_once};
use proptest::prelude::*;
use scenario::Model;
use scenario::metric::Metric;

/// 100 bytes a millisecond each way, 50 ms, no losses; headers of 40 B, segments of 1000 B.
fn model(set: &[&str]) -> Model {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "link"
        between = ["server", "phone"]
        rate = "800 kbit/s"
        delay = "50 ms"
        queue = { drop-tail = { limit = "1000 packets" } }
        [[hop.gate]]
        name = "pause"
        at = "after-queue"
        directions = "down"
        start = "1000 s"
        lasts = "1 s"
        [[hop.loss]]
        name = "noise"
        directions = "down"
        probability = 0.0
        [[flow]]
        name = "user"
        from = "phone"
        to = "server"
        transport = { tcp = { mss = "1000 B", window = "1000 segments", timestamps = false } }
        app = { request-reply = { request = "300 B", reply = "500 B", count = 3 } }
        [run]
        limit = "1000 s"
    "#;
    testkit::model(text, set)
}

fn run(set: &[&str]) -> RunOutcome {
    run_once(&model(set), 0, Options::default())
}

fn get(outcome: &RunOutcome, metric: Metric) -> f64 {
    outcome.flows[0].get(metric).unwrap_or(f64::NAN)
}

/// Seconds for this number of bytes on the link.
fn wire(bytes: u32) -> f64 {
    f64::from(bytes) / 100_000.0
}

#[track_caller]
fn close(measured: f64, expected: f64) {
    assert!((measured - expected).abs() < 1e-8, "measured {measured}, expected {expected}");
}

const HEADER: u32 = 40;
const WAY: f64 = 0.05;

/// Both SYNs, there and back.
fn handshake() -> f64 {
    2.0 * (wire(HEADER) + WAY)
}

/// A request and its reply, a segment each.
fn exchange(request: u32, reply: u32) -> f64 {
    wire(HEADER + request) + WAY + wire(HEADER + reply) + WAY
}

/// WL-05, WL-09: each request takes its bytes and a round trip; the first one opens the connection as well.
#[test]
fn request_and_reply_take_their_bytes_and_a_round_trip() {
    let outcome = run(&[]);
    let each = exchange(300, 500);
    close(get(&outcome, Metric::ResponseTimeMin), each);
    close(get(&outcome, Metric::ResponseTimeMedian), each);
    close(get(&outcome, Metric::ResponseTimeMax), each + handshake());
    close(get(&outcome, Metric::ResponseTime), each + handshake() / 3.0);
    close(get(&outcome, Metric::CompletionTime), 3.0 * each + handshake());
    close(get(&outcome, Metric::Throughput), 8.0 * 2400.0 / (3.0 * each + handshake()));
    let count = |metric| get(&outcome, metric);
    assert_eq!(count(Metric::Responses), 3.0);
    assert_eq!(count(Metric::Connections), 1.0);
    // Three requests and three replies, a segment each, none twice.
    assert_eq!(count(Metric::SegmentsSent), 6.0);
    assert_eq!(count(Metric::SegmentsRetransmitted), 0.0);
    assert_eq!(count(Metric::GoodputRatio), 1.0);
    assert_eq!(outcome.world.network.bodies(), 0);
    assert_eq!(outcome.world.network.packets_inside(), 0);
}

/// WL-05: thinking and serving take their time, the first from reply to request, the second within the response.
#[test]
fn thinking_is_between_and_serving_within() {
    let app = "flow.user.app.request-reply";
    let outcome = run(&[&format!("{app}.think=2 s"), &format!("{app}.serve=300 ms")]);
    let each = exchange(300, 500) + 0.3;
    close(get(&outcome, Metric::ResponseTimeMedian), each);
    close(get(&outcome, Metric::CompletionTime), handshake() + 3.0 * each + 2.0 * 2.0);
}

/// EG-19: a connection for each request costs a handshake for each.
#[test]
fn a_connection_for_each_request_opens_each_time() {
    let outcome = run(&["flow.user.app.request-reply.keep=object"]);
    let each = handshake() + exchange(300, 500);
    close(get(&outcome, Metric::ResponseTimeMin), each);
    // The FIN of the one before leaves first.
    close(get(&outcome, Metric::ResponseTimeMax), each + wire(HEADER));
    assert_eq!(get(&outcome, Metric::Connections), 3.0);
    assert_eq!(outcome.world.network.bodies(), 0);
}

fn web(keys: &str) -> String {
    format!(
        "flow.user.app={{ web = {{ pages = 2, main = \"800 B\", objects = 4, object = \"900 B\", request = \"100 B\", reading = \"5 s\", {keys} }} }}"
    )
}

/// EG-18, EG-19, EG-20: without pipelining an object takes a round trip of its own; with it the objects follow each
/// other as fast as the link carries them.
#[test]
fn pipelining_saves_round_trips() {
    let main = exchange(100, 800);
    let plain = run(&[&web("")]);
    let one_by_one = handshake() + main + 4.0 * exchange(100, 900);
    close(get(&plain, Metric::PageTime), one_by_one);
    close(get(&plain, Metric::PageTimeMax), one_by_one);
    close(get(&plain, Metric::CompletionTime), 2.0 * one_by_one + 5.0);
    assert_eq!(get(&plain, Metric::Pages), 2.0);
    assert_eq!(get(&plain, Metric::Responses), 10.0);
    assert_eq!(get(&plain, Metric::Connections), 2.0);
    // Four requests leave as one: the server's first answer waits for nothing, the others queue behind it.
    let piped = run(&[&web("pipelining = true")]);
    let together = get(&piped, Metric::PageTime);
    let least = handshake() + main + 2.0 * WAY + wire(HEADER + 100) + 4.0 * wire(HEADER + 900);
    assert!(together >= least - 1e-9, "{together} is less than the {least} that bytes take");
    assert!(together < least + 4.0 * wire(HEADER + 100), "{together} is not pipelined: {least}");
}

/// EG-18: several connections share the objects; each is opened when it is first needed.
#[test]
fn connections_beside_each_other_share_the_objects() {
    let outcome = run(&[&web("connections = 2, keep = \"session\"")]);
    assert_eq!(get(&outcome, Metric::Connections), 2.0);
    let two = get(&outcome, Metric::PageTimeMax);
    // Two objects one after the other on each, the second connection with its handshake.
    let least = handshake() + exchange(100, 800) + handshake() + 2.0 * exchange(100, 900);
    assert!(two >= least - 1e-9 && two < least + 3.0 * wire(HEADER + 900), "{two} for {least}");
}

/// EG-17, WL-04: a file asked for comes as fast as the link carries it, and not faster.
#[test]
fn a_file_asked_for_comes_at_the_rate_of_the_link() {
    let outcome =
        run(&["flow.user.app={ request-reply = { request = \"100 B\", reply = \"1 MB\", count = 1 } }"]);
    let least = handshake() + WAY + wire(HEADER + 100) + 1000.0 * wire(HEADER + 1000) + WAY;
    let took = get(&outcome, Metric::ResponseTime);
    assert!(took >= least - 1e-9 && took < least + 0.5, "{took} for {least}");
    assert_eq!(get(&outcome, Metric::SegmentsSent), 1001.0);
    assert_eq!(get(&outcome, Metric::SegmentsDelivered), 1001.0);
}

/// WL-13, TB-24: an impatient user abandons a page; its server gets a reset, stops, and the next page begins at once,
/// behind the data in flight.
#[test]
fn an_impatient_user_goes_on_to_the_next_page() {
    let web = "web = { pages = 3, main = \"1 MB\", objects = 0, request = \"100 B\", patience = \"2 s\" }";
    let outcome = run(&[&format!("flow.user.app={{ {web} }}")]);
    assert_eq!(get(&outcome, Metric::PagesAborted), 3.0);
    assert_eq!(get(&outcome, Metric::Pages), 0.0);
    close(get(&outcome, Metric::CompletionTime), 6.0);
    assert_eq!(get(&outcome, Metric::Connections), 3.0);
    let sent = get(&outcome, Metric::SegmentsSent);
    assert!(sent < 1200.0, "{sent} segments: the server went on after the reset");
    // No connection remains, and data that arrived for an abandoned page are counted.
    assert_eq!(outcome.world.network.bodies(), 0);
    assert_eq!(outcome.world.network.packets_inside(), 0);
    let patient = run(&[&format!("flow.user.app={{ {} }}", web.replace("2 s", "100 s"))]);
    assert_eq!(get(&patient, Metric::Pages), 3.0);
    assert_eq!(get(&patient, Metric::PagesAborted), 0.0);
}

/// WL-06: sizes come from a list of observed values.
#[test]
fn sizes_come_from_a_log() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "link"
        between = ["server", "phone"]
        rate = "800 kbit/s"
        delay = "50 ms"
        [[flow]]
        name = "user"
        from = "phone"
        to = "server"
        transport = { tcp = { mss = "1000 B" } }
        app = { request-reply = { request = "empirical(asked.txt)", reply = "empirical(got.txt)", count = 200 } }
    "#;
    let files = |name: &str| -> Result<Vec<u8>, String> {
        Ok(if name == "asked.txt" { b"300\n".to_vec() } else { b"# bytes\n500 B\n2500\n".to_vec() })
    };
    let scenario = scenario::read("test.toml", text.as_bytes(), &files).expect("good");
    let outcome = run_once(scenario.first(), 0, Options::default());
    // A segment for each request, one or three for each reply.
    let replies = get(&outcome, Metric::SegmentsSent) - 200.0;
    let large = (replies - 200.0) / 2.0;
    assert_eq!(large.fract(), 0.0);
    assert!((70.0..130.0).contains(&large), "{large} of 200 are large");
}

fn down(app: &str, transport: &str) -> Vec<String> {
    let ends = ["flow.user.from=server".to_owned(), "flow.user.to=phone".to_owned()];
    let rest = [format!("flow.user.app={{ {app} }}"), format!("flow.user.transport={transport}")];
    ends.into_iter().chain(rest).collect()
}

fn run_down(app: &str, transport: &str, more: &[&str]) -> RunOutcome {
    let set: Vec<String> =
        down(app, transport).into_iter().chain(more.iter().map(|s| (*s).to_owned())).collect();
    run(&set.iter().map(String::as_str).collect::<Vec<_>>())
}

const VOICE: &str = "cbr = { rate = \"64 kbit/s\", packet = \"160 B\", count = 100, playout = \"60 ms\" }";

/// RT-01, ME-05: datagrams at a constant rate take the same time each, and none is missed on a good link.
#[test]
fn a_constant_rate_arrives_as_it_left() {
    let outcome = run_down(VOICE, "udp", &[]);
    let each = wire(160 + 28) + WAY;
    close(get(&outcome, Metric::MessageDelay), each);
    close(get(&outcome, Metric::MessageDelayMax), each);
    close(get(&outcome, Metric::Jitter), 0.0);
    close(get(&outcome, Metric::CompletionTime), 99.0 * 0.020 + each);
    close(get(&outcome, Metric::Throughput), 8.0 * 16_000.0 / (99.0 * 0.020 + each));
    for (metric, value) in [
        (Metric::MessagesSent, 100.0),
        (Metric::MessagesDelivered, 100.0),
        (Metric::MessagesLate, 0.0),
        (Metric::LossRatio, 0.0),
        (Metric::Reordered, 0.0),
    ] {
        assert_eq!(get(&outcome, metric), value, "{metric}");
    }
}

/// ME-05: a ping takes its bytes both ways and two delays; a lost one is not sent again.
#[test]
fn a_ping_is_answered_in_a_round_trip() {
    const PING: &str = "ticker = { size = \"32 B\", every = \"1 s\", count = 100 }";
    let outcome = run_down(PING, "icmp", &[]);
    let trip = 2.0 * (wire(32 + 28) + WAY);
    for metric in [Metric::ResponseTime, Metric::ResponseTimeMin, Metric::ResponseTimeMax] {
        close(get(&outcome, metric), trip);
    }
    assert_eq!((get(&outcome, Metric::Responses), get(&outcome, Metric::LossRatio)), (100.0, 0.0));
    close(get(&outcome, Metric::CompletionTime), 99.0 + trip);
    // The tenth request is lost: nothing is sent again, and the client waits 10 s for its reply.
    let lost = ["hop.link.loss.noise.packets=\"10\"", "flow.user.app.ticker.count=10"];
    let outcome = run_down(PING, "icmp", &lost);
    assert_eq!((get(&outcome, Metric::MessagesSent), get(&outcome, Metric::MessagesDelivered)), (10.0, 9.0));
    assert_eq!(get(&outcome, Metric::Responses), 9.0);
    close(get(&outcome, Metric::CompletionTime), 9.0 + 10.0);
}

/// WL-12, RT-08: lost messages are counted, and those after their playout time.
#[test]
fn losses_and_late_arrivals_are_told_apart() {
    let lost = run_down(VOICE, "udp", &["hop.link.loss.noise.packets=\"5-9, 50\""]);
    assert_eq!(get(&lost, Metric::MessagesDelivered), 94.0);
    close(get(&lost, Metric::LossRatio), 0.06);
    assert_eq!(get(&lost, Metric::MessagesLate), 0.0);
    assert_eq!(get(&lost, Metric::PacketsDropped), 6.0);
    // A second without service: 50 messages wait, the first of them for all of it.
    let pause = ["hop.link.gate.pause.start=0.99 s", "hop.link.gate.pause.lasts=1 s"];
    let paused = run_down(VOICE, "udp", &pause);
    assert_eq!(get(&paused, Metric::MessagesDelivered), 100.0);
    // Made at 1.00 s, it leaves at 1.99 s.
    close(get(&paused, Metric::MessageDelayMax), 0.99 + wire(188) + WAY);
    let late = get(&paused, Metric::MessagesLate);
    assert!((50.0..60.0).contains(&late), "{late} late of the fifty that waited and those behind them");
}

/// RT-01: a message larger than a datagram takes several, and is lost if one of them is.
#[test]
fn large_messages_take_several_datagrams() {
    let app = "ticker = { size = \"3000 B\", every = \"1 s\", count = 10 }";
    let outcome = run_down(app, "udp", &["hop.link.loss.noise.packets=\"5\""]);
    assert_eq!(get(&outcome, Metric::SegmentsSent), 30.0);
    assert_eq!(get(&outcome, Metric::SegmentsDelivered), 29.0);
    assert_eq!(get(&outcome, Metric::MessagesDelivered), 9.0);
    close(get(&outcome, Metric::MessageDelay), wire(3000 + 3 * 28) + WAY);
}

/// RT-09: news over TCP wait for a link that pauses; those overtaken by newer ones are of no use. Every message comes.
#[test]
fn news_grow_old_while_the_link_pauses() {
    let app = "ticker = { size = \"500 B\", every = \"1 s\", count = 10 }";
    let tcp = "{ tcp = { mss = \"1000 B\", window = \"1000 segments\", timestamps = false } }";
    let calm = run_down(app, tcp, &[]);
    let each = wire(HEADER + 500) + WAY;
    close(get(&calm, Metric::MessageDelayMax), handshake() + each);
    close(get(&calm, Metric::MessageDelay), each + handshake() / 10.0);
    assert_eq!(get(&calm, Metric::MessagesLate), 0.0);
    let pause = ["hop.link.gate.pause.start=2 s", "hop.link.gate.pause.lasts=3 s"];
    let paused = run_down(app, tcp, &pause);
    assert_eq!(get(&paused, Metric::MessagesDelivered), 10.0);
    // Made at 2, 3 and 4 s, they come when that of 5 s is made.
    assert_eq!(get(&paused, Metric::MessagesLate), 3.0);
    close(get(&paused, Metric::MessageDelayMax), 3.0 + each);
}

/// ME-05: bursts of a second and silences of a second: half of the messages.
#[test]
fn bursts_and_silences_follow_each_other() {
    let app = "on-off = { rate = \"64 kbit/s\", on = \"1 s\", off = \"1 s\", lasts = \"4 s\" }";
    let outcome = run_down(app, "udp", &[]);
    assert_eq!(get(&outcome, Metric::MessagesSent), 100.0);
    close(get(&outcome, Metric::CompletionTime), 2.0 + 49.0 * 0.020 + wire(188) + WAY);
}

/// NS-01: a constant rate beside a download keeps its rate.
#[test]
fn a_constant_rate_beside_tcp_keeps_its_rate() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "link"
        between = ["server", "phone"]
        rate = "800 kbit/s"
        delay = "50 ms"
        queue = { drop-tail = { limit = "20 packets" } }
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        app = { bulk = { lasts = "60 s" } }
        [[flow]]
        name = "video"
        from = "server"
        to = "phone"
        transport = "udp"
        app = { cbr = { rate = "380 kbit/s", packet = "972 B", lasts = "60 s" } }
    "#;
    let outcome = run_once(&testkit::model::<&str>(text, &[]), 0, Options::default());
    let share = |flow: usize| outcome.flows[flow].get(Metric::Throughput).unwrap_or(f64::NAN);
    // 380 kbit/s and 28 B of headers for 972 are 391 kbit/s.
    assert!((share(1) - 380_000.0).abs() < 0.06 * 380_000.0, "{}", share(1));
    assert!((300_000.0..409_000.0).contains(&share(0)), "{}", share(0));
}

/// WL-05: with losses in both directions all requests are answered, and retransmissions are counted.
#[test]
fn requests_survive_losses_in_both_directions() {
    let outcome = run(&[
        "flow.user.app={ request-reply = { request = \"20 kB\", reply = \"30 kB\", count = 40 } }",
        "hop.link.loss.noise.directions=both",
        "hop.link.loss.noise.probability=0.03",
    ]);
    assert_eq!(get(&outcome, Metric::Responses), 40.0);
    let (sent, again) = (get(&outcome, Metric::SegmentsSent), get(&outcome, Metric::SegmentsRetransmitted));
    assert_eq!(sent - again, 40.0 * 50.0);
    assert!(again >= 30.0, "{again} of {sent} sent again at a loss of 3 %");
    close(get(&outcome, Metric::GoodputRatio), 2000.0 / sent);
    let unneeded = get(&outcome, Metric::UnneededRetransmissions);
    assert!(unneeded < 0.3 * again, "{unneeded} of {again} were not needed");
    assert_eq!(outcome.world.network.bodies(), 0);
}

/// ME-05: the same seed gives the same pages whatever carries them, and another seed gives others.
#[test]
fn pages_are_weather() {
    let pages = "flow.user.app={ web = { pages = 5, reading = \"1 s\", largest = \"50 kB\" } }";
    let bytes = |set: &[&str]| {
        let outcome = run(set);
        (get(&outcome, Metric::Responses), get(&outcome, Metric::SegmentsDelivered))
    };
    let one = bytes(&[pages]);
    assert_eq!(one, bytes(&[pages, "flow.user.app.web.connections=6", "flow.user.app.web.keep=object"]));
    assert_eq!(one, bytes(&[pages, "hop.link.delay=300 ms", "flow.user.app.web.pipelining=true"]));
    assert_ne!(one, bytes(&[pages, "run.seed=2"]));
}

/// What may be asked of a user, and what may befall him.
#[derive(Clone, Debug)]
struct Plan {
    pages: u32,
    objects: u32,
    bytes: u32,
    connections: u32,
    keep: &'static str,
    pipelining: bool,
    patience_ms: Option<u32>,
    loss: f64,
    pause_ms: u32,
    packets: u32,
}

fn plans() -> impl Strategy<Value = Plan> {
    (
        (1u32..6, 0u32..8, 1u32..40_000, 1u32..7),
        (prop::sample::select(vec!["object", "page", "session"]), any::<bool>()),
        (prop::option::of(20u32..5000), 0.0f64..0.15, 1u32..4000, 2u32..60),
    )
        .prop_map(
            |(
                (pages, objects, bytes, connections),
                (keep, pipelining),
                (patience_ms, loss, pause_ms, packets),
            )| {
                Plan {
                    pages,
                    objects,
                    bytes,
                    connections,
                    keep,
                    pipelining,
                    patience_ms,
                    loss,
                    pause_ms,
                    packets,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// ME-05: whatever is asked and whatever befalls it, every page comes or is given up, every packet is accounted for,
    /// and the same run gives the same numbers.
    #[test]
    fn every_page_ends_and_every_packet_is_counted(plan in plans()) {
        let patience = plan.patience_ms.map(|ms| format!(", patience = \"{ms} ms\"")).unwrap_or_default();
        let app = format!(
            "flow.user.app={{ web = {{ pages = {}, main = \"{} B\", objects = {}, object = \"uniform(1 B, {} B)\", request = \"uniform(1 B, 3 kB)\", \
             reading = \"exponential(200 ms)\", serve = \"exponential(50 ms)\", connections = {}, keep = \"{}\", pipelining = {}{patience} }} }}",
            plan.pages, plan.bytes, plan.objects, plan.bytes, plan.connections, plan.keep, plan.pipelining
        );
        let set = [
            app,
            "hop.link.loss.noise.directions=both".to_owned(),
            format!("hop.link.loss.noise.probability={}", plan.loss),
            "hop.link.gate.pause.start=uniform(0 s, 2 s)".to_owned(),
            format!("hop.link.gate.pause.lasts={} ms", plan.pause_ms),
            format!("hop.link.queue.drop-tail.limit={} packets", plan.packets),
            "run.limit=2000 s".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let outcome = run(&set);
        let (network, c) = (&outcome.world.network, outcome.world.network.counters());
        prop_assert_eq!(c.sent, c.absorbed + c.dropped + network.packets_inside() as u64);
        prop_assert_eq!(network.bodies() as usize, network.packets_inside());
        prop_assert!(outcome.complete, "not done in 2000 s: {:?}", plan);
        prop_assert_eq!(network.packets_inside(), 0);
        let (pages, aborted) = (get(&outcome, Metric::Pages), get(&outcome, Metric::PagesAborted));
        prop_assert_eq!(pages + aborted, f64::from(plan.pages));
        if plan.patience_ms.is_none() {
            prop_assert_eq!(get(&outcome, Metric::Responses), f64::from(plan.pages * (1 + plan.objects)));
            prop_assert_eq!(aborted, 0.0);
        }
        let ratio = get(&outcome, Metric::GoodputRatio);
        // Who gives up during the handshake has sent nothing, of which there is no share.
        prop_assert_eq!(ratio.is_nan(), get(&outcome, Metric::SegmentsSent) == 0.0);
        prop_assert!(ratio.is_nan() || (ratio > 0.0 && ratio <= 1.0), "{ratio}");
        prop_assert_eq!(run(&set).flows, outcome.flows);
    }
}

/// A transfer with a duration is done when its time is up, with an unknown number of bytes; data in flight still
/// arrive, and the rate counts up to then.
#[test]
fn a_transfer_for_some_time_is_done() {
    let outcome = run(&["flow.user.app.bulk.lasts=20 s", "run.limit=1000 s"]);
    assert!(outcome.complete);
    close(get(&outcome, Metric::CompletionTime), 20.0);
    // Up a queue and a path: the window is 1000 segments, which take 10.4 s on the link.
    let download = get(&outcome, Metric::DownloadTime);
    assert!((20.0..32.0).contains(&download), "{download}");
    // Segments of 1000 B, with 40 B of headers, as long as the link was busy.
    let rate = get(&outcome, Metric::Throughput);
    assert!((0.95..1.0).contains(&(rate / (8e5 * 1000.0 / 1040.0))), "{rate}");
    // The first of both ends counts: bytes that are there before the time is up.
    let outcome = run(&["flow.user.app.bulk.lasts=20 s", "flow.user.app.bulk.bytes=100 kB"]);
    assert!(outcome.complete && get(&outcome, Metric::DownloadTime) < 2.5);
}
