//! Implementation faults of TCP stacks seen in a capture: kinds (`FaultKind`) with RFC and wording, occurrences with
//! their measured amount.
//!
//! Most kinds were found by studies of delay: early timers, early fast retransmits, window overruns, large first
//! flights.

use base::Time;

base::named! {
    /// Implementation fault of a TCP stack.
    pub enum FaultKind {
        /// The first flight exceeds ten segments (RFC 6928).
        InitialWindow = "initial-window",
        /// Data beyond the window offered by the receiver.
        WindowOverrun = "window-overrun",
        /// A timeout within one round trip.
        EarlyTimer = "early-timer",
        /// A repeated timeout without back-off: sooner than the previous one, without an ACK in between.
        NoBackOff = "no-back-off",
        /// A fast retransmit after fewer than three duplicate ACKs, without more SACKed data.
        EarlyFastRetransmit = "early-fast-retransmit",
        /// Duplicate ACKs after a timeout clock out old segments.
        DuplicatesClock = "duplicates-clock-retransmissions",
        /// A timeout that resends several segments at once.
        ResendsOutstanding = "timeout-resends-outstanding",
        /// An acknowledged segment was resent.
        ResendsAcknowledged = "resends-acknowledged",
    }
}

impl FaultKind {
    /// Description of the fault, for the report.
    pub const fn says(self) -> &'static str {
        match self {
            FaultKind::InitialWindow => {
                "the first flight is larger than the initial window of RFC 6928 (at most 10 segments)"
            }
            FaultKind::WindowOverrun => "data beyond the window that the receiver had offered",
            FaultKind::EarlyTimer => {
                "the retransmission timer expired before a round trip was over (RFC 6298 section 2)"
            }
            FaultKind::NoBackOff => {
                "the timer was not backed off between two expiries for one segment (RFC 6298 section 5.5)"
            }
            FaultKind::EarlyFastRetransmit => {
                "a fast retransmit after fewer than three duplicates (RFC 5681 section 3.2)"
            }
            FaultKind::DuplicatesClock => {
                "duplicate acknowledgements after a timeout triggered retransmissions of old segments (RFC 6582 \
                 section 4)"
            }
            FaultKind::ResendsOutstanding => {
                "a timeout retransmitted several segments at once (RFC 5681 section 3.1 allows one)"
            }
            FaultKind::ResendsAcknowledged => "a segment was retransmitted after it had been acknowledged",
        }
    }
}

/// One occurrence of a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// Time of the segment that shows the fault.
    pub t: Time,
    /// Kind of fault.
    pub kind: FaultKind,
    /// Amount in the unit of the kind: bytes, duplicate ACKs, timer in ns, or segments.
    pub amount: u64,
}

impl Fault {
    /// Amount with its unit, for the report.
    pub fn measured(&self) -> String {
        let n = self.amount;
        match self.kind {
            FaultKind::InitialWindow | FaultKind::WindowOverrun | FaultKind::ResendsAcknowledged => {
                format!("{n} bytes")
            }
            FaultKind::EarlyTimer | FaultKind::NoBackOff => format!("{:.3} s", n as f64 / 1e9),
            FaultKind::EarlyFastRetransmit | FaultKind::DuplicatesClock => format!("{n} duplicates"),
            FaultKind::ResendsOutstanding => format!("{n} segments"),
        }
    }
}
