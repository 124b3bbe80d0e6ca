//! Streaming of media (catalogue RT-13; 3GPP TS 22.105 section 5.4): a source that adapts its rate, a player with a
//! playout buffer, a user who moves the play point.
//!
//! Media are cut into frames of one duration. The source fills the playout buffer faster than the media play, then sends at the
//! speed of the media. On transports with message lifetimes, the lifetime of a frame ends when the player needs the frame.

mod player;
mod sink;
mod source;

pub use player::{Played, Player};
pub use sink::MediaSink;
pub use source::MediaSource;

use base::Span;
use serde::{Deserialize, Serialize};

/// Plan of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Streaming {
    /// Rates of the media, bit/s, ascending; at least one.
    pub rates: Vec<u64>,
    /// Duration of a frame, above zero.
    pub frame: Span,
    /// Number of frames of the media.
    pub frames: u64,
    /// Duration of media in the buffer at which the player starts.
    pub buffer: Span,
    /// Maximum duration of media in the buffer; at least `buffer`.
    pub holds: Span,
    /// Speed at which the source fills the buffer, relative to that of the media; at least 1.
    pub fill: f64,
    /// The source adapts the rate to the feedback of the transport.
    pub adapts: bool,
    /// Moves of the play point, in order of time.
    pub jumps: Vec<Jump>,
    /// Time from a jump until the source learns of it.
    pub request: Span,
}

/// A move of the play point by the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jump {
    /// Time of the jump, after the start of the flow.
    pub at: Span,
    /// Play point after the jump.
    pub to: Span,
}

impl Streaming {
    /// The frame at a play point.
    pub fn frame_at(&self, point: Span) -> u64 {
        (point.as_nanos() / self.frame.as_nanos().max(1)).min(self.frames.saturating_sub(1))
    }
    /// Whole frames in a time, at least one.
    fn frames_in(&self, span: Span) -> u64 {
        (span.as_nanos() / self.frame.as_nanos().max(1)).max(1)
    }
    /// Bytes of a frame at rate number `level`.
    pub fn frame_bytes(&self, level: usize) -> u64 {
        let rate = self.rates.get(level).or(self.rates.last()).copied().unwrap_or(0);
        let bits = u128::from(rate) * u128::from(self.frame.as_nanos()) / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX).max(1)
    }
}

/// Out-of-band description of a frame: number, rate, and number of jumps before its transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label {
    frame: u64,
    level: usize,
    jumps: u64,
}

impl Label {
    /// As the reply of a [`super::connections::MessageMark`]: 40 bits of the frame, 8 of the rate, 16 of the jumps.
    fn pack(self) -> u64 {
        (self.frame & ((1 << 40) - 1)) << 24 | (self.level as u64 & 255) << 16 | self.jumps & 0xffff
    }
    fn unpack(word: u64) -> Self {
        Label { frame: word >> 24, level: (word >> 16 & 255) as usize, jumps: word & 0xffff }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_back_from_log() {
        let label = Label { frame: (1 << 40) - 1, level: 255, jumps: 65_535 };
        assert_eq!(Label::unpack(label.pack()), label);
        let small = Label { frame: 7, level: 2, jumps: 1 };
        assert_eq!(Label::unpack(small.pack()), small);
    }
}
