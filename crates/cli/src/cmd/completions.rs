//! `williwaw completions`: completion scripts for a shell, with presets, metrics and experiments as values.

use crate::cmd::cli::Cli;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use scenario::metric::Metric;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  williwaw completions bash > ~/.local/share/bash-completion/completions/williwaw"
)]
pub(crate) struct Args {
    /// Which shell
    shell: Shell,
}

/// Values that a shell completes. The verbs still accept any text, because their errors explain a wrong value better.
struct Words {
    presets: Vec<&'static str>,
    metrics: Vec<&'static str>,
    experiments: Vec<&'static str>,
}

impl Words {
    fn known() -> Words {
        // The parser requires static names; the leak ends with the process.
        let experiments = lab::reproduce::list().unwrap_or_default().into_iter();
        let experiments = experiments.map(|(id, _)| &*String::leak(id)).collect();
        Words { presets: scenario::preset::NAMES.to_vec(), metrics: Metric::NAMES.to_vec(), experiments }
    }

    /// Adds the values to the arguments of a verb and of its subcommands.
    fn put(&self, verb: Command) -> Command {
        let name = verb.get_name().to_owned();
        let verb = verb.mut_args(|arg| match (name.as_str(), arg.get_id().as_str()) {
            (_, "preset") => arg.value_parser(PossibleValuesParser::new(self.presets.clone())),
            ("presets", "name") => arg.value_parser(PossibleValuesParser::new(self.presets.clone())),
            (_, "metrics") => arg.value_parser(PossibleValuesParser::new(self.metrics.clone())),
            ("reproduce", "ids") => arg.value_parser(PossibleValuesParser::new(self.experiments.clone())),
            _ => arg,
        });
        verb.mut_subcommands(|inner| self.put(inner))
    }
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let mut text = Vec::new();
    let all = Cli::command();
    // Hidden verbs are internal.
    let words = Words::known();
    let shown = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned().map(|verb| words.put(verb));
    let mut shown = Command::new("williwaw")
        .version(crate::output::VERSION)
        .propagate_version(true)
        .args(all.get_arguments().cloned())
        .subcommands(shown);
    clap_complete::generate(args.shell, &mut shown, "williwaw", &mut text);
    console.data(&String::from_utf8_lossy(&text))?;
    Ok(ExitStatus::Good)
}
