//! The command line of williwaw: what the user said becomes what is meant, and then it is done.
//!
//! Said: [`args`] (every verb) and the `Args` of the verb. Meant: [`plan`], where files are read,
//! defaults filled in and contradictions refused. Done: one file of [`cmd`] a verb.
//! Data goes to stdout, talk to stderr ([`talk`]); how a verb ends is an [`exit::End`].
//!
//! # To add a verb
//! Write `cmd/NAME.rs` with a `#[derive(clap::Args)] struct Args` and
//! `fn run(args: Args, talk: &Talk) -> Result<End, Failure>`, and name it in the list in `cmd.rs`.
//! Help, completions and exit codes follow from there.

mod args;
mod behind;
mod beside;
mod board;
mod captures;
mod carries;
mod clock;
mod cmd;
mod contrast;
mod describe;
mod environment;
mod exit;
mod gate;
mod here;
mod input;
mod interrupt;
mod judge;
mod kernel;
mod kernels;
mod labels;
mod live;
mod measured;
mod ordering;
mod others;
mod page;
mod place;
mod plan;
mod played;
mod progress;
mod record;
mod render;
mod side;
mod store;
mod surroundings;
mod table;
mod talk;
mod task;
mod told;
mod weather;
mod written;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let talk = talk::Talk::new(&cli.everywhere);
    let own = cli.verb.own_fault();
    let end = match cli.verb.run(&talk) {
        Ok(end) => end,
        Err(failure) => own(talk.failure(&failure)),
    };
    ExitCode::from(end.code())
}
