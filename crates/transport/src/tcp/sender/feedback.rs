//! Delivery rate samples and losses that a congestion control asks for.
//!
//! BBR moves its window by them; a control that asks for neither costs nothing here.

use super::Tcb;
use crate::recovery::rate::RateSample;
use crate::recovery::sent::Record;
use crate::tcp::cc::{Control, Controller, Delivery, Loss};
use base::{Span, Time};

/// What the congestion control asks to be told beside acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    /// How fast data are delivered.
    pub(super) rates: bool,
    /// Every segment found lost.
    pub(super) losses: bool,
    /// Losses before deliveries: the recovery sees to the order.
    pub(super) losses_first: bool,
    /// Least round trip seen, if rates are measured.
    pub(super) min_rtt: Option<Span>,
}

impl Feedback {
    /// As `control` asks; `finds`: the recovery finds losses by itself, before anything is resent.
    pub(super) fn new(control: &Controller, finds: bool) -> Self {
        let losses = control.hears_losses();
        Feedback { rates: control.wants_rates(), losses, losses_first: losses && finds, min_rtt: None }
    }
}

impl Tcb {
    /// Tells the congestion control what was found lost since it was last told.
    #[inline(never)]
    pub(super) fn hear_losses(&mut self, now: Time) {
        let Some(sent) = &mut self.sent else { return };
        let delivered = sent.delivered();
        for (record, lost) in sent.take_losses() {
            self.control.on_lost(&self.window, &Loss { now, record, lost, delivered });
        }
    }

    /// The recovery has taken for lost what the acknowledgement shows to be, and is about to send: a congestion
    /// control that wants to know hears of it, and then of what was delivered.
    #[inline]
    pub(in crate::tcp) fn hear_then_deliver(&mut self, now: Time) {
        if self.feedback.losses_first {
            self.hear_losses(now);
            self.deliver(now);
        }
    }

    /// Tells the congestion control what was delivered, and how fast.
    #[inline(never)]
    pub(super) fn deliver(&mut self, now: Time) {
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
