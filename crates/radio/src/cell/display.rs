//! Serving cell of a mobile with its TBFs, and the reselection under way, as an engineering mode shows them (GP-45).
//!
//! Reading it changes nothing: it is the state after the last block period that was executed.

use super::Cell;
use super::tbf_direction::TbfDirection;
use crate::coding::Scheme;
use crate::mac::tbf::TbfState;
use crate::mobility::{Camping, Change};
use base::Time;

/// Where a mobile camps: each place with the time since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Camped {
    /// Before the last change.
    pub(super) from: (Camping, Time),
    /// After it; the time is that of access to the new cell.
    pub(super) to: (Camping, Time),
}

impl Camped {
    pub(super) const FIRST: Camped =
        Camped { from: (Camping::FIRST, Time::ZERO), to: (Camping::FIRST, Time::ZERO) };

    /// The place at `t`, which is not before that of `from`.
    pub(super) fn at(&self, t: Time) -> (Camping, Time) {
        if t >= self.to.1 { self.to } else { self.from }
    }
}

/// One direction of a bearer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TbfDisplay {
    /// State of its TBF.
    pub state: TbfState,
    /// Timeslots of the TBF; 0 without one.
    pub slots: u8,
    /// Coding scheme of data.
    pub scheme: Scheme,
    /// C/I in dB, where block errors follow from it.
    pub c_over_i: Option<f64>,
}

/// Values on the display of a mobile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Display {
    /// Serving cell.
    pub place: Camping,
    /// Since when the mobile has it.
    pub since: Time,
    /// Downlink and uplink.
    pub ways: [TbfDisplay; 2],
    /// Change of cell under way, and the place it leads to.
    pub change: Option<(Change, Camping)>,
}

impl Cell {
    /// Values on the display of a mobile at `now`.
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
