//! Observation of one captured segment: capture time, addresses and header fields.
//!
//! All numbers are as on the wire, unverified.

use base::Time;
use base::wire::TcpHead;
use std::net::IpAddr;

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Endpoint {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.address {
            IpAddr::V4(a) => write!(f, "{a}:{}", self.port),
            IpAddr::V6(a) => write!(f, "[{a}]:{}", self.port),
        }
    }
}

/// One TCP segment that was seen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observation {
    /// When.
    pub t: Time,
    /// On which interface of the capture.
    pub interface: u32,
    /// From which address.
    pub source: IpAddr,
    /// To which.
    pub destination: IpAddr,
    /// The identification of its IP packet, if it has one (version 4).
    pub id: Option<u16>,
    /// Bytes of the IP packet, all headers counted.
    pub size: u32,
    /// Bytes of data, by the length that the header tells: a capture may hold fewer.
    pub payload: u32,
    /// The ECN codepoint (RFC 3168 section 5).
    pub ecn: u8,
    /// Time to live, or hop limit (version 6).
    pub ttl: u8,
    /// What its TCP header says.
    pub head: TcpHead,
}

impl Observation {
    /// What a frame of a capture shows, if it carries a TCP segment.
    #[inline]
    pub fn of(frame: &capture::Frame<'_>) -> Option<Observation> {
        let packet = frame.decode().ok()?;
        let head = *packet.tcp()?;
        let ip = &packet.ip;
        Some(Observation {
            t: Time::from_nanos(u64::try_from(frame.time_ns).unwrap_or(0)),
            interface: frame.interface,
            source: ip.source,
            destination: ip.destination,
            id: ip.id.filter(|_| ip.version == 4).map(|id| id as u16),
            size: ip.size,
            payload: packet.payload_len,
            ecn: ip.ecn,
            ttl: ip.ttl,
            head,
        })
    }

    /// Who sent it.
    pub fn from(&self) -> Endpoint {
        Endpoint { address: self.source, port: self.head.source }
    }
    /// For whom it is.
    pub fn to(&self) -> Endpoint {
        Endpoint { address: self.destination, port: self.head.destination }
    }
}
