//! Connection set of an application, numbered in order of opening.
//!
//! Connections are numbered in order of opening; both ends use the same number for a connection. They may be
//! connections of a model or kernel sockets.

use super::band::Known;
use super::seen::Seen;
use super::{App, Socket};
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The connections of one end.
pub trait Lines {
    /// Opens one more connection, at the active end; returns its number.
    fn open(&mut self) -> usize;
    /// The connection with this number; none once it was aborted.
    fn line(&mut self, number: usize) -> Option<&mut dyn Socket>;
    /// Aborts a connection at once, with data in progress (RFC 9293 section 3.10.5).
    fn abort(&mut self, number: usize);
}

/// An application over any number of connections.
pub trait Workload: Send {
    /// The start time has come.
    fn started(&mut self, now: Time, lines: &mut dyn Lines);
    /// More was received or acknowledged on this connection.
    fn progressed(&mut self, now: Time, line: usize, lines: &mut dyn Lines);
    /// The peer aborted this connection.
    fn broken(&mut self, _now: Time, _line: usize) {}
    /// The deadline of [`Workload::next_timeout`] has passed.
    fn timeout(&mut self, now: Time, lines: &mut dyn Lines);
    /// Next deadline; [`Time::NEVER`] if none.
    fn next_timeout(&self) -> Time;
    /// Time at which the work was done, if it is, as seen from this end.
    fn finished(&self) -> Option<Time>;
    /// Statistics so far.
    fn seen(&self) -> &Seen;
}

/// Adapter for an application of one connection, over the first one.
pub struct Alone<A> {
    app: A,
    seen: Seen,
}

impl<A: App> Alone<A> {
    /// An adapter before its start.
    pub fn new(app: A) -> Self {
        Alone { app, seen: Seen::default() }
    }
}

impl<A: App> Workload for Alone<A> {
    fn started(&mut self, now: Time, lines: &mut dyn Lines) {
        if let Some(socket) = lines.line(0) {
            self.app.started(now, socket);
        }
    }
    fn progressed(&mut self, now: Time, line: usize, lines: &mut dyn Lines) {
        if let Some(socket) = lines.line(0).filter(|_| line == 0) {
            self.app.progressed(now, socket);
        }
    }
    fn timeout(&mut self, now: Time, lines: &mut dyn Lines) {
        if let Some(socket) = lines.line(0) {
            self.app.timeout(now, socket);
        }
    }
    fn next_timeout(&self) -> Time {
        self.app.next_timeout()
    }
    fn finished(&self) -> Option<Time> {
        self.app.finished()
    }
    fn seen(&self) -> &Seen {
        &self.seen
    }
}

/// Out-of-band record of a message or request: applications count bytes and carry no content. The other end
/// reads the record only when its bytes have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Letter {
    /// Bytes (or datagrams) of the connection after whose arrival the record is read.
    pub end: u64,
    /// Time of writing.
    pub made: Time,
    /// Size of the requested reply, bytes.
    pub reply: u64,
    /// Processing time of the reply.
    pub wait: Span,
}

/// Message log of a flow, over all its connections, shared by both ends. Ends on different hosts have a log
/// each, and requests carry their own parameters ([`super::band`]).
#[derive(Clone, Default, Debug)]
pub struct Letters(Arc<Mutex<Book>>);

/// Regenerates the records of a connection, in the order of writing.
pub type Redraw = Box<dyn FnMut() -> Option<Letter> + Send>;

/// Records of one connection: first those regenerated when they are taken, then those kept in memory.
#[derive(Default)]
struct Row {
    redraw: Option<Redraw>,
    /// First regenerated record, once it was requested.
    first: Option<Letter>,
    /// Number of regenerated records written and not yet taken.
    drawn: u64,
    kept: VecDeque<Letter>,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Row").field("drawn", &self.drawn).field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl Row {
    fn take(&mut self, end: u64) -> Option<Letter> {
        if self.drawn == 0 {
            return self
                .kept
                .front()
                .is_some_and(|letter| letter.end <= end)
                .then(|| self.kept.pop_front())
                .flatten();
        }
        let first = match self.first {
            Some(first) => first,
            None => *self.first.insert(self.redraw.as_mut()?()?),
        };
        if first.end > end {
            return None;
        }
        self.drawn -= 1;
        self.first.take()
    }

    fn is_empty(&self) -> bool {
        self.drawn == 0 && self.kept.is_empty()
    }
}

#[derive(Default, Debug)]
struct Book {
    lines: BTreeMap<usize, Row>,
    over: Option<Time>,
    in_band: Option<Known>,
}

impl Letters {
    /// Log of one end: requests carry their parameters in band, except the constants in `known`.
    pub fn in_band(known: Known) -> Letters {
        Letters(Arc::new(Mutex::new(Book { in_band: Some(known), ..Book::default() })))
    }
    /// Constants of all requests, if parameters are in band.
    pub fn known(&self) -> Option<Known> {
        self.book().in_band
    }
    /// Size of a request, bytes: `request`, or more if it must carry longer parameters in band.
    pub fn length(&self, request: u64, reply: u64, wait: Span) -> u64 {
        self.known().map_or(request, |known| known.length(request, reply, wait))
    }
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Appends a record.
    pub fn post(&self, line: usize, letter: Letter) {
        self.book().lines.entry(line).or_default().kept.push_back(letter);
    }
    /// Sets the generator for records of this connection that are counted ([`Letters::count`]) instead of
    /// kept.
    pub fn redraws(&self, line: usize, redraw: Redraw) {
        self.book().lines.insert(line, Row { redraw: Some(redraw), ..Row::default() });
    }
    /// Counts the next record of the generator as written. False, without an effect, if records are already
    /// kept or [`Letters::redraws`] was not called.
    pub fn count(&self, line: usize) -> bool {
        let mut book = self.book();
        let row = book.lines.get_mut(&line).filter(|row| row.redraw.is_some() && row.kept.is_empty());
        row.map(|row| row.drawn += 1).is_some()
    }
    /// Takes the next record of the connection that ends by `end`.
    pub fn take(&self, line: usize, end: u64) -> Option<Letter> {
        self.book().lines.get_mut(&line)?.take(end)
    }
    /// Whether this connection has a further record.
    pub fn more(&self, line: usize) -> bool {
        self.book().lines.get(&line).is_some_and(|row| !row.is_empty())
    }
    /// Number of records in memory, over all connections; regenerated ones need none.
    pub fn kept(&self) -> usize {
        self.book().lines.values().map(|row| row.kept.len()).sum()
    }
    /// Drops the remaining records of this connection.
    pub fn forget(&self, line: usize) {
        self.book().lines.remove(&line);
    }
    /// Closes the log.
    pub fn close(&self, now: Time) {
        self.book().over.get_or_insert(now);
    }
    /// Time at which the log was closed, if it was.
    pub fn closed(&self) -> Option<Time> {
        self.book().over
    }
}
