//! Configuration of a network of EGPRS cells as plain data: radio, RLC/MAC, core network, reselection and mobiles,
//! with defaults and a check.
//!
//! [`Config::default`] is table III of Sanchez and others, "TCP/IP performance over EGPRS network" (VTC 2002).
//! `docs/egprs.md` lists the values that the paper does not state, with their sources; all figures use the same ones.

use crate::adaptation::{Adaptation, PowerControl};
use crate::geometry::Reuse;
use base::Span;

base::named! {
    /// Frequency hopping: the rule for the carrier that a cell uses, out of its group, in each TDMA frame.
    pub enum Hopping {
        /// Constant carrier.
        None = "none",
        /// Cyclic; the start is random for each site, and its sectors have constant offsets.
        Cyclic = "cyclic",
        /// Pseudo-random, with one sequence for each site; its sectors have constant offsets.
        Random = "random",
    }
}

base::named! {
    /// Link-to-system interface: from the SINR to the error rate of RLC blocks.
    pub enum Interface {
        /// Fading per burst; mutual information is averaged over bursts and transmissions.
        Bursts = "bursts",
        /// Curves of block error rate over mean C/I, which include fading.
        Average = "average",
    }
}

base::named! {
    /// Implementation loss of the receiver relative to the ideal curves.
    pub enum Receiver {
        /// No loss.
        Ideal = "ideal",
        /// 3.5 dB; 6.0 dB for MCS-7, 6.5 dB for MCS-8 and MCS-9.
        Typical = "typical",
        /// 6.5 dB; 9.0 dB for MCS-7, 9.5 dB for MCS-8 and MCS-9: the minimum performance of 3GPP TS 45.005.
        SpecMinimum = "spec-minimum",
    }
}

impl Receiver {
    /// Implementation loss for MCS-`number`, dB.
    pub fn loss_db(self, number: u8) -> f64 {
        let base = match self {
            Receiver::Ideal => return 0.0,
            Receiver::Typical => 3.5,
            Receiver::SpecMinimum => 6.5,
        };
        match number {
            8 | 9 => base + 3.0,
            7 => base + 2.5,
            _ => base,
        }
    }
}

base::named! {
    /// Handling of the downlink data of a mobile when it changes its cell.
    pub enum CellChange {
        /// Unacknowledged LLC frames are segmented again and sent in the new cell; nothing is lost.
        Kept = "kept",
        /// LLC frames with a transmitted octet are lost; all other frames are sent in the new cell.
        RlcLost = "rlc-lost",
        /// All LLC frames and the SGSN queue are discarded (FLUSH-LL without re-routing, 3GPP TS 48.018 section 8.1).
        Lost = "lost",
    }
}

base::named! {
    /// Counted size of a packet in the SGSN buffer.
    pub enum SizeCounting {
        /// IP packet with LLC, SNDCP and BSSGP headers.
        Bssgp = "bssgp",
        /// IP packet only.
        Ip = "ip",
    }
}

/// Propagation, antennas and powers.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// Distance between neighbouring sites, m: three times the cell radius in a layout of three hexagons per site.
    pub site_distance: f64,
    /// Boresight of the first sector, degrees from the direction to the next site.
    pub boresight: f64,
    /// Half-power beamwidth of the antenna, degrees.
    pub beamwidth: f64,
    /// Maximum attenuation of the antenna, dB.
    pub front_to_back_db: f64,
    /// Path loss at 1 km, dB.
    pub loss_1km_db: f64,
    /// Path loss per decade of distance, dB.
    pub slope_db: f64,
    /// Minimum distance between mobile and site, m.
    pub nearest: f64,
    /// Carrier frequency, MHz, for the Doppler shift.
    pub frequency_mhz: f64,
    /// Base station power with antenna gain and feeder loss, dBm.
    pub eirp_dbm: f64,
    /// Maximum power of a mobile, GMSK, dBm.
    pub mobile_dbm: f64,
    /// Antenna gain less feeder loss of the base station, dB, applied to the uplink.
    pub antenna_db: f64,
    /// Receiver noise of the mobile in 200 kHz, dBm.
    pub noise_dbm: f64,
    /// Receiver noise of the base station in 200 kHz, dBm.
    pub uplink_noise_dbm: f64,
    /// Back-off of the average 8-PSK power against GMSK, dB.
    pub backoff_db: f64,
    /// Standard deviation of shadow fading, dB.
    pub shadow_db: f64,
    /// Decorrelation distance of shadow fading (correlation 1/e), m.
    pub shadow_distance: f64,
    /// Correlation of shadow fading between two sites.
    pub shadow_sites: f64,
    /// Least speed for the Doppler spread, m/s: moving objects around a stationary mobile.
    pub least_speed: f64,
    /// Constant C/I of each burst, dB, in place of interference, noise and fading.
    pub fixed_ci_db: Option<f64>,
}

impl Default for Radio {
    fn default() -> Self {
        Radio {
            site_distance: 1500.0,
            boresight: 0.0,
            beamwidth: 65.0,
            front_to_back_db: 20.0,
            loss_1km_db: 120.9,
            slope_db: 37.6,
            nearest: 35.0,
            frequency_mhz: 900.0,
            eirp_dbm: 57.5,
            mobile_dbm: 33.0,
            antenna_db: 14.5,
            noise_dbm: -111.0,
            uplink_noise_dbm: -116.0,
            backoff_db: 2.0,
            shadow_db: 6.0,
            shadow_distance: 50.0,
            shadow_sites: 0.5,
            least_speed: 0.3,
            fixed_ci_db: None,
        }
    }
}

/// RLC and MAC.
#[derive(Clone, Debug, PartialEq)]
pub struct Mac {
    /// Transceivers per cell; one carries the BCCH and no packet data.
    pub trx: u32,
    /// Timeslots per cell that carry packet data.
    pub slots: u32,
    /// Timeslots of one mobile (multislot class), downlink and uplink.
    pub mobile_slots: [u32; 2],
    /// RLC window, blocks.
    pub window: u32,
    /// Poll period, radio blocks.
    pub poll: u32,
    /// Time from a poll until the report takes effect at the sender.
    pub report_delay: Span,
    /// Pre-emptive retransmission of unacknowledged blocks even while a report is in flight; otherwise only without
    /// a report in flight.
    pub preemptive: bool,
    /// EGPRS resegmentation: retransmission of an RLC block in two halves by a more robust scheme.
    pub resegment: bool,
    /// Set-up time of a TBF, downlink and uplink.
    pub setup: [Span; 2],
    /// Time for which an idle TBF is kept, downlink and uplink.
    pub hold: [Span; 2],
    /// Maximum number of TBFs on one timeslot, downlink and uplink.
    pub most: [u32; 2],
}

impl Default for Mac {
    fn default() -> Self {
        let setup = Span::from_millis(120);
        Mac {
            trx: 2,
            slots: 7,
            mobile_slots: [3, 1],
            window: 384,
            poll: 20,
            report_delay: Span::from_millis(140),
            preemptive: false,
            resegment: false,
            setup: [setup, setup],
            hold: [Span::ZERO; 2],
            most: [9, 7],
        }
    }
}

/// Core network, SGSN and protocol headers.
#[derive(Clone, Debug, PartialEq)]
pub struct Core {
    /// One-way delay between the server and the SGSN.
    pub delay: Span,
    /// Rate of the core network in each direction, bit/s, shared by all mobiles. `None`: no transmission time.
    pub rate_bps: Option<u64>,
    /// Capacity of each mobile's SGSN buffer, octets.
    pub buffer: u32,
    /// Counted size of a packet in the SGSN buffer.
    pub counting: SizeCounting,
    /// LLC and SNDCP headers and a length indicator per packet, octets.
    pub llc_octets: u32,
    /// BSSGP and network service headers per packet, octets.
    pub bssgp_octets: u32,
    /// Threshold of a mobile's queue in the BSC, octets: with fewer, packets move there from the SGSN.
    pub bsc_octets: u32,
}

impl Default for Core {
    fn default() -> Self {
        Core {
            delay: Span::from_millis(250),
            rate_bps: None,
            buffer: 65_536,
            counting: SizeCounting::Bssgp,
            llc_octets: 11,
            bssgp_octets: 50,
            bsc_octets: 600,
        }
    }
}

/// Cell reselection by received level (3GPP TS 45.008 section 6.6).
#[derive(Clone, Debug, PartialEq)]
pub struct Reselection {
    /// Measurement period.
    pub period: Span,
    /// Time constant of the running average of levels.
    pub average: Span,
    /// Hysteresis: least excess of another cell's averaged level over the serving cell's, dB.
    pub hysteresis_db: f64,
    /// Time for which some other cell must be stronger by the hysteresis before a cell change.
    pub lasts: Span,
    /// Interruption of data transfer by a cell change.
    pub outage: Span,
    /// Handling of the mobile's downlink data.
    pub data: CellChange,
}

impl Default for Reselection {
    fn default() -> Self {
        Reselection {
            period: Span::from_millis(480),
            average: Span::from_secs(2),
            hysteresis_db: 4.0,
            lasts: Span::from_secs(5),
            outage: Span::from_secs(1),
            data: CellChange::Kept,
        }
    }
}

/// Initial position of a mobile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Placing {
    /// Uniform over the whole area.
    Uniform,
    /// Uniform over a disc: number of the site at its centre, and radius in m.
    Near(u32, f64),
}

/// One mobile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mobile {
    /// Initial position.
    pub placing: Placing,
    /// Speed, m/s.
    pub speed: f64,
    /// Key of the mobile's random streams: its number in the population, so that scenarios with different transports
    /// have equal motion and fading.
    pub identity: u64,
}

/// A network of cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Sites along one side of the torus; the number of cells is three times its square.
    pub side: u32,
    /// Propagation and powers.
    pub radio: Radio,
    /// Reuse of the carriers that carry packet data.
    pub reuse: Reuse,
    /// Reuse of the BCCH carriers.
    pub bcch_reuse: Reuse,
    /// Frequency hopping.
    pub hopping: Hopping,
    /// Carriers of each frequency group.
    pub carriers: u32,
    /// Link-to-system interface.
    pub interface: Interface,
    /// Receiver preset.
    pub receiver: Receiver,
    /// Upper bound of the SINR by the error vector magnitude (EVM) of transmitter and receiver, dB.
    pub evm_db: f64,
    /// Incremental redundancy: soft combining of all transmissions of an RLC block.
    pub incremental_redundancy: bool,
    /// Header errors: a radio block whose header is not decoded is lost, without soft bits for combining.
    pub header_errors: bool,
    /// Link adaptation.
    pub adaptation: Adaptation,
    /// Power control, downlink and uplink.
    pub power: [PowerControl; 2],
    /// RLC and MAC.
    pub mac: Mac,
    /// Core network.
    pub core: Core,
    /// Cell reselection.
    pub reselection: Reselection,
    /// Probability that a mobile turns after each 20 m, and maximum angle of a turn, degrees (UMTS 30.03 vehicular).
    pub turning: (f64, f64),
    /// Offered voice traffic on the packet timeslots of each cell, Erlang.
    pub voice: f64,
    /// Mean duration of a voice call.
    pub voice_call: Span,
    /// Mobiles; mobile `m` has the ports `2 m` and `2 m + 1`.
    pub mobiles: Vec<Mobile>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            side: 5,
            radio: Radio::default(),
            reuse: Reuse::R1x3,
            bcch_reuse: Reuse::R5x15,
            hopping: Hopping::Random,
            carriers: 3,
            interface: Interface::Bursts,
            receiver: Receiver::Typical,
            evm_db: 30.0,
            incremental_redundancy: true,
            header_errors: true,
            adaptation: Adaptation::default(),
            power: [PowerControl::DOWN, PowerControl::UP],
            mac: Mac::default(),
            core: Core::default(),
            reselection: Reselection::default(),
            turning: (0.2, 45.0),
            voice: 0.0,
            voice_call: Span::from_secs(90),
            mobiles: Vec::new(),
        }
    }
}

/// An invalid combination of keys in a [`Config`]: key, cause and remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Scenario key.
    pub key: &'static str,
    /// Cause.
    pub message: String,
    /// Remedy.
    pub help: String,
}

/// Maximum number of mobiles: each has two ports, and port numbers have 16 bits.
pub const MOST_MOBILES: usize = 32_768;

impl Config {
    /// Sites along one side of the torus, 3 to 64, for a number of cells; `None` if it is not 3 n^2.
    pub fn side_of(cells: u64) -> Option<u32> {
        (3..=64u32).find(|n| u64::from(3 * n * n) == cells)
    }

    /// Checks that reuse, mobiles and timeslots fit each other.
    ///
    /// # Errors
    /// The first invalid combination.
    pub fn check(&self) -> Result<(), Impossible> {
        let wrong = |key, message: String, help: String| Err(Impossible { key, message, help });
        for (key, reuse) in [("reuse", self.reuse), ("bcch-reuse", self.bcch_reuse)] {
            if !self.side.is_multiple_of(reuse.tile()) {
                return wrong(
                    key,
                    format!("reuse {reuse} does not tile a torus of {} by {} sites", self.side, self.side),
                    format!(
                        "choose a number of cells 3 n^2 with n a multiple of {}, or another reuse",
                        reuse.tile()
                    ),
                );
            }
        }
        if self.mobiles.len() > MOST_MOBILES {
            return wrong(
                "users",
                format!("{} users, and a network of cells has at most {MOST_MOBILES}", self.mobiles.len()),
                "take fewer users, or a second system".to_owned(),
            );
        }
        let most = 8 * self.mac.trx.saturating_sub(1);
        if self.mac.slots > most {
            return wrong(
                "timeslots",
                format!(
                    "{} timeslots, and {} transceivers beside the BCCH's have {most}",
                    self.mac.slots,
                    self.mac.trx.saturating_sub(1)
                ),
                "add transceivers (`trx`) or take fewer timeslots".to_owned(),
            );
        }
        for (key, slots) in [("down-slots", self.mac.mobile_slots[0]), ("up-slots", self.mac.mobile_slots[1])]
        {
            if slots == 0 || slots > self.mac.slots {
                return wrong(
                    key,
                    format!("a mobile uses {slots} timeslots, and a cell has {}", self.mac.slots),
                    "give a mobile from 1 to all timeslots of a cell".to_owned(),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_built_is_refused() {
        let refused = |change: &dyn Fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.check().map_err(|e| e.key)
        };
        assert_eq!(refused(&|_| ()), Ok(()));
        assert_eq!(refused(&|c| c.reuse = Reuse::R3x9), Err("reuse"));
        assert_eq!(refused(&|c| c.mac.slots = 9), Err("timeslots"));
        assert_eq!(refused(&|c| c.mac.mobile_slots[0] = 8), Err("down-slots"));
        let mobile = Mobile { placing: Placing::Uniform, speed: 0.0, identity: 0 };
        assert_eq!(refused(&|c| c.mobiles = vec![mobile; MOST_MOBILES]), Ok(()));
        assert_eq!(refused(&|c| c.mobiles = vec![mobile; MOST_MOBILES + 1]), Err("users"));
        assert_eq!(Config::side_of(75), Some(5));
        assert_eq!(Config::side_of(74), None);
    }

    /// EG-01, EG-02, EG-11: the defaults equal table III of Sanchez and others.
    #[test]
    fn eg_01_eg_02_eg_11_the_default_is_table_iii() {
        let c = Config::default();
        assert_eq!((3 * c.side * c.side, c.mac.slots, c.mac.trx, c.mac.mobile_slots), (75, 7, 2, [3, 1]));
        assert_eq!(
            (c.reuse, c.bcch_reuse, c.radio.beamwidth, c.core.buffer),
            (Reuse::R1x3, Reuse::R5x15, 65.0, 65_536)
        );
    }
}
