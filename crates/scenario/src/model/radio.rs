//! Radio bearers of a scenario model: GPRS and EGPRS mobiles with traffic classes and tariffs; framed ARQ
//! bearers (HSCSD, WCDMA, cdma2000).

use base::{Rate, Span};
use radio::bssgp::Bucket;
use radio::cell::config::{CellLoad, PcuSite, Restart, UserConfig};
use radio::framed::config::FramedConfig;
use radio::pcu::config::Program;

/// A bearer: one hop, both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Bearer {
    /// Name of its hop.
    pub name: String,
    /// Kind and configuration.
    pub kind: BearerKind,
    /// Indexes of its links, down and up.
    pub links: [usize; 2],
}

/// Kinds of bearers.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a scenario has a handful, and the large one is the common one")]
pub enum BearerKind {
    /// GPRS or EGPRS.
    Gprs(Gprs),
    /// A bearer with a channel of its own (HSCSD, WCDMA, cdma2000).
    Framed(FramedConfig),
}

/// A mobile in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Gprs {
    /// Name of the cell; mobiles with this cell name share the cell.
    pub cell: String,
    /// Number of timeslots of the cell.
    pub timeslots: u8,
    /// Block periods for which a timeslot stays with one mobile.
    pub turn: u32,
    /// Rate of Abis, which the timeslots of the cell share; `None`: unlimited.
    pub abis: Option<Rate>,
    /// Place of the cell's PCU.
    pub pcu_at: PcuSite,
    /// Restarts of network elements of the cell.
    pub restarts: Vec<Restart>,
    /// BSSGP flow control of the cell.
    pub bucket: Option<Bucket>,
    /// Calls and further packet users of the cell.
    pub load: Option<CellLoad>,
    /// Traffic classes with special treatment.
    pub traffic: Vec<Traffic>,
    /// Program in the role of the PCU; `None`: the model.
    pub pcu: Option<Program>,
    /// Tariff of the bearer.
    pub tariff: Option<Tariff>,
    /// Configuration of the mobile.
    pub user: UserConfig,
}

/// A traffic class of a mobile.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Its name.
    pub name: String,
    /// Flows of the class, both directions.
    pub flows: Option<Vec<String>>,
    /// DSCP of the class; `None`: any.
    pub dscp: Option<u8>,
    /// Time for which TBFs are kept after a packet of the class, downlink and uplink.
    pub hold: [Option<Span>; 2],
    /// Whether RLC retransmits blocks of the class.
    pub repeats: bool,
}

/// Prices of a bearer, in any currency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tariff {
    /// Price of a kilobyte (1000 octets) of packets.
    pub kilobyte: f64,
    /// Price of a kilobyte of retransmitted radio blocks.
    pub repeated_kilobyte: f64,
    /// Price of a cell change.
    pub reselection: f64,
    /// Price of a TBF set-up.
    pub allocation: f64,
}
