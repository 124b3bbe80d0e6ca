//! Files of lower-layer events on the time axis of a capture: CSV tables, event logs of `emulate`, captures
//! of radio blocks (GSMTAP).

use crate::console::exit::Failure;
use capture::{Reader, Transport};
use report::Layer;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use view::layers::TableError;
use view::radio::{self, Blocks};

/// Times above this value, s, count from 1970 (it is in the year 2001); smaller times count from the first packet.
const SINCE_1970: f64 = 1e9;

/// Reads files of events; `start`, s since 1970, is t = 0 for times that count from 1970. Captures of williwaw's own
/// runs begin in the first hours of 1970, so that `start` is also the offset of event logs, which count from the start
/// of the run. `drawn` adds each radio block of a capture.
pub(super) fn read(files: &[PathBuf], start: f64, drawn: bool) -> Result<Vec<Layer>, Failure> {
    let mut out = Vec::new();
    for path in files {
        if let Some(layers) = blocks(path, start, drawn)? {
            out.extend(layers);
            continue;
        }
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::usage(
                format!("cannot read `{}`: {error}", path.display()),
                "give a table of events (CSV), or the log that `emulate --events` writes (JSON lines)",
            )
        })?;
        out.extend(if text.trim_start().starts_with('{') {
            let shift = if start < SINCE_1970 { -start } else { 0.0 };
            view::events::read(&text, shift).map_err(|wrong| {
                refused(path, &wrong, "each line is one event, {\"t\": ..., \"at\": ..., \"event\": ...}")
            })?
        } else {
            table(path, &text, start)?
        });
    }
    Ok(out)
}

/// Radio blocks of a capture; `None` if the file is no capture.
fn blocks(path: &Path, start: f64, drawn: bool) -> Result<Option<Vec<Layer>>, Failure> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let Ok(mut reader) = Reader::open(BufReader::new(file)) else { return Ok(None) };
    let mut blocks = Blocks::default();
    while let Some(frame) = reader.next().map_err(|error| {
        Failure::usage(format!("cannot read `{}`: {error}", path.display()), "give a whole capture")
    })? {
        if let Ok(packet) = frame.decode()
            && matches!(packet.transport, Transport::Udp { destination: radio::PORT, .. })
        {
            blocks.take(frame.time_ns as f64 / 1e9 - start, packet.payload);
        }
    }
    if blocks.seen() == 0 {
        return Err(Failure::usage(
            format!("`{}` has no radio block in GSMTAP (UDP port {})", path.display(), radio::PORT),
            "capture with osmo-pcu's gsmtap or with `run --pcap` of a radio hop, or give a table of events (CSV)",
        ));
    }
    Ok(Some(blocks.layers(drawn)))
}

fn table(path: &Path, text: &str, start: f64) -> Result<Vec<Layer>, Failure> {
    let name = path.file_stem().map_or("below".into(), |s| s.to_string_lossy());
    let read = |shift| {
        view::layers::read(text, &name, shift).map_err(|wrong| {
            let columns =
                "the first line names the columns: time_s,event and, if known, until_s,detail,layer,number";
            refused(path, &wrong, columns)
        })
    };
    let layers = read(0.0)?;
    let first = layers.iter().flat_map(|l| &l.events).map(|e| e.t).fold(f64::INFINITY, f64::min);
    if first.is_finite() && first > SINCE_1970 { read(-start) } else { Ok(layers) }
}

fn refused(path: &Path, wrong: &TableError, remedy: &str) -> Failure {
    Failure::usage(format!("`{}`, line {}: {}", path.display(), wrong.line, wrong.why), remedy)
}
