//! `williwaw plot` of a capture: time-sequence, RTT, throughput, outstanding and window pictures of a TCP
//! connection or SCTP association, with the analyser's verdicts.

use super::Kind;
use super::output::Drawn;
use crate::cmd::analyse::source::{self, Which};
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::output::VERSION;
use crate::output::terminal;
use analyse::association::Association;
use analyse::{Flow, Limits, join};
use base::Time;
use report::{Layer, Panel, TimeoutOverlap};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use view::View;
use view::frame::Frame;
use view::lines::Line;

/// Options for captures only.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Of a capture")]
pub(super) struct Captured {
    /// Second capture of this connection, taken at the receiver; its arrivals are drawn too
    #[arg(long, value_name = "CAPTURE")]
    receiver: Option<PathBuf>,
    /// Start of the picture, in seconds from the first packet
    #[arg(long, value_name = "S")]
    from: Option<f64>,
    /// End of the picture, in seconds from the first packet
    #[arg(long, value_name = "S")]
    until: Option<f64>,
    /// Draw the direction with less data
    #[arg(long)]
    other_way: bool,
}

impl Captured {
    /// Start and end of the requested time window, seconds from the first packet.
    pub(super) fn window(&self) -> [Option<f64>; 2] {
        [self.from, self.until]
    }

    /// Refuses these options for a scenario.
    pub(super) fn refuse(&self, file: &Path) -> Result<(), Failure> {
        let given = [
            ("--receiver", self.receiver.is_some()),
            ("--from", self.from.is_some()),
            ("--until", self.until.is_some()),
            ("--other-way", self.other_way),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::usage(
                format!("{option} is for captures, and `{}` is none", file.display()),
                "leave it out, or give a pcap or pcapng file",
            )),
        }
    }
}

/// Draws the selected connection of the capture.
pub(super) fn run(all: &super::Args, console: &Console) -> Result<ExitStatus, Failure> {
    let args = &all.captured;
    if let (Some(from), Some(until)) = (args.from, args.until)
        && until <= from
    {
        return Err(Failure::usage(
            format!("--until {until} is not after --from {from}"),
            "both are seconds from the capture's first packet",
        ));
    }
    let which = Which::of(all.flow.as_deref(), None, None)?;
    let (mut read, others) = read(all, &which, console)?;
    if read.flows.is_empty() && matches!(all.kind, Kind::TimeSequence) {
        which.select_associations(&mut read.associations);
        if let Some(association) = largest(&read.associations, all.flow.as_deref()) {
            return association_picture(all, &read, association, console);
        }
    }
    if read.flows.is_empty() && read.tcp == 0 && !read.datagrams.is_empty() {
        which.select_datagrams(&mut read.datagrams);
        return super::datagrams::flow(all, &read, console);
    }
    which.select(&mut read.flows)?;
    for notice in &read.notices {
        console.note(&format!("note: {notice}"));
    }
    let (number, flow) = busiest(all, &read, console)?;
    let direction = if args.other_way { 1 - View::busier(flow) } else { View::busier(flow) };
    let other = others.iter().map(|(_, other)| other).find(|other| twin(flow, other));
    let view = View { flow, direction, other, start: read.start };
    if view.data().transmissions.is_empty() {
        return Err(Failure::usage(
            "the capture holds no data in this direction",
            if args.other_way { "leave --other-way out" } else { "choose another connection with --flow" },
        ));
    }
    connection_picture(all, &view, number, console)
}

/// Reads the capture, and the connections of the receiver's capture. Whole connections are analysed, because a verdict
/// inside the time window depends on earlier packets.
fn read(
    all: &super::Args,
    which: &Which,
    console: &Console,
) -> Result<(source::Read, Vec<(usize, Flow)>), Failure> {
    let receiver = all.captured.receiver.as_ref();
    let keep = Limits { points: true, arrivals: receiver.is_some(), ..Limits::default() };
    let mut read = source::read(&all.file, which, keep, console)?;
    let Some(path) = receiver else { return Ok((read, Vec::new())) };
    let other = source::read(path, which, keep, console)?;
    if join::join(&mut read.flows, &other.flows) == 0 {
        return Err(Failure::usage(
            format!("no connection of `{}` is in `{}` too", all.file.display(), path.display()),
            "give two captures of the same transfer, taken at its two ends",
        ));
    }
    read.notices.extend(other.notices);
    Ok((read, other.flows))
}

/// Connection with the most data; the first of several with equal amounts.
fn busiest<'a>(
    all: &super::Args,
    read: &'a source::Read,
    console: &Console,
) -> Result<(usize, &'a Flow), Failure> {
    let data = |flow: &Flow| flow.directions[View::busier(flow)].data_bytes;
    let Some((number, flow)) = read.flows.iter().rev().max_by_key(|(_, flow)| data(flow)) else {
        return Err(Failure::usage(
            match all.flow {
                Some(ref flow) => format!("no TCP connection of the capture has the endpoint `{flow}`"),
                None => "the capture holds no TCP connection".to_owned(),
            },
            "`williwaw analyse` lists the connections of a capture",
        ));
    };
    if read.flows.len() > 1 {
        let n = read.flows.len();
        console.note(&format!("drawing connection {number}, the largest of {n}; --flow N draws another"));
    }
    Ok((*number, flow))
}

/// Draws a TCP connection.
fn connection_picture(
    all: &super::Args,
    view: &View<'_>,
    number: usize,
    console: &Console,
) -> Result<ExitStatus, Failure> {
    let name = file_name(all);
    let (frame, counted) = frame(all, &name, view.start)?;
    let mut picture = view::sequence::picture(view, frame.clone());
    picture.panels.extend(counted);
    let under = report::under(&picture.timeouts, &picture.sent, &picture.layers);
    let layers = picture.layers.clone();
    if let Some(offset) = all.receiver_offset {
        offset.apply(&mut picture);
    }
    let chart = |line| Drawn::Chart(Box::new(view::lines::chart(view, line, frame)));
    let drawn = match all.kind {
        Kind::TimeSequence => Drawn::Sequence(Box::new(picture)),
        Kind::Rtt => chart(Line::Rtt),
        Kind::Throughput => chart(Line::Throughput),
        Kind::Outstanding => chart(Line::Outstanding),
        Kind::Window => chart(Line::Window),
    };
    let mut provenance = vec![
        ("version".to_owned(), VERSION.to_owned()),
        ("capture".to_owned(), name.clone()),
        ("connection".to_owned(), number.to_string()),
    ];
    if let Some(path) = &all.captured.receiver {
        provenance.push(("receiver's capture".to_owned(), path.display().to_string()));
    }
    let document = || document(view, &drawn, &name, number, &under);
    print(all, &drawn, document, &under_text(&under, &layers), console)?;
    write(all, &drawn, &name, &provenance, console)
}

fn file_name(all: &super::Args) -> String {
    all.file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}

/// Title, window and layers of a picture, and the panels that count events of lower layers.
fn frame(all: &super::Args, name: &str, start: Time) -> Result<(Frame, Vec<Panel>), Failure> {
    let mut layers = all.layers(start.as_nanos() as f64 / 1e9)?;
    let counted = view::layers::panels(&mut layers);
    let (from, until) = (all.captured.from, all.captured.until);
    Ok((Frame { title: name.to_owned(), layers, from, until }, counted))
}

/// Prints the JSON document, or caption and timeouts with overlapping lower-layer events as text.
fn print(
    all: &super::Args,
    drawn: &Drawn,
    document: impl FnOnce() -> serde_json::Value,
    under: &str,
    console: &Console,
) -> Result<(), Failure> {
    if all.json {
        return console.document(&document());
    }
    let lines = terminal::wrap(&drawn.caption(), console.width.unwrap_or(100));
    console.data(&format!("{}\n", lines.join("\n")))?;
    console.data(under)
}

/// Writes the picture to every requested file.
fn write(
    all: &super::Args,
    drawn: &Drawn,
    name: &str,
    provenance: &[(String, String)],
    console: &Console,
) -> Result<ExitStatus, Failure> {
    for (path, format) in all.places() {
        drawn.write(&path, format, all.size, name, provenance, console)?;
    }
    Ok(ExitStatus::Good)
}

/// Association with the number in `flow`, or the largest one.
fn largest<'a>(all: &'a [Association], flow: Option<&str>) -> Option<&'a Association> {
    let number = flow.and_then(|word| word.parse::<usize>().ok());
    match number {
        Some(number) => all.get(number),
        None => all.iter().max_by_key(|a| a.directions[a.main()].bytes),
    }
}

/// Draws an association of SCTP.
fn association_picture(
    all: &super::Args,
    read: &source::Read,
    association: &Association,
    console: &Console,
) -> Result<ExitStatus, Failure> {
    let name = file_name(all);
    let (frame, counted) = frame(all, &name, read.start)?;
    let mut picture = view::association::picture(association, read.start, frame);
    picture.panels.extend(counted);
    let under = report::under(&picture.timeouts, &picture.sent, &picture.layers);
    let layers = picture.layers.clone();
    let ends = association.ends;
    let drawn = Drawn::Sequence(Box::new(picture));
    let document = || {
        let mut document = json!({
            "schema": "williwaw-plot/1",
            "capture": name,
            "version": VERSION,
            "from": ends[0].to_string(),
            "to": ends[1].to_string(),
            "caption": drawn.caption(),
            "under": under,
        });
        if let Drawn::Sequence(picture) = &drawn {
            document["picture"] = json!(picture);
        }
        document
    };
    print(all, &drawn, document, &under_text(&under, &layers), console)?;
    let provenance = vec![("version".to_owned(), VERSION.to_owned()), ("capture".to_owned(), name.clone())];
    write(all, &drawn, &name, &provenance, console)
}

/// Whether `other`, from the capture at the receiver, is this connection: equal endpoints, and initial sequence numbers
/// no further apart than the data.
fn twin(flow: &Flow, other: &Flow) -> bool {
    let same = flow.client == other.client && flow.server == other.server;
    let swapped = flow.client == other.server && flow.server == other.client;
    let direction = |i: usize| if swapped { 1 - i } else { i };
    let near = |i: usize| {
        let (a, b) = (flow.directions[i].origin, other.directions[direction(i)].origin);
        let most = flow.directions[i].data_bytes.max(1 << 20) as u32;
        a.wrapping_sub(b).min(b.wrapping_sub(a)) <= most
    };
    (same || swapped) && near(0) && near(1)
}

/// Text with one line for each timeout, and one for each lower-layer event that overlaps it.
pub(super) fn under_text(under: &[TimeoutOverlap], layers: &[Layer]) -> String {
    let mut out = String::new();
    if layers.is_empty() {
        return out;
    }
    for u in under {
        let kind = match u.kind {
            report::Truth::Spurious => "spurious",
            report::Truth::Genuine => "genuine",
            report::Truth::Unknown => "unknown",
        };
        let _ =
            writeln!(out, "timeout at {:.3} s ({kind}), its segment sent at {:.3} s; below:", u.t, u.since);
        if u.events.is_empty() {
            out.push_str("  nothing\n");
        }
        for e in &u.events {
            let event = &e.event;
            let until = event.until.map_or(String::new(), |until| format!(" to {until:.3}"));
            let detail = if event.detail.is_empty() { String::new() } else { format!(" ({})", event.detail) };
            let _ = writeln!(out, "  {}: {} at {:.3}{until} s{detail}", e.layer, event.event, event.t);
        }
    }
    if under.is_empty() {
        out.push_str("The timer never expired: no event belongs to a timeout.\n");
    }
    out
}

/// JSON of the picture, schema `williwaw-plot/1`.
fn document(
    view: &View<'_>,
    drawn: &Drawn,
    name: &str,
    number: usize,
    under: &[TimeoutOverlap],
) -> serde_json::Value {
    let (from, to) = view::frame::ends(view);
    let mut document = json!({
        "schema": "williwaw-plot/1",
        "capture": name,
        "version": VERSION,
        "flow": number,
        "from": from,
        "to": to,
        "caption": drawn.caption(),
        "under": under,
    });
    match drawn {
        Drawn::Sequence(picture) => document["picture"] = json!(picture),
        Drawn::Chart(chart) => document["chart"] = json!(chart),
    }
    if let Some(clocks) = view::clocks::clocks(view) {
        document["clocks"] = json!({
            "receiver_ahead_s": clocks.ahead_s, "within_s": clocks.within_s, "drift_ppm": clocks.drift_ppm,
        });
    }
    document
}
