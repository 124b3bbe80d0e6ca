//! ECN echo response (RFC 3168 section 6.1.2).
//!
//! An echo reduces the window as a loss does, once per RTT, but nothing is resent.

use super::Tcb;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::cc::{CongestionAlgorithm, Reason};
use base::event::Event;

impl Tcb {
    /// Processes an ACK with ECN-Echo.
    #[cold]
    pub(super) fn on_echo(&mut self, io: &mut Io<'_>, ack: &AckDigest) {
        if !self.ecn.agreed {
            return;
        }
        //= RFC 3168 section 6.1.2: an acknowledgement with an echo does not open the window
        self.judging.opened = true;
        if !self.ecn.wants_reduction(ack.ack) || self.recovery.recovering() {
            return;
        }
        let least = self.window.bytes() <= u64::from(self.config.mss);
        if self.macroflow.is_some() {
            self.report_congestion(io.now, Reason::Mark);
        } else if least && self.config.ecn.hold && !self.control.owns_window() {
            //= RFC 3168 section 6.1.2: a window of one cannot be halved: the timer is reset, and its expiry sends
            self.ecn.holds = true;
            self.restart_timer(io.now);
        }
        self.reduce(Reason::Mark);
        if !self.control.owns_window() {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
        self.ecn.reduced_for_mark(self.seq.max);
        let acked = ack.ack;
        io.record(|| Event::MarkEchoed { ack: acked });
    }
}
