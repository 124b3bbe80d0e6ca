//! Lifecycle of a command (`Job`): start on schedule under a keeper, supervision until exit or cancellation, record of
//! the exit.
//!
//! A foreground command also has the terminal and receives forwarded signals.

use super::clock::Clock;
use super::foreground::Foreground;
use super::keeper::{Keeper, KeeperReply, KeeperRequest, Plan, Status, Streams};
use super::namespace::Namespace;
use super::sys::{self, process, terminal};
use crate::Error;
use base::{Span, Time};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Command with its schedule and environment.
pub struct Job<'a> {
    /// Network namespace of the command.
    pub space: &'a Namespace,
    /// Start time.
    pub start: Time,
    /// Arguments, environment and credentials.
    pub plan: Plan,
    /// Standard streams.
    pub streams: Streams,
    /// Set for the foreground command.
    pub foreground: Option<&'a Foreground>,
}

/// Execution record of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandExit {
    /// Start time; None: not started.
    pub started: Option<Time>,
    /// Time of its exit; None: it was ended by the supervisor.
    pub ended: Option<Time>,
    /// Exit status, if the command exited, or a signal to this program ended it.
    pub status: Option<Status>,
    /// Missing parts of its mount view and other problems.
    pub lacks: Vec<String>,
}

/// Result of a command of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFacts {
    /// Name.
    pub name: String,
    /// The command is a server, ended when all other commands are done.
    pub serves: bool,
    /// Execution record.
    pub ended: CommandExit,
}

/// Poll interval for cancellation, ms.
const LOOK: i32 = 50;
/// Time that a command has to exit after a forwarded SIGTERM or SIGHUP.
const PATIENCE: Span = Span::from_secs(2);
/// Time that a server has to listen.
const UNTIL_IT_LISTENS: Span = Span::from_secs(5);

impl Job<'_> {
    /// Starts the command at its start time, and supervises it. `over`, once set, ends it.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn run(self, program: &Path, clock: Clock, over: &AtomicBool) -> Result<CommandExit, Error> {
        while clock.now() < self.start || clock.is_before() {
            if over.load(Ordering::Relaxed) {
                return Ok(CommandExit::default());
            }
            let left = clock.until(self.start).as_nanos() / 1_000_000;
            sys::wait_for(-1, false, left.min(LOOK as u64) as i32 + 1);
        }
        let mut ended = CommandExit { started: Some(clock.now()), ..CommandExit::default() };
        let keeper = Keeper::start(program, self.space, &self.plan, self.streams)?;
        look_after(keeper, &mut ended, clock, over, self.foreground);
        Ok(ended)
    }

    /// Starts the command now, and waits until it listens, exits or `given_up`. Returns its keeper for [`look_after`].
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn begin(
        self,
        program: &Path,
        ended: &mut CommandExit,
        given_up: impl Fn() -> bool,
    ) -> Result<Keeper, Error> {
        let before = self.space.listening();
        let mut keeper = Keeper::start(program, self.space, &self.plan, self.streams)?;
        let clock = Clock::starting_in(Span::ZERO);
        while clock.now() < Time::ZERO + UNTIL_IT_LISTENS && self.space.listening() <= before && !given_up() {
            if sys::readable(&[keeper.fd()], Some(20))[0] {
                match keeper.hear() {
                    Some(KeeperReply::Started) => {}
                    Some(KeeperReply::Lacks(what)) => ended.lacks.push(what),
                    Some(KeeperReply::Ended(status)) => {
                        ended.status = Some(status);
                        return Ok(keeper);
                    }
                    Some(KeeperReply::Stopped) | None => return Ok(keeper),
                }
            }
        }
        if self.space.listening() <= before && !given_up() {
            ended.lacks.push(format!("it does not listen after {UNTIL_IT_LISTENS}"));
        }
        Ok(keeper)
    }
}

/// Supervises a command until it ends or `over` is set.
pub fn look_after(
    mut keeper: Keeper,
    ended: &mut CommandExit,
    clock: Clock,
    over: &AtomicBool,
    foreground: Option<&Foreground>,
) {
    let mut until = None;
    while ended.status.is_none() && !over.load(Ordering::Relaxed) {
        if let Some((end, signal)) = until
            && clock.now() >= end
        {
            ended.status = Some(Status { code: 128 + signal, signal: Some(signal), fault: None });
            break;
        }
        let mut fds = vec![keeper.fd()];
        fds.extend(foreground.map(|f| f.signals.as_raw_fd()));
        let ready = if keeper.has_more() { vec![true, false] } else { sys::readable(&fds, Some(LOOK)) };
        if let Some(front) = foreground.filter(|_| ready.get(1) == Some(&true)) {
            while let Some((signal, from_terminal)) = process::next_signal(&front.signals) {
                let shared = from_terminal && !front.has_terminal();
                if shared && matches!(signal, libc::SIGINT | libc::SIGQUIT) {
                    continue; // the command is in our group and got the signal from the terminal
                }
                keeper.order(KeeperRequest::Signal(signal));
                if matches!(signal, libc::SIGTERM | libc::SIGHUP) {
                    until.get_or_insert((clock.now() + PATIENCE, signal));
                }
            }
        }
        if !ready[0] {
            continue;
        }
        match keeper.hear() {
            Some(KeeperReply::Started) => {}
            Some(KeeperReply::Lacks(what)) => ended.lacks.push(what),
            Some(KeeperReply::Stopped) => {
                if let Some(terminal) = foreground.and_then(|f| f.terminal.as_ref()) {
                    terminal::take(terminal);
                    // Stops the whole process group, as the terminal would have done. Execution continues here when
                    // the outer shell resumes the group.
                    let _ = process::signal(0, libc::SIGSTOP);
                    keeper.order(KeeperRequest::Resume);
                }
            }
            Some(KeeperReply::Ended(status)) => {
                ended.ended = Some(clock.now());
                ended.status = Some(status);
            }
            None => {
                // A keeper is killed only by the system or by a privileged process.
                ended.ended = Some(clock.now());
                ended.status = Some(Status {
                    code: 128 + libc::SIGKILL,
                    signal: Some(libc::SIGKILL),
                    fault: Some("its keeper was killed".into()),
                });
            }
        }
    }
    drop(keeper);
    if let Some(front) = foreground {
        front.end(ended.status.as_ref().is_some_and(|s| s.signal.is_some()));
    }
}
