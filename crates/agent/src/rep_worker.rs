//! Lent namespaces of an agent in one repetition (`RepWorker`): a worker thread prepares them, waits for the start,
//! runs them, and reports the results.
//!
//! The thread that reads the control connection is not blocked.

use crate::control_connection::ControlSender;
use crate::message::{Message, TunnelStats};
use crate::packet_relay::PacketRelay;
use emulate::remote::hosts::{Orders, RemoteResults};
use emulate::remote::worker::Worker;
use emulate::{Error, Surroundings};
use netns::clock::Clock;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// Upper limit of output bytes in one message.
const OUTPUT: usize = 1 << 20;

/// Worker thread of a repetition; drop ends the thread.
pub(crate) struct RepWorker {
    over: Arc<AtomicBool>,
    start: Sender<(u64, i64)>,
    thread: Option<JoinHandle<()>>,
}

impl RepWorker {
    /// Starts the preparation in a thread, which sends `Prepared` or `Refused`.
    pub(crate) fn begin(
        line: Arc<ControlSender>,
        around: Arc<Surroundings>,
        first: u32,
        orders: Orders,
    ) -> RepWorker {
        let over = Arc::new(AtomicBool::new(false));
        let (start, started) = channel();
        let (ended, reply_line) = (over.clone(), line.clone());
        let thread = std::thread::Builder::new().spawn(move || {
            let work = RepSession { line: &line, around: &around, over: &ended };
            match work.run(first, orders, &started) {
                Ok(()) => {}
                // Sending fails if the controller has disconnected.
                Err(Failed::Early(error)) => _ = line.send(&Message::Refused(error.to_string()), &[]),
                Err(Failed::Late(error)) => _ = line.send(&Message::Failed(error.to_string()), &[]),
            }
        });
        let refused =
            |error| _ = reply_line.send(&Message::Refused(format!("no thread can be started: {error}")), &[]);
        RepWorker { over, start, thread: thread.map_err(refused).ok() }
    }

    /// Starts the repetition: t = 0 on this host's clock, and this clock less the controller's clock, ns.
    pub(crate) fn start(&self, origin: u64, ahead: i64) {
        let _ = self.start.send((origin, ahead));
    }

    /// Ends the repetition; the thread sends the results.
    pub(crate) fn finish(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Drop for RepWorker {
    fn drop(&mut self) {
        self.finish();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum Failed {
    Early(Error),
    Late(Error),
}

struct RepSession<'a> {
    line: &'a ControlSender,
    around: &'a Surroundings,
    over: &'a AtomicBool,
}

fn socket(ours: SocketAddr) -> Result<UdpSocket, Error> {
    UdpSocket::bind(ours).map_err(Error::of(format!("listening for packets at {ours}")))
}

impl RepSession<'_> {
    fn run(&self, first: u32, orders: Orders, started: &Receiver<(u64, i64)>) -> Result<(), Failed> {
        let over = || self.over.load(Ordering::Relaxed);
        let gone = |source| Error::of("looking at the line")(source);
        let (ours, peer) = self.line.ends().map_err(gone).map_err(Failed::Early)?;
        let socket = socket(ours).map_err(Failed::Early)?;
        let (lent, devices) = Worker::prepare(orders, self.around, over).map_err(Failed::Early)?;
        let carrier = PacketRelay::new(socket, peer, &self.line.keys(), first, devices);
        let carrier = carrier.map_err(gone).map_err(Failed::Early)?;
        let start = OnceLock::new();
        let (returned, carried) = std::thread::scope(|scope| {
            let carry = || carrier.run(self.over, &start);
            let carrying = match std::thread::Builder::new().spawn_scoped(scope, carry) {
                Ok(carrying) => carrying,
                Err(source) => {
                    let what = "starting a thread".to_owned();
                    return (Err(Error::of(what)(source)), TunnelStats::default());
                }
            };
            let _ = self.line.send(&Message::Prepared, &[]);
            let returned = match self.wait(started) {
                None => Ok(RemoteResults::default()),
                Some((origin, ahead)) => {
                    let _ = start.set((origin, ahead));
                    let done = || _ = self.line.send(&Message::Done, &[]);
                    lent.run(Clock::with_origin(origin), self.around, self.over, &done)
                }
            };
            self.over.store(true, Ordering::Relaxed);
            (returned, carrying.join().unwrap_or_default())
        });
        let mut returned = returned.map_err(Failed::Late)?;
        let tell = |message: Message, bytes: &[u8]| _ = self.line.send(&message, bytes);
        for end in &mut returned.ends {
            let (flow, opens) = (end.flow, end.opens);
            end.lists.take_apart(|list, bytes| tell(Message::List(flow, opens, list), &bytes));
        }
        for command in &mut returned.commands {
            for (which, bytes) in (0..).zip(std::mem::take(&mut command.outputs)) {
                bytes.chunks(OUTPUT).for_each(|some| tell(Message::Output(command.command, which), some));
            }
        }
        tell(Message::RemoteResults(returned, carried), &[]);
        Ok(())
    }

    /// Waits for the start; None if the repetition is cancelled.
    fn wait(&self, started: &Receiver<(u64, i64)>) -> Option<(u64, i64)> {
        loop {
            match started.recv_timeout(Duration::from_millis(20)) {
                Ok(start) => return Some(start),
                Err(RecvTimeoutError::Timeout) if !self.over.load(Ordering::Relaxed) => {}
                Err(_) => return None,
            }
        }
    }
}
