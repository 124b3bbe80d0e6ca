//! Duplicate frames of the capture itself, from several interfaces or mirrored ports.
//!
//! A copy that the capture made, on a second interface or at a switch that mirrors both ways, has the same
//! identification, numbers and stamps, and comes within a moment. What a sender sends again has another
//! identification, or comes later.

use crate::observation::Observation;
use base::{Span, Time};

/// What tells packets apart.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Mark {
    t: Time,
    id: Option<u16>,
    seq: u32,
    ack: u32,
    payload: u32,
    flags: u8,
    window: u16,
    stamps: Option<(u32, u32)>,
    sack: (u32, u32),
    interface: u32,
}

/// So many packets back are looked at.
const DEPTH: usize = 16;
/// Copies come within this.
const MOMENT: Span = Span::from_millis(5);
/// Without an identification, within this: no sender repeats itself so soon.
const INSTANT: Span = Span::from_nanos(200_000);

/// The last packets of one sender.
#[derive(Debug, Default)]
pub(crate) struct Twice {
    last: Vec<Mark>,
    next: usize,
}

impl Twice {
    /// True if this packet was just seen.
    pub(crate) fn is(&mut self, o: &Observation) -> bool {
        let head = &o.head;
        let mark = Mark {
            t: o.t,
            id: o.id.filter(|id| *id != 0),
            seq: head.seq,
            ack: head.ack,
            payload: o.payload,
            flags: head.flags,
            window: head.window,
            stamps: head.timestamps,
            sack: head.blocks().first().copied().unwrap_or_default(),
            interface: o.interface,
        };
        let same = |m: &Mark| Mark { t: mark.t, interface: mark.interface, ..*m } == mark;
        let soon = |m: &Mark| {
            let span = mark.t.since(m.t).max(m.t.since(mark.t));
            match mark.id {
                Some(_) => span <= MOMENT,
                // Bare acknowledgements are often alike: there only a second interface tells.
                None if o.payload == 0 => span <= INSTANT && m.interface != mark.interface,
                None => span <= INSTANT,
            }
        };
        if self.last.iter().any(|m| same(m) && soon(m)) {
            return true;
        }
        if self.last.len() < DEPTH {
            self.last.push(mark);
        } else {
            self.last[self.next] = mark;
            self.next = (self.next + 1) % DEPTH;
        }
        false
    }
}
