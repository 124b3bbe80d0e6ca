//! Grammar of `radio.gprs`: the tables of a GPRS bearer, from timeslots to the SGSN.
//!
//! Timer names and defaults are those of [`radio::parameters`].

mod errors;
mod reselection;

pub(super) use self::errors::quality_shape;
pub(super) use self::reselection::{FAULTS, RESELECTION};

use self::errors::QUALITY;
use super::service;
use crate::grammar::shape::{Need, Quantity, Shape, TableShape, ValueKind, Variant, field, table};
use radio::cell::config::{IdleRepeat, PcuSite};
use radio::coding::Scheme;
use radio::llc::LlcMode;
use radio::pcu::config::Program;
use radio::rlc::Mode;

const SHARE: Shape = Shape::One(ValueKind::Number(0.0, 1.0));
const SPAN: Shape = Shape::One(ValueKind::Span);
const DIST: Shape = Shape::One(ValueKind::Dist(Quantity::Span));

static SLOTS: Shape = Shape::One(ValueKind::Count(1, 8));
static SCHEME: Shape = Shape::One(ValueKind::Word(Scheme::NAMES));
static RLC_TABLE: Shape = Shape::Table(&RLC);
static QUALITY_CHOICE: Shape = Shape::Choice(QUALITY);
static HOLD: Shape = Shape::One(ValueKind::Span);

pub(super) static EVERY: TableShape = table(
    "every",
    "Policy A: a report after a fixed number of blocks.",
    &[field(
        "blocks",
        Shape::One(ValueKind::Count(1, 1024)),
        Need::Default("20"),
        "Blocks between two reports.",
    )],
);
pub(super) static ON_GAP: TableShape = table(
    "on-gap",
    "Policy B: a report shortly after a gap in the block sequence, seldom otherwise.",
    &[
        field(
            "blocks",
            Shape::One(ValueKind::Count(1, 1024)),
            Need::Default("32"),
            "Blocks between two reports when none is missing.",
        ),
        field(
            "after",
            Shape::One(ValueKind::Count(0, 64)),
            Need::Default("0"),
            "Blocks to wait after the gap.",
        ),
    ],
);
pub(super) static ADAPTIVE: TableShape = table(
    "adaptive",
    "Policy C: reports more often while many blocks are missing.",
    &[
        field(
            "blocks",
            Shape::One(ValueKind::Count(1, 1024)),
            Need::Default("20"),
            "Blocks between two reports at good quality.",
        ),
        field(
            "poor",
            Shape::One(ValueKind::Count(1, 1024)),
            Need::Default("5"),
            "Blocks between two reports at poor quality.",
        ),
        field("threshold", SHARE, Need::Default("0.1"), "Share of missing blocks that separates the two."),
    ],
);
static POLICIES: &[Variant] = &[
    Variant { name: "every", doc: "Policy A.", shape: Shape::Table(&EVERY), bare: true },
    Variant { name: "on-gap", doc: "Policy B.", shape: Shape::Table(&ON_GAP), bare: true },
    Variant { name: "adaptive", doc: "Policy C.", shape: Shape::Table(&ADAPTIVE), bare: true },
];
pub(super) static RLC: TableShape = table(
    "rlc",
    "Radio link control of one direction (3GPP TS 44.060 section 9).",
    &[
        field(
            "mode",
            Shape::One(ValueKind::Word(Mode::NAMES)),
            Need::Default("\"acknowledged\""),
            "Whether blocks are retransmitted.",
        ),
        field(
            "window",
            Shape::One(ValueKind::Count(64, 1024)),
            Need::Default("64"),
            "Blocks that may be outstanding; more than 64 needs an EGPRS scheme or EGPRS numbering.",
        ),
        field(
            "report",
            Shape::Choice(POLICIES),
            Need::Default("\"every\""),
            "When the receiver reports: polls downlink, reports uplink.",
        ),
        field(
            "idle-repeat",
            Shape::One(ValueKind::Word(IdleRepeat::NAMES)),
            Need::Default("\"when-free\""),
            "When unacknowledged blocks are retransmitted although none is reported missing.",
        ),
        field(
            "hold-off",
            SPAN,
            Need::Default("\"0 s\""),
            "A block reported missing is not retransmitted again within this time; one RLC round trip suppresses \
             unneeded retransmissions.",
        ),
        field(
            "resegment",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "EGPRS: blocks may be retransmitted in halves.",
        ),
        field(
            "persistence",
            SPAN,
            Need::Optional,
            "RLC gives up an LLC frame after this time, and its TBF with it. Without it, never.",
        ),
    ],
);

const NETWORKS: &[&str] = &["osmo-pcu", "openbts", "release-97"];
/// Table of the TBF set-up, with the access procedures as keys.
pub(super) static SETUP: TableShape = table(
    "setup",
    "Duration of access and assignment, by the state of the mobile.",
    &[
        field(
            "access",
            DIST,
            Need::Default("\"uniform(150 ms, 300 ms)\""),
            "Uplink from packet idle: RACH to the first block.",
        ),
        field(
            "second-phase",
            DIST,
            Need::Default("\"uniform(100 ms, 180 ms)\""),
            "Additional time of a second phase.",
        ),
        field(
            "uplink-on-pacch",
            DIST,
            Need::Default("\"uniform(80 ms, 160 ms)\""),
            "Uplink requested in a downlink report.",
        ),
        field(
            "downlink-on-pacch",
            DIST,
            Need::Default("\"uniform(60 ms, 140 ms)\""),
            "Downlink during an uplink TBF, or while T3192 runs.",
        ),
        field(
            "downlink-on-agch",
            DIST,
            Need::Default("\"uniform(120 ms, 250 ms)\""),
            "Downlink from packet idle.",
        ),
        field(
            "paging-group",
            DIST,
            Need::Default("\"uniform(0 ms, 470 ms)\""),
            "Additional wait for the paging group (DRX).",
        ),
        field(
            "paging",
            DIST,
            Need::Default("\"uniform(1 s, 3 s)\""),
            "Additional time of paging in STANDBY.",
        ),
        field(
            "more-slots",
            DIST,
            Need::Default("\"uniform(80 ms, 150 ms)\""),
            "From the one timeslot of a first assignment to all.",
        ),
    ],
);
pub(super) static TBF: TableShape = table(
    "tbf",
    "Temporary block flows: set-up, keeping, release.",
    &[
        field(
            "network",
            Shape::One(ValueKind::Word(NETWORKS)),
            Need::Default("\"osmo-pcu\""),
            "Source of the timers that this table does not set.",
        ),
        field("phases", Shape::One(ValueKind::Count(1, 2)), Need::Default("1"), "Phases of uplink access."),
        field(
            "hold",
            Shape::PerDirection(&HOLD),
            Need::Optional,
            "Delayed release (down), extended TBF (up): time that a TBF without data is kept. 0 releases at once.",
        ),
        field(
            "t3192",
            SPAN,
            Need::Optional,
            "Time that the mobile continues to listen after a downlink TBF.",
        ),
        field(
            "keep-alive",
            SPAN,
            Need::Default("\"200 ms\""),
            "Interval of dummy blocks or idle USFs while a TBF is kept.",
        ),
        field("non-drx", SPAN, Need::Optional, "DRX_TIMER_MAX."),
        field("ready", SPAN, Need::Optional, "T3314."),
        field("countdown", Shape::One(ValueKind::Count(0, 15)), Need::Optional, "BS_CV_MAX."),
        field(
            "permanent",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Both TBFs exist from the start and are never released.",
        ),
        field("setup", Shape::Table(&SETUP), Need::Optional, "Durations."),
    ],
);
pub(super) static LLC: TableShape = table(
    "llc",
    "Logical link control between mobile and SGSN, with SNDCP on top (3GPP TS 44.064, 44.065).",
    &[
        field(
            "mode",
            Shape::One(ValueKind::Word(LlcMode::NAMES)),
            Need::Default("\"unacknowledged\""),
            "Whether frames are retransmitted.",
        ),
        field(
            "n201",
            Shape::One(ValueKind::Count(140, 1560)),
            Need::Default("500"),
            "Longest information field; SNDCP cuts packets to it.",
        ),
        field(
            "t200",
            SPAN,
            Need::Default("\"5 s\""),
            "Acknowledged mode: a frame is retransmitted after this time.",
        ),
        field(
            "n200",
            Shape::One(ValueKind::Count(0, 255)),
            Need::Default("3"),
            "Acknowledged mode: retransmissions before a frame is given up.",
        ),
        field(
            "window",
            Shape::One(ValueKind::Count(1, 255)),
            Need::Default("16"),
            "Acknowledged mode: frames outstanding (k).",
        ),
        field(
            "feedback",
            SPAN,
            Need::Default("\"300 ms\""),
            "Acknowledged mode: from the arrival of a frame to that of its acknowledgement.",
        ),
        field(
            "flush",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "T200 also deletes the part of the frame that is still queued in RLC.",
        ),
    ],
);
pub(super) static SGSN: TableShape = table(
    "sgsn",
    "The downlink queue of the user in the SGSN, BSSGP flow control, the Gb interface (3GPP TS 48.018).",
    &[
        field(
            "buffer",
            Shape::One(ValueKind::Limits),
            Need::Optional,
            "Queue limit, octets of LLC frames. Without it, unlimited.",
        ),
        field(
            "leak",
            Shape::One(ValueKind::Rate),
            Need::Optional,
            "Leak rate of the bucket. Without it, no flow control.",
        ),
        field("bucket", Shape::One(ValueKind::Bytes), Need::Default("\"6 kB\""), "Size of the bucket."),
        field(
            "lifetime",
            SPAN,
            Need::Optional,
            "A frame that waited longer is discarded. Without it, never.",
        ),
        field(
            "gb-rate",
            Shape::One(ValueKind::Rate),
            Need::Optional,
            "Capacity of the Gb interface for this user. Without it, unlimited.",
        ),
        field(
            "gb-overhead",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"57 B\""),
            "BSSGP and network service headers of each frame on Gb.",
        ),
        field("gb-delay", SPAN, Need::Default("\"0 s\""), "Between SGSN and PCU."),
        field(
            "cell-leak",
            Shape::One(ValueKind::Rate),
            Need::Optional,
            "Leak rate of the bucket of the cell, which all its mobiles share in turn. Without it, none. The first mobile of the cell sets it.",
        ),
        field(
            "cell-bucket",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"60 kB\""),
            "Size of that bucket.",
        ),
    ],
);
pub(super) static DELAYS: TableShape = table(
    "delays",
    "One-way delays outside of the radio interface.",
    &[
        field("core", SPAN, Need::Default("\"0 s\""), "GGSN to SGSN, and the network before it."),
        field(
            "gn-rate",
            Shape::One(ValueKind::Rate),
            Need::Optional,
            "Rate of Gn between GGSN and SGSN for this mobile, each direction. Without it, unlimited.",
        ),
        field(
            "gn-overhead",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"36 B\""),
            "Headers of GTP, UDP and IP around each packet on Gn.",
        ),
        field(
            "abis",
            SPAN,
            Need::Default("\"20 ms\""),
            "Between radio interface and BSC, processing of the base station and the PCU included.",
        ),
        field(
            "bsc",
            SPAN,
            Need::Default("\"0 s\""),
            "Processing of the BSC. `pcu-at` decides whether radio blocks or LLC frames have it and the delay of Abis.",
        ),
        field("terminal", SPAN, Need::Default("\"0 s\""), "Processing in the terminal."),
        field("cable", Shape::One(ValueKind::Rate), Need::Optional, "Rate of the cable to the computer."),
    ],
);
pub(super) static VOICE: TableShape = table(
    "voice",
    "Voice calls that take the mobile; data wait.",
    &[
        field(
            "every",
            DIST,
            Need::Required("\"exponential(600 s)\""),
            "Time from the end of one to the start of the next.",
        ),
        field("lasts", DIST, Need::Required("\"exponential(40 s)\""), "Duration of each."),
    ],
);
pub(super) static DEMAND: TableShape = table(
    "demand",
    "Timeslots by demand: one at first, more when all are used, fewer when they are not.",
    &[
        field("period", SPAN, Need::Default("\"1 s\""), "Use is judged over this time."),
        field("grow", SHARE, Need::Default("0.9"), "Share of used blocks above which a timeslot is added."),
        field("shrink", SHARE, Need::Default("0.5"), "Share below which one is taken away."),
    ],
);

pub(super) static GPRS: TableShape = table(
    "gprs",
    "A GPRS or EGPRS bearer from GGSN to terminal. Hops that name one `cell` share its timeslots.",
    &[
        field("cell", Shape::One(ValueKind::Name), Need::Optional, "The cell. Without it, one of its own."),
        field(
            "pcu",
            Shape::One(ValueKind::Word(Program::NAMES)),
            Need::Optional,
            "A real PCU: a program in a kernel in virtual time is RLC/MAC of the network. Without it, the model is.",
        ),
        field(
            "timeslots",
            Shape::One(ValueKind::Count(1, 8)),
            Need::Default("8"),
            "Timeslots of the cell for packet data.",
        ),
        field(
            "abis-rate",
            Shape::One(ValueKind::Rate),
            Need::Optional,
            "Rate of Abis in each direction, which the timeslots of the cell share: a radio block takes its octets and 6 more. \
             The first mobile of the cell sets it. Without it, unlimited.",
        ),
        field(
            "pcu-at",
            Shape::One(ValueKind::Word(PcuSite::NAMES)),
            Need::Default("\"bsc\""),
            "Place of the PCU (GSM 03.60). In the base station (`bts`), Abis and BSC carry LLC frames; their delays are not in the \
             loop of RLC. In the BSC, Abis carries radio blocks. At the site of the SGSN (`sgsn`), the line of \
             `sgsn.gb-delay` carries them too. The first mobile of the cell sets it.",
        ),
        field(
            "restart",
            Shape::Tables(&super::restart::RESTART),
            Need::Optional,
            "Restarts of network elements after faults of their software; all mobiles of the cell notice them.",
        ),
        field(
            "turn",
            Shape::One(ValueKind::Count(1, 10_000)),
            Need::Default("1"),
            "Block periods for which a timeslot of the cell stays with one mobile.",
        ),
        field(
            "weight",
            Shape::One(ValueKind::Count(1, 1000)),
            Need::Default("1"),
            "Weight of this mobile in the turns.",
        ),
        field("class", Shape::One(ValueKind::Count(1, 34)), Need::Default("4"), "Multislot class."),
        field(
            "slots",
            Shape::PerDirection(&SLOTS),
            Need::Optional,
            "Timeslots requested. Without it, those that the class allows, downlink first.",
        ),
        field("demand", Shape::Table(&DEMAND), Need::Optional, "Timeslots by demand."),
        field(
            "cell-load",
            Shape::Table(&service::LOAD),
            Need::Optional,
            "Calls and other users of the cell.",
        ),
        field(
            "traffic",
            Shape::Tables(&service::TRAFFIC),
            Need::Optional,
            "Traffic classes with a treatment of their own.",
        ),
        field("tariff", Shape::Table(&service::TARIFF), Need::Optional, "Prices."),
        field(
            "scheme",
            Shape::PerDirection(&SCHEME),
            Need::Default("\"cs-2\""),
            "Coding scheme; link adaptation is off.",
        ),
        field("rlc", Shape::PerDirection(&RLC_TABLE), Need::Optional, "Radio link control."),
        field(
            "errors",
            Shape::PerDirection(&QUALITY_CHOICE),
            Need::Optional,
            "Which blocks arrive. Without it, all.",
        ),
        field("tbf", Shape::Table(&TBF), Need::Optional, "Temporary block flows."),
        field("llc", Shape::Table(&LLC), Need::Optional, "LLC and SNDCP."),
        field("sgsn", Shape::Table(&SGSN), Need::Optional, "SGSN and Gb."),
        field(
            "rlc-buffer",
            Shape::One(ValueKind::Bytes),
            Need::Optional,
            "Queue limit of the PCU. Without it, unlimited.",
        ),
        field(
            "terminal-buffer",
            Shape::One(ValueKind::Limits),
            Need::Optional,
            "Queue limit of the terminal. Without it, unlimited.",
        ),
        field("delays", Shape::Table(&DELAYS), Need::Optional, "Delays outside of the radio interface."),
        field("reselection", Shape::Table(&RESELECTION), Need::Optional, "Changes of cell."),
        field("voice", Shape::Table(&VOICE), Need::Optional, "Voice calls."),
    ],
);
