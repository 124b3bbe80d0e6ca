//! Equality of the weather of two scenarios: names of random processes that differ, and draws per packet.
//!
//! Weather is a function of seed, repetition, and the name and description of its source, independent of
//! traffic (decision 0004).

use scenario::Model;
use scenario::model::channel::ErrorKind;
use scenario::model::{Delay, Link, LinkRate, LossKind};
use std::collections::BTreeMap;

/// Random processes that differ, as `gate radio.pause`; empty for equal weather.
pub(crate) fn apart(a: &Model, b: &Model) -> Vec<String> {
    let (a, b) = (described(a), described(b));
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter(|name| a.get(*name) != b.get(*name)).cloned().collect()
}

/// Whether random values are drawn for each packet or frame, so that other traffic has other values.
pub(crate) fn per_packet(model: &Model) -> bool {
    let loses = |kind: &LossKind| !matches!(kind, LossKind::Packets(_));
    let drawn = |link: &Link| matches!(link.delay, Delay::PerPacket { .. });
    model.losses.iter().any(|loss| loses(&loss.kind))
        || !model.errors.is_empty()
        || model.links.iter().any(drawn)
}

/// Random processes of a scenario, by kind and name, with all parameters.
fn described(model: &Model) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let on = |links: &[usize]| {
        let mut names: Vec<&str> = links.iter().map(|&link| model.links[link].name.as_str()).collect();
        names.sort_unstable();
        names.join(" ")
    };
    for link in &model.links {
        if let LinkRate::Schedule(schedule) = &link.rate {
            all.insert(format!("rates of {}", link.name), format!("{schedule:?}"));
        }
        if let Delay::Schedule(schedule) = &link.delay {
            all.insert(format!("delays of {}", link.name), format!("{schedule:?}"));
        }
    }
    for gate in &model.gates {
        let description = format!("{:?} {:?} {:?} {}", gate.timing, gate.at, gate.mode, on(&gate.links));
        all.insert(format!("gate {}", gate.name), description);
    }
    for change in &model.rate_changes {
        let description = format!("{:?} {:?} {}", change.timing, change.to, on(&change.links));
        all.insert(format!("change of rate {}", change.name), description);
    }
    for loss in &model.losses {
        if let LossKind::Drawn(mean, parts) = &loss.kind {
            all.insert(format!("loss {}", loss.name), format!("{mean:?} {parts:?} {}", on(&loss.links)));
        }
        if let LossKind::OverTimeStates { good, bad, .. } = &loss.kind {
            all.insert(format!("loss {}", loss.name), format!("{good:?} {bad:?} {}", on(&loss.links)));
        }
    }
    for error in &model.errors {
        if let ErrorKind::Shares(mean, parts) = &error.kind {
            all.insert(format!("errors {}", error.name), format!("{mean:?} {parts:?} {}", on(&error.links)));
        }
        if let ErrorKind::OverTime { good_lasts, bad_lasts, .. } = &error.kind {
            let description = format!("{good_lasts:?} {bad_lasts:?} {}", on(&error.links));
            all.insert(format!("errors {}", error.name), description);
        }
    }
    for machine in &model.machines {
        all.insert(
            format!("state machine {}", machine.name),
            format!("{} {:?}", machine.first, machine.states),
        );
    }
    if !model.triggers.is_empty() {
        all.insert("triggers".to_owned(), format!("{:?}", model.triggers));
    }
    for load in &model.backgrounds {
        let description =
            format!("{:?} {} {:?} {} {}", load.rate, load.packet, load.start, load.random, on(&load.links));
        all.insert(format!("background load {}", load.name), description);
    }
    all
}
