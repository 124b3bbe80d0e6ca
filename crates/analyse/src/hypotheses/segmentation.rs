//! Segmentation of an unexplained episode at idle gaps.
//!
//! Cuts lie where all data sent so far are acknowledged, and at idle gaps: by then, outstanding segments have
//! arrived, are lost, or are delayed by more than the gap.

use super::hmm::{Heard, Sent};
use super::receiver_model::Mirror;
use base::{Span, Time};
use std::ops::Range;

/// One part of an episode.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Receiver model at its start, from the ACKs so far.
    pub(crate) start: Mirror,
    /// Indices of segments outstanding at its start; they may have arrived beyond a gap.
    pub(crate) open: Vec<usize>,
    /// Probability that each of `open` has arrived.
    pub(crate) there: f64,
    pub(crate) sent: Range<usize>,
    pub(crate) heard: Range<usize>,
}

/// Splits an episode in order; an idle gap lasts at least `long`.
pub(crate) fn of(start: Mirror, sent: &[Sent], heard: &[Heard], long: Span) -> Vec<Piece> {
    let mut pieces =
        vec![Piece { start, open: Vec::new(), there: 0.0, sent: 0..sent.len(), heard: 0..heard.len() }];
    // Earliest ACK time from each ACK on; one past the highest byte before each packet.
    let mut earliest = vec![Time::NEVER; heard.len() + 1];
    for (k, h) in heard.iter().enumerate().rev() {
        earliest[k] = earliest[k + 1].min(h.t);
    }
    let mut highest = vec![0; sent.len() + 1];
    for (k, s) in sent.iter().enumerate() {
        highest[k + 1] = highest[k].max(s.end);
    }
    // ACKs so far, the latest of their times, and the highest cumulative ACK.
    let (mut told, mut latest, mut ack) = (0, Time::ZERO, start.next);
    for (i, s) in sent.iter().enumerate().skip(1) {
        while let Some(h) = heard.get(told).filter(|h| h.t <= s.t) {
            (told, latest, ack) = (told + 1, h.t.max(latest), h.ack.max(ack));
        }
        // A later ACK was captured before this packet: no cut here.
        if told == 0 || earliest[told] <= s.t {
            continue;
        }
        if highest[i] > ack && s.t.since(latest) < long {
            continue;
        }
        let Some(last) = pieces.last_mut().filter(|p| p.heard.start < told) else { continue };
        (last.sent.end, last.heard.end) = (i, told);
        let open: Vec<usize> = (0..i).filter(|k| sent[*k].end > ack).collect();
        let echo = heard[told - 1].echo.unwrap_or_default();
        let start = Mirror { next: ack, held: 0, echo, told: ack, waits: false };
        let there = there(&heard[..told], ack, open.len());
        pieces.push(Piece { start, open, there, sent: i..sent.len(), heard: told..heard.len() });
    }
    pieces
}

/// Probability that an `open` segment arrived: duplicate ACKs seen or lost, per segment outstanding.
fn there(heard: &[Heard], ack: u64, open: usize) -> f64 {
    let first = heard.iter().position(|h| h.ack == ack).unwrap_or_default();
    let duplicates: usize = heard[first + 1..]
        .iter()
        .map(|h| usize::from(h.ack == ack) + h.missing.unwrap_or_default() as usize)
        .sum();
    (duplicates as f64 / (open + 1) as f64).min(0.9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn sent(segment: u64, ms: u64) -> Sent {
        Sent { seq: segment, end: segment + 1, t: at(ms), stamp: None, result: None }
    }

    fn heard(ack: u64, ms: u64) -> Heard {
        Heard::plain(at(ms), ack)
    }

    #[test]
    fn a_trouble_is_parted_where_all_is_told_and_where_nothing_comes() {
        let start = Mirror { next: 0, held: 0, echo: 0, told: 0, waits: false };
        // Two segments are acknowledged. Of the next three the first is lost, and so are all but one of the
        // ACKs of the other two. It is resent after an idle gap.
        let sent =
            [(0, 0), (1, 0), (2, 200), (3, 200), (4, 200), (2, 2000), (5, 2200)].map(|(n, ms)| sent(n, ms));
        let heard = [(1, 150), (2, 200), (2, 350), (5, 2200), (6, 2400)].map(|(n, ms)| heard(n, ms));
        let pieces = of(start, &sent, &heard, Span::from_millis(500));
        let told = |p: &Piece| (p.start.next, p.open.clone(), p.sent.clone(), p.heard.clone());
        assert_eq!(
            pieces.iter().map(told).collect::<Vec<_>>(),
            [
                (0, vec![], 0..2, 0..2),
                (2, vec![], 2..5, 2..3),
                (2, vec![2, 3, 4], 5..6, 3..4),
                (5, vec![], 6..7, 4..5),
            ]
        );
        // One duplicate ACK for three outstanding segments.
        let there: Vec<f64> = pieces.iter().map(|p| p.there).collect();
        assert_eq!(there, [0.0, 0.0, 0.25, 0.0]);
    }
}
