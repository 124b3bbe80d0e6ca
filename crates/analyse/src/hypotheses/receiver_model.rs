//! Receiver model: reassembly, timestamp echo and delayed ACK of a hypothetical receiver.
//!
//! A small copy of the receiving half of TCP: what has arrived of the bytes, the timestamp it would echo, whether an
//! acknowledgement may wait. Hypotheses of what arrived are played through it.

use base::rng::mix;
use hashbrown::HashTable;

/// Bytes that arrived out of order, ascending and apart, each set kept once.
#[derive(Debug)]
pub(crate) struct Held {
    sets: Vec<Box<[(u64, u64)]>>,
    /// Their places, found by what they hold.
    known: HashTable<u32>,
    /// Where the next one is put together.
    draft: Vec<(u64, u64)>,
}

impl Default for Held {
    fn default() -> Self {
        // The empty set is never looked for.
        Held { sets: vec![Box::new([])], known: HashTable::new(), draft: Vec::new() }
    }
}

fn hash(set: &[(u64, u64)]) -> u64 {
    set.iter().fold(0, |h, r| mix(h ^ mix(r.0) ^ r.1.rotate_left(32)))
}

impl Held {
    pub(crate) fn get(&self, id: u32) -> &[(u64, u64)] {
        &self.sets[id as usize]
    }

    /// The place of what was drafted.
    fn id(&mut self) -> u32 {
        let Held { sets, known, draft } = self;
        if draft.is_empty() {
            return 0;
        }
        let new = hash(draft);
        if let Some(&id) = known.find(new, |&id| *sets[id as usize] == **draft) {
            return id;
        }
        let id = sets.len() as u32;
        sets.push(draft.as_slice().into());
        known.insert_unique(new, id, |&id| hash(&sets[id as usize]));
        id
    }

    /// The set with `[seq, end)` added.
    fn with(&mut self, id: u32, seq: u64, end: u64) -> u32 {
        let old = &self.sets[id as usize];
        let from = old.partition_point(|r| r.1 < seq);
        let to = old.partition_point(|r| r.0 <= end);
        let mut merged = (seq, end);
        if from < to {
            merged = (seq.min(old[from].0), end.max(old[to - 1].1));
        }
        self.draft.clear();
        self.draft.extend_from_slice(&old[..from]);
        self.draft.push(merged);
        self.draft.extend_from_slice(&old[to..]);
        self.id()
    }

    /// Takes away what `next` has reached; where it then stands.
    fn absorb(&mut self, id: u32, mut next: u64) -> (u32, u64) {
        let old = &self.sets[id as usize];
        let mut gone = 0;
        while gone < old.len() && old[gone].0 <= next {
            next = next.max(old[gone].1);
            gone += 1;
        }
        if gone == 0 {
            return (id, next);
        }
        self.draft.clear();
        self.draft.extend_from_slice(&old[gone..]);
        (self.id(), next)
    }
}

/// A receiver, as far as its answers show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    /// Of that, and of one that ends with it: what lies wholly below is refused before its timestamp is looked at. So does Linux.
    Touches,
}

impl EchoRule {
    /// All there are.
    pub(crate) const ALL: [EchoRule; 3] = [EchoRule::Reaches, EchoRule::Contains, EchoRule::Touches];
}

/// What an arrival did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effect {
    pub(crate) mirror: Mirror,
    /// The answer may wait.
    pub(crate) may_wait: bool,
    /// One waits already, and this segment, in its turn, may be answered together with it and the next (a stretch ACK, RFC 2525
    /// section 2.13); whether several wait already.
    pub(crate) may_stretch: Option<bool>,
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
        if seq == end {
            // The FIN alone, before all that it ends: it is answered, and not held.
            let (may_wait, may_stretch) = (false, None);
            return Effect { mirror: m, may_wait, may_stretch, fills: false, duplicate: None, beyond: None };
        }
        if let Some(stamp) = stamp {
            let takes = match rule {
                EchoRule::Reaches => seq <= m.told && stamp.wrapping_sub(m.echo) < 1 << 31,
                EchoRule::Contains => seq <= m.told && m.told < end,
                EchoRule::Touches => seq <= m.told && m.told <= end && stamp.wrapping_sub(m.echo) < 1 << 31,
            };
            if takes {
                m.echo = stamp;
            }
        }
        let had = m.holds(held, seq, end);
        let mut duplicate = had.then_some((seq, end));
        let (mut may_wait, mut may_stretch, mut fills, mut beyond) = (false, None, false, None);
        if !had && seq <= m.next {
            if seq < m.next {
                duplicate = Some((seq, m.next));
            }
            fills = m.held != 0;
            (m.held, m.next) = held.absorb(m.held, end);
            may_wait = !self.waits && duplicate.is_none();
            let in_turn = self.waits && duplicate.is_none() && !fills;
            may_stretch = in_turn.then(|| self.next - self.told.min(self.next) > end - seq);
        } else if !had {
            m.held = held.with(m.held, seq, end);
            beyond = Some(seq);
        }
        Effect { mirror: m, may_wait, may_stretch, fills, duplicate, beyond }
    }

    /// It answers.
    pub(crate) fn answers(mut self) -> Mirror {
        self.told = self.next;
        self.waits = false;
        self
    }
}
