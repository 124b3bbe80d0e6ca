//! Path MTU probes of an SCTP association (RFC 8899 section 6.2): HEARTBEAT and PAD chunk in a packet of the
//! probed size; black hole detection.
//!
//! An association starts with packets of BASE_PLPMTU (1200 bytes). Each path has its own search; new
//! chunks fit the smallest MTU of all active paths. Chunks above the path MTU are sent in packets that routers may
//! fragment (RFC 9260 section 6.9).
//!
//! Departures: probes do not count in a congestion window, and yield no RTT sample. Repeated expiries of
//! T3-rtx represent the loss of full-sized packets.

use super::{Association, State};
use crate::chunk::{COMMON_HEADER, Chunk, IP_HEADER, Opaque, Packet};
use crate::config::{Config, PathMtu};
use crate::path::search::{BASE, Search};
use base::Time;
use std::sync::Arc;
use transport::Io;

/// Number of consecutive T3-rtx expiries that indicate a black hole: the number of probes of a size.
const BLACK_HOLE: u32 = 3;
/// Header of a chunk, bytes.
const CHUNK_HEADER: u32 = 4;

impl Association {
    /// Sets the base size on each path and prepares the search for a larger size.
    pub(super) fn begin_search(&mut self) {
        if self.config.path_mtu != PathMtu::Probe {
            return;
        }
        let mtu = self.interface_mtu.min(BASE);
        self.config = Arc::new(Config { mtu, ..(*self.config).clone() });
        for path in &mut self.paths {
            (path.mtu, path.search) = (mtu, Search::new(self.interface_mtu));
        }
    }

    //= RFC 8899 section 6.2.1.2: probing can start directly after the handshake
    /// Starts the search of a path whose connectivity was confirmed.
    pub(super) fn start_search(&mut self, now: Time, path: usize) {
        if let Some(search) = self.paths.get_mut(path).and_then(|path| path.search.as_mut()) {
            search.start(now);
        }
    }

    /// Processes the search timer of each path: next probe, next size, or end of the search.
    pub(super) fn on_probes(&mut self, io: &mut Io<'_, Packet>) {
        let timer = self.config.probe_timer;
        for path in 0..self.paths.len() as u8 {
            let Association { paths, chance, .. } = self;
            let target = &mut paths[usize::from(path)];
            let active = target.is_active();
            let Some(search) = target.search.as_mut().filter(|search| search.due() <= io.now) else {
                continue;
            };
            if self.state == State::ShutdownSent || self.state == State::ShutdownAckSent {
                search.stop();
            } else if active {
                let before = target.mtu;
                let probe = search.expire(io.now, timer, &mut target.mtu, || chance.bits());
                let (size, after) = (search.size(), target.mtu);
                if after < before {
                    self.resend_larger(path, after);
                }
                if let Some((nonce, first)) = probe {
                    self.send_probe(io, path, size, nonce, first);
                }
            } else {
                search.postpone(io.now, timer);
            }
        }
    }

    /// Sends a probe: HEARTBEAT, and a PAD chunk that fills the packet to `size` bytes.
    fn send_probe(&mut self, io: &mut Io<'_, Packet>, path: u8, size: u32, nonce: u64, first: Time) {
        let beat = Chunk::Heartbeat(information(path, size, first, nonce));
        let rest = size.saturating_sub(IP_HEADER + COMMON_HEADER + beat.size());
        let mut chunks = vec![beat];
        if let Some(padding) = rest.checked_sub(CHUNK_HEADER) {
            chunks.push(Chunk::Pad(padding as u16));
        }
        self.counts.probes += 1;
        let packet = self.packet(chunks);
        self.emit(io, path, packet);
    }

    /// Processes the HEARTBEAT ACK of a probe; false if it acknowledges no probe.
    pub(super) fn on_probe_ack(&mut self, now: Time, info: &Opaque) -> bool {
        let Some(index) = info.first().map(|index| usize::from(*index)) else { return false };
        let Some(path) = self.paths.get_mut(index) else { return false };
        let Some(search) = &mut path.search else { return false };
        let Some((nonce, first)) = search.sent() else { return false };
        if **info != *information(index as u8, search.size(), first, nonce) {
            return false;
        }
        path.mtu = search.pass(now);
        //= RFC 8899 section 6.2.1.2: a successful probe updates the association and path counters
        path.reached();
        self.errors = 0;
        self.choose_path();
        true
    }

    /// Processes a router's report of an MTU of `mtu` bytes; true if it reduces the path MTU.
    pub(super) fn probe_too_big(&mut self, now: Time, path: u8, mtu: u32) -> bool {
        let Some(target) = self.paths.get_mut(usize::from(path)) else { return false };
        let Some(search) = &mut target.search else { return false };
        search.too_big(now, mtu);
        let smaller = mtu < target.mtu;
        target.mtu = target.mtu.min(mtu);
        smaller
    }

    /// Processes a repeated T3-rtx expiry of a path: full-sized packets may exceed the path MTU.
    pub(super) fn suspect_black_hole(&mut self, now: Time, path: u8) {
        let target = &mut self.paths[usize::from(path)];
        if target.errors >= BLACK_HOLE
            && let Some(search) = &mut target.search
            && let Some(mtu) = search.black_hole(now, target.mtu)
        {
            target.mtu = mtu;
        }
    }

    /// Sets the MTU for new chunks to the smallest MTU of active paths, or to the primary path's if no path is
    /// active.
    pub(super) fn fit_chunks(&mut self) {
        if self.config.path_mtu != PathMtu::Probe {
            return;
        }
        let active = self.paths.iter().filter(|path| path.is_active()).map(|path| path.mtu).min();
        let mtu = active.unwrap_or(self.paths[usize::from(self.primary)].mtu);
        if mtu != self.config.mtu {
            self.config = Arc::new(Config { mtu, ..(*self.config).clone() });
        }
    }

    /// Time of the next probe of any path.
    pub(super) fn next_probe(&self) -> Time {
        let due = self.paths.iter().filter_map(|path| path.search.as_ref()).map(Search::due).min();
        due.unwrap_or(Time::NEVER)
    }
}

/// Heartbeat Information of a probe: path, mark 1, size of the probe, transmission time of its first probe, nonce.
fn information(path: u8, size: u32, first: Time, nonce: u64) -> Opaque {
    let [high, low] = (size as u16).to_be_bytes();
    let mut out = vec![path, 1, high, low];
    out.extend(first.as_nanos().to_be_bytes());
    out.extend(nonce.to_be_bytes());
    out.into()
}
