//! TCP header and options (RFC 9293 section 3.1): reader of ports, numbers, flags, window, MSS, SACK blocks,
//! timestamps.
//!
//! Other options are skipped.

use super::{u16_at, u32_at};

/// TCP flag bits, as in the header.
pub mod flag {
    /// End of data.
    pub const FIN: u8 = 1;
    /// Opens a connection.
    pub const SYN: u8 = 1 << 1;
    /// Aborts a connection.
    pub const RST: u8 = 1 << 2;
    /// Push: deliver at once.
    pub const PSH: u8 = 1 << 3;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 1 << 4;
    /// The urgent pointer is valid.
    pub const URG: u8 = 1 << 5;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 1 << 6;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 1 << 7;
}

/// Option kinds.
pub mod option {
    /// End of the option list.
    pub const END: u8 = 0;
    /// Padding (no operation).
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

/// Fields of a TCP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpHead {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Next byte expected.
    pub ack: u32,
    /// Flags: see [`flag`].
    pub flags: u8,
    /// Receive window, unscaled.
    pub window: u16,
    /// Urgent pointer, relative to `seq`; valid with [`flag::URG`].
    pub urgent: u16,
    /// MSS option (RFC 9293 section 3.7.1), on a SYN.
    pub mss: Option<u16>,
    /// Window scale option (RFC 7323 section 2), on a SYN.
    pub scale: Option<u8>,
    /// TSval and TSecr (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks (RFC 2018); the first `sacks` are valid.
    pub sack: [(u32, u32); 4],
    /// Number of SACK blocks.
    pub sacks: u8,
    /// SACK-permitted option (RFC 2018), on a SYN.
    pub permits_sack: bool,
    /// Whether the header has a Multipath TCP option (RFC 8684).
    pub multipath: bool,
    /// Whether the header is truncated: options may be missing.
    pub cut: bool,
    /// Whether an option has an invalid length; later options were not read.
    pub odd: bool,
}

impl TcpHead {
    /// Reads the head of a segment; returns its fields and the header length. `None` with fewer than 20
    /// bytes, or with a stated length below 20.
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

    /// Whether any of the flags in `flags` is set.
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
    /// SACK blocks in order.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sacks).min(4)]
    }

    /// Reads the known options; stops at the first invalid one.
    fn read_options(&mut self, mut options: &[u8]) {
        // The most common case: two NOP options and timestamps only.
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
            // A truncated option is not invalid.
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
