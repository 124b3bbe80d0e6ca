//! `williwaw schema`: what editors need to complete and check scenario files.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::talk::Console;

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

/// Does it.
pub(crate) fn run(args: Args, talk: &Console) -> Result<ExitStatus, Failure> {
    if args.reference {
        talk.data(&scenario::schema::reference())?;
    } else {
        talk.document(&scenario::schema::json_schema())?;
    }
    Ok(ExitStatus::Good)
}
