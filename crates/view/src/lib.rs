//! Pictures of captured connections, associations, UDP flows and qlog traces: time sequence, values over time,
//! lower-layer events, clock offset of two captures.
//!
//! [`sequence`] draws the time-sequence picture, [`lines`] RTT, throughput, outstanding data and windows. [`clocks`]
//! converts two captures to one clock; [`layers`], [`events`] and [`radio`] read events below the transport.
//!
//! Times of a picture are seconds from the first packet of the first capture, on its clock.

pub mod association;
pub mod clocks;
pub mod datagram;
pub mod events;
pub mod frame;
pub mod layers;
pub mod lines;
pub mod qlog;
pub mod radio;
mod ranges;
pub mod sequence;

use analyse::{Flow, FlowDirection};
use base::Time;

/// Direction of a captured connection, to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Connection.
    pub flow: &'a Flow,
    /// Index of the direction: 0 from the client, 1 from the server.
    pub direction: usize,
    /// The connection in a capture at the opposite end, if there is one.
    pub other: Option<&'a Flow>,
    /// Capture time that is t = 0.
    pub start: Time,
}

impl View<'_> {
    /// Index of the direction with more payload.
    pub fn busier(flow: &Flow) -> usize {
        usize::from(flow.directions[1].data_bytes > flow.directions[0].data_bytes)
    }

    /// Report of the direction shown.
    pub fn data(&self) -> &FlowDirection {
        &self.flow.directions[self.direction]
    }

    /// Seconds from t = 0.
    pub(crate) fn at(&self, t: Time) -> f64 {
        (t.as_nanos() as f64 - self.start.as_nanos() as f64) / 1e9
    }

    /// Reports from the capture at the opposite end: of the direction shown, and of the reverse direction.
    pub(crate) fn there(&self) -> Option<(&FlowDirection, &FlowDirection)> {
        let other = self.other?;
        let direction = if other.client == self.flow.client { self.direction } else { 1 - self.direction };
        Some((&other.directions[direction], &other.directions[1 - direction]))
    }
}

/// Offset in the data, without the SYN.
pub(crate) fn stream(seq: u64) -> u64 {
    seq.saturating_sub(1)
}
