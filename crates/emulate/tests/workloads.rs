//! Workloads over kernel sockets compared with the model: equal numbers of pages, objects, messages and connections;
//! durations that differ only by the lateness of ports and threads. Where the process may not create namespaces, the
//! test reports this and is skipped.
#![cfg(target_os = "linux")]

use base::Span;
use emulate::{EmulationOutcome, Options};
use lab::measure::FlowMeasures;
use scenario::metric::Metric;
use scenario::{Model, NoFiles};
use std::sync::atomic::AtomicBool;

/// Path without losses and with an unlimited queue: counts depend on the workload only.
const PATH: &str = r#"
    williwaw = 1
    [[hop]]
    name = "radio"
    between = ["server", "phone"]
    rate = "4 Mbit/s"
    delay = "20 ms"
    queue = "unlimited"
    [run]
    limit = "20 s"
    [[flow]]
    name = "work"
    start = "100 ms"
"#;

/// The kernel's segments have 1448 bytes of data beside the timestamps.
const MODEL: &str = r#"{ tcp = { profile = "linux-6.x", mss = "1448 B" } }"#;

fn model(flow: &str, transport: &str) -> Model {
    let text = format!("{PATH}\n{flow}\ntransport = {transport}\n");
    match scenario::read("test.toml", text.as_bytes(), &NoFiles) {
        Ok(scenario) => scenario.first().clone(),
        Err(diagnostics) => panic!("{}", diagnostics.render(scenario::Style::default())),
    }
}

/// Metrics of the model, and outcome of the kernel; None, with a message, without the rights.
fn both(flow: &str, of_model: &str, of_kernel: &str) -> Option<(FlowMeasures, EmulationOutcome)> {
    if let Err(error) = emulate::rights() {
        eprintln!("skipped: {error}");
        return None;
    }
    let virtual_time = lab::once::run_once(&model(flow, of_model), 0, lab::once::Options::default());
    assert!(virtual_time.complete, "the model was not done");
    let options = Options { lateness_limit: Span::from_millis(20), ..Options::default() };
    let real = match emulate::once(&model(flow, of_kernel), 0, &options, &AtomicBool::new(false)) {
        Ok(outcome) => outcome,
        Err(error) => panic!("{error}"),
    };
    let faults: Vec<_> = real.facts.iter().flatten().flat_map(|facts| &facts.faults).collect();
    assert!(real.ran.complete && faults.is_empty(), "{faults:?}");
    Some((virtual_time.flows.into_iter().next().unwrap(), real))
}

fn get(measures: &FlowMeasures, metric: Metric) -> f64 {
    measures.get(metric).unwrap_or_else(|| panic!("there is no {metric:?}"))
}

/// Checks that these metrics are exactly equal.
#[track_caller]
fn equal(model: &FlowMeasures, real: &EmulationOutcome, metrics: &[Metric]) {
    for metric in metrics {
        let (model, real) = (get(model, *metric), get(&real.ran.flows[0], *metric));
        assert!(model == real, "{metric:?}: {model} of the model, {real} of the kernel");
    }
}

/// Time within which a woken thread with real-time priority gets a processor, s; a constant, since it is not measured.
/// (A request and its reply came 0.3 ms later than the model's, with twenty compilers on two cores.)
const WOKEN: f64 = 0.002;
/// Difference of handshake and headers between kernel and model, at the link's rate, s.
const HEADERS: f64 = 0.001;

/// Checks that a duration is never shorter, and longer by no more than lateness explains. `exchanges` follow one after
/// the other: each crosses the packet ports twice and wakes a thread at each end.
#[track_caller]
fn explained(model: &FlowMeasures, real: &EmulationOutcome, metric: Metric, exchanges: f64) {
    let (model, measured) = (get(model, metric), get(&real.ran.flows[0], metric));
    if !real.timing.realtime {
        return eprintln!(
            "{metric:?}: {model} s and {measured} s, not judged: threads without priority wait for others"
        );
    }
    let late = real.timing.egress.max().as_secs_f64();
    let most = model + exchanges * (2.0 * (late + WOKEN) + HEADERS);
    assert!(
        (model - HEADERS * exchanges..=most).contains(&measured),
        "{metric:?}: {model} s of the model, {measured} s of the kernel, at most {most} s, packet ports late by {late} s"
    );
}

/// Requests and replies over one connection (WL-05).
#[test]
fn requests_and_replies() {
    let flow = r#"
        from = "phone"
        to = "server"
        app = { request-reply = { request = "uniform(100 B, 600 B)", reply = "uniform(1 kB, 8 kB)", count = 12, think = "30 ms", serve = "5 ms" } }
    "#;
    let Some((model, real)) = both(flow, MODEL, "\"linux\"") else { return };
    equal(&model, &real, &[Metric::Responses, Metric::Connections, Metric::SegmentsRetransmitted]);
    assert_eq!(get(&model, Metric::Responses), 12.0);
    // Fewer than eleven segments in a reply: one round trip.
    explained(&model, &real, Metric::ResponseTimeMedian, 1.0);
    explained(&model, &real, Metric::CompletionTime, 13.0);
    equal(&model, &real, &[Metric::SegmentsSent, Metric::PacketsDropped]);
}

/// Pages with objects over several connections, and an impatient user (WL-13, EG-18 to EG-20).
#[test]
fn pages() {
    let flow = r#"
        from = "phone"
        to = "server"
        app = { web = { pages = 4, main = "uniform(2 kB, 6 kB)", objects = "uniform(2, 6)", object = "uniform(500 B, 9 kB)", largest = "20 kB", request = "200 B", reading = "50 ms", serve = "1 ms", connections = 3, keep = "page" } }
    "#;
    let Some((model, real)) = both(flow, MODEL, "\"linux\"") else { return };
    equal(&model, &real, &[Metric::Pages, Metric::PagesAborted, Metric::Responses, Metric::Connections]);
    assert_eq!(get(&model, Metric::Pages), 4.0);
    // The counters include the last `TCP_INFO` of each connection, which add up to the segments of the replying end.
    // Exceptions are the first segment of each connection, sent by the listening socket, and the resets of the last
    // page.
    let facts = real.facts[0].as_ref().unwrap();
    assert_eq!(facts.connections.len() as f64, get(&model, Metric::Connections));
    let sent: u64 = facts.connections.iter().map(|info| u64::from(info.segs_out) + 1).sum();
    let counted = |name: &str| facts.to.get(name).copied().unwrap_or(0);
    assert_eq!(sent, counted("TcpOutSegs") - counted("TcpOutRsts"));
    assert!(facts.connections.iter().all(|info| info.bytes_acked > 0), "{:?}", facts.connections);
    // The handshake, the page, and at most six objects over three connections.
    explained(&model, &real, Metric::PageTimeMedian, 4.0);
    explained(&model, &real, Metric::PageTimeMax, 4.0);

    // Large objects exceed this user's patience: both ends abort the connections and begin again.
    let impatient = flow
        .replace("uniform(500 B, 9 kB)", "1 MB")
        .replace("largest = \"20 kB\"", "largest = \"1 MB\", patience = \"400 ms\"");
    let Some((model, real)) = both(&impatient, MODEL, "\"linux\"") else { return };
    equal(&model, &real, &[Metric::Pages, Metric::PagesAborted, Metric::Responses, Metric::Connections]);
    assert_eq!(get(&model, Metric::PagesAborted), 4.0);
}

/// Voice at a constant rate, over a connection and in datagrams (ME-05).
#[test]
fn voice() {
    let flow = r#"
        from = "server"
        to = "phone"
        app = { cbr = { rate = "64 kbit/s", packet = "160 B", lasts = "1500 ms", playout = "200 ms" } }
    "#;
    let counts = [Metric::MessagesSent, Metric::MessagesDelivered, Metric::MessagesLate, Metric::LossRatio];
    let Some((model, real)) = both(flow, MODEL, "\"linux\"") else { return };
    equal(&model, &real, &counts);
    explained(&model, &real, Metric::MessageDelay, 1.0);
    assert_eq!(get(&model, Metric::MessagesSent), 75.0);

    let Some((model, real)) = both(flow, "\"udp\"", "{ linux = { protocol = \"udp\" } }") else { return };
    equal(&model, &real, &counts);
    equal(&model, &real, &[Metric::SegmentsSent, Metric::SegmentsDelivered, Metric::Reordered]);
    explained(&model, &real, Metric::MessageDelay, 1.0);
    explained(&model, &real, Metric::MessageDelayMax, 1.0);
}

/// Messages larger than a datagram need several, and the loss of one costs the message. The fifth and the twelfth
/// datagram are lost by ordinal, in both clocks.
#[test]
fn datagrams_are_lost_by_number() {
    let flow = r#"
        from = "server"
        to = "phone"
        app = { on-off = { rate = "400 kbit/s", packet = "3 kB", on = "300 ms", off = "exponential(100 ms)", lasts = "900 ms" } }
        [[hop.loss]]
        name = "noise"
        directions = "down"
        packets = "5, 12"
    "#;
    // The table of the loss belongs to the hop, which precedes the flow.
    let (app, loss) = flow.split_at(flow.find("[[hop.loss]]").unwrap());
    let path = PATH.replace("[run]", &format!("{loss}\n[run]"));
    let text = |transport: &str| format!("{path}\n{app}\ntransport = {transport}\n");
    let model = |transport: &str| {
        let scenario = scenario::read("test.toml", text(transport).as_bytes(), &NoFiles);
        scenario
            .map(|s| s.first().clone())
            .unwrap_or_else(|d| panic!("{}", d.render(scenario::Style::default())))
    };
    if let Err(error) = emulate::rights() {
        eprintln!("skipped: {error}");
        return;
    }
    let virtual_time = lab::once::run_once(&model("\"udp\""), 0, lab::once::Options::default());
    let kernel = model("{ linux = { protocol = \"udp\" } }");
    let options = Options { lateness_limit: Span::from_millis(20), ..Options::default() };
    let real = emulate::once(&kernel, 0, &options, &AtomicBool::new(false)).unwrap_or_else(|e| panic!("{e}"));
    let model = &virtual_time.flows[0];
    let counts = [
        Metric::MessagesSent,
        Metric::MessagesDelivered,
        Metric::LossRatio,
        Metric::SegmentsSent,
        Metric::SegmentsDelivered,
    ];
    equal(model, &real, &counts);
    let (sent, came) = (get(model, Metric::MessagesSent), get(model, Metric::MessagesDelivered));
    // Three datagrams per message: the fifth belongs to the second message, the twelfth to the fourth.
    assert_eq!(sent - came, 2.0);
    assert_eq!(get(model, Metric::PacketsDropped), 2.0);
}

/// Bursts with silences, and messages that make earlier ones obsolete (RT-09, ME-05).
#[test]
fn bursts_and_news() {
    for app in [
        "{ on-off = { rate = \"200 kbit/s\", packet = \"500 B\", on = \"exponential(200 ms)\", off = \"exponential(100 ms)\", lasts = \"1500 ms\" } }",
        "{ ticker = { size = \"uniform(100 B, 900 B)\", every = \"uniform(80 ms, 200 ms)\", count = 8 } }",
    ] {
        let flow = format!("from = \"server\"\nto = \"phone\"\napp = {app}\n");
        let counts = [Metric::MessagesSent, Metric::MessagesDelivered, Metric::MessagesLate];
        for (of_model, of_kernel) in [(MODEL, "\"linux\""), ("\"udp\"", "{ linux = { protocol = \"udp\" } }")]
        {
            let Some((model, real)) = both(&flow, of_model, of_kernel) else { return };
            equal(&model, &real, &counts);
            explained(&model, &real, Metric::MessageDelay, 1.0);
        }
    }
}

/// A transfer of fixed duration ends when it is over, in both clocks; its rate is that of the link.
#[test]
fn a_transfer_for_some_time_is_done() {
    let flow = r#"
        from = "server"
        to = "phone"
        app = { bulk = { lasts = "2 s" } }
    "#;
    let Some((model, real)) = both(flow, MODEL, "\"linux\"") else { return };
    explained(&model, &real, Metric::CompletionTime, 1.0);
    let link = 4e6 * 1448.0 / 1500.0;
    for (who, rate) in
        [("model", get(&model, Metric::Throughput)), ("kernel", get(&real.ran.flows[0], Metric::Throughput))]
    {
        // Handshake and slow start take at most six round trips of 40 ms.
        assert!((link * (1.0 - 0.24 / 2.0)..=link * 1.001).contains(&rate), "{who}: {rate} of {link} bit/s");
    }
}

/// The congestion control also applies at the passive end, and an unknown name is reported.
#[test]
fn both_ends_have_the_control() {
    let flow = r#"
        from = "phone"
        to = "server"
        app = { request-reply = { request = "100 B", reply = "60 kB", count = 2 } }
    "#;
    let Some((_, real)) = both(flow, MODEL, "{ linux = { cc = \"reno\" } }") else { return };
    // The replying end wrote more: its `TCP_INFO` is reported.
    let facts = real.facts[0].as_ref().unwrap();
    assert!(facts.info.bytes_sent >= 120_000, "{:?}", facts.info);
    let model = model(flow, "{ linux = { cc = \"nonsense\" } }");
    let refused = emulate::once(&model, 0, &Options::default(), &AtomicBool::new(false));
    assert!(
        matches!(refused, Err(emulate::Error::Kernel(netns::Error::Refused { what, .. })) if what.contains("nonsense"))
    );
}

/// Slow reader: the kernel closes the window as the model does, and the sender probes until it opens. A pause delays
/// the data beyond the buffer, and a read rate limits all data except those in the buffer (TB-23).
#[test]
fn a_slow_reader_closes_the_window() {
    // Capacity of the receive buffer of a kernel without autotuning.
    let linux = r#"{ linux = { cc = "cubic", sysctl = { tcp_rmem = "4096 32768 32768", tcp_moderate_rcvbuf = 0 } } }"#;
    let flow = |how: &str| {
        format!("from = \"server\"\nto = \"phone\"\napp = {{ bulk = {{ bytes = \"200 kB\", {how} }} }}\n")
    };
    let of_model = r#"{ tcp = { profile = "linux-6.x", mss = "1448 B", receive-buffer = { start = "32768 B", most = "32768 B" } } }"#;
    let (most, rate) = (32_768.0, 50_000.0);
    for (how, least, longest) in [
        // After the pause the remaining data take their time on the link, plus at most two round trips for window
        // updates.
        ("read-pause = \"3 s\"", 3.0, 3.0 + 200e3 * 8.0 / 4e6 + 1.0),
        ("read-rate = \"400 kbit/s\"", (200e3 - most) / rate, 200e3 / rate + 1.0),
        (
            "read-rate = \"400 kbit/s\", read-pause = \"1 s\"",
            1.0 + (200e3 - most) / rate,
            1.0 + 200e3 / rate + 1.0,
        ),
    ] {
        let Some((model, real)) = both(&flow(how), of_model, linux) else { return };
        for (who, time) in [
            ("model", get(&model, Metric::DownloadTime)),
            ("kernel", get(&real.ran.flows[0], Metric::DownloadTime)),
        ] {
            assert!((least..longest).contains(&time), "{how}: {time} s of the {who}, {least} to {longest}");
        }
        let facts = real.facts[0].as_ref().unwrap();
        assert!(
            facts.info.rwnd_limited > 500_000,
            "{how}: the window stood in the way for {} us",
            facts.info.rwnd_limited
        );
        assert_eq!(get(&real.ran.flows[0], Metric::PacketsDropped), 0.0);
    }
}
