//! Loss reasons of retransmissions in a capture of this program: join of TCP segments with the packet comments that
//! state each packet's fate.
//!
//! Captures of `run --pcap` and `emulate --captures` contain the event log as comments (`packet=29 sent=new
//! dropped=loss at=gsm.down t=4.860505600`). The join finds, for each retransmission, the fate of the latest earlier
//! copy of its bytes.

use crate::{Frame, Reader};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

/// Retransmission with its cause and the fate of the earlier copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Retransmission {
    /// Send time at its host, ns on the capture's clock.
    pub time_ns: i64,
    /// Source port.
    pub source: u16,
    /// Sequence number.
    pub seq: u32,
    /// Payload bytes.
    pub length: u32,
    /// Cause of the retransmission: `timeout`, `fast-retransmit`...
    pub cause: String,
    /// Send time of the latest earlier copy, ns.
    pub earlier_ns: i64,
    /// Fate of the earlier copy.
    pub fate: Fate,
}

/// Fate of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Dropped on the path.
    Dropped {
        /// Reason: `queue-full`, `loss`...
        reason: String,
        /// Name of the link that dropped the packet.
        at: String,
    },
    /// Not dropped: arrived, or still in flight.
    Kept,
}

/// Value of a key in a comment.
fn word<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    comment.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// Copy of a segment, sent by its host.
#[derive(Clone, Debug)]
struct Sent {
    time_ns: i64,
    seq: u32,
    length: u32,
    fate: Fate,
}

/// Direction of a connection: source address and port, destination address and port.
type Stream = (IpAddr, u16, IpAddr, u16);

/// Retransmissions of a capture, ascending in time; `None` if no packet has such a comment, so that the capture does
/// not tell them.
///
/// # Errors
/// The file cannot be read further.
pub fn retransmissions(reader: &mut Reader<'_>) -> io::Result<Option<Vec<Retransmission>>> {
    let mut told = false;
    let mut sent: BTreeMap<Stream, Vec<Sent>> = BTreeMap::new();
    // A packet is captured at several taps, first at the tap of its host.
    let mut seen: BTreeMap<Stream, u64> = BTreeMap::new();
    let mut all = Vec::new();
    while let Some(frame) = reader.next()? {
        told = told || frame.comments().any(|comment| word(comment, "packet").is_some());
        let Some((way, copy, cause, packet)) = copy(&frame) else { continue };
        let last = seen.entry(way).or_insert(0);
        if packet <= *last {
            continue;
        }
        *last = packet;
        let copies = sent.entry(way).or_default();
        let same = |earlier: &&Sent| copy.seq.wrapping_sub(earlier.seq) < earlier.length;
        if cause != "new"
            && let Some(earlier) = copies.iter().rev().find(same)
        {
            all.push(Retransmission {
                time_ns: copy.time_ns,
                source: way.1,
                seq: copy.seq,
                length: copy.length,
                cause,
                earlier_ns: earlier.time_ns,
                fate: earlier.fate.clone(),
            });
        }
        copies.push(copy);
    }
    Ok(told.then_some(all))
}

/// TCP segment of a frame with its comment: direction, copy, cause, packet number.
fn copy(frame: &Frame<'_>) -> Option<(Stream, Sent, String, u64)> {
    let packet = frame.decode().ok()?;
    let head = *packet.tcp()?;
    if packet.payload_len == 0 {
        return None;
    }
    let comment = frame.comments().find(|comment| word(comment, "packet").is_some())?;
    let number = word(comment, "packet")?.parse().ok()?;
    let cause = word(comment, "sent")?.to_owned();
    let fate = match (word(comment, "dropped"), word(comment, "at")) {
        (Some(reason), Some(at)) => Fate::Dropped { reason: reason.to_owned(), at: at.to_owned() },
        _ => Fate::Kept,
    };
    let way = (packet.ip.source, head.source, packet.ip.destination, head.destination);
    let sent = Sent { time_ns: frame.time_ns, seq: head.seq, length: packet.payload_len, fate };
    Some((way, sent, cause, number))
}
