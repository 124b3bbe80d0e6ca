//! Test of the project's own TCP dialogues: each passes under strict reading.

use script::{Dialogue, DialogueVerdict, LadderOptions, Reading, Script, ladder, play};
use std::path::{Path, PathBuf};

fn dialogues(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "toml"));
    files.sort();
    files
}

fn story(id: &str, verdict: &DialogueVerdict) -> String {
    match verdict {
        DialogueVerdict::Fail(f) => {
            let look = LadderOptions { width: 72, lines: 24, colour: false };
            let picture = ladder(f, look);
            format!(
                "{id}, line {}: {}\n  expected {}\n  seen     {}\n{picture}",
                f.line, f.why, f.expected, f.seen
            )
        }
        other => format!("{id}: {other:?}"),
    }
}

#[test]
fn every_dialogue_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dialogues");
    let mut played = 0;
    let mut wrong = Vec::new();
    for file in dialogues(&folder) {
        let text = std::fs::read_to_string(&file).unwrap();
        let dialogue = match Dialogue::read(&text) {
            Ok(dialogue) => dialogue,
            Err(error) => {
                wrong.push(format!("{}:{error}", file.display()));
                continue;
            }
        };
        assert_eq!(file.file_stem().unwrap().to_str(), Some(dialogue.id.as_str()), "id and name of the file");
        match play(&dialogue, Reading::Strict) {
            DialogueVerdict::Pass { .. } => played += 1,
            other => wrong.push(story(&dialogue.id, &other)),
        }
    }
    assert!(wrong.is_empty(), "{} fail\n{}", wrong.len(), wrong.join("\n"));
    assert!(played >= 80, "{played}");
}

/// The example dialogues outside of the repository pass, if their folder exists.
#[test]
fn the_shared_examples_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/scripts");
    if !folder.is_dir() {
        return;
    }
    let mut wrong = Vec::new();
    for file in dialogues(&folder) {
        let text = std::fs::read_to_string(&file).unwrap();
        let dialogue = Dialogue::read(&text).unwrap_or_else(|e| panic!("{}:{e}", file.display()));
        match play(&dialogue, Reading::AsWritten) {
            DialogueVerdict::Pass { .. } => {}
            other => wrong.push(story(&dialogue.id, &other)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The page's example script is valid, and passes.
#[test]
fn the_scripts_of_the_page_pass() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scripts.md");
    let text = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> = text.split("```").filter(|b| b.trim_start().starts_with("format = 1")).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let script = Script::read(Path::new("page.toml"), block).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(script.play(Reading::Strict), DialogueVerdict::Pass { unasked: 0 }, "{:?}", script.id());
    }
}
