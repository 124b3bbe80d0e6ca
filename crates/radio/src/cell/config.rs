//! What a cell and its mobiles are made of: plain data, one value for each switch of the vendors.

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
use base::{Rate, Span};
use path::channel::class::Rule;

base::named! {
    /// When blocks that are not acknowledged are repeated without having been reported missing.
    pub enum IdleRepeat {
        /// Never.
        Never = "never",
        /// When no other mobile of the timeslot has data.
        WhenFree = "when-free",
        /// In turn with the data of others.
        Always = "always",
    }
}

/// RLC and coding of one direction of one mobile.
#[derive(Clone, PartialEq, Debug)]
pub struct DirectionConfig {
    /// Timeslots wanted.
    pub slots: u8,
    /// Coding scheme; link adaptation is off.
    pub scheme: Scheme,
    /// RLC mode.
    pub mode: Mode,
    /// Window and numbers.
    pub numbering: Numbering,
    /// When reports are due.
    pub policy: Policy,
    /// Idle retransmission.
    pub idle: IdleRepeat,
    /// Repeats of one block are at least so far apart.
    pub hold_off: Span,
    /// EGPRS: repeats in halves.
    pub resegment: bool,
    /// RLC gives up a PDU, and the TBF with it, after this time; none: never.
    pub persistence: Option<Span>,
    /// Which blocks arrive.
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

/// LLC of one mobile, both directions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LlcConfig {
    /// Acknowledged or not.
    pub mode: LlcMode,
    /// N201.
    pub n201: u32,
    /// T200.
    pub t200: Span,
    /// N200.
    pub n200: u32,
    /// Window of acknowledged frames.
    pub k: u32,
    /// From the arrival of a frame to that of its acknowledgement.
    pub feedback: Span,
    /// T200 also flushes the copies that RLC still holds.
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

/// Slots by demand: start with one, grow when all are used, shrink when they are not.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Demand {
    /// Use is judged over this time.
    pub period: Span,
    /// Share of used blocks above which a slot is added.
    pub grow: f64,
    /// Share below which one is taken away.
    pub shrink: f64,
}

impl Default for Demand {
    fn default() -> Self {
        Demand { period: Span::from_secs(1), grow: 0.9, shrink: 0.5 }
    }
}

/// Delays outside of the radio interface, one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delays {
    /// GGSN to SGSN with GTP, and what lies before.
    pub core: Span,
    /// Abis and PCU processing between radio interface and PCU.
    pub abis: Span,
    /// Processing in the terminal.
    pub terminal: Span,
    /// Rate of the cable between terminal and computer; none: unlimited.
    pub cable: Option<Rate>,
}

/// What may wait in the terminal for the uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Room {
    /// Octets of packets not yet acknowledged by RLC.
    pub octets: Option<u64>,
    /// Packets likewise.
    pub packets: Option<u32>,
}

/// Voice calls that take the mobile away.
#[derive(Clone, PartialEq, Debug)]
pub struct Voice {
    /// From the end of one to the next, nanoseconds.
    pub every: Dist,
    /// How long each lasts, nanoseconds.
    pub lasts: Dist,
}

/// How the bearer treats packets of a traffic class.
#[derive(Clone, PartialEq, Debug)]
pub struct Traffic {
    /// Which packets; one that fits several belongs to the first.
    pub rule: Rule,
    /// How long TBFs are kept after them, downlink and uplink; none: as long as after others.
    pub hold: [Option<Span>; 2],
    /// RLC repeats their blocks. If not, a block reported missing that carries nothing else is given up.
    pub repeats: bool,
}

/// One mobile.
#[derive(Clone, PartialEq, Debug)]
pub struct UserConfig {
    /// Key of its random streams.
    pub name: String,
    /// Multislot class.
    pub class: Class,
    /// Downlink and uplink.
    pub down: DirectionConfig,
    /// Uplink.
    pub up: DirectionConfig,
    /// Slots by demand; none: all the class grants.
    pub demand: Option<Demand>,
    /// TBFs.
    pub tbf: TbfConfig,
    /// Traffic classes with a treatment of their own.
    pub traffic: Vec<Traffic>,
    /// LLC.
    pub llc: LlcConfig,
    /// SGSN buffer, flow control, Gb.
    pub sgsn: SgsnConfig,
    /// PDUs that RLC takes from LLC beyond its window, octets; what is beyond waits in the SGSN.
    pub rlc_buffer: Option<u64>,
    /// Terminal buffer.
    pub terminal: Room,
    /// Delays.
    pub delays: Delays,
    /// Changes of cell.
    pub mobility: MobilityConfig,
    /// Voice calls.
    pub voice: Option<Voice>,
    /// Weight in the turns of a timeslot.
    pub weight: u32,
    /// Polls without an answer after which the downlink TBF is lost.
    pub n3105: u32,
}

impl UserConfig {
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

/// Circuit-switched calls on the timeslots of a cell, and other packet users of it. Both arrive as a Poisson process and
/// stay for exponentially distributed times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CellLoad {
    /// Offered voice traffic, Erlang.
    pub calls: f64,
    /// Mean length of a call.
    pub call_lasts: Span,
    /// Timeslots, from the lowest, that calls do not take.
    pub reserved: u8,
    /// Mean number of other packet users with data.
    pub users: f64,
    /// Mean time for which one has data.
    pub user_stays: Span,
}

/// A cell.
#[derive(Clone, PartialEq, Debug)]
pub struct CellConfig {
    /// Timeslots for packet data (PDCHs).
    pub slots: u8,
    /// Block periods for which a timeslot stays with one mobile before the next one's turn.
    pub turn: u32,
    /// BSSGP flow control of the cell, beside that of each mobile.
    pub bucket: Option<Bucket>,
    /// Calls and packet users of the cell beside its mobiles.
    pub load: Option<CellLoad>,
    /// Its mobiles, at most 32.
    pub users: Vec<UserConfig>,
}

impl CellConfig {
    /// A cell of eight timeslots.
    pub fn of(users: Vec<UserConfig>) -> Self {
        CellConfig { slots: 8, turn: 1, bucket: None, load: None, users }
    }
}
