//! ACK segments of a TCP receiver: acknowledgement number, window, timestamp echo (RFC 7323), SACK blocks.

use super::Receiver;
use crate::tcp::config::Echo;
use base::Time;
use base::tcp::{SackBlocks, Segment, Timestamps};

impl Receiver {
    pub(super) fn note_timestamp(&mut self, now: Time, seq: u64, end: u64, value: Time) {
        let taken = match self.config.echo {
            //= RFC 7323 section 4.3: only a segment that reaches back to the last acknowledgement
            Echo::Rfc7323 => seq <= self.last_ack_sent && self.echo.is_none_or(|e| value >= e),
            //= RFC 1323 section 3.4: the segment must contain it
            Echo::Rfc1323 => seq <= self.last_ack_sent && self.last_ack_sent < end,
            Echo::Latest => true,
        };
        if taken && self.echo != Some(value) {
            (self.echo, self.echo_at) = (Some(value), now);
        }
    }

    /// Builds a pure ACK with its SACK blocks. The connection sets `seq`.
    pub fn acknowledge(&mut self, now: Time, timestamps: bool) -> Segment {
        let bare = self.acknowledge_bare(now, timestamps);
        if self.has_report() { Segment { sack: self.take_report(timestamps), ..bare } } else { bare }
    }

    /// Builds a pure ACK without SACK blocks: most ACKs have none.
    #[inline(always)]
    pub(in crate::tcp) fn acknowledge_bare(&mut self, now: Time, timestamps: bool) -> Segment {
        if let Some(shared) = &mut self.shared {
            shared.now = now;
        }
        let window = self.offered();
        self.unacked = 0;
        self.ack_due = Time::NEVER;
        self.last_ack_sent = self.next;
        if let Some(linux) = &mut self.linux {
            linux.on_sent();
        }
        let timestamps = match (timestamps, self.echo) {
            (true, Some(echo)) => Some(Timestamps { value: now, echo }),
            (true, None) => Some(Timestamps { value: now, echo: Time::ZERO }),
            (false, _) => None,
        };
        Segment {
            ack: self.next,
            has_ack: true,
            window,
            resent_echo: self.resent,
            timestamps,
            ..Segment::default()
        }
    }

    /// Timestamp to echo (TS.Recent), and the echo of the retransmit flag.
    #[inline(always)]
    pub(in crate::tcp) fn echoes(&self) -> (Time, bool) {
        (self.echo.unwrap_or(Time::ZERO), self.resent)
    }

    /// Whether there are SACK blocks to send; never without SACK.
    #[inline(always)]
    pub(in crate::tcp) fn has_report(&self) -> bool {
        self.dsack.is_some() || !self.reported.is_empty()
    }

    /// Takes the SACK blocks to send now.
    #[inline(never)]
    pub(in crate::tcp) fn take_report(&mut self, timestamps: bool) -> SackBlocks {
        let mut sack = SackBlocks::default();
        let most = (self.config.sack_blocks as usize).min(if timestamps { 3 } else { 4 });
        if let Some(d) = self.dsack.take() {
            sack.push(d.left, d.right);
        }
        for b in &self.reported {
            if sack.as_slice().len() < most {
                sack.push(b.left, b.right);
            }
        }
        sack
    }
}
