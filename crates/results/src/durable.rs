//! Replacement of a durable file: temporary file, sync, rename, sync of the folder.
//!
//! A file is replaced in four steps: write it under another name in the same folder, sync it, rename it, sync
//! the folder. A kill at any point leaves the old or the new file, never a part.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Temporary name for `path`: hidden, in the same folder, and constant, so that the next run overwrites the
/// remains of a killed run.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".tmp");
    path.with_file_name(name)
}

/// Replaces `path` by the content that `write` produces. At return the result survives power loss.
pub(crate) fn replace(path: &Path, write: impl FnOnce(File) -> Result<File>) -> Result<()> {
    let temporary = temporary(path);
    // Removes remains of a killed run, or a symbolic link of another user; a link is never followed.
    let _ = fs::remove_file(&temporary);
    let result = File::create_new(&temporary).map_err(Error::io("create", &temporary)).and_then(|file| {
        let file = write(file)?;
        file.sync_all().map_err(Error::io("write", &temporary))?;
        drop(file);
        fs::rename(&temporary, path).map_err(Error::io("replace", path))
    });
    if result.is_err() {
        // Removes the partial file; a failure to remove it adds nothing to the error.
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
        // Some file systems do not support syncing a folder.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}

/// On other systems a folder cannot be opened as a file, and the system orders renames itself.
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
