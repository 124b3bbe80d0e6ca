//! Mount namespace of a command: processes, host names and resolver.
//!
//! A command has its own process ids, node names and resolver; everything else is that of the host. A mount
//! namespace keeps the changes from the host.

use super::sys::{self, process};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Differences from the host.
#[derive(Clone, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountView {
    /// Content of `/etc/hosts`; none: that of the host.
    pub hosts: Option<String>,
    /// Content of `/etc/resolv.conf`; none: that of the host.
    pub resolver: Option<String>,
}

/// Local services that would resolve names outside of the namespace.
const RESOLVERS: [&str; 2] = ["/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket"];
/// Place of temporary files before their bind mounts; later covered by the mount of procfs.
const PLACE: &str = "/proc";

/// Path of the machine's network namespace for a helper, and its folder.
pub const NETWORK: &str = "/tmp/network";
const FOLDER: &str = "/tmp";

/// Sets up mounts of a helper: procfs of its own, and the network namespace to join.
pub fn of_helper(network: RawFd) -> io::Result<Vec<String>> {
    process::unshare_mounts()?;
    process::mount(c"tmpfs", Path::new(FOLDER))?;
    fs::write(NETWORK, "")?;
    // A thread enters the namespace to bind its file, so that the process need not return.
    let seen = std::thread::spawn(move || {
        sys::enter_network(network)?;
        process::bind_mount(Path::new("/proc/thread-self/ns/net"), Path::new(NETWORK))
    });
    seen.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    process::mount(c"proc", Path::new(PLACE))?;
    Ok(Vec::new())
}

/// Applies the view to the calling process, the first in its PID namespace; returns missing parts.
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
