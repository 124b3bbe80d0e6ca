//! `williwaw emulate`: a scenario in real time, with the kernel's own TCP where the scenario says so.

use crate::exit::{End, Failure};
use crate::plan::VERSION;
use crate::talk::Talk;
use crate::{board, input, interrupt, kernel, labels, render};
use base::{Span, units};
use emulate::facts::{FlowFacts, TcpInfo};
use emulate::lateness::{Histogram, Timing};
use emulate::{Error, Options, Outcome};
use lab::sweep::{Prepared, Sweep};
use results::{Row, cells, json};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Run a scenario in real time, with real stacks where it asks for them
///
/// A flow with `transport = "linux"` has the TCP of this machine's kernel at both ends, in network namespaces of
/// its own that vanish with the process. The path between is that of `run`. How late packets left is measured; a
/// run beyond its limit is called unfaithful, and the exit code is 4.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw emulate scenario.toml --reps 3\n  \
    williwaw emulate scenario.toml --set flow.download.transport.linux.cc=cubic --json\n  \
    unshare --user --map-root-user williwaw emulate scenario.toml")]
pub(crate) struct Args {
    /// The scenario; `-` is stdin
    file: PathBuf,
    /// Repetitions of every cell, in place of the scenario's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    reps: Option<u32>,
    /// Seed of all random streams, in place of the scenario's own
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// So many repetitions beside each other, each in namespaces of its own
    #[arg(long, short, value_name = "J", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    #[command(flatten)]
    changes: crate::args::Changes,
    /// The lateness that one packet in a hundred may exceed
    #[arg(long, value_name = "TIME", default_value = "1 ms", value_parser = span)]
    lateness: Span,
    /// Spin so long before a packet is due instead of sleeping, if there is real-time priority
    #[arg(long, value_name = "TIME", default_value = "0 s", value_parser = span)]
    spin: Span,
    /// Do without real-time priority
    #[arg(long)]
    no_realtime: bool,
    /// Write the packets that crossed the doors in the first repetition, as pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Draw the first flow of the first repetition as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one JSON document in place of the table
    #[arg(long)]
    json: bool,
}

fn span(text: &str) -> Result<Span, String> {
    units::parse_span(text)
}

/// A repetition that was played.
struct Played {
    cell: usize,
    repetition: u64,
    outcome: Outcome,
}

/// Does it.
pub(crate) fn run(args: Args, talk: &Talk) -> Result<End, Failure> {
    let input = input::read(&args.file, &args.changes.set)?;
    let scenario = &input.scenario;
    talk.warnings(scenario.warnings());
    let sweep = Sweep::of(scenario, args.reps, args.seed, VERSION)?;
    if sweep.cells.iter().any(|cell| lab::sweep::real(&cell.model).is_some()) {
        emulate::rights()?;
    }
    let options = Options {
        trace: args.svg.is_some(),
        capture: args.pcap.is_some(),
        realtime: !args.no_realtime,
        spin: args.spin,
        lateness_limit: args.lateness,
    };
    let stop = interrupt::watch(talk);
    let (played, complete) = play(&sweep, &options, usize::from(args.jobs), stop, talk)?;
    if let (Some(path), Some(first)) = (&args.svg, played.first()) {
        draw(path, &sweep, first, talk)?;
    }
    if let (Some(path), Some(capture)) = (&args.pcap, played.first().and_then(|p| p.outcome.capture.as_ref()))
    {
        let file = std::fs::File::create(path);
        let written = file.and_then(|file| capture.write(&mut std::io::BufWriter::new(file)));
        written.map_err(|error| Failure::write(path, &error))?;
        talk.note(&format!("wrote {} packets to {}", capture.len(), path.display()));
    }
    let rows = rows(&sweep, &played);
    if args.json {
        let mut document = json::run_document(scenario.name(), &sweep.header, &rows)?;
        document["schema"] = json!("williwaw-emulate/1");
        document["title"] = json!(scenario.title());
        document["complete"] = json!(complete);
        document["kernel"] = json!(kernel_version());
        document["faithful"] = json!(played.iter().all(|p| p.outcome.unfaithful(&options).is_none()));
        document["repetitions"] = played.iter().map(|p| repetition(&sweep, p, &options)).collect();
        talk.document(&document)?;
    } else if !rows.is_empty() {
        let summaries = cells::summarise(&sweep.header, &rows)?;
        let board = board::board(&sweep.header, &summaries, &board::Choice::default());
        talk.data(&render::text(&board, talk.width, talk.colour))?;
        for p in &played {
            tell(&sweep.cells[p.cell], p, talk);
        }
    }
    let mut end = if complete { End::Good } else { End::Interrupted };
    for p in &played {
        if let Some(why) = p.outcome.unfaithful(&options) {
            let which = format!("repetition {} of cell {}", p.repetition, p.cell);
            talk.complaint("unfaithful", &format!("{which}: {why}"));
            end = End::Unfaithful;
        }
        for fault in p.outcome.facts.iter().flatten().flat_map(|facts| &facts.faults) {
            talk.complaint("warning", fault);
        }
    }
    Ok(end)
}

/// Plays every repetition of every cell, some beside each other; false if it was stopped before the end.
fn play(
    sweep: &Sweep,
    options: &Options,
    jobs: usize,
    stop: &AtomicBool,
    talk: &Talk,
) -> Result<(Vec<Played>, bool), Failure> {
    let repetitions = u64::from(sweep.repetitions);
    let total = sweep.cells.len() * sweep.repetitions as usize;
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Vec::new(), None::<Error>));
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(total) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= total || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let (cell, repetition) = ((i as u64 / repetitions) as usize, i as u64 % repetitions);
                    let outcome = emulate::once(&sweep.cells[cell].model, repetition, options, stop);
                    let Ok(mut done) = done.lock() else { return };
                    match outcome {
                        Ok(outcome) => {
                            done.0.push(Played { cell, repetition, outcome });
                            if total > 1 {
                                talk.note(&format!("{} of {total}", done.0.len()));
                            }
                        }
                        Err(error) => {
                            done.1 = Some(error);
                            next.store(total, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let (mut played, error) = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(error) = error {
        return Err(error.into());
    }
    played.sort_by_key(|p| (p.cell, p.repetition));
    let complete = played.len() == total && !stop.load(Ordering::Relaxed);
    Ok((played, complete))
}

fn rows(sweep: &Sweep, played: &[Played]) -> Vec<Row> {
    let mut rows = Vec::new();
    for p in played {
        let flows = sweep.cells[p.cell].model.flows.iter().zip(&p.outcome.ran.flows);
        rows.extend(flows.map(|(flow, measures)| Row {
            cell: p.cell as u32,
            repetition: p.repetition,
            flow: flow.name.clone(),
            values: measures.values.clone(),
        }));
    }
    rows
}

/// The version of the kernel, as it tells it.
fn kernel_version() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|s| s.trim().to_owned())
}

fn repetition(sweep: &Sweep, p: &Played, options: &Options) -> Value {
    let flows = sweep.cells[p.cell].model.flows.iter().zip(&p.outcome.facts);
    let flows: serde_json::Map<String, Value> = flows
        .filter_map(|(flow, facts)| Some((flow.name.clone(), facts_document(facts.as_ref()?))))
        .collect();
    json!({
        "cell": p.cell,
        "repetition": p.repetition,
        "complete": p.outcome.ran.complete,
        "flows": flows,
        "timing": timing(&p.outcome.timing),
        "unfaithful": p.outcome.unfaithful(options),
    })
}

fn info(info: &TcpInfo) -> Value {
    info.fields()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn facts_document(facts: &FlowFacts) -> Value {
    let history: Vec<Value> = facts
        .history
        .iter()
        .map(|(t, i)| {
            json!({ "t": t, "cwnd": i.snd_cwnd, "ssthresh": i.snd_ssthresh, "rto_us": i.rto, "backoff": i.backoff,
                    "ca_state": i.ca_state, "retransmissions": i.total_retrans, "unacked": i.unacked, "sacked": i.sacked, "lost": i.lost })
        })
        .collect();
    json!({
        "tcp_info": info(&facts.info),
        "undone": facts.undone(),
        "from": facts.from,
        "to": facts.to,
        "history": history,
        "faults": facts.faults,
    })
}

fn histogram(h: &Histogram) -> Value {
    let us = |span: Span| span.as_secs_f64() * 1e6;
    json!({ "n": h.count(), "p50_us": us(h.quantile(0.5)), "p90_us": us(h.quantile(0.9)), "p99_us": us(h.quantile(0.99)),
            "p999_us": us(h.quantile(0.999)), "max_us": us(h.max()) })
}

fn timing(t: &Timing) -> Value {
    json!({
        "egress": histogram(&t.egress),
        "ingress_bound": histogram(&t.ingress),
        "refused": t.refused,
        "overrun": t.overrun,
        "strange": t.strange,
        "realtime": t.realtime,
    })
}

/// A line for each kernel, and one for the clock.
fn tell(cell: &Prepared, p: &Played, talk: &Talk) {
    let mut text = format!("repetition {}", p.repetition);
    let label = labels::cell(&cell.params);
    if !label.is_empty() {
        text.push_str(&format!(" of {label}"));
    }
    for (flow, facts) in cell.model.flows.iter().zip(&p.outcome.facts) {
        let Some(facts) = facts else { continue };
        let told = ["TcpRetransSegs", "TCPTimeouts", "TCPSpuriousRTOs", "TCPLossProbes", "TCPFastRetrans"];
        let counted: Vec<String> =
            told.iter().map(|name| format!("{name} {}", facts.counter(name))).collect();
        let undone = if facts.undone() { "undone" } else { "nothing undone" };
        text.push_str(&format!("\n  {}: the kernel says {}; {undone}", flow.name, counted.join(", ")));
    }
    let (t, us) = (&p.outcome.timing, |span: Span| span.as_secs_f64() * 1e6);
    text.push_str(&format!(
        "\n  late by {:.0} us (half), {:.0} us (99 %), {:.0} us (at most) over {} packets{}",
        us(t.egress.quantile(0.5)),
        us(t.egress.quantile(0.99)),
        us(t.egress.max()),
        t.egress.count(),
        if t.realtime { "" } else { ", without real-time priority" }
    ));
    talk.note(&text);
}

fn draw(path: &std::path::Path, sweep: &Sweep, p: &Played, talk: &Talk) -> Result<(), Failure> {
    let model = &sweep.cells[p.cell].model;
    let mut records = p.outcome.ran.world.network.records().to_vec();
    records.sort_by_key(|record| record.t);
    let mut picture = lab::picture::draw(model, p.repetition, 0, &p.outcome.ran, &records);
    if let Some(facts) = p.outcome.facts.first().and_then(Option::as_ref) {
        kernel::annotate(&mut picture, facts);
    }
    std::fs::write(path, picture.svg(900, 640)).map_err(|error| Failure::write(path, &error))?;
    talk.note(&format!("wrote {}", path.display()));
    Ok(())
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mend = match &error {
            Error::Rights { .. } => {
                "start it as root, or as `unshare --user --map-root-user williwaw ...` where the system allows that"
            }
            _ => "",
        };
        Failure::machine(error.to_string(), mend)
    }
}
