//! Mount namespace of a command: processes, host names and resolver.
//!
//! Its own processes, the names of the nodes, the resolver that its network has; all else as it is outside. Made of
//! mounts in a mount namespace, so nothing outside changes.

use super::sys::{self, process};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What differs from outside.
#[derive(Clone, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The text of `/etc/hosts`; none: as outside.
    pub hosts: Option<String>,
    /// The text of `/etc/resolv.conf`; none: as outside.
    pub resolver: Option<String>,
}

/// Local services that would answer for names in place of the network inside.
const RESOLVERS: [&str; 2] = ["/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket"];
/// Where files are put until they are seen elsewhere; a file system of processes covers it then.
const PLACE: &str = "/proc";

/// Where a helper finds the network of the machine, and the folder that is put there for it.
pub const NETWORK: &str = "/tmp/network";
const FOLDER: &str = "/tmp";

/// Arranges what a helper sees: its own processes, and a network that it is to join.
pub fn of_helper(network: RawFd) -> io::Result<Vec<String>> {
    process::unshare_mounts()?;
    process::mount(c"tmpfs", Path::new(FOLDER))?;
    fs::write(NETWORK, "")?;
    // A thread goes there to take its name, so that the process need not come back.
    let seen = std::thread::spawn(move || {
        sys::enter_network(network)?;
        process::bind_mount(Path::new("/proc/thread-self/ns/net"), Path::new(NETWORK))
    });
    seen.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    process::mount(c"proc", Path::new(PLACE))?;
    Ok(Vec::new())
}

/// Arranges it for the calling process, the first in its process namespace; gives what could not be had.
pub fn arrange(view: &View) -> io::Result<Vec<String>> {
    let mut lacks = Vec::new();
    process::unshare_mounts()?;
    let files = [("/etc/hosts", &view.hosts), ("/etc/resolv.conf", &view.resolver)];
    if files.iter().any(|(_, text)| text.is_some()) {
        process::mount(c"tmpfs", Path::new(PLACE))?;
        for (i, (path, text)) in files.into_iter().enumerate() {
            let Some(text) = text else { continue };
            let file = Path::new(PLACE).join(i.to_string());
            fs::write(&file, text)?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
            if let Err(e) = process::bind_mount(&file, Path::new(path)) {
                lacks.push(format!("{path} stays as it is outside ({e})"));
            }
        }
        for socket in RESOLVERS.iter().map(Path::new).filter(|path| path.exists()) {
            let nothing = Path::new(PLACE).join("nothing");
            fs::write(&nothing, "")?;
            if process::bind_mount(&nothing, socket).is_err() {
                lacks.push(format!("names are also asked for outside, through {}", socket.display()));
            }
        }
    }
    process::mount(c"proc", Path::new(PLACE))?;
    Ok(lacks)
}
