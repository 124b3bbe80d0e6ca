//! The claim: an emulation may be spread over several hosts, and whoever is killed, nothing of it is left. The hosts are
//! network namespaces with a bridge between them, made here; what passes between them are real packets.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_williwaw");
const NAMES: [&str; 3] = ["b", "c", "d"];
const PATIENCE: Duration = Duration::from_secs(30);
/// What is left of a run is looked for so long: silence is noticed after four seconds.
const UNTIL_CLEAN: Duration = Duration::from_secs(15);

/// Somebody who holds a network namespace (and the first one also a user namespace) until it is dropped.
struct Host(Child);

impl Host {
    fn hold(mut command: Command) -> Option<Host> {
        let held =
            command.args(["sh", "-c", "echo up; exec cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut host = Host(held.spawn().ok()?);
        let mut line = String::new();
        BufReader::new(host.0.stdout.as_mut()?).read_line(&mut line).ok()?;
        (line == "up\n").then_some(host)
    }

    /// A command at this host.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let target = self.0.id().to_string();
        command.args(["--user", "--preserve-credentials", "--net", "--target", &target, "--", program]);
        command
    }

    fn does(&self, words: &str) -> bool {
        let mut words = words.split(' ');
        let done = self.command(words.next().unwrap()).args(words).output();
        done.is_ok_and(|done| done.status.success())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An agent at work, and what it said.
struct Agent {
    process: Child,
    said: Arc<Mutex<String>>,
}

impl Agent {
    fn start(host: &Host, folder: &TempDir, address: &str, token: &str) -> Agent {
        let mut command = host.command(PROGRAM);
        command.args(["agent", "--token-file", token, "--listen", address]).current_dir(folder.path());
        let mut process = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (all, lines) = (said.clone(), BufReader::new(process.stderr.take().unwrap()).lines());
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| all.lock().unwrap().push_str(&(line + "\n")));
        });
        let agent = Agent { process, said };
        agent.until_said("listening");
        agent
    }

    fn until_said(&self, words: &str) {
        until(words, PATIENCE, || self.said.lock().unwrap().contains(words));
    }

    /// Child processes, namespaces of networks and TUN devices that it holds.
    fn holds(&self) -> Vec<String> {
        let of = format!("/proc/{}", self.process.id());
        let mut all = Vec::new();
        for task in std::fs::read_dir(format!("{of}/task")).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().map(|pid| format!("child {pid}")));
        }
        for fd in std::fs::read_dir(format!("{of}/fd")).into_iter().flatten().flatten() {
            let file = std::fs::read_link(fd.path()).unwrap_or_default().display().to_string();
            if file.starts_with("net:[") || file.contains("/net/tun") || file.contains("memfd:") {
                all.push(file);
            }
        }
        all
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn until(what: &str, patience: Duration, is: impl Fn() -> bool) {
    let since = Instant::now();
    while !is() {
        assert!(since.elapsed() < patience, "{what}: not within {patience:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes that bear this mark in their arguments.
fn marked(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(mark)).count()
}

/// Four hosts on one network: a controller and three for agents.
struct House {
    folder: TempDir,
    controller: Host,
    hosts: Vec<Host>,
    agents: Vec<Agent>,
}

impl House {
    /// None, with the reason said aloud, where such a network cannot be made.
    fn new() -> Option<House> {
        let house = House::built();
        if house.is_none() {
            eprintln!("skipped: no user namespaces, or no `ip`, with which to make four hosts on a bridge");
        }
        house
    }

    fn built() -> Option<House> {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--net"]);
        let controller = Host::hold(unshare)?;
        let own = "ip link add br0 type bridge,ip addr add 10.77.0.1/24 dev br0,ip link set br0 up,ip link set lo up";
        if !own.split(',').all(|words| controller.does(words)) {
            return None;
        }
        let mut hosts = Vec::new();
        for i in 2..5 {
            let mut unshare = controller.command("unshare");
            unshare.arg("--net");
            let host = Host::hold(unshare)?;
            let pair = format!("ip link add port{i} type veth peer name eth0 netns {}", host.0.id());
            let made = controller.does(&pair)
                && controller.does(&format!("ip link set port{i} master br0 up"))
                && host.does(&format!("ip addr add 10.77.0.{i}/24 dev eth0"))
                && host.does("ip link set eth0 up")
                && host.does("ip link set lo up");
            if !made {
                return None;
            }
            hosts.push(host);
        }
        let folder = tempfile::tempdir().unwrap();
        let house = House { folder, controller, hosts, agents: Vec::new() };
        for token in ["agents.token", "other.token"] {
            let made = house.controller(&["agent", "--make-token", token]).output().unwrap();
            assert!(made.status.success(), "{}", told(&made));
        }
        Some(house)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn with_agents(mut self) -> House {
        let start =
            |(i, host)| Agent::start(host, &self.folder, &format!("10.77.0.{}", i + 2), "agents.token");
        self.agents = self.hosts.iter().enumerate().map(start).collect();
        self
    }

    /// The file that says which host has which machine.
    fn list(&self, machines: [&str; 3]) {
        let mut text = "token-file = \"agents.token\"\nclock-limit = \"1 s\"\n".to_owned();
        for (i, (name, machine)) in NAMES.iter().zip(machines).enumerate() {
            let address = format!("10.77.0.{}", i + 2);
            text.push_str(&format!("[agent.{name}]\naddress = \"{address}\"\nmachines = [\"{machine}\"]\n"));
        }
        self.write("agents.toml", &text);
    }

    fn controller(&self, args: &[&str]) -> Command {
        let mut command = self.controller.command(PROGRAM);
        command.args(args).current_dir(self.folder.path());
        command
    }

    /// The machine of a test is not quiet: how late packets are is reported here, and not judged.
    fn emulate(&self, more: &[&str]) -> Command {
        let mut command =
            self.controller(&["emulate", "s.toml", "--agents", "agents.toml", "--lateness", "10 s"]);
        command.args(more);
        command
    }

    fn until_clean(&self, mark: &str) {
        until("nothing is left", UNTIL_CLEAN, || {
            marked(mark) == 0 && self.agents.iter().all(|agent| agent.holds().is_empty())
        });
    }
}

fn told(of: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&of.stdout), String::from_utf8_lossy(&of.stderr))
}

/// A path of two hops with a machine at each of its three nodes.
fn scenario(commands: &str) -> String {
    format!(
        r#"williwaw = 1
[[hop]]
name = "core"
between = ["server", "edge"]
rate = "10 Mbit/s"
delay = "10 ms"
[[hop]]
name = "radio"
between = ["edge", "phone"]
rate = "2 Mbit/s"
delay = "20 ms"
{commands}"#
    )
}

const FLOW: &str = r#"
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = { linux = { cc = "cubic", mtu = "1400 B" } }
app = { bulk = { bytes = "200 kB" } }
"#;

/// A flow of the kernel, a server, a client and a command that fails, at three hosts: what each did comes back into one
/// folder, and all clocks, which are one here, are found to be one (SW-09, SW-10, SW-62).
#[test]
fn one_run_over_three_hosts() {
    let Some(house) = House::new().map(House::with_agents) else { return };
    let served = r#"
[[command]]
name = "echo"
at = "server"
run = '''exec python3 -c '
import socket
s = socket.create_server(("", 7000))
while True:
    c = s.accept()[0]
    c.sendall(c.recv(99).upper())
    c.close()' '''
serves = true
[[command]]
name = "ask"
at = "phone"
start = "200 ms"
run = '''exec python3 -c '
import socket, time
t = time.monotonic()
c = socket.create_connection(("server", 7000))
t = time.monotonic() - t
c.sendall(b"hello")
print(c.recv(99).decode(), round(t, 4), flush=True)' '''
[[command]]
name = "odd"
at = "edge"
run = "echo at $WILLIWAW_NODE; echo alas >&2; exit 3"
"#;
    house.write("s.toml", &scenario(&format!("{FLOW}{served}")));
    house.list(["server", "edge", "phone"]);
    let done = house.emulate(&["--json", "--reps", "2", "--captures", "--out", "run"]).output().unwrap();
    let said = told(&done);
    if said.contains("python3: not found") {
        return eprintln!("skipped: no python3");
    }
    assert_eq!(done.status.code(), Some(1), "one command failed: {said}");
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(document["repetitions"].as_array().map(Vec::len), Some(2), "{said}");
    for (n, repetition) in document["repetitions"].as_array().unwrap().iter().enumerate() {
        let file =
            |name: &str| std::fs::read_to_string(house.path(&format!("run/commands/0-{n}/{name}"))).unwrap();
        assert_eq!((file("odd.stdout"), file("odd.stderr")), ("at edge\n".into(), "alas\n".into()), "{said}");
        assert_eq!(repetition["commands"]["odd"]["status"], 3);
        assert_eq!(repetition["commands"]["ask"]["status"], 0, "{said}");
        let answer = file("ask.stdout");
        let (word, took) = answer.trim().split_once(' ').unwrap();
        // To the server and back is twice 30 ms, and the way between hosts.
        assert!(word == "HELLO" && took.parse::<f64>().unwrap() >= 0.060, "{answer}");
        let flow = &repetition["flows"]["download"];
        assert_eq!(flow["tcp_info"]["bytes_sent"].as_u64().map(|n| n >= 200_000), Some(true), "{flow}");
        assert!(flow["history"].as_array().is_some_and(|all| !all.is_empty()));
        assert!(
            flow["from"]["TcpOutSegs"].as_u64() > Some(100) && flow["to"]["TcpInSegs"].as_u64() > Some(100)
        );
        let between = &repetition["timing"]["between_hosts"];
        assert_eq!(between["lost"], 0, "{between}");
        // 200 kB in segments of 1348 B cross twice.
        for way in ["to_path", "from_path"] {
            assert!(between[way]["n"].as_u64() >= Some(149), "{between}");
        }
        for name in NAMES {
            let clock = &between["clocks"][name];
            let [ahead, uncertain] = ["ahead_us", "uncertain_us"].map(|key| clock[key].as_f64().unwrap());
            assert!(ahead.abs() <= uncertain, "hosts of one machine have one clock: {clock}");
            assert!(clock["looks"].as_u64() >= Some(64));
        }
        assert!(house.path(&format!("run/captures/0-{n}.pcapng")).metadata().unwrap().len() > 200_000);
    }
    // 200 kB at 2 Mbit/s take 0.8 s.
    let time = document["cells"][0]["flows"]["download"]["download_time_s"]["mean"].as_f64();
    let time = time.or(document["cells"][0]["metrics"]["download_time_s"]["mean"].as_f64());
    assert!(time > Some(0.8), "{time:?}: {said}");
    house.until_clean("nobody bears this");
    for agent in &house.agents {
        agent.until_said("its run has ended");
    }
}

/// Whether the controller or an agent is killed or a cable cut, the others stop within seconds what they had started, and an agent that
/// is left serves again; the controller names the one that is gone (SW-09).
#[test]
fn whoever_is_killed_nothing_is_left() {
    let Some(mut house) = House::new().map(House::with_agents) else { return };
    let mark = format!("98765{}", std::process::id());
    let at = |node: &str| {
        let hidden = format!("setsid sleep {mark} & (sleep {mark} &) ; sleep {mark}");
        format!("[[command]]\nname = \"at-{node}\"\nat = \"{node}\"\nrun = \"{hidden}\"\n")
    };
    let commands = ["server", "edge", "phone"].map(at).concat();
    house.write("s.toml", &scenario(&format!("{FLOW}{commands}")));
    house.list(["server", "edge", "phone"]);
    let begin = |house: &House| {
        let quiet = house
            .emulate(&["--no-out", "--no-realtime"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let child = quiet.unwrap();
        until("three commands of three each run", PATIENCE, || marked(&format!("sleep {mark}")) >= 9);
        child
    };
    let mut controller = begin(&house);
    assert!(house.agents.iter().all(|agent| !agent.holds().is_empty()), "what is looked for can be seen");
    controller.kill().unwrap();
    controller.wait().unwrap();
    house.until_clean(&mark);
    for agent in &house.agents {
        agent.until_said("everything of its run was stopped");
    }
    // A cable that is cut says nothing: both ends find out by silence.
    let controller = begin(&house);
    assert!(house.controller.does("ip link set port2 down"));
    house.until_clean(&mark);
    let ended = controller.wait_with_output().unwrap();
    let said = told(&ended);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("agent `b`: was lost: nothing was heard of it for 4 s"), "{said}");
    assert!(house.controller.does("ip link set port2 up"));
    until("b is free again", UNTIL_CLEAN, || {
        house.agents[0].said.lock().unwrap().matches("was stopped").count() >= 2
    });
    // Told to stop while one of them is gone: that is said, and is no mere interruption.
    let controller = begin(&house);
    assert!(house.controller.does("ip link set port2 down"));
    assert!(Command::new("kill").args(["-INT", &controller.id().to_string()]).status().unwrap().success());
    let ended = controller.wait_with_output().unwrap();
    let said = told(&ended);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("agent `b`: was lost"), "{said}");
    house.until_clean(&mark);
    assert!(house.controller.does("ip link set port2 up"));
    until("b is free again", UNTIL_CLEAN, || {
        house.agents[0].said.lock().unwrap().matches("was stopped").count() >= 3
    });
    let controller = begin(&house);
    house.agents[2].process.kill().unwrap();
    house.agents[2].process.wait().unwrap();
    let ended = controller.wait_with_output().unwrap();
    let said = told(&ended);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("agent `d`: was lost"), "{said}");
    house.agents.pop();
    house.until_clean(&mark);
}

/// Each reason for which an agent is not to be had is told in one sentence that names it.
#[test]
fn an_agent_that_is_not_to_be_had() {
    let Some(mut house) = House::new() else { return };
    house.write("s.toml", &scenario("[[command]]\nname = \"x\"\nat = \"phone\"\nrun = \"sleep 60\"\n"));
    let one = |address: &str, token: &str| {
        let text =
            format!("token-file = \"{token}\"\n[agent.d]\naddress = \"{address}\"\nmachines = [\"phone\"]\n");
        house.write("agents.toml", &text);
        let done = house.emulate(&["--no-out"]).output().unwrap();
        (done.status.code(), told(&done))
    };
    let (code, said) = one("10.77.0.4", "agents.token");
    assert!(code == Some(3) && said.contains("agent `d`: cannot be reached at 10.77.0.4:7171"), "{said}");
    let (code, said) = one("10.77.0.4", "no.token");
    assert!(code == Some(2) && said.contains("no.token") && said.contains("--make-token"), "{said}");
    let (code, said) = one("10.77.0.4", "s.toml");
    assert!(code == Some(2) && said.contains("64 hexadecimal digits"), "{said}");
    // Whoever says something else, and whoever speaks another version.
    for (greeting, words) in [
        ("SSH-2.0-OpenSSH_9.2\r\n", "is no williwaw agent"),
        ("williwaw-agent\0\u{7}", "version 7 of the protocol"),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answered = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::Write::write_all(&mut stream, greeting.as_bytes()).unwrap();
            let _ = std::io::Read::read_to_end(&mut stream, &mut Vec::new());
        });
        let text = format!(
            "token-file = \"agents.token\"\n[agent.d]\naddress = \"127.0.0.1:{port}\"\nmachines = [\"phone\"]\n"
        );
        house.write("agents.toml", &text);
        let mut here = Command::new(PROGRAM);
        here.args(["emulate", "s.toml", "--agents", "agents.toml", "--no-out"])
            .current_dir(house.folder.path());
        let done = here.output().unwrap();
        assert!(done.status.code() == Some(3) && told(&done).contains(words), "{words}: {}", told(&done));
        answered.join().unwrap();
    }
    house.agents.push(Agent::start(&house.hosts[2], &house.folder, "10.77.0.4", "agents.token"));
    let one = |token: &str| {
        let text =
            format!("token-file = \"{token}\"\n[agent.d]\naddress = \"10.77.0.4\"\nmachines = [\"phone\"]\n");
        house.write("agents.toml", &text);
        house.emulate(&["--no-out"])
    };
    let done = one("other.token").output().unwrap();
    assert!(done.status.code() == Some(3) && told(&done).contains("has another token"), "{}", told(&done));
    house.agents[0].until_said("refused: it has another token");
    let mut first = one("agents.token").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    house.agents[0].until_said("a run begins");
    let done = one("agents.token").output().unwrap();
    assert!(
        done.status.code() == Some(3) && told(&done).contains("is busy with a run of 10.77.0.1"),
        "{}",
        told(&done)
    );
    first.kill().unwrap();
    first.wait().unwrap();
    house.until_clean("nobody bears this");
    // A list that cannot be meant.
    house.write("agents.toml", "[agent.d]\naddress = \"10.77.0.4\"\nmachines = [\"fone\"]\n");
    let done = house.emulate(&["--no-out"]).output().unwrap();
    let said = told(&done);
    assert!(
        done.status.code() == Some(2) && said.contains("no node `fone`") && said.contains("token-file"),
        "{said}"
    );
}

/// The example of `docs/agents.md`, with two agents on one host.
#[test]
fn the_example_of_the_page() {
    let Some(mut house) = House::new() else { return };
    let at_work = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !at_work("curl") || !at_work("python3") {
        return eprintln!("skipped: no curl, or no python3");
    }
    std::fs::create_dir_all(house.path("scenarios/agents")).unwrap();
    let shipped = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/agents");
    for name in ["fetch.toml", "hosts.toml"] {
        std::fs::copy(shipped.join(name), house.path("scenarios/agents").join(name)).unwrap();
    }
    for address in ["127.0.0.2", "127.0.0.3"] {
        house.agents.push(Agent::start(&house.controller, &house.folder, address, "agents.token"));
    }
    let words = ["emulate", "scenarios/agents/fetch.toml", "--agents", "scenarios/agents/hosts.toml"];
    let mut command = house.controller(&words);
    command.args(["--out", "run", "--lateness", "10 s"]);
    let done = command.output().unwrap();
    let said = told(&done);
    // A machine under load may not know its clocks to the millisecond that the page asks for, and says so.
    assert!([Some(0), Some(4)].contains(&done.status.code()), "{said}");
    assert!(said.contains("between hosts, to the path"), "{said}");
    let curl = std::fs::read_to_string(house.path("run/commands/0-0/curl.stdout")).unwrap();
    assert!(curl.starts_with("200 "), "{curl}: {said}");
    house.until_clean("nobody bears this");
}
