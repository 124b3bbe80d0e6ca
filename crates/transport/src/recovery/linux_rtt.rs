//! RTT estimators and RTO of Linux 2.2 and of Linux since 2.4, in integer clock ticks.
//!
//! Since 2.4 the variation term is the maximum mean deviation in a window of data, and the minimum RTO applies to
//! this term. A falling RTT changes the deviation by only an eighth of the usual amount (kernel function
//! `tcp_rtt_estimator`; Sarolahti and Kuznetsov 2002, section 3). Linux 2.2 smooths as BSD does and
//! adds a margin that grows as the congestion window shrinks.

use super::rtt::Round;
use base::Span;

/// The estimator since Linux 2.4.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinuxRtt {
    /// 8 SRTT, ticks; 0 before the first sample.
    srtt8: i64,
    /// 4 times the mean deviation, ticks.
    mdev4: i64,
    /// Maximum of `mdev4` in the present window of data, ticks.
    mdev4_max: i64,
    /// Variation term of the timeout, ticks.
    var4: i64,
    /// Sequence number at which the present window of data ends.
    mark: u64,
}

/// A span in whole ticks, at least one.
fn ticks(span: Span, tick: Span) -> i64 {
    (span.as_nanos() / tick.as_nanos()).clamp(1, 1 << 40) as i64
}

fn span(ticks: i64, tick: Span) -> Span {
    tick.times(ticks.max(0) as u64)
}

impl LinuxRtt {
    /// Processes an RTT sample; `least`: minimum of the variation term.
    pub fn sample(&mut self, rtt: Span, round: &Round, tick: Span, least: Span) {
        let (m, least) = (ticks(rtt, tick), ticks(least, tick));
        if self.srtt8 == 0 {
            (self.srtt8, self.mdev4) = (m << 3, m << 1);
            self.var4 = self.mdev4.max(least);
            (self.mdev4_max, self.mark) = (self.var4, round.next);
            return;
        }
        let error = m - (self.srtt8 >> 3);
        self.srtt8 += error;
        let mut change = error.abs() - (self.mdev4 >> 2);
        if error < 0 && change > 0 {
            // A falling RTT changes the variation by an eighth of the usual amount.
            change >>= 3;
        }
        self.mdev4 += change;
        if self.mdev4 > self.mdev4_max {
            self.mdev4_max = self.mdev4;
            self.var4 = self.var4.max(self.mdev4_max);
        }
        if round.acked_to > self.mark {
            if self.mdev4_max < self.var4 {
                self.var4 -= (self.var4 - self.mdev4_max) >> 2;
            }
            (self.mark, self.mdev4_max) = (round.next, least);
        }
    }

    /// SRTT; `None` before the first sample.
    pub fn srtt(&self, tick: Span) -> Option<Span> {
        (self.srtt8 > 0).then(|| span(self.srtt8 >> 3, tick))
    }

    /// Mean deviation.
    pub fn rttvar(&self, tick: Span) -> Span {
        span(self.mdev4 >> 2, tick)
    }

    /// SRTT plus the variation term; `None` before the first sample.
    pub fn timeout(&self, tick: Span) -> Option<Span> {
        (self.srtt8 > 0).then(|| span((self.srtt8 >> 3) + self.var4, tick))
    }

    /// Raises both values to these minima.
    pub fn at_least(&mut self, srtt: Span, rttvar: Span, tick: Span) {
        self.srtt8 = self.srtt8.max(ticks(srtt, tick) << 3);
        self.mdev4 = self.mdev4.max(ticks(rttvar, tick) << 2);
        self.var4 = self.var4.max(self.mdev4);
    }

    /// Raises the variation term to `least`, also for the present window of data.
    pub fn keep_above(&mut self, least: Span, tick: Span) {
        self.var4 = self.var4.max(ticks(least, tick));
        self.mdev4_max = self.var4;
    }
}

/// The estimator of Linux 2.2.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Linux22Rtt {
    /// 8 SRTT, ticks; 0 before the first sample.
    srtt8: i64,
    /// 4 times the mean deviation, ticks.
    mdev4: i64,
    /// Congestion window at the last sample, segments.
    cwnd: u32,
}

impl Linux22Rtt {
    /// Processes a sample.
    pub fn sample(&mut self, rtt: Span, round: &Round, tick: Span) {
        let m = ticks(rtt, tick);
        let segments = round.cwnd / u64::from(round.mss.max(1));
        self.cwnd = u32::try_from(segments).unwrap_or(u32::MAX).max(1);
        if self.srtt8 == 0 {
            // Four deviations equal four times the first sample; with other estimators twice the sample.
            (self.srtt8, self.mdev4) = (m << 3, m << 2);
            return;
        }
        let error = m - (self.srtt8 >> 3);
        self.srtt8 += error;
        self.mdev4 += error.abs() - (self.mdev4 >> 2);
    }

    /// SRTT; `None` before the first sample.
    pub fn srtt(&self, tick: Span) -> Option<Span> {
        (self.srtt8 > 0).then(|| span(self.srtt8 >> 3, tick))
    }

    /// Mean deviation.
    pub fn rttvar(&self, tick: Span) -> Span {
        span(self.mdev4 >> 2, tick)
    }

    /// S = SRTT + 4 deviations. The timeout is 5/4 S + S / 2^(n-1) for a congestion window of n segments; `None` before
    /// the first sample.
    pub fn timeout(&self, tick: Span) -> Option<Span> {
        let sum = (self.srtt8 >> 3) + self.mdev4;
        let small_window = sum >> (self.cwnd.max(1) - 1).min(62);
        (self.srtt8 > 0).then(|| span(sum + (sum >> 2) + small_window, tick))
    }

    /// Raises both values to these minima.
    pub fn at_least(&mut self, srtt: Span, rttvar: Span, tick: Span) {
        self.srtt8 = self.srtt8.max(ticks(srtt, tick) << 3);
        self.mdev4 = self.mdev4.max(ticks(rttvar, tick) << 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICK: Span = Span::from_millis(10);
    const LEAST: Span = Span::from_millis(200);

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }
    fn round(acked_to: u64, next: u64) -> Round {
        Round { acked_to, next, ..Round::default() }
    }

    /// TB-18: ticks of 10 ms and 200 ms under the variation, by hand.
    #[test]
    fn linux_by_hand() {
        let mut e = LinuxRtt::default();
        // First: SRTT 10 ticks, four deviations 20 = 200 ms: 300 ms.
        e.sample(ms(100), &round(1, 11), TICK, LEAST);
        assert_eq!(e.timeout(TICK), Some(ms(300)));
        // Longer by 40 ticks: SRTT (80+40)/8 = 15, deviation 20 + 40 - 5 = 55: 150 + 550 ms at once.
        e.sample(ms(500), &round(5, 15), TICK, LEAST);
        assert_eq!((e.srtt(TICK), e.timeout(TICK)), (Some(ms(150)), Some(ms(700))));
        // Shorter by 14: SRTT 106/8 = 13, |error| 14 - 13 = 1, and an eighth of it is nothing.
        e.sample(ms(10), &round(9, 19), TICK, LEAST);
        assert_eq!((e.srtt(TICK), e.timeout(TICK)), (Some(ms(130)), Some(ms(130 + 550))));
    }

    /// TB-18: the variation falls by a quarter of the way a window, not with each sample.
    #[test]
    fn linux_variation_falls_once_a_window() {
        let mut e = LinuxRtt::default();
        e.sample(ms(100), &round(1, 11), TICK, LEAST);
        e.sample(ms(500), &round(5, 15), TICK, LEAST); // four deviations: 55, the window's greatest
        e.sample(ms(150), &round(11, 21), TICK, LEAST); // 11 is not beyond the mark
        let held = e.timeout(TICK);
        assert_eq!(held, Some(ms(150 + 550)));
        // Beyond it: the greatest of the window just ended was 55, so nothing falls, and a window begins.
        e.sample(ms(150), &round(12, 22), TICK, LEAST);
        assert_eq!(e.timeout(TICK), held);
        // Within the next nothing falls either, though the deviation does: 55, 42, 32, 24, 18.
        e.sample(ms(150), &round(20, 30), TICK, LEAST);
        assert_eq!(e.timeout(TICK), held);
        // At its end the variation goes a quarter of the way from 55 to its greatest deviation, 24.
        e.sample(ms(150), &round(23, 33), TICK, LEAST);
        assert_eq!(e.timeout(TICK), Some(ms(150 + 480)));
    }

    /// TB-18: without variation the timeout stays 200 ms above the round trip, and three ticks: a quarter
    /// of less than four ticks is none.
    #[test]
    fn linux_floor_is_under_the_variation() {
        let mut e = LinuxRtt::default();
        for i in 0..200 {
            e.sample(ms(1000), &round(10 * i + 10, 10 * i + 20), TICK, LEAST);
        }
        assert_eq!(e.timeout(TICK), Some(ms(1000 + 200 + 30)));
    }

    proptest! {
        /// TB-18: whatever came before, the timeout is at least the floor above SRTT, and a round trip
        /// longer than any before takes off no more than the end of a window does.
        #[test]
        fn linux_never_goes_below_its_floor(
            samples in proptest::collection::vec((1u64..100_000, 0u64..30), 1..100),
        ) {
            let mut e = LinuxRtt::default();
            let (mut acked, mut longest) = (0, 0);
            for (rtt, more) in samples {
                acked += more;
                let before = e.timeout(TICK);
                e.sample(ms(rtt), &round(acked, acked + 10), TICK, LEAST);
                let after = e.timeout(TICK).unwrap();
                prop_assert!(after >= e.srtt(TICK).unwrap() + LEAST);
                if rtt >= longest {
                    // A quarter of the way down is all that the end of a window can take off.
                    prop_assert!(before.is_none_or(|b| after.as_nanos() * 4 >= b.as_nanos() * 3));
                    longest = rtt;
                }
            }
        }
    }

    /// Linux 2.2 by hand: SRTT 100, four deviations 4 x 100 ticks, sum 500, a quarter more is 625; and half
    /// of the sum for a window of two segments.
    #[test]
    fn linux_2_2_adds_by_the_window() {
        let mut e = Linux22Rtt::default();
        e.sample(ms(1000), &Round { cwnd: 2500, mss: 1000, ..Round::default() }, TICK);
        assert_eq!(e.timeout(TICK), Some(ms(6250 + 2500)));
        // Same again with a window of 40: error 0, deviation 400 - 100 = 300: 400 + 100 + 0.
        e.sample(ms(1000), &Round { cwnd: 40_000, mss: 1000, ..Round::default() }, TICK);
        assert_eq!(e.timeout(TICK), Some(ms(5000)));
    }
}
