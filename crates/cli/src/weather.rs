//! Do two scenarios have the same weather? It follows from seed, repetition, the name of what makes it and how that
//! is described; traffic has no part in it (decision 0004).

use scenario::Model;
use scenario::model::LossKind;
use scenario::model::channel::ErrorKind;
use std::collections::BTreeMap;

/// What differs: `gate radio.pause`; empty if the weather is the same.
pub(crate) fn apart(a: &Model, b: &Model) -> Vec<String> {
    let (a, b) = (described(a), described(b));
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter(|name| a.get(*name) != b.get(*name)).cloned().collect()
}

/// Whether chance is asked for each packet or frame: then those who send others lose others.
pub(crate) fn per_packet(model: &Model) -> bool {
    let loses = |kind: &LossKind| !matches!(kind, LossKind::Packets(_));
    model.losses.iter().any(|loss| loses(&loss.kind)) || !model.errors.is_empty()
}

/// What makes weather, by kind and name, and all that decides it.
fn described(model: &Model) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for gate in &model.gates {
        all.insert(format!("gate {}", gate.name), format!("{:?}", gate.timing));
    }
    for change in &model.rate_changes {
        all.insert(format!("change of rate {}", change.name), format!("{:?} {:?}", change.timing, change.to));
    }
    for loss in &model.losses {
        if let LossKind::OverTimeStates { good, bad, .. } = &loss.kind {
            all.insert(format!("loss {}", loss.name), format!("{good:?} {bad:?}"));
        }
    }
    for error in &model.errors {
        if let ErrorKind::OverTime { good_lasts, bad_lasts, .. } = &error.kind {
            all.insert(format!("errors {}", error.name), format!("{good_lasts:?} {bad_lasts:?}"));
        }
    }
    for machine in &model.machines {
        let states: Vec<String> = machine
            .states
            .iter()
            .map(|state| format!("{} {:?} {:?} {:?}", state.name, state.lasts, state.next, state.pause))
            .collect();
        all.insert(format!("state machine {}", machine.name), format!("{} {states:?}", machine.first));
    }
    for load in &model.backgrounds {
        let said = format!("{:?} {} {:?} {}", load.rate, load.packet, load.start, load.random);
        all.insert(format!("background load {}", load.name), said);
    }
    all
}
