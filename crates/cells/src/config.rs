//! Parameters of a network of cells, plain data. [`Config::default`] is table III of Sanchez and others, "TCP/IP
//! performance over EGPRS network" (VTC 2002), with the values that the paper leaves open chosen once for all of its
//! figures (`docs/egprs.md` lists them with their sources).

use crate::adaptation::{Adaptation, PowerControl};
use crate::geometry::Reuse;
use base::Span;

base::named! {
    /// Which carrier of its group a cell uses in each TDMA frame.
    pub enum Hopping {
        /// Always one carrier.
        None = "none",
        /// One carrier after the other, each cell with an offset of its own.
        Cyclic = "cyclic",
        /// Pseudo-random, each site with a sequence of its own.
        Random = "random",
    }
}

base::named! {
    /// The link-to-system interface.
    pub enum Interface {
        /// Each burst fades; mutual information is averaged over bursts and transmissions.
        Bursts = "bursts",
        /// Curves of block error rate over the mean C/I with fading inside.
        Average = "average",
    }
}

base::named! {
    /// Implementation loss of the receiver relative to the ideal curves.
    pub enum Receiver {
        /// None.
        Ideal = "ideal",
        /// 3.5 dB; 6.0 dB for MCS-7, 6.5 dB for MCS-8 and 9.
        Typical = "typical",
        /// 6.5 dB; 9.0 dB for MCS-7, 9.5 dB for MCS-8 and 9: what TS 45.005 demands.
        SpecMinimum = "spec-minimum",
    }
}

impl Receiver {
    /// The loss for MCS-`number`, dB.
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
    /// What becomes of data under way when a mobile changes its cell.
    pub enum CellChange {
        /// LLC frames that are not acknowledged are cut and sent again in the new cell; nothing is lost.
        Kept = "kept",
        /// Frames of which RLC has sent a part are lost; those that wait are routed to the new cell.
        RlcLost = "rlc-lost",
        /// All frames for the mobile are deleted (FLUSH-LL without re-routing, 3GPP TS 48.018 section 8.1).
        Lost = "lost",
    }
}

base::named! {
    /// What a packet counts for in the SGSN buffer.
    pub enum Counting {
        /// The packet with LLC, SNDCP and BSSGP headers: what an SGSN holds.
        Bssgp = "bssgp",
        /// The IP packet alone.
        Ip = "ip",
    }
}

/// Propagation, antennas and powers.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// Between neighbouring sites, m. Three times the cell radius in a layout of three hexagons a site.
    pub site_distance: f64,
    /// Boresight of the first sector, degrees from the line to the next site.
    pub boresight: f64,
    /// Half-power width of the antenna, degrees.
    pub beamwidth: f64,
    /// Largest attenuation of the antenna, dB.
    pub front_to_back_db: f64,
    /// Path loss at 1 km, dB.
    pub loss_1km_db: f64,
    /// Path loss for each decade of distance, dB.
    pub slope_db: f64,
    /// No mobile is nearer to a site, m.
    pub nearest: f64,
    /// Carrier frequency, MHz: Doppler shift.
    pub frequency_mhz: f64,
    /// Base station power with antenna gain and feeder loss, dBm.
    pub eirp_dbm: f64,
    /// Largest power of a mobile, GMSK, dBm.
    pub mobile_dbm: f64,
    /// Gain of the base station's antenna less feeder loss, dB: what the uplink adds to the mobile's power.
    pub antenna_db: f64,
    /// Noise of the mobile's receiver in 200 kHz, dBm.
    pub noise_dbm: f64,
    /// Noise of the base station's receiver, dBm.
    pub uplink_noise_dbm: f64,
    /// Average power of 8-PSK below GMSK, dB.
    pub backoff_db: f64,
    /// Deviation of shadow fading, dB.
    pub shadow_db: f64,
    /// Distance at which its correlation is 1/e, m.
    pub shadow_distance: f64,
    /// Its correlation between two sites.
    pub shadow_sites: f64,
    /// Mobiles that stand still see this speed of their surroundings, m/s.
    pub least_speed: f64,
    /// Instead of interference, noise and fading: each burst has this C/I, dB.
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
    /// Transceivers of a cell; one carries the BCCH and no packet data.
    pub trx: u32,
    /// Timeslots for packet data in a cell.
    pub slots: u32,
    /// Timeslots of a mobile, downlink and uplink.
    pub mobile_slots: [u32; 2],
    /// RLC window, blocks.
    pub window: u32,
    /// Blocks between two polls for a report.
    pub poll: u32,
    /// From a poll to the report's effect at the sender.
    pub report_delay: Span,
    /// Blocks not acknowledged are repeated when nothing else can be sent.
    pub preemptive: bool,
    /// Blocks may be repeated in halves.
    pub resegment: bool,
    /// Set-up of a TBF, downlink and uplink.
    pub setup: [Span; 2],
    /// An idle TBF is kept so long, downlink and uplink.
    pub hold: [Span; 2],
    /// TBFs that may share one timeslot, downlink and uplink.
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
    /// Between the server and the SGSN, each way.
    pub delay: Span,
    /// Rate of the links in between, bit/s: adds the transmission time of each packet.
    pub rate_bps: Option<u64>,
    /// Buffer of each mobile at the SGSN, octets.
    pub buffer: u32,
    /// What a packet counts for there.
    pub counting: Counting,
    /// LLC and SNDCP headers and a length indicator for each packet, octets.
    pub llc_octets: u32,
    /// BSSGP and network service headers for each packet, octets.
    pub bssgp_octets: u32,
    /// Octets that wait in the BSC, so that the air interface never runs dry.
    pub bsc_octets: u32,
}

impl Default for Core {
    fn default() -> Self {
        Core {
            delay: Span::from_millis(250),
            rate_bps: None,
            buffer: 65_536,
            counting: Counting::Bssgp,
            llc_octets: 11,
            bssgp_octets: 50,
            bsc_octets: 600,
        }
    }
}

/// Cell reselection (3GPP TS 45.008 section 6.6, by level).
#[derive(Clone, Debug, PartialEq)]
pub struct Reselection {
    /// Between two measurements.
    pub period: Span,
    /// Time constant of the running average of levels.
    pub average: Span,
    /// Another cell must be stronger by so much, dB.
    pub hysteresis_db: f64,
    /// And for so long.
    pub lasts: Span,
    /// No data pass for so long.
    pub outage: Span,
    /// What becomes of data under way.
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

/// Where mobiles start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Placing {
    /// Uniform over the whole area.
    Uniform,
    /// Uniform over a disc around a site (its number), with this radius in m.
    Near(u32, f64),
}

/// One mobile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mobile {
    /// Where it starts.
    pub placing: Placing,
    /// Its speed, m/s.
    pub speed: f64,
    /// Its place in the population: random streams are keyed by it, never by the transport.
    pub identity: u64,
}

/// A network of cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Sites along one side of the torus; cells are three times its square.
    pub side: u32,
    /// Propagation and powers.
    pub radio: Radio,
    /// Reuse of the carriers that carry packet data.
    pub reuse: Reuse,
    /// Reuse of the BCCH carriers.
    pub bcch_reuse: Reuse,
    /// Hopping.
    pub hopping: Hopping,
    /// Carriers of a group.
    pub carriers: u32,
    /// Link-to-system interface.
    pub interface: Interface,
    /// Receiver preset.
    pub receiver: Receiver,
    /// Modulation error of transmitter and receiver: the SINR never exceeds this, dB.
    pub evm_db: f64,
    /// Transmissions of a block are combined softly.
    pub incremental_redundancy: bool,
    /// A block whose header is lost leaves no soft bits.
    pub header_errors: bool,
    /// Link adaptation.
    pub adaptation: Adaptation,
    /// Power control, downlink and uplink.
    pub power: [PowerControl; 2],
    /// RLC and MAC.
    pub mac: Mac,
    /// Core network.
    pub core: Core,
    /// Reselection.
    pub reselection: Reselection,
    /// Chance that a mobile turns after 20 m, and by how much at most, degrees (UMTS 30.03 vehicular).
    pub turning: (f64, f64),
    /// Voice calls that hold a timeslot of a cell, Erlang.
    pub voice: f64,
    /// Mean length of a voice call.
    pub voice_call: Span,
    /// The mobiles, in the order of their ports.
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

/// Something in a [`Config`] that cannot be built: which key, and why, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// The key as the scenario spells it.
    pub key: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// Most mobiles of a network: each has two ports of an element, numbered in 16 bits.
pub const MOST_MOBILES: usize = 32_768;

impl Config {
    /// The side of the torus for a number of cells, if there is one.
    pub fn side_of(cells: u64) -> Option<u32> {
        (3..=64u32).find(|n| u64::from(3 * n * n) == cells)
    }

    /// Checks what no single key can tell.
    ///
    /// # Errors
    /// The first combination that cannot be built.
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

    /// EG-01, EG-02, EG-11: table III.
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
