//! `williwaw plot` of a simulated repetition, run again with its trace: picture of a flow, event table of the
//! path, Perfetto timeline.

use super::output::Drawn;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::input::files::{self, Input};
use crate::output::VERSION;
use crate::output::record::Record;
use crate::output::{labels, terminal};
use crate::player::kernels::{KernelOptions, KernelPlayer};
use report::{Layer, LayerEvent, Picture};
use scenario::Model;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Options for simulated repetitions only.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Of a scenario or a run")]
pub(super) struct Simulated {
    /// Repetition, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    rep: u64,
    /// Cell of the grid, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    cell: u64,
    /// Seed, in place of that in the scenario
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seed: Option<u64>,
    #[command(flatten)]
    changes: crate::console::args::Changes,
    /// Write the events of the path (gates, losses) as a table for --layers, to be drawn under a capture of the
    /// same repetition
    #[arg(long, value_name = "CSV")]
    layers_out: Option<PathBuf>,
    /// Write window, timer, queues, gates, states and losses as a timeline that ui.perfetto.dev opens
    #[arg(long, value_name = "JSON")]
    perfetto: Option<PathBuf>,
    /// The kernel of flows with `transport = "linux"`: a name given to `williwaw linux build`, or the path of a binary
    #[arg(long, value_name = "KERNEL")]
    linux: Option<String>,
    /// Interval of samples of the kernels' TCP_INFO, in virtual time [default: 20 ms]
    #[arg(long, value_name = "TIME", value_parser = crate::player::kernels::span)]
    look: Option<base::Span>,
    /// Real time after which a silent kernel is abandoned
    #[arg(long, value_name = "TIME", default_value = "30 s", value_parser = crate::player::kernels::span)]
    patience: base::Span,
}

impl Simulated {
    /// Refuses options that do not apply to a capture.
    pub(super) fn refuse(&self, file: &Path) -> Result<(), Failure> {
        let given = [
            ("--rep", self.rep > 0),
            ("--cell", self.cell > 0),
            ("--seed", self.seed.is_some()),
            ("--set", !self.changes.set.is_empty()),
            ("--layers-out", self.layers_out.is_some()),
            ("--perfetto", self.perfetto.is_some()),
            ("--linux", self.linux.is_some()),
            ("--look", self.look.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::usage(
                format!("{option} does not apply to a capture, and `{}` is one", file.display()),
                "leave it out, or give a scenario",
            )),
        }
    }
}

impl Simulated {
    /// Plays the repetition again, with kernels if the scenario has any, and draws the flow.
    fn picture(&self, model: &Model, flow: usize) -> Result<Picture, Failure> {
        if let Some(node) = model.nodes.iter().find(|node| node.wire.is_some()) {
            return Err(Failure::wire(&node.name));
        }
        if let Some(hop) = lab::sweep::process(model) {
            return Err(Failure::twice("plot", hop));
        }
        if lab::sweep::guest(model).is_none() {
            return Ok(lab::picture::picture(model, self.rep, flow));
        }
        let kernel_options =
            KernelOptions { linux: self.linux.clone(), look: self.look, patience: self.patience };
        let stage = KernelPlayer::for_models(std::iter::once(model), &kernel_options)?;
        let mut pictures = stage.pictures(model, self.rep)?;
        Ok(pictures.swap_remove(flow).1)
    }
}

impl Simulated {
    /// Writes the Perfetto timeline of the repetition; an error for real kernels and programs.
    fn timeline(&self, model: &Model, picture: &Picture, path: &Path) -> Result<(), Failure> {
        if let Some(real) = lab::sweep::real(model) {
            return Err(Failure::usage(
                format!("`{real}` is a real kernel or program, and only models have a timeline"),
                "leave --perfetto out",
            ));
        }
        let film = lab::packet_positions::packet_positions(model, self.rep);
        let document = lab::timeline::timeline(picture, &film);
        crate::output::atomic_write::whole(path, document.to_string())
    }
}

/// Runs the verb.
pub(super) fn run(all: &super::Args, console: &Console) -> Result<ExitStatus, Failure> {
    let args = &all.simulated;
    let (input, seed) = source(all)?;
    let scenario = &input.scenario;
    console.warnings(scenario.warnings());
    let cells = scenario.cell_count().unwrap_or(u64::MAX);
    if args.cell >= cells {
        return Err(Failure::usage(
            format!("there is no cell {}", args.cell),
            match cells {
                1 => "the scenario has no grid, so the only cell is 0".to_owned(),
                n => format!("they are numbered from 0 to {}", n - 1),
            },
        ));
    }
    let cell = scenario.cell(args.cell)?;
    let mut model = cell.model;
    if let Some(seed) = seed {
        model.run.seed = seed;
    }
    let flow = flow(&model, all.flow.as_deref())?;
    let mut picture = args.picture(&model, flow)?;
    let params: Vec<(String, String)> =
        cell.params.iter().map(|(key, value)| (key.clone(), lab::sweep::plain(value))).collect();
    let label = labels::cell(&params);
    let title = if model.title.is_empty() { scenario.name().to_owned() } else { model.title.clone() };
    picture.title = if label.is_empty() { title.clone() } else { label };
    if let Some(path) = &args.layers_out {
        let table = view::layers::write(&below(&picture));
        crate::output::atomic_write::whole(path, table)?;
        console.note(&format!("wrote {}", path.display()));
    }
    if let Some(path) = &args.perfetto {
        args.timeline(&model, &picture, path)?;
        console.note(&format!("wrote {}; open it in ui.perfetto.dev", path.display()));
    }
    picture.layers.extend(all.layers(0.0)?);
    picture.panels.extend(view::layers::panels(&mut picture.layers));
    let under = report::under(&picture.timeouts, &picture.sent, &picture.layers);
    let provenance = [
        ("version".to_owned(), VERSION.to_owned()),
        ("scenario".to_owned(), scenario.name().to_owned()),
        ("hash".to_owned(), scenario.hash()),
        ("seed".to_owned(), model.run.seed.to_string()),
        ("repetition".to_owned(), args.rep.to_string()),
    ];
    let caption = picture.caption();
    if let Some(offset) = all.receiver_offset {
        offset.apply(&mut picture);
    }
    if all.json {
        console.document(&json!({
            "schema": "williwaw-plot/1",
            "scenario": scenario.name(),
            "seed": model.run.seed,
            "version": VERSION,
            "cell": args.cell,
            "params": params.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "repetition": args.rep,
            "caption": caption,
            "picture": picture,
            "under": under,
        }))?;
    } else {
        let lines = terminal::wrap(&caption, console.width.unwrap_or(100));
        console.data(&format!("{}\n", lines.join("\n")))?;
        console.data(&super::captured::under_text(&under, &picture.layers))?;
    }
    let drawn = Drawn::Sequence(Box::new(picture));
    for (path, format) in all.places() {
        drawn.write(&path, format, all.size, &title, &provenance, console)?;
    }
    Ok(ExitStatus::Good)
}

/// Events of the path as layers: shaded intervals (gates, states), and losses by element.
fn below(picture: &Picture) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    let mut add = |name: &str, event: LayerEvent| match layers.iter_mut().find(|l| l.name == name) {
        Some(layer) => layer.events.push(event),
        None => layers.push(Layer { name: name.to_owned(), events: vec![event] }),
    };
    for spike in &picture.spikes {
        let event = LayerEvent {
            t: spike.from,
            until: Some(spike.until),
            event: spike.name.clone(),
            ..LayerEvent::default()
        };
        add("gate", event);
    }
    for drop in &picture.drops {
        let event = LayerEvent {
            t: drop.t,
            until: None,
            event: "lost".to_owned(),
            detail: format!("bytes {} to {}", drop.seq, drop.end),
            ..LayerEvent::default()
        };
        add(&drop.place, event);
    }
    layers.extend(picture.layers.iter().cloned());
    layers
}

fn source(all: &super::Args) -> Result<(Input, Option<u64>), Failure> {
    let args = &all.simulated;
    if all.file.is_dir() {
        let record = Record::read(&all.file)?;
        let input = record.input(&all.file, &args.changes.set)?;
        let kept = Some(record.seed).filter(|seed| *seed != input.scenario.first().run.seed);
        return Ok((input, args.seed.or(kept)));
    }
    Ok((files::read(&all.file, &args.changes.set)?, args.seed))
}

/// Maximum number of flows named in an error.
const NAMED: usize = 12;

fn flow(model: &Model, name: Option<&str>) -> Result<usize, Failure> {
    if model.flows.is_empty() {
        return Err(Failure::usage(
            "there is no flow to draw",
            "draw a scenario of commands from its captures: `emulate --captures`, then `plot` a capture",
        ));
    }
    let Some(name) = name else { return Ok(0) };
    model.flows.iter().position(|flow| flow.name == name).ok_or_else(|| {
        let names: Vec<&str> = model.flows.iter().map(|flow| flow.name.as_str()).take(NAMED).collect();
        let more = model.flows.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Failure::usage(format!("there is no flow `{name}`"), format!("there is {}{more}", names.join(", ")))
    })
}
