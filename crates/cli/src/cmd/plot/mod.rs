//! `williwaw plot`: picture of one flow, from a simulated repetition, a capture or a qlog.

mod captured;
mod datagrams;
mod output;
mod simulated;

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use output::Format;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Draw one repetition, or a connection of a capture, as a picture
///
/// For a scenario or a run folder, the repetition is run again with its trace; equal seeds give equal
/// repetitions. For a capture (pcap, pcapng), it draws the largest connection, or the one that --flow names,
/// with the verdicts of `analyse`. For a qlog of a QUIC stack, it draws packets by number, losses, timers,
/// window and RTT. Without --out it writes plot.html, which opens from disk.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw plot scenario.toml --rep 3 -o picture.svg\n  \
    williwaw plot download.pcap --receiver phone.pcap -o picture.html\n  \
    williwaw plot download.pcap --flow :443 --from 10 --until 30 --kind rtt -o rtt.png\n  \
    williwaw plot download.pcap --layers radio.csv -o picture.svg -o picture.xplot")]
pub(crate) struct Args {
    /// A scenario, the folder of a run, a capture, or a qlog
    file: PathBuf,
    /// Flow to draw: a flow's name, or for a capture an address, a port (`:443`), ADDRESS:PORT or a
    /// connection's number [default: the first flow of a scenario, the largest of a capture]
    #[arg(long, value_name = "WHICH")]
    flow: Option<String>,
    /// Kind of picture, for a capture
    #[arg(long, value_enum, default_value_t = Kind::TimeSequence)]
    kind: Kind,
    /// Output file; its extension gives the format (.html, .svg, .png, .xplot). May be repeated
    #[arg(long, short, value_name = "FILE")]
    out: Vec<PathBuf>,
    /// Write an interactive HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write an SVG drawing
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Size of a drawing, pixels
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "900x640", value_parser = output::size)]
    size: (u32, u32),
    /// Draw events of lower layers below the picture: a CSV table with the columns time_s,event and optionally
    /// until_s,detail,layer,number; a log of `emulate --events`; or a GSMTAP capture of radio blocks. May be
    /// repeated
    #[arg(long, value_name = "FILE")]
    layers: Vec<PathBuf>,
    /// Vertical offset of the receiver's trace, in segments or bytes
    #[arg(long, value_name = "OFFSET", value_parser = offset)]
    receiver_offset: Option<Offset>,
    /// Print the picture's data as one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    simulated: simulated::Simulated,
    #[command(flatten)]
    captured: captured::Captured,
}

/// What to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Segments, ACKs and verdicts over time.
    TimeSequence,
    /// Round-trip times.
    Rtt,
    /// Bits a second, sent and acknowledged.
    Throughput,
    /// Bytes sent and not acknowledged.
    Outstanding,
    /// Advertised window, and the part of it in use.
    Window,
}

/// Offset in sequence numbers of the receiver's trace, so that it is drawn above the sender's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offset {
    Segments(u32),
    Bytes(u64),
}

fn offset(text: &str) -> Result<Offset, String> {
    let words = ["segments", "segment"];
    match words.iter().find_map(|word| text.trim().strip_suffix(word)) {
        Some(number) => number.trim().parse().map(Offset::Segments).map_err(|e| format!("`{text}`: {e}")),
        None => Ok(Offset::Bytes(base::units::parse_bytes(text)?)),
    }
}

impl Offset {
    /// Adds the offset to the sequence numbers of the receiver's trace, with a note in the subtitle.
    fn apply(self, picture: &mut report::Picture) {
        let (bytes, words) = match self {
            Offset::Segments(n) => (u64::from(n) * u64::from(picture.segment_bytes), format!("{n} segments")),
            Offset::Bytes(n) => (n, format!("{n} B")),
        };
        for received in &mut picture.received {
            (received.seq, received.end) = (received.seq + bytes, received.end + bytes);
        }
        if !picture.received.is_empty() {
            picture.subtitle.push_str(&format!("; the receiver's trace {words} higher"));
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    for path in &args.out {
        Format::of(path)?;
    }
    for path in args.out.iter().chain(&args.html).chain(&args.svg) {
        crate::output::atomic_write::possible(path)?;
    }
    if !args.file.exists() && args.file != Path::new("-") {
        return Err(Failure::usage(
            format!("there is no file `{}`", args.file.display()),
            "give a capture (pcap, pcapng), a scenario, or the folder of a run",
        ));
    }
    if let Some(log) = super::analyse::qlog::of(&args.file)? {
        args.simulated.refuse(&args.file)?;
        return datagrams::log(&args, &log, console);
    }
    if is_capture(&args.file) {
        args.simulated.refuse(&args.file)?;
        captured::run(&args, console)
    } else {
        args.captured.refuse(&args.file)?;
        if args.kind != Kind::TimeSequence {
            return Err(Failure::usage(
                "a simulated repetition is drawn as a time sequence only",
                "leave --kind out: window and timer are below the sequence; or draw a capture, which `run --pcap` writes",
            ));
        }
        simulated::run(&args, console)
    }
}

/// Whether a file begins with the magic number of pcap or pcapng, in either byte order, or of gzip.
fn is_capture(path: &Path) -> bool {
    const MARKS: [u32; 4] = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34, 0x0a0d_0d0a];
    let mut first = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    let [little, big] = [u32::from_le_bytes(first), u32::from_be_bytes(first)];
    let packed = first.starts_with(&[0x1f, 0x8b]);
    read.is_ok() && (packed || MARKS.iter().any(|mark| *mark == little || *mark == big))
}

impl Args {
    /// Files to write with their formats; `plot.html` by default, none with `--json` alone.
    fn places(&self) -> Vec<(PathBuf, Format)> {
        let mut places: Vec<(PathBuf, Format)> = Vec::new();
        places.extend(self.svg.iter().map(|path| (path.clone(), Format::Svg)));
        places.extend(self.html.iter().map(|path| (path.clone(), Format::Html)));
        places.extend(self.out.iter().filter_map(|path| Some((path.clone(), Format::of(path).ok()?))));
        if places.is_empty() && !self.json {
            places.push((PathBuf::from("plot.html"), Format::Html));
        }
        if self.html.is_none() && self.out.is_empty() && self.svg.is_none() && self.json {
            places.clear();
        }
        places
    }

    /// Lower-layer events of `--layers`; `start`, s since 1970, is t = 0 for tables that count from 1970.
    fn layers(&self, start: f64) -> Result<Vec<report::Layer>, Failure> {
        super::layers::read(&self.layers, start, true)
    }
}
