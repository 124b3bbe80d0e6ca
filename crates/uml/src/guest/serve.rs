//! Event loop of a running guest kernel: serves calendar, network card, backend channel and console until the
//! kernel waits.
//!
//! Each wait for the kernel is bounded, so that a kernel that hangs ends the run with an error.

use super::{Guest, GuestState, LOOK, Sent, TEXT};
use crate::calendar;
use crate::memory::Mapped;
use crate::nic::{Effect, Frame, SEND};
use crate::vhost;
use crate::{Error, sys};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;

/// Message of the guest's init: every awaited program has ended.
const IDLE: &[u8] = b"idle";
/// Maximum number of messages until the kernel waits, to detect a livelock.
const MESSAGES: u32 = 500_000;
/// Bytes of console output read at once.
const CONSOLE_READ: usize = 4096;
/// Number of reads that take all that a pipe holds, 64 KiB; bounded, since a kernel may write without end.
const CONSOLE_READS: usize = (1 << 16) / CONSOLE_READ;
const SPINS: &str =
    "its work may have no end at one instant of virtual time; on a very busy machine give it more --patience";

impl Guest {
    /// Sends an interrupt for each of these queues, and serves the kernel until it has acknowledged all. The kernel
    /// takes in all that have arrived before it goes on.
    pub(super) fn call(&mut self, queues: &[u32]) -> Result<(), Error> {
        let Some(mut channel) = self.channel.as_ref() else {
            return Err(self.fault("it gave its network card no channel back"));
        };
        let calls: Vec<u8> = queues.iter().flat_map(|queue| vhost::call(*queue)).collect();
        if channel.write_all(&calls).is_err() {
            return Err(self.ended());
        }
        self.answered.clear();
        let whole = queues.len() * (vhost::HEADER + 8);
        if self.calendar.shares() {
            // A waiting kernel sends nothing but the acknowledgements.
            self.await_answers(whole)?;
        } else {
            self.serve(&mut |_, _| 0, |guest| guest.answered.len() >= whole && guest.calendar.settled())?;
        }
        self.sync_calendar()
    }

    /// Reads the kernel's times from shared memory.
    fn sync_calendar(&mut self) -> Result<(), Error> {
        self.calendar.sync().map_err(|fault| self.fault(fault.to_string()))
    }

    /// Serves all messages until `enough` returns true. What the kernel wrote to its console before its last message
    /// has been read then: the console is the last descriptor of a wait, so it is looked at after the message.
    pub(super) fn serve(&mut self, sent: Sent<'_>, enough: impl Fn(&Guest) -> bool) -> Result<(), Error> {
        let (mut messages, mut silent) = (0u32, 0u128);
        while !enough(self) {
            let device = self.device.as_ref().map(|s| s.as_raw_fd());
            let fds = [
                Some(self.time.as_raw_fd()),
                device.or(self.listener.as_ref().map(|listener| listener.as_raw_fd())),
                self.channel.as_ref().map(|s| s.as_raw_fd()),
                self.console.as_ref().map(|s| s.as_raw_fd()),
            ];
            let [time, asked, answered, console] =
                sys::wait(fds, LOOK.as_millis() as i32).map_err(Error::of("waiting for a kernel"))?;
            if console {
                self.read_console()?;
            }
            if asked && self.device.is_none() {
                self.accept_driver()?;
            } else if asked {
                self.read_device(sent)?;
            } else if answered {
                self.read_channel()?;
            } else if time {
                self.read_calendar()?;
            } else if !console {
                self.check_silence(&mut silent)?;
                continue;
            }
            silent = 0;
            messages += 1;
            if messages > MESSAGES {
                return Err(self.fault("it talks without end and never waits").mend(SPINS));
            }
        }
        Ok(())
    }

    pub(super) fn send_to_calendar(&mut self, message: calendar::Message) -> Result<(), Error> {
        self.time.write_all(&message.bytes()).map_err(|_| self.ended())
    }

    fn read_calendar(&mut self) -> Result<(), Error> {
        let mut buffer = [0; 16 * calendar::SIZE];
        match self.time.read(&mut buffer) {
            Ok(n) if n > 0 => self.received.extend(buffer.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(self.ended()),
        }
        while let Some(bytes) = self.received.first_chunk::<{ calendar::SIZE }>() {
            let message = calendar::Message::read(*bytes);
            self.received.drain(..calendar::SIZE);
            match self.calendar.receive(message) {
                Ok(None) => {}
                // The first answer is that of START.
                Ok(Some(answer)) if self.offer.is_some() => self.offer_schedule(answer)?,
                Ok(Some(answer)) => self.send_to_calendar(answer)?,
                Err(fault) => return Err(self.fault(fault.to_string())),
            }
        }
        Ok(())
    }

    /// Answers START with the files of the schedule in shared memory. A kernel that does not know it drops them.
    fn offer_schedule(&mut self, answer: calendar::Message) -> Result<(), Error> {
        let Some((shared, log)) = self.offer.take() else { return Ok(()) };
        let files = [shared.file(), log.as_fd()];
        sys::send_with_files(&self.time, &answer.bytes(), files).map_err(|_| self.ended())
    }

    /// Accepts the connection of the kernel's driver.
    fn accept_driver(&mut self) -> Result<(), Error> {
        if let Some(listener) = self.listener.take() {
            let (stream, _) = listener.accept().map_err(Error::of("accepting a kernel's driver"))?;
            let _ = stream.set_write_timeout(Some(self.patience));
            self.device = Some(stream);
        }
        Ok(())
    }

    fn read_device(&mut self, sent: Sent<'_>) -> Result<(), Error> {
        let Some(device) = &self.device else { return Ok(()) };
        let mut buffer = [0; 4096];
        match sys::receive(device, &mut buffer, &mut self.files) {
            Ok(n) if n > 0 => self.asked.extend(buffer.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(self.ended()),
        }
        loop {
            let message = match vhost::Message::take(&mut self.asked) {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(()),
                Err(fault) => return Err(self.fault(fault.to_string())),
            };
            let (answer, effect) = match self.nic.answer(&message, self.files.len()) {
                Ok(done) => done,
                Err(fault) => return Err(self.fault(fault.to_string())),
            };
            self.take_effect(effect, sent)?;
            if let (Some(answer), Some(device)) = (answer, &mut self.device)
                && device.write_all(&answer).is_err()
            {
                return Err(self.ended());
            }
        }
    }

    fn take_effect(&mut self, effect: Effect, sent: Sent<'_>) -> Result<(), Error> {
        let mut files = std::mem::take(&mut self.files).into_iter();
        match effect {
            Effect::None => {}
            Effect::Memory(regions) => {
                self.memory = Mapped(regions.into_iter().zip(files.map(File::from)).collect());
            }
            Effect::Channel => {
                self.channel = files.next().map(UnixStream::from);
                if let Some(channel) = &self.channel {
                    let _ = channel.set_nonblocking(false);
                    let _ = channel.set_read_timeout(Some(LOOK));
                    let _ = channel.set_write_timeout(Some(self.patience));
                }
            }
            Effect::Kick(SEND) => return self.kicked(sent),
            Effect::Kick(_) => {} // receive buffers were added
        }
        Ok(())
    }

    /// Processes frames sent by the kernel. If the time up to which the kernel may advance becomes earlier, this is
    /// sent and acknowledged before the kernel continues.
    fn kicked(&mut self, sent: Sent<'_>) -> Result<(), Error> {
        let frames = self.nic.sent(&self.memory).map_err(|fault| self.fault(fault.to_string()))?;
        let completion = self.nic.wanted_call() && self.modem.is_none();
        self.sync_calendar()?;
        let now = self.calendar.now();
        let mut free = u64::MAX;
        for frame in frames {
            match frame {
                Frame::Packet(packet) => match self.modem {
                    Some(rate) => {
                        let from = self.sending.back().map_or(now, |(last, _)| *last);
                        let out = from.saturating_add(rate.span_of(packet.len() as u64).as_nanos());
                        self.sending.push_back((out, packet));
                    }
                    None => free = free.min(sent(now, &packet)),
                },
                Frame::Word(word) => {
                    // The kernel stops at this time, so that the message takes effect now.
                    free = now;
                    if word == IDLE {
                        self.state.idle = true;
                    } else {
                        self.words.push(word);
                    }
                }
            }
        }
        free = free.min(self.next_departure());
        self.completion |= completion;
        // The kernel stops at this time, so that the interrupt for a returned buffer arrives now.
        let free = if self.completion { now } else { free };
        if self.calendar.shortens(free) {
            if let Some(message) = self.calendar.free_until(free) {
                self.send_to_calendar(message)?;
            }
            while !self.calendar.settled() {
                let fds = [Some(self.time.as_raw_fd())];
                let patience = self.patience.as_millis() as i32;
                let [there] = sys::wait(fds, patience).map_err(Error::of("waiting for a kernel"))?;
                if !there {
                    return Err(self.fault("it does not answer its calendar").mend(SPINS));
                }
                self.read_calendar()?;
            }
        }
        Ok(())
    }

    fn read_channel(&mut self) -> Result<(), Error> {
        let mut buffer = [0; 256];
        match self.channel.as_mut().map(|channel| channel.read(&mut buffer)) {
            Some(Ok(n)) if n > 0 => {
                self.answered.extend(buffer.get(..n).unwrap_or_default());
                Ok(())
            }
            Some(Err(e)) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            _ => Err(self.ended()),
        }
    }

    /// Waits for acknowledgements of interrupts from a kernel that sends nothing else.
    fn await_answers(&mut self, whole: usize) -> Result<(), Error> {
        let mut silent = 0;
        while self.answered.len() < whole {
            let mut buffer = [0; 256];
            match self.channel.as_mut().map(|channel| channel.read(&mut buffer)) {
                Some(Ok(n)) if n > 0 => self.answered.extend(buffer.get(..n).unwrap_or_default()),
                Some(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Some(Err(e)) if e.kind() == io::ErrorKind::WouldBlock => self.check_silence(&mut silent)?,
                _ => return Err(self.ended()),
            }
        }
        Ok(())
    }

    /// Counts an interval of [`LOOK`] without a message; an error if the kernel has exited or was silent for too long.
    fn check_silence(&mut self, silent: &mut u128) -> Result<(), Error> {
        *silent += 1;
        if !matches!(self.child.try_wait(), Ok(None)) {
            return Err(self.ended());
        }
        if *silent >= (self.patience.as_millis() / LOOK.as_millis()).max(1) {
            let what = format!("it has neither waited nor sent anything for {:?}", self.patience);
            return Err(self.fault(what).mend(SPINS));
        }
        Ok(())
    }

    /// Reads all console output that is there, without waiting.
    fn read_console(&mut self) -> Result<(), Error> {
        let before = self.text.len();
        for _ in 0..CONSOLE_READS {
            let Some(console) = &mut self.console else { break };
            let fd = console.as_raw_fd();
            let [there] = sys::wait([Some(fd)], 0).map_err(Error::of("waiting for a console"))?;
            if !there {
                break;
            }
            let mut buffer = [0; CONSOLE_READ];
            match console.read(&mut buffer) {
                Ok(n) if n > 0 => self.text.extend(buffer.get(..n).unwrap_or_default()),
                _ => self.console = None,
            }
        }
        if self.text.len() == before {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&self.text);
        let line = |word: &str| text.lines().any(|l| l.trim() == format!("williwaw: {word}"));
        let GuestState { ready, done, .. } = self.state;
        self.state = GuestState { ready: ready | line("ready"), done: done | line("done"), ..self.state };
        let cannot =
            text.lines().find_map(|l| l.trim().strip_prefix("williwaw: cannot: ")).map(str::to_owned);
        let more = self.text.len().saturating_sub(TEXT);
        self.text.drain(..more);
        match cannot {
            // `init.c` names a congestion control that the kernel lacks: a mistake of the scenario.
            Some(what) if what.starts_with("using the congestion control ") => Err(Error::Asked {
                what: format!("kernel `{}` refused {what}", self.name),
                mend: "the kernel lacks it: name one that it has, such as `cubic`, or build a kernel with it"
                    .to_owned(),
            }),
            Some(what) => Err(self.fault(format!("its first process cannot go on: {what}"))),
            None => Ok(()),
        }
    }

    /// Error of a kernel that has exited.
    fn ended(&mut self) -> Error {
        let _ = self.read_console();
        // The sockets of an exiting process close shortly before its exit status is available.
        let ask = |_| {
            let status = self.child.try_wait().ok().flatten();
            if status.is_none() {
                let _ = sys::wait([None], 10);
            }
            status
        };
        let status = (0..20).find_map(ask);
        let how = status.map_or_else(String::new, |status| format!(" ({status})"));
        self.fault(format!("it ended in the middle{how}"))
    }
}
