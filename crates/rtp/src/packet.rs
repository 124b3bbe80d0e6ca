//! RTP data packets and RTCP compound packets (RFC 3550 sections 5.1 and 6) as bodies of the network.

use base::Time;
use base::body::{Body, Channel, Range};
use base::packet::Flags;
use base::truth::Cause;

/// Octets of the fixed RTP header, without contributing sources.
pub const HEADER: u32 = 12;
/// Octets of IPv4 and UDP headers.
pub const BELOW: u32 = 28;

/// Sender information of a report (RFC 3550 section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// NTP timestamp: seconds since 1900 and their fraction.
    pub ntp: u64,
    /// RTP timestamp of the same instant.
    pub timestamp: u32,
    /// Data packets sent.
    pub packets: u32,
    /// Payload octets sent.
    pub octets: u32,
}

/// Report block about one source (RFC 3550 section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Source.
    pub ssrc: u32,
    /// Share of packets lost since the last report, in 1/256.
    pub fraction: u8,
    /// Packets lost since the beginning, 24 bits with sign; duplicates make it smaller.
    pub lost: i32,
    /// Extended highest sequence number received.
    pub highest: u32,
    /// Interarrival jitter, ticks.
    pub jitter: u32,
    /// Middle 32 bits of the NTP timestamp of the last sender report; 0: there was none.
    pub last_report: u32,
    /// Delay since the arrival of that sender report, in 1/65536 s.
    pub since_last_report: u32,
}

/// Compound RTCP packet: a report, then CNAME, and BYE where the source leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compound {
    /// Source of the packet.
    pub ssrc: u32,
    /// Sender information; without it the report is a receiver report.
    pub sender: Option<SenderInfo>,
    /// Report blocks; at most 31.
    pub blocks: Vec<Block>,
    /// CNAME item of the source description; empty: none.
    pub cname: String,
    /// The source leaves.
    pub bye: bool,
}

impl Compound {
    /// Octets of RTCP.
    pub fn len(&self) -> u32 {
        let report = 8 + if self.sender.is_some() { 20 } else { 0 } + 24 * self.blocks.len() as u32;
        // Header, source, item header, text, at least one zero octet, padded to 32 bits (RFC 3550 section 6.5).
        let description = if self.cname.is_empty() { 0 } else { 4 + chunk(self.cname.len() as u32) };
        report + description + if self.bye { 8 } else { 0 }
    }
    /// Never: a compound packet begins with a report.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// Octets of a source description chunk with a text of this length.
pub(crate) fn chunk(text: u32) -> u32 {
    (4 + 2 + text + 1).next_multiple_of(4)
}

/// Content of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// RTP data.
    Data {
        /// Extended sequence number; the wire has its low 16 bits.
        seq: u64,
        /// Timestamp of the frame.
        timestamp: u32,
        /// Marker bit.
        marker: bool,
        /// Payload type.
        payload_type: u8,
        /// Octets of the payload header.
        header: u32,
        /// Octets of media.
        bytes: u32,
        /// Number of the frame, from 0; its packets; its length.
        frame: (u64, u32, u64),
        /// Number of the packet within the frame.
        part: u32,
        /// First octet of the packet in the flow, for the ledger.
        offset: u64,
    },
    /// RTCP.
    Control(Compound),
}

/// A packet of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rtp {
    /// Source.
    pub ssrc: u32,
    /// Content.
    pub content: Content,
    /// Playout deadline of the frame.
    pub deadline: Time,
}

impl Rtp {
    /// Octets with IPv4 and UDP headers.
    pub fn size(&self) -> u32 {
        BELOW
            + match &self.content {
                Content::Data { header, bytes, .. } => HEADER + header + bytes,
                Content::Control(compound) => compound.len(),
            }
    }
}

impl Body for Rtp {
    fn flags(&self) -> Flags {
        match &self.content {
            Content::Data { frame: (_, parts, _), part, .. } => {
                let flags = Flags::DATA.with(Flags::WHOLE);
                if part + 1 == *parts { flags.with(Flags::LAST) } else { flags }
            }
            Content::Control(_) => Flags::ACK,
        }
    }
    fn ranges(&self, cause: Cause, mut each: impl FnMut(Range)) {
        if let Content::Data { offset, bytes, .. } = self.content {
            each(Range { channel: Channel(0), from: offset, to: offset + u64::from(bytes), cause });
        }
    }
    fn acks(&self, _each: impl FnMut(Channel, u64)) {}
    fn unit(&self) -> u16 {
        match self.content {
            Content::Data { frame: (frame, ..), .. } => (frame % 65_535) as u16 + 1,
            Content::Control(_) => 0,
        }
    }
    fn encode(&self, out: &mut Vec<u8>) -> Option<u8> {
        crate::wire::datagram(self, out);
        Some(base::wire::UDP)
    }
}
