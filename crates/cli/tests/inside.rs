//! The claim: the path in real time behaves like the path in virtual time. The whole emulator, with its sockets,
//! devices, threads and timers, runs inside one kernel whose processor takes no time (`time-travel=inf-cpu`): the
//! clock moves on while all tasks sleep, so that no action is late. Needs a kernel for virtual time, `setarch` and a
//! shell; without one of them the test reports this and is skipped. A minute passes in a few seconds.
#![cfg(target_os = "linux")]

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Real time that a guest may take for a minute of its own.
const PATIENCE: Duration = Duration::from_secs(200);

const SCENARIO: &str = include_str!("../../uml/tests/data/spike.toml");

#[allow(clippy::disallowed_methods, reason = "a test that says where its kernel is")]
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn kernel() -> Option<PathBuf> {
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let built = || cache.map(|cache| cache.join("williwaw/kernels/default/linux"));
    let kernel = variable("WILLIWAW_LINUX").or_else(built).filter(|path| path.is_file());
    if kernel.is_none() {
        eprintln!("skipped: no kernel for virtual time; `williwaw linux build` makes one");
    }
    kernel
}

/// A guest, with all processes that it made.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        // Own process group. Without the dashes `kill` of procps 4.0 takes only the first digit of the number, and -1
        // is all processes.
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

/// Standard output of a shell script in a guest; none if there is no `setarch` to start it with. The guest sees this
/// machine's files, may write to `/tmp` of its own, and finds `folder` as `/mnt`.
#[allow(clippy::disallowed_methods, reason = "a test that waits for a guest")]
fn in_a_guest(kernel: &Path, folder: &Path, script: &str) -> Option<String> {
    let mut whole = "export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp\n".to_owned();
    whole.push_str("mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs tmp /tmp\n");
    let _ = writeln!(whole, "mount -t hostfs host /mnt -o {} && cd /tmp", folder.display());
    whole.push_str(script);
    // Where there is no such program the kernel ends when its first process does.
    whole.push_str("\npoweroff -f; exit 0\n");
    let init = folder.join("init.sh");
    std::fs::write(&init, whole).unwrap();
    let text = folder.join("console");
    // Without random addresses: the kernel would take the gap that they leave for memory.
    let mut command = Command::new("setarch");
    command.arg("-R").arg(kernel).args([
        "mem=512M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
    ]);
    command.args([
        "init=/bin/sh",
        "con=null",
        "con0=null,fd:1",
        "quiet",
        "umid=inside",
        "time-travel=inf-cpu",
    ]);
    command.arg(format!("uml_dir={}/", folder.display())).arg("--").arg(&init);
    command.stdin(Stdio::null()).stdout(std::fs::File::create(&text).unwrap()).stderr(Stdio::null());
    let started = command.current_dir(folder).process_group(0).spawn();
    let Ok(child) = started else {
        eprintln!("skipped: there is no setarch");
        return None;
    };
    let mut guest = Guest(child);
    let looks = PATIENCE.as_millis() / 50;
    let ended = (0..looks).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        matches!(guest.0.try_wait(), Ok(Some(_)))
    });
    let console = std::fs::read_to_string(&text).unwrap_or_default();
    assert!(ended, "the guest goes on after {PATIENCE:?}:\n{console}");
    Some(console)
}

fn flow(json: &Value) -> (f64, Vec<f64>) {
    let metrics = &json["cells"][0]["metrics"];
    let mean = |name: &str| metrics[name]["mean"].as_f64().unwrap_or(f64::NAN);
    let counts = ["segments_sent", "segments_retransmitted", "unneeded_retransmissions", "packets_dropped"];
    (mean("download_time_s"), counts.map(mean).to_vec())
}

/// SW-01: a download with a pause of ten seconds takes in real time, inside a kernel, as long as in virtual time
/// between two kernels, within a millisecond; lost and retransmitted packets are equal.
#[test]
fn the_emulator_does_in_a_guest_what_virtual_time_does() {
    let Some(kernel) = kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("spike.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let program = cargo_bin("williwaw");
    let outside = Command::new(&program)
        .args(["run", "--no-out", "--json", "--linux"])
        .arg(&kernel)
        .arg(&file)
        .output();
    let outside = outside.unwrap();
    assert!(outside.status.success(), "{}", String::from_utf8_lossy(&outside.stderr));
    let outside = flow(&serde_json::from_slice(&outside.stdout).unwrap());
    let script = format!(
        "echo begin; {} emulate /mnt/spike.toml --json 2> error && echo end || cat error",
        program.display()
    );
    let Some(said) = in_a_guest(&kernel, folder.path(), &script) else { return };
    let json = said.split_once("begin").and_then(|(_, rest)| rest.split_once("\nend")).map(|(json, _)| json);
    let json: Value = serde_json::from_str(json.unwrap_or_else(|| panic!("{said}"))).unwrap();
    let inside = flow(&json);
    assert!(
        outside.0 > 60.0 && (inside.0 - outside.0).abs() < 0.001,
        "{} s inside, {} s outside",
        inside.0,
        outside.0
    );
    assert_eq!(inside.1, outside.1, "segments sent, again, unneeded; packets dropped");
}
