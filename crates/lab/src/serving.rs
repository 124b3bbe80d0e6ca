//! Serving cell, TBF state, C/I and cell change of each mobile in a running network (GP-45), like the
//! engineering mode of a phone.
//!
//! A GPRS bearer with the PCU model of this project has a display; circuits, WCDMA and cdma2000 bearers have
//! no cells, and a real PCU manages its own cells.

use base::Time;
use path::{ElementId, Network};
use radio::cell::Cell;
use radio::cell::display::{Display, TbfDisplay};
use scenario::build::World;
use scenario::model::Model;
use scenario::model::radio::BearerKind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Mobiles with a display: name of the bearer, element of its cell, number of the mobile in that cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mobiles(Vec<(String, ElementId, usize)>);

/// Radio state of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// State of the TBF.
    pub tbf: String,
    /// Number of timeslots of the TBF.
    pub timeslots: u8,
    /// Coding scheme of data blocks.
    pub scheme: String,
    /// C/I, dB; `None` where the scenario sets a block error rate.
    pub ci_db: Option<f64>,
}

/// A cell change in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reselection {
    /// Number of the target cell.
    pub cell: u32,
    /// Number of the target cell's BSC.
    pub bsc: u32,
    /// Number of the target routing area.
    pub routing_area: u32,
    /// Number of the target SGSN.
    pub sgsn: u32,
    /// Access to the new cell, seconds since t = 0.
    pub access_s: f64,
    /// Time at which downlink data resume, seconds since t = 0.
    pub resumed_s: f64,
}

/// Radio state of one mobile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Serving {
    /// Name of the bearer.
    pub bearer: String,
    /// Number of the serving cell, counted over the cells that the mobile has used.
    pub cell: u32,
    /// Number of the serving BSC.
    pub bsc: u32,
    /// Number of the routing area.
    pub routing_area: u32,
    /// Number of the SGSN.
    pub sgsn: u32,
    /// Time of access to the serving cell, seconds since t = 0.
    pub since_s: f64,
    /// Downlink.
    pub down: Direction,
    /// Uplink.
    pub up: Direction,
    /// Cell change in progress.
    pub change: Option<Reselection>,
}

impl Mobiles {
    /// Mobiles of a scenario.
    pub fn of(model: &Model, world: &World) -> Mobiles {
        let all = model.bearers.iter().zip(&world.bearers);
        let cells = all.filter(|(bearer, _)| matches!(bearer.kind, BearerKind::Gprs(_)));
        Mobiles(cells.map(|(bearer, (id, user))| (bearer.name.clone(), *id, *user)).collect())
    }

    /// Runs the network until `now`, and returns the radio state of each mobile.
    pub fn display(&self, network: &mut Network, now: Time) -> Vec<Serving> {
        if self.0.is_empty() {
            return Vec::new();
        }
        network.run_until(now);
        let shown = |(name, id, user): &(String, ElementId, usize)| {
            Some(serving(name, &network.element::<Cell>(*id)?.display(*user, network.now())?))
        };
        self.0.iter().filter_map(shown).collect()
    }
}

fn direction(way: &TbfDisplay) -> Direction {
    let (tbf, scheme) = (way.state.name().to_owned(), way.scheme.name().to_uppercase());
    Direction { tbf, timeslots: way.slots, scheme, ci_db: way.c_over_i }
}

fn serving(bearer: &str, shown: &Display) -> Serving {
    let change = shown.change.map(|(change, to)| Reselection {
        cell: to.cell,
        bsc: to.bsc,
        routing_area: to.routing_area,
        sgsn: to.sgsn,
        access_s: change.access.as_secs_f64(),
        resumed_s: change.resumed.as_secs_f64(),
    });
    Serving {
        bearer: bearer.to_owned(),
        cell: shown.place.cell,
        bsc: shown.place.bsc,
        routing_area: shown.place.routing_area,
        sgsn: shown.place.sgsn,
        since_s: shown.since.as_secs_f64(),
        down: direction(&shown.ways[0]),
        up: direction(&shown.ways[1]),
        change,
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TBF {}", self.tbf)?;
        if self.timeslots > 0 {
            write!(f, " ({} of {} timeslots)", self.scheme, self.timeslots)?;
        }
        match self.ci_db {
            Some(db) => write!(f, ", C/I {db:.1} dB"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Serving { bearer, cell, bsc, routing_area, sgsn, since_s, down, up, change } = self;
        write!(f, "{bearer}: cell {cell} (BSC {bsc}, routing area {routing_area}, SGSN {sgsn}) ")?;
        write!(f, "since {since_s:.3} s; down {down}; up {up}")?;
        if let Some(c) = change {
            write!(f, "; on the way to cell {} (BSC {}, routing area {}, ", c.cell, c.bsc, c.routing_area)?;
            write!(f, "SGSN {}): access at {:.3} s, data at {:.3} s", c.sgsn, c.access_s, c.resumed_s)?;
        }
        Ok(())
    }
}
