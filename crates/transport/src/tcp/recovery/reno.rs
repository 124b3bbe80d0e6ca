//! What if each duplicate means that a packet has left the network? Then half of the window may stay
//! in flight while the lost segment is resent: fast recovery, which the first new acknowledgement ends
//! (RFC 5681 section 3.2; catalogue TB-05, TB-07).

use super::Rules;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Sender;
use base::event::Event;

/// Reno between acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno {
    pub(super) duplicates: u32,
    pub(super) recovering: bool,
    pub(super) inflation: u64,
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
            on_duplicate(sender, io);
            if duplicates(sender) >= sender.dupthresh() {
                sender.send_window(io, 0);
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
pub(super) fn on_duplicate(sender: &mut Sender, io: &mut Io<'_>) {
    let (mss, dupthresh) = (u64::from(sender.mss()), sender.dupthresh());
    let inflate_always = sender.config().inflate_always;
    let s = state(sender);
    s.duplicates += 1;
    let duplicates = s.duplicates;
    if duplicates == dupthresh {
        if sender.may_fast_retransmit() {
            sender.begin_fast_retransmit(io);
            sender.halve_both();
            sender.retransmit(io, sender.una(), base::truth::Cause::Fast);
            let s = state(sender);
            s.recovering = true;
            s.inflation = u64::from(dupthresh) * mss;
        } else if inflate_always {
            state(sender).inflation = u64::from(dupthresh) * mss;
        }
    } else if duplicates > dupthresh {
        if s.recovering || inflate_always {
            //= RFC 5681 section 3.2 step 4: each further duplicate inflates by a segment
            s.inflation += mss;
        }
    } else {
        sender.limited_transmit(io, duplicates);
    }
}
