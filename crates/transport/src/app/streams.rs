//! Workloads of several connections over the streams of one association: each TCP connection is replaced by a
//! stream (RFC 9260 section 1.5.2), so that requests and pages run over a multi-stream transport.

use super::connections::{Connections, Workload};
use super::message::Message;
use super::stats::AppStats;
use super::{App, Socket};
use base::Time;

/// Workload whose connections are streams.
pub struct Streamed {
    workload: Box<dyn Workload>,
    connections: Vec<Line>,
}

#[derive(Clone, Copy, Default)]
struct Line {
    closed: bool,
    /// Bytes received and acknowledged at the workload's last call.
    known: (u64, u64),
    /// Bytes received and acknowledged on the stream by earlier connections, subtracted from the counts.
    base: (u64, u64),
    stream: u16,
}

impl Streamed {
    /// A workload before its start.
    pub fn new(workload: Box<dyn Workload>) -> Self {
        Streamed { workload, connections: Vec::new() }
    }

    fn act(&mut self, socket: &mut dyn Socket, act: impl FnOnce(&mut dyn Workload, &mut dyn Connections)) {
        act(&mut *self.workload, &mut Access { connections: &mut self.connections, socket, at: None });
    }

    /// Calls the workload for every connection with progress, until there is none.
    fn follow(&mut self, now: Time, socket: &mut dyn Socket) {
        while socket.poll_event().is_some() {}
        for number in 0.. {
            if number >= self.connections.len() && !announce(&mut self.connections, socket) {
                return;
            }
            let Some(conn) = self.connections.get_mut(number) else { return };
            let now_at = progress(conn, socket);
            if now_at != conn.known {
                conn.known = now_at;
                self.act(socket, |workload, connections| workload.progressed(now, number, connections));
            }
        }
    }
}

fn progress(conn: &Line, socket: &dyn Socket) -> (u64, u64) {
    let on = (socket.received_on(conn.stream), socket.acknowledged_on(conn.stream));
    (on.0.saturating_sub(conn.base.0), on.1.saturating_sub(conn.base.1))
}

/// Adds a connection if the peer has sent on the stream with its number; each connection has its own stream.
fn announce(connections: &mut Vec<Line>, socket: &dyn Socket) -> bool {
    let stream = u16::try_from(connections.len()).ok().filter(|stream| *stream < socket.streams());
    let came = stream.filter(|stream| socket.received_on(*stream) > 0);
    connections.extend(came.map(|stream| Line { stream, ..Line::default() }));
    came.is_some()
}

struct Access<'a> {
    connections: &'a mut Vec<Line>,
    socket: &'a mut dyn Socket,
    at: Option<usize>,
}

impl Connections for Access<'_> {
    /// Uses the next stream; connections beyond the number of streams share the last one.
    fn open(&mut self) -> usize {
        let number = self.connections.len();
        let last = self.socket.streams().saturating_sub(1);
        let stream = u16::try_from(number).map_or(last, |stream| stream.min(last));
        let shared = number > usize::from(last);
        let base = if shared {
            (self.socket.received_on(stream), self.socket.acknowledged_on(stream))
        } else {
            (0, 0)
        };
        self.connections.push(Line { base, stream, ..Line::default() });
        number
    }
    fn connection(&mut self, number: usize) -> Option<&mut dyn Socket> {
        self.at = Some(number);
        self.connections.get(number).filter(|conn| !conn.closed)?;
        Some(self)
    }
    fn abort(&mut self, number: usize) {
        if let Some(conn) = self.connections.get_mut(number) {
            conn.closed = true;
        }
    }
}

/// Socket of the connection selected last.
impl Socket for Access<'_> {
    fn write(&mut self, bytes: u64) {
        if let Some(conn) = self.at.and_then(|at| self.connections.get(at)) {
            self.socket.send(Message { stream: conn.stream, ..Message::of(bytes) });
        }
    }
    /// A stream ends with its association.
    fn close(&mut self) {}
    fn stop(&mut self) {}
    fn received(&self) -> u64 {
        self.at.and_then(|at| self.connections.get(at)).map_or(0, |conn| progress(conn, self.socket).0)
    }
    fn acknowledged(&self) -> u64 {
        self.at.and_then(|at| self.connections.get(at)).map_or(0, |conn| progress(conn, self.socket).1)
    }
}

impl App for Streamed {
    fn started(&mut self, now: Time, socket: &mut dyn Socket) {
        self.act(socket, |workload, connections| workload.started(now, connections));
    }
    fn progressed(&mut self, now: Time, socket: &mut dyn Socket) {
        self.follow(now, socket);
    }
    fn timeout(&mut self, now: Time, socket: &mut dyn Socket) {
        self.act(socket, |workload, connections| workload.timeout(now, connections));
    }
    fn next_timeout(&self) -> Time {
        self.workload.next_timeout()
    }
    fn finished(&self) -> Option<Time> {
        self.workload.finished()
    }
    fn stats(&self) -> Option<&AppStats> {
        Some(self.workload.stats())
    }
}
