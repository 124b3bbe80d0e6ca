//! Serving cells of a running network, as the engineering mode of each mobile shows them (GP-45).
//!
//! A GPRS bearer with the PCU of this project has one; circuits, W-CDMA and cdma2000 bearers have no cells, and the cells
//! of a real PCU are its own.

use base::Time;
use path::{ElementId, Network};
use radio::cell::Cell;
use radio::cell::display::{Display, TbfDisplay};
use scenario::build::World;
use scenario::model::Model;
use scenario::model::radio::BearerKind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The mobiles that have a display: name of the bearer, its cell, number of the mobile there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mobiles(Vec<(String, ElementId, usize)>);

/// One direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Direction {
    /// State of the TBF.
    pub tbf: String,
    /// Its timeslots.
    pub timeslots: u8,
    /// Coding scheme of data.
    pub scheme: String,
    /// C/I, dB; none where the block error rate is given.
    pub ci_db: Option<f64>,
}

/// A change of cell under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reselection {
    /// Cell, BSC, routing area and SGSN it leads to.
    pub cell: u32,
    /// BSC.
    pub bsc: u32,
    /// Routing area.
    pub routing_area: u32,
    /// SGSN.
    pub sgsn: u32,
    /// Access to the new cell, seconds since t = 0.
    pub access_s: f64,
    /// Downlink data flow again.
    pub resumed_s: f64,
}

/// The display of one mobile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Serving {
    /// The bearer.
    pub bearer: String,
    /// Cells that the mobile has had.
    pub cell: u32,
    /// BSCs.
    pub bsc: u32,
    /// Routing areas.
    pub routing_area: u32,
    /// SGSNs.
    pub sgsn: u32,
    /// Access to this cell, seconds since t = 0.
    pub since_s: f64,
    /// Downlink.
    pub down: Direction,
    /// Uplink.
    pub up: Direction,
    /// A change under way.
    pub change: Option<Reselection>,
}

impl Mobiles {
    /// Those of a scenario.
    pub fn of(model: &Model, world: &World) -> Mobiles {
        let all = model.bearers.iter().zip(&world.bearers);
        let cells = all.filter(|(bearer, _)| matches!(bearer.kind, BearerKind::Gprs(_)));
        Mobiles(cells.map(|(bearer, (id, user))| (bearer.name.clone(), *id, *user)).collect())
    }

    /// Values of each at `now`, after all due events.
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
