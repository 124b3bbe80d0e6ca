//! How does an endpoint speak to the world? Through [`Io`]: it is told the time and hands over what it
//! sends; its host puts that on the path (or a test reads it). Nothing is called back.

use base::Time;
use base::event::{Category, Event, Source};
use base::tcp::Segment;
use base::trace::Tracer;
use base::truth::Cause;

/// A segment on its way out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outgoing {
    /// What it says.
    pub segment: Segment,
    /// Bytes on the wire, headers counted.
    pub size: u32,
    /// Why it was sent, if it carries data.
    pub cause: Cause,
    /// ECN codepoint of its IP header (`tcp::ecn`).
    pub ecn: u8,
}

/// What an endpoint may do while it runs.
pub struct Io<'a> {
    /// The present.
    pub now: Time,
    /// What it sends, in order. The host empties it after every call.
    pub out: &'a mut Vec<Outgoing>,
    /// The recorder.
    pub tracer: &'a mut Tracer,
    /// Who it is in the trace.
    pub source: Source,
}

impl Io<'_> {
    /// Sends a segment.
    #[inline]
    pub fn send(&mut self, segment: Segment, size: u32, cause: Cause) {
        self.out.push(Outgoing { segment, size, cause, ecn: 0 });
    }
    /// Records an event that happens now.
    #[inline]
    pub fn record(&mut self, event: impl FnOnce() -> Event) {
        self.tracer.record(Category::Transport, self.now, self.source, event);
    }
}
