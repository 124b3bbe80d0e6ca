//! `williwaw new`: commented starter scenario, and the JSON Schema beside it for editors.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::output::atomic_write;
use scenario::starter::STARTER;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

/// File name of the JSON Schema, to which the first line of the scenario refers editors.
const SCHEMA: &str = "williwaw.schema.json";

/// Write a commented scenario to start from
///
/// The first line of the file refers editors (Taplo, Even Better TOML) to the JSON Schema, which is written
/// beside it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw new\n  \
    williwaw new handover.toml\n  \
    williwaw new - | williwaw run -")]
pub(crate) struct Args {
    /// File to write; `-` is stdout. An existing file is not overwritten
    #[arg(default_value = "scenario.toml")]
    file: PathBuf,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    if args.file.as_os_str() == "-" {
        console.data(STARTER)?;
        return Ok(ExitStatus::Good);
    }
    let name = args.file.display();
    let mut file = match std::fs::File::create_new(&args.file) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(Failure::usage(
                format!("`{name}` is already there"),
                "give another name, or remove it first",
            ));
        }
        Err(error) => return Err(Failure::write(&args.file, &error)),
    };
    let text = format!("#:schema ./{SCHEMA}\n{STARTER}");
    if let Err(error) = file.write_all(text.as_bytes()) {
        // A partial file would make the next attempt fail.
        let _ = std::fs::remove_file(&args.file);
        return Err(Failure::write(&args.file, &error));
    }
    // A missing schema is no error: the scenario is complete without it.
    let schema = format!("{:#}\n", scenario::schema::json_schema());
    if let Err(failure) = atomic_write::whole(&args.file.with_file_name(SCHEMA), schema) {
        console.note(&format!("editors will not complete it: {failure}"));
    }
    console.note(&format!("wrote {name}; run it with: williwaw run {name}"));
    Ok(ExitStatus::Good)
}
