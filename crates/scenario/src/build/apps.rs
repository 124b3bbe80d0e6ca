//! Applications at the ends of a modelled flow: client and server, message source and sink, media stream,
//! receiver of bulk data.

use crate::model::{App, Flow};
use base::rng::Seed;
use transport::app::connections::{MessageLog, Workload};
use transport::app::media::{MediaSink, MediaSource};
use transport::app::message_stream::{MessageSchedule, StreamSink, StreamSource};
use transport::app::messages::Manner;
use transport::app::request::{RequestClient, RequestServer};
use transport::app::{App as Application, Reading, Sink};
use transport::tcp::Role;

/// Application at one end of a flow with messages or several connections; `None` for bulk data and streams. Both ends
/// share the record of message boundaries.
pub fn workload(flow: &Flow, role: Role, log: &MessageLog, seed: Seed) -> Option<Box<dyn Workload>> {
    let log = log.clone();
    Some(match (&flow.app, role) {
        (App::Bulk { .. }, _) => return None,
        (App::Messages(plan), _) if plan.stream.is_some() => return None,
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

/// Application at one end of a flow of streamed media; `None` for another workload.
pub fn media(flow: &Flow, role: Role, manner: Manner, log: &MessageLog) -> Option<Box<dyn Application>> {
    let App::Messages(plan) = &flow.app else { return None };
    let (stream, log) = (plan.stream.clone()?, log.clone());
    Some(match role {
        Role::Active => Box::new(MediaSource::new(stream, manner, log)),
        Role::Passive => Box::new(MediaSink::new(stream, log)),
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
