//! Builder of bearers: one cell element for all hops that name the cell, a port pair for each hop; one
//! element for each framed bearer.

use super::{Builder, Chain};
use crate::Model;
use crate::model::Bearer;
use crate::model::radio::{self as model, BearerKind};
use path::channel::class::ClassRule;
use path::{ElementId, Port, Signal};
use radio::cell::config::{CellConfig, Traffic, UserConfig};
use radio::cell::{Cell, element};
use radio::framed::element::Framed;
use radio::mobility::Extent;
use radio::pcu::Station;
use radio::pcu::config::{PORTS, StationConfig};

/// Indexes of the bearers of a cell.
pub fn mates(model: &Model, cell: &str) -> Vec<usize> {
    let of = |b: &Bearer| matches!(&b.kind, BearerKind::Gprs(g) if g.cell == cell);
    (0..model.bearers.len()).filter(|b| of(&model.bearers[*b])).collect()
}

/// Configuration of the cell's real PCU, if its PCU is a program.
pub fn station(model: &Model, mates: &[usize]) -> Option<StationConfig> {
    let of = |m: &usize| match &model.bearers[*m].kind {
        BearerKind::Gprs(of) => Some(of),
        BearerKind::Framed(_) => None,
    };
    let all: Vec<&model::Gprs> = mates.iter().filter_map(of).collect();
    let first = all.iter().find(|of| of.pcu.is_some())?;
    let users = all.iter().map(|of| of.user.clone()).collect();
    Some(StationConfig { slots: first.timeslots, ports: PORTS, users })
}

impl Builder<'_> {
    /// Entry and exit of a bearer's link; the element is built with the first link requested.
    pub(super) fn bearer(&mut self, bearer: usize, link: usize) -> Chain {
        let (id, user) = self.place_bearer(bearer);
        let down = self.model.bearers[bearer].links[0] == link;
        let user = user as u16;
        let port: Port = if down { element::down(user) } else { element::up(user) };
        Chain { entry: (id, port), exit: (id, port) }
    }

    /// Element of a bearer, and the number of its mobile in it.
    fn place_bearer(&mut self, bearer: usize) -> (ElementId, usize) {
        match &self.model.bearers[bearer].kind {
            BearerKind::Gprs(of) => {
                let mates = self.mates(&of.cell);
                let id = self.cells[mates[0]].unwrap_or_else(|| self.cell(&mates));
                (id, mates.iter().position(|m| *m == bearer).unwrap_or(0))
            }
            BearerKind::Framed(config) => {
                let id = self.cells[bearer].unwrap_or_else(|| {
                    self.add(self.model.bearers[bearer].name.clone(), Framed::new(config, self.seed))
                });
                self.cells[bearer] = Some(id);
                (id, 0)
            }
        }
    }

    /// Bearers of a cell.
    fn mates(&self, cell: &str) -> Vec<usize> {
        mates(self.model, cell)
    }

    fn cell(&mut self, mates: &[usize]) -> ElementId {
        if let Some(config) = station(self.model, mates) {
            let BearerKind::Gprs(of) = &self.model.bearers[mates[0]].kind else { return ElementId(0) };
            let id = self.add(of.cell.clone(), Station::new(&config, self.seed));
            mates.iter().for_each(|m| self.cells[*m] = Some(id));
            return id;
        }
        let mut config = CellConfig::of(Vec::new());
        let mut name = String::new();
        for &m in mates {
            let BearerKind::Gprs(of) = &self.model.bearers[m].kind else { continue };
            if name.is_empty() {
                (config.slots, config.turn) = (of.timeslots, of.turn);
                (config.bucket, config.load, config.abis) = (of.bucket, of.load, of.abis);
                config.pcu_at = of.pcu_at;
                name.clone_from(&of.cell);
            }
            config.restarts.extend(of.restarts.iter().cloned());
            let traffic = of.traffic.iter().map(|class| self.traffic(class)).collect();
            config.users.push(UserConfig { traffic, ..of.user.clone() });
        }
        let id = self.add(name, Cell::new(&config, self.seed));
        for (user, &m) in mates.iter().enumerate() {
            self.cells[m] = Some(id);
            let signal = |state| Signal::State { machine: user as u16, state };
            let name = format!("{}.reselect", self.model.bearers[m].name);
            self.network.lend(&name, id, signal(0));
            // Triggers for a change to a neighbour cell of a chosen extent.
            for (extent, state) in Extent::NAMES.iter().zip(1..) {
                self.network.lend(&format!("{name}.{extent}"), id, signal(state));
            }
        }
        id
    }

    fn traffic(&self, class: &model::Traffic) -> Traffic {
        let belongs = |names: &Vec<String>| {
            let flows = self.model.flows.iter().map(|f| names.contains(&f.name));
            flows.flat_map(|belongs| [belongs, belongs]).collect()
        };
        let rule = ClassRule {
            ledgers: class.flows.as_ref().map(belongs),
            service: class.dscp.map(|d| (d, d)),
            ..ClassRule::default()
        };
        Traffic { rule, hold: class.hold, repeats: class.repeats }
    }

    /// Element and mobile number of every bearer, used by a flow or not.
    pub(super) fn placed_bearers(&mut self) -> Vec<(ElementId, usize)> {
        (0..self.model.bearers.len()).map(|bearer| self.place_bearer(bearer)).collect()
    }
}
