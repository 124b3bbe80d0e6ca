//! Choice of a transport protocol (Eifel, SCTP or Reno) from loss, rate and window of a connection with delay spikes
//! (features SC-07, SC-08).
//!
//! Rule of Fu, Atiquzzaman and Ivancic, "Effect of Delay Spike on SCTP, TCP Reno, and Eifel in a Wireless Mobile
//! Environment", section IV: Eifel without losses. With losses, SCTP at a low rate with a large window, otherwise Reno
//! with the bug fix against spurious fast retransmits.
//!
//! The study covers rates from 9.05 kbit/s to 1.5 Mbit/s, but none between 42.8 and 46.8 kbit/s, and windows of 20 and
//! 60 segments. Outside of these conditions there is no recommendation where they matter.

use super::flow::FlowDirection;
use crate::verdict::Need;

/// Highest low rate of the study, bit/s.
const LOW_UP_TO: f64 = 42_800.0;
/// Lowest high rate of the study, bit/s.
const HIGH_FROM: f64 = 46_800.0;
/// Rates of the study, bit/s. A link of 9.05 kbit/s carries 8.4 kbit/s of data in its packets of 576 B.
const STUDIED: std::ops::RangeInclusive<f64> = 8_400.0..=1_500_000.0;
/// Largest small window of the study, segments.
const SMALL_UP_TO: f64 = 20.0;
/// Least large window of the study, segments.
const LARGE_FROM: f64 = 60.0;

base::named! {
    /// Protocol that the rule recommends.
    pub enum Protocol {
        /// TCP Reno with the Eifel algorithm.
        Eifel = "eifel",
        /// SCTP.
        Sctp = "sctp",
        /// TCP Reno with the bug fix (RFC 2582 section 5, \"careful\").
        Reno = "reno",
    }
}

impl Protocol {
    /// Recommendation and its reason, for the report.
    pub fn because(self) -> &'static str {
        match self {
            Protocol::Eifel => "Eifel, as nothing was lost",
            Protocol::Sctp => "SCTP, as data were lost, the rate is low and the window large",
            Protocol::Reno => "Reno with the bug fix, as data were lost",
        }
    }
}

/// Conditions of a connection by which the rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Conditions {
    /// Data were lost; `None`: some retransmissions have no verdict.
    pub lossy: Option<bool>,
    /// Bottleneck rate, bit/s.
    pub rate_bps: Option<f64>,
    /// Largest window offered by the receiver, in segments of the longest size sent.
    pub window_segments: Option<f64>,
}

impl Conditions {
    /// Conditions of a direction of the connection.
    pub fn of(direction: &FlowDirection) -> Conditions {
        let lossy = match (direction.count(Need::Needed), direction.count(Need::Unknown)) {
            (0, 0) => Some(false),
            (0, _) => None,
            _ => Some(true),
        };
        let longest =
            Some(direction.options.longest).filter(|longest| *longest > 0 && direction.options.window_known);
        Conditions {
            lossy,
            rate_bps: direction.bottleneck_bps.or_else(|| direction.goodput_bps()),
            window_segments: longest.map(|longest| direction.options.window as f64 / f64::from(longest)),
        }
    }

    /// Recommended protocol; None outside of the study's conditions, or if conditions are unknown.
    pub fn recommended(&self) -> Option<Protocol> {
        let lossy = self.lossy?;
        if self.rate_bps.is_some_and(|rate| !STUDIED.contains(&rate)) {
            return None;
        }
        if !lossy {
            return Some(Protocol::Eifel);
        }
        let (rate, window) = (self.rate_bps, self.window_segments);
        let high = rate.is_some_and(|rate| rate >= HIGH_FROM);
        let small = window.is_some_and(|window| window <= SMALL_UP_TO);
        if high || small {
            return Some(Protocol::Reno);
        }
        (rate? <= LOW_UP_TO && window? >= LARGE_FROM).then_some(Protocol::Sctp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(lossy: Option<bool>, rate_bps: f64, window_segments: f64) -> Option<Protocol> {
        let (rate_bps, window_segments) = (Some(rate_bps), Some(window_segments));
        Conditions { lossy, rate_bps, window_segments }.recommended()
    }

    /// SC-08, SC-07: first rank of each cell of table I, at its rates and windows.
    #[test]
    fn sc_08_the_rule_recommends_the_first_rank_of_each_cell_of_the_table() {
        for rate in [9_050.0, 21_400.0, 42_800.0, 46_800.0, 78_000.0, 1.5e6] {
            for window in [20.0, 60.0] {
                assert_eq!(best(Some(false), rate, window), Some(Protocol::Eifel));
                let low_and_large = rate <= 42_800.0 && window >= 60.0;
                let first = if low_and_large { Protocol::Sctp } else { Protocol::Reno };
                assert_eq!(best(Some(true), rate, window), Some(first), "{rate} bit/s, {window} segments");
            }
        }
    }

    /// Between the conditions of the study there is no recommendation, unless the other condition decides. Outside of
    /// its rates there is none.
    #[test]
    fn sc_08_nothing_is_recommended_beside_what_was_studied() {
        assert_eq!(best(Some(true), 44_000.0, 60.0), None);
        assert_eq!(best(Some(true), 20_000.0, 40.0), None);
        assert_eq!(best(Some(true), 44_000.0, 20.0), Some(Protocol::Reno));
        assert_eq!(best(Some(true), 100_000.0, 40.0), Some(Protocol::Reno));
        assert_eq!(best(None, 20_000.0, 60.0), None);
        for (rate, lossy) in [(5_000.0, true), (5_000.0, false), (20e6, true), (20e6, false)] {
            assert_eq!(
                best(Some(lossy), rate, 20.0),
                None,
                "{rate} bit/s is outside of the rates of the study"
            );
        }
        let unknown = Conditions { lossy: Some(true), rate_bps: None, window_segments: None };
        assert_eq!(unknown.recommended(), None);
    }
}
