//! Digest of one ACK ([`AckDigest`]): bytes acknowledged and delivered, duplicate ACK, SACK and DSACK, RTT sample, ECE.

use base::tcp::Block;
use base::{Span, Time};

/// Properties of one ACK, computed before recovery, detector and congestion control process it.
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
    /// A SACK block reports data not SACKed before.
    pub sack_news: bool,
    /// The first SACK block is a DSACK (RFC 2883).
    pub dsack: bool,
    /// Range received twice, as the DSACK reports it.
    pub twice: Option<Block>,
    /// One past the highest SACKed byte, the DSACK excluded; 0 without SACK blocks.
    pub sacked_up_to: u64,
    /// The ACK echoes the retransmit flag of a received segment.
    pub resent_echo: bool,
    /// Echoed timestamp.
    pub echo: Option<Time>,
    /// RTT sample.
    pub sample: Option<Span>,
    /// ECN-Echo is set.
    pub ece: bool,
}
