//! Credentials of commands: the calling user, user namespaces without rights.
//!
//! Commands run as the calling user, even if the program was started with more privileges. Without
//! privileges, a user namespace is created.

use super::sys;
use super::sys::process;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;

/// A user to switch to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// Name, home and shell from the user database.
    pub entry: Option<(String, String, String)>,
}

impl User {
    /// User with these ids; None if the process is not run by root, or the ids are root's.
    pub fn called_by(uid: u32, gid: u32) -> Option<User> {
        if process::ids().0 != 0 || uid == 0 {
            return None;
        }
        Some(match process::user_entry(uid, gid) {
            Some(e) => User { uid, gid, groups: e.groups, entry: Some((e.name, e.home, e.shell)) },
            None => User { uid, gid, groups: vec![gid], entry: None },
        })
    }

    /// Environment variables of this user.
    pub fn variables(&self) -> Vec<(String, std::ffi::OsString)> {
        let Some((name, home, shell)) = &self.entry else { return Vec::new() };
        let pairs = [("USER", name), ("LOGNAME", name), ("HOME", home), ("SHELL", shell)];
        pairs.into_iter().map(|(variable, value)| (variable.to_owned(), value.into())).collect()
    }
}

/// Ensures that the process may create namespaces and devices, if needed in a user namespace of its own. Must
/// be called while it has one thread. Returns the capability lost by this, if any.
///
/// # Errors
/// [`Error::Rights`] where the system permits neither.
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
        // The user keeps its id, with all capabilities over the following namespaces.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
    };
    entered().map_err(|source| Error::Rights { what: "making a user namespace", source })?;
    crate::rights()?;
    Ok(Some("real-time priority, and congestion controls that the administrator has not allowed"))
}
