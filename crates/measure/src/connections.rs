//! Connections of the measurement client: establishment with socket options, orderly close, final kernel statistics of
//! both ends.
//!
//! Each connection is closed before the next one opens, so that its final sample is complete. The server's final
//! statistics are requested on a later connection.

use crate::cause::Loss;
use crate::client::Config;
use crate::client_protocol::{ClientProtocol, Request};
use crate::clock::Clock;
use crate::entry::{KernelStats, UnmeasuredTotals};
use crate::message::Job;
use crate::plan::span;
use crate::pump::{Disconnect, Pump};
use crate::{Error, UNSENT, kernel, sys};
use base::Span;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Timeout of an orderly close.
const PARTING: Span = Span::from_secs(10);

/// Connections of a client to one server.
pub(crate) struct Connections<'a> {
    config: &'a Config,
    clock: Clock,
    stop: &'a AtomicBool,
    address: SocketAddr,
    ledger: Mutex<Ledger>,
}

/// Repetitions stored, statistics outstanding, and totals of closed connections.
#[derive(Debug, Default)]
struct Ledger {
    /// Number of repetitions in the log.
    runs: usize,
    /// Connections whose server statistics are outstanding: key, and index of the repetition.
    owed: Vec<(u64, usize)>,
    accounts: Vec<KernelStats>,
    others: UnmeasuredTotals,
}

impl<'a> Connections<'a> {
    pub(crate) fn new(
        config: &'a Config,
        clock: Clock,
        stop: &'a AtomicBool,
        address: SocketAddr,
    ) -> Connections<'a> {
        Connections { config, clock, stop, address, ledger: Mutex::default() }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Request of a job and of the outstanding statistics.
    pub(crate) fn request(&self, job: Job) -> Request {
        let plan = &self.config.plan;
        Request {
            session: self.config.session,
            token: self.config.token.clone(),
            job,
            owed: self.ledger().owed.iter().map(|(key, _)| *key).collect(),
            window: plan.socket.window.unwrap_or(0),
            think: span(plan.think),
            threshold: span(plan.silence),
        }
    }

    fn open(&self) -> io::Result<TcpStream> {
        let plan = &self.config.plan;
        let patience = Duration::from_secs_f64(plan.connect.clamp(0.1, 3600.0));
        sys::connect(self.address, &plan.socket, patience).map_err(plain)
    }

    /// Opens the connection of a repetition.
    pub(crate) fn connect(&self) -> Result<TcpStream, Disconnect> {
        let began = self.clock.now();
        let refused = |error| Disconnect::Lost(Loss::of("refused", &error).after(began));
        let stream = self.open().map_err(refused)?;
        // Without `TCP_NOTSENT_LOWAT`, the system limits unsent bytes.
        let _ = sys::keep_short(&stream, UNSENT);
        Ok(stream)
    }

    /// Connects, greets, receives outstanding statistics, and closes; returns the server's name.
    pub(crate) fn greet(&self) -> Result<String, Error> {
        let address = self.address;
        let stream = self.open().map_err(|source| Error::Connect { address, source })?;
        let mut asking = ClientProtocol::new(self.request(Job::Probes));
        let silent = |why: String| Error::Silent { address, why };
        let mut pump = Pump::new(&stream, self.clock, self.stop, span(self.config.plan.connect), &[])
            .map_err(|error| silent(error.to_string()))?;
        let ran = pump.run(&mut asking, |asking| {
            asking.end_probes();
            false
        });
        let (info, _) = self.part(&stream, &asking, ran.is_ok());
        self.another(&info);
        match ran {
            Ok(()) => Ok(asking.server().unwrap_or_default().to_owned()),
            Err(Disconnect::Fault(fault)) => Err(Error::Fault { address, fault }),
            Err(Disconnect::Lost(loss)) => Err(silent(loss.evidence)),
            Err(Disconnect::Stopped) => Err(silent("it was not waited for".to_owned())),
        }
    }

    /// Closes a connection after its job, or aborts it. Returns the final kernel statistics, and whether both ends
    /// have closed.
    pub(crate) fn part(
        &self,
        stream: &TcpStream,
        asking: &ClientProtocol,
        done: bool,
    ) -> (BTreeMap<String, u64>, bool) {
        self.hear(asking);
        let from = self.clock.now();
        let mut patience = Span::ZERO;
        if done && stream.shutdown(Shutdown::Write).is_ok() {
            patience = PARTING;
            let mut rest = [0; 64];
            while !self.stop.load(Ordering::Relaxed) && self.clock.now().since(from) < patience {
                match (&mut { stream }).read(&mut rest) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error)
                        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                    Err(_) => break,
                }
            }
        }
        let (info, closed) = kernel::last_words(stream, self.clock, patience, self.stop);
        (info, done && closed)
    }

    /// Stores the statistics that the server sent on this connection.
    fn hear(&self, asking: &ClientProtocol) {
        let mut ledger = self.ledger();
        for (key, json) in asking.accounts() {
            let Some(at) = ledger.owed.iter().position(|(owed, _)| owed == key) else { continue };
            let (_, run) = ledger.owed.remove(at);
            if let Ok(info) = serde_json::from_str(json) {
                ledger.accounts.push(KernelStats { run, info });
            }
        }
    }

    /// Records that a repetition is in the log; `key`: its connection, if the server's statistics are to be requested.
    pub(crate) fn kept(&self, key: Option<u64>) {
        let mut ledger = self.ledger();
        let run = ledger.runs;
        ledger.runs += 1;
        ledger.owed.extend(key.map(|key| (key, run)));
    }

    /// Adds a connection without measured bytes to the totals.
    pub(crate) fn another(&self, info: &BTreeMap<String, u64>) {
        let of = |name: &str| info.get(name).copied().unwrap_or(0);
        let others = &mut self.ledger().others;
        others.connections += 1;
        others.segments += of("data_segs_out");
        others.retransmissions += of("total_retrans");
    }

    /// Removes and returns the statistics received since the last call.
    pub(crate) fn accounts(&self) -> Vec<KernelStats> {
        std::mem::take(&mut self.ledger().accounts)
    }
    /// Whether server statistics are outstanding.
    pub(crate) fn is_owed(&self) -> bool {
        !self.ledger().owed.is_empty()
    }
    /// Totals of connections without measured bytes.
    pub(crate) fn others(&self) -> UnmeasuredTotals {
        self.ledger().others.clone()
    }
}

/// Adds a text to a timeout that has none.
fn plain(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::TimedOut && error.raw_os_error().is_none() {
        return io::Error::new(io::ErrorKind::TimedOut, "no answer");
    }
    error
}
