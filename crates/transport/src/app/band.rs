//! How does a request say what it asks for, where the other end cannot look into the same box? Its first bytes do: three
//! numbers in groups of seven bits, the lowest first and the upper bit set where another follows (as LEB128): bytes of the
//! request, bytes of the reply, nanoseconds until it is written. The rest is zeros, as all of it is otherwise; so there are as many bytes, at
//! the same times. Only a request that is shorter than its numbers grows to them.

use super::lines::Letter;
use base::{Span, Time};

/// The most bytes that the numbers of a request take.
pub const MOST: usize = 3 * GROUPS;
/// Groups of seven bits in 64.
const GROUPS: usize = 10;

/// Bytes that are no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonsense;

/// The numbers of a request, as its first bytes. Lengths are in bytes.
pub fn write(request: u64, reply: u64, wait: Span) -> Vec<u8> {
    let mut out = Vec::with_capacity(MOST);
    for mut number in [request, reply, wait.as_nanos()] {
        while number > 0x7f {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }
    out
}

/// The length of a request that has room for its numbers: `request`, unless that is shorter than they are.
pub fn length(request: u64, reply: u64, wait: Span) -> u64 {
    // Where they do not fit, the length itself is one byte of them, and stays so.
    request.max(write(request, reply, wait).len() as u64)
}

/// What was read so far of one connection.
#[derive(Clone, Default, Debug)]
pub struct Reader {
    /// Of the numbers of the next request.
    head: Vec<u8>,
    /// Still to come of the present one.
    left: u64,
    /// Where the last known one ends.
    end: u64,
}

impl Reader {
    /// Reads on; `found` is told of each request when its numbers are there, which may be before it ends. What they say of the
    /// time of its making is nothing.
    ///
    /// # Errors
    /// These are no requests, and nothing that follows can be read either.
    pub fn read(&mut self, bytes: &[u8], mut found: impl FnMut(Letter)) -> Result<(), Nonsense> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let skipped = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
            self.left -= skipped as u64;
            rest = rest.get(skipped..).unwrap_or_default();
            let Some((next, after)) = rest.split_first() else { break };
            rest = after;
            self.head.push(*next);
            let Some([request, reply, wait]) = numbers(&self.head)? else { continue };
            self.left = request.checked_sub(self.head.len() as u64).ok_or(Nonsense)?;
            self.end = self.end.checked_add(request).ok_or(Nonsense)?;
            self.head.clear();
            found(Letter { end: self.end, made: Time::ZERO, reply, wait: Span::from_nanos(wait) });
        }
        Ok(())
    }
}

/// The three numbers, if all of them are there.
fn numbers(head: &[u8]) -> Result<Option<[u64; 3]>, Nonsense> {
    let (mut all, mut rest) = ([0u64; 3], head);
    for number in &mut all {
        let Some(length) = rest.iter().position(|byte| byte & 0x80 == 0) else {
            return if rest.len() < GROUPS { Ok(None) } else { Err(Nonsense) };
        };
        let (groups, after) = rest.split_at(length + 1);
        for group in groups.iter().rev() {
            let higher = number.checked_mul(0x80).ok_or(Nonsense)?;
            *number = higher | u64::from(group & 0x7f);
        }
        rest = after;
    }
    Ok(Some(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn letters(pieces: &[&[u8]]) -> Result<Vec<(u64, u64, u64)>, Nonsense> {
        let (mut reader, mut all) = (Reader::default(), Vec::new());
        for piece in pieces {
            reader.read(piece, |letter| all.push((letter.end, letter.reply, letter.wait.as_nanos())))?;
        }
        Ok(all)
    }

    #[test]
    fn a_request_that_is_too_short_grows_to_its_numbers() {
        assert_eq!(length(200, 3000, Span::ZERO), 200);
        assert_eq!(length(1, 1, Span::ZERO), 3);
        assert_eq!(length(5, 100_000, Span::from_millis(5)), 8);
        assert_eq!(length(0, u64::MAX, Span::from_nanos(u64::MAX)), 21);
        // Its second number would be longer than a number may be; a request that ends inside its numbers.
        assert_eq!(
            letters(&[&[100, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]]),
            Err(Nonsense)
        );
        assert_eq!(
            letters(&[&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 0, 0]]),
            Err(Nonsense)
        );
        assert_eq!(letters(&[&[2, 0, 0]]), Err(Nonsense));
    }

    proptest! {
        /// However the bytes are cut, the other end reads what was written, and where each request ends.
        #[test]
        fn what_was_asked_is_read(
            asked in proptest::collection::vec((1u64..2000, any::<u64>(), any::<u64>()), 0..20),
            cuts in proptest::collection::vec(1usize..700, 1..40),
        ) {
            let (mut bytes, mut expected, mut end) = (Vec::new(), Vec::new(), 0);
            for (request, reply, wait) in asked {
                let request = length(request, reply, Span::from_nanos(wait));
                let head = write(request, reply, Span::from_nanos(wait));
                prop_assert!(head.len() <= MOST && head.len() as u64 <= request);
                bytes.extend(&head);
                bytes.resize(bytes.len() + request as usize - head.len(), 0);
                end += request;
                expected.push((end, reply, wait));
            }
            let (mut rest, mut pieces) = (&bytes[..], Vec::new());
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(letters(&pieces), Ok(expected));
        }
    }
}
