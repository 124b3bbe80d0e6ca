//! Trace records of the sender.

use super::Tcb;
use crate::endpoint::Io;
use base::event::{Category, Event};
use base::tcp::Segment;

impl Tcb {
    #[cold]
    pub(super) fn record_sack(&self, io: &mut Io<'_>, segment: &Segment) {
        for block in segment.sack.as_slice() {
            io.record(|| Event::SackBlock { left: block.left, right: block.right });
        }
    }

    #[inline]
    pub(super) fn record_state(&self, io: &mut Io<'_>) {
        if io.tracer.wants(Category::Transport) {
            self.record_window(io);
        }
    }

    #[cold]
    fn record_window(&self, io: &mut Io<'_>) {
        let (cwnd, flight) = (self.window.bytes(), self.flight());
        let ssthresh = self.window.ssthresh_bytes();
        io.record(|| Event::Window {
            cwnd: u32::try_from(cwnd).unwrap_or(u32::MAX),
            ssthresh,
            flight: u32::try_from(flight).unwrap_or(u32::MAX),
        });
        let (rto, srtt, rttvar) = (self.rto.timeout(), self.rto.srtt(), self.rto.rttvar());
        io.record(|| Event::Timer { rto, srtt, rttvar });
    }
}
