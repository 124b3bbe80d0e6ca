//! Route lookups and link notifications by rtnetlink (rtnetlink(7), RFC 3549): egress interface, source address, carrier.
//!
//! Lookups and notifications need no privileges. Each socket belongs to the network namespace of the thread that opened it.

use crate::egress::Egress;
use crate::sys;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::IpAddr;

/// Length of `nlmsghdr`, bytes.
const HEADER: usize = 16;
/// Length of `rtmsg`, bytes.
const ROUTE: usize = 12;
/// Length of `ifinfomsg`, bytes.
const LINK: usize = 16;

/// Interface index of a link notification, and whether the interface exists, is up and has a carrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkNotice {
    pub(crate) index: u32,
    pub(crate) carrier: bool,
}

/// Route and link to `to` at this moment.
///
/// # Errors
/// There is no route, or the kernel refuses the lookup.
pub(crate) fn egress(to: IpAddr) -> io::Result<Egress> {
    let answer = exchange(&route_request(to))?;
    let found = messages(&answer).next().ok_or(io::ErrorKind::InvalidData)?;
    let (index, source) = found.route()?;
    let answer = exchange(&link_request(index))?;
    let found = messages(&answer).next().ok_or(io::ErrorKind::InvalidData)?;
    let (name, carrier) = found.link()?;
    Ok(Egress { index, name, source, carrier })
}

/// Socket of notifications about links, addresses and routes.
pub(crate) fn notifications() -> io::Result<File> {
    let groups = libc::RTMGRP_LINK
        | libc::RTMGRP_IPV4_IFADDR
        | libc::RTMGRP_IPV6_IFADDR
        | libc::RTMGRP_IPV4_ROUTE
        | libc::RTMGRP_IPV6_ROUTE;
    Ok(File::from(sys::rtnetlink(groups as u32)?))
}

/// Link notices among the messages that `socket` holds; `None`: some were lost for lack of room.
pub(crate) fn notices(socket: &mut File, buffer: &mut [u8]) -> Option<Vec<LinkNotice>> {
    let n = socket.read(buffer).ok()?;
    Some(messages(buffer.get(..n)?).filter_map(|m| m.notice()).collect())
}

fn exchange(request: &[u8]) -> io::Result<Vec<u8>> {
    let mut socket = File::from(sys::rtnetlink(0)?);
    socket.write_all(request)?;
    let mut answer = vec![0; 1 << 15];
    let n = socket.read(&mut answer)?;
    answer.truncate(n);
    Ok(answer)
}

/// Request with this payload: `nlmsghdr` of RFC 3549 section 2.3.2.
fn request(kind: u16, payload: &[u8]) -> Vec<u8> {
    let length = (HEADER + payload.len()) as u32;
    let flags = libc::NLM_F_REQUEST as u16;
    let zeros = [0; 8]; // sequence number, port
    [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &flags.to_ne_bytes(), &zeros, payload].concat()
}

fn route_request(to: IpAddr) -> Vec<u8> {
    let (family, address) = match to {
        IpAddr::V4(v4) => (libc::AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (libc::AF_INET6, v6.octets().to_vec()),
    };
    let mut payload = vec![0; ROUTE];
    (payload[0], payload[1]) = (family as u8, (8 * address.len()) as u8);
    payload.extend((4 + address.len() as u16).to_ne_bytes());
    payload.extend(libc::RTA_DST.to_ne_bytes());
    payload.extend(address);
    request(libc::RTM_GETROUTE, &payload)
}

fn link_request(index: u32) -> Vec<u8> {
    let mut payload = vec![0; LINK];
    payload[4..8].copy_from_slice(&index.to_ne_bytes());
    request(libc::RTM_GETLINK, &payload)
}

/// A message of the kernel.
#[derive(Clone, Copy)]
struct Message<'a> {
    kind: u16,
    payload: &'a [u8],
}

/// Messages in a datagram, up to the first malformed one.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let length = word(bytes, 0)? as usize;
        let message = Message { kind: short(bytes, 4)?, payload: bytes.get(HEADER..length)? };
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl<'a> Message<'a> {
    /// Value of an attribute behind a fixed part of `fixed` bytes.
    fn attribute(self, fixed: usize, wanted: u16) -> Option<&'a [u8]> {
        let mut rest = self.payload.get(fixed..)?;
        loop {
            let (length, kind) = (usize::from(short(rest, 0)?), short(rest, 2)?);
            if kind == wanted {
                return rest.get(4..length);
            }
            // An attribute has at least its own header.
            rest = rest.get(length.max(4).next_multiple_of(4)..)?;
        }
    }

    /// The kernel's error, or one for a message of another kind than `wanted`.
    fn expect(self, wanted: u16) -> io::Result<()> {
        match word(self.payload, 0) {
            Some(error) if self.kind == libc::NLMSG_ERROR as u16 => {
                Err(io::Error::from_raw_os_error((error as i32).wrapping_neg()))
            }
            _ if self.kind == wanted => Ok(()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Output interface and preferred source of a route.
    fn route(self) -> io::Result<(u32, Option<IpAddr>)> {
        self.expect(libc::RTM_NEWROUTE)?;
        let index = self.attribute(ROUTE, libc::RTA_OIF).and_then(|value| word(value, 0));
        let source = self.attribute(ROUTE, libc::RTA_PREFSRC).and_then(|value| match value.len() {
            4 => <[u8; 4]>::try_from(value).ok().map(IpAddr::from),
            _ => <[u8; 16]>::try_from(value).ok().map(IpAddr::from),
        });
        Ok((index.ok_or(io::ErrorKind::InvalidData)?, source))
    }

    /// Name of a link, and whether it is up and has a carrier.
    fn link(self) -> io::Result<(String, bool)> {
        self.expect(libc::RTM_NEWLINK)?;
        let name = self.attribute(LINK, libc::IFLA_IFNAME).ok_or(io::ErrorKind::InvalidData)?;
        let name = name.strip_suffix(&[0]).unwrap_or(name);
        let carrier = self.notice().is_some_and(|notice| notice.carrier);
        Ok((String::from_utf8_lossy(name).into_owned(), carrier))
    }

    /// Content of a link notification; `None` for other messages.
    fn notice(self) -> Option<LinkNotice> {
        let there = match self.kind {
            libc::RTM_NEWLINK => true,
            libc::RTM_DELLINK => false,
            _ => return None,
        };
        let needed = (libc::IFF_UP | libc::IFF_LOWER_UP) as u32;
        let carrier = there && word(self.payload, 8)? & needed == needed;
        Some(LinkNotice { index: word(self.payload, 4)?, carrier })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    /// The route to loopback is over `lo`, with its own address as source.
    #[test]
    fn the_egress_to_loopback() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let found = egress(here).unwrap();
        assert_eq!((found.name.as_str(), found.source, found.carrier), ("lo", Some(here), true));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 16u16..30) {
            let framed = request(kind, &bytes);
            for datagram in [&bytes, &framed] {
                for message in messages(datagram).take(100) {
                    let _ = (message.route(), message.link(), message.notice());
                }
            }
        }
    }
}
