//! Credentials of commands: user to switch to (`User`), and a user namespace where the process may not create
//! namespaces.
//!
//! Commands run as the calling user, even if the program was started with more privileges.

use super::sys;
use super::sys::process;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;

/// User as whom commands run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// Name, home folder and shell from the user database.
    pub entry: Option<(String, String, String)>,
}

impl User {
    /// User with these ids; None if this process does not run as root, or the ids are root's.
    pub fn called_by(uid: u32, gid: u32) -> Option<User> {
        if process::ids().0 != 0 || uid == 0 {
            return None;
        }
        Some(match process::user_entry(uid, gid) {
            Some(e) => User { uid, gid, groups: e.groups, entry: Some((e.name, e.home, e.shell)) },
            None => User { uid, gid, groups: vec![gid], entry: None },
        })
    }

    /// Environment variables of the user.
    pub fn variables(&self) -> Vec<(String, std::ffi::OsString)> {
        let Some((name, home, shell)) = &self.entry else { return Vec::new() };
        let pairs = [("USER", name), ("LOGNAME", name), ("HOME", home), ("SHELL", shell)];
        pairs.into_iter().map(|(variable, value)| (variable.to_owned(), value.into())).collect()
    }
}

/// Ensures that the process may create namespaces and devices, in a user namespace of its own if needed. Must be
/// called while the process has one thread. Returns the capability that is lost thereby, if any.
///
/// # Errors
/// [`Error::Rights`] where the system permits neither namespaces nor user namespaces.
pub fn gain_rights() -> Result<Option<&'static str>, Error> {
    let Err(refused) = crate::rights() else { return Ok(None) };
    let (uid, gid) = process::ids();
    if uid == 0 || !matches!(refused, Error::Rights { .. }) {
        return Err(refused);
    }
    let entered = || -> io::Result<()> {
        // The call is refused while the thread of the first attempt is still exiting.
        let mut tried = process::unshare_user();
        for _ in 0..50 {
            if !matches!(&tried, Err(e) if e.raw_os_error() == Some(libc::EINVAL)) {
                break;
            }
            sys::wait_for(-1, false, 1);
            tried = process::unshare_user();
        }
        tried?;
        // The user keeps its id, and has all capabilities in the namespaces created afterwards.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
    };
    entered().map_err(|source| Error::Rights { what: "making a user namespace", source })?;
    crate::rights()?;
    Ok(Some("real-time priority, and congestion controls that the administrator has not allowed"))
}
