//! External triggers: registry of named signals to elements of a running network, and log of the calls.
//!
//! Signals are registered under names while the network is built ("mobility.tunnel" moves four links into a state,
//! "video.priority=3" sets the weight of a flow). A call of a trigger advances the network to the time of the call,
//! sends all registered signals, and is logged for replay (catalogue SW-43, CM-07).

use crate::element::{ElementId, Signal};
use base::Time;
use std::ops::RangeInclusive;

/// Registered triggers, and a log of their calls.
#[derive(Debug, Default)]
pub struct Triggers {
    /// Registered triggers, in order of registration.
    names: Vec<Trigger>,
    /// Log of the calls.
    done: Vec<(Time, String)>,
}

#[derive(Debug)]
struct Trigger {
    /// Name; ends with `=` if calls have a value.
    name: String,
    /// Values that a call may have.
    values: Option<RangeInclusive<u32>>,
    to: Vec<(ElementId, Signal)>,
}

/// A call of a registered trigger: number of the trigger, and value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TriggerCall {
    number: usize,
    value: Option<u32>,
}

impl Triggers {
    /// Registers a signal to an element under `name`.
    pub(crate) fn lend(&mut self, name: &str, to: ElementId, signal: Signal) {
        self.register(name, None, to, signal);
    }

    /// Registers a signal to an element for calls `NAME=VALUE` with one of `values`.
    pub(crate) fn lend_value(
        &mut self,
        name: &str,
        values: RangeInclusive<u32>,
        to: ElementId,
        signal: Signal,
    ) {
        self.register(&format!("{name}="), Some(values), to, signal);
    }

    fn register(&mut self, name: &str, values: Option<RangeInclusive<u32>>, to: ElementId, signal: Signal) {
        match self.names.iter().position(|trigger| trigger.name == name) {
            Some(known) => self.names[known].to.push((to, signal)),
            None => self.names.push(Trigger { name: name.to_owned(), values, to: vec![(to, signal)] }),
        }
    }

    /// Parses a call, `NAME` or `NAME=VALUE`; none if the name is unknown or the value is not in its range.
    pub(crate) fn find(&self, call: &str) -> Option<TriggerCall> {
        let split = call.find('=').map_or((call, None), |at| (&call[..=at], Some(&call[at + 1..])));
        let number = self.names.iter().position(|trigger| trigger.name == split.0)?;
        let value = match (&self.names[number].values, split.1) {
            (None, None) => None,
            (Some(values), Some(text)) if text.bytes().all(|b| b.is_ascii_digit()) => {
                Some(text.parse().ok().filter(|value| values.contains(value))?)
            }
            _ => return None,
        };
        Some(TriggerCall { number, value })
    }

    /// Number of signals registered for a call.
    pub(crate) fn receivers(&self, call: TriggerCall) -> usize {
        self.names.get(call.number).map_or(0, |trigger| trigger.to.len())
    }

    /// Registered signal number `hearer`, counted from 0, and its element; the signal has the value of the call.
    pub(crate) fn said(&self, call: TriggerCall, hearer: usize) -> Option<(ElementId, Signal)> {
        let (to, signal) = self.names.get(call.number)?.to.get(hearer).copied()?;
        let signal = match (signal, call.value) {
            (Signal::Set { number, .. }, Some(value)) => Signal::Set { number, value },
            (signal, _) => signal,
        };
        Some((to, signal))
    }

    /// Logs a call.
    pub(crate) fn note(&mut self, at: Time, call: TriggerCall) {
        let mut name = self.names[call.number].name.clone();
        if let Some(value) = call.value {
            name.push_str(&value.to_string());
        }
        self.done.push((at, name));
    }

    /// All names in order of registration; a name that ends with `=` needs a value.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|trigger| trigger.name.as_str())
    }

    /// Log of the calls with their times, in order.
    pub fn done(&self) -> impl Iterator<Item = (Time, &str)> {
        self.done.iter().map(|(at, call)| (*at, call.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM-07: a call is accepted only with a value in the range of its name, and is logged with the value.
    #[test]
    fn a_value_within_its_range_is_passed_on() {
        let mut triggers = Triggers::default();
        triggers.lend("radio.far", ElementId(1), Signal::Close);
        triggers.lend_value("video.priority", 1..=1000, ElementId(2), Signal::Set { number: 7, value: 0 });
        assert_eq!(triggers.names().collect::<Vec<_>>(), ["radio.far", "video.priority="]);
        let call = triggers.find("video.priority=12").unwrap();
        assert_eq!(triggers.said(call, 0), Some((ElementId(2), Signal::Set { number: 7, value: 12 })));
        triggers.note(Time::ZERO, call);
        assert_eq!(triggers.done().next().unwrap().1, "video.priority=12");
        let wrong = ["video.priority", "video.priority=", "video.priority=0", "video.priority=1001", "x"];
        let more = ["video.priority=+1", "video.priority=1=1", "radio.far=1", "radio.far=", "=", ""];
        assert!(wrong.iter().chain(&more).all(|call| triggers.find(call).is_none()));
        assert_eq!(
            triggers.find("radio.far").and_then(|call| triggers.said(call, 0)).unwrap().1,
            Signal::Close
        );
    }
}
