//! RLC protocol of one TBF direction: sender, receiver, segmentation of LLC PDUs and report policy (3GPP TS 44.060
//! sections 9.1 to 9.3).
//!
//! [`send::Sender`] keeps V(S), V(A) and the state of each block, [`receive::Receiver`] keeps V(R), V(Q) and V(N).
//! [`feed::Feed`] segments LLC PDUs into blocks by byte offset; [`poll`] decides when a sender polls for a report or a
//! receiver sends one. Block sequence numbers are absolute ([`Bsn`]); [`Numbering`] maps them to the wire.

pub mod bits;
pub mod feed;
pub mod packed;
pub mod poll;
pub mod receive;
pub mod send;

/// Block sequence number counted from the start of the TBF, without wrapping.
pub type Bsn = u32;

base::named! {
    /// RLC modes (44.060 section 9.3.1).
    pub enum Mode {
        /// Selective repeat until all blocks are received.
        Acknowledged = "acknowledged",
        /// Each block is sent once.
        Unacknowledged = "unacknowledged",
    }
}

/// Sequence number space and window of a TBF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbering {
    /// SNS: modulus of sequence numbers on the wire.
    pub space: u32,
    /// WS: maximum outstanding blocks.
    pub window: u32,
}

impl Numbering {
    /// GPRS: 128 sequence numbers, a window of 64 blocks.
    pub const GPRS: Numbering = Numbering { space: 128, window: 64 };

    /// EGPRS: 2048 sequence numbers; `window` is rounded down to a multiple of 32, 64 to 1024 (44.060 section 9.1.9.2).
    pub fn egprs(window: u32) -> Numbering {
        Numbering { space: 2048, window: (window / 32 * 32).clamp(64, 1024) }
    }

    /// The largest EGPRS window for a number of timeslots (44.060 table 9.1.9.2.1).
    pub fn largest(slots: u32) -> u32 {
        if slots <= 1 { 192 } else { (128 * slots).min(1024) }
    }

    /// Sequence number of a block on the wire: `bsn` modulo SNS.
    #[inline]
    pub fn wire(self, bsn: Bsn) -> u32 {
        bsn & (self.space - 1)
    }

    /// Absolute number of the first block at or after `base` with this sequence number on the wire.
    #[inline]
    pub fn absolute(self, wire: u32, base: Bsn) -> Bsn {
        base.wrapping_add(wire.wrapping_sub(base) & (self.space - 1))
    }

    /// Length of a ring for one window, in blocks.
    pub(crate) fn ring(self) -> u32 {
        self.window.next_power_of_two()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GP-08, GP-12: numbers modulo 128 and a window of 64; EGPRS windows from 64 to 1024 by timeslots.
    #[test]
    fn gp_08_gp_12_windows() {
        assert_eq!((Numbering::GPRS.space, Numbering::GPRS.window), (128, 64));
        assert_eq!(Numbering::GPRS.wire(130), 2);
        assert_eq!(Numbering::GPRS.absolute(2, 120), 130);
        assert_eq!(Numbering::egprs(10).window, 64);
        assert_eq!(Numbering::egprs(200).window, 192);
        assert_eq!(Numbering::egprs(9999).window, 1024);
        let largest: Vec<u32> = (1..=8).map(Numbering::largest).collect();
        assert_eq!(largest, [192, 256, 384, 512, 640, 768, 896, 1024]);
    }
}
