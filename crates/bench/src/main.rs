//! Command line of the benchmarks of `benches/README.md`.
//!
//! Each word of the command line is one figure of `benches/README.md`, measured several times on one core;
//! the minimum is reported.
//!
//!     taskset -c 1 williwaw-bench dumbbell gprs engine growth radio
//!     williwaw-bench grid
//!     valgrind --tool=callgrind williwaw-bench count linux 30    # see `benches/count.py`

mod clock;
mod count;
mod dumbbell;
mod engine;
mod gprs;
mod grid;
mod radio;

use std::process::ExitCode;

/// Allocator: objects of one size lie side by side, so that the state of many flows takes fewer cache lines (ADR 0163).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let [word, case, seconds] = &asked[..]
        && word == "count"
        && count::measure(case, seconds)
    {
        return ExitCode::SUCCESS;
    }
    let all = ["dumbbell", "gprs", "engine", "growth", "radio", "grid"];
    if let Some(unknown) = asked.iter().find(|a| !all.contains(&a.as_str())) {
        say(&format!("`{unknown}` is none of {}", all.join(", ")));
        return ExitCode::from(2);
    }
    for what in all.into_iter().filter(|w| asked.is_empty() || asked.iter().any(|a| a == w)) {
        match what {
            "dumbbell" => dumbbell::compare(),
            "gprs" => gprs::measure(),
            "engine" => engine::measure(),
            "growth" => dumbbell::growth(),
            "radio" => radio::measure(),
            _ => grid::measure(),
        }
    }
    ExitCode::SUCCESS
}

/// Prints a line of the report.
#[allow(clippy::print_stdout, reason = "this program is for its output")]
fn say(line: &str) {
    println!("{line}");
}
