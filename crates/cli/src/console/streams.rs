//! Standard streams of the command line: data and JSON documents on stdout, notes, warnings, errors and
//! questions on stderr.
//!
//! Colours are used only where the terminal shows them. A reader that closes the pipe is no error.

use super::args::{Color, Everywhere};
use super::environment;
use super::exit::{CliError, ExitStatus, Failure};
use anstream::{AutoStream, ColorChoice};
use scenario::{Diagnostics, Style};
use std::io::{self, BufRead as _, Write};

/// Settings of the standard streams: colours, widths, quiet.
#[derive(Clone, Debug)]
pub(crate) struct Console {
    /// Colours on stdout.
    pub(crate) colour: bool,
    /// Columns of stdout; `None`: unlimited.
    pub(crate) width: Option<usize>,
    colour_err: bool,
    width_err: usize,
    quiet: bool,
}

impl Console {
    /// Settings from the options and the terminals.
    pub(crate) fn new(options: &Everywhere) -> Console {
        match options.color {
            Color::Auto => {}
            Color::Always => ColorChoice::Always.write_global(),
            Color::Never => ColorChoice::Never.write_global(),
        }
        Console {
            colour: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
            width: environment::width_of_stdout(),
            colour_err: AutoStream::choice(&io::stderr()) != ColorChoice::Never,
            width_err: environment::width_of_stderr(),
            quiet: options.quiet,
        }
    }

    /// Writes data to stdout.
    pub(crate) fn data(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::machine(format!("cannot write to stdout: {error}"), ""))
            }
            _ => Ok(()),
        }
    }

    /// Writes one JSON document to stdout.
    pub(crate) fn document(&self, document: &serde_json::Value) -> Result<(), Failure> {
        self.data(&format!("{document:#}\n"))
    }

    /// Lets `write` write data to stdout piece by piece.
    pub(crate) fn piece(
        &self,
        write: impl FnOnce(&mut dyn Write) -> results::Result<()>,
    ) -> Result<(), Failure> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let flushed = write(&mut out).and_then(|()| out.flush().map_err(results::Error::Write));
        match flushed {
            Err(results::Error::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(results::Error::Write(error)) => {
                Err(Failure::machine(format!("cannot write to stdout: {error}"), ""))
            }
            done => Ok(done?),
        }
    }

    /// Writes one JSON document to stdout while it is serialised.
    pub(crate) fn stream(&self, document: &impl serde::Serialize) -> Result<(), Failure> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let written = serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from);
        match written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::machine(format!("cannot write to stdout: {error}"), ""))
            }
            _ => Ok(()),
        }
    }

    /// Prints a note, unless quiet.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.stderr(&format!("{}\n", printable(text)));
        }
    }

    /// Prints a warning.
    pub(crate) fn warnings(&self, warnings: &Diagnostics) {
        if !self.quiet && !warnings.is_empty() {
            self.stderr(&warnings.render(self.style()));
        }
    }

    /// Prints a fault of a run, also when quiet.
    pub(crate) fn complaint(&self, head: &str, text: &str) {
        let head = if self.colour_err { format!("\x1b[1;31m{head}\x1b[0m") } else { head.to_owned() };
        self.stderr(&format!("{head}: {}\n", printable(text)));
    }

    /// Prints an error and returns its exit code.
    pub(crate) fn failure(&self, failure: &Failure) -> ExitStatus {
        match &failure.why {
            CliError::Sentence(message, remedy) => {
                self.complaint("error", message);
                if !remedy.is_empty() {
                    self.stderr(&format!("  help: {}\n", printable(remedy)));
                }
            }
            CliError::Scenario(diagnostics) => self.stderr(&diagnostics.render(self.style())),
        }
        failure.end
    }

    /// Prints a text and asks for confirmation; false without a terminal.
    pub(crate) fn ask(&self, what: &Diagnostics, question: &str) -> bool {
        self.stderr(&what.render(self.style()));
        if !environment::can_ask() {
            return false;
        }
        self.stderr(&format!("{question} [y/N] "));
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer).is_ok();
        read && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
    }

    /// Whether progress is shown: stderr is a terminal, and not quiet.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && environment::stderr_is_terminal()
    }

    /// Whether notes are printed.
    pub(crate) fn takes_notes(&self) -> bool {
        !self.quiet
    }

    fn style(&self) -> Style {
        Style { colour: self.colour_err, width: self.width_err, ..Style::default() }
    }

    fn stderr(&self, text: &str) {
        // An error means that the terminal is gone.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}
/// Text from outside, with control characters escaped, because they could move the cursor or set colours.
pub(crate) fn printable(text: &str) -> std::borrow::Cow<'_, str> {
    let hostile = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(hostile) {
        return text.into();
    }
    text.chars()
        .map(|c| if hostile(c) { c.escape_default().to_string() } else { c.to_string() })
        .collect::<String>()
        .into()
}
