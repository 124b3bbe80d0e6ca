//! Admission control of a listening socket (`Admission`): limit on connections that are not authenticated yet, fair
//! between client addresses, with eviction.
//!
//! A new connection beyond the limit evicts the oldest waiting connection of the address with most of them. A flood of
//! slow peers therefore delays mainly itself: a peer that authenticates before the flood refills the limit is
//! admitted. Admitted connections are neither counted nor evicted.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Notifies an evicted peer, unencrypted, before its connection is closed; true: the listener is closing.
pub type EvictionNotice = fn(&TcpStream, bool);

/// Waiting connections of a listener, and their limit.
#[derive(Debug)]
pub struct Admission {
    places: usize,
    farewell: EvictionNotice,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    next: u64,
    /// Connections in order of arrival.
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    from: IpAddr,
    stream: TcpStream,
    admitted: bool,
}

/// Registration of one connection, removed on drop.
#[derive(Debug)]
pub struct AdmittedSlot<'a> {
    lobby: &'a Admission,
    number: u64,
}

impl Admission {
    /// Limit of `places` connections that are not authenticated.
    pub fn new(places: usize, farewell: EvictionNotice) -> Admission {
        Admission { places: places.max(1), farewell, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a new connection; evicts another one beyond the limit.
    ///
    /// # Errors
    /// No file descriptor is left for a copy of the connection.
    pub fn enter(&self, stream: &TcpStream, from: IpAddr) -> io::Result<AdmittedSlot<'_>> {
        let stream = stream.try_clone()?;
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.connections.insert(number, Connection { from, stream, admitted: false });
        if state.closed {
            state.shut(number, self.farewell);
        } else if state.connections.values().filter(|c| !c.admitted).count() > self.places
            && let Some(oldest) = state.oldest_of_most()
        {
            state.shut(oldest, self.farewell);
        }
        Ok(AdmittedSlot { lobby: self, number })
    }

    /// Shuts down all connections, admitted or not, and all later ones.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        while let Some(number) = state.connections.keys().next().copied() {
            state.shut(number, self.farewell);
        }
    }
}

impl State {
    fn oldest_of_most(&self) -> Option<u64> {
        let mut held: BTreeMap<IpAddr, (usize, u64)> = BTreeMap::new();
        for (number, connection) in self.connections.iter().filter(|(_, c)| !c.admitted) {
            held.entry(connection.from).or_insert((0, *number)).0 += 1;
        }
        // The address with most connections loses its oldest one; of equal addresses, that with the older connection.
        held.into_values().max_by_key(|(count, first)| (*count, u64::MAX - first)).map(|(_, first)| first)
    }

    /// Shuts a connection down, which its reading thread notices.
    fn shut(&mut self, number: u64, farewell: EvictionNotice) {
        if let Some(connection) = self.connections.remove(&number) {
            if !connection.admitted {
                farewell(&connection.stream, self.closed);
            }
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
    }
}

impl AdmittedSlot<'_> {
    /// Marks the peer as authenticated: the connection no longer counts, and only [`Admission::close`] shuts it down.
    pub fn admit(&self) {
        if let Some(connection) = self.lobby.state().connections.get_mut(&self.number) {
            connection.admitted = true;
        }
    }

    /// Whether the connection was evicted, or the listener was closed.
    pub fn is_evicted(&self) -> bool {
        !self.lobby.state().connections.contains_key(&self.number)
    }
}

impl Drop for AdmittedSlot<'_> {
    fn drop(&mut self) {
        self.lobby.state().connections.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_flood_of_one_address_evicts_itself_only() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let lobby = Admission::new(3, |_, _| ());
        let [flood, other]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|a| a.parse().unwrap());
        let first = lobby.enter(&stream, other).unwrap();
        let admitted = lobby.enter(&stream, flood).unwrap();
        admitted.admit();
        let places: Vec<AdmittedSlot<'_>> = (0..9).map(|_| lobby.enter(&stream, flood).unwrap()).collect();
        let evicted: Vec<bool> = places.iter().map(AdmittedSlot::is_evicted).collect();
        assert_eq!(evicted, [true, true, true, true, true, true, true, false, false]);
        assert!(!first.is_evicted() && !admitted.is_evicted());
        drop(places);
        assert_eq!(lobby.state().connections.len(), 2, "a place is given back");
        lobby.close();
        assert!(first.is_evicted() && admitted.is_evicted());
        assert!(lobby.enter(&stream, other).unwrap().is_evicted());
    }
}
