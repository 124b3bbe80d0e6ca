//! Files in the control tool's folder (`Library`): scenarios, captures, sets, token, lock; check of file names;
//! atomic writes.
//!
//! A file name from a request has up to 64 letters, digits, `-`, `_`, `.` and spaces, and neither begins nor ends
//! with a dot or space. Other names do not reach the file system.

use crate::error::Problem;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

/// Folder of the control tool.
#[derive(Debug)]
pub(crate) struct Library {
    home: PathBuf,
    /// Locked while the server runs, so that only one server uses the folder.
    _lock: File,
}

/// Longest scenario text, bytes.
pub(crate) const TEXT: usize = 1 << 20;

impl Library {
    pub(crate) fn open(home: &Path) -> Result<Library, Problem> {
        let refused =
            |error: io::Error| Problem::machine(format!("`{}` cannot be used: {error}", home.display()));
        for folder in ["scenarios", "captures", "sets"] {
            fs::create_dir_all(home.join(folder)).map_err(refused)?;
        }
        let home = home.canonicalize().map_err(refused)?;
        let lock = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(home.join(".lock"))
            .map_err(refused)?;
        lock.try_lock().map_err(|_| {
            Problem::wrong(
                format!("another `williwaw serve` uses `{}`", home.display()),
                "open its address, end it, or choose another folder with --dir",
            )
        })?;
        let library = Library { home, _lock: lock };
        library.drop_half_uploads();
        Ok(library)
    }

    /// Removes incomplete uploads of a killed server.
    fn drop_half_uploads(&self) {
        for entry in fs::read_dir(self.captures()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') && name.ends_with(".part") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Token of the folder, created once, so that open pages stay valid after a restart of the server.
    pub(crate) fn token(&self) -> Result<String, Problem> {
        let path = self.home.join("token");
        if let Ok(text) = fs::read_to_string(&path)
            && text.len() == 32
            && text.bytes().all(|b| b.is_ascii_hexdigit())
        {
            return Ok(text);
        }
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|e| Problem::machine(format!("no random numbers: {e}")))?;
        let token: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&path).and_then(|mut file| file.write_all(token.as_bytes()));
        written.map_err(|e| Problem::machine(format!("the token cannot be stored: {e}")))?;
        Ok(token)
    }

    pub(crate) fn scenarios(&self) -> PathBuf {
        self.home.join("scenarios")
    }

    pub(crate) fn scenario(&self, name: &str) -> Result<PathBuf, Problem> {
        Ok(self.scenarios().join(format!("{}.toml", proper(name)?)))
    }

    pub(crate) fn capture(&self, name: &str) -> Result<PathBuf, Problem> {
        Ok(self.home.join("captures").join(proper(name)?))
    }

    pub(crate) fn captures(&self) -> PathBuf {
        self.home.join("captures")
    }

    /// Folder of a set: scenario, log of its process, run folder.
    pub(crate) fn set(&self, id: i64) -> PathBuf {
        self.home.join("sets").join(id.to_string())
    }

    /// Run folder of a set.
    pub(crate) fn run(&self, id: i64) -> PathBuf {
        self.set(id).join("run")
    }

    /// Content of a file that a scenario names; it must be in the folder of scenarios.
    pub(crate) fn beside(&self, name: &str) -> Result<Vec<u8>, String> {
        if !inside(name) {
            return Err(format!("`{name}` is outside the folder of scenarios"));
        }
        let path = self.scenarios().join(name);
        let real =
            path.canonicalize().map_err(|_| format!("there is no file `{name}` beside the scenarios"))?;
        if !real.starts_with(self.scenarios()) {
            return Err(format!("`{name}` is outside the folder of scenarios"));
        }
        fs::read(real).map_err(|error| format!("`{name}`: {error}"))
    }
}

/// Whether a path has only normal components, so that it stays inside the folder to which it is relative.
pub(crate) fn inside(name: &str) -> bool {
    let path = Path::new(name);
    !name.is_empty() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Checks a file name from a request.
pub(crate) fn proper(name: &str) -> Result<&str, Problem> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let fits = (1..=64).contains(&name.len()) && name.chars().all(good);
    if fits && !name.starts_with(['.', ' ']) && !name.ends_with([' ', '.']) {
        return Ok(name);
    }
    Err(Problem::wrong(
        "this is no name for a file",
        "use up to 64 letters, digits, spaces, `-`, `_` and dots, and begin with a letter or digit",
    ))
}

/// Names of the files in a folder with this suffix, sorted, without the suffix.
pub(crate) fn names(folder: &Path, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter_map(|n| n.strip_suffix(ending).map(str::to_owned)).collect();
    names.retain(|name| proper(name).is_ok());
    names.sort();
    names
}

/// Writes a file atomically.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let beside = path.with_extension("part");
    let written = File::create(&beside)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| Problem::machine(format!("`{}` cannot be written: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        for good in ["first", "GPRS 9.6 kbit", "a-b_c.d", "x"] {
            assert!(proper(good).is_ok(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in
            ["", ".", "..", ".hidden", "a/b", "a\\b", "../x", "a\0b", "é", " a", "a ", "a.", "<b>", &long]
        {
            assert!(proper(bad).is_err(), "{bad}");
        }
        for bad in ["", "/etc/passwd", "../x", "a/../../x", "."] {
            assert!(!inside(bad), "{bad}");
        }
        assert!(inside("traces/a.csv"));
    }
}
