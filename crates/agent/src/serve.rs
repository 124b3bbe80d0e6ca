//! Listening side of an agent (`Agent`): admission of controllers, one session at a time, release of its resources
//! when the controller is lost.
//!
//! A session lends namespaces or carries the path. It ends with its connection, after
//! [`SILENCE`](crate::control_connection::SILENCE) without a message, or when the agent stops. Only a controller that
//! completed the handshake occupies the agent.

use crate::control_connection::{self, ConnectionFault, ControlReceiver, ControlSender};
use crate::message::Message;
use crate::path_worker::{PathPreparer, PathWorker};
use crate::rep_worker::RepWorker;
use crate::token::Token;
use base::Span;
use emulate::Surroundings;
use netns::admission::{Admission, AdmittedSlot};
use netns::clock::monotonic;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Upper limit of connections in their handshake; newer ones evict older ones.
const WAITING: usize = 64;
/// Poll interval for stop requests.
const LOOK: Duration = Duration::from_millis(100);

/// Listening agent.
pub struct Agent {
    listener: TcpListener,
    token: Token,
    around: Arc<Surroundings>,
    carries: Arc<dyn PathPreparer>,
    version: String,
    /// Address of the controller being served.
    busy: Mutex<Option<String>>,
    lobby: Admission,
}

impl Agent {
    /// Opens the listener. `around`: environment of commands; `carries`: preparation of paths; `version`: for display.
    ///
    /// # Errors
    /// The address is in use, or does not belong to this host.
    pub fn listen(
        at: SocketAddr,
        token: Token,
        around: Surroundings,
        carries: Arc<dyn PathPreparer>,
        version: &str,
    ) -> io::Result<Agent> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        Ok(Agent {
            listener,
            token,
            around: Arc::new(around),
            carries,
            version: version.to_owned(),
            busy: Mutex::new(None),
            lobby: Admission::new(WAITING, control_connection::evict),
        })
    }

    /// Listening address.
    ///
    /// # Errors
    /// An error of the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is set; `tell` receives log messages.
    pub fn serve(&self, stop: &AtomicBool, tell: &(dyn Fn(&str) + Sync)) {
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                match self.listener.accept() {
                    Ok((stream, peer)) => {
                        let entered = self.lobby.enter(&stream, peer.ip()).and_then(|place| {
                            let serve = move || self.one(stream, peer, &place, stop, tell);
                            std::thread::Builder::new().spawn_scoped(scope, serve)
                        });
                        if let Err(error) = entered {
                            tell(&format!("{peer}: refused: this host cannot serve it: {error}"));
                        }
                    }
                    #[allow(clippy::disallowed_methods, reason = "real time: no connection waits")]
                    Err(_) => std::thread::sleep(LOOK),
                }
            }
            self.lobby.close();
        });
    }

    fn one(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        place: &AdmittedSlot<'_>,
        stop: &AtomicBool,
        tell: &(dyn Fn(&str) + Sync),
    ) {
        let (line, mut ear) = match control_connection::accept(stream, &self.token) {
            Ok(both) => both,
            Err(_) if stop.load(Ordering::Relaxed) => return,
            Err(_) if place.is_evicted() => {
                return tell(&format!("{peer}: refused: newer connections took its place"));
            }
            Err(ConnectionFault::Stranger(_)) => {
                return tell(&format!("{peer}: refused: it is no williwaw controller"));
            }
            Err(fault) => return tell(&format!("{peer}: refused: it {fault}")),
        };
        let before = {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            let before = busy.clone();
            busy.get_or_insert(peer.to_string());
            before
        };
        if let Some(other) = before {
            let _ = line.send(&Message::Busy(other.clone()), &[]);
            return tell(&format!("{peer}: refused: this agent is busy with a run of {other}"));
        }
        place.admit();
        tell(&format!("{peer}: a run begins"));
        let line = Arc::new(line);
        let ended = self.session(&line, &mut ear, stop);
        line.close();
        *self.busy.lock().unwrap_or_else(PoisonError::into_inner) = None;
        match ended {
            (_, true) if stop.load(Ordering::Relaxed) => {
                tell(&format!("{peer}: this agent stops; everything of its run was stopped"));
            }
            // Between repetitions a controller ends its session by closing the connection.
            (fault, true) => tell(&format!("{peer}: it {fault}; everything of its run was stopped")),
            (_, false) => tell(&format!("{peer}: its run has ended")),
        }
    }

    /// Serves a controller until it disconnects; returns the reason, and whether a repetition was running. All
    /// resources of the session are released on return.
    fn session(
        &self,
        line: &Arc<ControlSender>,
        ear: &mut ControlReceiver,
        stop: &AtomicBool,
    ) -> (ConnectionFault, bool) {
        let mut work = AgentState::Rest;
        if let Err(fault) = line.send(&Message::Welcome(self.version.clone()), &[]) {
            return (fault, false);
        }
        loop {
            if stop.load(Ordering::Relaxed) {
                return (ConnectionFault::Stopping, work.is_going());
            }
            let (message, bytes) = match ear.hear() {
                Ok(heard) => heard,
                Err(fault) => return (fault, work.is_going()),
            };
            let sent = match (message, &mut work) {
                (Message::Ping(number), _) => line.send(&Message::Pong(number, monotonic()), &[]),
                (Message::Prepare(first, orders), AgentState::Rest | AgentState::Lending(_, false)) => {
                    // The previous repetition has sent its results.
                    drop(std::mem::replace(&mut work, AgentState::Rest));
                    let lent = RepWorker::begin(line.clone(), self.around.clone(), first, orders);
                    work = AgentState::Lending(lent, true);
                    Ok(())
                }
                (Message::Start(origin, ahead), AgentState::Lending(work, _)) => {
                    work.start(origin, ahead);
                    Ok(())
                }
                (Message::Finish, AgentState::Lending(work, going)) => {
                    work.finish();
                    *going = false;
                    Ok(())
                }
                (Message::Carry(lenders, limit), AgentState::Rest) => {
                    let (carries, limit) = (self.carries.clone(), Span::from_nanos(limit));
                    work = AgentState::PathWorker(PathWorker::begin(
                        line.clone(),
                        carries,
                        lenders,
                        limit,
                        bytes,
                    ));
                    Ok(())
                }
                (Message::Play, AgentState::PathWorker(work)) if !work.is_playing() => {
                    work.play(bytes);
                    Ok(())
                }
                (Message::Stop, AgentState::PathWorker(work)) => {
                    work.stop();
                    Ok(())
                }
                _ => Err(ConnectionFault::Nonsense("a message out of order".to_owned())),
            };
            if let Err(fault) = sent {
                return (fault, work.is_going());
            }
        }
    }
}

/// Current work for the controller.
enum AgentState {
    Rest,
    /// Lent namespaces, and whether a repetition is running.
    Lending(RepWorker, bool),
    PathWorker(PathWorker),
}

impl AgentState {
    fn is_going(&self) -> bool {
        match self {
            AgentState::Rest => false,
            AgentState::Lending(_, going) => *going,
            AgentState::PathWorker(work) => work.is_playing(),
        }
    }
}
