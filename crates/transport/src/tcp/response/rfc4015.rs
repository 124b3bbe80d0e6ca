//! Eifel response (RFC 4015).
//!
//! RFC 4015 section 3: restores ssthresh, prevents a burst, and makes the retransmission timer more conservative. The
//! RFC covers timeouts. After a spurious fast retransmit the congestion state is restored too, and the timer is left
//! unchanged.

use super::{ResponseContext, SpuriousResponse};
use crate::recovery::rto::RtoTimer;
use crate::tcp::config::{Config, Rfc4015Timer};
use crate::tcp::spurious::Judged;
use base::Span;

/// Eifel response.
#[derive(Clone, Copy, Debug)]
pub struct Rfc4015 {
    /// Initial window, the bound of the burst, bytes.
    initial_window: f64,
    timer: Rfc4015Timer,
    /// SRTT_prev and RTTVAR_prev, until data beyond the given offset are timed.
    pending: Option<(u64, Span, Span)>,
}

impl SpuriousResponse for Rfc4015 {
    fn new(config: &Config, peer: u64) -> Self {
        let initial_window = config.windows.initial.bytes(config.mss, peer) as f64;
        Rfc4015 { initial_window, timer: config.restoration.rfc4015_timer, pending: None }
    }

    fn on_spurious(&mut self, context: ResponseContext<'_>) -> bool {
        let ResponseContext { episode, ack, late, window, rto, flight } = context;
        let saved = &episode.saved;
        //= RFC 4015 section 3.1 step 9: not if the ACK reports congestion
        if !ack.ece {
            //= RFC 4015 section 3.1 step 9: cwnd = FlightSize + min(bytes acked, IW)
            let cwnd = flight as f64 + (ack.newly_acked as f64).min(self.initial_window);
            // At least one segment; if slow start has continued, at least its window.
            window.cwnd = cwnd.max(if late { window.cwnd } else { window.mss });

            //= RFC 4015 section 3.1 steps 0 and 9: ssthresh = pipe_prev = max(FlightSize, ssthresh)
            window.ssthresh = saved.ssthresh.max(saved.flight as f64);
        }
        if episode.judged == Judged::Timeout {
            //= RFC 4015 section 3.1 step 0: SRTT_prev = SRTT + 2 G, RTTVAR_prev = RTTVAR
            let srtt = saved.srtt + rto.config().tick.times(2);
            match self.timer {
                Rfc4015Timer::NewData => self.pending = Some((saved.max, srtt, saved.rttvar)),
                Rfc4015Timer::AtOnce => {
                    let sample = ack.sample.unwrap_or_default();
                    let config = *rto.config();
                    let rttvar = saved.rttvar.max(Span::from_nanos(sample.as_nanos() / 2));
                    rto.rtt.at_least(srtt.max(sample), rttvar, &config);
                    rto.recompute();
                }
            }
        }
        true
    }

    fn on_sample(&mut self, ack: u64, rtt: Span, rto: &mut RtoTimer) {
        let Some((beyond, srtt, rttvar)) = self.pending else { return };
        if ack <= beyond {
            return;
        }
        self.pending = None;
        //= RFC 4015 section 3.1 step 11: SRTT = max(SRTT_prev, sample), RTTVAR = max(RTTVAR_prev, sample/2)
        let config = *rto.config();
        rto.rtt.assign(srtt.max(rtt), rttvar.max(Span::from_nanos(rtt.as_nanos() / 2)), &config);
        rto.recompute();
    }
}
