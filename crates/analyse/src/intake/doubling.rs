//! Vote on doubled ACKs without IP identification: a capture in which ACKs that advance are repeated has copies.
//!
//! Identical pure ACKs are copies of the capture or duplicate ACKs. A receiver sends an ACK that advances once. If three
//! quarters of a sender's advancing ACKs and SYNs stand in the capture twice, its other repeated ACKs are copies too.

use super::dedup::Mark;
use super::majority::Majority;
use base::wire::flag;
use base::{Span, Time};
use std::collections::VecDeque;

/// Repetitions that a copy can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Repetition {
    /// At once, with an equal time to live.
    AtOnce,
    /// Later, with a lower time to live.
    LowerTtl,
}

/// An ACK that advances, until it is repeated or the time for it is over.
#[derive(Clone, Copy, Debug)]
struct Advance {
    t: Time,
    content: u64,
    ttl: u8,
    at_once: u8,
}

/// Votes of the advancing ACKs of one sender.
#[derive(Debug, Default)]
pub(super) struct Doubling {
    most: Option<u32>,
    waiting: VecDeque<Advance>,
    votes: u32,
    at_once: u32,
    lower: u32,
    /// Copies at once of an ACK.
    copies: Majority<u8>,
}

/// Advancing ACKs that wait for their repetition.
const WAITING: usize = 64;
/// Votes before the first judgement.
const FEW: u32 = 3;

impl Doubling {
    /// Takes a pure ACK without identification; `at_once` and `later` bound the delay of the two kinds of repetition.
    pub(super) fn see(&mut self, mark: &Mark, at_once: Span, later: Span) {
        self.close(mark.t, at_once, later);
        let content = mark.content();
        if let Some(at) = self.waiting.iter().position(|a| a.content == content) {
            let first = &mut self.waiting[at];
            if mark.t.since(first.t) <= at_once && mark.ttl == first.ttl {
                first.at_once = first.at_once.saturating_add(1);
            } else if mark.ttl < first.ttl {
                self.waiting.remove(at);
                (self.votes, self.lower) = (self.votes + 1, self.lower + 1);
            }
            return;
        }
        let advances = self.most.is_none_or(|most| mark.ack != most && mark.ack.wrapping_sub(most) < 1 << 31);
        if advances || mark.flags & (flag::SYN | flag::FIN) != 0 {
            self.waiting.push_back(Advance { t: mark.t, content, ttl: mark.ttl, at_once: 0 });
        }
        if advances {
            self.most = Some(mark.ack);
        }
    }

    /// Counts the ACKs whose time for a repetition is over, and the oldest beyond [`WAITING`] as not repeated.
    fn close(&mut self, now: Time, at_once: Span, later: Span) {
        let mut excess = self.waiting.len().saturating_sub(WAITING);
        let Doubling { waiting, votes, at_once: repeated, copies, .. } = self;
        waiting.retain(|a| {
            let age = now.since(a.t);
            let open = if a.at_once > 0 {
                age <= at_once
            } else if excess > 0 {
                excess -= 1;
                false
            } else {
                age <= later
            };
            if !open {
                *votes += 1;
                if a.at_once > 0 {
                    *repeated += 1;
                    copies.vote(a.at_once, |a, b| a == b);
                }
            }
            open
        });
    }

    /// Copies at once of each pure ACK; 0 if the capture does not repeat them.
    pub(super) fn copies(&self) -> u8 {
        if self.holds(Repetition::AtOnce) { self.copies.value } else { 0 }
    }

    /// Three quarters of the votes are for this kind of repetition.
    pub(super) fn holds(&self, kind: Repetition) -> bool {
        let of = match kind {
            Repetition::AtOnce => self.at_once,
            Repetition::LowerTtl => self.lower,
        };
        self.votes >= FEW && of * 4 >= self.votes * 3
    }
}
