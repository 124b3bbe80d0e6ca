//! Cell changes of a mobile that uses a real PCU: absence from the cell, access, cell update, FLUSH-LL (3GPP TS 44.060
//! section 5.5.1, 48.018 sections 7.4.1 and 8.1).
//!
//! The model has one cell with one PCU and no neighbour cell. The mobile is absent from the decision until it has read
//! the system information of the target, which is the same cell. Access, the uplink frame of the cell update and
//! FLUSH-LL are exchanged with the PCU.

use super::area::is_area;
use super::phone::Phone;
use crate::mobility::Change;
use crate::tdma::{self, Tick};
use base::Time;

/// A cell change in progress.
pub(super) struct Away {
    change: Change,
    /// The mobile is in the new cell, and none of its frames has reached the SGSN.
    back: bool,
}

impl Phone {
    /// Starts cell changes that are due; at the end of an absence, starts the cell update or routing area update.
    pub(super) fn move_about(&mut self, now: Tick) {
        let t = tdma::start_of(now);
        if self.mobility.next() <= t {
            let change = self.mobility.take();
            self.leave(change);
        }
        if let Some(away) = self.away.as_mut().filter(|a| !a.back && a.change.synchronised <= t) {
            away.back = true;
            if is_area(&away.change) || self.uplink.is_held() {
                self.ask_for_update(now);
            } else {
                self.uplink.say(crate::wire::llc::null());
            }
        }
        self.repeat_update(now);
    }

    /// Whether the mobile is absent from the cell.
    pub(super) fn is_away(&self) -> bool {
        self.away.as_ref().is_some_and(|away| !away.back)
    }

    /// The mobile leaves the cell and discards both TBFs; the network receives no notice.
    fn leave(&mut self, change: Change) {
        self.use_of.changes += 1;
        self.use_of.failed_changes += u64::from(change.failed);
        let down = self.down.take().is_some_and(|down| down.finished.is_none());
        self.use_of.down.lost_tbfs += u64::from(down);
        self.use_of.up.lost_tbfs += u64::from(self.up.take().is_some());
        (self.access, self.asked) = (None, None);
        self.reserved.clear();
        self.update = None;
        if is_area(&change) {
            self.uplink.hold();
        }
        self.away = Some(Away { change, back: false });
    }

    /// Handles the arrival of an uplink frame at the SGSN. The first frame after a cell change is the cell update, or the
    /// request of a routing area update. Returns whether the SGSN sends FLUSH-LL to delete the frames in the BSS.
    pub(super) fn on_cell_update(&mut self, now: Time) -> bool {
        let Some(away) = self.away.take_if(|away| away.back) else { return false };
        if is_area(&away.change) || self.accepting.is_some() {
            self.expect_request(&away.change);
        } else {
            self.resumes = now + away.change.resumed.since(away.change.updated);
        }
        away.change.deletes
    }
}
