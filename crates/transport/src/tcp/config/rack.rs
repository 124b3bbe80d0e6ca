//! Options of RACK-TLP (RFC 8985): reordering, tail loss probe.

use super::*;

/// Options of RACK and the tail loss probe.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RackConfig {
    /// Definition of reordering.
    pub order: RackOrder,
    /// Which transmission the ACK of a retransmitted segment is attributed to.
    pub copy: RackCopy,
    /// Retransmission of the oldest segment restarts the retransmission timer.
    pub restart: bool,
    /// A DSACK widens the reordering window only after reordering was seen.
    pub widen_reordered: bool,
    /// A new recovery starts where one ends while a retransmission is unacknowledged.
    pub again: bool,
    /// Tail loss probe.
    pub tail_loss_probe: bool,
    /// Upper bound of the probe timeout.
    pub probe_until: ProbeUntil,
    /// Allowance for the peer's delayed ACK in the probe timeout of a single segment.
    pub probe_ack_delay: Span,
}

impl Default for RackConfig {
    /// RFC 8985, with the tail loss probe.
    fn default() -> Self {
        RackConfig {
            order: RackOrder::Any,
            copy: RackCopy::Echo,
            restart: false,
            widen_reordered: false,
            again: false,
            tail_loss_probe: true,
            probe_until: ProbeUntil::Timer,
            probe_ack_delay: Span::from_millis(200),
        }
    }
}
