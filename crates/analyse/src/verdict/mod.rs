//! Verdict on a retransmission, needed or unneeded, inferred from ACKs (`Judge`): open verdicts, arrivals and losses
//! of copies, final verdicts.
//!
//! A retransmission is unneeded if an earlier copy of all its bytes ever reaches the receiver.
//!
//! An ACK is triggered by the arrival of one packet and states what had arrived by then. Each ACK bounds the
//! fates of copies. A copy sent less than a round trip ago, or with a timestamp later than the echo, cannot
//! be the trigger. Without reordering, everything sent before the trigger has arrived or is lost. Fates
//! follow from the bounds, verdicts from the fates. A verdict stays open until a later packet was
//! acknowledged and one more minimum RTT has passed.

mod cover;
mod duplicates;
mod open;
mod ruling;

use crate::facts::copies::{Copies, Copy, Evidence, Fate};
use crate::facts::digest::AckDigest;
use crate::facts::ranges::Ranges;
use crate::facts::rtt::Rtt;
use crate::facts::ts_clock::TimestampClock;
use base::{Span, Time};
use open::{Open, OpenSet};

base::named! {
    /// The verdict on a retransmission.
    pub enum Need {
        /// No earlier copy of some of its bytes reached the receiver.
        Needed = "needed",
        /// An earlier copy of all its bytes reached the receiver.
        Unneeded = "unneeded",
        /// The capture has no evidence.
        Unknown = "unknown",
    }
}

/// A final verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FinalVerdict {
    pub(crate) result: usize,
    pub(crate) need: Need,
    pub(crate) evidence: Evidence,
    /// Time of the ACK that covered the retransmission.
    pub(crate) covered: Option<Time>,
    /// Departure time of that ACK from the receiver, on the capture clock, if timestamps reveal it.
    pub(crate) left: Option<Time>,
}

/// Verdicts on the retransmissions of one direction.
#[derive(Default, Debug)]
pub(crate) struct Judge {
    pub(crate) open: OpenSet,
    /// Highest serial of a copy known to have arrived, or to have been sent before an arrived copy.
    front: u64,
    /// Serial below which missing copies were last marked as lost.
    lost_before: u64,
    /// Highest SACKed byte when missing copies were last marked as lost.
    lost_top: u64,
    /// Cumulative ACK when missing copies were last marked as lost.
    lost_at: u64,
    /// Byte up to which ACKs have narrowed down the candidates.
    narrowed: u64,
    /// Time of the last duplicate ACK without a new SACK block.
    idle_duplicate: Option<Time>,
    /// Time of the receiver's last packet that follows lost packets of the receiver, by IP identification.
    pub(crate) answers_lost: Option<Time>,
    /// Time when the capture was last found to lack packets or options.
    pub(crate) torn: Option<Time>,
    /// Largest reordering seen, in serials.
    pub(crate) disorder: u64,
    /// A DSACK was received in this direction.
    pub(crate) reports_duplicates: bool,
    /// SACK was negotiated, and no evidence shows that the receiver omits DSACK.
    pub(crate) may_report: bool,
    /// The handshake shows that SACK is off.
    pub(crate) without_sack: bool,
    /// The capture has ended.
    over: bool,
    /// Timestamps are in use.
    pub(crate) stamped: bool,
}

/// Upper limit of open verdicts; beyond it the oldest is closed.
const MOST: usize = 1 << 12;
/// Upper limit of open verdicts on one segment: senders abort after fewer retransmissions.
const MOST_OF_ONE: usize = 64;

/// State of the direction at an ACK.
pub(crate) struct State<'a> {
    pub(crate) sacked: &'a Ranges,
    pub(crate) rtt: &'a Rtt,
    /// Duplicate ACKs before the present ACK.
    pub(crate) duplicates: u64,
    /// Timestamp clock of the receiver.
    pub(crate) clock: &'a TimestampClock,
    /// TSval of the present ACK.
    pub(crate) stamp: Option<u32>,
}

impl Judge {
    /// Opens the verdict on a retransmission.
    #[allow(clippy::too_many_arguments, reason = "each is one fact")]
    pub(crate) fn resent(
        &mut self,
        copies: &mut Copies,
        copy: Copy,
        result: usize,
        acked: u64,
        state: &State<'_>,
    ) -> Option<FinalVerdict> {
        let settled = if copy.end <= acked {
            Some((Need::Unneeded, Evidence::Acked))
        } else if state.sacked.holds(copy.seq.max(acked), copy.end) {
            Some((Need::Unneeded, Evidence::Sacked))
        } else {
            None
        };
        // Arrivals known before the first retransmission.
        if let Some(first) = copies.first_of(acked) {
            self.front = self.front.max((first.serial + state.duplicates).saturating_sub(1).min(copy.serial));
        }
        if let Some(top) = state.sacked.top().and_then(|top| copies.first_of(top - 1)) {
            self.front = self.front.max(top.serial);
        }
        let alone = self.open.is_empty();
        let covered = settled.map(|_| (copy.t, copy.end));
        let open = Open {
            copy,
            result,
            acked,
            covered,
            answer: None,
            candidates: Vec::new(),
            reports: 0,
            settled,
            passed: None,
        };
        self.open.insert(open, copy.t);
        if alone {
            // No open verdict depends on earlier losses.
            (self.lost_before, self.lost_top) = (self.limit(), state.sacked.top().unwrap_or(0));
            self.lost_at = acked;
            self.narrowed = acked;
        }
        self.lose_of(copies, acked, state.sacked, copy.serial);
        self.lose(copies, acked, state.sacked);
        let same = self.open.of(copy.seq, copy.seq + 1);
        let oldest = if self.open.len() > MOST { self.open.first() } else { None };
        let oldest = oldest.or_else(|| same.first().copied().filter(|_| same.len() > MOST_OF_ONE))?;
        let oldest = self.open.remove(oldest)?;
        Some(self.rule(copies, &oldest, state))
    }

    /// Marks missing copies sent before the front as lost, on a path without reordering. Evaluates the serials that
    /// the front has passed, and the bytes that ACKs have exposed, since the last call.
    fn lose(&mut self, copies: &mut Copies, ack: u64, sacked: &Ranges) {
        let limit = self.limit();
        let mut some: Vec<u64> = Vec::new();
        if limit > self.lost_before {
            let passed = limit - self.lost_before;
            if passed > self.open.waiting_len() as u64 {
                some.extend(self.open.all_waiting());
            } else {
                for copy in (self.lost_before..limit).filter_map(|serial| copies.get(serial)) {
                    some.extend(self.open.waiting(copy.seq, copy.end));
                }
            }
        }
        let top = sacked.top().unwrap_or(0);
        if top > self.lost_top {
            some.extend(self.open.waiting(self.lost_top, top));
        }
        if ack != self.lost_at {
            some.extend(self.open.waiting(ack, ack + 1));
        }
        (self.lost_before, self.lost_top, self.lost_at) = (limit, top, ack);
        some.sort_unstable();
        some.dedup();
        for serial in some {
            self.lose_of(copies, ack, sacked, serial);
        }
    }

    /// Applies [`Judge::lose`] to one retransmission. Missing are the first unacknowledged byte and the gaps between
    /// SACK blocks; without SACK nothing further is known.
    fn lose_of(&self, copies: &mut Copies, ack: u64, sacked: &Ranges, serial: u64) {
        let limit = self.limit();
        let Some(open) = self.open.get(serial) else { return };
        if open.covered.is_some() || open.copy.end <= ack {
            return;
        }
        let (seq, end) = (open.copy.seq.max(ack), open.copy.end);
        if sacked.holds(seq, end) || (sacked.top().is_none_or(|top| top <= seq) && seq > ack) {
            return;
        }
        let gone: Vec<u64> = copies
            .of(seq, end)
            .filter(|c| c.serial < limit && c.fate == Fate::Open && !sacked.holds(c.seq.max(ack), c.end))
            .map(|c| c.serial)
            .collect();
        for serial in gone {
            set(copies, serial, Fate::Lost(Evidence::Order));
        }
    }

    /// Processes an ACK while verdicts are open; appends the verdicts that become final.
    pub(crate) fn on_ack(
        &mut self,
        copies: &mut Copies,
        d: &AckDigest,
        state: &State<'_>,
        out: &mut Vec<FinalVerdict>,
    ) {
        let before = self.front;
        // Latest copy that can have triggered the ACK.
        let mut latest = u64::MAX;
        if d.advances()
            && let Some(filler) = self.filler(copies, d, state.rtt)
        {
            self.comes_now(copies, filler);
            if d.hole || d.held {
                latest = filler;
            }
            self.raise(filler);
        }
        if d.advances()
            && let Some(first) = copies.first_of(d.ack - 1)
        {
            self.raise(first.serial);
        }
        for &(_, right) in d.news() {
            if let Some(first) = copies.first_of(right - 1) {
                self.raise(first.serial);
            }
        }
        if d.duplicate {
            self.raise(before + 1);
        }
        if let Some((left, right)) = d.dsack {
            self.duplicate(copies, d, left, right, Evidence::Dsack, None, state.rtt);
        } else if d.duplicate && d.echo_moved {
            self.echoed(copies, d, state.rtt);
        }
        self.cover(copies, d, latest, state);
        self.edges(copies, d.ack);
        self.lose(copies, d.ack, state.sacked);
        if d.duplicate && d.newly == 0 {
            self.idle_duplicate = Some(d.t);
        }
        self.open.pass(self.front, self.disorder, d.t);
        let wait = state.rtt.least_of_all().unwrap_or(Span::ZERO);
        while let Some(open) = self.open.next_ready(d.t, wait) {
            out.push(self.rule(copies, &open, state));
        }
    }

    /// Serial below which missing copies are lost.
    fn limit(&self) -> u64 {
        self.front.saturating_sub(self.disorder)
    }

    fn raise(&mut self, to: u64) {
        self.front = self.front.max(to);
    }
}

/// Whether copy `c` was sent too late to have triggered an ACK at `t`. Uses three quarters of the minimum RTT, since
/// samples may include waiting for other packets.
fn is_too_late(c: &Copy, t: Time, rtt: &Rtt) -> bool {
    rtt.floor(c.end - c.seq).is_some_and(|least| t.since(c.t).as_nanos() < least.as_nanos() / 4 * 3)
}

/// Sets the fate of a copy; an observed arrival is final.
fn set(copies: &mut Copies, serial: u64, fate: Fate) {
    let Some(copy) = copies.get_mut(serial) else { return };
    if matches!(copy.fate, Fate::Arrived(_)) {
        return;
    }
    copy.fate = fate;
    if let Fate::Arrived(_) = fate {
        let bytes = (copy.seq, copy.end);
        copies.arrived.push(bytes);
    }
}
