//! The claim: another host may carry the path, between nodes at further hosts. The controller gets the results of a
//! local run, and after a kill or a cut cable nothing remains.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod house;

use house::{Agent, FLOW, House, PATIENCE, UNTIL_CLEAN, holds, marked, scenario, told, until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Stdio};

/// Names of all keys in a JSON document and of all files in a folder, without values.
fn names(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    into.insert(at.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            // Non-zero kernel counters and the number of clock samples differ from run to run.
            let open = at.ends_with(".from") || at.ends_with(".to");
            if !open {
                names(value, &format!("{at}.{key}"), into);
            }
        }),
        Value::Array(all) => all.iter().take(1).for_each(|value| names(value, &format!("{at}[]"), into)),
        _ => {}
    }
}

fn files(folder: &Path, at: &str, into: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = format!("{at}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files(&entry.path(), &name, into);
        } else {
            into.insert(name);
        }
    }
}

/// One run twice: with the path at the controller, and with the path at `c`, between the machines at `b` and `d`.
/// The same names come out, in the document and in the folder; the clocks are compared with that of `c` (SW-09, SW-10).
#[test]
fn what_comes_out_has_the_same_form() {
    let Some(house) = House::new().map(House::with_agents) else { return };
    let commands = r#"
[[command]]
name = "says"
at = "phone"
run = "echo at $WILLIWAW_NODE"
[[command]]
name = "odd"
at = "edge"
run = "echo also at $WILLIWAW_NODE; echo alas >&2; exit 3"
"#;
    house.write("s.toml", &scenario(&format!("{FLOW}{commands}")));
    let played = |folder: &str, machines: [&str; 3]| {
        house.list(machines);
        let (svg, pcap) = (format!("{folder}.svg"), format!("{folder}.pcapng"));
        let wanted = ["--json", "--reps", "2", "--captures", "--events", "--out", folder];
        let done =
            house.emulate(&[&wanted[..], &["--svg", &svg, "--pcap", &pcap]].concat()).output().unwrap();
        let said = told(&done);
        assert_eq!(done.status.code(), Some(1), "one command failed: {said}");
        assert!(said.contains("odd: ended with status 3"), "{said}");
        let document: Value = serde_json::from_slice(&done.stdout).unwrap();
        let (mut there, mut kept) = (BTreeSet::new(), BTreeSet::new());
        let first = document["repetitions"][0].clone();
        let flow = &first["flows"]["download"];
        assert!(flow["tcp_info"]["bytes_sent"].as_u64() >= Some(200_000), "{flow}");
        names(&document, "", &mut there);
        files(&house.path(folder), "", &mut kept);
        for n in 0..2 {
            let file = |name: &str| {
                std::fs::read_to_string(house.path(&format!("{folder}/commands/0-{n}/{name}"))).unwrap()
            };
            assert_eq!(file("says.stdout"), "at phone\n");
            assert_eq!((file("odd.stdout"), file("odd.stderr")), ("also at edge\n".into(), "alas\n".into()));
            let length = |name: &str| house.path(&format!("{folder}/{name}")).metadata().unwrap().len();
            assert!(length(&format!("captures/0-{n}.pcapng")) > 200_000);
            assert!(length(&format!("events/0-{n}.jsonl")) > 10_000);
        }
        assert!(std::fs::read_to_string(house.path(&svg)).unwrap().contains("<svg"));
        assert!(house.path(&pcap).metadata().unwrap().len() > 200_000);
        let clocks: Vec<String> =
            first["timing"]["between_hosts"]["clocks"].as_object().unwrap().keys().cloned().collect();
        let run: Value = serde_json::from_str(
            &std::fs::read_to_string(house.path(&format!("{folder}/run.json"))).unwrap(),
        )
        .unwrap();
        (there, kept, clocks, run["emulation"]["path"]["agent"].clone())
    };
    // The node in the middle is made by `c` both times.
    let here = played("here", ["server", "edge", "phone"]);
    let away = played("away", ["server", "", "phone"]);
    let lacks =
        |a: &BTreeSet<String>, b: &BTreeSet<String>| a.symmetric_difference(b).cloned().collect::<Vec<_>>();
    let clocks_of_c = |name: &String| !name.contains(".clocks.c");
    let here_names = here.0.into_iter().filter(clocks_of_c).collect();
    assert_eq!(lacks(&here_names, &away.0), Vec::<String>::new());
    assert_eq!(lacks(&here.1, &away.1), Vec::<String>::new());
    assert_eq!((here.2.join(" "), away.2.join(" ")), ("b c d".into(), "b d".into()));
    assert_eq!((here.3, away.3), (Value::Null, "c".into()));
    house.until_clean("nobody bears this");
    for agent in &house.agents {
        agent.until_said("its run has ended");
    }
}

/// Of a controller, a host with the path and a host with a node, any one is killed or cut off: the others stop their
/// work within seconds, and are free for the next run.
#[test]
fn whoever_is_gone_nothing_is_left() {
    let Some(mut house) = House::new().map(House::with_agents) else { return };
    let mark = format!("87654{}", std::process::id());
    let at = |node: &str| {
        let hidden = format!("setsid sleep {mark} & (sleep {mark} &) ; sleep {mark}");
        format!("[[command]]\nname = \"at-{node}\"\nat = \"{node}\"\nrun = \"{hidden}\"\n")
    };
    let commands = ["server", "edge", "phone"].map(at).concat();
    house.write("s.toml", &scenario(&format!("{FLOW}{commands}")));
    house.list(["server", "", "phone"]);
    let begin = |house: &House| -> Child {
        let mut quiet = house.emulate(&["--no-out", "--no-realtime"]);
        let child = quiet.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        until("three commands of three each run", PATIENCE, || marked(&format!("sleep {mark}")) >= 9);
        child
    };
    let ends = |house: &House, controller: Child, words: &str| {
        house.until_clean(&mark);
        let ended = controller.wait_with_output().unwrap();
        let said = told(&ended);
        assert_eq!(ended.status.code(), Some(3), "{said}");
        assert!(said.contains(words), "{words}: {said}");
    };
    let mut controller = begin(&house);
    assert!(house.agents.iter().all(|agent| !agent.holds().is_empty()), "what is looked for can be seen");
    assert_eq!(holds(controller.id()), Vec::<String>::new(), "who orders makes nothing");
    controller.kill().unwrap();
    controller.wait().unwrap();
    house.until_clean(&mark);
    house.agents[1].until_said("everything of its run was stopped");
    // Each agent reports each run as ended or stopped.
    let free = |house: &House, runs: usize| {
        until("all agents are free again", UNTIL_CLEAN, || {
            house.agents.iter().all(|agent| {
                let said = agent.said.lock().unwrap();
                said.matches("was stopped").count() + said.matches("run has ended").count() >= runs
            })
        });
    };
    free(&house, 1);
    // Cut cable of a machine: the host with the path detects and reports it.
    let controller = begin(&house);
    assert!(house.controller.does("ip link set port4 down"));
    ends(&house, controller, "agent `c`: agent `d`: was lost: no message from it for 4 s");
    assert!(house.controller.does("ip link set port4 up"));
    free(&house, 2);
    // Cut cable of the host with the path: all other hosts detect it by a timeout.
    let controller = begin(&house);
    assert!(house.controller.does("ip link set port3 down"));
    ends(&house, controller, "agent `c`: was lost: no message from it for 4 s");
    assert!(house.controller.does("ip link set port3 up"));
    free(&house, 3);
    // Cable of the controller alone: the host with the path stops the abandoned run.
    let controller = begin(&house);
    assert!(house.controller.does("ip addr del 10.77.0.1/24 dev br0"));
    ends(&house, controller, "agent `c`: was lost");
    assert!(house.controller.does("ip addr add 10.77.0.1/24 dev br0"));
    free(&house, 4);
    // The agent of a machine is killed, then the agent of the path.
    let controller = begin(&house);
    house.agents[2].process.kill().unwrap();
    house.agents[2].process.wait().unwrap();
    ends(&house, controller, "agent `c`: agent `d`: was lost");
    house.agents[2] = Agent::start(&house.hosts[2], &house.folder, "10.77.0.4", "agents.token");
    let controller = begin(&house);
    house.agents[1].process.kill().unwrap();
    house.agents[1].process.wait().unwrap();
    ends(&house, controller, "agent `c`: was lost: the connection was closed");
}

/// An error is one sentence that names the host that found it; Ctrl-C keeps finished repetitions, and the rest is run
/// later.
#[test]
fn what_goes_wrong_and_what_is_interrupted() {
    let Some(mut house) = House::new() else { return };
    house.write("s.toml", &scenario("[[command]]\nname = \"x\"\nat = \"phone\"\nrun = \"sleep 1\"\n"));
    house.list(["server", "", "phone"]);
    let start = |house: &House, i: usize| {
        Agent::start(&house.hosts[i], &house.folder, &format!("10.77.0.{}", i + 2), "agents.token")
    };
    let one = |house: &House, more: &[&str]| {
        let done = house.emulate(more).output().unwrap();
        (done.status.code(), told(&done))
    };
    let agent = start(&house, 1);
    house.agents.push(agent);
    let (code, said) = one(&house, &["--out", "run"]);
    let words = "agent `c`: cannot carry the path: agent `b`: cannot be reached at 10.77.0.2:7171";
    assert!(code == Some(3) && said.contains(words), "{said}");
    assert!(!house.path("run").exists(), "nothing has begun");
    for i in [0, 2] {
        let agent = start(&house, i);
        house.agents.push(agent);
    }
    let mut first = house.emulate(&["--out", "run", "--reps", "3"]);
    let first = first.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("the first repetition is kept", PATIENCE, || house.path("run/repetitions/0-0.json").exists());
    let (code, said) = one(&house, &["--no-out"]);
    assert!(code == Some(3) && said.contains("agent `c`: is busy with a run of 10.77.0.1"), "{said}");
    assert!(house.controller.does(&format!("kill -INT {}", first.id())));
    let ended = first.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", told(&ended));
    house.until_clean("nobody bears this");
    let mut rest =
        house.controller(&["emulate", "--resume", "run", "--agents", "agents.toml", "--lateness", "10 s"]);
    let done = rest.output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", told(&done));
    let all = (0..3).all(|n| house.path(&format!("run/repetitions/0-{n}.json")).exists());
    assert!(all && house.path("run/flows.parquet").exists(), "{}", told(&done));
}

/// Triggers are called on the host with the path, and only there; calls are in the results (SW-43).
#[test]
fn triggers_are_called_where_the_path_is() {
    let Some(house) = House::new().map(House::with_agents) else { return };
    let machine = "[[state-machine]]\nname = \"mobility\"\n[[state-machine.state]]\nname = \"near\"\n\
                   [[state-machine.state]]\nname = \"far\"\n[[state-machine.state.on]]\nname = \"radio\"\ndelay = \"150 ms\"\n\
                   [[command]]\nname = \"x\"\nat = \"phone\"\nrun = \"sleep 3\"\n";
    house.write("s.toml", &scenario(machine));
    house.list(["server", "", "phone"]);
    let mut run = house.emulate(&["--out", "called"]);
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let call =
        |host: &house::Host, words: &[&str]| host.command(house::PROGRAM).args(words).output().unwrap();
    let path = &house.hosts[1];
    until("the run can be called", PATIENCE, || {
        let listed = told(&call(path, &["trigger"]));
        listed.contains("called") && listed.contains("mobility.far")
    });
    let there = call(path, &["trigger", "mobility.far"]);
    assert_eq!(there.status.code(), Some(0), "{}", told(&there));
    for other in [&house.controller, &house.hosts[2]] {
        assert!(
            told(&call(other, &["trigger", "mobility.far"]))
                .contains("no emulation is running on this machine")
        );
    }
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", told(&ended));
    let kept = std::fs::read_to_string(house.path("called/repetitions/0-0.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["triggers"][0]["name"], "mobility.far", "{kept}");
}
