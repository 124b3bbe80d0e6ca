//! `williwaw linux`: build, list and check of kernels that run in virtual time (User-Mode Linux).

use crate::console::clock::Stopwatch;
use crate::console::environment;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::player::kernels;
use serde_json::{Value, json};
use std::path::PathBuf;
use uml::kernel::{self, Build};

/// Build, list and check Linux kernels that run in virtual time
///
/// For a flow with `transport = "linux"`, `williwaw run` starts real kernels as ordinary processes (User-Mode
/// Linux) on the clock of the simulation. No privileges are needed. The kernel is not part of this program: it
/// is built once, from the distribution's source package or from a source tree of yours.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw linux build\n  \
    williwaw linux build --source ~/src/linux --name patched\n  \
    williwaw run scenario.toml --linux patched")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Build a kernel and keep it in the cache of this user
    #[command(after_help = "Example:\n  williwaw linux build --source ~/src/linux --name patched")]
    Build {
        /// Kernel source tree (left unchanged) or archive [default: the newest in /usr/src]
        #[arg(long, value_name = "DIR|TARBALL")]
        source: Option<PathBuf>,
        /// Name of the kernel; runs use `default` unless they name another
        #[arg(long, value_name = "NAME", default_value = kernels::DEFAULT, value_parser = name)]
        name: String,
        /// Parallel build jobs [default: one per core]
        #[arg(long, short, value_name = "J", value_parser = clap::value_parser!(u16).range(1..=1024))]
        jobs: Option<u16>,
        /// Build only if no kernel of this name was built with the options of this version
        #[arg(long)]
        if_changed: bool,
    },
    /// List the kernels built
    #[command(after_help = "Example:\n  williwaw linux list --json")]
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Check what building and running a kernel needs
    #[command(after_help = "Example:\n  williwaw linux doctor --linux patched")]
    Doctor {
        /// The kernel to look at: a name or a path; without it, the one that `run` would take
        #[arg(long, value_name = "KERNEL")]
        linux: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Parses the name of a kernel, which is also its folder in the cache: 1 to 64 characters, no path separator.
fn name(text: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match text.chars().all(good) && !text.starts_with(['.', '-']) && (1..=64).contains(&text.len()) {
        true => Ok(text.to_owned()),
        false => {
            Err("a name consists of letters, digits, `-`, `_` and `.`, and does not begin with `-` or `.`"
                .to_owned())
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    match args.what {
        What::Build { source, name, jobs, if_changed } => {
            let cache = kernels::cache()?;
            if if_changed && kernel::is_current(&cache, &name) {
                console.note("the kernel is there, and was built with the options of this version");
                console.data(&format!("{}\n", kernel::place(&cache, &name).display()))?;
                return Ok(ExitStatus::Good);
            }
            build(source, name, jobs, console)
        }
        What::List { json } => list(json, console),
        What::Doctor { linux, json } => doctor(linux.as_deref(), json, console),
    }
}

fn build(
    source: Option<PathBuf>,
    name: String,
    jobs: Option<u16>,
    console: &Console,
) -> Result<ExitStatus, Failure> {
    let cache = kernels::cache()?;
    let source = match source {
        Some(source) => source,
        None => kernel::find_source()?,
    };
    let jobs = jobs.map_or_else(environment::cores, usize::from);
    let watch = Stopwatch::start();
    let build = Build { source, name, jobs };
    let place = kernel::build(&build, &cache, &|step| console.note(step))?;
    kernel::guest_programs(&cache)?;
    let release = kernel::probe(&place)?;
    console.note(&format!("built Linux {release} in {:.0} s", watch.seconds()));
    console.data(&format!("{}\n", place.display()))?;
    Ok(ExitStatus::Good)
}

fn list(as_json: bool, console: &Console) -> Result<ExitStatus, Failure> {
    let cache = kernels::cache()?;
    let folders = std::fs::read_dir(cache.join("kernels")).into_iter().flatten().flatten();
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let mut all = Vec::new();
    for name in names {
        let place = kernel::place(&cache, &name);
        match kernel::probe(&place) {
            Ok(release) => {
                let current = kernel::is_current(&cache, &name);
                all.push((name, release, place, current));
            }
            Err(error) => console.note(&format!("{name}: {error}")),
        }
    }
    if all.is_empty() {
        console.note("no kernel was built yet: williwaw linux build");
    }
    if as_json {
        let one = |(name, release, path, current): &(String, String, PathBuf, bool)| json!({ "name": name, "release": release, "path": path.display().to_string(), "current": current });
        let kernels: Vec<Value> = all.iter().map(one).collect();
        console.document(&json!({ "schema": "williwaw-kernels/1", "kernels": kernels }))?;
    } else {
        let line = |(name, release, path, current): &(String, String, PathBuf, bool)| {
            let other = if *current { "" } else { "\tbuilt with other options" };
            format!("{name}\tLinux {release}\t{}{other}\n", path.display())
        };
        console.data(&all.iter().map(line).collect::<String>())?;
    }
    Ok(ExitStatus::Good)
}

/// Prints the requirements and whether they are met. The first unmet requirement for running a kernel is the error.
fn doctor(linux: Option<&str>, as_json: bool, console: &Console) -> Result<ExitStatus, Failure> {
    let cache = kernels::cache()?;
    let mut found: Vec<(&str, bool, String)> = Vec::new();
    let missing = kernel::missing();
    found.push(match missing.is_empty() {
        true => ("tools", true, "all there".to_owned()),
        false => ("tools", false, format!("missing to build a kernel: {}", missing.join(" "))),
    });
    found.push(match kernel::find_source() {
        Ok(source) => ("sources", true, source.display().to_string()),
        Err(error) => ("sources", false, format!("{error}; {}", error.help())),
    });
    let programs = kernel::guest_programs(&cache);
    found.push(match &programs {
        Ok((init, _)) => ("guest programs", true, init.parent().unwrap_or(init).display().to_string()),
        Err(error) => ("guest programs", false, error.to_string()),
    });
    let kernel = kernels::chosen(linux, &cache);
    found.push(match &kernel {
        Ok(path) => ("kernel", true, path.display().to_string()),
        Err(_) => ("kernel", false, "none yet".to_owned()),
    });
    let boots = match (kernel, programs) {
        (Ok(path), Ok(_)) => Some(kernels::try_out(&path)),
        (Ok(_), Err(_)) => None,
        (Err(failure), _) => Some(Err(failure)),
    };
    if let Some(Ok(how)) = &boots {
        found.push(("runs", true, how.clone()));
    }
    if as_json {
        let one =
            |(what, there, how): &(&str, bool, String)| json!({ "what": what, "there": there, "how": how });
        let checks: Vec<Value> = found.iter().map(one).collect();
        let good = matches!(boots, Some(Ok(_)));
        console.document(&json!({ "schema": "williwaw-doctor/1", "good": good, "checks": checks }))?;
    } else {
        let line = |(what, _, how): &(&str, bool, String)| format!("{what:<16}{how}\n");
        console.data(&found.iter().map(line).collect::<String>())?;
    }
    match boots {
        Some(Err(failure)) => Err(failure),
        Some(Ok(_)) => Ok(ExitStatus::Good),
        None => {
            Err(Failure::machine("the programs of the guest cannot be compiled", "install gcc and libc6-dev"))
        }
    }
}
