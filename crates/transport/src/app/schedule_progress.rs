//! Progress of a message workload along its schedule: next message, completion, statistics.

use super::connections::MessageLog;
use super::message_stream::MessageSchedule;
use super::stats::AppStats;
use base::{Span, Time};

/// State common to the sources of scheduled messages.
pub(super) struct ScheduleProgress {
    schedule: MessageSchedule,
    pub(super) log: MessageLog,
    /// Start time of the workload; [`Time::NEVER`] before the start.
    pub(super) start: Time,
    /// Next message: creation time relative to the start, and bytes; none: the schedule has ended.
    pub(super) next: Option<(Span, u64)>,
    finished: Option<Time>,
    pub(super) stats: AppStats,
}

impl ScheduleProgress {
    /// Progress before the start.
    pub(super) fn new(mut schedule: MessageSchedule, log: MessageLog, stats: AppStats) -> Self {
        let next = schedule.message();
        ScheduleProgress { schedule, log, start: Time::NEVER, next, finished: None, stats }
    }

    /// Draws the message after the next one.
    pub(super) fn advance(&mut self) {
        self.next = self.schedule.message();
    }

    /// Next message, if it is due by the schedule.
    pub(super) fn due(&self, now: Time) -> Option<(Span, u64)> {
        self.next.filter(|(at, _)| self.start + *at <= now)
    }

    /// Creation time of the next message by the schedule; never before the start and after the last one.
    pub(super) fn next_due(&self) -> Time {
        if self.start.is_never() {
            return Time::NEVER;
        }
        self.next.map_or(Time::NEVER, |(at, _)| self.start + at)
    }

    /// Ends the workload once the schedule has ended and nothing is outstanding (`idle`).
    pub(super) fn settle(&mut self, now: Time, idle: bool) {
        if self.next.is_none() && idle && self.finished.is_none() {
            self.finished = Some(now);
            self.log.close(now);
        }
    }

    /// Time at which the workload was complete.
    pub(super) fn finished(&self) -> Option<Time> {
        self.finished
    }
}
