//! Message workloads with a schedule (CBR, on-off, news ticker) over a byte stream: message plan, schedule, source and
//! sink.
//!
//! Messages are created on schedule, regardless of the transport (catalogue RT-09, ME-05, NS-01). Over TCP they wait in
//! the send buffer; as datagrams ([`super::datagrams`]) they are sent at once.

use super::connections::{Connections, MessageLog, MessageMark, Workload};
use super::media::Streaming;
use super::schedule_progress::ScheduleProgress;
use super::stats::AppStats;
use base::dist::{Dist, Sampler};
use base::rng::Seed;
use base::{Span, Time};
use serde::{Deserialize, Serialize};

/// Message plan: sizes, intervals and bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessagePlan {
    /// Size of a message, bytes.
    pub size: Dist,
    /// Interval between messages, nanoseconds.
    pub every: Dist,
    /// Durations of bursts and of the silences between them, nanoseconds; none: one endless burst.
    pub bursts: Option<(Dist, Dist)>,
    /// Number of messages; none: unlimited.
    pub count: Option<u64>,
    /// Duration; none: unlimited.
    pub lasts: Option<Span>,
    /// Useful life of a message.
    pub useful: UsefulLife,
    /// Plan of a media stream whose frames are the messages; it determines sizes, times and useful lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Streaming>,
}

/// Useful life of a message at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsefulLife {
    /// Unlimited.
    Always,
    /// Until the next message is created.
    UntilNext,
    /// For this time after creation: the delay of a playout buffer.
    For(Span),
}

impl UsefulLife {
    /// Whether a message with this `delay` is late; `newer`: the next one was already created.
    pub fn late(self, delay: Span, newer: bool) -> bool {
        match self {
            UsefulLife::Always => false,
            UsefulLife::UntilNext => newer,
            UsefulLife::For(span) => delay > span,
        }
    }
}

/// Schedule of the messages of a [`MessagePlan`].
#[derive(Clone, Debug)]
pub struct MessageSchedule {
    size: Sampler,
    every: Sampler,
    bursts: Option<(Sampler, Sampler)>,
    left: u64,
    ends: Span,
    /// Creation time of the next message, relative to the start.
    at: Span,
    silent_from: Span,
}

/// Upper bound of consecutive empty bursts, after which the schedule ends.
const EMPTY_BURSTS: u32 = 10_000;

impl MessageSchedule {
    /// Schedule of `plan`; random streams derive from `seed` and the flow's `name`.
    pub fn new(plan: &MessagePlan, name: &str, seed: Seed) -> Self {
        let sampler = |dist: &Dist, purpose: &str| Sampler::new(dist.clone(), seed.stream(name, purpose));
        let mut bursts = plan.bursts.as_ref().map(|(on, off)| (sampler(on, "on"), sampler(off, "off")));
        MessageSchedule {
            size: sampler(&plan.size, "size"),
            every: sampler(&plan.every, "every"),
            silent_from: bursts.as_mut().map_or(Span::FOREVER, |(on, _)| span(on)),
            bursts,
            left: plan.count.unwrap_or(u64::MAX),
            ends: plan.lasts.unwrap_or(Span::FOREVER),
            at: Span::ZERO,
        }
    }

    /// Creation time of the next message, relative to the start, and its bytes; none: the schedule has ended.
    pub fn message(&mut self) -> Option<(Span, u64)> {
        if let Some((on, off)) = &mut self.bursts {
            let mut empty = 0;
            while self.at >= self.silent_from {
                self.at = self.silent_from + span(off);
                self.silent_from = self.at + span(on);
                empty += 1;
                if empty > EMPTY_BURSTS {
                    return None;
                }
            }
        }
        if self.left == 0 || self.at >= self.ends {
            return None;
        }
        self.left -= 1;
        let now = self.at;
        self.at += span(&mut self.every);
        Some((now, (self.size.draw().round() as u64).max(1)))
    }
}

fn span(sampler: &mut Sampler) -> Span {
    Span::from_nanos(sampler.draw() as u64)
}

/// Message source over a connection.
pub struct StreamSource {
    progress: ScheduleProgress,
    /// Copy of the schedule before its start, from which the log regenerates the records.
    again: Option<MessageSchedule>,
    /// Whether all messages so far were created on schedule.
    in_time: bool,
    conn: usize,
    written: u64,
}

impl StreamSource {
    /// A source with this schedule.
    pub fn new(schedule: MessageSchedule, log: MessageLog) -> Self {
        let again = Some(schedule.clone());
        let progress = ScheduleProgress::new(schedule, log, AppStats::default());
        StreamSource { progress, again, in_time: true, conn: 0, written: 0 }
    }

    /// Records a message. While messages are on schedule, records are regenerated: one record per message
    /// could fill memory, since the backlog is unbounded. In real time a message may be late; from then on
    /// records are kept.
    fn record(&mut self, at: Span, now: Time) {
        self.in_time &= self.progress.start + at == now;
        if !(self.in_time && self.progress.log.count_generated(self.conn)) {
            let mark = MessageMark { end: self.written, created: now, reply: 0, service_time: Span::ZERO };
            self.progress.log.append(self.conn, mark);
        }
    }

    fn done(&mut self, now: Time, connections: &mut dyn Connections) {
        let acknowledged = connections.connection(self.conn).map_or(0, |socket| socket.acknowledged());
        self.progress.settle(now, acknowledged >= self.written);
    }
}

impl Workload for StreamSource {
    fn started(&mut self, now: Time, connections: &mut dyn Connections) {
        self.progress.start = now;
        self.conn = connections.open();
        if let Some(mut schedule) = self.again.take() {
            let mut end = 0;
            let redraw = move || {
                let (at, bytes) = schedule.message()?;
                end += bytes;
                Some(MessageMark { end, created: now + at, reply: 0, service_time: Span::ZERO })
            };
            self.progress.log.set_generator(self.conn, Box::new(redraw));
        }
        self.timeout(now, connections);
    }

    fn progressed(&mut self, now: Time, _line: usize, connections: &mut dyn Connections) {
        self.done(now, connections);
    }

    fn timeout(&mut self, now: Time, connections: &mut dyn Connections) {
        while let Some((at, bytes)) = self.progress.due(now) {
            self.written += bytes;
            self.progress.stats.sent += 1;
            self.record(at, now);
            self.progress.advance();
            if let Some(socket) = connections.connection(self.conn) {
                socket.write(bytes);
                if self.progress.next.is_none() {
                    socket.close();
                }
            }
        }
        self.done(now, connections);
    }

    fn next_timeout(&self) -> Time {
        self.progress.next_due()
    }
    fn finished(&self) -> Option<Time> {
        self.progress.finished()
    }
    fn stats(&self) -> &AppStats {
        &self.progress.stats
    }
}

/// Message sink over a connection.
pub struct StreamSink {
    log: MessageLog,
    useful: UsefulLife,
    read: u64,
    stats: AppStats,
}

impl StreamSink {
    /// Sink for the messages announced in `log`; see [`MessagePlan::useful`].
    pub fn new(log: MessageLog, useful: UsefulLife) -> Self {
        StreamSink { log, useful, read: 0, stats: AppStats::default() }
    }
}

impl Workload for StreamSink {
    fn started(&mut self, _now: Time, _lines: &mut dyn Connections) {}

    fn progressed(&mut self, now: Time, conn: usize, connections: &mut dyn Connections) {
        let Some(received) = connections.connection(conn).map(|socket| socket.received()) else { return };
        while let Some(mark) = self.log.take(conn, received) {
            let delay = now.since(mark.created);
            self.stats.delays.push(delay);
            self.stats.add_transit(delay);
            self.stats.bytes += mark.end - self.read;
            self.read = mark.end;
            self.stats.late += u64::from(self.useful.late(delay, self.log.has_more(conn)));
        }
    }

    fn timeout(&mut self, _now: Time, _lines: &mut dyn Connections) {}
    fn next_timeout(&self) -> Time {
        Time::NEVER
    }
    fn finished(&self) -> Option<Time> {
        self.log.closed()
    }
    fn stats(&self) -> &AppStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Socket;

    /// A connection without ACKs; `received` bytes have arrived at the other end.
    #[derive(Default)]
    struct Slow {
        written: u64,
        received: u64,
    }

    impl Socket for Slow {
        fn write(&mut self, bytes: u64) {
            self.written += bytes;
        }
        fn close(&mut self) {}
        fn stop(&mut self) {}
        fn acknowledged(&self) -> u64 {
            0
        }
        fn received(&self) -> u64 {
            self.received
        }
    }

    impl Connections for Slow {
        fn open(&mut self) -> usize {
            0
        }
        fn connection(&mut self, _number: usize) -> Option<&mut dyn Socket> {
            Some(self)
        }
        fn abort(&mut self, _number: usize) {}
    }

    /// Messages of random sizes in random bursts; 1 000 bytes arrive per second.
    fn plan(count: u64) -> MessagePlan {
        MessagePlan {
            size: Dist::Uniform(1.0, 9.0),
            every: Dist::Uniform(0.0, 2e6),
            bursts: Some((Dist::Constant(3e6), Dist::Uniform(1e5, 5e6))),
            count: Some(count),
            lasts: None,
            useful: UsefulLife::UntilNext,
            stream: None,
        }
    }

    /// Runs a source that is called `behind` after each message is due; returns the sink's statistics and the
    /// maximum number of records kept.
    fn run(count: u64, behind: Span) -> (AppStats, usize) {
        let log = MessageLog::default();
        let schedule = MessageSchedule::new(&plan(count), "f", Seed { seed: 3, repetition: 0 });
        let (mut source, mut connections) = (StreamSource::new(schedule, log.clone()), Slow::default());
        let mut sink = StreamSink::new(log.clone(), UsefulLife::UntilNext);
        let (mut now, mut kept) = (Time::ZERO + Span::from_secs(1), 0);
        source.started(now, &mut connections);
        while !source.next_timeout().is_never() {
            now = now.max(source.next_timeout() + behind);
            source.timeout(now, &mut connections);
            connections.received = connections.written.min(now.as_nanos() / 1_000_000);
            sink.progressed(now, 0, &mut connections);
            kept = kept.max(log.kept());
        }
        connections.received = connections.written;
        sink.progressed(now + Span::from_secs(1), 0, &mut connections);
        (sink.stats().clone(), kept)
    }

    #[test]
    fn messages_that_wait_for_a_slow_connection_take_no_memory() {
        let (stats, kept) = run(100_000, Span::ZERO);
        assert_eq!((stats.delays.len(), kept), (100_000, 0));
    }

    #[test]
    fn letters_drawn_again_are_those_that_would_be_kept() {
        let (drawn, none) = run(5_000, Span::ZERO);
        // One nanosecond late: every record is kept, with its time of creation.
        let (kept, most) = run(5_000, Span::from_nanos(1));
        assert!(none == 0 && most > 1_000, "{none} {most}");
        assert_eq!((drawn.bytes, drawn.sent, drawn.late), (kept.bytes, kept.sent, kept.late));
        for (drawn, kept) in drawn.delays.iter().zip(&kept.delays) {
            assert!(drawn.as_nanos().abs_diff(kept.as_nanos()) <= 1_000_001, "{drawn:?} {kept:?}");
        }
    }

    #[test]
    fn a_letter_that_is_kept_stands_behind_those_drawn_again() {
        let log = MessageLog::default();
        let mut end = 0;
        let redraw = move || {
            end += 1;
            Some(MessageMark { end, created: Time::ZERO, reply: 0, service_time: Span::ZERO })
        };
        log.set_generator(0, Box::new(redraw));
        assert!(log.count_generated(0) && log.count_generated(0) && !log.count_generated(1));
        log.append(0, MessageMark { end: 7, created: Time::ZERO, reply: 0, service_time: Span::ZERO });
        assert!(!log.count_generated(0), "the next one would be out of turn");
        assert_eq!(log.take(0, 0), None);
        let ends: Vec<u64> = std::iter::from_fn(|| log.take(0, 9)).map(|mark| mark.end).collect();
        assert_eq!((ends, log.has_more(0)), (vec![1, 2, 7], false));
    }
}
