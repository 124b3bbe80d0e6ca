//! NewReno recovery from partial ACKs (RFC 6582).
//!
//! A partial acknowledgement shows the next one: resend it and stay in recovery until everything sent before is
//! acknowledged (RFC 6582; RFC 2582 for the variants; catalogue TB-08, TB-09, TB-10).

use super::reno::{Reno, count_from_here, on_duplicate};
use super::{Rules, state as state_of};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{PartialResends, PartialTimer};
use crate::tcp::sender::Sender;
use base::event::Event;
use base::truth::Cause;

/// NewReno between acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno {
    pub(super) reno: Reno,
    partial_seen: bool,
}

fn state(sender: &mut Sender) -> &mut NewReno {
    state_of(sender)
}

impl Rules for NewReno {
    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        if ack.newly_acked > 0 {
            let recovering = state(sender).reno.recovering;
            if recovering && ack.ack < sender.recover() {
                on_partial(sender, io, ack);
                // Duplicates of the series still count; new data only as they let out.
                if sender.config().partial_new_data {
                    let burst = sender.config().recovery_burst;
                    sender.send_window(io, burst);
                }
                return;
            }
            *state(sender) = NewReno::default();
            sender.advance(io, ack, true);
            if recovering {
                io.record(|| Event::RecoveryEnded { ack: ack.ack });
                if !sender.config().grow_on_exit {
                    //= RFC 6582 section 3.2 step 3: cwnd = min(ssthresh, max(FlightSize, SMSS) + SMSS)
                    let mss = sender.window.mss;
                    let flight = (sender.flight() as f64).max(mss) + mss;
                    sender.window.cwnd = sender.window.ssthresh.min(flight);
                }
            }
            if !recovering || sender.config().grow_on_exit {
                sender.open_window(ack);
            }
            sender.send_window(io, 0);
        } else if ack.duplicate {
            on_duplicate(sender, io, ack);
            if state(sender).reno.duplicates >= sender.dupthresh() {
                let burst = sender.config().recovery_burst;
                sender.send_on_duplicate(io, burst);
            }
        } else if !ack.old && state(sender).reno.duplicates == 0 {
            sender.send_window(io, 0);
        }
    }

    fn recovering(&self) -> bool {
        self.reno.recovering
    }

    fn inflation(&self) -> u64 {
        self.reno.inflation
    }
}

fn on_partial(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    let mss = u64::from(sender.mss());
    let config = *sender.config();
    let s = state(sender);
    let first = !s.partial_seen;
    let restart = config.partial_timer == PartialTimer::SlowButSteady || first;
    s.partial_seen = true;
    if config.partial_deflation {
        //= RFC 6582 section 3.2 step 5: deflate by what was acknowledged, add back one segment
        let acked = ack.newly_acked;
        let from_inflation = acked.min(s.reno.inflation);
        s.reno.inflation -= from_inflation;
        let rest = acked - from_inflation;
        if acked >= mss {
            s.reno.inflation += mss;
        }
        let window = &mut sender.window;
        window.cwnd = (window.cwnd - rest as f64).max(window.mss);
    } else {
        s.reno.inflation = 0;
    }
    sender.advance(io, ack, restart);
    let end = sender.retransmit(io, sender.una(), Cause::Recovery);
    let duplicates = state(sender).reno.duplicates;
    count_from_here(sender, duplicates);
    if first && config.partial_resends == PartialResends::Outstanding {
        sender.go_back_to(end);
    }
}
