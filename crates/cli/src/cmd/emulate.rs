//! `williwaw emulate`: arguments, choice of the player (this host or agents), and parallel loop over the repetitions of a scenario
//! in real time, with kernels and programs; run folder, captures, report.

use crate::cmd::run::plan::Plan;
use crate::cmd::run::{self, RunResults, RunStore};
use crate::console::clock::Stopwatch;
use crate::console::exit::{CliError, ExitStatus, Failure};
use crate::console::streams::Console;
use crate::console::{interrupt, lateness};
use crate::input::agents_file::Listed;
use crate::input::{agents_file, nesting};
use crate::output::VERSION;
use crate::player::artefacts::Store;
use crate::player::captures;
use crate::player::link_processes;
use crate::player::local_player::{self, LocalPlayer};
use crate::player::numbers;
use crate::player::remote_player::RemotePlayer;
use crate::player::rep_report::{RepArtefacts, RepReport};
use crate::player::summary;
use crate::player::task::{Readiness, Task};
use agent::control::AgentControl;
use base::Span;
use emulate::accuracy::calibrate::Calibration;
use emulate::accuracy::live::Live;
use emulate::remote::hosts::RemoteHosts;
use emulate::{Error, Options};
use lab::sweep::Sweep;
use netns::output::Outputs;
use results::Row;
use results::numbers::Reported;
use results::row::finished;
use results::source::Source;
use scenario::model::{Command, Flow, Protocol, Reports};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Run a scenario in real time, with its real stacks and programs
///
/// A flow with `transport = "linux"` uses this machine's kernel TCP at both ends, in network namespaces of its
/// own. A [[command]] runs a program at a node. Namespaces and programs end with the process. The path is that
/// of `run`. Lateness of packets is measured; a run above its limit is unfaithful, with exit code 4. The run
/// folder keeps results and the output of commands; --resume continues a killed run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw emulate scenario.toml --reps 3\n  \
    williwaw emulate scenario.toml --set flow.download.transport.linux.cc=cubic --json\n  \
    williwaw emulate scenario.toml --agents agents.toml\n  \
    williwaw emulate --resume runs/scenario")]
pub(crate) struct Args {
    /// The scenario; `-` is stdin
    file: Option<PathBuf>,
    #[command(flatten)]
    draws: crate::console::args::Draws,
    /// Repetitions run in parallel, each in namespaces of its own
    #[arg(long, short, value_name = "J", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    #[command(flatten)]
    changes: crate::console::args::Changes,
    /// Run machines of the scenario, or its path, on the other hosts that this file lists (docs/agents.md)
    #[arg(long, value_name = "FILE")]
    agents: Option<PathBuf>,
    /// Run folder for the results [default: a new folder under `runs`]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep no results
    #[arg(long, conflicts_with_all = ["out", "resume"])]
    no_out: bool,
    /// Continue the run in this folder; without a folder, the latest run of the scenario
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    resume: Option<Option<PathBuf>>,
    /// Write pcapng captures of every repetition into the folder: one file with every node and both sides of
    /// every link, and one per node
    #[arg(long, conflicts_with = "no_out")]
    captures: bool,
    /// Write the events of every repetition into the folder, one line of JSON each
    #[arg(long, conflicts_with = "no_out")]
    events: bool,
    #[command(flatten)]
    clock: crate::console::args::RealTime,
    /// Take and hand over every packet of a kernel by itself, without segmentation offload at the TUN devices
    #[arg(long)]
    no_offload: bool,
    /// Write a pcapng capture of the first repetition at every node and both sides of every link, and one file
    /// per node
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Write an SVG picture of the first flow in the first repetition
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write report.html with pictures into the folder
    #[arg(long)]
    report: bool,
    /// Metrics to show, separated by commas, or `all`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    metrics: Option<Vec<String>>,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Plan in the form of a run in virtual time.
    fn plan(&self, console: &Console) -> Result<Plan, Failure> {
        let args = run::Args {
            file: self.file.clone(),
            draws: self.draws,
            threads: crate::console::args::Threads { jobs: Some(self.jobs) },
            changes: self.changes.clone(),
            shard: None,
            table: crate::output::style::Style::Text,
            out: self.out.clone(),
            no_out: self.no_out,
            resume: self.resume.clone(),
            json: self.json,
            csv: None,
            report: self.report,
            metrics: self.metrics.clone(),
            flows: false,
            yes: true,
            shuffle_ties: None,
            // Real time uses the kernel of this host.
            linux: None,
            look: None,
            patience: base::Span::ZERO,
            // Captures come from the packet ports, without a second run.
            pcap: None,
            snap: 96,
            xplot: None,
            events: None,
            series: None,
        };
        Plan::of(args, console)
    }
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    for path in args.svg.iter().chain(&args.pcap) {
        crate::output::atomic_write::possible(path)?;
    }
    let plan = args.plan(console)?;
    let watch = Stopwatch::start();
    let mut sweep = Sweep::whole(&plan.input.scenario, Some(plan.repetitions), plan.given_seed, VERSION)?;
    refuse(&sweep, args.jobs)?;
    let listed = match &args.agents {
        Some(file) => Some(agents_file::read(file, args.jobs, &sweep)?),
        None => None,
    };
    if sweep.cells.held().iter().any(|cell| agents_file::needed_here(&cell.model, listed.as_ref()))
        && let Some(lost) = netns::user::gain_rights()?
    {
        console.note(&format!("without root, in a user namespace: there is no {lost}"));
    }
    let (player, site) = args.player(&plan, listed.as_ref(), console)?;
    let mut kept = RunStore::open(&plan)?;
    let store = kept.as_ref().map(|kept| Store {
        folder: kept.folder.path().to_owned(),
        captures: args.captures,
        events: args.events,
    });
    let stop = interrupt::watch_run(console, kept.is_some());
    let rows = match &mut kept {
        Some(kept) => kept.folder.start(&sweep.header)?,
        None => Vec::new(),
    };
    let before: Vec<(u32, u64)> = finished(&rows);
    let going = PendingReps {
        sweep: &sweep,
        player,
        picture: args.draws_first(),
        keep_first: args.draws_first() || args.pcap.is_some(),
        store: store.as_ref(),
        jobs: usize::from(args.jobs),
        stop,
        console,
    };
    let (played, mut rows, complete) = going.play(rows, kept.as_mut())?;
    args.write_first(&played, &sweep, console)?;
    let reports = &played.reports;
    let mut repetitions = store.as_ref().map_or_else(Vec::new, |store| store.read(&before));
    repetitions.extend(reports.iter().map(|report| report.document.clone()));
    let faithful = repetitions.iter().all(|r| r["unfaithful"].is_null());
    let mut emulation = json!({
        "kernel": site.kernel,
        "calibration": site.calibration,
        "lateness_limit_s": args.clock.lateness.as_secs_f64(),
        "faithful": faithful,
    });
    if let Some(path) = listed.as_ref().and_then(|listed| listed.path.as_ref()) {
        emulation["path"] = json!({ "agent": path.0.name, "address": path.0.address });
    }
    let path = kept.as_ref().map(|kept| kept.folder.path().to_owned());
    if let Some(kept) = &mut kept {
        kept.record.emulation = Some(emulation.clone());
        kept.close(complete, watch.seconds())?;
        nesting::give_back(kept.folder.path());
    }
    let reported: Vec<Reported> = repetitions.iter().flat_map(numbers::in_document).collect();
    numbers::put_beside(&mut sweep.header, &mut rows, &reported, path.as_deref().filter(|_| complete))?;
    let found = RunResults {
        sweep: &sweep,
        source: Source::Rows(&sweep.header, &rows),
        complete,
        path: path.as_deref(),
        plan: &plan,
        verb: "emulate",
        more: vec![
            ("schema", json!("williwaw-emulate/1")),
            ("kernel", emulation["kernel"].clone()),
            ("calibration", emulation["calibration"].clone()),
            ("faithful", json!(faithful)),
            ("repetitions", Value::Array(repetitions)),
        ],
        stage: None,
        drawn: played.picture(),
    };
    let mut end = if args.json || !rows.is_empty() { found.show(console)? } else { ExitStatus::Interrupted };
    if complete && plan.report {
        found.report(console)?;
    }
    if !args.json {
        reports.iter().for_each(|report| console.note(&report.said));
    }
    found.close(console, &watch)?;
    for report in reports {
        end = report.judge(end, console);
    }
    Ok(end)
}

/// Refuses flows that real time does not support, and output files that parallel repetitions would share.
pub(crate) fn refuse(sweep: &Sweep, jobs: u16) -> Result<(), Failure> {
    let shared = |command: &&Command| matches!(command.metrics, Some(Reports::File(_)));
    let mut commands = sweep.cells.held().iter().flat_map(|cell| &cell.model.commands);
    if let Some(command) = commands.find(|command| jobs > 1 && shared(command)) {
        return Err(Failure::usage(
            format!("parallel repetitions would write to the same metrics file of `{}`", command.name),
            "use --jobs 1, or metrics = \"json\", which reads the metrics from its standard output",
        ));
    }
    if let Some(bearer) = sweep.cells.held().iter().find_map(|cell| lab::sweep::pcu(&cell.model)) {
        return Err(Failure::usage(
            format!("the PCU of bearer `{bearer}` is a program in virtual time"),
            "`williwaw run` plays it; leave `pcu` out for the model's RLC/MAC in real time",
        ));
    }
    let flows = || sweep.cells.held().iter().flat_map(|cell| &cell.model.flows);
    let own = |flow: &Flow, is: fn(&Protocol) -> bool| {
        let mut kernels = flow.transport.kernels().into_iter().flatten();
        kernels.any(|linux| is(&linux.protocol) && linux.program.is_none())
    };
    if let Some(flow) =
        flows().find(|flow| own(flow, |p| matches!(p, Protocol::Mptcp | Protocol::Dccp { .. })))
    {
        return Err(Failure::usage(
            format!("in real time the sockets of flow `{}` must be TCP or UDP", flow.name),
            "`williwaw run` plays it with kernels in virtual time; [[command]] runs any program",
        ));
    }
    if let Some(flow) = flows().find(|flow| own(flow, |p| *p == Protocol::Sctp)) {
        return Err(Failure::usage(
            format!("in real time the SCTP peer of the model of flow `{}` must be a program", flow.name),
            "add `program` to `protocol`, and \"sctp\" for the other end; `williwaw run` plays kernels in virtual \
             time",
        ));
    }
    let talks = |flow: &&Flow| {
        let mixed = flow.transport.linux().is_some() && flow.transport.kernels().contains(&None);
        mixed && flow.app.bulk().is_none()
    };
    if let Some(flow) = flows().find(talks) {
        return Err(Failure::usage(
            format!(
                "in real time a flow between a model and a kernel must be bulk, and flow `{}` is not",
                flow.name
            ),
            "`williwaw run` plays it with a kernel in virtual time; write app = { bulk = {} }, or one transport for both ends",
        ));
    }
    let slow = |flow: &&Flow| {
        let reader = flow.transport.kernels()[1];
        flow.reads.is_some() && reader.is_some_and(|linux| linux.program.is_some())
    };
    if let Some(flow) = flows().find(slow) {
        return Err(Failure::usage(
            format!("the program at the reading end of flow `{}` sets its own reading rate", flow.name),
            "leave `read-rate` and `read-pause` out",
        ));
    }
    Ok(())
}

/// Player of repetitions.
enum RepPlayer {
    /// This host carries the path; machines may be at agents.
    Local { options: Options, control: Option<Arc<AgentControl>>, events: bool },
    /// An agent carries the path.
    Remote(RemotePlayer),
}

/// Repetitions to play, and how.
struct PendingReps<'a> {
    sweep: &'a Sweep,
    player: RepPlayer,
    /// Whether the first repetition is drawn.
    picture: bool,
    /// Whether files of the first repetition are kept in memory for the outputs of the verb.
    keep_first: bool,
    store: Option<&'a Store>,
    /// Number of parallel repetitions.
    jobs: usize,
    stop: &'a AtomicBool,
    console: &'a Console,
}

/// Reports of finished repetitions, and the files of the first one.
#[derive(Default)]
struct FinishedReps {
    reports: Vec<RepReport>,
    first: Option<((u32, u64), RepArtefacts)>,
}

impl Args {
    /// Player of the repetitions, and the calibration of its host.
    fn player(
        &self,
        plan: &Plan,
        listed: Option<&Listed>,
        console: &Console,
    ) -> Result<(RepPlayer, Readiness), Failure> {
        let capture = self.pcap.is_some() || self.captures;
        if let Some(listed) = listed.filter(|listed| listed.path.is_some()) {
            let mut task = Task::of(&plan.input, plan.repetitions, plan.given_seed);
            task.lateness_ns = self.clock.lateness.as_nanos();
            task.realtime = !self.clock.no_realtime;
            task.offload = !self.no_offload;
            task.spin_ns = self.clock.spin.map(Span::as_nanos);
            (task.events, task.capture, task.picture) = (self.events, capture, self.draws_first());
            let (ordering, begun) = RemotePlayer::begin(listed, &task.bytes(&plan.input.files))?;
            begun.said.iter().for_each(|words| console.note(words));
            return Ok((RepPlayer::Remote(ordering), begun));
        }
        let control = listed.map(|listed| listed.connect(console)).transpose()?;
        let calibration = Calibration::of_this_machine(!self.clock.no_realtime, self.clock.spin);
        console.note(&summary::calibrated(&calibration, "this machine"));
        let options = Options {
            trace: self.draws_first() || self.events,
            capture,
            realtime: calibration.method().realtime,
            offload: !self.no_offload,
            spin: calibration.method().spin,
            lateness_limit: self.clock.lateness,
        };
        let begun = Readiness {
            kernel: local_player::kernel_version(),
            calibration: summary::calibration(&calibration),
            said: Vec::new(),
        };
        Ok((RepPlayer::Local { options, control, events: self.events }, begun))
    }

    fn draws_first(&self) -> bool {
        self.svg.is_some() || self.report
    }

    /// Writes the requested outputs of the first repetition.
    fn write_first(&self, played: &FinishedReps, sweep: &Sweep, console: &Console) -> Result<(), Failure> {
        let Some(((cell, _), files)) = &played.first else { return Ok(()) };
        let write = |path: &Path, bytes: &[u8]| {
            crate::output::atomic_write::whole(path, bytes)?;
            console.note(&format!("wrote {}", path.display()));
            Ok::<_, Failure>(())
        };
        if let Some(path) = &self.svg {
            let Some((_, picture)) = played.picture() else {
                return Err(Failure::usage(
                    "there is no flow to draw",
                    "leave out --svg; --pcap has the packets of commands",
                ));
            };
            write(path, picture.svg(900, 640).as_bytes())?;
        }
        match (&self.pcap, &files.capture) {
            (Some(path), Some(capture)) => {
                write(path, capture)?;
                let model = &sweep.cells.held()[*cell as usize].model;
                for (node, bytes) in captures::nodes(capture, model) {
                    write(&captures::beside(path, &node), &bytes)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl PendingReps<'_> {
    /// Plays every repetition that has no row in `rows`, up to `jobs` in parallel, and stores each one at its end.
    /// Returns the reports, all rows, and whether all repetitions are finished.
    fn play(
        &self,
        mut rows: Vec<Row>,
        kept: Option<&mut RunStore>,
    ) -> Result<(FinishedReps, Vec<Row>, bool), Failure> {
        let repetitions = u64::from(self.sweep.repetitions);
        rows.retain(|row| row.repetition < repetitions);
        let done = finished(&rows);
        let all =
            (0..self.sweep.cells.len() as u32).flat_map(|cell| (0..repetitions).map(move |r| (cell, r)));
        let todo: Vec<(u32, u64)> = all.filter(|key| !done.contains(key)).collect();
        let next = AtomicUsize::new(0);
        let lives: Vec<Arc<Live>> = (0..self.jobs.min(todo.len())).map(|_| Arc::default()).collect();
        let sink = Mutex::new((FinishedReps::default(), rows, kept, None::<Failure>));
        let ended = AtomicUsize::new(0);
        let screen = lateness::Screen { lives: &lives, done: &ended, total: todo.len() };
        lateness::shown(self.console, &screen, || {
            std::thread::scope(|scope| {
                for live in &lives {
                    scope.spawn(|| {
                        loop {
                            let i = next.fetch_add(1, Relaxed);
                            let Some(&key) = todo.get(i).filter(|_| !self.stop.load(Relaxed)) else {
                                return;
                            };
                            let outcome = self.one(key, todo.first() == Some(&key), live);
                            ended.fetch_add(1, Relaxed);
                            let Ok(mut sink) = sink.lock() else { return };
                            let (played, rows, kept, fault) = &mut *sink;
                            match outcome.and_then(|one| self.keep(one, rows, kept.as_deref_mut())) {
                                Ok(one) => played.take(one, self.keep_first),
                                // Stopped while agents prepared. Other errors are reported, also after a stop
                                // request.
                                Err(failure) if failure.end == ExitStatus::Interrupted => {}
                                Err(failure) => {
                                    *fault = Some(failure);
                                    next.store(todo.len(), Relaxed);
                                }
                            }
                        }
                    });
                }
            });
        });
        let (mut played, rows, _, fault) =
            sink.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(failure) = fault {
            return Err(failure);
        }
        played.reports.sort_by_key(RepReport::key);
        let complete = finished(&rows).len() as u64 == self.sweep.total();
        Ok((played, rows, complete))
    }

    /// Plays one repetition, given by cell and number.
    fn one(
        &self,
        key: (u32, u64),
        first: bool,
        live: &Arc<Live>,
    ) -> Result<(RepReport, RepArtefacts), Failure> {
        let picture = self.picture && first;
        let called = self.store.and_then(Store::name).unwrap_or("emulate".into());
        match &self.player {
            RepPlayer::Remote(ordering) => ordering.play(key, (picture, &called), live, self.stop),
            RepPlayer::Local { options, control, events } => {
                let here = LocalPlayer {
                    sweep: self.sweep,
                    options,
                    elsewhere: control.clone().map(|control| control as Arc<dyn RemoteHosts>),
                    called: &called,
                    // Parallel repetitions have different names for `williwaw trigger`.
                    beside: self.jobs > 1,
                    events: *events,
                };
                let outputs = match self.store {
                    Some(store) => Outputs::Folder(store.outputs(key)),
                    None if numbers::any(&self.sweep.cells.held()[key.0 as usize].model) => Outputs::Memory,
                    None => Outputs::Nowhere,
                };
                here.play(key, outputs, picture, live, self.stop)
            }
        }
    }

    /// Stores a finished repetition; `None` for a stopped one, which is discarded.
    fn keep(
        &self,
        (report, files): (RepReport, RepArtefacts),
        rows: &mut Vec<Row>,
        kept: Option<&mut RunStore>,
    ) -> Result<Option<(RepReport, RepArtefacts)>, Failure> {
        if self.stop.load(Relaxed) && !report.complete {
            return Ok(None);
        }
        let new = report.rows();
        if let Some(store) = self.store {
            store.write(&report, &files, &self.sweep.cells.held()[report.cell as usize].model)?;
        }
        if let Some(kept) = kept {
            kept.folder.append(&new)?;
        }
        rows.extend(new);
        Ok(Some((report, files)))
    }
}

impl FinishedReps {
    /// Picture of the first repetition, with the number of its cell.
    fn picture(&self) -> Option<(usize, report::Picture)> {
        let ((cell, _), files) = self.first.as_ref()?;
        let picture = serde_json::from_slice(files.picture.as_ref()?).ok()?;
        Some((*cell as usize, picture))
    }

    /// Adds a finished repetition; with `keep_first` also its files, if it is the first so far.
    fn take(&mut self, one: Option<(RepReport, RepArtefacts)>, keep_first: bool) {
        let Some((report, files)) = one else { return };
        let key = report.key();
        if keep_first && self.first.as_ref().is_none_or(|(first, _)| key < *first) {
            self.first = Some((key, files));
        }
        self.reports.push(report);
    }
}

impl From<netns::Error> for Failure {
    fn from(error: netns::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Error::Stopped = error {
            return Failure {
                end: ExitStatus::Interrupted,
                why: CliError::Sentence(error.to_string(), String::new()),
            };
        }
        if let Error::LinkProcess(why) = error {
            return Failure::usage(why, link_processes::REMEDY);
        }
        let remedy = match &error {
            Error::Kernel(netns::Error::Rights { .. }) => {
                "start it as root, or let users make user namespaces (sysctl kernel.unprivileged_userns_clone, \
                 user.max_user_namespaces) and open /dev/net/tun"
            }
            Error::Wire { mend, .. } => mend,
            Error::Agent { .. } => {
                "`williwaw agent` must run there; its messages on its own host have the details"
            }
            Error::Kernel(netns::Error::Helper(_)) => {
                "install passt (it has pasta) or slirp4netns, or do without --uplink"
            }
            _ => "",
        };
        Failure::machine(error.to_string(), remedy)
    }
}
