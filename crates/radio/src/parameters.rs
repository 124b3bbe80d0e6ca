//! Table of timers, counters and limits of RLC/MAC, LLC, BSSGP and mobility: 3GPP name, default, unit, range.
//!
//! Code, documentation and `williwaw presets` use this table. Where the specification permits a range, the default is
//! osmo-pcu's. [`OPENBTS`] and [`VENDOR`] have the values of other networks, for comparison.

base::named! {
    /// Unit of a parameter.
    pub enum Unit {
        /// Milliseconds.
        Millis = "ms",
        /// A number without unit.
        Count = "",
        /// Octets.
        Octets = "octets",
        /// RLC blocks.
        Blocks = "blocks",
    }
}

/// Entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name in the 3GPP specification.
    pub name: &'static str,
    /// Specification and section of the definition.
    pub source: &'static str,
    /// Default value, in `unit`.
    pub default: u32,
    /// Unit of the value.
    pub unit: Unit,
    /// Minimum and maximum value, in `unit`.
    pub range: (u32, u32),
    /// Purpose, in one sentence.
    pub doc: &'static str,
}

macro_rules! parameters {
    ($($id:ident = $name:literal, $source:literal, $default:literal $unit:ident in $least:literal..=$most:literal, $doc:literal;)+) => {
        base::named! {
            /// Parameters of the table, by their 3GPP names.
            pub enum Id { $(#[doc = $doc] $id = $name),+ }
        }
        /// Table of parameters, in the order of [`Id`].
        pub static TABLE: &[Parameter] = &[$(Parameter {
            name: $name, source: $source, default: $default, unit: Unit::$unit, range: ($least, $most), doc: $doc,
        }),+];
    };
}

parameters! {
    T3142 = "T3142", "44.060 13.1", 20_000 Millis in 0..=255_000, "The mobile waits this long after an access reject.";
    T3164 = "T3164", "44.060 13.1", 5_000 Millis in 5_000..=5_000, "The mobile waits for its first USF after an assignment.";
    T3166 = "T3166", "44.060 13.1", 5_000 Millis in 5_000..=5_000, "The mobile waits for a report after its first block of one-phase access.";
    T3168 = "T3168", "44.060 13.1", 4_000 Millis in 500..=5_000, "The mobile waits for a Packet Uplink Assignment.";
    T3180 = "T3180", "44.060 13.1", 5_000 Millis in 5_000..=5_000, "The mobile waits for its next USF.";
    T3182 = "T3182", "44.060 13.1", 5_000 Millis in 5_000..=5_000, "The mobile waits for a report after countdown 0 or a stalled window.";
    T3184 = "T3184", "44.060 13.1", 5_000 Millis in 5_000..=5_000, "The mobile waits for an uplink report in exclusive allocation.";
    T3190 = "T3190", "44.060 13.1", 5_000 Millis in 5_000..=5_000, "The mobile waits for downlink data.";
    T3192 = "T3192", "44.060 13.1", 1_500 Millis in 0..=1_500, "The mobile listens on after the final report of a downlink TBF.";
    T3200 = "T3200", "44.060 13.1", 5_000 Millis in 100..=5_000, "The mobile waits for the missing segment of a control message.";
    T3141 = "T3141", "44.018 11.1", 10_000 Millis in 1_000..=20_000, "The network waits for contention resolution.";
    T3169 = "T3169", "44.060 13.2", 5_000 Millis in 5_000..=5_000, "The network waits before it uses TFI and USF of a lost uplink TBF again.";
    T3191 = "T3191", "44.060 13.2", 5_000 Millis in 5_000..=5_000, "The network waits for the final report of a downlink TBF.";
    T3193 = "T3193", "44.060 13.2", 1_600 Millis in 100..=2_000, "The network's twin of T3192; longer than it.";
    T3195 = "T3195", "44.060 13.2", 5_000 Millis in 5_000..=5_000, "The network waits before it uses the TFI of a lost downlink TBF again.";
    DrxTimerMax = "DRX_TIMER_MAX", "44.060 5.5", 4_000 Millis in 0..=64_000, "After a TBF the mobile listens to every paging block this long.";
    T3314 = "T3314", "24.008 11.2", 44_000 Millis in 0..=255_000, "READY timer: the SGSN knows the cell this long after the last uplink LLC frame.";
    T3330 = "T3330", "24.008 11.2", 15_000 Millis in 15_000..=15_000, "The mobile repeats a routing area update request.";
    T3350 = "T3350", "24.008 11.2", 6_000 Millis in 6_000..=6_000, "The SGSN repeats a routing area update accept.";
    N3101 = "N3101", "44.060 13.4", 10 Count in 8..=255, "Unused USFs in a row after which an uplink TBF counts as lost.";
    N3103 = "N3103", "44.060 13.4", 4 Count in 1..=255, "Final uplink reports sent without an answer.";
    N3105 = "N3105", "44.060 13.4", 8 Count in 1..=255, "Polls in a row without an answer after which a downlink TBF counts as lost.";
    N3104 = "N3104", "44.060 13.4", 3 Count in 1..=255, "Factor of the number of blocks that carry the TLLI in one-phase access.";
    BsCvMax = "BS_CV_MAX", "44.060 12.24", 15 Count in 0..=15, "Countdown begins this many block periods before the end.";
    PanMax = "PAN_MAX", "44.060 12.24", 0 Count in 0..=32, "Highest value of the counter N3102; 0 turns it off.";
    DlPoll = "dl-poll", "44.060 9.1.8 (choice of the network)", 20 Blocks in 1..=128, "Downlink blocks between two polls.";
    UlAck = "ul-ack", "44.060 9.3.2 (choice of the network)", 20 Blocks in 1..=128, "Uplink blocks between two reports.";
    DlDelay = "dl-release-delay", "44.060 9.3.2.6 (delayed release)", 2_000 Millis in 0..=5_000, "A downlink TBF without data is kept this long with dummy blocks; 0 releases at once.";
    UlDelay = "ul-release-delay", "44.060 9.3.1b (extended uplink TBF)", 0 Millis in 0..=5_000, "An uplink TBF without data is kept this long; 0 ends it with countdown 0.";
    N201U = "N201-U", "44.064 8.9.8", 500 Octets in 140..=1_520, "Longest information field of an unconfirmed LLC frame.";
    N201I = "N201-I", "44.064 8.9.8", 1_503 Octets in 140..=1_520, "Longest information field of a confirmed LLC frame.";
    T200 = "T200", "44.064 8.9.1", 5_000 Millis in 1_000..=40_000, "Retransmission timer of acknowledged LLC.";
    N200 = "N200", "44.064 8.9.7", 3 Count in 1..=15, "Retransmissions of acknowledged LLC.";
    KU = "kU", "44.064 8.9.12", 16 Count in 1..=255, "Window of acknowledged LLC, frames.";
    FlowControl = "flow-control-period", "48.018 8.2", 1_000 Millis in 100..=10_000, "The BSS reports bucket size and leak rate this often.";
    BucketTime = "bucket-time", "48.018 8.2 (Bmax over R)", 10_000 Millis in 100..=60_000, "Size of the BSSGP bucket as time at the leak rate.";
    ReselectionTime = "C2-time", "45.008 6.6.2", 5_000 Millis in 0..=5_000, "A neighbour must be better this long before the mobile changes to it.";
    Hysteresis = "CELL_RESELECT_HYSTERESIS", "45.008 9", 4 Count in 0..=14, "Decibels by which a neighbour must be better in READY state.";
}

impl Id {
    /// Entry of the parameter in [`TABLE`].
    pub fn parameter(self) -> &'static Parameter {
        &TABLE[self as usize]
    }
    /// Default value of the parameter, in its unit.
    pub fn default_value(self) -> u32 {
        self.parameter().default
    }
    /// Default as a time span; zero for counts.
    pub fn span(self) -> base::Span {
        match self.parameter().unit {
            Unit::Millis => base::Span::from_millis(u64::from(self.parameter().default)),
            _ => base::Span::ZERO,
        }
    }
}

/// Values of a network that replace the defaults.
pub type Preset = &'static [(Id, u32)];

/// Values of OpenBTS, version of February 2021.
pub static OPENBTS: Preset = &[
    (Id::DlPoll, 10),
    (Id::UlAck, 10),
    (Id::N3101, 20),
    (Id::N3103, 8),
    (Id::N3105, 12),
    (Id::T3168, 3_000),
    (Id::T3192, 500),
    (Id::T3193, 600),
    (Id::DlDelay, 300),
    (Id::UlDelay, 300),
];

/// Values of a commercial network of 2002, as published: release 97, TBFs released immediately.
pub static VENDOR: Preset = &[
    (Id::DlPoll, 10),
    (Id::UlAck, 10),
    (Id::BsCvMax, 9),
    (Id::T3168, 2_000),
    (Id::T3192, 500),
    (Id::T3193, 600),
    (Id::DlDelay, 0),
    (Id::UlDelay, 0),
];

/// Value of a parameter in a preset; the default if the preset has none.
pub fn with(preset: Preset, id: Id) -> u32 {
    preset.iter().rev().find(|(i, _)| *i == id).map_or(id.default_value(), |(_, v)| *v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_presets_lie_within_their_ranges() {
        for id in Id::ALL {
            let p = id.parameter();
            assert_eq!(p.name, id.name());
            for v in [p.default, with(OPENBTS, *id), with(VENDOR, *id)] {
                assert!((p.range.0..=p.range.1).contains(&v), "{} = {v}", p.name);
            }
        }
    }

    #[test]
    fn the_networks_twin_is_longer_than_the_mobiles_timer() {
        for preset in [&[][..], OPENBTS, VENDOR] {
            assert!(with(preset, Id::T3193) > with(preset, Id::T3192));
        }
    }
}
