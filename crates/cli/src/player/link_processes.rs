//! Player of repetitions in virtual time whose links are served by programs (link processes), with models at
//! the ends.

use crate::console::exit::Failure;
use base::rng::Seed;
use emulate::link_process;
use lab::once::run_attached;
use lab::sweep::{self, Refused, RepetitionPlayer, RepetitionResults, Sweep};
use scenario::Model;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Remedy for a failed program.
pub(crate) const REMEDY: &str = "docs/link-process.md describes the queries and the responses";

/// Player of repetitions with link processes.
pub(crate) struct LinkProcesses {
    shuffle_ties: Option<u64>,
}

impl LinkProcesses {
    /// Player for the sweep; `None` if no cell has a link process. `asked` is a requested output that needs a second run,
    /// which is an error, because the program would be started again.
    pub(crate) fn of(
        sweep: &Sweep,
        shuffle_ties: Option<u64>,
        asked: Option<&str>,
    ) -> Result<Option<LinkProcesses>, Failure> {
        let models = || sweep.cells.held().iter().map(|cell| &cell.model);
        let Some(hop) = models().find_map(sweep::process) else { return Ok(None) };
        if let Some(output) = asked {
            return Err(Failure::twice(output, hop));
        }
        Ok(Some(LinkProcesses { shuffle_ties }))
    }
}

impl RepetitionPlayer for LinkProcesses {
    fn play(
        &self,
        _cell: u32,
        model: &Model,
        repetition: u64,
        stop: &AtomicBool,
    ) -> Result<Option<RepetitionResults>, Refused> {
        let refused = |message| Refused { message, mend: REMEDY.to_owned(), asked: true };
        let (sender, faults) = link_process::faults();
        let first = RefCell::new(None);
        let goes_on = || {
            let mut first = first.borrow_mut();
            *first = first.take().or_else(|| link_process::first(&faults));
            first.is_none() && !stop.load(Ordering::Relaxed)
        };
        let seed = Seed { seed: model.run.seed, repetition };
        let ran = run_attached(
            model,
            repetition,
            self.shuffle_ties,
            &mut |world| link_process::attach(model, seed, world, &sender),
            &goes_on,
        );
        let mut ran = ran.map_err(refused)?;
        if let Some(outcome) = &mut ran {
            link_process::detach(&mut outcome.world);
        }
        // A fault may have been reported after the last check.
        goes_on();
        match first.into_inner() {
            Some(why) => Err(refused(why)),
            None => Ok(ran.map(|outcome| RepetitionResults::of(model, outcome))),
        }
    }
}
