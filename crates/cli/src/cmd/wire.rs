//! `williwaw wire`: emulated link between two interfaces of this host, or between two serial lines.

use crate::console::args::span;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::interrupt;
use crate::console::lateness::{self, Screen};
use crate::console::streams::Console;
use crate::input::nesting;
use crate::input::shell_link::{self, ShellLink};
use crate::player::summary;
use base::Span;
use emulate::accuracy::calibrate::Calibration;
use emulate::wire::WireFacts;
use emulate::{EmulationOutcome, Options, Surroundings};
use serde_json::{Value, json};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Put a link between two interfaces of this host, or between two serial lines
///
/// The first END is the mobile end of the link, the second the fixed end. The devices behind them need no
/// change, and the host's configuration stays as it is. It runs until Ctrl-C, or for the time of --for.
///
/// Interfaces (root only): IP packets cross the link. ARP, IPv6 neighbour discovery and all non-IP frames
/// bypass it. Give the interfaces no addresses, and do not bridge them.
///
/// Serial lines: PPP frames in HDLC-like framing cross the link one by one. Bytes before the first frame, such
/// as modem dialogues and logins, bypass it. `pty` opens a pseudo-terminal and prints its path at the start.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw wire eth1 eth2 --link 'rate=2 Mbit/s, delay=50 ms, queue=20 packets'\n  \
    williwaw wire pty pty --link 'rate=9600 bit/s, delay=300 ms' --for '10 min'\n  \
    williwaw wire /dev/ttyUSB0 pty --speed 115200 --link 'rate=9600 bit/s'\n  \
    williwaw wire --scenario scenario.toml --pcap wire.pcapng")]
pub(crate) struct Args {
    /// Two ends: an interface, the path of a serial device, or `pty`; leave them out if the scenario names them
    #[arg(value_name = "END", num_args = 0..=2)]
    ends: Vec<String>,
    /// A scenario whose path is the link
    #[arg(long, value_name = "FILE", conflicts_with_all = ["link", "preset"])]
    scenario: Option<PathBuf>,
    /// Named link, from the list of `williwaw presets`; --link changes it
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Specification of the link: rate, delay, queue, loss and any other key of a hop
    #[arg(long, value_name = "SPEC")]
    link: Option<String>,
    /// Name of the link for `williwaw trigger` [default: the scenario's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Bits per second of the serial devices [default: unchanged]
    #[arg(long, value_name = "BITS")]
    speed: Option<u32>,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    lasts: Option<Span>,
    /// Seed of all random streams
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seed: Option<u64>,
    #[command(flatten)]
    changes: crate::console::args::Changes,
    #[command(flatten)]
    clock: crate::console::args::RealTime,
    /// Write a pcapng capture of the frames at both ends and both sides of every link; it stays in memory until
    /// the end
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Print one line of JSON when the ends are open, and one at the end
    #[arg(long)]
    json: bool,
}

/// Run time without `--for`: 100 years.
const EVER: Span = Span::from_secs(100 * 365 * 86_400);

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let link = link(&args)?;
    console.warnings(link.scenario.warnings());
    let mut model = link.scenario.first().clone();
    if model.nodes.iter().all(|node| node.wire.is_none()) {
        return Err(Failure::usage(
            "the two ends of the wire are not given",
            "name them: `williwaw wire eth1 eth2`, or give two nodes of the scenario a `wire`",
        ));
    }
    if model.flows.iter().any(|flow| flow.transport.linux().is_some()) {
        return Err(Failure::usage(
            "a flow of a kernel needs a run folder, which `wire` does not keep",
            "play it with `williwaw emulate`; flows of the model may load the link here",
        ));
    }
    model.run.limit = args.lasts.unwrap_or(EVER);
    if let Some(seed) = args.seed {
        model.run.seed = seed;
    }
    let stop = interrupt::watch_saying(console, "closing the wire; press Ctrl-C again to end at once");
    let calibration = Calibration::of_this_machine(!args.clock.no_realtime, args.clock.spin);
    console.note(&summary::calibrated(&calibration, "this machine"));
    let options = Options {
        trace: false,
        capture: args.pcap.is_some(),
        realtime: calibration.method().realtime,
        offload: true,
        spin: calibration.method().spin,
        lateness_limit: args.clock.lateness,
    };
    let lives = [Arc::default()];
    let (printer, json) = (console.clone(), args.json);
    let around = Surroundings {
        called: Some(link.name.clone()),
        live: Some(Arc::clone(&lives[0])),
        opened: Some(Box::new(move |ends| open(ends, json, &printer))),
        ..nesting::common()
    };
    let screen = Screen { lives: &lives, done: &AtomicUsize::new(0), total: 0 };
    let outcome = lateness::shown(console, &screen, || emulate::play(&model, 0, &options, &around, stop))?;
    if let (Some(path), Some(crossed)) = (&args.pcap, &outcome.capture) {
        let file = std::fs::File::create(path);
        let capture = crossed.at_all_taps(&model, &outcome.ran.world);
        let frames = capture.len();
        let write = |file| capture.write(std::io::BufWriter::new(file), None, 0, summary::APPLICATION);
        file.and_then(write).map_err(|error| Failure::write(path, &error))?;
        nesting::give_back(path);
        console.note(&format!("wrote {frames} frames to {}", path.display()));
    }
    let unfaithful = outcome.unfaithful(&options);
    if json {
        console.data(&format!("{}\n", closed(&outcome, unfaithful.as_deref())))?;
    } else {
        tell(&outcome, console);
    }
    for end in &outcome.wires {
        if let Some(refusal) = &end.refusal {
            console.complaint("warning", refusal);
        }
        if end.uncut > 0 {
            let text = format!(
                "{}: {} frames larger than any on a wire could not be cut and are lost; switch off receive offloads: \
                 ethtool -K {} gro off lro off",
                end.name, end.uncut, end.name
            );
            console.complaint("warning", &text);
        }
    }
    Ok(match unfaithful {
        Some(why) => {
            console.complaint("unfaithful", &why);
            ExitStatus::Unfaithful
        }
        None => ExitStatus::Good,
    })
}

/// Link between the two ends, as a scenario with a `wire` at both nodes.
fn link(args: &Args) -> Result<ShellLink, Failure> {
    let (set, name) = (&args.changes.set, args.name.as_deref());
    let [near, far] = &args.ends[..] else {
        if args.ends.len() == 1 {
            return Err(Failure::usage("a wire has two ends", "name both: williwaw wire eth1 eth2"));
        }
        let Some(file) = &args.scenario else {
            return Err(Failure::usage(
                "the two ends of the wire are not given",
                "name them, `williwaw wire eth1 eth2`, or give --scenario a file that does",
            ));
        };
        if args.speed.is_some() {
            return Err(Failure::usage(
                "--speed is for ends named on the command line",
                "write `speed` into the scenario",
            ));
        }
        return shell_link::of_file(file, name, &|_, _, _| String::new(), set);
    };
    let wires = |_: &str, near_node: &str, far_node: &str| {
        let node = |node: &str, end: &str| {
            format!("\n[[node]]\nname = \"{node}\"\nwire = {}\n", wire(end, args.speed))
        };
        node(near_node, near) + &node(far_node, far)
    };
    match &args.scenario {
        Some(file) => {
            let twice = Cell::new(None);
            let wires = |before: &str, near_node: &str, far_node: &str| {
                twice.set(
                    [near_node, far_node].into_iter().find(|node| declares(before, node)).map(str::to_owned),
                );
                wires(before, near_node, far_node)
            };
            let link = shell_link::of_file(file, name, &wires, set);
            match twice.take() {
                Some(node) => Err(Failure::usage(
                    format!(
                        "the scenario has a [[node]] `{node}` of its own, and its end is named on the command line"
                    ),
                    "write `wire = ...` at that [[node]], and name no ends on the command line",
                )),
                None => link,
            }
        }
        None => shell_link::of_spec(
            args.link.as_deref().unwrap_or(""),
            &shell_link::Outages::NONE,
            args.preset.as_deref(),
            name,
            &wires,
            set,
        ),
    }
}

/// Whether the text of a scenario has a `[[node]]` of this name.
fn declares(text: &str, node: &str) -> bool {
    let tables = text.split("[[node]]").skip(1);
    let mut names = tables.flat_map(|table| {
        let lines = table.lines().take_while(|line| !line.trim_start().starts_with('['));
        lines.filter_map(|line| line.split_once('=')).filter(|(key, _)| key.trim() == "name")
    });
    names.any(|(_, value)| value.trim().trim_matches(['"', '\'']) == node)
}

/// Value of the key `wire` for an end.
fn wire(end: &str, speed: Option<u32>) -> String {
    let quoted = |text: &str| Value::from(text).to_string(); // escapes as TOML does
    match end {
        "pty" => "\"pty\"".to_owned(),
        path if path.starts_with('/') => {
            let speed = speed.map(|speed| format!(", speed = {speed}")).unwrap_or_default();
            format!("{{ serial = {{ device = {}{speed} }} }}", quoted(path))
        }
        interface => format!("{{ interface = {} }}", quoted(interface)),
    }
}

/// Prints both ends once they are open.
fn open(ends: &[WireFacts], json: bool, console: &Console) {
    let mut text = String::new();
    if json {
        let ends: Vec<Value> = ends.iter().map(|end| json!({ "node": end.node, "end": end.name })).collect();
        text = format!("{}\n", json!({ "schema": "williwaw-wire/1", "state": "open", "ends": ends }));
    } else {
        ends.iter().for_each(|end| text.push_str(&format!("{} {}\n", end.node, end.name)));
    }
    // A closed stdout is no error.
    let _ = console.data(&text);
}

fn seconds(outcome: &EmulationOutcome) -> f64 {
    outcome.ran.world.network.now().as_secs_f64()
}

fn closed(outcome: &EmulationOutcome, unfaithful: Option<&str>) -> Value {
    let end = |end: &WireFacts| {
        let wrong: serde_json::Map<String, Value> =
            end.wrong.iter().map(|(why, n)| (why.name().to_owned(), json!(n))).collect();
        json!({
            "node": end.node,
            "end": end.name,
            "frames_in": end.counters.sent,
            "bytes_in": end.counters.bytes_sent,
            "frames_out": end.counters.received,
            "bytes_out": end.counters.bytes_received,
            "beside": end.beside,
            "talk_bytes": end.unframed_bytes,
            "uncut": end.uncut,
            "wrong": wrong,
        })
    };
    json!({
        "schema": "williwaw-wire/1",
        "state": "closed",
        "t": seconds(outcome),
        "ends": outcome.wires.iter().map(end).collect::<Vec<_>>(),
        "dropped": outcome.ran.world.network.counters().dropped,
        "timing": summary::timing(&outcome.timing),
        "unfaithful": unfaithful,
    })
}

fn tell(outcome: &EmulationOutcome, console: &Console) {
    let dropped = outcome.ran.world.network.counters().dropped;
    let mut text = format!("{:.1} s; {dropped} packets lost on the link", seconds(outcome));
    for end in &outcome.wires {
        let counters = &end.counters;
        text.push_str(&format!(
            "\n  {} ({}): {} frames in ({} B), {} out ({} B)",
            end.node,
            end.name,
            counters.sent,
            counters.bytes_sent,
            counters.received,
            counters.bytes_received
        ));
        if end.beside > 0 {
            text.push_str(&format!("; {} others passed at once", end.beside));
        }
        if end.unframed_bytes > 0 {
            text.push_str(&format!("; {} B before the first frame passed at once", end.unframed_bytes));
        }
        for (why, n) in &end.wrong {
            text.push_str(&format!("; {n} no frames ({why})"));
        }
    }
    text.push_str(&summary::lateness(&outcome.timing));
    console.note(&text);
}
