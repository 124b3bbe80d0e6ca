//! `williwaw keep`, a hidden verb: supervisor process of one command of an emulation.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;

/// Look after a command of an emulation; started by williwaw itself
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Args {
    /// Descriptor of its command channel
    control: i32,
    /// The descriptor of the network
    network: i32,
}

/// Runs the verb.
#[cfg(target_os = "linux")]
pub(crate) fn run(args: Args, _console: &Console) -> Result<ExitStatus, Failure> {
    Ok(ExitStatus::Command(netns::keeper::keep(args.control, args.network) as u8))
}

/// Supervision needs Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(args: Args, _console: &Console) -> Result<ExitStatus, Failure> {
    let _ = (args.control, args.network);
    Err(netns::Error::System.into())
}
