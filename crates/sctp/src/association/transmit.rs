//! Transmission of packets by an association (RFC 9260 sections 6.1, 6.10): choice of DATA chunks within rwnd
//! and cwnd, bundling, control chunks, bursts.

use super::{Association, Fate, Sent, State};
use crate::chunk::{Chunk, Data, IP_HEADER, Packet};
use crate::config::{Burst, Immediate};
use base::truth::Cause;
use base::{Span, Time};
use transport::Io;
use transport::endpoint::Outgoing;

/// Codepoint ECT(0) (RFC 3168 section 5).
const ECT0: u8 = 2;

impl Association {
    /// Sends a packet of one chunk.
    pub(super) fn send_alone(&mut self, io: &mut Io<'_, Packet>, path: u8, chunk: Chunk) {
        let packet = self.packet(vec![chunk]);
        self.emit(io, path, packet);
    }

    /// Sends a packet; computes its IP length, lifetime, ECN codepoint and permission to fragment.
    pub(super) fn emit(&mut self, io: &mut Io<'_, Packet>, path: u8, packet: Packet) {
        let size = match (packet.chunks.as_slice(), self.config.data_header, self.config.sack_size) {
            ([Chunk::Data(data)], Some(header), _) => data.len + header,
            ([Chunk::Sack(_)], _, Some(size)) => size,
            _ => IP_HEADER + packet.size(),
        };
        //= RFC 8899 section 3: a probe must not be cut up
        let probes = packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::Pad(_)));
        let packet = Packet { divisible: !probes && self.may_be_cut(path, size), ..packet };
        let cause = Association::cause_of(&packet.chunks);
        let ecn = if self.peer.ecn && packet.data().next().is_some() { ECT0 } else { 0 };
        let lifetime = self.lifetime_of(io.now, &packet);
        let out = Outgoing { ecn, path, ..Outgoing::new(packet, size, cause) };
        io.out.push(match lifetime {
            Some(lifetime) => out.living(lifetime),
            None => out,
        });
    }

    /// Remaining lifetime of a packet with data: the longest of its messages; `None` if a message has no lifetime.
    fn lifetime_of(&self, now: Time, packet: &Packet) -> Option<Span> {
        let mut longest = None;
        for data in packet.data() {
            let sent = self.sent.get(data.tsn.checked_sub(self.una)? as usize)?;
            longest = longest.max(Some(sent.expires).filter(|t| !t.is_never()).map(Some)?);
        }
        longest.map(|expires: Time| if expires > now { expires.since(now) } else { Span::ZERO })
    }

    /// Sends all data that cwnd and rwnd allow, then control chunks.
    pub(super) fn flush(&mut self, io: &mut Io<'_, Packet>) {
        self.fit_chunks();
        // Also while the primary path is not confirmed or after a shutdown began: `earliest` asks to be woken then.
        if self.associated() {
            self.abandon_expired(io.now);
        }
        if self.may_send() {
            let limits: Vec<u64> = self.paths.iter().map(|path| self.limit(path)).collect();
            let mut new_packets =
                if self.config.burst == Burst::Packets { self.config.max_burst } else { u32::MAX };
            while let Some((path, data)) = self.select(io.now, &limits, new_packets > 0) {
                new_packets -= u32::from(data.iter().all(|d| d.cause == Cause::New));
                let used: u32 = data.iter().map(|data| Chunk::Data(*data).size()).sum();
                let mut chunks = self.companions(path, used);
                chunks.extend(data.into_iter().map(Chunk::Data));
                let packet = self.packet(chunks);
                self.emit(io, path, packet);
                //= RFC 9260 section 6.3.3, E3: chunks that fit into a single packet are retransmitted
                if self.single {
                    break;
                }
            }
        }
        self.single = false;
        //= RFC 3758 section 3.5, C5: while a FORWARD TSN is not answered at least one T3-rtx timer runs
        if self.advanced > self.una && self.paths.iter().all(|path| path.timer.deadline().is_never()) {
            self.paths[usize::from(self.data_path)].timer.restart(io.now);
        }
        self.continue_shutdown(io);
        self.flush_control(io);
    }

    /// Sends only control chunks, after a received packet that permits no new data.
    pub(super) fn flush_quietly(&mut self, io: &mut Io<'_, Packet>) {
        self.continue_shutdown(io);
        self.flush_control(io);
    }

    //= RFC 9260 section 6.1, D: if (flightsize + Max.Burst * PMDCS) < cwnd, cwnd = flightsize + Max.Burst * PMDCS
    /// Limit of outstanding bytes on a path while packets are sent for one event.
    fn limit(&self, path: &crate::path::Path) -> u64 {
        match self.config.burst {
            Burst::Window => {
                path.cwnd.min(path.flight + u64::from(self.config.max_burst) * self.config.packet())
            }
            Burst::Unlimited | Burst::Packets => path.cwnd,
        }
    }

    /// Chunks that precede data in a packet with `used` bytes, as far as they fit: acknowledgement and
    /// control (section 6.10).
    fn companions(&mut self, path: u8, used: u32) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut room = self.packet_room(path).saturating_sub(used);
        if !self.config.bundle {
            return chunks;
        }
        if self.receipt.owes()
            && (self.paths.len() == 1 || self.receipt.path == path)
            && room >= self.sack_room()
        {
            chunks.extend(self.acknowledgement());
            room = room.saturating_sub(chunks.iter().map(Chunk::size).sum());
        }
        self.waiting.retain(|(to, chunk)| {
            let goes = *to == path && chunk.bundles() && chunk.size() <= room;
            if goes {
                room -= chunk.size();
                chunks.push(chunk.clone());
            }
            !goes
        });
        chunks
    }

    /// Room for a SACK with all gap blocks and duplicates and for an ECN-Echo, bytes.
    fn sack_room(&self) -> u32 {
        self.receipt.sack_size(&self.config) + if self.receipt.marked.is_some() { 8 } else { 0 }
    }

    /// SACK chunk, and ECN-Echo chunk while the peer has not answered with CWR.
    fn acknowledgement(&mut self) -> Vec<Chunk> {
        let room = self.room();
        let window = if room < self.config.packet() { 0 } else { room };
        self.counts.sacks += 1;
        let sack = Chunk::Sack(self.receipt.sack(&self.config, window));
        match self.receipt.marked {
            Some(tsn) => vec![sack, Chunk::Ecne(tsn)],
            None => vec![sack],
        }
    }

    /// Sends a SACK if one must be sent now, and all queued control chunks.
    fn flush_control(&mut self, io: &mut Io<'_, Packet>) {
        if self.receipt.due && self.associated() {
            let chunks = self.acknowledgement();
            let packet = self.packet(chunks);
            self.emit(io, self.receipt.path, packet);
        }
        while let Some((path, chunk)) = self.waiting.pop_front() {
            let aborts = matches!(chunk, Chunk::Abort { .. });
            self.send_alone(io, path, chunk);
            if aborts {
                self.end(false);
            }
        }
    }

    /// Chooses the DATA chunks of the next packet, and records them as sent. With `new`, new data are
    /// allowed.
    fn select(&mut self, now: Time, limits: &[u64], new: bool) -> Option<(u8, Vec<Data>)> {
        let rushed = self.rush.take();
        let mut chosen = Vec::new();
        let mut room;
        let path = if self.resends > 0 {
            let path = rushed.or_else(|| self.resend_path())?;
            room = self.packet_room(path);
            let index = usize::from(path);
            if rushed.is_none() && self.paths[index].flight >= limits[index] {
                return None;
            }
            self.select_resends(now, path, &mut room, &mut chosen);
            path
        } else {
            self.choose_path();
            room = self.packet_room(self.data_path);
            self.data_path
        };
        if chosen.is_empty() || (self.resends == 0 && rushed.is_none() && self.config.bundle) {
            while new && (chosen.is_empty() || self.config.bundle) {
                let Some(data) = self.select_new(now, path, limits, room) else { break };
                room -= Chunk::Data(data).size().min(room);
                chosen.push(data);
            }
        }
        (!chosen.is_empty()).then_some((path, chosen))
    }

    /// Path for the oldest chunk marked for retransmission: another active path after a timeout (section 6.4.1).
    fn resend_path(&self) -> Option<u8> {
        let sent = self.sent.iter().find(|sent| sent.fate == Fate::Resend)?;
        let elsewhere = matches!(sent.data.cause, Cause::Timeout | Cause::GoBackN);
        Some(if elsewhere || !self.paths[usize::from(sent.path)].is_active() {
            self.alternative(sent.path)
        } else {
            sent.path
        })
    }

    /// Adds marked chunks that fit into `room` to `chosen`, and records them as in flight on `path`.
    fn select_resends(&mut self, now: Time, path: u8, room: &mut u32, chosen: &mut Vec<Data>) {
        let (bundle, restarts) = (self.config.bundle, self.config.restarts_on_fast);
        let first = self.sent.iter().position(|s| matches!(s.fate, Fate::Flight | Fate::Resend));
        let target = &mut self.paths[usize::from(path)];
        for (i, sent) in self.sent.iter_mut().enumerate() {
            if sent.fate != Fate::Resend {
                continue;
            }
            let size = Chunk::Data(sent.data).size();
            if !chosen.is_empty() && (size > *room || !bundle) {
                break;
            }
            *room -= size.min(*room);
            sent.fate = Fate::Flight;
            sent.path = path;
            sent.transmissions += 1;
            self.resends -= 1;
            self.peer.window = self.peer.window.saturating_sub(u64::from(sent.data.len));
            target.flight += u64::from(sent.data.len);
            target.used = true;
            target.last_sent = now;
            chosen.push(sent.data);
            //= RFC 9260 section 6.3.2, R1 and 7.2.4: the timer restarts where the first outstanding chunk is retransmitted
            if target.timer.deadline().is_never() || restarts && first == Some(i) {
                target.timer.restart(now);
            }
        }
    }

    /// Takes the next new chunk from the stream queues, if the windows have room for it.
    fn select_new(&mut self, now: Time, path: u8, limits: &[u64], room: u32) -> Option<Data> {
        let index = usize::from(path);
        let config = self.config.clone();
        let most = self.config.chunk().min((room / 4 * 4).saturating_sub(crate::chunk::DATA_HEADER));
        let len = self.outbound.peek(self.config.chunk()).filter(|len| *len > 0 && *len <= most)?;
        let target = &self.paths[index];
        if target.flight >= limits[index] || target.flight >= target.cwnd {
            return None;
        }
        //= RFC 9260 section 6.1, A: whatever the window, one chunk may be outstanding; of a closed one after a timeout
        let weight = self.weight(len);
        if weight > self.peer.window {
            if self.flight() > 0 {
                return None;
            }
            if self.peer.closed && !std::mem::take(&mut self.probe) {
                let timer = &mut self.paths[index].timer;
                if timer.deadline().is_never() {
                    timer.restart(now);
                }
                return None;
            }
        }
        //= RFC 3758 section 4.1, TR4: the rest of a message whose lifetime is over is not transmitted
        if let Some(id) = self.outbound.begun_and_over(now).filter(|_| self.peer.forward_tsn) {
            self.abandon(id);
            self.advance();
            return self.select_new(now, path, limits, room);
        }
        self.paths[index].after_pause(&config, now);
        let fragment = self.outbound.cut(len)?;
        let data = Data {
            tsn: self.next,
            stream: fragment.stream,
            ssn: fragment.ssn,
            begin: fragment.ends[0],
            end: fragment.ends[1],
            unordered: fragment.unordered,
            //= RFC 7053 section 4: the last chunk before a shutdown is acknowledged at once
            immediate: self.closing
                && self.state != State::Established
                && (self.outbound.is_empty() || config.immediate == Immediate::All),
            len,
            ppid: fragment.message.map_or(0, |id| (id as u32).wrapping_add(1)),
            cause: Cause::New,
        };
        self.next += 1;
        self.sent.push_back(Sent {
            data,
            fate: Fate::Flight,
            path,
            transmissions: 1,
            missing: 0,
            fast: false,
            message: fragment.message,
            expires: fragment.expires,
            retransmissions: fragment.retransmissions,
        });
        self.peer.window = self.peer.window.saturating_sub(weight);
        let target = &mut self.paths[index];
        target.flight += u64::from(len);
        target.used = true;
        if target.timed.is_none() {
            target.timed = Some((data.tsn, now));
        }
        if target.timer.deadline().is_never() {
            target.timer.restart(now);
        }
        Some(data)
    }
}
