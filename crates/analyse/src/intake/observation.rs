//! Observation of one captured TCP segment (`Observation`): capture time, endpoints, IP and TCP header fields; reading
//! of a whole capture.
//!
//! Numbers are as on the wire, unverified.

use base::Time;
use base::wire::TcpHead;
use std::net::IpAddr;

/// Endpoint of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Endpoint {
    /// IP address.
    pub address: IpAddr,
    /// TCP or UDP port.
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

/// One captured TCP segment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observation {
    /// Capture time.
    pub t: Time,
    /// Capture interface index.
    pub interface: u32,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// IP identification; None for IPv6.
    pub id: Option<u16>,
    /// Length of the IP packet, bytes.
    pub size: u32,
    /// Payload bytes by the IP header; the captured frame may contain fewer.
    pub payload: u32,
    /// ECN codepoint (RFC 3168 section 5).
    pub ecn: u8,
    /// Time to live (IPv4) or hop limit (IPv6).
    pub ttl: u8,
    /// TCP header.
    pub head: TcpHead,
}

impl Observation {
    /// Observation of a frame, if it carries a TCP segment.
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

    /// Source endpoint.
    pub fn from(&self) -> Endpoint {
        Endpoint { address: self.source, port: self.head.source }
    }
    /// Destination endpoint.
    pub fn to(&self) -> Endpoint {
        Endpoint { address: self.destination, port: self.head.destination }
    }
}

/// Reads the remaining frames of a capture and calls `each` with every frame and its observation, if it carries a TCP
/// segment.
///
/// # Errors
/// I/O errors of the capture; frames before the error have been passed to `each`.
pub fn observe(
    reader: &mut capture::Reader<'_>,
    each: &mut dyn FnMut(&capture::Frame<'_>, Option<&Observation>),
) -> std::io::Result<()> {
    while let Some(frame) = reader.next()? {
        let observation = Observation::of(&frame);
        each(&frame, observation.as_ref());
    }
    Ok(())
}
