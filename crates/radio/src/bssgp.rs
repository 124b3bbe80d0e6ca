//! BSSGP downlink flow control: SGSN queue of a mobile with leaky bucket, and bucket of a cell (3GPP TS 48.018 section
//! 8.2).
//!
//! The BSS announces bucket size Bmax and leak rate R. The SGSN sends a PDU if the bucket has room; otherwise the PDU
//! waits in the SGSN queue, the downlink buffer of the mobile. Departure times are computed in logical time, so
//! that the queue needs no wake-ups. A PDU must pass the bucket of its mobile, then the bucket of the cell
//! ([`CellBucket`]).

use base::{Rate, Span, Time};
use std::collections::VecDeque;

/// Parameters of a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// Bmax, octets.
    pub size: u64,
    /// R, the leak rate; with 0 no PDU passes a full bucket.
    pub leak: Rate,
}

impl Bucket {
    /// A bucket whose size is the octets that leak in `time`.
    pub fn of(leak: Rate, time: Span) -> Bucket {
        let octets = u128::from(leak.bps() / 8) * u128::from(time.as_nanos()) / 1_000_000_000;
        Bucket { size: octets.min(u128::from(u64::MAX)) as u64, leak }
    }
}

/// Parameters of a mobile's queue in the SGSN, and of the Gb interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SgsnConfig {
    /// Flow control; `None`: PDUs pass without delay.
    pub bucket: Option<Bucket>,
    /// Limit of the queue, octets.
    pub octets: Option<u64>,
    /// Limit of the queue, PDUs.
    pub pdus: Option<u32>,
    /// PDU Lifetime: PDUs that have waited longer are discarded; `None`: unlimited.
    pub lifetime: Option<Span>,
    /// Rate of the Gb interface; `None`: unlimited.
    pub gb_rate: Option<Rate>,
    /// Octets of BSSGP, network service and lower headers on Gb per PDU.
    pub gb_overhead: u32,
    /// Propagation and processing delay between SGSN and PCU.
    pub gb_delay: Span,
}

impl Default for SgsnConfig {
    fn default() -> Self {
        SgsnConfig {
            bucket: None,
            octets: None,
            pdus: None,
            lifetime: None,
            gb_rate: None,
            gb_overhead: 57,
            gb_delay: Span::ZERO,
        }
    }
}

/// An LLC PDU in the SGSN queue.
#[derive(Clone, Copy, Debug)]
struct Waiting<T> {
    since: Time,
    octets: u32,
    token: T,
}

/// SGSN queue of one mobile.
#[derive(Clone, Debug)]
pub struct Sgsn<T> {
    config: SgsnConfig,
    queue: VecDeque<Waiting<T>>,
    octets: u64,
    /// B, the fill level in octets, at the time `passed`.
    fill: f64,
    passed: Time,
    gb_free: Time,
}

/// Result for a PDU that leaves the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PduFate<T> {
    /// The PDU reaches the PCU at this time.
    At(Time, T),
    /// The PDU's lifetime has expired.
    Expired(T),
}

impl<T: Copy> Sgsn<T> {
    /// An empty queue.
    pub fn new(config: SgsnConfig) -> Self {
        Sgsn { config, queue: VecDeque::new(), octets: 0, fill: 0.0, passed: Time::ZERO, gb_free: Time::ZERO }
    }

    /// Whether the queue has room for `pdus` PDUs of `octets` octets in total.
    pub fn has_room(&self, pdus: u32, octets: u64) -> bool {
        self.config.octets.is_none_or(|most| self.octets + octets <= most)
            && self
                .config
                .pdus
                .is_none_or(|most| self.queue.len() as u64 + u64::from(pdus) <= u64::from(most))
    }

    /// Sets new parameters announced by the BSS; the fill level does not change.
    pub fn announce(&mut self, bucket: Bucket) {
        self.config.bucket = Some(bucket);
    }

    /// Adds a PDU that arrives at `since`.
    pub fn push(&mut self, since: Time, octets: u32, token: T) {
        self.octets += u64::from(octets);
        self.queue.push_back(Waiting { since, octets, token });
    }

    /// Octets in the queue.
    pub fn octets(&self) -> u64 {
        self.octets
    }
    /// Octets of the first PDU; `None` if the queue is empty.
    pub fn head(&self) -> Option<u32> {
        self.queue.front().map(|w| w.octets)
    }
    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
    /// Number of PDUs in the queue.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Time at which the next PDU leaves; `None` if the queue is empty, or if the bucket is full and does not leak.
    pub fn next_pass(&self) -> Option<Time> {
        let head = self.queue.front()?;
        let from = head.since.max(self.passed);
        let Some(bucket) = self.config.bucket else { return Some(from) };
        let rate = bucket.leak.bps() as f64 / 8.0;
        let excess = self.fill + f64::from(head.octets) - bucket.size as f64;
        if excess <= 0.0 || self.fill <= 0.0 {
            return Some(from);
        }
        if rate <= 0.0 {
            return None;
        }
        // A PDU larger than the bucket passes when the bucket is empty.
        let wait = excess.min(self.fill) / rate;
        Some(from.max(self.passed + Span::from_secs_f64(wait)))
    }

    /// Removes the next PDU if it leaves by `now`: it is sent or has expired.
    pub fn pass(&mut self, now: Time) -> Option<PduFate<T>> {
        let at = self.next_pass().filter(|t| *t <= now)?;
        let head = self.queue.pop_front()?;
        self.octets -= u64::from(head.octets);
        if self.config.lifetime.is_some_and(|most| at.since(head.since) > most) {
            return Some(PduFate::Expired(head.token));
        }
        if let Some(bucket) = self.config.bucket {
            // 48.018 section 8.2.3: B* = B + L(p) - (Tc - Tp) R; if B* < L(p) then B* = L(p)
            let leaked = bucket.leak.bps() as f64 / 8.0 * at.since(self.passed).as_secs_f64();
            let octets = f64::from(head.octets);
            self.fill = (self.fill + octets - leaked).max(octets);
        }
        self.passed = at;
        let octets = u64::from(head.octets + self.config.gb_overhead);
        let start = at.max(self.gb_free);
        self.gb_free = start + self.config.gb_rate.map_or(Span::ZERO, |rate| rate.span_of(octets));
        Some(PduFate::At(self.gb_free + self.config.gb_delay, head.token))
    }

    /// Moves the earliest departure to `now`, because the BSS had no room before; the bucket leaked meanwhile.
    pub fn hold(&mut self, now: Time) {
        if now > self.passed {
            let leak = self.config.bucket.map_or(0.0, |b| b.leak.bps() as f64 / 8.0);
            self.fill = (self.fill - leak * now.since(self.passed).as_secs_f64()).max(0.0);
            self.passed = now;
        }
    }

    /// Empties the queue; calls `gone` for each PDU.
    pub fn clear(&mut self, gone: impl FnMut(T)) {
        self.octets = 0;
        self.queue.drain(..).map(|w| w.token).for_each(gone);
    }
}

/// Bucket of a cell (BVC flow control), which the PDUs of all mobiles must pass. Mobiles that find the bucket full wait
/// in turn, with one PDU each.
#[derive(Clone, Debug)]
pub struct CellBucket {
    bucket: Bucket,
    /// B, the fill level in octets, at the time `passed`.
    fill: f64,
    passed: Time,
    /// Mobiles that wait for the bucket, in order.
    turns: VecDeque<u8>,
}

impl CellBucket {
    /// An empty bucket with these parameters.
    pub fn new(bucket: Bucket) -> Self {
        CellBucket { bucket, fill: 0.0, passed: Time::ZERO, turns: VecDeque::new() }
    }

    /// Time at which a mobile's PDU passes the bucket, between `from` and `now`. If the PDU cannot pass, the mobile joins
    /// the waiting list, and the error is the time of the next attempt.
    ///
    /// # Errors
    /// The bucket is full, or another mobile waits before this one.
    pub fn pass(&mut self, mobile: u8, octets: u32, from: Time, now: Time) -> Result<Time, Time> {
        let waits = self.turns.iter().position(|m| *m == mobile);
        let rate = self.bucket.leak.bps() as f64 / 8.0;
        let excess = self.fill + f64::from(octets) - self.bucket.size as f64;
        let at = if excess <= 0.0 || self.fill <= 0.0 {
            from.max(self.passed)
        } else if rate > 0.0 {
            from.max(self.passed + Span::from_secs_f64(excess.min(self.fill) / rate))
        } else {
            Time::NEVER
        };
        let first = waits.map_or(self.turns.is_empty(), |at| at == 0);
        if !first || at > now {
            if waits.is_none() {
                self.turns.push_back(mobile);
            }
            // Behind another mobile in the list: the next attempt is at least one block period later.
            return Err(if first { at } else { at.max(now + crate::tdma::BLOCK) });
        }
        self.leave(mobile);
        let leaked = rate * at.since(self.passed).as_secs_f64();
        self.fill = (self.fill + f64::from(octets) - leaked).max(f64::from(octets));
        self.passed = at;
        Ok(at)
    }

    /// Removes a mobile from the waiting list.
    pub fn leave(&mut self, mobile: u8) {
        self.turns.retain(|m| *m != mobile);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GP-24: mobiles that find the bucket of the cell full pass in turn, with its leak rate in total.
    #[test]
    fn gp_24_bucket_of_the_cell() {
        let mut cell = CellBucket::new(Bucket { size: 1_200, leak: Rate::from_bps(48_000) });
        let block = crate::tdma::BLOCK;
        let mut passed = Vec::new();
        for n in 0..100 {
            let now = Time::ZERO + block.times(n);
            for mobile in 0..3 {
                if let Ok(at) = cell.pass(mobile, 600, now, now) {
                    passed.push((at, mobile));
                }
            }
        }
        assert!(passed[..2].iter().all(|(t, _)| *t == Time::ZERO), "two fit: {passed:?}");
        let order: Vec<u8> = passed[1..13].iter().map(|(_, m)| *m).collect();
        assert_eq!(order, [1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
        // 6000 octets per second for 1.98 s, plus the bucket size.
        let octets = 600 * passed.len();
        assert!((12_000..=13_200).contains(&octets), "{octets}");
        cell.leave(0);
        cell.leave(1);
        cell.leave(2);
        assert!(cell.turns.is_empty());
    }

    fn drain(sgsn: &mut Sgsn<u32>, until: Time) -> Vec<(f64, u32)> {
        let mut all = Vec::new();
        while let Some(passed) = sgsn.pass(until) {
            if let PduFate::At(t, token) = passed {
                all.push((t.as_secs_f64(), token));
            }
        }
        all
    }

    /// GP-24: 6000 octets per second and 10 s give a bucket of 60 kB; PDUs beyond it wait for the leak.
    #[test]
    fn gp_24_bucket_and_leak() {
        let bucket = Bucket::of(Rate::from_bps(48_000), Span::from_secs(10));
        assert_eq!(bucket.size, 60_000);
        let small = Bucket { size: 2_000, ..bucket };
        let mut sgsn = Sgsn::new(SgsnConfig { bucket: Some(small), ..SgsnConfig::default() });
        (0..6).for_each(|i| sgsn.push(Time::ZERO, 600, i));
        let times = drain(&mut sgsn, Time::NEVER);
        assert_eq!(times.iter().map(|(_, i)| *i).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(times[2].0, 0.0, "1800 octets fit");
        let gaps: Vec<f64> = times[2..].windows(2).map(|w| w[1].0 - w[0].0).collect();
        assert!((gaps[0] - 400.0 / 6000.0).abs() < 1e-6, "the fourth waits for 400 octets to leak: {gaps:?}");
        assert!(gaps[1..].iter().all(|g| (g - 0.1).abs() < 1e-6), "then 600 octets each 0.1 s: {gaps:?}");
    }

    /// GP-37: a PDU that waited longer than its lifetime is discarded.
    #[test]
    fn gp_37_lifetime_discards() {
        let bucket = Bucket { size: 600, leak: Rate::from_bps(4_800) };
        let config =
            SgsnConfig { bucket: Some(bucket), lifetime: Some(Span::from_secs(2)), ..SgsnConfig::default() };
        let mut sgsn = Sgsn::new(config);
        (0..6).for_each(|i| sgsn.push(Time::ZERO, 600, i));
        let mut expired = 0;
        let mut passed = 0;
        while let Some(p) = sgsn.pass(Time::NEVER) {
            if let PduFate::Expired(_) = p { expired += 1 } else { passed += 1 }
        }
        assert_eq!((passed, expired), (3, 3));
    }

    /// GP-46: the Gb interface transmits one PDU at a time.
    #[test]
    fn gp_46_gb_takes_its_time() {
        let config =
            SgsnConfig { gb_rate: Some(Rate::from_bps(64_000)), gb_overhead: 0, ..SgsnConfig::default() };
        let mut sgsn = Sgsn::new(config);
        (0..2).for_each(|i| sgsn.push(Time::ZERO, 600, i));
        assert_eq!(drain(&mut sgsn, Time::ZERO), [(0.075, 0), (0.15, 1)]);
    }

    /// GP-25, GP-27: packets without room in the queue are dropped.
    #[test]
    fn gp_25_room_in_octets_and_pdus() {
        let mut sgsn =
            Sgsn::new(SgsnConfig { octets: Some(50_000), pdus: Some(40), ..SgsnConfig::default() });
        let mut taken = 0;
        while sgsn.has_room(1, 1500) {
            sgsn.push(Time::ZERO, 1500, taken);
            taken += 1;
        }
        assert_eq!(taken, 33);
    }
}
