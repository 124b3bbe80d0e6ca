//! Guest kernel process with its two sockets: calendar and network card; boot, turns in virtual time, packets
//! in and out.
//!
//! While the kernel runs, its requests are served; each wait for the process is bounded. On drop the process is
//! killed with all its child processes, and its folder is removed.

mod serve;
mod start;

pub use start::Setup;

use crate::calendar::{self, Calendar};
use crate::memory::Mapped;
use crate::nic::{Frame, Nic, RECEIVE, SEND};
use crate::{Error, sys};
use base::Rate;
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

/// States reported by the guest's init.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct GuestState {
    /// The setup is complete, and the init waits for t = 0.
    pub ready: bool,
    /// Every awaited program has ended.
    pub idle: bool,
    /// The task is done, and the results are in the working folder.
    pub done: bool,
}

/// A running guest kernel.
pub struct Guest {
    name: String,
    child: Child,
    folder: PathBuf,
    _lock: File,
    /// Real time for which the running kernel may be silent.
    patience: Duration,
    calendar: Calendar,
    /// Memory of the schedule, and the log file that the protocol wants beside it, until the kernel has started.
    offer: Option<(Arc<sys::Shared>, File)>,
    /// Socket of the calendar.
    time: UnixStream,
    /// Listening vhost-user socket, until the driver has connected.
    listener: Option<UnixListener>,
    /// vhost-user connection of the kernel's driver.
    device: Option<UnixStream>,
    /// Backend channel, for interrupts.
    channel: Option<UnixStream>,
    memory: Mapped,
    nic: Nic,
    /// Unprocessed bytes from the calendar's socket.
    received: Vec<u8>,
    /// Unprocessed bytes of vhost-user requests.
    asked: Vec<u8>,
    /// Bytes of the reply to the last interrupt.
    answered: Vec<u8>,
    /// Files attached to vhost-user requests.
    files: Vec<OwnedFd>,
    console: Option<std::process::ChildStdout>,
    /// Last console output.
    text: Vec<u8>,
    state: GuestState,
    /// Frames to be delivered to the kernel.
    coming: VecDeque<Frame>,
    /// Messages of the guest's init that were not yet processed.
    words: Vec<Vec<u8>>,
    /// Whether the kernel must get an interrupt for returned transmit buffers.
    completion: bool,
    /// Transmission rate of the network card; none: unlimited.
    modem: Option<Rate>,
    /// Packets in the network card, with their departure times.
    sending: VecDeque<(u64, Vec<u8>)>,
}

/// Bytes of console output kept.
const TEXT: usize = 1 << 16;
/// Interval of liveness checks of a silent kernel.
const LOOK: Duration = Duration::from_millis(100);

/// Callback for each packet sent, with its time; returns the time up to which the kernel may advance without a
/// request.
pub type Sent<'a> = &'a mut dyn FnMut(u64, &[u8]) -> u64;

impl Guest {
    /// Next wake-up requested, ns of its calendar.
    pub fn next_wake(&self) -> u64 {
        self.calendar.request()
    }
    /// Current time of the kernel, ns of its calendar.
    pub fn now(&self) -> u64 {
        self.calendar.now()
    }
    /// Time to which the kernel may have advanced, ns of its calendar.
    pub fn reach(&self) -> u64 {
        self.calendar.reach()
    }
    /// States reported by the guest's init.
    pub fn state(&self) -> GuestState {
        self.state
    }
    /// Working folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
    /// Name of the guest for messages.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Error of the guest, with the end of its console output.
    pub fn fault(&self, what: impl Into<String>) -> Error {
        Error::guest(&self.name, what.into(), &self.text)
    }

    /// Boots the kernel up to its first wait for the calendar.
    ///
    /// # Errors
    /// The kernel exits, hangs, or violates a protocol.
    pub fn boot(&mut self) -> Result<(), Error> {
        self.serve(&mut |_, _| 0, |guest| guest.calendar.waits())
    }

    /// Runs the kernel at `t`, which is its requested wake-up or later, and serves it until it waits. The
    /// kernel may advance to just before `free`; each packet that it sends is passed to `sent`.
    ///
    /// # Errors
    /// Errors of [`Guest::boot`].
    pub fn run(&mut self, t: u64, free: u64, sent: Sent<'_>) -> Result<(), Error> {
        for message in self.calendar.run(t, free) {
            self.send_to_calendar(message)?;
        }
        self.serve(sent, |guest| guest.calendar.waits())
    }

    /// Departure time of the next packet from the network card; [`calendar::NEVER`] if there is none.
    pub fn next_departure(&self) -> u64 {
        self.sending.front().map_or(calendar::NEVER, |(out, _)| *out)
    }

    /// Takes the next packet off the network card; the kernel is notified at the next [`Guest::deliver`].
    ///
    /// # Errors
    /// Errors of [`Guest::boot`].
    pub fn depart(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some((_, packet)) = self.sending.pop_front() else { return Ok(None) };
        let released = self.nic.release(&self.memory).and_then(|()| self.nic.wants_call(&self.memory, SEND));
        self.completion |= released.map_err(|fault| self.fault(fault.to_string()))?;
        Ok(Some(packet))
    }

    /// Queues a packet for the next [`Guest::deliver`].
    pub fn push(&mut self, packet: Vec<u8>) {
        self.coming.push_back(Frame::Packet(packet));
    }

    /// Queues a message for the guest's init.
    pub fn tell_init(&mut self, word: Vec<u8>) {
        self.coming.push_back(Frame::Word(word));
    }

    /// Takes the messages of the guest's init.
    pub fn words(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.words)
    }

    /// Whether frames or an interrupt wait for [`Guest::deliver`].
    pub fn expects(&self) -> bool {
        self.completion || !self.coming.is_empty()
    }

    /// Delivers queued frames and interrupts at `t` while the kernel waits, and sets the kernel's requested
    /// wake-up to `t`. Frames without a free receive buffer stay in the queue. Frames are dropped until the
    /// kernel's driver is ready.
    ///
    /// # Errors
    /// Errors of [`Guest::boot`].
    pub fn deliver(&mut self, t: u64) -> Result<(), Error> {
        self.calendar.advance(t);
        if !self.nic.is_up() {
            self.coming.clear(); // the driver is not ready
            return Ok(());
        }
        let mut laid = false;
        while let Some(frame) = self.coming.front() {
            let laid_out = match frame {
                Frame::Packet(packet) => self.nic.receive(&self.memory, packet),
                Frame::Word(word) => self.nic.tell(&self.memory, word),
            };
            match laid_out {
                Ok(true) => laid = true,
                Ok(false) => break,
                Err(fault) => return Err(self.fault(fault.to_string())),
            }
            self.coming.pop_front();
        }
        let queues = [(RECEIVE, laid), (SEND, std::mem::take(&mut self.completion))];
        let mut calls = Vec::with_capacity(queues.len());
        for (queue, _) in queues.into_iter().filter(|(_, wanted)| *wanted) {
            match self.nic.wants_call(&self.memory, queue) {
                Ok(true) => calls.push(queue),
                Ok(false) => {}
                Err(fault) => return Err(self.fault(fault.to_string())),
            }
        }
        if calls.is_empty() { Ok(()) } else { self.call(&calls) }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        sys::kill_group(self.child.id());
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
