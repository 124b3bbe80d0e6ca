//! qlog files in both formats, with older and newer names: the same connection gives equal packets, losses and RTTs.

use view::qlog::{Qlog, Space, read};

/// Three packets sent; the second is declared lost at 90 ms and acknowledged at 120 ms, the third never acknowledged.
fn events(category: &str, metrics: &str) -> Vec<String> {
    let sent = |t: u32, number: u32| {
        format!(
            r#"{{"time":{t},"name":"{category}:packet_sent","data":{{"header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":1200}}}}}}"#
        )
    };
    let ack = |t: u32, ranges: &str| {
        format!(
            r#"{{"time":{t},"name":"{category}:packet_received","data":{{"header":{{"packet_type":"1RTT","packet_number":0}},"raw":{{"length":50}},"frames":[{{"frame_type":"ack","acked_ranges":{ranges}}}]}}}}"#
        )
    };
    vec![
        sent(0, 1),
        sent(1, 2),
        sent(2, 3),
        ack(80, "[[1]]"),
        format!(r#"{{"time":80,"name":"{metrics}","data":{{"latest_rtt":80,"smoothed_rtt":80,"congestion_window":12000,"bytes_in_flight":2400}}}}"#),
        format!(r#"{{"time":90,"name":"{category}:packet_lost","data":{{"header":{{"packet_type":"1RTT","packet_number":2}}}}}}"#)
            .replace("transport:", "recovery:"),
        ack(120, "[[1,2]]"),
        format!(r#"{{"time":300,"name":"{category}:loss_timer_updated","data":{{"event_type":"expired","timer_type":"pto"}}}}"#),
    ]
}

fn check(qlog: &Qlog) {
    assert!(qlog.notices.is_empty(), "{:?}", qlog.notices);
    let [trace] = &qlog.traces[..] else { panic!("{qlog:?}") };
    assert_eq!((trace.vantage.as_str(), trace.events, trace.seconds), ("client", 8, 0.3));
    assert_eq!(
        (trace.sent.len(), trace.sent_bytes(), trace.received, trace.received_bytes),
        (3, 3600, 2, 100)
    );
    assert_eq!((trace.lost(), trace.spurious_losses(), &trace.probes[..]), (1, 1, &[0.3][..]));
    let second = trace.sent[1];
    assert_eq!((second.space, second.number), (Space::Application, 2));
    assert_eq!((second.lost, second.acknowledged), (Some(0.09), Some(0.12)));
    assert_eq!((trace.sent[0].acknowledged, trace.sent[2].acknowledged), (Some(0.08), None));
    assert_eq!((trace.metrics[0].latest_rtt, trace.metrics[0].congestion_window), (Some(0.08), Some(12_000)));
    let picture = view::qlog::picture(trace, view::frame::Frame::default());
    assert_eq!((picture.sent.len(), picture.acks.len(), picture.fast_retransmits.len()), (3, 2, 1));
    assert_eq!((picture.timeouts.len(), picture.panels.len(), picture.drops.len()), (1, 2, 0));
    assert!(
        picture.subtitle.contains("3 packets sent") && picture.subtitle.contains("(1 spuriously)"),
        "{}",
        picture.subtitle
    );
}

#[test]
fn both_formats_and_both_sets_of_names_are_read() {
    let contained = |category: &str, metrics: &str| {
        let events = events(category, metrics).join(",");
        format!(
            r#"{{"qlog_version":"0.3","qlog_format":"JSON","traces":[{{"vantage_point":{{"type":"client"}},"events":[{events}]}}]}}"#
        )
    };
    check(&read(contained("transport", "recovery:metrics_updated").as_bytes()).unwrap());
    check(&read(contained("quic", "quic:recovery_metrics_updated").as_bytes()).unwrap());
    let head = r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{"vantage_point":{"type":"client"}}}"#;
    let all: Vec<String> =
        std::iter::once(head.to_owned()).chain(events("quic", "quic:recovery_metrics_updated")).collect();
    let sequence: String = all.iter().map(|record| format!("\u{1e}{record}\n")).collect();
    check(&read(sequence.as_bytes()).unwrap());
    check(&read(all.join("\n").as_bytes()).unwrap());
    assert!(
        view::qlog::begins(sequence.as_bytes())
            && view::qlog::begins(b" {")
            && !view::qlog::begins(b"\x0a\x0d\x0d\x0a")
    );
}

/// Times relative to the previous event and times since the epoch give equal seconds.
#[test]
fn times_come_in_three_formats() {
    let event = |t: &str| {
        format!(
            r#"{{"time":{t},"name":"quic:packet_sent","data":{{"header":{{"packet_type":"1RTT","packet_number":1}}}}}}"#
        )
    };
    for (format, times) in [
        ("delta", ["5", "10", "20.5"]),
        ("relative_to_previous_event", ["5", "10", "20.5"]),
        ("relative", ["5", "15", "35.5"]),
        ("absolute", ["1700000000000", "1700000000010", "1700000000030.5"]),
    ] {
        let events: Vec<String> = times.iter().map(|t| event(t)).collect();
        let text = format!(
            r#"{{"qlog_version":"0.4","traces":[{{"common_fields":{{"time_format":"{format}"}},"events":[{}]}}]}}"#,
            events.join(",")
        );
        let qlog = read(text.as_bytes()).unwrap();
        let t: Vec<f64> = qlog.traces[0].sent.iter().map(|packet| packet.t).collect();
        assert_eq!((t[0], (t[1] * 1e6).round(), (t[2] * 1e6).round()), (0.0, 10_000.0, 30_500.0), "{format}");
    }
}

#[test]
fn what_is_no_qlog_is_refused_with_a_reason() {
    for (text, why) in [
        ("{}", "it has neither qlog_version nor file_schema, so it is no qlog"),
        ("{\"qlog_version\":\"0.4\"}", "it has no list of traces"),
        ("{\"a\":", "no JSON: EOF while parsing a value at line 1 column 5"),
        ("[1]", "no object, and a qlog begins with one"),
        ("\u{1e}nonsense", "no record of it is JSON"),
        ("\u{1e}{\"a\":1}\n", "record 1: it has neither qlog_version nor file_schema, so it is no qlog"),
    ] {
        assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), why, "{text}");
    }
    let old =
        read(br#"{"qlog_version":"draft-02","traces":[{"event_fields":["time"],"events":[]}]}"#).unwrap();
    assert!(old.traces.is_empty() && old.notices[0].contains("before 0.3"), "{old:?}");
    let cut = read(b"\x1e{\"qlog_version\":\"0.3\",\"trace\":{}}\n\x1e{\"time\":1,\"na").unwrap();
    assert!(cut.notices[0].contains("1 records are no JSON"), "{cut:?}");
}
