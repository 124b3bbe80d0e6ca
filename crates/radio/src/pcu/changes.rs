//! Changes of cell of a mobile with a real PCU: it leaves the cell and comes back to it (3GPP TS 44.060 section 5.5.1,
//! 48.018 sections 7.4.1 and 8.1).
//!
//! The cell has one PCU and no neighbour in the model: a change leads away from the decision until the system
//! information of the target is read, and the target is the same cell. Access, the uplink frame of the cell update
//! and FLUSH-LL are real.

use super::phone::Phone;
use crate::mobility::Change;
use crate::tdma::{self, Tick};
use base::Time;

/// A change of cell under way.
pub(super) struct Away {
    change: Change,
    /// The mobile has the new cell, and the SGSN has not heard from it.
    back: bool,
}

impl Phone {
    /// Begins changes of cell, and ends absences.
    pub(super) fn move_about(&mut self, now: Tick) {
        let t = tdma::start_of(now);
        if self.mobility.next() <= t {
            let change = self.mobility.take();
            self.leave(change);
        }
        if let Some(away) = self.away.as_mut().filter(|a| !a.back && a.change.synchronised <= t) {
            away.back = true;
            self.uplink.say(crate::wire::llc::null());
        }
    }

    /// Whether it has no cell.
    pub(super) fn is_away(&self) -> bool {
        self.away.as_ref().is_some_and(|away| !away.back)
    }

    /// Both TBFs are lost; the network is not told.
    fn leave(&mut self, change: Change) {
        self.use_of.changes += 1;
        self.use_of.failed_changes += u64::from(change.failed);
        let down = self.down.take().is_some_and(|down| down.finished.is_none());
        self.use_of.down.lost_tbfs += u64::from(down);
        self.use_of.up.lost_tbfs += u64::from(self.up.take().is_some());
        (self.access, self.asked) = (None, None);
        self.reserved.clear();
        self.away = Some(Away { change, back: false });
    }

    /// An uplink frame has reached the SGSN; after a change of cell it is the cell update. Returns whether FLUSH-LL
    /// tells the BSS to delete the frames that it has.
    pub(super) fn on_cell_update(&mut self, now: Time) -> bool {
        let Some(away) = self.away.take_if(|away| away.back) else { return false };
        self.resumes = now + away.change.resumed.since(away.change.updated);
        away.change.deletes
    }
}
