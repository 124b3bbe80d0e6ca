//! Tahoe recovery (Jacobson 1988; catalogue TB-06).
//!
//! Resend, and start slowly again (Jacobson 1988; catalogue TB-06).

use super::{Rules, state};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Sender;

/// Tahoe's only memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tahoe {
    duplicates: u32,
}

impl Rules for Tahoe {
    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        let counts = sender.counts(ack);
        let state = state::<Tahoe>(sender);
        if ack.newly_acked > 0 {
            state.duplicates = 0;
            sender.advance(io, ack, true);
            sender.open_window(ack);
        } else if ack.duplicate && counts {
            state.duplicates += 1;
            let duplicates = state.duplicates;
            if duplicates == sender.dupthresh() {
                if sender.may_fast_retransmit() {
                    sender.begin_fast_retransmit(io);
                    sender.halve_threshold();
                    sender.window.cwnd = sender.window.mss;
                    sender.go_back(io);
                    return;
                }
            } else if duplicates < sender.dupthresh() {
                sender.limited_transmit(io, duplicates);
            }
        }
        if !ack.old {
            sender.send_window(io, 0);
        }
    }

    /// Its duplicates go on counting, which shows only where the bug fix is off.
    fn on_timeout(&mut self) {}

    fn recovering(&self) -> bool {
        false
    }
}
