//! `williwaw completions`: what a shell needs to complete a command line.

use crate::args::Cli;
use crate::exit::{End, Failure};
use crate::talk::Talk;
use clap::CommandFactory as _;
use clap_complete::Shell;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  williwaw completions bash > ~/.local/share/bash-completion/completions/williwaw"
)]
pub(crate) struct Args {
    /// Which shell
    shell: Shell,
}

/// Does it.
pub(crate) fn run(args: Args, talk: &Talk) -> Result<End, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "williwaw", &mut text);
    talk.data(&String::from_utf8_lossy(&text))?;
    Ok(End::Good)
}
