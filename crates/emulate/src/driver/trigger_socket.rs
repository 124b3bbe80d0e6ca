//! Trigger socket of a running emulation: server for the driver (`TriggerSocket`, `TriggerListener`), client for
//! `williwaw trigger` (`running`, `call`).
//!
//! The sockets are abstract Unix sockets, which leave no file: one in the network namespace of the program, and one
//! at each node with commands. Request and response are one line each.

use crate::Error;
use base::Time;
use lab::priorities::{Flow, Managers};
use lab::serving::{Mobiles, Serving};
use netns::namespace::Namespace;
use netns::sys;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Prefix of the abstract socket names.
const PREFIX: &str = "williwaw/";
/// Upper limit of emulations of one name in one process.
const MOST: usize = 10_000;
/// Timeout of a response.
const PATIENCE: Duration = Duration::from_secs(5);
/// Timeout of reading a request; requests are served one after the other.
const CALLED: Duration = Duration::from_millis(500);
/// Longest request, bytes.
const LINE: u64 = 1 << 10;
/// Longest response, bytes.
const ANSWER: u64 = 1 << 20;

/// Response to a trigger request (JSON).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Time of the trigger, seconds from t = 0; None if the name is unknown or empty.
    pub at_s: Option<f64>,
    /// Names of all triggers.
    pub names: Vec<String>,
    /// Serving cells of mobiles on GPRS bearers.
    #[serde(default)]
    pub cells: Vec<Serving>,
    /// Flows under congestion managers.
    #[serde(default)]
    pub flows: Vec<Flow>,
}

/// Trigger request with the channel of its response. An empty name requests the list of names.
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) answer: Sender<Answer>,
}

/// Receiving side of the requests, in the thread of the driver.
#[derive(Debug)]
pub struct TriggerListener {
    calls: Receiver<Call>,
    /// Descriptor that becomes readable when a request arrives.
    bell: OwnedFd,
    mobiles: Mobiles,
    managers: Managers,
}

/// Listening sockets of one emulation; closed on drop.
pub struct TriggerSocket {
    calls: Sender<Call>,
    /// Descriptor that wakes the driver.
    bell: OwnedFd,
    /// One listener for each network namespace.
    listeners: Vec<UnixListener>,
    /// Abstract name of the sockets.
    name: String,
}

impl TriggerSocket {
    /// Creates the socket of an emulation with this name, and the receiving side for its driver.
    ///
    /// # Errors
    /// An error of the kernel.
    pub fn new(name: &str) -> Result<(TriggerSocket, TriggerListener), Error> {
        let (calls, receiver) = channel();
        let bell = sys::bell().map_err(Error::of("making a bell"))?;
        let ear = bell.try_clone().map_err(Error::of("making a bell"))?;
        let clean: String = name.chars().filter(|c| !c.is_whitespace() && *c != '/').collect();
        let mut line = TriggerSocket { calls, bell, listeners: Vec::new(), name: String::new() };
        // Parallel repetitions share one process: the second socket is `NAME-2`.
        for number in 1..=MOST {
            let nth = if number == 1 { String::new() } else { format!("-{number}") };
            line.name = format!("{PREFIX}{clean}{nth}/{}", std::process::id());
            match line.listener() {
                Ok(listener) => {
                    line.listeners.push(listener);
                    break;
                }
                Err(e) if e.kind() == io::ErrorKind::AddrInUse && number < MOST => {}
                Err(e) => return Err(Error::of("listening for triggers")(e)),
            }
        }
        Ok((
            line,
            TriggerListener {
                calls: receiver,
                bell: ear,
                mobiles: Mobiles::default(),
                managers: Managers::default(),
            },
        ))
    }

    fn listener(&self) -> io::Result<UnixListener> {
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&self.name)?)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Also listens in the namespace of a node.
    ///
    /// # Errors
    /// An error of the kernel.
    pub(crate) fn listen_at(&mut self, space: &Namespace) -> Result<(), Error> {
        let listener = space.inside(|| self.listener().map_err(Error::of("listening for triggers")))?;
        self.listeners.push(listener);
        Ok(())
    }

    /// Serves requests until `over`. Only the given `users` are served.
    pub(crate) fn answer(&self, over: &AtomicBool, users: &[u32]) {
        let fds: Vec<RawFd> = self.listeners.iter().map(|l| l.as_raw_fd()).collect();
        while !over.load(Ordering::Relaxed) {
            let ready = sys::readable(&fds, Some(50));
            for (listener, _) in self.listeners.iter().zip(ready).filter(|(_, ready)| *ready) {
                if let Ok((stream, _)) = listener.accept()
                    && sys::peer_user(stream.as_raw_fd()).is_ok_and(|uid| users.contains(&uid))
                {
                    // A client that has closed the connection gets no response.
                    let _ = self.hear(&stream);
                }
            }
        }
    }

    /// Reads one request, passes it to the driver, and writes the response.
    fn hear(&self, stream: &UnixStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(CALLED))?;
        stream.set_write_timeout(Some(CALLED))?;
        let mut name = String::new();
        BufReader::new(stream.take(LINE)).read_line(&mut name)?;
        if !name.ends_with('\n') {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (answer, answered) = channel();
        let call = Call { name: name.trim().to_owned(), answer };
        self.calls.send(call).map_err(|_| io::ErrorKind::BrokenPipe)?;
        sys::ring(&self.bell)?;
        let answer = answered.recv_timeout(PATIENCE).map_err(|_| io::ErrorKind::TimedOut)?;
        let mut stream = stream;
        stream.write_all(format!("{}\n", serde_json::to_string(&answer)?).as_bytes())
    }
}

impl TriggerListener {
    /// Sets the mobiles and congestion managers whose state each response contains.
    pub(crate) fn tell_of(&mut self, mobiles: Mobiles, managers: Managers) {
        (self.mobiles, self.managers) = (mobiles, managers);
    }

    /// File descriptor that wakes the driver.
    pub(crate) fn fd(&self) -> RawFd {
        self.bell.as_raw_fd()
    }

    /// Serves pending requests.
    pub(crate) fn attend(&self, network: &mut path::Network, now: Time) {
        while let Ok(call) = self.calls.try_recv() {
            sys::hush(&self.bell);
            let done = !call.name.is_empty() && network.trigger(now, &call.name);
            let at_s = done.then(|| network.now().as_secs_f64());
            let names = network.triggers().names().map(str::to_owned).collect();
            let cells = self.mobiles.display(network, now);
            let flows = self.managers.list(network, now);
            let _ = call.answer.send(Answer { at_s, names, cells, flows });
        }
    }
}

/// Running emulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Name of the emulation.
    pub name: String,
    /// Process id.
    pub process: u32,
}

/// Running emulations that can be reached from this network namespace.
///
/// # Errors
/// `/proc/net/unix` is unreadable.
pub fn running() -> io::Result<Vec<Running>> {
    let text = std::fs::read_to_string("/proc/net/unix")?;
    let names = text.lines().filter_map(|line| line.split('@').nth(1)?.strip_prefix(PREFIX));
    let mut all: Vec<Running> = names
        .filter_map(|name| {
            let (name, process) = name.rsplit_once('/')?;
            let clean = !name.is_empty() && name.len() <= 108 && !name.contains(char::is_control);
            clean.then_some(Running { name: name.to_owned(), process: process.trim().parse().ok()? })
        })
        .collect();
    all.sort_by_key(|one| one.process);
    all.dedup();
    Ok(all)
}

/// Whether responses of a user are trusted: the user of this process, root, or a user unknown in this user namespace.
/// A command sees the keeper's user as unknown.
fn is_trusted(user: u32) -> bool {
    const UNKNOWN: u32 = 65_534;
    let own = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == user);
    let whole = || {
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        map.split_whitespace().eq(["0", "0", "4294967295"])
    };
    own || user == 0 || user == UNKNOWN && !whole()
}

/// Triggers `name` in a running emulation; an empty name only requests the list of names.
///
/// # Errors
/// The emulation has ended, refuses this user, or its socket belongs to another user. Abstract names have no owner,
/// so any process may bind a name first.
pub fn call(running: &Running, name: &str) -> io::Result<Answer> {
    let address = format!("{PREFIX}{}/{}", running.name, running.process);
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(address)?)?;
    if !is_trusted(sys::peer_user(stream.as_raw_fd())?) {
        return Err(io::Error::other("it belongs to another user"));
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{name}\n").as_bytes())?;
    let mut line = String::new();
    if BufReader::new(stream.take(ANSWER)).read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(serde_json::from_str(&line)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// A client that sends without end, or nothing, is disconnected, and the next client is served.
    #[test]
    fn a_flooding_and_a_silent_caller_hold_nobody_up() {
        let (line, ear) = TriggerSocket::new(&format!("test-{}", std::process::id())).unwrap();
        let uid = std::fs::metadata("/proc/self").unwrap().uid();
        let over = Arc::new(AtomicBool::new(false));
        let name = line.name.clone();
        std::thread::scope(|scope| {
            scope.spawn(|| line.answer(&over, &[uid]));
            let address = SocketAddr::from_abstract_name(&name).unwrap();
            let mut flood = UnixStream::connect_addr(&address).unwrap();
            let _silent = UnixStream::connect_addr(&address).unwrap();
            let flooding = scope.spawn(move || {
                let mut sent = 0;
                while flood.write_all(&[b'x'; 4096]).is_ok() && sent < 64 << 20 {
                    sent += 4096;
                }
                sent
            });
            assert!(flooding.join().unwrap() < 8 << 20, "no more is read than a line may have");
            let called = scope.spawn(|| {
                let (_, rest) = name.split_once('/').unwrap();
                let (name, process) = rest.rsplit_once('/').unwrap();
                call(&Running { name: name.to_owned(), process: process.parse().unwrap() }, "x")
            });
            let heard = ear.calls.recv_timeout(PATIENCE).unwrap();
            assert_eq!(heard.name, "x");
            heard
                .answer
                .send(Answer { at_s: Some(1.0), names: Vec::new(), cells: Vec::new(), flows: Vec::new() })
                .unwrap();
            let answer = called.join().unwrap();
            over.store(true, Ordering::Relaxed);
            assert_eq!(answer.unwrap().at_s, Some(1.0));
        });
    }

    /// A caller of a user that may not send signals to the emulation is not heard.
    #[test]
    fn a_caller_of_another_user_is_not_heard() {
        let (line, ear) = TriggerSocket::new(&format!("others-{}", std::process::id())).unwrap();
        let uid = std::fs::metadata("/proc/self").unwrap().uid();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| line.answer(&over, &[uid + 1]));
            let running =
                Running { name: format!("others-{}", std::process::id()), process: std::process::id() };
            let refused = call(&running, "x");
            over.store(true, Ordering::Relaxed);
            assert!(refused.is_err(), "{refused:?}");
        });
        assert!(ear.calls.try_recv().is_err());
    }
}
