//! Controller's connection to one agent (`Peer`): receiving thread, inbox, loss of the agent, and clock queries twice
//! a second, which also keep the connection alive.

use crate::clocks::Bounds;
use crate::control_connection::{self, BEAT, ConnectionFault, ControlReceiver, ControlSender};
use crate::list::Host;
use crate::message::Message;
use crate::token::Token;
use emulate::Error;
use netns::clock::monotonic;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Number of clock queries at the start, and at the end, of a repetition.
const LOOKS: u64 = 32;

/// Locks a mutex, also after a panic in another thread.
pub(crate) fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connected agent; drop disconnects it.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    pub(crate) line: Arc<ControlSender>,
    shared: Arc<Shared>,
    inbox: Mutex<Receiver<(Message, Vec<u8>)>>,
    /// Dropped to end the thread of clock queries.
    beating: Option<Sender<()>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// State that the receiving thread writes.
#[derive(Debug, Default)]
struct Shared {
    clock: Mutex<(Bounds, BTreeMap<u64, u64>)>,
    looked: Condvar,
    lost: Mutex<Option<String>>,
}

impl Peer {
    /// Connects to the agent.
    ///
    /// # Errors
    /// [`Error::Agent`]: the agent is not available.
    pub(crate) fn connect(host: &Host, token: &Token) -> Result<Peer, Error> {
        let refused =
            |fault: ConnectionFault| Error::Agent { name: host.name.clone(), why: fault.to_string() };
        let (line, mut ear) = control_connection::connect(host.address, token).map_err(refused)?;
        match ear.hear().map_err(refused)?.0 {
            Message::Welcome(_) => {}
            Message::Busy(with) => return Err(refused(ConnectionFault::Busy(with))),
            _ => return Err(refused(ConnectionFault::Nonsense("no welcome".to_owned()))),
        }
        let (line, shared) = (Arc::new(line), Arc::new(Shared::default()));
        let (tell, inbox) = channel();
        let (beating, beats) = channel();
        let hearing = (shared.clone(), line.clone());
        let asking = (shared.clone(), line.clone());
        let mut peer = Peer {
            name: host.name.clone(),
            address: host.address,
            line,
            shared,
            inbox: Mutex::new(inbox),
            beating: Some(beating),
            threads: Vec::new(),
        };
        // If the second thread cannot start, the drop of `peer` ends the first.
        peer.start(move || hear(&mut ear, &hearing.0, &hearing.1, &tell))?;
        peer.start(move || {
            while let Err(RecvTimeoutError::Timeout) = beats.recv_timeout(BEAT) {
                ask(&asking.1, &asking.0);
            }
        })?;
        Ok(peer)
    }

    fn start(&mut self, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let thread = std::thread::Builder::new().spawn(work);
        let refused = |source| Error::of("starting a thread")(source);
        self.threads.push(thread.map_err(refused)?);
        Ok(())
    }

    pub(crate) fn fault(&self, why: impl Into<String>) -> Error {
        Error::Agent { name: self.name.clone(), why: why.into() }
    }

    /// Error with the reason, if the agent is lost.
    fn gone(&self) -> Option<Error> {
        held(&self.shared.lost).clone().map(|why| self.fault(why))
    }

    pub(crate) fn send(&self, message: &Message, bytes: &[u8]) -> Result<(), Error> {
        self.line
            .send(message, bytes)
            .map_err(|fault| self.gone().unwrap_or_else(|| self.fault(fault.to_string())))
    }

    /// Measures the clock offset by several queries.
    pub(crate) fn compare(&self) -> Result<Bounds, Error> {
        let mut clock = held(&self.shared.clock);
        clock.0 = Bounds::default();
        while clock.0.looks < LOOKS {
            let before = clock.0.looks;
            drop(clock);
            ask(&self.line, &self.shared);
            clock = held(&self.shared.clock);
            while clock.0.looks == before {
                if let Some(error) = self.gone() {
                    return Err(error);
                }
                let waited = self.shared.looked.wait_timeout(clock, Duration::from_millis(100));
                clock = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        Ok(clock.0)
    }

    /// Waits for the next message, at most `patience`.
    pub(crate) fn hear(&self, patience: Duration) -> Result<Option<(Message, Vec<u8>)>, Error> {
        match held(&self.inbox).recv_timeout(patience) {
            Ok(heard) => Ok(Some(heard)),
            Err(RecvTimeoutError::Timeout) => self.gone().map_or(Ok(None), Err),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone().unwrap_or_else(|| self.fault("was lost"))),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.beating = None;
        self.line.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Sends a clock query; the receiving thread processes the reply.
fn ask(line: &ControlSender, shared: &Shared) {
    let number = {
        let mut clock = held(&shared.clock);
        let number = clock.1.last_key_value().map_or(0, |(last, _)| last + 1);
        clock.1.insert(number, monotonic());
        // Old queries without an answer are discarded.
        if clock.1.len() > 64 {
            clock.1.pop_first();
        }
        number
    };
    let _ = line.send(&Message::Ping(number), &[]);
}

/// Receives messages until the agent is lost; answers to clock queries are evaluated here.
fn hear(ear: &mut ControlReceiver, shared: &Shared, line: &ControlSender, tell: &Sender<(Message, Vec<u8>)>) {
    loop {
        match ear.hear() {
            Ok((Message::Pong(number, there), _)) => {
                let back = monotonic();
                let mut clock = held(&shared.clock);
                // The last entry stays, since it determines the next sequence number.
                let sent = clock.1.get(&number).copied();
                if let Some(sent) = sent.filter(|sent| *sent > 0) {
                    clock.0.look(sent, there, back);
                    clock.1.insert(number, 0);
                }
                shared.looked.notify_all();
            }
            Ok(heard) => {
                if tell.send(heard).is_err() {
                    return;
                }
            }
            Err(fault) => {
                *held(&shared.lost) = Some(fault.to_string());
                line.close();
                shared.looked.notify_all();
                return;
            }
        }
    }
}
