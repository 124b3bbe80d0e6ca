//! Window sizes in segments, bytes, or by an RFC's rule.

use super::options::OptionValue;
use base::units::parse_bytes;

/// Window size in segments, in bytes, or by an RFC's rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowSize {
    /// Full-sized segments.
    Segments(u32),
    /// Bytes.
    Bytes(u64),
    /// RFC 3390: min(4 MSS, max(2 MSS, 4380 B)).
    Rfc3390,
    /// RFC 6928: min(10 MSS, max(2 MSS, 14600 B)).
    Rfc6928,
    /// The peer's window.
    Peer,
    /// No limit.
    Unlimited,
}

impl WindowSize {
    /// Converts to bytes for this segment size and peer window.
    pub fn bytes(self, mss: u32, peer: u64) -> u64 {
        let mss = u64::from(mss);
        match self {
            WindowSize::Segments(n) => u64::from(n) * mss,
            WindowSize::Bytes(n) => n,
            WindowSize::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
            WindowSize::Rfc6928 => (10 * mss).min((2 * mss).max(14600)),
            WindowSize::Peer => peer,
            WindowSize::Unlimited => u64::MAX,
        }
    }
}

impl OptionValue for WindowSize {
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            // RFC 2414 has the same formula.
            "rfc3390" | "rfc2414" => return Ok(WindowSize::Rfc3390),
            "rfc6928" => return Ok(WindowSize::Rfc6928),
            "peer" => return Ok(WindowSize::Peer),
            "unlimited" => return Ok(WindowSize::Unlimited),
            _ => {}
        }
        let words = ["segments", "segment"];
        if let Some(number) = words.iter().find_map(|w| text.trim().strip_suffix(w)) {
            return match number.trim().parse() {
                Ok(n) if n > 0 => Ok(WindowSize::Segments(n)),
                _ => Err(format!("`{text}` must be a whole number of segments, at least 1")),
            };
        }
        match parse_bytes(text) {
            Ok(0) => Err(format!("`{text}` is no window at all")),
            Ok(n) => Ok(WindowSize::Bytes(n)),
            Err(_) => Err(format!(
                "`{text}` is not a window; write \"20 segments\", \"64 kB\", \"rfc3390\", \"rfc6928\", \"peer\" or \"unlimited\""
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PR-02: RFC 3390's window for the three cases of the profile paper (claim C110).
    #[test]
    fn initial_windows_of_rfc_3390() {
        for (mss, bytes) in [(536, 2144), (1460, 4380), (2190, 4380)] {
            assert_eq!(WindowSize::Rfc3390.bytes(mss, 0), bytes);
        }
    }
}
