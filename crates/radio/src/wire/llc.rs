//! Encoder and parser of LLC frames and SNDCP segments: UI and I frames, SN-UNITDATA and SN-DATA (3GPP TS 44.064 section
//! 6, 44.065 section 7).

use crate::llc::LlcMode;

/// SAPI of user data with the highest priority.
pub const SAPI: u8 = 3;
/// Lowest NSAPI of a PDP context.
pub const NSAPI: u8 = 5;

/// Header fields of an LLC frame and of its SNDCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// LLC mode, which determines both headers.
    pub mode: LlcMode,
    /// True for an uplink frame.
    pub up: bool,
    /// N(U) or N(S), modulo 512.
    pub frame: u32,
    /// N(R) of an I frame, modulo 512.
    pub expected: u32,
    /// N-PDU number, modulo 4096 in unacknowledged mode and 256 in acknowledged mode.
    pub packet: u32,
    /// Segment number in the packet, from 0.
    pub segment: u8,
    /// More segments follow.
    pub more: bool,
}

/// Remainders of CRC-24 by octet, with reflected bits; generator of 44.064 section 5.5.
const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    // x^24 + x^23 + x^21 + x^20 + x^19 + x^17 + x^16 + x^15 + x^13 + x^8 + x^7 + x^5 + x^4 + x^2 + 1, reflected.
    let generator = 0x00bb_a1b5u32.reverse_bits() >> 8;
    let mut all = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut value = i as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ generator } else { value >> 1 };
            bit += 1;
        }
        all[i] = value;
        i += 1;
    }
    all
}

/// Frame check sequence (CRC-24) of a frame without its FCS field.
pub fn check(frame: &[u8]) -> u32 {
    let crc =
        frame.iter().fold(0x00ff_ffff, |c: u32, o| c >> 8 ^ TABLE[((c ^ u32::from(*o)) & 255) as usize]);
    !crc & 0x00ff_ffff
}

/// NULL frame of LLGMM from a mobile (44.064 section 6.4.1.6): it has no information field and serves as cell update.
pub fn null() -> Vec<u8> {
    // SAPI 1, command; U format with M bits 0.
    let mut out = vec![0x01, 0xe0];
    let check = check(&out);
    out.extend(&check.to_le_bytes()[..3]);
    out
}

/// Encodes a frame with one segment of a packet.
pub fn frame(numbers: &Numbers, segment: &[u8]) -> Vec<u8> {
    // PD 0; a command has C/R 0 uplink and 1 downlink.
    let mut out = vec![u8::from(!numbers.up) << 6 | SAPI];
    let number = numbers.frame % 512;
    match numbers.mode {
        LlcMode::Unacknowledged => {
            // E 0: not ciphered. PM 1: the FCS covers the whole frame.
            out.extend([0xc0 | (number >> 6) as u8, ((number & 63) << 2) as u8 | 1]);
        }
        LlcMode::Acknowledged => {
            let expected = numbers.expected % 512;
            // A 1 requests a supervisory frame; S 0 is RR.
            out.push(0x40 | (number >> 4) as u8);
            out.push(((number & 15) << 4) as u8 | (expected >> 6) as u8);
            out.push(((expected & 63) << 2) as u8);
        }
    }
    out.extend(field(numbers, segment));
    let fcs = check(&out);
    out.extend_from_slice(&fcs.to_le_bytes()[..3]);
    out
}

/// Encodes the information field of a frame: SNDCP header and segment.
pub fn field(numbers: &Numbers, segment: &[u8]) -> Vec<u8> {
    let unacknowledged = numbers.mode == LlcMode::Unacknowledged;
    let first = numbers.segment == 0;
    let mut out =
        vec![u8::from(first) << 6 | u8::from(unacknowledged) << 5 | u8::from(numbers.more) << 4 | NSAPI];
    if first {
        // No compression of data or headers.
        out.push(0);
    }
    if unacknowledged {
        let packet = numbers.packet % 4096;
        out.extend([(numbers.segment & 15) << 4 | (packet >> 8) as u8, packet as u8]);
    } else if first {
        out.push(numbers.packet as u8);
    }
    out.extend_from_slice(segment);
    out
}

/// A parsed LLC frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read<'a> {
    /// SAPI.
    pub sapi: u8,
    /// N(U) of a UI frame; `None` for other frames.
    pub number: Option<u32>,
    /// Information field.
    pub information: &'a [u8],
}

/// Reads a frame; `None` if the FCS is wrong or the frame is too short.
pub fn read(frame: &[u8]) -> Option<Read<'_>> {
    let end = frame.len().checked_sub(3)?;
    let fcs = u32::from_le_bytes([frame[end], frame[end + 1], frame[end + 2], 0]);
    let address = *frame.first()?;
    let control = *frame.get(1)?;
    let second = *frame.get(2)?;
    let is_ui = control & 0xe0 == 0xc0;
    // PM 0: the FCS covers only the headers and N202 octets.
    let checked = if is_ui && second & 1 == 0 { end.min(7) } else { end };
    if check(frame.get(..checked)?) != fcs {
        return None;
    }
    let head = if is_ui || control & 0xc0 == 0x80 {
        3
    } else if control & 0xe0 == 0xe0 {
        2
    } else {
        4
    };
    let number = is_ui.then(|| u32::from(control & 7) << 6 | u32::from(second >> 2));
    Some(Read { sapi: address & 15, number, information: frame.get(head..end)? })
}

/// A parsed SNDCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment<'a> {
    /// NSAPI.
    pub nsapi: u8,
    /// N-PDU number; `None` in later segments of SN-DATA.
    pub packet: Option<u32>,
    /// Segment number of SN-UNITDATA; `None` in SN-DATA.
    pub segment: Option<u8>,
    /// True for the first segment of a packet.
    pub first: bool,
    /// True if more segments of the packet follow.
    pub more: bool,
    /// Octets of the packet in the segment.
    pub octets: &'a [u8],
}

/// Reads an SNDCP segment from the information field of a user data frame.
pub fn read_segment(information: &[u8]) -> Option<Segment<'_>> {
    let head = *information.first()?;
    let (first, unacknowledged) = (head & 0x40 != 0, head & 0x20 != 0);
    let at = 1 + usize::from(first);
    let (packet, segment, at) = if unacknowledged {
        let (high, low) = (*information.get(at)?, *information.get(at + 1)?);
        (Some(u32::from(high & 15) << 8 | u32::from(low)), Some(high >> 4), at + 2)
    } else if first {
        (Some(u32::from(*information.get(at)?)), None, at + 1)
    } else {
        (None, None, at)
    };
    let octets = information.get(at..)?;
    Some(Segment { nsapi: head & 15, packet, segment, first, more: head & 0x10 != 0, octets })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::Segmentation;
    use proptest::prelude::*;

    /// GP-22, GP-23: encoded frames have the sizes that the segmentation computes, and are parsed back.
    #[test]
    fn gp_22_gp_23_frames_have_their_sizes() {
        let packet: Vec<u8> = (0..1500u32).map(|i| i as u8).collect();
        for mode in [LlcMode::Unacknowledged, LlcMode::Acknowledged] {
            let segmentation = Segmentation { n201: 500, mode };
            let (mut at, mut back) = (0, Vec::new());
            let sizes: Vec<u32> = segmentation.segments(1500).collect();
            for (i, (octets, size)) in sizes.iter().zip(segmentation.frames(1500)).enumerate() {
                let numbers = Numbers {
                    mode,
                    up: false,
                    frame: 511,
                    expected: 300,
                    packet: 4095,
                    segment: i as u8,
                    more: i + 1 < sizes.len(),
                };
                let bytes = frame(&numbers, &packet[at..at + *octets as usize]);
                assert_eq!(bytes.len(), size as usize, "{mode} {i}");
                at += *octets as usize;
                let read = read(&bytes).expect("its check is right");
                assert_eq!(
                    (read.sapi, read.number),
                    (SAPI, (mode == LlcMode::Unacknowledged).then_some(511))
                );
                let segment = read_segment(read.information).unwrap();
                assert_eq!((segment.nsapi, segment.first, segment.more), (NSAPI, i == 0, numbers.more));
                back.extend_from_slice(segment.octets);
            }
            assert_eq!(back, packet);
        }
    }

    /// The FCS detects every single bit error.
    #[test]
    fn the_check_finds_a_wrong_bit() {
        let numbers = Numbers {
            mode: LlcMode::Unacknowledged,
            up: true,
            frame: 0,
            expected: 0,
            packet: 0,
            segment: 0,
            more: false,
        };
        let good = frame(&numbers, b"packet");
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            // An error in the PM bit limits the FCS check to the headers, and this check fails too.
            assert!(read(&bad).is_none(), "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = (read(&bytes), read_segment(&bytes));
        }
    }
}
