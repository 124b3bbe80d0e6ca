//! NewReno recovery from partial ACKs (RFC 6582).
//!
//! A partial ACK reveals the next lost segment: it is retransmitted, and recovery lasts until everything sent
//! before it is acknowledged (RFC 6582; RFC 2582 for the variants; catalogue TB-08, TB-09, TB-10).

use super::LossRecovery;
use super::reno::Reno;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{PartialResends, PartialTimer};
use crate::tcp::sender::Tcb;
use base::event::Event;
use base::truth::Cause;

/// NewReno state.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno {
    pub(super) reno: Reno,
    partial_seen: bool,
}

impl LossRecovery for NewReno {
    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        if ack.newly_acked > 0 {
            let recovering = tcb.recovery.recovering();
            if recovering && ack.ack < tcb.recover() {
                self.on_partial(tcb, io, ack);
                // Earlier duplicate ACKs still inflate the window and may send new data.
                if tcb.config().newreno.partial_new_data {
                    let burst = tcb.config().recovery_burst;
                    tcb.send_window(io, burst);
                }
                return;
            }
            self.on_timeout(&mut tcb.recovery);
            tcb.advance(io, ack, true);
            if recovering {
                io.record(|| Event::RecoveryEnded { ack: ack.ack });
                if !tcb.config().grow_on_exit {
                    //= RFC 6582 section 3.2 step 3: cwnd = min(ssthresh, max(FlightSize, SMSS) + SMSS)
                    let mss = tcb.window.mss;
                    let flight = (tcb.flight() as f64).max(mss) + mss;
                    tcb.window.cwnd = tcb.window.ssthresh.min(flight);
                }
            }
            if !recovering || tcb.config().grow_on_exit {
                tcb.open_window(ack);
            }
            tcb.send_window(io, 0);
        } else if ack.duplicate {
            self.reno.on_duplicate(tcb, io, ack);
            if self.reno.duplicates >= tcb.dupthresh() {
                let burst = tcb.config().recovery_burst;
                tcb.send_on_duplicate(io, burst);
            }
        } else if !ack.old && self.reno.duplicates == 0 {
            tcb.send_window(io, 0);
        }
    }
}

impl NewReno {
    fn on_partial(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let mss = u64::from(tcb.mss());
        let config = *tcb.config();
        let first = !self.partial_seen;
        let restart = config.newreno.partial_timer == PartialTimer::SlowButSteady || first;
        self.partial_seen = true;
        if config.newreno.partial_deflation {
            //= RFC 6582 section 3.2 step 5: deflate by the amount acknowledged, add back one segment
            let acked = ack.newly_acked;
            let from_inflation = acked.min(tcb.recovery.inflation);
            tcb.recovery.inflation -= from_inflation;
            let rest = acked - from_inflation;
            if acked >= mss {
                tcb.recovery.inflation += mss;
            }
            let window = &mut tcb.window;
            window.cwnd = (window.cwnd - rest as f64).max(window.mss);
        } else {
            tcb.recovery.inflation = 0;
        }
        tcb.advance(io, ack, restart);
        let end = tcb.retransmit(io, tcb.una(), Cause::Recovery);
        self.reno.count_from_here(tcb, self.reno.duplicates);
        if first && config.newreno.partial_resends == PartialResends::Outstanding {
            tcb.go_back_to(end);
        }
    }
}
