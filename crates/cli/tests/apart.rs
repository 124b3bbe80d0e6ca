//! The claim: a workload between kernels does not depend on the place of its ends: at one host, at two agents, with
//! one of them beside the path, and with the path at an agent. Connections, requests, messages and bytes are equal,
//! and times differ by the measured delays between hosts. All agents are processes on this host, at addresses of
//! loopback.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod house;

use house::{Agent, PATIENCE, PROGRAM, UNTIL_CLEAN, told, until};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Agents b, c and d; `None` with a printed reason without namespaces.
fn agents() -> Option<(TempDir, Vec<(Agent, String)>)> {
    if let Err(error) = emulate::rights()
        && !Command::new("unshare").args(["--user", "--net", "true"]).status().is_ok_and(|s| s.success())
    {
        eprintln!("skipped: {error}");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let made = run(folder.path(), &["agent", "--make-token", "agents.token"]).status().unwrap();
    assert!(made.success());
    let start = |i: u8| {
        let port = std::net::TcpListener::bind((format!("127.0.0.{i}"), 0)).unwrap().local_addr().unwrap();
        let address = port.to_string();
        let words = ["agent", "--token-file", "agents.token", "--listen", &address];
        (Agent::started(run(folder.path(), &words)), address)
    };
    let agents = (2..5).map(start).collect();
    Some((folder, agents))
}

fn run(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(words).current_dir(folder);
    command
}

/// List of the nodes of each host; may be empty.
fn list(folder: &Path, agents: &[(Agent, String)], has: [&str; 3]) {
    let mut text = "token-file = \"agents.token\"\nclock-limit = \"1 s\"\n".to_owned();
    for ((name, what), (_, address)) in ["b", "c", "d"].iter().zip(has).zip(agents) {
        if !what.is_empty() {
            text.push_str(&format!("[agent.{name}]\naddress = \"{address}\"\n{what}\n"));
        }
    }
    std::fs::write(folder.join("agents.toml"), text).unwrap();
}

/// Nothing is lost and no queue is full, so that counts hang on nothing but the workloads. Those of which times are compared do
/// not meet the last two.
const WORK: &str = r#"
williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
rate = "8 Mbit/s"
delay = "20 ms"
queue = "unlimited"
[run]
limit = "20 s"

[[flow]]
name = "ask"
from = "server"
to = "phone"
transport = { linux = { cc = "reno" } }
app = { request-reply = { request = "uniform(100 B, 600 B)", reply = "uniform(1 kB, 8 kB)", count = 9, think = "30 ms", serve = "5 ms" } }

[[flow]]
name = "short"
from = "phone"
to = "server"
transport = { linux = { ip = 6 } }
app = { request-reply = { request = "1 B", reply = "70 kB", count = 3, keep = "object" } }

[[flow]]
name = "pages"
from = "phone"
to = "server"
transport = "linux"
app = { web = { pages = 3, main = "uniform(2 kB, 6 kB)", objects = "uniform(2, 6)", object = "uniform(500 B, 9 kB)", request = "200 B", reading = "50 ms", serve = "1 ms", connections = 3, pipelining = true } }

[[flow]]
name = "voice"
from = "server"
to = "phone"
transport = { linux = { protocol = "udp" } }
app = { cbr = { rate = "64 kbit/s", packet = "160 B", lasts = "1 s", playout = "500 ms" } }

[[flow]]
name = "bursts"
from = "phone"
to = "server"
transport = { linux = { protocol = "udp" } }
app = { on-off = { rate = "400 kbit/s", packet = "3 kB", on = "300 ms", off = "exponential(100 ms)", lasts = "800 ms" } }

[[flow]]
name = "news"
from = "phone"
to = "server"
transport = "linux"
app = { ticker = { size = "uniform(100 B, 900 B)", every = "uniform(80 ms, 200 ms)", count = 8 } }

[[flow]]
name = "impatient"
from = "phone"
to = "server"
start = "1700 ms"
transport = "linux"
app = { web = { pages = 2, main = "2 kB", objects = "3", object = "1 MB", request = "200 B", reading = "1 ms", connections = 2, patience = "500 ms" } }

[[flow]]
name = "slow"
from = "phone"
to = "server"
start = "1500 ms"
transport = { linux = { sysctl = { tcp_rmem = "4096 32768 32768", tcp_moderate_rcvbuf = 0 } } }
app = { bulk = { bytes = "100 kB", read-pause = "700 ms" } }
"#;

/// Counts that must be equal. Late messages are not among them: they depend on the machine's load.
const COUNTS: [&str; 7] = [
    "responses",
    "pages",
    "pages_aborted",
    "connections",
    "messages_sent",
    "messages_delivered",
    "reordered",
];

/// Values from the JSON document of a run with one repetition.
struct Done(Value);

impl Done {
    fn metric(&self, flow: &str, name: &str) -> Option<f64> {
        self.0["cells"][0]["flows"][flow][name]["mean"].as_f64()
    }

    fn facts(&self, flow: &str) -> &Value {
        &self.0["repetitions"][0]["flows"][flow]
    }

    /// Bytes that a flow's connections have got and sent, of the first time, at the end that wrote more.
    fn bytes(&self, flow: &str) -> (usize, u64, u64) {
        let all = self.facts(flow)["connections"].as_array().unwrap();
        let sum = |name: &str| all.iter().map(|one| one[name].as_u64().unwrap()).sum::<u64>();
        (all.len(), sum("bytes_received"), sum("bytes_sent") - sum("bytes_retrans"))
    }

    /// Excess duration of an exchange here over an ideal machine: both ends are woken, packets cross two ports, and
    /// the delays between hosts.
    fn excess(&self) -> f64 {
        let timing = &self.0["repetitions"][0]["timing"];
        let most = |what: &Value| what["max_us"].as_f64().unwrap_or(0.0) * 1e-6;
        let between = &timing["between_hosts"];
        let ways = most(&between["to_path"]) + most(&between["from_path"]);
        // A thread with real-time priority has a processor within 2 ms (`emulate/tests/workloads.rs`).
        2.0 * (most(&timing["egress"]) + ways + 0.002)
    }

    fn has_priority(&self) -> bool {
        self.0["repetitions"][0]["timing"]["realtime"] == true
    }
}

/// Requests, pages over several connections, an impatient user, messages over connections and in datagrams, a slow reader
/// (SW-10).
#[test]
fn the_same_wherever_its_ends_are() {
    let Some((folder, agents)) = agents() else { return };
    std::fs::write(folder.path().join("s.toml"), WORK).unwrap();
    let played = |has: [&str; 3]| {
        list(folder.path(), &agents, has);
        let mut command =
            run(folder.path(), &["emulate", "s.toml", "--no-out", "--json", "--lateness", "10 s"]);
        if has != [""; 3] {
            command.args(["--agents", "agents.toml"]);
        }
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{has:?}: {}", told(&done));
        Done(serde_json::from_slice(&done.stdout).unwrap())
    };
    let here = played([""; 3]);
    let (server, phone) = ("machines = [\"server\"]", "machines = [\"phone\"]");
    for has in [[server, "", phone], ["", "path = true", phone]] {
        let apart = played(has);
        for flow in ["ask", "short", "pages", "voice", "bursts", "news", "impatient", "slow"] {
            let (one, other) = (here.facts(flow), apart.facts(flow));
            assert_eq!((&one["faults"], &other["faults"]), (&json!([]), &json!([])), "{has:?} {flow}");
            for name in COUNTS {
                let (one, other) = (here.metric(flow, name), apart.metric(flow, name));
                assert_eq!(one, other, "{has:?} {flow} {name}");
            }
            let looked = |facts: &Value| facts["history"].as_array().is_some_and(|all| !all.is_empty());
            assert_eq!(looked(one), looked(other), "{has:?} {flow}");
            let [sent, came] = ["from", "to"].map(|end| other[end].as_object().map_or(0, |all| all.len()));
            assert!(sent > 5 && came > 5, "{has:?} {flow}: counters of both ends");
        }
        for flow in ["ask", "short", "pages", "news"] {
            assert_eq!(here.bytes(flow), apart.bytes(flow), "{has:?} {flow}");
        }
        assert_eq!(here.metric("bursts", "segments_sent"), apart.metric("bursts", "segments_sent"));
        let limited = |run: &Done| run.facts("slow")["tcp_info"]["rwnd_limited"].as_u64();
        assert!(limited(&here) > Some(300_000) && limited(&apart) > Some(300_000), "{:?}", limited(&apart));
        // One after the other: a request on an open connection, one that opens it (for three round trips of data), a page with an
        // opening and at most three rounds of objects, and messages.
        for (flow, name, exchanges) in [
            ("ask", "response_time_median_s", 1.0),
            ("short", "response_time_median_s", 6.0),
            ("pages", "page_time_median_s", 5.0),
            ("voice", "message_delay_s", 1.0),
            ("bursts", "message_delay_s", 1.0),
            ("news", "message_delay_s", 2.0),
        ] {
            let [one, other] = [&here, &apart].map(|run| run.metric(flow, name).unwrap());
            let most = exchanges * (here.excess() + apart.excess());
            if here.has_priority() && apart.has_priority() {
                let near = (one - other).abs() <= most;
                assert!(near, "{has:?} {flow} {name}: {one} s here, {other} s apart, not within {most} s");
            } else {
                eprintln!(
                    "{flow} {name}: {one} s and {other} s, not judged: threads without priority wait for others"
                );
            }
        }
    }
    assert_eq!(here.metric("impatient", "pages_aborted"), Some(2.0), "its user gives up");
    assert_eq!(here.metric("voice", "messages_delivered"), Some(50.0), "nothing is lost");
    until("nothing is left", UNTIL_CLEAN, || agents.iter().all(|(agent, _)| agent.holds().is_empty()));
}

/// An agent is killed while pages are loaded: the host with the path names it and ends with 3, the other stops its
/// work and is free (SW-09).
#[test]
fn an_agent_dies_in_the_middle_of_a_page() {
    let Some((folder, mut agents)) = agents() else { return };
    let web = "app = { web = { pages = 1000, reading = \"1 ms\", connections = 3 } }";
    let all = WORK.split("[[flow]]").next().unwrap();
    let flow = "[[flow]]\nname = \"pages\"\nfrom = \"phone\"\nto = \"server\"\ntransport = \"linux\"\n";
    std::fs::write(folder.path().join("s.toml"), format!("{all}{flow}{web}\n")).unwrap();
    list(folder.path(), &agents, ["machines = [\"server\"]", "", "machines = [\"phone\"]"]);
    let words = ["emulate", "s.toml", "--agents", "agents.toml", "--no-out"];
    let begun = run(folder.path(), &words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("both have something", PATIENCE, || {
        !agents[0].0.holds().is_empty() && !agents[2].0.holds().is_empty()
    });
    std::thread::sleep(std::time::Duration::from_millis(1500));
    agents[2].0.process.kill().unwrap();
    agents[2].0.process.wait().unwrap();
    let ended = begun.wait_with_output().unwrap();
    let said = told(&ended);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("agent `d`: was lost"), "{said}");
    until("nothing is left", UNTIL_CLEAN, || agents[0].0.holds().is_empty());
    agents[0].0.until_said("everything of its run was stopped");
}
