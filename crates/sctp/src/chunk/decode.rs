//! Decoder of SCTP packets (RFC 9260 sections 3, 6.8, 6.10): common header, chunks, parameters, causes, with
//! every length checked.

use super::encode::{kind, parameter};
use super::{Chunk, Data, Failure, Init, Opaque, Packet, Sack, crc32c};
use base::truth::Cause;
use base::wire::unwrap;

/// Reference points for expansion of TSNs: initial TSNs of sender and reader, and known offsets near the received
/// TSNs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origins {
    /// Initial TSNs of sender and reader.
    pub initial: [u32; 2],
    /// Highest known offset from each initial TSN.
    pub near: [u64; 2],
}

/// Reason why the bytes are not a valid SCTP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// Shorter than the length in its headers.
    Short,
    /// Wrong CRC32c.
    Checksum,
    /// Impossible length for a chunk of this type.
    Length(u8),
    /// INIT, INIT ACK or SHUTDOWN COMPLETE bundled with other chunks (section 6.10).
    Bundled,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Malformed::Short => f.write_str("shorter than its length fields require"),
            Malformed::Checksum => f.write_str("wrong CRC32c"),
            Malformed::Length(kind) => write!(f, "impossible length of a chunk of type {kind}"),
            Malformed::Bundled => f.write_str("a chunk that must be alone is not"),
        }
    }
}

impl std::error::Error for Malformed {}

fn u16_at(b: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(b.get(at..at + 2)?.try_into().ok()?))
}
fn u32_at(b: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(b.get(at..at + 4)?.try_into().ok()?))
}

/// Decodes a packet, from the common header on.
///
/// # Errors
/// First defect found in the bytes.
pub fn decode(bytes: &[u8], origins: &Origins) -> Result<Packet, Malformed> {
    let word = |at| u32_at(bytes, at).ok_or(Malformed::Short);
    let ports = [u16_at(bytes, 0).ok_or(Malformed::Short)?, u16_at(bytes, 2).ok_or(Malformed::Short)?];
    let (tag, sum) = (word(4)?, word(8)?);
    let mut zeroed = bytes.to_vec();
    zeroed[8..12].fill(0);
    if crc32c::checksum(&zeroed) != sum.swap_bytes() {
        return Err(Malformed::Checksum);
    }
    let mut chunks = Vec::new();
    let mut at = 12;
    while at < bytes.len() {
        let head = bytes.get(at..at + 4).ok_or(Malformed::Short)?;
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        if length < 4 {
            return Err(Malformed::Length(head[0]));
        }
        let value = bytes.get(at + 4..at + length).ok_or(Malformed::Short)?;
        chunks.push(chunk(head[0], head[1], value, origins).ok_or(Malformed::Length(head[0]))?);
        at = at.saturating_add(length.next_multiple_of(4));
    }
    if chunks.len() > 1 && chunks.iter().any(|chunk| !chunk.bundles()) {
        return Err(Malformed::Bundled);
    }
    if chunks.is_empty() {
        return Err(Malformed::Short);
    }
    Ok(Packet { ports, tag, initial: origins.initial, chunks, divisible: false })
}

/// Decodes a chunk from type, flags and value; `None` if the value is too short.
fn chunk(kind: u8, flags: u8, value: &[u8], origins: &Origins) -> Option<Chunk> {
    let bit = |n: u8| flags >> n & 1 == 1;
    let [theirs, ours] = origins.initial;
    let of_peer = |n: u32| unwrap(origins.near[0], n.wrapping_sub(theirs));
    let of_own = |n: u32| unwrap(origins.near[1], n.wrapping_sub(ours));
    Some(match kind {
        kind::DATA => Chunk::Data(Data {
            tsn: of_peer(u32_at(value, 0)?),
            stream: u16_at(value, 4)?,
            ssn: u64::from(u16_at(value, 6)?),
            ppid: u32_at(value, 8)?,
            len: u32::try_from(value.len().checked_sub(12)?).ok()?,
            end: bit(0),
            begin: bit(1),
            unordered: bit(2),
            immediate: bit(3),
            cause: Cause::New,
        }),
        kind::INIT => Chunk::Init(init(value, false)?),
        kind::INIT_ACK => {
            Chunk::InitAck(init(value, true)?, find(value.get(16..)?, parameter::COOKIE)?.into())
        }
        kind::SACK => Chunk::Sack(sack(value, of_own)?),
        kind::HEARTBEAT => Chunk::Heartbeat(find(value, parameter::HEARTBEAT_INFO)?.into()),
        kind::HEARTBEAT_ACK => Chunk::HeartbeatAck(find(value, parameter::HEARTBEAT_INFO)?.into()),
        kind::ABORT => Chunk::Abort { reflected: bit(0), cause: failure(value) },
        kind::SHUTDOWN => Chunk::Shutdown(of_own(u32_at(value, 0)?.wrapping_add(1))),
        kind::SHUTDOWN_ACK => Chunk::ShutdownAck,
        kind::ERROR => Chunk::Error(failure(value)?),
        kind::COOKIE_ECHO => Chunk::CookieEcho(value.into()),
        kind::COOKIE_ACK => Chunk::CookieAck,
        kind::ECNE => Chunk::Ecne(of_own(u32_at(value, 0)?)),
        kind::CWR => Chunk::Cwr(of_peer(u32_at(value, 0)?)),
        kind::SHUTDOWN_COMPLETE => Chunk::ShutdownComplete { reflected: bit(0) },
        kind::FORWARD_TSN => {
            let cumulative = of_peer(u32_at(value, 0)?.wrapping_add(1));
            let streams = value.get(4..)?.chunks_exact(4);
            let one = |b: &[u8]| Some((u16_at(b, 0)?, u64::from(u16_at(b, 2)?)));
            Chunk::ForwardTsn(cumulative, streams.filter_map(one).collect())
        }
        kind::PAD => Chunk::Pad(u16::try_from(value.len()).ok()?),
        other => Chunk::Unknown(other, flags, value.into()),
    })
}

/// Parameters in `bytes`: type, and the parameter with its header, without padding.
fn parameters(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (kind, length) = (u16_at(bytes, 0)?, usize::from(u16_at(bytes, 2)?));
        let whole = bytes.get(..length).filter(|whole| whole.len() >= 4)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, whole))
    })
}

/// Value of the first parameter of this type.
fn find(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    parameters(bytes).find(|(kind, _)| *kind == wanted).map(|(_, whole)| &whole[4..])
}

/// Decodes INIT, or with `reports` INIT ACK, whose Unrecognized Parameter parameters are kept.
fn init(value: &[u8], reports: bool) -> Option<Init> {
    let mut init = Init {
        tag: u32_at(value, 0)?,
        window: u32_at(value, 4)?,
        outbound: u16_at(value, 8)?,
        inbound: u16_at(value, 10)?,
        initial: u32_at(value, 12)?,
        addresses: 0,
        ecn: false,
        forward_tsn: false,
        unrecognized: Vec::new(),
    };
    for (kind, whole) in parameters(value.get(16..)?) {
        match kind {
            parameter::IPV4 | parameter::IPV6 => init.addresses = init.addresses.saturating_add(1),
            parameter::ECN_CAPABLE => init.ecn = true,
            parameter::FORWARD_TSN => init.forward_tsn = true,
            parameter::COOKIE | parameter::ADDRESS_TYPES => {}
            parameter::UNRECOGNIZED if reports => init.unrecognized.push(whole[4..].into()),
            parameter::UNRECOGNIZED => {}
            //= RFC 9260 section 3.2.2: the two highest bits: report an unknown chunk or parameter; go on or stop
            other => {
                if other & 0x4000 != 0 && !reports {
                    init.unrecognized.push(whole.into());
                }
                if other & 0x8000 == 0 {
                    break;
                }
            }
        }
    }
    init.addresses = init.addresses.max(1);
    Some(init)
}

fn sack(value: &[u8], of_own: impl Fn(u32) -> u64) -> Option<Sack> {
    let cumulative = of_own(u32_at(value, 0)?.wrapping_add(1));
    let (gaps, duplicates) = (usize::from(u16_at(value, 8)?), usize::from(u16_at(value, 10)?));
    let (blocks, copies) = value.get(12..)?.split_at_checked(4 * gaps)?;
    if copies.len() != 4 * duplicates {
        return None;
    }
    // Offset 1 would be the cumulative TSN itself; a block whose end is before its start is ignored.
    let gap = |b: &[u8]| {
        let (start, end) = (u64::from(u16_at(b, 0)?), u64::from(u16_at(b, 2)?));
        (start > 1 && end >= start).then(|| (cumulative + start - 1, cumulative + end))
    };
    Some(Sack {
        cumulative,
        window: u32_at(value, 4)?,
        gaps: blocks.chunks_exact(4).filter_map(gap).collect(),
        duplicates: copies.chunks_exact(4).filter_map(|b| u32_at(b, 0)).map(of_own).collect(),
    })
}

fn failure(value: &[u8]) -> Option<Failure> {
    let (code, info) = (u16_at(value, 0)?, value.get(4..)?);
    let length = usize::from(u16_at(value, 2)?).checked_sub(4)?;
    Some(match code {
        1 => Failure::InvalidStream(u16_at(info, 0)?),
        3 => Failure::StaleCookie(u32_at(info, 0)?),
        6 => Failure::UnrecognizedChunk(Opaque::from(info.get(..length)?)),
        7 => Failure::InvalidParameter,
        9 => Failure::NoUserData(u32_at(info, 0)?),
        10 => Failure::ShuttingDown,
        11 => Failure::NewAddresses,
        12 => Failure::UserAbort,
        13 => Failure::ProtocolViolation,
        other => Failure::Other(other),
    })
}
