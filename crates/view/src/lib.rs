//! Pictures of a captured connection: time sequence, RTT, throughput, outstanding data.
//!
//! The analyser's facts and verdicts as the pictures that a simulator's run has: [`sequence`] is the time-sequence
//! picture, [`lines`] are round trips, throughput, data outstanding and windows, [`clocks`] brings two captures onto
//! one clock, [`layers`] reads events below the transport.
//!
//! All times of a picture are seconds from the capture's first packet, on the clock of the first capture.

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

/// One direction of a captured connection.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The connection.
    pub flow: &'a Flow,
    /// Which direction: 0 from the client, 1 from the server.
    pub direction: usize,
    /// The same connection in a capture of the other end.
    pub other: Option<&'a Flow>,
    /// Wall-clock time of t = 0.
    pub start: Time,
}

impl View<'_> {
    /// The direction that carried more.
    pub fn busier(flow: &Flow) -> usize {
        usize::from(flow.directions[1].data_bytes > flow.directions[0].data_bytes)
    }

    /// The direction shown.
    pub fn data(&self) -> &FlowDirection {
        &self.flow.directions[self.direction]
    }

    /// Seconds from t = 0.
    pub(crate) fn at(&self, t: Time) -> f64 {
        (t.as_nanos() as f64 - self.start.as_nanos() as f64) / 1e9
    }

    /// The same direction as the capture of the other end has it.
    pub(crate) fn there(&self) -> Option<(&FlowDirection, &FlowDirection)> {
        let other = self.other?;
        let direction = if other.client == self.flow.client { self.direction } else { 1 - self.direction };
        Some((&other.directions[direction], &other.directions[1 - direction]))
    }
}

/// An offset as a byte of the data: the SYN is not counted.
pub(crate) fn stream(seq: u64) -> u64 {
    seq.saturating_sub(1)
}
