//! Tests of RTP and RTCP from the scenario file: they follow RFC 3550, and tshark reads them; SR-RTP reports,
//! shares a window by weights and repairs within lifetimes; ATP opens a TCP connection for each unit. Each
//! test names its catalogue features.

use lab::capture::capture;
use lab::once::{Options, RunOutcome, run_once};
use scenario::Model;
use scenario::metric::Metric;
use std::process::Command;

fn model(transport: &str, app: &str, hop: &str) -> Model {
    let text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "256 kbit/s"
        delay = "100 ms"
        {hop}
        [[flow]]
        name = "media"
        from = "server"
        to = "phone"
        transport = {transport}
        app = {app}
        [run]
        limit = "600 s"
    "#
    );
    testkit::model::<&str>(&text, &[])
}

fn play(model: &Model) -> RunOutcome {
    let outcome = run_once(model, 0, Options::default());
    let counters = outcome.world.network.counters();
    assert!(outcome.complete);
    assert_eq!(counters.sent, counters.absorbed + counters.dropped, "no packet is lost from the books");
    outcome
}

fn get(outcome: &RunOutcome, metric: Metric) -> f64 {
    outcome.flows[0].get(metric).unwrap_or(f64::NAN)
}

const LOSS: &str = "[[hop.loss]]\nname = \"air\"\ndirections = \"down\"\nprobability = 0.03";
const VOICE: &str = "{ on-off = { rate = \"64 kbit/s\", packet = \"160 B\", on = \"2 s\", off = \"1 s\", lasts = \"60 s\" } }";
const VIDEO: &str = "{ cbr = { rate = \"128 kbit/s\", packet = \"3200 B\", lasts = \"60 s\" } }";

/// What tshark reads in the capture of a flow: a row of fields for each packet that the filter lets through.
fn tshark(model: &Model, filter: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let bytes = capture(model, 0).write(Vec::new(), None, 0, "test").unwrap();
    let name = format!("williwaw-rtp-{}-{:?}.pcapng", std::process::id(), std::thread::current().id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, bytes).unwrap();
    // The capture has taps at both ends and at the link: the sender's, interface 0, goes into a file of its own, since
    // round trips are computed from the times of frames.
    let own = file.with_extension("sender.pcapng");
    let mut first = Command::new("tshark");
    first.arg("-n").arg("-r").arg(&file).args(["-Y", "frame.interface_id == 0", "-w"]).arg(&own);
    if let Err(error) = first.output() {
        eprintln!("SKIPPED: there is no tshark: {error}");
        return None;
    }
    let mut command = Command::new("tshark");
    command.args(["-n", "-d", "udp.port==5004,rtp", "-d", "udp.port==5005,rtcp"]);
    command.args(["-o", "rtcp.show_roundtrip_calculation:TRUE", "-r"]).arg(&own);
    command.args(["-Y", filter, "-T", "fields"]);
    fields.iter().for_each(|field| _ = command.args(["-e", field]));
    let out = command.output().unwrap();
    for path in [&file, &own] {
        std::fs::remove_file(path).unwrap();
    }
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

fn number(text: &str) -> i64 {
    let first = text.split(',').next().unwrap_or_default();
    first.strip_prefix("0x").map_or_else(
        || if first == "True" { 1 } else { first.parse().unwrap_or(0) },
        |hex| i64::from_str_radix(hex, 16).unwrap_or(0),
    )
}

/// RT-02: payload types, clocks, markers and timestamps as tshark reads them: PCM begins each talkspurt with a marker and counts 160
/// ticks a frame; H.263 ends each frame with one, and its packets share a timestamp of 90 kHz.
#[test]
fn rt_02_tshark_reads_payload_types_markers_and_timestamps() {
    let fields = ["rtp.p_type", "rtp.seq", "rtp.timestamp", "rtp.marker", "rtp.ssrc", "_ws.malformed"];
    let voice = model("{ rtp = { format = \"pcmu\" } }", VOICE, "");
    let Some(rows) = tshark(&voice, "rtp", &fields) else { return };
    // 20 talkspurts of 100 frames.
    assert_eq!(rows.len(), 2000);
    assert_eq!(rows.iter().filter(|row| number(&row[3]) == 1).count(), 20, "a marker for each talkspurt");
    for pair in rows.windows(2) {
        let [before, after] = [&pair[0], &pair[1]];
        let step = |at: usize, bits: u32| (number(&after[at]) - number(&before[at])).rem_euclid(1 << bits);
        assert_eq!((number(&after[0]), step(1, 16), &after[4], &*after[5]), (0, 1, &before[4], ""));
        assert_eq!(step(2, 32), if number(&after[3]) == 1 { 160 + 8000 } else { 160 });
    }
    let video = model("{ rtp = { format = \"h263\", payload = \"1000 B\" } }", VIDEO, "");
    let Some(rows) = tshark(&video, "rtp", &fields) else { return };
    // 60 s of frames of 3200 B, 200 ms apart: four packets each.
    assert_eq!(rows.len(), 1200);
    for (n, frame) in rows.chunks(4).enumerate() {
        let markers: Vec<_> = frame.iter().map(|row| number(&row[3])).collect();
        assert_eq!(markers, [0, 0, 0, 1], "frame {n}");
        assert!(frame.iter().all(|row| row[2] == frame[0][2] && number(&row[0]) == 34));
        let ticks = (number(&frame[0][2]) - number(&rows[0][2])).rem_euclid(1 << 32);
        assert_eq!(ticks, 18_000 * n as i64, "200 ms of 90 kHz");
    }
}

/// RT-03: reports as tshark reads them, and the round trips that it computes from LSR, DLSR and the times of the frames are those that
/// the sender measures; the losses are those of the path.
#[test]
fn rt_03_tshark_reads_reports_and_computes_the_same_round_trip() {
    let model = model("{ rtp = { format = \"pcmu\" } }", VOICE, LOSS);
    let outcome = play(&model);
    let fields = [
        "rtcp.pt",
        "rtcp.ssrc.fraction",
        "rtcp.ssrc.cum_nr",
        "rtcp.ssrc.ext_high",
        "rtcp.ssrc.jitter",
        "rtcp.ssrc.lsr",
        "rtcp.roundtrip-delay",
        "rtcp.sdes.text",
        "_ws.malformed",
        "ip.src",
    ];
    let Some(rows) = tshark(&model, "rtcp", &fields) else { return };
    let sent: Vec<_> = rows.iter().filter(|row| row[9] == "10.0.0.1").collect();
    let heard: Vec<_> = rows.iter().filter(|row| row[9] != "10.0.0.1").collect();
    assert_eq!(
        (rows.len(), (sent.len() + heard.len()) as f64),
        (rows.len(), get(&outcome, Metric::RtcpReports))
    );
    // RFC 3550 section 6.1: every compound packet begins with a report and has a CNAME; the last one has BYE.
    assert!(sent.iter().all(|row| row[0].starts_with("200,202") && row[7] == "sender@williwaw"), "{sent:?}");
    assert!(
        heard.iter().all(|row| row[0].starts_with("201,202") && row[7] == "receiver@williwaw"),
        "{heard:?}"
    );
    assert!(sent.last().unwrap()[0].ends_with("203") && heard.last().unwrap()[0].ends_with("203"));
    assert!(rows.iter().all(|row| row[8].is_empty()));
    // Cumulative loss of the last report: data dropped by the path.
    let last = heard.last().unwrap();
    let lost = get(&outcome, Metric::PacketsReportedLost);
    assert_eq!(number(&last[2]) as f64, lost);
    assert!((30.0..100.0).contains(&lost), "3 % of 2000: {lost}");
    let delivered = get(&outcome, Metric::MessagesDelivered);
    assert!((2000.0 - delivered - lost).abs() <= 3.0, "{delivered} delivered, {lost} lost");
    // Round trips of tshark are whole milliseconds.
    let trips: Vec<f64> = heard.iter().map(|row| number(&row[6]) as f64).filter(|ms| *ms > 0.0).collect();
    let mean = trips.iter().sum::<f64>() / trips.len() as f64 / 1000.0;
    let own = get(&outcome, Metric::RtcpRoundTrip);
    println!("round trip: tshark {mean:.4} s of {} reports, sender {own:.4} s; {lost} lost", trips.len());
    assert!(trips.len() >= 5 && (mean - own).abs() < 0.001, "{mean} {own}");
    assert!((0.2..0.215).contains(&own));
}

/// RT-03: where the sender's BYE is lost the receiver times it out (RFC 3550 section 6.3.5: five intervals of 5 s, and one of at most
/// 6.16 s until it looks), reports no more, and the run ends as it does with the BYE.
#[test]
fn rt_03_a_lost_bye_ends_with_the_time_out() {
    let app = "{ cbr = { rate = \"64 kbit/s\", packet = \"160 B\", lasts = \"60 s\" } }";
    let run = |hop: &str| {
        let outcome = play(&model("{ rtp = { format = \"pcmu\" } }", app, hop));
        let last = outcome.world.network.next_wake();
        (get(&outcome, Metric::CompletionTime), get(&outcome, Metric::RtcpReports), last)
    };
    let lost = "[[hop.loss]]\nname = \"end\"\ndirections = \"down\"\ntwo-state.over-time = { good = \"59.9 s\", bad = \"1 s\" }";
    let (heard, lost) = (run(""), run(lost));
    println!("end, reports and timers with the BYE {heard:?}, without {lost:?}");
    assert_eq!((heard.0, lost.0), (59.98, 59.98));
    // In place of a BYE, reports 2.05 to 6.16 s apart until the time-out.
    assert!((heard.1 + 3.0..=heard.1 + 15.0).contains(&lost.1), "{heard:?} {lost:?}");
    assert_eq!(lost.2, heard.2, "no timer runs on");
}

/// RT-03: an application that hears of losses in reports slows down, where it may.
#[test]
fn rt_03_the_source_slows_down_by_reports() {
    let sent = |word: &str, hop: &str| {
        let transport = format!("{{ rtp = {{ on-congestion = \"{word}\" }} }}");
        let outcome = play(&model(&transport, VIDEO, hop));
        (get(&outcome, Metric::MessagesSent), get(&outcome, Metric::LossRatio))
    };
    let narrow = "queue = { drop-tail = { limit = \"8 packets\" } }\n[[hop.rate-change]]\nname = \"fade\"\nstart = \"10 s\"\nlasts = \"40 s\"\nfactor = 0.25";
    let (keeps, slows) = (sent("keep", narrow), sent("slow-down", narrow));
    println!("frames sent and lost: keep {keeps:?}, slow-down {slows:?}");
    assert_eq!(keeps.0, 300.0);
    // The frames are as many, over a longer time.
    assert!(slows.0 == keeps.0 && slows.1 < 0.6 * keeps.1, "{keeps:?} {slows:?}");
    assert_eq!(sent("slow-down", ""), sent("keep", ""));
}

/// RT-04, RT-03: SR-RTP reports beside its acknowledgements; tshark reads both, RTCP on the port of its own, and lost fragments are
/// sent again within the lifetime.
#[test]
fn rt_04_selective_retransmission_reports_too() {
    let transport = "{ atp = { carrier = \"rtp\", lifetime = \"5 s\" } }";
    let app = "{ ticker = { size = \"5 kB\", every = \"1 s\", count = 60, playout = \"5 s\" } }";
    let model = model(transport, app, LOSS);
    let outcome = play(&model);
    let again = get(&outcome, Metric::SegmentsRetransmitted);
    let (in_time, trip) = (get(&outcome, Metric::UnitsInTime), get(&outcome, Metric::RtcpRoundTrip));
    println!("{again} fragments again, {in_time} in time, round trip {trip:.4} s");
    assert!(again > 5.0 && in_time == 1.0);
    assert!((0.2..0.3).contains(&trip), "{trip}");
    let fields = ["rtcp.pt", "rtp.p_type", "_ws.malformed", "udp.dstport"];
    let Some(rows) = tshark(&model, "udp", &fields) else { return };
    let is = |kind: &str| rows.iter().filter(|row| row[0].split(',').any(|pt| pt == kind)).count();
    assert!(is("200") >= 8 && is("201") >= 8 && is("204") >= 60, "{} {} {}", is("200"), is("201"), is("204"));
    assert!(rows.iter().all(|row| row[2].is_empty()));
    assert!(rows.iter().all(|row| (row[3] == "5005") == row[1].is_empty()), "RTCP has a port of its own");
}

/// RT-04: flows that share a window divide it by their weights, and one flow's unused share goes to the other.
#[test]
fn rt_04_weights_divide_a_shared_window() {
    let rates = |weights: [u32; 2], second: &str| {
        let flow = |name: &str, weight: u32, app: &str| {
            format!(
                "[[flow]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"phone\"\ntransport = {{ atp = {{ carrier = \"rtp\", control = \"shared\", weight = {weight}, fragment-lifetime = \"always\" }} }}\napp = {app}\n"
            )
        };
        let bulk = "{ bulk = { lasts = \"120 s\" } }";
        let text = format!(
            "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nrate = \"1 Mbit/s\"\ndelay = \"50 ms\"\nqueue = {{ drop-tail = {{ limit = \"30 packets\" }} }}\n{}{}[run]\nlimit = \"125 s\"\n",
            flow("a", weights[0], bulk),
            flow("b", weights[1], second)
        );
        let outcome = run_once(&testkit::model::<&str>(&text, &[]), 0, Options::default());
        [0, 1].map(|n| outcome.flows[n].get(Metric::Throughput).unwrap_or(f64::NAN))
    };
    let bulk = "{ bulk = { lasts = \"120 s\" } }";
    for (weights, share) in [([1, 1], 1.0), ([2, 1], 2.0), ([4, 1], 4.0)] {
        let [a, b] = rates(weights, bulk);
        println!("weights {weights:?}: {a:.0} and {b:.0} bit/s, ratio {:.2}", a / b);
        assert!((a / b / share - 1.0).abs() < 0.1, "{weights:?}: {}", a / b);
        // A flow that waits is woken when its turn comes.
        let used = (a + b) / (1e6 * 640.0 / 708.0);
        println!("the link is used to {used:.3}");
        assert!(used > 0.95, "the link is used: {used}");
    }
    // A flow of 64 kbit/s leaves the rest to the other, whatever its weight.
    let [a, b] = rates([1, 100], "{ cbr = { rate = \"64 kbit/s\", packet = \"640 B\", lasts = \"120 s\" } }");
    println!("beside 64 kbit/s of weight 100: {a:.0} and {b:.0} bit/s");
    assert!(a + b > 0.95 * 1e6 * 640.0 / 708.0 && (b / 64e3 - 1.0).abs() < 0.05);
}

/// AT-33, AT-34: over TCP each unit has a connection of its own; one that is not through at the end of its lifetime is aborted, and what
/// waits behind a pause is not delivered late.
#[test]
fn at_33_at_34_a_unit_has_a_connection_over_tcp() {
    let app = "{ ticker = { size = \"5 kB\", every = \"5 s\", count = 20, playout = \"5 s\" } }";
    let pause = "queue = { deadline = { limit = \"100 kB\", check = \"queue\" } }\n[[hop.gate]]\nname = \"pause\"\nstart = \"30.2 s\"\nlasts = \"12.6 s\"";
    let over_tcp = model("{ atp = { carrier = \"tcp\", lifetime = \"5 s\" } }", app, pause);
    let outcome = play(&over_tcp);
    let values = [
        Metric::MessagesSent,
        Metric::Connections,
        Metric::MessagesDelivered,
        Metric::MessagesLate,
        Metric::UnitsExpired,
    ];
    let [sent, connections, delivered, late, expired] = values.map(|metric| get(&outcome, metric));
    println!(
        "{sent} units, {connections} connections, {delivered} delivered, {late} late, {expired} aborted"
    );
    assert_eq!((sent, connections, late, sent - delivered), (20.0, 20.0, 0.0, expired));
    // Units made at 30 and 35 s end before the pause does, that of 40 s lives until 45 s.
    assert_eq!(expired, 2.0);
    // One connection of TCP needs no handshake for the unit of 30 s, and delivers that of 35 s late.
    let one = play(&model("\"tcp\"", app, pause));
    assert!(get(&one, Metric::MessagesLate) >= 1.0);
    // Losses are repaired by each connection.
    let lossy = play(&model("{ atp = { carrier = \"tcp\", lifetime = \"5 s\" } }", app, LOSS));
    assert!(get(&lossy, Metric::SegmentsRetransmitted) > 0.0 && get(&lossy, Metric::UnitsInTime) > 0.85);
    let Some(rows) =
        tshark(&over_tcp, "tcp.flags.syn == 1 && tcp.flags.ack == 0", &["tcp.stream", "_ws.malformed"])
    else {
        return;
    };
    // The connections follow each other on the same ports; a SYN that meets the pause is sent again.
    assert!(rows.len() >= 20, "{}", rows.len());
    assert!(rows.iter().all(|row| row[1].is_empty()));
}

/// AT-09: a pause is no lack of capacity: after it no unit is given up as infeasible, and where the link carries less than the units
/// need, the check gives up what cannot arrive.
#[test]
fn at_09_feasibility_goes_by_the_least_round_trip() {
    let pause = "queue = { drop-tail = { limit = \"100 kB\" } }\n[[hop.gate]]\nname = \"pause\"\nstart = \"32 s\"\nlasts = \"3 s\"";
    let units = |rate: &str, hop: &str| {
        let app = "{ ticker = { size = \"5 kB\", every = \"5 s\", count = 40, playout = \"5 s\" } }";
        let text = format!(
            "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nrate = \"{rate}\"\ndelay = \"300 ms\"\n{hop}\n[[flow]]\nname = \"news\"\nfrom = \"server\"\nto = \"phone\"\ntransport = {{ atp = {{ lifetime = \"5 s\", fragment-lifetime = \"always\" }} }}\napp = {app}\n[run]\nlimit = \"400 s\"\n"
        );
        let outcome = run_once(&testkit::model::<&str>(&text, &[]), 0, Options::default());
        (get(&outcome, Metric::UnitsInfeasible), get(&outcome, Metric::UnitsInTime))
    };
    let (wide, narrow) = (units("30 kbit/s", pause), units("8 kbit/s", ""));
    println!("given up and in time: 30 kbit/s with a pause {wide:?}, 8 kbit/s {narrow:?}");
    assert_eq!(wide.0, 0.0);
    assert!(wide.1 >= 38.0 / 40.0, "{wide:?}");
    assert!(narrow.0 > 20.0, "{narrow:?}");
}
