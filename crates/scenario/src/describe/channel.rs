//! Description of channels, state machines and triggers in text.

use super::{dist, loss_share};
use crate::model::channel::{
    Allocation, Arq, Change, Class, Error, ErrorKind, ErrorMode, ErrorRate, Flush, Framing, MachineState,
    PacketKind, Service, StateMachine, StateParameters, Trigger, TriggerSchedule,
};
use crate::model::{Link, Model};
use base::Rate;
use base::dist::Dist;
use std::fmt::Write;

/// One phrase for each channel feature of a link; empty for a plain link.
pub fn pieces(link: &Link, model: &Model) -> Vec<String> {
    if let Some(bearer) = link.bearer {
        return vec![super::radio::bearer(&model.bearers[bearer])];
    }
    if let Some(process) = model.processes.iter().find(|process| process.name == link.owner) {
        return vec![format!("served by the program `{}`", process.command)];
    }
    let Some(c) = link.channel.as_deref() else { return Vec::new() };
    let mut out: Vec<String> = c.classes.iter().map(class).collect();
    out.extend(c.stay.map(|stay| format!("packets stay in the queue for at most {stay}")));
    out.extend(c.send_buffer.map(|room| format!("send buffer of {room}")));
    out.extend(framing(&c.framing));
    out.extend(c.allocation.as_ref().map(allocation));
    out.extend(c.errors.iter().map(|&e| error(&model.errors[e])));
    out.extend(c.arq.as_ref().map(arq));
    out.extend(c.order_free.then(|| "no fixed order".to_owned()));
    out.extend(c.receive_buffer.map(|room| format!("receive buffer of {room}")));
    out.extend(
        c.credit.map(|credit| format!("sends at most {} packets ahead of the next link", credit.window)),
    );
    out
}

fn class(class: &Class) -> String {
    let mut rules = Vec::new();
    rules.extend(class.flows.as_ref().map(|flows| format!("of {}", flows.join(", "))));
    rules.extend(class.dscp.map(|d| format!("dscp {d}")));
    rules.extend(class.size.map(|(least, most)| match most {
        u32::MAX => format!("{least} B or more"),
        _ => format!("{least} to {most} B"),
    }));
    rules.extend(class.kind.map(|kind| {
        match kind {
            PacketKind::Data => "data",
            PacketKind::Ack => "acknowledgements",
            PacketKind::Control => "control",
            PacketKind::Background => "background load",
        }
        .to_owned()
    }));
    if rules.is_empty() {
        rules.push("all packets".to_owned());
    }
    let mut out = format!(
        "class {} ({}), priority {}, weight {}, {}",
        class.name,
        rules.join(", "),
        class.priority,
        class.weight,
        class.queue.words()
    );
    if let Some(stay) = class.stay {
        let _ = write!(out, ", for at most {stay}");
    }
    out
}

fn framing(framing: &Framing) -> Option<String> {
    let mut parts = Vec::new();
    if framing.factor != 1.0 {
        parts.push(format!("{} times the size", framing.factor));
    }
    if framing.around > 0 {
        parts.push(format!("{} B of overhead for each packet", framing.around));
    }
    if let Some(payload) = framing.payload {
        let padded = if framing.padded { ", the last one padded" } else { "" };
        parts.push(format!("frames of {payload} B{padded}"));
    }
    if framing.overhead > 0 {
        parts.push(format!("{} B of overhead for each frame", framing.overhead));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn allocation(a: &Allocation) -> String {
    format!("resources of an idle link after {}, held for {}", dist(&a.delay), dist(&a.release))
}

fn arq(arq: &Arq) -> String {
    let mut out = format!("corrupted frames are retransmitted after {}", dist(&arq.feedback));
    if let Some(n) = arq.attempts {
        let _ = write!(out, ", at most {n} times");
    }
    if let Some(time) = arq.time {
        let _ = write!(out, ", for at most {time}");
    }
    if let Some(n) = arq.window {
        let _ = write!(out, ", with {n} outstanding");
    }
    out
}

fn error(error: &Error) -> String {
    format!("{}: {}", error.name, errors(&error.kind, &error.mode))
}

fn errors(kind: &ErrorKind, mode: &ErrorMode) -> String {
    let of = |chance: &ErrorRate| match chance {
        ErrorRate::Frame(p) => format!("{p} of frames"),
        ErrorRate::Bit(p) => format!("{p} of bits"),
    };
    let kind = match kind {
        ErrorKind::Shares(mean, parts) => return format!("{}{}", errors(mean, mode), super::drawn(parts)),
        ErrorKind::Steady(chance) => of(chance),
        ErrorKind::Drawn(share) => format!("a share, {} on average, of frames", share.mean()),
        ErrorKind::PerFrame { to_bad, to_good, good, bad } => {
            format!("{}, or {} in the bad state (in with {to_bad}, out with {to_good})", of(good), of(bad))
        }
        ErrorKind::OverTime { good_lasts, bad_lasts, good, bad } => {
            loss_share(&of(good), good_lasts, &of(bad), bad_lasts)
        }
    };
    match mode {
        ErrorMode::Drop => format!("{kind} are lost"),
        ErrorMode::Corrupt => format!("{kind} are forwarded with corrupted bits"),
        ErrorMode::Delay(by) => format!("{kind} are delayed by {}", dist(by)),
    }
}

/// State machine: one line for each state and each link that the state sets.
pub fn machine(machine: &StateMachine, model: &Model) -> Vec<String> {
    let mut out = Vec::new();
    for (i, state) in machine.states.iter().enumerate() {
        let begins = if i == machine.first { ", where it begins" } else { "" };
        out.push(format!("{} {}{begins}: {}", machine.name, state.name, self::state(state, machine)));
        for (link, setting) in &state.settings {
            let what = self::setting(setting);
            if !what.is_empty() {
                out.push(format!("  {}: {what}", model.links[*link].name));
            }
        }
    }
    out
}

fn state(state: &MachineState, machine: &StateMachine) -> String {
    let mut out = match &state.lasts {
        None => "until a trigger".to_owned(),
        Some(lasts) => {
            let named = |&(s, _): &(usize, f64)| machine.states[s].name.as_str();
            let next: Vec<&str> = state.next.iter().map(named).collect();
            format!("for {}, then {}", dist(lasts), next.join(" or "))
        }
    };
    if let Some(pause) = &state.pause {
        let _ = write!(out, ", at first silent for {}", dist(pause));
    }
    match state.flush {
        Flush::None => {}
        Flush::Waiting => out.push_str(", waiting packets are lost"),
        Flush::All => out.push_str(", all packets on its links are lost"),
    }
    if state.loses_contexts {
        out.push_str(", contexts of header compression are lost");
    }
    out
}

fn setting(setting: &StateParameters) -> String {
    let mut parts = Vec::new();
    parts.extend(setting.rate.as_ref().map(|rate| match rate {
        Dist::Constant(bps) => format!("rate {}", Rate::from_bps(*bps as u64)),
        drawn => format!("rate drawn, {} on average", Rate::from_bps(drawn.mean() as u64)),
    }));
    parts.extend(setting.delay.as_ref().map(|d| format!("delay {}", dist(d))));
    parts.extend(setting.error.as_ref().map(|(kind, mode)| errors(kind, mode)));
    match setting.service {
        Service::Go => {}
        Service::Hold => parts.push("packets wait".to_owned()),
        Service::Drop => parts.push("packets are dropped".to_owned()),
    }
    parts.join(", ")
}

/// Trigger in one line.
pub fn trigger(trigger: &Trigger, model: &Model) -> String {
    match &trigger.when {
        TriggerSchedule::Once { at, change: Change::State { machine, state } } => {
            let machine = &model.machines[*machine];
            format!("{}: {} into {} at {}", trigger.name, machine.name, machine.states[*state].name, dist(at))
        }
        TriggerSchedule::Once { at, change: Change::Priority { flow, priority } } => {
            let flow = &model.flows[*flow].name;
            format!("{}: {flow} gets priority {priority} at {}", trigger.name, dist(at))
        }
        TriggerSchedule::Recorded(all) => format!("{}: {} triggers from a file", trigger.name, all.len()),
    }
}
