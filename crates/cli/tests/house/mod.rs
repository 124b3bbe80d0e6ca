//! Hosts for tests: network namespaces with a bridge between them, agents in them, and a check for remains of a run.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_williwaw");
pub(crate) const NAMES: [&str; 3] = ["b", "c", "d"];
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Timeout of the check for remains: silence is noticed after four seconds.
pub(crate) const UNTIL_CLEAN: Duration = Duration::from_secs(15);

/// Holder of a network namespace (and the first one also a user namespace) until it is dropped.
pub(crate) struct Host(pub(crate) Child);

impl Host {
    pub(crate) fn hold(mut command: Command) -> Option<Host> {
        let held =
            command.args(["sh", "-c", "echo up; exec cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut host = Host(held.spawn().ok()?);
        let mut line = String::new();
        BufReader::new(host.0.stdout.as_mut()?).read_line(&mut line).ok()?;
        (line == "up\n").then_some(host)
    }

    /// A command at this host.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let target = self.0.id().to_string();
        command.args(["--user", "--preserve-credentials", "--net", "--target", &target, "--", program]);
        command
    }

    pub(crate) fn does(&self, words: &str) -> bool {
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

/// A running agent and its output.
pub(crate) struct Agent {
    pub(crate) process: Child,
    pub(crate) said: Arc<Mutex<String>>,
}

impl Agent {
    pub(crate) fn start(host: &Host, folder: &TempDir, address: &str, token: &str) -> Agent {
        let mut command = host.command(PROGRAM);
        command.args(["agent", "--token-file", token, "--listen", address]).current_dir(folder.path());
        Agent::started(command)
    }

    /// Starts an agent from its command.
    pub(crate) fn started(mut command: Command) -> Agent {
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

    pub(crate) fn until_said(&self, words: &str) {
        until(words, PATIENCE, || self.said.lock().unwrap().contains(words));
    }

    /// Child processes, namespaces of networks and TUN devices that it holds.
    pub(crate) fn holds(&self) -> Vec<String> {
        holds(self.process.id())
    }
}

/// Output of any process.
pub(crate) fn holds(process: u32) -> Vec<String> {
    let of = format!("/proc/{process}");
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

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn until(what: &str, patience: Duration, is: impl Fn() -> bool) {
    let since = Instant::now();
    while !is() {
        assert!(since.elapsed() < patience, "{what}: not within {patience:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes with this mark in their arguments.
pub(crate) fn marked(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(mark)).count()
}

/// Four hosts on one network: a controller and three for agents.
pub(crate) struct House {
    pub(crate) folder: TempDir,
    pub(crate) controller: Host,
    pub(crate) hosts: Vec<Host>,
    pub(crate) agents: Vec<Agent>,
}

impl House {
    /// The hosts; `None` with a printed reason if the network cannot be made.
    pub(crate) fn new() -> Option<House> {
        let house = House::built();
        if house.is_none() {
            eprintln!("skipped: no user namespaces, or no `ip`, with which to make four hosts on a bridge");
        }
        house
    }

    pub(crate) fn built() -> Option<House> {
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

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn with_agents(mut self) -> House {
        let start =
            |(i, host)| Agent::start(host, &self.folder, &format!("10.77.0.{}", i + 2), "agents.token");
        self.agents = self.hosts.iter().enumerate().map(start).collect();
        self
    }

    /// List of agents: the machines of each host; the host without machines carries the path.
    pub(crate) fn list(&self, machines: [&str; 3]) {
        let mut text = "token-file = \"agents.token\"\nclock-limit = \"1 s\"\n".to_owned();
        for (i, (name, machine)) in NAMES.iter().zip(machines).enumerate() {
            let address = format!("10.77.0.{}", i + 2);
            let what = match machine {
                "" => "path = true".to_owned(),
                node => format!("machines = [\"{node}\"]"),
            };
            text.push_str(&format!("[agent.{name}]\naddress = \"{address}\"\n{what}\n"));
        }
        self.write("agents.toml", &text);
    }

    pub(crate) fn controller(&self, args: &[&str]) -> Command {
        let mut command = self.controller.command(PROGRAM);
        command.args(args).current_dir(self.folder.path());
        command
    }

    /// Reports the lateness without a verdict, because the test machine is loaded.
    pub(crate) fn emulate(&self, more: &[&str]) -> Command {
        let mut command =
            self.controller(&["emulate", "s.toml", "--agents", "agents.toml", "--lateness", "10 s"]);
        command.args(more);
        command
    }

    pub(crate) fn until_clean(&self, mark: &str) {
        until("nothing is left", UNTIL_CLEAN, || {
            marked(mark) == 0 && self.agents.iter().all(|agent| agent.holds().is_empty())
        });
    }
}

pub(crate) fn told(of: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&of.stdout), String::from_utf8_lossy(&of.stderr))
}

/// A path of two hops with a machine at each of its three nodes.
pub(crate) fn scenario(commands: &str) -> String {
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

pub(crate) const FLOW: &str = r#"
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = { linux = { cc = "cubic", mtu = "1400 B" } }
app = { bulk = { bytes = "200 kB" } }
"#;
