//! Credentials of commands: the calling user, user namespaces without rights.
//!
//! The calling user's, also where the program was started with more rights; and what can be done where there are
//! none.

use super::sys;
use super::sys::process;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;

/// A user to become.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Number of the user.
    pub uid: u32,
    /// Number of the group.
    pub gid: u32,
    /// Further groups.
    pub groups: Vec<u32>,
    /// Name, home and shell, as the table of users has them.
    pub entry: Option<(String, String, String)>,
}

impl User {
    /// The user of these numbers; none if the process is not root's, or they are root's.
    pub fn called_by(uid: u32, gid: u32) -> Option<User> {
        if process::ids().0 != 0 || uid == 0 {
            return None;
        }
        Some(match process::user_entry(uid, gid) {
            Some(e) => User { uid, gid, groups: e.groups, entry: Some((e.name, e.home, e.shell)) },
            None => User { uid, gid, groups: vec![gid], entry: None },
        })
    }

    /// The variables that tell who this is.
    pub fn variables(&self) -> Vec<(String, std::ffi::OsString)> {
        let Some((name, home, shell)) = &self.entry else { return Vec::new() };
        let pairs = [("USER", name), ("LOGNAME", name), ("HOME", home), ("SHELL", shell)];
        pairs.into_iter().map(|(variable, value)| (variable.to_owned(), value.into())).collect()
    }
}

/// Sees to it that the process may make namespaces and devices, if need be in a user namespace of its own. To be
/// called while it has one thread. Gives what is lost, if something is.
///
/// # Errors
/// [`Error::Rights`] where the system allows neither.
pub fn gain_rights() -> Result<Option<&'static str>, Error> {
    let Err(refused) = crate::rights() else { return Ok(None) };
    let (uid, gid) = process::ids();
    if uid == 0 || !matches!(refused, Error::Rights { .. }) {
        return Err(refused);
    }
    let entered = || -> io::Result<()> {
        // The thread that tried may still be on its way out, and then this is refused.
        let mut tried = process::unshare_user();
        for _ in 0..50 {
            if !matches!(&tried, Err(e) if e.raw_os_error() == Some(libc::EINVAL)) {
                break;
            }
            sys::wait_for(-1, false, 1);
            tried = process::unshare_user();
        }
        tried?;
        // The user stays who it is, with all rights over the namespaces that follow.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
    };
    entered().map_err(|source| Error::Rights { what: "making a user namespace", source })?;
    crate::rights()?;
    Ok(Some("real-time priority, and congestion controls that the administrator has not allowed"))
}
