//! Send log of one direction (`Copies`): first transmissions and retransmissions of data segments with their fate, and
//! the evidence of verdicts.
//!
//! First transmissions are sorted by byte, retransmissions by time. Serial numbers count both in order of sending.

use base::Time;
use std::collections::{BTreeMap, VecDeque};

base::named! {
    /// Evidence of a verdict.
    pub enum Evidence {
        /// Acknowledged before the retransmission.
        Acked = "acknowledged-before",
        /// SACKed before the retransmission.
        Sacked = "sacked-before",
        /// The timestamp echo identifies the copy that arrived first (RFC 3522).
        Echo = "timestamp-echo",
        /// The receiver reported a duplicate (RFC 2883).
        Dsack = "dsack",
        /// A duplicate ACK echoes the retransmission's timestamp: it arrived as a duplicate.
        Duplicate = "duplicate-echo",
        /// The ACK arrived earlier than any round trip.
        Early = "earlier-than-a-round-trip",
        /// In-order delivery: the fates of packets sent before and after the copy decide.
        Order = "order",
        /// ACK loss: packets sent before the copy arrived without an ACK.
        Jump = "answers-are-missing",
        /// No duplicate was reported although later packets were acknowledged.
        Silence = "no-duplicate-came-back",
        /// Posterior of the HMM: no other event course explains the episode as well.
        Course = "likeliest-course",
        /// The capture at the receiver contains the copy.
        Receiver = "receiver-capture",
        /// Next to the receiver: the bytes had passed the capture point before.
        Seen = "seen-before",
        /// Next to the receiver: the bytes had not passed the capture point before.
        Unseen = "not-seen-before",
        /// Next to the receiver: the bytes had passed before with a timestamp too old for the receiver (PAWS, RFC
        /// 7323).
        Aged = "too-old-before",
        /// No evidence.
        Nothing = "nothing",
    }
}

/// Fate of a copy at the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Fate {
    /// Not known.
    #[default]
    Open,
    /// The copy reached the receiver.
    Arrived(Evidence),
    /// The copy was lost.
    Lost(Evidence),
}

/// One transmission of a data segment (a copy of its bytes).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) serial: u64,
    pub(crate) seq: u64,
    pub(crate) end: u64,
    pub(crate) t: Time,
    pub(crate) stamp: Option<u32>,
    pub(crate) id: Option<u16>,
    /// Bytes in flight after the copy was sent.
    pub(crate) flight: u64,
    pub(crate) fate: Fate,
}

impl Copy {
    pub(crate) fn overlaps(&self, seq: u64, end: u64) -> bool {
        self.seq < end && seq < self.end
    }
}

/// Whether `a` is later than `b` on a 32-bit clock that wraps around.
pub(crate) fn later(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}

/// Send log of one direction.
#[derive(Default, Debug)]
pub(crate) struct Copies {
    /// First transmissions: ascending in serial, bytes and time.
    pub(crate) firsts: VecDeque<Copy>,
    /// Retransmissions: ascending in serial and time.
    pub(crate) agains: VecDeque<Copy>,
    /// Serial of the next copy.
    pub(crate) next: u64,
    /// Length of the longest segment, bytes.
    pub(crate) longest: u64,
    /// Serials of retransmissions by first byte, ascending.
    by_seq: BTreeMap<u64, VecDeque<u64>>,
    /// Ranges of copies whose arrival became known, until `Judge::edges` takes them.
    pub(crate) arrived: Vec<(u64, u64)>,
}

/// Upper limit of stored first transmissions, and of stored retransmissions.
pub(crate) const MOST: usize = 1 << 16;
/// Upper limit of stored retransmissions of one segment. Linux aborts after 15 expiries, BSD after 12.
const MOST_OF_ONE: usize = 64;

impl Copies {
    /// Appends a transmission and returns its serial number.
    pub(crate) fn push(&mut self, mut copy: Copy, again: bool) -> u64 {
        copy.serial = self.next;
        self.next += 1;
        self.longest = self.longest.max(copy.end - copy.seq);
        if !again {
            self.firsts.push_back(copy);
            if self.firsts.len() > MOST {
                self.firsts.pop_front();
            }
            return copy.serial;
        }
        self.agains.push_back(copy);
        let same = self.by_seq.entry(copy.seq).or_default();
        same.push_back(copy.serial);
        if same.len() > MOST_OF_ONE {
            same.pop_front();
        }
        if self.agains.len() > MOST {
            self.forget_again();
        }
        copy.serial
    }

    /// Discards the oldest retransmission.
    fn forget_again(&mut self) {
        let Some(copy) = self.agains.pop_front() else { return };
        if let Some(same) = self.by_seq.get_mut(&copy.seq) {
            if same.front() == Some(&copy.serial) {
                same.pop_front();
            }
            if same.is_empty() {
                self.by_seq.remove(&copy.seq);
            }
        }
    }

    fn again(&self, serial: u64) -> Option<&Copy> {
        self.agains.get(self.agains.partition_point(|c| c.serial < serial)).filter(|c| c.serial == serial)
    }

    /// Retransmissions that share bytes with `[seq, end)`.
    fn agains_of(&self, seq: u64, end: u64) -> impl Iterator<Item = &Copy> {
        self.by_seq
            .range(seq.saturating_sub(self.longest)..end.max(seq.saturating_sub(self.longest)))
            .flat_map(|(_, same)| same)
            .filter_map(|serial| self.again(*serial))
            .filter(move |c| c.overlaps(seq, end))
    }

    /// First transmissions, and retransmissions, sent after `since` with bytes from `byte` on; the latest first.
    pub(crate) fn latest(&self, since: Time, byte: u64) -> [Box<dyn Iterator<Item = &Copy> + '_>; 2] {
        let beyond = move |c: &&Copy| c.end > byte;
        let after = move |c: &&Copy| c.t > since;
        [
            Box::new(self.firsts.iter().rev().take_while(after).take_while(beyond)),
            Box::new(self.agains.iter().rev().take_while(after).filter(beyond)),
        ]
    }

    fn list(&self, again: bool) -> &VecDeque<Copy> {
        if again { &self.agains } else { &self.firsts }
    }

    /// The copy with this serial.
    pub(crate) fn get(&self, serial: u64) -> Option<&Copy> {
        [false, true].into_iter().find_map(|again| {
            let list = self.list(again);
            list.get(list.partition_point(|c| c.serial < serial)).filter(|c| c.serial == serial)
        })
    }

    /// The copy with this serial, mutable.
    pub(crate) fn get_mut(&mut self, serial: u64) -> Option<&mut Copy> {
        for list in [&mut self.firsts, &mut self.agains] {
            let at = list.partition_point(|c| c.serial < serial);
            if list.get(at).is_some_and(|c| c.serial == serial) {
                return list.get_mut(at);
            }
        }
        None
    }

    /// First transmission of this byte.
    pub(crate) fn first_of(&self, byte: u64) -> Option<&Copy> {
        let at = self.firsts.partition_point(|c| c.end <= byte);
        self.firsts.get(at).filter(|c| c.seq <= byte)
    }

    /// Copies that share bytes with `[seq, end)`: first transmissions, then retransmissions.
    pub(crate) fn of(&self, seq: u64, end: u64) -> impl Iterator<Item = &Copy> {
        self.firsts_of(seq, end).chain(self.agains_of(seq, end))
    }

    /// First transmissions that share bytes with `[seq, end)`, in order of bytes.
    pub(crate) fn firsts_of(&self, seq: u64, end: u64) -> impl Iterator<Item = &Copy> {
        let at = self.firsts.partition_point(|c| c.end <= seq);
        self.firsts.range(at..).take_while(move |c| c.seq < end)
    }

    /// Copies with this TSval; several copies share a TSval if the timestamp clock is coarse.
    pub(crate) fn stamped(&self, stamp: u32) -> impl Iterator<Item = &Copy> {
        let of = move |list: &'_ VecDeque<Copy>| {
            let at = list.partition_point(|c| c.stamp.is_none_or(|s| later(stamp, s)));
            (at, list.len())
        };
        let (f, a) = (of(&self.firsts), of(&self.agains));
        let firsts = self.firsts.range(f.0..f.1).take_while(move |c| c.stamp == Some(stamp));
        firsts.chain(self.agains.range(a.0..a.1).take_while(move |c| c.stamp == Some(stamp)))
    }

    /// Discards first transmissions below `edge`, and retransmissions below `edge` with a serial below `serial`.
    pub(crate) fn forget(&mut self, edge: u64, serial: u64) {
        while self.firsts.front().is_some_and(|c| c.end <= edge) {
            self.firsts.pop_front();
        }
        while self.agains.front().is_some_and(|c| c.serial < serial && c.end <= edge) {
            self.forget_again();
        }
    }
}
