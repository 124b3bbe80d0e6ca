//! What a fuzzer does to the reader of scenarios. The fuzzer's target and the replay of its corpus share
//! this file.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use scenario::{NoFiles, read};

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
            let text = wrong.render(scenario::Style::default());
            assert!(!text.is_empty());
            let _ = wrong.to_json();
        }
    }
}
