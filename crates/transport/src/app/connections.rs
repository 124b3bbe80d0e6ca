//! Connection set of an application: opening and aborting by number, and the log of message boundaries in each
//! connection.
//!
//! Connections are numbered in order of opening; both ends use the same number for a connection. They may be
//! connections of a model or kernel sockets.

use super::in_band::FixedParameters;
use super::stats::AppStats;
use super::{App, Socket};
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The connections of one end.
pub trait Connections {
    /// Opens one more connection, at the active end; returns its number.
    fn open(&mut self) -> usize;
    /// The connection with this number; none once it was aborted.
    fn connection(&mut self, number: usize) -> Option<&mut dyn Socket>;
    /// Aborts a connection at once, with data in progress (RFC 9293 section 3.10.5).
    fn abort(&mut self, number: usize);
}

/// An application over any number of connections.
pub trait Workload: Send {
    /// Starts the workload at its start time.
    fn started(&mut self, now: Time, connections: &mut dyn Connections);
    /// More data have been received or acknowledged on connection `conn`.
    fn progressed(&mut self, now: Time, conn: usize, connections: &mut dyn Connections);
    /// The peer aborted this connection.
    fn broken(&mut self, _now: Time, _line: usize) {}
    /// The deadline of [`Workload::next_timeout`] has passed.
    fn timeout(&mut self, now: Time, connections: &mut dyn Connections);
    /// Time of the workload's next timeout; [`Time::NEVER`]: none.
    fn next_timeout(&self) -> Time;
    /// Time at which this end completed its part of the workload; none before completion.
    fn finished(&self) -> Option<Time>;
    /// Statistics so far.
    fn stats(&self) -> &AppStats;
}

/// Adapter for an application of one connection, over the first one.
pub struct SingleConnection<A> {
    app: A,
    stats: AppStats,
}

impl<A: App> SingleConnection<A> {
    /// An adapter before its start.
    pub fn new(app: A) -> Self {
        SingleConnection { app, stats: AppStats::default() }
    }
}

impl<A: App> Workload for SingleConnection<A> {
    fn started(&mut self, now: Time, connections: &mut dyn Connections) {
        if let Some(socket) = connections.connection(0) {
            self.app.started(now, socket);
        }
    }
    fn progressed(&mut self, now: Time, conn: usize, connections: &mut dyn Connections) {
        if let Some(socket) = connections.connection(0).filter(|_| conn == 0) {
            self.app.progressed(now, socket);
        }
    }
    fn timeout(&mut self, now: Time, connections: &mut dyn Connections) {
        if let Some(socket) = connections.connection(0) {
            self.app.timeout(now, socket);
        }
    }
    fn next_timeout(&self) -> Time {
        self.app.next_timeout()
    }
    fn finished(&self) -> Option<Time> {
        self.app.finished()
    }
    fn stats(&self) -> &AppStats {
        &self.stats
    }
}

/// Out-of-band record of a message or request: applications count bytes and carry no content. The other end
/// reads the record only when its bytes have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageMark {
    /// Bytes (or datagrams) of the connection after whose arrival the record is read.
    pub end: u64,
    /// Time of writing.
    pub created: Time,
    /// Size of the requested reply, bytes.
    pub reply: u64,
    /// Processing time of the reply.
    pub service_time: Span,
}

/// Message log of a flow, over all its connections, shared by both ends. Ends on different hosts have a log
/// each, and requests carry their own parameters ([`super::in_band`]).
#[derive(Clone, Default, Debug)]
pub struct MessageLog(Arc<Mutex<LogState>>);

/// Regenerates the records of a connection, in the order of writing.
pub type MarkGenerator = Box<dyn FnMut() -> Option<MessageMark> + Send>;

/// Records of one connection: first those regenerated when they are taken, then those kept in memory.
#[derive(Default)]
struct ConnectionLog {
    generator: Option<MarkGenerator>,
    /// Next regenerated record, if it was generated and not yet taken.
    first: Option<MessageMark>,
    /// Number of regenerated records written and not yet taken.
    generated: u64,
    kept: VecDeque<MessageMark>,
}

impl std::fmt::Debug for ConnectionLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Row")
            .field("drawn", &self.generated)
            .field("kept", &self.kept)
            .finish_non_exhaustive()
    }
}

impl ConnectionLog {
    fn take(&mut self, end: u64) -> Option<MessageMark> {
        if self.generated == 0 {
            return self
                .kept
                .front()
                .is_some_and(|mark| mark.end <= end)
                .then(|| self.kept.pop_front())
                .flatten();
        }
        let first = match self.first {
            Some(first) => first,
            None => *self.first.insert(self.generator.as_mut()?()?),
        };
        if first.end > end {
            return None;
        }
        self.generated -= 1;
        self.first.take()
    }

    fn is_empty(&self) -> bool {
        self.generated == 0 && self.kept.is_empty()
    }
}

#[derive(Default, Debug)]
struct LogState {
    connections: BTreeMap<usize, ConnectionLog>,
    over: Option<Time>,
    in_band: Option<FixedParameters>,
}

impl MessageLog {
    /// Log of one end: requests carry their parameters in band, except the constants in `known`.
    pub fn in_band(known: FixedParameters) -> MessageLog {
        MessageLog(Arc::new(Mutex::new(LogState { in_band: Some(known), ..LogState::default() })))
    }
    /// Constants of all requests, if parameters are in band.
    pub fn known(&self) -> Option<FixedParameters> {
        self.state().in_band
    }
    /// Size of a request, bytes: `request`, or more if it must carry longer parameters in band.
    pub fn length(&self, request: u64, reply: u64, wait: Span) -> u64 {
        self.known().map_or(request, |known| known.length(request, reply, wait))
    }
    fn state(&self) -> MutexGuard<'_, LogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Appends a record.
    pub fn append(&self, conn: usize, mark: MessageMark) {
        self.state().connections.entry(conn).or_default().kept.push_back(mark);
    }
    /// Sets the generator for records of this connection that are counted ([`MessageLog::count_generated`]) instead of
    /// kept.
    pub fn set_generator(&self, conn: usize, generator: MarkGenerator) {
        self.state()
            .connections
            .insert(conn, ConnectionLog { generator: Some(generator), ..ConnectionLog::default() });
    }
    /// Counts the next record of the generator as written. False, without an effect, if records are already
    /// kept or [`MessageLog::set_generator`] was not called.
    pub fn count_generated(&self, conn: usize) -> bool {
        let mut state = self.state();
        let log =
            state.connections.get_mut(&conn).filter(|log| log.generator.is_some() && log.kept.is_empty());
        log.map(|log| log.generated += 1).is_some()
    }
    /// Takes the next record of the connection that ends by `end`.
    pub fn take(&self, conn: usize, end: u64) -> Option<MessageMark> {
        self.state().connections.get_mut(&conn)?.take(end)
    }
    /// Whether this connection has a further record.
    pub fn has_more(&self, conn: usize) -> bool {
        self.state().connections.get(&conn).is_some_and(|log| !log.is_empty())
    }
    /// Number of records in memory, over all connections; regenerated ones need none.
    pub fn kept(&self) -> usize {
        self.state().connections.values().map(|log| log.kept.len()).sum()
    }
    /// Drops the remaining records of this connection.
    pub fn discard(&self, conn: usize) {
        self.state().connections.remove(&conn);
    }
    /// Closes the log.
    pub fn close(&self, now: Time) {
        self.state().over.get_or_insert(now);
    }
    /// Time at which the log was closed, if it was.
    pub fn closed(&self) -> Option<Time> {
        self.state().over
    }
}
