//! Message workloads over UDP sockets of the kernel: scheduled sending, and reception with statistics or recorded
//! arrivals.
//!
//! A datagram begins with its number; its metadata are exchanged out of band (`transport::app::datagrams`).

use super::multi::{MultiResult, Times};
use base::{Span, Time};
use netns::sys;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::Ordering;
use transport::app::arrival_log::ArrivalLog;
use transport::app::datagrams::{DatagramSink, DatagramSource};

/// Interval at which the end of the run is polled.
const LOOK: Span = Span::from_millis(10);
/// Length of the datagram number, bytes.
const NUMBER: usize = 4;
/// Buffer size, bytes; larger than any datagram.
const BUFFER: usize = 1 << 16;

/// Receiver of the datagrams.
pub(crate) enum MessageReceiver {
    /// The sender is on this host: datagrams are evaluated directly.
    SameHost(Box<DatagramSink>),
    /// The sender is on another host: arrivals are recorded.
    Notes(ArrivalLog),
}

impl MessageReceiver {
    fn hear(&mut self, now: Time, number: u32) {
        match self {
            MessageReceiver::SameHost(sink) => sink.receive(now, number, None),
            MessageReceiver::Notes(notes) => notes.add(now, number.into()),
        }
    }
}

/// Sends datagrams on schedule. Calls `done` when the time `trailing` has passed since the last datagram.
pub(crate) fn speak(
    socket: &UdpSocket,
    to: SocketAddr,
    source: &mut DatagramSource,
    trailing: Span,
    times: Times<'_>,
    done: impl FnOnce(),
) -> MultiResult {
    let Times { clock, limit, over, .. } = times;
    let mut multi_result = MultiResult::default();
    let mut buffer = vec![0; BUFFER];
    while !over.load(Ordering::Relaxed) && source.finished().is_none() {
        let now = clock.now();
        if now >= limit {
            break;
        }
        if source.next_wake() <= now && !clock.is_before() {
            source.send_due(now, |datagram| {
                let size = (datagram.bytes as usize).clamp(NUMBER, BUFFER);
                buffer[..NUMBER].copy_from_slice(&datagram.ordinal.to_be_bytes());
                match socket.send_to(buffer.get(..size).unwrap_or_default(), to) {
                    Ok(_) => multi_result.written += u64::from(datagram.bytes),
                    Err(e) => {
                        multi_result.fault.get_or_insert_with(|| format!("sending a datagram: {e}"));
                    }
                }
            });
            continue;
        }
        let _ = sys::poll(std::iter::empty(), clock.until(source.next_wake().min(now + LOOK)));
    }
    let until = source.finished().map_or(Time::ZERO, |at| at + trailing);
    while clock.now() < until && !over.load(Ordering::Relaxed) {
        let _ = sys::poll(std::iter::empty(), clock.until(until).min(LOOK));
    }
    multi_result.finished = source.finished();
    multi_result.stats = source.stats().clone();
    done();
    multi_result
}

/// Receives datagrams until the network stops. Calls `done` once the sender has sent all datagrams, at the latest
/// at the limit; later arrivals are still received.
pub(crate) fn hear(
    socket: &UdpSocket,
    ear: &mut MessageReceiver,
    times: Times<'_>,
    done: impl FnOnce(),
) -> MultiResult {
    let Times { clock, limit, over, .. } = times;
    let mut multi_result = MultiResult::default();
    let (mut buffer, mut done) = (vec![0; BUFFER], Some(done));
    loop {
        // `over` is read before the socket, so that datagrams delivered before the network stopped are still
        // received.
        let last = over.load(Ordering::Relaxed);
        loop {
            let read = socket.recv(&mut buffer);
            let now = clock.now();
            match read {
                Ok(n) if now < limit => {
                    if let Some(number) = buffer.get(..n).and_then(|b| b.first_chunk::<NUMBER>()) {
                        ear.hear(now, u32::from_be_bytes(*number));
                    }
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    multi_result.fault.get_or_insert_with(|| format!("receiving a datagram: {e}"));
                    break;
                }
            }
        }
        if last {
            break;
        }
        let finished = if let MessageReceiver::SameHost(sink) = ear { sink.finished() } else { None };
        if (finished.is_some() || clock.now() >= limit)
            && let Some(done) = done.take()
        {
            done();
        }
        let _ = sys::poll(std::iter::once((socket.as_raw_fd(), false)), LOOK);
    }
    if let Some(done) = done {
        done();
    }
    if let MessageReceiver::SameHost(sink) = ear {
        multi_result.finished = sink.finished().map(|at| at.max(sink.last()));
        (multi_result.read, multi_result.stats) = (sink.stats().bytes, sink.stats().clone());
    }
    multi_result
}
