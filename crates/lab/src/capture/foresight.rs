//! Foresight of a capture: verdicts on retransmissions and largest windows of a finished repetition, which its
//! files need from the first packet on; verdicts of a running repetition in their place.

use super::Verdict;
use super::ends::Windows;
use base::truth::{Ledger, RetransmissionIndex};
use scenario::Model;
use scenario::build::World;
use scenario::model::radio::BearerKind;

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
    pub(super) fn len(&self) -> usize {
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

/// Verdicts on retransmissions, by direction of a flow and number in the order of sending.
pub(super) enum Verdicts {
    /// Those of a finished repetition.
    Known(Vec<Vec<Verdict>>),
    /// Those of a running repetition, as they are when a packet is written.
    SoFar(Vec<Given>),
}

/// Verdicts of one direction of a flow that were given while the repetition ran.
#[derive(Default)]
pub(super) struct Given {
    index: RetransmissionIndex,
    /// Number of the retransmission, and verdict.
    given: Vec<(u32, Verdict)>,
}

impl Verdicts {
    /// Verdicts of a repetition that is about to run.
    pub(super) fn so_far(world: &World) -> Verdicts {
        Verdicts::SoFar(world.network.ledgers().iter().map(|_| Given::default()).collect())
    }

    /// Verdict on the retransmission `number`, from 0, of the direction `ledger`.
    pub(super) fn give(&mut self, ledgers: &[Ledger], ledger: u32, number: u32) -> Option<Verdict> {
        let ledger = ledger as usize;
        match self {
            Verdicts::Known(known) => known.get(ledger)?.get(number as usize).copied(),
            Verdicts::SoFar(directions) => {
                let Given { index, given } = directions.get_mut(ledger)?;
                let verdict = Verdict::of(&ledgers.get(ledger)?.verdict(number as usize, index)?);
                given.push((number, verdict));
                Some(verdict)
            }
        }
    }

    /// Whether all verdicts given so far are those of the finished repetition.
    pub(super) fn are(&self, finished: &[Vec<Verdict>]) -> bool {
        let Verdicts::SoFar(directions) = self else { return true };
        directions.iter().zip(finished).all(|(direction, finished)| {
            direction.given.iter().all(|(number, verdict)| finished.get(*number as usize) == Some(verdict))
        })
    }
}
