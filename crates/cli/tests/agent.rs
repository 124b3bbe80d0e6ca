//! The claim: an emulation may span several hosts, and after the kill of any process nothing remains of it. The hosts
//! are network namespaces with a bridge between them, made here; the packets between them are real.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod house;

use house::{Agent, FLOW, House, NAMES, PATIENCE, PROGRAM, UNTIL_CLEAN, marked, scenario, told, until};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A flow of the kernel, a server, a client and a failing command, at three hosts: all results return into one folder,
/// and the measured clock offsets are zero, because the hosts share one clock (SW-09, SW-10, SW-62).
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
        // Round trip of twice 30 ms, plus the delay between hosts.
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

/// If the controller or an agent is killed or a cable is cut, the others stop their work within seconds, and a
/// remaining agent serves again; the controller names the lost one (SW-09).
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
    // A cut cable sends no error: both ends detect it by a timeout.
    let controller = begin(&house);
    assert!(house.controller.does("ip link set port2 down"));
    house.until_clean(&mark);
    let ended = controller.wait_with_output().unwrap();
    let said = told(&ended);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("agent `b`: was lost: no message from it for 4 s"), "{said}");
    assert!(house.controller.does("ip link set port2 up"));
    until("b is free again", UNTIL_CLEAN, || {
        house.agents[0].said.lock().unwrap().matches("was stopped").count() >= 2
    });
    // A stop request while an agent is gone reports the lost agent, not an interruption.
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

/// Each reason of an unavailable agent is reported in one sentence that names it.
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
    // Clients with another protocol or another version.
    for (greeting, words) in [
        ("SSH-2.0-OpenSSH_9.2\r\n", "is not a williwaw agent"),
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
    // Invalid lists of agents.
    house.write("agents.toml", "[agent.d]\naddress = \"10.77.0.4\"\nmachines = [\"fone\"]\n");
    let done = house.emulate(&["--no-out"]).output().unwrap();
    let said = told(&done);
    assert!(
        done.status.code() == Some(2) && said.contains("no node `fone`") && said.contains("token-file"),
        "{said}"
    );
}

/// A host without a path for UDP, as behind a filter: one sentence after two seconds of calls, nothing is left, and
/// when the filter is gone the next run goes through.
#[test]
fn a_port_that_is_closed_for_udp() {
    let Some(house) = House::new().map(House::with_agents) else { return };
    house.write("s.toml", &scenario("[[command]]\nname = \"x\"\nat = \"phone\"\nrun = \"true\"\n"));
    // A routing rule before the local table filters by protocol, without a firewall.
    let d = &house.hosts[2];
    let closed = d.does("ip rule add pref 10 lookup local")
        && d.does("ip rule add pref 5 ipproto udp blackhole")
        && d.does("ip rule del pref 0");
    if !closed {
        return eprintln!("skipped: this kernel has no rules of routing for protocols");
    }
    for (machines, who) in [(["server", "edge", "phone"], ""), (["server", "", "phone"], "agent `c`: ")] {
        house.list(machines);
        let done = house.emulate(&["--no-out"]).output().unwrap();
        let words = format!("{who}agent `d`: no datagram passed at UDP port 7171");
        assert!(done.status.code() == Some(3) && told(&done).contains(&words), "{words}: {}", told(&done));
        house.until_clean("nobody bears this");
    }
    assert!(d.does("ip rule del pref 5"));
    let done = house.emulate(&["--no-out"]).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", told(&done));
}

/// An agent dies during a run: finished repetitions are kept, and `--resume` runs the rest when it is back; for an
/// agent with a node and for one with the path.
#[test]
fn a_run_goes_on_after_a_dead_agent() {
    let Some(mut house) = House::new().map(House::with_agents) else { return };
    house.write("s.toml", &scenario("[[command]]\nname = \"x\"\nat = \"phone\"\nrun = \"sleep 1\"\n"));
    for (run, machines, dies) in
        [("here", ["server", "edge", "phone"], 2), ("away", ["server", "", "phone"], 1)]
    {
        house.list(machines);
        let mut first = house.emulate(&["--reps", "3", "--out", run]);
        let first = first.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let folder = house.path(run);
        let kept = |n: usize| folder.join(format!("repetitions/0-{n}.json"));
        until("the first repetition is kept", PATIENCE, || kept(0).exists());
        house.agents[dies].process.kill().unwrap();
        house.agents[dies].process.wait().unwrap();
        let ended = first.wait_with_output().unwrap();
        let words = format!("agent `{}`: was lost", NAMES[dies]);
        assert!(ended.status.code() == Some(3) && told(&ended).contains(&words), "{}", told(&ended));
        let before = std::fs::read(kept(0)).unwrap();
        assert!(!kept(2).exists());
        let again = ["emulate", "--resume", run, "--agents", "agents.toml", "--lateness", "10 s"];
        // The other agents are busy until they have cleaned up after the first run.
        let resumed = || house.controller(&again).output().unwrap();
        let (mut done, since) = (resumed(), Instant::now());
        while told(&done).contains("is busy with a run") && since.elapsed() < PATIENCE {
            done = resumed();
        }
        assert!(
            done.status.code() == Some(3) && told(&done).contains("cannot be reached"),
            "{}",
            told(&done)
        );
        let address = format!("10.77.0.{}", dies + 2);
        house.agents[dies] = Agent::start(&house.hosts[dies], &house.folder, &address, "agents.token");
        let done = house.controller(&again).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{}", told(&done));
        assert!((0..3).all(|n| kept(n).exists()) && folder.join("flows.parquet").exists());
        assert_eq!(std::fs::read(kept(0)).unwrap(), before, "what was done is left alone");
    }
}

/// An agent that an ordinary user has started: machines and kernel flows of either version in a user namespace, commands
/// as that user; with no TUN device where the system gives it to root only (SW-14).
#[test]
fn an_agent_of_an_ordinary_user() {
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let as_user = |program: &str| {
        let mut command = Command::new("setpriv");
        let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
        command.args(ids).args(["--clear-groups", "--", program]).current_dir(folder.path());
        command
    };
    let open = |mode| <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(mode);
    std::fs::set_permissions(folder.path(), open(0o755)).unwrap();
    if !as_user(PROGRAM).arg("--version").output().is_ok_and(|done| done.status.success()) {
        return eprintln!("skipped: not root, or no `setpriv`, with which to become somebody else");
    }
    if !as_user("unshare").args(["--user", "--net", "true"]).status().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: ordinary users may not make namespaces here");
    }
    let made = Command::new(PROGRAM)
        .args(["agent", "--make-token", "agents.token"])
        .current_dir(folder.path())
        .status();
    assert!(made.unwrap().success());
    std::fs::set_permissions(path("agents.token"), open(0o644)).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let mut agent = as_user(PROGRAM);
    agent.args(["agent", "--token-file", "agents.token", "--listen", &address]);
    let agent = Agent::started(agent);
    agent.until_said("without root, in a user namespace");
    let six = FLOW.replace("\"download\"", "\"six\"").replace("cc = \"cubic\"", "cc = \"cubic\", ip = 6");
    let who = "[[command]]\nname = \"who\"\nat = \"phone\"\nrun = \"echo mine > whose; stat -c %u whose\"\n";
    std::fs::set_permissions(folder.path(), open(0o777)).unwrap();
    // The sockets are created during the run, when they are needed.
    let ask = "[[flow]]\nname = \"ask\"\nfrom = \"phone\"\nto = \"server\"\ntransport = \"linux\"\n\
               app = { request-reply = { request = \"200 B\", reply = \"3 kB\", count = 3, keep = \"object\" } }\n";
    std::fs::write(path("s.toml"), scenario(&format!("{FLOW}{six}{ask}{who}"))).unwrap();
    // With the path at the controller, and at the agent.
    for what in ["machines = [\"server\", \"phone\"]", "path = true"] {
        let list = format!(
            "token-file = \"agents.token\"\nclock-limit = \"1 s\"\n[agent.u]\naddress = \"{address}\"\n{what}\n"
        );
        std::fs::write(path("agents.toml"), list).unwrap();
        let _ = (std::fs::remove_dir_all(path("run")), std::fs::remove_file(path("whose")));
        let words =
            ["emulate", "s.toml", "--agents", "agents.toml", "--lateness", "10 s", "--json", "--out", "run"];
        let done = Command::new(PROGRAM).args(words).current_dir(folder.path()).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{}", told(&done));
        let document: Value = serde_json::from_slice(&done.stdout).unwrap();
        for flow in ["download", "six"] {
            let info = &document["repetitions"][0]["flows"][flow]["tcp_info"];
            assert!(info["bytes_acked"].as_u64() >= Some(200_000), "{flow}: {info}");
        }
        let asked = &document["cells"][0]["flows"]["ask"];
        let [responses, connections] = ["responses", "connections"].map(|name| asked[name]["mean"].as_f64());
        assert_eq!((responses, connections), (Some(3.0), Some(3.0)), "{asked}");
        let owner = std::os::unix::fs::MetadataExt::uid(&path("whose").metadata().unwrap());
        assert_eq!(owner, NOBODY, "commands are the user's, also outside");
        until("nothing is left", UNTIL_CLEAN, || agent.holds().is_empty());
    }
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
    // A loaded machine may measure clock offsets less accurately than the millisecond of the page, and reports this.
    assert!([Some(0), Some(4)].contains(&done.status.code()), "{said}");
    assert!(said.contains("between hosts, to the path"), "{said}");
    let curl = std::fs::read_to_string(house.path("run/commands/0-0/curl.stdout")).unwrap();
    assert!(curl.starts_with("200 "), "{curl}: {said}");
    house.until_clean("nobody bears this");
}
