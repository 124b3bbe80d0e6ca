//! `williwaw analyse`: diagnosis of a capture or a qlog, with verdicts on retransmissions and timeouts, as
//! text, JSON or HTML page.

mod anonymise;
mod associations;
pub(super) mod datagrams;
mod html;
mod json;
mod lower_layers;
pub(super) mod qlog;
pub(super) mod source;
mod text;

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use analyse::{Flow, Limits, join, story};
use std::path::PathBuf;

/// Explain why the transfers in a capture were slow
///
/// Reads pcap, pcapng and qlog files. For TCP and SCTP, every retransmission is judged needed or unneeded, and
/// every timeout spurious or genuine, with the evidence. Where the capture holds too little evidence, the
/// verdict is unknown. For UDP and QUIC it shows rate, gaps, silences and the spin bit. The answer begins with
/// the largest loss of time, its confidence and its remedy.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw analyse phone.pcapng\n  \
    williwaw analyse server.pcapng --receiver phone.pcapng --flow :443\n  \
    williwaw analyse phone.pcapng --html case.html\n  \
    williwaw analyse download.pcap --layers radio.csv --json")]
pub(crate) struct Args {
    /// A capture, preferably taken at the data sender, or a qlog; `-` reads a capture from stdin
    capture: PathBuf,
    /// A second capture of the same connections, taken at the receiver; it settles unknown verdicts
    #[arg(long, value_name = "CAPTURE")]
    receiver: Option<PathBuf>,
    /// Only connections with this endpoint (an address, a port or ADDRESS:PORT), or the connection with this
    /// number
    #[arg(long, value_name = "WHICH")]
    flow: Option<String>,
    /// Events of the radio or link layer, to be matched with timeouts and silences. A CSV table with the
    /// columns time_s,event and optionally until_s,detail,layer; a log of `emulate --events`; or a GSMTAP
    /// capture of radio blocks. May be repeated
    #[arg(long, value_name = "FILE")]
    layers: Vec<PathBuf>,
    /// Ignore packets before this time, in seconds from the first packet
    #[arg(long, value_name = "S")]
    from: Option<f64>,
    /// Ignore packets after this time
    #[arg(long, value_name = "S")]
    until: Option<f64>,
    /// Most connections shown, and most events of one kind in each
    #[arg(long, value_name = "N", default_value_t = 10)]
    most: usize,
    /// Also write an anonymised copy of the whole capture. Addresses are mapped with their prefixes preserved,
    /// payloads become zeros, times and sequence numbers stay
    #[arg(long, value_name = "OUT")]
    anonymise: Option<PathBuf>,
    /// File with the key of that mapping, 32 hexadecimal digits; created if missing. One key gives one mapping
    /// in every capture, and it reveals the addresses. Without the option a random key is used once
    #[arg(long, value_name = "FILE", requires = "anonymise")]
    key: Option<PathBuf>,
    /// Write an HTML page for a support case: findings, connections, and pictures of the largest ones
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print everything as one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    if args.anonymise.is_some() {
        anonymise::refuse(&args.capture, args.key.as_deref())?;
    }
    if let (Some(from), Some(until)) = (args.from, args.until)
        && until <= from
    {
        return Err(Failure::usage(
            format!("--until {until} is not after --from {from}"),
            "both are seconds from the capture's first packet",
        ));
    }
    let which = source::Which::of(args.flow.as_deref(), args.from, args.until)?;
    let both = args.receiver.is_some();
    if let Some(page) = &args.html {
        crate::output::atomic_write::possible(page)?;
    }
    if let Some(log) = qlog::of(&args.capture)? {
        return qlog::analyse(&args, &log, console);
    }
    let keep = Limits { arrivals: both, points: args.html.is_some(), ..Limits::default() };
    let mut others = Vec::new();
    let mut read = source::read(&args.capture, &which, keep, console)?;
    if let Some(path) = &args.receiver {
        let other = source::read(path, &which, keep, console)?;
        let joined = join::join(&mut read.flows, &other.flows);
        if joined == 0 {
            return Err(Failure::usage(
                format!("no connection of `{}` is in `{}` too", args.capture.display(), path.display()),
                "give two captures of the same transfer, taken at its two ends",
            ));
        }
        read.notices.extend(other.notices);
        others = other.flows;
    }
    which.select_associations(&mut read.associations);
    which.select_datagrams(&mut read.datagrams);
    if read.tcp > 0 || (read.associations.is_empty() && read.datagrams.is_empty()) {
        which.select(&mut read.flows)?;
    }
    let whole = args.from.is_none() && args.until.is_none();
    if let (Some(flow), true) = (&args.flow, whole && read.flows.is_empty() && read.tcp > 0) {
        return Err(Failure::usage(
            format!("no TCP connection of the capture has the endpoint `{flow}`"),
            "leave out --flow to list all connections",
        ));
    }
    if let Some(out) = &args.anonymise {
        anonymise::write(&args.capture, out, args.key.as_deref(), console)?;
    }
    let start = read.start.as_nanos() as f64 / 1e9;
    let layers = super::layers::read(&args.layers, start, false)?;
    let below = (!args.layers.is_empty()).then(|| lower_layers::LowerLayers::of(&layers));
    let mut diagnosis = story::tell(&read.flows.iter().map(|f| &f.1).collect::<Vec<&Flow>>());
    if read.tcp == 0 && !(read.associations.is_empty() && read.datagrams.is_empty()) {
        let mut sentences = associations::story(&read);
        if sentences.is_empty() {
            sentences = datagrams::story(&read);
        }
        let mut sentences = sentences.into_iter();
        diagnosis.what = sentences.next().unwrap_or_default();
        diagnosis.sure = sentences.next().unwrap_or_default();
        diagnosis.advice = sentences.next().unwrap_or_default();
    } else if read.tcp == 0 && args.from.is_none() && args.until.is_none() {
        diagnosis.what = match read.frames {
            0 => "This capture holds no packets.".to_owned(),
            1 => "The one packet in this capture is not TCP.".to_owned(),
            n => format!("None of the {n} packets in this capture is TCP."),
        };
        if read.frames > 0 {
            diagnosis.sure = "Nothing can be judged: none of it is SCTP or UDP either.".to_owned();
        }
    }
    for notice in &read.notices {
        console.note(&format!("note: {notice}"));
    }
    if let Some(path) = &args.html {
        let name = args.capture.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let case = html::PageInput {
            name,
            read: &read,
            story: &diagnosis,
            others: &others,
            layers: layers.clone(),
            window: (args.from, args.until),
            most: args.most,
        };
        crate::output::atomic_write::whole(path, case.page().html())?;
        console.note(&format!("page: {}", path.display()));
    }
    if args.json {
        let document =
            json::Document { file: &args.capture, read: &read, story: &diagnosis, below: below.as_ref() };
        console.stream(&document)?;
    } else {
        console.data(&text::page(&read, &diagnosis, args.most, console, below.as_ref()))?;
    }
    Ok(ExitStatus::Good)
}
