//! `williwaw serve`: start of the control tool, a local web page, built first in a checkout where the program
//! is missing or of another version.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::output::VERSION;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Serve the control tool: a local web page to compose, run, watch and compare scenarios
///
/// The server listens on this machine only, and prints the address of the page with its token. The queue is
/// kept in the folder: a restarted server continues it, even after a kill.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  williwaw serve\n  williwaw serve --dir lab --port 8017\n  williwaw serve --read-only"
)]
pub(crate) struct Args {
    /// Keep scenarios, queue and results in this folder
    #[arg(long, value_name = "DIR", default_value = "williwaw-serve")]
    dir: PathBuf,
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Read-only: nothing can be saved, started or changed
    #[arg(long)]
    read_only: bool,
}

/// Name of the server program, in the folder of this program.
const PROGRAM: &str = "williwaw-serve";

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let here = std::env::current_exe()
        .map_err(|error| Failure::machine(format!("cannot find this program's folder: {error}"), ""))?;
    let program = here.with_file_name(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX));
    if !is_current(&program, checkout(&here).is_some()) {
        build(&here, console)?;
    }
    let mut command = Command::new(&program);
    command.arg("--williwaw").arg(&here).arg("--dir").arg(&args.dir);
    command.arg("--port").arg(args.port.to_string()).args(args.read_only.then_some("--read-only"));
    let failed = |error: std::io::Error| {
        Failure::machine(format!("cannot start `{}`: {error}", program.display()), "")
    };
    // `exec` replaces this process, so that signals reach the server.
    #[cfg(unix)]
    return Err(failed(std::os::unix::process::CommandExt::exec(&mut command)));
    #[cfg(not(unix))]
    {
        let status = command.status().map_err(failed)?;
        Ok(ExitStatus::Command(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
    }
}

/// Whether the server program exists and, in a checkout, is of this program's version. File times say nothing: one
/// build links the two programs in any order.
fn is_current(program: &Path, in_checkout: bool) -> bool {
    program.is_file() && (!in_checkout || version(program).as_deref() == Some(VERSION))
}

/// Version that the server program prints, the last word of its line.
fn version(program: &Path) -> Option<String> {
    let told = Command::new(program).arg("--version").output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    told.split_whitespace().last().map(str::to_owned)
}

/// Source checkout in which this program was built, and its build profile; `None` outside of a checkout.
fn checkout(here: &Path) -> Option<(PathBuf, String)> {
    let profile = here.parent()?.file_name()?.to_str()?.to_owned();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?;
    (here.starts_with(root) && root.join("crates/serve/Cargo.toml").is_file())
        .then(|| (root.to_owned(), if profile == "debug" { "dev".to_owned() } else { profile }))
}

/// Builds the control tool, which `make` leaves out because its web server and database take long to compile.
fn build(here: &Path, console: &Console) -> Result<(), Failure> {
    let Some((root, profile)) = checkout(here) else {
        return Err(Failure::machine(
            format!(
                "the control tool is not installed: there is no `{PROGRAM}` in the folder of this program"
            ),
            format!(
                "in a checkout: cargo build --release -p {PROGRAM}, and copy it into the folder of `{}`",
                here.display()
            ),
        ));
    };
    console.note("building the control tool; this happens once and takes a minute or two");
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--locked", "-p", PROGRAM, "--profile", &profile])
        .current_dir(&root)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::machine("the control tool could not be built", "see the messages above")),
        Err(error) => Err(Failure::machine(
            format!("cargo cannot be started: {error}"),
            format!("build it by hand: cargo build --release -p {PROGRAM}"),
        )),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::{VERSION, is_current};
    use std::os::unix::fs::PermissionsExt as _;

    /// Which of the two programs was linked first says nothing.
    #[test]
    fn a_server_of_this_version_is_current_whatever_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("server");
        assert!(!is_current(&program, true) && !is_current(&program, false));
        for (version, current) in [(VERSION, true), ("0.0.0", false)] {
            std::fs::write(&program, format!("#!/bin/sh\necho williwaw serve {version}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            let file = std::fs::File::options().write(true).open(&program).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
            drop(file);
            assert_eq!(is_current(&program, true), current, "{version}");
            assert!(is_current(&program, false));
        }
    }
}
