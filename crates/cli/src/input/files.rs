//! Scenario reader of the verbs: text from disk or stdin, files that the scenario names, and overrides.

use crate::console::exit::Failure;
use scenario::Scenario;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Files that a scenario names: bytes by the name as written.
pub(crate) type Inputs = BTreeMap<String, Vec<u8>>;

/// A scenario with the files that it names.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) scenario: Scenario,
    pub(crate) files: Inputs,
}

/// Reads the scenario in `file` (`-`: stdin) with the overrides `set` (`KEY=VALUE`). Files that it names are relative
/// to its folder.
pub(crate) fn read(file: &Path, set: &[String]) -> Result<Input, Failure> {
    read_more(file, set, |_, _, _| String::new())
}

/// [`read`] with the text from `more` appended to the file's text. `more` is called with name, text and file loader.
pub(crate) fn read_more(
    file: &Path,
    set: &[String],
    more: impl FnOnce(&str, &[u8], &dyn scenario::Files) -> String,
) -> Result<Input, Failure> {
    let (name, mut text) = bytes(file)?;
    let beside: PathBuf = file.parent().map(Path::to_owned).unwrap_or_default();
    let files = RefCell::new(Inputs::new());
    let load = |path: &str| {
        let bytes = std::fs::read(beside.join(path)).map_err(|error| reason(path, &error))?;
        files.borrow_mut().insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    };
    let more = more(&name, &text, &load);
    text.extend(more.as_bytes());
    let scenario = scenario::read_with(&name, &text, &load, set)?;
    Ok(Input { scenario, files: files.into_inner() })
}

/// Reads a scenario from its text and the files that it names, in memory.
pub(crate) fn read_again(name: &str, text: &str, files: Inputs, set: &[String]) -> Result<Input, Failure> {
    let load = |path: &str| {
        files.get(path).cloned().ok_or_else(|| format!("`{path}` is not among the files kept with the run"))
    };
    let scenario = scenario::read_with(name, text.as_bytes(), &load, set)?;
    Ok(Input { scenario, files })
}

fn bytes(file: &Path) -> Result<(String, Vec<u8>), Failure> {
    let mut text = Vec::new();
    if file == Path::new("-") {
        let read = std::io::stdin().lock().read_to_end(&mut text);
        read.map_err(|error| Failure::usage(format!("cannot read stdin: {error}"), ""))?;
        return Ok(("stdin".to_owned(), text));
    }
    match std::fs::read(file) {
        Ok(text) => Ok((file.display().to_string(), text)),
        Err(_) if file.is_dir() => Err(Failure::usage(
            format!("`{}` is a folder, not a scenario", file.display()),
            "name a file, or continue a run with --resume FOLDER",
        )),
        Err(error) => Err(Failure::usage(
            format!("cannot read the scenario: {}", reason(&file.display().to_string(), &error)),
            match error.kind() {
                std::io::ErrorKind::NotFound if file.extension().is_none_or(|name| name == "toml") => {
                    format!("`williwaw new {}` writes one to start from", file.display())
                }
                _ => String::new(),
            },
        )),
    }
}

/// Message about a file that cannot be read.
pub(crate) fn reason(path: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no file `{path}`"),
        std::io::ErrorKind::PermissionDenied => format!("`{path}` may not be read"),
        _ => format!("`{path}`: {error}"),
    }
}
