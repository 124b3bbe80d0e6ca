//! Counters of radio use of a mobile with a real PCU, from the blocks on the channel: data by reason, errors, stalls.
//!
//! The PCU's send window (stalls of the downlink) and its reasons for retransmission are not observable. A retransmitted
//! block that the PCU's latest received report marks missing counts as requested, any other as pre-emptive.

use super::downlink::DownTbf;
use super::phone::Phone;
use crate::cell::counts::DirectionCounts;
use crate::rlc::send::Reason;
use crate::tdma::Tick;
use crate::wire::block;

/// First octets of osmo-pcu's LLC dummy command (44.064 section 6.4.2.2), sent to keep a TBF.
const DUMMY_COMMAND: [u8; 6] = [0x43, 0xc0, 0x01, 0x2b, 0x2b, 0x2b];

impl DirectionCounts {
    /// Counts a radio block with data.
    fn add(&mut self, reason: Reason) {
        match reason {
            Reason::New => self.new += 1,
            Reason::Missing => self.missing += 1,
            Reason::Idle => self.idle += 1,
        }
    }
}

impl Phone {
    /// Adds the assigned timeslots of one block period.
    pub(super) fn count_period(&mut self) {
        let slots = |mask: u8| u64::from(mask.count_ones());
        if let Some(down) = self.down.as_ref().filter(|d| d.finished.is_none()) {
            self.use_of.down.assigned += slots(down.slots);
        }
        if let Some(up) = &self.up {
            self.use_of.up.assigned += slots(up.slots());
        }
    }

    /// Counts a downlink data block on a timeslot; `decoded`: the mobile has decoded it.
    pub(super) fn count_down(&mut self, slot: u8, octets: &[u8], decoded: bool) {
        let read = match block::read_gprs(false, octets) {
            Some(read) => Some((read.header.tfi, vec![read.bsn])),
            None => block::read_egprs(false, octets)
                .map(|(header, units)| (header.tfi, units.iter().map(|unit| unit.bsn).collect())),
        };
        let Some((tfi, numbers)) = read else { return };
        let Some(down) = self.down.as_mut().filter(|d| d.tfi == tfi && d.listens_on(slot)) else { return };
        let reasons: Vec<Reason> = numbers.iter().filter_map(|bsn| down.on_air(*bsn)).collect();
        let keeps = keeps_the_tbf(octets);
        let counts = &mut self.use_of.down;
        counts.errors += u64::from(!decoded);
        match reasons.first() {
            Some(Reason::New) if keeps => counts.dummy += 1,
            Some(reason) => counts.add(*reason),
            None => {}
        }
    }

    /// Counts an uplink block of the mobile; `data`: reason of a data block, `None` for a block without data.
    pub(super) fn count_up(&mut self, data: Option<Reason>, stalled: bool, now: Tick) {
        let counts = &mut self.use_of.up;
        match data {
            Some(reason) => counts.add(reason),
            None => counts.dummy += 1,
        }
        if stalled {
            counts.stalled += 1;
            if self.stalled != Some(now) {
                counts.stalled_ticks += 1;
                counts.stalls += u64::from(!self.was_stalled);
            }
            self.stalled = Some(now);
        }
        self.was_stalled = stalled;
    }
}

/// Whether the block contains an LLC dummy command.
fn keeps_the_tbf(octets: &[u8]) -> bool {
    let has = |octets: &[u8]| octets.windows(DUMMY_COMMAND.len()).any(|w| w == DUMMY_COMMAND);
    let egprs = || block::read_egprs(false, octets).map(|(_, units)| units).unwrap_or_default();
    has(octets) || egprs().iter().any(|unit| has(&unit.octets))
}

impl DownTbf {
    /// Reason of a downlink block by its sequence number on the wire; `None` outside of the window.
    fn on_air(&mut self, wire: u32) -> Option<Reason> {
        let bsn = self.receiver.resolve(wire)?;
        if bsn >= self.sent {
            self.sent = bsn + 1;
            return Some(Reason::New);
        }
        let missing = |report: &crate::rlc::receive::Report| {
            bsn >= report.complete && bsn < report.end && !report.received.get(bsn)
        };
        Some(if self.told.as_ref().is_some_and(missing) { Reason::Missing } else { Reason::Idle })
    }
}
