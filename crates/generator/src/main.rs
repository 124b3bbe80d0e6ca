//! Command line of `fuzz-scenarios`: draws random valid scenarios, checks their runs, shrinks failures,
//! compares forecasts.
//!
//! ```text
//! fuzz-scenarios [--seed N] [--from N] [--count N] [--events N] [--estimates] [--digest FILE] [--picture FILE]
//!                [--page FILE] [--out FOLDER]
//! fuzz-scenarios --show N [--seed N]        prints one scenario
//! fuzz-scenarios --shapes                   lists the shapes of benches/growth.sh
//! fuzz-scenarios --shape NAME --size N      runs one of them
//! fuzz-scenarios --one N [--seed N]         runs one scenario; prints time and peak memory of this process
//! fuzz-scenarios --foretell N [--seed N]    forecasts one scenario: packets, frames, events, seconds, bytes
//!
//! --events N shortens scenarios whose forecast is more than N wake-ups.
//! ```

use base::Span;
use generator::check::{self, Usage, Violation};
use generator::estimate::{self, Comparison, Population};
use generator::generate::{Generator, Random, keys, used};
use generator::shapes::{SHAPES, shape};
use generator::shrink::shrink;
use lab::forecast::Meters;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

/// Maximum processor time of one scenario in a release build, seconds.
const SLOW_S: f64 = 120.0;

#[derive(Default)]
struct Args {
    seed: u64,
    from: u64,
    count: u64,
    events: Option<u64>,
    estimates: bool,
    digest: Option<PathBuf>,
    picture: Option<PathBuf>,
    page: Option<PathBuf>,
    out: Option<PathBuf>,
    show: Option<u64>,
    one: Option<u64>,
    foretell: Option<u64>,
    shape: Option<String>,
    size: u64,
    shapes: bool,
}

fn args() -> Result<Args, String> {
    let mut args = Args { seed: 1, count: 100, ..Args::default() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is no number"));
        match word.as_str() {
            "--seed" => args.seed = number(next()?)?,
            "--from" => args.from = number(next()?)?,
            "--count" => args.count = number(next()?)?,
            "--events" => args.events = Some(number(next()?)?),
            "--show" => args.show = Some(number(next()?)?),
            "--one" => args.one = Some(number(next()?)?),
            "--foretell" => args.foretell = Some(number(next()?)?),
            "--digest" => args.digest = Some(next()?.into()),
            "--picture" => args.picture = Some(next()?.into()),
            "--page" => args.page = Some(next()?.into()),
            "--out" => args.out = Some(next()?.into()),
            "--estimates" => args.estimates = true,
            "--shape" => args.shape = Some(next()?),
            "--size" => args.size = number(next()?)?,
            "--shapes" => args.shapes = true,
            _ => return Err(format!("`{word}` is no option of fuzz-scenarios")),
        }
    }
    Ok(args)
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Processor time of the calling thread.
fn processor() -> Span {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Span::from_nanos(t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs())
}

/// A field of `/proc/self/status`, bytes; 0 if the system does not have it.
fn memory(line: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(line)?.split_whitespace().next());
    line.and_then(|kilobytes| kilobytes.parse::<f64>().ok()).map_or(0.0, |kilobytes| kilobytes * 1024.0)
}

/// Runs all checks of one scenario.
fn violates(random: &Random) -> Result<Usage, Violation> {
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let taken = check::run(&random.scenario)?;
        check::threads(&random.scenario)?;
        Ok(taken)
    }));
    ran.unwrap_or_else(|_| Err(Violation("it panics".to_owned())))
}

fn main() -> ExitCode {
    match args().and_then(|args| run(&args)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::from(2)
        }
    }
}

/// The scenario with this number, shortened if `--events` is given.
fn drawn(generator: &Generator, args: &Args, number: u64) -> Option<Random> {
    match args.events {
        Some(events) => generator.within(number, events as f64),
        None => generator.scenario(number),
    }
}

fn run(args: &Args) -> Result<bool, String> {
    if args.shapes {
        SHAPES.iter().for_each(|(name, _)| say(name));
        return Ok(true);
    }
    if let Some(name) = &args.shape {
        let shape = shape(name, args.size).ok_or(format!("`{name}` is no shape"))?;
        let taken = check::run(&shape.map_err(|d| d.to_string())?).map_err(|Violation(why)| why)?;
        say(&format!("{} events, {} packets", taken.events, taken.packets));
        return Ok(true);
    }
    let generator = Generator::new(args.seed);
    if let Some(number) = args.show {
        let random = drawn(&generator, args, number).ok_or("this number gives no scenario")?;
        say(&random.text);
        return Ok(true);
    }
    if let Some(number) = args.one {
        return one(&generator, args, number);
    }
    if let Some(number) = args.foretell {
        return foretell(&generator, args, number);
    }
    std::panic::set_hook(Box::new(|_| {}));
    let mut seen = Seen::default();
    for number in args.from..args.from + args.count {
        let Some(random) = drawn(&generator, args, number) else {
            seen.failures.push((number, "its basis is refused".to_owned()));
            continue;
        };
        used(&random.document).into_iter().for_each(|key| *seen.keys.entry(key).or_default() += 1);
        let began = processor();
        match violates(&random) {
            Ok(taken) => {
                seen.digests.push(format!("{number} {:016x}", taken.digest));
                seen.packets += taken.packets;
                seen.events += taken.events;
                let took = processor().as_secs_f64() - began.as_secs_f64();
                if took > SLOW_S && !cfg!(debug_assertions) {
                    seen.failures.push((number, format!("it took {took} s")));
                }
                if args.estimates {
                    seen.comparisons.push(compared(args, number, &taken)?);
                }
            }
            Err(Violation(why)) => {
                let kept = shrink(random, &|random| violates(random).is_err());
                say(&format!("scenario {number}: {why}\n{}", kept.text));
                if let Some(folder) = &args.out {
                    let file = folder.join(format!("{}-{number}.toml", args.seed));
                    std::fs::write(&file, &kept.text).map_err(|e| format!("{}: {e}", file.display()))?;
                }
                seen.failures.push((number, why));
            }
        }
    }
    report(args, &seen)
}

/// Results of the scenarios so far.
#[derive(Default)]
struct Seen {
    failures: Vec<(u64, String)>,
    digests: Vec<String>,
    keys: BTreeMap<String, u64>,
    comparisons: Vec<Comparison>,
    packets: u64,
    events: u64,
}

fn report(args: &Args, seen: &Seen) -> Result<bool, String> {
    let write = |path: &PathBuf, text: String| {
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
    };
    if let Some(path) = &args.digest {
        write(path, seen.digests.join("\n") + "\n")?;
    }
    if args.estimates {
        say(&estimate::table(&seen.comparisons));
        if let Some(path) = &args.picture {
            write(path, estimate::picture(&seen.comparisons))?;
        }
        if let Some(path) = &args.page {
            let Args { seed, from, count, events, .. } = *args;
            let population = Population { seed, from, count, events };
            write(path, estimate::page(&seen.comparisons, population, "pictures/forecast.svg"))?;
        }
    }
    let all = keys(&scenario::schema::json_schema());
    let missing: Vec<&String> = all.iter().filter(|key| !seen.keys.contains_key(*key)).collect();
    say(&format!(
        "{} scenarios of seed {} from number {}: {} packets, {} events, {} of {} keys reached, {} failures",
        args.count,
        args.seed,
        args.from,
        seen.packets,
        seen.events,
        all.len() - missing.len(),
        all.len(),
        seen.failures.len()
    ));
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().take(40).map(|key| key.as_str()).collect();
        say(&format!("not reached: {}", names.join(", ")));
    }
    seen.failures.iter().for_each(|(number, why)| say(&format!("failed: {number}: {why}")));
    Ok(seen.failures.is_empty())
}

/// Forecast and measured quantities, each from a process of its own, because time and memory are those of the
/// process.
fn compared(args: &Args, number: u64, taken: &Usage) -> Result<Comparison, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let numbers = |option: &str| -> Result<Vec<f64>, String> {
        let mut command = std::process::Command::new(&program);
        command.args(["--seed", &args.seed.to_string(), option, &number.to_string()]);
        if let Some(events) = args.events {
            command.args(["--events", &events.to_string()]);
        }
        let ran = command.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        let numbers: Option<Vec<f64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
        numbers.filter(|all| all.len() > 1).ok_or(format!("{option} {number} gave `{text}`"))
    };
    let foretold: [f64; 5] =
        numbers("--foretell")?.try_into().map_err(|_| "a forecast has five numbers".to_owned())?;
    let took = numbers("--one")?;
    let truth = [taken.packets as f64, taken.frames as f64, taken.events as f64, took[0], took[1]];
    Ok(estimate::compare(number, foretold, truth))
}

/// Runs one scenario once; prints processor seconds and peak resident memory.
fn one(generator: &Generator, args: &Args, number: u64) -> Result<bool, String> {
    let random = drawn(generator, args, number).ok_or("this number gives no scenario")?;
    let began = processor();
    let taken = check::run(&random.scenario).map_err(|Violation(why)| why)?;
    let took = processor().as_secs_f64() - began.as_secs_f64();
    say(&format!("{took:.6} {:.0} {}", memory("VmHWM:"), taken.events));
    Ok(true)
}

/// Forecasts one scenario; prints the quantities of [`estimate::QUANTITIES`].
fn foretell(generator: &Generator, args: &Args, number: u64) -> Result<bool, String> {
    let random = drawn(generator, args, number).ok_or("this number gives no scenario")?;
    let meters = Meters { processor: &processor, resident: &|| memory("VmRSS:") };
    let f = lab::forecast::measured(&random.scenario, &random.scenario.cost(), meters);
    say(&format!("{} {} {} {:.6} {:.0}", f.packets, f.frames, f.events, f.seconds, f.memory));
    Ok(true)
}
