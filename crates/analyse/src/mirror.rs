//! What does a receiver know, and what would it answer? A small copy of the receiving half of TCP: what has arrived of
//! the bytes, the timestamp it would echo, whether an acknowledgement may wait. Hypotheses of what arrived are played
//! through it.

use std::collections::BTreeMap;

/// Bytes that arrived out of order, ascending and apart, each set kept once.
#[derive(Debug)]
pub(crate) struct Held {
    sets: Vec<Box<[(u64, u64)]>>,
    known: BTreeMap<Box<[(u64, u64)]>, u32>,
}

impl Default for Held {
    fn default() -> Self {
        let none: Box<[(u64, u64)]> = Box::new([]);
        Held { sets: vec![none.clone()], known: BTreeMap::from([(none, 0)]) }
    }
}

impl Held {
    pub(crate) fn get(&self, id: u32) -> &[(u64, u64)] {
        &self.sets[id as usize]
    }

    fn id(&mut self, set: Vec<(u64, u64)>) -> u32 {
        if set.is_empty() {
            return 0;
        }
        let set = set.into_boxed_slice();
        if let Some(&id) = self.known.get(&set) {
            return id;
        }
        let id = self.sets.len() as u32;
        self.sets.push(set.clone());
        self.known.insert(set, id);
        id
    }

    /// The set with `[seq, end)` added.
    fn with(&mut self, id: u32, seq: u64, end: u64) -> u32 {
        let old = self.get(id);
        let from = old.partition_point(|r| r.1 < seq);
        let to = old.partition_point(|r| r.0 <= end);
        let mut merged = (seq, end);
        if from < to {
            merged = (seq.min(old[from].0), end.max(old[to - 1].1));
        }
        let mut new = old[..from].to_vec();
        new.push(merged);
        new.extend_from_slice(&old[to..]);
        self.id(new)
    }

    /// Takes away what `next` has reached; where it then stands.
    fn absorb(&mut self, id: u32, mut next: u64) -> (u32, u64) {
        let old = self.get(id);
        let mut gone = 0;
        while gone < old.len() && old[gone].0 <= next {
            next = next.max(old[gone].1);
            gone += 1;
        }
        if gone == 0 {
            return (id, next);
        }
        let rest = old[gone..].to_vec();
        (self.id(rest), next)
    }
}

/// A receiver, as far as its answers show it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Mirror {
    /// Next byte expected.
    pub(crate) next: u64,
    /// What lies beyond it, in [`Held`].
    pub(crate) held: u32,
    /// The timestamp it would echo.
    pub(crate) echo: u32,
    /// What it last acknowledged.
    pub(crate) told: u64,
    /// A segment waits for its acknowledgement.
    pub(crate) waits: bool,
}

/// Which timestamps a receiver echoes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum EchoRule {
    /// Of any segment that reaches back to the last acknowledgement (RFC 7323 section 4.3).
    #[default]
    Reaches,
    /// Of the segment that contains it (RFC 1323 section 3.4).
    Contains,
}

/// What an arrival did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effect {
    pub(crate) mirror: Mirror,
    /// The answer may wait.
    pub(crate) may_wait: bool,
    /// It fills a gap, all of it or a part.
    pub(crate) fills: bool,
    /// What it would report as a duplicate (RFC 2883).
    pub(crate) duplicate: Option<(u64, u64)>,
    /// It lies beyond a gap: its first byte.
    pub(crate) beyond: Option<u64>,
}

impl Mirror {
    /// True if all of `[seq, end)` has arrived.
    pub(crate) fn holds(&self, held: &Held, seq: u64, end: u64) -> bool {
        let seq = seq.max(self.next);
        seq >= end || held.get(self.held).iter().any(|r| r.0 <= seq && end <= r.1)
    }

    /// A segment arrives.
    pub(crate) fn takes(
        &self,
        held: &mut Held,
        seq: u64,
        end: u64,
        stamp: Option<u32>,
        rule: EchoRule,
    ) -> Effect {
        let mut m = *self;
        if let Some(stamp) = stamp {
            let takes = match rule {
                EchoRule::Reaches => seq <= m.told && stamp.wrapping_sub(m.echo) < 1 << 31,
                EchoRule::Contains => seq <= m.told && m.told < end,
            };
            if takes {
                m.echo = stamp;
            }
        }
        let had = m.holds(held, seq, end);
        let mut duplicate = had.then_some((seq, end));
        let (mut may_wait, mut fills, mut beyond) = (false, false, None);
        if !had && seq <= m.next {
            if seq < m.next {
                duplicate = Some((seq, m.next));
            }
            fills = m.held != 0;
            (m.held, m.next) = held.absorb(m.held, end);
            may_wait = !self.waits && duplicate.is_none();
        } else if !had {
            m.held = held.with(m.held, seq, end);
            beyond = Some(seq);
        }
        Effect { mirror: m, may_wait, fills, duplicate, beyond }
    }

    /// It answers.
    pub(crate) fn answers(mut self) -> Mirror {
        self.told = self.next;
        self.waits = false;
        self
    }
}
