//! TCP segment of the model, without wire format: sequence numbers, flags, SACK blocks, timestamps.
//!
//! Sequence numbers are 64-bit stream offsets (32-bit numbers that wrap exist only where bytes are read or
//! written), and timestamps are times.

use crate::time::Time;

/// Maximum SACK blocks per segment: 4 without timestamps, 3 with (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// The half-open byte range `[left, right)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// First byte.
    pub left: u64,
    /// One past the last byte.
    pub right: u64,
}

/// SACK blocks in the order of the option: the first reports the segment that caused the ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    len: u8,
    blocks: [Block; MAX_SACK_BLOCKS],
}

impl SackBlocks {
    /// Adds a block; ignored if the option is full.
    pub fn push(&mut self, left: u64, right: u64) {
        if usize::from(self.len) < MAX_SACK_BLOCKS {
            self.blocks[usize::from(self.len)] = Block { left, right };
            self.len += 1;
        }
    }
    /// SACK blocks in order.
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks[..usize::from(self.len)]
    }
    /// True if the option is absent.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The timestamps option (RFC 7323 section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// TSval: the sender's clock at transmission.
    pub value: Time,
    /// TSecr: the echoed TSval.
    pub echo: Time,
}

/// One TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// Sequence number of the first byte; a SYN occupies offset 0, data starts at 1.
    pub seq: u64,
    /// Next byte expected from the peer; meaningful if `has_ack`.
    pub ack: u64,
    /// Bytes of data.
    pub len: u32,
    /// Receive window in bytes, already scaled.
    pub window: u32,
    /// ACK flag.
    pub has_ack: bool,
    /// SYN flag.
    pub syn: bool,
    /// FIN flag.
    pub fin: bool,
    /// RST flag.
    pub rst: bool,
    /// PSH flag: the sender has no more data for now (RFC 9293 section 3.9.1.2).
    pub push: bool,
    /// ECN-Echo (RFC 3168).
    pub ece: bool,
    /// Congestion window reduced (RFC 3168).
    pub cwr: bool,
    /// Retransmit flag, a proposal (Ludwig and Katz 2000 section 2): these data are a retransmission.
    pub resent: bool,
    /// Echo of the retransmit flag of the segment that caused this ACK.
    pub resent_echo: bool,
    /// SACK blocks (RFC 2018), a D-SACK block first (RFC 2883).
    pub sack: SackBlocks,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
}

impl Segment {
    /// One past the last sequence number the segment occupies: data, SYN and FIN count.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.syn) + u64::from(self.fin)
    }
}
