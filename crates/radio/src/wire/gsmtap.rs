//! GSMTAP header version 2 of captured radio blocks, common channel messages and LLC frames (format of libosmocore).

/// UDP port (IANA).
pub const PORT: u16 = 4729;

/// Kind of payload, with the header fields of that kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// A block of the radio interface.
    Block {
        /// True for an uplink block.
        up: bool,
        /// Timeslot.
        slot: u8,
        /// TDMA frame number of the block's first burst.
        frame: u32,
        /// True for a control block (PACCH), false for a data block (PDTCH).
        control: bool,
    },
    /// A message on a common control channel.
    Common {
        /// True for the PCH, false for the AGCH.
        paging: bool,
        /// TDMA frame number of the message's first burst.
        frame: u32,
    },
    /// An LLC frame.
    Llc {
        /// True for an uplink frame.
        up: bool,
    },
}

/// ARFCN in the header; the model has one carrier.
const ARFCN: u16 = 1;

const UM: u8 = 1;
const GB_LLC: u8 = 8;
const PACCH: u8 = 11;
const PDTCH: u8 = 13;

/// Reads the header; returns kind and octets of the payload. `None` for other payload types, other
/// versions and short datagrams.
pub fn read(datagram: &[u8]) -> Option<(Payload, &[u8])> {
    let [2, words, kind, slot, high, ..] = datagram else { return None };
    let octets = datagram.get(usize::from(*words) * 4..)?;
    let up = high & 0x40 != 0;
    let payload = match *kind {
        UM => {
            let channel = *datagram.get(12)?;
            let frame = u32::from_be_bytes(datagram.get(8..12)?.try_into().ok()?);
            if channel != PACCH && channel != PDTCH || words < &4 {
                return None;
            }
            Payload::Block { up, slot: *slot & 7, frame, control: channel == PACCH }
        }
        GB_LLC => Payload::Llc { up },
        _ => return None,
    };
    Some((payload, octets))
}

/// Prepends the header to a payload.
pub fn wrap(payload: Payload, octets: &[u8]) -> Vec<u8> {
    const AGCH: u8 = 4;
    const PCH: u8 = 5;
    let (kind, up, slot, frame, channel) = match payload {
        Payload::Block { up, slot, frame, control } => {
            (UM, up, slot, frame, if control { PACCH } else { PDTCH })
        }
        Payload::Common { paging, frame } => (UM, false, 0, frame, if paging { PCH } else { AGCH }),
        Payload::Llc { up } => (GB_LLC, up, 0, 0, 0),
    };
    let arfcn = ARFCN | if up { 0x4000 } else { 0 };
    // Version 2, header of four 32-bit words.
    let mut out = vec![2, 4, kind, slot];
    out.extend(arfcn.to_be_bytes());
    // Signal level and signal-to-noise ratio: unknown.
    out.extend([0, 0]);
    out.extend(frame.to_be_bytes());
    out.extend([channel, 0, 0, 0]);
    out.extend_from_slice(octets);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_sixteen_octets() {
        let out = wrap(Payload::Block { up: true, slot: 3, frame: 0x0102_0304, control: false }, &[9]);
        assert_eq!(out, [2, 4, 1, 3, 0x40, 1, 0, 0, 1, 2, 3, 4, 13, 0, 0, 0, 9]);
        assert_eq!(wrap(Payload::Llc { up: false }, &[]).len(), 16);
        let block = Payload::Block { up: true, slot: 3, frame: 0x0102_0304, control: false };
        assert_eq!(read(&out), Some((block, &[9][..])));
        assert_eq!(read(&wrap(Payload::Llc { up: true }, &[1])), Some((Payload::Llc { up: true }, &[1][..])));
        assert!(read(&wrap(Payload::Common { paging: true, frame: 1 }, &[1])).is_none());
        assert!((0..16).all(|n| read(&out[..n]).is_none()));
    }
}
