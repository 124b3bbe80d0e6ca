//! Fuzz target of scripts: arbitrary bytes are read as a file in each notation, played and drawn. The
//! fuzzer's target and the replay of its corpus share this file.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use script::{DialogueVerdict, LadderOptions, Reading, Script, ladder};
use std::path::Path;

/// Reads and plays it in both notations: no panic; a rejection has a place; a failure has a picture within its
/// columns.
pub fn script(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for name in ["a.toml", "a.pkt"] {
        let script = match Script::read(Path::new(name), &text) {
            Ok(script) => script,
            Err(error) => {
                assert!(error.line > 0 && error.column > 0 && !error.message.is_empty(), "{error}");
                assert!(error.line <= text.lines().count() + 1, "{error}");
                continue;
            }
        };
        for reading in [Reading::AsWritten, Reading::Strict] {
            if let DialogueVerdict::Fail(failure) = script.play(reading) {
                let picture = ladder(&failure, LadderOptions { width: 50, lines: 20, colour: false });
                assert!(picture.lines().all(|l| l.chars().count() <= 50), "{picture}");
            }
        }
    }
}
