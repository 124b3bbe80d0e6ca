//! Path MTU discovery of the sender: ICMP errors (RFC 1191), black holes and probes (RFC 4821; catalogue PR-05).
//!
//! A smaller segment size holds from the next segment on, and what is outstanding in larger ones is sent again. Where
//! routers are silent, `path-mtu = "probe"` takes repeated timeouts for a black hole, as Linux does with
//! `tcp_mtu_probing = 1`, and looks for the largest size that passes with single larger segments of new data.
//!
//! Departure: RFC 4821 section 7.6.2 spares the window when only a probe is lost. Here the recovery in use sees a lost
//! segment, and reduces it.

use super::{Sender, Tcb};
use crate::endpoint::Io;
use crate::tcp::config::{Config, PathMtu};
use base::truth::Cause;
use std::sync::Arc;

/// Expirations of the same data that make a black hole (RFC 1122 section 4.2.3.5: R1 is 3 retransmissions at least; Linux:
/// `tcp_retries1`).
const R1: u32 = 3;
/// What a black hole leaves at most, bytes of data (Linux: `tcp_base_mss`).
const BASE: u32 = 1024;
/// No segment is made smaller than this (the option's least value).
const LEAST: u32 = 64;
/// The search ends when it is as near as this, bytes (Linux: `tcp_probe_threshold`).
const NEAR: u32 = 8;
/// A probe needs a window of so many segments, and so many of them behind it, that its loss shows by duplicates.
const WINDOW: u64 = 11;
const BEHIND: u64 = 4;

/// A search for the largest segment that passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Search {
    /// This much is known to pass.
    low: u32,
    /// More than this is known not to.
    high: u32,
    /// The larger segment that is on its way.
    probe: Option<(u64, u64)>,
}

impl Config {
    /// The same on a path whose largest packet has `mtu` bytes, as far as it learns that.
    #[must_use]
    pub fn within(&self, mtu: u32) -> Config {
        let options = if self.timestamps { self.wire.timestamps } else { 0 };
        //= RFC 1191 section 3: never below 68 bytes
        let mss = mtu.max(68).saturating_sub(self.wire.header + options).max(LEAST);
        //= RFC 1191 section 5: a message that tells more than is used is false
        Config { mss: if self.path_mtu == PathMtu::Off { self.mss } else { self.mss.min(mss) }, ..*self }
    }
}

impl Sender {
    /// A router says that no more than `mtu` bytes fit through a link, headers counted.
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
    /// What was sent in segments that are too large is sent again.
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
            // No timer has expired.
            io.out.iter_mut().skip(first).for_each(|out| out.cause = Cause::Recovery);
        }
    }
}

impl Tcb {
    /// Segments are so large from now on.
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

    /// The retransmission timer has expired so often for the same data.
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

    /// Where the new segment at `nxt` ends, which would end at `end`, if it is to be a probe.
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

    /// Something was acknowledged: the probe perhaps.
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

    /// What begins at `seq` is sent again: the probe did not pass.
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
