//! Path MTU discovery of an association by ICMP errors (RFC 9260 section 7.3, RFC 1191; catalogue PR-05): MTU
//! per path, chunk size, retransmission of larger chunks.
//!
//! Each path has its own MTU. New chunks fit the smallest MTU, from which congestion control also takes the packet
//! size. A chunk with a TSN keeps its size: one that is too large for its path is retransmitted in a packet
//! that routers may fragment (section 6.9).
//!
//! Departures: congestion windows of all paths count packets of the smallest path. Without probes (see `probing`)
//! an increase of a path's MTU is never discovered, and a router that sends no ICMP errors is a black hole.

use super::{Association, Fate};
use crate::chunk::{COMMON_HEADER, Chunk, IP_HEADER, Packet};
use crate::config::{Config, PathMtu};
use base::truth::Cause;
use std::sync::Arc;
use transport::Io;

/// Least MTU of an IPv4 link, bytes (RFC 791 section 3.2).
const LEAST: u32 = 68;

impl Association {
    //= RFC 9260 section 7.3: an endpoint SHOULD apply these techniques, and SHOULD do so on a per-destination-address basis
    /// Processes a router's report of an MTU of `mtu` bytes on a path.
    pub(super) fn path_mtu(&mut self, io: &mut Io<'_, Packet>, path: u8, mtu: u32) {
        let mtu = mtu.max(LEAST);
        let Some(target) = self.paths.get_mut(usize::from(path)) else { return };
        //= RFC 1191 section 5: a message with an MTU above the one in use is false
        match self.config.path_mtu {
            PathMtu::Off => return,
            PathMtu::Probe => {
                if !self.probe_too_big(io.now, path, mtu) {
                    return;
                }
            }
            PathMtu::Icmp if mtu >= target.mtu => return,
            PathMtu::Icmp => target.mtu = mtu,
        }
        if self.config.path_mtu == PathMtu::Icmp && mtu < self.config.mtu {
            self.config = Arc::new(Config { mtu, ..(*self.config).clone() });
        }
        if self.associated() {
            self.resend_larger(path, mtu);
            self.flush(io);
        }
    }

    //= RFC 1191 section 6.4: data in packets that were too large are resent at once, without a congestion response
    /// Marks outstanding chunks of a path that exceed its MTU for retransmission.
    pub(super) fn resend_larger(&mut self, path: u8, mtu: u32) {
        let target = &mut self.paths[usize::from(path)];
        for sent in self.sent.iter_mut().filter(|s| s.path == path && s.fate == Fate::Flight) {
            if IP_HEADER + COMMON_HEADER + Chunk::Data(sent.data).size() <= mtu {
                continue;
            }
            sent.fate = Fate::Resend;
            sent.missing = 0;
            sent.data.cause = Cause::Recovery;
            let len = u64::from(sent.data.len);
            target.flight = target.flight.saturating_sub(len);
            if target.timed.is_some_and(|(tsn, _)| tsn == sent.data.tsn) {
                target.timed = None;
            }
            self.resends += 1;
            self.peer.window += len;
        }
    }

    /// Maximum length of all chunks in a packet on a path, bytes.
    pub(super) fn packet_room(&self, path: u8) -> u32 {
        let mtu = self.paths.get(usize::from(path)).map_or(self.config.mtu, |path| path.mtu);
        mtu.saturating_sub(IP_HEADER + COMMON_HEADER)
    }

    /// Whether routers may fragment a packet of this size on a path.
    pub(super) fn may_be_cut(&self, path: u8, size: u32) -> bool {
        //= RFC 9260 section 6.9: if the PMTU has been reduced, then IP fragmentation MUST be used
        self.config.path_mtu == PathMtu::Off
            || self.paths.get(usize::from(path)).is_some_and(|path| size > path.mtu)
    }
}
