//! Notices about damaged or unsupported parts of a capture file: kinds, first positions of each kind, counts.
//!
//! Only the first positions of each kind are stored, since a damaged file may have as many errors as bytes.

base::named! {
    /// Kind of notice.
    pub enum NoticeKind {
        /// The file ends within a packet or block.
        CutOff = "cut-off",
        /// An impossible length or magic number.
        Damaged = "damaged",
        /// Reading resumed behind damage.
        Resumed = "resumed",
        /// Reading stopped at damage without a position to resume at.
        Stopped = "stopped",
        /// A packet of an interface that is not described.
        NoInterface = "no-interface",
        /// Packets without a timestamp; they have that of the previous packet.
        NoTime = "no-time",
        /// A timestamp outside of 64-bit nanoseconds.
        TimeRange = "time-range",
        /// A link type that is not decoded; its packets are only counted.
        UnknownLink = "unknown-link",
    }
}

/// Notice about a damaged or unsupported part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// Kind.
    pub kind: NoticeKind,
    /// Offset in the file, bytes; for a compressed file, in the decompressed data.
    pub offset: u64,
    /// Description.
    pub what: String,
}

/// Upper limit of stored notices of one kind.
const KEPT: usize = 8;

/// Notices of a file.
#[derive(Clone, Default, Debug)]
pub struct Notices {
    kept: Vec<Notice>,
    counts: [u64; NoticeKind::ALL.len()],
}

impl Notices {
    /// Adds a notice; the description is built only if it is stored.
    pub fn add(&mut self, kind: NoticeKind, offset: u64, what: impl FnOnce() -> String) {
        let count = &mut self.counts[kind as usize];
        *count += 1;
        if *count <= KEPT as u64 {
            self.kept.push(Notice { kind, offset, what: what() });
        }
    }
    /// Stored notices in file order.
    pub fn kept(&self) -> &[Notice] {
        &self.kept
    }
    /// Number of notices of a kind, stored or not.
    pub fn count(&self, kind: NoticeKind) -> u64 {
        self.counts[kind as usize]
    }
    /// Whether there are no notices.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}
