//! Detectors of spurious timeouts and fast retransmits.
//!
//! A detector observes the ACKs after a timeout or a fast retransmit and gives a verdict; [`super::response`]
//! responds to it. One file per detector.
//!
//! A new detector is a file that implements [`SpuriousDetector`] and a line in the list below.

use super::config::Config;
use super::sender::Saved;
use crate::recovery::digest::AckDigest;
use base::{Span, Time};

/// Event under judgement, with the congestion state before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Cause of the retransmission of the oldest segment.
    pub judged: Judged,
    /// Time of the first timeout, or of the fast retransmit.
    pub began: Time,
    /// Timeouts since data were last acknowledged.
    pub expirations: u32,
    /// Congestion state before the first timeout or the fast retransmit.
    pub saved: Saved,
}

base::named! {
    /// Subject of a verdict.
    pub enum Judged {
        /// One timeout, or several in a row.
        Timeout = "timeout",
        /// A fast retransmit.
        FastRetransmit = "fast-retransmit",
    }
}

/// State of the sender that a detector may use, before the ACK is processed.
#[derive(Clone, Copy, Debug)]
pub struct SenderView {
    /// Current time.
    pub now: Time,
    /// Oldest byte not acknowledged.
    pub una: u64,
    /// One past the highest byte sent.
    pub max: u64,
    /// The scoreboard was empty before this ACK.
    pub scoreboard_empty: bool,
    /// Unsent data are available and fit into the peer's window.
    pub new_data: bool,
}

/// Effect of a timeout or a fast retransmit on the current case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judging {
    /// A new case is opened.
    New,
    /// Part of the case already open.
    Same,
    /// No case: neither this event nor the open case is judged.
    None,
}

/// Verdict of a detector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SpuriousVerdict {
    /// No verdict yet, or no case.
    #[default]
    Open,
    /// The case is closed without a verdict.
    GivenUp,
    /// The detector found no sign that the retransmission was spurious.
    Genuine,
    /// No loss, revealed by the ACK of an original: other outstanding segments need no retransmission
    /// (SPUR_TO of RFC 3522).
    Spurious,
    /// No loss, revealed only by ACKs of retransmissions (LATE_SPUR_TO of RFC 4015).
    Late,
}

/// Transmission while the detector is waiting for its verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Transmit {
    /// As without the detector.
    #[default]
    Normal,
    /// At most two new segments, and no retransmissions until the verdict.
    New,
    /// cwnd becomes three segments, and go-back-N starts at SND.UNA.
    GoBackN,
}

/// Result of a detector for one ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Decision {
    /// Verdict.
    pub verdict: SpuriousVerdict,
    /// Transmission that it requires.
    pub transmit: Transmit,
}

impl From<SpuriousVerdict> for Decision {
    fn from(word: SpuriousVerdict) -> Self {
        Decision { verdict: word, transmit: Transmit::Normal }
    }
}

/// A detector. Order of calls: the timeout or fast retransmit, every segment retransmitted, every ACK.
pub trait SpuriousDetector: Sized {
    /// Creates the detector from the configuration.
    fn new(config: &Config) -> Self;
    /// The retransmission timer expired: the oldest segment is about to be resent.
    fn on_timeout(&mut self, view: &SenderView) -> Judging;
    /// DupThresh was reached: the oldest segment is about to be resent.
    fn on_fast_retransmit(&mut self, _view: &SenderView) -> Judging {
        Judging::Same
    }
    /// `[seq, end)` is retransmitted; `max` is one past the highest byte sent.
    fn on_resent(&mut self, _seq: u64, _end: u64, _max: u64) {}
    /// Processes an ACK.
    fn on_ack(&mut self, ack: &AckDigest, view: &SenderView) -> Decision;
    /// Whether [`SpuriousDetector::on_ack`] would change nothing and decide nothing on this ACK.
    fn rests_on(&self, _ack: &AckDigest) -> bool {
        false
    }
    /// Minimum RTT, if the detector uses it.
    fn min_rtt(&self) -> Option<Span> {
        None
    }
    /// Minimum RTT of earlier connections on this path.
    fn set_min_rtt(&mut self, _least: Span) {}
}

macro_rules! detectors {
    ($($(#[$doc:meta])+ $name:ident = $word:literal in $module:ident;)+) => {
        $(pub mod $module;)+

        base::named! {
            /// Detector of spurious timeouts and fast retransmits.
            pub enum Spurious { $($(#[$doc])+ $name = $word),+ }
        }

        /// The available detectors.
        #[derive(Clone, Debug)]
        pub enum Detector { $($(#[$doc])+ $name($module::$name)),+ }

        impl Detector {
            /// The detector that the configuration names.
            pub fn new(config: &Config) -> Self {
                match config.spurious { $(Spurious::$name => Detector::$name(SpuriousDetector::new(config))),+ }
            }
            /// Word of the detector in the configuration.
            pub fn kind(&self) -> Spurious {
                match self { $(Detector::$name(_) => Spurious::$name),+ }
            }
            /// The retransmission timer expired: the oldest segment is about to be resent.
            pub fn on_timeout(&mut self, view: &SenderView) -> Judging {
                match self { $(Detector::$name(d) => d.on_timeout(view)),+ }
            }
            /// DupThresh was reached: the oldest segment is about to be resent.
            pub fn on_fast_retransmit(&mut self, view: &SenderView) -> Judging {
                match self { $(Detector::$name(d) => d.on_fast_retransmit(view)),+ }
            }
            /// `[seq, end)` is retransmitted; `max` is one past the highest byte sent.
            pub fn on_resent(&mut self, seq: u64, end: u64, max: u64) {
                match self { $(Detector::$name(d) => d.on_resent(seq, end, max)),+ }
            }
            /// Processes an ACK.
            pub fn on_ack(&mut self, ack: &AckDigest, view: &SenderView) -> Decision {
                match self { $(Detector::$name(d) => d.on_ack(ack, view)),+ }
            }
            /// Whether [`Detector::on_ack`] would change nothing and decide nothing on this ACK.
            #[inline]
            pub fn rests_on(&self, ack: &AckDigest) -> bool {
                match self { $(Detector::$name(d) => d.rests_on(ack)),+ }
            }
            /// Minimum RTT, if the detector uses it.
            pub fn min_rtt(&self) -> Option<Span> {
                match self { $(Detector::$name(d) => d.min_rtt()),+ }
            }
            /// Minimum RTT of earlier connections on this path.
            pub fn set_min_rtt(&mut self, least: Span) {
                match self { $(Detector::$name(d) => d.set_min_rtt(least)),+ }
            }
        }
    };
}

// The only list of detectors: word, type and file of each.
detectors! {
    /// No detector: every timeout is a loss.
    None = "none" in none;
    /// The echoed timestamp distinguishes the original from the retransmission (RFC 3522).
    Eifel = "eifel" in eifel;
    /// New data after the timeout, judged by the second ACK; with SACK its SACK variant (RFC 5682 sections 2
    /// and 3).
    Frto = "frto" in frto;
    /// F-RTO without SACK (RFC 5682 section 2).
    FrtoBasic = "frto-basic" in frto_basic;
    /// DSACK blocks report every retransmitted segment (RFC 3708); late verdict.
    Dsack = "dsack" in dsack;
    /// DSACK with counted copies: segments retransmitted twice are judged too (Linux).
    DsackCount = "dsack-count" in dsack_count;
    /// The ACK arrived within less than the minimum RTT of the retransmission (Allman and Paxson 1999).
    MinRtt = "min-rtt" in min_rtt;
    /// A flag in the segment echoes whether a retransmission is answered, a proposal (Ludwig and Katz 2000).
    RetransmitFlag = "retransmit-flag" in retransmit_flag;
    /// F-RTO, timestamps and DSACK combined: the first spurious verdict counts (Linux).
    Linux = "linux" in linux;
}

impl Detector {
    /// True if it ever gives a verdict.
    #[inline]
    pub fn is_on(&self) -> bool {
        !matches!(self, Detector::None(_))
    }
    /// Name of the detector.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }
}
