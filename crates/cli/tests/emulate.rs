//! The claim: `emulate` ends like other verbs, reports unsupported requests, and leaves nothing behind. Where the
//! process may not make namespaces, the test reports this and is skipped.

mod common;

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::process::{Command, Output};
use testkit::Download;

fn scenario() -> Download {
    Download::over("1 Mbit/s", "20 ms").unlimited().transport("\"linux\"").bytes("30 kB").limit("20 s")
}

fn emulate(folder: &tempfile::TempDir, args: &[&str]) -> Output {
    let file = folder.path().join("s.toml");
    std::fs::write(&file, scenario().text()).unwrap();
    Command::new(cargo_bin("williwaw")).arg("emulate").arg(&file).args(args).output().unwrap()
}

/// Exit code 3: the machine cannot run it.
fn may_not(output: &Output) -> bool {
    let cannot = output.status.code() == Some(3);
    if cannot {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
    }
    cannot
}

/// JSON document with the metrics of `run`, the kernel's counters and the lateness (SW-01, SW-05).
#[test]
fn one_document_tells_all() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        emulate(&folder, &["--no-out", "--json", "--reps", "2", "--jobs", "2", "--lateness", "50 ms"]);
    if may_not(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "williwaw-emulate/1");
    assert_eq!(document["faithful"], true);
    assert_eq!(document["cells"][0]["reps"], 2);
    let time = document["cells"][0]["metrics"]["download_time_s"]["mean"].as_f64().unwrap();
    // 21 packets of 1500 bytes at 1 Mbit/s and three times 20 ms at least.
    assert!(time > 0.3 && time < 2.0, "{time}");
    assert!(document["cells"][0]["metrics"]["spurious_timeouts"]["mean"].is_null());
    let repetition = &document["repetitions"][1];
    assert_eq!(repetition["flows"]["download"]["tcp_info"]["snd_mss"], 1448);
    assert!(repetition["timing"]["egress"]["n"].as_u64().unwrap() > 40);
}

/// An impossible lateness limit makes a run unfaithful, with exit code 4 (SW-60).
#[test]
fn late_packets_make_a_run_unfaithful() {
    let folder = tempfile::tempdir().unwrap();
    let output = emulate(&folder, &["--no-out", "--lateness", "1 us", "--no-realtime"]);
    if may_not(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("unfaithful"));
}

/// `run` and `plot` refuse a kernel's flow where there is no kernel, before anything starts.
#[test]
fn plot_and_run_without_a_kernel_refuse_a_real_transport() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, scenario().text()).unwrap();
    for verb in ["run", "plot"] {
        let output = Command::new(cargo_bin("williwaw"))
            .current_dir(folder.path())
            .arg(verb)
            .arg(&file)
            .env("XDG_CACHE_HOME", folder.path())
            .env_remove("WILLIWAW_LINUX")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{verb}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("williwaw linux build"), "{verb}");
    }
    let output = Command::new(cargo_bin("williwaw"))
        .arg("run")
        .arg(&file)
        .args(["--no-out", "--set", "flow.download.transport=tcp"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A killed process leaves no namespace: in a user namespace that allows four, one is killed in the middle, time
/// after time, and the next one finds room.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_leaves_no_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    std::fs::write(&file, scenario().bytes("100 MB").text()).unwrap();
    let script = r#"
        echo 4 > /proc/sys/user/max_net_namespaces || exit 77
        for i in 1 2 3 4 5 6; do
            "$0" emulate "$1" --no-out --quiet > "$2/out" 2> "$2/err" &
            sleep 0.7
            kill -0 $! 2> "$2/kill" || { cat "$2/err"; exit 1; }
            kill -9 $!
            wait $! 2> "$2/kill"
            sleep 0.3
        done
    "#;
    let user = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", script])
        .arg(cargo_bin("williwaw"))
        .arg(&file)
        .arg(folder.path())
        .output();
    let output = match user {
        Ok(output) => output,
        Err(error) => return eprintln!("skipped: unshare: {error}"),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(77)
        || text.contains("needs rights")
        || output.status.code() == Some(1) && text.is_empty()
    {
        return eprintln!(
            "skipped: no user namespaces here: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

/// The shipped scenarios for kernels in virtual time can be read, whether there is a kernel or not.
#[test]
fn every_shipped_scenario_for_kernels_can_be_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/linux");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let check = Command::new(cargo_bin("williwaw")).arg("check").arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&check.stderr);
        assert!(check.status.success() && said.is_empty(), "{said}");
    }
}

/// The shipped scenarios for real time can be read, and run with a model in the kernel's place.
#[test]
fn every_shipped_scenario_for_real_time_runs_with_a_model() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/real");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    assert!(!files.is_empty());
    for file in files {
        let say = |args: &[&str]| {
            Command::new(cargo_bin("williwaw")).arg(args[0]).arg(&file).args(&args[1..]).output().unwrap()
        };
        let check = say(&["check"]);
        assert!(
            check.status.success() && check.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&check.stderr)
        );
        if std::fs::read_to_string(&file).unwrap().contains("[[command]]") {
            continue; // nothing stands in for a program
        }
        let run = say(&["run", "--no-out", "--set", "flow.*.transport=tcp"]);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
}

/// AT-32: in real time a kernel's packets get their deadline as an IP timestamp option, which tshark reads back; a path that does
/// not look at deadlines carries them unharmed, and the receiving kernel takes them. A router that does look drops what expired.
#[test]
fn at_32_deadlines_are_ip_timestamp_options_in_real_time() {
    let folder = tempfile::tempdir().unwrap();
    let pcap = folder.path().join("all.pcapng");
    let path = pcap.to_str().unwrap();
    for encoding in ["expiration", "timestamp-and-ttl"] {
        let transport = format!(
            "flow.download.transport={{ linux = {{ lifetime = \"2 s\", deadline-encoding = \"{encoding}\" }} }}"
        );
        let output = emulate(
            &folder,
            &["--no-out", "--json", "--lateness", "50 ms", "--pcap", path, "--set", &transport],
        );
        if may_not(&output) {
            return;
        }
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let metrics = &document["cells"][0]["metrics"];
        assert!(metrics["download_time_s"]["mean"].is_number(), "all of it came: {metrics}");
        // Packets that leave the network for the phone: the server's kernel knows no deadline, its port wrote it.
        let filter =
            "frame.interface_name==phone && tcp.srcport==9 || frame.interface_name==phone && tcp.len>0";
        let fields = [
            "-T",
            "fields",
            "-e",
            "ip.opt.type",
            "-e",
            "ip.opt.len",
            "-e",
            "ip.ttl",
            "-e",
            "ip.checksum.status",
        ];
        let read = Command::new("tshark")
            .args(["-r", path, "-o", "ip.check_checksum:TRUE", "-Y", filter])
            .args(fields)
            .output();
        let Ok(read) = read else { return eprintln!("skipped: there is no tshark here") };
        let text = String::from_utf8_lossy(&read.stdout);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        let data = lines.iter().filter(|line| line[0] == "68" && line[1] == "8" && line[3] == "1").count();
        // 30 kB take 21 segments.
        assert!(data >= 21, "{encoding}: {text}");
        // Two seconds are twenty units of 100 ms.
        let units = lines.iter().filter(|line| line[2] == "20").count();
        assert!(encoding == "expiration" || units >= 21, "{text}");
    }
    // A link that stands still for longer than packets live, and drops them.
    let text = scenario().text().replace(
        "queue = \"unlimited\"",
        "queue = { deadline = { limit = \"100 packets\", check = \"queue\" } }\n[[hop.gate]]\nname = \"pause\"\n\
         start = \"100 ms\"\nlasts = \"1 s\"\ndirections = \"down\"",
    );
    let text = text.replace("transport = \"linux\"", "transport = { linux = { lifetime = \"300 ms\" } }");
    let file = folder.path().join("pause.toml");
    std::fs::write(&file, text).unwrap();
    let output = Command::new(cargo_bin("williwaw"))
        .arg("emulate")
        .arg(&file)
        .args(["--no-out", "--json", "--lateness", "50 ms"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let metrics = &document["cells"][0]["metrics"];
    assert!(
        metrics["packets_dropped"]["mean"].as_f64().unwrap() > 0.0,
        "what expired in the pause is not sent"
    );
    assert!(metrics["download_time_s"]["mean"].is_number(), "all of it came: {metrics}");
}
