//! Radio bearers of a scenario model: RLC/MAC mobiles in cells, framed ARQ bearers.

use radio::cell::config::UserConfig;
use radio::framed::config::FramedConfig;

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
    /// The mobile.
    pub user: UserConfig,
}
