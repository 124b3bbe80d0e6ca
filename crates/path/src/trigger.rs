//! External triggers: named signals into a running network.
//!
//! By a name. Elements lend their signals to names while the network is built ("mobility.tunnel" puts four links into
//! a state); a trigger catches up to the present, gives every element its signal, and is written down, so that it can
//! be played again (catalogue SW-43).

use crate::element::{ElementId, Signal};
use base::Time;

/// The names of a network, what each of them does, and what was done.
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
    /// Lets `name` also give `signal` to an element.
    pub(crate) fn lend(&mut self, name: &str, to: ElementId, signal: Signal) {
        match self.find(name) {
            Some(known) => self.names[known].to.push((to, signal)),
            None => self.names.push(Trigger { name: name.to_owned(), to: vec![(to, signal)] }),
        }
    }

    /// The number of a name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|trigger| trigger.name == name)
    }

    /// How many elements hear of a name.
    pub(crate) fn hearers(&self, number: usize) -> usize {
        self.names.get(number).map_or(0, |trigger| trigger.to.len())
    }

    /// What one of them hears.
    pub(crate) fn said(&self, number: usize, hearer: usize) -> Option<(ElementId, Signal)> {
        self.names.get(number)?.to.get(hearer).copied()
    }

    /// Writes down that a name was called.
    pub(crate) fn note(&mut self, at: Time, number: usize) {
        self.done.push((at, number));
    }

    /// All names, in the order in which they were lent.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|trigger| trigger.name.as_str())
    }

    /// When which name was called, in order.
    pub fn done(&self) -> impl Iterator<Item = (Time, &str)> {
        self.done.iter().map(|&(at, number)| (at, self.names[number].name.as_str()))
    }
}
