//! Slow reader over a kernel socket: limits the read rate by the model's receiving application ([`Sink`]), so that
//! unread data close the window.

use super::bulk::{BulkPlan, BulkResult};
use crate::sockets::spec::ReadLimit;
use base::{Span, Time};
use netns::clock::Clock;
use netns::sys;
use std::io::{self, Read as _};
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;
use transport::app::{App as _, Reading, Sink, Socket};

/// Poll interval for arrivals while earlier data are unread.
const LOOK: Span = Span::from_millis(10);
/// Bytes per read.
const CHUNK: usize = 1 << 16;

/// Socket in the interface of the receiving application.
struct Inflow<'a> {
    stream: &'a TcpStream,
    /// Bytes read from the socket.
    read: u64,
    /// Bytes received by the kernel at the last poll, read or unread.
    received: u64,
    /// The application limits its reads; otherwise all bytes are read at once.
    slowly: bool,
    buffer: Vec<u8>,
    /// Set at the end of the stream or on a read error.
    ended: Option<io::Result<()>>,
}

impl Inflow<'_> {
    /// Polls the number of received bytes.
    fn look(&mut self) {
        self.received = self.received.max(self.read + sys::unread(self.stream.as_raw_fd()).unwrap_or(0));
    }
}

impl Socket for Inflow<'_> {
    fn write(&mut self, _bytes: u64) {}
    fn close(&mut self) {}
    fn stop(&mut self) {}
    fn read_slowly(&mut self, slowly: bool) {
        self.slowly = slowly;
    }
    fn read(&mut self, bytes: u64) -> u64 {
        let mut left = bytes;
        while left > 0 && self.ended.is_none() {
            let some = self.buffer.get_mut(..left.min(CHUNK as u64) as usize).unwrap_or_default();
            match self.stream.read(some) {
                Ok(0) => self.ended = Some(Ok(())),
                Ok(n) => left -= n as u64,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // The writer was stopped, and its socket closed.
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => self.ended = Some(Ok(())),
                Err(e) => self.ended = Some(Err(e)),
            }
        }
        let took = bytes - left;
        self.read += took;
        self.received = self.received.max(self.read);
        took
    }
    fn received(&self) -> u64 {
        self.received
    }
    fn acknowledged(&self) -> u64 {
        0
    }
}

/// Reads from an accepted connection until `over` or until the peer closes. Calls `done` once all expected bytes have
/// arrived, read or unread, as in virtual time.
pub(crate) fn read(
    stream: &TcpStream,
    (job, slowly): (BulkPlan, ReadLimit),
    clock: Clock,
    over: impl Fn() -> bool,
    bulk_result: &mut BulkResult,
    mut done: impl FnMut(),
) -> io::Result<()> {
    let reading = Reading::new(slowly.bytes_per_second, Span::from_nanos(slowly.pause_ns));
    let mut sink = Sink::new(job.bytes).timed(job.lasts.is_some()).reading(reading);
    let (slowly, buffer) = (true, vec![0; CHUNK]);
    let mut inflow = Inflow { stream, read: 0, received: 0, slowly, buffer, ended: None };
    sink.started(clock.now(), &mut inflow);
    while !over() && inflow.ended.is_none() {
        let now = clock.now();
        let before = bulk_result.bytes;
        if sink.next_timeout() <= now {
            sink.timeout(now, &mut inflow);
        }
        if !inflow.slowly {
            inflow.read(u64::MAX);
        }
        inflow.look();
        bulk_result.bytes = inflow.received;
        if bulk_result.bytes > before {
            sink.progressed(now, &mut inflow);
            bulk_result.finished = sink.finished();
            if job.bytes.is_some_and(|all| bulk_result.bytes >= all) {
                done();
            }
        }
        // A socket with unread data is always readable, so it is not polled.
        let waits = inflow.received > inflow.read;
        let fd = stream.as_raw_fd();
        let next: Time = sink.next_timeout().min(now + LOOK);
        let ready = sys::poll((!waits).then_some((fd, false)).into_iter(), clock.until(next));
        if ready.first().is_some_and(|ready| ready.read) && sys::unread(fd).unwrap_or(0) == 0 {
            // Readable without data: the peer has closed, which one more read confirms.
            inflow.read(1);
        }
    }
    inflow.ended.unwrap_or(Ok(()))
}
