//! Counters of radio use: blocks by purpose, air time, unneeded decoding, signalling, timeslot use.

/// Counters of one direction of one mobile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirectionCounts {
    /// Radio blocks with new data.
    pub new: u64,
    /// Radio blocks retransmitted because they were reported missing.
    pub missing: u64,
    /// Radio blocks retransmitted for lack of other blocks.
    pub idle: u64,
    /// Radio blocks without user data that keep a TBF: dummy blocks, unanswered USFs.
    pub dummy: u64,
    /// Radio blocks with reports and assignments.
    pub control: u64,
    /// Radio blocks that could not be decoded.
    pub errors: u64,
    /// Radio blocks with duplicate data only.
    pub duplicates: u64,
    /// Block periods with a closed window and data waiting, summed over scheduled timeslots.
    pub stalled: u64,
    /// Block periods with a closed window and data waiting.
    pub stalled_ticks: u64,
    /// Number of window stalls.
    pub stalls: u64,
    /// TBFs set up.
    pub tbfs: u64,
    /// TBFs lost.
    pub lost_tbfs: u64,
    /// Assigned timeslots summed over block periods with a TBF.
    pub assigned: u64,
    /// LLC frames delivered.
    pub frames: u64,
    /// Octets of packets that entered the bearer.
    pub offered: u64,
    /// Octets of packets delivered.
    pub octets: u64,
    /// Packets discarded at cell changes.
    pub flushed: u64,
    /// Packets discarded because a network element restarted.
    pub restarted: u64,
    /// Packets discarded at the end of their lifetime.
    pub expired: u64,
    /// Packets discarded because a buffer was full.
    pub full: u64,
    /// Duplicate LLC frames that were discarded.
    pub twice: u64,
    /// LLC frames that acknowledged-mode LLC retransmitted.
    pub repeated: u64,
    /// Octets of retransmitted LLC frames.
    pub repeated_octets: u64,
    /// Block periods from the first report of a missing block to its arrival, summed.
    pub repair: u64,
    /// Blocks delivered after having been missing.
    pub repaired: u64,
    /// Longest time between the last frame before a cell change and the first one after it, ns.
    pub gap: u64,
    /// Reports about this direction's data.
    pub reports: u64,
}

impl DirectionCounts {
    /// Radio blocks on the air, for all purposes.
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
    /// Downlink radio blocks that the mobile decoded during its TBFs.
    pub decoded: u64,
    /// Decoded blocks without new data for the mobile.
    pub decoded_for_nothing: u64,
    /// Cell changes while the mobile was in use.
    pub changes: u64,
    /// Failed cell changes.
    pub failed_changes: u64,
    /// Voice calls.
    pub calls: u64,
    /// Restarts of PCU, BSC and SGSN while the mobile was in use.
    pub restarts: [u64; 3],
    /// Time for which they lasted, ns.
    pub restart_time: u64,
}

impl UserCounts {
    /// Signalling messages without reports: two per TBF (request, assignment), and those of cell changes.
    pub fn signalling(&self) -> u64 {
        let reports = self.down.reports + self.up.reports;
        (self.down.control + self.up.control).saturating_sub(reports) + 2 * (self.down.tbfs + self.up.tbfs)
    }
    /// Radio blocks that the mobile sent.
    pub fn sent(&self) -> u64 {
        self.up.new + self.up.missing + self.up.idle + self.up.dummy + self.up.control
    }
}

/// Use of a cell's timeslots, blocks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SlotCounts {
    /// Downlink blocks sent on each timeslot.
    pub down: Vec<u64>,
    /// Uplink blocks used on each timeslot.
    pub up: Vec<u64>,
}
