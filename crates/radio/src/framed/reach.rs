//! Rate of a W-CDMA channel by distance and load: link budget of a macro cell, downlink and uplink.
//!
//! Path loss is 128.1 + 37.6 log10(d/km) dB (vehicular test environment at 2 GHz; 3GPP TR 25.942). A rate R
//! is feasible while the processing gain W/R raises the signal to the required Eb/N0. Uplink interference
//! is multiplied by the noise rise 1/(1 - load). In the downlink the site uses the share `load` of its power for other
//! mobiles; the non-orthogonal part of this power interferes, and so does the power of six sites at equal distance. The
//! channel uses the largest feasible standard rate (3GPP TS 34.108).

use base::Rate;

/// Chip rate, 1/s.
const CHIPS: f64 = 3.84e6;
/// Thermal noise in the chip-rate bandwidth, dBm.
const NOISE: f64 = -108.2;
/// Noise figures of the receivers in mobile (downlink) and base station (uplink), dB.
const FIGURES: [f64; 2] = [9.0, 5.0];
/// Transmit power of a downlink code and of the mobile, dBm.
const POWERS: [f64; 2] = [33.0, 21.0];
/// Total transmit power of a site, dBm.
const SITE: f64 = 43.0;
/// Non-orthogonal share of the serving site's power.
const LEAK: f64 = 0.4;
/// Required Eb/N0 for packet data, downlink and uplink, dB.
const EBN0: [f64; 2] = [5.0, 3.0];
/// Standard rates of dedicated channels, bit/s, in descending order.
const RATES: [u64; 7] = [384_000, 144_000, 128_000, 64_000, 32_000, 16_000, 8_000];

/// Location of a mobile, and load of the cells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MobilePosition {
    /// Distance to the serving site, m.
    pub distance: f64,
    /// Distance between sites, m.
    pub sites: f64,
    /// Share of downlink power used for other mobiles, and uplink load; at least 0 and below 1.
    pub load: f64,
    /// Margin for shadowing and fading, dB.
    pub margin: f64,
}

fn linear(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// Path gain (linear) at a distance in m, with a margin in dB.
fn gain(distance: f64, margin: f64) -> f64 {
    let km = distance.max(10.0) / 1000.0;
    linear(-(128.1 + 37.6 * libm::log10(km) + margin))
}

impl MobilePosition {
    /// Maximum feasible rate by the link budget, bit/s, downlink and uplink.
    pub fn budget(&self) -> [f64; 2] {
        let own = gain(self.distance, self.margin);
        let busy = linear(SITE) * self.load;
        let (d, s) = (self.distance, self.sites);
        // Six neighbour sites; the mobile is on the line from the serving site to one of these.
        let beside = |sign: f64| libm::sqrt((s * s + d * d + sign * s * d).max(1.0));
        let others: f64 = [s - d, s + d, beside(-1.0), beside(-1.0), beside(1.0), beside(1.0)]
            .into_iter()
            .map(|far| gain(far.abs(), self.margin))
            .sum();
        let down = linear(NOISE + FIGURES[0]) + busy * (LEAK * own + others);
        let up = linear(NOISE + FIGURES[1]) / (1.0 - self.load.clamp(0.0, 0.99));
        [(0, down), (1, up)]
            .map(|(way, interference)| CHIPS * linear(POWERS[way]) * own / interference / linear(EBN0[way]))
    }

    /// Largest feasible standard rate that does not exceed `most`, downlink and uplink; 0: no channel.
    pub fn rate(&self, most: [Rate; 2]) -> [Rate; 2] {
        let budget = self.budget();
        [0, 1].map(|way: usize| {
            let fits = |bps: &&u64| **bps as f64 <= budget[way] && **bps <= most[way].bps();
            Rate::from_bps(RATES.iter().find(fits).copied().unwrap_or(0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(distance: f64, load: f64) -> MobilePosition {
        MobilePosition { distance, sites: 2000.0, load, margin: 6.0 }
    }

    /// WC-10: computed by hand, uplink at 1 km without load. 21 dBm - 134.1 dB = -113.1 dBm, 9.9 dB below the noise of
    /// -103.2 dBm. 65.8 dB of chips per second less 9.9 and 3 dB are 52.9 dB: 196 kbit/s.
    #[test]
    fn wc_10_link_budget_by_hand() {
        let up = spot(1000.0, 0.0).budget()[1];
        assert!((10.0 * libm::log10(up) - 52.94).abs() < 0.05, "{up}");
        // A load of one half costs 3 dB.
        let half = spot(1000.0, 0.5).budget()[1];
        assert!((up / half - 2.0).abs() < 1e-9);
        // Ten times the distance costs 37.6 dB.
        let far = spot(10_000.0, 0.0).budget()[1];
        assert!((10.0 * libm::log10(up / far) - 37.6).abs() < 1e-6);
    }

    /// WC-10: the rate falls with distance and with load, from the full channel to none.
    #[test]
    fn wc_10_rate_falls_with_distance_and_load() {
        let most = [Rate::from_bps(384_000), Rate::from_bps(64_000)];
        let rates = |distance: f64, load: f64| spot(distance, load).rate(most).map(Rate::bps);
        assert_eq!(rates(100.0, 0.2), [384_000, 64_000]);
        for load in [0.1, 0.5, 0.9] {
            let all: Vec<[u64; 2]> = (1..=30).map(|d| rates(f64::from(d) * 100.0, load)).collect();
            assert!(all.windows(2).all(|w| w[1][1] <= w[0][1]));
            // Downlink, handover would occur beyond half the distance to the next site.
            assert!(all[..10].windows(2).all(|w| w[1][0] <= w[0][0]));
        }
        let edge: Vec<u64> = [0.1, 0.3, 0.5, 0.7, 0.9].map(|load| rates(1000.0, load)[0]).to_vec();
        assert!(edge.windows(2).all(|w| w[1] <= w[0]) && edge[0] > edge[4], "{edge:?}");
        assert_eq!(rates(9000.0, 0.9)[1], 0);
    }
}
