//! SACK processing of the sender (RFC 9260 sections 6.2.1, 6.3, 7.2): acknowledged and missing chunks, fast
//! retransmit, window updates, timers, spurious timeouts.

use super::{Association, Fate, Sent};
use crate::chunk::{Packet, Sack};
use crate::config::{Missing, Response, Spurious};
use base::event::Event;
use base::truth::Cause;
use transport::Io;
use transport::app::message::MessageEvent;

/// Data newly acknowledged by one SACK.
struct Newly {
    /// Bytes newly acknowledged on each path.
    bytes: Vec<u64>,
    /// Highest TSN newly acknowledged.
    highest: Option<u64>,
    /// Paths whose oldest outstanding chunk is acknowledged.
    oldest: Vec<bool>,
    /// Whether the cumulative TSN advanced.
    advanced: bool,
}

impl Association {
    /// Processes a SACK, or the acknowledgement in a SHUTDOWN.
    pub(super) fn on_sack(&mut self, io: &mut Io<'_, Packet>, sack: &Sack) {
        //= RFC 9260 section 6.2.1, D-i: a SACK with a lower cumulative number is out of order and ignored
        if sack.cumulative < self.una || sack.cumulative > self.next {
            return;
        }
        let before: Vec<u64> = self.paths.iter().map(|path| path.flight).collect();
        let old = self.una;
        let newly = self.digest(io, sack);
        let acked: u64 = newly.bytes.iter().sum();
        io.record(|| Event::AckReceived {
            ack: sack.cumulative,
            window: sack.window,
            duplicate: sack.cumulative == old,
        });
        for &(left, right) in &sack.gaps {
            io.record(|| Event::SackBlock { left, right });
        }
        self.judge(io, sack);
        for (index, path) in self.paths.iter_mut().enumerate() {
            if newly.bytes[index] > 0 {
                path.reached();
                self.errors = 0;
            }
            if path.recovers_to.is_some_and(|to| self.una >= to) {
                path.recovers_to = None;
                io.record(|| Event::RecoveryEnded { ack: sack.cumulative });
            }
        }
        //= RFC 9260 section 7.2.1: a window that is used up grows, whether the cumulative number advances or not
        if self.config.grows_on_gaps {
            self.grow(&newly, &before);
        }
        self.find_losses(io, sack, &newly);
        if newly.advanced && !self.config.grows_on_gaps {
            self.grow(&newly, &before);
        }
        self.restart_timers(io, &newly);
        let outstanding: u64 =
            self.sent.iter().filter(|s| s.fate == Fate::Flight).map(|s| self.weight(s.data.len)).sum();
        self.peer.window = u64::from(sack.window).saturating_sub(outstanding);
        self.peer.closed = sack.window == 0;
        self.advance();
        //= RFC 3758 section 3.5, C3: each SACK below the Advanced.Peer.Ack.Point is answered with a FORWARD TSN
        // One that was lost is thus sent again while data flow, when each SACK restarts T3-rtx.
        self.queue_forward();
        if acked > 0 {
            self.choose_path();
            self.record_window(io, usize::from(self.data_path));
        }
        self.clocked = acked > 0 || newly.advanced || self.config.sends_on_duplicates;
    }

    /// Increases the congestion windows of paths with newly acknowledged data; `before` is each path's flight
    /// before the SACK.
    fn grow(&mut self, newly: &Newly, before: &[u64]) {
        for (index, path) in self.paths.iter_mut().enumerate().filter(|(i, _)| newly.bytes[*i] > 0) {
            path.grow(&self.config, newly.bytes[index], before[index]);
        }
    }

    /// Applies a SACK to each outstanding chunk (section 6.2.1, D-ii to D-iv): acknowledged, reported by a gap
    /// block, or reneged on.
    fn digest(&mut self, io: &mut Io<'_, Packet>, sack: &Sack) -> Newly {
        let paths = self.paths.len();
        let mut newly = Newly {
            bytes: vec![0; paths],
            highest: None,
            oldest: vec![false; paths],
            advanced: sack.cumulative > self.una,
        };
        let oldest: Vec<Option<u64>> = (0..paths as u8)
            .map(|p| self.sent.iter().find(|s| s.path == p && s.fate == Fate::Flight).map(|s| s.data.tsn))
            .collect();
        while self.sent.front().is_some_and(|sent| sent.data.tsn < sack.cumulative) {
            let Some(mut sent) = self.sent.pop_front() else { break };
            self.credit(io, &mut sent, &mut newly);
            self.acked_bytes += u64::from(sent.data.len);
            if let Some(bytes) = self.acked_streams.get_mut(usize::from(sent.data.stream)) {
                *bytes += u64::from(sent.data.len);
            }
            if let Some(id) = sent.message.filter(|_| sent.data.end && sent.fate != Fate::Abandoned) {
                self.events.push_back(MessageEvent::Acknowledged(id));
            }
        }
        self.una = sack.cumulative;
        let mut gaps = sack.gaps.iter().peekable();
        for index in 0..self.sent.len() {
            let tsn = self.una + index as u64;
            while gaps.next_if(|(_, to)| *to <= tsn).is_some() {}
            let reported = gaps.peek().is_some_and(|(from, to)| *from <= tsn && tsn < *to);
            let Some(mut sent) = self.sent.get(index).copied() else { break };
            match (reported, sent.fate) {
                (true, Fate::Flight | Fate::Resend) => {
                    self.credit(io, &mut sent, &mut newly);
                    sent.fate = Fate::Acked;
                }
                //= RFC 9260 section 6.2.1, D-iii: a chunk reported before and missing now was reneged on
                (false, Fate::Acked) => {
                    sent.fate = Fate::Flight;
                    sent.missing = 0;
                    self.paths[usize::from(sent.path)].flight += u64::from(sent.data.len);
                }
                _ => continue,
            }
            self.sent[index] = sent;
        }
        for (path, tsn) in oldest.iter().enumerate() {
            newly.oldest[path] = tsn.is_some_and(|tsn| {
                tsn < self.una
                    || self.sent.get((tsn - self.una) as usize).is_some_and(|s| s.fate == Fate::Acked)
            });
        }
        newly
    }

    /// Accounts for a chunk that is acknowledged for the first time.
    fn credit(&mut self, io: &mut Io<'_, Packet>, sent: &mut Sent, newly: &mut Newly) {
        let index = usize::from(sent.path);
        let counts = sent.fate == Fate::Flight || self.config.counts_marked;
        match sent.fate {
            Fate::Flight => self.paths[index].flight -= u64::from(sent.data.len),
            Fate::Resend => self.resends -= 1,
            Fate::Acked | Fate::Abandoned => return,
        }
        newly.bytes[index] += if counts { u64::from(sent.data.len) } else { 0 };
        newly.highest = newly.highest.max(Some(sent.data.tsn));
        let path = &mut self.paths[index];
        if let Some((tsn, at)) = path.timed.filter(|(tsn, _)| *tsn == sent.data.tsn) {
            path.timed = None;
            //= RFC 9260 section 6.3.1, C5: Karn's algorithm: retransmitted chunks give no RTT sample
            if sent.transmissions == 1 && tsn == sent.data.tsn {
                path.sample(io.now.since(at));
                let (rto, srtt, rttvar) = (path.timer.timeout(), path.timer.srtt(), path.timer.rttvar());
                io.record(|| Event::Timer { rto, srtt, rttvar });
            }
        }
    }

    /// Counts missing reports, and marks chunks with enough reports for retransmission (section 7.2.4).
    fn find_losses(&mut self, io: &mut Io<'_, Packet>, sack: &Sack, newly: &Newly) {
        let Some(&(_, reported)) = sack.gaps.last() else { return };
        let recovering = self.paths.iter().any(|path| path.recovers_to.is_some());
        let below = match (self.config.missing, newly.highest) {
            //= RFC 9260 section 7.2.4: in fast recovery, a SACK that advances counts against all that is missing
            (Missing::HighestNewlyAcked, Some(highest)) => {
                if recovering && newly.advanced {
                    reported
                } else {
                    highest
                }
            }
            (Missing::HighestNewlyAcked, None) => return,
            (Missing::HighestReported, _) => reported,
        };
        let most = self.config.missing_reports;
        let mut lost: Option<(u64, u8)> = None;
        for sent in self.sent.iter_mut().take_while(|sent| sent.data.tsn < below) {
            if sent.fate != Fate::Flight {
                continue;
            }
            sent.missing += 1;
            if sent.missing < most || sent.fast {
                continue;
            }
            sent.fate = Fate::Resend;
            sent.fast = true;
            sent.missing = 0;
            let path = &mut self.paths[usize::from(sent.path)];
            let in_recovery = path.recovers_to.is_some();
            sent.data.cause = if lost.is_none() && !in_recovery { Cause::Fast } else { Cause::Recovery };
            path.flight -= u64::from(sent.data.len);
            if path.timed.is_some_and(|(tsn, _)| tsn == sent.data.tsn) {
                path.timed = None;
            }
            self.resends += 1;
            self.peer.window += u64::from(sent.data.len);
            lost = lost.or(Some((sent.data.tsn, sent.path)));
        }
        let Some((tsn, path)) = lost else { return };
        let config = self.config.clone();
        let (index, next) = (usize::from(path), self.next);
        if self.paths[index].recovers_to.is_none() {
            self.counts.fast_retransmits += 1;
            io.record(|| Event::FastRetransmit { seq: tsn, recover: next });
        }
        self.paths[index].on_loss(&config, next);
        //= RFC 9260 section 7.2.4, step 3: one packet of them leaves at once, whatever the window
        self.rush = Some(path);
    }

    //= RFC 9260 section 6.3.2, R2 and R3
    /// Stops the T3-rtx timer of each path without outstanding data, and restarts the timer of each path whose oldest
    /// chunk was acknowledged.
    fn restart_timers(&mut self, io: &mut Io<'_, Packet>, newly: &Newly) {
        let forwards = self.advanced > self.una;
        for (index, path) in self.paths.iter_mut().enumerate() {
            if path.flight == 0 {
                path.all_acked();
                let resends =
                    self.sent.iter().any(|s| usize::from(s.path) == index && s.fate == Fate::Resend);
                if !forwards && !resends {
                    path.timer.stop();
                }
            } else if newly.oldest[index] || path.timer.deadline().is_never() {
                path.timer.restart(io.now);
            }
        }
    }

    /// Judges the last timeout of each path: spurious if the SACK reports the oldest retransmitted chunk as a
    /// duplicate, because the first copy had arrived.
    fn judge(&mut self, io: &mut Io<'_, Packet>, sack: &Sack) {
        if self.config.spurious != Spurious::DuplicateTsn {
            return;
        }
        for path in &mut self.paths {
            let Some(saved) = path.saved.as_mut().filter(|saved| !saved.judged) else { continue };
            let spurious = sack.duplicates.contains(&saved.tsn);
            if !spurious && sack.cumulative <= saved.tsn + 1 {
                continue;
            }
            // An acknowledgement without a duplicate report may be for the original chunk. The verdict is deferred
            // until the cumulative TSN is 64 above the chunk, or a fast recovery begins.
            if !spurious && path.recovers_to.is_none() && sack.cumulative < saved.tsn + 64 {
                continue;
            }
            saved.judged = true;
            if spurious {
                self.verdicts.spurious_timeouts += 1;
                if self.config.response == Response::Restore {
                    path.cwnd = path.cwnd.max(saved.cwnd);
                    path.threshold = path.threshold.max(saved.threshold);
                }
            } else {
                self.verdicts.genuine_timeouts += 1;
            }
            io.record(|| Event::Verdict { spurious, detector: "duplicate-tsn" });
        }
    }

    /// Processes an ECN-Echo (RFC 4960 appendix A): reduces the window as after a loss, and replies with CWR.
    pub(super) fn on_mark(&mut self, io: &mut Io<'_, Packet>, tsn: u64) {
        let (config, next) = (self.config.clone(), self.next);
        let path = self.data_path;
        self.paths[usize::from(path)].on_mark(&config, tsn, next);
        self.waiting.push_back((path, crate::chunk::Chunk::Cwr(tsn)));
        io.record(|| Event::MarkEchoed { ack: tsn });
    }
}
