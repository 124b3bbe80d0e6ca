//! Workloads with several TCP connections over kernel sockets: one thread per end polls the sockets, reports arrivals
//! and timeouts to the workload, and writes its data.
//!
//! Connections have equal numbers at both ends: the active end binds connection n to the n-th source port.

use super::bulk;
use super::tcp_info_log::TcpInfoLog;
use base::{Span, Time};
use netns::clock::Clock;
use netns::facts::TcpInfo;
use netns::sys::{self, PollResult};
use scenario::model::Ip;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use transport::app::connections::{Connections, MessageLog, Workload};
use transport::app::stats::AppStats;
use transport::app::{Socket, in_band};

/// Role of this end of the flow.
pub(crate) enum End<'a> {
    /// Active: connects to this address, with this congestion control.
    Opens { to: SocketAddr, cc: Option<&'a str> },
    /// Passive: accepts connections.
    Waits(&'a TcpListener),
}

/// Source of message boundaries at the passive end.
pub(crate) enum BoundarySource<'a> {
    /// Both ends share the boundaries in memory.
    Beside,
    /// Requests carry the boundaries in band: the active end writes them, the passive end reads them.
    InBand(&'a MessageLog),
    /// Boundaries are determined after the run from recorded arrivals, so all bytes up to the end are read.
    Noted,
}

/// Clock and times of a run.
#[derive(Clone, Copy)]
pub(crate) struct Times<'a> {
    pub(crate) clock: Clock,
    /// Start of the active end.
    pub(crate) start: Time,
    /// End of the workload.
    pub(crate) limit: Time,
    /// Set when the network stops; sockets stay open until then.
    pub(crate) over: &'a AtomicBool,
    /// Request real-time priority, below the driver's.
    pub(crate) realtime: bool,
}

impl Times<'_> {
    /// Prepares the calling thread: no timer slack, real-time priority if permitted, and no privileges unless they
    /// are needed.
    pub(crate) fn settle_in(&self, needs_rights: bool) {
        sys::no_slack();
        let _ = self.realtime && sys::real_time(sys::WORKLOAD).is_ok();
        if !needs_rights {
            let _ = sys::drop_rights();
        }
    }
}

/// Result of an end with several connections.
#[derive(Default, Debug)]
pub(crate) struct MultiResult {
    /// Time at which the workload was done at this end.
    pub(crate) finished: Option<Time>,
    /// Bytes read on all connections.
    pub(crate) read: u64,
    /// Bytes written on all connections.
    pub(crate) written: u64,
    /// Connections opened or accepted.
    pub(crate) lines: u64,
    /// `TCP_INFO` log of the first connection.
    pub(crate) watch: TcpInfoLog,
    /// Last `TCP_INFO` sample of each connection, up to [`MOST_TOLD`].
    pub(crate) lasts: Vec<TcpInfo>,
    /// Statistics of the workload.
    pub(crate) stats: AppStats,
    /// First error.
    pub(crate) fault: Option<String>,
}

/// Upper limit of connections with a last `TCP_INFO` sample. A page has some dozens, and a run may have many pages.
pub(crate) const MOST_TOLD: usize = 256;
/// Source port of connection 0. The flow owns its namespace, so the port is free.
const FIRST_PORT: u16 = 10_000;
/// Poll interval for state without a wake-up, such as ACKs.
const LOOK: Span = Span::from_millis(10);
/// Bytes per read or write.
const CHUNK: usize = 1 << 16;

/// TCP connection of an end.
struct Line {
    stream: TcpStream,
    /// The handshake is complete.
    open: bool,
    /// Bytes not yet written to the socket.
    waiting: u64,
    /// Bytes that the kernel has accepted.
    taken: u64,
    /// Bytes acknowledged by the peer, at the last poll.
    acknowledged: u64,
    /// Bytes read from the socket.
    received: u64,
    /// This end shuts down after the waiting bytes.
    closes: bool,
    /// This end has shut down.
    closed: bool,
    /// The peer has shut down.
    ended: bool,
    /// In-band request headers with their offsets in the outgoing stream.
    heads: VecDeque<(u64, Vec<u8>)>,
    /// End of the last message with a header, as an offset.
    headed: u64,
    /// Parser of in-band headers in the incoming stream.
    reader: Option<in_band::Reader>,
}

impl Line {
    fn new(stream: TcpStream, open: bool) -> io::Result<Line> {
        // A lingering connection would keep its namespace for minutes.
        sys::abort_on_close(stream.as_raw_fd())?;
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let (waiting, taken, acknowledged, received) = (0, 0, 0, 0);
        let (closes, closed, ended) = (false, false, false);
        let (heads, headed, reader) = (VecDeque::new(), 0, None);
        Ok(Line {
            stream,
            open,
            waiting,
            taken,
            acknowledged,
            received,
            closes,
            closed,
            ended,
            heads,
            headed,
            reader,
        })
    }

    /// Moves pending message boundaries of this connection to in-band headers.
    fn say(&mut self, number: usize, log: &MessageLog) {
        let Some(known) = log.known() else { return };
        while let Some(letter) = log.take(number, u64::MAX) {
            let head = known.write(letter.end.saturating_sub(self.headed), letter.reply, letter.service_time);
            self.heads.push_back((self.headed, head));
            self.headed = letter.end;
        }
    }

    /// Next bytes to write: zeros with the in-band headers inserted.
    fn next<'a>(&self, zeros: &'a [u8]) -> Cow<'a, [u8]> {
        let zeros = zeros.get(..self.waiting.min(CHUNK as u64) as usize).unwrap_or_default();
        let mut next = Cow::Borrowed(zeros);
        let until = self.taken + zeros.len() as u64;
        for (at, head) in self.heads.iter().take_while(|(at, _)| *at < until) {
            // The first header may be partly written.
            let written = self.taken.saturating_sub(*at) as usize;
            let at = at.saturating_sub(self.taken) as usize;
            let places = next.to_mut().iter_mut().skip(at);
            places.zip(head.iter().skip(written)).for_each(|(place, byte)| *place = *byte);
        }
        next
    }

    /// Writes waiting bytes as far as the kernel accepts them, then shuts down if requested.
    fn push(&mut self, zeros: &[u8]) -> io::Result<()> {
        while self.open && self.waiting > 0 {
            match self.stream.write(&self.next(zeros)) {
                Ok(n) => {
                    self.waiting -= n as u64;
                    self.taken += n as u64;
                    let taken = self.taken;
                    self.heads.retain(|(at, head)| at + head.len() as u64 > taken);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if self.open && self.closes && !self.closed {
            self.closed = true;
            self.stream.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }

    /// Reads available bytes and parses in-band headers, if any; returns whether data arrived.
    fn pull(&mut self, buffer: &mut [u8], log: Option<(usize, &MessageLog)>) -> io::Result<bool> {
        let before = self.received;
        loop {
            match self.stream.read(buffer) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(n) => {
                    self.received += n as u64;
                    if let Some((number, log)) = log {
                        let bytes = buffer.get(..n).unwrap_or_default();
                        let reader = self
                            .reader
                            .get_or_insert_with(|| in_band::Reader::new(log.known().unwrap_or_default()));
                        let read = reader.read(bytes, |letter| log.append(number, letter));
                        read.map_err(|_| io::Error::other("the received bytes are no request"))?;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(self.received > before)
    }

    /// Polls the number of acknowledged bytes; returns whether it has grown.
    fn look(&mut self) -> bool {
        let known = self.taken.saturating_sub(sys::unacknowledged(self.stream.as_raw_fd()).unwrap_or(0));
        let more = known > self.acknowledged;
        self.acknowledged = self.acknowledged.max(known);
        more
    }

    /// Whether both ends have shut down and the FIN is acknowledged.
    fn is_over(&self) -> bool {
        let state = || sys::tcp_info(self.stream.as_raw_fd()).map_or(CLOSED, |info| info.state);
        self.closed && self.ended && state() == CLOSED
    }
}

/// `TCP_CLOSE` of `TCP_INFO`.
const CLOSED: u8 = 7;

impl Socket for Line {
    fn write(&mut self, bytes: u64) {
        self.waiting = self.waiting.saturating_add(bytes);
    }
    fn close(&mut self) {
        self.closes = true;
    }
    fn stop(&mut self) {
        self.waiting = 0;
    }
    fn received(&self) -> u64 {
        self.received
    }
    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}

/// Connections of an end, and sums over closed connections.
struct Sockets<'a> {
    end: End<'a>,
    /// Source of message boundaries.
    meaning: BoundarySource<'a>,
    /// Connections by number.
    lines: BTreeMap<usize, Line>,
    /// Connections opened or accepted so far.
    opened: usize,
    /// First error.
    fault: Option<String>,
    /// Bytes read on closed connections.
    read: u64,
    /// Bytes written on closed connections.
    written: u64,
    /// Last `TCP_INFO` samples of closed connections.
    lasts: BTreeMap<usize, TcpInfo>,
}

impl Sockets<'_> {
    fn complain(&mut self, what: &str, error: &io::Error) {
        self.fault.get_or_insert_with(|| format!("{what}: {error}"));
    }

    /// Opens connection `number`.
    fn begin(&self, number: usize) -> io::Result<Line> {
        let End::Opens { to, cc } = &self.end else { return Err(io::ErrorKind::Unsupported.into()) };
        let port = u16::try_from(number).ok().and_then(|n| FIRST_PORT.checked_add(n));
        let port = port.ok_or_else(|| io::Error::other("there are no more ports"))?;
        let stream = sys::stream(*cc, to.is_ipv6())?;
        let any = if to.is_ipv6() { Ip::V6 } else { Ip::V4 };
        sys::bind(&stream, SocketAddr::new(bulk::any(any), port))?;
        sys::connect(&stream, *to)?;
        Line::new(stream, false)
    }

    /// Accepts all waiting connections; the peer's source port gives the number.
    fn accept(&mut self) {
        let End::Waits(listener) = &self.end else { return };
        loop {
            match listener.accept() {
                Ok((stream, peer)) if peer.port() >= FIRST_PORT => {
                    let number = usize::from(peer.port() - FIRST_PORT);
                    self.opened += 1;
                    if let Ok(line) = Line::new(stream, true) {
                        self.lines.insert(number, line);
                    }
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // The connection was aborted before it was accepted.
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) => return self.complain("accepting a connection", &e),
            }
        }
    }

    /// Closes a connection and adds its counters to the sums.
    fn remove(&mut self, number: usize) {
        if let Some(line) = self.lines.remove(&number) {
            self.read += line.received;
            self.written += line.taken;
            let info =
                sys::tcp_info(line.stream.as_raw_fd()).ok().filter(|_| line.open && number < MOST_TOLD);
            info.into_iter().for_each(|info| _ = self.lasts.insert(number, info));
        }
    }

    /// Writes waiting bytes; returns the connections with write errors.
    fn push(&mut self, zeros: &[u8]) -> Vec<(usize, io::Error)> {
        let waits = matches!(self.end, End::Waits(_));
        let log = if let BoundarySource::InBand(log) = self.meaning { Some(log) } else { None };
        let push = |(number, line): (&usize, &mut Line)| {
            log.filter(|_| !waits).into_iter().for_each(|log| line.say(*number, log));
            // The passive end closes a connection after the active end.
            line.closes |= waits && line.ended && line.waiting == 0;
            Some((*number, line.push(zeros).err()?))
        };
        self.lines.iter_mut().filter_map(push).collect()
    }

    /// File descriptors to poll: connection number (`None` for the listener), descriptor, and whether to poll for
    /// writing.
    fn wanted(&self) -> Vec<(Option<usize>, RawFd, bool)> {
        let ear = match &self.end {
            End::Waits(listener) => Some((None, listener.as_raw_fd(), false)),
            End::Opens { .. } => None,
        };
        let lines = self.lines.iter().filter(|(_, line)| !(line.closed && line.ended));
        let line = |(number, line): (&usize, &Line)| {
            (Some(*number), line.stream.as_raw_fd(), !line.open || line.waiting > 0)
        };
        ear.into_iter().chain(lines.map(line)).collect()
    }
}

impl Connections for Sockets<'_> {
    fn open(&mut self) -> usize {
        let number = self.opened;
        self.opened += 1;
        match self.begin(number) {
            Ok(line) => {
                self.lines.insert(number, line);
            }
            Err(error) => self.complain("opening a connection", &error),
        }
        number
    }
    fn connection(&mut self, number: usize) -> Option<&mut dyn Socket> {
        self.lines.get_mut(&number).map(|line| line as &mut dyn Socket)
    }
    /// Closes a connection; the close sends a reset (see [`Line::new`]).
    fn abort(&mut self, number: usize) {
        self.remove(number);
    }
}

/// Runs one end until `times.over`. Calls `done` once the workload is done or its time is up.
pub(crate) fn play(
    (end, meaning): (End<'_>, BoundarySource<'_>),
    workload: &mut dyn Workload,
    times: Times<'_>,
    done: impl FnOnce(),
) -> MultiResult {
    let Times { clock, start, limit, over, .. } = times;
    let mut start = if matches!(end, End::Opens { .. }) { start } else { Time::NEVER };
    let (lines, fault) = (BTreeMap::new(), None);
    let (read, written, lasts) = (0, 0, BTreeMap::new());
    let mut sockets = Sockets { end, meaning, lines, opened: 0, fault, read, written, lasts };
    let mut multi_result = MultiResult::default();
    let (mut done, zeros, mut buffer) = (Some(done), vec![0; CHUNK], vec![0; CHUNK]);
    let (mut looked, mut last) = (Time::ZERO, false);
    while !last {
        // `over` is read before the sockets, so that data delivered before the network stopped are still read if
        // message boundaries depend on them.
        last = over.load(Ordering::Relaxed);
        if last && !matches!(sockets.meaning, BoundarySource::Noted) {
            break;
        }
        let now = clock.now();
        if start <= now && !clock.is_before() {
            start = Time::NEVER;
            workload.started(now, &mut sockets);
        }
        if now < limit && workload.next_timeout() <= now {
            workload.timeout(now, &mut sockets);
        }
        let failed = sockets.push(&zeros);
        lost(&mut sockets, workload, now, failed);
        multi_result.finished = workload.finished();
        if (multi_result.finished.is_some() || now >= limit)
            && let Some(done) = done.take()
        {
            done();
        }
        if now >= looked + LOOK {
            looked = now;
            look(&mut sockets, workload, now, &mut multi_result.watch);
        }
        // Events after the limit are ignored, so nothing is polled.
        let wanted = if now < limit { sockets.wanted() } else { Vec::new() };
        let next = if now < limit { workload.next_timeout().min(start) } else { Time::NEVER };
        let until = if last { Span::ZERO } else { clock.until(next.min(now + LOOK)) };
        let ready = sys::poll(wanted.iter().map(|(_, fd, write)| (*fd, *write)), until);
        for ((number, ..), ready) in wanted.into_iter().zip(ready) {
            match number {
                None if ready.read => sockets.accept(),
                Some(number) if now < limit => {
                    attend(&mut sockets, workload, clock, number, ready, &mut buffer)
                }
                _ => {}
            }
        }
    }
    if let Some(done) = done {
        done();
    }
    for number in sockets.lines.keys().copied().collect::<Vec<_>>() {
        sockets.remove(number);
    }
    (multi_result.read, multi_result.written, multi_result.lines) =
        (sockets.read, sockets.written, sockets.opened as u64);
    multi_result.lasts = sockets.lasts.into_values().collect();
    (multi_result.stats, multi_result.fault) = (workload.stats().clone(), sockets.fault);
    multi_result
}

/// Handles the events of a connection.
fn attend(
    sockets: &mut Sockets<'_>,
    workload: &mut dyn Workload,
    clock: Clock,
    number: usize,
    ready: PollResult,
    buffer: &mut [u8],
) {
    let log = match sockets.meaning {
        BoundarySource::InBand(log) if matches!(sockets.end, End::Waits(_)) => Some((number, log)),
        _ => None,
    };
    let Some(line) = sockets.lines.get_mut(&number).filter(|_| ready.read || ready.write) else { return };
    let mut result = Ok(false);
    if !line.open {
        result = line.stream.take_error().and_then(|error| error.map_or(Ok(false), Err));
        line.open = ready.write && result.is_ok();
    }
    if result.is_ok() && ready.read {
        result = line.pull(buffer, log);
    }
    let now = clock.now();
    match result {
        Ok(true) => workload.progressed(now, number, sockets),
        Ok(false) => {}
        Err(error) => lost(sockets, workload, now, vec![(number, error)]),
    }
}

/// Reports broken connections to the workload and removes them.
fn lost(sockets: &mut Sockets<'_>, workload: &mut dyn Workload, now: Time, lines: Vec<(usize, io::Error)>) {
    for (number, error) in lines {
        let given_up = matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
        if !given_up {
            sockets.complain("a connection", &error);
        }
        sockets.remove(number);
        workload.broken(now, number);
    }
}

/// Polls the state that causes no socket event: acknowledged bytes, closed connections, `TCP_INFO`.
fn look(sockets: &mut Sockets<'_>, workload: &mut dyn Workload, now: Time, watch: &mut TcpInfoLog) {
    if let Some(line) = sockets.lines.get(&0)
        && let Ok(info) = sys::tcp_info(line.stream.as_raw_fd())
        && line.open
    {
        watch.note(now, info);
    }
    let waiting = sockets.lines.iter_mut().filter(|(_, line)| line.acknowledged < line.taken);
    let more: Vec<usize> = waiting.filter_map(|(n, line)| line.look().then_some(*n)).collect();
    for number in more {
        workload.progressed(now, number, sockets);
    }
    // A connection is removed only after its last acknowledged bytes were reported.
    let over = |line: &Line| line.acknowledged >= line.taken && line.is_over();
    let over: Vec<usize> = sockets.lines.iter().filter(|(_, l)| over(l)).map(|(number, _)| *number).collect();
    for number in over {
        sockets.remove(number);
    }
}
