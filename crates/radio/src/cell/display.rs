//! Engineering-mode display of a mobile: serving cell, state of its TBFs, cell change in progress (GP-45).
//!
//! [`Cell::display`] returns the state after the last executed block period and changes nothing.

use super::Cell;
use super::tbf_direction::TbfDirection;
use crate::coding::Scheme;
use crate::mac::tbf::TbfState;
use crate::mobility::{Camping, Change};
use base::Time;

/// Serving cells before and after the last cell change, each with its start time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Camped {
    /// Serving cell before the last change.
    pub(super) from: (Camping, Time),
    /// Serving cell after the last change; its start time is the access to the cell.
    pub(super) to: (Camping, Time),
}

impl Camped {
    pub(super) const FIRST: Camped =
        Camped { from: (Camping::FIRST, Time::ZERO), to: (Camping::FIRST, Time::ZERO) };

    /// Serving cell at `t` with its start time; `t` is not before the start time of `from`.
    pub(super) fn at(&self, t: Time) -> (Camping, Time) {
        if t >= self.to.1 { self.to } else { self.from }
    }
}

/// Display values of one direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TbfDisplay {
    /// State of the TBF.
    pub state: TbfState,
    /// Number of timeslots of the TBF; 0 without a TBF.
    pub slots: u8,
    /// Coding scheme of data blocks.
    pub scheme: Scheme,
    /// C/I in dB; `None` if block errors do not depend on C/I.
    pub c_over_i: Option<f64>,
}

/// Display values of a mobile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Display {
    /// Serving cell.
    pub place: Camping,
    /// Start time of the serving cell.
    pub since: Time,
    /// TBFs, downlink and uplink.
    pub ways: [TbfDisplay; 2],
    /// Cell change in progress, and its target cell.
    pub change: Option<(Change, Camping)>,
}

impl Cell {
    /// Display values of a mobile at `now`; `None` for an unknown mobile.
    pub fn display(&self, user: usize, now: Time) -> Option<Display> {
        let user = self.users.get(user)?;
        let (place, since) = user.camped.at(now);
        let way = |flow: &TbfDirection| TbfDisplay {
            state: flow.state,
            slots: flow.used,
            scheme: flow.scheme,
            c_over_i: flow.quality.c_over_i(self.done.saturating_sub(1)),
        };
        let change = user.change.filter(|c| c.decision <= now && now < c.resumed);
        let ways = [way(&user.down), way(&user.up)];
        Some(Display { place, since, ways, change: change.map(|c| (c, user.camped.to.0)) })
    }
}
