//! HSCSD circuit: automatic link adaptation between TCH/F14.4 and TCH/F9.6, and change of the number of timeslots during
//! a call (3GPP TS 22.034, 23.034; RLP frames: 24.022; measurements: Gurtov, thesis, paper P1, sections II and IV.A).
//!
//! The coding follows C/I averaged over a measurement period: the circuit selects the coding of higher throughput, with
//! hysteresis. Voice calls of the cell occupy timeslots. The circuit has the first allocation of its list that fits into
//! the free timeslots, at least one. A call reduces the allocation immediately; an upgrade waits for the regrading timer.
//!
//! TCH/F14.4 uses the code of CS-2 (290 bits and a tail, 588 bits punctured to 456), TCH/F9.6 nearly the code of CS-1
//! (244 bits in place of 228, of 456). Both interleave over 19 bursts, so that the curves of ideal hopping apply. An
//! RLP frame has 576 bits in two blocks of TCH/F14.4, or 240 bits in one block of TCH/F9.6.

use super::config::{Adaptation, Contention};
use crate::coding::Scheme;
use crate::crowd::Crowd;
use crate::quality::{Curve, Profile, Steps};
use crate::tdma::{Tick, ticks};
use base::Rate;
use base::rng::{Seed, Stream};

/// Channel coding of a timeslot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coding {
    /// TCH/F9.6.
    F96,
    /// TCH/F14.4.
    F144,
}

impl Coding {
    /// Octets of user data in an RLP frame.
    pub const fn octets(self) -> u32 {
        match self {
            Coding::F96 => 25,
            Coding::F144 => 67,
        }
    }

    /// Rate of user data in RLP frames on one timeslot.
    pub fn rate(self) -> Rate {
        Rate::from_bps(if self == Coding::F96 { 10_000 } else { 13_400 })
    }

    /// Frame error rate at a C/I in dB; `gain` is the receiver's margin over the minimum, dB.
    pub fn error(self, c_over_i: f64, gain: f64) -> f64 {
        let curve = |scheme| Curve::of(scheme, Profile::Hopping, gain).bler(c_over_i);
        match self {
            Coding::F96 => curve(Scheme::Cs1),
            Coding::F144 => {
                let arrives = 1.0 - curve(Scheme::Cs2);
                1.0 - arrives * arrives
            }
        }
    }

    /// Expected throughput of user data on one timeslot, bit/s.
    fn expects(self, c_over_i: f64, gain: f64) -> f64 {
        self.rate().bps() as f64 * (1.0 - self.error(c_over_i, gain))
    }
}

/// Rate, coding and frame error rate of one direction in one period.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct CircuitPeriod {
    pub(super) rate: Rate,
    pub(super) coding: Coding,
    pub(super) error: f64,
}

/// State of link adaptation in one direction.
struct Adapting {
    config: Adaptation,
    steps: Steps,
    coding: Coding,
    /// Sum and number of C/I values since the last measurement.
    sum: (f64, u32),
    next: Tick,
}

/// Voice calls that compete with the circuit for the timeslots of the cell.
struct Contending {
    config: Contention,
    calls: Crowd,
    /// End of each call in progress.
    until: Vec<Tick>,
    /// Index of the present allocation: 0 for the wanted one, n for the nth fallback.
    present: usize,
    regrade: Tick,
}

/// State of an HSCSD circuit: link adaptation and allocation of timeslots.
pub(super) struct Circuit {
    slots: [u8; 2],
    fixed: (Coding, [f64; 2]),
    adapting: Option<[Adapting; 2]>,
    contending: Option<Contending>,
    /// Number of changes of coding, and of changes of the timeslots.
    pub(super) changes: [u64; 2],
}

impl Circuit {
    /// A circuit with `slots` timeslots, downlink and uplink. `fixed`: coding and frame error rates without adaptation.
    /// Returns `None` without adaptation and without contention.
    pub(super) fn new(
        slots: [u8; 2],
        fixed: (Coding, [f64; 2]),
        adaptation: Option<&Adaptation>,
        contention: Option<&Contention>,
        calls: Stream,
    ) -> Option<Circuit> {
        let adapting = adaptation.map(|config| {
            [0, 1].map(|way| Adapting {
                config: config.clone(),
                steps: config.c_over_i[way].clone(),
                coding: fixed.0,
                sum: (0.0, 0),
                next: 0,
            })
        });
        let contending = contention.map(|config| Contending {
            calls: Crowd::new(config.calls, config.call_lasts, calls),
            config: config.clone(),
            until: Vec::new(),
            present: 0,
            regrade: 0,
        });
        let has = adapting.is_some() || contending.is_some();
        has.then_some(Circuit { slots, fixed, adapting, contending, changes: [0; 2] })
    }

    /// Rate, coding and error rate in period number `n` of 20 ms, downlink and uplink; `n` must not decrease.
    pub(super) fn at(&mut self, n: Tick) -> [CircuitPeriod; 2] {
        let slots = match &mut self.contending {
            Some(contending) => {
                let before = contending.present;
                contending.advance(n, self.slots);
                self.changes[1] += u64::from(contending.present != before);
                contending.slots(self.slots)
            }
            None => self.slots,
        };
        [0, 1].map(|way| {
            let (coding, error) = match &mut self.adapting {
                Some(adapting) => {
                    let adapting = &mut adapting[way];
                    let before = adapting.coding;
                    let c_over_i = adapting.advance(n);
                    self.changes[0] += u64::from(adapting.coding != before);
                    (adapting.coding, adapting.coding.error(c_over_i, adapting.config.gain))
                }
                None => (self.fixed.0, self.fixed.1[way]),
            };
            let rate = Rate::from_bps(coding.rate().bps() * u64::from(slots[way]));
            CircuitPeriod { rate, coding, error }
        })
    }
}

impl Adapting {
    /// Advances to period `n` and returns the C/I of the period in dB.
    fn advance(&mut self, n: Tick) -> f64 {
        let c_over_i = self.steps.at(n);
        if n >= self.next {
            if self.sum.1 > 0 {
                self.choose(self.sum.0 / f64::from(self.sum.1));
            }
            (self.sum, self.next) = ((0.0, 0), n + ticks(self.config.every).max(1));
        }
        self.sum = (self.sum.0 + c_over_i, self.sum.1 + 1);
        c_over_i
    }

    /// Chooses the coding for a measured C/I. A change requires that the other coding is better even if C/I is wrong by
    /// half the hysteresis.
    fn choose(&mut self, measured: f64) {
        let half = 0.5 * self.config.hysteresis_db;
        let faster = |at: f64| {
            let expects = |coding: Coding| coding.expects(at, self.config.gain);
            expects(Coding::F144) > expects(Coding::F96)
        };
        self.coding = match self.coding {
            Coding::F144 if !faster(measured + half) => Coding::F96,
            Coding::F96 if faster(measured - half) => Coding::F144,
            same => same,
        };
    }
}

impl Contending {
    /// Processes the calls up to period `n`, then downgrades or regrades the allocation.
    fn advance(&mut self, n: Tick, wanted: [u8; 2]) {
        let most = usize::from(self.config.timeslots.saturating_sub(1));
        while let Some((at, end)) = self.calls.arrival(n) {
            self.until.retain(|until| *until > at);
            if self.until.len() < most {
                self.until.push(end);
            }
        }
        self.until.retain(|until| *until > n);
        let left = usize::from(self.config.timeslots) - self.until.len();
        let fits = |slots: [u8; 2]| usize::from(slots[0].max(slots[1])) <= left;
        let last = self.config.fallback.len();
        let best = (0..=last).find(|i| fits(self.allocation(*i, wanted))).unwrap_or(last);
        if n >= self.regrade {
            (self.present, self.regrade) = (best, n + ticks(self.config.regrade).max(1));
        } else if !fits(self.allocation(self.present, wanted)) {
            self.present = best;
        }
    }

    fn allocation(&self, index: usize, wanted: [u8; 2]) -> [u8; 2] {
        index.checked_sub(1).and_then(|i| self.config.fallback.get(i)).copied().unwrap_or(wanted)
    }

    fn slots(&self, wanted: [u8; 2]) -> [u8; 2] {
        self.allocation(self.present, wanted)
    }
}

/// Random stream of the calls that compete with a circuit.
pub(super) fn calls(name: &str, seed: Seed) -> Stream {
    seed.stream(name, "contention.calls")
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Span;

    fn adaptation(steps: Vec<(Tick, f64)>) -> Adaptation {
        let steps = Steps(steps);
        Adaptation {
            c_over_i: [steps.clone(), steps],
            gain: 0.0,
            every: Span::from_millis(480),
            hysteresis_db: 2.0,
        }
    }

    fn circuit(adaptation: Option<&Adaptation>, contention: Option<&Contention>) -> Circuit {
        let calls = calls("phone", Seed { seed: 1, repetition: 0 });
        Circuit::new([3, 1], (Coding::F144, [0.0; 2]), adaptation, contention, calls).unwrap()
    }

    /// GP-40: the coding follows C/I one measurement later, and does not change within the hysteresis.
    #[test]
    fn gp_40_the_coding_follows_c_over_i() {
        let config = adaptation(vec![(0, 20.0), (1000, 6.0), (2000, 20.0)]);
        let mut circuit = circuit(Some(&config), None);
        let codings: Vec<Coding> = (0..3000).map(|n| circuit.at(n)[0].coding).collect();
        let changes: Vec<usize> = (1..3000).filter(|n| codings[*n] != codings[n - 1]).collect();
        let [down, up] = changes[..] else { panic!("{changes:?}") };
        assert!((1000..1049).contains(&down) && (2000..2049).contains(&up), "{changes:?}");
        assert_eq!(circuit.changes, [4, 0]);
        // The codings are equal where 13.4 (1 - p14) = 10.0 (1 - p9.6).
        let even = (0..300)
            .map(|i| f64::from(i) * 0.1)
            .find(|db| Coding::F144.expects(*db, 0.0) > Coding::F96.expects(*db, 0.0));
        let even = even.unwrap();
        let at = |from: Coding, db: f64| {
            let config = adaptation(vec![(0, db)]);
            let mut circuit = self::circuit(Some(&config), None);
            circuit.adapting.as_mut().unwrap()[0].coding = from;
            (0..100).map(|n| circuit.at(n)[0].coding).last().unwrap()
        };
        for from in [Coding::F96, Coding::F144] {
            assert_eq!(at(from, even + 0.5), from, "within the hysteresis about {even} dB");
            assert_eq!(at(from, even + 1.5), Coding::F144);
            assert_eq!(at(from, even - 1.5), Coding::F96);
        }
    }

    /// GP-40: shares of time with 3 + 1, 2 + 2 and 1 + 1 timeslots, with the calls of an M/M/6 loss system, by Erlang's
    /// formula.
    #[test]
    fn gp_40_allocations_beside_calls_follow_erlang() {
        let config = Contention {
            timeslots: 7,
            calls: 4.0,
            call_lasts: Span::from_secs(90),
            regrade: Span::from_millis(20),
            fallback: vec![[2, 2], [1, 1]],
        };
        let mut circuit = circuit(None, Some(&config));
        let mut seen = [0u32; 3];
        let ticks = 20_000_000;
        for n in (0..ticks).step_by(100) {
            let [down, up] = circuit.at(n).map(|p| p.rate.bps() / 13_400);
            seen[match (down, up) {
                (3, 1) => 0,
                (2, 2) => 1,
                (1, 1) => 2,
                other => panic!("{other:?}"),
            }] += 1;
        }
        let weights: Vec<f64> = (0..=6)
            .scan(1.0, |w, k| {
                if k > 0 {
                    *w *= 4.0 / f64::from(k);
                }
                Some(*w)
            })
            .collect();
        let total: f64 = weights.iter().sum();
        // Three timeslots with at most four calls in progress, two with five calls, one with six.
        let expected = [weights[..5].iter().sum::<f64>() / total, weights[5] / total, weights[6] / total];
        for (n, share) in seen.into_iter().zip(expected) {
            let measured = f64::from(n) / f64::from(ticks / 100);
            assert!((measured - share).abs() < 0.02, "{seen:?} against {expected:?}");
        }
    }

    /// GP-40: a call takes timeslots immediately; they return at a regrading.
    #[test]
    fn gp_40_upgrades_wait_for_a_regrading() {
        let config = Contention {
            timeslots: 4,
            calls: 2.0,
            call_lasts: Span::from_secs(30),
            regrade: Span::from_secs(5),
            fallback: vec![[2, 2], [1, 1]],
        };
        let mut circuit = circuit(None, Some(&config));
        let (mut before, mut up, mut off_beat) = (0, 0, 0);
        for n in 0..500_000 {
            circuit.at(n);
            let contending = circuit.contending.as_ref().unwrap();
            let now = contending.present;
            let [d, u] = contending.slots([3, 1]);
            assert!(usize::from(d.max(u)) <= 4 - contending.until.len());
            if now < before {
                up += 1;
                assert_eq!(n % 250, 0, "an upgrade in the middle of a regrading period");
            }
            off_beat += u32::from(now > before && n % 250 != 0);
            before = now;
        }
        assert!(up > 50 && off_beat > 50, "{up} {off_beat}");
    }
}
