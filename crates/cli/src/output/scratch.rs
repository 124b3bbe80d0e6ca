//! Temporary run folder: rows of a run with `--no-out`, removed when the process ends.
//!
//! Rows go to disk even where the user keeps none, so that memory does not grow with the number of repetitions.

use crate::console::environment;
use crate::console::exit::Failure;
use results::RunFolder;
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Prefix of the folder names.
const PREFIX: &str = "williwaw-run-";
/// Lock file of a run folder; its writer holds the lock.
const LOCK: &str = ".lock";

/// A temporary run folder, readable by its owner only.
pub(crate) struct Scratch {
    pub(crate) folder: RunFolder,
}

impl Scratch {
    /// Creates one in the directory for temporary files, and removes those left behind by killed processes.
    pub(crate) fn new() -> Result<Scratch, Failure> {
        let place = environment::scratch();
        tidy(&place);
        let path = fresh(&place).map_err(|error| {
            Failure::machine(
                format!("cannot make a folder for rows in `{}`: {error}", place.display()),
                "give the run a folder with --out, or set TMPDIR",
            )
        })?;
        Ok(Scratch { folder: RunFolder::create(path)? })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A table that is still open stays readable after its folder is removed.
        let _ = std::fs::remove_dir_all(self.folder.path());
    }
}

fn fresh(place: &Path) -> std::io::Result<PathBuf> {
    for n in 0..100_000u32 {
        let path = place.join(format!("{PREFIX}{}-{n}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Removes this user's folders whose lock is free. Every user of the machine may write to the directory, so other
/// users' folders, and folders whose lock is no plain file, are left alone.
fn tidy(place: &Path) {
    let user = std::fs::metadata("/proc/self").map_or(u32::MAX, |process| process.uid());
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let (path, lock) = (entry.path(), entry.path().join(LOCK));
        let own = path.symlink_metadata().is_ok_and(|at| at.is_dir() && at.uid() == user);
        let plain = own && lock.symlink_metadata().is_ok_and(|at| at.is_file());
        if plain && File::options().write(true).open(lock).is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_processes_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let path = fresh(place.path()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        let held = RunFolder::create(&path).unwrap();
        let (other, trap) = (place.path().join("other"), place.path().join(format!("{PREFIX}1-0")));
        for path in [&other, &trap] {
            std::fs::create_dir(path).unwrap();
        }
        tidy(place.path());
        assert!(path.exists(), "its process lives");
        drop(held);
        tidy(place.path());
        assert!(!path.exists() && other.exists() && trap.exists(), "a folder without a lock is not ours");
    }
}
