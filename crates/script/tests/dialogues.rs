//! Every dialogue of the project's own suite passes.

use script::{Dialogue, Verdict, play};
use std::path::Path;

#[test]
fn every_dialogue_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dialogues");
    let mut played = 0;
    let mut wrong = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let dialogue = Dialogue::read(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        assert_eq!(file.file_stem().unwrap().to_str(), Some(dialogue.id.as_str()));
        match play(&dialogue) {
            Verdict::Pass => played += 1,
            other => wrong.push(format!("{}: {other:#?}", dialogue.id)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(played > 0);
}
