//! How is the world outside reached? Through pasta, a helper that speaks for one network with the sockets of
//! another and needs no rights for it. It stands between the fixed end of the link and the network in which this
//! program was started, and ends with the run.
//!
//! slirp4netns would not do: it answers to one address, and packets from behind the link have others.

use crate::Error;
use crate::keeper::{Keeper, Plan, Streams, Word};
use crate::space::Space;
use crate::sys::{self, process};
use crate::view::View;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::net::Ipv4Addr;
use std::path::Path;

/// What the device at the fixed end is called.
const DEVICE: &str = "uplink0";
/// So long until it is there, in steps of so many milliseconds.
const STEPS: usize = 250;
const STEP: i32 = 20;

/// Addresses at the fixed end: its own, that of whoever started this program, and that of the resolver.
pub fn addresses(level: u8) -> [Ipv4Addr; 3] {
    [2, 1, 53].map(|last| Ipv4Addr::new(198, 19, level, last))
}

/// What `/etc/resolv.conf` says behind an uplink.
pub fn resolver(level: u8) -> String {
    format!("nameserver {}\n", addresses(level)[2])
}

/// Joins `space` with the network of this process, until what is returned is dropped.
///
/// # Errors
/// [`Error::Helper`] if there is no pasta, or it would not.
pub(crate) fn join(program: &Path, space: &Space, level: u8) -> Result<Keeper, Error> {
    space.forward()?;
    let [own, outside, resolver] = addresses(level).map(|a| a.to_string());
    let words = [
        "pasta",
        "--foreground",
        "--ipv4-only",
        "--config-net",
        "--ns-ifname",
        DEVICE,
        "--address",
        &own,
        "--netmask",
        "24",
        "--gateway",
        &outside,
        "--dns-forward",
        &resolver,
        "--netns",
        crate::view::NETWORK,
        "--tcp-ports",
        "none",
        "--udp-ports",
        "none",
        "--tcp-ns",
        "none",
        "--udp-ns",
        "none",
    ];
    let mut words: Vec<std::ffi::OsString> = words.map(Into::into).to_vec();
    if process::ids().0 == 0 {
        words.extend(["--runas", "0"].map(Into::into));
    }
    let plan = Plan {
        words,
        variables: Vec::new(),
        view: View::default(),
        user: None,
        terminal: false,
        apart: true,
        start_file: None,
        outside: true,
    };
    let said = process::memory_file(c"pasta").map(File::from).map_err(Error::of("making a file"))?;
    let copy = || said.try_clone().map_err(Error::of("making a file"));
    let mut keeper = Keeper::start(program, space, &plan, Streams::Files(copy()?, copy()?))?;
    for _ in 0..STEPS {
        if space.has(DEVICE) {
            return Ok(keeper);
        }
        if !sys::readable(&[keeper.fd()], Some(STEP))[0] {
            continue;
        }
        match keeper.hear() {
            Some(Word::Ended(status)) => {
                return Err(Error::Helper(match status.fault {
                    Some(_) if status.code == 127 => "there is no `pasta` (package passt)".into(),
                    Some(fault) => fault,
                    None => told(said),
                }));
            }
            None => return Err(Error::Helper("pasta was ended".into())),
            Some(_) => {}
        }
    }
    Err(Error::Helper(format!("pasta takes too long: {}", told(said))))
}

/// The last that it said.
fn told(mut said: File) -> String {
    let mut text = Vec::new();
    let _ = said.rewind().and_then(|()| said.read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.contains("syslog"));
    format!("pasta says: {}", lines.next_back().unwrap_or("nothing"))
}
