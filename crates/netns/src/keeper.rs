//! Supervisor process of a command: init of its PID namespace, ends with its parent.
//!
//! A process of its own, the first in a process namespace: whoever descends from the command, and however it hides,
//! ends with the keeper, and the keeper ends with the process that started it, by whatever signal. It gives the
//! command its view (hosts, resolver, network), the user's rights and the terminal, hands on signals and tells how it
//! ended.
//!
//! The keeper is this program again, started with two descriptors and nothing else ([`keep`]); it is told what
//! to do by the first line on its control socket.

use super::mounts::{self, View};
use super::namespace::Namespace;
use super::sys::process::Change;
use super::sys::{self, process, terminal};
use super::user::User;
use crate::Error;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;

/// What a keeper is to look after.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Variables to set.
    pub variables: Vec<(String, OsString)>,
    /// What it sees of the machine.
    pub view: View,
    /// Whose it becomes; none: it stays whose it is.
    pub user: Option<User>,
    /// It gets the terminal to itself, if there is one and it is ours to give.
    pub terminal: bool,
    /// A process group of its own, without the terminal.
    pub apart: bool,
    /// A file for a shell to read at its start; `{}` in a word becomes its name.
    pub start_file: Option<String>,
    /// The command stays in the network outside and keeps all rights: for helpers that join it with that of the
    /// machine, which they find at [`mounts::NETWORK`].
    pub outside: bool,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// As shells tell it: 128 and the signal where one ended it, 126 or 127 where it could not be started.
    pub code: i32,
    /// The signal.
    pub signal: Option<i32>,
    /// Why it could not be started.
    pub fault: Option<String>,
}

/// What a keeper tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Word {
    /// The command runs.
    Started,
    /// It could not get all of its view: what is missing.
    Lacks(String),
    /// It was stopped.
    Stopped,
    /// It ended.
    Ended(Status),
}

/// What a keeper is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Send this to all processes.
    Signal(i32),
    /// Put the command in the foreground, if the terminal is ours, and let it go on.
    Resume,
    /// End everything.
    End,
}

/// A keeper at work, as seen from the process that started it. Dropped, it ends everything.
#[derive(Debug)]
pub struct Keeper {
    control: UnixStream,
    lines: BufReader<UnixStream>,
    /// Ends with the keeper. Its death would be the keeper's.
    starter: Option<std::thread::JoinHandle<()>>,
}

/// The three streams of a command.
#[derive(Debug)]
pub enum Streams {
    /// Those of this process.
    Inherited,
    /// Nothing to read; files for what it writes.
    Files(File, File),
    /// Nothing to read, and what it writes goes nowhere.
    Nowhere,
}

fn line(of: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(of)?;
    line.push(b'\n');
    Ok(line)
}

impl Keeper {
    /// Starts `program` as a keeper, in a process namespace of its own, for a command in the network of `space`.
    ///
    /// # Errors
    /// [`Error::Rights`] without the right to make process namespaces; the kernel's.
    pub fn start(program: &Path, space: &Namespace, plan: &Plan, streams: Streams) -> Result<Keeper, Error> {
        let (ours, theirs) = UnixStream::pair().map_err(Error::of("making a socket"))?;
        let network = space.fd();
        let mut command = Command::new(program);
        command.arg("keep").arg(theirs.as_raw_fd().to_string()).arg(network.to_string());
        match streams {
            Streams::Inherited => {}
            Streams::Files(out, err) => _ = command.stdin(Stdio::null()).stdout(out).stderr(err),
            Streams::Nowhere => {
                _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            }
        }
        process::hand_down(&mut command, vec![theirs.as_raw_fd(), network]);
        let (tell, told) = mpsc::channel();
        // A thread of its own: the new namespace is for its next child only, and that child dies with it.
        let starter = std::thread::spawn(move || {
            let started = process::unshare_processes()
                .map_err(Error::right("making a process namespace"))
                .and_then(|()| command.spawn().map_err(Error::of("starting a keeper")));
            drop(theirs);
            match started {
                Ok(mut child) => {
                    let _ = tell.send(Ok(()));
                    let _ = child.wait();
                }
                Err(error) => _ = tell.send(Err(error)),
            }
        });
        told.recv().unwrap_or(Err(Error::System))?;
        let lines = ours.try_clone().map_err(Error::of("making a socket"))?;
        let mut keeper = Keeper { control: ours, lines: BufReader::new(lines), starter: Some(starter) };
        let first = line(plan).and_then(|line| keeper.control.write_all(&line));
        first.map_err(Error::of("telling a keeper what to do"))?;
        Ok(keeper)
    }

    /// What to wait on for the next word.
    pub fn fd(&self) -> RawFd {
        self.control.as_raw_fd()
    }

    /// The next word, waited for; none when the keeper is gone.
    pub fn hear(&mut self) -> Option<Word> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(n) if n > 0 => serde_json::from_str(&line).ok(),
            _ => None,
        }
    }

    /// A word that has been read already, with others.
    pub fn has_more(&self) -> bool {
        !self.lines.buffer().is_empty()
    }

    /// Tells it something; nothing happens if it is gone.
    pub fn order(&mut self, order: Order) {
        let _ = line(&order).and_then(|line| self.control.write_all(&line));
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.order(Order::End);
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        if let Some(starter) = self.starter.take() {
            let _ = starter.join();
        }
    }
}

/// Signals whose default would end the keeper before it has told anything.
const CHILD: &[i32] = &[libc::SIGCHLD];

/// The keeper itself: what the process does that [`Keeper::start`] started, with the descriptors that it was
/// handed. Returns its exit code.
pub fn keep(control: RawFd, network: RawFd) -> i32 {
    match kept(control, network) {
        Ok(()) => 0,
        Err(_) => 125,
    }
}

fn kept(control: RawFd, network: RawFd) -> io::Result<()> {
    // Should the parent have died before this, the socket says so.
    process::die_with_parent()?;
    let control = UnixStream::from(process::adopt(control)?);
    let network = process::adopt(network)?;
    let mut lines = BufReader::new(control.try_clone()?);
    let mut first = String::new();
    if lines.read_line(&mut first)? == 0 {
        return Ok(());
    }
    let plan: Plan = serde_json::from_str(&first)?;
    let mut keeping = Keeping { control, lines, network, terminal: None, child: 0 };
    match keeping.set_up(&plan) {
        Ok(()) => keeping.look_after(),
        Err((code, why)) => keeping.tell(&Word::Ended(Status { code, signal: None, fault: Some(why) })),
    }
}

struct Keeping {
    control: UnixStream,
    lines: BufReader<UnixStream>,
    network: OwnedFd,
    terminal: Option<OwnedFd>,
    child: i32,
}

/// The exit code of `env` and its kind where something of their own went wrong, a program cannot be executed, and
/// there is none of that name.
const OWN_FAULT: i32 = 125;
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

impl Keeping {
    fn tell(&mut self, word: &Word) -> io::Result<()> {
        line(word).and_then(|line| self.control.write_all(&line))
    }

    fn set_up(&mut self, plan: &Plan) -> Result<(), (i32, String)> {
        let own = |what: &str| {
            let what = what.to_owned();
            move |e: io::Error| (OWN_FAULT, format!("{what}: {e}"))
        };
        let network = self.network.as_raw_fd();
        let lacks = if plan.outside { mounts::of_helper(network) } else { mounts::arrange(&plan.view) };
        for lack in lacks.map_err(own("arranging what the command sees"))? {
            self.tell(&Word::Lacks(lack)).map_err(own("telling"))?;
        }
        if !plan.outside {
            sys::enter_network(network).map_err(own("entering a network namespace"))?;
        }
        let mut words: Vec<OsString> = plan.words.clone();
        let mut start_file = None;
        if let Some(text) = &plan.start_file {
            let file = process::memory_file(c"start").map_err(own("making a file"))?;
            for word in &mut words {
                if word == "{}" {
                    *word = format!("/dev/fd/{}", file.as_raw_fd()).into();
                }
            }
            let mut file = File::from(file);
            file.write_all(text.as_bytes()).map_err(own("making a file"))?;
            start_file = Some(file);
        }
        if let Some(user) = &plan.user {
            process::become_user(user.uid, user.gid, &user.groups).map_err(own("becoming the user"))?;
            process::die_with_parent().map_err(own("becoming the user"))?;
        }
        let [program, arguments @ ..] = &words[..] else { return Err((OWN_FAULT, "nothing to run".into())) };
        self.terminal = terminal::open().filter(|t| plan.terminal && terminal::is_ours(t));
        let fd = self.terminal.as_ref().map(|t| t.as_raw_fd());
        let mut command = Command::new(program);
        command.args(arguments);
        for (name, value) in &plan.variables {
            command.env(name, value);
        }
        process::place(&mut command, plan.apart || fd.is_some(), fd, plan.outside);
        let child = command.spawn().map_err(|e| {
            let code = if e.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
            (code, format!("{}: {e}", Path::new(program).display()))
        })?;
        drop(start_file);
        self.child = child.id() as i32;
        self.tell(&Word::Started).map_err(own("telling"))
    }

    /// Until the command has ended or nobody wants it any more. Whoever is left then is ended by the kernel,
    /// when this process does.
    fn look_after(&mut self) -> io::Result<()> {
        let children = process::hold_signals(CHILD)?;
        loop {
            while process::next_signal(&children).is_some() {}
            while let Some((pid, change)) = process::changed() {
                if pid != self.child {
                    continue; // an orphan, reaped
                }
                let (code, signal) = match change {
                    Change::Exited(code) => (code, None),
                    Change::Killed(signal) => (128 + signal, Some(signal)),
                    Change::Stopped(_) => {
                        self.tell(&Word::Stopped)?;
                        continue;
                    }
                };
                if let Some(terminal) = &self.terminal {
                    terminal::take(terminal);
                }
                return self.tell(&Word::Ended(Status { code, signal, fault: None }));
            }
            if !self.lines.buffer().is_empty()
                || sys::readable(&[self.control.as_raw_fd(), children.as_raw_fd()], None)[0]
            {
                let mut line = String::new();
                if self.lines.read_line(&mut line)? == 0 {
                    return Ok(());
                }
                match serde_json::from_str(&line)? {
                    Order::Signal(signal) => _ = process::signal(-1, signal),
                    Order::End => return Ok(()),
                    Order::Resume => {
                        if let Some(terminal) = &self.terminal
                            && terminal::is_ours(terminal)
                        {
                            terminal::give(terminal.as_raw_fd(), self.child)?;
                        }
                        let group = if self.terminal.is_some() { -self.child } else { self.child };
                        let _ = process::signal(group, libc::SIGCONT);
                    }
                }
            }
        }
    }
}

/// This program, to be started as a keeper.
pub fn this_program() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}
