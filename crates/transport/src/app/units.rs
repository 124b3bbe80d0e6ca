//! Message workload with a connection for each message: ATP's mapping on TCP (Gurtov and Ludwig, section III.E).
//!
//! Each unit (message) has a connection of its own, which is closed after the unit. A kill timer aborts the connection at the
//! end of the unit's lifetime; until then TCP retransmits. Both ends share the record of message boundaries.

use super::connections::{Connections, MessageLog, MessageMark, Workload};
use super::message_stream::{MessageSchedule, UsefulLife};
use super::schedule_progress::ScheduleProgress;
use super::stats::AppStats;
use base::{Span, Time};
use std::collections::BTreeMap;

/// A unit that is being sent.
#[derive(Clone, Copy, Debug)]
struct Unit {
    bytes: u64,
    /// Expiry of the unit's kill timer.
    dies: Time,
}

/// Source that opens a connection for each scheduled message.
pub struct UnitSource {
    progress: ScheduleProgress,
    lifetime: Option<Span>,
    /// Units neither acknowledged nor abandoned, by connection. Connections are numbered in order of their units and all
    /// lifetimes are equal, so the first one has the earliest kill timer.
    open: BTreeMap<usize, Unit>,
}

impl UnitSource {
    /// A source with this schedule, whose units are aborted after `lifetime`.
    pub fn new(schedule: MessageSchedule, lifetime: Option<Span>, log: MessageLog) -> Self {
        let stats = AppStats { expired: Some(0), ..AppStats::default() };
        UnitSource { progress: ScheduleProgress::new(schedule, log, stats), lifetime, open: BTreeMap::new() }
    }

    fn settle(&mut self, now: Time) {
        self.progress.settle(now, self.open.is_empty());
    }

    /// The unit of this connection cannot be delivered any more.
    fn give_up(&mut self, conn: usize) {
        if self.open.remove(&conn).is_some() {
            self.progress.log.discard(conn);
            self.progress.stats.expired = self.progress.stats.expired.map(|n| n + 1);
        }
    }
}

impl Workload for UnitSource {
    fn started(&mut self, now: Time, connections: &mut dyn Connections) {
        self.progress.start = now;
        self.timeout(now, connections);
    }

    fn progressed(&mut self, now: Time, conn: usize, connections: &mut dyn Connections) {
        let acknowledged = connections.connection(conn).map_or(0, |socket| socket.acknowledged());
        if self.open.get(&conn).is_some_and(|unit| acknowledged >= unit.bytes) {
            self.open.remove(&conn);
        }
        self.settle(now);
    }

    fn broken(&mut self, now: Time, conn: usize) {
        self.give_up(conn);
        self.settle(now);
    }

    fn timeout(&mut self, now: Time, connections: &mut dyn Connections) {
        // Paper III.E: a kill timer at the end of the unit's lifetime.
        while let Some((&conn, _)) = self.open.first_key_value().filter(|(_, unit)| unit.dies <= now) {
            connections.abort(conn);
            self.give_up(conn);
        }
        while let Some((_, bytes)) = self.progress.due(now) {
            let conn = connections.open();
            self.progress
                .log
                .append(conn, MessageMark { end: bytes, created: now, reply: 0, service_time: Span::ZERO });
            self.progress.stats.sent += 1;
            let dies = self.lifetime.map_or(Time::NEVER, |lifetime| now + lifetime);
            self.open.insert(conn, Unit { bytes, dies });
            if let Some(socket) = connections.connection(conn) {
                socket.write(bytes);
                socket.close();
            }
            self.progress.advance();
        }
        self.settle(now);
    }

    fn next_timeout(&self) -> Time {
        let next = self.progress.next_due();
        self.open.first_key_value().map_or(next, |(_, unit)| unit.dies.min(next))
    }
    fn finished(&self) -> Option<Time> {
        self.progress.finished()
    }
    fn stats(&self) -> &AppStats {
        &self.progress.stats
    }
}

/// Sink of a [`UnitSource`].
pub struct UnitSink {
    log: MessageLog,
    useful: UsefulLife,
    stats: AppStats,
}

impl UnitSink {
    /// Sink for the units announced in `log`.
    pub fn new(log: MessageLog, useful: UsefulLife) -> Self {
        UnitSink { log, useful, stats: AppStats::default() }
    }
}

impl Workload for UnitSink {
    fn started(&mut self, _now: Time, _lines: &mut dyn Connections) {}

    fn progressed(&mut self, now: Time, conn: usize, connections: &mut dyn Connections) {
        let Some(received) = connections.connection(conn).map(|socket| socket.received()) else { return };
        if let Some(mark) = self.log.take(conn, received) {
            let delay = now.since(mark.created);
            self.stats.delays.push(delay);
            self.stats.add_transit(delay);
            self.stats.bytes += mark.end;
            self.stats.late += u64::from(self.useful.late(delay, self.log.has_more(conn + 1)));
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
