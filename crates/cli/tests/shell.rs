//! The claim: `shell` behaves as a user expects of a prefix to a command. Where the process may make no namespaces, or
//! a program is missing, the test reports this and is skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

use assert_cmd::cargo::cargo_bin;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const LINK: &str = "rate=10 Mbit/s, delay=20 ms";

/// With the signal dispositions of a terminal, whatever this process has inherited: under `nohup`, and in some
/// runners, SIGINT and SIGHUP are ignored, and a shell cannot trap signals that it inherits as ignored.
fn shell(args: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,TERM,HUP").arg(cargo_bin("williwaw"));
    command.args(["shell", "--link", LINK]).args(args);
    command
}

fn run(args: &[&str]) -> Output {
    shell(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Prints why a test is skipped.
fn lacking(programs: &[&str]) -> bool {
    let tried = run(&["--", "true"]);
    if tried.status.code() == Some(125) && text(&tried.stderr).contains("needs rights") {
        eprintln!("skipped: {}", text(&tried.stderr));
        return true;
    }
    let found = |program: &&&str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        !found.is_ok_and(|output| output.status.success())
    };
    let missing: Vec<_> = programs.iter().filter(found).collect();
    if !missing.is_empty() {
        eprintln!("skipped: there is no {missing:?} here");
    }
    !missing.is_empty()
}

/// Waits for a line.
fn line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

fn signal(child: &Child, name: &str) {
    assert!(
        Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap().success()
    );
}

/// A server that fails is not passed over: beside a command that succeeds the exit code is williwaw's own 125.
#[test]
fn a_server_that_fails_is_heard() {
    if lacking(&[]) {
        return;
    }
    for (server, command, code) in [("exit 3", "true", 125), ("exit 3", "exit 7", 7), ("true", "true", 0)] {
        let output = run(&["--server", server, "--", "sh", "-c", &format!("sleep 0.3; {command}")]);
        assert_eq!(output.status.code(), Some(code), "{server}, {command}: {}", text(&output.stderr));
    }
}

/// The exit code is the command's, or as of `env`; the streams are those of this process (SW-08).
#[test]
fn codes_and_streams_are_the_commands() {
    if lacking(&[]) {
        return;
    }
    let codes = [("exit 42", 42), ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("true", 0)];
    for (command, code) in codes {
        let output = run(&["--", "sh", "-c", command]);
        assert_eq!(output.status.code(), Some(code), "{command}: {}", text(&output.stderr));
    }
    assert_eq!(run(&["--", "there-is-no-such-program"]).status.code(), Some(127));
    assert_eq!(run(&["--", "/etc/passwd"]).status.code(), Some(126));
    assert_eq!(run(&["--set", "hop.link.nonsense=1", "--", "true"]).status.code(), Some(125));
    let mut child = shell(&["--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"through").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"through");
}

/// Nodes have names, either version of IP, and the delay of the link between them; no other host is reachable (SW-03,
/// SW-13).
#[test]
fn nodes_are_reached_by_name() {
    if lacking(&["ping"]) {
        return;
    }
    for name in ["server", "server.ip6"] {
        let output = run(&["--", "ping", "-c", "2", "-i", "0.2", name]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
        let least = said.lines().last().and_then(|l| l.split(['=', '/']).nth(4)?.trim().parse::<f64>().ok());
        assert!(least.is_some_and(|ms| (40.0..60.0).contains(&ms)), "{said}");
    }
    let look = "cat /etc/resolv.conf; ls /sys/class/net >/dev/null; cat /proc/net/dev; echo $WILLIWAW_LINKS $WILLIWAW_NODE";
    let said = text(&run(&["--name", "lte", "--", "sh", "-c", look]).stdout);
    assert!(said.contains("no resolver") && said.contains("lte phone"), "{said}");
    assert_eq!(said.matches(": ").count(), 2, "loopback and one device: {said}");
}

/// The bearer of a preset block by block, on the real clock: pings wait for access and assignment (NS-07, SW-08).
#[test]
fn a_gprs_bearer_stands_before_a_command() {
    if lacking(&["ping"]) {
        return;
    }
    let mut command = Command::new(cargo_bin("williwaw"));
    command.args(["shell", "--preset", "gprs-rlc", "--", "ping", "-c", "5", "-i", "1.5", "server"]);
    let output = command.output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    let times: Vec<f64> =
        said.lines().filter_map(|l| l.split_once("time=")?.1.split(' ').next()?.parse().ok()).collect();
    // Access, assignment, air, Abis and core are between 0.3 and 1.6 s; a machine that is busy adds some.
    assert!(times.len() == 5 && times.iter().all(|ms| (250.0..3000.0).contains(ms)), "{said}");
}

/// A server at the other end is up before the command starts, small packets are possible, and losses are those of
/// the link (SW-07).
#[test]
fn curl_fetches_from_a_web_server() {
    if lacking(&["python3", "curl"]) {
        return;
    }
    let server = "exec python3 -m http.server 80 --directory /usr/share/common-licenses";
    let fetch =
        ["--", "curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{time_connect}", "http://server/GPL-3"];
    for mtu in ["1500 B", "296 B"] {
        let output = run(&[&["--server", server, "--mtu", mtu], &fetch[..]].concat());
        let said = text(&output.stdout);
        let (code, connect) = said.split_once(' ').unwrap_or_default();
        assert!(matches!(code, "200" | "404"), "{said}{}", text(&output.stderr));
        assert!(connect.parse::<f64>().is_ok_and(|s| (0.04..0.5).contains(&s)), "{said}");
    }
    let lossy = run(&["--set", "hop.link.loss.loss.probability=1.0", "--link", LINK, "--", "true"]);
    assert_eq!(lossy.status.code(), Some(2), "an option given twice is refused");
}

/// A nested shell: names of both links, and disjoint addresses.
#[test]
fn links_nest() {
    if lacking(&[]) {
        return;
    }
    let me = cargo_bin("williwaw");
    let me = me.to_str().unwrap();
    let inner = format!(
        "{me} shell --link 'delay=30 ms' --name geo -- sh -c 'echo $WILLIWAW_LINKS; grep -w server /etc/hosts'; grep -w server /etc/hosts"
    );
    let output = run(&["--name", "lte", "--", "sh", "-c", &inner]);
    let said = text(&output.stdout);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.first(), Some(&"lte geo"), "{said}{}", text(&output.stderr));
    assert_ne!(lines[1], lines[2], "{said}");
}

/// A trigger called behind the link changes the link while it is in use (SW-43).
#[test]
fn a_trigger_changes_the_link() {
    if lacking(&["ping"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mobility.toml");
    let path = "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
        [[state-machine]]\nname = \"mobility\"\n[[state-machine.state]]\nname = \"near\"\n\
        [[state-machine.state]]\nname = \"far\"\n[[state-machine.state.on]]\nname = \"radio\"\ndelay = \"150 ms\"\n";
    std::fs::write(&file, path).unwrap();
    let me = cargo_bin("williwaw");
    let me = me.to_str().unwrap();
    let script = format!(
        "timeout 3 {me} trigger --watch; echo watched $?; p() {{ ping -c 1 server | grep time=; }}; p; {me} trigger mobility.far && p; {me} trigger mobility.near && p; {me} trigger mobility.none; echo $?"
    );
    let output =
        Command::new(me).args(["shell", file.to_str().unwrap(), "--", "sh", "-c", &script]).output().unwrap();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    let times: Vec<f64> =
        said.lines().filter_map(|l| l.split("time=").nth(1)?.split(' ').next()?.parse().ok()).collect();
    let (watched, _) = said.split_once("watched 124").unwrap_or_else(|| panic!("{said}{errors}"));
    assert!(watched.matches("mobility.far").count() >= 2, "a list each second: {said}{errors}");
    assert_eq!(times.len(), 3, "{said}{errors}");
    assert!(times[0] < 100.0 && times[1] >= 300.0 && times[2] < 100.0, "{times:?}");
    assert!(said.ends_with("2\n") && errors.contains("mobility.far"), "{said}{errors}");
}

/// GP-45: a user sends the mobile to a chosen neighbour and reads the serving cell, from inside.
#[test]
fn gp_45_a_forced_reselection_is_displayed() {
    if lacking(&[]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("phone.toml");
    let path = "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\n\
        [hop.radio.gprs]\nclass = 4\nscheme = \"cs-2\"\nerrors = { c-i = { db = 15 } }\n\
        [hop.radio.gprs.reselection]\noutage = \"4 s\"\n";
    std::fs::write(&file, path).unwrap();
    let me = cargo_bin("williwaw");
    let me = me.to_str().unwrap();
    let (during, after) = (folder.path().join("during.json"), folder.path().join("after.json"));
    let script = format!(
        "{me} trigger; {me} trigger radio.reselect.routing-area; {me} trigger --json > {}; sleep 5; {me} trigger; \
        {me} trigger radio.reselect; sleep 5; {me} trigger --json > {}",
        during.display(),
        after.display()
    );
    let output =
        Command::new(me).args(["shell", file.to_str().unwrap(), "--", "sh", "-c", &script]).output().unwrap();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    let shown: Vec<&str> = said.lines().filter(|line| line.starts_with("  radio: ")).collect();
    let first = "  radio: cell 1 (BSC 1, routing area 1, SGSN 1) since 0.000 s; down TBF ";
    assert!(shown.len() == 2 && shown[0].starts_with(first), "{said}{errors}");
    assert!(shown[0].contains("C/I 15.0 dB") && !shown[0].contains("on the way"), "{said}");
    assert!(shown[1].starts_with("  radio: cell 2 (BSC 2, routing area 2, SGSN 1) since "), "{said}");
    let cell = |file| -> serde_json::Value {
        let all: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        all["running"][0]["cells"][0].clone()
    };
    let (during, after) = (cell(&during), cell(&after));
    assert_eq!((&during["cell"], &during["change"]["routing_area"]), (&1.into(), &2.into()), "{during}");
    assert!(during["change"]["resumed_s"].as_f64() > during["change"]["access_s"].as_f64(), "{during}");
    // Without a neighbour an ordinary cell update.
    assert_eq!(
        (&after["cell"], &after["routing_area"], &after["change"]),
        (&3.into(), &2.into(), &serde_json::Value::Null)
    );
    assert!(errors.contains("radio.reselect.routing-area at "), "{errors}");
}

/// Waits until it has ended; one that does not end is killed, and the test fails.
fn ended(child: &mut Child) -> std::process::ExitStatus {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    panic!("it does not end");
}

/// A signal to williwaw reaches the command; a command that ignores it is killed (SW-08).
#[test]
fn signals_reach_the_command() {
    if lacking(&[]) {
        return;
    }
    let spawned = |script: &str| {
        let mut child = shell(&["--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(line(&mut child), "up\n");
        child
    };
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let script = format!("trap 'exit {}' {name}; echo up; while :; do sleep 0.05; done", 40 + number);
        let mut child = spawned(&script);
        signal(&child, name);
        assert_eq!(ended(&mut child).code(), Some(40 + number), "{name}");
    }
    let mut deaf = spawned("trap '' TERM; echo up; while :; do sleep 0.05; done");
    signal(&deaf, "TERM");
    let asked = Instant::now();
    assert_eq!(ended(&mut deaf).code(), Some(143));
    assert!(asked.elapsed() < Duration::from_secs(8));
}

/// Called with more rights than the caller's, commands run with the caller's; a process that cannot make namespaces
/// makes a user namespace, and reports the loss (SW-02).
#[test]
fn commands_are_the_callers() {
    if lacking(&["setpriv"]) {
        return;
    }
    if text(&Command::new("id").arg("-u").output().unwrap().stdout).trim() != "0" {
        return eprintln!("skipped: not root");
    }
    let output = shell(&["--", "sh", "-c", "id -u; id -g; grep CapEff /proc/self/status"])
        .env("SUDO_UID", "65534")
        .env("SUDO_GID", "65534")
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "65534\n65534\nCapEff:\t0000000000000000\n", "{}", text(&output.stderr));
    // A copy that all users may execute.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let copy = folder.path().join("williwaw");
    std::fs::copy(cargo_bin("williwaw"), &copy).unwrap();
    for path in [folder.path(), &copy] {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&copy)
        .args(["shell", "--link", LINK, "--", "sh", "-c", "id -u; grep CapEff /proc/self/status"])
        .current_dir("/")
        .output()
        .unwrap();
    let said = text(&output.stderr);
    if said.contains("needs rights") {
        return eprintln!("skipped: {said}");
    }
    assert_eq!(text(&output.stdout), "65534\nCapEff:\t0000000000000000\n", "{said}");
    assert!(said.contains("without root") && said.contains("real-time priority"), "{said}");
}

/// Without namespaces the error has a remedy; `emulate` ends with 3, `shell` with 125.
#[test]
fn without_rights_it_says_what_to_do() {
    let script = "echo 0 > /proc/sys/user/max_net_namespaces || exit 77; \"$0\" shell --link 'delay=1 ms' -- true; echo $?";
    let held = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", script])
        .arg(cargo_bin("williwaw"))
        .output();
    let Some(output) = held.ok().filter(|output| output.status.success()) else {
        return eprintln!("skipped: no user namespaces here");
    };
    assert_eq!(text(&output.stdout), "125\n", "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("help: "), "{}", text(&output.stderr));
}

/// Interruptions from the command line, nested braces, and errors that quote the input.
#[test]
fn a_link_is_interrupted_from_the_command_line() {
    for (args, said) in [
        (&["--outage", "5 s"][..], "`5 s` lacks a length or a time"),
        (&["--handover", "1 s at"], "`1 s at` lacks"),
        (&["--outage", "much at 3 s"], "much"),
    ] {
        let refused = run(&[args, &["--", "true"]].concat());
        let err = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(125), "{err}");
        assert!(err.contains(said), "{err}");
    }
    if lacking(&["ping"]) {
        return;
    }
    let mut command = Command::new(cargo_bin("williwaw"));
    let link =
        "rate=10 Mbit/s, delay=uniform(1 ms, 2 ms), queue={ codel = { target = \"5 ms\", ecn = true } }";
    command.args(["shell", "--link", link, "--outage", "1 s at 500 ms", "--"]);
    command.args(["ping", "-c", "10", "-i", "0.2", "-W", "5", "server"]);
    let done = command.output().unwrap();
    let said = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{said}{}", text(&done.stderr));
    let times =
        said.lines().filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse::<f64>().ok());
    let times: Vec<f64> = times.collect();
    let longest = times.iter().copied().fold(0.0, f64::max);
    assert!(times.len() == 10 && longest > 500.0 && longest < 1500.0, "an outage of 1 s held them: {said}");
    assert!(times.iter().filter(|t| **t < 100.0).count() >= 3, "{said}");
}

/// Errors point at the words of the command line. They are found before any namespace is made.
#[test]
fn mistakes_are_shown_in_the_users_words() {
    let shell = |args: &[&str]| {
        let output =
            Command::new(cargo_bin("williwaw")).arg("shell").args(args).args(["--", "true"]).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(125));
        text(&output.stderr)
    };
    let preset = shell(&["--preset", "gprs-clas-4"]);
    assert!(preset.contains("--preset: there is no preset `gprs-clas-4`"), "{preset}");
    assert!(preset.contains("did you mean `gprs-class-4`?"), "{preset}");
    let rate = shell(&["--link", "delay=20 ms, rate=abc"]);
    assert!(rate.contains("--link:1:6") && rate.contains("1 | rate=abc"), "{rate}");
    assert!(!rate.contains("--set"), "{rate}");
    let own = shell(&["--link", "delay=20 ms", "--set", "hop.link.rate=abc"]);
    assert!(own.contains("--set:1:15"), "{own}");
    let outage = shell(&["--link", "delay=20 ms", "--outage", "5 s at 3"]);
    assert!(outage.contains("--outage: `3` has no unit"), "{outage}");
}
