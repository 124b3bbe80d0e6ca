//! Matching of an `expect` event against the segments that a sender sent in its time.
//!
//! Ranges are matched byte by byte, so that neither the sender's segmentation nor the author's matters.

use crate::dialogue::{Expect, Range};
use base::tcp::Segment;

/// A segment that was sent, in the byte numbers of the dialogue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SentSegment {
    /// Send time, seconds of the dialogue.
    pub(crate) t: f64,
    pub(crate) range: Range,
    pub(crate) segment: Segment,
    /// Whether some of its data had been sent before.
    pub(crate) again: bool,
    /// Position in the log.
    pub(crate) moment: usize,
}

impl SentSegment {
    pub(crate) fn is_data(&self) -> bool {
        self.range[1] > self.range[0]
    }
}

/// Result of the comparison.
pub(crate) enum Match {
    /// The segments match. Contains the indexes of segments that are left for another expectation.
    Good(Vec<usize>),
    /// The segments do not match: reason, and index of the wrong segment, if there is one.
    Bad(&'static str, Option<usize>),
}

/// Compares sent segments with an expectation. With `leave`, segments that the expectation does not name may
/// match another expectation.
pub(crate) fn compare(expect: &Expect, left: &[SentSegment], mss: u64, earliest: f64, leave: bool) -> Match {
    if expect.no_rtx
        && let Some(i) = left.iter().position(|l| l.again)
    {
        return Match::Bad("nothing should be resent", Some(i));
    }
    if expect.probe {
        return probe(expect, left, mss, earliest);
    }
    let left: Vec<(usize, &SentSegment)> = left.iter().enumerate().filter(|(_, l)| l.is_data()).collect();
    let mut open: Vec<Range> = expect.send.iter().copied().filter(|r| r[1] > r[0]).collect();
    let mut extra = expect.extra_mss * mss as f64;
    let mut matched = Vec::new();
    let mut others = Vec::new();
    for &(i, l) in &left {
        let rest = consume(&mut open, l.range, expect.any_order);
        let took_some = rest != l.range;
        if took_some && l.t < earliest {
            return Match::Bad("it left too early", Some(i));
        }
        if took_some {
            matched.push(i);
        }
        let len = rest[1] - rest[0];
        if len == 0 {
            continue;
        }
        let may = expect.may_send.iter().any(|m| m[0] <= rest[0] && rest[1] <= m[1]);
        if may || expect.any_send_ok || (expect.any_new_ok && !l.again) {
            continue;
        }
        if open.is_empty() && len as f64 <= extra {
            extra -= len as f64;
        } else if leave && !took_some {
            others.push(i);
        } else if l.t < earliest {
            return Match::Bad("it left too early", Some(i));
        } else if !open.is_empty() && open.iter().any(|r| r[0] < rest[1] && rest[0] < r[1]) {
            return Match::Bad("it left out of order", Some(i));
        } else {
            return Match::Bad("something else left", Some(i));
        }
    }
    let enough = open.is_empty() || expect.optional || (expect.prefix_ok && !matched.is_empty());
    if !enough {
        let why = if left.is_empty() { "nothing left" } else { "not everything left" };
        return Match::Bad(why, None);
    }
    if expect.rtx && !matched.is_empty() && !left.iter().any(|(i, l)| l.again && matched.contains(i)) {
        return Match::Bad("this should be a retransmission", matched.first().copied());
    }
    if let Err(bad) = congestion_marks(expect, &left, &others) {
        return bad;
    }
    Match::Good(others)
}

/// Checks the CWR flag of the first new segment where the expectation requires it.
fn congestion_marks(expect: &Expect, left: &[(usize, &SentSegment)], others: &[usize]) -> Result<(), Match> {
    if expect.first_new_has_cwr {
        match left.iter().find(|(i, l)| !l.again && !others.contains(i)) {
            Some((_, l)) if l.segment.cwr => {}
            Some((i, _)) => return Err(Match::Bad("the first new segment should carry CWR", Some(*i))),
            None => return Err(Match::Bad("a new segment with CWR should leave", None)),
        }
    }
    Ok(())
}

/// Matches a probe. Each segment is a part of the named range (of any range, if none is named), or an empty
/// or old segment that only makes the peer answer. There is one segment for each range, and at least one.
fn probe(expect: &Expect, left: &[SentSegment], mss: u64, earliest: f64) -> Match {
    for (i, l) in left.iter().enumerate() {
        let [a, b] = l.range;
        let named = |r: &Range| r[0] <= a && b <= r[1].max(r[0] + mss);
        let may = expect.may_send.iter().any(|r| r[0] <= a && b <= r[1]);
        let nudge = b - a <= 1 && expect.send.iter().any(|r| a < r[0]);
        if !(expect.send.is_empty() || nudge || may || expect.send.iter().any(named)) {
            return Match::Bad("this is not the probe", Some(i));
        }
        if l.t < earliest {
            return Match::Bad("it left too early", Some(i));
        }
    }
    let most = expect.send.len().max(1) as f64 + expect.extra_mss;
    if left.is_empty() && !expect.optional {
        return Match::Bad("no probe left", None);
    }
    if left.len() as f64 > most && !expect.any_send_ok && expect.may_send.is_empty() {
        return Match::Bad("more than a probe left", Some(most as usize));
    }
    Match::Good(Vec::new())
}

/// Removes a sent range from the ranges that must be sent; returns the rest of the sent range, empty if
/// nothing remains.
fn consume(open: &mut Vec<Range>, range: Range, any_order: bool) -> Range {
    let [mut at, end] = range;
    while at < end {
        let slot = if any_order {
            open.iter().position(|r| r[0] <= at && at < r[1])
        } else {
            open.first().filter(|r| r[0] == at).map(|_| 0)
        };
        let Some(i) = slot else { break };
        let [from, to] = open[i];
        let taken = end.min(to);
        // The parts before and after the sent range are still expected.
        open.remove(i);
        if taken < to {
            open.insert(i, [taken, to]);
        }
        if from < at {
            open.insert(i, [from, at]);
        }
        at = taken;
    }
    [at, end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(segments: &[(u64, u64, bool)]) -> Vec<SentSegment> {
        let one = |(a, b, again): &(u64, u64, bool)| SentSegment {
            t: 1.0,
            range: [*a, *b],
            segment: Segment::default(),
            again: *again,
            moment: 0,
        };
        segments.iter().map(one).collect()
    }

    fn judge(expect: &Expect, segments: &[(u64, u64, bool)]) -> Result<usize, &'static str> {
        match compare(expect, &left(segments), 1000, 1.0, false) {
            Match::Good(others) => Ok(others.len()),
            Match::Bad(why, _) => Err(why),
        }
    }

    fn send(ranges: &[Range]) -> Expect {
        Expect { send: ranges.to_vec(), ..Expect::default() }
    }

    const NEW: bool = false;
    const AGAIN: bool = true;

    #[test]
    fn segmentation_is_free_and_neighbours_merge() {
        let e = send(&[[0, 1500], [1500, 3000]]);
        assert_eq!(judge(&e, &[(0, 1000, NEW), (1000, 2000, NEW), (2000, 3000, NEW)]), Ok(0));
        assert_eq!(judge(&e, &[(0, 3000, NEW)]), Ok(0));
        assert_eq!(judge(&e, &[(0, 1000, NEW), (1000, 2000, NEW)]), Err("not everything left"));
        assert_eq!(judge(&e, &[(0, 3000, NEW), (3000, 4000, NEW)]), Err("something else left"));
        assert_eq!(judge(&e, &[(0, 3000, NEW), (0, 1000, AGAIN)]), Err("something else left"));
        assert_eq!(judge(&e, &[]), Err("nothing left"));
        assert_eq!(judge(&send(&[]), &[]), Ok(0));
    }

    #[test]
    fn order_matters_unless_it_is_said_not_to() {
        let mut e = send(&[[0, 2000], [5000, 6000]]);
        let turned = [(5000, 6000, NEW), (1000, 2000, NEW), (0, 1000, NEW)];
        assert_eq!(judge(&e, &turned), Err("it left out of order"));
        e.any_order = true;
        assert_eq!(judge(&e, &turned), Ok(0));
        assert_eq!(judge(&e, &turned[..2]), Err("not everything left"));
    }

    #[test]
    fn more_may_leave_where_that_is_said() {
        let base = send(&[[0, 1000]]);
        let more = [(0, 1000, AGAIN), (4000, 5000, NEW)];
        assert!(judge(&base, &more).is_err());
        assert!(judge(&Expect { any_new_ok: true, ..base.clone() }, &more).is_ok());
        assert!(judge(&Expect { extra_mss: 1.0, ..base.clone() }, &more).is_ok());
        assert!(judge(&Expect { may_send: vec![[4000, 6000]], ..base.clone() }, &more).is_ok());
        assert!(judge(&Expect { any_send_ok: true, ..base.clone() }, &more).is_ok());
        let early = [(4000, 5000, NEW), (0, 1000, AGAIN)];
        assert!(judge(&Expect { extra_mss: 1.0, ..base.clone() }, &early).is_err(), "extra comes after");
        let two = [(0, 1000, AGAIN), (4000, 5000, NEW), (5000, 6000, NEW)];
        assert!(judge(&Expect { extra_mss: 1.0, ..base.clone() }, &two).is_err(), "and is one segment");
        let again = [(0, 1000, AGAIN), (1000, 2000, AGAIN)];
        assert!(judge(&Expect { any_new_ok: true, ..base.clone() }, &again).is_err(), "not new");
        assert_eq!(judge(&Expect { any_send_ok: true, ..base }, &[]), Err("nothing left"));
        assert!(judge(&Expect { any_send_ok: true, ..send(&[]) }, &more).is_ok());
        assert!(judge(&Expect { any_send_ok: true, no_rtx: true, ..send(&[]) }, &more).is_err());
    }

    #[test]
    fn a_prefix_is_enough_if_it_is_one() {
        let e = Expect { prefix_ok: true, ..send(&[[1000, 4000]]) };
        assert!(judge(&e, &[(1000, 2000, NEW)]).is_ok());
        assert!(judge(&e, &[(1000, 4000, NEW)]).is_ok());
        assert_eq!(judge(&e, &[]), Err("nothing left"));
        assert!(judge(&e, &[(2000, 3000, NEW)]).is_err());
        assert!(judge(&e, &[(1000, 4000, NEW), (4000, 5000, NEW)]).is_err());
        let optional = Expect { optional: true, ..send(&[[1000, 4000]]) };
        assert!(judge(&optional, &[]).is_ok());
    }

    #[test]
    fn a_retransmission_is_one_and_none_is_none() {
        let rtx = Expect { rtx: true, ..send(&[[0, 1000]]) };
        assert!(judge(&rtx, &[(0, 1000, AGAIN)]).is_ok());
        assert_eq!(judge(&rtx, &[(0, 1000, NEW)]), Err("this should be a retransmission"));
        let none = Expect { no_rtx: true, ..send(&[[0, 1000]]) };
        assert!(judge(&none, &[(0, 1000, NEW)]).is_ok());
        assert_eq!(judge(&none, &[(0, 1000, AGAIN)]), Err("nothing should be resent"));
    }

    #[test]
    fn a_probe_is_a_piece_of_what_is_named_or_a_nudge() {
        let e = Expect { probe: true, ..send(&[[4000, 4001]]) };
        assert!(judge(&e, &[(4000, 4001, NEW)]).is_ok());
        assert!(judge(&e, &[(4000, 5000, NEW)]).is_ok());
        assert!(judge(&e, &[(3999, 4000, AGAIN)]).is_ok());
        assert!(judge(&e, &[(3999, 3999, NEW)]).is_ok());
        assert_eq!(judge(&e, &[]), Err("no probe left"));
        assert_eq!(judge(&e, &[(0, 1000, AGAIN)]), Err("this is not the probe"));
        assert_eq!(judge(&e, &[(4000, 5000, NEW), (4000, 5000, AGAIN)]), Err("more than a probe left"));
    }

    #[test]
    fn cwr_is_on_the_first_new_segment() {
        let e = Expect { first_new_has_cwr: true, ..send(&[[0, 1000], [5000, 7000]]) };
        let mut segments = left(&[(0, 1000, AGAIN), (5000, 6000, NEW), (6000, 7000, NEW)]);
        assert!(matches!(compare(&e, &segments, 1000, 1.0, false), Match::Bad(_, Some(1))));
        segments[1].segment.cwr = true;
        assert!(matches!(compare(&e, &segments, 1000, 1.0, false), Match::Good(_)));
        assert!(matches!(compare(&e, &segments[..1], 1000, 1.0, false), Match::Bad(..)));
    }

    #[test]
    fn what_leaves_before_its_time_is_too_early() {
        let mut segments = left(&[(0, 1000, NEW)]);
        segments[0].t = 0.9;
        let early = compare(&send(&[[0, 1000]]), &segments, 1000, 1.0, true);
        assert!(matches!(early, Match::Bad("it left too early", Some(0))));
    }

    #[test]
    fn what_is_not_asked_for_is_left_to_the_next() {
        let segments = left(&[(0, 1000, NEW), (1000, 2000, NEW)]);
        let Match::Good(others) = compare(&send(&[[0, 1000]]), &segments, 1000, 1.0, true) else { panic!() };
        assert_eq!(others, [1]);
    }
}
