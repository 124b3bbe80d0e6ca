//! Description of a scenario file in text, and the packet counters of its first repetition: for walk-throughs, without any
//! results.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use scenario::{NoFiles, Style};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("give the path of a scenario file");
        return ExitCode::FAILURE;
    };
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let scenario = match scenario::read(&path, &text, &NoFiles) {
        Ok(scenario) => scenario,
        Err(wrong) => {
            eprintln!("{}", wrong.render(Style::default()));
            return ExitCode::FAILURE;
        }
    };
    let model = scenario.first();
    print!("{}", scenario::describe::describe(model));
    let seed = Seed { seed: model.run.seed, repetition: 0 };
    let mut world = scenario::build::build(model, seed, Tracer::off());
    world.network.start(None);
    world.network.run_until(Time::ZERO + model.run.limit + Span::from_secs(60));
    let counters = world.network.counters();
    println!("packets: {} sent, {} received, {} dropped", counters.sent, counters.absorbed, counters.dropped);
    ExitCode::SUCCESS
}
