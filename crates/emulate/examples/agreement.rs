//! Holds the model of Linux against Linux.
//!
//!     cargo run -p williwaw-emulate --example agreement -- record [CASE]   plays the kernel (needs rights), writes facts
//!     cargo run -p williwaw-emulate --example agreement -- table           the model beside the recorded kernel
//!     cargo run -p williwaw-emulate --example agreement -- diff CASE       both, segment by segment
//!     cargo run -p williwaw-emulate --example agreement -- live CASE       the same with the kernel played now
#![allow(clippy::print_stdout, reason = "it is a program")]

use emulate::agreement::{self, AgreementError, CASES, Case, SideResult};
use std::path::Path;

/// Repetitions of each case that are recorded.
const REPETITIONS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let cases = agreement::cases(CASES)?;
    let named =
        |name: &String| cases.iter().find(|c| c.name == *name).ok_or(format!("there is no case `{name}`"));
    match words.first().map(String::as_str) {
        Some("record") => record(&cases, words.get(1)),
        Some("table") => Ok(table(&cases)?),
        Some("diff") => {
            let case = named(words.get(1).ok_or("diff CASE")?)?;
            let lines = agreement::facts()?.lines(&case.name);
            println!("{}", agreement::side_by_side(&lines, &agreement::by_model(case)?.lines));
            Ok(())
        }
        Some("live") => {
            let case = named(words.get(1).ok_or("live CASE")?)?;
            let kernel = agreement::by_kernel(case)?;
            let model = agreement::by_model(case).map(|m| m.lines).unwrap_or_default();
            println!("{}", agreement::side_by_side(&kernel.lines, &model));
            Ok(())
        }
        _ => Err("say record, table, diff or live".into()),
    }
}

/// All repetitions of all cases at once: each waits for its own slow link.
fn record(cases: &[Case], only: Option<&String>) -> Result<(), Box<dyn std::error::Error>> {
    let chosen: Vec<&Case> = cases.iter().filter(|c| only.is_none_or(|name| c.name == *name)).collect();
    let played: Vec<(&Case, Result<Vec<SideResult>, AgreementError>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = chosen
            .into_iter()
            .map(|case| {
                let each: Vec<_> =
                    (0..REPETITIONS).map(|_| scope.spawn(move || agreement::by_kernel(case))).collect();
                (case, each)
            })
            .collect();
        let join = |w: std::thread::ScopedJoinHandle<'_, _>| w.join().expect("a case does not panic");
        workers.into_iter().map(|(case, each)| (case, each.into_iter().map(join).collect())).collect()
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("agreement");
    let mut facts = agreement::facts()?;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    // A distribution's suffix of the version is removed: it identifies only its own builds.
    facts.kernel = release.trim().split('-').next().unwrap_or_default().to_owned();
    for (case, deeds) in played {
        let deeds = deeds.map_err(|e| format!("{}: {e}", case.name))?;
        println!("{}", row(&case.name, &deeds[0]));
        let lines = agreement::write_lines(&deeds[0].lines);
        std::fs::write(folder.join("traces").join(format!("{}.txt", case.name)), lines)?;
        facts.put(&case.name, deeds);
    }
    Ok(std::fs::write(folder.join("facts.toml"), facts.write(cases))?)
}

fn row(name: &str, d: &SideResult) -> String {
    format!(
        "{name:<24} {:>8} s {:>4} segments {:>3} again {:>3} unneeded {:>2} timeouts  {}",
        d.download_time_s.map_or("-".into(), |t| format!("{t:.3}")),
        d.segments,
        d.retransmissions,
        d.unneeded,
        d.timeouts,
        d.kind
    )
}

fn table(cases: &[Case]) -> Result<(), AgreementError> {
    print!("{}", agreement::table(cases, &agreement::facts()?));
    Ok(())
}
