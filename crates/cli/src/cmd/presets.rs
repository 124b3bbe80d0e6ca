//! `williwaw presets`: list of named links and TCP profiles, or the values of one.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::output::terminal::folded;
use scenario::preset;
use serde_json::{Value, json};
use transport::tcp::Config;

/// List the named links and TCP profiles, or show one
///
/// A hop uses a link by `preset = "lte-driving"`; a flow's transport uses a TCP profile by `profile =
/// "linux-6.x"`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw presets\n  \
    williwaw presets lte-driving\n  \
    williwaw presets linux-6.x --json")]
pub(crate) struct Args {
    /// Show the values of this one
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let senders: Vec<&'static str> = Config::profiles().collect();
    let known = |name: &str| senders.contains(&name) || preset::NAMES.contains(&name);
    if let Some(name) = args.name.as_deref().filter(|name| !known(name)) {
        let all = preset::NAMES.iter().chain(&senders).copied();
        let remedy = match scenario::nearest(name, all) {
            Some(near) => format!("did you mean `{near}`? `williwaw presets` lists them all"),
            None => "`williwaw presets` lists them all".to_owned(),
        };
        return Err(Failure::usage(format!("there is no link and no TCP profile `{name}`"), remedy));
    }
    let wanted = |name: &&&str| args.name.as_deref().is_none_or(|wanted| wanted == **name);
    let links: Vec<&str> = preset::NAMES.iter().filter(wanted).copied().collect();
    let senders: Vec<&str> = senders.iter().filter(wanted).copied().collect();
    if args.json {
        let profiles: Vec<Value> = senders.iter().map(|name| document(name)).collect();
        let links: Vec<Value> = links
            .iter()
            .map(|name| json!({ "name": name, "about": preset::about(name), "hop": preset::text(name) }))
            .collect();
        console.document(&json!({ "schema": "williwaw-presets/1", "tcp": profiles, "links": links }))?;
    } else if args.name.is_some() {
        console.data(&links.iter().filter_map(|name| preset::text(name)).collect::<String>())?;
        console.data(&senders.iter().map(|name| text(name)).collect::<String>())?;
    } else {
        let links: Vec<_> = links.iter().map(|name| (*name, preset::about(name))).collect();
        let senders: Vec<_> = senders.iter().map(|name| (*name, about(name))).collect();
        console.data("Links: preset = \"NAME\" in a [[hop]]\n")?;
        console.data(&folded(&list(&links), console.width))?;
        console.data("\nSenders: transport = { tcp = { profile = \"NAME\" } }\n")?;
        console.data(&folded(&list(&senders), console.width))?;
        console.note("`williwaw presets NAME` shows its values and their sources");
    }
    Ok(ExitStatus::Good)
}

/// Text with one line per preset or profile: name, and first sentence of its description.
fn list(all: &[(&str, String)]) -> String {
    let widest = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    all.iter().map(|(name, about)| format!("{name:widest$}  {}\n", first_sentence(about))).collect()
}

fn first_sentence(text: &str) -> &str {
    &text[..text.find(". ").map_or(text.len(), |at| at + 1)]
}

fn text(name: &str) -> &'static str {
    Config::profile_text(name).unwrap_or_default()
}

/// First sentence of the head comment of a profile.
fn about(name: &str) -> String {
    let comment: Vec<&str> =
        text(name).lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    first_sentence(&comment.join(" ")).to_owned()
}

fn document(name: &str) -> Value {
    let choices: serde_json::Map<String, Value> = text(name)
        .lines()
        .filter_map(|line| line.split('#').next()?.split_once('='))
        .map(|(key, value)| (key.trim().to_owned(), json!(value.trim().trim_matches('"'))))
        .collect();
    json!({ "name": name, "about": about(name), "choices": choices })
}
