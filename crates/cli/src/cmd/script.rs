//! `williwaw script`: scripted-peer dialogues against the model senders and receivers.

use crate::exit::{End, Failure};
use crate::talk::Talk;
use script::{Dialogue, Verdict, play};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Play scripted-peer dialogues against the model senders and receivers
///
/// A dialogue injects segments and acknowledgements at given times and says what must leave, and
/// when. One whose options are not offered is unsupported, never passed. Exit code 1 if one fails.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Dialogue files, or folders of them
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(crate) fn run(args: Args, talk: &Talk) -> Result<End, Failure> {
    let mut cases: Vec<Value> = Vec::new();
    let (mut pass, mut fail, mut unsupported) = (0u32, 0u32, 0u32);
    for file in files(&args.files)? {
        let text = std::fs::read_to_string(&file).map_err(|error| {
            Failure::usage(format!("cannot read `{}`: {error}", file.display()), "name a dialogue file")
        })?;
        let dialogue = Dialogue::read(&text)
            .map_err(|error| Failure::usage(format!("{}: {error}", file.display()), "see docs/scripts.md"))?;
        let verdict = play(&dialogue);
        let (word, t, why, sequence) = match &verdict {
            Verdict::Pass => ("pass", None, None, &[][..]),
            Verdict::Unsupported(word) => ("unsupported", None, Some(word.clone()), &[][..]),
            Verdict::Fail { t, why, sequence } => ("fail", Some(*t), Some(why.clone()), sequence.as_slice()),
        };
        match verdict {
            Verdict::Pass => pass += 1,
            Verdict::Fail { .. } => fail += 1,
            Verdict::Unsupported(_) => unsupported += 1,
        }
        if !args.json {
            let why = why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            let at = t.map(|t| format!(" at {t}")).unwrap_or_default();
            talk.data(&format!("{word:11} {}{at}{why}\n", dialogue.id))?;
            for line in sequence {
                talk.data(&format!("            {line}\n"))?;
            }
        }
        cases.push(json!({
            "id": dialogue.id,
            "file": file.display().to_string(),
            "verdict": word,
            "t": t,
            "why": why,
        }));
    }
    let summary = json!({ "pass": pass, "fail": fail, "unsupported": unsupported });
    if args.json {
        talk.document(&json!({ "schema": "williwaw-script/1", "cases": cases, "summary": summary }))?;
    } else {
        talk.data(&format!("{pass} passed, {fail} failed, {unsupported} unsupported\n"))?;
    }
    Ok(if fail == 0 { End::Good } else { End::Failed })
}

/// Folders stand for the `.toml` files in them.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for path in named {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let cannot = |error: std::io::Error| {
            Failure::usage(format!("cannot read `{}`: {error}", path.display()), "name a folder of dialogues")
        };
        let mut inside: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(path).map_err(cannot)? {
            inside.push(entry.map_err(cannot)?.path());
        }
        inside.retain(|file| file.extension() == Some(Path::new("toml").as_os_str()));
        inside.sort();
        all.extend(inside);
    }
    Ok(all)
}
