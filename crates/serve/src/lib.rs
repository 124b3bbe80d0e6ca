//! The control tool's HTTP server: compose, queue, run, watch and compare scenarios from a local web page.
//!
//! It listens on loopback, requires a token in every request ([`guard`]) and bounds bodies, connections and times
//! ([`listen`]). The library crates supply scenarios, runs and pictures; replication sets are played by child
//! processes (`williwaw run --out FOLDER`), whose run folders survive the server ([`queue`]).
//!
//! | question | file |
//! |---|---|
//! | access control | `guard.rs` |
//! | text to form and back, errors, preview | `compose.rs`, crate `editor` |
//! | saved scenarios, captures: names and places | `library.rs` |
//! | the queue on disk, the process that plays it | `store.rs`, `queue.rs`, `child.rs` |
//! | tables, pictures, films, live events | `watch.rs`, `sets.rs` |
//! | captures | `captures.rs` |
//! | one self-contained page of a set | `export.rs` |

mod api;
mod assets;
mod captures;
mod child;
mod compose;
mod error;
mod export;
mod guard;
mod library;
mod listen;
mod meters;
mod queue;
mod sets;
mod store;
mod watch;

use crate::child::Williwaw;
use crate::guard::Guard;
use crate::library::Library;
use crate::queue::Queue;
use crate::store::Store;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

pub use crate::error::Problem;

/// Start options of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Folder of everything that it keeps: queue, sets, scenarios, captures, token.
    pub home: PathBuf,
    /// The `williwaw` binary that plays sets.
    pub williwaw: PathBuf,
    /// Nothing can be saved, started or changed.
    pub read_only: bool,
}

/// A server that is ready to listen.
#[derive(Debug)]
pub struct Server {
    state: App,
    token: String,
}

/// State shared by all handlers.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) store: Arc<Store>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) library: Arc<Library>,
    pub(crate) williwaw: Arc<Williwaw>,
    pub(crate) read_only: bool,
    /// Permits of requests that simulate or analyse: one per core would starve the set that runs.
    pub(crate) heavy: Arc<Semaphore>,
}

/// Requests at a time that simulate or analyse.
const HEAVY: usize = 2;

impl Server {
    /// Opens or makes the folder, and takes up the queue that it holds.
    ///
    /// # Errors
    /// The folder cannot be used, or another server uses it.
    pub fn open(config: &Config) -> Result<Server, Problem> {
        let library = Arc::new(Library::open(&config.home)?);
        let token = library.token()?;
        let store = Arc::new(Store::open(&config.home.join("queue.sqlite"))?);
        let williwaw = Arc::new(Williwaw::new(config.williwaw.clone()));
        let queue = Arc::new(Queue::new(store.clone(), library.clone(), williwaw.clone()));
        let heavy = Arc::new(Semaphore::new(HEAVY));
        let state = App { store, queue, library, williwaw, read_only: config.read_only, heavy };
        Ok(Server { state, token })
    }

    /// The token that every request has to carry.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Answers requests on `listener` and plays the queue until `stop` resolves; then the running set is interrupted
    /// in order and stays in the queue.
    ///
    /// # Errors
    /// The listener's address cannot be read.
    pub async fn run(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Problem> {
        let address = listener.local_addr().map_err(|e| Problem::machine(format!("no address: {e}")))?;
        let guard = Guard::new(&self.token, address.port());
        let routes = api::routes(self.state.clone(), guard);
        let queue = self.state.queue.clone();
        let player = tokio::spawn(queue.clone().play());
        let watcher = tokio::spawn(queue.clone().watch());
        listen::serve(listener, routes, stop).await;
        queue.close().await;
        player.abort();
        watcher.abort();
        Ok(())
    }
}
