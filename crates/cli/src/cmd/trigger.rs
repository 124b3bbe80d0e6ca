//! `williwaw trigger`: change a running emulation by a name that its scenario gives.

use crate::console::exit::{End, Failure};
use crate::console::talk::Talk;
use emulate::driver::trigger_socket::{self, Running};
use serde_json::json;

/// Change a running emulation by a name that its scenario gives, such as a state of a link
///
/// Without a name it lists the emulations that run and what can be called in them. It works from outside and from
/// inside a `williwaw shell`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  williwaw trigger\n  williwaw trigger mobility.tunnel\n  williwaw trigger --run lte mobility.tunnel"
)]
pub(crate) struct Args {
    /// What to call
    name: Option<String>,
    /// The emulation, by its name or the number of its process; needed where several run
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(crate) fn run(args: Args, talk: &Talk) -> Result<End, Failure> {
    let refused =
        |error: std::io::Error| Failure::machine(format!("cannot reach a running emulation: {error}"), "");
    let mut all = trigger_socket::running().map_err(refused)?;
    if let Some(name) = &args.run {
        all.retain(|one| one.name == *name || one.process.to_string() == *name);
    }
    let Some(name) = &args.name else { return list(&all, args.json, talk) };
    let one = match &all[..] {
        [one] => one,
        [] => {
            return Err(Failure::usage(
                "no emulation runs here",
                "start one with `williwaw shell` or `williwaw emulate`",
            ));
        }
        several => {
            let names: Vec<String> = several.iter().map(|o| format!("{} ({})", o.name, o.process)).collect();
            return Err(Failure::usage(
                format!("several emulations run: {}", names.join(", ")),
                "say which: --run NAME",
            ));
        }
    };
    let answer = trigger_socket::call(one, name).map_err(refused)?;
    let Some(at) = answer.at_s else {
        let known = if answer.names.is_empty() { "nothing".into() } else { answer.names.join(", ") };
        return Err(Failure::usage(
            format!("`{}` has nothing that is called `{name}`", one.name),
            format!("what can be called in it: {known}"),
        ));
    };
    if args.json {
        talk.document(&json!({ "schema": "williwaw-trigger/1", "run": one.name, "process": one.process, "name": name, "t": at }))?;
    } else {
        talk.note(&format!("{name} at {at:.6} s of {}", one.name));
    }
    Ok(End::Good)
}

fn list(all: &[Running], json: bool, talk: &Talk) -> Result<End, Failure> {
    let names = |one: &Running| trigger_socket::call(one, "").map(|answer| answer.names).unwrap_or_default();
    if json {
        let runs: Vec<_> = all
            .iter()
            .map(|one| json!({ "run": one.name, "process": one.process, "names": names(one) }))
            .collect();
        talk.document(&json!({ "schema": "williwaw-trigger/1", "running": runs }))?;
        return Ok(End::Good);
    }
    if all.is_empty() {
        talk.note("no emulation runs here");
    }
    let line = |one: &Running| format!("{} ({}): {}\n", one.name, one.process, names(one).join(", "));
    talk.data(&all.iter().map(line).collect::<String>())?;
    Ok(End::Good)
}
