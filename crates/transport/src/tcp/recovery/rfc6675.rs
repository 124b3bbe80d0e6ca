//! SACK recovery of RFC 6675.
//!
//! RFC 6675: count the bytes in the pipe, resend what is lost (three segments or ranges reported above it), then send
//! new data, then rescue the end. Without SACK NewReno takes its place.
//!
//! The same machine serves `rfc3517`, which differs in the points that [`Edition`] lists.

use super::prr::Proportional;
use super::{Held, Rules, Strategy};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Sender;
use base::event::Event;
use base::truth::Cause;

/// RFC 6675 between acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rfc6675(Conservative);

/// Which of the two documents is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Edition {
    /// Duplicates as in RFC 5681 count, recovery begins at the third; lost is what has three segments'
    /// worth of bytes reported above it; nothing is rescued.
    Rfc3517,
    /// Every acknowledgement with SACK news counts, and recovery begins as soon as the first segment is
    /// lost; more than two segments' worth is enough; the end is rescued once.
    #[default]
    Rfc6675,
}

/// The machine of both between acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conservative {
    edition: Edition,
    /// DupAcks: since the last cumulative acknowledgement.
    duplicates: u32,
    /// RecoveryPoint, while recovering.
    point: Option<u64>,
    /// HighRxt: one past the highest byte resent in this recovery.
    high_rxt: u64,
    /// RescueRxt: the end may be rescued once this is acknowledged.
    rescue_rxt: u64,
    prr: Proportional,
}

impl Conservative {
    pub(super) fn new(edition: Edition) -> Self {
        Conservative { edition, ..Conservative::default() }
    }

    pub(super) fn recovering(&self) -> bool {
        self.point.is_some()
    }

    /// IsLost of section 4.
    fn is_lost(&self, sender: &Sender, seq: u64) -> bool {
        let (dupthresh, mss) = (sender.dupthresh(), u64::from(sender.mss()));
        let bytes = match self.edition {
            //= RFC 3517 section 4, IsLost: DupThresh * SMSS bytes have been SACKed
            Edition::Rfc3517 => u64::from(dupthresh) * mss,
            //= RFC 6675 section 4, IsLost: more than (DupThresh - 1) * SMSS bytes have been SACKed
            Edition::Rfc6675 => u64::from(dupthresh - 1) * mss + 1,
        };
        sender.scoreboard.is_lost(seq, dupthresh, bytes)
    }

    /// SetPipe of section 4: bytes believed to be in the network.
    pub(super) fn pipe(&self, sender: &Sender) -> u64 {
        let (una, max) = (sender.una(), sender.max_sent());
        let board = &sender.scoreboard;
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
            //= RFC 6675 section 4, SetPipe (a): what is not lost is in the pipe
            if !self.is_lost(sender, at) {
                pipe += end - at;
            }
            //= RFC 6675 section 4, SetPipe (b): so is what was resent
            if self.high_rxt > at {
                pipe += self.high_rxt.min(end) - at;
            }
            at = end;
        }
        pipe
    }

    fn ends(&mut self) {
        *self = Conservative::new(self.edition);
    }
}

impl Rules for Rfc6675 {
    const NEEDS_SACK: bool = true;
    const SKIPS_REPORTED: bool = true;
    //= RFC 6675 section 5.1: what was reported may be used across a timeout if reneging is noticed
    const KEEPS_REPORTS: bool = true;

    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        on_ack(sender, io, ack);
    }

    fn recovering(&self) -> bool {
        self.0.recovering()
    }

    fn pipe(&self, sender: &Sender) -> Option<u64> {
        Some(self.0.pipe(sender))
    }
}

fn state(sender: &mut Sender) -> &mut Conservative {
    match &mut sender.strategy {
        Strategy::Rfc3517(s) => s.machine(),
        other => &mut Rfc6675::of(other).0,
    }
}

pub(super) fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    let Conservative { point, edition, .. } = *state(sender);
    if ack.newly_acked > 0 {
        sender.advance(io, ack, true);
        //= RFC 6675 section 5: a cumulative acknowledgement resets DupAcks
        state(sender).duplicates = 0;
        match point {
            None => sender.open_window(ack),
            //= RFC 6675 section 5 step (A): an ACK above RecoveryPoint ends recovery
            Some(point) if ack.ack >= point => {
                let prr = state(sender).prr;
                prr.end(&mut sender.window);
                state(sender).ends();
                io.record(|| Event::RecoveryEnded { ack: ack.ack });
            }
            Some(_) => {}
        }
    }
    if state(sender).point.is_some() {
        fill_pipe(sender, io, Some(ack));
        return;
    }
    let counts = match edition {
        //= RFC 3517 section 2: a duplicate is what RFC 2581 calls one
        Edition::Rfc3517 => ack.duplicate,
        //= RFC 6675 section 2: a duplicate brings new SACK information, whatever else it says
        Edition::Rfc6675 => ack.sack_news,
    };
    if counts {
        let s = state(sender);
        s.duplicates += 1;
        let Conservative { duplicates, .. } = *s;
        let una = sender.una();
        //= RFC 6675 section 5 steps (1), (2): enough duplicates, or the first segment is lost
        let convinced = duplicates >= sender.dupthresh()
            || (edition == Edition::Rfc6675 && state(sender).clone().is_lost(sender, una));
        if convinced && sender.may_fast_retransmit() {
            enter(sender, io, ack);
            return;
        }
    }
    let duplicates = state(sender).duplicates;
    if ack.newly_acked > 0 || (duplicates == 0 && !ack.old) {
        sender.send_window(io, 0);
    }
    if counts && duplicates < sender.dupthresh() {
        match edition {
            Edition::Rfc3517 => sender.limited_transmit(io, duplicates),
            //= RFC 6675 section 5 step (3): limited transmit by the pipe
            Edition::Rfc6675 => {
                let una = sender.una();
                let s = state(sender);
                s.high_rxt = una;
                let counted = *s;
                let pipe = counted.pipe(sender);
                sender.limited_transmit_by_pipe(io, pipe);
            }
        }
    }
}

fn enter(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    let prr = Proportional::begin(sender);
    sender.begin_fast_retransmit(io);
    //= RFC 6675 section 5 step (4.2): ssthresh = cwnd = FlightSize / 2
    sender.halve_both();
    let (una, recover) = (sender.una(), sender.recover());
    let s = state(sender);
    //= RFC 6675 section 5 step (4.1): RecoveryPoint = HighData
    (s.point, s.high_rxt, s.prr) = (Some(recover), una, prr);
    reduce(sender, Some(ack));
    //= RFC 6675 section 5 step (4.3): the first segment goes at once, and is not soon rescued
    let end = sender.retransmit(io, una, Cause::Fast);
    let s = state(sender);
    (s.high_rxt, s.rescue_rxt) = (end, end);
    s.prr.sent(end - una);
    //= RFC 6675 section 5 steps (4.4), (4.5): run SetPipe, then send what it allows
    fill_pipe(sender, io, None);
}

/// Counts the pipe; proportional rate reduction sets the window by it and what was delivered.
fn reduce(sender: &mut Sender, ack: Option<&AckDigest>) -> u64 {
    let mut counted = *state(sender);
    let pipe = counted.pipe(sender);
    if let Some(ack) = ack {
        counted.prr.on_digest(&mut sender.window, ack, pipe);
        state(sender).prr = counted.prr;
    }
    pipe
}

fn fill_pipe(sender: &mut Sender, io: &mut Io<'_>, ack: Option<&AckDigest>) {
    let mss = f64::from(sender.mss());
    // Counted once; what is sent below adds to it.
    let mut pipe = reduce(sender, ack);
    loop {
        //= RFC 6675 section 5 step (C): while cwnd - pipe >= 1 SMSS
        if sender.window.cwnd - (pipe as f64) < mss {
            return;
        }
        let s = *state(sender);
        let from = s.high_rxt.max(sender.una());
        let hole = sender.scoreboard.next_hole(from);
        //= RFC 6675 section 4, NextSeg rule (1): a hole that is lost
        if let Some(hole) = hole
            && s.is_lost(sender, hole)
        {
            pipe += resend(sender, io, hole);
            continue;
        }
        //= RFC 6675 section 4, NextSeg rule (2): new data
        let max = sender.max_sent();
        if sender.send_one_within_peer_window(io) {
            let sent = sender.max_sent() - max;
            pipe += state(sender).prr.sent(sent);
            continue;
        }
        //= RFC 6675 section 4, NextSeg rule (3): a hole not known to be lost
        if let Some(hole) = hole {
            pipe += resend(sender, io, hole);
            continue;
        }
        rescue(sender, io);
        return;
    }
}

/// Resends the end of what is outstanding, once a recovery, if nothing above what was resent before has
/// been reported: its acknowledgement would be what tells of it.
///
/// Rule (4) speaks of the highest byte outstanding and not reported. Where the very end is reported, that
/// byte lies in a hole which was resent already, and resending it at once again would tell nothing new.
fn rescue(sender: &mut Sender, io: &mut Io<'_>) {
    let (una, max) = (sender.una(), sender.max_sent());
    let s = *state(sender);
    let end_is_open = sender.scoreboard.highest() < max && s.high_rxt < max;
    //= RFC 6675 section 4, NextSeg rule (4): HighACK is above RescueRxt; RescueRxt = RecoveryPoint
    if s.edition == Edition::Rfc6675 && end_is_open && una > s.rescue_rxt {
        let from = sender.scoreboard.highest().max(s.high_rxt).max(una);
        let start = max.saturating_sub(u64::from(sender.mss())).max(from);
        let end = sender.retransmit(io, start, Cause::Recovery);
        let point = s.point.unwrap_or(max);
        let s = state(sender);
        s.prr.sent(end - start);
        s.rescue_rxt = point;
    }
}

/// Resends a hole; how many bytes that puts into the pipe.
fn resend(sender: &mut Sender, io: &mut Io<'_>, hole: u64) -> u64 {
    let end = sender.retransmit(io, hole, Cause::Recovery);
    //= RFC 6675 section 5 step (C.2): HighRxt is the highest byte of the retransmission
    let s = state(sender);
    s.high_rxt = end;
    s.prr.sent(end - hole)
}
