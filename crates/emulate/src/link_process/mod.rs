//! Link processes of a world: start of the programs that determine delivery time or loss of each packet of a hop, their
//! attachment to links, requests over standard input and output, end (docs/link-process.md).
//!
//! The program is started for each repetition and asked for one packet at a time. Under virtual time its responses
//! therefore depend on the requests alone. An invalid response ends the repetition with one error.

pub mod response;

use self::response::{LONGEST, Response, Responses, answer};
use base::rng::Seed;
use path::outside::{ExternalLink, FateServer, PacketArrival, PacketFate};
use scenario::Model;
use scenario::build::World;
use std::io::Write as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Timeout of a response.
const PATIENCE: Duration = Duration::from_secs(10);
/// Timeout of the program's exit after the end of its input.
const PARTING: Duration = Duration::from_secs(1);
/// Poll interval for the exit.
const LOOK: Duration = Duration::from_millis(10);
/// Upper limit of unrequested responses discarded at the end.
const UNASKED: u32 = 16;

/// Starts the programs of a model's hops and attaches them to the links. The first fault is sent to `faults`; every
/// packet after it is lost.
///
/// # Errors
/// The first program that cannot be started, with the reason.
pub fn attach(model: &Model, seed: Seed, world: &mut World, faults: &Sender<String>) -> Result<(), String> {
    for process in &model.processes {
        let line = ProcessPipe::start(&process.name, &process.command, seed, faults.clone())?;
        let line = Arc::new(Mutex::new(line));
        for (direction, index) in ["down", "up"].into_iter().zip(process.links) {
            let of = world.outsides.iter().filter(|(link, _)| *link == index);
            for (_, id) in of {
                if let Some(link) = world.network.element_mut::<ExternalLink>(*id) {
                    link.serve(Some(Box::new(HopDirection { line: line.clone(), direction })));
                }
            }
        }
    }
    Ok(())
}

/// Detaches the programs from the links, which ends them.
pub fn detach(world: &mut World) {
    for (_, id) in &world.outsides {
        if let Some(link) = world.network.element_mut::<ExternalLink>(*id) {
            link.serve(None);
        }
    }
}

/// One direction of a hop, served by a program.
struct HopDirection {
    line: Arc<Mutex<ProcessPipe>>,
    direction: &'static str,
}

impl FateServer for HopDirection {
    fn fate(&mut self, packet: &PacketArrival) -> PacketFate {
        self.line.lock().map_or(PacketFate::Lost, |mut line| line.fate(self.direction, packet))
    }
}

/// Program of a hop with its pipes.
struct ProcessPipe {
    name: String,
    child: Child,
    /// Standard input; None after a fault.
    questions: Option<ChildStdin>,
    answers: Receiver<Response>,
    faults: Sender<String>,
}

impl ProcessPipe {
    fn start(name: &str, command: &str, seed: Seed, faults: Sender<String>) -> Result<ProcessPipe, String> {
        let refused = |why: std::io::Error| format!("the program of hop `{name}` cannot be started: {why}");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Own process group: Ctrl-C at the terminal ends the run, which then ends the program and its children.
        #[cfg(target_os = "linux")]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let mut child = shell.spawn().map_err(refused)?;
        // The channel has room for one response: unrequested responses block the reading thread, not the run.
        let (sender, answers) = sync_channel(1);
        let (questions, stdout) = (child.stdin.take(), child.stdout.take());
        let mut line = ProcessPipe { name: name.to_owned(), child, questions, answers, faults };
        if let Some(stdout) = stdout {
            std::thread::Builder::new()
                .name("link process".to_owned())
                .spawn(move || Responses::of(stdout).try_for_each(|said| sender.send(said)))
                .map_err(refused)?;
        }
        // A program that has already exited is detected at the first packet.
        let _said = line.say(&format!("link {name} seed {} repetition {}\n", seed.seed, seed.repetition));
        Ok(line)
    }

    /// Writes a line to the program; returns whether it accepts input.
    fn say(&mut self, text: &str) -> bool {
        self.questions.as_mut().is_some_and(|questions| questions.write_all(text.as_bytes()).is_ok())
    }

    fn fate(&mut self, direction: &str, packet: &PacketArrival) -> PacketFate {
        if self.questions.is_none() {
            return PacketFate::Lost;
        }
        self.ask(direction, packet).unwrap_or_else(|why| {
            // Without a receiver the run has ended.
            let _told = self.faults.send(format!("the program of hop `{}` {why}", self.name));
            self.questions = None;
            PacketFate::Lost
        })
    }

    fn ask(&mut self, direction: &str, packet: &PacketArrival) -> Result<PacketFate, String> {
        let PacketArrival { at, number, size, flow } = *packet;
        let at = at.as_nanos();
        // A program that accepts no input may have written an invalid response before.
        let _said = self.say(&format!("packet {direction} {number} {at} {size} {flow}\n"));
        match self.answers.recv_timeout(PATIENCE) {
            Ok(Response::Line(line)) => {
                answer(&line, packet).map_err(|why| format!("answered `{}`: {why}", line.trim_end()))
            }
            Ok(Response::TooLong) => {
                Err(format!("wrote a line of more than {LONGEST} bytes about packet {number}"))
            }
            Ok(Response::Cut(line)) => {
                Err(format!("{} in the middle of an answer, `{}`", self.end(), line.trim_end()))
            }
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("did not answer about packet {number} in {} s", PATIENCE.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("{} before it answered about packet {number}", self.end()))
            }
        }
    }

    /// Describes the exit of the program after the end of its output.
    #[allow(clippy::disallowed_methods, reason = "a process that has closed its output is waited for")]
    fn end(&mut self) -> String {
        self.questions = None;
        for _ in 0..PARTING.as_millis() / LOOK.as_millis() {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    let why = match status.code() {
                        Some(127) => " (there is no such program)",
                        Some(126) => " (it may not be run; `chmod +x` allows it)",
                        _ => "",
                    };
                    return format!("ended with {status}{why}");
                }
                Ok(None) => std::thread::sleep(LOOK),
                Err(_) => break,
            }
        }
        "closed its output".to_owned()
    }
}

impl Drop for ProcessPipe {
    fn drop(&mut self) {
        // The end of its input requests the exit; the program's output ends then.
        self.questions = None;
        // Unrequested responses are discarded.
        for _ in 0..UNASKED {
            if self.answers.recv_timeout(PARTING).is_err() {
                break;
            }
        }
        // Only a running program is killed. Its process id stays reserved until the wait below.
        #[cfg(target_os = "linux")]
        if let (Ok(None), Ok(group)) = (self.child.try_wait(), i32::try_from(self.child.id())) {
            let _ended = netns::sys::process::signal(-group, libc::SIGKILL);
        }
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// First fault received, if any.
pub fn first(faults: &Receiver<String>) -> Option<String> {
    faults.try_recv().ok()
}

/// Channel for the faults of programs.
pub fn faults() -> (Sender<String>, Receiver<String>) {
    channel()
}
