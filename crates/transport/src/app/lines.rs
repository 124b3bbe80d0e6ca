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

/// What the bytes on a line mean: applications count bytes and carry none, so what would be written in them
/// stands here. It is read by the other end only when the bytes have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Letter {
    /// It is read when so many bytes (or datagrams) of the line have arrived.
    pub end: u64,
    /// When it was written.
    pub made: Time,
    /// It asks for so many bytes in return.
    pub reply: u64,
    /// The answer takes so long to make.
    pub wait: Span,
}

/// The letters of a flow, on all of its lines; both ends hold the same box. Where they cannot, each has one of its own, and
/// requests say themselves what they ask for ([`super::band`]).
#[derive(Clone, Default, Debug)]
pub struct Letters(Arc<Mutex<Book>>);

/// What makes the letters of a line once more, in the order in which they were written.
pub type Redraw = Box<dyn FnMut() -> Option<Letter> + Send>;

/// The letters of one line: those that are drawn again when they are taken, behind them those that are kept.
#[derive(Default)]
struct Row {
    redraw: Option<Redraw>,
    /// The first of those that are drawn again, once it was asked for.
    first: Option<Letter>,
    /// How many of them were written and not taken.
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
    /// A box of one end: what is in it is said in the requests, or read from them, but for what is known of all.
    pub fn in_band(known: Known) -> Letters {
        Letters(Arc::new(Mutex::new(Book { in_band: Some(known), ..Book::default() })))
    }
    /// What is known of all requests, if it is such a box.
    pub fn known(&self) -> Option<Known> {
        self.book().in_band
    }
    /// How long a request is that would be so long: it may have to say itself what it asks for.
    pub fn length(&self, request: u64, reply: u64, wait: Span) -> u64 {
        self.known().map_or(request, |known| known.length(request, reply, wait))
    }
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Writes one.
    pub fn post(&self, line: usize, letter: Letter) {
        self.book().lines.entry(line).or_default().kept.push_back(letter);
    }
    /// Letters of this line that are counted ([`Letters::count`]) and not kept are drawn by `redraw` when they are taken.
    pub fn redraws(&self, line: usize, redraw: Redraw) {
        self.book().lines.insert(line, Row { redraw: Some(redraw), ..Row::default() });
    }
    /// Writes the one that `redraw` draws next; false, and nothing is written, if none can be drawn: another was kept
    /// before, or [`Letters::redraws`] was not called.
    pub fn count(&self, line: usize) -> bool {
        let mut book = self.book();
        let row = book.lines.get_mut(&line).filter(|row| row.redraw.is_some() && row.kept.is_empty());
        row.map(|row| row.drawn += 1).is_some()
    }
    /// The next one of the line that ends by `end`; it is taken out.
    pub fn take(&self, line: usize, end: u64) -> Option<Letter> {
        self.book().lines.get_mut(&line)?.take(end)
    }
    /// Whether another one was written on this line.
    pub fn more(&self, line: usize) -> bool {
        self.book().lines.get(&line).is_some_and(|row| !row.is_empty())
    }
    /// Letters kept, on all lines; those that are drawn again take no memory.
    pub fn kept(&self) -> usize {
        self.book().lines.values().map(|row| row.kept.len()).sum()
    }
    /// Nobody will read what is left on this line.
    pub fn forget(&self, line: usize) {
        self.book().lines.remove(&line);
    }
    /// No more will be written.
    pub fn close(&self, now: Time) {
        self.book().over.get_or_insert(now);
    }
    /// Since when that is so, if it is.
    pub fn closed(&self) -> Option<Time> {
        self.book().over
    }
}
