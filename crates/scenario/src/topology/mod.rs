//! Graph of nodes and links from `[[node]]`, `[[hop]]` and `[[link]]`: indexes of names, two links for each
//! hop, wiring mistakes.

pub(crate) mod route;
pub(crate) mod shortest;

use self::shortest::Paths;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::spelling::{alternatives, nearest};
use crate::model::channel::Error;
use crate::model::{
    Background, ChangedRate, Datagrams, Direction, Gate, Link, LinkRate, Linux, Loss, Manager, Node,
    RateChange, Scheduler,
};
use crate::tables::flow::FLOW;
use crate::tables::flow::linux;
use crate::tables::path::background;
use crate::tables::path::channel;
use crate::tables::path::class;
use crate::tables::path::error;
use crate::tables::path::fault::{self, Owner};
use crate::tables::path::hop::{self, HOP};
use crate::tables::path::link::{self, LINK, NODE};
use crate::tables::path::queue::queue;
use std::collections::BTreeMap;

/// Graph under construction, with spans for messages.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    index: BTreeMap<String, usize>,
    pub(crate) links: Vec<Link>,
    /// Adjacency of the links, and shortest paths.
    pub(crate) paths: Paths,
    /// Span of each link.
    pub(crate) places: Vec<SourceSpan>,
    /// Links of each hop or link, by name.
    pub(crate) owners: BTreeMap<String, Vec<usize>>,
    pub(crate) bearers: Vec<crate::model::Bearer>,
    pub(crate) processes: Vec<crate::model::Process>,
    pub(crate) firewalls: Vec<crate::model::Firewall>,
    pub(crate) gates: Vec<Gate>,
    pub(crate) rate_changes: Vec<RateChange>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) backgrounds: Vec<Background>,
    pub(crate) errors: Vec<Error>,
    /// Names of the flows, for keys that refer to flows.
    flows: Vec<String>,
    /// False if a link or hop could not be read, which may be the cause of missing names and routes.
    pub(crate) complete: bool,
}

impl Graph {
    pub(crate) fn node(&mut self, name: &str) -> usize {
        if let Some(index) = self.index.get(name) {
            return *index;
        }
        self.nodes.push(Node {
            name: name.to_owned(),
            linux: Linux::default(),
            wire: None,
            manager: None,
            sending: None,
        });
        self.index.insert(name.to_owned(), self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// Index of the node of that name; an unknown name is reported at `place`.
    pub(crate) fn find(&self, name: &str, place: SourceSpan, cx: &Cx<'_>) -> Option<usize> {
        if let Some(index) = self.index.get(name) {
            return Some(*index);
        }
        if !self.complete || cx.full() {
            return None;
        }
        let diagnostic = Diagnostic::error("no-node", place, format!("there is no node `{name}`"));
        cx.push(match nearest(name, self.index.keys().map(String::as_str)) {
            Some(meant) => diagnostic.label(format!("did you mean `{meant}`?")),
            None if self.index.is_empty() => {
                diagnostic.help("this scenario has no hop yet; add one:\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]")
            }
            None => {
                let known = alternatives(self.index.keys().take(12).map(String::as_str));
                diagnostic.help(format!("the nodes are {}; name it in a hop's `between` or add a [[node]]", known.replace(" or ", " and ")))
            }
        });
        None
    }

    fn add(&mut self, link: Link, place: SourceSpan) -> usize {
        self.owners.entry(link.owner.clone()).or_default().push(self.links.len());
        self.paths.add(&link, self.links.len());
        self.links.push(link);
        self.places.push(place);
        self.links.len() - 1
    }

    fn faults(&mut self, reader: Reader<'_>, name: &str, links: &[(usize, Option<Direction>)], cx: &Cx<'_>) {
        let (gates, changes, losses) = fault::read(reader, &Owner { name, links }, cx);
        for change in changes.iter().filter(|c| matches!(c.to, ChangedRate::Times(_))) {
            if let Some(&link) = change.links.iter().find(|&&l| self.links[l].rate == LinkRate::Unlimited) {
                let message = format!(
                    "`{}` multiplies the rate of `{}`, which has none",
                    change.name, self.links[link].name
                );
                cx.push(
                    Diagnostic::error("impossible", reader.place("rate-change"), message)
                        .help(format!("give `{name}` a `rate`, or the change a `rate` in place of `factor`")),
                );
            }
        }
        let refer = |indexes: &mut Vec<usize>, links: &[usize], link: usize, at: usize| {
            if links.contains(&link) {
                indexes.push(at);
            }
        };
        for (link, _) in links {
            let target = &mut self.links[*link];
            for (i, gate) in gates.iter().enumerate() {
                refer(&mut target.gates, &gate.links, *link, self.gates.len() + i);
            }
            for (i, change) in changes.iter().enumerate() {
                refer(&mut target.rate_changes, &change.links, *link, self.rate_changes.len() + i);
            }
            for (i, loss) in losses.iter().enumerate() {
                refer(&mut target.losses, &loss.links, *link, self.losses.len() + i);
            }
        }
        let owner = Owner { name, links };
        let backgrounds = background::read(reader, &owner, cx);
        for (link, _) in links {
            for (i, background) in backgrounds.iter().enumerate() {
                let at = self.backgrounds.len() + i;
                refer(&mut self.links[*link].backgrounds, &background.links, *link, at);
            }
        }
        let errors = error::read(reader, &owner, cx);
        for (i, error) in errors.iter().enumerate() {
            for &link in &error.links {
                self.links[link].channel_mut().errors.push(self.errors.len() + i);
            }
        }
        for (class, on) in class::read(reader, &owner, &self.flows, cx) {
            for link in on {
                self.links[link].channel_mut().classes.push(class.clone());
            }
        }
        self.errors.extend(errors);
        self.backgrounds.extend(backgrounds);
        self.gates.extend(gates);
        self.rate_changes.extend(changes);
        self.losses.extend(losses);
    }
}

/// Reads all nodes, hops and links.
pub(crate) fn read(root: Reader<'_>, cx: &Cx<'_>) -> Graph {
    let listed = |key| root.get(key).is_none_or(|t| t.list().is_some());
    let complete = ["node", "hop", "link"].into_iter().all(listed);
    let flows = root.tables("flow", &FLOW).filter_map(|r| r.name()).collect();
    let mut graph = Graph { complete, flows, ..Graph::default() };
    for node in root.tables("node", &NODE) {
        match node.name() {
            Some(name) => {
                let index = graph.node(&name);
                if let Some(tree) = node.get("linux") {
                    graph.nodes[index].linux = linux::node_kernel(tree, cx);
                }
                if let Some(tree) = node.get("wire") {
                    graph.nodes[index].wire = crate::tables::path::wire::read(tree, cx);
                }
            }
            None => graph.complete = false,
        }
    }
    for reader in root.tables("hop", &HOP) {
        if read_hop(reader, &mut graph, cx).is_none() {
            graph.complete = false;
        }
    }
    let hops: BTreeMap<String, SourceSpan> =
        root.tables("hop", &HOP).filter_map(|r| Some((r.name()?, r.place("name")))).collect();
    for reader in root.tables("link", &LINK) {
        if let Some((name, first)) = reader.name().and_then(|name| hops.get_key_value(&name)) {
            let message = format!("a link and a hop are both called `{name}`");
            cx.push(
                Diagnostic::error("same-name", reader.place("name"), message)
                    .also(*first, "first here")
                    .help("routes and grids tell them apart by name: give each its own"),
            );
        }
        if read_link(reader, &mut graph, cx).is_none() {
            graph.complete = false;
        }
    }
    background::routes(root, &mut graph, cx);
    for node in root.tables("node", &NODE) {
        manager(node, &mut graph, cx);
        sending(node, &mut graph);
    }
    graph
}

/// Reads the sender-side congestion manager of a node.
fn sending(node: Reader<'_>, graph: &mut Graph) -> Option<()> {
    let tree = node.get("sender-congestion-manager")?;
    let at = *graph.index.get(&node.name()?)?;
    let reader = Reader::new(tree, &link::SENDING);
    graph.nodes[at].sending = Some(Scheduler::from_name(reader.word("scheduler")?)?);
    Some(())
}

/// Reads the congestion manager of a node, once all hops and links are known.
fn manager(node: Reader<'_>, graph: &mut Graph, cx: &Cx<'_>) -> Option<()> {
    let tree = node.get("congestion-manager")?;
    let at = *graph.index.get(&node.name()?)?;
    let reader = Reader::new(tree, &link::MANAGER);
    let hop = leaf::name(reader.get("hop")?).ok()?;
    let Some(link) = graph.links.iter().position(|link| link.owner == hop && link.to == at) else {
        if graph.complete {
            let message = format!("no hop or link `{hop}` leads to this node");
            cx.push(
                Diagnostic::error("no-link", reader.place("hop"), message)
                    .help("name the access hop, one of whose two ends is this node"),
            );
        }
        return None;
    };
    let estimate = reader.get("estimate").and_then(|_| reader.bytes("estimate"));
    graph.nodes[at].manager = Some(Manager {
        link,
        beyond: reader.span("beyond")?,
        headroom: reader.number("headroom")?,
        ahead: reader.span("ahead")?,
        datagrams: Datagrams::from_name(reader.word("datagrams")?)?,
        estimate,
    });
    Some(())
}

fn read_hop(reader: Reader<'_>, graph: &mut Graph, cx: &Cx<'_>) -> Option<()> {
    let between = reader.get("between").and_then(|t| t.list());
    let ends = match between {
        Some([fixed, mobile]) => leaf::name(fixed).ok().zip(leaf::name(mobile).ok()),
        _ => None,
    };
    // The nodes are added even if the hop has other mistakes.
    let ends = ends.map(|(fixed, mobile)| (graph.node(&fixed), graph.node(&mobile)));
    let name = reader.name();
    let place = reader.tree.place;
    let mut parts = Vec::new();
    for direction in [Direction::Down, Direction::Up] {
        let pick = |key: &str| hop::of(reader.get(key), direction);
        let (rate, delay, queue) =
            (link::rate(pick("rate"), cx), link::delay(pick("delay"), cx), queue(pick("queue")));
        let channel = channel::read(reader, pick, Some(direction), rate.as_ref(), cx);
        let keys = ["rate", "delay", "queue"];
        let whole = keys.iter().chain(&channel::KEYS).all(|key| hop::complete(reader.get(key), direction));
        parts.push((direction, if whole { rate.zip(delay).zip(queue).zip(channel) } else { None }));
    }
    let (fixed, mobile) = ends?;
    if fixed == mobile {
        cx.push(
            Diagnostic::error("loop", reader.place("between"), "this hop returns to the node it leaves")
                .help("`between` names two different nodes, the fixed end first"),
        );
        return None;
    }
    let name = name?;
    let compression = link::compression(reader);
    let mtu = link::mtu(reader, cx)?;
    let (flush, charging) = (reader.flag("rst-flush")?, hop::charging(reader, cx)?);
    let unique = reader.flag("delete-copies")?;
    let process = crate::tables::path::process::read(reader, cx)?;
    let firewall = crate::tables::path::firewall::read(reader, &name, &graph.flows, cx)?;
    let bearer = crate::radio::read(reader, &name, &graph.flows, cx)?;
    if let Some(bearer) = &bearer {
        crate::radio::real::agrees(bearer, &graph.bearers, reader, cx)?;
    }
    let number = bearer.is_some().then_some(graph.bearers.len());
    let mut links = Vec::new();
    for (direction, values) in parts {
        let (((rate, delay), queue), channel) = values?;
        let (from, to) = if direction == Direction::Down { (fixed, mobile) } else { (mobile, fixed) };
        let link = Link {
            name: format!("{name}.{}", direction.name()),
            owner: name.clone(),
            direction: Some(direction),
            from,
            to,
            rate,
            delay,
            queue,
            gates: Vec::new(),
            rate_changes: Vec::new(),
            losses: Vec::new(),
            backgrounds: Vec::new(),
            compression,
            mtu,
            channel,
            flushes: None,
            charging,
            bearer: number,
        };
        links.push((graph.add(link, place), Some(direction)));
    }
    if unique && let Some((down, _)) = links.first() {
        graph.links[*down].channel_mut().unique = true;
    }
    if flush && let [(down, _), (up, _)] = links[..] {
        graph.links[down].channel_mut();
        graph.links[up].flushes = Some(down);
    }
    if let (Some(command), [(down, _), (up, _)]) = (process, links.as_slice()) {
        let process = crate::model::Process { name: name.clone(), command, links: [*down, *up] };
        graph.processes.push(process);
    }
    if let (Some(mut firewall), [(down, _), (up, _)]) = (firewall, links.as_slice()) {
        firewall.links = [*down, *up];
        graph.firewalls.push(firewall);
    }
    if let (Some(mut bearer), [(down, _), (up, _)]) = (bearer, links.as_slice()) {
        bearer.links = [*down, *up];
        graph.bearers.push(bearer);
    }
    graph.faults(reader, &name, &links, cx);
    Some(())
}

fn read_link(reader: Reader<'_>, graph: &mut Graph, cx: &Cx<'_>) -> Option<()> {
    let end = |graph: &mut Graph, key: &str| {
        let name = leaf::name(reader.get(key)?).ok()?;
        Some(graph.node(&name))
    };
    let (from, to) = (end(graph, "from"), end(graph, "to"));
    let (rate, delay, queue) = (
        link::rate(reader.get("rate"), cx),
        link::delay(reader.get("delay"), cx),
        queue(reader.get("queue")),
    );
    let channel = channel::read(reader, |key| reader.get(key), None, rate.as_ref(), cx);
    let (from, to, name) = (from?, to?, reader.name()?);
    if from == to {
        cx.push(
            Diagnostic::error("loop", reader.place("to"), "this link returns to the node it leaves")
                .also(reader.place("from"), "from here"),
        );
        return None;
    }
    let compression = link::compression(reader);
    let mtu = link::mtu(reader, cx)?;
    let link = Link {
        name: name.clone(),
        owner: name.clone(),
        direction: None,
        from,
        to,
        rate: rate?,
        delay: delay?,
        queue: queue?,
        gates: Vec::new(),
        rate_changes: Vec::new(),
        losses: Vec::new(),
        backgrounds: Vec::new(),
        compression,
        mtu,
        channel: channel?,
        flushes: None,
        charging: None,
        bearer: None,
    };
    let index = graph.add(link, reader.tree.place);
    graph.faults(reader, &name, &[(index, None)], cx);
    Some(())
}
