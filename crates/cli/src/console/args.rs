//! Command-line options common to several verbs: colours, quiet, repetitions, seed, threads, overrides,
//! real-time limits.

use base::{Span, units};
use clap::{Args, ValueEnum};

/// Options of every verb.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Everywhere {
    /// Colours: `auto` looks at the terminal and at NO_COLOR
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Print only errors on stderr
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal with colours, unless NO_COLOR is set.
    Auto,
    /// Into pipes and files too.
    Always,
    /// Nowhere.
    Never,
}

/// Number of repetitions, and seed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Draws {
    /// Repetitions of every cell; overrides the scenario
    #[arg(long, alias = "repetitions", value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) reps: Option<u32>,
    /// Seed of all random streams; overrides the scenario
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
}

/// Parser of a seed.
fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// On how many threads.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Threads {
    /// Number of threads [default: one per core]
    #[arg(long, short, value_name = "J", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

impl Threads {
    /// Number of threads; 0: one per core.
    pub(crate) fn count(self) -> usize {
        self.jobs.map_or(0, usize::from)
    }
}

/// Changes to a scenario from outside.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Changes {
    /// Change one value, by its path in the scenario (`flow.download.transport.tcp.recovery=sack`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Timing of a run in real time.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RealTime {
    /// Limit of the 99th percentile of lateness
    #[arg(long, value_name = "TIME", default_value = "1 ms", value_parser = span)]
    pub(crate) lateness: Span,
    /// Busy-wait for this time before a packet is due, if there is real-time priority [default: calibrated at
    /// the start]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) spin: Option<Span>,
    /// Run without real-time priority
    #[arg(long)]
    pub(crate) no_realtime: bool,
}

/// Parser of a duration with its unit.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    Ok(units::parse_span(text)?)
}
