//! SNDCP segmentation of network packets and sizes of LLC frames (3GPP TS 44.065 sections 6.7 and 7, 44.064 section 6).
//!
//! The segmentation that papers attribute to LLC is a function of SNDCP: it divides a packet so that each segment
//! with its header fits into N201 octets. The header of SN-UNITDATA has 4 octets in the first segment and 3
//! in later segments; the header of SN-DATA has 3 and 1.

/// Octets of LLC around the information field of UI frames: address 1, control 2, FCS 3.
pub const UI_OVERHEAD: u32 = 6;
/// Octets of LLC around the information field of I frames without SACK bitmap: address 1, control 3, FCS 3.
pub const I_OVERHEAD: u32 = 7;
/// Maximum number of segments of a packet: the segment number of SNDCP has 4 bits.
pub const MOST_SEGMENTS: u32 = 16;

base::named! {
    /// Modes of LLC operation (44.064 section 4.5).
    pub enum LlcMode {
        /// UI frames with SN-UNITDATA: LLC does not retransmit.
        Unacknowledged = "unacknowledged",
        /// I frames in ABM with SN-DATA: LLC retransmits frames after T200.
        Acknowledged = "acknowledged",
    }
}

/// Parameters that determine the frame sizes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segmentation {
    /// N201: maximum length of the information field, octets.
    pub n201: u32,
    /// LLC mode, which determines the headers.
    pub mode: LlcMode,
}

impl Segmentation {
    /// Header octets of SNDCP in the first segment and in later segments.
    pub const fn sndcp(self) -> (u32, u32) {
        match self.mode {
            LlcMode::Unacknowledged => (4, 3),
            LlcMode::Acknowledged => (3, 1),
        }
    }

    /// Octets of LLC around the information field of each frame.
    pub const fn llc(self) -> u32 {
        match self.mode {
            LlcMode::Unacknowledged => UI_OVERHEAD,
            LlcMode::Acknowledged => I_OVERHEAD,
        }
    }

    /// Octets of the packet in each segment, in order.
    pub fn segments(self, packet: u32) -> impl Iterator<Item = u32> {
        let (first, later) = self.sndcp();
        let mut left = packet.max(1);
        let mut room = self.n201.saturating_sub(first).max(1);
        let next = self.n201.saturating_sub(later).max(1);
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let taken = left.min(room);
            left -= taken;
            room = next;
            Some(taken)
        })
    }

    /// Size of each LLC frame in octets, headers and FCS included, in order.
    pub fn frames(self, packet: u32) -> impl Iterator<Item = u32> {
        let (first, later) = self.sndcp();
        let llc = self.llc();
        self.segments(packet).enumerate().map(move |(i, n)| n + llc + if i == 0 { first } else { later })
    }

    /// Maximum size of a packet, octets: all segments full, limited by the SNDCP segment number.
    pub fn largest(self) -> u32 {
        let (first, later) = self.sndcp();
        self.n201.saturating_sub(first) + (MOST_SEGMENTS - 1) * self.n201.saturating_sub(later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(packet: u32, n201: u32, mode: LlcMode) -> Vec<u32> {
        Segmentation { n201, mode }.segments(packet).collect()
    }

    /// GP-23: with N201 500, a packet of 1500 octets has four frames, the last one with 10 octets; 1480 octets have three.
    #[test]
    fn gp_23_segments_of_packets() {
        use LlcMode::Unacknowledged;
        assert_eq!(segments(1500, 500, Unacknowledged), [496, 497, 497, 10]);
        assert_eq!(segments(1480, 500, Unacknowledged), [496, 497, 487]);
        assert_eq!(segments(1500, 1520, Unacknowledged), [1500]);
        assert_eq!(segments(1500, 1556, Unacknowledged), [1500]);
        assert_eq!(segments(40, 500, Unacknowledged), [40]);
    }

    /// GP-22: acknowledged frames have smaller SNDCP headers and a longer control field.
    #[test]
    fn gp_22_headers_of_both_modes() {
        let of = |mode| Segmentation { n201: 500, mode }.frames(1000).collect::<Vec<_>>();
        assert_eq!(of(LlcMode::Unacknowledged), [506, 506, 7 + 3 + 6]);
        assert_eq!(of(LlcMode::Acknowledged), [507, 507, 4 + 1 + 7]);
        assert!(Segmentation { n201: 140, mode: LlcMode::Unacknowledged }.largest() > 1503);
    }
}
