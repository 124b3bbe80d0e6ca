//! One scenario by three means (ME-04): a run in virtual time, an emulation with the kernel's TCP, and captures.

mod common;

use common::Desk;
use serde_json::Value;

/// Counts from a capture at the sender.
const TOLD: [&str; 9] = [
    "completion_time_s",
    "goodput_ratio",
    "segments_sent",
    "segments_delivered",
    "segments_retransmitted",
    "unneeded_retransmissions",
    "spurious_timeouts",
    "genuine_timeouts",
    "spurious_fast_retransmits",
];

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// The small grid with one cell; a receiver that reports duplicates, so that the sender's capture tells all.
const ONE: [&str; 6] = [
    "--set",
    "flow.download.transport.tcp.recovery=sack",
    "--set",
    "flow.download.transport.tcp.spurious=none",
    "--set",
    "flow.download.transport.tcp.dsack=true",
];

/// Makes a run with captures, and a folder with those of the host named.
fn captured(desk: &Desk, file: &str, set: &[&str], reps: &str, host: &str) {
    let made = desk.run(&[&["run", file, "--reps", reps, "--pcap=all", "--out", "made", "-q"], set].concat());
    assert_eq!(made.code, 0, "{}", made.err);
    std::fs::create_dir(desk.path("field")).unwrap();
    for entry in std::fs::read_dir(desk.path("made")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(&format!(".{host}.pcapng")) {
            std::fs::copy(desk.path("made").join(&name), desk.path("field").join(&name)).unwrap();
        }
    }
}

/// ME-04: verdicts from the sender's captures of a run equal the run's counts, repetition by repetition.
#[test]
fn captures_of_a_run_tell_its_numbers() {
    let desk = Desk::new();
    captured(&desk, "small.toml", &ONE, "8", "server");
    let ended = desk.run(&["compare", "made", "field", "--metrics", "all", "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let compared = document(&ended.out);
    assert!(compared["sentence"].as_str().unwrap().starts_with("With weather of their own"), "{compared}");
    let metrics = &compared["cells"][0]["metrics"];
    let mut exact = 0;
    for name in TOLD {
        let difference = &metrics[name]["difference"];
        println!("{name}: {} of 8 told, difference {}", difference["n"], difference["mean"]);
        let reach = difference["max"].as_f64().unwrap().abs().max(difference["min"].as_f64().unwrap().abs());
        // Whole repetitions: undecidable cases are left out, and no verdict is wrong.
        assert!(reach < 1e-6, "{name}: {difference}");
        assert!(difference["n"].as_u64().unwrap() >= 6, "{name}: {difference}");
        exact += 1;
    }
    assert_eq!(exact, TOLD.len());
    // The run has unneeded retransmissions and spurious timeouts.
    assert!(metrics["unneeded_retransmissions"]["a"]["mean"].as_f64().unwrap() > 1.0);
    assert!(metrics["spurious_timeouts"]["a"]["mean"].as_f64().unwrap() > 0.5);
    assert_eq!(compared["cells"][0]["metrics"].get("queue_delay_s"), None);

    // By default the sentence is about the completion time, the only duration that both sides have.
    let ended = desk.run(&["compare", "made", "field"]);
    assert!(ended.out.contains("the same completion time in every one of 8 pairs"), "{}", ended.out);

    // One capture beside the scenario, played now; the first side may be the capture.
    let one =
        [&["compare", "field/rep3.server.pcapng", "small.toml", "--reps", "8", "--json"], &ONE[..]].concat();
    let ended = desk.run(&one);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let compared = document(&ended.out);
    let sent = &compared["cells"][0]["metrics"]["segments_sent"];
    assert_eq!((sent["difference"]["n"].as_u64(), sent["told"].as_str()), (Some(1), Some("same")), "{sent}");
    assert_eq!(compared.get("among"), None, "eight repetitions have no tenth");

    // Rank of the capture among many repetitions, counted independently.
    let many = [
        "compare",
        "small.toml",
        "field/rep3.server.pcapng",
        "--reps",
        "40",
        "--metrics",
        "segments_sent",
        "--json",
    ];
    let ended = desk.run(&[&many, &ONE[..]].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let among = document(&ended.out)["among"].clone();
    let run = desk.run(&[&["run", "small.toml", "--reps", "40", "--no-out", "--csv"], &ONE[..]].concat());
    let mut lines = run.out.lines();
    let at = lines.next().unwrap().split(',').position(|name| name == "segments_sent").unwrap();
    let all: Vec<f64> = lines.map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect();
    assert_eq!((all.len(), among["value"].as_f64()), (40, Some(all[3])), "{among}");
    assert_eq!(among["less"], all.iter().filter(|sent| **sent < all[3]).count());
    assert_eq!(among["more"], all.iter().filter(|sent| **sent > all[3]).count());
    assert!(
        among["sentence"].as_str().unwrap().starts_with("Of the 40 repetitions of small.toml"),
        "{among}"
    );
}

/// Flows with different start times are distinguished by them.
#[test]
fn connections_are_flows_in_the_order_in_which_they_begin() {
    let desk = Desk::new();
    let two = common::SMALL
        .replace("bytes = \"50 KiB\" } }", "bytes = \"50 KiB\" } }\n[[flow]]\nname = \"early\"\nfrom = \"server\"\nto = \"phone\"\ntransport = \"tcp\"\napp = { bulk = { bytes = \"20 kB\" } }\n")
        .replace("name = \"download\"\n", "name = \"download\"\nstart = \"3 s\"\n");
    desk.write("two.toml", &two);
    captured(&desk, "two.toml", &ONE, "2", "server");
    let ended = desk.run(&["compare", "made", "field", "--metrics", "all", "--flows", "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let flows = &document(&ended.out)["cells"][0]["flows"];
    for (flow, least) in [("download", 36.0), ("early", 14.0)] {
        let sent = &flows[flow]["segments_delivered"];
        assert_eq!(sent["told"], "same", "{flow}: {flows}");
        assert!(sent["a"]["mean"].as_f64().unwrap() >= least, "{sent}");
        assert_eq!(flows[flow]["segments_sent"]["told"], "same");
    }
    let together = two.replace("start = \"3 s\"\n", "");
    desk.write("together.toml", &together);
    let refused = desk.run(&[&["compare", "together.toml", "field"], &ONE[..]].concat());
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("a capture does not show which connection is"), "{}", refused.err);
}

/// Each mistake has one sentence.
#[test]
fn what_a_capture_cannot_tell_is_said() {
    let desk = Desk::new();
    captured(&desk, "small.toml", &ONE, "1", "server");
    let refused = |args: &[&str], words: &str| {
        let ended = desk.run(args);
        assert_eq!(ended.code, 2, "{}", ended.err);
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    };
    let capture = "field/rep0.server.pcapng";
    refused(&["compare", capture, capture], "both sides are captures");
    refused(&["compare", "made", capture, "--set-b", "run.seed=2"], "is a capture; --set cannot change it");
    refused(&["compare", "small.toml", capture], "does not identify a cell of the grid");
    refused(&["compare", "-", capture], "stdin can be read only once");
    let web = common::SMALL.replace("bulk = { bytes = \"50 KiB\" }", "request-reply = { requests = 3 }");
    desk.write("other.toml", &web);
    let ended = desk.run(&["compare", "other.toml", capture]);
    assert_eq!(ended.code, 2, "{}", ended.err);
    desk.write("noise.pcapng", "this is no capture");
    assert_eq!(desk.run(&["compare", "made", "noise.pcapng"]).code, 2);
}

/// ME-04: an emulation beside its own captures, and beside the model: the kernel's TCP in namespaces. The capture
/// gives the timeouts, which are not otherwise visible for a kernel.
#[test]
fn an_emulation_beside_its_captures_and_the_model() {
    let desk = Desk::new();
    let real = "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nrate = \"1 Mbit/s\"\n\
        delay = \"20 ms\"\nqueue = { drop-tail = { limit = \"10 packets\" } }\n[[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\n\
        transport = \"linux\"\napp = { bulk = { bytes = \"100 kB\" } }\n[run]\nrepetitions = 2\nlimit = \"20 s\"\n";
    desk.write("real.toml", real);
    let ended =
        desk.run(&["emulate", "real.toml", "--captures", "--out", "lived", "--lateness", "50 ms", "-q"]);
    if ended.code == 3 {
        eprintln!("skipped: {}", ended.err);
        return;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    std::fs::create_dir(desk.path("field")).unwrap();
    for rep in 0..2 {
        let name = format!("0-{rep}.pcapng");
        std::fs::copy(desk.path("lived/captures").join(&name), desk.path("field").join(&name)).unwrap();
    }
    let ended = desk.run(&["compare", "lived", "field", "--metrics", "all", "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let metrics = document(&ended.out)["cells"][0]["metrics"].clone();
    assert_eq!(metrics["segments_sent"]["told"], "same", "{}", metrics["segments_sent"]);
    let time = metrics["completion_time_s"]["difference"]["mean"].as_f64().unwrap();
    // The kernel measures the completion time at its socket, the capture at the packet port.
    assert!(time.abs() < 0.1, "{}", metrics["completion_time_s"]);
    // The kernel reports no timeouts; the capture shows them.
    assert_eq!(metrics["spurious_timeouts"]["only_b"], 2, "{}", metrics["spurious_timeouts"]);

    // The emulation beside the model of the same scenario.
    let model = real.replace("transport = \"linux\"", "transport = { tcp = { profile = \"linux-6.x\" } }");
    desk.write("model.toml", &model);
    let ended = desk.run(&[
        "compare",
        "model.toml",
        "field",
        "--metrics",
        "completion_time_s,segments_sent",
        "--json",
    ]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let metrics = document(&ended.out)["cells"][0]["metrics"].clone();
    let [model, life] = ["a", "b"].map(|side| metrics["completion_time_s"][side]["mean"].as_f64().unwrap());
    println!("completion of 100 kB: model {model:.3} s, captured life {life:.3} s");
    assert!((model / life - 1.0).abs() < 0.25, "{model} {life}");
}
