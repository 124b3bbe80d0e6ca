//! TDMA time base of GSM: frames, multiframes, radio blocks, block periods of 20 ms as clock ticks (3GPP TS 45.002).
//!
//! A radio block takes four TDMA frames on the air, and a multiframe of 52 frames has twelve blocks, so
//! that a timeslot carries exactly 50 blocks per second. Layers above the physical layer use this mean period
//! of 20 ms. The exact frame pattern is used only where frame numbers leave the model (captures, a real PCU).

use base::{Span, Time};

/// Radio blocks per timeslot and second.
pub const BLOCKS_PER_SECOND: u64 = 50;
/// Mean time between the starts of radio blocks on a timeslot.
pub const BLOCK: Span = Span::from_millis(20);
/// Time of a radio block on the air: four TDMA frames of 60/13 ms.
pub const AIR: Span = Span::from_nanos(18_461_538);
/// Number of TDMA frames in a multiframe.
pub const MULTIFRAME: u32 = 52;
/// Number of radio blocks in a multiframe.
pub const BLOCKS: u32 = 12;
/// Modulus of TDMA frame numbers (45.002 section 4.3.3).
pub const HYPERFRAME: u32 = 2_715_648;
/// First TDMA frame of each radio block within the multiframe.
pub const STARTS: [u32; 12] = [0, 4, 8, 13, 17, 21, 26, 30, 34, 39, 43, 47];

/// Number of a block period from the start of the run; the clock of RLC and MAC.
pub type Tick = u32;

/// Number of the block period that contains `t`.
pub fn tick_of(t: Time) -> Tick {
    (t.as_nanos() / BLOCK.as_nanos()).min(u64::from(u32::MAX)) as Tick
}

/// Number of the first block period that starts at or after `t`.
pub fn next_tick(t: Time) -> Tick {
    t.as_nanos().div_ceil(BLOCK.as_nanos()).min(u64::from(u32::MAX)) as Tick
}

/// Start time of a block period.
pub fn start_of(tick: Tick) -> Time {
    Time::ZERO + BLOCK.times(u64::from(tick))
}

/// TDMA frame number of the first frame of a block period.
pub fn frame_of(tick: Tick) -> u32 {
    let frame =
        u64::from(tick / BLOCKS) * u64::from(MULTIFRAME) + u64::from(STARTS[(tick % BLOCKS) as usize]);
    (frame % u64::from(HYPERFRAME)) as u32
}

/// Number of ticks that cover `span`, rounded up.
pub fn ticks(span: Span) -> u32 {
    span.as_nanos().div_ceil(BLOCK.as_nanos()).min(u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_blocks_take_240_ms() {
        let frame = Span::from_nanos(60_000_000 / 13);
        let blocks = frame.times(u64::from(MULTIFRAME)).as_nanos() as f64 / f64::from(BLOCKS);
        assert!((blocks - BLOCK.as_nanos() as f64).abs() < 100.0);
        assert!((frame.times(4).as_nanos() as i64 - AIR.as_nanos() as i64).abs() < 4);
    }

    #[test]
    fn frames_follow_the_pattern_of_the_multiframe() {
        assert_eq!([0, 1, 2, 3, 11, 12, 13].map(frame_of), [0, 4, 8, 13, 47, 52, 56]);
        assert_eq!(frame_of(12 * 52_224), 0, "a hyperframe has 52 224 multiframes");
    }

    #[test]
    fn ticks_round_as_they_say() {
        assert_eq!((tick_of(Time::from_nanos(39_999_999)), next_tick(Time::from_nanos(20_000_001))), (1, 2));
        assert_eq!(next_tick(start_of(7)), 7);
        assert_eq!(ticks(Span::from_millis(110)), 6);
    }
}
