//! Staged Eifel response (Ludwig and Katz 2000; the GPRS study, section 3).
//!
//! After one spurious timeout the full state is restored, after two in a row half of it, after three or more
//! nothing.
//!
//! The papers leave three points open, which are options here: the meaning of "subsequent", the window that
//! the first stage restores, and the state that the second and third stage restore (catalogue EI-12, errata
//! E13).
//!
//! With a short queue, the window of the first stage decides how Reno performs. After the delay the queue
//! holds the whole window and the retransmitted copies. A restored window one segment larger than the flight
//! sends two segments on the first ACK. Near the top of the sawtooth this causes one loss more than a single
//! fast retransmit repairs. Reno then waits for a genuine timeout with an RTO from delayed samples (the GPRS
//! study, figure 7); NewReno and SACK do not.

use super::{ResponseContext, SpuriousResponse};
use crate::tcp::config::{Config, StagedConfig, StagedCount, StagedFirst, StagedSecond, StagedThird};

/// Staged response and its counter.
#[derive(Clone, Copy, Debug)]
pub struct Staged {
    config: StagedConfig,
    in_a_row: u32,
}

impl SpuriousResponse for Staged {
    fn new(config: &Config, _: u64) -> Self {
        Staged { config: config.restoration.staged, in_a_row: 0 }
    }

    fn on_spurious(&mut self, context: ResponseContext<'_>) -> bool {
        self.in_a_row += 1;
        let subsequent = match self.config.count {
            StagedCount::Single => 1,
            StagedCount::Expirations => context.episode.expirations,
            StagedCount::Consecutive | StagedCount::Window => self.in_a_row,
        };
        let saved = &context.episode.saved;
        let window = context.window;
        match subsequent {
            0 | 1 => {
                window.ssthresh = saved.ssthresh;
                window.cwnd = match self.config.first {
                    StagedFirst::Saved => saved.cwnd,
                    StagedFirst::Outstanding => {
                        (context.flight + context.ack.newly_acked) as f64 + window.mss
                    }
                };
            }
            2 => {
                let half = (saved.cwnd / 2.0).max(2.0 * window.mss);
                window.cwnd = half;
                window.ssthresh = match self.config.second {
                    StagedSecond::Half => half,
                    StagedSecond::Threshold => saved.cwnd,
                };
            }
            _ => match self.config.third {
                StagedThird::SlowStart => {
                    window.cwnd = window.mss;
                    window.ssthresh = (saved.cwnd / 2.0).max(2.0 * window.mss);
                }
                StagedThird::Nothing => {}
            },
        }
        false
    }

    fn on_genuine(&mut self) {
        self.in_a_row = 0;
    }

    fn on_quiet_window(&mut self) {
        if self.config.count == StagedCount::Window {
            self.in_a_row = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::digest::AckDigest;
    use crate::recovery::rto::RtoTimer;
    use crate::tcp::Config;
    use crate::tcp::cc::Window;
    use crate::tcp::sender::Saved;
    use crate::tcp::spurious::{Episode, Judged};
    use base::{Span, Time};

    /// Ten segments and a half before the timeout, ten of them in flight; one is acknowledged.
    fn restored(first: &str) -> Window {
        let mut config = Config::profile("ns2-2001").unwrap();
        config.set("staged.first", first).unwrap();
        let mut window = Window::new(&config, 20_000);
        (window.cwnd, window.ssthresh) = (1000.0, 5000.0);
        let saved = Saved {
            cwnd: 10_500.0,
            ssthresh: 7000.0,
            flight: 10_000,
            srtt: Span::default(),
            rttvar: Span::default(),
            max: 10_001,
            lossless: true,
        };
        let now = Time::from_secs_f64(9.0);
        let ack = AckDigest { now, ack: 1001, newly_acked: 1000, ..AckDigest::default() };
        Staged::new(&config, 20_000).on_spurious(ResponseContext {
            episode: &Episode { judged: Judged::Timeout, began: now, expirations: 1, saved },
            ack: &ack,
            late: false,
            window: &mut window,
            rto: &mut RtoTimer::new(config.rto),
            flight: 9000,
        });
        window
    }

    #[test]
    fn the_first_stage_restores_the_window_or_what_is_outstanding() {
        let (saved, outstanding) = (restored("saved"), restored("outstanding"));
        assert_eq!((saved.cwnd, saved.ssthresh), (10_500.0, 7000.0));
        assert_eq!((outstanding.cwnd, outstanding.ssthresh), (11_000.0, 7000.0));
    }
}
