//! How is one kernel kept? As a process of ours with two sockets: one of the calendar, one of its network card.
//! It runs when it is told to and is served until it waits; every wait of ours for it is bounded. When it is
//! dropped it is killed, with all processes that it made, and its folder goes.

use crate::calendar::{self, Calendar};
use crate::folder::{folder, listen};
use crate::memory::Mapped;
use crate::nic::{Effect, Frame, Nic, RECEIVE, SEND};
use crate::vhost;
use crate::{Error, sys};
use base::Rate;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What to start, and how.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What it is called in messages: `download@server`.
    pub name: String,
    /// The kernel.
    pub kernel: PathBuf,
    /// Its first process, copied into its folder.
    pub init: PathBuf,
    /// What gives it chance ([`Setup::seed`]), loaded before its libraries; none: the machine does.
    pub chance: Option<PathBuf>,
    /// Where its folder is made.
    pub place: PathBuf,
    /// The files of its task, by name, for its first process.
    pub files: Vec<(String, String)>,
    /// Where its random numbers come from.
    pub seed: u64,
    /// Its memory. What it does not touch costs nothing, but the kernel sizes its buffers by it.
    pub memory_mib: u32,
    /// How fast its card sends; none: at once.
    pub modem: Option<Rate>,
    /// How long it may be silent while it runs, on a real clock.
    pub patience: Duration,
}

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

/// What it is told that a clock on the wall shows at its start: 2001-09-09 01:46:40 UTC, whenever it is.
const EPOCH: u64 = 1_000_000_000_000_000_000;
/// The word by which its first process says that it waits for no program any more.
const IDLE: &[u8] = b"idle";
/// Its console is kept so far back.
const TEXT: usize = 1 << 16;
/// Between two looks whether a silent kernel is still alive.
const LOOK: Duration = Duration::from_millis(100);
/// A kernel that says so much without a pause says nothing.
const MESSAGES: u32 = 500_000;
/// The hardware address of every guest: each is alone at its end of the wire.
const MAC: [u8; 6] = [0x02, 0x77, 0x69, 0x6c, 0x6c, 0x69];

/// What is done with a packet that a kernel sends, at which instant: how far it may then run without asking.
pub type Sent<'a> = &'a mut dyn FnMut(u64, &[u8]) -> u64;

impl Guest {
    /// Starts a kernel and waits until it has found its calendar. It stands at time 0 then, with its first turn
    /// before it.
    ///
    /// # Errors
    /// It cannot be started, ends, or says nothing.
    pub fn start(setup: &Setup) -> Result<Guest, Error> {
        let (folder, lock) = folder(&setup.place)?;
        let started = Guest::within(setup, &folder, lock);
        if started.is_err() {
            let _ = std::fs::remove_dir_all(&folder);
        }
        started
    }

    fn within(setup: &Setup, folder: &Path, lock: File) -> Result<Guest, Error> {
        let refused = |what: &str| Error::of(format!("{}: {what}", setup.name));
        let init = folder.join("init");
        // A link costs nothing; another file system wants a copy.
        std::fs::hard_link(&setup.init, &init)
            .or_else(|_| std::fs::copy(&setup.init, &init).map(drop))
            .map_err(refused("laying out its first process"))?;
        for (name, text) in &setup.files {
            std::fs::write(folder.join(name), text).map_err(refused("laying out its task"))?;
        }
        // Until it has something to tell, it writes nothing: how files of ours are dated, to the tick of our clock, would
        // decide what it updates, and when.
        for place in ["proc", "host", "over", "whole"] {
            std::fs::create_dir(folder.join(place)).map_err(refused("laying out its folder"))?;
        }
        let calendar = listen(folder, "calendar").map_err(refused("opening its calendar"))?;
        let door = listen(folder, "nic").map_err(refused("opening its network card"))?;
        let mut command = Command::new(&setup.kernel);
        // The kernel mixes its command line into its random numbers: it is the same in every run.
        command.args([
            format!("mem={}M", setup.memory_mib).as_str(),
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/proc/self/cwd",
            "ro",
            "init=/init",
            "con=null",
            "con0=null,fd:1",
            "quiet",
            "uml_dir=./",
            "umid=state",
            "virtio_uml.device=nic:1",
            "time-travel=ext:1:calendar",
        ]);
        command.env_clear().current_dir(folder).process_group(0);
        command.env("WILLIWAW_SEED", format!("{:016x}", setup.seed));
        if let Some(chance) = &setup.chance {
            command.env("LD_PRELOAD", chance);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        sys::tame(&mut command);
        let mut child = command.spawn().map_err(|source| Error::Refused {
            what: format!("{}: starting the kernel `{}`", setup.name, setup.kernel.display()),
            source,
        })?;
        let console = child.stdout.take();
        let mut text = Vec::new();
        let met = meet(&calendar, &mut child, setup.patience);
        let time = match met {
            Ok(Some(time)) => time,
            Ok(None) => {
                let why = match child.try_wait() {
                    Ok(Some(status)) => format!("it ended ({status}) before it asked for the time"),
                    _ => format!("it did not ask for the time within {:?}", setup.patience),
                };
                sys::kill_group(child.id());
                let _ = child.wait();
                if let Some(mut console) = console {
                    let _ = console.by_ref().take(TEXT as u64).read_to_end(&mut text);
                }
                return Err(Error::guest(&setup.name, why, &text).mend(NO_TRAVEL));
            }
            Err(source) => {
                sys::kill_group(child.id());
                let _ = child.wait();
                return Err(Error::Refused { what: format!("{}: its calendar", setup.name), source });
            }
        };
        let _ = time.set_write_timeout(Some(setup.patience));
        Ok(Guest {
            name: setup.name.clone(),
            child,
            folder: folder.to_owned(),
            _lock: lock,
            patience: setup.patience,
            calendar: Calendar::new(EPOCH),
            time,
            door: Some(door),
            device: None,
            channel: None,
            memory: Mapped::default(),
            nic: Nic::new(MAC, setup.modem.is_some()),
            heard: Vec::new(),
            asked: Vec::new(),
            answered: Vec::new(),
            files: Vec::new(),
            console,
            text,
            said: Said::default(),
            coming: VecDeque::new(),
            words: Vec::new(),
            completion: false,
            modem: setup.modem,
            sending: VecDeque::new(),
        })
    }

    /// When it wants to run next, nanoseconds of its calendar.
    pub fn next_wake(&self) -> u64 {
        self.calendar.request()
    }
    /// The time it has.
    pub fn now(&self) -> u64 {
        self.calendar.now()
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

    /// Tells it of a queue, and serves it until it has taken note.
    fn call(&mut self, queue: u32) -> Result<(), Error> {
        let Some(mut channel) = self.channel.as_ref() else {
            return Err(self.fault("it gave its network card no channel back"));
        };
        if channel.write_all(&vhost::call(queue)).is_err() {
            return Err(self.ended());
        }
        self.answered.clear();
        self.serve(&mut |_, _| 0, |guest| {
            let whole = vhost::HEADER + 8;
            guest.answered.len() >= whole && guest.calendar.settled()
        })
    }

    /// Answers whatever it says until `enough`.
    fn serve(&mut self, sent: Sent<'_>, enough: impl Fn(&Guest) -> bool) -> Result<(), Error> {
        let looks = (self.patience.as_millis() / LOOK.as_millis()).max(1);
        let (mut messages, mut silent) = (0u32, 0u128);
        while !enough(self) {
            let device = self.device.as_ref().map(|s| s.as_raw_fd());
            let fds = [
                Some(self.time.as_raw_fd()),
                device.or(self.door.as_ref().map(|door| door.as_raw_fd())),
                self.channel.as_ref().map(|s| s.as_raw_fd()),
                self.console.as_ref().map(|s| s.as_raw_fd()),
            ];
            let [time, asked, answered, console] =
                sys::wait(fds, LOOK.as_millis() as i32).map_err(Error::of("waiting for a kernel"))?;
            if console {
                self.listen_in()?;
            }
            if asked && self.device.is_none() {
                self.admit()?;
            } else if asked {
                self.hear_device(sent)?;
            } else if answered {
                self.hear_channel()?;
            } else if time {
                self.hear_calendar()?;
            } else if !console {
                silent += 1;
                if !matches!(self.child.try_wait(), Ok(None)) {
                    return Err(self.ended());
                }
                if silent >= looks {
                    let what = format!("it has neither waited nor said anything for {:?}", self.patience);
                    return Err(self.fault(what).mend(SPINS));
                }
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

    fn tell(&mut self, message: calendar::Message) -> Result<(), Error> {
        self.time.write_all(&message.bytes()).map_err(|_| self.ended())
    }

    fn hear_calendar(&mut self) -> Result<(), Error> {
        let mut buffer = [0; 16 * calendar::SIZE];
        match self.time.read(&mut buffer) {
            Ok(n) if n > 0 => self.heard.extend(buffer.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(self.ended()),
        }
        while let Some(bytes) = self.heard.first_chunk::<{ calendar::SIZE }>() {
            let message = calendar::Message::read(*bytes);
            self.heard.drain(..calendar::SIZE);
            match self.calendar.receive(message) {
                Ok(None) => {}
                Ok(Some(answer)) => self.tell(answer)?,
                Err(fault) => return Err(self.fault(fault.to_string())),
            }
        }
        Ok(())
    }

    /// The kernel's driver has found the socket of its card.
    fn admit(&mut self) -> Result<(), Error> {
        if let Some(door) = self.door.take() {
            let (stream, _) = door.accept().map_err(Error::of("accepting a kernel's driver"))?;
            let _ = stream.set_write_timeout(Some(self.patience));
            self.device = Some(stream);
        }
        Ok(())
    }

    fn hear_device(&mut self, sent: Sent<'_>) -> Result<(), Error> {
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
                    let _ = channel.set_write_timeout(Some(self.patience));
                }
            }
            Effect::Kick(SEND) => return self.kicked(sent),
            Effect::Kick(_) => {} // it has laid out buffers
        }
        Ok(())
    }

    /// It has sent something. What that changes it is told before it may go on.
    fn kicked(&mut self, sent: Sent<'_>) -> Result<(), Error> {
        let wants = |guest: &Guest| guest.nic.wants_call(&guest.memory, SEND);
        let frames = self.nic.sent(&self.memory).and_then(|frames| Ok((frames, wants(self)?)));
        let (frames, completion) = frames.map_err(|fault| self.fault(fault.to_string()))?;
        let completion = completion && self.modem.is_none();
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
                    // It is heard in a pause, at this very instant.
                    free = now;
                    if word == IDLE {
                        self.said.idle = true;
                    } else {
                        self.words.push(word);
                    }
                }
            }
        }
        free = free.min(self.next_departure());
        self.completion |= completion;
        // That its packet is gone it hears in a pause, at this very instant.
        let free = if self.completion { now } else { free };
        if self.calendar.shortens(free) {
            let message = self.calendar.free_until(free);
            self.tell(message)?;
            while !self.calendar.settled() {
                let fds = [Some(self.time.as_raw_fd())];
                let patience = self.patience.as_millis() as i32;
                let [there] = sys::wait(fds, patience).map_err(Error::of("waiting for a kernel"))?;
                if !there {
                    return Err(self.fault("it does not answer its calendar").mend(SPINS));
                }
                self.hear_calendar()?;
            }
        }
        Ok(())
    }

    fn hear_channel(&mut self) -> Result<(), Error> {
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

    /// Takes what stands on its console, without waiting.
    fn listen_in(&mut self) -> Result<(), Error> {
        let Some(console) = &mut self.console else { return Ok(()) };
        let fd = console.as_raw_fd();
        let [there] = sys::wait([Some(fd)], 0).map_err(Error::of("waiting for a console"))?;
        if !there {
            return Ok(());
        }
        let mut buffer = [0; 4096];
        match console.read(&mut buffer) {
            Ok(n) if n > 0 => self.text.extend(buffer.get(..n).unwrap_or_default()),
            _ => self.console = None,
        }
        let text = String::from_utf8_lossy(&self.text);
        let line = |word: &str| text.lines().any(|l| l.trim() == format!("williwaw: {word}"));
        let Said { ready, done, .. } = self.said;
        self.said = Said { ready: ready | line("ready"), done: done | line("done"), ..self.said };
        let cannot =
            text.lines().find_map(|l| l.trim().strip_prefix("williwaw: cannot: ")).map(str::to_owned);
        let more = self.text.len().saturating_sub(TEXT);
        self.text.drain(..more);
        match cannot {
            Some(what) => Err(self.fault(format!("its first process cannot go on: {what}"))),
            None => Ok(()),
        }
    }

    /// It went away.
    fn ended(&mut self) -> Error {
        let _ = self.listen_in();
        // Its sockets close a moment before it can be asked how it ended.
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

impl Drop for Guest {
    fn drop(&mut self) {
        sys::kill_group(self.child.id());
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const NO_TRAVEL: &str = "it needs a kernel for User-Mode Linux built with time travel: `williwaw linux build` makes one, `williwaw linux doctor` looks at it";
const SPINS: &str =
    "its work may have no end at one instant of virtual time; on a very busy machine give it more --patience";

/// Waits for the kernel to connect; none if it does not.
fn meet(ear: &UnixListener, child: &mut Child, patience: Duration) -> io::Result<Option<UnixStream>> {
    let looks = (patience.as_millis() / LOOK.as_millis()).max(1);
    for _ in 0..looks {
        let [there] = sys::wait([Some(ear.as_raw_fd())], LOOK.as_millis() as i32)?;
        if there {
            return ear.accept().map(|(stream, _)| Some(stream));
        }
        if child.try_wait()?.is_some() {
            return Ok(None);
        }
    }
    Ok(None)
}
