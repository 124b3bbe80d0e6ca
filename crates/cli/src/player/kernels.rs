//! Repetitions with kernels in virtual time: choice of the kernel, player, counters, captures and pictures,
//! test of a kernel.

use super::numbers;
use super::summary::{command, command_complaints, facts_document, values};
use crate::console::clock::Stopwatch;
use crate::console::environment;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::output::labels;
use base::{Span, units};
use lab::measure::FlowMeasures;
use lab::sweep::{Counters, Refused, RepetitionPlayer, RepetitionResults, Sweep};
use netns::facts::FlowFacts;
use netns::job::CommandFacts;
use report::Picture;
use results::numbers::Reported;
use scenario::Model;
use scenario::metric::Metric;
use scenario::model::{Command, Flow, Linux, Protocol, Reports};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use uml::{Error, KernelOutcome, Kernels, Options, kernel};

/// Name of the default kernel.
pub(crate) const DEFAULT: &str = "default";
/// Default interval of `TCP_INFO` samples for a picture.
const LOOK: Span = Span::from_millis(20);
/// Counters of the sender's kernel that are printed by default.
pub(crate) const SENDER_COUNTERS: &[&str] =
    &["TcpRetransSegs", "TCPTimeouts", "TCPSpuriousRTOs", "TCPLossUndo", "TCPLossProbes", "TCPFastRetrans"];
/// Counters of the sender's kernel for SCTP, under the names of `/proc/net/sctp/snmp`.
const SCTP_COUNTERS: &[&str] =
    &["SctpOutSCTPPacks", "SctpT3RtxExpireds", "SctpT3Retransmits", "SctpFastRetransmits"];
/// Counters of the receiver's kernel that are printed if the sender is a model.
const RECEIVER_COUNTERS: &[&str] = &["TcpInSegs", "TCPOFOQueue", "TCPDSACKOldSent", "TCPDSACKOfoSent"];

/// Counters to print of a flow over `protocol`, of its receiver if `receives`; none for a protocol without counters of
/// retransmissions.
fn counters(protocol: Option<Protocol>, receives: bool) -> &'static [&'static str] {
    match (protocol, receives) {
        (Some(Protocol::Tcp | Protocol::Mptcp), true) => RECEIVER_COUNTERS,
        (Some(Protocol::Tcp | Protocol::Mptcp), false) => SENDER_COUNTERS,
        (Some(Protocol::Sctp), false) => SCTP_COUNTERS,
        _ => &[],
    }
}

pub(crate) fn span(text: &str) -> Result<Span, String> {
    Ok(units::parse_span(text)?)
}

/// Kernel options of the command line.
#[derive(Clone, Debug)]
pub(crate) struct KernelOptions {
    pub(crate) linux: Option<String>,
    pub(crate) look: Option<Span>,
    pub(crate) patience: Span,
}

/// Cache directory of kernels and their files.
pub(crate) fn cache() -> Result<PathBuf, Failure> {
    environment::cache().ok_or_else(|| {
        Failure::machine("no cache directory is set", "set HOME or XDG_CACHE_HOME to a folder of yours")
    })
}

/// Path of the kernel: by name or path in `given`, else by the environment, else the default kernel in the cache.
pub(crate) fn chosen(given: Option<&str>, cache: &Path) -> Result<PathBuf, Failure> {
    let named = |name: &str| {
        if name.contains('/') { PathBuf::from(name) } else { kernel::place(cache, name) }
    };
    let path = match given {
        Some(name) => named(name),
        None => environment::linux().unwrap_or_else(|| kernel::place(cache, DEFAULT)),
    };
    if path.is_file() {
        return Ok(path);
    }
    let what = match given {
        Some(name) => format!("there is no kernel `{name}`"),
        None => "there is no kernel for virtual time".to_owned(),
    };
    Err(Failure::machine(what, "build one: williwaw linux build; or name the binary of one: --linux PATH"))
}

/// Whether the environment names a kernel or the default kernel is installed. A wrong path in the environment is
/// reported later.
pub(crate) fn default_exists() -> Result<bool, Failure> {
    Ok(environment::linux().is_some() || kernel::place(&cache()?, DEFAULT).is_file())
}

/// Results of a repetition beyond its measures.
#[derive(Clone)]
struct RepFacts {
    flows: Vec<Option<FlowFacts>>,
    commands: Vec<CommandFacts>,
    /// Time (s) and name of each trigger called.
    triggers: Vec<(f64, String)>,
    /// Metrics that commands reported.
    own: Vec<Reported>,
    /// Faults of the reported metrics, and whether a command reported none.
    own_faults: (Vec<(String, String)>, bool),
}

/// Facts by cell and repetition.
type Facts = BTreeMap<(u32, u64), RepFacts>;

/// Plays repetitions with kernels, and stores their facts.
pub(crate) struct KernelPlayer {
    kernels: Kernels,
    options: Options,
    release: String,
    facts: Mutex<Facts>,
    /// Run folder, for the output of commands.
    folder: Option<PathBuf>,
}

impl KernelPlayer {
    /// Prepares kernels for the sweep; `None` if no flow, command or real PCU needs one.
    pub(crate) fn of(sweep: &Sweep, kernel_options: &KernelOptions) -> Result<Option<KernelPlayer>, Failure> {
        if sweep.cells.held().iter().all(|cell| lab::sweep::guest(&cell.model).is_none()) {
            return Ok(None);
        }
        if let Some(hop) = sweep.cells.held().iter().find_map(|cell| lab::sweep::process(&cell.model)) {
            return Err(Failure::usage(
                format!("hop `{hop}` is served by a program and a kernel takes part: not in virtual time"),
                "`williwaw emulate` plays both in real time; with models at all ends `run` plays it",
            ));
        }
        KernelPlayer::for_models(sweep.cells.held().iter().map(|cell| &cell.model), kernel_options).map(Some)
    }

    /// Prepares kernels for these models.
    pub(crate) fn for_models<'a>(
        models: impl Iterator<Item = &'a Model>,
        kernel_options: &KernelOptions,
    ) -> Result<KernelPlayer, Failure> {
        let models: Vec<&Model> = models.collect();
        let speakers = || {
            models.iter().flat_map(|model| &model.flows).flat_map(|flow| flow.transport.kernels()).flatten()
        };
        let stations: Vec<&Linux> = models
            .iter()
            .flat_map(|model| model.stations.iter().map(|&node| &model.nodes[node].linux))
            .collect();
        let named = |linux: &'a Linux| linux.kernel.as_deref();
        let mut asked: BTreeSet<Option<&str>> =
            speakers().map(named).chain(stations.iter().map(|&linux| named(linux))).collect();
        // The program of a real PCU runs in the default kernel.
        let with_pcu = models.iter().any(|model| lab::sweep::pcu(model).is_some());
        asked.extend(with_pcu.then_some(None));
        let stage = KernelPlayer::with(&asked, kernel_options)?;
        let dccp = |linux: &&Linux| matches!(linux.protocol, Protocol::Dccp { .. });
        let speakers: BTreeSet<Option<&str>> = speakers().filter(dccp).map(named).collect();
        for kernel in speakers {
            kernel::has_dccp(&stage.kernels.find(kernel)?)?;
        }
        let commands = models.iter().flat_map(|model| &model.commands);
        let file = |command: &&Command| matches!(command.metrics, Some(Reports::File(_)));
        if let Some(command) = { commands }.find(file) {
            return Err(Failure::usage(
                format!(
                    "in virtual time the metrics of `{}` must come from its standard output",
                    command.name
                ),
                "metrics = \"json\"",
            ));
        }
        for linux in stations {
            kernel::has_overlays(&stage.kernels.find(named(linux))?)?;
        }
        if with_pcu {
            kernel::has_overlays(&stage.kernels.find(None)?)?;
        }
        Ok(stage)
    }

    /// Sets up the kernels with these names; `None` is the default kernel.
    pub(crate) fn with(
        asked: &BTreeSet<Option<&str>>,
        kernel_options: &KernelOptions,
    ) -> Result<KernelPlayer, Failure> {
        let cache = cache()?;
        // If every flow names its kernel, the default kernel is not needed.
        let first = match asked.first().copied().flatten() {
            Some(name) if kernel_options.linux.is_none() => chosen(Some(name), &cache)?,
            _ => chosen(kernel_options.linux.as_deref(), &cache)?,
        };
        let (init, chance) = kernel::guest_programs(&cache)?;
        uml::tidy(&environment::scratch());
        let kernels = Kernels {
            kernel: absolute(first),
            named: cache.join("kernels"),
            init,
            chance,
            place: environment::scratch(),
            patience: Duration::from_nanos(kernel_options.patience.as_nanos()),
            folder: environment::folder(),
        };
        let mut release = BTreeSet::new();
        for name in asked {
            release.insert(kernel::probe(&kernels.find(*name)?)?);
        }
        let release = release.into_iter().collect::<Vec<_>>().join(", ");
        let options = Options { look: kernel_options.look, ..Options::default() };
        Ok(KernelPlayer { kernels, options, release, facts: Mutex::default(), folder: None })
    }

    /// Sets the run folder, for the output of commands.
    pub(crate) fn keep_in(&mut self, folder: &Path) {
        self.folder = Some(folder.to_owned());
    }

    /// Writes the output of commands into the run folder, in the layout of `emulate`.
    fn keep(&self, cell: u32, repetition: u64, commands: &[uml::Command]) -> std::io::Result<()> {
        let Some(folder) = self.folder.as_ref().filter(|_| !commands.is_empty()) else { return Ok(()) };
        let folder = folder.join("commands").join(format!("{cell}-{repetition}"));
        std::fs::create_dir_all(&folder)?;
        for command in commands {
            for (bytes, end) in command.wrote.iter().zip(["stdout", "stderr"]) {
                std::fs::write(folder.join(format!("{}.{end}", command.facts.name)), bytes)?;
            }
        }
        Ok(())
    }

    /// Prints the faults of commands, and returns the exit status.
    pub(crate) fn judge(&self, end: ExitStatus, console: &Console) -> ExitStatus {
        let mut end = end;
        for ((cell, repetition), rep) in self.facts() {
            let which = format!("repetition {repetition} of cell {cell}");
            for facts in &rep.commands {
                let (complaints, failed) = command_complaints(facts, &which);
                complaints.iter().for_each(|(head, text)| console.complaint(head, text));
                if failed && end == ExitStatus::Good {
                    end = ExitStatus::Failed;
                }
            }
            let (complaints, failed) = rep.own_faults;
            complaints.iter().for_each(|(head, text)| console.complaint(head, text));
            if failed && end == ExitStatus::Good {
                end = ExitStatus::Failed;
            }
        }
        end
    }

    /// Metrics that commands reported in this run, and in earlier repetitions of the run folder.
    pub(crate) fn reported(&self, folder: Option<&Path>, sweep: &Sweep, ran: &[(u32, u64)]) -> Vec<Reported> {
        let facts = self.facts();
        let earlier: Vec<(u32, u64)> = ran.iter().copied().filter(|key| !facts.contains_key(key)).collect();
        let mut all = folder.map_or_else(Vec::new, |folder| numbers::kept(folder, sweep, &earlier));
        all.extend(facts.into_values().flat_map(|rep| rep.own));
        all
    }

    fn facts(&self) -> Facts {
        self.facts.lock().map(|facts| facts.clone()).unwrap_or_default()
    }

    /// Plays a repetition again, even if its results are stored.
    fn again(&self, model: &Model, repetition: u64, options: Options) -> Result<KernelOutcome, Failure> {
        Ok(uml::once(model, repetition, &self.kernels, &options, &AtomicBool::new(false))?)
    }

    /// Plays a repetition again and writes a capture of the packet ports.
    pub(crate) fn capture(&self, model: &Model, repetition: u64, path: &Path) -> Result<(), Failure> {
        let options = Options { capture: true, ..self.options };
        let capture = self.again(model, repetition, options)?.capture.unwrap_or_default();
        let file = std::fs::File::create(path);
        let written = file.and_then(|file| capture.write(&mut std::io::BufWriter::new(file)));
        written.map_err(|error| Failure::write(path, &error))
    }

    /// Runs a repetition again and draws each flow, with its kernel's state.
    pub(crate) fn pictures(&self, model: &Model, repetition: u64) -> Result<Vec<(String, Picture)>, Failure> {
        Ok(self.drawn(model, repetition)?)
    }

    fn drawn(&self, model: &Model, repetition: u64) -> Result<Vec<(String, Picture)>, Error> {
        let options = Options { trace: true, look: self.options.look.or(Some(LOOK)), ..self.options };
        let outcome = uml::once(model, repetition, &self.kernels, &options, &AtomicBool::new(false))?;
        let mut records = outcome.ran.world.network.records().to_vec();
        records.sort_by_key(|record| record.t);
        let draw = |(i, flow): (usize, &Flow)| {
            let mut picture = lab::picture::draw(model, repetition, i, &outcome.ran, &records);
            if let Some(facts) = outcome.facts.get(i).and_then(Option::as_ref) {
                crate::output::kernel_state::annotate(&mut picture, facts);
            }
            (flow.name.clone(), picture)
        };
        Ok(model.flows.iter().enumerate().map(draw).collect())
    }

    /// Prints kernel counters, one line for each cell and flow, as means over the repetitions of this run.
    pub(crate) fn tell(&self, sweep: &Sweep, console: &Console) {
        let facts = self.facts();
        if facts.is_empty() {
            return;
        }
        let mut text = format!("Linux {} in virtual time", self.release);
        let cells: BTreeSet<usize> = facts.keys().map(|(cell, _)| *cell as usize).collect();
        for (i, cell) in cells.into_iter().filter_map(|i| Some((i, sweep.cells.good(i)?))) {
            for (k, flow) in cell.model.flows.iter().enumerate() {
                let of_cell = facts.iter().filter(|((cell, _), _)| *cell as usize == i);
                let of_flow: Vec<&FlowFacts> =
                    of_cell.filter_map(|(_, rep)| rep.flows.get(k)?.as_ref()).collect();
                if of_flow.is_empty() {
                    continue;
                }
                let receives = flow.transport.kernels()[0].is_none();
                let count = |facts: &FlowFacts, name: &str| match receives {
                    true => facts.to.get(name).copied().unwrap_or(0),
                    false => facts.counter(name),
                };
                let mean = |name: &str| {
                    let sum: u64 = of_flow.iter().map(|facts| count(facts, name)).sum();
                    format!("{name} {}", (sum as f64 / of_flow.len() as f64 * 100.0).round() / 100.0)
                };
                let label = labels::cell(&cell.params);
                let of = if label.is_empty() { String::new() } else { format!("{label}, ") };
                let linux = flow.transport.kernels().into_iter().flatten().next();
                let counters = counters(linux.map(|linux| linux.protocol), receives);
                let means: Vec<String> = counters.iter().map(|name| mean(name)).collect();
                if !means.is_empty() {
                    text.push_str(&format!("\n  {of}{}: {}", flow.name, means.join(", ")));
                }
                let mut faults: BTreeSet<&str> = BTreeSet::new();
                faults.extend(of_flow.iter().flat_map(|facts| &facts.faults).map(String::as_str));
                for fault in faults {
                    text.push_str(&format!("\n    {fault}"));
                }
            }
            for (k, command) in cell.model.commands.iter().enumerate().filter(|(_, c)| !c.serves) {
                let of_cell = facts.iter().filter(|((cell, _), _)| *cell as usize == i);
                let ends: Vec<_> = of_cell
                    .filter_map(|(_, rep)| rep.commands.get(k))
                    .map(|facts| facts.ended.status.as_ref().map(|status| status.code))
                    .collect();
                let good = ends.iter().filter(|code| **code == Some(0)).count();
                let label = labels::cell(&cell.params);
                let of = if label.is_empty() { String::new() } else { format!("{label}, ") };
                text.push_str(&format!("\n  {of}{}: status 0 in {good} of {}", command.name, ends.len()));
                let late = ends.iter().filter(|code| code.is_none()).count();
                if late > 0 {
                    text.push_str(&format!(", not complete at the limit in {late}"));
                }
            }
        }
        console.note(&text);
    }

    /// JSON of the facts of all repetitions.
    pub(crate) fn document(&self, sweep: &Sweep) -> Value {
        let repetitions: Vec<Value> = self
            .facts()
            .into_iter()
            .filter_map(|((cell, repetition), rep)| {
                let commands: serde_json::Map<String, Value> =
                    rep.commands.iter().map(|facts| (facts.name.clone(), command(facts))).collect();
                let prepared = sweep.cells.good(cell as usize)?;
                let named = prepared.model.flows.iter().zip(rep.flows);
                let flows: serde_json::Map<String, Value> = named
                    .filter_map(|(flow, facts)| Some((flow.name.clone(), facts_document(&facts?))))
                    .collect();
                let triggers: Vec<Value> =
                    rep.triggers.iter().map(|(t, name)| json!({ "t": t, "name": name })).collect();
                Some(json!({
                    "cell": cell,
                    "repetition": repetition,
                    "flows": flows,
                    "commands": commands,
                    "triggers": triggers,
                }))
            })
            .collect();
        json!({ "release": self.release, "repetitions": repetitions })
    }
}

/// Scenario of the kernel test: a download of about 20 s.
const TRIAL: &str = r#"
williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
rate = "50 kbit/s"
delay = "300 ms"
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = "linux"
app = { bulk = { bytes = "100 kB" } }
"#;

/// Runs a kernel twice; returns text with its version, the duration, and whether both captures were equal.
pub(crate) fn try_out(kernel: &Path) -> Result<String, Failure> {
    let release = kernel::probe(kernel)?;
    let cache = cache()?;
    let (init, chance) = kernel::guest_programs(&cache)?;
    let kernels = Kernels {
        kernel: absolute(kernel.to_owned()),
        named: cache.join("kernels"),
        init,
        chance,
        place: environment::scratch(),
        patience: Duration::from_secs(30),
        folder: environment::folder(),
    };
    let scenario = scenario::read_with("trial", TRIAL.as_bytes(), &scenario::NoFiles, &[])?;
    let options = Options { capture: true, ..Options::default() };
    let watch = Stopwatch::start();
    let run = || uml::once(scenario.first(), 0, &kernels, &options, &AtomicBool::new(false));
    let (one, other) = (run()?, run()?);
    let took = watch.seconds() / 2.0;
    let simulated = one.ran.flows.iter().find_map(|flow| flow.get(Metric::CompletionTime)).unwrap_or(0.0);
    let same = if one.capture == other.capture {
        "equal in both runs, byte for byte"
    } else {
        "different in the two runs"
    };
    Ok(format!("Linux {release}: {simulated:.1} s in {took:.2} s, {same}"))
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

impl RepetitionPlayer for KernelPlayer {
    fn play(
        &self,
        cell: u32,
        model: &Model,
        repetition: u64,
        stop: &AtomicBool,
    ) -> Result<Option<RepetitionResults>, Refused> {
        let outcome = uml::once(model, repetition, &self.kernels, &self.options, stop).map_err(refused)?;
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.keep(cell, repetition, &outcome.commands).map_err(|error| Refused {
            message: format!("the output of commands cannot be stored: {error}"),
            mend: String::new(),
            asked: false,
        })?;
        let done = outcome.ran.world.network.triggers().done();
        let triggers = done.map(|(at, name)| (at.as_secs_f64(), name.to_owned())).collect();
        let mut played = RepetitionResults::of(model, outcome.ran);
        let waited = outcome.commands.iter().filter(|command| !command.facts.serves);
        played.measures.extend(waited.map(|command| FlowMeasures { values: values(&command.facts) }));
        let (commands, mut outputs): (Vec<CommandFacts>, Vec<Vec<u8>>) = outcome
            .commands
            .into_iter()
            .map(|command| {
                let [out, _] = command.wrote;
                (command.facts, out)
            })
            .unzip();
        let outcomes = numbers::gather(model, &commands, None, |i| {
            outputs.get_mut(i).map(std::mem::take).unwrap_or_default()
        });
        let own = numbers::reported((cell, repetition), model, &outcomes);
        let which = format!("repetition {repetition} of cell {cell}");
        let own_faults = numbers::complaints(model, &outcomes, &which);
        if let Ok(mut facts) = self.facts.lock() {
            let rep = RepFacts { flows: outcome.facts, commands, triggers, own, own_faults };
            facts.insert((cell, repetition), rep);
        }
        Ok(Some(played))
    }

    fn release(&self) -> String {
        self.release.clone()
    }

    fn counted(&self) -> BTreeMap<(u32, u64), Vec<Counters>> {
        let facts = self.facts.lock().map(|mut facts| std::mem::take(&mut *facts)).unwrap_or_default();
        let from = |facts: Option<FlowFacts>| facts.map(|facts| facts.from).unwrap_or_default();
        facts.into_iter().map(|(key, rep)| (key, rep.flows.into_iter().map(from).collect())).collect()
    }

    fn draw(&self, model: &Model, repetition: u64, flow: usize) -> Result<Option<Picture>, Refused> {
        let mut pictures = self.drawn(model, repetition).map_err(refused)?;
        Ok((flow < pictures.len()).then(|| pictures.swap_remove(flow).1))
    }
}

fn refused(error: Error) -> Refused {
    Refused {
        message: error.to_string(),
        mend: error.help().to_owned(),
        asked: matches!(error, Error::Asked { .. }),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let why = refused(error);
        if why.asked {
            Failure::usage(why.message, why.mend)
        } else {
            Failure::machine(why.message, why.mend)
        }
    }
}
