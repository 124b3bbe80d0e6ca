//! Message workloads over transports that keep messages (SCTP, DCCP, ATP): the source gives each message a
//! stream, an order and a lifetime, and the sink records its delay. For a byte stream see [`super::message_stream`].

use super::connections::{MessageLog, MessageMark};
use super::message::{Message, MessageEvent, MessageId};
use super::message_stream::{MessageSchedule, UsefulLife};
use super::schedule_progress::ScheduleProgress;
use super::stats::AppStats;
use super::{App, Socket};
use base::{Span, Time};
use std::collections::BTreeMap;

/// Delivery options of a source's messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner {
    /// Number of streams, used in turn; at least 1.
    pub streams: u16,
    /// Messages may be delivered in any order.
    pub unordered: bool,
    /// Time after which a message is abandoned.
    pub lifetime: Option<Span>,
    /// Retransmissions after which a message is abandoned.
    pub retransmissions: Option<u32>,
    /// The interval grows with each major loss and shrinks with each acknowledged message.
    pub adapts: bool,
    /// Acknowledgements arrive in reports, seconds apart (RTP).
    pub reports: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Manner {
            streams: 1,
            unordered: false,
            lifetime: None,
            retransmissions: None,
            adapts: false,
            reports: false,
        }
    }
}

impl Manner {
    /// Reliable, ordered messages on one stream, with a lifetime if their useful life is limited.
    pub fn of(useful: UsefulLife) -> Manner {
        let lifetime = if let UsefulLife::For(span) = useful { Some(span) } else { None };
        Manner { lifetime, ..Manner::default() }
    }
}

/// Upper bound of the stretched interval, relative to the schedule's.
const MOST_STRETCH: f64 = 16.0;
/// Factor of the stretch beyond 1 after each acknowledged message: it halves after about three.
const RELAX: f64 = 0.8;

/// Source that sends scheduled messages whole.
pub struct MessageSource {
    progress: ScheduleProgress,
    manner: Manner,
    /// Due time of the next message, by the schedule or later.
    due: Time,
    /// Interval relative to the schedule's, at least 1.
    stretch: f64,
    /// Messages neither acknowledged nor abandoned.
    outstanding: u64,
}

impl MessageSource {
    /// A source with this schedule.
    pub fn new(schedule: MessageSchedule, manner: Manner, log: MessageLog) -> Self {
        let progress = ScheduleProgress::new(schedule, log, AppStats::default());
        MessageSource { progress, manner, due: Time::NEVER, stretch: 1.0, outstanding: 0 }
    }

    /// Draws the next message; its interval starts at the due time of the last one.
    fn draw(&mut self) {
        let last = self.progress.next.map_or(Span::ZERO, |(at, _)| at);
        self.progress.advance();
        let Some((at, _)) = self.progress.next else { return };
        let interval = at.as_nanos().saturating_sub(last.as_nanos());
        self.due = if self.manner.adapts {
            self.due + Span::from_nanos((interval as f64 * self.stretch) as u64)
        } else {
            self.progress.start + at
        };
    }

    fn settle(&mut self, now: Time) {
        self.progress.settle(now, self.outstanding == 0);
    }
}

impl App for MessageSource {
    fn started(&mut self, now: Time, socket: &mut dyn Socket) {
        self.progress.start = now;
        self.due = now + self.progress.next.map_or(Span::ZERO, |(at, _)| at);
        self.timeout(now, socket);
    }

    fn progressed(&mut self, now: Time, socket: &mut dyn Socket) {
        while let Some(event) = socket.poll_event() {
            match event {
                MessageEvent::Acknowledged(_) | MessageEvent::Expired(_) | MessageEvent::Abandoned(_) => {
                    self.outstanding = self.outstanding.saturating_sub(1);
                    if matches!(event, MessageEvent::Acknowledged(_)) {
                        self.stretch = 1.0 + RELAX * (self.stretch - 1.0);
                    }
                }
                // Paper III.A: after cng the application may lengthen its interval.
                MessageEvent::Congested => self.stretch = (2.0 * self.stretch).min(MOST_STRETCH),
                MessageEvent::Broken => (self.progress.next, self.outstanding) = (None, 0),
                MessageEvent::Received { .. } => {}
            }
        }
        self.settle(now);
    }

    fn timeout(&mut self, now: Time, socket: &mut dyn Socket) {
        while let Some((_, bytes)) = self.progress.next.filter(|_| self.due <= now) {
            let Manner { streams, unordered, lifetime, retransmissions, .. } = self.manner;
            let stream = (self.progress.stats.sent % u64::from(streams.max(1))) as u16;
            let number = self.progress.stats.sent;
            let id = socket
                .send(Message { bytes, stream, unordered, lifetime, retransmissions })
                .unwrap_or(number);
            self.progress
                .log
                .append(0, MessageMark { end: id, created: now, reply: bytes, service_time: Span::ZERO });
            self.progress.stats.sent += 1;
            self.outstanding += 1;
            self.draw();
            if self.progress.next.is_none() {
                socket.close();
            }
        }
        self.settle(now);
    }

    fn next_timeout(&self) -> Time {
        // The due time may be later than the schedule's.
        if self.progress.next_due().is_never() { Time::NEVER } else { self.due }
    }
    fn finished(&self) -> Option<Time> {
        self.progress.finished()
    }
    fn stats(&self) -> Option<&AppStats> {
        Some(&self.progress.stats)
    }
}

/// Sink that times the messages of a [`MessageSource`].
pub struct MessageSink {
    log: MessageLog,
    useful: UsefulLife,
    /// Messages sent and not yet received, with their times.
    made: BTreeMap<MessageId, Time>,
    latest: Option<MessageId>,
    stats: AppStats,
}

impl MessageSink {
    /// Sink for the messages announced in `log`.
    pub fn new(log: MessageLog, useful: UsefulLife) -> Self {
        MessageSink { log, useful, made: BTreeMap::new(), latest: None, stats: AppStats::default() }
    }

    fn receive(&mut self, now: Time, message: Option<MessageId>, bytes: u64) {
        while let Some(mark) = self.log.take(0, u64::MAX) {
            self.made.insert(mark.end, mark.created);
        }
        let first = self.made.first_key_value().map(|(id, _)| *id);
        let Some((id, made)) = message.or(first).and_then(|id| Some((id, self.made.remove(&id)?))) else {
            return;
        };
        let newer = self.made.range(id..).next().is_some();
        let delay = now.since(made);
        self.stats.delays.push(delay);
        self.stats.add_transit(delay);
        self.stats.bytes += bytes;
        self.stats.late += u64::from(self.useful.late(delay, newer));
        self.stats.reordered += u64::from(self.latest.is_some_and(|latest| id < latest));
        self.latest = self.latest.max(Some(id));
    }
}

impl App for MessageSink {
    fn started(&mut self, _now: Time, _socket: &mut dyn Socket) {}
    fn progressed(&mut self, now: Time, socket: &mut dyn Socket) {
        while let Some(event) = socket.poll_event() {
            if let MessageEvent::Received { message, bytes, .. } = event {
                self.receive(now, message, bytes);
            }
        }
    }
    fn finished(&self) -> Option<Time> {
        self.log.closed()
    }
    fn stats(&self) -> Option<&AppStats> {
        Some(&self.stats)
    }
}
