//! Encoder and parser of LLC frames in asynchronous balanced mode: I, S and U frames (3GPP TS 44.064 sections 6.3, 6.4).

use super::llc::{SAPI, check};

/// Supervisory part of a frame (section 6.4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supervisory {
    /// Receive ready: frames before N(R) are acknowledged.
    Rr,
    /// Acknowledgement without a bitmap: the frame N(R) alone is missing.
    Ack,
    /// Receive not ready.
    Rnr,
    /// Selective acknowledgement: a bitmap names the frames behind N(R).
    Sack,
}

const KINDS: [Supervisory; 4] = [Supervisory::Rr, Supervisory::Ack, Supervisory::Rnr, Supervisory::Sack];

/// Control field of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// I frame: acknowledgement requested, N(S), N(R), supervisory part.
    I(bool, u32, u32, Supervisory),
    /// S frame: acknowledgement requested, N(R), supervisory part.
    S(bool, u32, Supervisory),
    /// Set asynchronous balanced mode.
    Sabm,
    /// Unnumbered acknowledgement.
    Ua,
    /// Any other frame.
    Other,
}

/// M bits of SABM and UA (section 6.4.1).
const SABM: u8 = 0b0111;
const UA: u8 = 0b0110;
/// U format with the P or F bit set.
const U: u8 = 0xf0;

/// Address octet of the service access point for user data; a command to the mobile and a response from it have C/R 1.
fn address(up: bool, response: bool) -> u8 {
    u8::from(up == response) << 6 | SAPI
}

fn closed(mut out: Vec<u8>) -> Vec<u8> {
    let fcs = check(&out);
    out.extend_from_slice(&fcs.to_le_bytes()[..3]);
    out
}

/// Encodes SABM of the mobile (`up`) or the SGSN, with P 1 and without parameters.
pub fn sabm(up: bool) -> Vec<u8> {
    closed(vec![address(up, false), U | SABM])
}

/// Encodes UA with F 1.
pub fn ua(up: bool) -> Vec<u8> {
    closed(vec![address(up, true), U | UA])
}

/// Encodes an I frame with RR. `ask`: it requests an acknowledgement; numbers modulo 512.
pub fn information(up: bool, ask: bool, ns: u32, nr: u32, field: &[u8]) -> Vec<u8> {
    let (ns, nr) = (ns % 512, nr % 512);
    let mut out = vec![
        address(up, false),
        u8::from(ask) << 6 | (ns >> 4) as u8,
        ((ns & 15) << 4) as u8 | (nr >> 6) as u8,
        ((nr & 63) << 2) as u8,
    ];
    out.extend_from_slice(field);
    closed(out)
}

/// Encodes an S frame without a request: RR, or SACK if `bitmap` is not empty. The first bit is that of the frame behind N(R).
pub fn supervisory(up: bool, nr: u32, bitmap: &[bool]) -> Vec<u8> {
    let nr = nr % 512;
    let kind = if bitmap.is_empty() { 0 } else { 3 };
    let mut out = vec![address(up, true), 0x80 | (nr >> 6) as u8, ((nr & 63) << 2) as u8 | kind];
    let octet =
        |bits: &[bool]| bits.iter().enumerate().fold(0, |all, (i, bit)| all | u8::from(*bit) << (7 - i));
    out.extend(bitmap.chunks(8).map(octet));
    closed(out)
}

/// Reads the control field of a frame whose FCS is right.
pub fn control(frame: &[u8]) -> Control {
    let [_, first, rest @ ..] = frame else { return Control::Other };
    let ask = |bit: u8| first & bit != 0;
    let tail =
        |high: u8, low: u8| (u32::from(high & 7) << 6 | u32::from(low >> 2), KINDS[usize::from(low & 3)]);
    match (*first, rest) {
        (first, [second, third, ..]) if first & 0x80 == 0 => {
            let (nr, kind) = tail(*second, *third);
            Control::I(ask(0x40), u32::from(first & 31) << 4 | u32::from(second >> 4), nr, kind)
        }
        (first, [second, ..]) if first & 0xc0 == 0x80 => {
            let (nr, kind) = tail(first, *second);
            Control::S(ask(0x20), nr, kind)
        }
        (first, _) if first & 0xe0 == 0xe0 => match first & 15 {
            SABM => Control::Sabm,
            UA => Control::Ua,
            _ => Control::Other,
        },
        _ => Control::Other,
    }
}

/// Bits of a SACK bitmap: the first one is that of the frame behind N(R).
pub fn bits(bitmap: &[u8]) -> impl Iterator<Item = bool> {
    bitmap.iter().flat_map(|octet| (0..8).map(move |i| octet >> (7 - i) & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::super::llc;
    use super::*;

    /// GP-22: frames of both directions are read back; C/R tells commands from responses.
    #[test]
    fn gp_22_frames_of_abm_are_read_back() {
        for up in [false, true] {
            let command = u8::from(!up) << 6 | SAPI;
            let frames =
                [sabm(up), information(up, true, 511, 300, b"segment"), information(up, false, 0, 511, b"")];
            assert!(frames.iter().all(|frame| frame[0] == command && llc::read(frame).is_some()));
            assert_eq!(control(&frames[0]), Control::Sabm);
            assert_eq!(control(&frames[1]), Control::I(true, 511, 300, Supervisory::Rr));
            assert_eq!(llc::read(&frames[1]).unwrap().information, b"segment");
            assert_eq!(control(&frames[2]), Control::I(false, 0, 511, Supervisory::Rr));
            let sack = [false, true, true, false, false, false, false, false, true];
            let frames = [ua(up), supervisory(up, 300, &[]), supervisory(up, 7, &sack)];
            assert!(frames.iter().all(|frame| frame[0] != command && llc::read(frame).is_some()));
            assert_eq!(control(&frames[0]), Control::Ua);
            assert_eq!(control(&frames[1]), Control::S(false, 300, Supervisory::Rr));
            assert_eq!(control(&frames[2]), Control::S(false, 7, Supervisory::Sack));
            let bitmap = llc::read(&frames[2]).unwrap().information;
            assert_eq!(bits(bitmap).take(9).collect::<Vec<_>>(), sack);
        }
        assert_eq!(control(&llc::null()), Control::Other);
    }
}
