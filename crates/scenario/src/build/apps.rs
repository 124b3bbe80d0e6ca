//! Applications at the ends of flows: requests, messages, and the receiving end of bulk data.

use crate::model::{App, Flow};
use base::rng::Seed;
use transport::app::ask::{Answerer, Asker};
use transport::app::lines::{Letters, Workload};
use transport::app::tell::{Listener, Pace, Teller};
use transport::app::{Reading, Sink};
use transport::tcp::Role;

/// Application at one end of a flow with messages or several connections; `None` for bulk data. Both ends
/// share the record of message boundaries.
pub fn workload(flow: &Flow, role: Role, letters: &Letters, seed: Seed) -> Option<Box<dyn Workload>> {
    let letters = letters.clone();
    Some(match (&flow.app, role) {
        (App::Bulk { .. }, _) => return None,
        (App::Ask(plan), Role::Active) => Box::new(Asker::new((**plan).clone(), letters, &flow.name, seed)),
        (App::Ask(_), Role::Passive) => Box::new(Answerer::new(letters)),
        (App::Tell(plan), Role::Active) => Box::new(Teller::new(Pace::new(plan, &flow.name, seed), letters)),
        (App::Tell(plan), Role::Passive) => Box::new(Listener::new(letters, plan.useful)),
    })
}

/// Receiving application of bulk data.
pub fn sink(flow: &Flow) -> Sink {
    let (bytes, lasts) = flow.app.bulk().unwrap_or_default();
    let sink = Sink::new(bytes).timed(lasts.is_some());
    match flow.reads {
        None => sink,
        Some(reads) => sink.reading(Reading::new(reads.rate.map(|r| r.bps() / 8), reads.pause)),
    }
}
