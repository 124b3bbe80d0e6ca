//! Trace of a network of cells for pictures: places of all mobiles, radio events of one.
//!
//! Nothing of it changes a result; without it only counters are kept.

use crate::geometry::Place;
use base::Time;
use radio::coding::Scheme;

/// What to record beside the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// Places of all mobiles at each measurement.
    pub trails: bool,
    /// Radio events of this mobile.
    pub mobile: Option<u32>,
}

/// A mobile at one measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// Where it is.
    pub place: Place,
    /// Its serving cell.
    pub cell: u32,
    /// Averaged downlink C/I, dB, while a TBF lives.
    pub ci_db: Option<f32>,
    /// It is between two cells.
    pub changing: bool,
}

/// A radio event of the watched mobile; directions are 0 (down) and 1 (up).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Watched {
    /// An RLC block was sent.
    Block {
        /// Direction.
        way: usize,
        /// Scheme of its radio block.
        scheme: Scheme,
        /// Mean C/I of the radio block, dB.
        ci_db: f32,
        /// It was decoded.
        arrived: bool,
    },
    /// A TBF has its slots.
    TbfBegins {
        /// Direction.
        way: usize,
        /// First timeslot.
        first: u32,
    },
    /// A TBF has ended.
    TbfEnds {
        /// Direction.
        way: usize,
    },
    /// The mobile leaves a cell.
    Leaves {
        /// That cell.
        from: u32,
        /// The cell it goes to.
        to: u32,
    },
    /// The mobile is in its new cell.
    Arrived {
        /// The cell.
        cell: u32,
    },
    /// The SGSN's buffer was full.
    Dropped {
        /// Octets of the packet.
        octets: u32,
    },
    /// Octets at the SGSN, once a second.
    Queue {
        /// Octets.
        octets: u32,
    },
}

/// What was recorded, in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// Measurements of all mobiles.
    pub trails: Vec<(Time, Vec<Fix>)>,
    /// Events of the watched mobile.
    pub events: Vec<(Time, Watched)>,
}
