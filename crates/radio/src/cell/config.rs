//! Configuration of a cell, its mobiles and its load as plain data: TBFs, RLC, LLC, SGSN, delays, vendor options.

use crate::bssgp::{Bucket, SgsnConfig};
use crate::coding::Scheme;
use crate::llc::LlcMode;
use crate::mac::multislot::{self, Class};
use crate::mac::tbf::TbfConfig;
use crate::mobility::MobilityConfig;
use crate::parameters::Id;
use crate::quality::Source;
use crate::rlc::poll::Policy;
use crate::rlc::{Mode, Numbering};
use base::dist::Dist;
use base::{Rate, Span, Time};
use path::channel::class::ClassRule;

base::named! {
    /// Pre-emptive (idle) retransmission: unacknowledged blocks that no report has marked missing are sent again.
    pub enum IdleRepeat {
        /// Never.
        Never = "never",
        /// When no other mobile of the timeslot has data to send.
        WhenFree = "when-free",
        /// In round robin with the data of other mobiles.
        Always = "always",
    }
}

/// RLC and channel coding of one direction of a mobile.
#[derive(Clone, PartialEq, Debug)]
pub struct DirectionConfig {
    /// Requested number of timeslots.
    pub slots: u8,
    /// Coding scheme of all blocks; there is no link adaptation.
    pub scheme: Scheme,
    /// RLC mode.
    pub mode: Mode,
    /// Window and sequence number space.
    pub numbering: Numbering,
    /// Policy of reports (Ack/Nack).
    pub policy: Policy,
    /// Idle retransmission.
    pub idle: IdleRepeat,
    /// Minimum time from a transmission of a block to its being marked missing.
    pub hold_off: Span,
    /// EGPRS resegmentation: a block may be retransmitted in halves.
    pub resegment: bool,
    /// Time after which RLC abandons a PDU, with loss of the TBF; `None`: unlimited.
    pub persistence: Option<Span>,
    /// Block error process.
    pub quality: Source,
}

impl DirectionConfig {
    /// Acknowledged RLC with CS-2 and osmo-pcu's rules.
    pub fn new(slots: u8) -> Self {
        DirectionConfig {
            slots,
            scheme: Scheme::Cs2,
            mode: Mode::Acknowledged,
            numbering: Numbering::GPRS,
            policy: Policy::Every { n: Id::DlPoll.default_value() },
            idle: IdleRepeat::WhenFree,
            hold_off: Span::ZERO,
            resegment: false,
            persistence: None,
            quality: Source::Constant { data: 0.0, control: 0.0 },
        }
    }
}

/// LLC of one mobile, for both directions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LlcConfig {
    /// Acknowledged or unacknowledged mode.
    pub mode: LlcMode,
    /// N201: maximum length of the information field, octets.
    pub n201: u32,
    /// T200: time from transmission to retransmission of an unacknowledged frame.
    pub t200: Span,
    /// N200: maximum number of retransmissions of a frame.
    pub n200: u32,
    /// k: maximum number of unacknowledged frames.
    pub k: u32,
    /// Time from the arrival of a frame to the arrival of its acknowledgement.
    pub feedback: Span,
    /// A retransmission first deletes copies of the frame from the RLC queue, with loss of the TBF.
    pub flush: bool,
}

impl Default for LlcConfig {
    fn default() -> Self {
        LlcConfig {
            mode: LlcMode::Unacknowledged,
            n201: Id::N201U.default_value(),
            t200: Id::T200.span(),
            n200: Id::N200.default_value(),
            k: Id::KU.default_value(),
            feedback: Span::from_millis(300),
            flush: false,
        }
    }
}

/// Timeslots on demand: a TBF starts with one timeslot, gets one more at high use and loses one at low use.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Demand {
    /// Averaging period.
    pub period: Span,
    /// Share of used blocks above which a timeslot is added.
    pub grow: f64,
    /// Share of used blocks below which a timeslot is removed.
    pub shrink: f64,
}

impl Default for Demand {
    fn default() -> Self {
        Demand { period: Span::from_secs(1), grow: 0.9, shrink: 0.5 }
    }
}

/// Delays and rates outside of the radio interface; delays are one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delays {
    /// From the server side to the SGSN, including GTP from the GGSN.
    pub core: Span,
    /// Rate of Gn between GGSN and SGSN, each direction; `None`: unlimited.
    pub gn_rate: Option<Rate>,
    /// GTP, UDP and IP headers of each packet on Gn, octets.
    pub gn_overhead: u32,
    /// Abis, and processing of the base station and the PCU.
    pub abis: Span,
    /// Processing of the BSC, which all packets pass.
    pub bsc: Span,
    /// Processing in the terminal.
    pub terminal: Span,
    /// Rate of the cable between terminal and computer; `None`: unlimited.
    pub cable: Option<Rate>,
}

base::named! {
    /// Place of the PCU (GSM 03.60, positions A to C of a remote PCU), which decides what crosses the interfaces: beyond
    /// the PCU LLC frames, before it radio blocks.
    pub enum PcuSite {
        /// In the base station: Abis and BSC are beyond it.
        Bts = "bts",
        /// A part of the BSC.
        Bsc = "bsc",
        /// At the site of the SGSN: Abis, BSC and the line to the SGSN are before it.
        Sgsn = "sgsn",
    }
}

base::named! {
    /// Network element whose software may fail.
    pub enum NetworkElement {
        /// Packet control unit.
        Pcu = "pcu",
        /// Base station controller.
        Bsc = "bsc",
        /// Serving GPRS support node.
        Sgsn = "sgsn",
    }
}

/// Start times of restarts.
#[derive(Clone, PartialEq, Debug)]
pub enum RestartTimes {
    /// Repeated: time from the end of one to the start of the next, nanoseconds; stationary from the beginning.
    Every(Dist),
    /// Listed times, ascending.
    Listed(Vec<Time>),
}

/// Restarts of a network element after faults of its software.
#[derive(Clone, PartialEq, Debug)]
pub struct Restart {
    /// Key of its random streams.
    pub name: String,
    /// The element.
    pub element: NetworkElement,
    /// Start times.
    pub times: RestartTimes,
    /// Time until it works again, nanoseconds.
    pub lasts: Dist,
}

/// Limits of the terminal's uplink buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Room {
    /// Octets of packets not yet acknowledged by RLC.
    pub octets: Option<u64>,
    /// Packets not yet acknowledged by RLC.
    pub packets: Option<u32>,
}

/// Voice calls of the mobile, which suspend its packet service.
#[derive(Clone, PartialEq, Debug)]
pub struct Voice {
    /// Time from the end of a call to the next one, nanoseconds.
    pub every: Dist,
    /// Duration of a call, nanoseconds.
    pub lasts: Dist,
}

/// Traffic class with its own TBF release delay and RLC retransmission.
#[derive(Clone, PartialEq, Debug)]
pub struct Traffic {
    /// Rule that matches packets; a packet belongs to the first class whose rule matches.
    pub rule: ClassRule,
    /// Delay of TBF release after packets of this class, downlink and uplink; `None`: the delay of [`TbfConfig`].
    pub hold: [Option<Span>; 2],
    /// Whether RLC retransmits blocks of this class. If false, a missing block that has only such data is abandoned.
    pub repeats: bool,
}

/// Configuration of one mobile.
#[derive(Clone, PartialEq, Debug)]
pub struct UserConfig {
    /// Name, the key of the mobile's random streams.
    pub name: String,
    /// Multislot class of the mobile.
    pub class: Class,
    /// RLC and coding of the downlink.
    pub down: DirectionConfig,
    /// RLC and coding of the uplink.
    pub up: DirectionConfig,
    /// Timeslots on demand; `None`: all timeslots that the class permits.
    pub demand: Option<Demand>,
    /// Set-up and release of TBFs.
    pub tbf: TbfConfig,
    /// Traffic classes; packets that match none have the defaults.
    pub traffic: Vec<Traffic>,
    /// LLC parameters.
    pub llc: LlcConfig,
    /// SGSN queue, flow control, Gb.
    pub sgsn: SgsnConfig,
    /// Limit of the RLC queue in octets, unsegmented data only; further PDUs wait in the SGSN. `None`: unlimited.
    pub rlc_buffer: Option<u64>,
    /// Limits of the terminal's uplink buffer.
    pub terminal: Room,
    /// Delays and rates outside of the radio interface.
    pub delays: Delays,
    /// Cell reselection parameters.
    pub mobility: MobilityConfig,
    /// Voice calls; `None`: no calls.
    pub voice: Option<Voice>,
    /// Weight in the round robin of a timeslot: multiplies the turn.
    pub weight: u32,
    /// N3105: consecutive unanswered polls after which the downlink TBF is lost.
    pub n3105: u32,
}

impl UserConfig {
    /// This mobile with the delays that a PCU at `site` has before it (`delays.abis`) and beyond it (`sgsn.gb_delay`).
    pub(super) fn with_pcu_at(&self, site: PcuSite) -> UserConfig {
        let mut user = self.clone();
        let Delays { abis, bsc, .. } = self.delays;
        let gb = self.sgsn.gb_delay;
        (user.delays.abis, user.sgsn.gb_delay) = match site {
            PcuSite::Bts => (Span::ZERO, abis + bsc + gb),
            PcuSite::Bsc => (abis + bsc, gb),
            PcuSite::Sgsn => (abis + bsc + gb, Span::ZERO),
        };
        user
    }

    /// A mobile of multislot class 4 (1 + 3 timeslots) with the defaults of the parameters.
    pub fn new(name: &str) -> Self {
        let class = multislot::CLASSES[3];
        UserConfig {
            name: name.into(),
            class,
            down: DirectionConfig::new(class.down),
            up: DirectionConfig::new(class.up),
            demand: None,
            tbf: TbfConfig::default(),
            traffic: Vec::new(),
            llc: LlcConfig::default(),
            sgsn: SgsnConfig::default(),
            rlc_buffer: None,
            terminal: Room::default(),
            delays: Delays::default(),
            mobility: MobilityConfig::default(),
            voice: None,
            weight: 1,
            n3105: Id::N3105.default_value(),
        }
    }
}

/// Load of a cell: circuit-switched calls, and packet users without a bearer. Both arrive as Poisson processes with
/// exponentially distributed durations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CellLoad {
    /// Offered voice traffic, Erlang.
    pub calls: f64,
    /// Mean duration of a call.
    pub call_lasts: Span,
    /// Number of timeslots, from the lowest, that calls cannot take.
    pub reserved: u8,
    /// Mean number of other packet users with data.
    pub users: f64,
    /// Mean time for which one of these users has data.
    pub user_stays: Span,
}

/// Configuration of a cell.
#[derive(Clone, PartialEq, Debug)]
pub struct CellConfig {
    /// Number of timeslots for packet data (PDCHs).
    pub slots: u8,
    /// Number of consecutive blocks of one mobile in the round robin of a timeslot.
    pub turn: u32,
    /// Bucket of the cell's BSSGP flow control, in addition to the bucket of each mobile; `None`: no limit.
    pub bucket: Option<Bucket>,
    /// Calls and other packet users of the cell.
    pub load: Option<CellLoad>,
    /// Rate of Abis in each direction, which all timeslots share; `None`: unlimited.
    pub abis: Option<Rate>,
    /// Place of the PCU.
    pub pcu_at: PcuSite,
    /// Restarts of network elements, which all mobiles notice.
    pub restarts: Vec<Restart>,
    /// Mobiles of the cell, at most 32.
    pub users: Vec<UserConfig>,
}

impl CellConfig {
    /// A cell with eight timeslots.
    pub fn of(users: Vec<UserConfig>) -> Self {
        CellConfig {
            slots: 8,
            turn: 1,
            bucket: None,
            load: None,
            abis: None,
            pcu_at: PcuSite::Bsc,
            restarts: Vec::new(),
            users,
        }
    }
}
