//! Decimal numbers and times for packet comments, appended without the standard library's formatter.
//!
//! A comment is written for each packet, and the standard formatter takes thousands of instructions for a
//! fraction.

/// Appends a number.
pub(super) fn number(text: &mut Vec<u8>, n: u64) {
    let mut room = [b'0'; 20];
    let from = digits(&mut room, n).min(room.len() - 1);
    text.extend_from_slice(&room[from..]);
}

/// Appends a time of `ns` nanoseconds in seconds with nine decimals, as `{:.9}` writes `ns as f64 / 1e9`.
pub(super) fn seconds(text: &mut Vec<u8>, ns: u64) {
    /// Below this, the double nearest to the seconds identifies the nanosecond.
    const EXACT: u64 = 1 << 50;
    if ns >= EXACT {
        text.extend_from_slice(format!("{:.9}", ns as f64 / 1e9).as_bytes());
        return;
    }
    number(text, ns / 1_000_000_000);
    let mut room = [b'0'; 10];
    digits(&mut room, ns % 1_000_000_000);
    room[0] = b'.';
    text.extend_from_slice(&room);
}

/// The numbers from 00 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// Writes a number at the end of `room`, which has space for it; returns the index of its first digit. Nothing is written
/// for 0, whose index is the length of `room`.
fn digits(room: &mut [u8], n: u64) -> usize {
    let mut from = room.len();
    let mut put = |pair: usize| {
        from = from.saturating_sub(2);
        if let Some(to) = room.get_mut(from..from + 2) {
            to.copy_from_slice(&PAIRS[pair]);
        }
    };
    let mut high = n;
    while high > u64::from(u32::MAX) {
        put((high % 100) as usize);
        high /= 100;
    }
    // Division of 32 bits is a multiplication.
    let mut low = high as u32;
    while low >= 10 {
        put((low % 100) as usize);
        low /= 100;
    }
    if low > 0 {
        from = from.saturating_sub(1);
        room[from] = b'0' + low as u8;
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn writes_what_the_library_writes(n: u64, shift in 0u32..64) {
            let n = n >> shift;
            let mut text = Vec::new();
            number(&mut text, n);
            text.push(b' ');
            seconds(&mut text, n);
            prop_assert_eq!(String::from_utf8(text), Ok(format!("{n} {:.9}", n as f64 / 1e9)));
        }
    }
}
