//! Notices about damaged capture files: first positions and counts per kind.
//!
//! The first places of each kind, and how often it was: a damaged file can have as many mistakes as bytes.

base::named! {
    /// What a notice is about.
    pub enum NoticeKind {
        /// The file ends in the middle of a packet or block.
        CutOff = "cut-off",
        /// A length or magic number that cannot be.
        Damaged = "damaged",
        /// Reading went on behind damage.
        Resumed = "resumed",
        /// Reading ended at damage behind which nothing is certain.
        Stopped = "stopped",
        /// A packet of an interface that was not described.
        NoInterface = "no-interface",
        /// Packets without a time; they get that of the packet before them.
        NoTime = "no-time",
        /// A time that does not fit into 64 bits of nanoseconds.
        TimeRange = "time-range",
        /// A link type that is not read; its packets are counted only.
        UnknownLink = "unknown-link",
    }
}

/// One thing that was not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// What it is.
    pub kind: NoticeKind,
    /// Where in the file, in bytes; of a compressed file, where in what it holds.
    pub offset: u64,
    /// In words.
    pub what: String,
}

/// How many of each kind are kept.
const KEPT: usize = 8;

/// The notices of a file.
#[derive(Clone, Default, Debug)]
pub struct Notices {
    kept: Vec<Notice>,
    counts: [u64; NoticeKind::ALL.len()],
}

impl Notices {
    /// Adds one; what it says is asked for only if it is kept.
    pub fn add(&mut self, kind: NoticeKind, offset: u64, what: impl FnOnce() -> String) {
        let count = &mut self.counts[kind as usize];
        *count += 1;
        if *count <= KEPT as u64 {
            self.kept.push(Notice { kind, offset, what: what() });
        }
    }
    /// The first of each kind, in the order of the file.
    pub fn kept(&self) -> &[Notice] {
        &self.kept
    }
    /// How many of a kind there were, kept or not.
    pub fn count(&self, kind: NoticeKind) -> u64 {
        self.counts[kind as usize]
    }
    /// True if all was as it should be.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}
