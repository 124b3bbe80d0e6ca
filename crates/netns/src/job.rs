//! Lifecycle of a command: start, supervision, exit status.
//!
//! It is started at its time, looked after until it ends or nobody waits for it any more, and its end is noted. The
//! one in front of the user also has the terminal and hears signals.

use super::clock::Clock;
use super::foreground::Foreground;
use super::keeper::{Keeper, Order, Plan, Status, Streams, Word};
use super::namespace::Namespace;
use super::sys::{self, process, terminal};
use crate::Error;
use base::{Span, Time};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A command that is to run.
pub struct Job<'a> {
    /// Network namespace of the command.
    pub space: &'a Namespace,
    /// Start, in time of the run.
    pub start: Time,
    /// Arguments, environment and credentials.
    pub plan: Plan,
    /// Standard streams.
    pub streams: Streams,
    /// It is the one in front of the user.
    pub foreground: Option<&'a Foreground>,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// When it was started; none if it never was.
    pub started: Option<Time>,
    /// When it ended by itself; none if it was ended.
    pub ended: Option<Time>,
    /// How it ended by itself, or was ended by a signal to this program.
    pub status: Option<Status>,
    /// What it could not see, and what else went wrong.
    pub lacks: Vec<String>,
}

/// Result of a command of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFacts {
    /// Its name.
    pub name: String,
    /// It served, and was ended when all others were done.
    pub serves: bool,
    /// When and how it ended.
    pub ended: Ended,
}

/// Somebody may want it to end: how long until that is looked at, milliseconds.
const LOOK: i32 = 50;
/// A command that was told to end has so long to do so.
const PATIENCE: Span = Span::from_secs(2);
/// A server has so long until it listens.
const UNTIL_IT_LISTENS: Span = Span::from_secs(5);

impl Job<'_> {
    /// Starts it at its time and looks after it. `over`, once set, ends it.
    ///
    /// # Errors
    /// It could not be started at all.
    pub fn run(self, program: &Path, clock: Clock, over: &AtomicBool) -> Result<Ended, Error> {
        while clock.now() < self.start || clock.is_before() {
            if over.load(Ordering::Relaxed) {
                return Ok(Ended::default());
            }
            let left = clock.until(self.start).as_nanos() / 1_000_000;
            sys::wait_for(-1, false, left.min(LOOK as u64) as i32 + 1);
        }
        let mut ended = Ended { started: Some(clock.now()), ..Ended::default() };
        let keeper = Keeper::start(program, self.space, &self.plan, self.streams)?;
        look_after(keeper, &mut ended, clock, over, self.foreground);
        Ok(ended)
    }

    /// Starts it now and waits until it listens, or nobody waits any more; gives it for [`look_after`].
    ///
    /// # Errors
    /// It could not be started at all.
    pub fn begin(
        self,
        program: &Path,
        ended: &mut Ended,
        given_up: impl Fn() -> bool,
    ) -> Result<Keeper, Error> {
        let before = self.space.listening();
        let mut keeper = Keeper::start(program, self.space, &self.plan, self.streams)?;
        let clock = Clock::starting_in(Span::ZERO);
        while clock.now() < Time::ZERO + UNTIL_IT_LISTENS && self.space.listening() <= before && !given_up() {
            if sys::readable(&[keeper.fd()], Some(20))[0] {
                match keeper.hear() {
                    Some(Word::Started) => {}
                    Some(Word::Lacks(what)) => ended.lacks.push(what),
                    Some(Word::Ended(status)) => {
                        ended.status = Some(status);
                        return Ok(keeper);
                    }
                    Some(Word::Stopped) | None => return Ok(keeper),
                }
            }
        }
        if self.space.listening() <= before && !given_up() {
            ended.lacks.push(format!("it does not listen after {UNTIL_IT_LISTENS}"));
        }
        Ok(keeper)
    }
}

/// Looks after a command until it has ended or `over` says that nobody waits for it.
pub fn look_after(
    mut keeper: Keeper,
    ended: &mut Ended,
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
                    continue; // the command stands in our group, and the terminal has told all of it
                }
                keeper.order(Order::Signal(signal));
                if matches!(signal, libc::SIGTERM | libc::SIGHUP) {
                    until.get_or_insert((clock.now() + PATIENCE, signal));
                }
            }
        }
        if !ready[0] {
            continue;
        }
        match keeper.hear() {
            Some(Word::Started) => {}
            Some(Word::Lacks(what)) => ended.lacks.push(what),
            Some(Word::Stopped) => {
                if let Some(terminal) = foreground.and_then(|f| f.terminal.as_ref()) {
                    terminal::take(terminal);
                    // As the terminal would have done: everybody in this group. What follows happens when the
                    // shell outside lets us go on.
                    let _ = process::signal(0, libc::SIGSTOP);
                    keeper.order(Order::Resume);
                }
            }
            Some(Word::Ended(status)) => {
                ended.ended = Some(clock.now());
                ended.status = Some(status);
            }
            None => {
                // Nobody but the system, or somebody with its rights, ends a keeper.
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
