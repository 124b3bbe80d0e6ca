//! Error messages for wrong scenarios: one snapshot per file, as a terminal shows it.

use scenario::{Style, read};
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of test files is there")
        .map(|entry| entry.expect("its entries can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    files
}

fn load(path: &str) -> Result<Vec<u8>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    std::fs::read(folder.join(path)).map_err(|_| format!("there is no file `{path}`"))
}

#[test]
fn every_wrong_file_is_answered_with_every_mistake_and_its_mend() {
    for path in files("wrong") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read(&path).unwrap();
        let answer = match read(&name, &text, &load) {
            Err(diagnostics) => diagnostics.render(Style::default()),
            Ok(scenario) => scenario.question().map_or_else(String::new, |q| q.render(Style::default())),
        };
        assert!(!answer.is_empty(), "{name} is not wrong");
        insta::assert_snapshot!(stem, answer);
    }
}

#[test]
fn a_narrow_terminal_still_shows_the_mistake() {
    let text = std::fs::read(load_path("wrong/unknown-key.toml")).unwrap();
    let diagnostics = read("unknown-key.toml", &text, &load).unwrap_err();
    let narrow = diagnostics.render(Style { width: 40, ..Style::default() });
    for line in narrow.lines() {
        assert!(line.chars().count() <= 44, "{} columns: {line}", line.chars().count());
    }
    insta::assert_snapshot!("narrow", narrow);
}

#[test]
fn editors_get_json() {
    let diagnostics = read("a.toml", b"williwaw = 1\ntitel = \"x\"\n", &load).unwrap_err();
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&diagnostics.to_json()).unwrap());
}

#[test]
fn every_good_file_is_read_without_a_word() {
    for path in files("good") {
        let text = std::fs::read(&path).unwrap();
        let scenario = read(&path.to_string_lossy(), &text, &load).unwrap_or_else(|d| panic!("{d}"));
        assert!(scenario.warnings().iter().all(|d| d.code != "error"), "{:?}", scenario.warnings());
        for cell in scenario.cells() {
            cell.unwrap_or_else(|d| panic!("{}: {d}", path.display()));
        }
    }
}

fn load_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}
