//! Facts carried by an ACK, computed once.
//!
//! Every fact, computed once, before anyone judges.

use base::tcp::Block;
use base::{Span, Time};

/// The facts of one acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckDigest {
    /// When it arrived.
    pub now: Time,
    /// Next byte the receiver expects.
    pub ack: u64,
    /// Bytes it acknowledges for the first time.
    pub newly_acked: u64,
    /// Bytes it delivers: newly acknowledged or reported, and not reported before.
    pub delivered: u64,
    /// Older than the last one: says nothing.
    pub old: bool,
    /// Repeats the last one while data are outstanding (RFC 5681 section 2).
    pub duplicate: bool,
    /// Its SACK blocks told something new.
    pub sack_news: bool,
    /// Its first SACK block reports a duplicate (RFC 2883).
    pub dsack: bool,
    /// What was received twice, if it says so.
    pub twice: Option<Block>,
    /// One past the highest byte that its SACK blocks report as received once; 0 if there are none.
    pub sacked_up_to: u64,
    /// The receiver's answer is to a segment with the retransmit flag.
    pub resent_echo: bool,
    /// The timestamp it echoes.
    pub echo: Option<Time>,
    /// The round trip it measured.
    pub sample: Option<Span>,
    /// ECN-Echo is set.
    pub ece: bool,
}
