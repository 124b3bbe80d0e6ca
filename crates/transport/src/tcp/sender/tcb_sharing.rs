//! TCB sharing of a connection: values taken from and given to the cache.
//!
//! Option `share` selects the values: RTT and timer state from the SYN on, ssthresh and cwnd once the
//! connection is established (RFC 9040 section 6; catalogue EI-27).

use super::Tcb;
use crate::recovery::tcb_cache::{CachedPath, Closing, TcbCache};
use crate::tcp::cc::CongestionAlgorithm;
use crate::tcp::config::Share;
use base::Time;

/// Cache shared by the connections to one destination.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    cache: TcbCache,
    /// Cached values at the start of this connection; none before the start.
    known: Option<CachedPath>,
    handed_on: bool,
}

impl Tcb {
    /// Shares the TCB through `cache`.
    pub(in crate::tcp) fn share(&mut self, cache: TcbCache) {
        self.sharing = Some(Box::new(Sharing { cache, known: None, handed_on: false }));
    }

    //= RFC 9040 section 6.1: a new TCB begins with the cached values
    /// Initialises RTT, timer and detector from the cache when the connection begins.
    pub(in crate::tcp) fn take_over(&mut self, now: Time) {
        let share = self.config.share;
        let Some(sharing) = self.sharing.as_mut().filter(|sharing| sharing.known.is_none()) else { return };
        let known = sharing.cache.recall(now, share.age).unwrap_or_default();
        sharing.known = Some(known);
        if let (Share::Rfc9040, Some((srtt, rttvar))) = (share.rtt, known.rtt) {
            let config = *self.rto.config();
            self.rto.rtt.assign(srtt, rttvar, &config);
            self.rto.recompute();
        }
        if let Some(lesson) = known.lesson.filter(|_| share.rto) {
            self.rto.go_on_from(&lesson);
        }
        if let Some(least) = known.min_rtt.filter(|_| share.min_rtt) {
            self.judging.detector.set_min_rtt(least);
        }
    }

    /// Initialises ssthresh and cwnd when the connection is established. If the SYN was `lost`, cwnd stays
    /// small.
    #[cold]
    pub(super) fn take_over_window(&mut self, lost: bool) {
        let share = self.config.share;
        let Some(known) = self.sharing.as_ref().and_then(|sharing| sharing.known) else { return };
        if let Some(ssthresh) = known.ssthresh.filter(|_| share.ssthresh != Share::Off) {
            self.window.ssthresh = ssthresh.max(2.0 * self.window.mss);
        }
        if let Some(cwnd) = known.cwnd.filter(|_| share.cwnd && !lost && !self.control.owns_window()) {
            self.window.cwnd = cwnd.max(self.window.mss);
        }
        if let (Share::Linux, Some((srtt, _))) = (share.rtt, known.rtt)
            && srtt > self.rto.srtt()
        {
            // Used until the first RTT sample of data: a SYN is shorter.
            self.rto.expect(srtt + srtt.times(2).max(self.rto.config().min));
        }
    }

    /// Stores the connection's values in the cache, once, when its FIN is acknowledged.
    #[cold]
    pub(super) fn hand_on(&mut self, now: Time) {
        if !self.seq.done() {
            return;
        }
        let config = *self.rto.config();
        let closing = Closing {
            rtt: self.rto.rtt.srtt(&config).map(|srtt| (srtt, self.rto.rttvar())),
            min_rtt: self.judging.detector.min_rtt(),
            ssthresh: self.window.ssthresh,
            cwnd: self.window.cwnd,
            recovering: self.recovery.recovering(),
            backed_off: self.rto.backed_off(),
            lesson: self.rto.lesson(),
        };
        if let Some(sharing) = self.sharing.as_mut().filter(|sharing| !sharing.handed_on) {
            sharing.handed_on = true;
            sharing.cache.merge(now, &self.config.share, &closing);
        }
    }
}
