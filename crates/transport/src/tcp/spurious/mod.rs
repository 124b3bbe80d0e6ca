//! Detectors of spurious timeouts and fast retransmits.
//!
//! A detector watches what follows a timeout or a fast retransmit and gives a verdict; what follows from the verdict
//! is not its business (`response/`). One file a detector.
//!
//! A new detector is a file that implements [`Watch`] and a line in the list below.

use super::config::Config;
use super::sender::Saved;
use crate::recovery::digest::AckDigest;
use base::{Span, Time};

/// What was judged, and the state before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// What resent the oldest segment.
    pub judged: Judged,
    /// When the timer first expired, or the fast retransmit was sent.
    pub began: Time,
    /// How often the timer expired since data were last acknowledged.
    pub expirations: u32,
    /// The congestion state before the first expiration or the fast retransmit.
    pub saved: Saved,
}

base::named! {
    /// What a verdict is about.
    pub enum Judged {
        /// One expiration of the retransmission timer, or several in a row.
        Timeout = "timeout",
        /// A fast retransmit.
        FastRetransmit = "fast-retransmit",
    }
}

/// What a detector may look at beside the acknowledgement: the sender before it is taken in.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// The present.
    pub now: Time,
    /// Oldest byte not acknowledged.
    pub una: u64,
    /// One past the highest byte sent.
    pub max: u64,
    /// The scoreboard held nothing beyond `una` before this acknowledgement.
    pub scoreboard_empty: bool,
    /// There are unsent data, and the peer's window takes a segment of them.
    pub new_data: bool,
}

/// What a detector makes of a timeout or a fast retransmit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Case {
    /// It will be judged.
    New,
    /// What was to be judged before still is; this is a part of it.
    Same,
    /// It will not be judged, and what was to be judged before will not be either.
    None,
}

/// A verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Word {
    /// Nothing yet, or nothing to judge.
    #[default]
    Open,
    /// There will be none.
    GivenUp,
    /// It was a loss, as far as the detector can tell.
    Genuine,
    /// Nothing was lost, and the answer to an original says so: what else is outstanding need not be
    /// resent (SPUR_TO of RFC 3522).
    Spurious,
    /// Nothing was lost, but only the answers to retransmissions say so (LATE_SPUR_TO of RFC 4015).
    Late,
}

/// What is to be sent while the detector watches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Course {
    /// What would be sent anyway.
    #[default]
    Usual,
    /// At most two new segments, and nothing is resent until the verdict.
    New,
    /// The window becomes three segments, and going back begins at the oldest byte.
    Back,
}

/// What a detector says on an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// Its verdict.
    pub word: Word,
    /// What is to be sent.
    pub course: Course,
}

impl From<Word> for Step {
    fn from(word: Word) -> Self {
        Step { word, course: Course::Usual }
    }
}

/// A detector. It is told in this order: of the timeout or fast retransmit, of every segment resent, of
/// every acknowledgement.
pub trait Watch: Sized {
    /// The one for these choices.
    fn new(config: &Config) -> Self;
    /// The timer expired: the oldest segment is about to be resent.
    fn on_timeout(&mut self, sight: &Sight) -> Case;
    /// Duplicates convinced the sender: the oldest segment is about to be resent.
    fn on_fast_retransmit(&mut self, _sight: &Sight) -> Case {
        Case::Same
    }
    /// `[seq, end)` is sent again while everything below `max` has been sent.
    fn on_resent(&mut self, _seq: u64, _end: u64, _max: u64) {}
    /// An acknowledgement came.
    fn on_ack(&mut self, ack: &AckDigest, sight: &Sight) -> Step;
    /// The least round trip that it knows of, if it goes by one.
    fn least_rtt(&self) -> Option<Span> {
        None
    }
    /// Earlier connections on this path had this least round trip.
    fn learn_least_rtt(&mut self, _least: Span) {}
}

macro_rules! detectors {
    ($($(#[$doc:meta])+ $name:ident = $word:literal in $module:ident;)+) => {
        $(pub mod $module;)+

        base::named! {
            /// Who judges whether a timeout or a fast retransmit was spurious.
            pub enum Spurious { $($(#[$doc])+ $name = $word),+ }
        }

        /// The detectors there are.
        #[derive(Clone, Debug)]
        pub enum Detector { $($(#[$doc])+ $name($module::$name)),+ }

        impl Detector {
            /// The one that the configuration names.
            pub fn new(config: &Config) -> Self {
                match config.spurious { $(Spurious::$name => Detector::$name(Watch::new(config))),+ }
            }
            /// Its name.
            pub fn kind(&self) -> Spurious {
                match self { $(Detector::$name(_) => Spurious::$name),+ }
            }
            /// The timer expired: the oldest segment is about to be resent.
            pub fn on_timeout(&mut self, sight: &Sight) -> Case {
                match self { $(Detector::$name(d) => d.on_timeout(sight)),+ }
            }
            /// Duplicates convinced the sender: the oldest segment is about to be resent.
            pub fn on_fast_retransmit(&mut self, sight: &Sight) -> Case {
                match self { $(Detector::$name(d) => d.on_fast_retransmit(sight)),+ }
            }
            /// `[seq, end)` is sent again while everything below `max` has been sent.
            pub fn on_resent(&mut self, seq: u64, end: u64, max: u64) {
                match self { $(Detector::$name(d) => d.on_resent(seq, end, max)),+ }
            }
            /// An acknowledgement came.
            pub fn on_ack(&mut self, ack: &AckDigest, sight: &Sight) -> Step {
                match self { $(Detector::$name(d) => d.on_ack(ack, sight)),+ }
            }
            /// The least round trip that it knows of, if it goes by one.
            pub fn least_rtt(&self) -> Option<Span> {
                match self { $(Detector::$name(d) => d.least_rtt()),+ }
            }
            /// Earlier connections on this path had this least round trip.
            pub fn learn_least_rtt(&mut self, least: Span) {
                match self { $(Detector::$name(d) => d.learn_least_rtt(least)),+ }
            }
        }
    };
}

// THE list of detectors: word, type and file are made known here and nowhere else.
detectors! {
    /// Nobody: every timeout is a loss.
    None = "none" in none;
    /// The echoed timestamp tells the original from the retransmission (RFC 3522).
    Eifel = "eifel" in eifel;
    /// New data after the timeout, and what the second acknowledgement says: with SACK the variant for it
    /// (RFC 5682 sections 2 and 3).
    Frto = "frto" in frto;
    /// The same without looking at SACK (RFC 5682 section 2).
    FrtoBasic = "frto-basic" in frto_basic;
    /// The receiver reports that everything resent came twice (RFC 3708); late.
    Dsack = "dsack" in dsack;
    /// The same, but copies are counted: what was resent twice is judged too (Linux).
    DsackCount = "dsack-count" in dsack_count;
    /// The acknowledgement came sooner than the least round trip after the retransmission (Allman and Paxson 1999).
    MinRtt = "min-rtt" in min_rtt;
    /// The receiver says whether it answers a retransmission: a flag in the segment, a proposal (Ludwig and Katz 2000).
    RetransmitFlag = "retransmit-flag" in retransmit_flag;
    /// F-RTO, timestamps and duplicate SACK together: the first to say "spurious" is believed (Linux).
    Linux = "linux" in linux;
}

impl Detector {
    /// True if it ever says anything.
    #[inline]
    pub fn watches(&self) -> bool {
        !matches!(self, Detector::None(_))
    }
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }
}
