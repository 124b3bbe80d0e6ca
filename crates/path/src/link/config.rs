//! Configuration of a link: rate, delay, queue limit, gates.

use crate::capacity::Capacity;
use crate::gate::Gate;
use base::{Span, Time};

/// Configuration of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Rate over time.
    pub capacity: Capacity,
    /// One-way propagation; transmission time is extra.
    pub delay: Span,
    /// Queue limit.
    pub limit: QueueLimit,
}

/// Limit of the backlog beside the packet in service, and the drop policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueLimit {
    /// Maximum backlog, packets.
    pub packets: Option<u32>,
    /// Maximum backlog, bytes.
    pub bytes: Option<u64>,
    /// Drops the oldest waiting packet (drop-head, QM-02) instead of the newest (drop-tail, QM-01).
    pub drop_head: bool,
}

/// Gate behind the queue, with its treatment of packets while it is closed.
#[derive(Clone, Debug)]
pub struct LinkGate {
    /// Closed intervals.
    pub gate: Gate,
    /// Packets wait at the closed gate, and block the queue; otherwise they are dropped.
    pub stores: bool,
}

impl LinkGate {
    /// Time at which a packet that arrives at `t` has passed all gates, or at which one of them drops it.
    pub(crate) fn pass(gates: &mut [LinkGate], now: Time, t: Time) -> Result<Time, Time> {
        let mut start = t;
        // One gate may close before another opens: repeat until all are open at once.
        loop {
            let before = start;
            for LinkGate { gate, stores } in &mut *gates {
                let open = gate.open_from(now, start);
                if open > start && !*stores {
                    return Err(start);
                }
                start = open;
            }
            if start == before || gates.len() == 1 {
                return Ok(start);
            }
        }
    }
}
