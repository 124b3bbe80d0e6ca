//! How did the original Eifel algorithm respond? In stages (Ludwig and Katz 2000; the GPRS study,
//! section 3): after one spurious timeout everything is restored, after two subsequent ones half of
//! it, after three or more nothing.
//!
//! Two things are open in the papers and selectable here: what "subsequent" counts, and what the
//! second and third stage restore (catalogue EI-12, errata E13).

use super::Scene;
use crate::tcp::config::{StagedConfig, StagedCount, StagedSecond, StagedThird};

/// The staged response and its count.
#[derive(Clone, Copy, Debug)]
pub struct Staged {
    config: StagedConfig,
    in_a_row: u32,
}

impl Staged {
    pub(super) fn new(config: StagedConfig) -> Self {
        Staged { config, in_a_row: 0 }
    }

    pub(super) fn on_spurious(&mut self, scene: Scene<'_>) {
        self.in_a_row += 1;
        let subsequent = match self.config.count {
            StagedCount::Single => 1,
            StagedCount::Expirations => scene.episode.expirations,
            StagedCount::Consecutive | StagedCount::Window => self.in_a_row,
        };
        let saved = &scene.episode.saved;
        let window = scene.window;
        match subsequent {
            0 | 1 => (window.ssthresh, window.cwnd) = (saved.ssthresh, saved.cwnd),
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
    }

    pub(super) fn on_genuine(&mut self) {
        self.in_a_row = 0;
    }

    pub(super) fn on_quiet_window(&mut self) {
        if self.config.count == StagedCount::Window {
            self.in_a_row = 0;
        }
    }
}
