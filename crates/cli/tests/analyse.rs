//! `analyse` through the command: the JSON document, both captures, and the error for a file that is no capture.

use assert_cmd::Command;
use serde_json::Value;
use testkit::Download;

fn williwaw(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("williwaw").unwrap().args(args).env("NO_COLOR", "1").assert()
}

fn scenario() -> Download {
    let tcp = r#"profile = "rfc", recovery = "reno", window = "8 kB", mss = "1000 B""#;
    Download::over("100 kbit/s", "100 ms").drop_tail(30).spikes("handover", r#"[["4 s", "6 s"]]"#).tcp(tcp)
}

#[test]
fn a_capture_of_a_run_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("s.toml"), scenario().text()).unwrap();
    williwaw(&["run", &at("s.toml"), "--pcap", "--out", &at("out"), "--quiet"]).success();
    let (server, phone) = (at("out/rep0.server.pcapng"), at("out/rep0.phone.pcapng"));
    let text = williwaw(&["analyse", &server]).success().get_output().stdout.clone();
    let text = String::from_utf8(text).unwrap();
    assert!(text.lines().next().unwrap().contains(" sent "), "{text}");
    assert!(text.contains("timeout, spurious") && text.contains("delay-spike"), "{text}");
    for both in [false, true] {
        let mut args = vec!["analyse", &server, "--json"];
        if both {
            args.extend(["--receiver", &phone]);
        }
        let out = williwaw(&args).success().get_output().stdout.clone();
        let document: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(document["schema"], "williwaw-analyse/1");
        let flow = &document["flows"][0];
        for key in ["client", "server", "packets", "bytes", "data_bytes", "duration_s", "retransmissions"] {
            assert!(!flow[key].is_null(), "{key}: {flow}");
        }
        for key in ["timeouts", "fast_retransmits", "go_back_n", "delay_spikes", "faults"] {
            assert!(flow[key].is_array(), "{key}: {flow}");
        }
        assert!(flow["rtt"]["min_s"].as_f64().unwrap() > 0.2);
        assert!(flow.get("buffer_estimate_bytes").is_some());
        assert_eq!(flow["timeouts"][0]["kind"], "spurious");
        assert_eq!(flow["unneeded_retransmissions"], flow["retransmissions"]);
        let spike = &flow["delay_spikes"][0];
        assert_eq!(spike["kind"], "delay-spike");
        assert!(spike["until"].as_f64().unwrap() - spike["t"].as_f64().unwrap() > 5.0);
        // SC-08: a delay spike without losses.
        assert_eq!((&flow["choice"]["protocol"], &flow["choice"]["lossy"]), (&"eifel".into(), &false.into()));
        if both {
            assert_eq!(flow["timeouts"][0]["evidence"], "receiver-capture");
        }
    }
    // The capture with all taps: the analyser finds its two ends.
    let flow = |args: &[&str]| verdicts_of(args)["flows"][0].clone();
    let both = flow(&[&server, "--receiver", &phone]);
    let all = flow(&[&at("out/rep0.pcapng")]);
    for key in ["packets", "retransmissions", "unneeded_retransmissions", "timeouts", "delay_spikes"] {
        assert_eq!(all[key], both[key], "{key}");
    }
    // An existing connection number, and a missing one.
    williwaw(&["analyse", &server, "--flow", ":5001", "--until", "3"]).success();
    williwaw(&["analyse", &server, "--flow", "7"]).code(2);
}

/// JSON document without the parts that name the file and the endpoints, the sentences included.
fn verdicts(capture: &str) -> Value {
    verdicts_of(&[capture])
}

fn verdicts_of(args: &[&str]) -> Value {
    let out = williwaw(&[&["analyse", "--json"], args].concat()).success().get_output().stdout.clone();
    let mut document: Value = serde_json::from_slice(&out).unwrap();
    document.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "file" | "story"));
    for flow in document["flows"].as_array_mut().unwrap() {
        flow.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "client" | "server"));
    }
    document
}

#[test]
fn an_anonymised_copy_gets_the_same_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("s.toml"), scenario().text()).unwrap();
    williwaw(&["run", &at("s.toml"), "--pcap", "--out", &at("out"), "--quiet"]).success();
    let server = at("out/rep0.server.pcapng");
    let copy = |name: &str| {
        williwaw(&["analyse", &server, "--anonymise", &at(name), "--key", &at("key"), "--quiet"]).success();
        std::fs::read(at(name)).unwrap()
    };
    let first = copy("shown.pcapng");
    assert_eq!(verdicts(&server), verdicts(&at("shown.pcapng")));
    assert_ne!(std::fs::read(&server).unwrap(), first);
    // Equal keys yield equal copies; without a key each copy differs.
    assert_eq!(first, copy("again.pcapng"));
    williwaw(&["analyse", &server, "--anonymise", &at("other.pcapng"), "--quiet"]).success();
    assert_ne!(first, std::fs::read(at("other.pcapng")).unwrap());
    assert_eq!(verdicts(&server), verdicts(&at("other.pcapng")));
    // Existing files are not overwritten, not even the capture; an invalid key file is an error.
    let before = std::fs::read(&server).unwrap();
    williwaw(&["analyse", &server, "--anonymise", &server]).code(2);
    assert_eq!(before, std::fs::read(&server).unwrap());
    std::fs::write(at("no-key"), "secret\n").unwrap();
    williwaw(&["analyse", &server, "--anonymise", &at("never.pcapng"), "--key", &at("no-key")]).code(2);
    assert!(!folder.path().join("never.pcapng").exists());
    williwaw(&["analyse", &server, "--key", &at("key")]).code(2);
}

/// A pipe cannot be read twice: the copy would wait for ever for the capture, or for the key.
#[cfg(unix)]
#[test]
fn an_anonymised_copy_of_a_pipe_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("s.toml"), scenario().text()).unwrap();
    williwaw(&["run", &at("s.toml"), "--pcap", "--out", &at("out"), "--quiet"]).success();
    let server = at("out/rep0.server.pcapng");
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    for words in [
        &["analyse", &at("pipe"), "--anonymise", &at("copy.pcapng")][..],
        &["analyse", &server, "--anonymise", &at("copy.pcapng"), "--key", &at("pipe")],
    ] {
        let mut command = Command::cargo_bin("williwaw").unwrap();
        command.args(words).timeout(std::time::Duration::from_secs(30)).assert().code(2);
    }
    assert!(!folder.path().join("copy.pcapng").exists());
}

/// An interrupted copy leaves nothing: neither the file nor a part of it. The capture is long enough to be caught in the
/// middle: sections follow each other in pcapng.
#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods, reason = "what is tested takes real time")]
fn an_interrupted_anonymised_copy_leaves_nothing() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("s.toml"), scenario().text()).unwrap();
    williwaw(&["run", &at("s.toml"), "--pcap", "--out", &at("out"), "--quiet"]).success();
    let capture = std::fs::read(at("out/rep0.server.pcapng")).unwrap();
    let mut long = std::fs::File::create(at("long.pcapng")).unwrap();
    (0..(300 << 20) / capture.len()).for_each(|_| long.write_all(&capture).unwrap());
    let desk = folder.path().join("desk");
    std::fs::create_dir(&desk).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_williwaw"))
        .args(["analyse", &at("long.pcapng"), "--anonymise", desk.join("copy.pcapng").to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let written = || {
        let files = std::fs::read_dir(&desk).unwrap();
        files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum::<u64>()
    };
    for _ in 0..500 {
        if written() > 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(written() > 0, "the copy has begun");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(std::fs::read_dir(&desk).unwrap().count(), 0, "nothing is left");
}

#[test]
fn what_is_no_capture_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.txt");
    std::fs::write(&file, "not a capture, not at all").unwrap();
    williwaw(&["analyse", file.to_str().unwrap()]).code(2);
    williwaw(&["analyse", "/nowhere/at/all.pcap"]).code(2);
}

/// One page for a support case, with every picture; names that look like markup stay text.
#[test]
fn a_page_holds_the_whole_case() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("s.toml"), scenario().text()).unwrap();
    williwaw(&["run", &at("s.toml"), "--pcap", "--out", &at("out"), "--quiet"]).success();
    let server = at("<b>case.pcapng");
    std::fs::copy(at("out/rep0.server.pcapng"), &server).unwrap();
    let phone = at("out/rep0.phone.pcapng");
    williwaw(&["analyse", &server, "--receiver", &phone, "--html", &at("case.html"), "--quiet"]).success();
    let page = std::fs::read_to_string(at("case.html")).unwrap();
    for words in ["What happened", "Connections, the largest first", "Connection 0", "timeout, spurious"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(page.contains("&lt;b&gt;case") && !page.contains("<b>case"), "names are escaped");
    for title in ["Time and sequence", "Throughput", "Round trips", "Data outstanding", "The receiver"] {
        assert!(page.contains(title), "{title}");
    }
    assert!(page.len() < 5 << 20, "{} B", page.len());
    let refused = williwaw(&["analyse", &server, "--html", &at("nowhere/case.html")]).failure();
    assert!(String::from_utf8_lossy(&refused.get_output().stderr).contains("nowhere"));
}
