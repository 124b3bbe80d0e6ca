//! Path of an emulation at an agent: interface of its player (`PathPreparer`, `PathPlayer`), and the worker thread
//! that connects to the lending hosts, plays repetitions and reports results.
//!
//! The thread that reads the control connection is not blocked.

use crate::control::AgentControl;
use crate::control_connection::ControlSender;
use crate::list::Host;
use crate::message::{Message, WorkerHost};
use base::Span;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Preparation of a path. The content of tasks is opaque to the agent.
pub trait PathPreparer: Send + Sync {
    /// Prepares `task`, with nodes on other hosts; returns the player, and details for the controller.
    ///
    /// # Errors
    /// Reason of the failure.
    fn begin(
        &self,
        task: &[u8],
        elsewhere: Option<Arc<AgentControl>>,
    ) -> Result<(Box<dyn PathPlayer + '_>, Vec<u8>), String>;
}

/// Prepared player of repetitions.
pub trait PathPlayer {
    /// Plays the repetition `order`. `out` receives results by kind; the return value is reported last. `stop`, once
    /// set, ends the repetition early.
    ///
    /// # Errors
    /// Reason of the failure.
    fn play(
        &mut self,
        order: &[u8],
        out: &(dyn Fn(&str, &[u8]) + Sync),
        stop: &AtomicBool,
    ) -> Result<Vec<u8>, String>;
}

/// Upper limit of result bytes in one message.
const PIECE: usize = 1 << 20;

/// Worker thread of a path; drop ends the thread.
pub(crate) struct PathWorker {
    stop: Arc<AtomicBool>,
    playing: Arc<AtomicBool>,
    orders: Option<Sender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl PathWorker {
    /// Starts the preparation in a thread, which sends `Ready` or `Refused`.
    pub(crate) fn begin(
        line: Arc<ControlSender>,
        carries: Arc<dyn PathPreparer>,
        lenders: Vec<WorkerHost>,
        clock_limit: Span,
        task: Vec<u8>,
    ) -> PathWorker {
        let (stop, playing) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        let (orders, ordered) = channel();
        let reply_line = line.clone();
        let work = PathSession { line, stop: stop.clone(), playing: playing.clone() };
        let thread = std::thread::Builder::new().spawn(move || {
            let connected = connect(lenders, clock_limit);
            let begun = connected.and_then(|control| carries.begin(&task, control));
            work.playing.store(false, Ordering::Relaxed);
            match begun {
                Ok((plays, reply)) => {
                    // If the controller has disconnected, sending fails, and so does the next wait for an order.
                    let _ = work.line.send(&Message::Ready, &reply);
                    work.run(plays, &ordered);
                }
                Err(why) => _ = work.line.send(&Message::Refused(why), &[]),
            }
        });
        let refused =
            |error| _ = reply_line.send(&Message::Refused(format!("no thread can be started: {error}")), &[]);
        PathWorker { stop, playing, orders: Some(orders), thread: thread.map_err(refused).ok() }
    }

    /// Queues a repetition.
    pub(crate) fn play(&self, order: Vec<u8>) {
        self.playing.store(true, Ordering::Relaxed);
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }

    /// Stops the current and all further repetitions.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether a repetition is running.
    pub(crate) fn is_playing(&self) -> bool {
        self.playing.load(Ordering::Relaxed)
    }
}

impl Drop for PathWorker {
    fn drop(&mut self) {
        self.stop();
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn connect(lenders: Vec<WorkerHost>, clock_limit: Span) -> Result<Option<Arc<AgentControl>>, String> {
    let hosts: Vec<_> = lenders
        .into_iter()
        .map(|lender| {
            let WorkerHost { name, address, token, machines } = lender;
            (Host { name, address, token_file: String::new(), machines }, token)
        })
        .collect();
    if hosts.is_empty() {
        return Ok(None);
    }
    AgentControl::connect(&hosts, clock_limit)
        .map(|control| Some(Arc::new(control)))
        .map_err(|e| e.to_string())
}

struct PathSession {
    line: Arc<ControlSender>,
    stop: Arc<AtomicBool>,
    playing: Arc<AtomicBool>,
}

impl PathSession {
    /// Plays repetitions until the queue of orders is closed or an error occurs.
    fn run(&self, mut plays: Box<dyn PathPlayer + '_>, orders: &Receiver<Vec<u8>>) {
        let out = |kind: &str, bytes: &[u8]| {
            // An empty result is sent as one empty piece.
            let whole = bytes.is_empty().then_some(bytes);
            for some in whole.into_iter().chain(bytes.chunks(PIECE)) {
                if self.line.send(&Message::Piece(kind.to_owned()), some).is_err() {
                    return self.stop.store(true, Ordering::Relaxed);
                }
            }
        };
        while let Ok(order) = orders.recv() {
            let played = plays.play(&order, &out, &self.stop);
            self.playing.store(false, Ordering::Relaxed);
            let sent = match played {
                Ok(results) => self.line.send(&Message::Played, &results),
                Err(why) => {
                    let _ = self.line.send(&Message::Failed(why), &[]);
                    return;
                }
            };
            if sent.is_err() {
                return;
            }
        }
    }
}
