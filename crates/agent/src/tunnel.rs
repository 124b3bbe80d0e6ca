//! Encrypted packet tunnel between hosts over UDP (`EncryptedTunnel`): encapsulation, replay window, counters of loss
//! and reordering, transit times.
//!
//! A datagram has a nonce of eight bytes, then encrypted send time and packet. The upper 24 bits of the nonce are the
//! tunnel number, the lower 40 a counter. There is neither retransmission nor a reordering buffer.

use crate::message::TunnelStats;
use base::Span;
use emulate::accuracy::lateness::Histogram;
use snow::StatelessTransportState;
use std::sync::Arc;

/// Width of the counter, bits.
const COUNT_BITS: u32 = 40;
/// Length of the nonce, bytes.
const NUMBER: usize = 8;
/// Length of the send time, bytes.
const STAMP: usize = 8;
/// Length of the ChaCha20-Poly1305 tag, bytes.
const TAG: usize = 16;
/// Overhead of a datagram, bytes.
pub const AROUND: usize = NUMBER + STAMP + TAG;
/// Buffer size, bytes; larger than any datagram.
pub const BUFFER: usize = 1 << 16;

/// Nonce of a message on the control connection, which is tunnel 0.
#[cfg(target_os = "linux")]
pub(crate) fn number(id: u32, count: u64) -> u64 {
    u64::from(id) << COUNT_BITS | count
}

/// Tunnel number of a datagram; None if it has none.
pub fn of(datagram: &[u8]) -> Option<u32> {
    let number = u64::from_be_bytes(*datagram.first_chunk::<NUMBER>()?);
    u32::try_from(number >> COUNT_BITS).ok().filter(|id| *id > 0)
}

/// Replay window of 64 counters (as in RFC 4303 section 3.4.3).
#[derive(Clone, Debug, Default)]
pub struct ReplayWindow {
    /// One past the highest received counter.
    next: u64,
    /// Bitmap of the last 64 counters; the lowest bit stands for the highest counter.
    bits: u64,
    /// Number of received counters.
    pub count: u64,
    /// Number of counters received after a higher counter.
    pub overtaken: u64,
}

impl ReplayWindow {
    /// Records a counter; returns false if it is repeated or too old.
    pub fn add(&mut self, number: u64) -> bool {
        if number >= self.next {
            let step = number - self.next + 1;
            self.bits = if step < 64 { self.bits << step | 1 } else { 1 };
            self.next = number + 1;
        } else {
            let back = self.next - 1 - number;
            if back >= 64 || self.bits >> back & 1 == 1 {
                return false;
            }
            self.bits |= 1 << back;
            self.overtaken += 1;
        }
        self.count += 1;
        true
    }

    /// Number of counters below the highest that were not received.
    pub fn lost(&self) -> u64 {
        self.next - self.count
    }
}

/// One end of a tunnel.
pub struct EncryptedTunnel {
    keys: Arc<StatelessTransportState>,
    id: u32,
    next: u64,
    seen: ReplayWindow,
    took: Histogram,
    /// Peer's clock less this clock, and time on this clock from which transit times are measured, ns.
    clock: Option<(i64, u64)>,
    clear: Vec<u8>,
}

impl std::fmt::Debug for EncryptedTunnel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncryptedTunnel")
            .field("id", &self.id)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl EncryptedTunnel {
    /// Tunnel with this number (24 bits, not 0) and the keys of a control connection.
    pub fn new(keys: Arc<StatelessTransportState>, id: u32) -> EncryptedTunnel {
        let clear = Vec::with_capacity(BUFFER);
        EncryptedTunnel {
            keys,
            id,
            next: 0,
            seen: ReplayWindow::default(),
            took: Histogram::default(),
            clock: None,
            clear,
        }
    }

    /// Tunnel number.
    pub fn number(&self) -> u32 {
        self.id
    }

    /// Starts to measure transit times of packets sent from `since` on this clock; `ahead`: peer's clock less this
    /// clock, ns.
    pub fn reckon(&mut self, ahead: i64, since: u64) {
        self.clock = Some((ahead, since));
    }

    /// Encrypts a packet at the time `now` into `out`; an empty packet is a probe. Returns the length; None if the
    /// packet is too large, or the counter is exhausted.
    pub fn seal(&mut self, packet: &[u8], now: u64, out: &mut [u8]) -> Option<usize> {
        if self.next >> COUNT_BITS > 0 || packet.len() + AROUND > out.len() {
            return None;
        }
        let number = u64::from(self.id) << COUNT_BITS | self.next;
        let (head, rest) = out.split_first_chunk_mut::<NUMBER>()?;
        *head = number.to_be_bytes();
        self.clear.clear();
        self.clear.extend(now.to_be_bytes());
        self.clear.extend(packet);
        let length = self.keys.write_message(number, &self.clear, rest).ok()?;
        self.next += 1;
        Some(NUMBER + length)
    }

    /// Decrypts a datagram received at `now`. None if it belongs to another tunnel, is forged, or repeated.
    pub fn open(&mut self, datagram: &[u8], now: u64) -> Option<&[u8]> {
        let (head, rest) = datagram.split_first_chunk::<NUMBER>()?;
        let number = u64::from_be_bytes(*head);
        if of(datagram) != Some(self.id) {
            return None;
        }
        self.clear.resize(rest.len(), 0);
        let length = self.keys.read_message(number, rest, &mut self.clear).ok()?;
        if !self.seen.add(number & ((1 << COUNT_BITS) - 1)) {
            return None;
        }
        let (stamp, packet) = self.clear.get(..length)?.split_first_chunk::<STAMP>()?;
        if let Some((ahead, since)) = self.clock.filter(|_| !packet.is_empty()) {
            let sent = i128::from(u64::from_be_bytes(*stamp)) - i128::from(ahead);
            if sent >= i128::from(since) {
                // Clock uncertainty can make the transit time negative.
                let took = (i128::from(now) - sent).max(0);
                self.took.add(Span::from_nanos(u64::try_from(took).unwrap_or(u64::MAX)));
            }
        }
        Some(packet)
    }

    /// Statistics so far.
    pub fn carried(&self) -> TunnelStats {
        TunnelStats {
            took: self.took.pack(),
            lost: self.seen.lost(),
            overtaken: self.seen.overtaken,
            ..TunnelStats::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compared with an unbounded set: new counters in the window are accepted, none twice.
        #[test]
        fn nothing_is_taken_twice(numbers in proptest::collection::vec(0u64..200, 0..300)) {
            let (mut seen, mut all, mut greatest) = (ReplayWindow::default(), BTreeSet::new(), 0);
            for number in numbers {
                let near = number + 64 > greatest;
                let taken = seen.add(number);
                prop_assert_eq!(taken, near && !all.contains(&number));
                if taken {
                    all.insert(number);
                }
                greatest = greatest.max(number);
            }
            prop_assert_eq!(seen.count, all.len() as u64);
            prop_assert_eq!(seen.lost(), all.last().map_or(0, |last| last + 1 - all.len() as u64));
        }
    }
}
