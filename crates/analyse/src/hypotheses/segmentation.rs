//! Segmentation of a long episode into parts (`EpisodePart`), each searched alone: cuts at idle gaps and where all
//! data are acknowledged.
//!
//! After an idle gap, outstanding segments have arrived, are lost, or are delayed by more than the gap.

use super::hmm::{ObservedAck, SentPacket};
use super::receiver_model::ReceiverModel;
use base::{Span, Time};
use std::ops::Range;

/// Part of an episode.
#[derive(Clone, Debug)]
pub(crate) struct EpisodePart {
    /// Receiver model at the start of the part, from the ACKs before it.
    pub(crate) start: ReceiverModel,
    /// Indices of segments outstanding at the start; they may have arrived beyond a gap.
    pub(crate) open: Vec<usize>,
    /// Probability that each segment of `open` has arrived.
    pub(crate) there: f64,
    pub(crate) sent: Range<usize>,
    pub(crate) acks: Range<usize>,
}

/// Splits an episode into parts, in order; an idle gap lasts at least `long`.
pub(crate) fn of(
    start: ReceiverModel,
    sent: &[SentPacket],
    acks: &[ObservedAck],
    long: Span,
) -> Vec<EpisodePart> {
    let mut pieces =
        vec![EpisodePart { start, open: Vec::new(), there: 0.0, sent: 0..sent.len(), acks: 0..acks.len() }];
    // Earliest capture time among the ACKs from index k on; one past the highest byte sent before packet k.
    let mut earliest = vec![Time::NEVER; acks.len() + 1];
    for (k, h) in acks.iter().enumerate().rev() {
        earliest[k] = earliest[k + 1].min(h.t);
    }
    let mut highest = vec![0; sent.len() + 1];
    for (k, s) in sent.iter().enumerate() {
        highest[k + 1] = highest[k].max(s.end);
    }
    // Number of ACKs so far, latest capture time among them, and highest cumulative ACK.
    let (mut told, mut latest, mut ack) = (0, Time::ZERO, start.next);
    for (i, s) in sent.iter().enumerate().skip(1) {
        while let Some(h) = acks.get(told).filter(|h| h.t <= s.t) {
            (told, latest, ack) = (told + 1, h.t.max(latest), h.ack.max(ack));
        }
        // A later ACK was captured before this packet: no cut here.
        if told == 0 || earliest[told] <= s.t {
            continue;
        }
        if highest[i] > ack && s.t.since(latest) < long {
            continue;
        }
        let Some(last) = pieces.last_mut().filter(|p| p.acks.start < told) else { continue };
        (last.sent.end, last.acks.end) = (i, told);
        let open: Vec<usize> = (0..i).filter(|k| sent[*k].end > ack).collect();
        let echo = acks[told - 1].echo.unwrap_or_default();
        let start =
            ReceiverModel { next: ack, held: 0, ts_recent: echo, last_ack_sent: ack, ack_pending: false };
        let there = there(&acks[..told], ack, open.len());
        pieces.push(EpisodePart { start, open, there, sent: i..sent.len(), acks: told..acks.len() });
    }
    pieces
}

/// Probability that a segment of `open` arrived: duplicate ACKs, observed or lost, per outstanding segment.
fn there(acks: &[ObservedAck], ack: u64, open: usize) -> f64 {
    let first = acks.iter().position(|h| h.ack == ack).unwrap_or_default();
    let duplicates: usize = acks[first + 1..]
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

    fn sent(segment: u64, ms: u64) -> SentPacket {
        SentPacket { seq: segment, end: segment + 1, t: at(ms), stamp: None, result: None }
    }

    fn acks(ack: u64, ms: u64) -> ObservedAck {
        ObservedAck::plain(at(ms), ack)
    }

    #[test]
    fn a_trouble_is_parted_where_all_is_told_and_where_nothing_comes() {
        let start = ReceiverModel { next: 0, held: 0, ts_recent: 0, last_ack_sent: 0, ack_pending: false };
        // Two segments are acknowledged. Of the next three the first is lost, and all but one of the other two's ACKs.
        // It is resent after an idle gap.
        let sent =
            [(0, 0), (1, 0), (2, 200), (3, 200), (4, 200), (2, 2000), (5, 2200)].map(|(n, ms)| sent(n, ms));
        let acks = [(1, 150), (2, 200), (2, 350), (5, 2200), (6, 2400)].map(|(n, ms)| acks(n, ms));
        let pieces = of(start, &sent, &acks, Span::from_millis(500));
        let told = |p: &EpisodePart| (p.start.next, p.open.clone(), p.sent.clone(), p.acks.clone());
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
