//! Reno fast recovery (RFC 5681 section 3.2).
//!
//! Then half of the window may stay in flight while the lost segment is resent: fast recovery, which the first new
//! acknowledgement ends (RFC 5681 section 3.2; catalogue TB-05, TB-07).

use super::Rules;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{BlockedDuplicates, DuplicatesConfig, LostRetransmission, RecoveryDuplicates};
use crate::tcp::sender::Sender;
use base::event::Event;

/// Reno between acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno {
    pub(super) duplicates: u32,
    pub(super) recovering: bool,
    pub(super) inflation: u64,
    /// As many duplicates as what was sent before the last retransmission can cause, and the threshold.
    budget: u32,
}

impl Rules for Reno {
    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        if ack.newly_acked > 0 {
            let super::Strategy::Reno(state) = &mut sender.strategy else { return };
            let was_recovering = state.recovering;
            *state = Reno::default();
            sender.advance(io, ack, true);
            if was_recovering {
                io.record(|| Event::RecoveryEnded { ack: ack.ack });
            }
            if !was_recovering || sender.config().grow_on_exit {
                sender.open_window(ack);
            }
            sender.send_window(io, 0);
        } else if ack.duplicate {
            on_duplicate(sender, io, ack);
            if duplicates(sender) >= sender.dupthresh() {
                sender.send_on_duplicate(io, 0);
            }
        } else if !ack.old && duplicates(sender) == 0 {
            sender.send_window(io, 0);
        }
    }

    fn recovering(&self) -> bool {
        self.recovering
    }

    fn repairs_partially(&self) -> bool {
        false
    }

    fn inflation(&self) -> u64 {
        self.inflation
    }
}

fn duplicates(sender: &mut Sender) -> u32 {
    state(sender).duplicates
}

/// The state that Reno and NewReno share.
pub(super) fn state(sender: &mut Sender) -> &mut Reno {
    match &mut sender.strategy {
        super::Strategy::Reno(s) => s,
        super::Strategy::NewReno(s) => &mut s.reno,
        _ => unreachable!("asked by Reno and NewReno only"),
    }
}

/// A duplicate: counts, and at the threshold resends.
pub(super) fn on_duplicate(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    let (mss, dupthresh) = (u64::from(sender.mss()), sender.dupthresh());
    let DuplicatesConfig { blocked, in_recovery, .. } = sender.config().duplicates;
    let inflates = in_recovery == RecoveryDuplicates::Inflate;
    if !sender.counts(ack) {
        return;
    }
    let s = state(sender);
    s.duplicates += 1;
    let (duplicates, recovering, budget) = (s.duplicates, s.recovering, s.budget);
    if duplicates == dupthresh && !recovering {
        if sender.may_fast_retransmit() {
            sender.begin_fast_retransmit(io);
            sender.halve_both();
            sender.retransmit(io, sender.una(), base::truth::Cause::Fast);
            let s = state(sender);
            s.recovering = true;
            s.inflation = if inflates { u64::from(dupthresh) * mss } else { 0 };
            count_from_here(sender, 0);
        } else {
            inflate_blocked(sender, blocked, u64::from(dupthresh) * mss);
        }
    } else if duplicates > dupthresh {
        if !recovering {
            inflate_blocked(sender, blocked, mss);
        } else if inflates {
            //= RFC 5681 section 3.2 step 4: each further duplicate inflates by a segment
            state(sender).inflation += mss;
        }
        if recovering
            && duplicates >= budget
            && sender.config().lost_retransmission == LostRetransmission::Count
        {
            sender.resend_lost_retransmission(io);
            count_from_here(sender, duplicates);
        }
    } else {
        sender.limited_transmit(io, duplicates);
    }
}

/// Duplicates that may not cause a fast retransmit are worth `bytes` of window.
fn inflate_blocked(sender: &mut Sender, blocked: BlockedDuplicates, bytes: u64) {
    match blocked {
        BlockedDuplicates::Ignore | BlockedDuplicates::EverySecond => {}
        BlockedDuplicates::Inflate => {
            let s = state(sender);
            s.inflation += bytes;
        }
        BlockedDuplicates::Keep => sender.window.cwnd += bytes as f64,
    }
}

/// The oldest segment was resent when `duplicates` had come: what is outstanding above it can cause so
/// many more, and then some only if the retransmission was lost (catalogue RB-12).
pub(super) fn count_from_here(sender: &mut Sender, duplicates: u32) {
    let outstanding = sender.flight().div_ceil(u64::from(sender.mss()));
    let above = u32::try_from(outstanding).unwrap_or(u32::MAX).saturating_sub(1);
    let budget = duplicates.saturating_add(above).saturating_add(sender.dupthresh());
    state(sender).budget = budget;
}
