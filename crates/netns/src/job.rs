//! Lifecycle of a command: start, supervision, exit status.
//!
//! A command is started on schedule and supervised until it ends or is cancelled; its exit is recorded. The
//! foreground command also gets the terminal and signals.

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

/// A scheduled command.
pub struct Job<'a> {
    /// Network namespace of the command.
    pub space: &'a Namespace,
    /// Start, in time of the run.
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
    /// Start time; none: never started.
    pub started: Option<Time>,
    /// Time of its own exit; none: it was ended.
    pub ended: Option<Time>,
    /// Exit status, if it exited by itself or by a signal to this program.
    pub status: Option<Status>,
    /// Missing parts of its view and other problems.
    pub lacks: Vec<String>,
}

/// Result of a command of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFacts {
    /// Name.
    pub name: String,
    /// It was a server, ended when all others were done.
    pub serves: bool,
    /// Execution record.
    pub ended: CommandExit,
}

/// Poll interval of cancellation, ms.
const LOOK: i32 = 50;
/// Grace period of a command after the order to end.
const PATIENCE: Span = Span::from_secs(2);
/// Time within which a server must listen.
const UNTIL_IT_LISTENS: Span = Span::from_secs(5);

impl Job<'_> {
    /// Starts the command on schedule and supervises it. `over`, once set, ends it.
    ///
    /// # Errors
    /// The command could not be started.
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

    /// Starts the command now and waits until it listens or is cancelled; returns its keeper for
    /// [`look_after`].
    ///
    /// # Errors
    /// The command could not be started.
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
                    // Stops the whole group, as the terminal would have done. Execution continues here when
                    // the outer shell resumes us.
                    let _ = process::signal(0, libc::SIGSTOP);
                    keeper.order(KeeperRequest::Resume);
                }
            }
            Some(KeeperReply::Ended(status)) => {
                ended.ended = Some(clock.now());
                ended.status = Some(status);
            }
            None => {
                // Only the system or a privileged process kills a keeper.
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
