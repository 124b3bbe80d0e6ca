//! Path MTU discovery of the sender: ICMP errors (RFC 1191), black holes and probes (RFC 4821; catalogue PR-05).
//!
//! A smaller segment size applies from the next segment on; outstanding larger segments are resent. Where
//! routers send no ICMP errors, `path-mtu = "probe"` takes repeated timeouts for a black hole, as Linux does
//! with `tcp_mtu_probing = 1`. It then searches for the largest size that passes, with single larger segments
//! of new data.
//!
//! Departure: RFC 4821 section 7.6.2 spares the window when only a probe is lost. Here recovery sees a lost
//! segment and reduces the window.

use super::{Sender, Tcb};
use crate::endpoint::Io;
use crate::tcp::config::{Config, PathMtu};
use base::truth::Cause;
use std::sync::Arc;

/// Timeouts of the same data that indicate a black hole (RFC 1122 section 4.2.3.5: R1 is at least 3
/// retransmissions; Linux: `tcp_retries1`).
const R1: u32 = 3;
/// Upper bound of the segment size after a black hole, bytes of data (Linux: `tcp_base_mss`).
const BASE: u32 = 1024;
/// Lower bound of the segment size, bytes (least value of the option).
const LEAST: u32 = 64;
/// The search ends when its bounds are closer than this, bytes (Linux: `tcp_probe_threshold`).
const NEAR: u32 = 8;
/// A probe needs a window of `WINDOW` segments, and `BEHIND` segments of data after it, so that its loss
/// shows by duplicate ACKs.
const WINDOW: u64 = 11;
const BEHIND: u64 = 4;

/// A search for the largest segment that passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Search {
    /// Largest size known to pass, bytes.
    low: u32,
    /// Largest size not known to fail, bytes.
    high: u32,
    /// First byte and end of the probe in flight.
    probe: Option<(u64, u64)>,
}

impl Config {
    /// Copy of the configuration with the segment size limited to a path MTU of `mtu` bytes, if path MTU
    /// discovery is on.
    #[must_use]
    pub fn within(&self, mtu: u32) -> Config {
        let options = if self.timestamps { self.wire.timestamps } else { 0 };
        //= RFC 1191 section 3: never below 68 bytes
        let mss = mtu.max(68).saturating_sub(self.wire.header + options).max(LEAST);
        //= RFC 1191 section 5: a message with an MTU above the one in use is ignored
        Config { mss: if self.path_mtu == PathMtu::Off { self.mss } else { self.mss.min(mss) }, ..*self }
    }
}

impl Sender {
    /// Processes an ICMP "fragmentation needed": next-hop MTU of `mtu` bytes, headers included.
    pub(in crate::tcp) fn path_mtu(&mut self, io: &mut Io<'_>, mtu: u32) {
        let mss = self.tcb.config.within(mtu).mss;
        if mss >= self.tcb.config.mss {
            return;
        }
        if let Some(search) = &mut self.tcb.search {
            (search.high, search.probe) = (search.high.min(mss), None);
        }
        if let Some(sent) = &mut self.tcb.sent {
            for i in 0..sent.records().len() {
                if sent.records()[i].bytes() > u64::from(mss) {
                    sent.mark_lost(i);
                }
            }
        }
        self.tcb.use_mss(mss);
        let oversized = self.tcb.status.established && self.tcb.seq.max > self.tcb.seq.una;
        if oversized {
            self.resend_smaller(io);
        }
    }

    //= RFC 1191 section 6.4: resend at once; the window is not reduced for it, but slow start leads back to it
    /// Resends the outstanding segments that are too large.
    fn resend_smaller(&mut self, io: &mut Io<'_>) {
        self.tcb.window.ssthresh = self.tcb.window.ssthresh.max(self.tcb.window.cwnd);
        self.tcb.window.cwnd = self.tcb.window.mss;
        self.end_recovery();
        (self.tcb.seq.recover, self.quiet_mark) = (self.tcb.seq.max, self.tcb.seq.max);
        self.tcb.rto.restart(io.now);
        self.tcb.untime();
        if self.strategy.goes_back() {
            self.tcb.go_back_to(self.tcb.seq.una);
            self.tcb.send_window(io, 0);
        } else {
            let first = io.out.len();
            self.strategy.resend(&mut self.tcb, io);
            // These are no timeout retransmissions.
            io.out.iter_mut().skip(first).for_each(|out| out.cause = Cause::Recovery);
        }
    }
}

impl Tcb {
    /// Sets the segment size from here on.
    fn use_mss(&mut self, mss: u32) {
        self.config = Arc::new(Config { mss, ..*self.config });
        self.window.mss = f64::from(mss);
        if let Some(queue) = &mut self.queue {
            queue.use_mss(mss);
        }
        if let Some(sent) = &mut self.sent {
            sent.recut(u64::from(mss));
        }
    }

    /// Called after `expirations` timeouts of the same data; from R1 on assumes a black hole.
    pub(super) fn suspect_black_hole(&mut self, expirations: u32) {
        let mss = self.config.mss;
        if self.config.path_mtu != PathMtu::Probe
            || expirations < R1
            || !self.status.established
            || mss <= LEAST
        {
            return;
        }
        let smaller = (mss / 2).clamp(LEAST, BASE);
        let high = self.search.map_or(mss, |search| search.high);
        self.search = Some(Search { low: smaller, high, probe: None });
        self.use_mss(smaller);
    }

    /// End of the new segment at `nxt`: beyond `end` if it is to be a probe.
    #[cold]
    pub(super) fn probe_end(&mut self, end: u64, limit: u64) -> u64 {
        let (mss, nxt) = (u64::from(self.config.mss), self.seq.nxt);
        let Some(search) = &mut self.search else { return end };
        let size = u64::from(search.low + (search.high - search.low).div_ceil(2));
        let idle = search.probe.is_none() && search.high >= search.low + NEAR;
        let roomy = self.window.cwnd >= (WINDOW * mss) as f64
            && nxt + size <= limit
            && nxt + size + BEHIND * mss <= self.seq.end;
        let quiet =
            self.seq.una >= self.seq.recover && !self.recovery.recovering() && self.scoreboard.is_empty();
        if !(idle && roomy && quiet && self.queue.is_none()) {
            return end;
        }
        search.probe = Some((nxt, nxt + size));
        nxt + size
    }

    /// New data were acknowledged: raises the lower bound if the probe was among them.
    #[cold]
    pub(super) fn judge_probe(&mut self) {
        let una = self.seq.una;
        let Some(search) = &mut self.search else { return };
        if let Some((start, end)) = search.probe
            && una >= end
        {
            let passes = (end - start) as u32;
            (search.low, search.probe) = (passes, None);
            self.use_mss(passes);
        }
    }

    /// Segment at `seq` is retransmitted: if it was the probe, lowers the upper bound.
    #[cold]
    pub(super) fn lose_probe(&mut self, seq: u64, cause: Cause) {
        let Some(search) = &mut self.search else { return };
        if cause != Cause::New
            && let Some((start, end)) = search.probe
            && seq == start
        {
            (search.high, search.probe) = ((end - start) as u32 - 1, None);
        }
    }
}
