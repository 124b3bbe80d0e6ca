//! Message workloads over numbered datagrams.
//!
//! The source cuts messages into numbered datagrams at their scheduled times. The sink records arrivals,
//! delay and reordering. There are no ACKs and no congestion control: this is UDP (RFC 768) with an
//! unresponsive source, as in simple voice and video (catalogue RT-01, NS-01). Network elements and kernel
//! sockets use the same code.

use super::connections::{MessageLog, MessageMark};
use super::message_stream::{MessageSchedule, UsefulLife};
use super::stats::AppStats;
use base::{Span, Time};
use std::collections::VecDeque;

/// Connection number used for the messages of a datagram flow.
const CONN: usize = 0;

/// One datagram to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Number of the datagram in the flow, from 1.
    pub ordinal: u32,
    /// Message bytes sent before the datagram.
    pub offset: u64,
    /// Message bytes in the datagram.
    pub bytes: u32,
    /// Number of the datagram's message, from 0.
    pub message: u64,
    /// Last datagram of its message.
    pub last: bool,
}

/// Datagrams for a message of `bytes`, with at most `payload` bytes each (0 counts as 1).
pub fn fragments(bytes: u64, payload: u32) -> u64 {
    bytes.div_ceil(u64::from(payload.max(1)))
}

/// Source of a datagram flow.
pub struct DatagramSource {
    /// Maximum message bytes per datagram.
    payload: u32,
    schedule: MessageSchedule,
    log: MessageLog,
    /// Start time; [`Time::NEVER`] once started.
    begins: Time,
    start: Time,
    next: Option<(Span, u64)>,
    ordinal: u32,
    bytes: u64,
    finished: Option<Time>,
    stats: AppStats,
}

impl DatagramSource {
    /// Sends with this schedule from `start` on, at most `payload` bytes per datagram (0 counts as 1).
    pub fn new(payload: u32, start: Time, mut schedule: MessageSchedule, log: MessageLog) -> Self {
        let next = schedule.message();
        DatagramSource {
            payload: payload.max(1),
            schedule,
            log,
            begins: start,
            start,
            next,
            ordinal: 0,
            bytes: 0,
            finished: None,
            stats: AppStats::default(),
        }
    }

    /// Sends the datagrams that are due: `send` is called for each, in order.
    pub fn send_due(&mut self, now: Time, mut send: impl FnMut(Datagram)) {
        self.begins = Time::NEVER;
        while let Some((_, bytes)) = self.next.filter(|(at, _)| self.start + *at <= now) {
            let most = u64::from(self.payload);
            let fragments = fragments(bytes, self.payload);
            let end = u64::from(self.ordinal) + fragments;
            self.log.append(CONN, MessageMark { end, created: now, reply: bytes, service_time: Span::ZERO });
            self.stats.sent += 1;
            for i in 0..fragments {
                let bytes = (bytes - i * most).min(most) as u32;
                self.ordinal += 1;
                let (message, last) = (self.stats.sent - 1, i + 1 == fragments);
                send(Datagram { ordinal: self.ordinal, offset: self.bytes, bytes, message, last });
                self.bytes += u64::from(bytes);
            }
            self.next = self.schedule.message();
        }
        if self.next.is_none() && self.finished.is_none() {
            self.finished = Some(now);
            self.log.close(now);
        }
    }

    /// Time of the next message; [`Time::NEVER`] if there is none.
    pub fn next_wake(&self) -> Time {
        match self.next {
            Some((at, _)) => self.start + at,
            None => self.begins,
        }
    }

    /// Time at which the last message was sent, if it was.
    pub fn finished(&self) -> Option<Time> {
        self.finished
    }
    /// Statistics of the source.
    pub fn stats(&self) -> &AppStats {
        &self.stats
    }
    /// Datagrams sent.
    pub fn datagrams(&self) -> u32 {
        self.ordinal
    }
    /// Bytes of messages sent.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A message in progress.
#[derive(Clone, Copy, Debug)]
struct Message {
    /// Ordinal of its last datagram.
    end: u64,
    made: Time,
    bytes: u64,
    missing: u64,
}

/// A message overtaken by this many later ones of its flow counts as lost. The flow's 16-bit identification
/// (RFC 6864 section 4) has wrapped by then, and the state would grow without bound.
const OVERTAKEN: usize = 65_536;

/// Sink of a datagram flow.
pub struct DatagramSink {
    log: MessageLog,
    useful: UsefulLife,
    /// Messages from the oldest incomplete one on, at most [`OVERTAKEN`].
    messages: VecDeque<Message>,
    /// Last ordinal of the newest message in `messages`, and of the newest one dropped from it.
    newest: u64,
    forgotten: u64,
    /// Bitmap of arrived datagrams, from word `first` on.
    came: VecDeque<u64>,
    first: usize,
    latest: u32,
    datagrams: u64,
    last: Time,
    stats: AppStats,
}

impl DatagramSink {
    /// Sink for the messages announced in `log`; for `useful` see [`super::message_stream::MessagePlan::useful`].
    pub fn new(log: MessageLog, useful: UsefulLife) -> Self {
        DatagramSink {
            log,
            useful,
            messages: VecDeque::new(),
            newest: 0,
            forgotten: 0,
            came: VecDeque::new(),
            first: 0,
            latest: 0,
            datagrams: 0,
            last: Time::ZERO,
            stats: AppStats::default(),
        }
    }

    /// Processes the arrival of a datagram. `born`: transmission time of the datagram; none: creation time of its
    /// message. Copies count once; unknown ordinals are ignored.
    pub fn receive(&mut self, now: Time, ordinal: u32, born: Option<Time>) {
        // Message records are posted before their datagrams are sent.
        while self.newest < u64::from(ordinal) {
            let Some(mark) = self.log.take(CONN, u64::MAX) else { return };
            let (made, bytes, missing) = (mark.created, mark.reply, mark.end - self.newest);
            self.newest = mark.end;
            self.messages.push_back(Message { end: mark.end, made, bytes, missing });
        }
        self.forget();
        if u64::from(ordinal) <= self.forgotten || !self.is_new(ordinal) {
            return;
        }
        self.datagrams += 1;
        self.last = now;
        self.stats.reordered += u64::from(ordinal < self.latest);
        self.latest = self.latest.max(ordinal);
        let at = self.messages.partition_point(|message| message.end < u64::from(ordinal));
        let newer = at + 1 < self.messages.len() || self.log.has_more(CONN);
        let Some(message) = self.messages.get_mut(at) else { return };
        self.stats.add_transit(now.since(born.unwrap_or(message.made)));
        message.missing = message.missing.saturating_sub(1);
        if message.missing == 0 {
            let delay = now.since(message.made);
            self.stats.delays.push(delay);
            self.stats.bytes += message.bytes;
            self.stats.late += u64::from(self.useful.late(delay, newer));
        }
    }

    /// Drops the oldest messages: complete ones, and those overtaken by [`OVERTAKEN`] later ones.
    fn forget(&mut self) {
        while let Some(oldest) = self.messages.front()
            && (oldest.missing == 0 || self.messages.len() > OVERTAKEN)
        {
            self.forgotten = oldest.end;
            self.messages.pop_front();
        }
        let first = ((self.forgotten + 1) / 64) as usize;
        if first > self.first {
            self.came.drain(..(first - self.first).min(self.came.len()));
            self.first = first;
        }
    }

    fn is_new(&mut self, ordinal: u32) -> bool {
        let (word, bit) = (ordinal as usize / 64 - self.first, 1u64 << (ordinal % 64));
        if word >= self.came.len() {
            self.came.resize(word + 1, 0);
        }
        let new = self.came[word] & bit == 0;
        self.came[word] |= bit;
        new
    }

    /// Time at which the source ended, if it has.
    pub fn finished(&self) -> Option<Time> {
        self.log.closed()
    }
    /// Statistics of the sink.
    pub fn stats(&self) -> &AppStats {
        &self.stats
    }
    /// Datagrams that arrived, copies excluded.
    pub fn datagrams(&self) -> u64 {
        self.datagrams
    }
    /// Time of the last arrival.
    pub fn last(&self) -> Time {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of one datagram each, written a millisecond apart.
    fn sink_of(messages: u64) -> DatagramSink {
        let log = MessageLog::default();
        for end in 1..=messages {
            let made = Time::ZERO + Span::from_millis(end);
            log.append(CONN, MessageMark { end, created: made, reply: 100, service_time: Span::ZERO });
        }
        DatagramSink::new(log, UsefulLife::Always)
    }

    #[test]
    fn messages_of_which_most_are_lost_keep_nothing_but_the_latest() {
        let mut sink_of = sink_of(1_000_000);
        for ordinal in (100..=1_000_000).step_by(100) {
            let now = Time::ZERO + Span::from_millis(u64::from(ordinal) + 7);
            sink_of.receive(now, ordinal, None);
            sink_of.receive(now, ordinal, None);
        }
        assert_eq!(sink_of.datagrams(), 10_000);
        assert_eq!(sink_of.stats().delays, vec![Span::from_millis(7); 10_000]);
        assert!(sink_of.messages.len() <= OVERTAKEN + 100, "{}", sink_of.messages.len());
        assert!(sink_of.came.len() <= OVERTAKEN / 64 + 4, "{}", sink_of.came.len());
    }

    #[test]
    fn a_datagram_behind_many_counts_until_its_number_has_come_round() {
        let mut sink_of = sink_of(200_000);
        let at = Time::ZERO + Span::from_secs(300);
        sink_of.receive(at, OVERTAKEN as u32, None);
        sink_of.receive(at, 1, None);
        sink_of.receive(at, 1, None);
        assert_eq!((sink_of.datagrams(), sink_of.stats().reordered), (2, 1));
        sink_of.receive(at, OVERTAKEN as u32 + 3, None);
        sink_of.receive(at, 2, None);
        sink_of.receive(at, 4, None);
        assert_eq!((sink_of.datagrams(), sink_of.stats().reordered), (4, 2));
    }
}
