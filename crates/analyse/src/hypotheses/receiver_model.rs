//! Receiver model of event courses: reassembly queue, timestamp to echo (TS.Recent), pending delayed ACK, and effect
//! of an arriving segment.
//!
//! Each node of the hidden Markov model has one receiver state.

use base::rng::mix;
use hashbrown::HashTable;

/// Sets of out-of-order byte ranges, ascending and disjoint; equal sets are stored once.
#[derive(Debug)]
pub(crate) struct RangeSets {
    sets: Vec<Box<[(u64, u64)]>>,
    /// Index of each set by its ranges.
    known: HashTable<u32>,
    /// Scratch space for the next set.
    draft: Vec<(u64, u64)>,
}

impl Default for RangeSets {
    fn default() -> Self {
        // Index 0 is the empty set, which needs no hash entry.
        RangeSets { sets: vec![Box::new([])], known: HashTable::new(), draft: Vec::new() }
    }
}

fn hash(set: &[(u64, u64)]) -> u64 {
    set.iter().fold(0, |h, r| mix(h ^ mix(r.0) ^ r.1.rotate_left(32)))
}

impl RangeSets {
    pub(crate) fn get(&self, id: u32) -> &[(u64, u64)] {
        &self.sets[id as usize]
    }

    /// Index of the set in `draft`; adds the set if it is new.
    fn id(&mut self) -> u32 {
        let RangeSets { sets, known, draft } = self;
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

    /// Index of the set with `[seq, end)` added.
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

    /// Set without the ranges that `next` has reached, and the advanced `next`.
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

/// Receiver state as far as it determines ACKs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReceiverModel {
    /// Next byte expected.
    pub(crate) next: u64,
    /// Index in [`RangeSets`] of the out-of-order ranges beyond `next`.
    pub(crate) held: u32,
    /// TS.Recent: timestamp of the next echo (RFC 7323 section 4.3).
    pub(crate) ts_recent: u32,
    /// Last.ACK.sent: last cumulative acknowledgement.
    pub(crate) last_ack_sent: u64,
    /// A delayed ACK is pending.
    pub(crate) ack_pending: bool,
}

/// Rule by which a receiver updates TS.Recent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum EchoRule {
    /// From any segment that begins at or below the last ACK sent (RFC 7323 section 4.3).
    #[default]
    Reaches,
    /// From the segment that contains the last ACK sent (RFC 1323 section 3.4).
    Contains,
    /// From a segment that contains the last ACK sent or ends there. A segment wholly below is discarded before its
    /// timestamp is read, as in Linux.
    Touches,
}

impl EchoRule {
    /// All rules, in order of preference.
    pub(crate) const ALL: [EchoRule; 3] = [EchoRule::Reaches, EchoRule::Contains, EchoRule::Touches];
}

/// Effect of an arriving segment on the receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effect {
    pub(crate) receiver: ReceiverModel,
    /// The ACK of the segment may be delayed.
    pub(crate) may_wait: bool,
    /// Set if an ACK is pending and this in-order segment may join it in a stretch ACK (RFC 2525 section 2.13); true
    /// if several segments are pending already.
    pub(crate) may_stretch: Option<bool>,
    /// The segment fills a gap, completely or in part.
    pub(crate) fills: bool,
    /// Duplicate range that a DSACK would report (RFC 2883).
    pub(crate) duplicate: Option<(u64, u64)>,
    /// First byte of the segment, if it lies beyond a gap.
    pub(crate) beyond: Option<u64>,
}

impl ReceiverModel {
    /// Whether all of `[seq, end)` has arrived.
    pub(crate) fn holds(&self, held: &RangeSets, seq: u64, end: u64) -> bool {
        let seq = seq.max(self.next);
        seq >= end || held.get(self.held).iter().any(|r| r.0 <= seq && end <= r.1)
    }

    /// Effect of the arrival of a segment `[seq, end)` with the TSval `stamp`.
    pub(crate) fn takes(
        &self,
        held: &mut RangeSets,
        seq: u64,
        end: u64,
        stamp: Option<u32>,
        rule: EchoRule,
    ) -> Effect {
        let mut m = *self;
        if seq == end {
            // A FIN without data is acknowledged but not queued.
            let (may_wait, may_stretch) = (false, None);
            return Effect {
                receiver: m,
                may_wait,
                may_stretch,
                fills: false,
                duplicate: None,
                beyond: None,
            };
        }
        if let Some(stamp) = stamp {
            let takes = match rule {
                EchoRule::Reaches => seq <= m.last_ack_sent && stamp.wrapping_sub(m.ts_recent) < 1 << 31,
                EchoRule::Contains => seq <= m.last_ack_sent && m.last_ack_sent < end,
                EchoRule::Touches => {
                    seq <= m.last_ack_sent
                        && m.last_ack_sent <= end
                        && stamp.wrapping_sub(m.ts_recent) < 1 << 31
                }
            };
            if takes {
                m.ts_recent = stamp;
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
            may_wait = !self.ack_pending && duplicate.is_none();
            let in_turn = self.ack_pending && duplicate.is_none() && !fills;
            may_stretch = in_turn.then(|| self.next - self.last_ack_sent.min(self.next) > end - seq);
        } else if !had {
            m.held = held.with(m.held, seq, end);
            beyond = Some(seq);
        }
        Effect { receiver: m, may_wait, may_stretch, fills, duplicate, beyond }
    }

    /// State after an ACK was sent.
    pub(crate) fn answers(mut self) -> ReceiverModel {
        self.last_ack_sent = self.next;
        self.ack_pending = false;
        self
    }
}
