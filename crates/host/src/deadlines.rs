//! Packet deadlines in IPv4 headers at a packet port: read into the packet's lifetime, or stamped for a stack
//! without support.
//!
//! The timestamp option of an incoming packet contains its deadline ([`base::wire::deadline`]); routers of
//! the network then know the packet's lifetime. A packet port may also stamp incoming packets. A packet
//! leaves with the options with which it entered.

use base::packet::Packet;
use base::wire::deadline::{self, Encoding};
use base::{Span, Time};
use std::borrow::Cow;

/// Deadline options of a packet port.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Time of day (UT) at the start of the run; the option counts from midnight.
    pub day: Span,
    /// Encoding and lifetime of the deadline stamped on incoming packets. The stamp replaces a deadline
    /// already present: Linux echoes the options of a SYN in every segment (net/ipv4/ip_options.c,
    /// ip_options_echo).
    pub stamp: Option<(Encoding, Span)>,
}

impl Deadlines {
    /// The packet as forwarded, and its lifetime in microseconds ([`Packet::ALWAYS`]: no deadline).
    pub(crate) fn apply<'b>(&self, now: Time, bytes: &'b [u8]) -> (Cow<'b, [u8]>, u32) {
        let clock = now + self.day;
        if let Some((encoding, lifetime)) = self.stamp {
            let mut stamped = without(bytes);
            if deadline::write(&mut stamped, encoding, clock, lifetime) {
                return (Cow::Owned(stamped), lives(lifetime));
            }
        }
        let deadline = deadline::read(bytes, clock);
        (Cow::Borrowed(bytes), deadline.map_or(Packet::ALWAYS, |at| lives(at.since(clock))))
    }
}

/// The packet without its deadline option; [`deadline::write`] corrects length and checksum of the header.
fn without(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let header = usize::from(bytes.first().copied().unwrap_or(0) & 15) * 4;
    let mut at = 20;
    while at + 1 < header.min(bytes.len()) {
        let length = match bytes[at] {
            0 => break,
            1 => 1,
            _ => usize::from(bytes[at + 1]).max(2),
        };
        if bytes[at] == TIMESTAMP && length == deadline::OPTION && at + length <= header {
            bytes.drain(at..at + length);
            bytes[0] -= (length / 4) as u8;
            break;
        }
        at += length;
    }
    bytes
}

/// The option's type (RFC 791 section 3.1).
const TIMESTAMP: u8 = 68;

/// Lifetime in microseconds; 0 for an expired one.
fn lives(span: Span) -> u32 {
    u32::try_from(span.as_nanos() / 1000).map_or(Packet::ALWAYS - 1, |micros| micros.min(Packet::ALWAYS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 28, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        bytes.extend([0, 7, 0, 7, 0, 8, 0, 0]);
        bytes
    }

    /// AT-32: a packet port reads the deadlines that another port stamped, with both encodings, at any time
    /// of day.
    #[test]
    fn a_port_reads_deadlines_stamped_by_another_port() {
        for (encoding, unit) in [(Encoding::Expiration, 1_000), (Encoding::TimestampAndTtl, 100_000)] {
            for day in [0, 43_200, 86_399] {
                let day = Span::from_secs(day);
                let writes = Deadlines { day, stamp: Some((encoding, Span::from_secs(3))) };
                let (sent, bytes) = (Time::from_secs_f64(1.0), packet());
                let (stamped, lives) = writes.apply(sent, &bytes);
                assert_eq!((lives, stamped.len()), (3_000_000, bytes.len() + deadline::OPTION));
                let reads = Deadlines { day, stamp: None };
                let (same, left) = reads.apply(sent + Span::from_secs(1), &stamped);
                assert!(same == stamped, "what has an option leaves as it came");
                assert!(left.abs_diff(2_000_000) <= unit, "{encoding} at {day}: {left}");
                // A second stamp replaces the first with the newer deadline: a kernel echoes its peer's
                // option.
                assert!(writes.apply(sent, &stamped).0 == stamped);
                let (again, left) = writes.apply(sent + Span::from_secs(9), &stamped);
                assert_eq!((left, again.len()), (3_000_000, stamped.len()));
                // The lifetime of an expired packet is 0.
                assert_eq!(reads.apply(sent + Span::from_secs(9), &stamped).1, 0);
            }
        }
        assert_eq!(Deadlines::default().apply(Time::ZERO, &packet()).1, Packet::ALWAYS);
        assert_eq!(Deadlines::default().apply(Time::ZERO, &[0; 3]).1, Packet::ALWAYS);
    }
}
