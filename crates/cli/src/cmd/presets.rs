//! `williwaw presets`: what can be named in a scenario instead of being spelled out.

use crate::exit::{End, Failure};
use crate::talk::Talk;
use serde_json::{Value, json};
use transport::tcp::Config;

/// List the profiles of senders, or show one
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show the choices of this one
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(crate) fn run(args: Args, talk: &Talk) -> Result<End, Failure> {
    let all: Vec<&'static str> = Config::profiles().collect();
    if let Some(name) = args.name.as_deref().filter(|name| !all.contains(name)) {
        return Err(Failure::usage(
            format!("there is no profile `{name}`"),
            format!("there is {}", all.join(", ")),
        ));
    }
    let chosen: Vec<&str> =
        all.into_iter().filter(|name| args.name.as_deref().is_none_or(|wanted| wanted == *name)).collect();
    if args.json {
        let profiles: Vec<Value> = chosen.iter().map(|name| document(name)).collect();
        talk.document(&json!({ "schema": "williwaw-presets/1", "tcp": profiles }))?;
    } else if args.name.is_some() {
        talk.data(&chosen.iter().map(|name| text(name)).collect::<String>())?;
    } else {
        let widest = chosen.iter().map(|name| name.len()).max().unwrap_or(0);
        let line = |name: &&str| format!("{name:widest$}  {}\n", about(name));
        talk.data(&chosen.iter().map(line).collect::<String>())?;
        talk.note("in a scenario: transport = { tcp = { profile = \"NAME\" } }; `williwaw presets NAME` shows its choices");
    }
    Ok(End::Good)
}

fn text(name: &str) -> &'static str {
    Config::profile_text(name).unwrap_or_default()
}

/// The first sentence of the comment that opens a profile.
fn about(name: &str) -> String {
    let comment: Vec<&str> =
        text(name).lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    let comment = comment.join(" ");
    let end = comment.find(". ").map_or(comment.len(), |at| at + 1);
    comment[..end].to_owned()
}

fn document(name: &str) -> Value {
    let choices: serde_json::Map<String, Value> = text(name)
        .lines()
        .filter_map(|line| line.split('#').next()?.split_once('='))
        .map(|(key, value)| (key.trim().to_owned(), json!(value.trim().trim_matches('"'))))
        .collect();
    json!({ "name": name, "about": about(name), "choices": choices })
}
