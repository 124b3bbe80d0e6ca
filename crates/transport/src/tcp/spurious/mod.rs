//! Was it really lost? A detector watches an episode (a timeout and what follows) and gives a verdict;
//! what follows from the verdict is not its business (`response/`). One file a detector.

pub mod eifel;

use super::config::Spurious;
use super::sender::Saved;
use crate::recovery::digest::AckDigest;
use base::Time;
use eifel::Eifel;

/// A timeout (or several in a row) and the state before the first of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// When the timer first expired.
    pub began: Time,
    /// How often it expired since data were last acknowledged.
    pub expirations: u32,
    /// The congestion state before the first expiration.
    pub saved: Saved,
}

/// What a detector says on an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing yet, or nothing to judge.
    Undecided,
    /// The timeout was a loss, as far as it can tell.
    Genuine,
    /// Nothing was lost.
    Spurious,
}

/// The detectors there are.
#[derive(Clone, Debug)]
pub enum Detector {
    /// Never says anything.
    None,
    /// RFC 3522.
    Eifel(Eifel),
}

impl Detector {
    /// The one of that name.
    pub fn new(kind: Spurious) -> Self {
        match kind {
            Spurious::None => Detector::None,
            Spurious::Eifel => Detector::Eifel(Eifel::default()),
        }
    }

    /// The timer expired and the oldest segment is being resent at `now`.
    pub fn on_timeout(&mut self, now: Time) {
        match self {
            Detector::None => {}
            Detector::Eifel(eifel) => eifel.on_timeout(now),
        }
    }

    /// An acknowledgement came.
    pub fn on_ack(&mut self, ack: &AckDigest) -> Step {
        match self {
            Detector::None => Step::Undecided,
            Detector::Eifel(eifel) => eifel.on_ack(ack),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Detector::None => Spurious::None.name(),
            Detector::Eifel(_) => Spurious::Eifel.name(),
        }
    }
}
