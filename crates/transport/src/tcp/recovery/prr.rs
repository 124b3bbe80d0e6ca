//! Proportional rate reduction (RFC 6937).
//!
//! The amount sent is the amount delivered times the target fraction of the old flight.
//!
//! The algorithm needs an estimate of the bytes in flight, so it works with `rfc3517`, `rfc6675`, `fack` and
//! `rack`. Each ACK sets cwnd to that estimate plus the bytes that may be sent now; the recovery then fills
//! the window as usual.

use crate::recovery::digest::AckDigest;
use crate::tcp::cc::Window;
use crate::tcp::config::{PrrBound, PrrUnit, Reduction};
use crate::tcp::sender::Tcb;

/// Proportional rate reduction of the current recovery, if it is on; otherwise every call does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Proportional(Option<Prr>);

impl Proportional {
    /// Starts a recovery, as configured.
    pub(super) fn begin(tcb: &Tcb) -> Self {
        Proportional(Prr::begin(tcb))
    }

    pub(super) fn is_on(self) -> bool {
        self.0.is_some()
    }

    /// Bytes that a reordering timeout counts as delivered: one segment in segment units (Linux 6.12,
    /// net/ipv4/tcp_recovery.c: `tcp_rack_reo_timeout`).
    pub(super) fn of_a_timer(self) -> u64 {
        self.0.and_then(|prr| prr.segments).map_or(0, |(mss, _)| mss)
    }

    /// [`Proportional::on_ack`] for a recovery based on SACK. Only an ACK without new SACK information is
    /// safe: new information may reveal more losses.
    pub(super) fn on_digest(&mut self, window: &mut Window, ack: &AckDigest, pipe: u64) {
        self.on_ack(window, ack.delivered, pipe, ack.newly_acked > 0 && !ack.sack_news);
    }

    /// [`Prr::on_ack`].
    #[inline]
    pub(super) fn on_ack(&mut self, window: &mut Window, delivered: u64, pipe: u64, safe: bool) {
        if let Some(prr) = &mut self.0 {
            prr.on_ack(window, delivered, pipe, safe);
        }
    }

    /// Counts bytes sent, new or retransmitted; returns them.
    pub(super) fn sent(&mut self, bytes: u64) -> u64 {
        if let Some(prr) = &mut self.0 {
            prr.out += bytes;
        }
        bytes
    }

    /// Ends the recovery.
    pub(super) fn end(self, window: &mut Window) {
        if self.is_on() {
            //= RFC 6937 section 3: at the end of recovery cwnd = ssthresh
            window.cwnd = window.ssthresh;
        }
    }
}

/// PRR state of one recovery.
#[derive(Clone, Copy, Debug)]
struct Prr {
    /// `RecoverFS`: bytes outstanding when recovery began.
    flight: u64,
    /// `prr_delivered`: bytes delivered since recovery began.
    delivered: u64,
    /// `prr_out`: bytes sent since recovery began.
    out: u64,
    bound: PrrBound,
    /// Variant in segment units: segment size in bytes, and cwnd before the recovery in segments. `delivered` then
    /// counts segments.
    segments: Option<(u64, u64)>,
}

impl Prr {
    /// Starts a recovery; `None` if the window is halved at once, or set by the congestion control alone.
    fn begin(tcb: &Tcb) -> Option<Prr> {
        let config = tcb.config();
        //= RFC 6937 section 3: prr_delivered = prr_out = 0, RecoverFS = snd.nxt - snd.una
        (config.reduction == Reduction::Prr && !tcb.owns_window()).then(|| Prr {
            flight: tcb.flight().max(1),
            delivered: 0,
            out: 0,
            bound: config.prr.bound,
            segments: (config.prr.unit == PrrUnit::Segments).then(|| {
                let mss = u64::from(config.mss);
                (mss, (tcb.window.bytes() / mss).max(1))
            }),
        })
    }

    /// Variant in whole segments, relative to the window before the recovery instead of the flight. It does
    /// nothing if nothing was delivered; the first ACK permits one segment (Linux 6.12, net/ipv4/tcp_input.c:
    /// `tcp_cwnd_reduction`).
    fn in_segments(
        &mut self,
        window: &mut Window,
        delivered: u64,
        pipe: u64,
        safe: bool,
        mss: u64,
        prior: u64,
    ) {
        if delivered == 0 {
            return;
        }
        let newly = delivered.div_ceil(mss);
        self.delivered += newly;
        let (had, out) = (self.delivered, self.out.div_ceil(mss));
        let (pipe, target) = (pipe.div_ceil(mss), window.ssthresh as u64 / mss);
        let sends = if pipe > target {
            (target * had).div_ceil(prior).saturating_sub(out)
        } else {
            let limit = match self.bound {
                PrrBound::Crb => had.saturating_sub(out),
                PrrBound::Ssrb => had.saturating_sub(out).max(newly) + 1,
                PrrBound::SafeAck => had.saturating_sub(out).max(newly) + u64::from(safe),
            };
            limit.min(target - pipe)
        };
        let sends = sends.max(u64::from(out == 0));
        window.cwnd = ((pipe + sends).max(1) * mss) as f64;
    }

    /// Processes an ACK during recovery, the first one included. `delivered` and `pipe` are in bytes. `safe`:
    /// the ACK advanced SND.UNA and revealed no further loss.
    #[cold] // recoveries are rare
    fn on_ack(&mut self, window: &mut Window, delivered: u64, pipe: u64, safe: bool) {
        if let Some((mss, prior)) = self.segments {
            return self.in_segments(window, delivered, pipe, safe, mss, prior);
        }
        let target = window.ssthresh;
        self.delivered += delivered;
        let (in_network, had, sent) = (pipe as f64, self.delivered as f64, self.out as f64);
        let may_send = if in_network > target {
            //= RFC 6937 section 3: sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
            (had * target / self.flight as f64).ceil() - sent
        } else {
            let limit = match self.bound {
                //= RFC 6937 section 3: PRR-CRB: limit = prr_delivered - prr_out
                PrrBound::Crb => had - sent,
                //= RFC 6937 section 3: PRR-SSRB: limit = MAX(prr_delivered - prr_out, DeliveredData) + MSS
                PrrBound::Ssrb => (had - sent).max(delivered as f64) + window.mss,
                //= RFC 9937 section 6.2: limit = MAX(prr_delivered - prr_out, DeliveredData), + SMSS if safe
                PrrBound::SafeAck => (had - sent).max(delivered as f64) + if safe { window.mss } else { 0.0 },
            };
            //= RFC 6937 section 3: sndcnt = MIN(ssthresh - pipe, limit)
            limit.min(target - in_network)
        };
        //= RFC 6937 section 3: cwnd = pipe + sndcnt
        window.cwnd = (in_network + may_send.max(0.0)).max(window.mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;

    const MSS: u64 = 1000;

    fn window() -> Window {
        let mut config = Config::default();
        config.set("mss", "1000 B").unwrap();
        let mut window = Window::new(&config, 1_000_000);
        window.ssthresh = 10_000.0;
        window
    }

    /// Twenty segments outstanding, the first lost, a target of ten: the figure of RFC 6937 section 5.
    #[test]
    fn one_loss_of_twenty_sends_on_every_second_acknowledgement() {
        let mut window = window();
        let mut prr = Prr { flight: 20 * MSS, delivered: 0, out: 0, bound: PrrBound::Ssrb, segments: None };
        let mut pipe = 19 * MSS; // three duplicates had arrived with limited transmit's segments in place
        let mut sent = 0;
        for _ in 0..18 {
            pipe -= MSS;
            prr.on_ack(&mut window, MSS, pipe, false);
            while window.cwnd - pipe as f64 >= MSS as f64 {
                prr.out += MSS;
                (pipe, sent) = (pipe + MSS, sent + 1);
            }
        }
        assert_eq!((sent, pipe), (9, 10 * MSS));
    }

    /// Below the target one bound conserves packets, the other grows by one more an acknowledgement.
    #[test]
    fn the_bounds_differ_when_most_of_the_flight_is_lost() {
        let sends = |bound, safe| {
            let mut window = window();
            let mut prr = Prr { flight: 20 * MSS, delivered: 0, out: 0, bound, segments: None };
            prr.on_ack(&mut window, MSS, 4 * MSS, safe);
            (window.cwnd as u64 - 4 * MSS) / MSS
        };
        assert_eq!((sends(PrrBound::Crb, true), sends(PrrBound::Ssrb, false)), (1, 2));
        assert_eq!((sends(PrrBound::SafeAck, false), sends(PrrBound::SafeAck, true)), (1, 2));
    }
}
