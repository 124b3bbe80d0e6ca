//! Output of the other verbs, and runs of the shipped scenarios.

mod common;

use common::Desk;
use std::path::{Path, PathBuf};

#[test]
fn check_tells_what_a_scenario_does() {
    let desk = Desk::new();
    let ended = desk.run(&["check", "small.toml"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let machine = ended.out.lines().last().unwrap_or_default();
    assert!(machine.contains("of this machine"), "{machine}");
    let memory = ended.out.lines().find(|line| line.contains("MB of memory for each")).unwrap_or_default();
    let (events, _) = memory.rsplit_once(", about").unwrap_or_default();
    let told = ended.out.replace(machine, "  (time on this machine)");
    let told = told.replace(memory, &format!("{events}, (memory on this machine)"));
    insta::assert_snapshot!("check", told);
    let json: serde_json::Value =
        serde_json::from_str(&desk.run(&["check", "small.toml", "--json"]).out).unwrap();
    assert_eq!((&json["good"], &json["cost"]["runs"]), (&true.into(), &20.into()));
    desk.write("wrong.toml", "williwaw = 1\nhopp = 3\n");
    let ended = desk.run(&["check", "wrong.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &json["good"]), (2, &false.into()));
    assert!(!json["diagnostics"].as_array().unwrap().is_empty());
}

#[test]
fn new_writes_a_scenario_that_runs_and_never_over_another_file() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["new"]).code, 0);
    let check = desk.run(&["check", "scenario.toml"]);
    assert_eq!((check.code, check.err.as_str()), (0, ""));
    assert_eq!(desk.run(&["run", "scenario.toml", "--reps", "2", "--no-out"]).code, 0);
    // As the key is written in a scenario.
    assert_eq!(desk.run(&["run", "scenario.toml", "--repetitions", "2", "--no-out"]).code, 0);
    let again = desk.run(&["new"]);
    assert_eq!(again.code, 2);
    assert!(again.err.contains("already there"), "{}", again.err);
    let (_, rest) =
        desk.read("scenario.toml").split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_eq!(desk.run(&["new", "-"]).out, rest);
}

#[test]
fn plot_draws_one_repetition_of_a_scenario_or_of_a_run() {
    let desk = Desk::new();
    let ended = desk.run(&["plot", "small.toml", "--rep", "2", "--cell", "3"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(desk.read("plot.html").contains("recovery = sack, spurious = eifel"));
    desk.run(&["run", "small.toml", "--seed", "5", "--out", "r"]);
    let from_run = desk.run(&["plot", "r", "--json"]);
    let from_file = desk.run(&["plot", "small.toml", "--seed", "5", "--json"]);
    assert_eq!(from_run.out, from_file.out);
    assert_eq!(desk.run(&["plot", "r", "--svg", "a.svg"]).code, 0);
    assert!(desk.read("a.svg").starts_with("<svg"));
    for wrong in [["--cell", "4"], ["--flow", "upload"]] {
        assert_eq!(desk.run(&[&["plot", "small.toml"], &wrong[..]].concat()).code, 2);
    }
}

#[test]
fn presets_are_listed_and_shown() {
    let desk = Desk::new();
    let list = desk.run(&["presets"]);
    let line = |name: &str, about: &str| {
        let of = |line: &str| line.starts_with(&format!("{name} ")) && line.contains(&format!("  {about}"));
        assert!(list.out.lines().any(of), "{}", list.out);
    };
    line("ns2-2001", "The one-way TCP agents");
    line("freebsd-4.1", "FreeBSD 4.1 as the study");
    line("lte-driving", "LTE in a moving car: fades");
    assert!(list.out.lines().all(|line| line.len() < 100), "{}", list.out);
    assert!(desk.run(&["presets", "ns2-2001"]).out.contains("handshake = \"one-way\""));
    let json: serde_json::Value = serde_json::from_str(&desk.run(&["presets", "--json"]).out).unwrap();
    let ns2 = json["tcp"].as_array().unwrap().iter().find(|p| p["name"] == "ns2-2001").unwrap();
    assert_eq!(ns2["choices"]["rto.tick"], "100 ms");
    let leo = json["links"].as_array().unwrap().iter().find(|p| p["name"] == "leo").unwrap();
    assert!(leo["hop"].as_str().unwrap().contains("every = \"15 s\""));
    assert!(desk.run(&["presets", "leo"]).out.contains("name = \"reconfiguration\""));
    assert_eq!(desk.run(&["presets", "nobody"]).code, 2);
}

#[test]
fn imported_links_can_be_run() {
    let desk = Desk::new();
    let line = "tc qdisc add dev eth0 root netem delay 20ms 5ms loss 0.5% rate 5mbit";
    let words: Vec<&str> = ["import"].into_iter().chain(line.split(' ')).collect();
    let imported = desk.run(&words);
    assert_eq!(imported.code, 0);
    assert_eq!(desk.run(&["import", line]).out, imported.out);
    desk.write("link.toml", &imported.out);
    let run = desk.run(&["run", "link.toml", "--no-out", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let mean = json["cells"][0]["metrics"]["throughput_bps"]["mean"].as_f64().unwrap();
    assert!((1e6..5e6).contains(&mean), "{mean}");
    let json = desk.run(&["import", "--json", "mm-delay", "50"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json.out).unwrap()["kind"], "mahimahi");
    let wrong = desk.run(&["import", "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "dely", "1ms"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("`dely` is not an option of netem"), "{}", wrong.err);
    assert_eq!(desk.run(&["import", "nowhere.csv"]).code, 2);
}

/// The verbs, as the help lists them.
fn verbs(desk: &Desk) -> Vec<String> {
    let help = desk.run_at(100, &["--help"]).out;
    let list = help.split_once("Commands:\n").expect("a list of commands").1;
    let names = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(String::from).collect()
}

#[test]
fn completions_and_the_readme_know_every_verb() {
    let desk = Desk::new();
    let verbs = verbs(&desk);
    assert!(verbs.iter().any(|verb| verb == "analyse"), "{verbs:?}");
    for shell in ["bash", "zsh", "fish"] {
        let ended = desk.run(&["completions", shell]);
        assert_eq!(ended.code, 0);
        for verb in &verbs {
            assert!(ended.out.contains(verb), "{shell} {verb}");
        }
        // fish completes no values of plain arguments.
        let known = ["lte-driving", "unneeded_retransmissions", "gprs-eifel"];
        for value in &known[..if shell == "fish" { 2 } else { 3 }] {
            assert!(ended.out.contains(value), "{shell} does not know {value}");
        }
    }
    let readme = include_str!("../../../README.md");
    for verb in verbs.iter().filter(|verb| *verb != "help") {
        assert!(readme.contains(&format!("| `{verb}")), "the README's table lacks `{verb}`");
    }
    assert!(desk.run(&["--version"]).out.starts_with("williwaw "));
    assert_eq!(desk.run(&["--help"]).code, 0);
}

#[test]
fn every_shipped_scenario_is_read_without_a_word_and_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    assert!(files.len() >= 3);
    let desk = Desk::new();
    for file in files {
        let file = file.to_string_lossy();
        let check = desk.run(&["check", &file]);
        assert_eq!((check.code, check.err.as_str()), (0, ""), "{file}");
        let run = desk.run(&["run", &file, "--reps", "1", "--no-out"]);
        assert_eq!(run.code, 0, "{file}: {}", run.err);
    }
}

#[test]
fn every_verb_shows_an_example_and_the_program_all_exit_codes() {
    let desk = Desk::new();
    let help = desk.run(&["--help"]).out;
    let told = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for code in ["0 good", "1 ran", "2 usage", "3 this machine", "4 ran in real time", "130 interrupted"] {
        assert!(told.contains(code), "{code}: {help}");
    }
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs =
        listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|verb| !verb.is_empty());
    let below =
        ["linux build", "linux list", "linux doctor", "measure server", "measure client", "measure show"];
    for verb in verbs.chain(below).filter(|verb| *verb != "help") {
        let words: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let help = desk.run(&words).out;
        assert!(help.contains("\nExample") && help.contains(&format!("  williwaw {verb}")), "{verb}: {help}");
    }
}

#[test]
fn what_is_not_there_is_told_with_what_may_be_meant() {
    let desk = Desk::new();
    desk.write("junk.toml", "\u{1}");
    std::fs::write(desk.path("junk.bin"), [0xff, 0xfe, 0]).unwrap();
    for (words, message) in [
        (&["presets", "lte-drivin"][..], "did you mean `lte-driving`?"),
        (&["reproduce", "gprs-eifel/tabel2"], "did you mean `gprs-eifel/table2`?"),
        (&["reproduce", "gprs-eiffel"], "did you mean `gprs-eifel`?"),
        (&["plot", "nope.pcap"], "there is no file `nope.pcap`\n  help: give a capture"),
        (&["script", "nope.toml"], "error: there is no file `nope.toml`"),
        (&["script", "junk.bin"], "`junk.bin` is no text"),
        (&["measure", "show", "small.toml"], "`small.toml` is not a results file"),
        (&["run", "small.toml", "--seed", "-1"], "invalid value '-1' for '--seed <S>'"),
        (&["run", "small.toml", "--reps", "-1"], "invalid value '-1' for '--reps <N>'"),
    ] {
        let ended = desk.run(words);
        assert!(ended.code == 2 && ended.err.contains(message), "{words:?}: {}", ended.err);
    }
}

/// An unwritable output is reported before any computation.
#[test]
fn a_place_that_is_not_there_is_told_at_once() {
    let desk = Desk::new();
    for words in [
        &["run", "small.toml", "--no-out", "--csv", "no/such.csv"][..],
        &["plot", "small.toml", "--svg", "no/such.svg"],
        &["reproduce", "gprs-eifel/fig2", "--html", "no/such.html"],
    ] {
        let ended = desk.run(words);
        assert!(ended.code == 3 && ended.err.contains("cannot write `no/such."), "{words:?}: {}", ended.err);
        assert_eq!(ended.out, "", "{words:?}");
    }
}

#[test]
fn kernels_are_listed_as_a_document() {
    let desk = Desk::new();
    let ended = desk.run(&["linux", "list", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((ended.code, &json["schema"]), (0, &"williwaw-kernels/1".into()));
    assert!(json["kernels"].is_array());
    // The examined kernel is reported, whether there is one or not.
    let doctor = desk.run(&["linux", "doctor", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&doctor.out).unwrap();
    assert_eq!(json["good"], serde_json::json!(doctor.code == 0), "{}", doctor.err);
    assert_eq!(json["checks"][0]["what"], "tools");
}

/// No line exceeds a narrow terminal, and no line is wrapped without a terminal.
#[test]
fn lists_and_descriptions_keep_to_the_terminal() {
    let desk = Desk::new();
    for words in [&["check", "small.toml"][..], &["presets"], &["reproduce", "--list"]] {
        for columns in [60, 80] {
            let out = desk.run_at(columns, words).out;
            let widest = out.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= columns, "{words:?} at {columns}: {out}");
        }
        let (narrow, whole) = (desk.run_at(60, words).out, desk.run(words).out);
        let number_of_words = |out: &str| out.split_whitespace().count();
        assert_eq!(number_of_words(&narrow), number_of_words(&whole), "{words:?}: no word is lost");
        assert!(whole.lines().count() < narrow.lines().count(), "{words:?}");
    }
}

#[test]
fn completions_offer_what_the_help_lists() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        let out = desk.run(&["completions", shell]).out;
        assert!(
            out.contains("reproduce") && !out.contains("keep,") && !out.contains("\" -a \"keep\""),
            "{shell}"
        );
    }
}

/// Capabilities of a machine for emulation, each with its remedy where it is missing.
#[test]
fn the_doctor_tells_what_is_missing_and_its_remedy() {
    let desk = Desk::new();
    let ended = desk.run(&["doctor", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&ended.out).expect(&ended.out);
    assert_eq!(document["schema"], "williwaw-doctor/1");
    let checks = document["checks"].as_array().unwrap();
    for what in ["kernel", "tun", "namespaces", "link", "clock", "browser"] {
        assert!(checks.iter().any(|check| check["what"] == what), "{what}: {}", ended.out);
    }
    let missing = checks.iter().any(|c| c["needed"] == true && c["there"] == false);
    assert_eq!(
        (ended.code, document["good"].as_bool()),
        if missing { (3, Some(false)) } else { (0, Some(true)) }
    );
    assert!(
        checks
            .iter()
            .all(|c| !c["mend"].as_str().unwrap().is_empty() && !c["found"].as_str().unwrap().is_empty())
    );
    let plain = desk.run(&["doctor"]);
    assert_eq!(
        plain.out.lines().filter(|line| !line.starts_with(' ')).count(),
        checks.len(),
        "{}",
        plain.out
    );
}
