//! Decimal numbers and times for packet comments, appended without the standard library's formatter.
//!
//! A comment is written for each packet, and the standard formatter takes thousands of instructions for a
//! fraction.

/// Appends a number.
pub(super) fn number(text: &mut Vec<u8>, n: u64) {
    digits(text, n, 1);
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
    text.push(b'.');
    digits(text, ns % 1_000_000_000, 9);
}

/// Appends at least `least` digits of `n`, at most 20.
fn digits(text: &mut Vec<u8>, mut n: u64, least: usize) {
    let mut room = [b'0'; 20];
    let mut from = room.len();
    while n > 0 && from > 0 {
        from -= 1;
        room[from] = b'0' + (n % 10) as u8;
        n /= 10;
    }
    let from = from.min(room.len() - least);
    text.extend_from_slice(&room[from..]);
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
