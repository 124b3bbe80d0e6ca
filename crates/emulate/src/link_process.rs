//! Link process: a program that says on its standard output when each packet of a hop is delivered (docs/link-process.md).
//!
//! It is started anew for each repetition and asked for one packet at a time, so that under virtual time its answers depend on
//! its questions alone. An answer that cannot be used ends the repetition with one error.

use base::Time;
use base::rng::Seed;
use path::outside::{Arriving, Fate, Outside, Server};
use scenario::Model;
use scenario::build::World;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest wait for its end once it has been told that no question comes any more.
const PARTING: Duration = Duration::from_secs(1);
/// The longest answer, bytes.
const LONGEST: u64 = 128;

/// Starts the programs of a model's hops and has them serve its links; the first fault is told to `faults`, and every packet
/// after it is lost.
///
/// # Errors
/// What is wrong with the first that cannot be started.
pub fn attach(model: &Model, seed: Seed, world: &mut World, faults: &Sender<String>) -> Result<(), String> {
    for process in &model.processes {
        let line = Line::start(&process.name, &process.command, seed, faults.clone())?;
        let line = Arc::new(Mutex::new(line));
        for (direction, index) in ["down", "up"].into_iter().zip(process.links) {
            let of = world.outsides.iter().filter(|(link, _)| *link == index);
            for (_, id) in of {
                if let Some(link) = world.network.element_mut::<Outside>(*id) {
                    link.serve(Some(Box::new(Way { line: line.clone(), direction })));
                }
            }
        }
    }
    Ok(())
}

/// Lets the programs go.
pub fn detach(world: &mut World) {
    for (_, id) in &world.outsides {
        if let Some(link) = world.network.element_mut::<Outside>(*id) {
            link.serve(None);
        }
    }
}

/// One direction of a hop.
struct Way {
    line: Arc<Mutex<Line>>,
    direction: &'static str,
}

impl Server for Way {
    fn fate(&mut self, packet: &Arriving) -> Fate {
        self.line.lock().map_or(Fate::Lost, |mut line| line.fate(self.direction, packet))
    }
}

/// A program and the lines to and from it.
struct Line {
    name: String,
    child: Child,
    /// None once it has failed.
    questions: Option<ChildStdin>,
    answers: Receiver<String>,
    faults: Sender<String>,
}

impl Line {
    fn start(name: &str, command: &str, seed: Seed, faults: Sender<String>) -> Result<Line, String> {
        let refused = |why: std::io::Error| format!("the program of hop `{name}` cannot be started: {why}");
        let mut child = Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(refused)?;
        // One answer may wait: what nobody asked for stops its writer and not us.
        let (sender, answers) = sync_channel(1);
        let (questions, stdout) = (child.stdin.take(), child.stdout.take());
        if let Some(stdout) = stdout {
            std::thread::Builder::new()
                .name("link process".to_owned())
                .spawn(move || read(stdout, &sender))
                .map_err(refused)?;
        }
        let mut line = Line { name: name.to_owned(), child, questions, answers, faults };
        line.say(&format!("link {name} seed {} repetition {}\n", seed.seed, seed.repetition))
            .map_err(|why| line.complaint(&why))?;
        Ok(line)
    }

    fn say(&mut self, text: &str) -> Result<(), String> {
        let Some(questions) = &mut self.questions else { return Err("has failed before".to_owned()) };
        questions.write_all(text.as_bytes()).map_err(|why| format!("ended before it answered: {why}"))
    }

    fn complaint(&self, why: &str) -> String {
        format!("the program of hop `{}` {why}", self.name)
    }

    fn fate(&mut self, direction: &str, packet: &Arriving) -> Fate {
        if self.questions.is_none() {
            return Fate::Lost;
        }
        self.ask(direction, packet).unwrap_or_else(|why| {
            // Who is told may be gone: then the run has ended.
            let _told = self.faults.send(self.complaint(&why));
            self.questions = None;
            Fate::Lost
        })
    }

    fn ask(&mut self, direction: &str, packet: &Arriving) -> Result<Fate, String> {
        let Arriving { at, number, size, flow } = *packet;
        let at = at.as_nanos();
        self.say(&format!("packet {direction} {number} {at} {size} {flow}\n"))?;
        match self.answers.recv_timeout(PATIENCE) {
            Ok(line) => answer(&line, packet).map_err(|why| format!("answered `{}`: {why}", line.trim_end())),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("did not answer about packet {number} in {} s", PATIENCE.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("ended before it answered, or wrote a line of more than {LONGEST} bytes"))
            }
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // The end of its input asks it to end; its output ends with it.
        self.questions = None;
        while self.answers.recv_timeout(PARTING).is_ok() {}
        // One that has ended is not there to be killed.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Reads answers to their end.
fn read(stdout: ChildStdout, answers: &SyncSender<String>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let read = stdout.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        if !matches!(read, Ok(n) if n > 0) || line.last() != Some(&b'\n') {
            return;
        }
        if answers.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            return;
        }
    }
}

/// Reads an answer: `NUMBER at NANOSECONDS` or `NUMBER lost`.
///
/// # Errors
/// What is wrong with it, and how to write it.
pub fn answer(line: &str, packet: &Arriving) -> Result<Fate, String> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (number, fate) = match words[..] {
        [number, "at", t] => (number, t.parse().map(|t| Fate::At(Time::from_nanos(t))).ok()),
        [number, "lost"] => (number, Some(Fate::Lost)),
        _ => ("", None),
    };
    let Some(fate) = fate else {
        return Err("an answer is `NUMBER at NANOSECONDS` or `NUMBER lost`".to_owned());
    };
    if number.parse() != Ok(packet.number) {
        return Err(format!("packet {} was asked about", packet.number));
    }
    match fate {
        Fate::At(t) if t <= packet.at => {
            Err(format!("it came at {}, and is delivered later than that", packet.at.as_nanos()))
        }
        Fate::At(t) if t == Time::NEVER => Err("that is no time; `NUMBER lost` loses a packet".to_owned()),
        fate => Ok(fate),
    }
}

/// The first fault that was told, if one was.
pub fn first(faults: &Receiver<String>) -> Option<String> {
    faults.try_recv().ok()
}

/// A channel for the faults of programs.
pub fn faults() -> (Sender<String>, Receiver<String>) {
    channel()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PACKET: Arriving = Arriving { at: Time::from_nanos(7), number: 12, size: 40, flow: 0 };

    #[test]
    fn answers_are_times_after_the_question() {
        assert_eq!(answer("12 at 8\n", &PACKET), Ok(Fate::At(Time::from_nanos(8))));
        assert_eq!(answer("12 lost\n", &PACKET), Ok(Fate::Lost));
        for wrong in [
            "",
            "12",
            "12 at",
            "12 at -1",
            "12 at 7",
            "13 at 9",
            "13 lost",
            "12 at 9 ms",
            "12 at 18446744073709551615",
        ] {
            assert!(answer(wrong, &PACKET).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_answered(line in ".{0,200}", words in "(12|13|x) (at|lost)? ?[0-9]{0,25}") {
            for line in [line, words] {
                if let Ok(Fate::At(t)) = answer(&line, &PACKET) {
                    prop_assert!(t > PACKET.at && t < Time::NEVER);
                }
            }
        }
    }
}
