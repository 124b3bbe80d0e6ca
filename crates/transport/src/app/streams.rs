//! Workloads of several connections over the streams of one association: each TCP connection is replaced by a
//! stream (RFC 9260 section 1.5.2), so that requests and pages run over a multi-stream transport.

use super::lines::{Lines, Workload};
use super::message::Message;
use super::seen::Seen;
use super::{App, Socket};
use base::Time;

/// Workload whose connections are streams.
pub struct Streamed {
    workload: Box<dyn Workload>,
    lines: Vec<Line>,
}

#[derive(Clone, Copy, Default)]
struct Line {
    closed: bool,
    /// Bytes received and acknowledged at the workload's last call.
    known: (u64, u64),
    /// Offset subtracted from both: an earlier connection used the stream.
    base: (u64, u64),
    stream: u16,
}

impl Streamed {
    /// A workload before its start.
    pub fn new(workload: Box<dyn Workload>) -> Self {
        Streamed { workload, lines: Vec::new() }
    }

    fn act(&mut self, socket: &mut dyn Socket, act: impl FnOnce(&mut dyn Workload, &mut dyn Lines)) {
        act(&mut *self.workload, &mut Access { lines: &mut self.lines, socket, at: None });
    }

    /// Calls the workload for every connection with progress, until there is none.
    fn follow(&mut self, now: Time, socket: &mut dyn Socket) {
        while socket.poll_event().is_some() {}
        for number in 0.. {
            if number >= self.lines.len() && !announce(&mut self.lines, socket) {
                return;
            }
            let Some(line) = self.lines.get_mut(number) else { return };
            let now_at = progress(line, socket);
            if now_at != line.known {
                line.known = now_at;
                self.act(socket, |workload, lines| workload.progressed(now, number, lines));
            }
        }
    }
}

fn progress(line: &Line, socket: &dyn Socket) -> (u64, u64) {
    let on = (socket.received_on(line.stream), socket.acknowledged_on(line.stream));
    (on.0.saturating_sub(line.base.0), on.1.saturating_sub(line.base.1))
}

/// Adds a connection if the peer has sent on the stream with its number; each connection has its own stream.
fn announce(lines: &mut Vec<Line>, socket: &dyn Socket) -> bool {
    let stream = u16::try_from(lines.len()).ok().filter(|stream| *stream < socket.streams());
    let came = stream.filter(|stream| socket.received_on(*stream) > 0);
    lines.extend(came.map(|stream| Line { stream, ..Line::default() }));
    came.is_some()
}

struct Access<'a> {
    lines: &'a mut Vec<Line>,
    socket: &'a mut dyn Socket,
    at: Option<usize>,
}

impl Lines for Access<'_> {
    /// Uses the next stream; connections beyond the number of streams share the last one.
    fn open(&mut self) -> usize {
        let number = self.lines.len();
        let last = self.socket.streams().saturating_sub(1);
        let stream = u16::try_from(number).map_or(last, |stream| stream.min(last));
        let shared = number > usize::from(last);
        let base = if shared {
            (self.socket.received_on(stream), self.socket.acknowledged_on(stream))
        } else {
            (0, 0)
        };
        self.lines.push(Line { base, stream, ..Line::default() });
        number
    }
    fn line(&mut self, number: usize) -> Option<&mut dyn Socket> {
        self.at = Some(number);
        self.lines.get(number).filter(|line| !line.closed)?;
        Some(self)
    }
    fn abort(&mut self, number: usize) {
        if let Some(line) = self.lines.get_mut(number) {
            line.closed = true;
        }
    }
}

/// Socket of the connection selected last.
impl Socket for Access<'_> {
    fn write(&mut self, bytes: u64) {
        if let Some(line) = self.at.and_then(|at| self.lines.get(at)) {
            self.socket.send(Message { stream: line.stream, ..Message::of(bytes) });
        }
    }
    /// A stream ends with its association.
    fn close(&mut self) {}
    fn stop(&mut self) {}
    fn received(&self) -> u64 {
        self.at.and_then(|at| self.lines.get(at)).map_or(0, |line| progress(line, self.socket).0)
    }
    fn acknowledged(&self) -> u64 {
        self.at.and_then(|at| self.lines.get(at)).map_or(0, |line| progress(line, self.socket).1)
    }
}

impl App for Streamed {
    fn started(&mut self, now: Time, socket: &mut dyn Socket) {
        self.act(socket, |workload, lines| workload.started(now, lines));
    }
    fn progressed(&mut self, now: Time, socket: &mut dyn Socket) {
        self.follow(now, socket);
    }
    fn timeout(&mut self, now: Time, socket: &mut dyn Socket) {
        self.act(socket, |workload, lines| workload.timeout(now, lines));
    }
    fn next_timeout(&self) -> Time {
        self.workload.next_timeout()
    }
    fn finished(&self) -> Option<Time> {
        self.workload.finished()
    }
    fn seen(&self) -> Option<&Seen> {
        Some(self.workload.seen())
    }
}
