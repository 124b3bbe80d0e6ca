//! Working folder of a guest kernel.
//!
//! In a folder of its own with its sockets and its files, gone when it is; where its owner was killed, the next run
//! removes it.

use crate::Error;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// How the folders of guests begin.
const FOLDER: &str = "williwaw-guest-";
/// In each, a file that its owner holds locked for as long as it lives.
const LOCK: &str = "lock";

/// A folder of its own for a guest, and the lock on it. Its name does not matter, nothing in the guest sees it.
pub(crate) fn folder(place: &Path) -> Result<(PathBuf, File), Error> {
    let refused = || Error::of(format!("making a folder in `{}`", place.display()));
    for n in 0..100_000u32 {
        let path = place.join(format!("{FOLDER}{}-{n}", std::process::id()));
        match std::fs::create_dir(&path) {
            Ok(()) => {
                let lock = File::create(path.join(LOCK)).map_err(refused())?;
                lock.lock().map_err(refused())?;
                return Ok((path, lock));
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(refused()(e)),
        }
    }
    Err(refused()(io::ErrorKind::AlreadyExists.into()))
}

/// Removes the folders of guests whose owner was killed before he could. Their processes went with him.
pub fn tidy(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(FOLDER) {
            continue;
        }
        let lock = File::options().write(true).open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Listens on a socket in a folder, however long its path is.
pub(crate) fn listen(folder: &Path, name: &str) -> io::Result<UnixListener> {
    let there = File::open(folder)?;
    UnixListener::bind(format!("/proc/self/fd/{}/{name}", there.as_raw_fd()))
}
