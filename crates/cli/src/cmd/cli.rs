//! Command-line parser of the binary (`clap`): the verb, and the options common to all verbs.

use super::Verb;
use crate::console::args::Everywhere;
use clap::Parser;

/// A laboratory for transport protocols on mobile links.
#[derive(Debug, Parser)]
#[command(
    name = "williwaw",
    version,
    propagate_version = true,
    after_help = "Begin with `williwaw new`, then `williwaw run scenario.toml`.\n\n\
        Exit codes: 0 good; 1 ran, but an expectation, a claim, a dialogue or a command failed; 2 usage or scenario; \
        3 this machine cannot; 4 ran in real time, but too late too often; 5 undecided: not enough data within the bound; 130 interrupted. Of `shell`, the command\'s."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}
