//! Message statistics when sender and receiver run on different hosts: arrival log and replay.
//!
//! Each side records times and bytes. The controller merges both logs with the plan, in order of time, and
//! replays them through the ordinary sink ([`super::message_stream::StreamSink`], [`super::datagrams::DatagramSink`]).

use super::Socket;
use super::connections::{Connections, MessageLog, MessageMark, Workload};
use super::datagrams::{DatagramSink, fragments};
use super::message_stream::{MessageSchedule, StreamSink, UsefulLife};
use super::stats::AppStats;
use base::{Span, Time};
use std::sync::{Arc, Mutex, PoisonError};

/// Arrival: time, and the bytes received so far or the ordinal of the datagram.
pub type Arrival = (Time, u64);

/// Shared arrival log.
#[derive(Clone, Default, Debug)]
pub struct ArrivalLog(Arc<Mutex<Vec<Arrival>>>);

impl ArrivalLog {
    /// Appends an arrival.
    pub fn add(&self, now: Time, value: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((now, value));
    }
    /// Takes all arrivals out of the log.
    pub fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Sink that records the arrivals on its single connection.
pub struct ArrivalRecorder {
    log: ArrivalLog,
    received: u64,
    stats: AppStats,
}

impl ArrivalRecorder {
    /// Records into `log`.
    pub fn new(log: ArrivalLog) -> Self {
        ArrivalRecorder { log, received: 0, stats: AppStats::default() }
    }
}

impl Workload for ArrivalRecorder {
    fn started(&mut self, _now: Time, _lines: &mut dyn Connections) {}
    fn progressed(&mut self, now: Time, conn: usize, connections: &mut dyn Connections) {
        let received = connections.connection(conn).map_or(0, |socket| socket.received());
        if received > self.received {
            self.received = received;
            self.log.add(now, received);
        }
    }
    fn timeout(&mut self, _now: Time, _lines: &mut dyn Connections) {}
    fn next_timeout(&self) -> Time {
        Time::NEVER
    }
    /// Always none: only the source knows the completion time.
    fn finished(&self) -> Option<Time> {
        None
    }
    fn stats(&self) -> &AppStats {
        &self.stats
    }
}

/// Messages of a source with this schedule, sent at the recorded times: over a connection, or in datagrams of
/// at most `payload` message bytes.
pub fn sent_messages(mut schedule: MessageSchedule, payload: Option<u32>, made: &[Time]) -> Vec<MessageMark> {
    let mut end = 0;
    let messages = std::iter::from_fn(|| schedule.message()).zip(made);
    let mark = |((_, bytes), made): ((Span, u64), &Time)| {
        // As the source numbers them.
        end += payload.map_or(bytes, |most| fragments(bytes, most));
        let reply = if payload.is_some() { bytes } else { 0 };
        MessageMark { end, created: *made, reply, service_time: Span::ZERO }
    };
    messages.map(mark).collect()
}

/// Merges both logs in order of time: `on_arrival` is called for each arrival, after all earlier messages were
/// posted.
fn merge(sent: &[MessageMark], arrivals: &[Arrival], mut on_arrival: impl FnMut(&MessageLog, Arrival)) {
    let (log, mut sent, mut end) = (MessageLog::default(), sent.iter().peekable(), 0);
    for &(now, value) in arrivals {
        // An arrival implies an earlier transmission, even if the two clocks disagree.
        while let Some(mark) = sent.next_if(|mark| mark.created <= now || end < value) {
            end = mark.end;
            log.append(CONNECTION, *mark);
        }
        on_arrival(&log, (now, value));
    }
}

/// Number of the single connection of a message source.
const CONNECTION: usize = 0;

/// Statistics of the sink of a connection, from the sent messages and the arrivals.
pub fn replay_stream(sent: &[MessageMark], arrivals: &[Arrival], useful: UsefulLife) -> AppStats {
    let mut stream_sink = None;
    merge(sent, arrivals, |log, (now, received)| {
        let stream_sink = stream_sink.get_or_insert_with(|| StreamSink::new(log.clone(), useful));
        stream_sink.progressed(now, CONNECTION, &mut ReplayedConnection(received));
    });
    stream_sink.map(|stream_sink| stream_sink.stats().clone()).unwrap_or_default()
}

/// Statistics of a datagram sink, and the time of the last arrival.
pub fn replay_datagrams(sent: &[MessageMark], arrivals: &[Arrival], useful: UsefulLife) -> (AppStats, Time) {
    let mut datagram_sink = None;
    merge(sent, arrivals, |log, (now, number)| {
        let datagram_sink = datagram_sink.get_or_insert_with(|| DatagramSink::new(log.clone(), useful));
        if let Ok(number) = u32::try_from(number) {
            datagram_sink.receive(now, number, None);
        }
    });
    datagram_sink
        .map(|datagram_sink| (datagram_sink.stats().clone(), datagram_sink.last()))
        .unwrap_or_default()
}

/// Connection of a replay: only the number of received bytes is known.
struct ReplayedConnection(u64);

impl Connections for ReplayedConnection {
    fn open(&mut self) -> usize {
        CONNECTION
    }
    fn connection(&mut self, _number: usize) -> Option<&mut dyn Socket> {
        Some(self)
    }
    fn abort(&mut self, _number: usize) {}
}

impl Socket for ReplayedConnection {
    fn write(&mut self, _bytes: u64) {}
    fn close(&mut self) {}
    fn stop(&mut self) {}
    fn received(&self) -> u64 {
        self.0
    }
    fn acknowledged(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Events in order: a message is sent, or part of the sent data arrives.
    #[derive(Clone, Debug)]
    enum Step {
        Sent(u64),
        Arrived(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
        let step = prop_oneof![(1u64..9).prop_map(Step::Sent), (0u64..40).prop_map(Step::Arrived)];
        proptest::collection::vec((0u64..30, step), 0..60)
    }

    fn same(a: &AppStats, b: &AppStats) {
        assert_eq!((&a.delays, a.late, a.reordered, a.bytes), (&b.delays, b.late, b.reordered, b.bytes));
        assert_eq!(a.jitter_ns, b.jitter_ns);
    }

    fn useful() -> impl Strategy<Value = UsefulLife> {
        prop_oneof![
            Just(UsefulLife::Always),
            Just(UsefulLife::UntilNext),
            (0u64..90).prop_map(|ms| UsefulLife::For(Span::from_millis(ms)))
        ]
    }

    proptest! {
        /// Replay from logs gives the statistics of a live sink.
        #[test]
        fn replay_equals_live_statistics(steps in steps(), useful in useful()) {
            let (log, rows) = (MessageLog::default(), MessageLog::default());
            let mut stream_sink = StreamSink::new(log.clone(), useful);
            let mut datagram_sink = DatagramSink::new(rows.clone(), useful);
            let (mut sent, mut arrivals, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
            let (mut now, mut end, mut received) = (0, 0, 0);
            for (after, step) in steps {
                now += after + 1;
                match step {
                    Step::Sent(bytes) => {
                        end += bytes;
                        let mark = MessageMark { end, created: at(now), reply: bytes, service_time: Span::ZERO };
                        sent.push(mark);
                        log.append(CONNECTION, mark);
                        rows.append(CONNECTION, mark);
                    }
                    Step::Arrived(value) => {
                        let more = (received + value).min(end);
                        if more > received {
                            received = more;
                            arrivals.push((at(now), received));
                            stream_sink.progressed(at(now), CONNECTION, &mut ReplayedConnection(received));
                        }
                        // Any datagram sent, possibly repeated, or an unknown one.
                        let number = if end > 0 { value % (end + 1) } else { 0 };
                        numbers.push((at(now), number));
                        datagram_sink.receive(at(now), number as u32, None);
                    }
                }
            }
            same(stream_sink.stats(), &replay_stream(&sent, &arrivals, useful));
            let (stats, last) = replay_datagrams(&sent, &numbers, useful);
            same(datagram_sink.stats(), &stats);
            prop_assert_eq!(last, datagram_sink.last());
        }
    }

    /// An arrival implies an earlier transmission even if the sink's clock is behind.
    #[test]
    fn arrivals_imply_earlier_transmissions() {
        let sent = [MessageMark { end: 10, created: at(5), reply: 10, service_time: Span::ZERO }];
        let stats = replay_stream(&sent, &[(at(4), 10)], UsefulLife::Always);
        assert_eq!((stats.delays, stats.bytes), (vec![Span::ZERO], 10));
        let (stats, _) =
            replay_datagrams(&sent, &[(at(4), 3), (at(4), 11), (at(9), u64::MAX)], UsefulLife::Always);
        assert_eq!((stats.bytes, stats.late), (0, 0));
    }
}
