//! Trace of a network of cells for pictures: positions of all mobiles, radio events of one mobile.
//!
//! Recording changes no result; without recording only the counters of [`crate::meter`] exist.

use crate::geometry::Place;
use base::Time;
use radio::coding::Scheme;

/// Trace records to keep in addition to the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// Positions of all mobiles at each measurement.
    pub trails: bool,
    /// Number of the mobile whose radio events are recorded.
    pub mobile: Option<u32>,
}

/// State of a mobile at one measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// Position.
    pub place: Place,
    /// Serving cell.
    pub cell: u32,
    /// Averaged downlink C/I, dB; `None` without a downlink TBF.
    pub ci_db: Option<f32>,
    /// True during a cell change.
    pub changing: bool,
}

/// A radio event of the observed mobile; directions are 0 (downlink) and 1 (uplink).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RadioEvent {
    /// An RLC block was sent.
    Block {
        /// Direction.
        way: usize,
        /// Coding scheme of the radio block.
        scheme: Scheme,
        /// Mean C/I of the radio block, dB.
        ci_db: f32,
        /// True if the RLC block was decoded.
        arrived: bool,
    },
    /// A TBF gets timeslots.
    TbfBegins {
        /// Direction.
        way: usize,
        /// First timeslot.
        first: u32,
    },
    /// A TBF ends.
    TbfEnds {
        /// Direction.
        way: usize,
    },
    /// A cell change begins.
    Leaves {
        /// Old cell.
        from: u32,
        /// New cell.
        to: u32,
    },
    /// A cell change ends: the mobile has access to the new cell.
    Arrived {
        /// New cell.
        cell: u32,
    },
    /// A packet was dropped at the full SGSN buffer.
    Dropped {
        /// Size of the packet, octets.
        octets: u32,
    },
    /// Length of the mobile's SGSN queue, once a second.
    Queue {
        /// Length of the queue, octets.
        octets: u32,
    },
}

/// Records in time order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// Measurements of all mobiles.
    pub trails: Vec<(Time, Vec<Fix>)>,
    /// Events of the observed mobile.
    pub events: Vec<(Time, RadioEvent)>,
}
