//! Published experiments of one group, with measured values and verdicts on claims: `reproduce GROUP
//! [ID-part]`.

use lab::reproduce::{Laboratory, Settings, list, quiet};
use lab::sweep::SweepControl;
use std::io::Write as _;
use std::sync::atomic::AtomicBool;

fn main() {
    let mut args = std::env::args().skip(1);
    let group = args.next().unwrap_or_default();
    let part = args.next().unwrap_or_default();
    let stop = AtomicBool::new(false);
    let control = SweepControl { progress: &quiet, stop: &stop, jobs: 0, shuffle_ties: None, player: None };
    let settings = Settings { seeds: 0, reading_repetitions: 0, pictures: true, ..Settings::default() };
    let mut laboratory = Laboratory::new(settings, &control, "example");
    let mut out = std::io::stdout().lock();
    for (id, _) in list().unwrap_or_default() {
        if !id.starts_with(&format!("{group}/")) || !id.contains(&part) {
            continue;
        }
        match laboratory.reproduce(&id) {
            Err(e) => _ = writeln!(out, "{id}: {e:?}"),
            Ok(r) => {
                let _ = writeln!(out, "{id}: {} runs", r.runs);
                for v in r.values {
                    let word = if v.within { "within" } else { "OUTSIDE" };
                    let _ = writeln!(
                        out,
                        "  {}: {} published, {:.4} measured: {word}",
                        v.key, v.published, v.measured
                    );
                }
                for c in r.claims {
                    let word = if c.holds { "holds" } else { "FAILS" };
                    let _ = writeln!(out, "  {} {word}: {}", c.id, c.detail);
                }
            }
        }
    }
}
