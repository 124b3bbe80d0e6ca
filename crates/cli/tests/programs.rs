//! The claim: unmodified programs run through the emulator and meet the requested link. The shipped scenarios are the
//! examples; where a program is missing, the test reports this and is skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/real").join(name).canonicalize().unwrap()
}

fn has(test: &str) -> bool {
    let found = Command::new("sh").args(["-c", test]).output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: `{test}` fails here");
    }
    found
}

/// Attempts at a run on a machine that stalls for longer than the permitted lateness.
const ATTEMPTS: usize = 3;
/// Exit code of a run whose packets were too late.
const UNFAITHFUL: i32 = 4;

/// Runs a shipped scenario; returns its document and the command's output. None where the machine cannot run it. A run
/// that reports a stall of the machine is repeated.
fn play(name: &str, command: &str, with: &[(&str, &str)]) -> Option<(Value, String)> {
    let mut complaints = String::new();
    for _ in 0..ATTEMPTS {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(cargo_bin("williwaw"))
            .current_dir(folder.path())
            .arg("emulate")
            .arg(shipped(name))
            .args(["--reps", "1", "--json", "--out", "kept", "--lateness", "50 ms"])
            .envs(with.iter().copied())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(3) {
            eprintln!("skipped: {said}");
            return None;
        }
        let of = |stream: &str| {
            std::fs::read_to_string(folder.path().join(format!("kept/commands/0-0/{command}.{stream}")))
                .unwrap()
        };
        let (wrote, errors) = (of("stdout"), of("stderr"));
        if output.status.code() == Some(UNFAITHFUL) {
            complaints += &said;
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{said}{wrote}{errors}");
        return Some((serde_json::from_slice(&output.stdout).unwrap(), wrote));
    }
    panic!("{ATTEMPTS} runs were not faithful: {complaints}");
}

/// A page of 100 kB at 1 Mbit/s with a stall of half a second, curl and Python's server (SW-07).
#[test]
fn curl_and_a_web_server() {
    if !has("command -v curl && command -v python3") {
        return;
    }
    let Some((_, wrote)) = play("fetch.toml", "curl", &[]) else { return };
    // The page alone takes 0.83 s with its headers, opening and asking 0.2 s, the stall 0.5 s.
    let time: f64 = wrote.trim().parse().unwrap();
    assert!((1.4..3.0).contains(&time), "{time}");
}

/// iperf3 measures the rate of the link without headers, and a fifth of it during the rate change.
#[test]
fn iperf3_measures_the_rate() {
    if !has("command -v iperf3") {
        return;
    }
    let Some((_, wrote)) = play("iperf3.toml", "iperf3", &[]) else { return };
    let report: Value = serde_json::from_str(&wrote).unwrap();
    let rate = report["end"]["sum_received"]["bits_per_second"].as_f64().unwrap();
    // Three seconds of 10 Mbit/s and one of 2: 8 Mbit/s on average, 3.5 % of which are headers.
    assert!((5e6..8.3e6).contains(&rate), "{rate}");
    let least = report["intervals"].as_array().unwrap().iter();
    let least = least.filter_map(|i| i["sum"]["bits_per_second"].as_f64()).fold(f64::MAX, f64::min);
    assert!(least < 6e6, "the fade shows: {least}");
}

/// A QUIC server and client from a registry, across an interruption. aioquic is looked for where `python3` is, and where
/// PYTHON says.
#[test]
fn quic_crosses_an_interruption() {
    let python = ["\"$PYTHON\"", "python3", "/usr/bin/python3"]
        .into_iter()
        .find(|python| has(&format!("{python} -c 'import aioquic'")));
    let Some(python) = python else { return };
    let named = std::env::var("PYTHON").unwrap_or_default();
    let python = if python.starts_with('"') { &*named } else { python };
    let script = shipped("quic.py");
    let with = [("PYTHON", python), ("QUIC", script.to_str().unwrap())];
    let Some((_, wrote)) = play("quic.toml", "quic", &with) else { return };
    let (bytes, time) = wrote.trim().split_once(' ').unwrap();
    assert_eq!(bytes, "1000000");
    // Four seconds at the link's rate and half a second without it, if the transfer was under way then.
    assert!(time.parse::<f64>().is_ok_and(|s| (4.5..15.0).contains(&s)), "{time}");
}

/// A user at a terminal: a shell with the link's name in its prompt, a Python session in it, Ctrl-C reaches
/// the foreground process and not the shell, Ctrl-Z and fg work, the exit code is passed on (SW-08).
#[test]
fn somebody_sits_at_a_terminal() {
    if !has("command -v python3 && command -v bash && command -v stty") {
        return;
    }
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/session.py");
    let output = Command::new("python3").arg(session).arg(cargo_bin("williwaw")).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if said.contains("needs rights") {
        return eprintln!("skipped: {said}");
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
}

/// ssh, by an example that types by itself and by a user at a terminal: typed characters are echoed two trips later,
/// Ctrl-C interrupts the remote command, and the login's exit code is the shell's (SW-08).
#[test]
fn ssh_through_a_link() {
    if !has(
        "(command -v sshd || test -x /usr/sbin/sshd) && command -v ssh && command -v ssh-keygen && command -v python3",
    ) {
        return;
    }
    let (script, folder) = (shipped("sshd.sh"), tempfile::tempdir().unwrap());
    let keys = ["typed", "session"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let with = [("SSHD", script.to_str().unwrap()), ("KEYS", keys[0].as_str())];
    let Some((_, wrote)) = play("ssh.toml", "login", &with) else { return };
    for line in ["line 1 came", "line 2 came", "line 3 came"] {
        assert!(wrote.contains(line), "{wrote}");
    }
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ssh.py");
    let mut command = Command::new("python3");
    command.arg(session).arg(cargo_bin("williwaw")).arg(script).env("KEYS", &keys[1]);
    let output = command.output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

/// A web server outside, at the loopback address of either version, and its port.
struct Outside(std::process::Child, String);

impl Outside {
    fn new(address: &str) -> Outside {
        let server = "import http.server as h, socket, sys
class S(h.HTTPServer): address_family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
s = S((sys.argv[1], 0), h.SimpleHTTPRequestHandler); print(s.server_port, flush=True); s.serve_forever()";
        let mut served = Command::new("python3")
            .args(["-c", server, address])
            .current_dir("/usr/share")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        use std::io::BufRead as _;
        std::io::BufReader::new(served.stdout.as_mut().unwrap()).read_line(&mut port).unwrap();
        Outside(served, port.trim().to_owned())
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Fetches a page from behind a link of 40 ms, and another one of 30 ms inside it if `nested`: seconds until it was
/// connected; `None` with a printed reason if that is not possible.
fn fetched(page: &str, nested: bool, path: Option<&Path>) -> Option<f64> {
    let mut command = Command::new(cargo_bin("williwaw"));
    command.args(["shell", "--link", "delay=40 ms", "--uplink", "--"]);
    if nested {
        command.arg(cargo_bin("williwaw")).args(["shell", "--link", "delay=30 ms", "--uplink", "--"]);
    }
    command.args(["curl", "-s", "-g", "-m", "10", "-o", "/dev/null"]);
    command.args(["-w", "%{http_code} %{time_connect}", page]);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("needs rights") || (errors.contains("cannot be reached") && !nested) {
        eprintln!("skipped: {errors}");
        return None;
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (code, connect) = said.split_once(' ').unwrap_or_default();
    assert_eq!(code, "200", "{page}: {said}{errors}");
    connect.parse().ok()
}

/// The outside network is reached through the link with pasta, over both versions of IP (SW-16).
#[test]
fn an_uplink_leads_outside() {
    if !has("command -v pasta && command -v curl && command -v python3") {
        return;
    }
    let outside = Outside::new("127.0.0.1");
    let Some(time) = fetched(&format!("http://198.19.0.2:{}/", outside.1), false, None) else { return };
    assert!((0.08..5.0).contains(&time), "{time}");
    if !has("ip -6 route show default | grep -q .") {
        return;
    }
    let outside = Outside::new("::1");
    let page = format!("http://[fd77:696c:6c69:100::2]:{}/", outside.1);
    let time = fetched(&page, false, None).unwrap();
    assert!((0.08..5.0).contains(&time), "{time}");
}

/// A nested shell reaches the outside network through both links.
#[test]
fn uplinks_nest() {
    if !has("command -v pasta && command -v curl && command -v python3") {
        return;
    }
    let outside = Outside::new("127.0.0.1");
    let page = format!("http://198.19.0.2:{}/", outside.1);
    if fetched(&page, false, None).is_none() {
        return;
    }
    // The inner helper answers once it is connected outside, so a handshake crosses both links.
    let time = fetched(&page, true, None).unwrap();
    assert!((0.14..5.0).contains(&time), "{time}");
}

/// Without pasta, slirp4netns is used.
#[test]
fn slirp4netns_does_where_pasta_is_missing() {
    if !has("command -v slirp4netns && command -v curl && command -v python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for program in ["slirp4netns", "curl", "sh"] {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
        let found = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        std::os::unix::fs::symlink(found, folder.path().join(program)).unwrap();
    }
    let outside = Outside::new("127.0.0.1");
    let page = format!("http://198.19.0.2:{}/", outside.1);
    let Some(time) = fetched(&page, false, Some(folder.path())) else { return };
    assert!((0.08..5.0).contains(&time), "{time}");
}

/// Without a TUN device, a pair of Ethernet devices (veth) carries the packets (SW-14).
#[test]
fn ethernet_stands_in_for_tun() {
    if !has(
        "unshare --user --map-root-user --mount true && command -v python3 && command -v curl && command -v ping",
    ) {
        return;
    }
    let script = "mount -t tmpfs none /dev/net || exit 77; \
        exec \"$0\" shell --link 'rate=20 Mbit/s, delay=15 ms' --server 'exec python3 -m http.server 80 --directory /usr/share/common-licenses' \
        -- sh -c 'ping -c 1 server.ip6 && curl -s -o /dev/null -w \"%{http_code} %{time_connect}\" http://server/'";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(cargo_bin("williwaw"))
        .output()
        .unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(77) || errors.contains("needs rights") {
        return eprintln!("skipped: {errors}");
    }
    assert_eq!(output.status.code(), Some(0), "{said}{errors}");
    let (_, last) = said.trim().rsplit_once('\n').unwrap_or_default();
    let (code, connect) = last.split_once(' ').unwrap_or_default();
    assert!(matches!(code, "200" | "404"), "{said}{errors}");
    assert!(connect.parse::<f64>().is_ok_and(|s| (0.03..0.5).contains(&s)), "{said}");
}
