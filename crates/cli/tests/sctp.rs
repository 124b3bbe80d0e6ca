//! The claim: the model of SCTP communicates with libusrsctp, a stack in user space, through `emulate`, in both
//! directions; two models in real time take as long as in virtual time (SC-01, SC-03, SC-06, SW-18). Where the
//! library, a C compiler or rights are missing, the test reports this and is skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testkit::Download;

fn scenario() -> Download {
    let path = Download::over("400 kbit/s", "50 ms").unlimited();
    let faults = path
        .faults("[[hop.gate]]\nname = \"spike\"\ndirections = \"down\"\nstart = \"1.5 s\"\nlasts = \"0 s\"")
        .faults("[[hop.loss]]\nname = \"noise\"\ndirections = \"down\"\npackets = \"100000\"");
    faults.transport("\"sctp\"").limit("30 s")
}

/// Program of the peer, built in `folder`; `None` with a printed note if that is not possible.
fn peer(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/usrsctp.c");
    let program = folder.join("usrsctp");
    let mut cc = Command::new("cc");
    cc.args(["-DINET", "-o"]).arg(&program).arg(source).args(["-lusrsctp", "-lpthread"]);
    match cc.output() {
        Ok(built) if built.status.success() => Some(program),
        Ok(built) => {
            let said = String::from_utf8_lossy(&built.stderr);
            assert!(said.contains("usrsctp.h") || said.contains("-lusrsctp"), "{said}");
            eprintln!("skipped: libusrsctp-dev is not installed");
            None
        }
        Err(_) => {
            eprintln!("skipped: no C compiler");
            None
        }
    }
}

fn williwaw(folder: &Path, verb: &str, set: &[&str], more: &[&str]) -> Output {
    std::fs::write(folder.join("s.toml"), scenario().text()).unwrap();
    let mut command = Command::new(cargo_bin("williwaw"));
    command.current_dir(folder).args([verb, "s.toml", "--json"]).args(more);
    set.iter().for_each(|set| _ = command.args(["--set", set]));
    command.output().unwrap()
}

/// JSON document of a run in real time; `None` with a printed note if the machine cannot run it.
fn emulate(folder: &Path, set: &[&str], more: &[&str]) -> Option<Value> {
    let limit = ["--lateness", "100 ms"];
    let output = williwaw(folder, "emulate", set, &[more, &limit].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        eprintln!("skipped: {said}");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn metric(document: &Value, name: &str) -> f64 {
    document["cells"][0]["metrics"][name]["mean"].as_f64().unwrap_or(f64::NAN)
}

/// A number of the last line that the program wrote.
fn told(folder: &Path, node: &str, word: &str) -> u64 {
    let text =
        std::fs::read_to_string(folder.join(format!("kept/commands/0-0/download@{node}.stdout"))).unwrap();
    let last = text.lines().last().unwrap_or_else(|| panic!("the program at {node} wrote nothing"));
    let mut words = last.split_whitespace().skip_while(|w| *w != word);
    words.nth(1).and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{word} in {last}"))
}

fn from_model(program: &Path) -> String {
    let own = format!("linux = {{ protocol = \"sctp\", program = \"{} sink\" }}", program.display());
    format!("flow.download.transport={{ from = \"sctp\", to = {{ {own} }} }}")
}

fn to_model(program: &Path) -> String {
    let own = format!("linux = {{ protocol = \"sctp\", program = \"{} source\" }}", program.display());
    format!("flow.download.transport={{ from = {{ {own} }}, to = \"sctp\" }}")
}

/// Shortest duration of 100 kB: transmission at 400 kbit/s, and three delays of 50 ms before the first data arrive.
const LEAST: f64 = 100e3 * 8.0 / 400e3 + 0.15;

#[test]
fn two_models_in_real_time_take_what_they_take_in_virtual_time() {
    let folder = tempfile::tempdir().unwrap();
    let set = ["hop.radio.gate.spike.lasts=4 s"];
    let Some(real) = emulate(folder.path(), &set, &["--no-out"]) else { return };
    let output = williwaw(folder.path(), "run", &set, &["--no-out"]);
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    for name in ["download_time_s", "segments_sent", "spurious_timeouts", "unneeded_retransmissions"] {
        assert_eq!(metric(&real, name), metric(&run, name), "{name}");
    }
    assert!(metric(&run, "spurious_timeouts") >= 1.0);
}

#[test]
fn a_model_sends_to_libusrsctp() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = peer(folder.path()) else { return };
    let more = ["--out", "kept", "--pcap", "s.pcapng"];
    let Some(document) = emulate(folder.path(), &[&from_model(&program)], &more) else { return };
    let took = metric(&document, "download_time_s");
    let done = metric(&document, "completion_time_s");
    assert!(took.is_nan() || took > LEAST, "{took}");
    assert!(done > LEAST && done < LEAST + 1.5, "{done}");
    assert_eq!(metric(&document, "segments_retransmitted"), 0.0);
    assert_eq!(told(folder.path(), "phone", "bytes"), 100_000);
    assert_eq!(told(folder.path(), "phone", "badsum"), 0);
    assert_eq!(told(folder.path(), "phone", "duplicates"), 0);
    dissected(&folder.path().join("s.pcapng"));
}

#[test]
fn libusrsctp_sends_to_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = peer(folder.path()) else { return };
    let more = ["--out", "kept", "--pcap", "s.pcapng"];
    let Some(document) = emulate(folder.path(), &[&to_model(&program)], &more) else { return };
    let took = metric(&document, "download_time_s");
    assert!(took > LEAST && took < LEAST + 1.5, "{took}");
    assert_eq!(told(folder.path(), "server", "badsum"), 0);
    dissected(&folder.path().join("s.pcapng"));
}

/// A pause longer than the timeout, and one packet in twenty lost: all data are delivered once, in both directions,
/// and the model's spurious timeout shows as duplicates at the library.
#[test]
fn pauses_and_losses_between_a_model_and_libusrsctp() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = peer(folder.path()) else { return };
    let spike = "hop.radio.gate.spike.lasts=4 s";
    // Long enough for the duplicates, which wait behind new data, to arrive before the last byte.
    let long = "flow.download.app={ bulk = { bytes = \"250 kB\" } }";
    let set = [&from_model(&program), spike, long];
    let Some(document) = emulate(folder.path(), &set, &["--out", "kept"]) else {
        return;
    };
    assert_eq!(told(folder.path(), "phone", "bytes"), 250_000);
    assert!(metric(&document, "spurious_timeouts") >= 1.0, "{document}");
    let unneeded = metric(&document, "unneeded_retransmissions");
    assert!(unneeded >= 1.0);
    assert_eq!(
        told(folder.path(), "phone", "duplicates") as f64,
        unneeded,
        "the ledger and the library agree"
    );
    let losses = "hop.radio.loss.noise.packets=20, 40, 41, 60";
    for (transport, node) in [(from_model(&program), "phone"), (to_model(&program), "server")] {
        let folder = tempfile::tempdir().unwrap();
        let document = emulate(folder.path(), &[&transport, losses], &["--out", "kept"]).unwrap();
        assert_eq!(told(folder.path(), node, "bytes"), 100_000);
        assert_eq!(metric(&document, "packets_dropped"), 4.0, "to {node}");
        assert!(metric(&document, "segments_retransmitted") >= 3.0, "to {node}");
    }
}

/// Kernel SCTP sockets are refused in real time, with the remedy of a program at that end.
#[test]
fn sctp_of_the_kernel_is_refused_with_the_way_to_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let alone = "flow.download.transport={ linux = { protocol = \"sctp\" } }";
    let both = "flow.download.transport={ linux = { protocol = \"sctp\", program = \"true\" } }";
    let empty = "flow.download.transport={ from = \"sctp\", to = { linux = { protocol = \"sctp\", program = \" \" } } }";
    let asks = "flow.download.app=\"web\"";
    let program = "flow.download.transport={ from = \"tcp\", to = { linux = { program = \"true\" } } }";
    let kernel = "flow.download.transport={ from = \"tcp\", to = \"linux\" }";
    for (set, said) in [
        (vec![alone], "the SCTP peer of the model"),
        (vec![both], "needs a model at the other end"),
        (vec![empty], "the command is empty"),
        (vec![program, asks], "a program at an end carries bulk data"),
        (vec![kernel, asks], "a flow between a model and a kernel must be bulk"),
    ] {
        let output = williwaw(folder.path(), "emulate", &set, &["--no-out"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(said), "{text}");
    }
}

/// tshark decodes every SCTP packet without error, checksums included.
fn dissected(file: &Path) {
    let tshark = |filter: &str| {
        let mut command = Command::new("tshark");
        command.args(["-o", "sctp.checksum:TRUE", "-r"]).arg(file).args(["-Y", filter]);
        command.output()
    };
    let Ok(all) = tshark("sctp") else { return eprintln!("skipped: no tshark") };
    let lines = |output: Output| String::from_utf8_lossy(&output.stdout).lines().count();
    assert!(lines(all) > 100, "packets of SCTP at the taps");
    let wrong =
        tshark("_ws.malformed || _ws.expert.severity >= 0x600000 || sctp.checksum.status == 0").unwrap();
    let text = String::from_utf8_lossy(&wrong.stdout).into_owned();
    assert!(text.is_empty(), "{text}");
}
