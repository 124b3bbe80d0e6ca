//! Voice load of a network of cells: circuit-switched calls on the packet timeslots of each cell (M/M/n loss system).
//!
//! A call takes the highest timeslot without a call; without such a timeslot it is lost. During half of the time it
//! transmits at full power on the downlink (discontinuous transmission, 3GPP TS 46.031). TBFs on the timeslot send
//! nothing during the call.

use crate::config::Config;
use crate::meter::VoiceCounts;
use crate::numeric::key;
use base::rng::{Seed, Stream};
use radio::tdma::{BLOCKS_PER_SECOND, Tick};

/// Voice calls of all cells.
pub(crate) struct Voice {
    /// Random stream of each cell.
    streams: Vec<Stream>,
    /// Start of the next call in each cell.
    next: Vec<Tick>,
    /// End of the call on each [cell][slot].
    until: Vec<Tick>,
    /// Timeslots per cell.
    slots: usize,
    /// Mean time between starts of calls in a cell, ticks.
    between: f64,
    /// Mean duration of a call, ticks.
    length: f64,
    /// Key of the talk spurts.
    seed: u64,
    /// Counters of each cell; `held` has the whole duration of calls in progress.
    counts: Vec<VoiceCounts>,
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
            counts: vec![VoiceCounts::default(); cells],
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
                let counts = &mut self.counts[cell];
                counts.offered += 1;
                if let Some(free) = row.iter_mut().rev().find(|until| **until <= now) {
                    *free = now + length;
                    counts.held += u64::from(length);
                } else {
                    counts.blocked += 1;
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

    /// Counts a block period in which a TBF on a timeslot with a call had a radio block to send.
    pub(crate) fn preempt(&mut self, cell: usize, way: usize) {
        self.counts[cell].preempted[way] += 1;
    }

    /// Counters of a cell before tick `done`.
    pub(crate) fn counts(&self, cell: usize, done: Tick) -> VoiceCounts {
        let row = &self.until[cell * self.slots..(cell + 1) * self.slots];
        let ahead: u64 = row.iter().map(|until| u64::from(until.saturating_sub(done))).sum();
        VoiceCounts { held: self.counts[cell].held - ahead, ..self.counts[cell] }
    }
}

/// An exponential duration in ticks, at least 1.
fn exponential(stream: &mut Stream, mean: f64) -> Tick {
    (-libm::log(stream.uniform()) * mean).clamp(1.0, 1e9) as Tick
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of lost calls with `servers` timeslots (Erlang B, by its recursion).
    fn loss(erlang: f64, servers: u32) -> f64 {
        (1..=servers).fold(1.0, |b, n| erlang * b / (f64::from(n) + erlang * b))
    }

    /// EG-12: calls are an M/M/n loss system. The mean number of timeslots in use equals the offered Erlang less
    /// the loss of the Erlang B formula; the highest timeslot is used most; half of the time is talk spurts.
    #[test]
    fn eg_12_voice_is_a_loss_system() {
        for erlang in [1.0, 4.0, 9.0] {
            let config = Config { voice: erlang, ..Config::default() };
            let (cells, slots) = (300, config.mac.slots as usize);
            let mut voice = Voice::new(&config, cells, "net", Seed { seed: 5, repetition: 0 }).unwrap();
            let (mut held, mut talks, mut samples) = (vec![0_u32; slots], 0, 0);
            for now in 0..200_000 {
                voice.tick(now);
                // The first 180 s fill the cells.
                if now < 9_000 || now % 500 != 0 {
                    continue;
                }
                samples += cells;
                for (cell, slot) in (0..cells).flat_map(|c| (0..slots).map(move |s| (c, s))) {
                    let talk = voice.on(cell, slot, now);
                    held[slot] += u32::from(talk.is_some());
                    talks += u32::from(talk == Some(true));
                }
            }
            let all: u32 = held.iter().sum();
            let carried = f64::from(all) / samples as f64;
            let expected = erlang * (1.0 - loss(erlang, slots as u32));
            println!("{erlang} Erlang offered: {carried:.3} carried, {expected:.3} by the formula");
            assert!((carried / expected - 1.0).abs() < 0.03, "{erlang}: {carried} {expected}");
            assert!(held.is_sorted(), "{held:?}");
            assert!((f64::from(talks) / f64::from(all) - 0.5).abs() < 0.01, "{talks} {all}");
        }
    }

    /// EG-12: calls offered are carried or blocked, and the periods held are those in which timeslots had a call.
    #[test]
    fn eg_12_voice_counters_are_those_of_the_timeslots() {
        let config = Config { voice: 5.0, voice_call: base::Span::from_secs(3), ..Config::default() };
        let slots = config.mac.slots as usize;
        let mut voice = Voice::new(&config, 4, "net", Seed { seed: 2, repetition: 0 }).unwrap();
        let (mut held, mut begun, mut before) = ([0; 4], [0; 4], vec![0; 4 * slots]);
        for now in 0..10_000 {
            voice.tick(now);
            for (cell, slot) in (0..4).flat_map(|c| (0..slots).map(move |s| (c, s))) {
                held[cell] += u64::from(voice.on(cell, slot, now).is_some());
                let until = voice.until[cell * slots + slot];
                begun[cell] += u64::from(std::mem::replace(&mut before[cell * slots + slot], until) != until);
            }
            for cell in 0..4 {
                let counts = voice.counts(cell, now + 1);
                assert_eq!(
                    (counts.held, counts.offered - counts.blocked),
                    (held[cell], begun[cell]),
                    "{now}"
                );
            }
        }
        assert!((0..4).all(|cell| voice.counts(cell, 10_000).blocked > 20));
    }
}
