//! `williwaw import`: scenario from netem or mahimahi command lines, recordings or access logs, with notes on
//! the translation.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use base::units::parse_bytes;
use scenario::import::{Classes, ImportError, ImportFormat, Imported, access_log, import};
use serde_json::json;
use std::io::Read as _;

/// Turn a command line of netem or mahimahi, a recording, or an access log into a scenario
///
/// The scenario goes to stdout. Its comments say which parts were translated exactly, which approximately and
/// which were left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw import tc qdisc add dev eth0 root netem delay 100ms 20ms loss 1% rate 1mbit > link.toml\n  \
    williwaw import mm-delay 50 mm-link up.trace down.trace --downlink-queue=droptail --downlink-queue-args=packets=100\n  \
    williwaw import drive.csv\n  \
    williwaw import --classes 3 --largest '1 MB' access.log > requests.toml\n  \
    ssh router tc -d qdisc script | williwaw import -\n\n\
    A recording names its columns in its first line: t_s, rate_bps (_kbps, _mbps), delay_ms (_s), loss (_percent),\n\
    with the suffix _down or _up for one direction.")]
pub(crate) struct Args {
    /// Print one JSON document: the scenario and notes on its translation
    #[arg(long)]
    json: bool,
    /// For an access log: number of classes of equal frequency, by reply size
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    classes: u16,
    /// For an access log: largest reply; larger ones are left out as huge downloads
    #[arg(long, value_name = "SIZE", default_value = "1 MB", value_parser = parse_bytes)]
    largest: u64,
    /// A file, `-` for stdin, or the command line itself
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "FILE|COMMAND")]
    words: Vec<String>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let (name, text) = read(&args.words)?;
    let Some(kind) = ImportFormat::of(&text) else {
        return Err(Failure::usage(
            format!("{name} is neither a command line of tc or mahimahi nor a recording nor an access log"),
            "it begins with `tc`, with `mm-`, with the names of columns such as t_s,rate_bps, or is a log of Squid or in the \
             Common Log Format",
        ));
    };
    let classes = Classes { number: usize::from(args.classes), largest: args.largest };
    let imported = match kind {
        ImportFormat::AccessLog => access_log(&text, classes),
        kind => import(kind, &text),
    };
    let imported = imported
        .map_err(|ImportError { message, help }| Failure::usage(format!("{name}: {message}"), help))?;
    if args.json {
        let Imported { scenario, exactly, roughly, left_out } = imported;
        console.document(&json!({
            "schema": "williwaw-import/1",
            "kind": match kind { ImportFormat::Netem => "netem", ImportFormat::Mahimahi => "mahimahi", ImportFormat::Recording => "recording", ImportFormat::AccessLog => "access-log" },
            "scenario": scenario,
            "exactly": exactly,
            "roughly": roughly,
            "left_out": left_out,
        }))?;
        return Ok(ExitStatus::Good);
    }
    console.data(&imported.scenario)?;
    let count = |n: usize, what: &str| format!("{n} {what}");
    console.note(&format!(
        "{}, {}, {}",
        count(imported.exactly.len(), "translated exactly"),
        count(imported.roughly.len(), "roughly"),
        count(imported.left_out.len(), "left out")
    ));
    Ok(ExitStatus::Good)
}

/// Name of the input for messages, and its text: stdin, a file, or the command line itself.
fn read(words: &[String]) -> Result<(String, String), Failure> {
    let [word] = words else { return Ok(("the command line".into(), joined(words))) };
    if word == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        read.map_err(|error| Failure::machine(format!("cannot read stdin: {error}"), ""))?;
        return Ok(("stdin".into(), plain("stdin", bytes)?));
    }
    if word.trim().contains(' ') && !std::path::Path::new(word).exists() {
        return Ok(("the command line".into(), word.clone())); // given in quotes, as one
    }
    let bytes = std::fs::read(word).map_err(|error| {
        Failure::usage(format!("cannot read `{word}`: {error}"), "give a file, `-`, or a whole command line")
    })?;
    Ok((format!("`{word}`"), plain(word, bytes)?))
}

fn plain(name: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("`{name}` is not a text file"), ""))
}

/// Command line of the words, quoted for a shell.
fn joined(words: &[String]) -> String {
    let quoted = |word: &String| {
        let simple =
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./:%,+".contains(c));
        if simple { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
