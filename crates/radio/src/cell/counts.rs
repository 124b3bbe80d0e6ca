//! Counters of radio use of a mobile and a cell: blocks by purpose, TBFs, packet drops, retransmissions, timeslot use.

/// Counters of one direction of one mobile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirectionCounts {
    /// Radio blocks with new data.
    pub new: u64,
    /// Radio blocks retransmitted because they were reported missing.
    pub missing: u64,
    /// Radio blocks retransmitted pre-emptively, with no report that marked them missing.
    pub idle: u64,
    /// Radio blocks without user data that keep a TBF: dummy blocks, uplink blocks granted without data.
    pub dummy: u64,
    /// Radio blocks with reports, assignments and other signalling.
    pub control: u64,
    /// Radio blocks that could not be decoded.
    pub errors: u64,
    /// Decoded radio blocks with duplicate data only.
    pub duplicates: u64,
    /// Transmission opportunities with a closed window and data queued, summed over timeslots.
    pub stalled: u64,
    /// Block periods with a closed window and data queued.
    pub stalled_ticks: u64,
    /// Number of times that the window closed with data queued.
    pub stalls: u64,
    /// TBFs set up.
    pub tbfs: u64,
    /// TBFs that ended abnormally.
    pub lost_tbfs: u64,
    /// Assigned timeslots summed over block periods with a TBF.
    pub assigned: u64,
    /// LLC frames delivered.
    pub frames: u64,
    /// Octets of packets that entered the bearer.
    pub offered: u64,
    /// Octets of packets delivered.
    pub octets: u64,
    /// Packets discarded at cell changes, or because one of their frames was abandoned or lost.
    pub flushed: u64,
    /// Packets discarded because a network element restarted.
    pub restarted: u64,
    /// Packets discarded at the end of their lifetime.
    pub expired: u64,
    /// Packets discarded because a buffer was full.
    pub full: u64,
    /// LLC frames that arrived a second time and were discarded.
    pub twice: u64,
    /// LLC frames that acknowledged-mode LLC retransmitted.
    pub repeated: u64,
    /// Octets of retransmitted LLC frames.
    pub repeated_octets: u64,
    /// Sum of the times from the loss of a block to its arrival, block periods.
    pub repair: u64,
    /// Number of blocks that arrived after a loss.
    pub repaired: u64,
    /// Maximum time between the last frame before a cell change and the first frame after it, ns.
    pub gap: u64,
    /// Reports (Ack/Nack) about the data of this direction.
    pub reports: u64,
}

impl DirectionCounts {
    /// Radio blocks for all purposes.
    pub fn blocks(&self) -> u64 {
        self.new + self.missing + self.idle + self.dummy + self.control
    }
}

/// Counters of one mobile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UserCounts {
    /// Downlink counters.
    pub down: DirectionCounts,
    /// Uplink counters.
    pub up: DirectionCounts,
    /// Downlink radio blocks on the mobile's timeslots during its TBFs, which it decodes.
    pub decoded: u64,
    /// Blocks of `decoded` without new data for the mobile.
    pub decoded_for_nothing: u64,
    /// Cell changes while the mobile was in use.
    pub changes: u64,
    /// Cell changes whose first access failed.
    pub failed_changes: u64,
    /// Voice calls that suspended packet service.
    pub calls: u64,
    /// Restarts of PCU, BSC and SGSN while the mobile was in use.
    pub restarts: [u64; 3],
    /// Time for which they lasted, ns.
    pub restart_time: u64,
}

impl UserCounts {
    /// Number of signalling messages without reports: two per TBF (request, assignment), and the messages of cell changes.
    pub fn signalling(&self) -> u64 {
        let reports = self.down.reports + self.up.reports;
        (self.down.control + self.up.control).saturating_sub(reports) + 2 * (self.down.tbfs + self.up.tbfs)
    }
    /// Radio blocks that the mobile sent.
    pub fn sent(&self) -> u64 {
        self.up.new + self.up.missing + self.up.idle + self.up.dummy + self.up.control
    }
}

/// Number of blocks used on each timeslot of a cell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SlotCounts {
    /// Downlink blocks used on each timeslot.
    pub down: Vec<u64>,
    /// Uplink blocks used on each timeslot.
    pub up: Vec<u64>,
}
