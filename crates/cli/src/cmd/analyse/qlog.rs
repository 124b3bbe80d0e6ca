//! `williwaw analyse` of a qlog: packets, losses and timers that a QUIC stack logged, as diagnosis, table,
//! JSON and HTML page.

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::output::VERSION;
use crate::output::table::TextTable;
use crate::output::terminal;
use analyse::story::{bytes, count};
use report::{Page, Section};
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::Path;
use view::frame::Frame;
use view::qlog::{Qlog, Trace};

/// Maximum number of traces drawn on a page.
const DRAWN: usize = 4;

/// Reads a qlog file; `None` for another format.
pub(in crate::cmd) fn of(path: &Path) -> Result<Option<Qlog>, Failure> {
    // Standard input can be read only once, so it is taken as a capture.
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    let Ok(mut file) = std::fs::File::open(path) else { return Ok(None) };
    let mut head = [0; 64];
    let length = file.read(&mut head).unwrap_or(0);
    if !view::qlog::begins(&head[..length]) {
        return Ok(None);
    }
    let cannot =
        |why: String| Failure::usage(format!("cannot read `{}` as a qlog: {why}", path.display()), "");
    let mut all = head[..length].to_vec();
    let read = file.take(view::qlog::MOST_BYTES as u64 + 1).read_to_end(&mut all);
    read.map_err(|error| cannot(error.to_string()))?;
    view::qlog::read(&all).map(Some).map_err(|why| cannot(why.to_string()))
}

/// Number and trace with the most sent packets.
pub(in crate::cmd) fn largest(qlog: &Qlog) -> Option<(usize, &Trace)> {
    qlog.traces
        .iter()
        .enumerate()
        .rev()
        .max_by_key(|(_, trace)| trace.sent_bytes().max(trace.sent.len() as u64))
}

fn story(qlog: &Qlog) -> [String; 3] {
    let Some((number, trace)) = largest(qlog) else {
        return ["This qlog holds no trace.".to_owned(), String::new(), String::new()];
    };
    let which = match qlog.traces.len() {
        1 => "The connection".to_owned(),
        n => format!("Of {n} traces the largest, {number},"),
    };
    let what = format!(
        "{which} sent {} in {:.2} s: {} called {} of them lost, and {} expired.",
        count(trace.sent.len() as u64, "packet"),
        trace.seconds,
        if trace.vantage.is_empty() { "its sender".to_owned() } else { format!("the {}", trace.vantage) },
        trace.lost(),
        count(trace.probes.len() as u64, "probe timer"),
    );
    let (lost, spurious) = (trace.lost(), trace.spurious_losses());
    let sure = match (lost, spurious) {
        (0, _) => String::new(),
        (_, 0) => "None of them was acknowledged later, as far as the log goes.".to_owned(),
        (_, n) => format!("{n} of them were acknowledged later: they were not lost, but late."),
    };
    let advice = if 2 * spurious > lost {
        "Most losses were spurious: a larger reordering or time threshold at the sender avoids them."
            .to_owned()
    } else {
        String::new()
    };
    [what, sure, advice]
}

fn table(qlog: &Qlog, most: usize) -> TextTable {
    let heads = [
        "no", "by", "time", "sent", "bytes", "received", "bytes", "lost", "spurious", "probes", "rtt min",
        "smoothed",
    ];
    let mut board = TextTable { heads: heads.map(str::to_owned).to_vec(), ..TextTable::default() };
    for (number, trace) in qlog.traces.iter().enumerate().take(most) {
        let last = trace.metrics.last();
        let ms = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{:.1} ms", x * 1e3));
        board.rows.push(vec![
            number.to_string(),
            if trace.vantage.is_empty() { "-".to_owned() } else { trace.vantage.clone() },
            format!("{:.2} s", trace.seconds),
            trace.sent.len().to_string(),
            bytes(trace.sent_bytes()),
            trace.received.to_string(),
            bytes(trace.received_bytes),
            trace.lost().to_string(),
            trace.spurious_losses().to_string(),
            trace.probes.len().to_string(),
            ms(last.and_then(|m| m.min_rtt)),
            ms(last.and_then(|m| m.smoothed_rtt)),
        ]);
    }
    board
}

fn document(qlog: &Qlog, path: &Path) -> Value {
    let one = |(number, trace): (usize, &Trace)| {
        let lost = trace.sent.iter().filter(|packet| packet.lost.is_some()).map(|packet| {
            json!({
                "t": packet.lost,
                "number": packet.number,
                "sent_t": packet.t,
                "acknowledged_t": packet.acknowledged,
                "kind": if packet.spurious() { "spurious" } else { "unknown" },
            })
        });
        let last = trace.metrics.last();
        json!({
            "number": number,
            "title": trace.title,
            "vantage_point": trace.vantage,
            "events": trace.events,
            "duration_s": trace.seconds,
            "packets_sent": trace.sent.len(),
            "bytes_sent": trace.sent_bytes(),
            "packets_received": trace.received,
            "bytes_received": trace.received_bytes,
            "packets_lost": trace.lost(),
            "spurious_losses": trace.spurious_losses(),
            "losses": lost.collect::<Vec<_>>(),
            "probe_timeouts": trace.probes,
            "min_rtt_s": last.and_then(|m| m.min_rtt),
            "smoothed_rtt_s": last.and_then(|m| m.smoothed_rtt),
            "congestion_states": trace.states.iter().map(|(t, state)| json!({ "t": t, "state": state })).collect::<Vec<_>>(),
        })
    };
    json!({
        "schema": "williwaw-analyse/1",
        "file": path.display().to_string(),
        "version": VERSION,
        "qlog_version": qlog.version,
        "notices": qlog.notices,
        "story": story(qlog),
        "flows": [],
        "qlog_traces": qlog.traces.iter().enumerate().map(one).collect::<Vec<_>>(),
    })
}

fn page(qlog: &Qlog, name: &str, window: (Option<f64>, Option<f64>)) -> Page {
    let sentences: Vec<String> = story(qlog).into_iter().filter(|s| !s.is_empty()).collect();
    let table = crate::cmd::run::page::table("Traces", &table(qlog, 100));
    let mut sections = vec![Section {
        heading: "What happened".to_owned(),
        text: sentences.join("\n\n"),
        items: vec![table.into()],
    }];
    for (number, trace) in qlog.traces.iter().enumerate().take(DRAWN) {
        let title = if trace.title.is_empty() { format!("Trace {number}") } else { trace.title.clone() };
        let frame = Frame {
            title: "Packets by number".to_owned(),
            from: window.0,
            until: window.1,
            ..Frame::default()
        };
        let items = vec![view::qlog::picture(trace, frame).into()];
        sections.push(Section { heading: title, text: String::new(), items });
    }
    Page {
        title: format!("qlog {name}"),
        provenance: vec![("version".to_owned(), VERSION.to_owned()), ("qlog".to_owned(), name.to_owned())],
        sections,
    }
}

/// `analyse` of a qlog.
pub(super) fn analyse(args: &super::Args, qlog: &Qlog, console: &Console) -> Result<ExitStatus, Failure> {
    let of_captures = [
        ("--receiver", args.receiver.is_some()),
        ("--flow", args.flow.is_some()),
        ("--layers", !args.layers.is_empty()),
        ("--anonymise", args.anonymise.is_some()),
    ];
    if let Some((option, _)) = of_captures.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(
            format!("{option} is for captures, and `{}` is a qlog", args.capture.display()),
            "leave it out",
        ));
    }
    qlog.notices.iter().for_each(|notice| console.note(&format!("note: {notice}")));
    if let Some(path) = &args.html {
        let name = args.capture.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        crate::output::atomic_write::whole(path, page(qlog, &name, (args.from, args.until)).html())?;
        console.note(&format!("page: {}", path.display()));
    }
    if args.json {
        console.document(&document(qlog, &args.capture))?;
        return Ok(ExitStatus::Good);
    }
    let mut out = String::new();
    for sentence in story(qlog).iter().filter(|s| !s.is_empty()) {
        for line in terminal::wrap(sentence, console.width.unwrap_or(100)) {
            out += &line;
            out.push('\n');
        }
    }
    if !qlog.traces.is_empty() {
        out.push('\n');
        out += &terminal::text(&table(qlog, args.most), console.width, console.colour);
    }
    console.data(&out)?;
    Ok(ExitStatus::Good)
}
