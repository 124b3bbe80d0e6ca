//! TCP header and options (RFC 9293 section 3.1).
//!
//! Its numbers, and of its options those that the laboratory judges by; the others are stepped over.

use super::{u16_at, u32_at};

/// TCP's flag bits, as in the header.
pub mod flag {
    /// No more data.
    pub const FIN: u8 = 1;
    /// Opens.
    pub const SYN: u8 = 1 << 1;
    /// Aborts.
    pub const RST: u8 = 1 << 2;
    /// Hand over at once.
    pub const PSH: u8 = 1 << 3;
    /// The acknowledgement number counts.
    pub const ACK: u8 = 1 << 4;
    /// The urgent pointer counts.
    pub const URG: u8 = 1 << 5;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 1 << 6;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 1 << 7;
}

/// Kinds of options.
pub mod option {
    /// The list ends here.
    pub const END: u8 = 0;
    /// Fills up.
    pub const NOTHING: u8 = 1;
    /// Maximum segment size (RFC 9293 section 3.7.1).
    pub const MSS: u8 = 2;
    /// Window scale (RFC 7323 section 2).
    pub const SCALE: u8 = 3;
    /// SACK permitted (RFC 2018 section 2).
    pub const SACK_PERMITTED: u8 = 4;
    /// SACK (RFC 2018 section 3).
    pub const SACK: u8 = 5;
    /// Timestamps (RFC 7323 section 3).
    pub const TIMESTAMPS: u8 = 8;
    /// Multipath TCP (RFC 8684 section 3).
    pub const MULTIPATH: u8 = 30;
}

/// What the header of a TCP segment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpHead {
    /// From which port.
    pub source: u16,
    /// To which.
    pub destination: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Next byte expected.
    pub ack: u32,
    /// See [`flag`].
    pub flags: u8,
    /// Receive window, not scaled.
    pub window: u16,
    /// Where urgent data end, counted from `seq`; meaningful with [`flag::URG`].
    pub urgent: u16,
    /// Largest segment that may come (RFC 9293 section 3.7.1), on a SYN.
    pub mss: Option<u16>,
    /// Shift of the windows that follow (RFC 7323 section 2), on a SYN.
    pub scale: Option<u8>,
    /// TSval and TSecr (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks (RFC 2018), as many as `sacks` says.
    pub sack: [(u32, u32); 4],
    /// How many SACK blocks there are.
    pub sacks: u8,
    /// SACK blocks may be sent back (RFC 2018), on a SYN.
    pub permits_sack: bool,
    /// It has an option of Multipath TCP (RFC 8684).
    pub multipath: bool,
    /// The header is longer than the bytes that are here: options may be missing.
    pub cut: bool,
    /// An option tells a length that cannot be; what stands behind it was not read.
    pub odd: bool,
}

impl TcpHead {
    /// Reads the head of a segment: what it says, and how many bytes of header there are. `None` if there are fewer
    /// than 20 bytes, or the header says it is shorter than that.
    pub fn read(segment: &[u8]) -> Option<(TcpHead, usize)> {
        let fixed = segment.first_chunk::<20>()?;
        let length = usize::from(fixed[12] >> 4) * 4;
        if length < 20 {
            return None;
        }
        let mut head = TcpHead {
            source: u16_at(fixed, 0)?,
            destination: u16_at(fixed, 2)?,
            seq: u32_at(fixed, 4)?,
            ack: u32_at(fixed, 8)?,
            flags: fixed[13],
            window: u16_at(fixed, 14)?,
            urgent: u16_at(fixed, 18)?,
            cut: segment.len() < length,
            ..TcpHead::default()
        };
        head.read_options(segment.get(20..length.min(segment.len()))?);
        Some((head, length))
    }

    /// True if one of these flags is set.
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
    /// The SACK blocks, first one first.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sacks).min(4)]
    }

    /// Reads what it knows; at the first option that cannot be right, the rest is left alone.
    fn read_options(&mut self, mut options: &[u8]) {
        // By far the most segments have these alone: two fillers and timestamps.
        if let [1, 1, 8, 10, value @ ..] = options
            && value.len() == 8
        {
            self.timestamps = u32_at(value, 0).zip(u32_at(value, 4));
            return;
        }
        while let [kind, rest @ ..] = options {
            match *kind {
                option::END => return,
                option::NOTHING => {
                    options = rest;
                    continue;
                }
                _ => {}
            }
            // What is cut off is not wrong.
            let Some(&length) = rest.first() else {
                self.odd = !self.cut;
                return;
            };
            let length = usize::from(length);
            let Some(value) = options.get(2..length) else {
                self.odd = length < 2 || !self.cut;
                return;
            };
            self.read_option(*kind, value);
            options = options.get(length..).unwrap_or_default();
        }
    }

    fn read_option(&mut self, kind: u8, value: &[u8]) {
        match (kind, value.len()) {
            (option::MSS, 2) => self.mss = u16_at(value, 0),
            (option::SCALE, 1) => self.scale = value.first().copied(),
            (option::SACK_PERMITTED, 0) => self.permits_sack = true,
            (option::TIMESTAMPS, 8) => self.timestamps = u32_at(value, 0).zip(u32_at(value, 4)),
            (option::SACK, n) if n % 8 == 0 && n <= 32 => {
                self.sacks = 0;
                for block in value.chunks_exact(8) {
                    if let Some(edges) = u32_at(block, 0).zip(u32_at(block, 4)) {
                        self.sack[usize::from(self.sacks)] = edges;
                        self.sacks += 1;
                    }
                }
            }
            (option::MULTIPATH, _) => self.multipath = true,
            _ => {}
        }
    }
}
