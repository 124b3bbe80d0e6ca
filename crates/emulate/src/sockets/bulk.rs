//! Bulk transfer over kernel sockets: the active end connects and writes, the passive end accepts and reads, with
//! `TCP_INFO` samples of the writer.

use super::reader;
use super::tcp_info_log::TcpInfoLog;
use crate::Error;
use crate::sockets::spec::ReadLimit;
use base::{Span, Time};
use netns::clock::Clock;
use netns::namespace::Namespace;
use netns::sys;
use scenario::model::Ip;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Port of the passive end: discard (RFC 863).
pub(crate) const PORT: u16 = 9;

/// Plan of a bulk transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkPlan {
    /// Start of the connection.
    pub(crate) start: Time,
    /// End of the run.
    pub(crate) limit: Time,
    /// Bytes to send; None: unlimited.
    pub(crate) bytes: Option<u64>,
    /// Duration of the transfer; None: until all bytes are acknowledged.
    pub(crate) lasts: Option<Span>,
    /// Read rate of the receiving application; None: unlimited.
    pub(crate) reads: Option<ReadLimit>,
}

/// Result of one end of a bulk transfer.
#[derive(Default, Debug)]
pub(crate) struct BulkResult {
    /// Time at which the transfer was done at this end.
    pub(crate) finished: Option<Time>,
    /// Bytes read by the receiver, or written by the sender.
    pub(crate) bytes: u64,
    /// `TCP_INFO` log of the writer.
    pub(crate) watch: TcpInfoLog,
    /// First error.
    pub(crate) fault: Option<String>,
    /// Kept open until the network is idle, so that a reset does not overtake an ACK.
    pub(crate) stream: Option<TcpStream>,
}

/// Interval of `TCP_INFO` samples and of polling, ms.
const LOOK: i32 = 10;
/// `TCP_ESTABLISHED` of `TCP_INFO`.
const ESTABLISHED: u8 = 1;
/// Limit of unsent bytes in the kernel for a transfer of fixed duration.
const UNSENT: u32 = 1 << 14;
/// Bytes per write.
const CHUNK: usize = 1 << 16;

/// Listening socket at all addresses of this IP version, in the namespace.
pub(crate) fn listen(space: &Namespace, ip: Ip) -> Result<TcpListener, Error> {
    space.inside(|| {
        let listener = TcpListener::bind((any(ip), PORT)).map_err(Error::of("listening"))?;
        listener.set_nonblocking(true).map_err(Error::of("listening"))?;
        Ok(listener)
    })
}

/// Unspecified address of an IP version.
pub(crate) fn any(ip: Ip) -> IpAddr {
    match ip {
        Ip::V4 => Ipv4Addr::UNSPECIFIED.into(),
        Ip::V6 => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Runs the passive end. Calls `done` once all expected bytes have arrived, and continues to read.
pub(crate) fn receive(
    listener: &TcpListener,
    job: BulkPlan,
    clock: Clock,
    stop: &AtomicBool,
    done: impl FnOnce(),
) -> BulkResult {
    // The socket exists, so no privileges are needed.
    let _ = sys::drop_rights();
    let mut bulk_result = BulkResult::default();
    let mut done = Some(done);
    let result = read_all(listener, job, clock, stop, &mut bulk_result, &mut done);
    if let Some(done) = done {
        done();
    }
    bulk_result.fault = result.err().map(|e| format!("reading: {e}"));
    bulk_result
}

fn read_all(
    listener: &TcpListener,
    job: BulkPlan,
    clock: Clock,
    stop: &AtomicBool,
    bulk_result: &mut BulkResult,
    done: &mut Option<impl FnOnce()>,
) -> io::Result<()> {
    if (job.bytes.is_none() || job.lasts.is_some())
        && let Some(done) = done.take()
    {
        done(); // The active end determines completion.
    }
    let over = || stop.load(Ordering::Relaxed) || clock.now() >= job.limit;
    let stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && !over() => {
                sys::wait_for(listener.as_raw_fd(), false, 100);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(e),
        }
    };
    sys::abort_on_close(stream.as_raw_fd())?;
    stream.set_nonblocking(true)?;
    bulk_result.stream = Some(stream.try_clone()?);
    if let Some(slowly) = job.reads {
        let all_is_there = || done.take().into_iter().for_each(|done| done());
        return reader::read(&stream, (job, slowly), clock, over, bulk_result, all_is_there);
    }
    let mut stream = stream;
    let mut buffer = vec![0; CHUNK];
    while !over() {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                let now = clock.now();
                bulk_result.bytes += n as u64;
                let all = job.bytes.is_some_and(|all| bulk_result.bytes >= all);
                if job.lasts.is_some() {
                    bulk_result.finished = Some(now); // The last arrival ends the transfer.
                }
                if all {
                    bulk_result.finished.get_or_insert(now);
                    if let Some(done) = done.take() {
                        done();
                    }
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => sys::wait_for(stream.as_raw_fd(), false, 100),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // The writer was stopped, and its socket closed.
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Socket of the active end, in its namespace.
pub(crate) fn socket(space: &Namespace, cc: Option<&str>, ip: Ip) -> Result<TcpStream, Error> {
    let what =
        cc.map_or("making a socket".into(), |cc| format!("making a socket with congestion control `{cc}`"));
    space.inside(|| sys::stream(cc, ip == Ip::V6).map_err(Error::of(what)))
}

/// Runs the active end: connects at the start time and writes.
pub(crate) fn send(
    stream: &TcpStream,
    to: IpAddr,
    job: BulkPlan,
    clock: Clock,
    stop: &AtomicBool,
) -> BulkResult {
    let _ = sys::drop_rights();
    let mut bulk_result = BulkResult::default();
    let result = write_all(stream, to, job, clock, stop, &mut bulk_result);
    bulk_result.fault = result.err().map(|e| format!("writing: {e}"));
    bulk_result
}

fn write_all(
    mut stream: &TcpStream,
    to: IpAddr,
    job: BulkPlan,
    clock: Clock,
    stop: &AtomicBool,
    bulk_result: &mut BulkResult,
) -> io::Result<()> {
    sys::abort_on_close(stream.as_raw_fd())?;
    #[allow(clippy::disallowed_methods, reason = "this is real time: the workload waits for its start")]
    std::thread::sleep(Duration::from_nanos(clock.until(job.start).as_nanos()));
    sys::connect(stream, SocketAddr::new(to, PORT))?;
    let over = || stop.load(Ordering::Relaxed) || clock.now() >= job.limit;
    while sys::tcp_info(stream.as_raw_fd())?.state != ESTABLISHED {
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        if over() {
            return Ok(());
        }
        sys::wait_for(stream.as_raw_fd(), true, LOOK);
    }
    if job.lasts.is_some() {
        // Bytes buffered in the kernel at the end are still sent while other flows run.
        sys::wait_below(stream.as_raw_fd(), UNSENT)?;
    }
    let zeros = vec![0; CHUNK];
    let end = job.lasts.map_or(Time::NEVER, |lasts| job.start + lasts);
    let mut left = job.bytes.unwrap_or(u64::MAX);
    let mut closed = false;
    let mut looked = Time::ZERO;
    loop {
        let now = clock.now();
        if over() {
            return Ok(());
        }
        if now >= looked + Span::from_millis(LOOK as u64) || left == 0 {
            looked = now;
            look(stream, now, bulk_result)?;
        }
        if now >= end
            || (left == 0 && bulk_result.watch.info.unacked == 0 && bulk_result.watch.info.notsent_bytes == 0)
        {
            bulk_result.finished = Some(now);
            return Ok(());
        }
        if left == 0 {
            if !closed {
                closed = true;
                stream.shutdown(Shutdown::Write)?;
            }
            // Completion (no byte outstanding) has no event, so it is polled.
            sys::wait_for(-1, false, LOOK);
            continue;
        }
        match stream.write(zeros.get(..left.min(CHUNK as u64) as usize).unwrap_or_default()) {
            Ok(n) => {
                left -= n as u64;
                bulk_result.bytes += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                let left = clock.until(end).as_nanos().div_ceil(1_000_000);
                let wait = i32::try_from(left).map_or(LOOK, |left| left.clamp(1, LOOK));
                sys::wait_for(stream.as_raw_fd(), true, wait);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

fn look(stream: &TcpStream, now: Time, bulk_result: &mut BulkResult) -> io::Result<()> {
    bulk_result.watch.note(now, sys::tcp_info(stream.as_raw_fd())?);
    Ok(())
}
