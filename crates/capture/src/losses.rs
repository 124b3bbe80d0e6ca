//! Loss reasons: retransmissions of a capture joined with the packet comments that tell each packet's fate.
//!
//! Captures that `run --pcap` and `emulate --captures` write carry the event log as comments (`packet=29 sent=new
//! dropped=loss at=gsm.down t=4.860505600`). The join names, for every retransmission, what became of the latest earlier
//! copy of its bytes: where and why it was dropped, or that it was not dropped at all.

use crate::{Frame, Reader};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::IpAddr;

/// A retransmission and why it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Retransmission {
    /// When it left its host, nanoseconds on the capture's clock.
    pub time_ns: i64,
    /// From which port.
    pub source: u16,
    /// First byte, as numbered in the header.
    pub seq: u32,
    /// Bytes.
    pub length: u32,
    /// What made the sender send it: `timeout`, `fast-retransmit`...
    pub cause: String,
    /// When the latest earlier copy had left.
    pub earlier_ns: i64,
    /// What became of that copy.
    pub fate: Fate,
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was dropped.
    Dropped {
        /// Why: `queue-full`, `loss`...
        reason: String,
        /// The link.
        at: String,
    },
    /// It was not: it arrived, or was still on its way.
    Kept,
}

/// What a comment says of a packet.
fn word<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    comment.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// A copy that left its host.
#[derive(Clone, Debug)]
struct Sent {
    time_ns: i64,
    seq: u32,
    length: u32,
    fate: Fate,
}

/// Addresses and ports of a direction.
type Way = (IpAddr, u16, IpAddr, u16);

/// The retransmissions of a capture in the order of time; none where no packet has a comment of ours.
///
/// # Errors
/// The file cannot be read any further.
pub fn retransmissions<R: Read>(reader: &mut Reader<R>) -> io::Result<Vec<Retransmission>> {
    let mut sent: BTreeMap<Way, Vec<Sent>> = BTreeMap::new();
    // One packet is seen at several taps: the first sight is at its host.
    let mut seen: BTreeMap<Way, u64> = BTreeMap::new();
    let mut all = Vec::new();
    while let Some(frame) = reader.next()? {
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
    Ok(all)
}

/// The segment in a frame with its comment: direction, copy, cause, packet number.
fn copy(frame: &Frame<'_>) -> Option<(Way, Sent, String, u64)> {
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
