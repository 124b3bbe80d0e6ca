//! Policy of a deadline-aware router queue: deadline check and margin, treatment of expired packets and of data units,
//! order, overflow, clock skew.

use base::packet::Packet;
use base::{Span, Time};

base::named! {
    /// Deadline checks (catalogue AT-21).
    pub enum Check {
        /// Off: the router ignores deadlines.
        Off = "off",
        /// The packet selected for transmission is checked, before it starts.
        Head = "head",
        /// All waiting packets are checked, at each arrival and departure.
        Queue = "queue",
    }
}

base::named! {
    /// Treatment of packets that cannot arrive before their deadline.
    pub enum Expired {
        /// Dropped.
        Drop = "drop",
        /// Sent when no other packet waits (catalogue AT-23).
        Demote = "demote",
        /// Only their headers are sent (catalogue AT-27).
        Headers = "headers",
    }
}

base::named! {
    /// Order of transmission.
    pub enum Order {
        /// First in, first out.
        Fifo = "fifo",
        /// Earliest deadline first (catalogue AT-26).
        EarliestDeadline = "earliest-deadline",
        /// Lowest class number first, FIFO within a class.
        Priority = "priority",
    }
}

base::named! {
    /// Treatment of application data units (ADUs).
    pub enum Units {
        /// Packets are treated independently.
        Ignore = "ignore",
        /// After the drop of one packet the other packets of its unit are dropped, unless the sender retransmits
        /// (catalogue AT-24).
        Drop = "drop",
        /// No packet of a unit is sent before its last packet has arrived (catalogue AT-25).
        Collect = "collect",
    }
}

base::named! {
    /// Drop policy of a full queue: the packet that is dropped.
    pub enum Overflow {
    /// The arriving packet.
        Tail = "tail",
        /// The newest packet of the highest class number, if that exceeds the arriving packet's (catalogue
        /// AT-40).
        LeastImportant = "least-important",
    }
}

/// Time from this router to a destination: propagation and transmission on the remaining path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RemainingPath {
    /// Propagation of all links ahead, this one included.
    pub delay: Span,
    /// Transmission time on all these links, nanoseconds per byte.
    pub per_byte_ns: f64,
}

/// Remaining lifetime below which a packet counts as expired.
#[derive(Clone, Debug, PartialEq)]
pub enum Margin {
    /// A fixed estimate of the one-way latency (the paper's FixTtl).
    Fixed(Span),
    /// Minimum time for the remaining hops (catalogue AT-22), by [`Packet::ledger`].
    Path(Vec<RemainingPath>),
}

impl Margin {
    /// Remaining lifetime below which `packet` counts as expired.
    pub(super) fn of(&self, packet: &Packet) -> Span {
        match self {
            Margin::Fixed(span) => *span,
            Margin::Path(rests) => {
                let rest = rests.get(packet.ledger()).copied().unwrap_or_default();
                rest.delay + Span::from_nanos((rest.per_byte_ns * f64::from(packet.size)) as u64)
            }
        }
    }
}

/// Policy of one deadline-aware queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Check of deadlines.
    pub check: Check,
    /// Remaining lifetime below which a packet counts as expired.
    pub margin: Margin,
    /// Treatment of expired packets.
    pub expired: Expired,
    /// Size of the headers that are sent for an expired packet ([`Expired::Headers`]), bytes.
    pub header: u32,
    /// Order of transmission.
    pub order: Order,
    /// Treatment of data units.
    pub units: Units,
    /// Drop policy of a full queue.
    pub overflow: Overflow,
    /// Router's clock minus the senders' clocks, nanoseconds (catalogue AT-28).
    pub skew: i64,
    /// Whether the next packet of a flow after an expired one carries the EXP bit (catalogue AT-12).
    pub signals: bool,
    /// Rate of the link below which packets wait for a higher one as long as their deadlines allow (catalogue
    /// AT-37), bit/s; 0: packets never wait.
    pub hold_below_bps: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            check: Check::Queue,
            margin: Margin::Fixed(Span::ZERO),
            expired: Expired::Drop,
            header: 40,
            order: Order::Fifo,
            units: Units::Ignore,
            overflow: Overflow::Tail,
            skew: 0,
            signals: false,
            hold_below_bps: 0,
        }
    }
}

impl Policy {
    /// Latest simulation time at which `packet` has not expired; [`Time::NEVER`] without a deadline or check.
    pub(super) fn latest(&self, packet: &Packet) -> Time {
        let deadline = packet.deadline();
        if deadline.is_never() || self.check == Check::Off {
            return Time::NEVER;
        }
        // A clock that is ahead reaches the deadline earlier.
        let seen = i128::from(deadline.as_nanos()) - i128::from(self.skew);
        let latest = seen - i128::from(self.margin.of(packet).as_nanos());
        Time::from_nanos(u64::try_from(latest.max(0)).unwrap_or(u64::MAX - 1))
    }

    /// Whether `packet` has expired at `now` by this router's clock.
    pub(super) fn is_expired(&self, packet: &Packet, now: Time) -> bool {
        let deadline = packet.deadline();
        if deadline.is_never() || self.check == Check::Off {
            return false;
        }
        let clock = i128::from(now.as_nanos()) + i128::from(self.skew);
        clock + i128::from(self.margin.of(packet).as_nanos()) > i128::from(deadline.as_nanos())
    }
}
