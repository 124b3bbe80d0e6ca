//! Description of a scenario for `williwaw check`, as text and JSON: nodes, links, faults, flows, cell
//! networks, and assumptions of published studies.

use base::dist::Dist;
use base::{Rate, Span};
use scenario::Model;
use scenario::describe::channel;
use scenario::model::{
    ChangedRate, CountedFrom, Delay, Fate, First, Flow, Gate, GateMode, Link, LinkRate, Linux, Loss,
    LossKind, Position, Protocol, Queue, Timing, Transport, WireEnd,
};
use serde_json::{Value, json};

/// Text of one cell of the grid, one line for each node, link, fault and flow.
pub(crate) fn model(model: &Model) -> String {
    let mut out = String::new();
    let names: Vec<&str> = model.nodes.iter().map(|node| node.name.as_str()).collect();
    out.push_str(&format!("Nodes: {}\n\nLinks\n", names.join(", ")));
    for link in &model.links {
        let (from, to) = (names[link.from], names[link.to]);
        out.push_str(&format!("  {}: {from} to {to}, {}\n", link.name, link_words(model, link)));
    }
    let links = |indexes: &[usize]| {
        let names: Vec<&str> = indexes.iter().map(|&i| model.links[i].name.as_str()).collect();
        names.join(" and ")
    };
    let weather = model.gates.len() + model.rate_changes.len() + model.losses.len() + model.machines.len();
    if weather > 0 {
        out.push_str("\nWeather\n");
    }
    for gate in &model.gates {
        out.push_str(&format!("  {}: {}, on {}\n", gate.name, gate_words(gate), links(&gate.links)));
    }
    for change in &model.rate_changes {
        let to = match change.to {
            ChangedRate::To(rate) => format!("the rate is {}", rate_words(rate)),
            ChangedRate::Times(factor) => format!("the rate is multiplied by {factor}"),
        };
        out.push_str(&format!(
            "  {}: {to} {}, on {}\n",
            change.name,
            timing(&change.timing),
            links(&change.links)
        ));
    }
    for loss in &model.losses {
        out.push_str(&format!("  {}: {}, on {}\n", loss.name, loss_words(loss), links(&loss.links)));
    }
    for line in model.machines.iter().flat_map(|machine| channel::machine(machine, model)) {
        out.push_str(&format!("  {line}\n"));
    }
    for trigger in &model.triggers {
        out.push_str(&format!("  {}\n", channel::trigger(trigger, model)));
    }
    let wires: Vec<_> = model.nodes.iter().filter_map(|node| Some((node, node.wire.as_ref()?))).collect();
    if !wires.is_empty() {
        out.push_str("\nWire, for `williwaw wire`, until Ctrl-C\n");
    }
    for (node, wire) in &wires {
        out.push_str(&format!("  {}: {}\n", node.name, wire_words(wire)));
    }
    for system in &model.systems {
        out.push_str(&system_words(system));
    }
    let quiet = wires.is_empty() && model.commands.is_empty() && model.systems.is_empty();
    if quiet || !model.plain_flows().is_empty() {
        out.push_str("\nFlows\n");
    }
    for flow in model.plain_flows() {
        out.push_str(&format!("  {}: {}\n", flow.name, flow_words(model, flow)));
    }
    if !model.commands.is_empty() {
        out.push_str("\nCommands\n");
    }
    for command in &model.commands {
        let serves = if command.serves { ", serves until the others end" } else { "" };
        let at = &model.nodes[command.node].name;
        out.push_str(&format!("  {}: at {at}, `{}`{serves}\n", command.name, command.run));
    }
    if !wires.is_empty() {
        return out;
    }
    let ends = model.run.limit.as_secs_f64();
    out.push_str(&format!(
        "\nEach repetition ends when all is delivered, at the latest after {} s.\n",
        trim(ends)
    ));
    out
}

fn wire_words(wire: &WireEnd) -> String {
    match wire {
        WireEnd::Interface(name) => format!("interface {name}"),
        WireEnd::Serial { device, speed: None } => format!("serial device {device}"),
        WireEnd::Serial { device, speed: Some(speed) } => format!("serial device {device} at {speed} bit/s"),
        WireEnd::Pty => "a pseudo-terminal".into(),
    }
}

/// Assumptions of a scenario, as in the studies that it may be compared with (catalogue ME-03): one long flow, and no
/// traffic that competes with ACKs on the reverse path.
pub(crate) fn assumptions(model: &Model) -> Vec<&'static str> {
    let mut out = Vec::new();
    if model.flows.is_empty() || !model.commands.is_empty() {
        return out;
    }
    let long = |flow: &Flow| match flow.app.bulk() {
        Some((bytes, _)) => bytes.is_none_or(|bytes| bytes >= LONG),
        None => false,
    };
    if let [only] = model.flows.as_slice()
        && long(only)
        && model.backgrounds.is_empty()
    {
        out.push("one long flow: nothing competes with it for the queue");
    }
    let data = |flow: &Flow| match flow.app {
        // Requests carry data in both directions.
        scenario::model::App::Requests(_) => [flow.route.clone(), flow.way_back.clone()].concat(),
        _ => flow.route.clone(),
    };
    let carries: Vec<usize> = model.flows.iter().flat_map(data).collect();
    let loaded = |link: &usize| carries.contains(link) || !model.links[*link].backgrounds.is_empty();
    if !model.flows.iter().flat_map(|flow| &flow.way_back).any(loaded) {
        out.push("no traffic in the reverse direction: acknowledgements queue only behind each other");
    }
    out
}

/// Size of a long bulk transfer, bytes: slow start is a small part of its duration.
const LONG: u64 = 50_000;

/// JSON of one cell: nodes, links, gates, losses, state machines, triggers, flows.
pub(crate) fn document(model: &Model) -> Value {
    let node = |i: usize| model.nodes[i].name.as_str();
    let links =
        |indexes: &[usize]| -> Vec<&str> { indexes.iter().map(|&i| model.links[i].name.as_str()).collect() };
    json!({
        "nodes": model.nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(),
        "links": model.links.iter().map(|link| json!({
            "name": link.name, "from": node(link.from), "to": node(link.to), "about": link_words(model, link),
        })).collect::<Vec<_>>(),
        "gates": model.gates.iter().map(|gate| json!({
            "name": gate.name, "links": links(&gate.links), "about": gate_words(gate),
        })).collect::<Vec<_>>(),
        "losses": model.losses.iter().map(|loss| json!({
            "name": loss.name, "links": links(&loss.links), "about": loss_words(loss),
        })).collect::<Vec<_>>(),
        "machines": model.machines.iter().map(|machine| json!({
            "name": machine.name, "about": channel::machine(machine, model),
        })).collect::<Vec<_>>(),
        "triggers": model.triggers.iter().map(|trigger| channel::trigger(trigger, model)).collect::<Vec<_>>(),
        "flows": model.flows.iter().map(|flow| json!({
            "name": flow.name, "from": node(flow.from), "to": node(flow.to),
            "route": links(&flow.route), "way_back": links(&flow.way_back), "about": flow_words(model, flow),
        })).collect::<Vec<_>>(),
        "commands": model.commands.iter().map(|command| json!({
            "name": command.name, "at": node(command.node), "about": command.run, "serves": command.serves,
        })).collect::<Vec<_>>(),
        "assumptions": assumptions(model),
        "limit_s": model.run.limit.as_secs_f64(),
    })
}

/// Approximate duration as text: `about 3 min`.
pub(crate) fn rough(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => "less than a tenth of a second".to_owned(),
        s if s < 1.0 => "less than a second".to_owned(),
        s if s < 90.0 => format!("about {:.0} s", s.ceil()),
        s if s < 5400.0 => format!("about {:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("about {:.0} h", s / 3600.0),
        s => format!("about {:.0} days", s / 86_400.0),
    }
}

fn link_words(model: &Model, link: &Link) -> String {
    // A bearer has its own rate, delays and buffers.
    if link.bearer.is_some() {
        return channel::pieces(link, model).join(", ");
    }
    let rate = match &link.rate {
        LinkRate::Unlimited => "unlimited rate".to_owned(),
        LinkRate::Constant(rate) => rate_words(*rate),
        LinkRate::Schedule(s) => format!("a rate of {} steps", s.steps.len()),
    };
    let delay = match &link.delay {
        Delay::Constant(span) if span.is_zero() => "no delay".to_owned(),
        Delay::Constant(span) => format!("{} delay", span_words(*span)),
        Delay::PerPacket { dist, reorder } => {
            let order = if *reorder { ", reordering" } else { "" };
            format!("a delay of {} for each packet{order}", dist_words(dist))
        }
        Delay::Schedule(s) => format!("a delay of {} steps", s.steps.len()),
    };
    let queue = match &link.queue {
        Queue::Unlimited(_) => "unlimited queue".to_owned(),
        limited => limited.words(),
    };
    let mut words = format!("{rate}, {delay}, {queue}");
    for piece in channel::pieces(link, model) {
        words.push_str(", ");
        words.push_str(&piece);
    }
    words
}

fn gate_words(gate: &Gate) -> String {
    let place = match gate.at {
        Position::BeforeQueue => "before the queue",
        Position::AfterQueue => "after the queue",
    };
    let does = match gate.mode {
        GateMode::Hold => "packets wait",
        GateMode::Drop => "packets are dropped",
    };
    format!("{does} {place} {}", timing(&gate.timing))
}

fn timing(timing: &Timing) -> String {
    match timing {
        Timing::Every { every, from, first, lasts } => {
            let counted = match from {
                CountedFrom::Start => "from start to start",
                CountedFrom::End => "from end to start",
            };
            let first = match first {
                First::Stationary => String::new(),
                First::After(dist) => format!(", first after {}", dist_words(dist)),
            };
            format!("for {} every {} {counted}{first}", dist_words(lasts), dist_words(every))
        }
        Timing::Once { start, lasts } => format!("for {} once, at {}", dist_words(lasts), dist_words(start)),
        Timing::Listed(list) => format!("at {} given times", list.len()),
        Timing::PerRepetition(all) => format!("at times of its own for each of {} repetitions", all.len()),
    }
}

fn loss_words(loss: &Loss) -> String {
    let fate = match loss.fate {
        Fate::Lost => "lost",
        Fate::Marked => "marked, or lost where that cannot be,",
        Fate::Duplicated => "duplicated",
    };
    let percent = |p: f64| format!("{} %", trim(100.0 * p));
    match &loss.kind {
        LossKind::Drawn(mean, _) => {
            let mean = Loss { kind: (**mean).clone(), ..loss.clone() };
            format!("{}, on average: each repetition draws it", loss_words(&mean))
        }
        LossKind::Packets(ranges) => {
            let n: u64 = ranges.iter().map(|r| r.end().saturating_sub(*r.start()).saturating_add(1)).sum();
            format!("{n} given packets are {fate}")
        }
        LossKind::Probability(p) => format!("{} of packets are {fate} at random", percent(*p)),
        LossKind::PerPacketStates { loss_good, loss_bad, .. } => format!(
            "{} or {} of packets are {fate}, in states that change from packet to packet",
            percent(*loss_good),
            percent(*loss_bad)
        ),
        LossKind::OverTimeStates { good, bad, loss_good, loss_bad } => format!(
            "{} of packets are {fate} for {}, then {} for {}",
            percent(*loss_good),
            dist_words(good),
            percent(*loss_bad),
            dist_words(bad)
        ),
    }
}

fn bulk_words(bulk: (Option<u64>, Option<Span>)) -> String {
    match bulk {
        (Some(b), Some(l)) => format!("{b} bytes, at most {}", span_words(l)),
        (Some(b), None) => format!("{b} bytes"),
        (None, Some(l)) => format!("unlimited data for {}", span_words(l)),
        (None, None) => "unlimited data until the limit".to_owned(),
    }
}

fn flow_words(model: &Model, flow: &Flow) -> String {
    let what = match flow.app.bulk() {
        None => scenario::workload_words::of(&flow.app, &dist_words),
        Some(bulk) => bulk_words(bulk),
    };
    let route: Vec<&str> = flow.route.iter().map(|&l| model.links[l].name.as_str()).collect();
    let start =
        if flow.start.mean() == 0.0 { String::new() } else { format!(", from {}", dist_words(&flow.start)) };
    let transport = match &flow.transport {
        Transport::Ends(ends) => {
            let [from, to] = [&ends[0], &ends[1]].map(transport_words);
            format!("from {from}, to {to}")
        }
        alike => transport_words(alike),
    };
    format!(
        "{what} from {} to {} by {}{start}; {transport}",
        model.nodes[flow.from].name,
        model.nodes[flow.to].name,
        route.join(", "),
    )
}

fn transport_words(transport: &Transport) -> String {
    match transport {
        // `Transport::Ends` is never nested.
        Transport::Ends(_) => String::new(),
        Transport::Model(spec) => format!("{} ({})", spec.name(), spec.words()),
        Transport::Udp(udp) => format!("datagrams of at most {} bytes", udp.payload),
        Transport::Tcp { config, profile } => format!(
            "TCP {} ({profile} profile), spurious timeouts judged by: {}",
            config.recovery.name(),
            config.spurious.name()
        ),
        Transport::Linux(Linux { protocol: Protocol::Udp { payload }, .. }) => {
            format!("datagrams of at most {payload} bytes by the Linux kernel itself")
        }
        Transport::Linux(Linux { protocol: Protocol::Dccp { ccid, payload }, .. }) => {
            format!("DCCP of the Linux kernel itself, ccid {ccid}, packets of at most {payload} bytes")
        }
        Transport::Linux(Linux { protocol, program: Some(program), .. }) => {
            format!("the {} of the program `{program}`", protocol.name())
        }
        Transport::Linux(linux) => {
            let cc = linux.cc.as_deref().map_or(String::new(), |cc| format!(" with {cc}"));
            format!("the {} of the Linux kernel itself{cc}", linux.protocol.name())
        }
    }
}

fn rate_words(rate: Rate) -> String {
    let bps = rate.bps() as f64;
    let (value, unit) = match bps {
        b if b >= 1e9 => (b / 1e9, "Gbit/s"),
        b if b >= 1e6 => (b / 1e6, "Mbit/s"),
        b if b >= 1e3 => (b / 1e3, "kbit/s"),
        b => (b, "bit/s"),
    };
    format!("{} {unit}", trim(value))
}

fn span_words(span: Span) -> String {
    seconds(span.as_secs_f64())
}

fn seconds(s: f64) -> String {
    let (value, unit) = match s.abs() {
        x if x >= 1.0 || x == 0.0 => (s, "s"),
        x if x >= 1e-3 => (s * 1e3, "ms"),
        _ => (s * 1e6, "µs"),
    };
    format!("{} {unit}", trim(value))
}

/// A distribution of times.
fn dist_words(dist: &Dist) -> String {
    match dist {
        Dist::Constant(ns) => seconds(ns / 1e9),
        Dist::Uniform(low, high) => format!("{} to {}", seconds(low / 1e9), seconds(high / 1e9)),
        other => format!("{} on average, at random", seconds(other.mean() / 1e9)),
    }
}

/// Number with at most three decimals, without trailing zeros.
fn trim(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A network of cells and its users.
fn system_words(system: &scenario::model::System) -> String {
    let c = &system.plan.config;
    let mut out = format!(
        "\nSystem {}\n  {} cells, {} slots for packet data in each, a mobile has {} down and {} up; reuse {}, hopping {} over {}\n",
        system.name,
        3 * c.side * c.side,
        c.mac.slots,
        c.mac.mobile_slots[0],
        c.mac.mobile_slots[1],
        c.reuse,
        c.hopping,
        c.carriers
    );
    for group in lab::system::groups(system) {
        let members = system.users.iter().filter(|user| user.group == group).count();
        out.push_str(&format!("  {group}: {members} users\n"));
    }
    out
}
