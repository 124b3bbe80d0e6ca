//! Congestion control of a half-connection: CCID 2 (RFC 4341) or CCID 3 (RFC 4342), sending and receiving half.

pub mod ccid2;
pub mod ccid3;

use crate::ackvec::{AckVector, Received};
use crate::packet::{Dccp, Opt};
use base::{Span, Time};
use ccid2::Ccid2;
use ccid3::{Ccid3, Reporter};

base::named! {
    /// Congestion control identifier.
    pub enum Ccid {
        /// TCP-like: a window in packets (RFC 4341).
        Tcplike = "2" | "tcp-like",
        /// TFRC: an equation-based rate (RFC 4342).
        Tfrc = "3" | "tfrc",
    }
}

base::named! {
    /// Behaviour of CCID 3 where Linux departs from the RFCs.
    pub enum Rules {
        /// RFC 4342 and RFC 5348.
        Rfc = "rfc",
        /// Linux 6.12. The sender does not raise its window counter after an acknowledgement, and a round trip counts as 3 s at
        /// most. The receiver reports by the window counter, samples the round trip once in each and until the first loss event,
        /// derives the first loss interval from the rate since the last report and replaces it at the second loss event.
        Linux = "linux",
    }
}

impl Ccid {
    /// Its number on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Ccid::Tcplike => 2,
            Ccid::Tfrc => 3,
        }
    }
    /// The CCID with this number; none if unknown.
    pub const fn of(number: u8) -> Option<Self> {
        match number {
            2 => Some(Ccid::Tcplike),
            3 => Some(Ccid::Tfrc),
            _ => None,
        }
    }
}

/// Fate of a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fate {
    /// Its sequence number.
    pub seq: u64,
    /// It arrived; otherwise it counts as lost.
    pub arrived: bool,
}

/// The sending half.
#[derive(Clone, Debug)]
pub enum Sending {
    /// CCID 2.
    Tcplike(Box<Ccid2>),
    /// CCID 3.
    Tfrc(Box<Ccid3>),
}

impl Sending {
    /// Earliest time of the next data packet; [`Time::NEVER`] while the window is full.
    pub fn next_send(&self) -> Time {
        match self {
            Sending::Tcplike(c) => c.next_send(),
            Sending::Tfrc(c) => c.next_send(),
        }
    }
    /// The round trip of the handshake.
    pub fn seed(&mut self, now: Time, rtt: Span) {
        match self {
            Sending::Tcplike(c) => c.seed(rtt),
            Sending::Tfrc(c) => c.seed(now, rtt),
        }
    }
    /// Records that a data packet is sent; returns its CCVal (four bits).
    pub fn on_send(&mut self, now: Time, seq: u64, bytes: u32, more_waits: bool) -> u8 {
        match self {
            Sending::Tcplike(c) => {
                c.on_send(now, seq);
                0
            }
            Sending::Tfrc(c) => c.on_send(now, seq, bytes, more_waits),
        }
    }
    /// A packet without data leaves.
    pub fn on_dataless_sent(&mut self, now: Time, seq: u64) {
        if let Sending::Tfrc(c) = self {
            c.on_dataless_sent(now, seq);
        }
    }
    /// The application has data that congestion control delays.
    pub fn on_blocked(&mut self, now: Time) {
        if let Sending::Tfrc(c) = self {
            c.on_blocked(now);
        }
    }
    /// An acknowledgement arrived. `fate` receives the fate of data packets.
    pub fn on_ack(&mut self, now: Time, packet: &Dccp, fate: impl FnMut(Fate)) {
        match self {
            Sending::Tcplike(c) => c.on_ack(now, packet, fate),
            Sending::Tfrc(c) => c.on_ack(now, packet, fate),
        }
    }
    /// Expiry time of the retransmission or nofeedback timer.
    pub fn next_timeout(&self) -> Time {
        match self {
            Sending::Tcplike(c) => c.next_timeout(),
            Sending::Tfrc(c) => c.next_timeout(),
        }
    }
    /// Its timer expired.
    pub fn on_timeout(&mut self, now: Time) {
        match self {
            Sending::Tcplike(c) => c.on_timeout(now),
            Sending::Tfrc(c) => c.on_timeout(now),
        }
    }
    /// Retransmission timeout of an equivalent TCP; none before a round trip is known.
    pub fn rto(&self) -> Option<Span> {
        match self {
            Sending::Tcplike(c) => c.rto(),
            Sending::Tfrc(c) => c.rto(),
        }
    }
    /// Smoothed round trip; zero before the first sample.
    pub fn rtt(&self) -> Span {
        match self {
            Sending::Tcplike(c) => c.rtt(),
            Sending::Tfrc(c) => c.rtt(),
        }
    }
    /// Estimate of the rate that the path gives, bytes per second; none before it is known.
    pub fn rate(&self, size: u32) -> Option<f64> {
        match self {
            Sending::Tcplike(c) => {
                let rtt = c.rtt().as_secs_f64();
                (rtt > 0.0).then(|| c.window() * f64::from(size) / rtt)
            }
            Sending::Tfrc(c) => c.rto().map(|_| c.rate()),
        }
    }
    /// Expirations of its timer.
    pub fn expirations(&self) -> u64 {
        match self {
            Sending::Tcplike(c) => c.expirations(),
            Sending::Tfrc(c) => c.expirations(),
        }
    }
    /// Congestion events: reductions of the window, or rises of the reported loss event rate.
    pub fn congestion_events(&self) -> u64 {
        match self {
            Sending::Tcplike(c) => c.reductions(),
            Sending::Tfrc(c) => c.loss_reports(),
        }
    }
}

/// The receiving half.
#[derive(Clone, Debug)]
pub enum Receiving {
    /// CCID 2: packets per Ack Vector.
    Tcplike {
        /// Data packets per acknowledgement.
        ratio: u32,
        /// Data packets since the last acknowledgement.
        unacked: u32,
        /// Due time of a delayed ACK.
        delayed: Time,
    },
    /// CCID 3: a report once per round trip.
    Tfrc(Box<Reporter>),
}

/// Longest delay of an acknowledgement (RFC 4341 section 6.1.. as RFC 5681 section 4.2 for TCP).
const DELAYED: Span = Span::from_millis(200);

impl Receiving {
    /// The half for a congestion control.
    pub fn new(ccid: Ccid, ratio: u32, rules: Rules) -> Self {
        match ccid {
            Ccid::Tcplike => Receiving::Tcplike { ratio: ratio.max(1), unacked: 0, delayed: Time::NEVER },
            Ccid::Tfrc => Receiving::Tfrc(Box::new(Reporter::new(rules))),
        }
    }
    /// A data packet arrived; `size` in bytes on the wire without IP.
    pub fn on_data(&mut self, now: Time, packet: &Dccp, size: u32, marked: bool) {
        match self {
            Receiving::Tcplike { ratio, unacked, delayed } => {
                *unacked += 1;
                if *unacked >= *ratio {
                    *delayed = now;
                } else if delayed.is_never() {
                    *delayed = now + DELAYED;
                }
            }
            Receiving::Tfrc(reporter) => reporter.on_data(now, packet, size, marked),
        }
    }
    /// The round trip of the handshake.
    pub fn seed(&mut self, rtt: Span) {
        if let Receiving::Tfrc(reporter) = self {
            reporter.seed(rtt);
        }
    }
    /// A packet without data arrived.
    pub fn on_dataless(&mut self, now: Time, packet: &Dccp) {
        if let Receiving::Tfrc(reporter) = self {
            reporter.on_dataless(now, packet);
        }
    }
    /// Due time of an ACK.
    pub fn next_timeout(&self) -> Time {
        match self {
            Receiving::Tcplike { delayed, .. } => *delayed,
            Receiving::Tfrc(reporter) => reporter.next_timeout(),
        }
    }
    /// Options of the ACK due now; none if there is nothing to report.
    pub fn report(&mut self, now: Time, received: &Received, vectors: bool) -> Option<Vec<Opt>> {
        if self.next_timeout() > now {
            return None;
        }
        let mut options = match self {
            Receiving::Tcplike { unacked, delayed, .. } => {
                (*unacked, *delayed) = (0, Time::NEVER);
                Vec::new()
            }
            Receiving::Tfrc(reporter) => reporter.report(now)?,
        };
        if vectors || matches!(self, Receiving::Tcplike { .. }) {
            let vector: AckVector = received.vector();
            options.push(Opt::AckVector(vector));
        }
        Some(options)
    }
    /// Its round-trip estimate; zero if none.
    pub fn rtt(&self) -> Span {
        match self {
            Receiving::Tcplike { .. } => Span::ZERO,
            Receiving::Tfrc(reporter) => reporter.rtt(),
        }
    }
}
