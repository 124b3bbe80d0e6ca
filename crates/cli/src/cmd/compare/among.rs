//! Ranking of several variants of one scenario in one metric, by paired differences to the best (`compare
//! --among`).
//!
//! Every variant has the weather of the same seed, repetition by repetition. The best mean ranks first. A
//! variant whose interval of the paired difference contains 0 shares the rank. A variant with values in fewer
//! repetitions ranks behind variants with more.

use super::side::{Side, SideSource};
use super::text::better;
use super::{Args, terms, unlike};
use crate::cmd::run::plan::ask;
use crate::console::clock::Stopwatch;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::console::{interrupt, progress};
use crate::output::VERSION;
use crate::output::table::{self, MetricFormat, TextTable};
use crate::output::terminal;
use crate::player::kernels::KernelOptions;
use lab::sweep::Progress;
use results::json::summary_document;
use results::pairs::{self, Contrast, Pair, PairVerdict};
use results::{Column, Summary};
use serde_json::{Value, json};
use std::cmp::Ordering;

/// Fewest variants of a ranking.
const LEAST: usize = 2;

/// A variant with its results.
struct Variant {
    side: Side,
    /// The metric over the repetitions with a value.
    own: Option<Summary>,
    /// Paired contrast with the best variant; the difference is the own value minus the best variant's.
    to_best: Contrast,
    same_weather: bool,
}

/// Variants by rank, the best first.
struct Ranking {
    variants: Vec<Variant>,
    column: Column,
    better: Ordering,
    repetitions: u32,
}

/// Runs the verb.
pub(super) fn run(args: &Args, console: &Console) -> Result<ExitStatus, Failure> {
    let (name, better) = metric(args)?;
    possible(args)?;
    let named = |own: &String| SideSource::read(&args.a, &args.changes.set, std::slice::from_ref(own));
    let mut all = args.among.iter().map(named).collect::<Result<Vec<SideSource>, Failure>>()?;
    let kernel_options = KernelOptions { linux: args.linux.clone(), look: None, patience: args.patience };
    let first = [named(&args.among[0])?, named(&args.among[1])?];
    let terms = terms(args, &first, &kernel_options, interrupt::watch(console))?;
    console.warnings(first[0].input.scenario.warnings());
    if !args.yes {
        ask(&first[0].input.scenario, terms.repetitions, console)?;
    }
    let [one, other] = &first;
    let label = |named: &SideSource| named.own_words(if named.own == one.own { other } else { one });
    let mut ready = Vec::new();
    for named in all.drain(..) {
        let sweep = named.sweep(&terms)?;
        let words = label(&named);
        if sweep.cells.len() != 1 {
            return Err(Failure::usage(
                format!(
                    "with {words} the scenario has {} cells, and a variant must have one",
                    sweep.cells.len()
                ),
                "remove [grid], or choose one cell with --set",
            ));
        }
        ready.push(named.ready(words, sweep, &terms, None)?);
    }
    let watch = Stopwatch::start();
    let total: u64 = ready.iter().map(super::side::PreparedSide::total).sum();
    let sides = progress::shown(console, |tell| {
        let mut done = 0;
        let mut sides = Vec::new();
        for one in ready {
            let (before, own) = (done, one.total());
            let of_one = |progress: Progress| tell(before + progress.done, total);
            sides.push(one.side(&terms, &of_one, console)?);
            done += own;
        }
        Ok::<_, Failure>(sides)
    })?;
    let complete = sides.iter().all(|side| side.complete);
    let ranking = Ranking::of(sides, &name, better, terms.repetitions)?;
    if args.json {
        let mut document = ranking.document();
        document["seed"] = json!(terms.seed);
        document["version"] = json!(VERSION);
        document["complete"] = json!(complete);
        console.document(&document)?;
    } else {
        let mut text = terminal::wrap(&ranking.sentence(), console.width.unwrap_or(usize::MAX)).join("\n");
        text.push_str("\n\n");
        text.push_str(&terminal::text(&ranking.board(), console.width, console.colour));
        console.data(&text)?;
    }
    if !complete {
        console.note("stopped: only finished repetitions were compared");
        return Ok(ExitStatus::Interrupted);
    }
    console.note(&format!("compared in {:.2} s", watch.seconds()));
    let stages = ranking.variants.iter().filter_map(|variant| variant.side.stage.as_ref());
    Ok(stages.fold(ExitStatus::Good, |end, stage| stage.judge(end, console)))
}

/// Metric of the ranking; an error for a metric without a better direction.
fn metric(args: &Args) -> Result<(String, Ordering), Failure> {
    let help = "name one: --metrics message_delay_s";
    let name = match args.metrics.as_deref() {
        Some([name]) if name != table::ALL => name,
        _ => return Err(Failure::usage("variants are ranked by one metric", help)),
    };
    let better = better(name).ok_or_else(|| {
        Failure::usage(
            format!("the metric `{name}` has no better direction, so it cannot rank variants"),
            help,
        )
    })?;
    Ok((name.clone(), better))
}

/// Refuses arguments that conflict with a ranking.
fn possible(args: &Args) -> Result<(), Failure> {
    if args.among.len() < LEAST {
        return Err(Failure::usage(
            "a ranking needs at least two variants",
            "write --among KEY=VALUE for each of them",
        ));
    }
    let others = [
        (args.b.is_some(), "a second scenario"),
        (!args.set_a.is_empty() || !args.set_b.is_empty(), "--set-a and --set-b"),
        (args.out.is_some(), "--out"),
        (args.report.is_some(), "--report"),
        (args.no_worse.is_some(), "--no-worse"),
        (args.flows, "--flows"),
        (args.emulate, "--emulate"),
    ];
    if let Some((_, what)) = others.iter().find(|(given, _)| *given) {
        return Err(Failure::usage(
            format!("--among ranks variants of one scenario; {what} compares two"),
            "leave one of them out",
        ));
    }
    if args.a.is_dir() {
        return Err(Failure::usage("a finished run has no variants", "name its scenario"));
    }
    let seed = |own: &String| own.trim_start().starts_with("run.seed") || own.starts_with("run.repetitions");
    if args.among.iter().any(seed) {
        return Err(Failure::usage(
            "all variants use one seed and the same number of repetitions",
            "use --seed and --reps",
        ));
    }
    Ok(())
}

impl Ranking {
    fn of(sides: Vec<Side>, name: &str, better: Ordering, repetitions: u32) -> Result<Ranking, Failure> {
        let places = |a: &Side, b: &Side| {
            let mut all = pairs::columns(&a.header, &b.header);
            all.retain(|&(at, _)| a.header.columns[at].name == name);
            all
        };
        let contrast = |a: &Side, b: &Side| -> Result<Contrast, Failure> {
            let rows = Pair::new((&a.header, &a.rows), (&b.header, &b.rows))?;
            Ok(rows.contrast((0, 0), &places(a, b), false)?.metrics.pop().unwrap_or_default())
        };
        // A variant paired with itself yields the metric over all repetitions with a value.
        let own =
            sides.iter().map(|side| Ok(contrast(side, side)?.b)).collect::<Result<Vec<_>, Failure>>()?;
        let mut order: Vec<usize> = (0..sides.len()).collect();
        let given = |i: usize| own[i].map_or(0, |summary: Summary| summary.n);
        let mean = |i: usize| {
            own[i].map_or(f64::INFINITY, |summary| match better {
                Ordering::Greater => -summary.mean,
                _ => summary.mean,
            })
        };
        order.sort_by(|&a, &b| given(b).cmp(&given(a)).then(mean(a).total_cmp(&mean(b))));
        let best = &sides[order[0]];
        let column = best.header.columns.iter().find(|column| column.name == name);
        let column = column.cloned().ok_or_else(|| {
            Failure::usage(
                format!("no variant yields the metric `{name}`"),
                "`williwaw run` lists the metrics of the scenario",
            )
        })?;
        let mut contrasts = Vec::new();
        for &i in &order {
            let same = unlike(&best.sweep, &sides[i].sweep, (0, 0)).is_empty();
            contrasts.push((i, own[i], contrast(best, &sides[i])?, same));
        }
        let mut sides: Vec<Option<Side>> = sides.into_iter().map(Some).collect();
        let variants = contrasts.into_iter().filter_map(|(i, own, to_best, same_weather)| {
            Some(Variant { side: sides[i].take()?, own, to_best, same_weather })
        });
        let variants = variants.collect();
        Ok(Ranking { variants, column, better, repetitions })
    }

    fn face(&self) -> MetricFormat {
        let all: Vec<&Summary> = self.variants.iter().filter_map(|variant| variant.own.as_ref()).collect();
        table::face(&self.column.name, &self.column.unit, &all)
    }

    /// Variants that share the first place: no significant difference to the best.
    fn ties(&self) -> usize {
        let best = self.variants.first().and_then(|variant| variant.own).map_or(0, |own| own.n);
        let ties = |variant: &&Variant| {
            let as_often = variant.own.map_or(0, |own| own.n) == best;
            as_often
                && matches!(
                    variant.to_best.verdict(),
                    PairVerdict::Open | PairVerdict::Same | PairVerdict::Once
                )
        };
        1 + self.variants.iter().skip(1).take_while(ties).count()
    }

    /// Summary sentence with the best variant.
    fn sentence(&self) -> String {
        let face = self.face();
        let words = face.words();
        let most = if self.better == Ordering::Greater { "most" } else { "least" };
        let Some((best, own)) = self.variants.first().and_then(|best| Some((best, best.own?))) else {
            return format!("No variant has a value of {words}.");
        };
        let same = self.variants.iter().all(|variant| variant.same_weather);
        let head = if same { "Under the same weather" } else { "With weather of their own" };
        let n = self.variants.len();
        let called = |variant: &Variant| {
            let value = variant.own.map_or_else(table::nothing, |own| face.quantity(own.mean));
            format!("{} ({value})", variant.side.label)
        };
        let ties = self.ties();
        let mut text =
            format!("{head} {} has the {most} {words} of {n}, {}", best.side.label, face.quantity(own.mean));
        if ties > 1 {
            let tied: Vec<String> = self.variants[1..ties].iter().map(called).collect();
            text.push_str(&format!(", and no significant difference to {}", tied.join(", ")));
        }
        if let Some(next) = self.variants.get(ties) {
            text.push_str("; ");
            text.push_str(&self.behind(next, &face));
        }
        let repetitions =
            if self.repetitions == 1 { "1 repetition" } else { &format!("{} repetitions", self.repetitions) };
        format!("{text}; {repetitions} each.")
    }

    /// Sentence on the first variant with a significant difference to the best, and its size.
    fn behind(&self, next: &Variant, face: &MetricFormat) -> String {
        let name = &next.side.label;
        let (Some(own), Some(difference)) = (next.own, next.to_best.difference) else {
            return format!("{name} gave none");
        };
        let exact = face.with_digits_of(&[&difference]);
        let more = if difference.mean > 0.0 { "more" } else { "less" };
        let interval = difference.ci95.map_or(String::new(), |[low, high]| {
            let (least, most) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
            format!(" (95 % interval {} to {} {more})", exact.number(least), exact.quantity(most))
        });
        let rare = if u64::from(self.repetitions) > own.n {
            format!(", given in {} only", own.n)
        } else {
            String::new()
        };
        format!(
            "next is {name} with {}, {} {more}{interval}{rare}",
            face.quantity(own.mean),
            exact.quantity(difference.mean.abs())
        )
    }

    /// Table with one row for each variant, the best first.
    fn board(&self) -> TextTable {
        let face = self.face();
        let heads = ["variant", &face.head(), "to the best", "%", "less:more"].map(str::to_owned).to_vec();
        let row = |variant: &Variant| {
            let contrast = &variant.to_best;
            let exact = face.with_digits_of(&contrast.difference.iter().collect::<Vec<_>>());
            let repetitions = u64::from(self.repetitions);
            vec![
                variant.side.label.clone(),
                face.with_interval(variant.own.as_ref(), repetitions),
                exact.with_interval(contrast.difference.as_ref(), repetitions),
                contrast.relative().map_or_else(table::nothing, |share| format!("{:+.1}", 100.0 * share)),
                format!("{}:{}", contrast.less, contrast.more),
            ]
        };
        let notes = vec![
            "Means; ± is the 95 % interval, of the difference that of pairs; less:more, pairs in which it has less than the best, and more."
                .to_owned(),
        ];
        TextTable { heads, labels: 1, rows: self.variants.iter().map(row).collect(), notes }
    }

    /// JSON document of the ranking.
    fn document(&self) -> Value {
        let ties = self.ties();
        let one = |(rank, variant): (usize, &Variant)| {
            json!({
                "name": variant.side.label,
                "scenario_hash": variant.side.header.scenario_hash,
                "best": rank < ties,
                "value": summary_document(variant.own.as_ref()),
                "difference": summary_document(variant.to_best.difference.as_ref()),
                "relative": variant.to_best.relative(),
            })
        };
        json!({
            "schema": "williwaw-among/1",
            "sentence": self.sentence(),
            "metric": self.column.name,
            "better": if self.better == Ordering::Greater { "more" } else { "less" },
            "repetitions": self.repetitions,
            "variants": self.variants.iter().enumerate().map(one).collect::<Vec<_>>(),
        })
    }
}
