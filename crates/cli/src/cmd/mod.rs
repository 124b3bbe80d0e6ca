//! Verbs of the command line: one module per verb, and the list that generates the subcommands and their
//! dispatch. A new verb has two lines here, its module and its entry in the list.

pub(crate) mod agent;
pub(crate) mod analyse;
pub(crate) mod check;
pub(crate) mod cli;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod emulate;
pub(crate) mod import;
pub(crate) mod keep;
mod layers;
pub(crate) mod linux;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod merge;
pub(crate) mod new;
pub(crate) mod plot;
pub(crate) mod presets;
pub(crate) mod print;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod script;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod trigger;
pub(crate) mod wire;

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use clap::Subcommand;

/// Generates the subcommands and their dispatch from a list of names and modules, in the order of the help.
macro_rules! verbs {
    ($($Verb:ident = $module:ident),* $(,)?) => {
        /// What to do.
        #[derive(Debug, Subcommand)]
        #[allow(clippy::large_enum_variant, reason = "there is one of them in a process")]
        pub(crate) enum Verb {
            $(#[allow(missing_docs, reason = "its arguments define its task")] $Verb($module::Args)),*
        }

        impl Verb {
            /// Maps the exit status of an error of williwaw itself: `shell` passes on the codes of its command, so its
            /// own errors have a single code.
            pub(crate) fn own_fault(&self) -> fn(ExitStatus) -> ExitStatus {
                match self {
                    Verb::Shell(_) => |_| ExitStatus::Command(shell::OWN_FAULT),
                    _ => |end| end,
                }
            }

            /// Runs the verb.
            pub(crate) fn run(self, console: &Console) -> Result<ExitStatus, Failure> {
                match self {
                    $(Verb::$Verb(args) => $module::run(args, console)),*
                }
            }
        }
    };
}

verbs! {
    Run = run,
    Merge = merge,
    Compare = compare,
    Emulate = emulate,
    Agent = agent,
    Analyse = analyse,
    Shell = shell,
    Wire = wire,
    Trigger = trigger,
    Linux = linux,
    Plot = plot,
    Print = print,
    Serve = serve,
    Measure = measure,
    Reproduce = reproduce,
    Script = script,
    Check = check,
    New = new,
    Schema = schema,
    Presets = presets,
    Import = import,
    Completions = completions,
    Man = man,
    Doctor = doctor,
    Keep = keep,
}
