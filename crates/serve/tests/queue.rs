//! Queue of sets over restarts of the server: completed repetitions survive the kill of any process.

mod house;

use house::House;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const STUDY: &str = include_str!("../../../experiments/seawind/case-study.scenario.toml");

fn add(house: &House, text: &str, repetitions: u32) -> i64 {
    let set = json!({ "name": "study", "text": text, "clock": "virtual", "repetitions": repetitions });
    let answer = house.ask("POST", "/api/sets", &set).json();
    answer["id"].as_i64().unwrap_or_else(|| panic!("{answer}"))
}

fn journal(home: &Path, id: i64) -> std::path::PathBuf {
    home.join(format!("sets/{id}/run/flows.journal"))
}

/// Waits until the set has written to its journal.
#[allow(clippy::disallowed_methods, reason = "a test of real processes")]
fn begun(home: &Path, id: i64) {
    for _ in 0..600 {
        if journal(home, id).metadata().is_ok_and(|m| m.len() > 20_000) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("set {id} does not begin");
}

fn medians(document: &Value) -> Value {
    document["table"]["cells"][0]["metrics"].clone()
}

/// SW-04, C093, C094, C095: the case study through the tool: queued, played, collected.
#[test]
fn the_case_study_through_the_tool() {
    if house::williwaw().is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let house = House::start(home.path(), &[]);
    let id = add(&house, STUDY, 20);
    let done = house.wait(id, "done");
    let metrics = medians(&done);
    let of = |metric: &str, what: &str| metrics[metric][what].as_f64().unwrap();
    assert_eq!(metrics["completion_time_s"]["n"], 20);
    let [p10, median, p90] = ["p10", "median", "p90"].map(|what| of("completion_time_s", what));
    assert!((140.0..=205.0).contains(&median) && p10 < median && median < p90 && p90 - p10 >= 20.0);
    assert!((500.0..=720.0).contains(&(of("throughput_bps", "median") / 8.0)));
    assert!(of("segments_retransmitted", "median") > of("segments_dropped", "median"));
    assert_eq!(done["commands"][1], "williwaw run study.toml --reps 20");

    // The exported page is complete without the server; the picture and the film equal those of the library.
    let page = house.ask("GET", &format!("/api/sets/{id}/export"), &Value::Null);
    let html = String::from_utf8_lossy(&page.body).into_owned();
    assert!(
        page.head.contains("attachment") && html.contains("segments_dropped") && html.contains("9600 bit/s")
    );
    assert!(!html.contains("src=\"http") && !html.contains("href=\"http"));
    let film = house.ask("GET", &format!("/api/sets/{id}/film?rep=3"), &Value::Null).json();
    assert!(film["hops"]["link"].as_array().unwrap().len() > 500);
    assert_eq!(film["links"][1], "gsm.down");
    // A comparison with another set under the same weather gives the difference.
    let other = add(&house, &STUDY.replace("limit = \"7 packets\"", "limit = \"20 packets\""), 20);
    house.wait(other, "done");
    let compared = house.ask("GET", &format!("/api/compare?a={id}&b={other}"), &Value::Null).json();
    assert_eq!(compared["schema"], "williwaw-compare/1", "{compared}");
}

/// Pause, resume, stop: completed repetitions are kept, and the final result equals that of an undisturbed run.
#[test]
fn a_set_is_paused_and_continued() {
    let Some(williwaw) = house::williwaw() else { return };
    let home = tempfile::tempdir().unwrap();
    let house = House::start(home.path(), &[]);
    let id = add(&house, STUDY, 4000);
    let second = add(&house, STUDY, 5);
    begun(home.path(), id);
    assert_eq!(house.ask("POST", &format!("/api/sets/{id}/ask/delete"), &json!({})).status, 400);
    assert_eq!(house.ask("POST", &format!("/api/sets/{id}/ask/pause"), &json!({})).status, 200);
    let paused = house.wait(id, "paused");
    let some = medians(&paused)["completion_time_s"]["n"].as_u64().unwrap();
    assert!(some > 0 && some < 4000, "{some}");
    // The next set is played meanwhile.
    house.wait(second, "done");
    house.ask("POST", &format!("/api/sets/{id}/ask/resume"), &json!({}));
    let done = house.wait(id, "done");
    let file = home.path().join("study.toml");
    std::fs::write(&file, STUDY).unwrap();
    let plain = Command::new(williwaw)
        .arg("run")
        .arg(&file)
        .args(["--no-out", "--json", "--reps", "4000"])
        .output()
        .unwrap();
    let plain: Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert_eq!(medians(&done), plain["cells"][0]["metrics"]);
    house.ask("POST", &format!("/api/sets/{second}/ask/delete"), &json!({}));
    assert_eq!(house.ask("GET", &format!("/api/sets/{second}"), &Value::Null).status, 404);
    assert!(!home.path().join(format!("sets/{second}")).exists());
}

/// The server is killed during a set, then the set's process too: the next server completes the set, with every
/// repetition once; a token issued earlier remains valid.
#[test]
fn a_killed_server_loses_nothing() {
    if house::williwaw().is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let house = House::start(home.path(), &[]);
    let token = house.token.clone();
    let first = add(&house, STUDY, 3000);
    let waiting = add(&house, STUDY, 3);
    begun(home.path(), first);
    house.kill();
    // The set's process continues, and the next server waits for it.
    let house = House::start(home.path(), &[]);
    assert_eq!(house.token, token);
    let done = house.wait(first, "done");
    assert_eq!(medians(&done)["completion_time_s"]["n"], 3000);
    house.wait(waiting, "done");

    let third = add(&house, STUDY, 3000);
    begun(home.path(), third);
    let run = home.path().canonicalize().unwrap().join(format!("sets/{third}/run"));
    house.kill();
    kill_player(&run);
    let house = House::start(home.path(), &[]);
    let done = house.wait(third, "done");
    assert_eq!(medians(&done)["completion_time_s"]["n"], 3000);
}

/// Kills the process that plays this run folder.
fn kill_player(run: &Path) {
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if line.split(|b| *b == 0).any(|part| part == run.as_os_str().as_encoded_bytes()) {
            let number = entry.file_name().into_string().unwrap();
            assert!(Command::new("kill").args(["-9", &number]).status().unwrap().success());
        }
    }
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let home = tempfile::tempdir().unwrap();
    let _house = House::start(home.path(), &[]);
    let second =
        Command::new(env!("CARGO_BIN_EXE_williwaw-serve")).arg("--dir").arg(home.path()).output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another `williwaw serve` uses"));
}

/// Text to form and back: an edit by path; errors of the scenario reader at their place in the text and in the form.
#[test]
fn text_and_form_say_the_same() {
    let home = tempfile::tempdir().unwrap();
    let house = House::start(home.path(), &[]);
    let path = json!(["hop", 1, "rate"]);
    let edit = json!({ "text": STUDY, "path": path, "change": { "set": "9600 furlongs" } });
    let text = house.ask("POST", "/api/edit", &edit).json()["text"].as_str().unwrap().to_owned();
    assert_eq!(text, STUDY.replace("\"9600 bit/s\"", "\"9600 furlongs\""));
    let wrong = house.ask("POST", "/api/check", &json!({ "text": text })).json();
    assert_eq!(wrong["good"], false);
    let mistake = &wrong["diagnostics"][0];
    assert_eq!(mistake["path"], path);
    let line = text.lines().position(|line| line.contains("furlongs")).unwrap() + 1;
    assert_eq!(mistake["line"], line);
    let good = house.ask("POST", "/api/check", &json!({ "text": STUDY })).json();
    assert_eq!((&good["good"], &good["cost"]["runs"]), (&json!(true), &json!(20)));
    // Saved, listed, loaded.
    assert_eq!(house.ask("PUT", "/api/scenarios/my%20study", &json!({ "text": STUDY })).status, 200);
    assert_eq!(house.ask("GET", "/api/scenarios", &Value::Null).json(), json!(["my study"]));
    assert_eq!(house.ask("GET", "/api/scenarios/my%20study", &Value::Null).json()["text"], STUDY);
}

/// Scenario of a download by the kernel's TCP, which takes about half a second of real time.
const REAL: &str = "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nrate = \"1 Mbit/s\"\n\
    delay = \"20 ms\"\nqueue = \"unlimited\"\n[[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\n\
    transport = \"linux\"\napp = { bulk = { bytes = \"30 kB\" } }\n[run]\nlimit = \"20 s\"\n";

/// Sets in real time, in network namespaces: run to the end with the kernels' results; paused, the server killed
/// during the pause, continued by the next server.
#[test]
fn a_set_in_real_time_is_played_and_survives_the_server() {
    if house::williwaw().is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let house = House::start(home.path(), &[]);
    let add = |house: &House, repetitions: u32| {
        let set = json!({ "name": "real", "text": REAL, "clock": "real", "repetitions": repetitions });
        house.ask("POST", "/api/sets", &set).json()["id"].as_i64().unwrap()
    };
    let state = |house: &House, id: i64| {
        house.ask("GET", &format!("/api/sets/{id}"), &Value::Null).json()["set"].clone()
    };
    let first = add(&house, 2);
    let ended = until(|| {
        let set = state(&house, first);
        ["done", "failed"].contains(&set["state"].as_str().unwrap()).then_some(set)
    });
    if ended["state"] == "failed" {
        // A machine without rights or devices reports this; everything else is a fault.
        let doctor = house.ask("GET", "/api/doctor", &Value::Null).json();
        assert_eq!(doctor["good"], false, "{ended}: {doctor}");
        println!("skipped: this machine cannot emulate: {}", ended["message"]);
        return;
    }
    let done = house.wait(first, "done");
    let metrics = medians(&done);
    assert_eq!(metrics["download_time_s"]["n"], 2, "{metrics}");
    let time = metrics["download_time_s"]["median"].as_f64().unwrap();
    // At least 21 packets of 1500 bytes at 1 Mbit/s, and three times 20 ms.
    assert!(time > 0.3 && time < 10.0, "{time}");
    assert!(done["record"]["emulation"]["faithful"].is_boolean(), "{}", done["record"]);
    assert_eq!(done["commands"][1], "williwaw emulate real.toml --reps 2");

    // Paused between repetitions, and the server killed meanwhile.
    let second = add(&house, 12);
    until(|| {
        // No table before the first repetition.
        let so_far = house.ask("GET", &format!("/api/sets/{second}"), &Value::Null).json();
        medians(&so_far)["download_time_s"]["n"].as_u64().filter(|n| *n > 0)
    });
    house.ask("POST", &format!("/api/sets/{second}/ask/pause"), &json!({}));
    let paused = house.wait(second, "paused");
    let some = medians(&paused)["download_time_s"]["n"].as_u64().unwrap();
    assert!(some > 0 && some < 12, "{some}");
    house.kill();
    let house = House::start(home.path(), &[]);
    house.ask("POST", &format!("/api/sets/{second}/ask/resume"), &json!({}));
    let done = house.wait(second, "done");
    assert_eq!(medians(&done)["download_time_s"]["n"], 12);
}

/// Repeats a query until there is an answer.
#[allow(clippy::disallowed_methods, reason = "a test of real processes")]
fn until<T>(mut asked: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1800 {
        if let Some(answer) = asked() {
            return answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("no answer in 90 s");
}
