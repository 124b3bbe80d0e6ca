//! Child processes of the `williwaw` command: verbs with one JSON document as output, and processes of replication
//! sets with signals to them.
//!
//! Output that is not JSON is an error with the text of standard error. Arguments are passed as a list, never
//! through a shell. A file argument never begins with a dash, since it is an absolute path.

use crate::error::Problem;
use crate::library::Library;
use crate::store::{Clock, Set};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

/// The `williwaw` command.
#[derive(Debug)]
pub(crate) struct Williwaw(PathBuf);

/// Time limit of a verb.
const PATIENCE: Duration = Duration::from_secs(100);
/// Largest document, bytes; a larger one is refused as invalid.
const DOCUMENT: u64 = 64 << 20;

impl Williwaw {
    pub(crate) fn new(path: PathBuf) -> Williwaw {
        Williwaw(path)
    }

    /// Runs a verb and returns its JSON document.
    pub(crate) async fn ask(&self, arguments: &[OsString]) -> Result<Value, Problem> {
        let mut child = Command::new(&self.0)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| self.absent(&error))?;
        let (out, talk) = (child.stdout.take(), child.stderr.take());
        let whole = async {
            let (mut document, mut said) = (Vec::new(), Vec::new());
            let read_out = async {
                if let Some(out) = out {
                    let _ = out.take(DOCUMENT).read_to_end(&mut document).await;
                }
            };
            let read_talk = async {
                if let Some(talk) = talk {
                    let _ = talk.take(1 << 16).read_to_end(&mut said).await;
                }
            };
            tokio::join!(read_out, read_talk);
            let _ = child.wait().await;
            (document, said)
        };
        let answered = tokio::time::timeout(PATIENCE, whole).await;
        let Ok((document, said)) = answered else {
            return Err(Problem::wrong(
                format!("no answer within {} s", PATIENCE.as_secs()),
                "use the command line, which has no time limit",
            ));
        };
        serde_json::from_slice(&document).map_err(|_| {
            let said = String::from_utf8_lossy(&said);
            Problem::wrong(said.trim().trim_start_matches("error: ").to_owned(), "")
        })
    }

    /// Starts a process that starts or continues the run of a set, in its own process group: an interrupt at the
    /// terminal reaches only the server, which then interrupts the process.
    pub(crate) fn play(&self, set: &Set, library: &Library) -> Result<Child, Problem> {
        let folder = library.set(set.id);
        let log = folder.join("log");
        let failed = |error: std::io::Error| Problem::machine(format!("`{}`: {error}", log.display()));
        let log = File::create(&log).map_err(failed)?;
        let mut command = Command::new(&self.0);
        command.args(arguments(set, &folder, &library.run(set.id)));
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.spawn().map_err(|error| self.absent(&error))
    }

    fn absent(&self, error: &std::io::Error) -> Problem {
        Problem::machine(format!("`{}` cannot be started: {error}", self.0.display()))
    }
}

/// Arguments that start a set, or continue its run folder.
fn arguments(set: &Set, folder: &Path, run: &Path) -> Vec<OsString> {
    let verb = match set.clock {
        Clock::Virtual => "run",
        Clock::Real => "emulate",
    };
    let mut all: Vec<OsString> = vec![verb.into()];
    if run.join(results::folder::RUN).is_file() {
        all.extend(["--resume".into(), run.into()]);
    } else {
        all.extend([folder.join("scenario.toml").into(), "--out".into(), run.into()]);
    }
    all.extend(["--reps".into(), set.repetitions.to_string().into(), "--json".into()]);
    if set.clock == Clock::Virtual {
        all.push("--yes".into());
    }
    all
}

/// Interrupts a process, as at its terminal, so that it writes its results.
pub(crate) fn interrupt(process: u32) {
    signal(process, rustix::process::Signal::INT);
}

/// Kills a process.
pub(crate) fn kill(process: u32) {
    signal(process, rustix::process::Signal::KILL);
}

fn signal(process: u32, signal: rustix::process::Signal) {
    if let Some(process) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) {
        // The process may have ended.
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// Whether the run folder is an argument of the process: a process id may have been reused by another program.
pub(crate) fn plays(process: u32, run: &Path) -> bool {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let run = run.as_os_str().as_encoded_bytes();
    line.split(|b| *b == 0).any(|argument| argument == run)
}
