//! Quantities with units: parsers and formats of rates, durations, sizes and queue limits; type of rates.
//!
//! A quantity in text always has its unit: `"30 kbit/s"`, `"300 ms"`, `"100 kB"`. `k` is 1000 and `Ki` is
//! 1024; the space is optional. Units of `tc` (`5mbit`, `100ms`, `64kb`) are accepted, and never printed.

use crate::time::Span;
use std::fmt;

/// A rate in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Rate(u64);

impl Rate {
    /// From bit/s.
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }
    /// In bit/s.
    pub const fn bps(self) -> u64 {
        self.0
    }
    /// Transmission time of `bytes` at this rate, rounded up to a nanosecond; infinite at rate 0.
    pub fn span_of(self, bytes: u64) -> Span {
        if self.0 == 0 {
            return Span::FOREVER;
        }
        const BITS_TO_NANOS: u64 = 8_000_000_000;
        match bytes.checked_mul(BITS_TO_NANOS) {
            Some(n) => Span::from_nanos(n.div_ceil(self.0)),
            None => {
                let n = (u128::from(bytes) * u128::from(BITS_TO_NANOS)).div_ceil(u128::from(self.0));
                Span::from_nanos(u64::try_from(n).unwrap_or(u64::MAX))
            }
        }
    }
}

/// Queue limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Maximum number of packets.
    Packets(u32),
    /// Maximum number of bytes.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

/// Text that is not a quantity with its unit; the message suggests a correction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// Text without a number at the start.
    #[error("`{text}` does not start with a number; write it like \"{example}\"")]
    NoNumber {
        /// Text read.
        text: String,
        /// Example of the quantity.
        example: &'static str,
    },
    /// Negative or infinite number.
    #[error("`{0}` is negative or not a number; it must be 0 or more")]
    Negative(String),
    /// More than 9e18 of the smallest unit.
    #[error("`{0}` is too large")]
    TooLarge(String),
    /// Number without a unit.
    #[error("`{text}` has no unit; write \"{} {}\" or \"{} {}\"", text.trim(), units[0], text.trim(), units[1])]
    NoUnit {
        /// Text read.
        text: String,
        /// Two possible units.
        units: [&'static str; 2],
    },
    /// Unknown unit, or a unit of another quantity.
    #[error("`{unit}` is not a unit of {quantity}; use {known}")]
    UnknownUnit {
        /// Unit read.
        unit: String,
        /// Quantity expected: time, rate or size.
        quantity: &'static str,
        /// Units of that quantity.
        known: &'static str,
    },
    /// Fraction of a packet.
    #[error("`{0}` is not a whole number of packets")]
    NotWhole(String),
}

impl UnitError {
    fn no_unit(text: &str, units: [&'static str; 2]) -> UnitError {
        UnitError::NoUnit { text: text.to_owned(), units }
    }
    fn unknown(unit: &str, quantity: &'static str, known: &'static str) -> UnitError {
        UnitError::UnknownUnit { unit: unit.to_owned(), quantity, known }
    }
}

/// Message text, for callers whose own error is a sentence.
impl From<UnitError> for String {
    fn from(error: UnitError) -> String {
        error.to_string()
    }
}

/// Splits "12.5 kB" into the number and the unit; the error contains `example`.
fn number_and_unit<'a>(text: &'a str, example: &'static str) -> Result<(f64, &'a str), UnitError> {
    let text = text.trim();
    let digits = text
        .char_indices()
        .find(|&(i, c)| {
            let sign = (c == '-' || c == '+') && (i == 0 || matches!(text.as_bytes()[i - 1], b'e' | b'E'));
            // An 'e' belongs to the number only if digits follow ("1e6 bit/s").
            let exponent = (c == 'e' || c == 'E')
                && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+');
            !(c.is_ascii_digit() || c == '.' || sign || exponent)
        })
        .map_or(text.len(), |(i, _)| i);
    let (number, unit) = (&text[..digits], text[digits..].trim());
    let value: f64 = number.parse().map_err(|_| UnitError::NoNumber { text: text.to_owned(), example })?;
    if !value.is_finite() || value < 0.0 {
        return Err(UnitError::Negative(text.to_owned()));
    }
    Ok((value, unit))
}

fn scaled(value: f64, factor: f64, text: &str) -> Result<u64, UnitError> {
    let n = value * factor;
    if n > 9.0e18 { Err(UnitError::TooLarge(text.to_owned())) } else { Ok((n + 0.5) as u64) }
}

/// Reads a duration: `"300 ms"`, `"1.5 s"`, `"2 h"`.
pub fn parse_span(text: &str) -> Result<Span, UnitError> {
    let (value, unit) = number_and_unit(text, "300 ms")?;
    let factor = match unit {
        "ns" => 1.0,
        "us" | "µs" | "usec" | "usecs" => 1e3,
        "ms" | "msec" | "msecs" => 1e6,
        "s" | "sec" | "secs" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        "" => return Err(UnitError::no_unit(text, ["s", "ms"])),
        _ => return Err(UnitError::unknown(unit, "time", "ns, us, ms, s, min or h")),
    };
    scaled(value, factor, text).map(Span::from_nanos)
}

/// Reads a rate: `"30 kbit/s"`, `"2 Mbit/s"`; bytes per second are written `"3 kB/s"`.
pub fn parse_rate(text: &str) -> Result<Rate, UnitError> {
    let (value, unit) = number_and_unit(text, "30 kbit/s")?;
    let factor = match unit {
        "bit/s" | "bps" | "bit" | "b/s" => 1.0,
        "kbit/s" | "kbps" | "kbit" | "kb/s" => 1e3,
        "Mbit/s" | "Mbps" | "mbit" | "Mb/s" | "mbps" => 1e6,
        "Gbit/s" | "Gbps" | "gbit" | "Gb/s" | "gbps" => 1e9,
        "Kibit/s" => 1024.0,
        "Mibit/s" => 1024.0 * 1024.0,
        "B/s" => 8.0,
        "kB/s" => 8e3,
        "MB/s" => 8e6,
        "KiB/s" => 8.0 * 1024.0,
        "MiB/s" => 8.0 * 1024.0 * 1024.0,
        "" => return Err(UnitError::no_unit(text, ["kbit/s", "Mbit/s"])),
        _ => {
            return Err(UnitError::unknown(unit, "rate", "bit/s, kbit/s, Mbit/s, Gbit/s or kB/s"));
        }
    };
    scaled(value, factor, text).map(Rate)
}

/// Reads an amount of data: `"100 kB"`, `"300 KiB"`, `"1500 B"`.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let (value, unit) = number_and_unit(text, "300 KiB")?;
    let factor = match unit {
        "B" | "b" | "byte" | "bytes" => 1.0,
        "kB" | "KB" | "kb" => 1e3,
        "MB" | "mb" => 1e6,
        "GB" | "gb" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "" => return Err(UnitError::no_unit(text, ["B", "kB"])),
        _ => return Err(UnitError::unknown(unit, "size", "B, kB, MB, KiB or MiB")),
    };
    scaled(value, factor, text)
}

/// Reads a queue limit: `"10 packets"`, `"100 kB"` or `"unlimited"`.
pub fn parse_limit(text: &str) -> Result<Limit, UnitError> {
    if text.trim() == "unlimited" {
        return Ok(Limit::Unlimited);
    }
    let (value, unit) = number_and_unit(text, "10 packets")?;
    match unit {
        "packet" | "packets" | "pkt" | "p" => {
            if value.fract() != 0.0 || value > f64::from(u32::MAX) {
                return Err(UnitError::NotWhole(text.to_owned()));
            }
            Ok(Limit::Packets(value as u32))
        }
        "" => Err(UnitError::no_unit(text, ["packets", "kB"])),
        _ => parse_bytes(text).map(Limit::Bytes).map_err(|error| match error {
            UnitError::UnknownUnit { unit, .. } => {
                UnitError::unknown(&unit, "a limit", "packets, B, kB, MB, KiB or MiB")
            }
            other => other,
        }),
    }
}

fn write_scaled(f: &mut fmt::Formatter<'_>, value: f64, steps: &[(f64, &str)]) -> fmt::Result {
    let (factor, unit) = steps
        .iter()
        .rev()
        .find(|(factor, _)| value >= *factor)
        .or(steps.first())
        .copied()
        .unwrap_or((1.0, ""));
    // At most six decimals, without trailing zeros.
    let text = format!("{:.6}", value / factor);
    write!(f, "{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.as_nanos() as f64, &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")])
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0 as f64, &[(1.0, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s")])
    }
}
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Packets(n) => write!(f, "{n} packets"),
            Limit::Bytes(n) => {
                write_scaled(f, *n as f64, &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")])
            }
            Limit::Unlimited => f.write_str("unlimited"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_what_they_say() {
        assert_eq!(parse_rate("30 kbit/s"), Ok(Rate(30_000)));
        assert_eq!(parse_rate("5mbit"), Ok(Rate(5_000_000)));
        assert_eq!(parse_span("300 ms"), Ok(Span::from_millis(300)));
        assert_eq!(parse_span("1.5s"), Ok(Span::from_millis(1500)));
        assert_eq!(parse_bytes("300 KiB"), Ok(307_200));
        assert_eq!(parse_bytes("300 kB"), Ok(300_000));
        assert_eq!(parse_bytes("1e3 B"), Ok(1000));
        assert_eq!(parse_limit("10 packets"), Ok(Limit::Packets(10)));
        assert_eq!(parse_limit("100 kB"), Ok(Limit::Bytes(100_000)));
    }

    #[test]
    fn mistakes_name_the_mend() {
        for (read, said) in [
            (parse_rate("30").map(drop), "`30` has no unit; write \"30 kbit/s\" or \"30 Mbit/s\""),
            (parse_span(" 5 ").map(drop), "` 5 ` has no unit; write \"5 s\" or \"5 ms\""),
            (parse_bytes("7").map(drop), "`7` has no unit; write \"7 B\" or \"7 kB\""),
            (parse_limit("9").map(drop), "`9` has no unit; write \"9 packets\" or \"9 kB\""),
            (
                parse_span("5 parsecs").map(drop),
                "`parsecs` is not a unit of time; use ns, us, ms, s, min or h",
            ),
            (
                parse_rate("5 ms").map(drop),
                "`ms` is not a unit of rate; use bit/s, kbit/s, Mbit/s, Gbit/s or kB/s",
            ),
            (
                parse_limit("5 ms").map(drop),
                "`ms` is not a unit of a limit; use packets, B, kB, MB, KiB or MiB",
            ),
            (parse_span(" soon").map(drop), "`soon` does not start with a number; write it like \"300 ms\""),
            (
                parse_rate("-1 kbit/s").map(drop),
                "`-1 kbit/s` is negative or not a number; it must be 0 or more",
            ),
            (parse_limit("2.5 packets").map(drop), "`2.5 packets` is not a whole number of packets"),
            (parse_bytes("1e30 GB").map(drop), "`1e30 GB` is too large"),
        ] {
            assert_eq!(read.map_err(String::from), Err(said.to_owned()));
        }
    }

    #[test]
    fn serialisation_time_rounds_up() {
        assert_eq!(Rate::from_bps(30_000).span_of(1050), Span::from_millis(280));
        assert_eq!(Rate::from_bps(3).span_of(1), Span::from_nanos(2_666_666_667));
        assert_eq!(Rate::from_bps(0).span_of(1), Span::FOREVER);
        assert_eq!(Rate::from_bps(1_000_000_000).span_of(10_000_000_000), Span::from_secs(80));
    }

    proptest! {
        #[test]
        fn printed_is_read_back(ns in 0u64..10_000_000_000_000) {
            // Six decimals of the printed unit: exact below 1 ms, one part in a million above.
            let read = parse_span(&Span::from_nanos(ns).to_string()).unwrap().as_nanos();
            prop_assert!(read.abs_diff(ns) <= ns / 1_000_000 + 1);
        }
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = (parse_span(&text), parse_rate(&text), parse_bytes(&text), parse_limit(&text));
        }
    }
}
