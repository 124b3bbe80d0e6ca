//! What a fuzzer does to the reader of scenarios. The fuzzer's target and the replay of its corpus share
//! this file.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use scenario::import::{Kind, Mistake, import as translate};
use scenario::{NoFiles, Style, read, read_with};

/// Any bytes as a scenario: read, complained about, or asked everything short of running it.
pub(crate) fn scenario(bytes: &[u8]) {
    match read("fuzz.toml", bytes, &NoFiles) {
        Ok(scenario) => {
            let _ = (scenario.hash(), scenario.cost(), scenario.warnings().to_json());
            for cell in scenario.cells().take(8) {
                let _ = cell.map(|cell| cell.params.len());
            }
        }
        Err(wrong) => {
            assert!(!wrong.is_empty(), "refused without a reason");
            let text = wrong.render(Style::default());
            assert!(!text.is_empty());
            let _ = wrong.to_json();
        }
    }
}

/// Longer recordings than this take the reader of what they become more time than they are worth here.
const MOST: usize = 20_000;

/// Any text as what another tool calls a link, as each of the kinds: refused with a reason, or a scenario that can be
/// read, with the text beside it as a comment. Any file that it names is a trace.
pub(crate) fn import(bytes: &[u8]) {
    let Some(text) = bytes.get(..bytes.len().min(MOST)).and_then(|bytes| std::str::from_utf8(bytes).ok())
    else {
        return;
    };
    let files = |_: &str| -> Result<Vec<u8>, String> { Ok(b"1\n2\n3\n".to_vec()) };
    let _ = Kind::of(text);
    for kind in [Kind::Netem, Kind::Mahimahi, Kind::Recording] {
        match translate(kind, text) {
            Ok(imported) => {
                if let Err(wrong) = read_with("imported.toml", imported.scenario.as_bytes(), &files, &[]) {
                    panic!("{kind:?} became\n{}\n{}", imported.scenario, wrong.render(Style::default()));
                }
            }
            Err(Mistake { message, help }) => {
                assert!(!message.is_empty() && !help.is_empty(), "{message}: {help}")
            }
        }
    }
}

/// Scenarios that name each kind of file, which holds the bytes: read, or refused with the place in the file.
pub(crate) fn files(bytes: &[u8]) {
    let Some((first, text)) = bytes.split_first() else { return };
    let named = match first % 6 {
        0 => "rate = { trace = \"f\" }",
        1 => "rate = \"1 Mbit/s\"\ndelay = { trace = \"f\" }",
        2 => "rate = \"1 Mbit/s\"\n[[hop.gate]]\nname = \"g\"\nfile = \"f\"",
        3 => "rate = \"1 Mbit/s\"\n[[hop.gate]]\nname = \"g\"\nstart = \"empirical(f)\"\nlasts = \"1 s\"",
        4 => {
            "rate = \"1 Mbit/s\"\n[[state-machine]]\nname = \"m\"\n[[state-machine.state]]\nname = \"a\"\n\
             [[state-machine.state]]\nname = \"b\"\n[[trigger]]\nname = \"t\"\nfile = \"f\""
        }
        _ => "rate = \"1 Mbit/s\"\n[[hop.rate-change]]\nname = \"r\"\nfactor = 2\nfile = \"f\"",
    };
    let scenario = format!(
        "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\n{named}\n[[flow]]\nname = \"d\"\nfrom = \"a\"\n\
         to = \"b\"\napp = {{ bulk = {{ bytes = \"1 kB\" }} }}\n"
    );
    let load = |name: &str| if name == "f" { Ok(text.to_vec()) } else { Err("no such file".to_owned()) };
    match read("fuzz.toml", scenario.as_bytes(), &load) {
        Ok(scenario) => {
            let cost = scenario.cost();
            assert!(cost.packets.is_finite() && cost.simulated_s.is_finite(), "{cost:?}");
        }
        Err(wrong) => assert!(!wrong.is_empty(), "refused without a reason"),
    }
}
