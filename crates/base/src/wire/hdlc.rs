//! HDLC-like framing of PPP on serial lines (RFC 1662): flags, escapes, 16-bit frame check sequence,
//! deframer.
//!
//! The line is untrusted: the same frames are found for any division of the bytes into reads, and invalid
//! frames are classified and skipped. Frames are whole, with their check sequence and without escapes.

/// Flag at the start and end of every frame (RFC 1662 section 3.1).
pub const FLAG: u8 = 0x7e;
/// Escape: the sixth bit of the next byte is inverted (RFC 1662 section 4.2).
pub const ESCAPE: u8 = 0x7d;
/// Bit that an escape inverts in the next byte.
const ESCAPE_XOR: u8 = 0x20;
/// Length of the frame check sequence, bytes.
pub const CHECK: usize = 2;
/// Smallest frame; shorter ones are silently discarded (RFC 1662 section 4.3).
pub const LEAST: usize = 4;
/// Largest frame, bytes: address, control, protocol, the largest IP packet, and the frame check sequence.
pub const MOST: usize = 4 + 65_535 + CHECK;

/// Initial value of the check sequence (RFC 1662 appendix C.2).
const INITIAL: u16 = 0xffff;
/// Value of the check sequence over a whole good frame (RFC 1662 appendix C.2).
const GOOD: u16 = 0xf0b8;
/// Polynomial x^0 + x^5 + x^12 + x^16, lowest bit first.
const POLYNOMIAL: u16 = 0x8408;

const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

fn run(bytes: &[u8]) -> u16 {
    bytes.iter().fold(INITIAL, |fcs, b| fcs >> 8 ^ TABLE[usize::from((fcs ^ u16::from(*b)) as u8)])
}

/// Frame check sequence of the bytes, low byte first.
pub fn check_of(bytes: &[u8]) -> [u8; CHECK] {
    (!run(bytes)).to_le_bytes()
}

/// Whether the frame check sequence of a frame is valid.
pub fn is_good(frame: &[u8]) -> bool {
    run(frame) == GOOD
}

/// Recomputes the frame check sequence of a changed frame.
pub fn update_check(frame: &mut [u8]) {
    if let Some(inner) = frame.len().checked_sub(CHECK) {
        let (bytes, check) = frame.split_at_mut(inner);
        check.copy_from_slice(&check_of(bytes));
    }
}

/// Appends a frame, with its check sequence, in line format: flags at both ends, and all bytes escaped that
/// any receiver could require. Few receivers require all of these escapes; all accept them (RFC 1662 section
/// 7.1).
pub fn put(frame: &[u8], line: &mut Vec<u8>) {
    line.push(FLAG);
    for &byte in frame {
        if byte < 0x20 || byte == ESCAPE || byte == FLAG {
            line.extend([ESCAPE, byte ^ ESCAPE_XOR]);
        } else {
            line.push(byte);
        }
    }
    line.push(FLAG);
}

crate::named! {
    /// Defect of an invalid frame.
    pub enum FrameError {
        /// Wrong frame check sequence.
        Check = "a wrong check sequence",
        /// Longer than the largest frame.
        Long = "too long",
        /// Aborted by the sender: an escape before the flag (RFC 1662 section 4.3).
        Aborted = "given up by its sender",
        /// Shorter than the smallest frame.
        Short = "too short",
    }
}

/// Result of deframing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deframed<'a> {
    /// Good frame, with its check sequence.
    Frame(&'a [u8]),
    /// Invalid frame.
    Wrong(FrameError),
    /// Bytes before the first flag, such as modem commands and login scripts, as received.
    Talk(&'a [u8]),
}

/// Deframer of a line.
#[derive(Clone, Debug, Default)]
pub struct Deframer {
    frame: Vec<u8>,
    /// The first flag has been received.
    framed: bool,
    /// The last byte was an escape.
    escaped: bool,
    /// The current frame exceeds the maximum length; its rest is skipped.
    long: bool,
}

impl Deframer {
    /// Processes the next bytes of the line; `found` is called for each result.
    pub fn take(&mut self, bytes: &[u8], mut found: impl FnMut(Deframed<'_>)) {
        let mut rest = bytes;
        if !self.framed {
            let talk = rest.iter().position(|b| *b == FLAG);
            let (before, behind) = rest.split_at(talk.unwrap_or(rest.len()));
            if !before.is_empty() {
                found(Deframed::Talk(before));
            }
            self.framed = talk.is_some();
            rest = behind;
        }
        for &byte in rest {
            match byte {
                FLAG => self.end(&mut found),
                ESCAPE if !self.escaped => self.escaped = true,
                byte => {
                    let byte = if std::mem::take(&mut self.escaped) { byte ^ ESCAPE_XOR } else { byte };
                    if self.frame.len() < MOST {
                        self.frame.push(byte);
                    } else {
                        self.long = true;
                    }
                }
            }
        }
    }

    fn end(&mut self, found: &mut impl FnMut(Deframed<'_>)) {
        let (aborted, long) = (std::mem::take(&mut self.escaped), std::mem::take(&mut self.long));
        if aborted {
            found(Deframed::Wrong(FrameError::Aborted));
        } else if long {
            found(Deframed::Wrong(FrameError::Long));
        } else if self.frame.len() >= LEAST {
            let good = is_good(&self.frame);
            found(if good { Deframed::Frame(&self.frame) } else { Deframed::Wrong(FrameError::Check) });
        } else if !self.frame.is_empty() {
            found(Deframed::Wrong(FrameError::Short));
        }
        self.frame.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Frames, errors and joined plain text of a line.
    fn all(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Vec<FrameError>, Vec<u8>) {
        let (mut frames, mut wrong, mut talk) = (Vec::new(), Vec::new(), Vec::new());
        let mut deframer = Deframer::default();
        for piece in pieces {
            deframer.take(piece, |found| match found {
                Deframed::Frame(frame) => frames.push(frame.to_vec()),
                Deframed::Wrong(why) => wrong.push(why),
                Deframed::Talk(bytes) => talk.extend(bytes),
            });
        }
        (frames, wrong, talk)
    }

    fn framed(inner: &[u8]) -> Vec<u8> {
        let mut frame = inner.to_vec();
        frame.extend(check_of(inner));
        frame
    }

    /// Bitwise polynomial division: the check sequence is the remainder, lowest bit first.
    fn by_division(bytes: &[u8]) -> u16 {
        let bits = bytes.iter().flat_map(|b| (0..8).map(move |k| b >> k & 1));
        !bits.fold(INITIAL, |fcs, bit| {
            let carry = (fcs & 1) as u8 ^ bit;
            if carry == 1 { fcs >> 1 ^ POLYNOMIAL } else { fcs >> 1 }
        })
    }

    /// Catalogued check value of this sequence (CRC-16/X-25), and an LCP request without options as PPP
    /// implementations send it.
    #[test]
    fn sequences_are_those_of_others() {
        assert_eq!(u16::from_le_bytes(check_of(b"123456789")), 0x906e);
        let line = [
            0x7e, 0xff, 0x7d, 0x23, 0xc0, 0x21, 0x7d, 0x21, 0x7d, 0x21, 0x7d, 0x20, 0x7d, 0x24, 0xd1, 0xb5,
            0x7e,
        ];
        let (frames, wrong, _) = all(&[&line]);
        assert_eq!(frames, [framed(&[0xff, 0x03, 0xc0, 0x21, 1, 1, 0, 4])]);
        assert!(wrong.is_empty());
        let mut again = Vec::new();
        put(&frames[0], &mut again);
        assert_eq!(again, line);
    }

    #[test]
    fn what_is_no_frame_is_named() {
        let mut line = b"ATDT123\r\nCONNECT\r\n~~~".to_vec();
        line.extend(b"abcdef~"); // Wrong check sequence.
        line.extend(b"ab~"); // Frame too short.
        line.extend(b"abcdefgh}~"); // Frame aborted by the sender.
        line.extend(vec![b'x'; MOST + 1]);
        line.push(FLAG);
        put(&framed(b"good"), &mut line);
        let (frames, wrong, talk) = all(&[&line]);
        assert_eq!(frames, [framed(b"good")]);
        assert_eq!(wrong, [FrameError::Check, FrameError::Short, FrameError::Aborted, FrameError::Long]);
        assert_eq!(talk, b"ATDT123\r\nCONNECT\r\n");
    }

    proptest! {
        #[test]
        fn the_table_divides(bytes: Vec<u8>) {
            prop_assert_eq!(u16::from_le_bytes(check_of(&bytes)), by_division(&bytes));
            prop_assert!(is_good(&framed(&bytes)));
        }

        /// Encoded frames are found, and reserved bytes never appear on the line.
        #[test]
        fn put_and_found(inners in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 2..80), 0..8)) {
            let frames: Vec<Vec<u8>> = inners.iter().map(|inner| framed(inner)).collect();
            let mut line = Vec::new();
            frames.iter().for_each(|frame| put(frame, &mut line));
            prop_assert!(line.iter().all(|b| *b >= 0x20));
            prop_assert_eq!(all(&[&line]), (frames, vec![], vec![]));
        }

        /// The result does not depend on the division into pieces.
        #[test]
        fn pieces_do_not_matter(
            bytes in proptest::collection::vec(prop_oneof![Just(FLAG), Just(ESCAPE), any::<u8>()], 0..400),
            cuts in proptest::collection::vec(0usize..400, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(all(&pieces), all(&[&bytes]));
        }

        /// A wrong bit is detected (as is any burst of up to 16 bits), unless it makes or hides a flag or an
        /// escape.
        #[test]
        fn a_wrong_bit_is_found(inner in proptest::collection::vec(any::<u8>(), 2..80), bit: usize) {
            let mut frame = framed(&inner);
            let bit = bit % (frame.len() * 8);
            frame[bit / 8] ^= 1 << (bit % 8);
            let mut line = Vec::new();
            put(&frame, &mut line);
            prop_assert_eq!(all(&[&line]).1, [FrameError::Check]);
            update_check(&mut frame);
            prop_assert!(is_good(&frame));
        }
    }
}
