//! Timer wheel of Linux: expiry times of timers, rounded up to the wheel's slots.
//!
//! Timers never expire early. The wheel's slots are one tick wide at the first level and eight times wider at
//! each further level, so that a long timer is late by up to an eighth (6.12, kernel/time/timer.c:
//! `calc_index`, `calc_wheel_index`).

use base::{Span, Time};

/// Tick of a kernel with 250 Hz.
pub const TICK: Span = Span::from_millis(4);
/// Minimum timeout of loss recovery timers (`TCP_TIMEOUT_MIN_US`).
pub const LEAST: Span = Span::from_millis(2);
/// Range of the first level, ticks; each further level covers eight times as many.
const FIRST_TURN: u64 = 63;
/// Number of levels of the wheel.
const TURNS: u32 = 9;
/// Tick counter (`jiffies`) at t = 0: a kernel boots with 2 to the 32 less 300 s, and at t = 0 a kernel in virtual time
/// has run for two seconds. The phase is arbitrary; this one matches the kernels that the model is compared with.
const BEGAN: u64 = (1 << 32) - 300 * 250 + 2 * 250;

/// Number of whole ticks up to `at`.
pub fn ticks(at: Time) -> u64 {
    at.as_nanos() / TICK.as_nanos()
}

/// Expiry of a timer set at `now` for `wait`.
pub fn expiry(now: Time, wait: Span) -> Time {
    after(now, wait.as_nanos().div_ceil(TICK.as_nanos()))
}

/// Expiry of a timer set at `now` for `wait` ticks.
#[inline]
pub fn after(now: Time, wait: u64) -> Time {
    if wait < FIRST_TURN {
        return Time::from_nanos((ticks(now) + wait + 1).saturating_mul(TICK.as_nanos()));
    }
    after_the_first_turn(now, wait)
}

/// [`after`] for a timer beyond the first level.
fn after_the_first_turn(now: Time, wait: u64) -> Time {
    let turn = (0..TURNS).find(|turn| wait < FIRST_TURN << (3 * turn)).unwrap_or(TURNS);
    let shift = 3 * turn;
    let slot = ((ticks(now) + BEGAN + wait) >> shift) + 1;
    Time::from_nanos(((slot << shift) - BEGAN).saturating_mul(TICK.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A timer is late by at least a part of a tick and at most by its slot: 4 ms up to a quarter of a second, 32 ms up to two seconds,
    /// 256 ms up to sixteen.
    #[test]
    fn late_by_a_slot_at_most() {
        for (wait, slot) in [(40, 4), (248, 4), (252, 32), (1000, 32), (2012, 32), (2016, 256), (10_000, 256)]
        {
            let (mut least, mut most) = (u64::MAX, 0);
            for start in 0..1000 {
                let now = Time::from_nanos(start * 1_700_000);
                let late = expiry(now, Span::from_millis(wait)).since(now).as_nanos() - wait * 1_000_000;
                (least, most) = (least.min(late), most.max(late));
            }
            assert!(most <= slot * 1_000_000, "{wait} ms: up to {most} ns late");
            assert!(
                most + 5_000_000 > slot * 1_000_000 && least < 4_000_000,
                "{wait} ms: {least} to {most} ns"
            );
        }
    }
}
