//! Reception of packets by an association (RFC 9260 sections 6.2, 8.4, 8.5): verification tag, dispatch of
//! chunks by type, DATA and FORWARD TSN.

use super::{Association, State};
use crate::chunk::{Chunk, Data, Failure, Packet};
use base::event::Event;
use transport::Io;
use transport::app::message::MessageEvent;

/// Codepoint Congestion Experienced (RFC 3168 section 5).
const CE: u8 = 3;

impl Association {
    /// Processes a received packet.
    pub(super) fn on_packet(&mut self, io: &mut Io<'_, Packet>, packet: &Packet, head: &base::Packet) {
        let by = u8::try_from(head.interface).unwrap_or(0).min(self.paths.len() as u8 - 1);
        if !self.tag_fits(packet) {
            self.counts.wrong_tags += 1;
            return;
        }
        if self.state == State::Closed && !packet.chunks.iter().any(opens) {
            self.out_of_the_blue(io, packet, by);
            return;
        }
        self.peer.answered = true;
        let (mut data, mut duplicate, mut at_once) = (false, false, false);
        self.clocked = true;
        for chunk in &packet.chunks {
            match chunk {
                Chunk::Data(chunk) => {
                    data = true;
                    at_once |= chunk.immediate;
                    duplicate |= !self.on_data(io, chunk, head.id);
                    if head.ecn == CE && self.peer.ecn {
                        self.receipt.marked = Some(self.receipt.marked.unwrap_or(chunk.tsn));
                        at_once = true;
                    }
                }
                Chunk::Sack(sack) if self.associated() => self.on_sack(io, sack),
                Chunk::CookieEcho(cookie) => {
                    self.on_cookie_echo(io, cookie, packet.tag, by);
                    if packet.tag != self.tag {
                        return;
                    }
                }
                Chunk::Unknown(kind, flags, value) => {
                    if !self.on_unknown(*kind, *flags, value, by) {
                        break;
                    }
                }
                other => self.on_control(io, other, by),
            }
        }
        if data && self.associated() {
            self.receipt.path = by;
            let config = self.config.clone();
            self.receipt.packet(&config, io.now, duplicate, at_once);
            if self.state == State::ShutdownSent {
                self.receipt.due = true;
                self.repeat_shutdown(io);
            }
        }
    }

    //= RFC 9260 section 8.5: a packet with a wrong verification tag is discarded
    fn tag_fits(&self, packet: &Packet) -> bool {
        let own = packet.tag == self.tag;
        match packet.chunks.first() {
            Some(Chunk::Init(_)) => packet.tag == 0,
            // A COOKIE ECHO that restarts an association has the tag of its cookie.
            Some(Chunk::CookieEcho(_)) => true,
            Some(Chunk::Abort { reflected, .. } | Chunk::ShutdownComplete { reflected }) => {
                if *reflected {
                    packet.tag == self.peer.tag && self.peer.tag != 0
                } else {
                    own
                }
            }
            Some(_) if self.state == State::Closed => true,
            Some(_) => own,
            None => false,
        }
    }

    /// Dispatches a control chunk.
    fn on_control(&mut self, io: &mut Io<'_, Packet>, chunk: &Chunk, by: u8) {
        match chunk {
            Chunk::Init(init) => self.on_init(io, init, by),
            Chunk::InitAck(init, cookie) => self.on_init_ack(io, init, cookie),
            Chunk::CookieAck => self.on_cookie_ack(io.now),
            Chunk::Error(Failure::StaleCookie(_)) => self.on_stale_cookie(io),
            Chunk::Abort { .. } => self.end(true),
            // All chunk types from here on require an association.
            _ if !self.associated() => {}
            Chunk::Heartbeat(info) => self.waiting.push_back((by, Chunk::HeartbeatAck(info.clone()))),
            Chunk::HeartbeatAck(info) => self.on_heartbeat_ack(io.now, info),
            Chunk::Shutdown(cumulative) => self.on_shutdown(io, *cumulative),
            Chunk::ShutdownAck => self.on_shutdown_ack(io),
            Chunk::ShutdownComplete { .. } => self.on_shutdown_complete(),
            Chunk::Ecne(tsn) => self.on_mark(io, *tsn),
            Chunk::Cwr(tsn) if self.receipt.marked.is_some_and(|marked| marked <= *tsn) => {
                self.receipt.marked = None;
            }
            Chunk::ForwardTsn(cumulative, streams) => self.on_forward(*cumulative, streams),
            _ => {}
        }
    }

    //= RFC 9260 section 3.2: of the type's two highest bits, one asks to go on behind the chunk, the other to report it
    /// Processes a chunk of unknown type; returns whether later chunks of the packet are processed.
    fn on_unknown(&mut self, kind: u8, flags: u8, value: &[u8], by: u8) -> bool {
        if kind & 0x40 != 0 && self.associated() {
            let [high, low] = (4 + value.len() as u16).to_be_bytes();
            let shown = [&[kind, flags, high, low], value].concat();
            self.waiting.push_back((by, Chunk::Error(Failure::UnrecognizedChunk(shown.into()))));
        }
        kind & 0x80 != 0
    }

    /// Processes a DATA chunk; false for a duplicate, or for a TSN too far above the cumulative one.
    fn on_data(&mut self, io: &mut Io<'_, Packet>, data: &Data, packet: u64) -> bool {
        if !self.associated() || self.state == State::ShutdownReceived || self.state == State::ShutdownAckSent
        {
            return true;
        }
        if data.len == 0 {
            //= RFC 9260 section 6.2: a DATA chunk without user data ends the association
            let cause = Some(Failure::NoUserData(self.peer.initial.wrapping_add(data.tsn as u32)));
            self.waiting.push_back((self.receipt.path, Chunk::Abort { reflected: false, cause }));
            return true;
        }
        // Without room, only chunks that fill a gap are accepted (section 6.2).
        if u64::from(data.len) > self.room() && !self.receipt.has_gaps() {
            self.receipt.due = true;
            return true;
        }
        let new = self.receipt.note(data.tsn);
        io.record(|| Event::DataReceived { packet, seq: data.tsn, len: 1, duplicate: !new });
        if !new {
            return false;
        }
        if data.stream >= self.peer.outbound {
            //= RFC 9260 section 6.5: acknowledged, reported, discarded
            self.waiting.push_back((self.receipt.path, Chunk::Error(Failure::InvalidStream(data.stream))));
            return true;
        }
        let Association { inbound, events, slow, unread, .. } = self;
        inbound.receive(*data, |message| {
            *unread += if *slow { message.bytes } else { 0 };
            if message.ppid > 0 {
                events.push_back(received(&message));
            }
        });
        true
    }

    /// Processes a FORWARD TSN: skips abandoned TSNs, and delivers the messages that waited for them.
    fn on_forward(&mut self, cumulative: u64, streams: &[(u16, u64)]) {
        if cumulative <= self.receipt.next {
            self.receipt.due = true;
            return;
        }
        self.receipt.forward(cumulative);
        let Association { inbound, events, slow, unread, .. } = self;
        inbound.forward(cumulative, streams, |message| {
            *unread += if *slow { message.bytes } else { 0 };
            if message.ppid > 0 {
                events.push_back(received(&message));
            }
        });
        self.receipt.due = true;
    }
}

/// Whether an end without an association accepts the chunk.
fn opens(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Init(_) | Chunk::CookieEcho(_))
}

/// Event of a delivered message. Message numbers on the wire start at 1; 0 means bulk data.
fn received(message: &crate::stream::inbound::Delivered) -> MessageEvent {
    MessageEvent::Received {
        stream: message.stream,
        message: message.ppid.checked_sub(1).map(u64::from),
        bytes: message.bytes,
        unordered: message.unordered,
    }
}
