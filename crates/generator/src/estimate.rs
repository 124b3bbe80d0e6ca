//! Comparison of a scenario's forecast with its run: ratios for packets, frames, events, time and memory, as
//! table, picture and page.

use std::fmt::Write as _;

/// Quantities that are compared.
pub const QUANTITIES: [&str; 5] = ["packets", "frames", "events", "time", "memory"];

/// Forecast and measured quantities of one scenario.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Number of the scenario.
    pub number: u64,
    /// Forecast and measured value, in the order of [`QUANTITIES`]; `None` where both are negligible or
    /// unknown.
    pub pairs: [Option<(f64, f64)>; 5],
}

/// Amounts below which a ratio is meaningless: 20 packets, frames or events, 2 ms, 1 MB.
const NEGLIGIBLE: [f64; 5] = [20.0, 20.0, 20.0, 2e-3, 1e6];

/// Compares the forecast `said` with the measured values `truth`, in the order of [`QUANTITIES`].
pub fn compare(number: u64, said: [f64; 5], truth: [f64; 5]) -> Comparison {
    let mut pairs = [None; 5];
    for (i, pair) in pairs.iter_mut().enumerate() {
        let truth = truth[i];
        if said[i].max(truth) > NEGLIGIBLE[i] {
            *pair = Some((said[i].max(NEGLIGIBLE[i] / 4.0), truth.max(NEGLIGIBLE[i] / 4.0)));
        }
    }
    Comparison { number, pairs }
}

/// Ratio of forecast and measured value or its inverse, at least 1.
fn factor((said, truth): (f64, f64)) -> f64 {
    (said / truth).max(truth / said)
}

/// Table: number of scenarios within a factor of 3 and 10, and the worst ten.
pub fn table(all: &[Comparison]) -> String {
    let mut out = String::from(
        "| quantity | compared | within 1.5 | within 3 | within 10 | worst |\n|---|---|---|---|---|---|\n",
    );
    for (i, name) in QUANTITIES.iter().enumerate() {
        let factors: Vec<f64> = all.iter().filter_map(|c| c.pairs[i]).map(factor).collect();
        let within = |most: f64| {
            let count = factors.iter().filter(|f| **f <= most).count();
            format!("{:.1} %", 100.0 * count as f64 / factors.len().max(1) as f64)
        };
        let worst = factors.iter().copied().fold(1.0, f64::max);
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {worst:.1} |",
            factors.len(),
            within(1.5),
            within(3.0),
            within(10.0)
        );
    }
    let mut worst: Vec<(f64, String)> = all
        .iter()
        .flat_map(|c| {
            c.pairs.iter().zip(QUANTITIES).filter_map(|(pair, name)| Some((c.number, (*pair)?, name)))
        })
        .map(|(number, pair, name)| {
            (
                factor(pair),
                format!("| {number} | {name} | {:.4e} | {:.4e} | {:.2} |", pair.0, pair.1, factor(pair)),
            )
        })
        .collect();
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    out.push_str("\n| scenario | quantity | forecast | true | factor |\n|---|---|---|---|---|\n");
    worst.iter().take(10).for_each(|(_, line)| _ = writeln!(out, "{line}"));
    out
}

/// Population of random scenarios of a page, by the options of `fuzz-scenarios`.
#[derive(Clone, Copy, Debug)]
pub struct Population {
    /// `--seed`.
    pub seed: u64,
    /// `--from`.
    pub from: u64,
    /// `--count`.
    pub count: u64,
    /// `--events`.
    pub events: Option<u64>,
}

/// Documentation page with the table and the picture; `picture` is the picture's path from the page.
pub fn page(all: &[Comparison], population: Population, picture: &str) -> String {
    let Population { seed, from, count, events } = population;
    let mut range = if from == 0 { String::new() } else { format!(" --from {from}") };
    let mut cut = String::new();
    if let Some(events) = events {
        let _ = write!(range, " --events {events}");
        cut = format!(", those with a forecast of more than {events} events shortened,");
    }
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!(
        "# Forecast and truth\n\n\
         Forecasts of `williwaw check` ([decision 0042](adr/0042-forecast-by-pilot-runs.md)) beside what {count} random scenarios of seed \
         {seed}{cut} took, {build} build. Each\nforecast and each run is a process of its own: processor time is that of its thread, memory its \
         largest resident size. Quantities below 20 packets,\nframes or events, 2 ms and 1 MB are left out: a factor has no meaning there. \
         This page is written by\n\n```sh\n\
         cargo run --release -p williwaw-generator -- --seed {seed}{range} --count {count} --estimates --page docs/forecast.md \
         --picture docs/{picture}\n```\n\n\
         {}\n![forecast over truth]({picture})\n",
        table(all)
    )
}

/// Picture: a panel for each quantity, forecast divided by measured value over measured value, both logarithmic.
pub fn picture(all: &[Comparison]) -> String {
    const COLOURS: [&str; 5] = ["#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910"];
    const UNITS: [&str; 5] = ["", "", "", ", s of processor", ", B"];
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"640\" height=\"{height}\" fill=\"white\"/>\n",
        height = PANEL * 5.0 + 30.0
    );
    for (i, (name, colour)) in QUANTITIES.iter().zip(COLOURS).enumerate() {
        let pairs: Vec<(f64, f64)> = all.iter().filter_map(|comparison| comparison.pairs[i]).collect();
        let title = format!("{name}{}: {} scenarios", UNITS[i], pairs.len());
        panel(&mut out, 10.0 + PANEL * i as f64, &title, colour, &pairs);
    }
    let _ = writeln!(
        out,
        "<text x=\"350\" y=\"{}\" text-anchor=\"middle\">measured</text>\n\
         <text x=\"14\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {y})\">forecast / measured</text>\n</svg>",
        PANEL * 5.0 + 24.0,
        y = PANEL * 2.5
    );
    out
}

/// Height of a panel of the picture.
const PANEL: f64 = 120.0;

/// One panel of the picture; pairs are (forecast, measured). Factors beyond 12 are drawn at 12.
fn panel(out: &mut String, top: f64, title: &str, colour: &str, pairs: &[(f64, f64)]) {
    let height = PANEL - 40.0;
    let truths = || pairs.iter().map(|(_, truth)| truth.max(1e-9).log10());
    let least = truths().fold(f64::INFINITY, f64::min).min(9.0).floor();
    let most = truths().fold(least + 1.0, f64::max).ceil();
    let x = |log: f64| 70.0 + 550.0 * (log - least) / (most - least);
    let y = |factor: f64| top + 18.0 + height * (0.5 - factor.clamp(1.0 / 12.0, 12.0).log10() / 2.16);
    let _ = writeln!(out, "<text x=\"70\" y=\"{}\" fill=\"{colour}\">{title}</text>", top + 10.0);
    for (factor, label, dash) in [
        (10.0, "10", "2 4"),
        (3.0, "3", "4 3"),
        (1.0, "1", ""),
        (1.0 / 3.0, "1/3", "4 3"),
        (0.1, "1/10", "2 4"),
    ] {
        let at = y(factor);
        let _ = writeln!(
            out,
            "<line x1=\"70\" y1=\"{at:.1}\" x2=\"620\" y2=\"{at:.1}\" stroke=\"#999\" stroke-dasharray=\"{dash}\"/>\
             <text x=\"64\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            at + 4.0
        );
    }
    for decade in least as i32..=most as i32 {
        let at = x(f64::from(decade));
        let bottom = top + 18.0 + height;
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\" stroke=\"#eee\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">1e{decade}</text>",
            top + 18.0,
            bottom + 12.0
        );
    }
    let _ = write!(
        out,
        "<path stroke=\"{colour}\" stroke-opacity=\"0.5\" stroke-width=\"3.2\" stroke-linecap=\"round\" d=\""
    );
    for (forecast, truth) in pairs {
        // A line of length zero is drawn as a dot.
        let _ = write!(out, "M{:.1} {:.1}h0", x(truth.max(1e-9).log10()), y(forecast / truth.max(1e-9)));
    }
    out.push_str("\"/>\n");
}
