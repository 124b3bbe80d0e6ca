//! HyStart++ (RFC 9406).
//!
//! HyStart++ (RFC 9406) compares the minimum RTT of each round with that of the round before. When it has
//! grown, growth slows down (CSS), and slow start ends after five rounds unless the RTT falls again.
//!
//! One of the variants of [`super::slow_start`].

use super::{Acked, Window};
use base::Span;

//= RFC 9406 section 4.3: MIN_RTT_THRESH = 4 msec, MAX_RTT_THRESH = 16 msec, MIN_RTT_DIVISOR = 8
const LEAST: Span = Span::from_millis(4);
const MOST: Span = Span::from_millis(16);
const DIVISOR: u64 = 8;
//= RFC 9406 section 4.3: N_RTT_SAMPLE = 8
const SAMPLES: u32 = 8;
//= RFC 9406 section 4.3: CSS_GROWTH_DIVISOR = 4, CSS_ROUNDS = 5
const GROWTH_DIVISOR: f64 = 4.0;
const ROUNDS: u32 = 5;

/// HyStart++ state.
#[derive(Clone, Copy, Debug, Default)]
pub struct HyStartPlus {
    /// End of the round, stream offset.
    window_end: u64,
    samples: u32,
    least: Option<Span>,
    last_least: Option<Span>,
    /// Conservative slow start: minimum RTT when it began, and rounds since then.
    conservative: Option<(Span, u32)>,
}

impl HyStartPlus {
    /// Processes an ACK in slow start: opens the window, or ends slow start.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Acked) {
        //= RFC 9406 section 4.2: a round ends when data sent at its beginning are acknowledged
        if ack.ack >= self.window_end {
            self.window_end = ack.sent;
            (self.last_least, self.least, self.samples) = (self.least, None, 0);
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
            }
        }
        if let Some(rtt) = ack.sample {
            self.samples += 1;
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
        let before = window.cwnd;
        window.slow_start(ack.bytes);
        match self.conservative {
            None => self.watch(),
            Some((baseline, rounds)) => {
                //= RFC 9406 section 4.2: in conservative slow start the window grows by a quarter as much
                window.cwnd = before + (window.cwnd - before) / GROWTH_DIVISOR;
                let calm = self.samples >= SAMPLES && self.least.is_some_and(|least| least < baseline);
                if calm {
                    //= RFC 9406 section 4.2: the RTT has fallen again: the increase was spurious
                    self.conservative = None;
                } else if rounds >= ROUNDS {
                    //= RFC 9406 section 4.2: after CSS_ROUNDS: ssthresh = cwnd
                    window.ssthresh = window.cwnd;
                    self.conservative = None;
                }
            }
        }
    }

    //= RFC 9406 section 4.2: RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / 8, MAX_RTT_THRESH))
    fn watch(&mut self) {
        let (Some(least), Some(last)) = (self.least, self.last_least) else { return };
        let threshold = LEAST.max(Span::from_nanos(last.as_nanos() / DIVISOR).min(MOST));
        if self.samples >= SAMPLES && least >= last + threshold {
            self.conservative = Some((least, 0));
        }
    }
}
