//! HTTP server of the control tool: a local web page that composes, queues, runs, watches and compares scenarios.
//!
//! The server listens on loopback, requires a token for the API ([`guard`]), and limits bodies, connections and times
//! ([`listen`]). Library crates supply scenarios and pictures; replication sets run in child processes (`williwaw run
//! --out FOLDER`), whose run folders outlive the server ([`queue`]).
//!
//! | question | file |
//! |---|---|
//! | access control | `guard.rs` |
//! | scenario texts: check, edits, preview | `compose.rs`, crate `editor` |
//! | files: scenarios, captures, sets, token | `library.rs` |
//! | queue of sets: database, player, child processes | `store.rs`, `queue.rs`, `child.rs` |
//! | requests about sets; live events | `sets.rs`, `watch.rs` |
//! | captures | `captures.rs` |
//! | self-contained page of a set | `export.rs` |

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
    /// Folder of queue, sets, scenarios, captures and token.
    pub home: PathBuf,
    /// Path of the `williwaw` binary that plays sets.
    pub williwaw: PathBuf,
    /// Refuse to save, start or change.
    pub read_only: bool,
}

/// Server that is ready to listen.
#[derive(Debug)]
pub struct Server {
    state: App,
    token: String,
}

/// State shared by all request handlers.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) store: Arc<Store>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) library: Arc<Library>,
    pub(crate) williwaw: Arc<Williwaw>,
    pub(crate) read_only: bool,
    /// Permits of requests that simulate or analyse. One for each core would starve the running set.
    pub(crate) heavy: Arc<Semaphore>,
}

/// Number of concurrent requests that simulate or analyse.
const HEAVY: usize = 2;

impl Server {
    /// Opens or creates the folder, and loads its queue.
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

    /// Token that every API request must carry.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Serves requests on `listener` and plays the queue until `stop` resolves. Then the running set is interrupted
    /// and stays in the queue.
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
