//! States and sequence validity of a DCCP connection (RFC 4340 sections 7, 8).

use super::{Connection, DATA_HEADER, Lifetime, kind_with_data, sending};
use crate::ccid::{Receiving, Sending};
use crate::packet::{Dccp, Kind, Opt, ResetCode};
use base::packet::{Flags, Packet};
use base::truth::Cause;
use base::{Span, Time};
use transport::endpoint::{Io, Outgoing, Role};

base::named! {
    /// State of a connection (RFC 4340 section 8.4).
    pub enum State {
        /// Not opened, or closed.
        Closed = "closed",
        /// Waits for a request.
        Listen = "listen",
        /// Has sent a request.
        Request = "request",
        /// Has answered a request.
        Respond = "respond",
        /// The client has been answered and must still convince the server.
        PartOpen = "partopen",
        /// Data flow both ways.
        Open = "open",
        /// The server has asked for the close.
        CloseReq = "closereq",
        /// Has sent a close.
        Closing = "closing",
        /// Waits until old packets are gone.
        TimeWait = "timewait",
    }
}

impl State {
    /// Application data may be sent.
    pub const fn carries_data(self) -> bool {
        matches!(self, State::PartOpen | State::Open)
    }
}

/// First timeout of a request and of a close; doubles up to [`MOST_TIMEOUT`] (RFC 4340 section 8.1.1).
const FIRST_TIMEOUT: Span = Span::from_secs(1);
const MOST_TIMEOUT: Span = Span::from_secs(64);
/// Most retransmissions of a request or a close.
const MOST_TRIES: u32 = 9;
/// A client repeats its acknowledgement while the server may not have seen it (RFC 4340 section 8.1.5).
const PARTOPEN_TIMEOUT: Span = Span::from_millis(200);
/// Longest time in PARTOPEN: 4 maximum segment lifetimes (RFC 4340 section 8.1.5).
const PARTOPEN_MOST: Span = Span::from_secs(480);
/// Bytes of the IP option with a deadline.
const DEADLINE_OPTION: u32 = 8;
/// At most one Sync in this time (RFC 4340 section 7.5.4).
const SYNC_GAP: Span = Span::from_millis(125);
/// A sender acknowledges the receiver's acknowledgements once in this many packets (RFC 4341 section 6.2).
const CONFIRM_EVERY: u32 = 64;

impl Connection {
    fn next_seq(&mut self) -> u64 {
        self.gss += 1;
        self.gss
    }

    fn emit(&mut self, io: &mut Io<'_, Dccp>, mut packet: Dccp, lives: Option<Span>) {
        //= RFC 4340 section 7.7: every packet whose predecessor carries no data carries the number of such packets in a row
        if self.dataless > 0 && self.features.sends_ndp() {
            packet.options.push(Opt::NdpCount(self.dataless));
        }
        if packet.is_data() {
            self.dataless = 0;
        } else {
            self.dataless += 1;
            self.sending.on_dataless_sent(io.now, packet.seq);
        }
        let mut bytes = Vec::new();
        crate::wire::write(&packet, &mut bytes);
        // A deadline takes an option of the IP header.
        let option = if lives.is_some() { DEADLINE_OPTION } else { 0 };
        let size = bytes.len() as u32 + self.config.ip_header + option;
        let ecn = if self.config.ecn && packet.is_data() { 2 } else { 0 };
        let mut outgoing = Outgoing::new(packet, size, Cause::New);
        outgoing.ecn = ecn;
        io.out.push(match lives {
            Some(lifetime) => outgoing.living(lifetime),
            None => outgoing,
        });
    }

    fn control(&mut self, io: &mut Io<'_, Dccp>, kind: Kind, ack: Option<u64>, options: Vec<Opt>) {
        let mut packet = Dccp::new(kind, self.next_seq(), ack);
        packet.service = self.config.service;
        packet.options = options;
        packet.offset = self.outbox.end_offset();
        self.emit(io, packet, None);
    }

    /// The active end sends its request.
    pub(super) fn start(&mut self, io: &mut Io<'_, Dccp>) {
        if self.role == Role::Active && self.state == State::Closed && self.expirations == 0 {
            self.state = State::Request;
            self.gss = self.iss - 1;
            self.request(io);
        }
    }

    fn request(&mut self, io: &mut Io<'_, Dccp>) {
        let offer = self.features.offer();
        self.opened_at = io.now;
        self.control(io, Kind::Request, None, offer);
        self.timer = io.now + FIRST_TIMEOUT.times(1 << self.expirations.min(6)).min(MOST_TIMEOUT);
    }

    pub(super) fn on_machine_timeout(&mut self, io: &mut Io<'_, Dccp>) {
        if self.timer > io.now {
            return;
        }
        self.expirations += 1;
        self.timer = Time::NEVER;
        match self.state {
            State::Request if self.expirations <= MOST_TRIES => self.request(io),
            State::PartOpen if io.now.since(self.opened_at) <= PARTOPEN_MOST => {
                self.control(io, Kind::Ack, Some(self.gsr), Vec::new());
                self.timer = io.now + self.partopen_timeout();
            }
            State::Closing | State::CloseReq if self.expirations <= MOST_TRIES => self.repeat_close(io),
            State::Request | State::PartOpen | State::Closing | State::CloseReq => {
                self.fail(io, ResetCode::Aborted);
            }
            _ => self.gone(),
        }
    }

    fn partopen_timeout(&self) -> Span {
        PARTOPEN_TIMEOUT.times(1 << self.expirations.min(8)).min(MOST_TIMEOUT)
    }

    fn gone(&mut self) {
        self.state = State::Closed;
        self.timer = Time::NEVER;
        self.outbox.end();
    }

    fn fail(&mut self, io: &mut Io<'_, Dccp>, code: ResetCode) {
        self.counters.errors += 1;
        let mut reset = Dccp::new(Kind::Reset, self.next_seq(), Some(self.gsr));
        reset.reset = Some((code, [0; 3]));
        self.emit(io, reset, None);
        self.gone();
    }

    fn repeat_close(&mut self, io: &mut Io<'_, Dccp>) {
        let kind = if self.state == State::CloseReq { Kind::CloseReq } else { Kind::Close };
        self.control(io, kind, Some(self.gsr), Vec::new());
        //= RFC 4340 section 8.3: retransmitted after two round trips at first, then with exponential back-off
        let first = self.sending.rtt().times(2).max(PARTOPEN_TIMEOUT);
        self.timer = io.now + first.times(1 << self.expirations.min(6)).min(MOST_TIMEOUT);
    }

    /// Begins the close when all data is sent and the application has closed.
    pub(super) fn finish_if_done(&mut self, io: &mut Io<'_, Dccp>) {
        if self.state == State::Open && self.outbox.is_done() && self.role == Role::Active {
            self.state = State::Closing;
            self.expirations = 0;
            self.repeat_close(io);
        }
    }

    //= RFC 4340 section 7.5.3: sequence and acknowledgement number lie in their windows
    fn is_valid(&self, packet: &Dccp) -> bool {
        let window = self.features.peer_window.max(32);
        let low = (self.gsr + 1).saturating_sub(window / 4).max(self.isr);
        let high = self.gsr + 3 * window / 4;
        let own = self.config.sequence_window.max(32);
        let (ack_low, ack_high) = ((self.gss + 1).saturating_sub(own).max(self.iss), self.gss);
        let seq_fits = match packet.kind {
            // Strict: no packet older than the newest one received.
            Kind::CloseReq | Kind::Close | Kind::Reset => {
                self.gsr < packet.seq && packet.seq <= high || packet.kind == Kind::Reset
            }
            Kind::Sync | Kind::SyncAck => low <= packet.seq,
            _ => low <= packet.seq && packet.seq <= high,
        };
        let ack_fits = match packet.ack {
            None => !matches!(packet.kind, Kind::Sync | Kind::SyncAck),
            Some(ack) if matches!(packet.kind, Kind::Sync | Kind::SyncAck) => {
                ack_low <= ack && ack <= ack_high
            }
            Some(ack) => ack_low <= ack && ack <= ack_high,
        };
        seq_fits && ack_fits
    }

    pub(super) fn on_packet(&mut self, io: &mut Io<'_, Dccp>, packet: &Dccp, head: &Packet) {
        let state = self.state;
        match state {
            State::Closed | State::TimeWait => return,
            State::Listen => return self.on_request(io, packet),
            State::Request if !self.on_response(io, packet) => return,
            _ => {}
        }
        if packet.kind == Kind::Request && self.role == Role::Passive {
            // The response was lost, or the request overtook nothing: it is answered again.
            if self.state == State::Respond {
                self.gsr = self.gsr.max(packet.seq);
                self.respond(io);
            }
            return;
        }
        if packet.kind == Kind::Response && self.state != State::PartOpen {
            return;
        }
        if !self.is_valid(packet) && packet.kind != Kind::Response {
            self.counters.invalid += 1;
            if packet.kind != Kind::Reset && io.now.since(self.last_sync) >= SYNC_GAP {
                self.last_sync = io.now;
                self.counters.syncs += 1;
                self.control(io, Kind::Sync, Some(packet.seq), Vec::new());
            }
            return;
        }
        self.gsr = self.gsr.max(packet.seq);
        if !matches!(packet.kind, Kind::Sync) {
            self.gar = self.gar.max(packet.ack.unwrap_or(0));
        }
        self.features.take(&packet.options, self.role == Role::Passive);
        if self.features.failed {
            return self.fail(io, ResetCode::OptionError);
        }
        self.handle(io, packet, head);
    }

    fn handle(&mut self, io: &mut Io<'_, Dccp>, packet: &Dccp, head: &Packet) {
        match packet.kind {
            Kind::Reset => {
                let normal = packet.reset.is_some_and(|(code, _)| code == ResetCode::Closed);
                self.counters.errors += u64::from(!normal);
                self.inbox.end(self.inbox.position());
                self.state = State::TimeWait;
                self.timer = Time::NEVER;
                self.outbox.end();
            }
            Kind::Sync => {
                self.received.on_packet(packet.seq, head.ecn == 3);
                self.receiving.on_dataless(io.now, packet);
                self.control(io, Kind::SyncAck, Some(packet.seq), Vec::new());
                if self.receiving.next_timeout() <= io.now {
                    self.acknowledge(io);
                }
            }
            Kind::CloseReq => {
                self.state = State::Closing;
                self.expirations = 0;
                self.repeat_close(io);
            }
            Kind::Close => {
                self.inbox.end(packet.offset);
                let mut reset = Dccp::new(Kind::Reset, self.next_seq(), Some(packet.seq));
                reset.reset = Some((ResetCode::Closed, [0; 3]));
                self.emit(io, reset, None);
                self.gone();
                self.state = State::TimeWait;
            }
            _ => {
                if self.state == State::Respond {
                    // Karn: a response that was repeated gives no round trip, nor does data that waited behind a lost ACK.
                    if packet.kind == Kind::Ack && packet.seq == self.isr + 1 && self.gss == self.iss {
                        self.learn_rtt(io.now);
                    }
                    self.state = State::Open;
                    self.timer = Time::NEVER;
                } else if self.state == State::PartOpen && packet.kind != Kind::Response {
                    self.state = State::Open;
                    self.expirations = 0;
                    self.timer = Time::NEVER;
                }
                self.on_content(io, packet, head);
            }
        }
    }

    /// Acknowledgement, then data, of a packet in the open states.
    fn on_content(&mut self, io: &mut Io<'_, Dccp>, packet: &Dccp, head: &Packet) {
        let (outbox, counters) = (&mut self.outbox, &mut self.counters);
        self.sending.on_ack(io.now, packet, |fate| {
            counters.data_lost += u64::from(outbox.on_fate(fate));
        });
        if let Some(ack) = packet.ack {
            self.received.on_ack_acked(ack);
        }
        let new =
            self.received.newest().is_none_or(|newest| packet.seq > newest) || !self.received.has(packet.seq);
        self.received.on_packet(packet.seq, head.ecn == 3);
        // Headers alone keep congestion control informed; their data did not arrive.
        let stub = head.flags.has(Flags::STUB);
        if !packet.is_data() && new {
            self.receiving.on_dataless(io.now, packet);
        } else if new {
            if !stub {
                self.counters.data_received += 1;
                self.counters.late += u64::from(head.deadline() < io.now);
                self.inbox.on_data(io.now, packet);
            }
            let size = packet.payload + DATA_HEADER;
            self.receiving.on_data(io.now, packet, size, head.ecn == 3);
        }
        if self.receiving.next_timeout() <= io.now {
            self.acknowledge(io);
        }
    }

    /// Sends the acknowledgement that is due.
    pub(super) fn acknowledge(&mut self, io: &mut Io<'_, Dccp>) {
        let Some(newest) = self.received.newest() else { return };
        let vectors = self.features.vectors();
        let Some(mut options) = self.receiving.report(io.now, &self.received, vectors) else { return };
        if !self.state.carries_data() {
            return;
        }
        options.extend(self.features.replies());
        let mut packet = Dccp::new(Kind::Ack, self.next_seq(), Some(newest));
        packet.options = options;
        self.received.on_ack_sent(packet.seq);
        let lives = self.config.ack_lifetime.map(|beyond| beyond + self.receiving.rtt());
        self.emit(io, packet, lives);
    }

    fn on_request(&mut self, io: &mut Io<'_, Dccp>, packet: &Dccp) {
        if packet.kind != Kind::Request {
            return;
        }
        if packet.service != self.config.service {
            (self.gsr, self.isr) = (packet.seq, packet.seq);
            return self.fail(io, ResetCode::BadServiceCode);
        }
        (self.isr, self.gsr) = (packet.seq, packet.seq);
        self.features.take(&packet.options, true);
        if self.features.failed {
            return self.fail(io, ResetCode::OptionError);
        }
        self.gss = self.iss - 1;
        self.state = State::Respond;
        self.agree();
        self.respond(io);
    }

    fn respond(&mut self, io: &mut Io<'_, Dccp>) {
        let options = self.features.replies();
        self.opened_at = io.now;
        self.control(io, Kind::Response, Some(self.gsr), options);
    }

    /// Sets up the negotiated congestion control for both half-connections.
    fn agree(&mut self) {
        let ccid = self.features.ccid();
        self.sending = sending(&self.config, ccid);
        self.receiving = Receiving::new(ccid, self.features.ratio(), self.config.rules);
    }

    /// Handles a packet in state REQUEST; true if it was the DCCP-Response to the request.
    fn on_response(&mut self, io: &mut Io<'_, Dccp>, packet: &Dccp) -> bool {
        let acks = packet.ack.is_some_and(|ack| self.iss <= ack && ack <= self.gss);
        if packet.kind == Kind::Reset && acks {
            self.counters.errors += 1;
            self.gone();
            return false;
        }
        if packet.kind != Kind::Response || !acks {
            return false;
        }
        (self.isr, self.gsr) = (packet.seq, packet.seq);
        self.state = State::PartOpen;
        let repeated = self.expirations > 0;
        self.expirations = 0;
        self.features.take(&packet.options, false);
        self.agree();
        if !repeated {
            // Karn: the round trip of a repeated request is not known.
            self.learn_rtt(io.now);
        }
        let options = self.features.replies();
        self.control(io, Kind::Ack, Some(self.gsr), options);
        self.timer = io.now + PARTOPEN_TIMEOUT;
        true
    }

    /// Seeds the RTT estimates of both half-connections with the round trip of the handshake.
    fn learn_rtt(&mut self, now: Time) {
        let rtt = now.since(self.opened_at);
        self.sending.seed(now, rtt);
        self.receiving.seed(rtt);
    }

    /// Sends waiting data as long as congestion control permits.
    pub(super) fn send_data(&mut self, io: &mut Io<'_, Dccp>) {
        if !self.state.carries_data() {
            return;
        }
        while self.outbox.is_waiting() {
            if self.sending.next_send() > io.now {
                self.sending.on_blocked(io.now);
                return;
            }
            let payload = self.config.payload;
            let more = self.outbox.has_more(payload);
            let start = self.outbox.next_start();
            let Some(piece) = self.outbox.take(payload) else { return };
            let seq = self.next_seq();
            // Acknowledging the peer's ACKs every `CONFIRM_EVERY` data packets keeps its Ack Vectors short.
            self.unconfirmed += 1;
            let confirm = matches!(self.sending, Sending::Tcplike(_)) && self.unconfirmed >= CONFIRM_EVERY;
            let acks = confirm || self.state == State::PartOpen;
            if acks {
                self.unconfirmed = 0;
            }
            let mut packet = Dccp::new(kind_with_data(acks), seq, acks.then_some(self.gsr));
            packet.payload = piece.bytes;
            (packet.offset, packet.message, packet.start) = (piece.offset, piece.message, start);
            packet.ccval = self.sending.on_send(io.now, seq, packet.payload + DATA_HEADER, more);
            self.outbox.on_sent(seq, &piece);
            self.counters.data_sent += 1;
            let lives = self.lifetime(io.now, piece.deadline);
            self.emit(io, packet, lives);
            if self.state == State::PartOpen {
                //= RFC 4340 section 8.1.5: the timer is set every time a packet is transmitted in PARTOPEN
                self.timer = io.now + self.partopen_timeout();
            }
        }
    }

    /// Network lifetime of a data packet sent now, by the configured [`Lifetime`]; none: no limit.
    fn lifetime(&self, now: Time, deadline: Time) -> Option<Span> {
        let of_message = (!deadline.is_never()).then(|| deadline.since(now));
        match self.config.lifetime {
            Lifetime::Always => None,
            Lifetime::Message => of_message,
            Lifetime::For(span) => Some(span),
            Lifetime::Rto => Some(self.sending.rto().unwrap_or(FIRST_TIMEOUT.times(3))),
            Lifetime::RtoAndRtt => {
                Some(self.sending.rto().unwrap_or(FIRST_TIMEOUT.times(3)) + self.sending.rtt())
            }
        }
    }
}
