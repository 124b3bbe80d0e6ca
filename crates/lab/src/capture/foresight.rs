//! Foresight of a capture: verdicts on retransmissions and largest windows of a finished repetition, which its
//! files need from the first packet on.

use super::Verdict;
use super::collector::Windows;
use base::truth::Ledger;
use scenario::Model;
use scenario::build::World;
use scenario::model::radio::BearerKind;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Facts about the end of a repetition.
pub struct Foresight {
    /// Verdicts on retransmissions in the order of sending, for each direction of each flow.
    pub(super) verdicts: Vec<Vec<Verdict>>,
    pub(super) windows: Windows,
}

impl Foresight {
    /// Facts of a finished repetition whose tracer recorded windows ([`base::trace::Tracer::of_windows`]).
    pub(crate) fn of(world: &mut World) -> Foresight {
        let mut windows = Windows::new(world);
        let seen = world.network.tracer().windows();
        seen.for_each(|(source, ledger, largest)| windows.offer(source, ledger, largest));
        Foresight { verdicts: verdicts(world), windows }
    }

    /// Number of verdicts.
    fn len(&self) -> usize {
        self.verdicts.iter().map(Vec::len).sum()
    }
}

/// Verdicts on the retransmissions of a finished repetition, for each direction of each flow.
pub(super) fn verdicts(world: &World) -> Vec<Vec<Verdict>> {
    let of = |ledger: &Ledger| ledger.verdicts().iter().map(Verdict::of).collect();
    world.network.ledgers().iter().map(of).collect()
}

/// Whether captures of a model are written while it runs. Radio taps are joined with packets at the end.
pub(super) fn streams(model: &Model) -> bool {
    !model.bearers.iter().any(|bearer| matches!(bearer.kind, BearerKind::Gprs(_)))
}

/// Bound of the verdicts that a sweep keeps: 3 MB.
const MOST: usize = 1 << 20;

/// Foresights of the repetitions of a sweep whose captures are written after it. Beyond a bound on memory none is
/// kept; such a repetition runs once more for its capture.
pub struct Foresights {
    /// Whether a repetition will be captured.
    wanted: Box<dyn Fn(u64) -> bool + Send + Sync>,
    kept: Mutex<Kept>,
}

/// Foresights by cell and repetition.
#[derive(Default)]
struct Kept {
    foresights: BTreeMap<(u32, u64), Foresight>,
    /// Number of verdicts, and one more for each foresight, whose memory without verdicts counts too.
    amount: usize,
}

impl Foresights {
    /// No foresights yet; those of the repetitions that `wanted` selects are kept.
    pub fn of(wanted: impl Fn(u64) -> bool + Send + Sync + 'static) -> Foresights {
        Foresights { wanted: Box::new(wanted), kept: Mutex::default() }
    }

    /// Whether the capture of a repetition needs a foresight.
    pub(crate) fn wants(&self, model: &Model, repetition: u64) -> bool {
        (self.wanted)(repetition) && streams(model)
    }

    /// Keeps the foresight of a repetition within the bound.
    pub(crate) fn keep(&self, cell: u32, repetition: u64, foresight: Foresight) {
        let Ok(mut kept) = self.kept.lock() else { return };
        let amount = kept.amount + foresight.len() + 1;
        if amount <= MOST {
            kept.amount = amount;
            kept.foresights.insert((cell, repetition), foresight);
        }
    }

    /// Takes the foresight of a repetition, if it is kept.
    pub fn take(&self, cell: u32, repetition: u64) -> Option<Foresight> {
        let mut kept = self.kept.lock().ok()?;
        let taken = kept.foresights.remove(&(cell, repetition))?;
        kept.amount -= taken.len() + 1;
        Some(taken)
    }
}
