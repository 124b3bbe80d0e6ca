//! Plays folders of dialogues under strict reading and prints verdict and file name of each. Mutation runs
//! play the suite with it against senders with an injected fault.

use script::{DialogueVerdict, Reading, Script};
use std::io::Write as _;
use std::panic::catch_unwind;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    // A faulty sender may panic on a broken invariant, which counts as detection.
    std::panic::set_hook(Box::new(|_| {}));
    let mut out = std::io::stdout().lock();
    for folder in std::env::args().skip(1) {
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(&folder)? {
            files.push(entry?.path());
        }
        files.retain(|file| file.extension().is_some_and(|e| e == "toml"));
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(&file)?;
            let played =
                catch_unwind(|| Script::read(&file, &text).map(|script| script.play(Reading::Strict)));
            let word = match &played {
                Ok(Ok(DialogueVerdict::Pass { .. })) => "pass",
                Ok(Ok(DialogueVerdict::Fail(_))) => "fail",
                Ok(Ok(DialogueVerdict::Unsupported(_))) => "unsupported",
                Ok(Err(_)) => "unreadable",
                Err(_) => "panic",
            };
            writeln!(out, "{word} {}", file.file_stem().unwrap_or_default().to_string_lossy())?;
        }
    }
    Ok(())
}
