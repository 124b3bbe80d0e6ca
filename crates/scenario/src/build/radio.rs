//! Bearers as elements: one cell for all hops that name it, a port pair for each.

use super::{Builder, Chain};
use crate::model::radio::BearerKind;
use path::{ElementId, Signal};
use radio::cell::config::CellConfig;
use radio::cell::{Cell, element};

impl Builder<'_> {
    /// The ends of a bearer's link; its element is made with the first link of the cell that is asked for.
    pub(super) fn bearer(&mut self, bearer: usize, link: usize) -> Chain {
        let BearerKind::Gprs(of) = &self.model.bearers[bearer].kind;
        let mates: Vec<usize> = self.mates(&of.cell);
        let id = self.cells[mates[0]].unwrap_or_else(|| self.cell(&mates));
        let user = mates.iter().position(|m| *m == bearer).unwrap_or(0) as u16;
        let down = self.model.bearers[bearer].links[0] == link;
        let port = if down { element::down(user) } else { element::up(user) };
        Chain { entry: (id, port), exit: (id, port) }
    }

    /// The bearers of a cell.
    fn mates(&self, cell: &str) -> Vec<usize> {
        let of = |b: &crate::model::Bearer| matches!(&b.kind, BearerKind::Gprs(g) if g.cell == cell);
        (0..self.model.bearers.len()).filter(|b| of(&self.model.bearers[*b])).collect()
    }

    fn cell(&mut self, mates: &[usize]) -> ElementId {
        let mut config = CellConfig::of(Vec::new());
        let mut name = String::new();
        for &m in mates {
            let BearerKind::Gprs(of) = &self.model.bearers[m].kind;
            if name.is_empty() {
                (config.slots, config.turn) = (of.timeslots, of.turn);
                name.clone_from(&of.cell);
            }
            config.users.push(of.user.clone());
        }
        let id = self.add(name, Cell::new(&config, self.seed));
        for (user, &m) in mates.iter().enumerate() {
            self.cells[m] = Some(id);
            let signal = Signal::State { machine: user as u16, state: 0 };
            self.network.lend(&format!("{}.reselect", self.model.bearers[m].name), id, signal);
        }
        id
    }

    /// The cell of each bearer and its mobile's number there. A bearer that no flow uses has its cell all the same.
    pub(super) fn placed_bearers(&mut self) -> Vec<(ElementId, usize)> {
        let all = 0..self.model.bearers.len();
        all.map(|bearer| {
            let BearerKind::Gprs(of) = &self.model.bearers[bearer].kind;
            let mates = self.mates(&of.cell);
            let id = self.cells[mates[0]].unwrap_or_else(|| self.cell(&mates));
            (id, mates.iter().position(|m| *m == bearer).unwrap_or(0))
        })
        .collect()
    }
}
