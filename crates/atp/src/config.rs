//! Choices and counters of an ATP endpoint: lifetimes, congestion control, acknowledgements, initiating end.

use crate::control::Method;
use crate::packet::Carrier;
use base::Span;
use transport::tcp::config::{Estimator, RtoConfig};

base::named! {
    /// Lifetime of a fragment in the network (paper III.B, IV.B, III.C).
    pub enum FragmentLife {
        /// The retransmission timeout: after it, nothing of the original is left.
        Rto = "rto",
        /// The retransmission timeout plus one round trip.
        RtoAndRtt = "rto-and-rtt",
        /// The unit's lifetime: there is no time for a retransmission.
        Adu = "adu",
        /// No limit: packets carry no deadline to routers.
        Always = "always",
    }
}

/// Configuration of one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What carries the packets.
    pub carrier: Carrier,
    /// Most bytes of a unit in one fragment.
    pub payload: u32,
    /// Lifetime of units for which the application sets none; none: no limit.
    pub lifetime: Option<Span>,
    /// Lifetime of fragments.
    pub fragment: FragmentLife,
    /// Lost fragments are retransmitted (paper V.D, mode 2).
    pub retransmit: bool,
    /// Congestion control.
    pub control: Method,
    /// Share of a window that several flows hold, relative to the others'.
    pub weight: u32,
    /// Bandwidth of the RTP session, octets/s, of which RTCP reports use 5 %.
    pub bandwidth: f64,
    /// Fragments per acknowledgement.
    pub ack_every: u32,
    /// Longest delay of an acknowledgement.
    pub ack_delay: Span,
    /// Lifetime of acknowledgements beyond the round trip; none: no limit.
    pub ack_lifetime: Option<Span>,
    /// Units are abandoned as soon as they cannot arrive in time.
    pub feasibility: bool,
    /// Packets that routers report as expired are no sign of congestion.
    pub exp_forgives: bool,
    /// Packets declare an ECN-capable transport.
    pub ecn: bool,
    /// The receiver requests data before any is sent.
    pub receiver_initiated: bool,
    /// Time after which the receiver abandons a unit; none: it waits until the deadline.
    pub receiver_patience: Option<Span>,
    /// The receiver's port is unbound after this.
    pub unbinds: Option<Span>,
    /// Lifetime that the receiver sets.
    pub receiver_lifetime: Option<Span>,
    /// A connection is opened and closed around the units.
    pub connect: bool,
    /// Reassembly buffer of the receiver, bytes.
    pub buffer: u64,
    /// Bytes per second that the receiver can process; none: any rate.
    pub processes: Option<u64>,
    /// Bytes of the payload that the checksum covers; `u32::MAX`: all.
    pub coverage: u32,
    /// One unit in this many is important (class 0), the others are of class 1; 0: all are important.
    pub important_every: u32,
    /// Bytes of the IP option that carries the deadline.
    pub option: u32,
    /// The retransmission timer.
    pub rto: RtoConfig,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            carrier: Carrier::Udp,
            payload: 640,
            lifetime: None,
            fragment: FragmentLife::Rto,
            retransmit: true,
            control: Method::Aimd,
            weight: 1,
            bandwidth: 8000.0,
            ack_every: 2,
            ack_delay: Span::from_millis(500),
            ack_lifetime: None,
            feasibility: true,
            exp_forgives: true,
            ecn: false,
            receiver_initiated: false,
            receiver_patience: None,
            unbinds: None,
            receiver_lifetime: None,
            connect: false,
            buffer: 1 << 20,
            processes: None,
            coverage: u32::MAX,
            important_every: 0,
            option: 8,
            // The first timeout of the paper's time (RFC 2988 section 2.1): fragments live for it.
            rto: RtoConfig { initial: Span::from_secs(3), ..transport::tcp::Config::default().rto },
        }
    }
}

impl Config {
    /// The timer of the Eifel study in place of the standard one.
    pub fn use_eifel_timer(&mut self) {
        self.rto.estimator = Estimator::Eifel;
    }
}

/// Counters of one endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Fragments sent, retransmissions included.
    pub sent: u64,
    /// Fragments retransmitted.
    pub resent: u64,
    /// Fragments that arrived, each once.
    pub received: u64,
    /// Fragments that arrived after the deadline of their unit.
    pub late: u64,
    /// Duplicate fragments received.
    pub duplicates: u64,
    /// Units that arrived whole, in time or late.
    pub whole: u64,
    /// Units that arrived whole in time.
    pub in_time: u64,
    /// Units refused or given up because they could not arrive in time.
    pub infeasible: u64,
    /// Units whose lifetime expired.
    pub expired: u64,
    /// Notices of congestion to the application (cng).
    pub congestion: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Reductions of the congestion window.
    pub reductions: u64,
}
