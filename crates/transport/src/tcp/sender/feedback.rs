//! Delivery rate samples and losses for the congestion control.
//!
//! BBR sets its window from these inputs. They are computed only for algorithms that need them.

use super::Tcb;
use crate::recovery::rate::RateSample;
use crate::recovery::sent::Record;
use crate::tcp::cc::{CongestionAlgorithm, Controller, Delivery, Loss};
use base::{Span, Time};

/// Inputs that the congestion control needs beside ACKs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    /// Delivery-rate samples.
    pub(super) rates: bool,
    /// Losses: one call per segment marked lost.
    pub(super) losses: bool,
    /// Losses are reported before deliveries; recovery calls [`Tcb::report_losses_and_delivery`].
    pub(super) losses_first: bool,
    /// Minimum RTT, if rates are measured.
    pub(super) min_rtt: Option<Span>,
}

impl Feedback {
    /// From the needs of `control`. `finds`: loss recovery marks lost segments before it retransmits.
    pub(super) fn new(control: &Controller, finds: bool) -> Self {
        let losses = control.needs_losses();
        Feedback { rates: control.wants_rates(), losses, losses_first: losses && finds, min_rtt: None }
    }
}

impl Tcb {
    /// Passes newly marked losses to the congestion control.
    #[inline(never)]
    pub(super) fn report_losses(&mut self, now: Time) {
        let Some(sent) = &mut self.sent else { return };
        let delivered = sent.delivered();
        for (record, lost) in sent.take_losses() {
            self.control.on_lost(&self.window, &Loss { now, record, lost, delivered });
        }
    }

    /// Passes the losses that this ACK reveals to the congestion control, then the delivery sample. Recovery
    /// calls it after marking and before sending.
    #[inline]
    pub(in crate::tcp) fn report_losses_and_delivery(&mut self, now: Time) {
        if self.feedback.losses_first {
            self.report_losses(now);
            self.report_delivery(now);
        }
    }

    /// Passes the delivery-rate sample of this ACK to the congestion control.
    #[inline(never)]
    pub(super) fn report_delivery(&mut self, now: Time) {
        let Some(sent) = &self.sent else { return };
        let Some(newest) = sent.newest() else { return };
        let rtt = (!newest.resent).then(|| now.since(newest.sent));
        if let Some(rtt) = rtt {
            self.feedback.min_rtt = Some(self.feedback.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let delivery = Delivery {
            now,
            rate: RateSample::of(sent, self.feedback.min_rtt),
            delivered: sent.delivered(),
            fresh: sent.fresh().iter().map(Record::bytes).sum(),
            flight: sent.in_flight(),
            rtt,
            recovering: self.recovery.recovering(),
            sent_in_flight: newest.then.in_flight,
            lost: sent.found_lost().bytes,
            lost_ranges: sent.found_lost().ranges,
            newest_sent: newest.sent,
        };
        self.control.on_delivery(&mut self.window, &delivery);
    }
}
