//! Link processes through the verbs: `run` and `emulate` give equal numbers and report errors of a program clearly;
//! verbs that would run a repetition twice reject them (SW-18). Where the process may not make namespaces, the tests
//! that need them are skipped.

mod common;

use common::{Desk, Ended};
use serde_json::Value;

/// A link of 100 kbit/s and 50 ms as a shell script. Its argument n, if not 0, drops every n-th packet toward the phone.
const LINK: &str = r#"
read -r _ name _ seed _ repetition
echo "$name $seed $repetition" >> started
down=0; up=0
while read -r _ way number at size flow; do
    if [ "$way" = down ]; then
        if [ "$1" -gt 0 ] && [ $((number % $1)) = 0 ]; then echo "$number lost"; continue; fi
        [ "$at" -gt "$down" ] && down=$at
        down=$((down + size * 80000)); done=$down
    else
        [ "$at" -gt "$up" ] && up=$at
        up=$((up + size * 80000)); done=$up
    fi
    echo "$number at $((done + 50000000))"
done"#;

/// A folder with the program and a scenario: download of 20 kB over a hop with these keys.
fn desk(hop: &str, transport: &str) -> Desk {
    let desk = Desk::new();
    desk.write("link.sh", LINK);
    desk.write(
        "s.toml",
        &format!(
            "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\n{hop}\n\
             [[flow]]\nname = \"f\"\nfrom = \"server\"\nto = \"phone\"\n{transport}\n\
             app = {{ bulk = {{ bytes = \"20 kB\" }} }}\n[run]\nrepetitions = 2\nseed = 5\nlimit = \"60 s\"\n"
        ),
    );
    desk
}

fn served(program: &str) -> Desk {
    desk(&format!("process = '''{program}'''"), "transport = { tcp = { mss = \"960 B\" } }")
}

/// Means of a document that do not depend on the link's report of its queue.
fn means(ended: &Ended) -> Vec<(String, Value)> {
    assert_eq!(ended.code, 0, "{}", ended.err);
    let document: Value = serde_json::from_str(&ended.out).expect("a document");
    let metrics = document["cells"][0]["metrics"].as_object().expect("metrics");
    let told = metrics.iter().filter(|(name, _)| !name.starts_with("queue_delay"));
    told.map(|(name, metric)| (name.clone(), metric["mean"].clone())).collect()
}

#[test]
fn sw_18_both_verbs_play_a_program_as_the_link_that_it_is() {
    let plain = desk("rate = \"100 kbit/s\"\ndelay = \"50 ms\"", "transport = { tcp = { mss = \"960 B\" } }");
    let expected = means(&plain.run(&["run", "s.toml", "--no-out", "--json"]));
    let of_program = served("sh ./link.sh 0");
    let run = |jobs| of_program.run(&["run", "s.toml", "--no-out", "--json", "-j", jobs]);
    assert_eq!(means(&run("1")), expected);
    assert_eq!(means(&run("2")), expected);
    let real = of_program.run(&["emulate", "s.toml", "--no-out", "--json", "--lateness", "1 s"]);
    let real = means(&real);
    assert!(expected.iter().all(|mean| real.contains(mean)), "{real:?}\n{expected:?}");
    // Each repetition of each run started it once with its number.
    let mut started: Vec<String> = of_program.read("started").lines().map(str::to_owned).collect();
    started.sort();
    assert_eq!(started, ["radio 5 0", "radio 5 0", "radio 5 0", "radio 5 1", "radio 5 1", "radio 5 1"]);
}

#[test]
fn sw_18_a_kernel_meets_a_program_in_real_time() {
    let desk = desk("process = \"sh ./link.sh 7\"", "transport = \"linux\"");
    let ended = desk.run(&["emulate", "s.toml", "-o", "kept", "--captures", "--reps", "1", "--json"]);
    if ended.code == 3 {
        return eprintln!("skipped: {}", ended.err);
    }
    // A loaded machine may be late; the link's behaviour is unchanged.
    assert!(matches!(ended.code, 0 | 4), "{}", ended.err);
    let document: Value = serde_json::from_str(&ended.out).expect("a document");
    let metrics = &document["cells"][0]["metrics"];
    let mean = |name: &str| metrics[name]["mean"].as_f64().unwrap_or(-1.0);
    // Every seventh packet is lost, and each of 1448 bytes takes 0.12 s: 20 kB take at least 1.6 s.
    let (dropped, arrived) = (mean("segments_dropped"), mean("segments_delivered"));
    assert!(dropped >= 1.0 && arrived == 14.0, "{dropped} lost, {arrived} arrived");
    assert!(mean("download_time_s") > 1.6, "{} s", mean("download_time_s"));
    // The capture of the run shows these losses too.
    let told = desk.run(&["analyse", "kept/captures/0-0.pcapng", "--json"]);
    assert_eq!(told.code, 0, "{}", told.err);
    let told: Value = serde_json::from_str(&told.out).expect("a document");
    let again = told["flows"][0]["directions"][0]["retransmissions"].as_f64();
    assert!(again.is_some_and(|n| n >= dropped), "{again:?} of {dropped}");
    // In virtual time there is no way to hold that kernel up, so it is refused before anything starts.
    let refused = desk.run(&["run", "s.toml", "--no-out"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("hop `radio` is served by a program"), "{}", refused.err);
}

/// One error with the hop, the event and the documentation; by either verb, with the exit code of an invalid scenario.
#[test]
fn sw_18_what_a_program_does_wrong_is_one_error_of_either_verb() {
    let faults = [
        ("exit 3", "ended with exit status: 3 before it answered about packet"),
        ("./not-there.py", "ended with exit status: 127 (there is no such program)"),
        ("read -r l; read -r l; echo soon", "answered `soon`: an answer is `NUMBER at NANOSECONDS`"),
        ("while read -r l; do echo 999999 at 5; done", "answered `999999 at 5`: packet"),
        ("read -r l; exec sleep 60", "did not answer about packet"),
    ];
    std::thread::scope(|scope| {
        for (program, why) in faults {
            for verb in ["run", "emulate"] {
                scope.spawn(move || {
                    let ended = served(program).run(&[verb, "s.toml", "--no-out", "-q"]);
                    let told = format!("{verb}, {program}: {} {}", ended.code, ended.err);
                    assert_eq!(ended.code, 2, "{told}");
                    assert!(ended.err.contains("the program of hop `radio` "), "{told}");
                    assert!(ended.err.contains(why) && ended.err.contains("docs/link-process.md"), "{told}");
                    assert_eq!(ended.err.matches("error:").count(), 1, "{told}");
                });
            }
        }
    });
}

#[test]
fn sw_18_what_plays_twice_is_refused_and_leaves_nothing() {
    let desk = served("sh ./link.sh 0");
    for output in ["--pcap", "--xplot", "--events=0", "--series=0"] {
        let ended = desk.run(&["run", "s.toml", "-o", "kept", output]);
        assert_eq!(ended.code, 2, "{output}: {}", ended.err);
        assert!(ended.err.contains("the program of hop `radio` is not run twice"), "{output}: {}", ended.err);
        assert!(!desk.path("kept").exists(), "{output}");
    }
    let ended = desk.run(&["plot", "s.toml", "-o", "picture.svg"]);
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(!desk.path("picture.svg").exists());
    // Verbs that only read the scenario do not start the program.
    let ended = desk.run(&["check", "s.toml"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("served by the program `sh ./link.sh 0`"), "{}", ended.out);
    assert!(!desk.path("started").exists());
}
