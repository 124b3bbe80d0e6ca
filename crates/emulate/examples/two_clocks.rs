//! Results in real time beside results in virtual time. Plays six scenarios by both clocks, the model TCP inside the
//! network and behind devices of its own, and prints the difference beside the measured lateness:
//!
//!     cargo run -p williwaw-emulate --example two_clocks [SCENARIO] [spin] [TRACE]
//!
//! TRACE is the file of a recorded link, such as one of mahimahi's LTE traces; without one the rate is made up.
#![allow(clippy::print_stdout, reason = "it is a program")]

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("Linux only");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), String> {
    use emulate::Options;
    use emulate::accuracy::calibrate::SPIN;
    use emulate::self_check;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let spin = words.iter().any(|w| w == "spin");
    let trace = words.iter().find(|w| std::path::Path::new(w).is_file());
    let recorded = trace.map(std::fs::read).transpose().map_err(|e| e.to_string())?;
    let only = words.iter().find(|w| *w != "spin" && Some(*w) != trace);
    let options = Options { spin: if spin { SPIN } else { Options::default().spin }, ..Options::default() };
    println!(
        "{:<18} {:>10} {:>10} {:>11} {:>11} {:>11}",
        "scenario", "virtual s", "real s", "later us", "explained", "p99 us"
    );
    for (name, model) in self_check::scenarios(recorded.as_deref()).map_err(|e| e.to_string())? {
        if only.is_some_and(|wanted| *wanted != name) {
            continue;
        }
        let both = self_check::twins(&model, 0, &options).map_err(|e| format!("{name}: {e}"))?;
        println!(
            "{name:<18} {:>10.6} {:>10.6} {:>11.0} {:>11.0} {:>11.0}",
            both.in_virtual_time,
            both.in_real_time,
            (both.in_real_time - both.in_virtual_time) * 1e6,
            both.explained() * 1e6,
            both.path.egress.quantile(0.99).as_secs_f64() * 1e6,
        );
    }
    Ok(())
}
