//! Gate closures of one repetition: drawn once for the metrics of all its flows.

use base::Time;
use base::rng::Seed;
use scenario::build::closures;
use scenario::model::Model;
use std::cell::OnceCell;

/// Gate closures of one repetition.
pub(crate) struct GateClosures<'m> {
    model: &'m Model,
    seed: Seed,
    /// No flow is measured beyond this time.
    until: Time,
    drawn: OnceCell<Vec<(Time, Time)>>,
}

impl<'m> GateClosures<'m> {
    pub(crate) fn new(model: &'m Model, seed: Seed, until: Time) -> Self {
        GateClosures { model, seed, until, drawn: OnceCell::new() }
    }

    /// Begin and end of each closure that begins before `end`, by gate.
    pub(crate) fn before(&self, end: Time) -> impl Iterator<Item = (Time, Time)> {
        debug_assert!(end <= self.until);
        let all = self.drawn.get_or_init(|| {
            closures(self.model, self.seed, self.until).into_iter().map(|(_, from, to)| (from, to)).collect()
        });
        all.iter().copied().filter(move |closure| closure.0 < end)
    }
}
