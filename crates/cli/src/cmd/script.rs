//! `williwaw script`: scripted-peer dialogues against the model senders and receivers.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use script::{DialogueVerdict, LadderOptions, Reading, Script, ladder};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Play scripted-peer dialogues against the model senders and receivers
///
/// A dialogue injects segments and ACKs at given times, and states which segments must leave and when. A
/// dialogue with unknown options counts as unsupported, never as passed. Files named `*.pkt` are read as
/// packetdrill scripts. Exit code 1 if a dialogue fails, 2 if one cannot be read; the others are still played.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw script crates/script/dialogues\n  \
    williwaw script handover.toml fast-open.pkt --strict")]
pub(crate) struct Args {
    /// Dialogue files, or folders of them
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Fail on every segment that the dialogue does not expect
    #[arg(long)]
    strict: bool,
    /// Lines of trace shown before a failure
    #[arg(long, value_name = "N", default_value_t = 24)]
    lines: usize,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A parsed script.
struct Case {
    file: PathBuf,
    id: String,
    script: Script,
}

/// A file that cannot be parsed as a script.
struct Unreadable {
    file: PathBuf,
    /// Error with its line.
    why: String,
    /// Error with file name and line.
    named: String,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let reading = if args.strict { Reading::Strict } else { Reading::AsWritten };
    let (cases, wrong) = read(&files(&args.files)?);
    let mut cases_json: Vec<Value> = Vec::new();
    let (mut pass, mut fail, mut unsupported) = (0, 0, 0);
    for Case { file, id, script } in &cases {
        let verdict = script.play(reading);
        match &verdict {
            DialogueVerdict::Pass { .. } => pass += 1,
            DialogueVerdict::Fail(_) => fail += 1,
            DialogueVerdict::Unsupported(_) => unsupported += 1,
        }
        if args.json {
            cases_json.push(document(file, id, &verdict));
        } else {
            let width = console.width.unwrap_or(80);
            let look = LadderOptions { width, lines: args.lines, colour: console.colour };
            console.data(&verdict_text(file, id, &verdict, &script.unknown_values(), look))?;
        }
    }
    for Unreadable { file, why, .. } in &wrong {
        let why = format!("cannot be read: {}", why.trim_start());
        cases_json.push(document(file, &stem(file), &DialogueVerdict::Unsupported(why)));
    }
    let summary = json!({ "pass": pass, "fail": fail, "unsupported": unsupported + wrong.len() });
    if args.json {
        console
            .document(&json!({ "schema": "williwaw-script/1", "cases": cases_json, "summary": summary }))?;
    } else {
        let rest = if wrong.is_empty() { String::new() } else { format!(", {} unreadable", wrong.len()) };
        console.data(&format!("{pass} passed, {fail} failed, {unsupported} unsupported{rest}\n"))?;
    }
    if !wrong.is_empty() {
        let named: Vec<&str> = wrong.iter().map(|unreadable| unreadable.named.as_str()).collect();
        return Err(Failure::usage(named.join("\n"), "the notation is in docs/scripts.md"));
    }
    Ok(if fail == 0 { ExitStatus::Good } else { ExitStatus::Failed })
}

/// Parses all files; returns the scripts, and the files with errors.
fn read(files: &[PathBuf]) -> (Vec<Case>, Vec<Unreadable>) {
    let mut cases = Vec::new();
    let mut wrong = Vec::new();
    for file in files {
        let script = text_of(file).and_then(|text| {
            Script::read(file, &text).map_err(|error| Unreadable {
                named: format!("{}:{error}", file.display()),
                why: error.to_string(),
                file: file.clone(),
            })
        });
        match script {
            Ok(script) => {
                let id = script.id().map_or_else(|| stem(file), str::to_owned);
                cases.push(Case { file: file.clone(), id, script });
            }
            Err(unreadable) => wrong.push(unreadable),
        }
    }
    (cases, wrong)
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Text of a file; an error if it cannot be read or is no UTF-8.
fn text_of(file: &Path) -> Result<String, Unreadable> {
    let name = file.display();
    let why = match std::fs::read(file).map(String::from_utf8) {
        Ok(Ok(text)) => return Ok(text),
        Ok(Err(_)) => format!("`{name}` is no text, so it is no dialogue"),
        Err(error) => crate::input::files::reason(&name.to_string(), &error),
    };
    Err(Unreadable { file: file.to_owned(), named: why.clone(), why })
}

fn document(file: &Path, id: &str, verdict: &DialogueVerdict) -> Value {
    let mut out = json!({
        "id": id,
        "file": file.display().to_string(),
        "verdict": verdict.word(),
        "t": null,
        "why": null,
    });
    match verdict {
        DialogueVerdict::Pass { unasked } => out["unasked"] = json!(unasked),
        DialogueVerdict::Unsupported(word) => out["why"] = json!(word),
        DialogueVerdict::Fail(f) => {
            let look = LadderOptions { width: 80, lines: usize::MAX, colour: false };
            out["t"] = json!(f.t);
            out["why"] = json!(format!("{}: expected {}, saw {}", f.why, f.expected, f.seen));
            out["line"] = json!(f.line);
            out["expected"] = json!(f.expected);
            out["seen"] = json!(f.seen);
            out["ladder"] = json!(ladder(f, look).lines().collect::<Vec<_>>());
        }
    }
    out
}

/// Text of a verdict: one line, and for a failure also expected and seen packets with a ladder diagram.
fn verdict_text(
    file: &Path,
    id: &str,
    verdict: &DialogueVerdict,
    skipped: &[String],
    look: LadderOptions,
) -> String {
    let paint = |code: &str, word: &str| {
        if look.colour { format!("\x1b[{code}m{word:11}\x1b[0m") } else { format!("{word:11}") }
    };
    match verdict {
        DialogueVerdict::Pass { .. } if skipped.is_empty() => format!("{} {id}\n", paint("32", "pass")),
        DialogueVerdict::Pass { .. } => {
            format!("{} {id} (no such value, not looked at: {})\n", paint("32", "pass"), skipped.join(", "))
        }
        DialogueVerdict::Unsupported(word) => format!("{} {id}: {word}\n", paint("33", "unsupported")),
        DialogueVerdict::Fail(f) => format!(
            "{} {id} at {:.4} s: {}\n  script    {}:{}\n  expected  {}\n  seen      {}\n{}",
            paint("1;31", "fail"),
            f.t,
            f.why,
            file.display(),
            f.line,
            f.expected,
            f.seen,
            ladder(f, look)
        ),
    }
}

/// Files as named; a folder is replaced by the scripts in it.
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
        inside.retain(|file| file.extension().is_some_and(|e| e == "toml" || e == "pkt"));
        inside.sort();
        all.extend(inside);
    }
    Ok(all)
}
