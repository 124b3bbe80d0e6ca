//! Path MTU search by probes (RFC 8899): phases, probed size, timers and black hole detection of one network
//! path.
//!
//! A probe is a packet of the tested size: a HEARTBEAT and a PAD chunk (RFC 4820). Its acknowledgement shows
//! that packets of this size pass. Three consecutive probes without an acknowledgement show that they do not; lost
//! probes are no congestion signal.
//!
//! The largest size is probed first, since most paths carry it; then the search is binary (section 5.3.2
//! leaves the method open). Sizes are multiples of four bytes, like chunks.
//!
//! Departures: the MTU of a router's report is used at once, and then confirmed by a probe of this size. After a
//! black hole, the base size is the smaller one of BASE_PLPMTU and the last path MTU.

use base::{Span, Time};

/// MIN_PLPMTU of IPv4, bytes (RFC 8899 section 5.1.2).
pub const LEAST: u32 = 68;
/// BASE_PLPMTU, bytes (section 5.1.2).
pub const BASE: u32 = 1200;
/// MAX_PROBES (section 5.1.2).
const MAX_PROBES: u32 = 3;
/// PMTU_RAISE_TIMER (section 5.1.1).
const RAISE: Span = Span::from_secs(600);
/// Resolution of the search, bytes.
const STEP: u32 = 4;

base::named! {
    /// The phase of a search (RFC 8899 section 5.2). Without a search, it is disabled.
    pub enum Phase {
        /// The base size is probed.
        Base = "base",
        /// The base size does not pass: packets have the least size.
        Error = "error",
        /// Larger sizes are probed.
        Searching = "searching",
        /// The largest size that passes is known.
        Complete = "complete",
    }
}

/// Search for the largest packet that a path carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Search {
    phase: Phase,
    /// MAX_PLPMTU: MTU of the interface, bytes.
    max: u32,
    /// Largest size known to pass, bytes.
    low: u32,
    /// Largest size not known to fail, bytes.
    high: u32,
    /// PROBED_SIZE, bytes.
    size: u32,
    /// PROBE_COUNT: number of probes of the current size without an acknowledgement.
    tries: u32,
    /// Nonce of the probes of the current size, and transmission time of the first one.
    sent: Option<(u64, Time)>,
    /// Time of the next event: PROBE_TIMER, or PMTU_RAISE_TIMER.
    due: Time,
}

impl Search {
    /// A search up to the MTU of the interface; `None` if that has no room for a probe.
    pub(crate) fn new(mtu: u32) -> Option<Search> {
        let max = mtu / STEP * STEP;
        (max >= LEAST).then_some(Search {
            phase: Phase::Base,
            max,
            low: LEAST,
            high: max,
            size: max.min(BASE),
            tries: 0,
            sent: None,
            due: Time::NEVER,
        })
    }

    /// Phase of the search.
    pub fn phase(&self) -> Phase {
        self.phase
    }
    /// Size that is probed, bytes.
    pub fn size(&self) -> u32 {
        self.size
    }
    /// Time at which [`Search::expire`] must be called.
    pub(crate) fn due(&self) -> Time {
        self.due
    }
    /// Nonce of the probes of the current size, and transmission time of the first one; `None` before the first.
    pub(crate) fn sent(&self) -> Option<(u64, Time)> {
        self.sent
    }

    /// Starts the search after connectivity was confirmed: the first probe is sent 1 ns later.
    pub(crate) fn start(&mut self, now: Time) {
        self.due = now + Span::from_nanos(1);
    }
    /// Stops probing.
    pub(crate) fn stop(&mut self) {
        self.due = Time::NEVER;
    }
    /// Postpones the next probe of a path that does not reach the peer.
    pub(crate) fn postpone(&mut self, now: Time, timer: Span) {
        self.due = now + timer;
    }

    /// Starts to probe another size.
    fn probe(&mut self, phase: Phase, size: u32, now: Time) {
        (self.phase, self.size, self.tries, self.sent) = (phase, size, 0, None);
        self.start(now);
    }

    /// Selects the next size between the largest that passed and the smallest that failed; the search ends
    /// when both are adjacent.
    fn advance(&mut self, now: Time) {
        let between = self.high.saturating_sub(self.low);
        if between < STEP {
            (self.phase, self.tries, self.sent) = (Phase::Complete, 0, None);
            self.due = now + RAISE;
        } else if self.high == self.max {
            self.probe(Phase::Searching, self.max, now);
        } else {
            self.probe(Phase::Searching, self.low + (between / 2).next_multiple_of(STEP), now);
        }
    }

    //= RFC 8899 section 5.2: MAX_PROBES without an answer end the search in ERROR, or the interval at this size
    /// Processes the expiry of the timer. Returns nonce and first transmission time if a probe of [`Search::size`]
    /// must be sent. Reduces the path MTU `mtu` if the base size does not pass.
    pub(crate) fn expire(
        &mut self,
        now: Time,
        timer: Span,
        mtu: &mut u32,
        nonce: impl FnOnce() -> u64,
    ) -> Option<(u64, Time)> {
        if self.phase == Phase::Complete {
            //= RFC 8899 section 5.1.1: after PMTU_RAISE_TIMER, the search phase is entered again
            self.high = self.max;
            self.advance(now);
        } else if self.tries >= MAX_PROBES {
            match self.phase {
                Phase::Base | Phase::Error => {
                    self.high =
                        if self.phase == Phase::Base { self.size - STEP } else { self.high }.max(LEAST);
                    (self.low, *mtu) = (LEAST, (*mtu).min(LEAST));
                    self.probe(Phase::Error, LEAST, now);
                }
                Phase::Searching | Phase::Complete => {
                    self.high = self.size - STEP;
                    self.advance(now);
                }
            }
        }
        if self.phase == Phase::Complete {
            return None;
        }
        self.tries += 1;
        self.due = now + timer;
        let sent = *self.sent.get_or_insert_with(|| (nonce(), now));
        Some(sent)
    }

    /// Processes the acknowledgement of a probe; returns its size, which the path carries.
    pub(crate) fn pass(&mut self, now: Time) -> u32 {
        let passed = self.size;
        self.low = passed;
        self.high = self.high.max(passed);
        self.advance(now);
        passed
    }

    /// Processes a router's report of an MTU of `reported` bytes.
    pub(crate) fn too_big(&mut self, now: Time, reported: u32) {
        let reported = (reported / STEP * STEP).max(LEAST);
        if reported >= self.high {
            return;
        }
        self.high = reported;
        if reported < self.low {
            self.low = LEAST;
        }
        self.probe(Phase::Searching, reported, now);
    }

    //= RFC 8899 section 4.3: a black hole was found: the base size is confirmed again
    /// Processes repeated timeouts, after which a size that passed before may no longer pass. Returns the new
    /// packet size, if it changes.
    pub(crate) fn black_hole(&mut self, now: Time, mtu: u32) -> Option<u32> {
        if matches!(self.phase, Phase::Base | Phase::Error) {
            return None;
        }
        let base = self.max.min(BASE).min(mtu / STEP * STEP).max(LEAST);
        (self.low, self.high) = (LEAST, self.max);
        self.probe(Phase::Base, base, now);
        Some(base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMER: Span = Span::from_secs(15);

    /// Runs a search on a path that carries `carries(t)` bytes at time `t`, for `lasts` seconds. Returns the
    /// MTU at the end, the phase, and time and size of every probe.
    fn play(max: u32, lasts: u64, carries: impl Fn(u64) -> u32) -> (u32, Phase, Vec<(u64, u32)>) {
        let mut search = Search::new(max).expect("room for a probe");
        let mut mtu = max.min(BASE);
        let mut probes = Vec::new();
        search.start(Time::ZERO);
        while search.due() < Time::ZERO + Span::from_secs(lasts) {
            let now = search.due();
            let Some(_) = search.expire(now, TIMER, &mut mtu, || 7) else { continue };
            let seconds = now.since(Time::ZERO).as_nanos() / 1_000_000_000;
            probes.push((seconds, search.size()));
            if search.size() <= carries(seconds) {
                mtu = search.pass(now + Span::from_millis(100));
            }
        }
        (mtu, search.phase(), probes)
    }

    #[test]
    fn a_path_of_full_size_takes_two_probes() {
        let (mtu, phase, probes) = play(1500, 500, |_| 1500);
        assert_eq!((mtu, phase), (1500, Phase::Complete));
        assert_eq!(probes, [(0, 1200), (0, 1500)]);
    }

    /// Every path MTU from the least one on is found to within four bytes.
    #[test]
    fn every_size_is_found() {
        for carries in (68..=1500).step_by(7) {
            let (mtu, phase, probes) = play(1500, 600, |_| carries);
            assert_eq!((mtu, phase), (carries / 4 * 4, Phase::Complete), "{carries}");
            // Three probes of each size that fails, one of each that passes; at most nine bisections.
            assert!(probes.len() <= 3 * 10 + 10, "{carries}: {}", probes.len());
        }
    }

    /// Below the base: three probes of the base size, 15 s apart, then the least size.
    #[test]
    fn below_the_base_the_least_size_is_used_until_a_larger_one_passes() {
        let (mtu, phase, probes) = play(1500, 46, |_| 1006);
        assert_eq!(probes[..5], [(0, 1200), (15, 1200), (30, 1200), (45, 68), (45, 632)]);
        assert!(phase == Phase::Searching && mtu >= 632, "{mtu}");
    }

    /// PMTU_RAISE_TIMER (10 min) detects that a path carries more.
    #[test]
    fn a_larger_path_is_found_after_ten_minutes() {
        let carries = |t: u64| if t < 500 { 1300 } else { 1500 };
        assert_eq!(play(1500, 500, carries).0, 1300);
        let (mtu, _, probes) = play(1500, 1500, carries);
        assert_eq!(mtu, 1500);
        let raised = probes.iter().filter(|(t, size)| *t > 500 && *size == 1500).collect::<Vec<_>>();
        assert_eq!(raised.len(), 1, "{probes:?}");
    }

    #[test]
    fn a_router_that_tells_is_believed_and_its_size_is_confirmed() {
        let mut search = Search::new(1500).unwrap();
        let mut mtu = 1200;
        search.start(Time::ZERO);
        search.expire(search.due(), TIMER, &mut mtu, || 1);
        search.too_big(Time::ZERO, 1006);
        assert_eq!((search.phase(), search.size()), (Phase::Searching, 1004));
        search.expire(search.due(), TIMER, &mut mtu, || 2);
        assert_eq!((search.pass(Time::ZERO), search.phase()), (1004, Phase::Complete));
        // A false report cannot go below the least size, and never increases the MTU.
        search.too_big(Time::ZERO, 1400);
        assert_eq!(search.phase(), Phase::Complete);
        search.too_big(Time::ZERO, 0);
        assert_eq!(search.size(), LEAST);
    }

    #[test]
    fn a_black_hole_leads_back_to_the_base() {
        let mut search = Search::new(1500).unwrap();
        let mut mtu = 1200;
        search.start(Time::ZERO);
        assert_eq!(search.black_hole(Time::ZERO, mtu), None, "the base is probed already");
        for _ in 0..2 {
            search.expire(search.due(), TIMER, &mut mtu, || 1);
            mtu = search.pass(search.due());
        }
        assert_eq!((mtu, search.phase()), (1500, Phase::Complete));
        assert_eq!(search.black_hole(Time::ZERO, mtu), Some(1200));
        assert_eq!(search.phase(), Phase::Base);
    }
}
