//! Feasibility check of ATP (paper III.A): units that cannot arrive within their lifetime are given up.

use super::AtpEnd;
use crate::control::Control;
use crate::packet::{Atp, Content};
use base::Span;
use base::truth::Cause;
use transport::endpoint::Io;

impl AtpEnd {
    /// The rate of delivery, once a queue shows that the link and not the window sets it.
    fn delivery_rate(&self) -> Option<f64> {
        // A transport below paces by itself: arrivals show little of its capacity.
        if matches!(self.control, Control::Carrier { .. }) {
            return None;
        }
        let queued = 2 * u128::from(self.rto.srtt().as_nanos()) >= 3 * u128::from(self.least_rtt.as_nanos());
        self.delivery.filter(|_| queued && self.least_rtt != Span::FOREVER)
    }

    /// A transport below has measured a round trip. Until a fragment is acknowledged a unit is taken to need all of it,
    /// since its small packets say nothing of the transmission time of data.
    pub(crate) fn on_round_trip_below(&mut self, rtt: Span) {
        self.rtt_below = self.rtt_below.min(rtt);
    }

    /// Gives up units whose lifetime is over, and those that cannot arrive within it.
    pub(super) fn give_up_what_expired(&mut self, io: &mut Io<'_, Atp>) {
        // The rest of the unit needs its bytes over the rate and half a round trip: latency and bandwidth (paper
        // III.A).
        let feasibility = self.config.feasibility;
        // The least round trip: the smoothed one stays inflated by a queue or a pause that is over.
        let measured = self.least_rtt != Span::FOREVER;
        let least = if measured { self.least_rtt } else { self.rto.srtt() };
        let (rtt, size) = (least, self.config.payload);
        // An estimate that no ACK has confirmed for two timeouts is invalid: without this a flow
        // that gives everything up would never learn better.
        let fresh = self.heard + self.timeout().times(2) >= io.now;
        let (control, delivery) = (&self.control, self.delivery_rate());
        let known = measured || self.rtt_below != Span::FOREVER;
        let latency = if known && !measured { self.rtt_below } else { Span::from_nanos(rtt.as_nanos() / 2) };
        let gone = self.sender.expire(io.now, |bytes| {
            let by_link = || delivery.map(|rate| Span::from_secs_f64(bytes as f64 / rate));
            // Without an estimate of the rate a unit takes half a round trip at least.
            let at_once = || known.then_some(Span::ZERO);
            let time = control.time_for(bytes, rtt, size).or_else(by_link).or_else(at_once);
            time.filter(|_| feasibility && fresh).map(|time| time + latency)
        });
        for adu in gone {
            let abort = self.packet(adu, Content::Abort);
            self.emit(io, abort, Cause::New, None);
        }
        let left = self.sender.left_behind();
        self.control.on_left(0, left);
        if self.sender.outstanding() == 0 {
            self.rto.stop();
        }
    }
}
