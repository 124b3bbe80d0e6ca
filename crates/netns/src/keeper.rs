//! Supervisor process of a command (keeper): first process of a PID namespace, with messages to and from its parent.
//!
//! All descendants of the command end with the keeper, even if they detach, and the keeper ends with its parent,
//! whatever the signal. The keeper sets up mounts, network, credentials and terminal of the command, forwards signals,
//! and reports the exit status.
//!
//! The keeper is a new instance of this program with two descriptors ([`keep`]). The first line on its control socket
//! is its [`Plan`].

use super::mounts::{self, MountView};
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

/// Configuration of a supervised command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// Environment variables to set.
    pub variables: Vec<(String, OsString)>,
    /// Mounts and files that the command sees.
    pub view: MountView,
    /// User of the command; None: unchanged.
    pub user: Option<User>,
    /// Move the command to the foreground of the terminal, if available.
    pub terminal: bool,
    /// Start the command in a process group of its own, without the terminal.
    pub apart: bool,
    /// Content of a shell start file; `{}` in an argument is replaced by its path.
    pub start_file: Option<String>,
    /// The command stays in the outer network and keeps all privileges: for helpers that connect the namespace at
    /// [`mounts::NETWORK`] with the network of the machine.
    pub outside: bool,
}

/// Exit of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Exit status by the convention of shells: 128 plus the signal number; 126 or 127 if the command cannot be
    /// started.
    pub code: i32,
    /// Signal that ended the command.
    pub signal: Option<i32>,
    /// Reason why the command cannot be started.
    pub fault: Option<String>,
}

/// Message from a keeper to its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperReply {
    /// The command was started.
    Started,
    /// A part of the mount view is missing.
    Lacks(String),
    /// The command was stopped by a signal.
    Stopped,
    /// The command ended.
    Ended(Status),
}

/// Message from the parent to a keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperRequest {
    /// Send this signal to all processes.
    Signal(i32),
    /// Continue the command, in the foreground if this process has the terminal.
    Resume,
    /// End all processes.
    End,
}

/// Running keeper, at its parent. Drop ends all its processes.
#[derive(Debug)]
pub struct Keeper {
    control: UnixStream,
    lines: BufReader<UnixStream>,
    /// Thread that started the keeper. It lives as long as the keeper, since its end would kill the keeper.
    starter: Option<std::thread::JoinHandle<()>>,
}

/// Standard streams of a command.
#[derive(Debug)]
pub enum Streams {
    /// Streams of this process.
    Inherited,
    /// Empty input; files for standard output and error.
    Files(File, File),
    /// Empty input; output is discarded.
    Nowhere,
}

fn line(of: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(of)?;
    line.push(b'\n');
    Ok(line)
}

impl Keeper {
    /// Starts `program` as a keeper in a PID namespace of its own, for a command in the network namespace
    /// `space`.
    ///
    /// # Errors
    /// [`Error::Rights`] without the right to create PID namespaces; other errors of the kernel.
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
        let (sender, receiver) = mpsc::channel();
        // A new thread, since the new namespace applies to the thread's next child only, and that child dies with the
        // thread.
        let starter = std::thread::spawn(move || {
            let started = process::unshare_processes()
                .map_err(Error::right("making a process namespace"))
                .and_then(|()| command.spawn().map_err(Error::of("starting a keeper")));
            drop(theirs);
            match started {
                Ok(mut child) => {
                    let _ = sender.send(Ok(()));
                    let _ = child.wait();
                }
                Err(error) => _ = sender.send(Err(error)),
            }
        });
        receiver.recv().unwrap_or(Err(Error::System))?;
        let lines = ours.try_clone().map_err(Error::of("making a socket"))?;
        let mut keeper = Keeper { control: ours, lines: BufReader::new(lines), starter: Some(starter) };
        let first = line(plan).and_then(|line| keeper.control.write_all(&line));
        first.map_err(Error::of("telling a keeper what to do"))?;
        Ok(keeper)
    }

    /// Descriptor that is readable when a message arrives.
    pub fn fd(&self) -> RawFd {
        self.control.as_raw_fd()
    }

    /// Waits for the next message; None if the keeper has ended.
    pub fn hear(&mut self) -> Option<KeeperReply> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(n) if n > 0 => serde_json::from_str(&line).ok(),
            _ => None,
        }
    }

    /// Whether a message has been read ahead.
    pub fn has_more(&self) -> bool {
        !self.lines.buffer().is_empty()
    }

    /// Sends a message; ignored if the keeper has ended.
    pub fn order(&mut self, order: KeeperRequest) {
        let _ = line(&order).and_then(|line| self.control.write_all(&line));
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.order(KeeperRequest::End);
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        if let Some(starter) = self.starter.take() {
            let _ = starter.join();
        }
    }
}

/// Signals that the keeper reads instead of handling them.
const CHILD: &[i32] = &[libc::SIGCHLD];

/// Main function of the keeper process, with its two descriptors. Returns the exit code.
pub fn keep(control: RawFd, network: RawFd) -> i32 {
    match kept(control, network) {
        Ok(()) => 0,
        Err(_) => 125,
    }
}

fn kept(control: RawFd, network: RawFd) -> io::Result<()> {
    // If the parent died before this call, the control socket is closed.
    process::die_with_parent()?;
    let control = UnixStream::from(process::adopt(control)?);
    let network = process::adopt(network)?;
    let mut lines = BufReader::new(control.try_clone()?);
    let mut first = String::new();
    if lines.read_line(&mut first)? == 0 {
        return Ok(());
    }
    let plan: Plan = serde_json::from_str(&first)?;
    let mut keeping = Supervision { control, lines, network, terminal: None, child: 0 };
    match keeping.set_up(&plan) {
        Ok(()) => keeping.look_after(),
        Err((code, why)) => {
            keeping.reply(&KeeperReply::Ended(Status { code, signal: None, fault: Some(why) }))
        }
    }
}

struct Supervision {
    control: UnixStream,
    lines: BufReader<UnixStream>,
    network: OwnedFd,
    terminal: Option<OwnedFd>,
    child: i32,
}

/// Exit code of an internal error, by the convention of `env`.
const OWN_FAULT: i32 = 125;
/// Exit code of a program that is not executable.
const NOT_EXECUTABLE: i32 = 126;
/// Exit code of a program that is not found.
const NOT_FOUND: i32 = 127;

impl Supervision {
    fn reply(&mut self, word: &KeeperReply) -> io::Result<()> {
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
            self.reply(&KeeperReply::Lacks(lack)).map_err(own("telling"))?;
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
        self.reply(&KeeperReply::Started).map_err(own("telling"))
    }

    /// Supervises the command until it ends or is cancelled. When this process exits, the kernel kills the remaining
    /// processes of its namespace.
    fn look_after(&mut self) -> io::Result<()> {
        let children = process::hold_signals(CHILD)?;
        loop {
            while process::next_signal(&children).is_some() {}
            while let Some((pid, change)) = process::changed() {
                if pid != self.child {
                    continue; // a reaped orphan
                }
                let (code, signal) = match change {
                    Change::Exited(code) => (code, None),
                    Change::Killed(signal) => (128 + signal, Some(signal)),
                    Change::Stopped(_) => {
                        self.reply(&KeeperReply::Stopped)?;
                        continue;
                    }
                };
                if let Some(terminal) = &self.terminal {
                    terminal::take(terminal);
                }
                return self.reply(&KeeperReply::Ended(Status { code, signal, fault: None }));
            }
            if !self.lines.buffer().is_empty()
                || sys::readable(&[self.control.as_raw_fd(), children.as_raw_fd()], None)[0]
            {
                let mut line = String::new();
                if self.lines.read_line(&mut line)? == 0 {
                    return Ok(());
                }
                match serde_json::from_str(&line)? {
                    KeeperRequest::Signal(signal) => _ = process::signal(-1, signal),
                    KeeperRequest::End => return Ok(()),
                    KeeperRequest::Resume => {
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

/// Path of this program, for starting a keeper.
pub fn this_program() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}
