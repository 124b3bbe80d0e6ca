//! PAWS discards in a receiver-side capture (RFC 7323 section 5): segments that arrived and were discarded because of
//! an old timestamp.
//!
//! The receiver's state is replayed from arrivals and ACKs: next expected byte, out-of-order ranges, TS.Recent. An
//! acknowledgement shows the next expected byte, its echo TS.Recent. No packet states whether a receiver has PAWS: it
//! is assumed only if some ACK has no other explanation. Copies of data received before are late, not discarded.

use super::flow::FlowDirection;
use super::join::Sighting;

/// Receiver state in the replay: next expected byte, and out-of-order ranges.
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

/// For each packet of `data`, in order: whether the receiver discarded it with bytes that it did not have. The capture
/// is the receiver's; `answers` is the direction of its ACKs.
pub(super) fn discarded(data: &FlowDirection, answers: &FlowDirection) -> Vec<bool> {
    let mut out = vec![false; data.sightings.len()];
    let told = |a: &&Sighting| a.echo.is_some_and(|echo| echo != 0);
    let mut answers = answers.sightings.iter().filter(told).peekable();
    let (mut with, mut without) = (Replay::default(), Replay::default());
    // TS.Recent and Last.ACK.sent; None before the first ACK.
    let mut known: Option<(u32, u64)> = None;
    let (mut proved, mut refuted) = (0u32, 0u32);
    let mut n = 0;
    while n < data.sightings.len() || answers.peek().is_some() {
        let due = data.sightings.get(n).map(|s| s.t);
        if let Some(a) = answers.next_if(|a| due.is_none_or(|t| a.t < t)) {
            let ack = u64::from(a.ack.wrapping_sub(data.origin));
            if known.is_some() {
                // If several segments arrived at one instant, the ACK may concern the first.
                let at = data.sightings[..n].iter().rev().take_while(|s| s.t == a.t).count();
                proved += u32::from(at < 2 && ack == with.next && ack < without.next);
                // A FIN takes one sequence number; sightings count payload only.
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
