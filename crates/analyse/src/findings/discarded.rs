//! PAWS discards seen in a receiver-side capture: data that came and were not taken in (RFC 7323 section 5).
//!
//! The receiver's state is replayed from arrivals and its ACKs: next byte expected, ranges held, TS.Recent. Each
//! answer carries the first two of these in its acknowledgement and the third as its echo. No packet states whether a
//! receiver has PAWS: it is assumed once an answer is explained only by it, and never before. Copies of data already
//! received are not discards: they were late, not old.

use super::flow::FlowDirection;
use super::join::Sighting;

/// The receiver as the replay sees it.
#[derive(Default)]
struct Replay {
    next: u64,
    held: Vec<(u64, u64)>,
}

impl Replay {
    fn has(&self, seq: u64, end: u64) -> bool {
        end <= self.next || self.held.iter().any(|h| h.0 <= seq && end <= h.1)
    }

    fn take(&mut self, seq: u64, end: u64) {
        let from = self.held.partition_point(|h| h.1 < seq);
        let to = self.held.partition_point(|h| h.0 <= end);
        let whole = self.held[from..to].iter().fold((seq, end), |w, h| (w.0.min(h.0), w.1.max(h.1)));
        self.held.splice(from..to, [whole]);
        self.advance(self.next);
    }

    fn advance(&mut self, to: u64) {
        self.next = self.next.max(to);
        while self.held.first().is_some_and(|h| h.0 <= self.next) {
            self.next = self.next.max(self.held.remove(0).1);
        }
    }
}

/// Of each packet of `data`, in order: whether the receiver, whose capture this is and which sent `answers`, discarded it with
/// bytes that it did not have.
pub(super) fn discarded(data: &FlowDirection, answers: &FlowDirection) -> Vec<bool> {
    let mut out = vec![false; data.sightings.len()];
    let told = |a: &&Sighting| a.echo.is_some_and(|echo| echo != 0);
    let mut answers = answers.sightings.iter().filter(told).peekable();
    let (mut with, mut without) = (Replay::default(), Replay::default());
    // TS.Recent and Last.ACK.sent; nothing before the first answer.
    let mut known: Option<(u32, u64)> = None;
    let (mut proved, mut refuted) = (0u32, 0u32);
    let mut n = 0;
    while n < data.sightings.len() || answers.peek().is_some() {
        let due = data.sightings.get(n).map(|s| s.t);
        if let Some(a) = answers.next_if(|a| due.is_none_or(|t| a.t < t)) {
            let ack = u64::from(a.ack.wrapping_sub(data.origin));
            if known.is_some() {
                // Of several that came at one instant the answer may be about the first.
                let at = data.sightings[..n].iter().rev().take_while(|s| s.t == a.t).count();
                proved += u32::from(at < 2 && ack == with.next && ack < without.next);
                // A FIN takes one number; sightings count payload alone.
                refuted += u32::from(ack > with.next + 1);
            }
            with.advance(ack);
            without.advance(ack);
            known = a.echo.map(|echo| (echo, ack));
            continue;
        }
        let s = &data.sightings[n];
        n += 1;
        let (Some((recent, acked)), Some(stamp)) = (&mut known, s.stamp) else { continue };
        if s.end == s.seq {
            continue;
        }
        without.take(s.seq, s.end);
        if older(stamp, *recent) {
            out[n - 1] = !with.has(s.seq, s.end);
            continue;
        }
        if s.seq <= *acked {
            *recent = stamp;
        }
        with.take(s.seq, s.end);
    }
    if proved == 0 || refuted > 0 {
        out.fill(false);
    }
    out
}

fn older(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) > 1 << 31
}
