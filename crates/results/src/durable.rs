//! Durable file replacement: write, sync, rename, sync folder.
//!
//! A file is replaced in four steps: written under another name beside it, synchronised, renamed over it,
//! and the folder synchronised. A kill between any two leaves the old file or the new one, never a part.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The name under which `path` is prepared: hidden, in the same folder, always the same, so that what a
/// killed run left is overwritten by the next.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".tmp");
    path.with_file_name(name)
}

/// Replaces `path` by what `write` puts into the file it is given. The result is durable: it survives the
/// loss of power after this returns.
pub(crate) fn replace(path: &Path, write: impl FnOnce(File) -> Result<File>) -> Result<()> {
    let temporary = temporary(path);
    // Left by a killed run, or planted: a link is never followed.
    let _ = fs::remove_file(&temporary);
    let result = File::create_new(&temporary).map_err(Error::io("create", &temporary)).and_then(|file| {
        let file = write(file)?;
        file.sync_all().map_err(Error::io("write", &temporary))?;
        drop(file);
        fs::rename(&temporary, path).map_err(Error::io("replace", path))
    });
    if result.is_err() {
        // What is half written serves nobody; that it could not be removed adds nothing to the error.
        let _ = fs::remove_file(&temporary);
    }
    result?;
    sync_folder_of(path)
}

/// Makes renames and removals beside `path` durable.
pub(crate) fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    sync_folder(folder).map_err(Error::io("synchronise", folder))
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems do not offer it; theirs to answer for.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}

/// Elsewhere a folder cannot be opened as a file; the system orders renames itself.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_planted_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("run.json"), folder.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, temporary(&path)).unwrap();
        replace(&path, |mut file| {
            file.write_all(b"new").unwrap();
            Ok(file)
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        fs::write(&path, "old").unwrap();
        let result = replace(&path, |mut file| {
            file.write_all(b"ne").unwrap();
            Err(Error::Empty { path: path.clone() })
        });
        assert!(result.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert!(!temporary(&path).exists());

        replace(&path, |mut file| {
            file.write_all(b"new").unwrap();
            Ok(file)
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }
}
