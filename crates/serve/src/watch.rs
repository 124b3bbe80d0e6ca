//! Server-sent events: the list of sets at each change.
//!
//! Every event is the whole list, so a page that connects again, after a reload or a restart of the server, needs
//! nothing from before.

use crate::App;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use std::convert::Infallible;
use std::time::Duration;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::WatchStream;

pub(crate) async fn events(
    State(app): State<App>,
) -> Sse<impl tokio_stream::Stream<Item = Result<Event, Infallible>>> {
    let sets = WatchStream::new(app.queue.listen());
    let events = sets.map(|sets| Ok(Event::default().event("sets").data(sets.to_string())));
    Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(10)))
}
