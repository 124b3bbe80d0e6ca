//! Server-sent events of the control tool: the whole list of sets with progress at each change, so that a page that
//! reconnects needs no earlier event.

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
