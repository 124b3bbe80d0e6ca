//! Options of connection establishment: handshake, lost SYN, give-up time.

use super::*;

/// Options of connection establishment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OpeningConfig {
    /// Connection opening.
    pub handshake: Handshake,
    /// How the active end acknowledges the peer's SYN.
    pub ack: HandshakeAck,
    /// Initial window after a retransmitted SYN.
    pub lost_syn: LostSyn,
    /// R2 for the SYN.
    pub give_up: Span,
}

impl Default for OpeningConfig {
    /// Two-way handshake; a lost SYN reduces the initial window (RFC 5681 section 3.1).
    fn default() -> Self {
        OpeningConfig {
            handshake: Handshake::TwoWay,
            ack: HandshakeAck::WithData,
            lost_syn: LostSyn::Rfc5681,
            give_up: Span::default(),
        }
    }
}
