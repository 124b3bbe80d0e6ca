//! Receiving end of streamed media: frames from any transport into the player, jumps of the user.

use super::super::connections::{MessageLog, MessageMark};
use super::super::message::{MessageEvent, MessageId};
use super::super::stats::AppStats;
use super::super::{App, Socket};
use super::{Label, Player, Streaming};
use base::Time;
use std::collections::BTreeMap;

/// Sink of a [`super::MediaSource`].
pub struct MediaSink {
    plan: Streaming,
    log: MessageLog,
    player: Player,
    start: Time,
    /// Messages sent and not yet received.
    sent: BTreeMap<MessageId, MessageMark>,
    /// Jumps made, and the jumps after which a frame must have been sent to be of use.
    jumps: usize,
    accepts: u64,
    stats: AppStats,
}

impl MediaSink {
    /// Sink for the frames announced in `log`.
    pub fn new(plan: Streaming, log: MessageLog) -> Self {
        MediaSink {
            player: Player::new(plan.clone()),
            plan,
            log,
            start: Time::NEVER,
            sent: BTreeMap::new(),
            jumps: 0,
            accepts: 0,
            stats: AppStats::default(),
        }
    }

    fn receive(&mut self, now: Time, mark: &MessageMark, bytes: u64) {
        let delay = now.since(mark.created);
        self.stats.delays.push(delay);
        self.stats.add_transit(delay);
        self.stats.bytes += bytes;
        let label = Label::unpack(mark.reply);
        if label.jumps >= self.accepts {
            self.player.arrive(now, label.frame, label.level);
        }
    }

    /// Makes the jumps that are due.
    fn act(&mut self, now: Time) {
        while let Some(jump) = self.plan.jumps.get(self.jumps).filter(|jump| self.start + jump.at <= now) {
            let here = self.player.jump(now, jump.to);
            self.jumps += 1;
            if !here {
                self.accepts = self.jumps as u64;
            }
        }
        self.note();
    }

    fn note(&mut self) {
        let played = self.player.played();
        self.stats.late = played.late;
        let seconds = played.frames as f64 * self.plan.frame.as_secs_f64();
        self.stats.named = vec![
            ("playout_stalls", played.stalls as f64),
            ("playout_stall_s", played.stalled.as_secs_f64()),
            ("frames_played", played.frames as f64),
            ("frames_missed", played.missed as f64),
        ];
        if let Some(startup) = played.startup {
            self.stats.named.push(("playout_start_s", startup.as_secs_f64()));
        }
        if let Some(mean) = super::super::stats::mean_s(&played.jumps) {
            self.stats.named.push(("jump_response_s", mean));
        }
        if seconds > 0.0 {
            self.stats.named.push(("media_rate_bps", played.bits / seconds));
        }
    }
}

impl App for MediaSink {
    fn started(&mut self, now: Time, _socket: &mut dyn Socket) {
        self.start = now;
        self.player.start(now);
    }

    fn progressed(&mut self, now: Time, socket: &mut dyn Socket) {
        if socket.keeps_messages() {
            while let Some(event) = socket.poll_event() {
                let MessageEvent::Received { message, bytes, .. } = event else { continue };
                while let Some(mark) = self.log.take(0, u64::MAX) {
                    self.sent.insert(mark.end, mark);
                }
                let first = self.sent.first_key_value().map(|(id, _)| *id);
                let mark = message.or(first).and_then(|id| self.sent.remove(&id));
                if let Some(mark) = mark {
                    self.receive(now, &mark, bytes);
                }
            }
        } else {
            while let Some(mark) = self.log.take(0, socket.received()) {
                self.receive(now, &mark, 0);
            }
            self.stats.bytes = socket.received();
        }
        self.note();
    }

    fn timeout(&mut self, now: Time, _socket: &mut dyn Socket) {
        self.player.advance(now);
        self.act(now);
    }

    fn next_timeout(&self) -> Time {
        if self.start.is_never() {
            return Time::NEVER;
        }
        let jump = self.plan.jumps.get(self.jumps).map_or(Time::NEVER, |jump| self.start + jump.at);
        jump.min(self.player.next_timeout())
    }

    fn finished(&self) -> Option<Time> {
        let closed = self.log.closed();
        if self.jumps < self.plan.jumps.len() {
            return None;
        }
        // Where the last frames were lost, the stream is over once the source has closed and all has been played.
        self.player.done().or(closed.filter(|_| self.player.is_empty()))
    }
    fn stats(&self) -> Option<&AppStats> {
        Some(&self.stats)
    }
}
