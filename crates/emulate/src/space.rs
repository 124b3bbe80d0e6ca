//! Where does a real stack live? In an anonymous network namespace that holds one TUN device. Both hang on
//! descriptors of this process, so they are gone when it is, by whatever signal; no route, address, queue or
//! name of the host is touched.

use crate::{Error, proc, sys};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;
use std::process::Command;

/// A network namespace.
#[derive(Debug)]
pub struct Space {
    namespace: File,
}

/// What the device of a namespace is called.
pub const DEVICE: &str = "williwaw0";
/// Packets that may wait in it to be read: more than a window, so that none is lost outside the model.
const DEVICE_QUEUE: u32 = 10_000;

impl Space {
    /// A new one, with its own loopback and nothing else.
    ///
    /// # Errors
    /// [`Error::Rights`] if the process may not.
    pub fn new() -> Result<Space, Error> {
        // A thread of its own goes in and comes not back; the open file keeps what it leaves.
        let made = std::thread::spawn(|| {
            sys::unshare_network().map_err(Error::right("making a network namespace"))?;
            sys::up("lo").map_err(Error::of("bringing up loopback"))?;
            // Neighbour discovery would be packets that nobody asked for.
            let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
            let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            File::open("/proc/thread-self/ns/net").map_err(Error::of("opening a network namespace"))
        });
        let namespace = made.join().map_err(|_| Error::Refused {
            what: "making a network namespace".into(),
            source: io::ErrorKind::Other.into(),
        })??;
        Ok(Space { namespace })
    }

    /// Moves the calling thread into it, for good.
    ///
    /// # Errors
    /// The kernel's.
    pub fn enter(&self) -> Result<(), Error> {
        sys::enter_network(self.namespace.as_raw_fd()).map_err(Error::of("entering a network namespace"))
    }

    /// Does something inside it, in a thread of its own.
    ///
    /// # Errors
    /// What `act` returns, and the kernel's refusal to enter.
    pub fn inside<R: Send>(&self, act: impl FnOnce() -> Result<R, Error> + Send) -> Result<R, Error> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                self.enter()?;
                act()
            });
            inside.join().unwrap_or_else(|_| {
                Err(Error::Refused {
                    what: "working in a network namespace".into(),
                    source: io::ErrorKind::Other.into(),
                })
            })
        })
    }

    /// Lets a command start inside it, and end with the thread that starts it. The space has to outlive the
    /// start.
    pub fn bind(&self, command: &mut Command) {
        sys::bind_command(command, self.namespace.as_raw_fd());
    }

    /// Makes its TUN device: what the stack inside sends can be read from it, what is written to it the stack
    /// receives.
    ///
    /// # Errors
    /// [`Error::Rights`] if `/dev/net/tun` may not be used; else the kernel's.
    pub fn device(&self, at: Ipv4Addr, mtu: u32) -> Result<File, Error> {
        self.inside(|| {
            let tun = sys::tun(DEVICE).map_err(Error::right("making a TUN device (/dev/net/tun)"))?;
            let mask = Ipv4Addr::new(255, 255, 255, 0);
            sys::address_interface(DEVICE, at, mask, mtu, DEVICE_QUEUE)
                .map_err(Error::of(format!("giving a TUN device the address {at} and an MTU of {mtu} B")))?;
            Ok(tun)
        })
    }

    /// Changes a setting of its network stack, by its full name (`net.ipv4.tcp_frto`).
    ///
    /// # Errors
    /// The kernel has no such setting, or not in a namespace, or not this value.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        self.inside(|| fs::write(path, value).map_err(Error::of(format!("setting {name} to {value}"))))
    }

    /// Its counters that are not 0.
    ///
    /// # Errors
    /// The kernel's tables could not be read.
    pub fn counters(&self) -> Result<BTreeMap<String, u64>, Error> {
        self.inside(|| {
            // Not /proc/net: that is the first thread's.
            let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}"));
            let text = read("netstat").and_then(|a| Ok(a + &read("snmp")?));
            Ok(proc::counters(&text.map_err(Error::of("reading counters"))?))
        })
    }

    /// Packets that its device threw away because nobody read them in time.
    ///
    /// # Errors
    /// The kernel's table could not be read.
    pub fn overrun(&self) -> Result<u64, Error> {
        self.inside(|| {
            let text = fs::read_to_string("/proc/thread-self/net/dev").map_err(Error::of("reading drops"))?;
            Ok(proc::dropped_out(&text, DEVICE))
        })
    }
}
