//! Voice load: circuit-switched calls on timeslots of the packet territory (M/M/n loss system).
//!
//! A call takes the highest free timeslot and transmits at full power half of the time (discontinuous
//! transmission, 3GPP TS 46.031); packet data use the other timeslots.

use crate::config::Config;
use crate::numeric::key;
use base::rng::{Seed, Stream};
use radio::tdma::{BLOCKS_PER_SECOND, Tick};

/// Calls of all cells.
pub(crate) struct Voice {
    streams: Vec<Stream>,
    /// Start of the next call in each cell.
    next: Vec<Tick>,
    /// End of the call on each [cell][slot].
    until: Vec<Tick>,
    slots: usize,
    between: f64,
    length: f64,
    seed: u64,
}

impl Voice {
    /// Voice load of a configuration; `None` without voice traffic.
    pub(crate) fn new(config: &Config, cells: usize, name: &str, seed: Seed) -> Option<Voice> {
        if config.voice <= 0.0 {
            return None;
        }
        let length = config.voice_call.as_secs_f64() * BLOCKS_PER_SECOND as f64;
        let mut voice = Voice {
            streams: (0..cells).map(|c| seed.stream(name, &format!("voice {c}"))).collect(),
            next: vec![0; cells],
            until: vec![0; cells * config.mac.slots as usize],
            slots: config.mac.slots as usize,
            between: length / config.voice,
            length,
            seed: seed.stream(name, "voice").bits(),
        };
        (0..cells).for_each(|c| voice.next[c] = exponential(&mut voice.streams[c], voice.between));
        Some(voice)
    }

    /// Starts the calls of a tick.
    pub(crate) fn tick(&mut self, now: Tick) {
        for cell in 0..self.next.len() {
            while self.next[cell] <= now {
                let stream = &mut self.streams[cell];
                let (gap, length) = (exponential(stream, self.between), exponential(stream, self.length));
                self.next[cell] += gap;
                let row = &mut self.until[cell * self.slots..(cell + 1) * self.slots];
                if let Some(free) = row.iter_mut().rev().find(|until| **until <= now) {
                    *free = now + length;
                }
            }
        }
    }

    /// `None` without a call on the timeslot; otherwise whether the call is in a talk spurt.
    #[inline]
    pub(crate) fn on(&self, cell: usize, slot: usize, now: Tick) -> Option<bool> {
        let held = self.until[cell * self.slots + slot] > now;
        // One draw per second: talk spurts and pauses are multiples of 1 s.
        held.then(|| key(self.seed ^ u64::from(now / 50), (cell * self.slots + slot) as u64) & 1 == 0)
    }
}

/// An exponential duration in ticks, at least 1.
fn exponential(stream: &mut Stream, mean: f64) -> Tick {
    (-libm::log(stream.uniform()) * mean).clamp(1.0, 1e9) as Tick
}
