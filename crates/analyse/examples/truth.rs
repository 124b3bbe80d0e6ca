//! Accuracy of the analyser: random scenarios against the simulator's truth, by stratum. `cargo run --release -p
//! williwaw-analyse --example truth -- [SCENARIOS] [FIRST]`. `--odd` prints wrong verdicts, `--no-numbers` hides the
//! receiver's IP identifications, `--overtaking` takes only paths that reorder, `--options NAME` only senders with
//! these options. `--scenario N` prints the text of one scenario, `--packets N` its capture (with `--there` the
//! receiver's).

#![allow(missing_docs, clippy::print_stdout, reason = "it prints a table")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::meeting::{Meeting, Tally, meet_with};
use common::scenarios::{Case, case};
use std::collections::BTreeMap;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let given: Vec<u64> = args.iter().filter_map(|a| a.parse().ok()).collect();
    if args.iter().any(|a| a == "--scenario") {
        println!("{}", case(given[0]).text);
        return;
    }
    if args.iter().any(|a| a == "--packets") {
        let text = common::meeting::packets(&case(given[0]), args.iter().any(|a| a == "--there"));
        println!("{text}");
        return;
    }
    let (count, first) = (given.first().copied().unwrap_or(1000), given.get(1).copied().unwrap_or(0));
    let odd = args.iter().any(|a| a == "--odd");
    let numbers = !args.iter().any(|a| a == "--no-numbers");
    let shuffled = args.iter().any(|a| a == "--overtaking");
    let options = args.iter().position(|a| a == "--options").and_then(|at| args.get(at + 1));
    let mut weighed: BTreeMap<&str, Vec<(f64, bool, bool)>> = BTreeMap::new();
    let mut strata: BTreeMap<(usize, String), (Tally, Tally, u64)> = BTreeMap::new();
    for number in first..first + count {
        let case = case(number);
        if shuffled && case.order != "overtaking" || options.is_some_and(|of| of != case.options) {
            continue;
        }
        let meeting = meet_with(&case, numbers);
        for key in keys(&case) {
            let entry = strata.entry(key).or_default();
            entry.0.add(&meeting.alone);
            entry.1.add(&meeting.both);
            entry.2 += 1;
        }
        if odd {
            tell(&case, &meeting);
        }
        weighed.entry(case.options).or_default().extend(meeting.weighed);
    }
    println!(
        "| stratum | scenarios | retransmissions | precision | recall | unknown | timeouts | right | wrong | unknown | not seen as one | falsely seen | cause right | with both: wrong, timeouts wrong |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let percent = |part: u64, whole: u64| match whole {
        0 => "-".to_owned(),
        n => format!("{:.2} %", 100.0 * part as f64 / n as f64),
    };
    for ((_, name), (a, b, n)) in &strata {
        println!(
            "| {name} | {n} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {}, {} |",
            a.truths,
            percent(a.hits, a.hits + a.false_alarms),
            percent(a.hits, a.hits + a.misses + a.unknown[0]),
            a.unknown[0] + a.unknown[1],
            a.timeouts,
            percent(a.right, a.timeouts),
            a.wrong,
            a.untold,
            a.mistaken,
            a.false_timeouts,
            percent(a.causes_right, a.causes),
            b.misses + b.false_alarms + b.unknown[0] + b.unknown[1] + b.unseen,
            b.wrong + b.untold,
        );
        if a.unseen + a.invented > 0 {
            println!("| {name}: {} unseen, {} invented ||||||||||||||", a.unseen, a.invented);
        }
    }
    likelihoods(&weighed);
}

/// Where the steps of likelihood lie.
const STEPS: [f64; 7] = [0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99];

/// How likely timeouts were called spurious, and how many were: whether the likelihoods can be believed, and what share of
/// verdicts is wrong at best if they can.
fn likelihoods(weighed: &BTreeMap<&str, Vec<(f64, bool, bool)>>) {
    println!(
        "\n| timeouts | weighed | least share wrong | likelihood told and share spurious (number), from unlikely to likely |"
    );
    println!("|---|---|---|---|");
    for (options, all) in weighed {
        let mut steps = [(0.0, 0u32, 0u32); STEPS.len() + 1];
        let (mut least, mut count) = (0.0, 0u32);
        for (likely, unneeded, _) in all.iter().filter(|w| w.2) {
            let step = &mut steps[STEPS.partition_point(|s| s <= likely)];
            *step = (step.0 + likely, step.1 + u32::from(*unneeded), step.2 + 1);
            least += likely.min(1.0 - likely);
            count += 1;
        }
        let told: Vec<String> = steps
            .iter()
            .filter(|s| s.2 > 0)
            .map(|s| format!("{:.3} {:.3} ({})", s.0 / f64::from(s.2), f64::from(s.1) / f64::from(s.2), s.2))
            .collect();
        let least = 100.0 * least / f64::from(count.max(1));
        println!("| {options} | {count} | {least:.2} % | {} |", told.join("; "));
    }
}

/// The strata that a scenario belongs to.
fn keys(case: &Case) -> Vec<(usize, String)> {
    let tells = if case.options == "neither" { "neither" } else { "timestamps or DSACK" };
    vec![
        (0, "all".to_owned()),
        (1, format!("with {tells}")),
        (2, format!("options: {}", case.options)),
        (3, format!("loss: {} ({tells})", case.loss)),
        (4, format!("ACK loss: {} ({tells})", case.ack_loss)),
        (5, format!("spikes: {} ({tells})", case.spike)),
        (6, format!("order: {} ({tells})", case.order)),
        (7, format!("recovery: {} ({tells})", case.recovery)),
        (8, format!("detector: {} ({tells})", case.detector)),
        (9, format!("order {}, ACK loss {}, {}", case.order, case.ack_loss, case.options)),
    ]
}

fn tell(case: &Case, meeting: &Meeting) {
    for (which, list) in ["alone", "both"].into_iter().zip(&meeting.odd) {
        for o in list {
            let t = &o.truth;
            let head = format!(
                "{} {which} [{}; loss {}; acks {}; spikes {}; {}; {}; {}]",
                case.number,
                case.options,
                case.loss,
                case.ack_loss,
                case.spike,
                case.order,
                case.recovery,
                case.detector
            );
            let is = format!(
                "{:.6} seq {} {} unneeded {} {:?}",
                t.t.as_secs_f64(),
                t.seq,
                t.cause,
                t.unneeded,
                t.spurious.map(|c| c.name())
            );
            match &o.verdict {
                None => println!("{head} {is} / unseen"),
                Some(v) => println!(
                    "{head} {is} / {} {} {} likely {:.3} answered {:?}",
                    v.reason,
                    v.need,
                    v.evidence,
                    v.likelihood.unwrap_or(f64::NAN),
                    v.answered.map(|a| a.as_secs_f64())
                ),
            }
        }
    }
}
