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
