//! Endpoint and socket interfaces of an SCTP association: methods that its host and its application call.

use super::{Association, State};
use crate::chunk::Packet;
use base::Time;
use transport::Io;
use transport::app::Socket;
use transport::app::message::{Message, MessageEvent, MessageId};
use transport::endpoint::{Endpoint, EndpointReport, Expiring};

impl Socket for Association {
    fn write(&mut self, bytes: u64) {
        if !self.closing {
            self.outbound.push_bulk(bytes);
        }
    }
    fn close(&mut self) {
        self.closing = true;
    }
    fn stop(&mut self) {
        self.outbound.clear();
    }
    fn read_slowly(&mut self, slowly: bool) {
        self.slow = slowly;
        if !slowly {
            self.unread = 0;
            self.receipt.due |= self.associated();
        }
    }
    fn read(&mut self, bytes: u64) -> u64 {
        let before = self.room();
        let took = bytes.min(self.unread);
        self.unread -= took;
        //= RFC 9260 section 6.2: a window that opens again is announced to the peer
        let packet = self.config.packet();
        self.receipt.due |= before < packet && self.room() >= packet && self.associated();
        took
    }
    fn received(&self) -> u64 {
        self.inbound.delivered()
    }
    fn acknowledged(&self) -> u64 {
        self.acked_bytes
    }
    fn received_on(&self, stream: u16) -> u64 {
        self.inbound.delivered_on(stream)
    }
    fn acknowledged_on(&self, stream: u16) -> u64 {
        self.acked_streams.get(usize::from(stream)).copied().unwrap_or(0)
    }
    fn send(&mut self, message: Message) -> Option<MessageId> {
        (!self.closing).then(|| self.outbound.push(message))
    }
    fn streams(&self) -> u16 {
        self.outbound.streams()
    }
    fn keeps_messages(&self) -> bool {
        true
    }
    fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
    fn poll_event(&mut self) -> Option<MessageEvent> {
        self.events.pop_front()
    }
}

impl Endpoint for Association {
    type Body = Packet;

    fn open(&mut self, io: &mut Io<'_, Packet>) {
        self.outbound.stamp(io.now);
        self.connect(io);
    }

    fn handle_packet(&mut self, io: &mut Io<'_, Packet>, body: &Packet, head: &base::Packet) {
        self.outbound.stamp(io.now);
        self.on_packet(io, body, head);
        if self.clocked || self.rush.is_some() {
            self.flush(io);
        } else {
            self.flush_quietly(io);
        }
    }

    fn handle_timeout(&mut self, io: &mut Io<'_, Packet>) {
        self.outbound.stamp(io.now);
        self.on_timers(io);
        self.flush(io);
    }

    fn transmit(&mut self, io: &mut Io<'_, Packet>) {
        self.outbound.stamp(io.now);
        self.connect(io);
        self.flush(io);
    }

    fn handle_too_big(&mut self, io: &mut Io<'_, Packet>, path: u8, mtu: u32) {
        self.path_mtu(io, path, mtu);
    }

    fn next_timeout(&self) -> Time {
        self.earliest()
    }

    fn written(&self) -> (u64, bool) {
        (self.outbound.written(), self.closing)
    }

    fn expiring(&self, now: Time) -> Option<Expiring> {
        let due = |path: &&crate::path::Path| path.timer.deadline() <= now && path.flight > 0;
        let path = self.paths.iter().find(due)?;
        Some(Expiring { flight: path.flight, established: true })
    }

    fn report(&self) -> EndpointReport {
        let counts = self.counts();
        let named = vec![
            ("heartbeats", counts.heartbeats as f64),
            ("failovers", counts.failovers as f64),
            ("messages_abandoned", (counts.abandoned + counts.expired) as f64),
            ("duplicates_received", counts.duplicates as f64),
        ];
        EndpointReport {
            unit: self.config.chunk(),
            judged: self.verdicts,
            named,
            ..EndpointReport::default()
        }
    }
}

impl Association {
    /// True once the association has ended.
    pub fn closed(&self) -> bool {
        self.state == State::Closed
    }
}
