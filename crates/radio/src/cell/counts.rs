//! Counters of radio use: blocks by purpose, air time, what a mobile decodes for nothing, signalling, slot use.

/// Counters of one direction of one mobile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirectionCounts {
    /// Radio blocks with new data.
    pub new: u64,
    /// Radio blocks repeated because they were reported missing.
    pub missing: u64,
    /// Radio blocks repeated because nothing else could be sent.
    pub idle: u64,
    /// Radio blocks without user data that keep a TBF: dummy blocks, USFs without an answer.
    pub dummy: u64,
    /// Radio blocks with reports and assignments.
    pub control: u64,
    /// Radio blocks that could not be decoded.
    pub errors: u64,
    /// Radio blocks that carried only what had come before.
    pub duplicates: u64,
    /// Block periods with the window closed and data waiting, for each timeslot that was scheduled.
    pub stalled: u64,
    /// Block periods with the window closed and data waiting.
    pub stalled_ticks: u64,
    /// Times that it closed.
    pub stalls: u64,
    /// TBFs set up.
    pub tbfs: u64,
    /// TBFs lost.
    pub lost_tbfs: u64,
    /// Timeslots times block periods assigned to the direction while a TBF was there.
    pub assigned: u64,
    /// LLC frames that arrived whole.
    pub frames: u64,
    /// Octets of packets that came to the bearer.
    pub offered: u64,
    /// Octets of packets that arrived whole.
    pub octets: u64,
    /// Packets discarded with a cell.
    pub flushed: u64,
    /// Packets discarded for their age.
    pub expired: u64,
    /// Packets discarded because a buffer was full.
    pub full: u64,
    /// LLC frames that arrived twice and were discarded.
    pub twice: u64,
    /// LLC frames sent again by acknowledged LLC.
    pub repeated: u64,
    /// Octets of them.
    pub repeated_octets: u64,
    /// Block periods from the first report of a missing block to its arrival, summed.
    pub repair: u64,
    /// Blocks that were repaired.
    pub repaired: u64,
    /// Longest time between two frames that arrived before and after a change of cell, ns.
    pub gap: u64,
    /// Reports sent about this direction's data.
    pub reports: u64,
}

impl DirectionCounts {
    /// Radio blocks on the air, all purposes.
    pub fn blocks(&self) -> u64 {
        self.new + self.missing + self.idle + self.dummy + self.control
    }
}

/// Counters of one mobile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UserCounts {
    /// Downlink.
    pub down: DirectionCounts,
    /// Uplink.
    pub up: DirectionCounts,
    /// Downlink radio blocks that the mobile had to decode, since a TBF was there.
    pub decoded: u64,
    /// Of them, those that held nothing new for it.
    pub decoded_for_nothing: u64,
    /// Changes of cell while the mobile was in use.
    pub changes: u64,
    /// Of them, failed ones.
    pub failed_changes: u64,
    /// Voice calls.
    pub calls: u64,
}

impl UserCounts {
    /// Messages of set-up and mobility: two for each TBF (request, assignment), those of changes of cell; no reports.
    pub fn signalling(&self) -> u64 {
        let reports = self.down.reports + self.up.reports;
        (self.down.control + self.up.control).saturating_sub(reports) + 2 * (self.down.tbfs + self.up.tbfs)
    }
    /// Radio blocks that the mobile sent.
    pub fn sent(&self) -> u64 {
        self.up.new + self.up.missing + self.up.idle + self.up.dummy + self.up.control
    }
}

/// Use of a cell's timeslots, in blocks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SlotCounts {
    /// Downlink blocks sent on each timeslot.
    pub down: Vec<u64>,
    /// Uplink blocks used on each timeslot.
    pub up: Vec<u64>,
}
