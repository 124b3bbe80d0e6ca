//! Uplink of an emulation to the host's network through a helper program (pasta or slirp4netns): start of the helper,
//! addresses, resolver.
//!
//! The helper relays with unprivileged sockets between the network of the fixed end and the network in which this
//! program was started. It ends with the run.
//!
//! slirp4netns supports IPv4 only. It resolves all addresses on its own network, so the node at the fixed end answers
//! ARP for the addresses behind the link (RFC 1027). Address translation is not needed.

use super::keeper::{Keeper, KeeperReply, Plan, Streams};
use super::mounts::MountView;
use super::namespace::Namespace;
use super::sys::{self, process};
use crate::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Name of the uplink's device at the fixed end.
const DEVICE: &str = "uplink0";
/// Hardware address of pasta at its device. Its default would be that of the outer interface, which has none inside
/// another emulation.
const HARDWARE: &str = "02:00:00:00:00:01";
/// Upper limit of polls for the device.
const STEPS: usize = 250;
/// Interval of the polls for the device, ms.
const STEP: i32 = 20;

/// IPv4 addresses at the fixed end: own address, calling host, resolver. slirp4netns chooses these in this network.
pub fn addresses(level: u8) -> [Ipv4Addr; 3] {
    [100, 2, 3].map(|last| Ipv4Addr::new(198, 19, level, last))
}

/// IPv6 addresses at the fixed end: own address, calling host.
pub fn addresses6(level: u8) -> [Ipv6Addr; 2] {
    [100, 2].map(|last| Ipv6Addr::new(0xfd77, 0x696c, 0x6c69, 0x0100 | u16::from(level), 0, 0, 0, last))
}

/// Content of `/etc/resolv.conf` behind an uplink.
pub fn resolver(level: u8) -> String {
    format!("nameserver {}\n", addresses(level)[2])
}

/// Helper program that provides an uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Helper {
    Pasta,
    Slirp4netns,
}

impl Helper {
    fn name(self) -> &'static str {
        match self {
            Helper::Pasta => "pasta",
            Helper::Slirp4netns => "slirp4netns",
        }
    }

    fn words(self, level: u8) -> Vec<OsString> {
        let [own, outside, resolver] = addresses(level).map(|a| a.to_string());
        let [own6, outside6] = addresses6(level).map(|a| a.to_string());
        let network = format!("{}/24", Ipv4Addr::new(198, 19, level, 0));
        let words: &[&str] = match self {
            Helper::Pasta => &[
                "pasta",
                "--foreground",
                "--config-net",
                "--ns-ifname",
                DEVICE,
                "--mac-addr",
                HARDWARE,
                "--address",
                &own,
                "--netmask",
                "24",
                "--gateway",
                &outside,
                "--dns-forward",
                &resolver,
                // Ignored if the outer network has no IPv6.
                "--address",
                &own6,
                "--gateway",
                &outside6,
                "--netns",
                super::mounts::NETWORK,
                "--tcp-ports",
                "none",
                "--udp-ports",
                "none",
                "--tcp-ns",
                "none",
                "--udp-ns",
                "none",
            ],
            Helper::Slirp4netns => &[
                "slirp4netns",
                "--configure",
                "--cidr",
                &network,
                "--netns-type",
                "path",
                super::mounts::NETWORK,
                DEVICE,
            ],
        };
        let mut words: Vec<OsString> = words.iter().map(Into::into).collect();
        if self == Helper::Pasta && process::ids().0 == 0 {
            words.extend(["--runas", "0"].map(Into::into));
        }
        words
    }
}

/// Connects `space` with the network of this process until the returned keeper is dropped.
///
/// # Errors
/// [`Error::Helper`] if no helper is installed, or the helper failed.
pub fn join(program: &Path, space: &Namespace, level: u8) -> Result<Keeper, Error> {
    space.forward()?;
    // A device without a link-local address performs no proxy neighbour discovery (RFC 4861 section 7.2.2). A kernel
    // without IPv6 lacks the setting.
    let _ = space.set("net.ipv6.conf.default.addr_gen_mode", "0");
    let both = [Helper::Pasta, Helper::Slirp4netns];
    for helper in both {
        if let Some(keeper) = with(helper, program, space, level)? {
            return Ok(keeper);
        }
    }
    Err(Error::Helper("there is neither `pasta` (package passt) nor `slirp4netns`".into()))
}

/// Connects through one helper; None if the helper is not installed.
fn with(helper: Helper, program: &Path, space: &Namespace, level: u8) -> Result<Option<Keeper>, Error> {
    let words = helper.words(level);
    let plan = Plan {
        words,
        variables: Vec::new(),
        view: MountView::default(),
        user: None,
        terminal: false,
        apart: true,
        start_file: None,
        outside: true,
    };
    let output = process::memory_file(c"uplink").map(File::from).map_err(Error::of("making a file"))?;
    let copy = || output.try_clone().map_err(Error::of("making a file"));
    let mut keeper = Keeper::start(program, space, &plan, Streams::Files(copy()?, copy()?))?;
    for _ in 0..STEPS {
        if space.has(DEVICE) {
            if helper == Helper::Slirp4netns {
                space.set(&format!("net.ipv4.conf.{DEVICE}.proxy_arp"), "1")?;
                // The default delay of proxy ARP is most of a second.
                space.set(&format!("net.ipv4.neigh.{DEVICE}.proxy_delay"), "0")?;
            }
            return Ok(Some(keeper));
        }
        if !sys::readable(&[keeper.fd()], Some(STEP))[0] {
            continue;
        }
        match keeper.hear() {
            Some(KeeperReply::Ended(status)) => {
                return match status.fault {
                    Some(_) if status.code == 127 => Ok(None),
                    Some(fault) => Err(Error::Helper(fault)),
                    None => Err(Error::Helper(helper_output(helper, output))),
                };
            }
            None => return Err(Error::Helper(format!("{} was ended", helper.name()))),
            Some(_) => {}
        }
    }
    Err(Error::Helper(format!("it takes too long: {}", helper_output(helper, output))))
}

/// Last line of the helper's output.
fn helper_output(helper: Helper, mut output: File) -> String {
    let mut text = Vec::new();
    let _ = output.rewind().and_then(|()| output.read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.contains("syslog"));
    format!("{} reports: {}", helper.name(), lines.next_back().unwrap_or("nothing"))
}
