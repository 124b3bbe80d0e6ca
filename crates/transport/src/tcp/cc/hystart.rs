//! HyStart: end of slow start by delay increase or ACK train (Ha and Rhee).
//!
//! Slow start ends when the RTT grows, or when the ACKs of one round form a train as long as half the RTT.
//! HyStart (Ha and Rhee, "Taming the elephants: new TCP slow start", 2011), with the constants of Linux. It
//! ends slow start at once; its successor HyStart++ ([`super::hystart_plus`]) slows down first.
//!
//! One of the variants of [`super::slow_start`].

use super::{Acked, Window};
use base::{Span, Time};

/// Minimum window for HyStart, segments.
const LOW_WINDOW: f64 = 16.0;
/// RTT samples needed per round before the delay test.
const SAMPLES: u32 = 8;
/// Delay threshold: an eighth of the minimum RTT, within these bounds.
const LEAST: Span = Span::from_millis(4);
const MOST: Span = Span::from_millis(16);
/// Largest gap between two ACKs of one train.
const SPACING: Span = Span::from_millis(2);

/// HyStart state.
#[derive(Clone, Copy, Debug, Default)]
pub struct HyStart {
    /// End of the round, stream offset.
    round_end: u64,
    /// Start time of the round.
    began: Time,
    /// Time of the last ACK of the train that began with the round.
    train: Time,
    samples: u32,
    /// Minimum RTT of this round.
    round_least: Option<Span>,
    /// Minimum RTT of the connection.
    least: Option<Span>,
}

impl HyStart {
    /// Processes an ACK in slow start: opens the window, or ends slow start.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Acked) {
        if self.tells(window, ack) {
            window.ssthresh = window.cwnd;
            return;
        }
        window.slow_start(ack.bytes);
    }

    /// Processes an RTT sample; returns whether slow start should end.
    pub fn tells(&mut self, window: &Window, ack: &Acked) -> bool {
        if let Some(rtt) = ack.sample {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
        if ack.ack > self.round_end {
            (self.round_end, self.began, self.train) = (ack.sent, ack.now, ack.now);
            (self.samples, self.round_least) = (0, None);
        }
        window.cwnd >= LOW_WINDOW * window.mss && self.is_full(ack)
    }

    /// Whether the ACK train or the delay test indicates a full path.
    fn is_full(&mut self, ack: &Acked) -> bool {
        let (Some(least), Some(rtt)) = (self.least, ack.sample) else { return false };
        if ack.now.since(self.train) <= SPACING {
            self.train = ack.now;
            // Half of the RTT: the one-way delay of the forward path.
            if ack.now.since(self.began) > Span::from_nanos(least.as_nanos() / 2) {
                return true;
            }
        }
        let round_least = self.round_least.map_or(rtt, |r| r.min(rtt));
        self.round_least = Some(round_least);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        round_least > least + LEAST.max(Span::from_nanos(least.as_nanos() / 8).min(MOST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Config;

    /// A window of `segments`, and acknowledgements `apart_ms`, each with that round trip.
    fn ends_after(segments: f64, rtts_ms: impl Iterator<Item = f64>, apart_ms: f64) -> Option<usize> {
        let mut window = Window::new(&Config { mss: 1000, ..Config::default() }, 1 << 30);
        window.cwnd = segments * 1000.0;
        let mut hystart = HyStart::default();
        for (k, rtt) in rtts_ms.enumerate() {
            let now = Time::from_secs_f64(1.0 + k as f64 * apart_ms / 1000.0);
            let sample = Some(Span::from_secs_f64(rtt / 1000.0));
            let ack = 1 + 1000 * (k as u64 + 1);
            hystart.on_ack(
                &mut window,
                &Acked { now, bytes: 1000, ack, sent: 1 << 20, sample, srtt: Span::ZERO },
            );
            if !window.in_slow_start() {
                return Some(k + 1);
            }
        }
        None
    }

    #[test]
    fn a_round_trip_that_has_grown_by_an_eighth_ends_it() {
        // A round of one ACK with 80 ms; in the next round eight samples are collected, and the ninth
        // decides: 90 ms is not more than 80 + 10, 91 ms is.
        let second_round = |later: f64| {
            let mut window = Window::new(&Config { mss: 1000, ..Config::default() }, 1 << 30);
            window.cwnd = 20_000.0;
            let mut hystart = HyStart::default();
            let mut n = 0;
            for (k, (rtt, sent)) in
                [(80.0, 1500)].into_iter().chain(std::iter::repeat_n((later, 1 << 20), 30)).enumerate()
            {
                let now = Time::from_secs_f64(1.0 + 0.005 * k as f64);
                let sample = Some(Span::from_secs_f64(rtt / 1000.0));
                let ack = 1001 + 1000 * k as u64;
                hystart.on_ack(&mut window, &Acked { now, bytes: 1000, ack, sent, sample, srtt: Span::ZERO });
                n += 1;
                if !window.in_slow_start() {
                    return Some(n);
                }
            }
            None
        };
        assert_eq!(second_round(90.0), None);
        assert_eq!(second_round(91.0), Some(10));
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_it() {
        // 80 ms, acknowledgements 1 ms apart: more than 40 ms after the first.
        assert_eq!(ends_after(60.0, std::iter::repeat_n(80.0, 60), 1.0), Some(42));
        // Further apart they are no train.
        assert_eq!(ends_after(60.0, std::iter::repeat_n(80.0, 60), 3.0), None);
    }

    #[test]
    fn small_windows_are_left_alone() {
        let rtts = || (0..10).map(|k| 80.0 + 100.0 * f64::from(k));
        assert_eq!(ends_after(2.0, rtts(), 5.0), None);
    }
}
