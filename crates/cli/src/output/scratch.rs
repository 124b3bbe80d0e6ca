//! Scratch run folder: rows of a run that keeps none, gone with the process.
//!
//! A run without a folder writes its rows all the same, so that its memory does not grow with them.

use crate::console::environment;
use crate::console::exit::Failure;
use results::RunFolder;
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// How the names of these folders begin.
const PREFIX: &str = "williwaw-run-";
/// The file of a run folder that its writer holds locked.
const LOCK: &str = ".lock";

/// A run folder that nobody else may read.
pub(crate) struct Scratch {
    pub(crate) folder: RunFolder,
}

impl Scratch {
    /// Makes one in the place for temporary files, and removes those whose process was killed.
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
        // A table that is still read has no name any more.
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

/// Removes folders of this user whose lock nobody holds. The place may be open to every user of the machine: what is no
/// folder of ours, or has a lock that is no plain file, is left alone.
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
    fn what_a_killed_process_left_is_removed() {
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
