//! Agreement of SCTP, Reno and Eifel with the study of 2003: generated page of published and measured ranks
//! under two profiles, with packet traces of each difference.
//!
//! The page is computed from the scenarios of `experiments/sctp`. `crates/sctp/study/ranks.toml` contains the
//! published ranks and the reason for each pair in another order; a pair without a reason, and a reason
//! without its pair, are errors.

mod course;
mod figures;

use crate::tree::Tree;
use course::Timeline;
use lab::once::{Options, run_once};
use lab::reproduce::experiment::{Experiment, GROUPS, Group};
use scenario::metric::Metric;
use scenario::{NoFiles, Style};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const RANKS: &str = "crates/sctp/study/ranks.toml";
/// Profiles of SCTP that represent the study's: case of the figures, name of the profile.
const PROFILES: [(&str, &str); 2] = [("sctp", "ns2-2002"), ("rfc9260", "rfc9260")];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranks {
    low: Vec<String>,
    high: Vec<String>,
    condition: Vec<Condition>,
    #[serde(default)]
    miss: Vec<Miss>,
}

/// A column of table I with three ranks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    name: String,
    figure: String,
    rates: Band,
    order: [String; 3],
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Band {
    Low,
    High,
}

/// A pair of flows in another order than published, and the reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Miss {
    figure: String,
    /// Flow that leads in the study.
    ahead: String,
    behind: String,
    profiles: Vec<String>,
    rates: Vec<String>,
    why: String,
}

/// A transfer of 150 s: results and timeline.
pub(crate) struct Transfer {
    pub(crate) course: Timeline,
    delivered: f64,
    resent: f64,
    unneeded: f64,
}

/// Cells of the figures; each is run once.
pub(crate) struct Cells {
    group: &'static Group,
    experiments: Vec<Experiment>,
    played: BTreeMap<(String, String, String), Transfer>,
}

impl Cells {
    fn new() -> Result<Cells, String> {
        let group = GROUPS.iter().find(|group| group.name == "sctp").ok_or("there is no group sctp")?;
        Ok(Cells {
            group,
            experiments: group.experiments().map_err(|e| e.to_string())?,
            played: BTreeMap::new(),
        })
    }

    /// A case of a figure at a rate; an empty rate is the scenario's own.
    pub(crate) fn get(&mut self, figure: &str, case: &str, rate: &str) -> Result<&Transfer, String> {
        let key = (figure.to_owned(), case.to_owned(), rate.to_owned());
        if !self.played.contains_key(&key) {
            let transfer = self.play(figure, case, rate)?;
            self.played.insert(key.clone(), transfer);
        }
        self.played.get(&key).ok_or_else(|| "a cell is lost".to_owned())
    }

    fn play(&self, figure: &str, case: &str, rate: &str) -> Result<Transfer, String> {
        let id = format!("sctp/{figure}");
        let missing = || format!("{id} has no case {case}");
        let experiment = self.experiments.iter().find(|e| e.id == id).ok_or_else(missing)?;
        let case = experiment.case.iter().find(|c| c.label == case).ok_or_else(missing)?;
        let scenario = case.scenario.as_ref().or(experiment.scenario.as_ref()).ok_or_else(missing)?;
        let name = format!("{scenario}.scenario.toml");
        let text = self.group.file(&name).ok_or_else(|| format!("there is no {name}"))?;
        let mut set: Vec<String> = experiment.set.iter().chain(&case.set).cloned().collect();
        if !rate.is_empty() {
            set.push(format!("hop.radio.rate={rate}"));
        }
        let read = scenario::read_with(&name, text.as_bytes(), &NoFiles, &set);
        let read = read.map_err(|d| format!("{id}: {}", d.render(Style::default())))?;
        let outcome = run_once(read.first(), 0, Options { trace: true, shuffle_ties: None });
        let metric = |metric| outcome.flows.first().and_then(|flow| flow.get(metric)).unwrap_or(f64::NAN);
        // TCP counts bytes, SCTP chunks of 536 B.
        let unit = if scenario.contains("tcp") && !scenario.contains("sctp") { 536 } else { 1 };
        Ok(Transfer {
            course: Timeline::of(outcome.world.network.records(), unit),
            delivered: metric(Metric::SegmentsDelivered),
            resent: metric(Metric::SegmentsRetransmitted),
            unneeded: metric(Metric::UnneededRetransmissions),
        })
    }
}

/// The generated page.
pub(crate) fn page(tree: &Tree, findings: &mut Vec<String>) -> Result<String, String> {
    let ranks: Ranks = toml::from_str(tree.text(RANKS)?).map_err(|e| format!("{RANKS}: {e}"))?;
    let mut cells = Cells::new()?;
    let mut out = HEAD.to_owned();
    out += &figures::section(&mut cells)?;
    out += &delivered(&mut cells, &ranks)?;
    let (rows, pairs) = judged(&mut cells, &ranks)?;
    out += &rows;
    out += &misses(&mut cells, &ranks, &pairs, findings)?;
    Ok(out)
}

/// Segments delivered in figures 5, 6, 10 and 11.
fn delivered(cells: &mut Cells, ranks: &Ranks) -> Result<String, String> {
    let mut out = String::from("\n## Segments delivered in 150 s\n");
    let about = [
        ("fig5", "Figure 5: window of 60, unlimited queue"),
        ("fig6", "Figure 6: window of 20, unlimited queue"),
        ("fig10", "Figure 10: window of 60, queue of 50"),
        ("fig11", "Figure 11: window of 20, queue of 13"),
    ];
    for (figure, title) in about {
        let _ = write!(
            out,
            "\n### {title}\n\n| rate | Reno | Eifel | SCTP, `ns2-2002` | SCTP, `rfc9260` | SCTP, `ns2-2.35` |\n|---|---:|---:|---:|---:|---:|\n"
        );
        for rate in ranks
            .low
            .iter()
            .map(String::as_str)
            .chain(["46.8 kbit/s"])
            .chain(ranks.high.iter().map(String::as_str))
        {
            let _ = write!(out, "| {rate} |");
            for case in ["reno", "eifel", "sctp", "rfc9260", "ns2-235"] {
                let _ = write!(out, " {} |", cells.get(figure, case, rate)?.delivered);
            }
            out.push('\n');
        }
    }
    Ok(out)
}

/// A pair in another order than published: figure, rate, profile, faster flow of the study, slower flow of
/// the study.
type Pair = (String, String, &'static str, String, String);

/// The 24 ranks under both profiles, and the pairs in another order than published.
fn judged(cells: &mut Cells, ranks: &Ranks) -> Result<(String, Vec<Pair>), String> {
    let mut rows = String::new();
    let mut pairs = Vec::new();
    let (mut whole, mut all) = ([0; 2], [[0; 2]; 2]);
    for condition in &ranks.condition {
        let rates = match condition.rates {
            Band::Low => &ranks.low,
            Band::High => &ranks.high,
        };
        // Measured ranks by profile, protocol and rate.
        let mut measured: [[Vec<usize>; 3]; 2] = Default::default();
        for rate in rates {
            for (p, (case, profile)) in PROFILES.into_iter().enumerate() {
                let mut counts = [0.0; 3];
                for (count, name) in counts.iter_mut().zip(&condition.order) {
                    let name = if name == "sctp" { case } else { name };
                    *count = cells.get(&condition.figure, name, rate)?.delivered;
                }
                for (i, count) in counts.iter().enumerate() {
                    measured[p][i].push(1 + counts.iter().filter(|other| *other > count).count());
                    for (j, _) in counts.iter().enumerate().skip(i + 1).filter(|(_, other)| *other >= count) {
                        let [ahead, behind] = [&condition.order[i], &condition.order[j]].map(String::clone);
                        pairs.push((condition.figure.clone(), rate.clone(), profile, ahead, behind));
                    }
                }
            }
        }
        for (i, name) in condition.order.iter().enumerate() {
            let _ = write!(rows, "| {} | {} | {name} |", condition.name, i + 1);
            for (p, measured) in measured.iter().enumerate() {
                let hits = measured[i].iter().filter(|rank| **rank == i + 1).count();
                whole[p] += usize::from(hits == rates.len());
                all[p] = [all[p][0] + hits, all[p][1] + rates.len()];
                let each: Vec<String> = measured[i].iter().map(usize::to_string).collect();
                let _ = write!(rows, " {} | {hits} of {} |", each.join(" "), rates.len());
            }
            rows.push('\n');
        }
    }
    let mut out = format!(
        "\n## The 24 ranks\n\nWith `ns2-2002` {} of 24 published ranks are reproduced at every rate of their group, \
         and {} of {} ranks at single rates; with\n`rfc9260` {} of 24, and {} of {}. The columns have the measured \
         rank at each rate, from the lowest on.\n\n| condition | published | protocol | `ns2-2002` | as published | \
         `rfc9260` | as published |\n|---|---:|---|---|---:|---|---:|\n",
        whole[0], all[0][0], all[0][1], whole[1], all[1][0], all[1][1]
    );
    out += &rows;
    Ok((out, pairs))
}

/// Every pair in another order, with its reason and both packet traces.
fn misses(
    cells: &mut Cells,
    ranks: &Ranks,
    pairs: &[Pair],
    findings: &mut Vec<String>,
) -> Result<String, String> {
    let mut out = String::from(MISSES);
    let explains = |miss: &Miss, (figure, rate, profile, ahead, behind): &Pair| {
        miss.figure == *figure
            && miss.rates.contains(rate)
            && miss.profiles.iter().any(|p| p == profile)
            && miss.ahead == *ahead
            && miss.behind == *behind
    };
    for (figure, rate, profile, ahead, behind) in
        pairs.iter().filter(|p| !ranks.miss.iter().any(|m| explains(m, p)))
    {
        findings.push(format!("{RANKS}: {figure} at {rate} with {profile}: {ahead} is not ahead of {behind}, and no miss gives a reason"));
    }
    for miss in &ranks.miss {
        let named = miss.rates.len() * miss.profiles.len();
        let found: Vec<&Pair> = pairs.iter().filter(|pair| explains(miss, pair)).collect();
        if found.len() != named {
            let (figure, ahead, behind) = (&miss.figure, &miss.ahead, &miss.behind);
            findings.push(format!(
                "{RANKS}: {figure}: of {named} cells in which {ahead} is not ahead of {behind}, {} are so",
                found.len()
            ));
        }
        let _ = write!(
            out,
            "\n### {}: {} ahead of {}\n\n{}\n",
            miss.figure.replace("fig", "Figure "),
            title(&miss.ahead, None),
            title(&miss.behind, None),
            miss.why.trim()
        );
        let mut shown = Vec::new();
        for (figure, rate, profile, ahead, behind) in found {
            let case = |name: &str| match PROFILES.iter().find(|(_, known)| known == profile) {
                Some((case, _)) if name == "sctp" => (*case).to_owned(),
                _ => name.to_owned(),
            };
            let key = [rate.clone(), case(ahead), case(behind)];
            // A pair without SCTP is equal under both profiles.
            if shown.contains(&key) {
                continue;
            }
            let with = if key.iter().any(|name| PROFILES.iter().any(|(case, _)| case == name)) {
                format!(", `{profile}`")
            } else {
                String::new()
            };
            let _ = write!(out, "\n**{rate}**{with}\n\n```\n");
            for name in [ahead, behind] {
                let transfer = cells.get(figure, &case(name), rate)?;
                let _ = writeln!(
                    out,
                    "{}: {} delivered, {} retransmitted, {} of them unneeded",
                    title(name, Some(profile)),
                    transfer.delivered,
                    transfer.resent,
                    transfer.unneeded
                );
                transfer.course.lines().iter().for_each(|line| _ = writeln!(out, "{line}"));
            }
            out += "```\n";
            shown.push(key);
        }
    }
    Ok(out)
}

fn title(name: &str, profile: Option<&str>) -> String {
    match (name, profile) {
        ("reno", _) => "Reno".to_owned(),
        ("eifel", _) => "Eifel".to_owned(),
        (_, Some(profile)) => format!("SCTP, {profile}"),
        _ => "SCTP".to_owned(),
    }
}

const HEAD: &str = "# SCTP, Reno and Eifel in the study of 2003

Fu, Atiquzzaman and Ivancic, \"Effect of Delay Spike on SCTP, TCP Reno, and Eifel in a Wireless Mobile Environment\". The link has a delay
of 1.4 s each way and a pause of 12 s at 28.0 s before the queue; bulk data flow for 150 s. Everything here is computed from `experiments/sctp` when the page is
generated; `williwaw reproduce sctp/fig5` and the others judge the claims. SCTP runs under two profiles: `ns2-2002`, the module that
the study used as far as its text states, and `rfc9260`. [ADR 0045](adr/0045-sctp.md) names how they differ.

Segments have 536 B and count from 1. In packet traces `>` leaves the sender, `<` reaches it, `x` is dropped by the queue; a line is a time
with one kind of packets in each direction.
";

const MISSES: &str = "
## Where the order differs, and why

A pair is a miss where the protocol that the study has ahead delivers no more segments than the other.
";
