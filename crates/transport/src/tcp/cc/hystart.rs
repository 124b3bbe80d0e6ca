//! HyStart: end of slow start by delay increase or ACK train (Ha and Rhee).
//!
//! When round trips grow, or when the acknowledgements of one round come in a train half a round trip long: HyStart
//! (Ha and Rhee, "Taming the elephants: new TCP slow start", 2011), with the numbers that Linux gave it. It ends slow
//! start at once; HyStart++ ([`super::hystart_plus`]) is its careful successor.
//!
//! A way of [`super::slow_start`].

use super::{Acked, Window};
use base::{Span, Time};

/// Smaller windows, segments, are left alone.
const LOW_WINDOW: f64 = 16.0;
/// So many round trips of a round are looked at before one says anything.
const SAMPLES: u32 = 8;
/// Growth of the least round trip that tells: an eighth of it, within these bounds.
const LEAST: Span = Span::from_millis(4);
const MOST: Span = Span::from_millis(16);
/// Acknowledgements this far apart at most belong to one train.
const SPACING: Span = Span::from_millis(2);

/// What it remembers between acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
pub struct HyStart {
    /// Where the round ends.
    round_end: u64,
    /// When it began.
    began: Time,
    /// The last acknowledgement of the train that began with the round.
    train: Time,
    samples: u32,
    /// The least round trip of this round.
    round_least: Option<Span>,
    /// Of the connection.
    least: Option<Span>,
}

impl HyStart {
    /// An acknowledgement in slow start: opens the window, or ends slow start.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Acked) {
        if self.tells(window, ack) {
            window.ssthresh = window.cwnd;
            return;
        }
        window.slow_start(ack.bytes);
    }

    /// Takes in a round trip; whether it says that the window is large enough.
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

    /// Whether the window fills the path, as far as this acknowledgement tells.
    fn is_full(&mut self, ack: &Acked) -> bool {
        let (Some(least), Some(rtt)) = (self.least, ack.sample) else { return false };
        if ack.now.since(self.train) <= SPACING {
            self.train = ack.now;
            // Half of the round trip: what a full forward path takes to empty.
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
        // A round of one acknowledgement, 80 ms; in the next one eight are looked at, and the ninth tells:
        // 90 ms is not more than 80 + 10, 91 ms is.
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
