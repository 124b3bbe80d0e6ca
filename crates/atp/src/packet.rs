//! ATP packets: the header of the paper's figure 2, acknowledgements with a SACK vector, requests and aborts.
//!
//! Fields the paper leaves open are chosen here: deadlines are milliseconds after the start of the run modulo 2^32, the
//! congestion-control row holds the packet number and the round trip (data) or the echo of the data packet (ACK).

use base::body::{Body, Channel, Range};
use base::packet::Flags;
use base::truth::Cause;
use base::wire::checksum::Sum;
use base::{Span, Time};
use dccp::tfrc::Feedback;
use rtp::Compound;

base::named! {
    /// What carries ATP's packets (paper section III.E).
    pub enum Carrier {
        /// UDP: ports and checksum.
        Udp = "udp",
        /// DCCP: its congestion control and Ack Vectors.
        Dccp = "dccp",
        /// RTP over DCCP: SR-RTP with the congestion control of DCCP.
        RtpDccp = "rtp-dccp",
        /// RTP with selective retransmission, RTCP for acknowledgements (SR-RTP).
        Rtp = "rtp",
        /// TCP: a connection for each unit.
        Tcp = "tcp",
    }
}

/// Which fragments of a unit arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vector {
    bits: Vec<u64>,
    len: u32,
}

impl Vector {
    /// A vector of `len` fragments, none of which arrived.
    pub fn new(len: u32) -> Self {
        Vector { bits: vec![0; len.div_ceil(64) as usize], len }
    }
    /// Fragment `n` arrived; true if that is new.
    pub fn set(&mut self, n: u32) -> bool {
        if n >= self.len {
            return false;
        }
        let (word, bit) = (n as usize / 64, 1_u64 << (n % 64));
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        new
    }
    /// Whether fragment `n` arrived.
    pub fn has(&self, n: u32) -> bool {
        n < self.len && self.bits[n as usize / 64] & (1 << (n % 64)) != 0
    }
    /// Number of words of 64 fragments.
    pub(crate) fn words_64(&self) -> usize {
        self.bits.len()
    }
    /// Word `n` of 64 fragments, the first in the lowest bit; zero beyond the end.
    pub(crate) fn word_64(&self, n: usize) -> u64 {
        self.bits.get(n).copied().unwrap_or(0)
    }
    /// Number of fragments covered by the vector.
    pub fn len(&self) -> u32 {
        self.len
    }
    /// True if the vector covers no fragment.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Fragments that arrived.
    pub fn count(&self) -> u32 {
        self.bits.iter().map(|w| w.count_ones()).sum()
    }
    /// All have arrived.
    pub fn is_full(&self) -> bool {
        self.count() == self.len
    }
    /// Whole 32-bit words of the header that it takes.
    pub fn words(&self) -> u32 {
        self.len.div_ceil(32)
    }
}

/// Purpose of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A fragment of a unit.
    Fragment {
        /// Its number within the unit.
        number: u32,
        /// Its bytes.
        bytes: u32,
        /// Number of this transmission.
        tx: u64,
        /// When it was sent, by the sender's clock.
        sent: Time,
        /// The sender's round trip; zero if unknown.
        rtt: Span,
        /// It was sent before.
        again: Cause,
        /// First byte of the fragment in the flow, for the ledger.
        offset: u64,
    },
    /// Which fragments of a unit arrived.
    Ack {
        /// The SACK vector.
        vector: Vector,
        /// The transmission that it answers, when that was sent, and how long the answer was held.
        echo: (u64, Time, Span),
        /// The receiver requests a lower rate: an ECN mark, or its own load.
        congested: bool,
        /// A router reported expired packets before the one acknowledged.
        expired: bool,
        /// The report of TFRC, if it is used.
        report: Option<Feedback>,
        /// The deadline that the receiver wants for the unit.
        deadline: Option<Time>,
    },
    /// The receiver requests a unit with its lifetime.
    Request {
        /// Lifetime of the unit, if the receiver sets it.
        lifetime: Option<Span>,
    },
    /// The unit is abandoned: all its fragments may be discarded.
    Abort,
    /// Opens a connection, or acknowledges the opening.
    Syn,
    /// Closes the connection, or acknowledges the close.
    Fin,
    /// An RTCP report beside the acknowledgements (RFC 3550 section 6).
    Report(Compound),
    /// Nothing listens at the port (ICMP).
    Unreachable,
}

/// A packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Atp {
    /// Number of the unit, from 0.
    pub adu: u64,
    /// Length of the unit, bytes.
    pub length: u64,
    /// Fragments of the unit.
    pub fragments: u32,
    /// Expiry time of the unit; [`Time::NEVER`]: it does not expire.
    pub deadline: Time,
    /// Purpose.
    pub content: Content,
    /// An answer: SYN-ACK, FIN-ACK, ABR of a receiver.
    pub answer: bool,
    /// The sender retransmits nothing of the unit.
    pub whole: bool,
    /// Importance, 0 the highest.
    pub class: u8,
    /// Bytes of the payload that the checksum covers.
    pub coverage: u32,
    /// Transport below ATP that carries the packet.
    pub carrier: Carrier,
    /// Source and timestamp in RTP and RTCP headers.
    pub rtp: (u32, u32),
}

/// Bytes of the fixed header: flags and checksum, unit, its length and deadline, fragment, two words for congestion control.
pub const HEADER: u32 = 28;

impl Carrier {
    /// Bytes of the headers below ATP, IP included; over DCCP those within the datagram, for the connection adds its own.
    pub const fn header(self) -> u32 {
        match self {
            Carrier::Udp => 28,
            Carrier::Dccp => 0,
            Carrier::RtpDccp => 12,
            Carrier::Rtp => 40,
            Carrier::Tcp => 40,
        }
    }
    /// Its packets are datagrams of a DCCP connection.
    pub const fn is_dccp(self) -> bool {
        matches!(self, Carrier::Dccp | Carrier::RtpDccp)
    }
    /// It puts RTP or RTCP headers around ATP.
    pub const fn is_rtp(self) -> bool {
        matches!(self, Carrier::Rtp | Carrier::RtpDccp)
    }
}

impl Atp {
    /// Bytes on the wire; `option` of them are the deadline's in the IP header.
    pub fn size(&self, option: u32) -> u32 {
        let own = match &self.content {
            Content::Fragment { bytes, .. } => HEADER + bytes,
            Content::Ack { vector, report, .. } => {
                HEADER + 4 * vector.words() + if report.is_some() { 8 } else { 0 }
            }
            Content::Report(compound) => return self.carrier.header() - rtp::packet::HEADER + compound.len(),
            Content::Unreachable => 28,
            _ => HEADER,
        };
        own + self.carrier.header() + option
    }
}

impl Body for Atp {
    fn flags(&self) -> Flags {
        let when = |flag: Flags, on: bool| if on { flag } else { Flags::default() };
        match &self.content {
            Content::Fragment { number, .. } => Flags::DATA
                .with(when(Flags::LAST, number + 1 == self.fragments))
                .with(when(Flags::WHOLE, self.whole)),
            Content::Ack { .. } | Content::Report(_) => Flags::ACK,
            Content::Abort => Flags::ABORT,
            Content::Syn => Flags::SYN,
            Content::Fin => Flags::FIN,
            Content::Request { .. } | Content::Unreachable => Flags::default(),
        }
    }
    fn ranges(&self, _cause: Cause, mut each: impl FnMut(Range)) {
        if let Content::Fragment { bytes, again, offset, .. } = self.content {
            each(Range {
                channel: Channel(0),
                from: offset,
                to: offset.saturating_add(u64::from(bytes)),
                cause: again,
            });
        }
    }
    fn acks(&self, _each: impl FnMut(Channel, u64)) {}
    fn unit(&self) -> u16 {
        match self.content {
            Content::Fragment { .. } | Content::Abort => (self.adu % 65_535) as u16 + 1,
            _ => 0,
        }
    }
    fn class(&self) -> u8 {
        self.class
    }
    fn encode(&self, out: &mut Vec<u8>) -> Option<u8> {
        crate::wire::write(self, out);
        Some(base::wire::UDP)
    }
}

/// The checksum over header and covered payload.
pub(crate) fn checksum(bytes: &[u8], covered: usize) -> u16 {
    Sum::ZERO.and(&bytes[..covered.min(bytes.len())]).finish()
}
