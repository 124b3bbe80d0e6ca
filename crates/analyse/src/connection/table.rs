//! Table of TCP connections of a capture by four-tuple (`Analyser`): packets in capture order, limits, eviction of
//! idle connections.
//!
//! A SYN with a new initial sequence number begins a new connection.

use super::Connection;
use crate::findings::flow::Flow;
use crate::intake::limits::Limits;
use crate::intake::observation::{Endpoint, Observation};
use crate::intake::ordering::Ordering;
use base::{Span, Time};
use std::collections::BTreeMap;

/// Four-tuple, the smaller endpoint first.
type Key = (Endpoint, Endpoint);

/// Analyser of a capture's TCP connections.
#[derive(Debug)]
pub struct Analyser {
    keep: Limits,
    ordering: Ordering,
    by_ends: BTreeMap<Key, usize>,
    open: Vec<Option<Connection>>,
    free: Vec<usize>,
    done: Vec<(u64, Flow)>,
    begun: u64,
    last: Option<(Key, usize)>,
}

impl Default for Analyser {
    fn default() -> Self {
        Analyser::new(Limits::default())
    }
}

impl Analyser {
    /// Empty table with the memory limits `keep`.
    pub fn new(keep: Limits) -> Analyser {
        Analyser {
            keep,
            ordering: Ordering::default(),
            by_ends: BTreeMap::new(),
            open: Vec::new(),
            free: Vec::new(),
            done: Vec::new(),
            begun: 0,
            last: None,
        }
    }

    /// Processes a packet. Packets are pushed in the order of the file. They may be slightly out of time order, since
    /// several interfaces, queues and processors write one file.
    pub fn push(&mut self, o: &Observation) {
        if self.ordering.steps_back(o) {
            self.process_held();
        }
        if let Some(first) = self.ordering.push(o) {
            self.process(&first);
        }
    }

    fn process_held(&mut self) {
        while let Some(next) = self.ordering.next() {
            self.process(&next);
        }
    }

    fn process(&mut self, o: &Observation) {
        let (from, to) = (o.from(), o.to());
        let key = if from <= to { (from, to) } else { (to, from) };
        let found = match self.last {
            Some((last, at)) if last == key => Some(at),
            _ => self.by_ends.get(&key).copied(),
        };
        let mut at = found.unwrap_or_else(|| self.add(key, o));
        if self.open[at].as_ref().is_some_and(|c| c.is_over_with(o)) {
            self.close(key, at);
            at = self.add(key, o);
        }
        self.last = Some((key, at));
        if let Some(connection) = &mut self.open[at] {
            connection.push(o);
        }
    }

    fn add(&mut self, key: Key, o: &Observation) -> usize {
        if self.by_ends.len() >= self.keep.flows.max(1) {
            self.evict(o.t);
        }
        let connection = Connection::new(self.keep, self.begun, o);
        self.begun += 1;
        let at = match self.free.pop() {
            Some(at) => {
                self.open[at] = Some(connection);
                at
            }
            None => {
                self.open.push(Some(connection));
                self.open.len() - 1
            }
        };
        self.by_ends.insert(key, at);
        at
    }

    /// Closes an eighth of the connections: those idle longest.
    fn evict(&mut self, now: Time) {
        let mut quiet: Vec<(Span, Key, usize)> = self
            .by_ends
            .iter()
            .filter_map(|(key, &at)| Some((self.open[at].as_ref()?.quiet(now), *key, at)))
            .collect();
        quiet.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let some = quiet.len() / 8 + 1;
        for (_, key, at) in quiet.into_iter().take(some) {
            self.close(key, at);
        }
    }

    fn close(&mut self, key: Key, at: usize) {
        self.by_ends.remove(&key);
        self.last = None;
        if let Some(connection) = self.open[at].take() {
            self.free.push(at);
            self.done.push((connection.number, connection.finish()));
        }
    }

    /// Reports of all connections, in order of their first packet.
    pub fn finish(mut self) -> Vec<Flow> {
        self.process_held();
        let keys: Vec<(Key, usize)> = self.by_ends.iter().map(|(k, at)| (*k, *at)).collect();
        for (key, at) in keys {
            self.close(key, at);
        }
        self.done.sort_by_key(|d| d.0);
        self.done.into_iter().map(|d| d.1).collect()
    }
}
