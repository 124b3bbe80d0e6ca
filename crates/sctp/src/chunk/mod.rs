//! Chunks and packets of SCTP in terms of the model (RFC 9260 section 3, RFC 3758 section 3.2, RFC 4820).

pub mod crc32c;
mod decode;
pub(crate) mod encode;

pub use decode::{Malformed, Origins, decode};

use base::body::{Body, Channel, Range};
use base::packet::Flags;
use base::truth::Cause;
use std::sync::Arc;

/// Common header, bytes (RFC 9260 section 3.1).
pub const COMMON_HEADER: u32 = 12;
/// Header of a DATA chunk, bytes (section 3.3.1).
pub const DATA_HEADER: u32 = 16;
/// Header of IPv4, bytes.
pub const IP_HEADER: u32 = 20;
/// Bytes that only their sender understands: a state cookie, the information of a heartbeat, a chunk or parameter of unknown
/// type. The peer repeats them as they are.
pub type Opaque = Arc<[u8]>;

/// A DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// Transmission sequence number, counted from the sender's initial one.
    pub tsn: u64,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number, without wrap; 0 of an unordered message.
    pub ssn: u64,
    /// First fragment of its message.
    pub begin: bool,
    /// Last fragment of its message.
    pub end: bool,
    /// Its message may be delivered out of order.
    pub unordered: bool,
    /// The receiver is asked to acknowledge at once (RFC 7053).
    pub immediate: bool,
    /// Bytes of user data.
    pub len: u32,
    /// The number of its message at the sender, carried as the payload protocol identifier; 0 of bulk data.
    pub ppid: u32,
    /// Why this copy was sent; not on the wire.
    pub cause: Cause,
}

/// INIT and INIT ACK (sections 3.3.2, 3.3.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Init {
    /// Verification tag that the peer is to use.
    pub tag: u32,
    /// Advertised receiver window, bytes.
    pub window: u32,
    /// Outbound streams.
    pub outbound: u16,
    /// Most inbound streams.
    pub inbound: u16,
    /// Initial transmission sequence number, as on the wire.
    pub initial: u32,
    /// Addresses of the sender.
    pub addresses: u8,
    /// The sender is capable of ECN (appendix A of RFC 4960).
    pub ecn: bool,
    /// The sender supports FORWARD TSN (RFC 3758).
    pub forward_tsn: bool,
    /// Parameters of unknown types that are to be reported (section 3.2.2): of an INIT those it has, of an INIT ACK those it
    /// reports.
    pub unrecognized: Vec<Opaque>,
}

/// A SACK (section 3.3.4).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sack {
    /// Everything below was received: the cumulative TSN ack plus one.
    pub cumulative: u64,
    /// Advertised receiver window, bytes.
    pub window: u32,
    /// Received ranges `[from, to)` above, ascending.
    pub gaps: Vec<(u64, u64)>,
    /// Duplicates received since the last SACK.
    pub duplicates: Vec<u64>,
}

/// Distinguished causes of ERROR and ABORT (section 3.3.10).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Invalid stream identifier (1).
    InvalidStream(u16),
    /// Stale cookie: its staleness in microseconds (3).
    StaleCookie(u32),
    /// Invalid or unresolvable mandatory parameter (7).
    InvalidParameter,
    /// A chunk of unknown type (6), with its first bytes.
    UnrecognizedChunk(Opaque),
    /// COOKIE ECHO during a shutdown (10).
    ShuttingDown,
    /// Restart of an association with new addresses (11).
    NewAddresses,
    /// A DATA chunk without user data (9), with its number as on the wire.
    NoUserData(u32),
    /// The user requests an abort (12).
    UserAbort,
    /// Protocol violation (13).
    ProtocolViolation,
    /// Any other, by its code.
    Other(u16),
}

/// A chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chunk {
    /// DATA.
    Data(Data),
    /// INIT.
    Init(Init),
    /// INIT ACK with its cookie.
    InitAck(Init, Opaque),
    /// SACK.
    Sack(Sack),
    /// HEARTBEAT.
    Heartbeat(Opaque),
    /// HEARTBEAT ACK.
    HeartbeatAck(Opaque),
    /// ABORT; with the T bit, the tag is the peer's own.
    Abort {
        /// The T bit.
        reflected: bool,
        /// Reason, if given.
        cause: Option<Failure>,
    },
    /// SHUTDOWN: everything below this was received.
    Shutdown(u64),
    /// SHUTDOWN ACK.
    ShutdownAck,
    /// ERROR.
    Error(Failure),
    /// COOKIE ECHO.
    CookieEcho(Opaque),
    /// COOKIE ACK.
    CookieAck,
    /// ECNE: the lowest number that came in a marked packet.
    Ecne(u64),
    /// CWR: the highest TSN known to be marked.
    Cwr(u64),
    /// SHUTDOWN COMPLETE; with the T bit, the tag is the peer's own.
    ShutdownComplete {
        /// The T bit.
        reflected: bool,
    },
    /// FORWARD TSN (RFC 3758): everything below is given up, and of these streams everything up to these numbers.
    ForwardTsn(u64, Vec<(u16, u64)>),
    /// PAD (RFC 4820): its number of padding bytes.
    Pad(u16),
    /// A chunk of unknown type: its type, flags and value. The two highest bits of the type select its treatment
    /// (section 3.2).
    Unknown(u8, u8, Opaque),
}

/// To a multiple of four: chunks are padded (section 3.2).
pub const fn padded(bytes: u32) -> u32 {
    bytes.div_ceil(4) * 4
}

impl Chunk {
    /// Bytes on the wire, padding included.
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

    /// Whether it may share a packet with others (section 6.10).
    pub fn bundles(&self) -> bool {
        !matches!(self, Chunk::Init(_) | Chunk::InitAck(..) | Chunk::ShutdownComplete { .. })
    }
}

impl Init {
    /// Bytes of the chunk without a cookie: addresses, ECN and FORWARD TSN are parameters.
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
    /// Initial sequence numbers of the sender and of its peer: what offsets are counted from on the wire.
    pub initial: [u32; 2],
    /// Its chunks, in order; at least one.
    pub chunks: Vec<Chunk>,
    /// Routers may cut it up: it is larger than its path's MTU, and its chunks cannot be made smaller (section 6.9).
    pub divisible: bool,
}

impl Packet {
    /// Bytes with the common header, without the IP header.
    pub fn size(&self) -> u32 {
        COMMON_HEADER + self.chunks.iter().map(Chunk::size).sum::<u32>()
    }
    /// Its DATA chunks.
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
