//! Facts carried by an ACK, computed once.

use base::tcp::Block;
use base::{Span, Time};

/// Facts of one ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckDigest {
    /// Arrival time.
    pub now: Time,
    /// Next byte the receiver expects.
    pub ack: u64,
    /// Bytes newly acknowledged.
    pub newly_acked: u64,
    /// Bytes newly delivered: acknowledged or SACKed for the first time.
    pub delivered: u64,
    /// Below SND.UNA: carries no new cumulative information.
    pub old: bool,
    /// Duplicate ACK (RFC 5681 section 2).
    pub duplicate: bool,
    /// Its SACK blocks contain new information.
    pub sack_news: bool,
    /// Its first SACK block is a DSACK (RFC 2883).
    pub dsack: bool,
    /// Range reported by the DSACK, if there is one.
    pub twice: Option<Block>,
    /// One past the highest SACKed byte, the DSACK excluded; 0 without SACK blocks.
    pub sacked_up_to: u64,
    /// The receiver answers a segment with the retransmit flag.
    pub resent_echo: bool,
    /// Echoed timestamp.
    pub echo: Option<Time>,
    /// RTT sample.
    pub sample: Option<Span>,
    /// ECN-Echo is set.
    pub ece: bool,
}
