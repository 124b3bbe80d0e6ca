//! TCP's connection as a transport endpoint.

use super::Connection;
use crate::endpoint::{Endpoint, EndpointReport, Expiring, Io};
use base::Time;
use base::packet::Packet;
use base::tcp::Segment;

impl Endpoint for Connection {
    type Body = Segment;
    #[inline(always)]
    fn open(&mut self, io: &mut Io<'_>) {
        Self::open(self, io);
    }
    #[inline(always)]
    fn handle_packet(&mut self, io: &mut Io<'_>, body: &Segment, head: &Packet) {
        Self::on_packet(self, io, body, head.id, head.ecn);
    }
    #[inline(always)]
    fn handle_timeout(&mut self, io: &mut Io<'_>) {
        Self::on_timeout(self, io);
    }
    #[inline(always)]
    fn transmit(&mut self, io: &mut Io<'_>) {
        Self::transmit(self, io);
    }
    fn answer(&mut self, io: &mut Io<'_>) {
        Self::answer(self, io);
    }
    fn handle_too_big(&mut self, io: &mut Io<'_>, _path: u8, mtu: u32) {
        Self::path_mtu(self, io, mtu);
    }
    #[inline(always)]
    fn next_timeout(&self) -> Time {
        Self::next_timeout(self)
    }
    #[inline(always)]
    fn written(&self) -> (u64, bool) {
        (self.sender.end(), self.sender.done())
    }
    #[inline(always)]
    fn expiring(&self, now: Time) -> Option<Expiring> {
        let due = self.sender.tcb.rto.deadline() <= now && self.sender.flight() > 0;
        due.then(|| Expiring { flight: self.sender.flight(), established: self.sender.established() })
    }
    fn discards(&self, now: Time, body: &Segment) -> bool {
        Self::discards(self, now, body)
    }
    fn report(&self) -> EndpointReport {
        let unit = self.sender.config().mss;
        let reduced = unit < self.config().mss;
        EndpointReport { unit, reduced, judged: self.sender.verdicts(), named: Vec::new() }
    }
}
