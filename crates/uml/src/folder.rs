//! Working folder of a guest kernel: creation with a lock, removal of folders of killed runs, sockets in it.
//!
//! The folder contains sockets and files of the guest and is removed with the guest. If the owner was killed,
//! the next run removes the folder.

use crate::Error;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Prefix of the folder names.
const FOLDER: &str = "williwaw-guest-";
/// File in each folder that the folder's owner keeps locked.
const LOCK: &str = "lock";

/// Creates a folder for a guest and locks it. Its name is arbitrary, since the guest does not see it.
pub(crate) fn folder(place: &Path) -> Result<(PathBuf, File), Error> {
    let refused = || Error::of(format!("making a folder in `{}`", place.display()));
    for n in 0..100_000u32 {
        let path = place.join(format!("{FOLDER}{}-{n}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {
                let lock = File::create_new(path.join(LOCK)).map_err(refused())?;
                lock.lock().map_err(refused())?;
                return Ok((path, lock));
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(refused()(e)),
        }
    }
    Err(refused()(io::ErrorKind::AlreadyExists.into()))
}

/// Removes folders whose owner was killed; the system ended the owner's processes.
///
/// The parent may be writable by every user: only folders of this user are touched, and a lock that is no
/// regular file is never opened.
pub fn tidy(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(FOLDER) {
            continue;
        }
        let own = entry.path().symlink_metadata().is_ok_and(|at| at.is_dir() && at.uid() == user());
        let plain = own && entry.path().join(LOCK).symlink_metadata().is_ok_and(|at| at.is_file());
        if !plain {
            continue;
        }
        let lock = File::options().write(true).open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// User id of this process; on failure an id that owns no files.
fn user() -> u32 {
    std::fs::metadata("/proc/self").map_or(u32::MAX, |process| process.uid())
}

/// Listens on a socket in a folder with a path of any length.
pub(crate) fn listen(folder: &Path, name: &str) -> io::Result<UnixListener> {
    let there = File::open(folder)?;
    UnixListener::bind(format!("/proc/self/fd/{}/{name}", there.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_private_and_traps_of_others_are_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let (mine, lock) = folder(place.path()).unwrap();
        assert_eq!(std::fs::metadata(&mine).unwrap().mode() & 0o777, 0o700);
        // Opening a FIFO in place of a lock would block forever.
        let trap = place.path().join(format!("{FOLDER}1-0"));
        std::fs::create_dir(&trap).unwrap();
        let made = std::process::Command::new("mkfifo").arg(trap.join(LOCK)).status();
        let link = place.path().join(format!("{FOLDER}2-0"));
        std::os::unix::fs::symlink(&mine, &link).unwrap();
        drop(lock);
        let tidied = std::thread::spawn({
            let place = place.path().to_owned();
            move || tidy(&place)
        });
        for _ in 0..500 {
            if tidied.is_finished() {
                break;
            }
            #[allow(clippy::disallowed_methods, reason = "a thread that may hang is waited for")]
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(tidied.is_finished(), "it waits on a FIFO");
        assert!(!mine.exists() && link.is_symlink());
        assert_eq!(trap.exists(), made.is_ok_and(|made| made.success()), "no plain lock, no removal");
    }
}
