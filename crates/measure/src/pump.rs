//! I/O loop of the measurement client (`Pump`): moves bytes between socket and protocol state machine until the job is
//! done, the connection is lost, or the user stops it.

use crate::cause::Loss;
use crate::client_protocol::{ClientFault, ClientProtocol};
use crate::clock::Clock;
use crate::flow::Output;
use base::{Span, Time};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Reason why a connection ended before its job was done.
#[derive(Debug)]
pub(crate) enum Disconnect {
    /// Stopped by the user.
    Stopped,
    /// Incompatible server, so that a retry is useless.
    Fault(ClientFault),
    /// Connection lost on the path or closed by the peer.
    Lost(Loss),
}

/// Longest blocking read or write before stop requests are checked.
const NAP: Span = Span::from_millis(100);

/// Connection with its clock, timeouts and payload.
pub(crate) struct Pump<'a> {
    pub(crate) stream: &'a TcpStream,
    pub(crate) clock: Clock,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) stall: Span,
    pub(crate) filler: &'a [u8],
    /// Time of the last byte in either direction.
    heard: Time,
    /// Current read timeout.
    patience: Span,
}

impl<'a> Pump<'a> {
    pub(crate) fn new(
        stream: &'a TcpStream,
        clock: Clock,
        stop: &'a AtomicBool,
        stall: Span,
        filler: &'a [u8],
    ) -> io::Result<Pump<'a>> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(duration(NAP)))?;
        stream.set_read_timeout(Some(duration(NAP)))?;
        Ok(Pump { stream, clock, stop, stall, filler, heard: clock.now(), patience: NAP })
    }

    /// Runs until the job is done, or until `enough` returns true. `enough` is called whenever all output is sent.
    pub(crate) fn run(
        &mut self,
        asking: &mut ClientProtocol,
        mut enough: impl FnMut(&mut ClientProtocol) -> bool,
    ) -> Result<(), Disconnect> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            self.go_on()?;
            while let Some(out) = asking.next_out(self.clock.now()) {
                match out {
                    Output::Bytes(bytes) => self.write(&bytes)?,
                    Output::Payload(mut left) => {
                        while left > 0 {
                            let n = left.min(self.filler.len() as u64);
                            self.write(&self.filler[..n as usize])?;
                            left -= n;
                        }
                    }
                }
            }
            if asking.is_done() || enough(asking) {
                return Ok(());
            }
            if asking.has_out() {
                continue;
            }
            let wake = asking.next_wake();
            if !wake.is_never() {
                // Think time does not count as silence of the path.
                self.heard = self.clock.now();
            }
            self.be_patient(self.clock.until(wake).min(NAP))?;
            match (&mut { self.stream }).read(&mut buffer) {
                Ok(0) => return Err(Disconnect::Lost(Loss::closed().after(self.heard))),
                Ok(n) => {
                    self.heard = self.clock.now();
                    asking.on_bytes(self.heard, &buffer[..n]).map_err(Disconnect::Fault)?;
                }
                Err(error) => self.quiet(error)?,
            }
        }
    }

    fn be_patient(&mut self, span: Span) -> Result<(), Disconnect> {
        // A timeout of zero would block forever.
        let span = span.max(Span::from_nanos(50_000));
        if span != self.patience {
            self.patience = span;
            self.stream.set_read_timeout(Some(duration(span))).map_err(|error| self.lost(&error))?;
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), Disconnect> {
        if self.stop.load(Ordering::Relaxed) { Err(Disconnect::Stopped) } else { Ok(()) }
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), Disconnect> {
        while !bytes.is_empty() {
            self.go_on()?;
            match (&mut { self.stream }).write(bytes) {
                Ok(n) => {
                    bytes = &bytes[n..];
                    self.heard = self.clock.now();
                }
                Err(error) => self.quiet(error)?,
            }
        }
        Ok(())
    }

    /// Handles a read or write without progress; returns an error after the stall timeout.
    fn quiet(&self, error: io::Error) -> Result<(), Disconnect> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        // A connection that timed out in the kernel has the same error kind as a read timeout.
        let given_up = error.kind() == TimedOut && cfg!(unix);
        if given_up || !matches!(error.kind(), Interrupted | TimedOut | WouldBlock) {
            return Err(self.lost(&error));
        }
        self.go_on()?;
        if self.clock.now().since(self.heard) > self.stall {
            return Err(Disconnect::Lost(Loss::stalled(self.stall).after(self.heard)));
        }
        Ok(())
    }

    fn lost(&self, error: &io::Error) -> Disconnect {
        Disconnect::Lost(Loss::of("lost", error).after(self.heard))
    }
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}
