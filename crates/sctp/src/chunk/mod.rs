//! Chunks and packets of SCTP in the model (RFC 9260 section 3, RFC 3758 section 3.2, RFC 4820): fields,
//! sizes, and the packet body for the network.

pub mod crc32c;
mod decode;
pub(crate) mod encode;

pub use decode::{Malformed, Origins, decode};

use base::body::{Body, Channel, Range};
use base::packet::Flags;
use base::truth::Cause;
use std::sync::Arc;

/// Length of the common header, bytes (RFC 9260 section 3.1).
pub const COMMON_HEADER: u32 = 12;
/// Length of a DATA chunk's header, bytes (section 3.3.1).
pub const DATA_HEADER: u32 = 16;
/// Length of an IPv4 header, bytes.
pub const IP_HEADER: u32 = 20;
/// Opaque bytes that the peer returns unchanged: a state cookie, the information of a heartbeat, a chunk or
/// parameter of unknown type.
pub type Opaque = Arc<[u8]>;

/// A DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// Transmission sequence number as offset from the sender's initial TSN.
    pub tsn: u64,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number, without wrap; 0 for an unordered message.
    pub ssn: u64,
    /// Whether it is the first fragment of its message.
    pub begin: bool,
    /// Whether it is the last fragment of its message.
    pub end: bool,
    /// Whether its message may be delivered out of order.
    pub unordered: bool,
    /// Whether the receiver should acknowledge at once (RFC 7053).
    pub immediate: bool,
    /// Bytes of user data.
    pub len: u32,
    /// Number of the message at the sender, from 1, carried as payload protocol identifier; 0 for bulk data.
    pub ppid: u32,
    /// Cause of this transmission; not on the wire.
    pub cause: Cause,
}

/// INIT and INIT ACK (sections 3.3.2, 3.3.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Init {
    /// Verification tag that the peer must use.
    pub tag: u32,
    /// Advertised receiver window credit, bytes.
    pub window: u32,
    /// Number of outbound streams.
    pub outbound: u16,
    /// Maximum number of inbound streams.
    pub inbound: u16,
    /// Initial TSN, as on the wire.
    pub initial: u32,
    /// Number of addresses of the sender.
    pub addresses: u8,
    /// Whether the sender supports ECN (RFC 4960 appendix A).
    pub ecn: bool,
    /// Whether the sender supports FORWARD TSN (RFC 3758).
    pub forward_tsn: bool,
    /// Parameters of unknown types that must be reported (section 3.2.2). In an INIT: the parameters
    /// themselves. In an INIT ACK: the parameters that it reports.
    pub unrecognized: Vec<Opaque>,
}

/// A SACK (section 3.3.4).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sack {
    /// One past the Cumulative TSN Ack: all TSNs below were received.
    pub cumulative: u64,
    /// Advertised receiver window credit, bytes.
    pub window: u32,
    /// Received ranges `[from, to)` above `cumulative`, ascending.
    pub gaps: Vec<(u64, u64)>,
    /// Duplicate TSNs received since the last SACK.
    pub duplicates: Vec<u64>,
}

/// Causes of ERROR and ABORT that the model distinguishes (section 3.3.10).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Invalid stream identifier (1).
    InvalidStream(u16),
    /// Stale cookie (3), with the staleness in microseconds.
    StaleCookie(u32),
    /// Invalid or unresolvable mandatory parameter (7).
    InvalidParameter,
    /// Chunk of unknown type (6), with its first bytes.
    UnrecognizedChunk(Opaque),
    /// COOKIE ECHO during a shutdown (10).
    ShuttingDown,
    /// Restart of an association with new addresses (11).
    NewAddresses,
    /// DATA chunk without user data (9), with its TSN as on the wire.
    NoUserData(u32),
    /// User-initiated abort (12).
    UserAbort,
    /// Protocol violation (13).
    ProtocolViolation,
    /// Another cause, by its code.
    Other(u16),
}

/// A chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chunk {
    /// DATA.
    Data(Data),
    /// INIT.
    Init(Init),
    /// INIT ACK with the state cookie.
    InitAck(Init, Opaque),
    /// SACK.
    Sack(Sack),
    /// HEARTBEAT.
    Heartbeat(Opaque),
    /// HEARTBEAT ACK.
    HeartbeatAck(Opaque),
    /// ABORT.
    Abort {
        /// T bit: the packet has the verification tag that the receiver of the chunk used.
        reflected: bool,
        /// Error cause, if given.
        cause: Option<Failure>,
    },
    /// SHUTDOWN: all TSNs below this one were received.
    Shutdown(u64),
    /// SHUTDOWN ACK.
    ShutdownAck,
    /// ERROR.
    Error(Failure),
    /// COOKIE ECHO.
    CookieEcho(Opaque),
    /// COOKIE ACK.
    CookieAck,
    /// ECNE: lowest TSN received in a marked packet.
    Ecne(u64),
    /// CWR: highest TSN known to be marked.
    Cwr(u64),
    /// SHUTDOWN COMPLETE.
    ShutdownComplete {
        /// T bit: the packet has the verification tag that the receiver of the chunk used.
        reflected: bool,
    },
    /// FORWARD TSN (RFC 3758): all TSNs below this one are abandoned; on each listed stream, all messages up
    /// to this stream sequence number.
    ForwardTsn(u64, Vec<(u16, u64)>),
    /// PAD (RFC 4820), with its number of padding bytes.
    Pad(u16),
    /// Chunk of unknown type: type, flags and value. The two highest bits of the type select its treatment
    /// (section 3.2).
    Unknown(u8, u8, Opaque),
}

/// Length rounded up to a multiple of four: chunks are padded (section 3.2).
pub const fn padded(bytes: u32) -> u32 {
    bytes.div_ceil(4) * 4
}

impl Chunk {
    /// Length on the wire, padding included, bytes.
    pub fn size(&self) -> u32 {
        match self {
            Chunk::Data(data) => padded(DATA_HEADER + data.len),
            Chunk::Init(init) => init.size(),
            Chunk::InitAck(init, cookie) => init.size() + padded(4 + cookie.len() as u32),
            Chunk::Sack(sack) => 16 + 4 * (sack.gaps.len() + sack.duplicates.len()) as u32,
            Chunk::Heartbeat(info) | Chunk::HeartbeatAck(info) => 4 + padded(4 + info.len() as u32),
            Chunk::Abort { cause, .. } => 4 + cause.as_ref().map_or(0, Failure::size),
            Chunk::Shutdown(_) | Chunk::Ecne(_) | Chunk::Cwr(_) => 8,
            Chunk::Error(failure) => 4 + failure.size(),
            Chunk::CookieEcho(cookie) => padded(4 + cookie.len() as u32),
            Chunk::ShutdownAck | Chunk::CookieAck | Chunk::ShutdownComplete { .. } => 4,
            Chunk::Unknown(_, _, value) => padded(4 + value.len() as u32),
            Chunk::Pad(bytes) => padded(4 + u32::from(*bytes)),
            Chunk::ForwardTsn(_, streams) => 8 + 4 * streams.len() as u32,
        }
    }

    /// Whether the chunk may be bundled with other chunks (section 6.10).
    pub fn bundles(&self) -> bool {
        !matches!(self, Chunk::Init(_) | Chunk::InitAck(..) | Chunk::ShutdownComplete { .. })
    }
}

impl Init {
    /// Length of the chunk without a cookie, bytes: addresses, ECN and FORWARD TSN are parameters.
    fn size(&self) -> u32 {
        let addresses = if self.addresses > 1 { 8 * u32::from(self.addresses) } else { 0 };
        let reports: u32 = self.unrecognized.iter().map(|p| padded(4 + p.len() as u32)).sum();
        20 + addresses + 4 * (u32::from(self.ecn) + u32::from(self.forward_tsn)) + reports
    }
}

impl Failure {
    fn size(&self) -> u32 {
        match self {
            Failure::InvalidStream(_) | Failure::StaleCookie(_) | Failure::NoUserData(_) => 8,
            Failure::UnrecognizedChunk(chunk) => padded(4 + chunk.len() as u32),
            _ => 4,
        }
    }
}

/// An SCTP packet: the body of a network packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Source and destination port.
    pub ports: [u16; 2],
    /// Verification tag.
    pub tag: u32,
    /// Initial TSNs of the sender and of its peer, from which offsets are counted.
    pub initial: [u32; 2],
    /// Chunks in order; at least one.
    pub chunks: Vec<Chunk>,
    /// Whether routers may fragment the packet: chunks with a TSN cannot be made smaller after the path MTU was
    /// reduced (section 6.9).
    pub divisible: bool,
}

impl Packet {
    /// Length with the common header, without the IP header, bytes.
    pub fn size(&self) -> u32 {
        COMMON_HEADER + self.chunks.iter().map(Chunk::size).sum::<u32>()
    }
    /// DATA chunks of the packet.
    pub fn data(&self) -> impl Iterator<Item = &Data> {
        self.chunks.iter().filter_map(|chunk| if let Chunk::Data(data) = chunk { Some(data) } else { None })
    }
}

impl Body for Packet {
    fn flags(&self) -> Flags {
        let divisible = if self.divisible { Flags::DIVISIBLE } else { Flags::default() };
        self.chunks.iter().fold(divisible, |flags, chunk| {
            flags.with(match chunk {
                Chunk::Data(_) => Flags::DATA,
                Chunk::Sack(_) | Chunk::HeartbeatAck(_) | Chunk::CookieAck => Flags::ACK,
                Chunk::Init(_) => Flags::SYN,
                Chunk::InitAck(..) => Flags::SYN.with(Flags::ACK),
                Chunk::Shutdown(_) | Chunk::ShutdownAck | Chunk::ShutdownComplete { .. } => Flags::FIN,
                Chunk::Abort { .. } => Flags::RST,
                _ => Flags::default(),
            })
        })
    }
    fn ranges(&self, _cause: Cause, mut each: impl FnMut(Range)) {
        for data in self.data() {
            each(Range { channel: Channel(0), from: data.tsn, to: data.tsn + 1, cause: data.cause });
        }
    }
    fn acks(&self, mut each: impl FnMut(Channel, u64)) {
        for chunk in &self.chunks {
            if let Chunk::Sack(Sack { cumulative, .. }) | Chunk::Shutdown(cumulative) = chunk {
                each(Channel(0), *cumulative);
            }
        }
    }
    fn encode(&self, out: &mut Vec<u8>) -> Option<u8> {
        encode::encode(self, out);
        Some(base::wire::SCTP)
    }
}
