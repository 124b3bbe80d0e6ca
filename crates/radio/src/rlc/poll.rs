//! RLC report policies: when a sender polls for an Ack/Nack or a receiver sends one (3GPP TS 44.060 sections 9.1.8, 9.3.2;
//! policies A, B and C after Gurtov and others 2002, "Multi-layer protocol tracing in a GPRS network",
//! section IV.B).

/// Policy of reports: interval in blocks, gaps, block loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Policy {
    /// Policy A: a report after every `n` blocks.
    Every {
        /// Blocks between two reports.
        n: u32,
    },
    /// Policy B: a report shortly after a gap, otherwise after every `n` blocks.
    OnGap {
        /// Blocks between two reports if no gap is detected.
        n: u32,
        /// Blocks from a gap to its report, so that one report covers a whole burst of errors.
        after: u32,
    },
    /// Policy C: a report after every `n` blocks while the share of missing blocks is below `threshold`, otherwise after
    /// every `poor` blocks.
    Adaptive {
        /// Blocks between two reports below the threshold.
        n: u32,
        /// Blocks between two reports above the threshold.
        poor: u32,
        /// Smoothed share of missing blocks, 0 to 1, at which the interval changes.
        threshold: f64,
    },
}

impl Default for Policy {
    fn default() -> Self {
        Policy::Every { n: 20 }
    }
}

/// Weight of the newest report in the smoothed share of missing blocks.
const WEIGHT: f64 = 0.25;

/// Counts the blocks of one direction and decides when the next report is due. Small size and field order keep cache
/// misses rare in networks of cells, with thousands of pollers.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Poller {
    /// Blocks since the last report.
    since: u32,
    /// Blocks since a gap that no report has covered; `None` without such a gap.
    gap: Option<u32>,
    policy: Policy,
    /// Smoothed share of missing blocks, 0 to 1.
    missing: f64,
}

impl Poller {
    /// A poller at the start of a TBF.
    pub fn new(policy: Policy) -> Self {
        Poller { policy, since: 0, gap: None, missing: 0.0 }
    }

    /// Counts a block sent (downlink) or received (uplink); true if a report is due. `gap`: earlier blocks are missing.
    /// `force`: RLC requires a report (final block, stalled window).
    #[inline]
    pub fn block(&mut self, gap: bool, force: bool) -> bool {
        self.since += 1;
        let due = match self.policy {
            Policy::Every { n } => self.since >= n,
            Policy::OnGap { n, after } => {
                match &mut self.gap {
                    Some(passed) => *passed += 1,
                    None if gap => self.gap = Some(0),
                    None => {}
                }
                self.since >= n || self.gap.is_some_and(|passed| passed >= after)
            }
            Policy::Adaptive { n, poor, threshold } => {
                self.since >= if self.missing > threshold { poor } else { n }
            }
        };
        if due || force {
            (self.since, self.gap) = (0, None);
        }
        due || force
    }

    /// Records a report about `blocks` blocks, of which `missing` were missing.
    pub fn reported(&mut self, missing: u32, blocks: u32) {
        if blocks > 0 {
            let share = f64::from(missing) / f64::from(blocks);
            self.missing = (1.0 - WEIGHT) * self.missing + WEIGHT * share;
        }
    }

    /// Blocks since the last report.
    pub fn since(&self) -> u32 {
        self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(policy: Policy, gaps: &[usize], blocks: usize) -> Vec<usize> {
        let mut poller = Poller::new(policy);
        (0..blocks).filter(|i| poller.block(gaps.contains(i), false)).collect()
    }

    /// GP-13: every tenth block.
    #[test]
    fn gp_13_policy_a_counts_blocks() {
        assert_eq!(due(Policy::Every { n: 10 }, &[3], 35), [9, 19, 29]);
    }

    /// GP-14: shortly after a gap, rarely otherwise.
    #[test]
    fn gp_14_policy_b_reports_gaps() {
        assert_eq!(due(Policy::OnGap { n: 32, after: 2 }, &[3, 4, 20], 80), [5, 22, 54]);
        assert_eq!(due(Policy::OnGap { n: 32, after: 0 }, &[3], 40), [3, 35]);
    }

    /// GP-15: more often while many blocks are missing.
    #[test]
    fn gp_15_policy_c_follows_quality() {
        let mut poller = Poller::new(Policy::Adaptive { n: 20, poor: 5, threshold: 0.1 });
        let next = |p: &mut Poller| (1..).find(|_| p.block(false, false));
        assert_eq!(next(&mut poller), Some(20));
        poller.reported(10, 20);
        assert_eq!(next(&mut poller), Some(5));
        (0..8).for_each(|_| poller.reported(0, 20));
        assert_eq!(next(&mut poller), Some(20));
    }

    #[test]
    fn a_forced_report_starts_the_count_anew() {
        let mut poller = Poller::new(Policy::Every { n: 3 });
        assert!(poller.block(false, true));
        assert_eq!((0..4).filter(|_| poller.block(false, false)).count(), 1);
    }
}
