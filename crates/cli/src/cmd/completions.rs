//! `williwaw completions`: what a shell needs to complete a command line.

use crate::args::Cli;
use crate::exit::{End, Failure};
use crate::talk::Talk;
use clap::{Command, CommandFactory as _};
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
    let all = Cli::command();
    // What the help hides is for williwaw itself.
    let shown = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    let mut shown = Command::new("williwaw")
        .version(crate::plan::VERSION)
        .propagate_version(true)
        .args(all.get_arguments().cloned())
        .subcommands(shown);
    clap_complete::generate(args.shell, &mut shown, "williwaw", &mut text);
    talk.data(&String::from_utf8_lossy(&text))?;
    Ok(End::Good)
}
