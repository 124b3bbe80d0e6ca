//! Applications at the ends of flows: requests, messages, and the receiving end of bulk data.

use crate::model::{App, Flow};
use base::rng::Seed;
use transport::app::connections::{MessageLog, Workload};
use transport::app::message_stream::{MessageSchedule, StreamSink, StreamSource};
use transport::app::request::{RequestClient, RequestServer};
use transport::app::{Reading, Sink};
use transport::tcp::Role;

/// Application at one end of a flow with messages or several connections; `None` for bulk data. Both ends
/// share the record of message boundaries.
pub fn workload(flow: &Flow, role: Role, log: &MessageLog, seed: Seed) -> Option<Box<dyn Workload>> {
    let log = log.clone();
    Some(match (&flow.app, role) {
        (App::Bulk { .. }, _) => return None,
        (App::Requests(plan), Role::Active) => {
            Box::new(RequestClient::new((**plan).clone(), log, &flow.name, seed))
        }
        (App::Requests(_), Role::Passive) => Box::new(RequestServer::new(log)),
        (App::Messages(plan), Role::Active) => {
            Box::new(StreamSource::new(MessageSchedule::new(plan, &flow.name, seed), log))
        }
        (App::Messages(plan), Role::Passive) => Box::new(StreamSink::new(log, plan.useful)),
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
