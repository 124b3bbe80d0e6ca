//! Foreground command of a run (`Foreground`): standard streams of this process, its controlling terminal, forwarded
//! signals.

use super::sys::{self, process, terminal};
use crate::Error;
use std::ffi::OsString;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// Foreground command with its signals and terminal.
pub struct Foreground {
    /// Name of the command in the model whose program it replaces.
    pub name: String,
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// See [`super::keeper::Plan::start_file`].
    pub start_file: Option<String>,
    /// Signals to forward, as a `signalfd`.
    pub signals: OwnedFd,
    /// Controlling terminal, if the command gets it.
    pub terminal: Option<OwnedFd>,
    setting: Option<terminal::Setting>,
}

/// Signals forwarded to the command.
const SIGNALS: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

impl Foreground {
    /// Blocks the forwarded signals. Must be called before the process starts a second thread.
    ///
    /// # Errors
    /// An error of the kernel.
    pub fn new(name: &str, words: Vec<OsString>, start_file: Option<String>) -> Result<Foreground, Error> {
        let signals = process::hold_signals(SIGNALS).map_err(Error::of("listening to signals"))?;
        // In a pipeline, other programs use the terminal too.
        let alone = (0..3).all(terminal::is);
        let terminal = terminal::open().filter(|t| alone && terminal::is_ours(t));
        let setting = terminal.as_ref().and_then(terminal::setting);
        Ok(Foreground { name: name.to_owned(), words, start_file, signals, terminal, setting })
    }

    /// Whether the command has the terminal.
    pub fn has_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// Whether a signal is pending for the command.
    pub fn is_called(&self) -> bool {
        sys::readable(&[self.signals.as_raw_fd()], Some(0))[0]
    }

    /// Takes back the terminal's foreground, and restores its settings if a signal ended the command.
    pub fn end(&self, by_signal: bool) {
        let Some(terminal) = &self.terminal else { return };
        terminal::take(terminal);
        if let Some(setting) = self.setting.as_ref().filter(|_| by_signal) {
            terminal::restore(terminal, setting);
        }
    }
}
