//! `williwaw schema`: JSON Schema of scenario files, for completion and checks in editors.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;

/// Print the JSON Schema of scenario files, for editors
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw schema > scenario.schema.json\n  \
    williwaw schema --reference > scenario.md")]
pub(crate) struct Args {
    /// Print the reference page instead, in Markdown
    #[arg(long)]
    reference: bool,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    if args.reference {
        console.data(&scenario::schema::reference())?;
    } else {
        console.document(&scenario::schema::json_schema())?;
    }
    Ok(ExitStatus::Good)
}
