//! `williwaw shell`: interactive shell or one command in a network namespace behind an emulated link.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::input::nesting;
use crate::input::shell_link::{self, ShellLink};
use emulate::{Options, Surroundings};
use netns::foreground::Foreground;
use scenario::Model;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Exit code for errors of williwaw itself, as in `env(1)`.
pub(crate) const OWN_FAULT: u8 = 125;

/// Run a shell or a command behind a link, in real time
///
/// The command runs at the mobile end of the link, in a network namespace of its own. The other end is the host
/// `server`, where --server runs another command. Both namespaces end with the command. The exit code is the
/// command's; 125 if williwaw or the server failed, 126 if the command cannot be executed, 127 if it is not
/// found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw shell --link 'rate=2 Mbit/s, delay=50 ms' --server 'python3 -m http.server' -- curl -s http://server:8000/\n  \
    williwaw shell --link 'delay=300 ms' --uplink\n  \
    williwaw shell --preset lte-driving\n  \
    williwaw shell --preset lte --outage '5 s at 3 s' -- curl -s http://server:8000/\n  \
    williwaw shell scenario.toml -- ping -c 3 server")]
pub(crate) struct Args {
    /// A scenario whose path is the link
    #[arg(conflicts_with_all = ["link", "preset"])]
    file: Option<PathBuf>,
    /// Named link, from the list of `williwaw presets`; --link changes it
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Specification of the link: rate, delay, queue, loss and any other key of a hop
    #[arg(long, value_name = "SPEC")]
    link: Option<String>,
    /// Outages during which packets wait, for example '5 s at 3 s' or '2 s every exponential(30 s)'. May be
    /// repeated
    #[arg(long, value_name = "SPEC", conflicts_with = "file")]
    outage: Vec<String>,
    /// Handovers, specified like outages: the queue is flushed, and nothing passes until the end
    #[arg(long, value_name = "SPEC", conflicts_with = "file")]
    handover: Vec<String>,
    /// Name of the link in the shell prompt [default: the scenario's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Command for the other end, run by `/bin/sh` and started before the command
    #[arg(long, value_name = "COMMAND")]
    server: Option<String>,
    /// Give the other end access to the outside network, through pasta or slirp4netns
    #[arg(long)]
    uplink: bool,
    /// Largest IP packet at both ends
    #[arg(long, value_name = "SIZE", default_value = "1500 B")]
    mtu: String,
    /// Take and hand over every packet by itself, without segmentation offload at the TUN devices
    #[arg(long)]
    no_offload: bool,
    /// Seed of all random streams
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seed: Option<u64>,
    #[command(flatten)]
    changes: crate::console::args::Changes,
    /// Command to run [default: your shell]
    #[arg(last = true)]
    command: Vec<OsString>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let link = link(&args)?;
    console.warnings(link.scenario.warnings());
    let mut model: Model = link.scenario.first().clone();
    if let Some(seed) = args.seed {
        model.run.seed = seed;
    }
    let lost = netns::user::gain_rights()?;
    if let Some(lost) = lost {
        console.note(&format!("without root, in a user namespace: there is no {lost}"));
    }
    let nested = nesting::nested();
    let names = nested.with(&link.name)?;
    let (words, start_file) = shell_link::words(&args.command, &names);
    let foreground = Foreground::new(shell_link::COMMAND, words, start_file)?;
    let far = model.nodes.iter().position(|node| node.name == link.far);
    let mut around = Surroundings {
        variables: names.variables(args.command.is_empty()),
        level: nested.level(),
        foreground: Some(foreground),
        uplink: far.filter(|_| args.uplink),
        called: Some(link.name.clone()),
        ..nesting::common()
    };
    around.resolver = shell_link::resolver(args.uplink.then(|| nested.level()));
    let options = Options { offload: !args.no_offload, ..Options::default() };
    let outcome = emulate::play(&model, 0, &options, &around, &AtomicBool::new(false))?;
    let (mut code, mut server_failed) = (OWN_FAULT, false);
    for facts in &outcome.commands {
        for lack in &facts.ended.lacks {
            console.complaint("warning", &format!("{}: {lack}", facts.name));
        }
        let Some(status) = &facts.ended.status else { continue };
        if facts.name == shell_link::COMMAND {
            code = u8::try_from(status.code).unwrap_or(OWN_FAULT);
            if let Some(fault) = &status.fault {
                console.complaint("error", fault);
            }
        } else if status.code != 0 {
            let why = status.fault.clone().unwrap_or_else(|| format!("ended with status {}", status.code));
            console.complaint("error", &format!("{}: {why}", facts.name));
            server_failed = true;
        }
    }
    if let Some(why) = outcome.unfaithful(&options) {
        console.complaint("unfaithful", &why);
    }
    Ok(ExitStatus::Command(if code == 0 && server_failed { OWN_FAULT } else { code }))
}

fn link(args: &Args) -> Result<ShellLink, Failure> {
    let mtu = base::units::parse_bytes(&args.mtu).map_err(|e| Failure::usage(format!("--mtu: {e}"), ""))?;
    let commands = |before: &str, near: &str, far: &str| {
        shell_link::commands(before, near, far, args.server.as_deref(), mtu)
    };
    match &args.file {
        Some(file) => shell_link::of_file(file, args.name.as_deref(), &commands, &args.changes.set),
        None => {
            let spec = args.link.as_deref().unwrap_or("");
            let breaks = shell_link::Outages { outages: &args.outage, handovers: &args.handover };
            shell_link::of_spec(
                spec,
                &breaks,
                args.preset.as_deref(),
                args.name.as_deref(),
                &commands,
                &args.changes.set,
            )
        }
    }
}
