//! TCP as a client of a sender-side congestion manager (RFC 3124 section 5.1.1).
//!
//! The macroflow decides when a segment may leave; its window replaces the connection's own. Loss detection,
//! retransmission and the timer stay with the connection. Departure: a fast retransmit and a retransmission on a
//! partial ACK need no grant, since they replace a lost segment.

use super::{Sender, Tcb};
use crate::endpoint::Io;
use crate::macroflow::{Feedback, LossMode, Stream};
use crate::tcp::cc::Reason;
use base::{Span, Time};

/// Stream of this connection.
#[derive(Clone, Debug)]
pub(super) struct Member {
    stream: Stream,
    /// Bytes that the macroflow counts as outstanding (`tcp_ownd`).
    outstanding: u64,
    /// RTT sample for the next feedback.
    sample: Option<Span>,
}

impl Member {
    fn report(&mut self, now: Time, received: u64, lost: u64, mode: LossMode) {
        let rtt = self.sample.take();
        self.outstanding -= received + lost;
        self.stream.update(now, &Feedback { received, lost, mode, rtt });
    }
}

impl Sender {
    /// Puts the connection under a congestion manager.
    pub(in crate::tcp) fn join(&mut self, stream: Stream) {
        self.tcb.macroflow = Some(Box::new(Member { stream, outstanding: 0, sample: None }));
    }

    /// Ends the stream.
    pub(in crate::tcp) fn leave_macroflow(&mut self) {
        self.tcb.close_stream();
    }
}

impl Tcb {
    /// Outstanding bytes of this connection, less those that loss recovery knows to have left the network.
    fn in_network(&self) -> u64 {
        let top = self.seq.nxt.min(self.seq.max).max(self.seq.una);
        (top - self.seq.una).saturating_sub(self.recovery.beyond())
    }

    /// Keeps an RTT sample for the macroflow.
    #[cold]
    pub(super) fn pass_sample(&mut self, rtt: Span) {
        if let Some(member) = &mut self.macroflow {
            member.sample = Some(rtt);
        }
    }

    /// Reports bytes that left or entered the network since the last call.
    fn sync(&mut self, now: Time) {
        let inside = self.in_network();
        let Some(member) = &mut self.macroflow else { return };
        if inside > member.outstanding {
            member.stream.notify(now, inside - member.outstanding);
            member.outstanding = inside;
        } else if inside < member.outstanding {
            member.report(now, member.outstanding - inside, 0, LossMode::NoCongestion);
        }
        self.show_window();
    }

    /// Sets the connection's window to that of the macroflow, for traces.
    fn show_window(&mut self) {
        if let Some(member) = &self.macroflow {
            let state = member.stream.macroflow().state();
            (self.window.cwnd, self.window.ssthresh) = (state.window, state.threshold);
        }
    }

    /// Reports congestion other than a timeout.
    #[cold]
    pub(super) fn report_congestion(&mut self, now: Time, reason: Reason) {
        let mss = u64::from(self.config.mss);
        let Some(member) = &mut self.macroflow else { return };
        let (lost, mode) = match reason {
            Reason::Mark => (0, LossMode::ExplicitCongestion),
            Reason::Loss | Reason::Timeout => (mss.min(member.outstanding), LossMode::LossFeedback),
        };
        member.report(now, 0, lost, mode);
        self.show_window();
    }

    /// Reports a timeout: nothing is outstanding any more, as go-back-N assumes.
    #[cold]
    pub(super) fn report_timeout(&mut self, now: Time) {
        let Some(member) = &mut self.macroflow else { return };
        let lost = member.outstanding;
        member.report(now, 0, lost, LossMode::NoFeedback);
        self.show_window();
    }

    /// Number of segments that unsent data and the peer's window allow.
    fn wanted(&self) -> u32 {
        let (mss, nxt) = (u64::from(self.config.mss), self.seq.nxt);
        let (end, limit) = (self.fin_end(), self.seq.una + self.window_of_peer());
        if nxt >= end {
            return 0;
        }
        let segments = if end <= limit { (end - nxt).div_ceil(mss) } else { limit.saturating_sub(nxt) / mss };
        // If the peer's window is smaller than a segment, a segment is sent only with nothing in flight.
        let segments = if self.flight() == 0 { segments.max(1) } else { segments };
        u32::try_from(segments).unwrap_or(u32::MAX)
    }

    /// Sends a segment for each grant of the macroflow.
    #[cold]
    #[inline(never)]
    pub(super) fn send_granted(&mut self, io: &mut Io<'_>) {
        if self.status.gave_up {
            return self.close_stream();
        }
        self.sync(io.now);
        loop {
            let wanted = self.wanted();
            let Some(member) = &mut self.macroflow else { return };
            member.stream.request(io.now, wanted);
            if !member.stream.take_grant() {
                break;
            }
            let limit = self.seq.una + self.window_of_peer();
            if wanted > 0 && self.send_next(io, limit) {
                self.sync(io.now);
            } else if let Some(member) = &mut self.macroflow {
                member.stream.decline(io.now);
                break;
            }
        }
        self.maybe_persist(io.now);
        if self.seq.done() {
            self.close_stream();
        }
    }

    /// Ends the stream; the other streams divide its share.
    #[cold]
    fn close_stream(&mut self) {
        if let Some(member) = self.macroflow.take() {
            member.stream.close();
        }
    }
}
