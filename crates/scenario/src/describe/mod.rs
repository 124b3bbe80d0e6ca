//! Description of a scenario in text: path, weather and flows of the first cell, axes of the grid, cost.

pub mod channel;
pub mod cost;
mod radio;
pub mod workload;

use self::cost::Cost;
use crate::model::share::Part;
use crate::model::{
    ChangedRate, CountedFrom, Delay, Fate, First, Gate, GateMode, Link, LinkRate, Linux, Loss, LossKind,
    Model, Position, Protocol, RateChange, Timing, Transport,
};
use crate::scenario::Scenario;

use base::dist::Dist;
use base::{Span, Time};
use std::fmt::Write;

impl Scenario {
    /// Description as plain text: first cell, axes of the grid, cost.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        let title = if self.title().is_empty() { self.name() } else { self.title() };
        let _ = writeln!(out, "{title}\n");
        out.push_str(&describe(self.first()));
        let mut axes = self.axes().peekable();
        if axes.peek().is_some() {
            let _ = writeln!(out, "\ngrid (above is its first cell)");
        }
        for (key, values) in axes {
            let shown: Vec<String> = values.iter().take(12).map(ToString::to_string).collect();
            let more =
                if values.len() > 12 { format!(", ... {} in all", values.len()) } else { String::new() };
            let _ = writeln!(out, "  {key}: {}{more}", shown.join(", "));
        }
        let cost: Cost = self.cost();
        let _ = writeln!(out, "\ncost: {cost}");
        out
    }
}

/// Description of one cell.
pub fn describe(model: &Model) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "path");
    for link in &model.links {
        let _ = writeln!(out, "  {}", self::link(link, model));
        for piece in firewall(link, model).into_iter().chain(channel::pieces(link, model)) {
            let _ = writeln!(out, "    {piece}");
        }
    }
    let weather = model.gates.len() + model.rate_changes.len() + model.losses.len() + model.machines.len();
    if weather > 0 {
        let _ = writeln!(out, "weather");
    }
    let on = |links: &[usize]| {
        links.iter().map(|&l| model.links[l].name.as_str()).collect::<Vec<_>>().join(" and ")
    };
    for Gate { name, at, mode, timing, links } in &model.gates {
        let what = match mode {
            GateMode::Hold => "holds packets",
            GateMode::Drop => "drops packets",
        };
        let at = match at {
            Position::BeforeQueue => "before the queue",
            Position::AfterQueue => "after the queue",
        };
        let _ = writeln!(out, "  {name} {what} {at} of {}: {}", on(links), self::timing(timing));
    }
    for RateChange { name, to, timing, links } in &model.rate_changes {
        let what = match to {
            ChangedRate::To(rate) => format!("sets the rate to {rate}"),
            ChangedRate::Times(factor) => format!("multiplies the rate by {factor}"),
        };
        let _ = writeln!(out, "  {name} {what} on {}: {}", on(links), self::timing(timing));
    }
    for Loss { name, kind, fate, links } in &model.losses {
        let _ = writeln!(
            out,
            "  {name} {} {} on {}",
            match fate {
                Fate::Lost => "loses",
                Fate::Marked => "marks",
                Fate::Duplicated => "duplicates",
            },
            loss(kind),
            on(links)
        );
    }
    for line in model.machines.iter().flat_map(|m| channel::machine(m, model)) {
        let _ = writeln!(out, "  {line}");
    }
    for trigger in &model.triggers {
        let _ = writeln!(out, "  {}", channel::trigger(trigger, model));
    }
    for system in &model.systems {
        let mobiles = system.users.len();
        let _ = writeln!(out, "system {} with {mobiles} users: {:?}", system.name, system.plan.config.reuse);
    }
    let _ = writeln!(out, "flows");
    for flow in model.plain_flows() {
        let what = workload::of(&flow.app, &dist);
        let way: Vec<&str> = flow.route.iter().map(|&l| model.links[l].name.as_str()).collect();
        let _ = writeln!(
            out,
            "  {}: {what} from {} to {} over {}, at {}",
            flow.name,
            model.nodes[flow.from].name,
            model.nodes[flow.to].name,
            way.join(", "),
            dist(&flow.start)
        );
        match &flow.transport {
            Transport::Ends(ends) => {
                for (node, end) in [flow.from, flow.to].into_iter().zip(ends.iter()) {
                    let _ = write!(out, "    at {}:", model.nodes[node].name);
                    carrier(&mut out, end);
                }
            }
            alike => {
                out.push_str("   ");
                carrier(&mut out, alike);
            }
        }
    }
    let run = &model.run;
    let _ = writeln!(
        out,
        "run\n  {} repetitions with seed {}, each for at most {}",
        run.repetitions, run.seed, run.limit
    );
    if !model.expect.is_empty() {
        let _ = writeln!(out, "expect");
    }
    for expect in &model.expect {
        let _ = writeln!(out, "  {} {} {}", expect.key, expect.comparison.name(), expect.bound);
    }
    out
}

/// Transport of a flow, or of one end of it.
fn carrier(out: &mut String, transport: &Transport) {
    let (profile, config) = match transport {
        Transport::Tcp { profile, config } => (profile, config),
        Transport::Ends(_) => return,
        Transport::Model(spec) => {
            let _ = writeln!(out, " {}: {}", spec.name(), spec.words());
            return;
        }
        Transport::Udp(udp) => {
            let _ = writeln!(
                out,
                " udp: at most {} B in a datagram, and {} B of headers",
                udp.payload, udp.header
            );
            return;
        }
        Transport::Linux(Linux { protocol: Protocol::Udp { payload }, mtu, ip, .. }) => {
            let _ = writeln!(
                out,
                " the kernel's UDP over {}: at most {payload} B in a datagram, mtu {mtu} B",
                ip.name()
            );
            return;
        }
        Transport::Linux(Linux { protocol: Protocol::Dccp { ccid, payload }, mtu, ip, .. }) => {
            let _ = writeln!(
                out,
                " the kernel's DCCP over {}: ccid {ccid}, at most {payload} B in a packet, mtu {mtu} B",
                ip.name()
            );
            return;
        }
        Transport::Linux(linux) => {
            let cc = linux.cc.as_deref().unwrap_or("as the kernel has it");
            let _ = write!(
                out,
                " the kernel's {} over {}: cc {cc}, mtu {} B",
                linux.protocol.name(),
                linux.ip.name(),
                linux.mtu
            );
            for (name, value) in &linux.sysctl {
                let _ = write!(out, ", {name} {value}");
            }
            if let Some(program) = &linux.program {
                let _ = write!(out, ", by the program {program}");
            }
            out.push('\n');
            return;
        }
    };
    let _ = writeln!(
        out,
        " tcp like {profile}: recovery {}, spurious {}, response {}, sack {}, timestamps {}, rto.min {}",
        config.recovery,
        config.spurious,
        config.response,
        if config.uses_sack() { "on" } else { "off" },
        if config.timestamps { "on" } else { "off" },
        config.rto.min
    );
}

/// Firewall before a link toward the mobile end.
fn firewall(link: &Link, model: &Model) -> Option<String> {
    let of = model.firewalls.iter().find(|f| model.links[f.links[0]].name == link.name)?;
    let path::firewall::FirewallConfig { established, transitory, other, unknown, .. } = of.config;
    let limit = of.config.limit.map_or(String::new(), |limit| format!(", at most {limit} entries"));
    Some(format!(
        "firewall: idle timeouts {established} (TCP), {transitory} (TCP half open or closed), {other} (others); \
         segments without an entry: {unknown}{limit}"
    ))
}

fn link(link: &Link, model: &Model) -> String {
    // A bearer has its own rate, delays and buffers.
    if link.bearer.is_some() {
        return format!(
            "{}: {} to {}, over a radio bearer",
            link.name, model.nodes[link.from].name, model.nodes[link.to].name
        );
    }
    let rate = match &link.rate {
        LinkRate::Unlimited => "any rate".to_owned(),
        LinkRate::Constant(rate) => rate.to_string(),
        LinkRate::Schedule(s) => {
            let steps: Vec<String> =
                s.steps.iter().take(6).map(|(t, r)| format!("{r} from {}", at(*t))).collect();
            let more = if s.steps.len() > 6 {
                format!(", ... {} steps in all", s.steps.len())
            } else {
                String::new()
            };
            steps.join(", ") + &more
        }
    };
    let delay = match &link.delay {
        Delay::Constant(span) if span.is_zero() => "no delay".to_owned(),
        Delay::Constant(span) => format!("{span} delay"),
        Delay::PerPacket { dist: d, reorder } => {
            format!("{} delay for each packet{}", dist(d), if *reorder { ", which may overtake" } else { "" })
        }
        Delay::Schedule(s) => format!("{} steps of delay", s.steps.len()),
    };
    let queue = link.queue.words();
    format!(
        "{}: {} to {}, {rate}, {delay}, {queue}",
        link.name, model.nodes[link.from].name, model.nodes[link.to].name
    )
}

fn at(time: Time) -> Span {
    time.since(Time::ZERO)
}

/// A random time in the notation of scenario files.
fn dist(dist: &Dist) -> String {
    let span = |ns: &f64| Span::from_nanos(*ns as u64).to_string();
    match dist {
        Dist::Constant(0.0) => "0 s".to_owned(),
        Dist::Constant(c) => span(c),
        Dist::Uniform(a, b) => format!("uniform({}, {})", span(a), span(b)),
        Dist::Exponential(m) => format!("exponential({})", span(m)),
        Dist::Normal(m, d) => format!("normal({}, {})", span(m), span(d)),
        Dist::Lognormal(m, d) => format!("lognormal({}, {})", span(m), span(d)),
        Dist::Cauchy(m, w) => format!("cauchy({}, {})", span(m), span(w)),
        Dist::Pareto(m, s, None) => format!("pareto({}, {s})", span(m)),
        Dist::Pareto(m, s, Some(max)) => format!("pareto({}, {s}, {})", span(m), span(max)),
        Dist::Weibull(scale, shape) => format!("weibull({}, {shape})", span(scale)),
        Dist::Gamma(shape, scale) => format!("gamma({shape}, {})", span(scale)),
        Dist::TwoState { first, second, leave_first, leave_second } => {
            format!("two-state({}, {}, {leave_first}, {leave_second})", span(first), span(second))
        }
        Dist::Empirical(values) => format!("one of {} measured values", values.len()),
    }
}

fn timing(timing: &Timing) -> String {
    match timing {
        Timing::Every { every, from, first, lasts } => {
            let from = match from {
                CountedFrom::Start => "from start to start",
                CountedFrom::End => "from end to start",
            };
            let first = match first {
                First::Stationary => "as if always going on".to_owned(),
                First::After(d) => format!("first after {}", dist(d)),
            };
            format!("every {} {from}, {first}, for {}", dist(every), dist(lasts))
        }
        Timing::Once { start, lasts } => format!("once at {}, for {}", dist(start), dist(lasts)),
        Timing::Listed(list) => {
            let shown: Vec<String> =
                list.iter().take(6).map(|(t, s)| format!("at {} for {s}", at(*t))).collect();
            let more = if list.len() > 6 { format!(", ... {} in all", list.len()) } else { String::new() };
            shown.join(", ") + &more
        }
        Timing::PerRepetition(all) => {
            let count: usize = all.iter().map(Vec::len).sum();
            format!("{count} times in {} repetitions, from a file", all.len())
        }
    }
}

fn loss(kind: &LossKind) -> String {
    match kind {
        LossKind::Packets(ranges) => {
            let shown: Vec<String> = ranges
                .iter()
                .map(|r| {
                    if r.start() == r.end() {
                        r.start().to_string()
                    } else {
                        format!("{}-{}", r.start(), r.end())
                    }
                })
                .collect();
            format!("data packets {}", shown.join(", "))
        }
        LossKind::Drawn(mean, parts) => format!("{}{}", loss(mean), drawn(parts)),
        LossKind::Probability(p) => format!("each packet with probability {p}"),
        LossKind::PerPacketStates { to_bad, to_good, loss_good, loss_bad } => {
            format!(
                "a share {loss_good} of packets, or {loss_bad} in the bad state (in with {to_bad}, out with {to_good})"
            )
        }
        LossKind::OverTimeStates { good, bad, loss_good, loss_bad } => {
            loss_share(&format!("a share {loss_good} of packets"), good, &loss_bad.to_string(), bad)
        }
    }
}

/// Names of the probabilities that each repetition draws.
fn drawn(parts: &[(Part, Dist)]) -> String {
    let names: Vec<&str> = parts.iter().map(|(part, _)| part.name()).collect();
    format!(" on average ({} drawn for each repetition)", names.join(", "))
}

/// Loss in two states that alternate over time.
fn loss_share(good: &str, good_lasts: &Dist, bad: &str, bad_lasts: &Dist) -> String {
    format!("{good} for {}, then {bad} for {}, in turn", dist(good_lasts), dist(bad_lasts))
}
