//! `williwaw print`: the headers of a capture, one line per packet in the format of tcpdump, or why each retransmission
//! was needed.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use capture::losses::{Fate, Retransmission, retransmissions};
use capture::print::Printer;
use capture::{Reader, Unpacked};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};

/// Print the headers of a capture, one line per packet, as tcpdump does
///
/// The lines equal those of `tcpdump -nn -tt`, without application protocols. `run --pcap`, `emulate
/// --captures` and `wire --pcap` write captures of every host and link. With --losses it prints the
/// retransmissions of such a capture, each with the fate of the copy before: dropped by a queue, lost on a
/// link, or not lost. A capture without the fates of its packets ends with exit code 2: one of another program, or
/// of `run --pcap` with real kernels, which has only the packets at the two ends.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  williwaw print phone.pcapng\n  williwaw print --losses runs/scenario/rep0.pcapng"
)]
pub(crate) struct Args {
    /// A capture (pcap, pcapng, also packed with gzip); `-` is stdin
    capture: PathBuf,
    /// Print the retransmissions and their reasons, from the packet comments of williwaw's captures
    #[arg(long)]
    losses: bool,
    /// Print the retransmissions as one JSON document
    #[arg(long, requires = "losses")]
    json: bool,
}

type Source = Reader<'static>;

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let name = args.capture.display().to_string();
    let refused = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read the capture `{name}`: {error}"), "give a pcap or pcapng file")
    };
    let from: Box<dyn Read> = if args.capture == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(&args.capture).map_err(|error| refused(&error))?)
    };
    let unpacked = Unpacked::new(from).map_err(|error| refused(&error))?;
    let mut reader: Source = Reader::open(unpacked).map_err(|error| refused(&error))?;
    if args.losses {
        let all = retransmissions(&mut reader).map_err(|error| refused(&error))?;
        let all = all.ok_or_else(|| {
            Failure::usage(
                format!("the capture `{name}` does not record the fate of its packets"),
                "give a capture that `run --pcap` or `emulate --captures` wrote of models; `williwaw analyse` \
                 judges any other, also of real kernels in virtual time",
            )
        })?;
        match args.json {
            true => console.document(&document(&name, &all))?,
            false => console.data(&text(&all))?,
        }
    } else {
        packets(&mut reader).map_err(|error| refused(&error))?;
    }
    for notice in reader.notices().kept() {
        console.note(&format!("note: {}", notice.what));
    }
    Ok(ExitStatus::Good)
}

fn packets(reader: &mut Source) -> std::io::Result<()> {
    let mut printer = Printer::default();
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut print = || -> std::io::Result<()> {
        while let Some(frame) = reader.next()? {
            writeln!(out, "{}", printer.line(&frame))?;
        }
        out.flush()
    };
    match print() {
        // The reader has closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        end => end,
    }
}

/// Number of retransmissions by reason, as text.
fn reasons(all: &[Retransmission]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for one in all {
        *counts.entry(reason(&one.fate)).or_insert(0) += 1;
    }
    counts
}

fn reason(fate: &Fate) -> String {
    match fate {
        Fate::Dropped { reason, at } => format!("{reason} at {at}"),
        Fate::Kept => "not lost".to_owned(),
    }
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

fn text(all: &[Retransmission]) -> String {
    let line = |one: &Retransmission| {
        format!(
            "{:.6} port {} seq {} length {}: {}; the copy of {:.6}: {}\n",
            seconds(one.time_ns),
            one.source,
            one.seq,
            one.length,
            one.cause,
            seconds(one.earlier_ns),
            reason(&one.fate),
        )
    };
    let mut out: String = all.iter().map(line).collect();
    let sum: Vec<String> = reasons(all).iter().map(|(reason, n)| format!("{n} {reason}")).collect();
    out.push_str(&format!("{} retransmissions: {}\n", all.len(), sum.join(", ")));
    out
}

fn document(name: &str, all: &[Retransmission]) -> Value {
    let one = |one: &Retransmission| {
        let (reason, at) = match &one.fate {
            Fate::Dropped { reason, at } => (json!(reason), json!(at)),
            Fate::Kept => (Value::Null, Value::Null),
        };
        json!({
            "t": seconds(one.time_ns), "port": one.source, "seq": one.seq, "bytes": one.length, "cause": one.cause,
            "earlier_t": seconds(one.earlier_ns), "dropped": reason, "at": at,
        })
    };
    json!({
        "schema": "williwaw-losses/1",
        "file": name,
        "retransmissions": all.iter().map(one).collect::<Vec<_>>(),
        "reasons": reasons(all),
    })
}
