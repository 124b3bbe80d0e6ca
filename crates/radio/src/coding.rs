//! Channel coding schemes of GPRS and EGPRS as data: payload, modulation, family, header type (3GPP TS 45.003,
//! 43.064, 44.060 section 8.1.1).
//!
//! Rates per timeslot follow from the payload and the mean block period of 20 ms ([`crate::tdma`]). Code
//! rates and block sizes are constants of the specification; block error rates are in [`crate::quality`].

use base::Rate;

base::named! {
    /// A channel coding scheme.
    #[derive(PartialOrd, Ord)]
    pub enum Scheme {
        /// GPRS, code rate 1/2.
        Cs1 = "cs-1",
        /// GPRS, code rate about 2/3.
        Cs2 = "cs-2",
        /// GPRS, code rate about 3/4.
        Cs3 = "cs-3",
        /// GPRS, uncoded.
        Cs4 = "cs-4",
        /// EGPRS, GMSK, family C.
        Mcs1 = "mcs-1",
        /// EGPRS, GMSK, family B.
        Mcs2 = "mcs-2",
        /// EGPRS, GMSK, family A.
        Mcs3 = "mcs-3",
        /// EGPRS, GMSK, family C.
        Mcs4 = "mcs-4",
        /// EGPRS, 8-PSK, family B.
        Mcs5 = "mcs-5",
        /// EGPRS, 8-PSK, family A.
        Mcs6 = "mcs-6",
        /// EGPRS, 8-PSK, family B, two RLC blocks.
        Mcs7 = "mcs-7",
        /// EGPRS, 8-PSK, family A with padding, two RLC blocks.
        Mcs8 = "mcs-8",
        /// EGPRS, 8-PSK, family A, two RLC blocks.
        Mcs9 = "mcs-9",
    }
}

base::named! {
    /// A modulation.
    pub enum Modulation {
        /// One bit per symbol.
        Gmsk = "gmsk",
        /// Three bits per symbol.
        Psk8 = "8-psk",
    }
}

base::named! {
    /// EGPRS family: schemes whose payloads are multiples of one basic unit (44.060 section 8.1.1).
    pub enum Family {
        /// Basic unit of 37 octets; MCS-8 pads its units of 34 octets.
        A = "a",
        /// Basic unit of 28 octets.
        B = "b",
        /// Basic unit of 22 octets.
        C = "c",
    }
}

/// Constants of a coding scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Properties {
    /// RLC data octets of one RLC block, length indicators included.
    pub payload: u16,
    /// Number of RLC blocks in a radio block, each with its own BSN and block check sequence.
    pub rlc_blocks: u8,
    /// Octets of the radio block, downlink and uplink, headers included.
    pub octets: [u16; 2],
    /// Modulation of the four bursts.
    pub modulation: Modulation,
    /// Family; `None` for GPRS schemes.
    pub family: Option<Family>,
    /// EGPRS RLC/MAC header type 1, 2 or 3; 0 for GPRS schemes.
    pub header: u8,
    /// Code rate of the data field.
    pub code_rate: f64,
    /// Code rate of the header; for GPRS schemes equal to `code_rate`.
    pub header_rate: f64,
    /// Number of puncturing schemes for incremental redundancy; 1 without incremental redundancy.
    pub puncturings: u8,
    /// Number of bursts over which one RLC block is interleaved.
    pub bursts: u8,
    /// Nominal rate in published tables, bit/s: GPRS with 3 octets of header and spare bits, EGPRS without.
    pub line_bps: u32,
}

const fn gprs(payload: u16, line_bps: u32, code_rate: f64) -> Properties {
    let octets = payload + 3;
    Properties {
        payload,
        rlc_blocks: 1,
        octets: [octets, octets],
        modulation: Modulation::Gmsk,
        family: None,
        header: 0,
        code_rate,
        header_rate: code_rate,
        puncturings: 1,
        bursts: 4,
        line_bps,
    }
}

const fn gmsk(payload: u16, octets: u16, family: Family, code_rate: f64, puncturings: u8) -> Properties {
    Properties {
        payload,
        rlc_blocks: 1,
        octets: [octets, octets],
        modulation: Modulation::Gmsk,
        family: Some(family),
        header: 3,
        code_rate,
        header_rate: 0.53,
        puncturings,
        bursts: 4,
        line_bps: payload as u32 * 400,
    }
}

const fn psk8(payload: u16, blocks: u8, down: u16, family: Family, code_rate: f64, bursts: u8) -> Properties {
    let dual = blocks == 2;
    Properties {
        payload,
        rlc_blocks: blocks,
        octets: [down, down + 1],
        modulation: Modulation::Psk8,
        family: Some(family),
        header: if dual { 1 } else { 2 },
        code_rate,
        header_rate: if dual { 0.36 } else { 1.0 / 3.0 },
        puncturings: if dual { 3 } else { 2 },
        bursts,
        line_bps: payload as u32 * blocks as u32 * 400,
    }
}

/// Properties in the order of [`Scheme`].
static PROPERTIES: [Properties; 13] = [
    gprs(20, 9_050, 0.5),
    gprs(30, 13_400, 0.66),
    gprs(36, 15_600, 0.75),
    gprs(50, 21_400, 1.0),
    gmsk(22, 27, Family::C, 0.53, 2),
    gmsk(28, 33, Family::B, 0.66, 2),
    gmsk(37, 42, Family::A, 0.85, 3),
    gmsk(44, 49, Family::C, 1.0, 3),
    psk8(56, 1, 60, Family::B, 0.37, 4),
    psk8(74, 1, 78, Family::A, 0.49, 4),
    psk8(56, 2, 118, Family::B, 0.76, 4),
    psk8(68, 2, 142, Family::A, 0.92, 2),
    psk8(74, 2, 154, Family::A, 1.0, 2),
];

impl Scheme {
    /// GPRS schemes, CS-1 to CS-4.
    pub const GPRS: &'static [Scheme] = &[Scheme::Cs1, Scheme::Cs2, Scheme::Cs3, Scheme::Cs4];
    /// EGPRS schemes, MCS-1 to MCS-9.
    pub const EGPRS: &'static [Scheme] = &[
        Scheme::Mcs1,
        Scheme::Mcs2,
        Scheme::Mcs3,
        Scheme::Mcs4,
        Scheme::Mcs5,
        Scheme::Mcs6,
        Scheme::Mcs7,
        Scheme::Mcs8,
        Scheme::Mcs9,
    ];

    /// Constants of the scheme.
    #[inline]
    pub fn properties(self) -> &'static Properties {
        &PROPERTIES[self as usize]
    }
    /// RLC data octets of one RLC block.
    #[inline]
    pub fn payload(self) -> u32 {
        u32::from(self.properties().payload)
    }
    /// Whether the scheme is an EGPRS scheme.
    #[inline]
    pub const fn is_egprs(self) -> bool {
        self as u8 >= Scheme::Mcs1 as u8
    }
    /// Whether one radio block carries two RLC blocks.
    #[inline]
    pub const fn is_dual(self) -> bool {
        self as u8 >= Scheme::Mcs7 as u8
    }
    /// RLC data per second on one timeslot.
    pub fn rate(self) -> Rate {
        let p = self.properties();
        Rate::from_bps(u64::from(p.payload) * u64::from(p.rlc_blocks) * 8 * crate::tdma::BLOCKS_PER_SECOND)
    }
    /// Number in the scheme's name, from 1.
    pub const fn number(self) -> u8 {
        if self.is_egprs() { self as u8 - Scheme::Mcs1 as u8 + 1 } else { self as u8 + 1 }
    }
    /// CS-`number`, or MCS-`number` if `egprs`; `None` for a number that does not exist.
    pub fn numbered(egprs: bool, number: u8) -> Option<Scheme> {
        let all = if egprs { Scheme::EGPRS } else { Scheme::GPRS };
        all.get(usize::from(number).checked_sub(1)?).copied()
    }
    /// The scheme one step slower and more robust, GPRS or EGPRS as this one; `None` for the slowest.
    pub fn lower(self) -> Option<Scheme> {
        Scheme::numbered(self.is_egprs(), self.number() - 1)
    }
    /// The scheme one step faster, GPRS or EGPRS as this one; `None` for the fastest.
    pub fn higher(self) -> Option<Scheme> {
        Scheme::numbered(self.is_egprs(), self.number() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GP-05, GP-07: line rates, data rates and payloads of CS-1 to CS-4.
    #[test]
    fn gp_05_gp_07_rates_and_payloads_of_gprs() {
        let of = |s: Scheme| (s.payload(), s.rate().bps(), s.properties().line_bps);
        assert_eq!(of(Scheme::Cs1), (20, 8_000, 9_050));
        assert_eq!(of(Scheme::Cs2), (30, 12_000, 13_400));
        assert_eq!(of(Scheme::Cs3), (36, 14_400, 15_600));
        assert_eq!(of(Scheme::Cs4), (50, 20_000, 21_400));
    }

    #[test]
    fn rates_of_egprs_are_those_of_the_specification() {
        let kbit: Vec<u64> = Scheme::EGPRS.iter().map(|s| s.rate().bps() / 100).collect();
        assert_eq!(kbit, [88, 112, 148, 176, 224, 296, 448, 544, 592]);
        assert!(Scheme::EGPRS.iter().all(|s| s.rate().bps() == u64::from(s.properties().line_bps)));
    }

    /// The code rate agrees with payload, check and tail bits over the coded bits (43.064 table).
    #[test]
    fn code_rates_agree_with_payloads() {
        let coded = [372, 372, 372, 372, 1248, 1248, 612, 612, 612];
        for (scheme, coded) in Scheme::EGPRS.iter().zip(coded) {
            let p = scheme.properties();
            let rate = f64::from(p.payload * 8 + 2 + 12 + 6) / f64::from(coded);
            assert!((rate - p.code_rate).abs() < 0.015, "{scheme}: {rate} against {}", p.code_rate);
        }
    }

    #[test]
    fn neighbours_stay_within_their_system() {
        assert_eq!(Scheme::Cs1.lower(), None);
        assert_eq!(Scheme::Cs4.higher(), None);
        assert_eq!(Scheme::Mcs1.lower(), None);
        assert_eq!(Scheme::Mcs8.higher(), Some(Scheme::Mcs9));
        assert!(Scheme::ALL.iter().all(|s| Scheme::numbered(s.is_egprs(), s.number()) == Some(*s)));
    }
}
