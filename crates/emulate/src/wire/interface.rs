//! Ethernet ends of a wire: packet sockets at two interfaces; frames with IP packets cross the path, all other frames
//! are bridged directly.
//!
//! ARP and IPv6 neighbour discovery are bridged. They belong to the Ethernet at either end, which is not emulated, and
//! the loss of one costs a second.
//!
//! With offload, the kernel delivers frames of up to 64 kB, or with incomplete checksums. They are segmented and
//! completed here, as a network card would do.

use super::{NamedTunnel, Tally};
use crate::Error;
use base::wire::frame::{Framing, is_between_neighbours};
use base::wire::offload;
use netns::device::Tunnel;
use netns::sys::link::{self, Link};
use netns::sys::packet::{self, Unfinished};
use netns::sys::veth;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Interface at an end of a wire.
#[derive(Debug)]
struct Interface {
    name: String,
    socket: File,
    /// Socket at the opposite interface, for bridged frames.
    other: OwnedFd,
    /// Segments of a large frame that are not delivered yet.
    cut: VecDeque<Vec<u8>>,
    tally: Arc<Tally>,
}

fn refused(why: String, mend: impl Into<String>) -> Error {
    Error::Wire { why, mend: mend.into() }
}

/// Checks that an interface can be the end of a wire.
fn fit(name: &str) -> Result<Link, Error> {
    let found = link::look(name).map_err(|error| match error.raw_os_error() {
        Some(libc::ENODEV) => {
            refused(format!("there is no interface `{name}`"), "`ip -brief link` lists those that there are")
        }
        _ => refused(format!("interface `{name}`: {error}"), ""),
    })?;
    if !found.ethernet {
        return Err(refused(
            format!("interface `{name}` does not carry Ethernet"),
            "take the one where the cable is; loopback and tunnels have no frames",
        ));
    }
    if !found.up {
        return Err(refused(
            format!("interface `{name}` is down"),
            format!("bring it up, without addresses: ip link set {name} up"),
        ));
    }
    Ok(found)
}

/// Opens both interfaces of a wire.
pub(super) fn both(names: [&str; 2], tallies: &[Arc<Tally>; 2]) -> Result<Vec<NamedTunnel>, Error> {
    let [a, b] = names;
    let (one, other) = (fit(a)?, fit(b)?);
    if one.index == other.index {
        return Err(refused(format!("`{a}` and `{b}` are the same interface"), "a wire has two ends"));
    }
    if one.master.is_some() && one.master == other.master {
        return Err(refused(
            format!(
                "`{a}` and `{b}` are ports of one bridge, which would pass every frame beside the link, again and again"
            ),
            format!("take one of them out: ip link set {b} nomaster"),
        ));
    }
    if one.mtu != other.mtu {
        return Err(refused(
            format!(
                "packets of `{a}` have {} B at most, those of `{b}` {} B: larger ones would be lost",
                one.mtu, other.mtu
            ),
            format!("give both the same: ip link set {b} mtu {}", one.mtu),
        ));
    }
    let open = |name: &str, link: &Link| {
        packet::open(link.index).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => refused(
                format!("taking the frames of `{name}` needs rights that this process lacks: {error}"),
                "start it as root; a user namespace does not do, for the interfaces are not in it",
            ),
            _ => refused(format!("opening a socket at `{name}`: {error}"), ""),
        })
    };
    let sockets = [open(a, &one)?, open(b, &other)?];
    let mut ends: Vec<NamedTunnel> = Vec::new();
    let copies = sockets.each_ref().map(|socket| socket.try_clone().map(OwnedFd::from));
    let [to_one, to_other] = copies;
    for (((name, socket), other), tally) in
        names.into_iter().zip(sockets).zip([to_other, to_one]).zip(tallies)
    {
        let other = other.map_err(Error::of("copying a socket"))?;
        let (name, cut, tally) = (name.to_owned(), VecDeque::new(), tally.clone());
        ends.push((name.clone(), Box::new(Interface { name, socket, other, cut, tally })));
    }
    Ok(ends)
}

/// Reinserts a VLAN tag that the network card has removed; returns the new length. The buffer has space behind the
/// frame.
fn put_tag(buffer: &mut [u8], length: usize, tag: Option<(u16, u16)>) -> usize {
    let Some((kind, tag)) = tag.filter(|_| length >= 12 && buffer.len() >= length + 4) else { return length };
    buffer.copy_within(12..length, 16);
    buffer[12..14].copy_from_slice(&kind.to_be_bytes());
    buffer[14..16].copy_from_slice(&tag.to_be_bytes());
    length + 4
}

impl Interface {
    /// Completes segments, checksum and VLAN tag of a frame. Returns its length if the frame crosses the path; bridges
    /// it otherwise.
    fn finish(&mut self, buffer: &mut [u8], length: usize, unfinished: Unfinished) -> Option<usize> {
        let frame = buffer.get_mut(..length)?;
        let at = Framing::Ethernet.packet(frame);
        if let (Some(at), Some(piece)) = (at, unfinished.piece) {
            let Some(pieces) = offload::cut(frame, at, piece) else {
                Tally::count(&self.tally.uncut, 1);
                return None;
            };
            for mut piece in pieces {
                let length = piece.len();
                piece.resize(length + 4, 0);
                let length = put_tag(&mut piece, length, unfinished.tag);
                piece.truncate(length);
                self.cut.push_back(piece);
            }
            return None;
        }
        if let Some((start, field)) = unfinished.checksum {
            offload::complete(frame, start, field);
        }
        let crosses = at.is_some_and(|at| !is_between_neighbours(&frame[at..]));
        let length = put_tag(buffer, length, unfinished.tag);
        if crosses {
            return Some(length);
        }
        let frame = buffer.get(..length)?;
        match packet::send(self.other.as_raw_fd(), frame) {
            Ok(()) => Tally::count(&self.tally.beside, 1),
            Err(error) => drop(self.tally.refused("the other interface", length, error)),
        }
        None
    }
}

impl Tunnel for Interface {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = self.cut.pop_front() {
                let place = into.get_mut(..frame.len()).ok_or(io::ErrorKind::InvalidData)?;
                place.copy_from_slice(&frame);
                return Ok(frame.len());
            }
            let received = match packet::receive(self.socket.as_raw_fd(), into) {
                Ok(received) => received,
                // The kernel cannot describe the offload type of this frame.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    Tally::count(&self.tally.uncut, 1);
                    continue;
                }
                Err(error) => {
                    return Err(match error.kind() {
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => error,
                        kind => io::Error::new(kind, format!("{}: {error}", self.name)),
                    });
                }
            };
            // Frames that this host receives itself are not forwarded.
            if !received.ours
                && let Some(length) = self.finish(into, received.length, received.unfinished)
            {
                return Ok(length);
            }
        }
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        let sent = packet::send(self.socket.as_raw_fd(), frame);
        sent.map_err(|error| self.tally.refused(&self.name, frame.len(), error))
    }

    fn overrun(&self) -> u64 {
        veth::thrown_away(self.socket.as_raw_fd())
    }
}

impl AsRawFd for Interface {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
