//! Controller of a path on another host (`RemotePath`): sends the scenario, starts repetitions, collects their
//! results, stops them.

use crate::agent_connection::Peer;
use crate::list::Host;
use crate::message::{MOST, Message, WorkerHost};
use crate::token::Token;
use base::Span;
use emulate::Error;
use netns::clock::monotonic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Timeout of the preparation: connections to other hosts, and a timer calibration.
const BEGINNING: Span = Span::from_secs(60);
/// Timeout of the results after a stop.
const STOPPING: Span = Span::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// Host that carries the path, ready to play; drop disconnects it.
#[derive(Debug)]
pub struct RemotePath {
    peer: Peer,
}

impl RemotePath {
    /// Prepares `task` on a host, with nodes on the hosts `others`; returns the path and the agent's details.
    ///
    /// # Errors
    /// [`Error::Agent`]: the host is not available, refused or failed, or the scenario is too large.
    pub fn begin(
        (host, token): &(Host, Token),
        others: &[(Host, Token)],
        clock_limit: Span,
        task: &[u8],
    ) -> Result<(RemotePath, Vec<u8>), Error> {
        let peer = Peer::connect(host, token)?;
        let lender = |(host, token): &(Host, Token)| WorkerHost {
            name: host.name.clone(),
            address: host.address,
            token: token.clone(),
            machines: host.machines.clone(),
        };
        // The remaining fields of the message are short.
        if task.len() > MOST / 2 {
            return Err(peer.fault(format!(
                "takes scenarios with their files up to {} MiB, and this has {}",
                MOST >> 21,
                task.len().div_ceil(1 << 20)
            )));
        }
        peer.send(&Message::Carry(others.iter().map(lender).collect(), clock_limit.as_nanos()), task)?;
        let until = monotonic() + BEGINNING.as_nanos();
        while monotonic() < until {
            match peer.hear(LOOK)? {
                Some((Message::Ready, reply)) => return Ok((RemotePath { peer }, reply)),
                Some((Message::Refused(why), _)) => {
                    return Err(peer.fault(format!("cannot carry the path: {why}")));
                }
                Some(_) => return Err(peer.fault("sent a message out of order")),
                None => {}
            }
        }
        Err(peer.fault(format!("has not confirmed the path within {BEGINNING}")))
    }

    /// Plays the repetition `order`; `piece` receives results by kind; the last results are returned.
    ///
    /// # Errors
    /// [`Error::Agent`]: the host is lost, or failed.
    pub fn play(
        &self,
        order: &[u8],
        mut piece: impl FnMut(&str, Vec<u8>),
        stop: &AtomicBool,
    ) -> Result<Vec<u8>, Error> {
        self.peer.send(&Message::Play, order)?;
        let mut stopping: Option<u64> = None;
        loop {
            match self.peer.hear(LOOK)? {
                Some((Message::Piece(kind), bytes)) => piece(&kind, bytes),
                Some((Message::Played, reply)) => return Ok(reply),
                Some((Message::Failed(why), _)) => return Err(self.peer.fault(why)),
                Some(_) => return Err(self.peer.fault("sent a message out of order")),
                None => {}
            }
            if stop.load(Ordering::Relaxed) && stopping.is_none() {
                stopping = Some(monotonic());
                self.peer.send(&Message::Stop, &[])?;
            }
            if stopping.is_some_and(|since| monotonic() > since + STOPPING.as_nanos()) {
                return Err(self.peer.fault("does not stop"));
            }
        }
    }

    /// Name of the host.
    pub fn name(&self) -> &str {
        &self.peer.name
    }
}
