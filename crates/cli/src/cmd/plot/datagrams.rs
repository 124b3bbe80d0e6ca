//! `williwaw plot` of UDP and QUIC flows of a capture, and of the packets of a qlog.

use super::Kind;
use super::output::Drawn;
use crate::cmd::analyse::source::Read;
use crate::cmd::analyse::{datagrams, qlog};
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::output::VERSION;
use crate::output::terminal;
use serde_json::{Value, json};
use view::frame::Frame;
use view::qlog::Qlog;

fn name(all: &super::Args) -> String {
    all.file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}

fn frame(all: &super::Args, start: f64) -> Result<Frame, Failure> {
    let [from, until] = all.captured.window();
    Ok(Frame { title: name(all), layers: all.layers(start)?, from, until })
}

/// Draws the largest UDP flow: its rate, or the round trips of its spin bit.
pub(super) fn flow(all: &super::Args, read: &Read, console: &Console) -> Result<ExitStatus, Failure> {
    let sorted = datagrams::sorted(read);
    let Some((number, flow)) = sorted.first().copied() else {
        return Err(Failure::usage(
            "the capture holds neither TCP, SCTP nor UDP",
            "`williwaw analyse` lists its contents",
        ));
    };
    let frame = frame(all, read.start.as_secs_f64())?;
    let chart = match all.kind {
        Kind::TimeSequence | Kind::Throughput => view::datagram::rates(flow, read.start, frame),
        Kind::Rtt => view::datagram::round_trips(flow, read.start, frame).ok_or_else(|| {
            Failure::usage(
                format!("flow {number} has no spin bit to measure the RTT"),
                "--kind throughput draws its rate",
            )
        })?,
        Kind::Outstanding | Kind::Window => {
            return Err(Failure::usage(
                "a capture of UDP shows neither windows nor outstanding data",
                "use --kind throughput, or plot a qlog of the sender",
            ));
        }
    };
    if sorted.len() > 1 {
        console.note(&format!(
            "drawing UDP flow {number}, the largest of {}; --flow ADDRESS:PORT draws another",
            sorted.len()
        ));
    }
    let more = json!({ "from": flow.ends[0].to_string(), "to": flow.ends[1].to_string(), "chart": chart });
    written(all, &Drawn::Chart(Box::new(chart)), more, console)
}

/// Draws the packets of the largest trace of a qlog.
pub(super) fn log(all: &super::Args, log: &Qlog, console: &Console) -> Result<ExitStatus, Failure> {
    let Some((number, trace)) = qlog::largest(log) else {
        return Err(Failure::usage(format!("`{}` holds no trace", all.file.display()), ""));
    };
    if all.kind != Kind::TimeSequence || all.flow.is_some() {
        return Err(Failure::usage(
            "a qlog has one picture: the packets of its largest trace, with window and RTT below",
            "leave out --kind and --flow",
        ));
    }
    log.notices.iter().for_each(|notice| console.note(&format!("note: {notice}")));
    if log.traces.len() > 1 {
        console.note(&format!("drawing trace {number}, the largest of {}", log.traces.len()));
    }
    let picture = view::qlog::picture(trace, frame(all, 0.0)?);
    let more = json!({ "picture": picture });
    written(all, &Drawn::Sequence(Box::new(picture)), more, console)
}

fn written(all: &super::Args, drawn: &Drawn, more: Value, console: &Console) -> Result<ExitStatus, Failure> {
    let (name, caption) = (name(all), drawn.caption());
    if all.json {
        let mut document =
            json!({ "schema": "williwaw-plot/1", "capture": name, "version": VERSION, "caption": caption });
        for (key, value) in more.as_object().into_iter().flatten() {
            document[key] = value.clone();
        }
        console.document(&document)?;
    } else {
        console.data(&format!("{}\n", terminal::wrap(&caption, console.width.unwrap_or(100)).join("\n")))?;
    }
    let provenance = vec![("version".to_owned(), VERSION.to_owned()), ("capture".to_owned(), name.clone())];
    for (path, format) in all.places() {
        drawn.write(&path, format, all.size, &name, &provenance, console)?;
    }
    Ok(ExitStatus::Good)
}
