//! Command line of `fuzz-scenarios`: draws random valid scenarios, checks their runs, shrinks failures,
//! compares forecasts.
//!
//! ```text
//! fuzz-scenarios [--seed N] [--from N] [--count N] [--events N] [--digest FILE] [--out FOLDER]
//! fuzz-scenarios --estimates [--seed N] [--from N] [--count N] [--events N] [--digest FILE] [--picture FILE]
//!                [--page FILE] [--ledger FILE]
//! fuzz-scenarios --draw [--seed N] [--from N] [--count N]    runs nothing: lists the keys that no scenario uses
//! fuzz-scenarios --show N [--seed N]        prints one scenario
//! fuzz-scenarios --shapes                   lists the shapes of benches/growth.sh
//! fuzz-scenarios --shape NAME --size N      runs one of them
//! fuzz-scenarios --one N [--seed N]         runs one scenario: packets, frames, events, seconds, bytes, digest
//! fuzz-scenarios --foretell N [--seed N]    forecasts one scenario: packets, frames, events, seconds, bytes
//!
//! --events N shortens scenarios whose forecast is more than N wake-ups.
//! --estimates runs each scenario once, in a process of its own; one thread beside two is a check of a run without it.
//! --ledger FILE keeps each comparison, so that the same command continues where it was stopped.
//! ```

use base::Span;
use generator::check::{self, Usage, Violation};
use generator::estimate::{self, Comparison, Population};
use generator::generate::{Generator, Random, keys, used};
use generator::ledger::{Entry, Ledger};
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
    draw: bool,
    digest: Option<PathBuf>,
    picture: Option<PathBuf>,
    page: Option<PathBuf>,
    ledger: Option<PathBuf>,
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
            "--ledger" => args.ledger = Some(next()?.into()),
            "--out" => args.out = Some(next()?.into()),
            "--estimates" => args.estimates = true,
            "--draw" => args.draw = true,
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
    let mut ledger = Ledger::open(args.ledger.as_deref())?;
    for number in args.from..args.from + args.count {
        if args.draw {
            drawn(&generator, args, number).iter().for_each(|random| seen.reached(random));
        } else if args.estimates {
            estimate_one(args, &generator, number, &mut ledger, &mut seen)?;
        } else {
            check_one(args, &generator, number, &mut seen)?;
        }
    }
    report(args, &seen)
}

/// Forecasts and runs one scenario, unless the ledger has it.
fn estimate_one(
    args: &Args,
    generator: &Generator,
    number: u64,
    ledger: &mut Ledger,
    seen: &mut Seen,
) -> Result<(), String> {
    let Some(random) = generator.scenario(number) else {
        seen.failures.push((number, "its basis is refused".to_owned()));
        return Ok(());
    };
    seen.reached(&random);
    let entry = match ledger.entry(number) {
        Some(entry) => entry,
        None => match compared(args, number) {
            Ok(entry) => ledger.keep(entry)?,
            Err(why) => {
                seen.failures.push((number, why));
                return Ok(());
            }
        },
    };
    let [packets, _, events, seconds, _] = entry.truth;
    seen.digests.push(format!("{number} {:016x}", entry.digest));
    seen.packets += packets as u64;
    seen.events += events as u64;
    seen.slow(number, seconds);
    seen.comparisons.push(estimate::compare(number, entry.foretold, entry.truth));
    Ok(())
}

/// Runs one scenario with all checks; shrinks it if it violates one.
fn check_one(args: &Args, generator: &Generator, number: u64, seen: &mut Seen) -> Result<(), String> {
    let Some(random) = drawn(generator, args, number) else {
        seen.failures.push((number, "its basis is refused".to_owned()));
        return Ok(());
    };
    seen.reached(&random);
    let began = processor();
    match violates(&random) {
        Ok(taken) => {
            seen.digests.push(format!("{number} {:016x}", taken.digest));
            seen.packets += taken.packets;
            seen.events += taken.events;
            seen.slow(number, processor().as_secs_f64() - began.as_secs_f64());
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
    Ok(())
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
    /// Processor time of the slowest scenario, s, and its number.
    slowest: Option<(f64, u64)>,
}

impl Seen {
    /// Counts the keys that a scenario uses.
    fn reached(&mut self, random: &Random) {
        used(&random.document).into_iter().for_each(|key| *self.keys.entry(key).or_default() += 1);
    }

    /// Keeps the slowest scenario; a release build that takes longer than [`SLOW_S`] fails.
    fn slow(&mut self, number: u64, took: f64) {
        if self.slowest.is_none_or(|(most, _)| took > most) {
            self.slowest = Some((took, number));
        }
        if took > SLOW_S && !cfg!(debug_assertions) {
            self.failures.push((number, format!("it took {took} s")));
        }
    }
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
        let most = if args.draw { usize::MAX } else { 40 };
        let names: Vec<&str> = missing.iter().take(most).map(|key| key.as_str()).collect();
        say(&format!("not reached: {}", names.join(", ")));
    }
    if let Some((took, number)) = seen.slowest {
        say(&format!("slowest: {number}, {took:.3} s of processor"));
    }
    seen.failures.iter().for_each(|(number, why)| say(&format!("failed: {number}: {why}")));
    Ok(seen.failures.is_empty())
}

/// Forecast beside truth, each from a process of its own: time and memory are those of that process.
fn compared(args: &Args, number: u64) -> Result<Entry, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let printed = |option: &str| -> Result<String, String> {
        let mut command = std::process::Command::new(&program);
        command.args(["--seed", &args.seed.to_string(), option, &number.to_string()]);
        if let Some(events) = args.events {
            command.args(["--events", &events.to_string()]);
        }
        let ran = command.output().map_err(|e| e.to_string())?;
        match ran.status.success() {
            true => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
            false => {
                Err(format!("{option}: {}, {}", ran.status, String::from_utf8_lossy(&ran.stderr).trim()))
            }
        }
    };
    let text = format!("{number} {} {}", printed("--foretell")?.trim(), printed("--one")?.trim());
    text.parse().map_err(|()| format!("it gave `{text}`"))
}

/// Runs one scenario once; prints the quantities of [`estimate::QUANTITIES`], with processor time and the peak of
/// resident memory, and the digest.
fn one(generator: &Generator, args: &Args, number: u64) -> Result<bool, String> {
    let random = drawn(generator, args, number).ok_or("this number gives no scenario")?;
    let began = processor();
    let Usage { packets, frames, events, digest, .. } =
        check::run(&random.scenario).map_err(|Violation(why)| why)?;
    let took = processor().as_secs_f64() - began.as_secs_f64();
    say(&format!("{packets} {frames} {events} {took:.6} {:.0} {digest:016x}", memory("VmHWM:")));
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
