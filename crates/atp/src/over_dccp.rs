//! ATP over a DCCP connection (paper III.E): units, deadlines and selective retransmission above, congestion control below.
//!
//! Every ATP packet is one datagram of the connection, acknowledgements too. A fragment leaves ATP when nothing waits in
//! the connection any more, so that the congestion control decides when, and expiry still catches what waits. With RTP
//! headers in between this is the real-time stack that the overview assumes: SR-RTP on DCCP with TFRC (catalogue RT-12).

use crate::control::{Control, SharedWindow};
use crate::packet::{Atp, Content};
use crate::{AtpEnd, Config};
use base::Time;
use base::body::{Body, Channel, Range};
use base::packet::{Flags, Packet};
use base::rng::Stream;
use base::truth::Cause;
use dccp::connection::Lifetime;
use dccp::{Ccid, Connection, Dccp};
use std::collections::BTreeMap;
use transport::app::Socket;
use transport::app::message::{Message, MessageEvent, MessageId};
use transport::endpoint::{Endpoint, EndpointReport, Expiring, Io, Outgoing, Role};

/// A packet of DCCP, and the packet of ATP that is its payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Layered {
    /// The datagram.
    pub dccp: Dccp,
    /// Its payload, if it is a packet of ATP.
    pub atp: Option<Atp>,
}

impl Body for Layered {
    fn flags(&self) -> Flags {
        match &self.atp {
            Some(atp) => atp.flags(),
            None => self.dccp.flags(),
        }
    }
    fn ranges(&self, cause: Cause, each: impl FnMut(Range)) {
        if let Some(atp) = &self.atp {
            atp.ranges(cause, each);
        }
    }
    fn acks(&self, _each: impl FnMut(Channel, u64)) {}
    fn unit(&self) -> u16 {
        self.atp.as_ref().map_or(0, Body::unit)
    }
    fn class(&self) -> u8 {
        self.atp.as_ref().map_or(0, Body::class)
    }
    fn encode(&self, out: &mut Vec<u8>) -> Option<u8> {
        let start = out.len();
        let protocol = self.dccp.encode(out)?;
        if let Some(atp) = &self.atp {
            let mut payload = Vec::new();
            crate::wire::write(atp, &mut payload);
            // The datagram's own payload is zeros; a packet that was cut in two is in the last one.
            let room = (out.len() - start).min(self.dccp.payload as usize).min(payload.len());
            let at = out.len() - room;
            out[at..].copy_from_slice(&payload[..room]);
        }
        Some(protocol)
    }
}

/// Endpoint of an ATP flow over DCCP.
pub struct OverDccp {
    atp: AtpEnd,
    dccp: Connection,
    /// ATP packets that wait in the connection, by the number of their datagram.
    waiting: BTreeMap<MessageId, Outgoing<Atp>>,
    /// Datagram of the ACK that waits for a unit, by the unit's number; at most one ACK of a unit waits.
    acks: BTreeMap<u64, MessageId>,
    above: Vec<Outgoing<Atp>>,
    below: Vec<Outgoing<Dccp>>,
}

impl OverDccp {
    /// A new endpoint; `ccid` is the congestion control, `isn` the connection's first sequence number.
    pub fn new(config: Config, ccid: Ccid, isn: u64, role: Role) -> Self {
        let dccp = dccp::Config {
            ccids: vec![ccid],
            payload: config.payload + crate::packet::HEADER + config.carrier.header(),
            ecn: config.ecn,
            lifetime: Lifetime::Message,
            isn,
            ..dccp::Config::default()
        };
        let mut atp = AtpEnd::new(Config { option: 0, ..config }, role, SharedWindow::default());
        atp.set_control(Control::Carrier { open: false });
        OverDccp {
            atp,
            dccp: Connection::new(dccp, role),
            waiting: BTreeMap::new(),
            acks: BTreeMap::new(),
            above: Vec::new(),
            below: Vec::new(),
        }
    }

    /// With RTCP reports, where RTP lies between; `chance` gives source, timestamps and report intervals.
    #[must_use]
    pub fn reporting(mut self, chance: Stream) -> Self {
        self.atp = self.atp.reporting(chance);
        self
    }

    /// The DCCP connection that carries the flow.
    pub fn connection(&self) -> &Connection {
        &self.dccp
    }
    /// The ATP endpoint.
    pub fn units(&self) -> &AtpEnd {
        &self.atp
    }

    fn with_atp(&mut self, io: &mut Io<'_, Layered>, act: impl FnOnce(&mut AtpEnd, &mut Io<'_, Atp>)) {
        let mut own = Io { now: io.now, out: &mut self.above, tracer: &mut *io.tracer, source: io.source };
        act(&mut self.atp, &mut own);
    }
    fn with_dccp(&mut self, io: &mut Io<'_, Layered>, act: impl FnOnce(&mut Connection, &mut Io<'_, Dccp>)) {
        let mut own = Io { now: io.now, out: &mut self.below, tracer: &mut *io.tracer, source: io.source };
        act(&mut self.dccp, &mut own);
    }

    /// Passes packets down until the connection accepts no more, and forwards its output.
    fn pump(&mut self, io: &mut Io<'_, Layered>) {
        loop {
            for packet in std::mem::take(&mut self.above) {
                // A newer ACK of a unit replaces an older ACK still in the queue.
                let acked = acked(&packet.body);
                let older = acked.and_then(|adu| self.acks.get(&adu));
                if let Some(older) = older.and_then(|id| self.waiting.get_mut(id)) {
                    *older = packet;
                    continue;
                }
                let bytes = u64::from(packet.size);
                let lives = packet.lives != Packet::ALWAYS;
                let lifetime = lives.then(|| base::Span::from_nanos(u64::from(packet.lives) * 1000));
                let message = Message { lifetime, ..Message::of(bytes) };
                if let Some(id) = self.dccp.send(message) {
                    self.waiting.insert(id, packet);
                    if let Some(adu) = acked {
                        self.acks.insert(adu, id);
                    }
                }
            }
            self.with_dccp(io, |dccp, io| dccp.transmit(io));
            self.forget();
            let open = self.dccp.state().carries_data() && !self.dccp.is_waiting();
            self.atp.set_control(Control::Carrier { open });
            if !open {
                break;
            }
            let rtt = self.dccp.rtt();
            if !rtt.is_zero() {
                self.atp.on_round_trip_below(rtt);
            }
            self.with_atp(io, |atp, io| atp.transmit(io));
            if self.above.is_empty() {
                break;
            }
        }
        if self.atp.is_done() && !self.dccp.is_waiting() {
            self.dccp.close();
            self.with_dccp(io, |dccp, io| dccp.transmit(io));
        }
        self.give_out(io);
    }

    /// Discards packets whose lifetime expired while they waited.
    fn forget(&mut self) {
        while let Some(event) = self.dccp.poll_event() {
            if let MessageEvent::Expired(id) | MessageEvent::Abandoned(id) = event {
                self.take(id);
            }
        }
    }

    /// Removes a packet that waits.
    fn take(&mut self, id: MessageId) -> Option<Outgoing<Atp>> {
        let packet = self.waiting.remove(&id)?;
        if let Some(adu) = acked(&packet.body) {
            self.acks.remove(&adu);
        }
        Some(packet)
    }

    fn give_out(&mut self, io: &mut Io<'_, Layered>) {
        for packet in std::mem::take(&mut self.below) {
            let (id, last) = packet.body.message;
            let whole = packet.body.is_data() && last;
            let atp = if whole { self.take(id) } else { None };
            io.out.push(Outgoing {
                size: packet.size,
                cause: atp.as_ref().map_or(Cause::New, |atp| atp.cause),
                ecn: packet.ecn,
                path: packet.path,
                lives: packet.lives,
                body: Layered { dccp: packet.body, atp: atp.map(|atp| atp.body) },
            });
        }
    }
}

/// Number of the unit that the packet acknowledges; `None` for packets that are no ACK.
fn acked(packet: &Atp) -> Option<u64> {
    matches!(packet.content, Content::Ack { .. }).then_some(packet.adu)
}

impl Socket for OverDccp {
    fn write(&mut self, bytes: u64) {
        self.atp.write(bytes);
    }
    fn close(&mut self) {
        self.atp.close();
    }
    fn stop(&mut self) {
        self.atp.stop();
        self.dccp.stop();
    }
    fn received(&self) -> u64 {
        self.atp.received()
    }
    fn acknowledged(&self) -> u64 {
        self.atp.acknowledged()
    }
    fn send(&mut self, message: Message) -> Option<MessageId> {
        self.atp.send(message)
    }
    fn keeps_messages(&self) -> bool {
        true
    }
    fn has_events(&self) -> bool {
        self.atp.has_events()
    }
    fn poll_event(&mut self) -> Option<MessageEvent> {
        self.atp.poll_event()
    }
}

impl Endpoint for OverDccp {
    type Body = Layered;

    fn open(&mut self, io: &mut Io<'_, Layered>) {
        self.with_dccp(io, |dccp, io| dccp.open(io));
        self.with_atp(io, |atp, io| atp.open(io));
        self.pump(io);
    }

    fn handle_packet(&mut self, io: &mut Io<'_, Layered>, body: &Layered, head: &Packet) {
        let before = self.dccp.counters().data_received;
        self.with_dccp(io, |dccp, io| dccp.handle_packet(io, &body.dccp, head));
        // A datagram that the connection refuses, such as a second copy, is not passed to ATP.
        let taken = self.dccp.counters().data_received > before || head.flags.has(Flags::STUB);
        if let Some(atp) = body.atp.as_ref().filter(|_| taken) {
            self.with_atp(io, |end, io| end.handle_packet(io, atp, head));
        }
        self.pump(io);
    }

    fn handle_timeout(&mut self, io: &mut Io<'_, Layered>) {
        if self.dccp.next_timeout() <= io.now {
            self.with_dccp(io, |dccp, io| dccp.handle_timeout(io));
        }
        if self.atp.next_timeout() <= io.now {
            self.with_atp(io, |atp, io| atp.handle_timeout(io));
        }
        self.pump(io);
    }

    fn transmit(&mut self, io: &mut Io<'_, Layered>) {
        self.with_atp(io, |atp, io| atp.transmit(io));
        self.pump(io);
    }

    fn next_timeout(&self) -> Time {
        self.dccp.next_timeout().min(self.atp.next_timeout())
    }
    fn written(&self) -> (u64, bool) {
        self.atp.written()
    }
    fn expiring(&self, now: Time) -> Option<Expiring> {
        self.atp.expiring(now).or_else(|| self.dccp.expiring(now))
    }
    fn report(&self) -> EndpointReport {
        let mut report = Endpoint::report(&self.atp);
        report.named.retain(|(name, _)| *name != "congestion_events");
        report.named.extend(Endpoint::report(&self.dccp).named);
        report
    }
    fn delivered(&self) -> u64 {
        self.atp.delivered()
    }
    fn takes_stubs(&self) -> bool {
        true
    }
}
