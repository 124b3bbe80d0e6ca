//! What may be sent when SACK shows which bytes arrived? RFC 6675: count the bytes in the pipe, resend
//! what is lost (three segments or ranges reported above it), then send new data, then rescue the end.

use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Sender;
use base::event::Event;
use base::truth::Cause;

/// RFC 6675 between acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rfc6675 {
    duplicates: u32,
    /// RecoveryPoint, while recovering.
    pub(super) point: Option<u64>,
    /// HighRxt: one past the highest byte resent in this recovery.
    high_rxt: u64,
    /// RescueRxt: the rescue retransmission of this recovery was sent.
    rescued: bool,
}

impl Rfc6675 {
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
            if !board.is_lost(at, sender.dupthresh(), sender.mss()) {
                pipe += end - at;
            }
            if self.high_rxt > at {
                pipe += self.high_rxt.min(end) - at;
            }
            at = end;
        }
        pipe
    }
}

fn state(sender: &mut Sender) -> &mut Rfc6675 {
    match &mut sender.strategy {
        super::Strategy::Rfc6675(s) => s,
        _ => unreachable!("asked by RFC 6675 only"),
    }
}

pub(super) fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    let point = state(sender).point;
    if ack.newly_acked > 0 {
        let ends = point.is_some_and(|p| ack.ack >= p);
        sender.advance(io, ack, true);
        if point.is_none() {
            state(sender).duplicates = 0;
            sender.open_window(ack);
        } else if ends {
            //= RFC 6675 section 5 step (A): an ACK above RecoveryPoint ends recovery
            *state(sender) = Rfc6675::default();
            io.record(|| Event::RecoveryEnded { ack: ack.ack });
        }
    }
    if state(sender).point.is_some() {
        fill_pipe(sender, io);
        return;
    }
    //= RFC 6675 section 5: a duplicate is one that brings new SACK information
    if ack.duplicate && ack.sack_news {
        let s = state(sender);
        s.duplicates += 1;
        let duplicates = s.duplicates;
        let una = sender.una();
        let convinced = duplicates >= sender.dupthresh()
            || sender.scoreboard.is_lost(una, sender.dupthresh(), sender.mss());
        if convinced && sender.may_fast_retransmit() {
            enter(sender, io);
            return;
        }
        if duplicates < sender.dupthresh() {
            //= RFC 6675 section 5 step (3): limited transmit by the pipe
            sender.limited_transmit(io, duplicates);
            return;
        }
    }
    if !ack.old && state(sender).duplicates == 0 {
        sender.send_window(io, 0);
    }
}

fn enter(sender: &mut Sender, io: &mut Io<'_>) {
    sender.begin_fast_retransmit(io);
    //= RFC 6675 section 5 step (4.2): ssthresh = cwnd = FlightSize / 2
    sender.halve_both();
    let (una, recover) = (sender.una(), sender.recover());
    let s = state(sender);
    s.point = Some(recover);
    s.high_rxt = una;
    //= RFC 6675 section 5 step (4.3): the first segment goes at once
    let end = sender.retransmit(io, una, Cause::Fast);
    state(sender).high_rxt = end;
    fill_pipe(sender, io);
}

fn fill_pipe(sender: &mut Sender, io: &mut Io<'_>) {
    let mss = f64::from(sender.mss());
    // Counted once; what is sent below adds to it.
    let counted = *state(sender);
    let mut pipe = counted.pipe(sender);
    loop {
        //= RFC 6675 section 5 step (C): while cwnd - pipe >= 1 SMSS
        if sender.window.cwnd - (pipe as f64) < mss {
            return;
        }
        let from = state(sender).high_rxt.max(sender.una());
        let hole = sender.scoreboard.next_hole(from);
        //= RFC 6675 section 4, NextSeg rule (1): a hole that is lost
        if let Some(hole) = hole
            && sender.scoreboard.is_lost(hole, sender.dupthresh(), sender.mss())
        {
            pipe += resend(sender, io, hole);
            continue;
        }
        //= RFC 6675 section 4, NextSeg rule (2): new data
        let max = sender.max_sent();
        if sender.send_one_within_peer_window(io) {
            pipe += sender.max_sent() - max;
            continue;
        }
        //= RFC 6675 section 4, NextSeg rule (3): a hole not known to be lost
        if let Some(hole) = hole {
            pipe += resend(sender, io, hole);
            continue;
        }
        //= RFC 6675 section 4, NextSeg rule (4): rescue the last segment, once
        if !state(sender).rescued && sender.una() < max && sender.scoreboard.highest() < max {
            let start = max.saturating_sub(u64::from(sender.mss())).max(sender.una());
            sender.retransmit(io, start, Cause::Recovery);
            state(sender).rescued = true;
        }
        return;
    }
}

/// Resends a hole; how many bytes that puts into the pipe.
fn resend(sender: &mut Sender, io: &mut Io<'_>, hole: u64) -> u64 {
    let end = sender.retransmit(io, hole, Cause::Recovery);
    state(sender).high_rxt = end;
    end - hole
}
