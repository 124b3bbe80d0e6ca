//! External triggers: named signals into a running network.
//!
//! Elements register their signals under names while the network is built ("mobility.tunnel" puts four links
//! into a state). A trigger advances the network to the present, sends every registered signal, and is logged
//! for replay (catalogue SW-43).

use crate::element::{ElementId, Signal};
use base::Time;

/// Registered names, their signals, and a log of the calls.
#[derive(Debug, Default)]
pub struct Triggers {
    names: Vec<Trigger>,
    done: Vec<(Time, usize)>,
}

#[derive(Debug)]
struct Trigger {
    name: String,
    to: Vec<(ElementId, Signal)>,
}

impl Triggers {
    /// Registers a signal to an element under `name`.
    pub(crate) fn lend(&mut self, name: &str, to: ElementId, signal: Signal) {
        match self.find(name) {
            Some(known) => self.names[known].to.push((to, signal)),
            None => self.names.push(Trigger { name: name.to_owned(), to: vec![(to, signal)] }),
        }
    }

    /// Number of a name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|trigger| trigger.name == name)
    }

    /// Number of signals registered under a name.
    pub(crate) fn hearers(&self, number: usize) -> usize {
        self.names.get(number).map_or(0, |trigger| trigger.to.len())
    }

    /// One of the registered signals.
    pub(crate) fn said(&self, number: usize, hearer: usize) -> Option<(ElementId, Signal)> {
        self.names.get(number)?.to.get(hearer).copied()
    }

    /// Logs the call of a name.
    pub(crate) fn note(&mut self, at: Time, number: usize) {
        self.done.push((at, number));
    }

    /// All names in order of registration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|trigger| trigger.name.as_str())
    }

    /// Log of the calls, in order.
    pub fn done(&self) -> impl Iterator<Item = (Time, &str)> {
        self.done.iter().map(|&(at, number)| (at, self.names[number].name.as_str()))
    }
}
