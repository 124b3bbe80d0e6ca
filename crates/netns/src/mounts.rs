//! Mount namespace of a command: its own procfs, `/etc/hosts` and `/etc/resolv.conf` (`MountView`); the rest is the
//! host's.

use super::sys::{self, process};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Files of a command that differ from the host's.
#[derive(Clone, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountView {
    /// Content of `/etc/hosts`; None: the host's.
    pub hosts: Option<String>,
    /// Content of `/etc/resolv.conf`; None: the host's.
    pub resolver: Option<String>,
}

/// Sockets of local services that would resolve names outside of the namespace.
const RESOLVERS: [&str; 2] = ["/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket"];
/// Folder of temporary files before they are bind-mounted; procfs is mounted over it afterwards.
const PLACE: &str = "/proc";

/// Path at which a helper finds the network namespace to join.
pub const NETWORK: &str = "/tmp/network";
/// Folder of [`NETWORK`].
const FOLDER: &str = "/tmp";

/// Sets up the mounts of a helper: its own procfs, and the network namespace to join.
pub fn of_helper(network: RawFd) -> io::Result<Vec<String>> {
    process::unshare_mounts()?;
    process::mount(c"tmpfs", Path::new(FOLDER))?;
    fs::write(NETWORK, "")?;
    // A second thread enters the namespace to bind its file, so that this thread stays outside.
    let seen = std::thread::spawn(move || {
        sys::enter_network(network)?;
        process::bind_mount(Path::new("/proc/thread-self/ns/net"), Path::new(NETWORK))
    });
    seen.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    process::mount(c"proc", Path::new(PLACE))?;
    Ok(Vec::new())
}

/// Sets up the mounts of the calling process, the first of its PID namespace; returns descriptions of missing parts.
pub fn arrange(view: &MountView) -> io::Result<Vec<String>> {
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
