//! Command line of williwaw: argument parsing, dispatch to a verb, exit code.
//!
//! | part | what it holds |
//! |---|---|
//! | [`cmd`] | one file or folder per verb: its arguments, its work, its output |
//! | [`console`] | shared arguments, standard streams, signals, exit codes |
//! | [`input`] | scenario files, links of `shell` and `wire`, lists of agents |
//! | [`player`] | repetitions in this process, at an agent, on real kernels |
//! | [`output`] | tables, pages, captures and run folders |
//!
//! Data goes to stdout, messages to stderr ([`console::streams`]); a verb ends with a
//! [`console::exit::ExitStatus`].
//!
//! # To add a verb
//! Write `cmd/NAME.rs` with a `#[derive(clap::Args)] struct Args` and
//! `fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure>`, and name it in the list in `cmd/mod.rs`.
//! Help, completions and exit codes follow from there.

mod cmd;
mod console;
mod input;
mod output;
mod player;

use clap::Parser as _;
use std::process::ExitCode;

/// Allocator: objects of one size lie side by side, so that the state of many flows takes fewer cache lines (ADR 0163).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = cmd::cli::Cli::parse();
    let console = console::streams::Console::new(&cli.everywhere);
    let own = cli.verb.own_fault();
    let end = match cli.verb.run(&console) {
        Ok(end) => end,
        Err(failure) => own(console.failure(&failure)),
    };
    ExitCode::from(end.code())
}
