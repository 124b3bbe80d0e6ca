//! How does the standard respond? RFC 4015 section 3: restore the threshold, let out no burst, and make
//! the timer more conservative.

use super::Scene;
use base::Span;

pub(super) fn on_spurious(scene: Scene<'_>, initial_window: f64) {
    let Scene { episode, ack, window, rto, flight } = scene;
    let saved = &episode.saved;
    //= RFC 4015 section 3.2 step 6: not if the ACK reports congestion
    if !ack.ece {
        //= RFC 4015 section 3.2 step 6: cwnd = FlightSize + min(bytes acked, IW)
        let cwnd = flight as f64 + (ack.newly_acked as f64).min(initial_window);
        window.cwnd = cwnd.max(window.mss); // never less than a segment

        //= RFC 4015 section 3.2 step 6: ssthresh = pipe_prev = max(FlightSize, ssthresh)
        window.ssthresh = saved.ssthresh.max(saved.flight as f64);
    }
    //= RFC 4015 section 3.2 steps 8 and 0: SRTT_prev = SRTT + 2G, RTTVAR_prev, or the sample if larger
    let sample = ack.sample.unwrap_or_default();
    let tick = rto.config().tick;
    let srtt = (saved.srtt + tick.times(2)).max(sample);
    let rttvar = saved.rttvar.max(Span::from_nanos(sample.as_nanos() / 2));
    let config = *rto.config();
    rto.rtt.at_least(srtt, rttvar, &config);
    rto.recompute();
}
