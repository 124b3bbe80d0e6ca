//! The claim: any program is a workload. Its output and exit status are kept for each repetition, and a killed run is
//! continued without losing one. Where the process may make no namespaces, the test reports this and is skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const SCENARIO: &str = r#"
    williwaw = 1
    [[hop]]
    name = "radio"
    between = ["server", "phone"]
    rate = "1 Mbit/s"
    delay = "30 ms"
    queue = "unlimited"
    [[node]]
    name = "phone"
    linux = { mtu = "1400 B", sysctl = { tcp_frto = 0 } }
    [[command]]
    name = "look"
    at = "phone"
    start = "200 ms"
    run = "cat /proc/sys/net/ipv4/tcp_frto; getent hosts server; echo told >&2; sleep 0.3"
    [[command]]
    name = "idle"
    at = "server"
    run = "sleep 1000"
    serves = true
    start = "1 ms"
    [run]
    repetitions = 3
    limit = "20 s"
    [expect]
    "look.completion_time_s.mean" = ["> 0.3 s", "< 2 s"]
"#;

fn emulate(folder: &Path, text: &str, args: &[&str]) -> Command {
    let file = folder.join("s.toml");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(cargo_bin("williwaw"));
    command.current_dir(folder).arg("emulate").arg(&file).args(args);
    command
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn may_not(output: &Output) -> bool {
    let cannot = output.status.code() == Some(3);
    if cannot {
        eprintln!("skipped: {}", said(&output.stderr));
    }
    cannot
}

const CALM: &[&str] = &["--lateness", "200 ms", "--no-realtime"];

/// Commands with start times at both ends, unattended and cleaned up; streams, status, packets and events of each
/// repetition in the folder; expectations about them (SW-06, SW-07, SW-17, SW-52, SW-53, SW-59).
#[test]
fn what_commands_did_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let args = [&["--json", "--jobs", "3", "--captures", "--events", "--out", "kept"], CALM].concat();
    let output = emulate(folder.path(), SCENARIO, &args).output().unwrap();
    if may_not(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["repetitions"].as_array().map(Vec::len), Some(3));
    assert!(document["expectations"].as_array().is_some_and(|all| all.len() == 2));
    let look = &document["repetitions"][2]["commands"]["look"];
    assert_eq!(look["status"], 0);
    assert!(look["started"].as_f64().is_some_and(|t| (0.2..1.0).contains(&t)), "{look}");
    assert!(
        document["repetitions"][2]["commands"]["idle"]["status"].is_null(),
        "a server is ended with the others"
    );
    let kept = folder.path().join("kept");
    for repetition in ["0-0", "0-1", "0-2"] {
        let read =
            |name: &str| std::fs::read_to_string(kept.join("commands").join(repetition).join(name)).unwrap();
        let out = read("look.stdout");
        assert!(out.starts_with("0\n198.18.0.") && out.contains("server"), "{out}");
        assert_eq!(read("look.stderr"), "told\n");
        assert!(kept.join(format!("captures/{repetition}.pcapng")).exists());
        assert!(kept.join(format!("events/{repetition}.jsonl")).exists());
    }
    let record: Value = serde_json::from_slice(&std::fs::read(kept.join("run.json")).unwrap()).unwrap();
    assert_eq!((&record["complete"], &record["emulation"]["faithful"]), (&true.into(), &true.into()));
    assert!(record["emulation"]["calibration"]["trials"][0]["late"]["n"].as_u64() > Some(0));
}

/// Killed in the middle and continued: no finished repetition is played again, none is missing (SW-06).
#[test]
fn a_killed_run_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let args = [&["--out", "kept", "--quiet"], CALM].concat();
    let mut child =
        emulate(folder.path(), SCENARIO, &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let first = folder.path().join("kept/repetitions/0-0.json");
    let since = Instant::now();
    while !first.exists() {
        if child.try_wait().unwrap().is_some() {
            let output = child.wait_with_output().unwrap();
            assert!(may_not(&output), "{}", said(&output.stderr));
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    child.kill().unwrap();
    child.wait().unwrap();
    let written = std::fs::metadata(&first).unwrap().modified().unwrap();
    let args = [&["--resume", "kept", "--json"], CALM].concat();
    let output = Command::new(cargo_bin("williwaw"))
        .current_dir(folder.path())
        .arg("emulate")
        .args(&args)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["cells"][0]["reps"], 3);
    assert_eq!(document["repetitions"].as_array().map(Vec::len), Some(3));
    assert_eq!(std::fs::metadata(&first).unwrap().modified().unwrap(), written, "played twice");
    assert!(folder.path().join("kept/flows.parquet").exists());
}

/// A failed command makes the run fail, with the path of its output; `run` needs a kernel for commands.
#[test]
fn a_command_that_fails_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = SCENARIO.replace("sleep 0.3", "exit 9").replace("repetitions = 3", "repetitions = 1");
    let output = emulate(folder.path(), &text, &[&["--no-out"], CALM].concat()).output().unwrap();
    if may_not(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output.stderr).contains("look: ended with status 9"), "{}", said(&output.stderr));
    let output = Command::new(cargo_bin("williwaw"))
        .arg("run")
        .arg(folder.path().join("s.toml"))
        .env("XDG_CACHE_HOME", folder.path())
        .env_remove("WILLIWAW_LINUX")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output.stderr).contains("williwaw linux build"), "{}", said(&output.stderr));
}

/// Commands alone would never end if all of them served; names are not given twice.
#[test]
fn mistakes_in_commands_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        let file = folder.path().join("m.toml");
        std::fs::write(&file, text).unwrap();
        let output = Command::new(cargo_bin("williwaw")).arg("check").arg(&file).output().unwrap();
        (output.status.code(), said(&output.stderr))
    };
    let hop = "williwaw = 1\n[[hop]]\nname = \"r\"\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\n";
    let command = |more: &str| format!("{hop}[[command]]\nname = \"c\"\nat = \"b\"\nrun = \"true\"\n{more}");
    assert_eq!(check(&command("")).0, Some(0));
    let (code, text) = check(&command("serves = true\n"));
    assert!(code == Some(2) && text.contains("so this run never ends"), "{text}");
    let flow = "[[flow]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\n";
    let (code, text) = check(&command(flow));
    assert!(code == Some(2) && text.contains("both called `c`"), "{text}");
    let (code, text) = check(&command("").replace("\"b\"\nrun", "\"nowhere\"\nrun"));
    assert!(code == Some(2) && text.contains("no node `nowhere`"), "{text}");
}
