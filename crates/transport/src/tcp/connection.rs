//! TCP connection (type [`Connection`]): sender and receiver, handshake and FIN, ACKs on data segments, ECN flags,
//! segment lifetimes, PSH, and sizes on the wire.
//!
//! A two-way connection opens with SYN, SYN-ACK, ACK and closes with a FIN in each direction (RFC 9293 sections 3.5,
//! 3.6). Not modelled: simultaneous open, and TIME-WAIT, since ports are never reused. A one-way connection, as in
//! the simulators of 2001, acknowledges a SYN like data, sends data in one direction and has no FIN.

use super::config::{Config, Handshake, HandshakeAck, Lifetime, Push};
use super::ecn::{self, Ecn};
use super::receiver::{Answer, Receiver, WindowManager};
use super::sender::Sender;
use crate::app::Socket;
use crate::endpoint::Io;
use crate::macroflow::Stream;
use crate::recovery::tcb_cache::TcbCache;
use base::event::Event;
use base::packet::Packet;
use base::tcp::{SackBlocks, Segment, Timestamps};
use base::truth::Cause;
use base::{Span, Time};
use std::sync::Arc;

pub use crate::endpoint::Role;

/// One end of a TCP connection.
#[derive(Clone, Debug)]
pub struct Connection {
    config: Arc<Config>,
    role: Role,
    /// Sender of this end's data.
    pub sender: Sender,
    /// Receiver of the peer's data.
    pub receiver: Receiver,
    /// Whether the peer's SYN has arrived.
    peer_open: bool,
    /// One past the sequence number of the peer's FIN, once the FIN has arrived, in order or not.
    fin_end: Option<u64>,
    /// Whether all the peer's data and its FIN have arrived in order.
    peer_fin: bool,
}

impl Connection {
    /// A connection that is not open yet.
    pub fn new(config: impl Into<Arc<Config>>, role: Role) -> Self {
        let config = config.into();
        Connection {
            sender: Sender::new(config.clone()),
            receiver: Receiver::new(&config),
            role,
            peer_open: false,
            fin_end: None,
            peer_fin: false,
            config,
        }
    }

    /// Configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Active or passive end.
    pub fn role(&self) -> Role {
        self.role
    }
    pub(super) fn use_config(&mut self, config: Arc<Config>) {
        self.config = config;
    }
    /// Whether the peer's SYN has arrived.
    pub(super) fn has_heard_peer(&self) -> bool {
        self.peer_open
    }

    /// Shares the TCB with the other connections that hold `cache`, as far as option `share` permits.
    pub fn share(&mut self, cache: TcbCache) {
        self.sender.share(cache);
    }

    /// Opens the connection: the active end sends its SYN.
    pub fn open(&mut self, io: &mut Io<'_>) {
        if self.role == Role::Active {
            self.transmit(io);
        }
    }

    /// Limits the offered window to this connection's share of the host's receive window, as one of flow `flow`.
    pub fn manage(&mut self, manager: &WindowManager, flow: usize) {
        self.receiver.manage(manager.join(flow, self.config.mss));
    }

    /// Shares the congestion window with the other streams of a macroflow.
    pub fn join(&mut self, stream: Stream) {
        self.sender.join(stream);
    }

    /// Leaves the macroflow: the connection was aborted.
    pub fn leave_macroflow(&mut self) {
        self.sender.leave_macroflow();
    }

    /// Sends data and FIN within the windows, and a window update if one is pending.
    pub fn transmit(&mut self, io: &mut Io<'_>) {
        let first = io.out.len();
        let update = self.receiver.take_update();
        if self.sender.max_sent() == 0 && self.role == Role::Active {
            self.sender.take_over(io.now);
        }
        if self.role == Role::Active || (self.peer_open && !self.one_way()) {
            self.sender.send_window(io, 0);
        }
        self.complete(io, first);
        if update && io.out.len() == first {
            self.acknowledge(io);
        }
    }

    fn one_way(&self) -> bool {
        self.config.opening.handshake == Handshake::OneWay
    }

    /// Processes a segment; `packet` is its id in the trace.
    pub fn on_segment(&mut self, io: &mut Io<'_>, segment: &Segment, packet: u64) {
        self.on_packet(io, segment, packet, ecn::NOT_ECT);
    }

    /// Processes a segment from a packet with the IP codepoint `ecn`.
    #[inline(always)] // hot path from host to sender and back
    pub fn on_packet(&mut self, io: &mut Io<'_>, segment: &Segment, packet: u64, ecn: u8) {
        if segment.rst {
            return; // RST is ignored: the model has no abort by RST
        }
        let first = io.out.len();
        // Data, SYN or FIN.
        let occupies = segment.end() > segment.seq;
        let opens = segment.syn && !self.peer_open;
        if opens {
            self.peer_open = true;
            if self.role == Role::Passive {
                self.sender.take_over(io.now);
            }
            if !self.one_way() {
                self.sender.tcb.ecn.on_syn(self.role == Role::Active, segment.ece, segment.cwr);
            }
        }
        if segment.syn && self.role == Role::Passive && !segment.ece {
            self.sender.tcb.ecn.refuse();
        }
        if occupies && self.peer_open && self.receiver.fails_paws(io.now, segment) {
            self.discard_old(io, segment, packet);
            return;
        }
        if segment.len > 0 {
            self.sender.tcb.ecn.on_data(ecn, segment.cwr);
        }
        // The passive end sends no ACK before its SYN.
        if segment.has_ack && self.sender.max_sent() > 0 {
            self.sender.on_ack(io, segment);
        }
        let mut answer = Answer::None;
        if occupies && self.peer_open {
            let arrival = self.receiver.receive(io.now, segment, &self.sender.tcb.rto);
            answer = arrival.answer;
            if segment.len > 0 {
                io.record(|| Event::DataReceived {
                    packet,
                    seq: segment.seq,
                    len: segment.len,
                    duplicate: arrival.duplicate,
                });
            }
            if segment.fin {
                self.fin_end.get_or_insert(segment.end());
            }
            if !self.peer_fin && self.fin_end.is_some_and(|end| self.receiver.next() >= end) {
                self.peer_fin = true;
                self.receiver.finish();
                answer = Answer::Now;
                // At the peer's FIN this end closes as well, once all its data are sent.
                self.sender.close();
            }
        } else if self.peer_open {
            self.receiver.read_peer_options(io.now, segment);
        }
        if occupies && self.peer_open && !self.one_way() {
            // Covers the passive end's SYN, the answer to a FIN, and data that waited for the peer's SYN. For
            // a pure ACK, the sender has already decided.
            self.sender.send_window(io, 0);
        }
        self.complete(io, first);
        if opens && io.out.len() > first {
            self.acknowledge_opening(io, first);
        }
        if matches!(answer, Answer::Now | Answer::Twice) && io.out.len() == first {
            self.acknowledge(io);
        }
        if answer == Answer::Twice {
            self.acknowledge(io);
        }
    }

    /// Whether a received segment fails PAWS although it contains new bytes.
    #[inline(always)]
    pub(super) fn discards(&self, now: Time, segment: &Segment) -> bool {
        segment.end() > segment.seq
            && self.peer_open
            && self.receiver.fails_paws(now, segment)
            && !self.receiver.has(segment.seq, segment.end())
    }

    //= RFC 7323 section 5.3 step R1: an acknowledgement is sent, and the segment is dropped
    /// Discards a segment that fails PAWS, and sends an ACK.
    #[cold]
    fn discard_old(&mut self, io: &mut Io<'_>, segment: &Segment, packet: u64) {
        self.receiver.discard_old(segment);
        let (seq, len) = (segment.seq, segment.len);
        let duplicate = segment.end() <= self.receiver.next();
        // A lone FIN carries no data.
        if len > 0 {
            io.record(|| Event::DataReceived { packet, seq, len, duplicate });
        }
        self.acknowledge(io);
    }

    /// With `handshake-ack = "alone"`, sends a pure ACK of the SYN-ACK ahead of the first data segment.
    #[cold]
    fn acknowledge_opening(&mut self, io: &mut Io<'_>, first: usize) {
        if self.role == Role::Active && self.config.opening.ack == HandshakeAck::Alone && !self.one_way() {
            self.acknowledge(io);
            if let Some(out) = io.out.last_mut() {
                out.body.seq = self.sender.una();
            }
            io.out[first..].rotate_right(1);
        }
    }

    /// Processes all expired timers of sender and receiver.
    #[inline(always)] // into the host's wake-up
    pub fn on_timeout(&mut self, io: &mut Io<'_>) {
        if self.sender.next_timeout() <= io.now {
            let first = io.out.len();
            self.sender.on_timeout(io);
            self.complete(io, first);
        }
        if self.receiver.next_timeout() <= io.now {
            self.receiver.on_timeout(io.now, &self.sender.tcb.rto);
            self.acknowledge(io);
        }
    }

    /// Processes an ICMP "fragmentation needed": next-hop MTU of `mtu` bytes, headers included.
    pub fn path_mtu(&mut self, io: &mut Io<'_>, mtu: u32) {
        let first = io.out.len();
        self.sender.path_mtu(io, mtu);
        self.complete(io, first);
    }

    /// Expiry of the earliest timer of sender and receiver.
    pub fn next_timeout(&self) -> Time {
        self.sender.next_timeout().min(self.receiver.next_timeout())
    }

    /// True when both directions are closed and acknowledged.
    pub fn closed(&self) -> bool {
        self.sender.done() && (self.one_way() || self.peer_fin)
    }

    /// Sends the latest ACK again.
    pub fn answer(&mut self, io: &mut Io<'_>) {
        if self.peer_open && self.sender.max_sent() > 0 {
            self.acknowledge(io);
        }
    }

    #[inline]
    fn acknowledge(&mut self, io: &mut Io<'_>) {
        let mut segment = self.receiver.acknowledge_bare(io.now, self.config.timestamps);
        segment.seq = self.sender.max_sent();
        segment.ece = self.sender.tcb.ecn.echoing;
        io.send(segment, self.ack_size(), Cause::New);
        if self.receiver.has_report()
            && let Some(out) = io.out.last_mut()
        {
            // Written in place: a segment is mostly room for SACK blocks, and is copied as a whole.
            out.body.sack = self.receiver.take_report(self.config.timestamps);
            out.size += self.report_size(&out.body.sack);
        }
    }

    /// Adds the ACK, window, timestamps and the size on the wire to the sender's segments.
    #[inline(always)]
    fn complete(&mut self, io: &mut Io<'_>, first: usize) {
        if io.out.len() == first {
            return;
        }
        let config = &*self.config;
        let plain = self.peer_open
            && self.sender.established()
            && config.opening.handshake != Handshake::OneWay
            && !self.sender.tcb.ecn.wanted
            && config.lifetime == Lifetime::Always
            && (config.segmentation.push != Push::Groups || self.sender.tcb.keeps_portions());
        if plain {
            return self.complete_established(io, first);
        }
        for out in io.out.iter_mut().skip(first) {
            let segment = &mut out.body;
            if self.sender.tcb.ecn.wanted {
                //= RFC 3168 section 6.1.1.1: an unanswered SYN may be retransmitted without the offer
                let again = segment.syn && out.cause != Cause::New && self.role == Role::Active;
                self.sender.tcb.ecn.wanted = !(again && config.ecn.fallback);
                mark(&mut self.sender.tcb.ecn, self.role, segment, &mut out.ecn, out.cause);
            }
            segment.window = self.receiver.window(segment.syn);
            out.size = config.wire.header + segment.len + if segment.syn { config.wire.syn } else { 0 };
            if config.timestamps {
                segment.timestamps = Some(Timestamps { value: io.now, echo: Time::ZERO });
                if segment.len > 0 || config.wire.timestamps_on_acks {
                    out.size += config.wire.timestamps;
                }
            }
        }
        if config.lifetime != Lifetime::Always {
            self.limit_lives(io, first);
        }
        if config.segmentation.push == Push::Groups && !self.sender.tcb.keeps_portions() {
            self.push(io, first);
        }
        if self.peer_open && !self.one_way() {
            self.piggyback(io, first);
        }
    }

    /// [`Connection::complete`] in the common case: two-way, established, without ECN, lifetimes and groups of PSH.
    fn complete_established(&mut self, io: &mut Io<'_>, first: usize) {
        let config = &*self.config;
        let (ack, (echo, resent_echo)) = (self.receiver.next(), self.receiver.echoes());
        let timestamps = config.timestamps.then_some(Timestamps { value: io.now, echo });
        let (bare, with_data) = match (config.timestamps, config.wire.timestamps_on_acks) {
            (true, true) => {
                (config.wire.header + config.wire.timestamps, config.wire.header + config.wire.timestamps)
            }
            (true, false) => (config.wire.header, config.wire.header + config.wire.timestamps),
            (false, _) => (config.wire.header, config.wire.header),
        };
        let mut data = false;
        for out in io.out.get_mut(first..).unwrap_or_default() {
            let segment = &mut out.body;
            segment.window = self.receiver.window(false);
            (segment.ack, segment.has_ack) = (ack, true);
            (segment.timestamps, segment.resent_echo) = (timestamps, resent_echo);
            out.size = segment.len + if segment.len > 0 { with_data } else { bare };
            data |= segment.len > 0;
        }
        if data {
            self.receiver.on_own_data(io.now);
        }
        self.receiver.acknowledge_bare(io.now, config.timestamps);
        self.add_report(io, first);
    }

    /// Sets the lifetime of data segments from index `first` on: the current RTO, plus SRTT with
    /// [`Lifetime::RtoAndRtt`].
    #[cold]
    fn limit_lives(&self, io: &mut Io<'_>, first: usize) {
        let rto = &self.sender.tcb.rto;
        let beyond = if self.config.lifetime == Lifetime::RtoAndRtt { rto.srtt() } else { Span::ZERO };
        let micros = (rto.timeout() + beyond).as_nanos() / 1000;
        let lives = u32::try_from(micros).unwrap_or(Packet::ALWAYS - 1).min(Packet::ALWAYS - 1);
        for out in io.out.iter_mut().skip(first).filter(|out| out.body.len > 0) {
            out.lives = lives;
        }
    }

    /// Sets PSH on the last segment of each group sent together, and on the last segment written (Linux 6.12,
    /// net/ipv4/tcp_output.c: `tcp_tso_autosize`, `__tcp_transmit_skb`; a single segment is no group).
    #[inline(never)]
    fn push(&self, io: &mut Io<'_>, first: usize) {
        let group = self.sender.tcb.group();
        let mut so_many = 0;
        for out in io.out.iter_mut().skip(first).filter(|out| out.body.len > 0) {
            so_many = if out.cause == Cause::New { so_many + 1 } else { 0 };
            let ends = out.body.seq + u64::from(out.body.len) == self.sender.end();
            out.body.push = so_many == group || ends;
            so_many %= group;
        }
        // The last segments, if more than one, form a group although it is not full.
        if so_many > 1
            && let Some(last) = io.out.iter_mut().skip(first).rfind(|out| out.body.len > 0)
        {
            last.body.push = true;
        }
    }

    /// Adds acknowledgement number, SACK blocks and timestamps to the sender's segments from index `first` on.
    fn piggyback(&mut self, io: &mut Io<'_>, first: usize) {
        if io.out.iter().skip(first).any(|out| out.body.len > 0) {
            self.receiver.on_own_data(io.now);
        }
        let ack = self.receiver.acknowledge_bare(io.now, self.config.timestamps);
        for out in io.out.iter_mut().skip(first) {
            let segment = &mut out.body;
            (segment.ack, segment.has_ack) = (ack.ack, true);
            segment.timestamps = ack.timestamps;
            segment.resent_echo = ack.resent_echo;
        }
        self.add_report(io, first);
    }

    /// Adds the SACK blocks to send to the sender's segment at index `first`.
    #[inline(always)]
    fn add_report(&mut self, io: &mut Io<'_>, first: usize) {
        if self.receiver.has_report()
            && let Some(out) = io.out.get_mut(first)
        {
            // Only the first of several segments carries the SACK blocks.
            out.body.sack = self.receiver.take_report(self.config.timestamps);
            out.size += self.report_size(&out.body.sack);
        }
    }

    /// Size of a pure ACK without SACK blocks, bytes on the wire.
    fn ack_size(&self) -> u32 {
        let wire = &self.config.wire;
        let timestamps = if self.config.timestamps && wire.timestamps_on_acks { wire.timestamps } else { 0 };
        wire.header + timestamps
    }

    /// Bytes that SACK blocks add to a segment.
    fn report_size(&self, report: &SackBlocks) -> u32 {
        let blocks = report.as_slice().len() as u32;
        if blocks > 0 { self.config.wire.sack + 8 * blocks } else { 0 }
    }
}

/// Sets the ECN flags and the IP codepoint of an outgoing segment.
#[cold]
fn mark(state: &mut Ecn, role: Role, segment: &mut Segment, ecn: &mut u8, cause: Cause) {
    if segment.syn {
        (segment.ece, segment.cwr) = state.syn_flags(role == Role::Passive);
    } else if state.agreed {
        segment.ece = segment.has_ack && state.echoing;
        //= RFC 3168 section 6.1.5: neither retransmissions (6.1.5) nor window probes (6.1.6) may be marked
        if segment.len > 0 && cause == Cause::New {
            *ecn = ecn::ECT0;
            segment.cwr = state.take_announcement();
        }
    }
}

impl Socket for Connection {
    fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }
    fn close(&mut self) {
        self.sender.close();
    }
    fn stop(&mut self) {
        self.sender.stop();
    }
    fn read_slowly(&mut self, slowly: bool) {
        self.receiver.read_slowly(slowly);
    }
    fn read(&mut self, bytes: u64) -> u64 {
        self.receiver.read(bytes)
    }
    fn received(&self) -> u64 {
        // Neither the SYN nor the FIN is data.
        self.receiver.next().saturating_sub(1).saturating_sub(u64::from(self.peer_fin))
    }
    fn acknowledged(&self) -> u64 {
        self.sender.una().min(self.sender.end()).saturating_sub(1)
    }
}
