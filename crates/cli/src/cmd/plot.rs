//! `williwaw plot`: one flow of one repetition as a time-sequence picture.

use crate::exit::{End, Failure};
use crate::input::{self, Input};
use crate::plan::VERSION;
use crate::record::Record;
use crate::talk::Talk;
use crate::{labels, render};
use report::{Page, Section};
use scenario::Model;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Draw one repetition as a time-sequence picture
///
/// Runs it again with its trace; the same seed gives the same repetition. Without --html or --svg
/// the picture is plot.html, which opens from disk.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A scenario, or the folder of a run
    file: PathBuf,
    /// Which repetition, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    rep: u64,
    /// Which cell of the grid, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    cell: u64,
    /// Which flow; without it, the first
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// Seed, in place of the scenario's own
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    #[command(flatten)]
    changes: crate::args::Changes,
    /// Write a page that can be zoomed and asked
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write a drawing for a paper
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print the picture's data as one JSON document
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(crate) fn run(args: Args, talk: &Talk) -> Result<End, Failure> {
    let (input, seed) = source(&args)?;
    let scenario = &input.scenario;
    talk.warnings(scenario.warnings());
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
    if let Some(flow) = lab::sweep::real(&model) {
        return Err(Failure::real(flow));
    }
    let flow = flow(&model, args.flow.as_deref())?;
    let mut picture = lab::picture::picture(&model, args.rep, flow);
    let params: Vec<(String, String)> =
        cell.params.iter().map(|(key, value)| (key.clone(), lab::sweep::plain(value))).collect();
    let label = labels::cell(&params);
    let title = if model.title.is_empty() { scenario.name().to_owned() } else { model.title.clone() };
    picture.title = if label.is_empty() { title.clone() } else { label };
    let caption = picture.caption();
    if let Some(path) = &args.svg {
        write(path, &picture.svg(900, 640), talk)?;
    }
    if args.json {
        talk.document(&json!({
            "schema": "williwaw-plot/1",
            "scenario": scenario.name(),
            "seed": model.run.seed,
            "version": VERSION,
            "cell": args.cell,
            "params": params.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "repetition": args.rep,
            "caption": caption,
            "picture": picture,
        }))?;
    } else {
        let lines = render::wrap(&caption, talk.width.unwrap_or(100));
        talk.data(&format!("{}\n", lines.join("\n")))?;
    }
    let default = (args.svg.is_none() && !args.json).then(|| PathBuf::from("plot.html"));
    if let Some(path) = args.html.or(default) {
        let page = Page {
            title,
            provenance: vec![
                ("version".to_owned(), VERSION.to_owned()),
                ("scenario".to_owned(), scenario.name().to_owned()),
                ("hash".to_owned(), scenario.hash()),
                ("seed".to_owned(), model.run.seed.to_string()),
                ("repetition".to_owned(), args.rep.to_string()),
            ],
            sections: vec![Section { items: vec![picture.into()], ..Section::default() }],
        };
        write(&path, &page.html(), talk)?;
    }
    Ok(End::Good)
}

fn source(args: &Args) -> Result<(Input, Option<u64>), Failure> {
    if args.file.is_dir() {
        let record = Record::read(&args.file)?;
        let input = record.input(&args.file, &args.changes.set)?;
        let kept = Some(record.seed).filter(|seed| *seed != input.scenario.first().run.seed);
        return Ok((input, args.seed.or(kept)));
    }
    Ok((input::read(&args.file, &args.changes.set)?, args.seed))
}

fn flow(model: &Model, name: Option<&str>) -> Result<usize, Failure> {
    let Some(name) = name else { return Ok(0) };
    model.flows.iter().position(|flow| flow.name == name).ok_or_else(|| {
        let names: Vec<&str> = model.flows.iter().map(|flow| flow.name.as_str()).collect();
        Failure::usage(format!("there is no flow `{name}`"), format!("there is {}", names.join(", ")))
    })
}

fn write(path: &Path, text: &str, talk: &Talk) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::write(path, &error))?;
    talk.note(&format!("wrote {}", path.display()));
    Ok(())
}
