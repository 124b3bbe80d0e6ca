//! Test of the project's own SCTP dialogues: each passes under strict reading.

use script::{DialogueVerdict, LadderOptions, Reading, Script, ladder};
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sctp");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Script {
    let text = std::fs::read_to_string(file).unwrap();
    Script::read(file, &text).unwrap_or_else(|error| panic!("{}:{error}", file.display()))
}

#[test]
fn every_dialogue_passes() {
    let mut wrong = Vec::new();
    let mut played = 0;
    for file in files() {
        let script = read(&file);
        assert_eq!(file.file_stem().unwrap().to_str(), script.id(), "id and name of the file");
        match script.play(Reading::Strict) {
            DialogueVerdict::Pass { .. } => played += 1,
            DialogueVerdict::Fail(f) => {
                let picture = ladder(&f, LadderOptions { width: 90, lines: 24, colour: false });
                let id = script.id().unwrap_or_default();
                wrong.push(format!(
                    "{id}, line {}: {}\n  expected {}\n  seen     {}\n{picture}",
                    f.line, f.why, f.expected, f.seen
                ));
            }
            other => wrong.push(format!("{}: {other:?}", file.display())),
        }
    }
    assert!(wrong.is_empty(), "{} fail\n{}", wrong.len(), wrong.join("\n"));
    assert!(played >= 60, "{played}");
}
