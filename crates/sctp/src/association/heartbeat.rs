//! Heartbeats and path failover of an SCTP association (RFC 9260 sections 5.4, 6.4, 8.1 to 8.3): error
//! counters, confirmation of paths.

use super::Association;
use crate::chunk::{Chunk, Opaque, Packet};
use crate::path::Reachability;
use base::Time;
use transport::Io;

impl Association {
    /// Next active path after `path`; `path` if no other path is active.
    pub(super) fn alternative(&self, path: u8) -> u8 {
        let n = self.paths.len() as u8;
        (1..n).map(|k| (path + k) % n).find(|p| self.paths[usize::from(*p)].is_active()).unwrap_or(path)
    }

    /// Selects the path of new data: the primary path, or the next active path while the primary path is
    /// inactive (section 6.4).
    pub(super) fn choose_path(&mut self) {
        let primary = self.primary;
        let path =
            if self.paths[usize::from(primary)].is_active() { primary } else { self.alternative(primary) };
        self.counts.failovers += u64::from(path != self.data_path);
        self.data_path = path;
    }

    /// Counts an error of a path and of the association; true if the association's errors exceed
    /// Association.Max.Retrans, so that it must end (section 8.1).
    pub(super) fn error_on(&mut self, path: u8) -> bool {
        let config = self.config.clone();
        if let Some(path) = self.paths.get_mut(usize::from(path)) {
            path.error(&config);
        }
        self.errors += 1;
        self.choose_path();
        self.errors > config.association_max_retransmissions
    }

    /// Runs the heartbeat of each path whose heartbeat timer has expired.
    pub(super) fn on_beats(&mut self, io: &mut Io<'_, Packet>) {
        for path in 0..self.paths.len() as u8 {
            if self.paths[usize::from(path)].beat_due <= io.now && self.associated() {
                self.beat(io, path);
            }
        }
    }

    /// Heartbeat of a path: counts an error if the last HEARTBEAT was not acknowledged, and sends a HEARTBEAT
    /// unless the path is active and carried data.
    fn beat(&mut self, io: &mut Io<'_, Packet>, path: u8) {
        let index = usize::from(path);
        if self.paths[index].beat.take().is_some() {
            //= RFC 9260 section 8.3: the HEARTBEAT was not acknowledged: the error counters grow, the timeout doubles
            self.paths[index].timer.back_off();
            if self.error_on(path) {
                self.end(true);
                return;
            }
        }
        let Association { paths, config, chance, counts, .. } = self;
        let p = &mut paths[index];
        let busy = std::mem::take(&mut p.used) || p.flight > 0;
        if !(busy && p.reach == Reachability::Active) {
            let nonce = chance.bits();
            p.beat = Some((nonce, io.now));
            counts.heartbeats += 1;
            self.waiting.push_back((path, Chunk::Heartbeat(information(path, io.now, nonce))));
        }
        p.schedule_beat(config, io.now, chance);
    }

    /// Processes a HEARTBEAT ACK.
    pub(super) fn on_heartbeat_ack(&mut self, now: Time, info: &Opaque) {
        if self.on_probe_ack(now, info) {
            return;
        }
        let Some((index, path)) = info.first().and_then(|i| Some((*i, self.paths.get_mut(usize::from(*i))?)))
        else {
            return;
        };
        let Some((_, sent)) = path.beat.filter(|(nonce, sent)| **info == *information(index, *sent, *nonce))
        else {
            return;
        };
        path.beat = None;
        let confirmed = path.reach == Reachability::Unconfirmed;
        path.reached();
        path.sample(now.since(sent));
        if confirmed {
            //= RFC 9260 section 5.4: once an address is confirmed, it is tested as any other
            path.schedule_beat(&self.config, now, &mut self.chance);
            self.start_search(now, usize::from(index));
        }
        self.errors = 0;
        self.counts.heartbeats_acked += 1;
        self.choose_path();
    }
}

/// Heartbeat Information (section 3.3.5): path, transmission time, and a nonce that shows that the path leads
/// to the peer.
fn information(path: u8, sent: Time, nonce: u64) -> Opaque {
    let mut out = vec![path, 0, 0, 0];
    out.extend(sent.as_nanos().to_be_bytes());
    out.extend(nonce.to_be_bytes());
    out.into()
}
