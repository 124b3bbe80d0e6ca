//! SACK recovery of RFC 6675.
//!
//! The sender estimates the bytes in the pipe and retransmits lost segments: those with three segments or
//! ranges SACKed above them. It then sends new data, and finally a rescue retransmission. Without SACK,
//! NewReno replaces it.
//!
//! `rfc3517` shares this state machine; [`Edition`] lists the differences.

use super::LossRecovery;
use super::prr::Proportional;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Tcb;
use base::event::Event;
use base::truth::Cause;

/// RFC 6675 state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rfc6675(Conservative);

/// RFC that is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Edition {
    /// Duplicate ACKs as in RFC 5681 count, and recovery begins at the third. A segment is lost with three
    /// segments' worth of bytes SACKed above it. No rescue retransmission.
    Rfc3517,
    /// Every ACK with new SACK information counts, and recovery begins as soon as the first segment is lost.
    /// More than two segments' worth of SACKed bytes suffices. One rescue retransmission per recovery.
    #[default]
    Rfc6675,
}

/// State machine of both RFCs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conservative {
    edition: Edition,
    /// DupAcks: duplicate ACKs since the last cumulative ACK.
    duplicates: u32,
    /// RecoveryPoint, while recovering.
    point: Option<u64>,
    /// HighRxt: one past the highest byte retransmitted in this recovery.
    high_rxt: u64,
    /// RescueRxt: a rescue retransmission is permitted once this offset is acknowledged.
    rescue_rxt: u64,
    prr: Proportional,
}

impl Conservative {
    pub(super) fn new(edition: Edition) -> Self {
        Conservative { edition, ..Conservative::default() }
    }

    /// IsLost of section 4.
    fn is_lost(&self, tcb: &Tcb, seq: u64) -> bool {
        let (dupthresh, mss) = (tcb.dupthresh(), u64::from(tcb.mss()));
        let bytes = match self.edition {
            //= RFC 3517 section 4, IsLost: DupThresh * SMSS bytes have been SACKed
            Edition::Rfc3517 => u64::from(dupthresh) * mss,
            //= RFC 6675 section 4, IsLost: more than (DupThresh - 1) * SMSS bytes have been SACKed
            Edition::Rfc6675 => u64::from(dupthresh - 1) * mss + 1,
        };
        tcb.scoreboard.is_lost(seq, dupthresh, bytes)
    }

    /// SetPipe of section 4: estimate of the bytes in flight.
    pub(super) fn pipe(&self, tcb: &Tcb) -> u64 {
        let (una, max) = (tcb.una(), tcb.max_sent());
        let board = &tcb.scoreboard;
        if board.is_empty() && self.point.is_none() {
            return max - una;
        }
        let mut pipe = 0;
        let mut at = una;
        while at < max {
            if let Some(end) = board.end_of_range_at(at) {
                at = end;
                continue;
            }
            let end = board.next_range_after(at).unwrap_or(max).min(max);
            //= RFC 6675 section 4, SetPipe (a): bytes that are not lost are in the pipe
            if !self.is_lost(tcb, at) {
                pipe += end - at;
            }
            //= RFC 6675 section 4, SetPipe (b): so are retransmitted bytes
            if self.high_rxt > at {
                pipe += self.high_rxt.min(end) - at;
            }
            at = end;
        }
        pipe
    }
}

impl LossRecovery for Rfc6675 {
    const NEEDS_SACK: bool = true;
    const SKIPS_REPORTED: bool = true;
    //= RFC 6675 section 5.1: SACK information may be used across a timeout if reneging is detected
    const KEEPS_REPORTS: bool = true;

    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        self.0.on_ack(tcb, io, ack);
    }

    fn pipe(&self, tcb: &Tcb) -> Option<u64> {
        Some(self.0.pipe(tcb))
    }
}

impl Conservative {
    pub(super) fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let Conservative { point, edition, .. } = *self;
        if ack.newly_acked > 0 {
            tcb.advance(io, ack, true);
            //= RFC 6675 section 5: a cumulative acknowledgement resets DupAcks
            self.duplicates = 0;
            match point {
                None => tcb.open_window(ack),
                //= RFC 6675 section 5 step (A): an ACK above RecoveryPoint ends recovery
                Some(point) if ack.ack >= point => {
                    self.prr.end(&mut tcb.window);
                    *self = Conservative::new(edition);
                    tcb.recovery.end();
                    io.record(|| Event::RecoveryEnded { ack: ack.ack });
                }
                Some(_) => {}
            }
        }
        if self.point.is_some() {
            self.fill_pipe(tcb, io, Some(ack));
            return;
        }
        let counts = match edition {
            //= RFC 3517 section 2: a duplicate ACK is defined by RFC 2581
            Edition::Rfc3517 => ack.duplicate,
            //= RFC 6675 section 2: a duplicate ACK carries new SACK information, regardless of its other
            // fields
            Edition::Rfc6675 => ack.sack_news,
        };
        if counts {
            self.duplicates += 1;
            let duplicates = self.duplicates;
            let una = tcb.una();
            //= RFC 6675 section 5 steps (1), (2): enough duplicates, or the first segment is lost
            let convinced =
                duplicates >= tcb.dupthresh() || (edition == Edition::Rfc6675 && self.is_lost(tcb, una));
            if convinced && tcb.may_fast_retransmit() {
                self.enter(tcb, io, ack);
                return;
            }
        }
        let duplicates = self.duplicates;
        if ack.newly_acked > 0 || (duplicates == 0 && !ack.old) {
            tcb.send_window(io, 0);
        }
        if counts && duplicates < tcb.dupthresh() {
            match edition {
                Edition::Rfc3517 => tcb.limited_transmit(io, duplicates),
                //= RFC 6675 section 5 step (3): limited transmit by the pipe
                Edition::Rfc6675 => {
                    self.high_rxt = tcb.una();
                    let pipe = self.pipe(tcb);
                    tcb.limited_transmit_by_pipe(io, pipe);
                }
            }
        }
    }

    fn enter(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let prr = Proportional::begin(tcb);
        tcb.begin_fast_retransmit(io);
        //= RFC 6675 section 5 step (4.2): ssthresh = cwnd = FlightSize / 2
        tcb.halve_both();
        let (una, recover) = (tcb.una(), tcb.recover());
        tcb.recovery.begin();
        //= RFC 6675 section 5 step (4.1): RecoveryPoint = HighData
        (self.point, self.high_rxt, self.prr) = (Some(recover), una, prr);
        self.reduce(tcb, Some(ack));
        //= RFC 6675 section 5 step (4.3): the first segment is retransmitted at once, and not soon rescued
        let end = tcb.retransmit(io, una, Cause::Fast);
        (self.high_rxt, self.rescue_rxt) = (end, end);
        self.prr.sent(end - una);
        //= RFC 6675 section 5 steps (4.4), (4.5): run SetPipe, then send as many segments as it allows
        self.fill_pipe(tcb, io, None);
    }

    /// Computes the pipe; proportional rate reduction sets the window from it and the delivered bytes.
    fn reduce(&mut self, tcb: &mut Tcb, ack: Option<&AckDigest>) -> u64 {
        let pipe = self.pipe(tcb);
        if let Some(ack) = ack {
            self.prr.on_digest(&mut tcb.window, ack, pipe);
        }
        pipe
    }

    fn fill_pipe(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: Option<&AckDigest>) {
        let mss = f64::from(tcb.mss());
        // Computed once; transmissions below add to it.
        let mut pipe = self.reduce(tcb, ack);
        loop {
            //= RFC 6675 section 5 step (C): while cwnd - pipe >= 1 SMSS
            if tcb.window.cwnd - (pipe as f64) < mss {
                return;
            }
            let from = self.high_rxt.max(tcb.una());
            let hole = tcb.scoreboard.next_hole(from);
            //= RFC 6675 section 4, NextSeg rule (1): a hole that is lost
            if let Some(hole) = hole
                && self.is_lost(tcb, hole)
            {
                pipe += self.resend(tcb, io, hole);
                continue;
            }
            //= RFC 6675 section 4, NextSeg rule (2): new data
            let max = tcb.max_sent();
            if tcb.send_one_within_peer_window(io) {
                let sent = tcb.max_sent() - max;
                pipe += self.prr.sent(sent);
                continue;
            }
            //= RFC 6675 section 4, NextSeg rule (3): a hole not known to be lost
            if let Some(hole) = hole {
                pipe += self.resend(tcb, io, hole);
                continue;
            }
            self.rescue(tcb, io);
            return;
        }
    }

    /// Rescue retransmission: resends the last outstanding segment once per recovery, if nothing above the
    /// last retransmission has been SACKed. Only its ACK could reveal the loss.
    ///
    /// Rule (4) names the highest outstanding byte that is not SACKed. If the very end is SACKed, that byte
    /// lies in a hole already retransmitted; an immediate second retransmission would reveal nothing new.
    fn rescue(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) {
        let (una, max) = (tcb.una(), tcb.max_sent());
        let end_is_open = tcb.scoreboard.highest() < max && self.high_rxt < max;
        //= RFC 6675 section 4, NextSeg rule (4): HighACK is above RescueRxt; RescueRxt = RecoveryPoint
        if self.edition == Edition::Rfc6675 && end_is_open && una > self.rescue_rxt {
            let from = tcb.scoreboard.highest().max(self.high_rxt).max(una);
            let start = max.saturating_sub(u64::from(tcb.mss())).max(from);
            let end = tcb.retransmit(io, start, Cause::Recovery);
            let point = self.point.unwrap_or(max);
            self.prr.sent(end - start);
            self.rescue_rxt = point;
        }
    }

    /// Retransmits a hole; returns the bytes that it adds to the pipe.
    fn resend(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, hole: u64) -> u64 {
        let end = tcb.retransmit(io, hole, Cause::Recovery);
        //= RFC 6675 section 5 step (C.2): HighRxt is the highest byte of the retransmission
        self.high_rxt = end;
        self.prr.sent(end - hole)
    }
}
