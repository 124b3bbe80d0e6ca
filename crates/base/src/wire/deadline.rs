//! Packet deadline in the IPv4 timestamp option (RFC 791 section 3.1), by the encodings of Gurtov and Ludwig,
//! "Exploiting Packet Lifetime for Efficient Real-Time Transport", section III.F.
//!
//! The option has 8 bytes: type 68, length 8, pointer 9 (its one entry is filled), overflow and flag 0, and
//! an entry of 32 bits. Midnight UT is the start of the run. The paper's third encoding is a timestamp of the
//! transport, outside of this header; row 4 of the ATP header is one.

use super::checksum::Sum;
use crate::time::{Span, Time};

crate::named! {
    /// Encoding of a packet's deadline in an IPv4 header.
    pub enum Encoding {
        /// Time of transmission, and the lifetime in units of 100 ms in the TTL: 100 ms to 25.5 s.
        TimestampAndTtl = "timestamp-and-ttl",
        /// Time of expiry, with the high bit set, which marks a non-standard entry: up to 12 h ahead.
        Expiration = "expiration",
    }
}

/// Option type (RFC 791): not copied, class 2, number 4.
const TYPE: u8 = 68;
/// Length of the option, bytes.
pub const OPTION: usize = 8;
/// Bit that marks a non-standard time.
const CUSTOM: u32 = 1 << 31;
/// Milliseconds per day; entries are times of day.
const DAY: u64 = 86_400_000;
/// Unit of the TTL, milliseconds.
const UNIT_MS: u64 = 100;

impl Encoding {
    /// Whether this lifetime is within the range of the encoding.
    pub fn holds(self, lifetime: Span) -> bool {
        let life = lifetime.as_nanos().div_ceil(1_000_000);
        match self {
            Encoding::TimestampAndTtl => (1..=255).contains(&life.div_ceil(UNIT_MS)),
            Encoding::Expiration => life <= DAY / 2,
        }
    }
}

fn millis(t: Time) -> u64 {
    t.as_nanos() / 1_000_000
}

/// Writes the deadline of a packet sent at `sent` with `lifetime` into its header, which grows by [`OPTION`]
/// bytes. False, without a change, if the bytes are not an IPv4 packet, the header has no room, or the
/// lifetime is out of range.
pub fn write(bytes: &mut Vec<u8>, encoding: Encoding, sent: Time, lifetime: Span) -> bool {
    let header = usize::from(bytes.first().copied().unwrap_or(0) & 15) * 4;
    let fits = bytes.first().is_some_and(|b| b >> 4 == 4)
        && (20..=60 - OPTION).contains(&header)
        && bytes.len() >= header
        && bytes.len() + OPTION <= usize::from(u16::MAX);
    if !fits || !encoding.holds(lifetime) {
        return false;
    }
    let life = lifetime.as_nanos().div_ceil(1_000_000);
    let units = life.div_ceil(UNIT_MS);
    let entry = match encoding {
        Encoding::TimestampAndTtl => (millis(sent) % DAY) as u32,
        Encoding::Expiration => CUSTOM | ((millis(sent) + life) % DAY) as u32,
    };
    let mut option = [TYPE, OPTION as u8, 9, 0, 0, 0, 0, 0];
    option[4..].copy_from_slice(&entry.to_be_bytes());
    bytes.splice(header..header, option);
    bytes[0] = 0x40 | ((header + OPTION) / 4) as u8;
    let length = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    if encoding == Encoding::TimestampAndTtl {
        bytes[8] = units as u8;
    }
    sum(bytes);
    true
}

/// Recomputes the header checksum.
fn sum(bytes: &mut [u8]) {
    let header = usize::from(bytes[0] & 15) * 4;
    bytes[10..12].fill(0);
    let sum = Sum::ZERO.and(&bytes[..header]).finish();
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Deadline in an IPv4 header, as a router interprets it at `now`; `None` without the option, or with another
/// use of the option.
pub fn read(bytes: &[u8], now: Time) -> Option<Time> {
    let header = usize::from(bytes.first().filter(|b| **b >> 4 == 4)? & 15) * 4;
    let mut options = bytes.get(20..header)?;
    while let Some(&kind) = options.first() {
        if kind == 1 {
            options = &options[1..];
            continue;
        }
        let length = usize::from(*options.get(1)?);
        if kind == 0 || length < 2 {
            return None;
        }
        let option = options.get(..length)?;
        if kind == TYPE && length == OPTION && option[3] & 15 == 0 {
            let entry = u32::from_be_bytes([option[4], option[5], option[6], option[7]]);
            let ttl = u64::from(bytes[8]);
            return if entry & CUSTOM != 0 {
                Some(nearest(u64::from(entry & !CUSTOM), now))
            } else {
                Some(nearest(u64::from(entry), now) + Span::from_millis(ttl * UNIT_MS))
            };
        }
        options = &options[length..];
    }
    None
}

/// Time nearest to `now` with this time of day.
fn nearest(of_day: u64, now: Time) -> Time {
    let now = millis(now);
    let ahead = (of_day % DAY + DAY - now % DAY) % DAY;
    let at = if ahead > DAY / 2 { (now + ahead).saturating_sub(DAY) } else { now + ahead };
    Time::ZERO + Span::from_millis(at)
}

/// Forwarding by a router without deadline support: decrements the TTL. False if the packet must be dropped.
pub fn hop(bytes: &mut [u8]) -> bool {
    let header = usize::from(bytes.first().copied().unwrap_or(0) & 15) * 4;
    if header < 20 || bytes.len() < header || bytes[8] <= 1 {
        return false;
    }
    bytes[8] -= 1;
    sum(bytes);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet() -> Vec<u8> {
        let mut b =
            vec![0x45, 0, 0, 28, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 7, 0, 8, 0, 0];
        sum(&mut b);
        b
    }
    fn s(x: f64) -> Time {
        Time::from_secs_f64(x)
    }

    /// AT-32: option of 8 bytes; 100 ms to 25.5 s with the TTL, 12 h with the custom format; valid header
    /// checksum.
    #[test]
    fn both_encodings_have_their_range() {
        let cases = [
            (Encoding::TimestampAndTtl, 0.1, true),
            (Encoding::TimestampAndTtl, 25.5, true),
            (Encoding::TimestampAndTtl, 25.6, false),
            (Encoding::Expiration, 43_200.0, true),
            (Encoding::Expiration, 43_201.0, false),
        ];
        for (encoding, lifetime, fits) in cases {
            let mut b = packet();
            let life = Span::from_secs_f64(lifetime);
            assert_eq!(write(&mut b, encoding, s(12.0), life), fits, "{encoding} {lifetime}");
            if fits {
                assert_eq!((b.len(), b[0], b[20], b[21]), (36, 0x47, 68, 8));
                assert_eq!(Sum::ZERO.and(&b[..28]).finish(), 0);
                assert_eq!(read(&b, s(12.0)), Some(s(12.0) + life), "{encoding} {lifetime}");
            }
        }
    }

    /// AT-32: routers without deadline support decrement the TTL. A packet survives fewer hops than its
    /// units, and its deadline is 100 ms earlier per hop, never later.
    #[test]
    fn a_router_that_knows_nothing_drops_none_too_early() {
        let mut b = packet();
        assert!(write(&mut b, Encoding::TimestampAndTtl, s(1.0), Span::from_secs(5)));
        for hops in 1..50_u64 {
            assert!(hop(&mut b), "{hops}");
            let deadline = read(&b, s(1.0)).unwrap();
            assert_eq!(deadline, s(6.0 - 0.1 * hops as f64));
        }
        assert!(!hop(&mut b));
    }

    proptest! {
        /// A written deadline is read back, rounded up to its unit, also across midnight.
        #[test]
        fn what_is_written_is_read_back(sent in 0.0..200_000.0_f64, life in 0.001..25.0_f64, later in 0.0..20.0_f64, which in 0_usize..2) {
            let encoding = Encoding::ALL[which];
            let mut b = packet();
            prop_assert!(write(&mut b, encoding, s(sent), Span::from_secs_f64(life)));
            let deadline = read(&b, s(sent + later)).unwrap().as_secs_f64();
            let unit = if which == 0 { 0.1 } else { 0.001 };
            prop_assert!(deadline > sent + life - 0.002 && deadline < sent + life + unit + 0.002, "{deadline}");
        }

        /// Any bytes have a deadline or none.
        #[test]
        fn reading_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = read(&bytes, s(5.0));
            let mut bytes = bytes;
            let _ = hop(&mut bytes);
            let _ = write(&mut bytes, Encoding::Expiration, s(1.0), Span::from_secs(1));
        }
    }
}
