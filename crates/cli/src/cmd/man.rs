//! `williwaw man`: manual pages of the command line, one for each verb.

use crate::cmd::cli::Cli;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::output::atomic_write;
use clap::{Arg, Command, CommandFactory as _};
use std::path::{Path, PathBuf};

/// Write the manual pages into a folder, or print one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw man --out ~/.local/share/man/man1\n  \
    williwaw man run | man -l -")]
pub(crate) struct Args {
    /// Verb whose page is printed [default: williwaw itself]
    verb: Option<String>,
    /// Write the pages of williwaw and of all verbs into this folder
    #[arg(long, short, value_name = "DIR", conflicts_with = "verb")]
    out: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let all = Cli::command();
    // Global arguments are listed on the page of every verb.
    let common: Vec<Arg> = all.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let shown = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    let verbs: Vec<Command> = shown.map(|verb| verb.args(common.iter().cloned())).collect();
    let Some(folder) = args.out else {
        let page = match &args.verb {
            None => page(program(&all))?,
            Some(name) => match verbs.iter().find(|verb| verb.get_name() == name) {
                Some(verb) => page(titled(verb))?,
                None => {
                    let near = scenario::nearest(name, verbs.iter().map(Command::get_name));
                    let remedy = near.map_or_else(String::new, |near| format!("did you mean `{near}`?"));
                    return Err(Failure::usage(format!("there is no verb `{name}`"), remedy));
                }
            },
        };
        console.data(&String::from_utf8_lossy(&page))?;
        return Ok(ExitStatus::Good);
    };
    std::fs::create_dir_all(&folder).map_err(|error| Failure::write(&folder, &error))?;
    write(&folder, "williwaw", page(program(&all))?)?;
    for verb in &verbs {
        write(&folder, &format!("williwaw-{}", verb.get_name()), page(titled(verb))?)?;
    }
    console.note(&format!("{} pages in {}", verbs.len() + 1, folder.display()));
    Ok(ExitStatus::Good)
}

/// The program without its hidden verbs.
fn program(all: &Command) -> Command {
    let about = all.get_about().cloned().unwrap_or_default();
    let after = all.get_after_help().cloned().unwrap_or_default();
    Command::new("williwaw")
        .version(crate::output::VERSION)
        .about(about)
        .after_help(after)
        .args(all.get_arguments().filter(|arg| arg.is_global_set()).cloned())
        .subcommands(all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned())
}

/// The verb as a command with the name of its page, `williwaw-VERB`.
fn titled(verb: &Command) -> Command {
    // The parser requires static names; the leak ends with the process.
    let name: &'static str = String::leak(format!("williwaw-{}", verb.get_name()));
    let bin = format!("williwaw {}", verb.get_name());
    verb.clone().name(name).bin_name(bin).display_name(name)
}

fn page(command: Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command).manual("williwaw");
    man.render(&mut page).map_err(|error| Failure::machine(format!("cannot make a page: {error}"), ""))?;
    Ok(page)
}

fn write(folder: &Path, name: &str, page: Vec<u8>) -> Result<(), Failure> {
    atomic_write::whole(&folder.join(format!("{name}.1")), page)
}
