//! Guest kernel process and its sockets.
//!
//! As a process of ours with two sockets: one of the calendar, one of its network card. It runs when it is told to
//! and is served until it waits; every wait of ours for it is bounded. When it is dropped it is killed, with all
//! processes that it made, and its folder goes.

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
use std::time::Duration;

/// What a kernel's first process has said.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Said {
    /// It has set everything up and waits for its time.
    pub ready: bool,
    /// None of its programs is waited for any more.
    pub idle: bool,
    /// Its work is done, and what it has to tell lies in its folder.
    pub done: bool,
}

/// A running kernel.
pub struct Guest {
    name: String,
    child: Child,
    folder: PathBuf,
    _lock: File,
    patience: Duration,
    calendar: Calendar,
    time: UnixStream,
    door: Option<UnixListener>,
    device: Option<UnixStream>,
    channel: Option<UnixStream>,
    memory: Mapped,
    nic: Nic,
    heard: Vec<u8>,
    asked: Vec<u8>,
    answered: Vec<u8>,
    files: Vec<OwnedFd>,
    console: Option<std::process::ChildStdout>,
    text: Vec<u8>,
    said: Said,
    /// Packets on their way into it.
    coming: VecDeque<Frame>,
    /// Words of its first process that nobody has heard yet.
    words: Vec<Vec<u8>>,
    /// It wants to hear that what it sent has left.
    completion: bool,
    modem: Option<Rate>,
    /// Packets in its card, and when each is out.
    sending: VecDeque<(u64, Vec<u8>)>,
}

/// Its console is kept so far back.
const TEXT: usize = 1 << 16;
/// Between two looks whether a silent kernel is still alive.
const LOOK: Duration = Duration::from_millis(100);

/// What is done with a packet that a kernel sends, at which instant: how far it may then run without asking.
pub type Sent<'a> = &'a mut dyn FnMut(u64, &[u8]) -> u64;

impl Guest {
    /// When it wants to run next, nanoseconds of its calendar.
    pub fn next_wake(&self) -> u64 {
        self.calendar.request()
    }
    /// The time it has.
    pub fn now(&self) -> u64 {
        self.calendar.now()
    }
    /// The time up to which it may have moved on by itself.
    pub fn reach(&self) -> u64 {
        self.calendar.reach()
    }
    /// What its first process has said.
    pub fn said(&self) -> Said {
        self.said
    }
    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
    /// What to call it.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// A fault that shows from outside, with the end of its console.
    pub fn fault(&self, what: impl Into<String>) -> Error {
        Error::guest(&self.name, what.into(), &self.text)
    }

    /// Lets it boot, up to its first wait.
    ///
    /// # Errors
    /// It dies, is silent, or says what no kernel may say.
    pub fn boot(&mut self) -> Result<(), Error> {
        self.serve(&mut |_, _| 0, |guest| guest.calendar.waits())
    }

    /// Lets it run at `t`, its own request or later, and serves it until it waits. It may go on to just before
    /// `free` by itself; each packet that it sends goes to `sent`.
    ///
    /// # Errors
    /// As for [`Guest::boot`].
    pub fn run(&mut self, t: u64, free: u64, sent: Sent<'_>) -> Result<(), Error> {
        for message in self.calendar.run(t, free) {
            self.tell(message)?;
        }
        self.serve(sent, |guest| guest.calendar.waits())?;
        self.listen_in()
    }

    /// When the next packet leaves its card; [`calendar::NEVER`] if none is in it.
    pub fn next_departure(&self) -> u64 {
        self.sending.front().map_or(calendar::NEVER, |(out, _)| *out)
    }

    /// The next packet leaves its card; the kernel hears of it at the next [`Guest::deliver`].
    ///
    /// # Errors
    /// As for [`Guest::boot`].
    pub fn depart(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some((_, packet)) = self.sending.pop_front() else { return Ok(None) };
        let released = self.nic.release(&self.memory).and_then(|()| self.nic.wants_call(&self.memory, SEND));
        self.completion |= released.map_err(|fault| self.fault(fault.to_string()))?;
        Ok(Some(packet))
    }

    /// A packet is to go in; it does so at the next [`Guest::deliver`].
    pub fn push(&mut self, packet: Vec<u8>) {
        self.coming.push_back(Frame::Packet(packet));
    }

    /// A word for its first process is to go in, as a packet does.
    pub fn tell_init(&mut self, word: Vec<u8>) {
        self.coming.push_back(Frame::Word(word));
    }

    /// What its first process has said since it was last asked.
    pub fn words(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.words)
    }

    /// Something waits to be delivered to it.
    pub fn expects(&self) -> bool {
        self.completion || !self.coming.is_empty()
    }

    /// Delivers at `t`, while it waits, what is to be delivered: its request is `t` then. Packets for which it has no
    /// buffer wait until it has run.
    ///
    /// # Errors
    /// As for [`Guest::boot`].
    pub fn deliver(&mut self, t: u64) -> Result<(), Error> {
        self.calendar.advance(t);
        if !self.nic.is_up() {
            self.coming.clear(); // nobody is there yet
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
        for (queue, _) in queues.into_iter().filter(|(_, wanted)| *wanted) {
            match self.nic.wants_call(&self.memory, queue) {
                Ok(true) => self.call(queue)?,
                Ok(false) => {}
                Err(fault) => return Err(self.fault(fault.to_string())),
            }
        }
        Ok(())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        sys::kill_group(self.child.id());
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
