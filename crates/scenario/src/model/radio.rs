//! Radio bearers of a scenario model: RLC/MAC mobiles in cells, framed ARQ bearers.

use base::Span;
use radio::bssgp::Bucket;
use radio::cell::config::{CellLoad, UserConfig};
use radio::framed::config::FramedConfig;
use radio::pcu::config::Program;

/// A bearer: one hop, both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Bearer {
    /// Name of its hop.
    pub name: String,
    /// What it is.
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
    /// A bearer that is served alone.
    Framed(FramedConfig),
}

/// A mobile in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Gprs {
    /// Name of the cell; mobiles of one name share it.
    pub cell: String,
    /// Timeslots of the cell.
    pub timeslots: u8,
    /// Block periods for which a timeslot stays with one mobile.
    pub turn: u32,
    /// BSSGP flow control of the cell.
    pub bucket: Option<Bucket>,
    /// Calls and packet users of the cell beside its mobiles.
    pub load: Option<CellLoad>,
    /// Traffic classes with a treatment of their own.
    pub traffic: Vec<Traffic>,
    /// The program that is the network's RLC/MAC; none: the model.
    pub pcu: Option<Program>,
    /// What the use of the bearer costs.
    pub tariff: Option<Tariff>,
    /// The mobile.
    pub user: UserConfig,
}

/// A traffic class of a mobile.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Its name.
    pub name: String,
    /// Packets of these flows, in both directions.
    pub flows: Option<Vec<String>>,
    /// Packets with this service class.
    pub dscp: Option<u8>,
    /// How long TBFs are kept after them, downlink and uplink.
    pub hold: [Option<Span>; 2],
    /// RLC repeats their blocks.
    pub repeats: bool,
}

/// Prices of a bearer, in any currency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tariff {
    /// A kilobyte (1000 octets) of packets.
    pub kilobyte: f64,
    /// A kilobyte of radio blocks that were sent before.
    pub repeated_kilobyte: f64,
    /// A change of cell.
    pub reselection: f64,
    /// A TBF that is set up.
    pub allocation: f64,
}
