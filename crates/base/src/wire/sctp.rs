//! SCTP common header and chunks (RFC 9260 section 3): reader of DATA, SACK and INIT fields, also from
//! truncated captures.
//!
//! Truncated chunks are skipped, except DATA chunks: their header states their length.

use super::{u16_at, u32_at};

/// Chunk types (RFC 9260 section 3.2, RFC 3758 section 3.2).
pub mod kind {
    /// DATA.
    pub const DATA: u8 = 0;
    /// INIT.
    pub const INIT: u8 = 1;
    /// INIT ACK.
    pub const INIT_ACK: u8 = 2;
    /// SACK.
    pub const SACK: u8 = 3;
    /// HEARTBEAT.
    pub const HEARTBEAT: u8 = 4;
    /// HEARTBEAT ACK.
    pub const HEARTBEAT_ACK: u8 = 5;
    /// ABORT.
    pub const ABORT: u8 = 6;
    /// SHUTDOWN.
    pub const SHUTDOWN: u8 = 7;
    /// SHUTDOWN ACK.
    pub const SHUTDOWN_ACK: u8 = 8;
    /// COOKIE ECHO.
    pub const COOKIE_ECHO: u8 = 10;
    /// COOKIE ACK.
    pub const COOKIE_ACK: u8 = 11;
    /// SHUTDOWN COMPLETE.
    pub const SHUTDOWN_COMPLETE: u8 = 14;
    /// FORWARD TSN.
    pub const FORWARD_TSN: u8 = 192;
}

/// Length of the common header, bytes.
const COMMON: usize = 12;
/// Length of a DATA chunk's header, bytes.
const DATA: usize = 16;
/// Maximum chunks read per packet.
const MOST: usize = 400;

/// SCTP common header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SctpHead {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Verification tag.
    pub tag: u32,
}

/// A chunk as in the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawChunk<'a> {
    /// Chunk type: see [`kind`].
    pub kind: u8,
    /// Chunk flags.
    pub flags: u8,
    /// Length of the chunk with its header, without padding, bytes.
    pub length: u16,
    /// Value of the chunk, possibly truncated.
    pub value: &'a [u8],
}

/// Fields of a DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawData {
    /// Transmission sequence number.
    pub tsn: u32,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number.
    pub ssn: u16,
    /// Bytes of user data.
    pub len: u32,
}

/// Fields of a SACK chunk.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RawSack {
    /// Cumulative TSN Ack.
    pub cumulative: u32,
    /// Advertised window, bytes.
    pub window: u32,
    /// Gap ack blocks: first and last TSN received.
    pub gaps: Vec<(u32, u32)>,
    /// Duplicate TSNs.
    pub duplicates: Vec<u32>,
}

/// Reads the common header and returns it with the chunks; `None` if the header is truncated.
pub fn read(bytes: &[u8]) -> Option<(SctpHead, impl Iterator<Item = RawChunk<'_>>)> {
    let head = SctpHead { source: u16_at(bytes, 0)?, destination: u16_at(bytes, 2)?, tag: u32_at(bytes, 4)? };
    let mut rest = bytes.get(COMMON..).unwrap_or_default();
    let chunks = std::iter::from_fn(move || {
        let (kind, flags, length) = (*rest.first()?, *rest.get(1)?, u16_at(rest, 2)?);
        let whole = usize::from(length);
        if whole < 4 || (whole > rest.len() && (kind != kind::DATA || rest.len() < DATA)) {
            return None;
        }
        let value = rest.get(4..whole.min(rest.len()))?;
        rest = rest.get(whole.next_multiple_of(4)..).unwrap_or_default();
        Some(RawChunk { kind, flags, length, value })
    });
    Some((head, chunks.take(MOST)))
}

/// User data in a packet, bytes.
pub fn payload(bytes: &[u8]) -> u32 {
    let Some((_, chunks)) = read(bytes) else { return 0 };
    chunks.filter_map(|chunk| chunk.data()).map(|data| data.len).sum()
}

impl RawChunk<'_> {
    /// Fields of a DATA chunk; `None` for other types.
    pub fn data(&self) -> Option<RawData> {
        (self.kind == kind::DATA).then_some(())?;
        Some(RawData {
            tsn: u32_at(self.value, 0)?,
            stream: u16_at(self.value, 4)?,
            ssn: u16_at(self.value, 6)?,
            len: u32::from(self.length).checked_sub(DATA as u32)?,
        })
    }

    /// Fields of a SACK chunk; `None` for other types.
    pub fn sack(&self) -> Option<RawSack> {
        (self.kind == kind::SACK).then_some(())?;
        let cumulative = u32_at(self.value, 0)?;
        let (gaps, copies) = (usize::from(u16_at(self.value, 8)?), usize::from(u16_at(self.value, 10)?));
        let above = |at| Some(cumulative.wrapping_add(u32::from(u16_at(self.value, at)?)));
        Some(RawSack {
            cumulative,
            window: u32_at(self.value, 4)?,
            gaps: (0..gaps).map_while(|i| Some((above(12 + 4 * i)?, above(14 + 4 * i)?))).collect(),
            duplicates: (0..copies).map_while(|i| u32_at(self.value, 12 + 4 * (gaps + i))).collect(),
        })
    }

    /// Initiate tag and initial TSN of an INIT or INIT ACK; `None` for other types.
    pub fn init(&self) -> Option<(u32, u32)> {
        matches!(self.kind, kind::INIT | kind::INIT_ACK).then_some(())?;
        Some((u32_at(self.value, 0)?, u32_at(self.value, 12)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_data_and_sack_are_read() {
        let mut bytes = vec![0, 9, 4, 0, 0, 0, 0, 7, 0, 0, 0, 0];
        bytes.extend([3, 0, 0, 24, 0, 0, 0, 10, 0, 0, 1, 0, 0, 1, 0, 1, 0, 2, 0, 3, 0, 0, 0, 9]);
        bytes.extend([0, 3, 0, 18, 0, 0, 0, 5, 0, 1, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0]);
        let (head, chunks) = read(&bytes).unwrap();
        assert_eq!(head, SctpHead { source: 9, destination: 1024, tag: 7 });
        let all: Vec<_> = chunks.collect();
        let sack = RawSack { cumulative: 10, window: 256, gaps: vec![(12, 13)], duplicates: vec![9] };
        assert_eq!(all[0].sack(), Some(sack));
        assert_eq!(all[1].data(), Some(RawData { tsn: 5, stream: 1, ssn: 2, len: 2 }));
        assert_eq!(payload(&bytes), 2);
        // In a truncated packet, a DATA chunk counts with the length in its header.
        let mut cut = bytes[..12].to_vec();
        cut.extend([0, 3, 5, 188, 0, 0, 0, 5, 0, 1, 0, 2, 0, 0, 0, 0]);
        assert_eq!(payload(&cut), 1452);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some((_, chunks)) = read(&bytes) {
                for chunk in chunks {
                    let _ = (chunk.data(), chunk.sack(), chunk.init());
                }
            }
            let _ = payload(&bytes);
        }
    }
}
