//! Estimate of the bottleneck buffer's size (`Estimate`): RTT growth under load times rate.
//!
//! A transfer that fills the buffer raises the RTT by the buffer's drain time. Drain time times rate is the buffer
//! size.

use serde::{Deserialize, Serialize};

/// Estimate of the buffer size, with its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Buffer size in bytes of IP packets.
    pub bytes: f64,
    /// The size is a lower bound: without retransmissions the buffer may not have been full.
    pub at_least: bool,
    /// Minimum RTT of a small packet, s.
    pub idle_s: f64,
    /// 90th percentile of the RTT under load, s.
    pub loaded_s: f64,
    /// Rate of IP packets during the load, bit/s.
    pub rate_bps: f64,
    /// Number of small packets echoed under load.
    pub probes: u32,
}

/// Least number of probes under load for an estimate.
const FEWEST: usize = 8;

/// Estimate from RTTs without and under load (s), the rate of the load (bit/s of IP packets), and whether segments
/// were retransmitted. None with too few probes or without RTT growth.
pub fn estimate(idle: &[f64], loaded: &[f64], rate_bps: f64, resent: bool) -> Option<Estimate> {
    let least = idle.iter().chain(loaded).copied().fold(f64::INFINITY, f64::min);
    if loaded.len() < FEWEST || !least.is_finite() || rate_bps <= 0.0 {
        return None;
    }
    let mut sorted = loaded.to_vec();
    sorted.sort_by(f64::total_cmp);
    let high = sorted[(sorted.len() - 1) * 9 / 10];
    let estimate = Estimate {
        bytes: (high - least) * rate_bps / 8.0,
        at_least: !resent,
        idle_s: least,
        loaded_s: high,
        rate_bps,
        probes: sorted.len() as u32,
    };
    (estimate.bytes > 0.0).then_some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_trip_times_the_rate() {
        let loaded: Vec<f64> = (0..20).map(|i| 0.1 + 0.01 * f64::from(i)).collect();
        let e = estimate(&[0.1, 0.11], &loaded, 1e6, true).unwrap();
        assert_eq!((e.idle_s, e.loaded_s, e.at_least, e.probes), (0.1, 0.1 + 0.17, false, 20));
        assert!((e.bytes - 0.17 * 1e6 / 8.0).abs() < 1e-6);
        assert!(estimate(&[0.1], &loaded, 1e6, false).unwrap().at_least);
    }

    #[test]
    fn nothing_is_said_of_too_little() {
        assert_eq!(estimate(&[0.1], &[0.2; 7], 1e6, true), None);
        assert_eq!(estimate(&[0.1], &[0.1; 20], 1e6, true), None);
        assert_eq!(estimate(&[], &[], 1e6, true), None);
    }
}
