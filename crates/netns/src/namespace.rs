//! Anonymous network namespace (`Namespace`) with one TUN or veth device: creation, addresses, routes, sysctl
//! settings, counters.
//!
//! Namespace and device live as long as descriptors of this process. Routes, addresses, queues and names of the host
//! are not changed.

use super::device::Device;
use super::{proc, sys};
use crate::Error;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd as _, RawFd};
use std::process::Command;

/// Network namespace, owned by a file descriptor.
#[derive(Debug)]
pub struct Namespace {
    namespace: File,
}

/// Name of the device in each namespace.
pub const DEVICE: &str = "williwaw0";
/// Netmask of the IPv4 network shared by all nodes with commands.
const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 240, 0);
/// IPv6 prefix length.
const WIDTH_6: u8 = 64;
/// Minimum link MTU of IPv6 (RFC 8200 section 5).
const LEAST_MTU_6: u32 = 1280;
/// IPv6 without unsolicited packets: no address autoconfiguration, no duplicate address detection, no router
/// solicitation.
const SILENT_6: [(&str, &str); 5] = [
    ("net.ipv6.conf.default.disable_ipv6", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
];
/// Prefix of a default route in the kernel's IPv6 table.
const DEFAULT_6: &str = "00000000000000000000000000000000 00 ";
/// Name of the opposite end of a veth pair.
const PEER: &str = "williwaw1";
/// MTU of the opposite end of a veth pair.
const PEER_MTU: u32 = 65_535;
/// Transmit queue of the device, packets: above a window, so that no packet is lost outside of the model.
const DEVICE_QUEUE: u32 = 10_000;

/// Creates a veth pair: one end in the calling thread's namespace, the opposite end in a namespace that lives as long
/// as its socket.
fn pair(here: RawFd) -> io::Result<Device> {
    let other = std::thread::scope(|scope| {
        let made = scope.spawn(|| {
            sys::unshare_network()?;
            File::open("/proc/thread-self/ns/net")
        });
        made.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })?;
    sys::veth::pair(DEVICE, PEER, other.as_raw_fd())?;
    sys::veth::whole_packets(DEVICE)?;
    let to = sys::veth::hardware_address(DEVICE)?;
    sys::enter_network(other.as_raw_fd())?;
    let socket = sys::veth::whole_packets(PEER).and_then(|()| {
        sys::veth::mtu(PEER, PEER_MTU)?;
        sys::veth::up_without_arp(PEER)?;
        sys::veth::frames(PEER)
    });
    sys::enter_network(here)?;
    Ok(Device::ethernet(socket?, to))
}

/// Whether the kernel has IPv6.
fn knows_6() -> bool {
    fs::exists("/proc/sys/net/ipv6").unwrap_or(false)
}

fn setting(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

impl Namespace {
    /// Creates a namespace with loopback only.
    ///
    /// # Errors
    /// [`Error::Rights`] without the right to create one.
    pub fn new() -> Result<Namespace, Error> {
        Namespace::made(&[
            // Neighbour discovery would add unsolicited packets.
            ("net.ipv6.conf.all.disable_ipv6", "1"),
            ("net.ipv6.conf.default.disable_ipv6", "1"),
        ])
    }

    /// Creates a namespace for an IPv6 flow end, without unsolicited packets.
    ///
    /// # Errors
    /// [`Error::Rights`] without the right to create one; the kernel has no IPv6.
    pub fn six() -> Result<Namespace, Error> {
        if !knows_6() {
            return Err(Error::of("a flow over version 6 of IP")(io::Error::new(
                io::ErrorKind::Unsupported,
                "this kernel has none",
            )));
        }
        Namespace::made(&SILENT_6)
    }

    /// Creates a namespace for a node with commands: IPv4 and IPv6, without unsolicited packets.
    ///
    /// # Errors
    /// [`Error::Rights`] without the right to create one.
    pub fn machine() -> Result<Namespace, Error> {
        let group = sys::process::ids().1;
        let group = format!("{group} {group}");
        let own = [
            // Commands of any user may ping and listen at any port. A user namespace has only one group.
            ("net.ipv4.ping_group_range", group.as_str()),
            ("net.ipv4.ping_group_range", "0 2147483647"),
            ("net.ipv4.ip_unprivileged_port_start", "0"),
        ];
        Namespace::made(&[&SILENT_6[..], &own].concat())
    }

    /// Creates a namespace with these sysctl settings, as far as the kernel has them.
    fn made(settings: &[(&str, &str)]) -> Result<Namespace, Error> {
        // A separate thread enters the namespace and ends; the open file keeps the namespace.
        let make = || {
            sys::unshare_network().map_err(Error::right("making a network namespace"))?;
            sys::up("lo").map_err(Error::of("bringing up loopback"))?;
            for (name, value) in settings {
                // A kernel without IPv6 lacks some of the settings.
                let _ = fs::write(setting(name), value);
            }
            File::open("/proc/thread-self/ns/net").map_err(Error::of("opening a network namespace"))
        };
        let made = std::thread::scope(|scope| scope.spawn(make).join());
        let namespace = made.map_err(|_| Error::Refused {
            what: "making a network namespace".into(),
            source: io::ErrorKind::Other.into(),
        })??;
        Ok(Namespace { namespace })
    }

    /// Moves the calling thread into the namespace permanently.
    ///
    /// # Errors
    /// An error of the kernel.
    pub fn enter(&self) -> Result<(), Error> {
        sys::enter_network(self.namespace.as_raw_fd()).map_err(Error::of("entering a network namespace"))
    }

    /// Runs `act` inside the namespace, in a thread of its own.
    ///
    /// # Errors
    /// The error of `act`, or of entering the namespace.
    pub fn inside<R: Send, E: From<Error> + Send>(
        &self,
        act: impl FnOnce() -> Result<R, E> + Send,
    ) -> Result<R, E> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                self.enter()?;
                act()
            });
            inside.join().unwrap_or_else(|_| {
                Err(Error::of("working in a network namespace")(io::ErrorKind::Other.into()).into())
            })
        })
    }

    /// Starts `command` inside the namespace; the command ends with the thread that starts it. The namespace must
    /// outlive the start.
    pub fn bind(&self, command: &mut Command) {
        sys::bind_command(command, self.namespace.as_raw_fd());
    }

    /// Creates the device: packets sent by the stack inside can be read from it, and packets written to it
    /// reach the stack. Without TUN it is a veth pair. `offload`: with segmentation offload, where the kernel has it.
    ///
    /// # Errors
    /// [`Error::Rights`] if neither may be created; other errors of the kernel.
    pub fn device(&self, at: impl Into<IpAddr>, mtu: u32, offload: bool) -> Result<Device, Error> {
        let at = at.into();
        self.inside(|| {
            let device = self.any_device(offload)?;
            match at {
                IpAddr::V4(at) => self.address(&device, at, Ipv4Addr::new(255, 255, 255, 0), mtu)?,
                IpAddr::V6(at) => {
                    // Without address resolution, no multicast group is joined for the address.
                    let given = || {
                        sys::size_interface(DEVICE, mtu, DEVICE_QUEUE)?;
                        sys::veth::up_without_arp(DEVICE)?;
                        sys::route::address6(DEVICE, at, WIDTH_6)
                    };
                    let what = format!("giving a device the address {at} and an MTU of {mtu} B");
                    given().map_err(Error::of(what))?;
                }
            }
            Ok(device)
        })
    }

    /// Creates the device of a node with commands, with an address of each IP version. `beyond`: next hop of the
    /// default route. `offload` as for [`Namespace::device`].
    ///
    /// # Errors
    /// The errors of [`Namespace::device`].
    pub fn gateway(
        &self,
        at: (Ipv4Addr, Ipv6Addr),
        mtu: u32,
        beyond: Option<Ipv4Addr>,
        offload: bool,
    ) -> Result<Device, Error> {
        self.inside(|| {
            let device = self.any_device(offload)?;
            self.address(&device, at.0, MASK, mtu)?;
            let refused = |what: &str| Error::of(format!("giving a device {what}"));
            if let Some(gateway) = beyond {
                sys::route::default4(DEVICE, gateway).map_err(refused("a default route"))?;
            }
            // IPv6 requires this MTU, and support by the kernel.
            if mtu >= LEAST_MTU_6 && knows_6() {
                sys::route::address6(DEVICE, at.1, WIDTH_6)
                    .map_err(refused(&format!("the address {}", at.1)))?;
                if beyond.is_some() {
                    sys::route::default6(DEVICE).map_err(refused("a default route"))?;
                }
            }
            Ok(device)
        })
    }

    /// Creates a TUN device, or otherwise a veth pair, in the calling thread's namespace (this one).
    fn any_device(&self, offload: bool) -> Result<Device, Error> {
        match sys::tun::open(DEVICE, offload) {
            Ok(tun) => Ok(Device::tun(tun)),
            Err(e) if matches!(e.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) => {
                pair(self.fd()).map_err(Error::right("making a pair of Ethernet devices"))
            }
            Err(e) => Err(Error::of("making a TUN device (/dev/net/tun)")(e)),
        }
    }

    fn address(&self, device: &Device, at: Ipv4Addr, mask: Ipv4Addr, mtu: u32) -> Result<(), Error> {
        let what = format!("giving a device the address {at} and an MTU of {mtu} B");
        let given = || {
            sys::address_interface(DEVICE, at, mask, mtu, DEVICE_QUEUE)?;
            if device.stands_in() { sys::veth::up_without_arp(DEVICE) } else { Ok(()) }
        };
        given().map_err(Error::of(what))
    }

    /// Enables IP forwarding.
    ///
    /// # Errors
    /// An error of the kernel.
    pub fn forward(&self) -> Result<(), Error> {
        self.set("net.ipv4.ip_forward", "1")?;
        // The setting is missing in a kernel without IPv6.
        let _ = self.set("net.ipv6.conf.all.forwarding", "1");
        Ok(())
    }

    /// Whether routes use an interface of this name: any IPv4 route, or the IPv6 default route.
    pub fn has(&self, device: &str) -> bool {
        let look = || {
            let routes = fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
            let routes6 = fs::read_to_string("/proc/thread-self/net/ipv6_route").unwrap_or_default();
            let to_all = |line: &&str| line.starts_with(DEFAULT_6);
            let six =
                routes6.lines().filter(to_all).any(|line| line.split_whitespace().last() == Some(device));
            Ok::<_, Error>(six || routes.lines().any(|line| line.split_whitespace().next() == Some(device)))
        };
        self.inside(look).unwrap_or(false)
    }

    /// Descriptor of the namespace.
    pub fn fd(&self) -> RawFd {
        self.namespace.as_raw_fd()
    }

    /// Number of sockets that listen, or are open for datagrams or raw packets.
    pub fn listening(&self) -> usize {
        let count = || {
            let read =
                |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
            let tables = [
                ("tcp", "0A"),
                ("tcp6", "0A"),
                ("udp", "07"),
                ("udp6", "07"),
                // User-space stacks use raw sockets; the kernel's SCTP has a table of its own.
                ("raw", "07"),
                ("sctp/eps", "10"),
            ];
            Ok::<_, Error>(tables.into_iter().map(|(name, state)| proc::in_state(&read(name), state)).sum())
        };
        self.inside(count).unwrap_or(0)
    }

    /// Sets a sysctl by its full name (`net.ipv4.tcp_frto`).
    ///
    /// # Errors
    /// The kernel has no such setting in a namespace, or rejects the value.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        let path = setting(name);
        self.inside(|| fs::write(path, value).map_err(Error::of(format!("setting {name} to {value}"))))
    }

    /// Nonzero network counters.
    ///
    /// # Errors
    /// The kernel's tables cannot be read.
    pub fn counters(&self) -> Result<BTreeMap<String, u64>, Error> {
        self.inside(|| {
            // `/proc/net` belongs to the main thread.
            let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}"));
            let text = read("netstat").and_then(|a| Ok(a + &read("snmp")?));
            let mut all = proc::counters(&text.map_err(Error::of("reading counters"))?);
            // The file is missing in a kernel without IPv6.
            all.extend(proc::counters_6(&read("snmp6").unwrap_or_default()));
            Ok(all)
        })
    }

    /// Packets dropped by the device because they were not read in time.
    ///
    /// # Errors
    /// The kernel's table cannot be read.
    pub fn overrun(&self) -> Result<u64, Error> {
        self.inside(|| {
            let text = fs::read_to_string("/proc/thread-self/net/dev").map_err(Error::of("reading drops"))?;
            Ok(proc::dropped_out(&text, DEVICE))
        })
    }
}

/// Checks that this process may create namespaces, and devices of either kind in them.
///
/// # Errors
/// The first refusal.
pub fn rights() -> Result<(), Error> {
    let probe = std::net::Ipv4Addr::new(198, 18, 0, 1);
    Namespace::new()?.device(probe, 1500, false).map(drop)
}
