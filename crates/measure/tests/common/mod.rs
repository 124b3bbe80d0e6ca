//! Helpers of the measurement tests: a journal in memory, settings of server and client, a server in a thread.

use base::Span;
use measure::Error;
use measure::client::{Config, Observer};
use measure::entry::Entry;
use measure::plan::{Plan, Step, Test};
use measure::server::{self, Event, Server};
use measure::server_protocol::ServerLimits;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Journal that keeps its entries in memory.
#[derive(Default)]
pub(crate) struct Memory(pub(crate) Mutex<Vec<Entry>>);

impl Observer for Memory {
    fn entry(&self, entry: &Entry) -> Result<(), Error> {
        self.0.lock().unwrap().push(entry.clone());
        Ok(())
    }
    fn progress(&self, _done: u64, _all: u64) {}
}

/// Settings of a server.
pub(crate) fn serving(address: SocketAddr, token: Option<&str>) -> server::Config {
    server::Config {
        addresses: vec![address],
        rules: ServerLimits { token: token.map(str::to_owned), bytes: 0, lasts: None },
        most: 16,
        window: None,
        pause: Span::from_secs(1),
        stall: Span::from_secs(10),
    }
}

/// Settings of a client.
pub(crate) fn asking(server: &str, token: &str, steps: Vec<(Test, u32)>) -> Config {
    let steps = steps.into_iter().map(|(test, repetitions)| Step { test, repetitions }).collect();
    Config {
        server: server.to_owned(),
        token: token.to_owned(),
        session: 7,
        plan: Plan { steps, connect: 5.0, stall: 10.0, give_up: 10.0, ..Plan::default() },
        capture: None,
        modem: None,
        started: "2000-01-01T00:00:00Z".to_owned(),
    }
}

/// Runs `act` while the server runs in another thread.
pub(crate) fn beside<R>(server: &Server, act: impl FnOnce() -> R) -> R {
    watching(server, &|_| {}, act)
}

/// Runs `act` while the server runs in another thread and passes its events to `tell`.
pub(crate) fn watching<R>(server: &Server, tell: &(dyn Fn(Event) + Sync), act: impl FnOnce() -> R) -> R {
    let over = AtomicBool::new(false);
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        scope.spawn(|| server.serve(&over, tell).unwrap());
        // The server stops however `act` ends, also by a panic.
        let _ends = Ends(&over);
        act()
    })
}
