//! Query of a network interface by netlink (`Link`): index, state, hardware type, MTU, bridge or bond.

use super::rtnetlink::{Message, NO_INTERFACE, with_end};
use std::io;

/// Interface of the calling thread's namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Interface index.
    pub index: i32,
    /// Administratively up.
    pub up: bool,
    /// Ethernet hardware type.
    pub ethernet: bool,
    /// MTU, bytes.
    pub mtu: u32,
    /// Index of the interface's bridge or bond.
    pub master: Option<u32>,
}

/// Offset of the attributes, behind the header and an `ifinfomsg`.
const ATTRIBUTES: usize = 32;

/// Queries the interface `name`.
pub fn look(name: &str) -> io::Result<Link> {
    let mut message = Message::new(libc::RTM_GETLINK, libc::NLM_F_REQUEST as u16);
    message.0.extend(NO_INTERFACE);
    message.put(libc::IFLA_IFNAME, &with_end(name));
    let answer = message.exchange()?;
    read(&answer).unwrap_or_else(|| Err(io::ErrorKind::InvalidData.into()))
}

/// Parses the reply of the kernel.
fn read(answer: &[u8]) -> Option<io::Result<Link>> {
    let short = |at: usize| Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
    if short(4)? == libc::NLMSG_ERROR as u16 {
        return Some(Err(io::Error::from_raw_os_error((word(16)? as i32).wrapping_neg())));
    }
    let mut link = Link {
        index: word(20)? as i32,
        up: word(24)? & libc::IFF_UP as u32 != 0,
        ethernet: short(18)? == libc::ARPHRD_ETHER,
        mtu: 0,
        master: None,
    };
    let end = (word(0)? as usize).min(answer.len());
    let mut at = ATTRIBUTES;
    while at + 4 <= end {
        let (length, kind) = (usize::from(short(at)?), short(at + 2)?);
        match kind {
            libc::IFLA_MTU => link.mtu = word(at + 4)?,
            libc::IFLA_MASTER => link.master = Some(word(at + 4)?),
            _ => {}
        }
        // An attribute has at least its own header.
        at += length.max(4).next_multiple_of(4);
    }
    Some(Ok(link))
}
