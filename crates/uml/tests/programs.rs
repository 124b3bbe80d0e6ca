//! Tests of unmodified programs in guest kernels at the nodes of a scenario, and of repeatability. Needs a
//! kernel for virtual time; without one each test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use base::Time;
use common::{has, kernels_for_programs, model, play};
use uml::{Command, KernelOutcome, Kernels};

const LINK: &str = r#"
    williwaw = 1
    [[hop]]
    name = "radio"
    between = ["server", "phone"]
    rate = "100 kbit/s"
    delay = "200 ms"
    [run]
    limit = "2 min"
"#;

/// A command of the scenario.
fn command(name: &str, at: &str, run: &str, more: &str) -> String {
    format!("[[command]]\nname = \"{name}\"\nat = \"{at}\"\nrun = '''\n{run}\n'''\n{more}\n")
}

fn played(kernels: &Kernels, commands: &str, set: &[&str]) -> KernelOutcome {
    play(kernels, &model(&format!("{LINK}{commands}"), set), 0)
}

/// The only command that is no server.
fn worker(outcome: &KernelOutcome) -> &Command {
    outcome.commands.iter().find(|command| !command.facts.serves).expect("a command")
}

fn status(command: &Command) -> Option<i32> {
    command.facts.ended.status.as_ref().map(|status| status.code)
}

fn wrote(command: &Command) -> [String; 2] {
    command.wrote.clone().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Duration of a command, s.
fn took(command: &Command) -> f64 {
    let (started, ended) = (command.facts.ended.started, command.facts.ended.ended);
    ended.expect("it ended").since(started.expect("it started")).as_secs_f64()
}

/// 50 kB in full packets with 40 B of headers and 12 B of timestamps take 4.14 s at 100 kbit/s; round trips
/// for handshake, request and the way back are extra.
#[test]
fn curl_fetches_a_page_from_a_web_server() {
    let Some(kernels) = kernels_for_programs() else { return };
    if !has("curl") || !has("python3") {
        return;
    }
    let page = "/tmp/williwaw-page-of-a-guest";
    let serve =
        format!("head -c 50000 /dev/zero > {page}\ncd /tmp && exec /usr/bin/python3 -m http.server 8000");
    let fetch = "exec curl -sS -o /dev/null -w '%{size_download} %{time_total}' http://server:8000/williwaw-page-of-a-guest";
    let commands = command("web", "server", &serve, "serves = true")
        + &command("curl", "phone", fetch, "start = \"1 s\"");
    let outcome = played(&kernels, &commands, &[]);
    let curl = worker(&outcome);
    assert_eq!((status(curl), outcome.ran.complete), (Some(0), true), "{:?}", wrote(curl));
    assert_eq!(curl.facts.ended.started.map(Time::as_secs_f64).map(f64::round), Some(1.0));
    let least = 0.8 + 50_000.0 / 1448.0 * 1500.0 * 8.0 / 100e3;
    assert!((least..least + 0.5).contains(&took(curl)), "{} s, {least} s at least", took(curl));
    let said = wrote(curl)[0].clone();
    let (bytes, seconds) = said.split_once(' ').expect("two numbers");
    assert_eq!(bytes, "50000");
    // A program starts in no virtual time: curl's measurement is exact.
    let seconds: f64 = seconds.parse().expect("seconds");
    assert!((took(curl) - seconds).abs() < 0.002, "{seconds} s of {} s", took(curl));
    // The server was killed at the end, and its log is kept.
    let web = &outcome.commands[0];
    assert_eq!((web.facts.ended.started, web.facts.ended.ended), (Some(Time::ZERO), None));
    assert!(
        web.facts.ended.lacks.is_empty() && wrote(web)[1].contains("GET /williwaw-page"),
        "{:?}",
        wrote(web)
    );
    assert!(!std::path::Path::new(page).exists(), "a guest has written a file of the host");
}

#[test]
fn what_a_command_writes_and_how_it_ends_is_told() {
    let Some(kernels) = kernels_for_programs() else { return };
    let commands = command("odd", "phone", "echo out; echo err >&2; sleep 3600.5 & sleep 2; exit 7", "")
        + &command("killed", "server", "kill -9 $$", "");
    let outcome = played(&kernels, &commands, &[]);
    let [odd, killed] = &outcome.commands[..] else { panic!("two commands") };
    assert_eq!((status(odd), status(killed)), (Some(7), Some(137)));
    assert_eq!(wrote(odd), ["out\n".to_owned(), "err\n".to_owned()]);
    assert_eq!(killed.facts.ended.status.as_ref().and_then(|status| status.signal), Some(9));
    assert!((2.0..2.001).contains(&took(odd)), "{}", took(odd));
    assert!(outcome.ran.complete);
}

/// A program unfinished at the limit is ended, and its output until then is kept.
#[test]
fn time_is_up_before_a_command_is_done() {
    let Some(kernels) = kernels_for_programs() else { return };
    let outcome =
        played(&kernels, &command("slow", "phone", "echo begun; sleep 600", ""), &["run.limit=5 s"]);
    let slow = worker(&outcome);
    assert_eq!((status(slow), slow.facts.ended.ended, outcome.ran.complete), (None, None, false));
    assert_eq!(wrote(slow)[0], "begun\n");
}

/// Random numbers, clocks and order of events depend on the seed only. Another repetition has other random
/// numbers.
#[test]
fn programs_do_the_same_every_time() {
    let Some(kernels) = kernels_for_programs() else { return };
    if !has("python3") {
        return;
    }
    let serve = "exec /usr/bin/python3 -c '
import socketserver, os
class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(os.urandom(2000) + self.rfile.readline())
socketserver.ThreadingTCPServer.request_queue_size = 50
socketserver.ThreadingTCPServer((\"\", 7), Answer).serve_forever()'";
    let ask = "date +%s.%N; od -An -N16 -tx1 /dev/urandom; echo $RANDOM $$ $(hostname)
/usr/bin/python3 - <<END
import socket, threading, time, uuid, hashlib
def one(n):
    with socket.create_connection((\"server\", 7)) as s:
        s.sendall(b\"%d\\n\" % n)
        got = b\"\".join(iter(lambda: s.recv(999), b\"\"))
    print(n, hashlib.sha1(got).hexdigest(), time.time(), time.monotonic_ns())
threads = [threading.Thread(target=one, args=(n,)) for n in range(5)]
for t in threads: t.start()
for t in threads: t.join()
print(hash(\"text\"), uuid.uuid4())
END";
    let commands = command("echo", "server", serve, "serves = true") + &command("ask", "phone", ask, "");
    let model = model(&format!("{LINK}{commands}"), &[]);
    let run = |repetition| {
        let outcome = play(&kernels, &model, repetition);
        assert_eq!(status(worker(&outcome)), Some(0), "{:?}", wrote(worker(&outcome)));
        let mut packets = Vec::new();
        outcome.capture.expect("packets").write(&mut packets).expect("memory");
        (packets, outcome.commands)
    };
    let first = run(0);
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..4).map(|_| scope.spawn(|| run(0))).collect();
        for other in others {
            let other = other.join().expect("a run");
            assert_eq!(other.1, first.1, "what a command did differs");
            assert!(other.0 == first.0, "the packets differ");
        }
    });
    assert!(run(1).1 != first.1, "another repetition has the same random numbers");
}

/// Both IP versions reach the other node, and host names resolve.
#[test]
fn machines_know_each_other_by_name() {
    let Some(kernels) = kernels_for_programs() else { return };
    if !has("python3") {
        return;
    }
    let serve = "exec /usr/bin/python3 -c '
import socket
s = socket.create_server((\"\", 7), family=socket.AF_INET6, dualstack_ipv6=True)
while True: s.accept()[0].sendall(b\"x\")'";
    let ask = "exec /usr/bin/python3 -c '
import socket
for name in (\"server\", \"server.ip6\"):
    with socket.create_connection((name, 7)) as s: print(s.family.name, s.recv(1))'";
    let commands = command("echo", "server", serve, "serves = true") + &command("ask", "phone", ask, "");
    let outcome = played(&kernels, &commands, &[]);
    assert_eq!(wrote(worker(&outcome)), ["AF_INET b'x'\nAF_INET6 b'x'\n".to_owned(), String::new()]);
}

/// A root folder without a system, and one that does not exist.
#[test]
fn a_root_that_is_of_no_use_is_said() {
    let Some(kernels) = kernels_for_programs() else { return };
    let text = format!("{LINK}{}[[node]]\nname = \"phone\"\n", command("any", "phone", "true", ""));
    let empty = std::env::temp_dir().join(format!("williwaw-empty-{}", std::process::id()));
    std::fs::create_dir(&empty).expect("a folder");
    let set = format!("node.phone.linux.root={}", empty.display());
    let outcome = play(&kernels, &model(&text, &[&set]), 0);
    std::fs::remove_dir(&empty).expect("nothing was written into it");
    let any = worker(&outcome);
    assert_eq!(status(any), Some(127));
    assert!(wrote(any)[1].contains("/bin/sh: No such file"), "{:?}", wrote(any));
    let stop = std::sync::atomic::AtomicBool::new(false);
    let nowhere = model(&text, &["node.phone.linux.root=/nosuch"]);
    let refused = uml::once(&nowhere, 0, &kernels, &uml::Options::default(), &stop).err().expect("refused");
    assert!(refused.to_string().contains("there is no folder `/nosuch`"), "{refused}");
}

/// A link whose delay has two states, with triggers.
const CELLS: &str = r#"
    williwaw = 1
    [[hop]]
    name = "radio"
    between = ["server", "phone"]
    rate = "100 kbit/s"
    delay = "20 ms"
    [[state-machine]]
    name = "cell"
    [[state-machine.state]]
    name = "near"
    [[state-machine.state]]
    name = "far"
    [[state-machine.state.on]]
    name = "radio"
    delay = "150 ms"
    [run]
    limit = "2 min"
"#;

/// Sends a datagram and waits for its echo between trigger calls; prints round-trip time and duration of the
/// call, microseconds.
const CALLS: &str = "exec /usr/bin/python3 -c '
import socket, subprocess, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((\"server\", 7))
now = lambda: time.monotonic_ns() // 1000 - 2000000
def there_and_back():
    at = now()
    s.send(bytes(100))
    s.recv(200)
    print(now() - at, end=\" \", flush=True)
there_and_back()
for name in [\"cell.far\", \"cell.near\", \"cell.none\"]:
    at = now()
    status = subprocess.run([\"williwaw\", \"trigger\", name]).returncode
    print(at, status, now() - at, end=\" \", flush=True)
    there_and_back()
'";
const ECHOES: &str = "exec /usr/bin/python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((\"\", 7))
while True:
    data, who = s.recvfrom(200)
    s.sendto(data, who)
'";

/// SW-43: a program fires a trigger of the scenario: the link changes at that time, for any caller, and the
/// call is recorded. Each run is repeatable.
#[test]
fn programs_call_names() {
    let Some(kernels) = kernels_for_programs() else { return };
    if !has("python3") {
        return;
    }
    let commands = command("echo", "server", ECHOES, "serves = true")
        + &command("calls", "phone", CALLS, "start = \"1 s\"")
        + &command("list", "server", "williwaw trigger; williwaw trigger --json", "start = \"1 s\"");
    let model = model(&format!("{CELLS}{commands}"), &[]);
    let outcome = play(&kernels, &model, 0);
    let calls = &outcome.commands[1];
    let [said, errors] = wrote(calls);
    assert_eq!(status(calls), Some(0), "{said}{errors}");
    let numbers: Vec<i64> = said.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    let [near, far_at, far_status, far_took, far, near_at, near_status, _, again, _, none, _, still] =
        numbers[..]
    else {
        panic!("{said}")
    };
    // 100 B and 28 B of headers, each way at 100 kbit/s.
    let expected = |delay: f64| 2e6 * (delay + 128.0 * 8.0 / 100e3);
    for (took, delay) in [(near, 0.02), (far, 0.15), (again, 0.02), (still, 0.02)] {
        assert!((took as f64 - expected(delay)).abs() < 100.0, "{took} us, {} us", expected(delay));
    }
    assert_eq!([far_status, near_status, none], [0, 0, 2]);
    // A call takes the time to start a program, which is zero in virtual time.
    assert!(far_took < 1000, "{far_took} us");
    let done: Vec<(f64, &str)> =
        outcome.ran.world.network.triggers().done().map(|(t, name)| (t.as_secs_f64(), name)).collect();
    assert_eq!(done.iter().map(|(_, name)| *name).collect::<Vec<_>>(), ["cell.far", "cell.near"]);
    for ((t, name), at) in done.iter().zip([far_at, near_at]) {
        let late = t - at as f64 / 1e6;
        assert!((0.0..1e-3).contains(&late), "{name} {late} s after it was called");
        assert!(errors.contains(&format!("{name} at {t:.6} s of run\n")), "{errors}");
    }
    assert!(errors.contains("`run` has no trigger `cell.none`"), "{errors}");
    assert!(errors.contains("its triggers: cell.near, cell.far"), "{errors}");
    let list = &wrote(&outcome.commands[2])[0];
    let (first, document) = list.split_once('\n').expect("lines");
    assert_eq!(first, "run (1): cell.near, cell.far");
    assert!(document.contains("\"schema\": \"williwaw-trigger/1\""), "{document}");
    let again = play(&kernels, &model, 0);
    assert!(again.capture == outcome.capture && again.commands == outcome.commands, "differs from itself");
}

/// A server that starts before t = 0 may call a trigger before t = 0: the call is executed at 0. An invalid
/// or unanswered request does no harm.
#[test]
fn odd_calls_do_no_harm() {
    let Some(kernels) = kernels_for_programs() else { return };
    if !has("python3") {
        return;
    }
    let early = format!("williwaw trigger cell.far &\n{ECHOES}");
    let odd = "exec /usr/bin/python3 -c '
import socket
at = b\"\\0williwaw/run/1\"
def to():
    s = socket.socket(socket.AF_UNIX)
    s.connect(at)
    return s
kept = [to() for _ in range(300)]
gone = to()
gone.send(b\"cell.near\\n\")
gone.close()
long = to()
long.send(bytes(600))
half = kept[0]
half.send(b\"cell.\")
half.send(b\"far\\nand more\")
print(half.recv(1000), kept[299].recv(10))
'; williwaw; echo $?; williwaw trigger --odd; echo $?; williwaw trigger --run other cell.far; echo $?";
    let commands = command("echo", "server", &early, "serves = true")
        + &command("odd", "phone", &odd.replace("exec ", ""), "start = \"1 s\"");
    let outcome = play(&kernels, &model(&format!("{CELLS}{commands}"), &[]), 0);
    assert!(outcome.ran.complete);
    let [said, errors] = wrote(&outcome.commands[1]);
    let done: Vec<(f64, &str)> =
        outcome.ran.world.network.triggers().done().map(|(t, name)| (t.as_secs_f64(), name)).collect();
    assert_eq!(done.first(), Some(&(0.0, "cell.far")), "{done:?} {said}{errors}");
    assert_eq!(done.iter().filter(|(_, name)| *name == "cell.far").count(), 2, "{done:?} {said}{errors}");
    assert!(said.contains("\"names\":[\"cell.near\",\"cell.far\"]}"), "{said}{errors}");
    assert!(said.contains("b\'\'"), "who is too many is turned away: {said}{errors}");
    assert!(said.ends_with("2\n2\n2\n"), "{said}{errors}");
    assert!(
        errors.contains("one verb") && errors.contains("--odd") && errors.contains("of this name"),
        "{errors}"
    );
}
