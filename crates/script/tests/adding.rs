//! Test of `docs/adding.md`: a new congestion control, detector, response, queue discipline or workload is
//! one new file and one entry in one list. The texts of the page are inserted into a copy of the sources,
//! which is compiled, plays the page's dialogues and runs its scenario and its element.
//!
//! The copy lies below the build folder with a build folder of its own, so that only the first run takes
//! long. Where cargo cannot build without a network, the test reports that it was skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copied crates: the changed ones, the driver, and their dependencies.
const CRATES: [&str; 13] = [
    "base",
    "transport",
    "path",
    "host",
    "rtp",
    "sctp",
    "script",
    "dccp",
    "atp",
    "radio",
    "cells",
    "scenario",
    "testkit",
];
/// Folders copied.
const PARTS: [&str; 6] = ["src", "examples", "benches", "data", "presets", "Cargo.toml"];

/// Steps of the page.
#[derive(Default, Debug)]
struct Page {
    /// New files with their texts.
    files: BTreeMap<String, String>,
    /// Entries: file, list, text.
    entries: Vec<(String, String, String)>,
    /// Dialogues with their texts.
    dialogues: BTreeMap<String, String>,
    /// Scenarios with their texts.
    scenarios: BTreeMap<String, String>,
}

/// The code blocks of the page, by the words of the paragraph before them.
fn read(page: &str) -> Page {
    let mut out = Page::default();
    let (mut said, mut ended) = (String::new(), false);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("```") {
            // The last paragraph counts.
            match (line.is_empty(), ended) {
                (true, _) => ended = true,
                (false, true) => (said, ended) = (line.to_owned(), false),
                (false, false) => said = said + "\n" + line,
            }
            continue;
        }
        let text: Vec<&str> = lines.by_ref().take_while(|l| !l.starts_with("```")).collect();
        let text = text.join("\n") + "\n";
        let names: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
        let paragraph = said.trim();
        if paragraph.starts_with("New file") {
            out.files.insert(names[0].to_owned(), text);
        } else if paragraph.starts_with("In the list") {
            out.entries.push((names[1].to_owned(), names[0].to_owned(), text));
        } else if paragraph.starts_with("A dialogue") {
            out.dialogues.insert(names[0].to_owned(), text);
        } else if paragraph.starts_with("A scenario") {
            out.scenarios.insert(names[0].to_owned(), text);
        } else {
            panic!("a block of which nothing says where it goes: {paragraph}");
        }
        said.clear();
    }
    out
}

/// `source` with `entry` at the end of the list.
fn with_entry(source: &str, list: &str, entry: &str) -> String {
    let head = format!("\n{list} {{\n");
    assert_eq!(source.matches(&head).count(), 1, "the list {list}");
    let from = source.find(&head).unwrap() + head.len();
    let end = from + source[from..].find("\n}").unwrap() + 1;
    format!("{}{entry}{}", &source[..end], &source[end..])
}

/// Writes changed files only, so that unchanged ones are not compiled again.
fn write(path: &Path, text: &[u8]) {
    if std::fs::read(path).is_ok_and(|there| there == text) {
        return;
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A workspace with the crates as they are and the page's texts; returns its folder.
fn scratch(root: &Path, page: &Page) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adding");
    // Not the build folder: compiled units are reused.
    for stale in CRATES.map(|name| format!("crates/{name}/src")).into_iter().chain(["dialogues".to_owned()]) {
        remove_strangers(&root.join(&stale), &folder.join(&stale));
    }
    for name in CRATES {
        for part in PARTS {
            let (from, to) =
                (root.join("crates").join(name).join(part), folder.join("crates").join(name).join(part));
            if from.is_dir() {
                copy_except(&from, &to, root, page);
            } else if from.is_file() {
                write(&to, &std::fs::read(from).unwrap());
            }
        }
    }
    for (path, text) in &page.files {
        assert!(!root.join(path).exists(), "{path} is not new");
        write(&folder.join(path), text.as_bytes());
    }
    let mut lists: BTreeMap<&str, String> = BTreeMap::new();
    for (path, list, entry) in &page.entries {
        let source = lists.entry(path).or_insert_with(|| std::fs::read_to_string(root.join(path)).unwrap());
        *source = with_entry(source, list, entry);
    }
    for (path, text) in lists {
        write(&folder.join(path), text.as_bytes());
    }
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    // Without the profiles of the workspace: optimisation does not pay for a few dialogues.
    let lines = manifest.lines().take_while(|line| !line.starts_with("[profile"));
    let manifest: Vec<&str> = lines.filter(|line| !line.starts_with("default-members")).collect();
    // The Python package is no part of the copy.
    let manifest = manifest.join("\n").replace(", \"python\"]", "]") + "\n";
    write(&folder.join("Cargo.toml"), manifest.as_bytes());
    if !folder.join("Cargo.lock").exists() {
        write(&folder.join("Cargo.lock"), &std::fs::read(root.join("Cargo.lock")).unwrap());
    }
    folder
}

/// Copies a folder except the files that get an entry.
fn copy_except(from: &Path, to: &Path, root: &Path, page: &Page) {
    let changed = |path: &Path| page.entries.iter().any(|(file, ..)| root.join(file) == path);
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_except(&path, &target, root, page);
        } else if !changed(&path) {
            write(&target, &std::fs::read(&path).unwrap());
        }
    }
}

/// Removes files from the copy that the sources no longer have.
fn remove_strangers(from: &Path, to: &Path) {
    let Ok(entries) = std::fs::read_dir(to) else { return };
    for entry in entries.map(Result::unwrap) {
        let (there, here) = (entry.path(), from.join(entry.file_name()));
        if there.is_dir() && here.is_dir() {
            remove_strangers(&here, &there);
        } else if there.is_dir() {
            std::fs::remove_dir_all(there).unwrap();
        } else if !here.exists() {
            std::fs::remove_file(there).unwrap();
        }
    }
}

#[test]
fn the_page_about_adding_compiles_and_plays() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let page = read(&std::fs::read_to_string(root.join("docs/adding.md")).unwrap());
    let counts = [page.files.len(), page.entries.len(), page.dialogues.len(), page.scenarios.len()];
    assert_eq!(counts, [6, 5, 2, 1], "{page:?}");
    let folder = scratch(&root, &page);
    let dialogues = folder.join("dialogues");
    for (path, text) in &page.dialogues {
        assert!(path.starts_with("crates/script/dialogues/"), "{path}");
        write(&dialogues.join(Path::new(path).file_name().unwrap()), text.as_bytes());
    }
    let built = Command::new(option_env!("CARGO").unwrap_or("cargo"))
        .current_dir(&folder)
        .args(["build", "--quiet", "--offline", "-p", "williwaw-script", "--example", "suite"])
        .args(["-p", "williwaw-path", "--example", "half_duplex"])
        .args(["-p", "williwaw-scenario", "--example", "describe"])
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("CARGO_PROFILE_DEV_DEBUG", "none")
        // The page's code must compile without warnings.
        .env("RUSTFLAGS", "-Dwarnings")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output();
    let built = match built {
        Ok(built) => built,
        Err(error) => {
            return eprintln!("SKIPPED: docs/adding.md was not compiled, there is no cargo: {error}");
        }
    };
    let said = String::from_utf8_lossy(&built.stderr);
    if ["failed to download", "unable to update", "no matching package", "offline"]
        .iter()
        .any(|w| said.contains(w))
    {
        return eprintln!("SKIPPED: docs/adding.md was not compiled, its dependencies are not here:\n{said}");
    }
    assert!(built.status.success(), "docs/adding.md does not compile:\n{said}");
    let played = Command::new(folder.join("target/debug/examples/suite")).arg(&dialogues).output().unwrap();
    let words = String::from_utf8_lossy(&played.stdout);
    assert_eq!(words, "pass half-rtt-three-quarters\npass scalable-loses-an-eighth\n");
    let example = |name: &str, arguments: &[&Path]| {
        let program = folder.join("target/debug/examples").join(name);
        let output = Command::new(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    // 1000 B at 8 kbit/s take a second each, whatever their direction.
    assert_eq!(
        example("half_duplex", &[]),
        "down Some([1.000000000 s, 3.000000000 s]), up Some([2.000000000 s])\n"
    );
    let (path, text) = page.scenarios.first_key_value().unwrap();
    let scenario = folder.join(path);
    write(&scenario, text.as_bytes());
    let told = example("describe", &[&scenario]);
    assert!(told.contains("BLUE queue of 5 packets"), "{told}");
    assert!(told.contains("5 requests: 20 B requested with 200 B"), "{told}");
    assert!(told.contains(" 0 dropped"), "{told}");
}
