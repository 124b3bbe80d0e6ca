//! Grammar of flows (`[[flow]]`).
//!
//! A flow starts at `start`; its application writes at `from`; ACKs may return on a route of their own.

pub(crate) mod command;
pub(crate) mod ends;
pub(crate) mod linux;
pub(crate) mod tcp_options;
pub(crate) mod udp;

use self::tcp_options::Tcp;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ENDS, Need, Quantity, Shape, TableShape, ValueKind, Variant, field, table};
use crate::grammar::tree::{Tree, Value};
use crate::grammar::validate::parted;
use crate::model::{Flow, Ip, Linux, MOST_PRIORITY, Protocol, Transport};
use crate::protocol::{self, Spec};
use crate::topology::Graph;
use crate::topology::route;
use crate::workload;

use transport::tcp::Role;
use transport::tcp::cc::CongestionControl;
use transport::tcp::config::{Adapt, DuplicateRestart, Pacing, RecoveryDuplicates, Response, Sack, Spurious};
use transport::tcp::recovery::Recovery;

/// `[[flow]]`.
pub(crate) static FLOW: TableShape = table(
    "flow",
    "A connection and what it carries.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"download\""),
            "How grids, expectations and results call it.",
        ),
        field(
            "from",
            Shape::One(ValueKind::Name),
            Need::Required("\"server\""),
            "Node of the sending application.",
        ),
        field("to", Shape::One(ValueKind::Name), Need::Required("\"phone\""), "The node that reads."),
        field(
            "start",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Default("\"0 s\""),
            "When it opens, after the start of the run.",
        ),
        field(
            "route",
            Shape::List(&Shape::One(ValueKind::Text)),
            Need::Optional,
            "The hops or links of the data, in order. Without it, the way with the fewest links.",
        ),
        field(
            "way-back",
            Shape::List(&Shape::One(ValueKind::Text)),
            Need::Optional,
            "Those of the acknowledgements. Without it, the way with the fewest links.",
        ),
        field(
            "other-routes",
            Shape::List(&Shape::List(&Shape::One(ValueKind::Text))),
            Need::Optional,
            "Further network paths, for a transport that uses several: the hops of each from `from` to `to`, in order. Packets in the reverse direction use these hops too.",
        ),
        field(
            "transport",
            Shape::PerEnd(&protocol::CHOICE),
            Need::Default("\"tcp\""),
            "Its protocol. { from = ..., to = ... } gives each end its own in virtual time: two models of TCP, a kernel and a \
             model of TCP, or two kernels. Models agree on the options that both SYNs offer.",
        ),
        field(
            "priority",
            Shape::One(ValueKind::Count(1, MOST_PRIORITY as i64)),
            Need::Default("1"),
            "Its weight in the congestion manager of a node (`node.congestion-manager`).",
        ),
        field(
            "app",
            Shape::Choice(workload::APPS),
            Need::Required("{ bulk = { bytes = \"100 kB\" } }"),
            "Its workload.",
        ),
    ],
);

/// Variant `tcp` of `transport`: the model.
pub(crate) const TCP: Variant = Variant {
    name: "tcp",
    doc: "The model TCP: a profile, and any option over it.",
    shape: Shape::TcpOptions,
    bare: true,
};

/// Variant `linux` of `transport`: a kernel's stack.
pub(crate) const LINUX: Variant = Variant {
    name: "linux",
    doc: "TCP or UDP of the Linux kernel.",
    shape: Shape::Table(&self::linux::LINUX),
    bare: true,
};

/// Reads the flows over a graph.
pub(crate) fn read(root: Reader<'_>, graph: &Graph, cx: &Cx<'_>) -> Vec<Flow> {
    root.tables("flow", &FLOW).filter_map(|reader| one(reader, graph, cx)).collect()
}

fn one(reader: Reader<'_>, graph: &Graph, cx: &Cx<'_>) -> Option<Flow> {
    // All keys are checked before a flow is rejected, so that all mistakes are reported.
    let end = |key: &str| {
        let tree = reader.get(key)?;
        graph.find(&leaf::name(tree).ok()?, tree.place, cx)
    };
    let (from, to) = (end("from"), end("to"));
    let transport = transport(reader, cx);
    let app = workload::read(reader, cx);
    if let (Some(app), Some(transport)) = (&app, &transport) {
        workload::fits(app, transport, reader.place("app"), cx);
    }
    let start = reader.dist("start", cx);
    let (from, to) = (from?, to?);
    if from == to {
        cx.push(
            Diagnostic::error("loop", reader.place("to"), "this flow returns to the node it leaves")
                .also(reader.place("from"), "from here")
                .help("`from` and `to` are two different nodes"),
        );
        return None;
    }
    let way = |key: &str, from, to| match reader.get(key) {
        Some(tree) => route::written(graph, from, to, tree, cx),
        None => route::find(graph, from, to, reader.place("to"), key, cx),
    };
    let (route, way_back) = (way("route", from, to), way("way-back", to, from));
    let other_paths = other_paths(reader, graph, [from, to], transport.as_ref(), cx);
    let flow = Flow {
        name: reader.name()?,
        from,
        to,
        start: start?,
        route: route?,
        way_back: way_back?,
        other_paths: other_paths?,
        transport: transport?,
        app: app?,
        reads: workload::bulk::reads(reader),
        priority: u32::try_from(reader.count("priority")?).ok()?,
    };
    takes_time(&flow, graph, reader.tree.place, cx);
    suits_macroflow(&flow, graph, reader.tree.place, cx);
    Some(flow)
}

/// Checks that the senders of a flow can share the congestion window of their node.
fn suits_macroflow(flow: &Flow, graph: &Graph, place: SourceSpan, cx: &Cx<'_>) {
    for (node, role) in [(flow.from, Role::Active), (flow.to, Role::Passive)] {
        if graph.nodes[node].sending.is_none() {
            continue;
        }
        let Transport::Tcp { config, .. } = flow.transport.at(role) else { continue };
        let duplicates = matches!(config.recovery, Recovery::Reno | Recovery::NewReno)
            || !config.uses_sack() && config.recovery.needs_sack();
        let plain = config.cc == CongestionControl::Reno
            && config.spurious == Spurious::None
            && config.pacing != Pacing::On;
        if !duplicates || !plain {
            let name = &graph.nodes[node].name;
            let message = format!("`{}` cannot share the congestion window of `{name}`", flow.name);
            cx.push(Diagnostic::error("impossible", place, message).help(
                "write transport = { tcp = { recovery = \"newreno\", cc = \"reno\", spurious = \"none\" } }, without pacing",
            ));
        }
    }
}

/// Network paths of an association between two kernels.
const KERNEL_PATHS: usize = 8;

/// Whether both ends are kernels with SCTP over IPv4.
fn is_multihomed(transport: &Transport) -> bool {
    let speaks =
        |linux: &Linux| linux.protocol == Protocol::Sctp && linux.ip == Ip::V4 && linux.program.is_none();
    transport.kernels().into_iter().all(|linux| linux.is_some_and(speaks))
}

/// Routes of further network paths, for transports that use several.
fn other_paths(
    reader: Reader<'_>,
    graph: &Graph,
    [from, to]: [usize; 2],
    transport: Option<&Transport>,
    cx: &Cx<'_>,
) -> Option<Vec<[Vec<usize>; 2]>> {
    let Some(tree) = reader.get("other-routes") else { return Some(Vec::new()) };
    let list = tree.list()?;
    let most = match transport {
        Some(transport) if is_multihomed(transport) => KERNEL_PATHS,
        transport => transport.and_then(Transport::model).map_or(1, Spec::paths),
    };
    if transport.is_some() && list.len() >= most {
        let message = format!("this transport uses {most} network path{}", if most == 1 { "" } else { "s" });
        cx.push(
            Diagnostic::error("impossible", tree.place, message)
                .help("remove `other-routes`, or write transport = \"sctp\""),
        );
        return None;
    }
    let one = |there: &Tree| {
        let mut back = there.clone();
        if let Value::List(steps) = &mut back.value {
            steps.reverse();
        }
        Some([route::written(graph, from, to, there, cx)?, route::written(graph, to, from, &back, cx)?])
    };
    list.iter().map(one).collect()
}

/// Rejects a round trip of zero time, in which windows would be sent and acknowledged for ever at one
/// instant.
fn takes_time(flow: &Flow, graph: &Graph, place: SourceSpan, cx: &Cx<'_>) {
    let around = || flow.route.iter().chain(&flow.way_back).map(|&l| (&graph.links[l], graph.places[l]));
    // A program's deliveries take time.
    let served = |l: &usize| graph.processes.iter().any(|process| process.links.contains(l));
    if flow.route.iter().chain(&flow.way_back).any(served) {
        return;
    }
    let timeless = around().all(|(link, _)| {
        link.bearer.is_none() && link.delay.mean_s() == 0.0 && link.rate.mean_bps().is_none()
    });
    if timeless && !flow.route.is_empty() {
        let mut diagnostic =
            Diagnostic::error("loop", place, format!("the round trip of flow `{}` takes no time", flow.name))
                .help("give one of its links a `delay` or a `rate`");
        let mut shown = Vec::new();
        for (link, at) in around() {
            if !shown.contains(&at) {
                shown.push(at);
                diagnostic = diagnostic.also(at, format!("`{}` has neither delay nor rate", link.owner));
            }
        }
        cx.push(diagnostic);
    }
}

pub(crate) fn transport(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Transport> {
    let tree = reader.or_default("transport")?;
    if !parted(&tree, &ENDS) {
        let alike = carrier(&tree, cx)?;
        if alike.linux().is_some_and(|linux| linux.program.is_some()) {
            let (message, help) = self::ends::PROGRAM;
            cx.push(Diagnostic::error("impossible", tree.place, message).help(help));
            return None;
        }
        return Some(alike);
    }
    let trees = (tree.get("from")?, tree.get("to")?);
    let (from, to) = (carrier(trees.0, cx), carrier(trees.1, cx));
    let mut ends = [from?, to?];
    match self::ends::together(&ends) {
        Ok(()) => {
            self::ends::agree(&mut ends);
            Some(Transport::Ends(Box::new(ends)))
        }
        Err(why) => {
            let second = why.second();
            let (place, other) =
                if second { (trees.1.place, trees.0.place) } else { (trees.0.place, trees.1.place) };
            cx.push(
                Diagnostic::error("impossible", place, why.message())
                    .also(other, "the other end")
                    .help(why.help()),
            );
            None
        }
    }
}

fn carrier(tree: &Tree, cx: &Cx<'_>) -> Option<Transport> {
    if let Some(linux) = self::linux::read(tree, cx) {
        return Some(Transport::Linux(linux));
    }
    if let Some(udp) = udp::read(tree, cx) {
        return udp;
    }
    if let Some(spec) = protocol::read(tree, cx) {
        return spec.map(Transport::Model);
    }
    let inner = match tree.table() {
        Some(table) => &table.get("tcp")?.tree,
        None => tree,
    };
    let tcp = tcp_options::read(inner, None)?;
    let before = cx.errors();
    combinations(&tcp, inner.place, cx);
    (cx.errors() == before).then_some(Transport::Tcp { profile: tcp.profile, config: tcp.config })
}

/// Rejects conflicting options. An option of the profile yields silently to a written one that conflicts
/// (`sack = "auto"`); a written option is never changed.
fn combinations(tcp: &Tcp<'_>, place: SourceSpan, cx: &Cx<'_>) {
    let config = &tcp.config;
    let at = |key: &str| tcp.place(key).unwrap_or(place);
    if config.recovery_wants_sack() && config.sack == Sack::Off {
        let message =
            format!("recovery \"{}\" needs selective acknowledgements, and `sack` is off", config.recovery);
        cx.push(
            with(Diagnostic::error("impossible", at("recovery"), message), tcp.place("sack"), "off here")
                .help("remove `sack`, or choose recovery = \"newreno\""),
        );
    }
    if config.spurious == Spurious::Eifel && !config.timestamps {
        let message = "spurious = \"eifel\" needs timestamps, and `timestamps` is off";
        cx.push(
            with(
                Diagnostic::error("impossible", at("spurious"), message),
                tcp.place("timestamps"),
                "off here",
            )
            .help("add timestamps = true"),
        );
    }
    if config.spurious == Spurious::Dsack && !(config.uses_sack() && config.receiver.dsack) {
        let (key, missing) = if config.uses_sack() { ("dsack", "`dsack`") } else { ("sack", "`sack`") };
        let message = format!("spurious = \"dsack\" needs DSACK reports, and {missing} is off");
        cx.push(
            with(Diagnostic::error("impossible", at("spurious"), message), tcp.place(key), "off here")
                .help(format!("add {key} = true")),
        );
    }
    if config.rto.restart_on_duplicates == DuplicateRestart::Each
        && config.duplicates.in_recovery != RecoveryDuplicates::Ignore
    {
        let message = "each duplicate restarts the timer, and duplicates above the threshold let out new segments: new \
                       segments make new duplicates, and a lost retransmission is never repaired";
        let place = tcp.place("rto.restart-on-duplicates").unwrap_or(place);
        cx.push(
            Diagnostic::warning("loops", place, message)
                .help("rto.restart-on-duplicates = \"below\", or duplicates.in-recovery = \"ignore\" (\"Making TCP Robust Against Delay Spikes\", section 4.3: MUST NOT)"),
        );
    }
    if config.rto.min > config.rto.max {
        let message =
            format!("the minimum timeout ({}) is above the maximum ({})", config.rto.min, config.rto.max);
        let place = tcp.place("rto.min").or(tcp.place("rto.max")).unwrap_or(place);
        cx.push(Diagnostic::error("impossible", place, message).help("make rto.max larger than rto.min"));
    }
    if config.spurious == Spurious::None
        && config.response != Response::None
        && let Some(place) = tcp.place("response")
    {
        cx.push(
            Diagnostic::warning("no-effect", place, "a response that never happens: `spurious` is \"none\"")
                .help("choose a detector, such as spurious = \"eifel\""),
        );
    }
    let of_responses = [
        ("staged.first", Response::Staged),
        ("staged.count", Response::Staged),
        ("staged.second", Response::Staged),
        ("staged.third", Response::Staged),
        ("rfc4015.timer", Response::Rfc4015),
        ("restore-4.threshold-before-loss", Response::Restore4),
    ];
    for (key, response) in of_responses {
        if let (Some(place), true) = (tcp.place(key), config.response != response) {
            let message = format!("`{key}` has an effect only with response = \"{response}\"");
            cx.push(
                Diagnostic::warning("no-effect", place, message)
                    .help(format!("add response = \"{response}\", or remove it")),
            );
        }
    }
    if config.spurious == Spurious::None
        && config.rto.adapt != Adapt::None
        && let Some(place) = tcp.place("rto.adapt")
    {
        let message =
            "the timer adapts to spurious timeouts, and no detector finds them: `spurious` is \"none\"";
        cx.push(
            Diagnostic::warning("no-effect", place, message)
                .help("choose a detector, such as spurious = \"eifel\""),
        );
    }
    sharing(tcp, cx);
}

/// Reports a shared parameter that no option of the flow uses.
fn sharing(tcp: &Tcp<'_>, cx: &Cx<'_>) {
    let config = &tcp.config;
    let share = &config.share;
    let learns = !matches!(config.rto.adapt, Adapt::None | Adapt::Reseed);
    let idle: [(&str, bool, &str, &str); 3] = [
        (
            "share.rto",
            share.rto && !learns,
            "shares the adaptation of the timer, but the timer does not keep any",
            "choose an adaptation that is kept, such as rto.adapt = \"keep-backoff\"",
        ),
        (
            "share.min-rtt",
            share.min_rtt && config.spurious != Spurious::MinRtt,
            "shares the minimum RTT, and no option uses it",
            "add spurious = \"min-rtt\", or remove it",
        ),
        (
            "share.age",
            !share.any(),
            "limits the age of shared values, and no value is shared",
            "add share.rtt = true or another of `share`",
        ),
    ];
    for (key, idle, message, help) in idle {
        if let (Some(place), true) = (tcp.place(key), idle) {
            cx.push(Diagnostic::warning("no-effect", place, format!("`{key}` {message}")).help(help));
        }
    }
}

fn with(diagnostic: Diagnostic, place: Option<SourceSpan>, label: &str) -> Diagnostic {
    match place {
        Some(place) => diagnostic.also(place, label),
        None => diagnostic,
    }
}
