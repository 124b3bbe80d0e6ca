//! Network builder: elements, wiring and random streams from a scenario model.
//!
//! Elements are added in the order of tie-breaking (downstream first) and wired along the flows' routes.
//! Every random quantity has its own named stream.
//!
//! A link is a chain: gates before the queue, the link with gates after its queue, delay jitter, losses. A
//! router stands where flows part; elsewhere a link leads into the next one.

mod apps;
mod chance;
mod channel;
mod deadline;
mod headers;
mod link;
mod load;
mod manager;
mod mtu;
pub mod radio;
mod sending;
mod service;
mod system;
mod wiring;

pub use self::load::path_numbers;

pub use self::apps::{media, sink, workload};

use self::chance::gate_of_closures;
use crate::model::{App, CountedFrom, First, Flow, Ip, Linux, Model, Timing, Transport};
use crate::protocol::Site;
use base::dist::Sampler;
use base::rng::Seed;
use base::trace::Tracer;
use base::{FlowId, NodeId, Span, Time};
use host::{
    ADDRESSES, AnyEnd, CodecConfig, DatagramConfig, Host, HostConfig, MultiConnectionHost, UdpSink, UdpSource,
};
use path::gate::{self, Closures, Gate};
use path::states::Plan;
use path::{ElementId, Network, Port};
use std::collections::BTreeMap;
use std::sync::Arc;
use transport::app::Bulk;
use transport::app::connections::MessageLog;
use transport::app::message_stream::{MessageSchedule, UsefulLife};
use transport::app::messages::Manner;
use transport::recovery::tcb_cache::TcbCache;
use transport::tcp::Role;

/// Network of one repetition, with the index of its elements.
pub struct World {
    /// The network, not yet started.
    pub network: Network,
    /// Hosts of each flow, in the order of the model; packet ports where its transport is real.
    pub flows: Vec<Ends>,
    /// Name of each element, by number: `radio.down`, `download@server`.
    pub names: Vec<String>,
    /// Elements with endless activity, which the driver closes at the end of the workloads.
    pub backgrounds: Vec<ElementId>,
    /// Packet ports of nodes with commands, or both ends of a wire, in the order of the model's stations.
    pub stations: Vec<ElementId>,
    /// Networks of cells, in the order of the model's systems.
    pub systems: Vec<ElementId>,
    /// Cell of each bearer and the number of its mobile in it, in the order of the model.
    pub bearers: Vec<(ElementId, usize)>,
    /// Out-of-band message boundaries of each flow, in the order of the model.
    pub logs: Vec<MessageLog>,
    /// Elements of each link, in the order of the model; both directions of a bearer share one element.
    pub links: Vec<Vec<ElementId>>,
    /// Links that a program serves, and their elements.
    pub outsides: Vec<(usize, ElementId)>,
    /// Nodes with a congestion manager, and the elements that control them.
    pub managers: Vec<(usize, ElementId)>,
    /// Macroflows of sender-side congestion managers: sending node, receiving node, and the element that passes grants.
    pub macroflows: Vec<(usize, usize, ElementId)>,
}

/// Hosts of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Host of the writing application.
    pub from: ElementId,
    /// Host of the reading application.
    pub to: ElementId,
    /// Start of the workload.
    pub start: Time,
}

/// Entry and exit element of a link.
#[derive(Clone, Copy)]
struct Chain {
    entry: (ElementId, Port),
    exit: (ElementId, Port),
}

impl Chain {
    /// Chain of a single element, port 0.
    fn of(id: ElementId) -> Chain {
        Chain { entry: (id, Port(0)), exit: (id, Port(0)) }
    }
}

struct Builder<'a> {
    model: &'a Model,
    seed: Seed,
    network: Network,
    names: Vec<String>,
    backgrounds: Vec<ElementId>,
    chains: Vec<Option<Chain>>,
    /// Elements of each link.
    links: Vec<Vec<ElementId>>,
    /// Links with an MTU, and the element that enforces it.
    mtus: Vec<(usize, ElementId)>,
    /// Elements of bearers.
    cells: Vec<Option<ElementId>>,
    /// Elements of firewalls.
    firewalls: Vec<Option<ElementId>>,
    /// Elements of channel links.
    channels: Vec<Option<ElementId>>,
    plans: Vec<Arc<Plan>>,
    travels: Vec<load::LoadRoute>,
    /// Distinct TCP configurations, shared between flows so that many flows need little cache.
    choices: Vec<Arc<transport::tcp::Config>>,
    /// TCB cache between two nodes, for flows that share one (RFC 9040).
    caches: BTreeMap<(usize, usize), TcbCache>,
    /// Elements that watch for RST segments, and the link whose queue each one flushes.
    watches: Vec<(ElementId, usize)>,
    /// Links that programs serve, and their elements.
    outsides: Vec<(usize, ElementId)>,
    /// Congestion managers, by node.
    managers: BTreeMap<usize, manager::Managing>,
    /// Shared congestion window between two nodes, for flows that share one.
    windows: BTreeMap<(usize, usize), sending::Window>,
    /// Macroflow from one node to another, for nodes with a sender-side congestion manager.
    macroflows: BTreeMap<(usize, usize), sending::Sending>,
}

/// Number of flow identities: flows, travelling loads, pairs of stations, other network paths.
fn numbers(model: &Model, travels: usize) -> usize {
    let others: usize = model.flows.iter().map(|flow| flow.other_paths.len()).sum();
    model.flows.len() + travels + model.pairs.len() + others
}

/// Builds one repetition of a model.
pub fn build(model: &Model, seed: Seed, tracer: Tracer) -> World {
    let travels = load::travels(model);
    // Further network paths have ledgers of their own.
    let several = model.flows.iter().any(|flow| !flow.other_paths.is_empty());
    let ledgers = if several { numbers(model, travels.len()) } else { model.flows.len() };
    let mut b = Builder {
        model,
        seed,
        network: Network::new(ledgers, tracer),
        names: Vec::new(),
        backgrounds: Vec::new(),
        chains: vec![None; model.links.len()],
        links: vec![Vec::new(); model.links.len()],
        mtus: Vec::new(),
        cells: vec![None; model.bearers.len()],
        firewalls: vec![None; model.firewalls.len()],
        channels: vec![None; model.links.len()],
        plans: channel::plans(model, seed),
        travels,
        choices: Vec::new(),
        caches: BTreeMap::new(),
        watches: Vec::new(),
        outsides: Vec::new(),
        managers: BTreeMap::new(),
        windows: BTreeMap::new(),
        macroflows: BTreeMap::new(),
    };
    let mut ends = Vec::with_capacity(model.flows.len());
    let mut logs = Vec::with_capacity(model.flows.len());
    for (i, flow) in model.flows.iter().enumerate() {
        let start = draw_time(&flow.start, seed, &flow.name, "start");
        let log = MessageLog::default();
        let to = b.host(i, flow, Role::Passive, start, &log);
        for &link in flow.route.iter().rev() {
            b.link(link);
        }
        for [there, back] in &flow.other_paths {
            there.iter().rev().chain(back.iter().rev()).for_each(|&link| b.link(link));
        }
        let from = b.host(i, flow, Role::Active, start, &log);
        logs.push(log);
        for &link in flow.way_back.iter().rev() {
            b.link(link);
        }
        ends.push(Ends { from, to, start });
    }
    let stations = b.stations();
    for travel in b.travels.clone() {
        travel.way.iter().rev().for_each(|&link| b.link(link));
    }
    b.wire(&ends, &stations);
    b.wire_credit();
    b.wire_flush();
    let systems = b.systems(&ends);
    let bearers = b.placed_bearers();
    let managers = b.place_managers();
    let macroflows = b.place_granters();
    World {
        network: b.network,
        flows: ends,
        names: b.names,
        backgrounds: b.backgrounds,
        stations,
        systems,
        bearers,
        logs,
        links: b.links,
        outsides: b.outsides,
        managers,
        macroflows,
    }
}

/// Closure intervals of the model's gates in one repetition, up to `until`: (gate, from, until).
pub fn closures(model: &Model, seed: Seed, until: Time) -> Vec<(usize, Time, Time)> {
    let mut all = Vec::new();
    for (i, g) in model.gates.iter().enumerate() {
        let closures = gate_of(&g.timing, &g.name, seed).closures_before(until);
        all.extend(closures.map(|(start, end)| (i, start, end)));
    }
    all
}

fn draw_time(dist: &base::dist::Dist, seed: Seed, element: &str, purpose: &str) -> Time {
    let ns = Sampler::new(dist.clone(), seed.stream(element, purpose)).draw();
    Time::from_nanos(ns as u64)
}

fn gate_of(timing: &Timing, name: &str, seed: Seed) -> Gate {
    let list =
        |spikes: &[(Time, Span)]| Closures::List(spikes.iter().map(|&(t, len)| (t, t + len)).collect());
    let closures = match timing {
        Timing::Every { every, from, first, lasts } => Closures::Process {
            every: every.clone(),
            from: match from {
                CountedFrom::Start => gate::IntervalReference::Start,
                CountedFrom::End => gate::IntervalReference::End,
            },
            first: match first {
                First::Stationary => gate::FirstInterval::Stationary,
                First::After(dist) => gate::FirstInterval::Drawn(dist.clone()),
            },
            lasts: lasts.clone(),
        },
        Timing::Once { start, lasts } => {
            let from = draw_time(start, seed, name, "start");
            let length = draw_time(lasts, seed, name, "lasts").since(Time::ZERO);
            Closures::List(vec![(from, from + length)])
        }
        Timing::Listed(spikes) => list(spikes),
        Timing::PerRepetition(spikes) => {
            list(spikes.get(seed.repetition as usize).map_or(&[][..], |s| s.as_slice()))
        }
    };
    Gate::new(closures, name, seed)
}

impl Builder<'_> {
    fn add(&mut self, name: String, element: impl path::Element) -> ElementId {
        self.names.push(name);
        self.network.add(element)
    }

    /// Number of flow identities.
    fn numbers(&self) -> usize {
        numbers(self.model, self.travels.len())
    }

    fn shared(&mut self, config: &transport::tcp::Config) -> Arc<transport::tcp::Config> {
        // Neighbouring flows tend to be equal; a bounded search from the end keeps set-up linear.
        if let Some(same) = self.choices.iter().rev().take(16).find(|c| ***c == *config) {
            return same.clone();
        }
        self.choices.push(Arc::new(*config));
        self.choices[self.choices.len() - 1].clone()
    }

    fn host(&mut self, index: usize, flow: &Flow, role: Role, start: Time, log: &MessageLog) -> ElementId {
        let (here, there) = if role == Role::Active { (flow.from, flow.to) } else { (flow.to, flow.from) };
        let name = [&flow.name, "@", &self.model.nodes[here].name].concat();
        let (flow_id, node, peer) = (FlowId(index as u32), NodeId(here as u16), NodeId(there as u16));
        let config = match flow.transport.at(role) {
            Transport::Tcp { config, .. } => config,
            // `Transport::Ends` is never nested (checked by the reader).
            Transport::Linux(Linux { stamp, .. }) => {
                let deadlines = host::Deadlines { stamp: *stamp, ..host::Deadlines::default() };
                let packet_port = host::FlowPortConfig { flow: flow_id, node, peer, role, deadlines };
                let paths = path_numbers(self.model, index);
                let others = u8::try_from(paths.len()).unwrap_or(u8::MAX);
                let packet_port =
                    host::FlowPort::new(packet_port).with_paths(FlowId(paths.start as u32), others);
                return self.add(name, packet_port);
            }
            Transport::Ends(_) => {
                let deadlines = host::Deadlines::default();
                let packet_port = host::FlowPortConfig { flow: flow_id, node, peer, role, deadlines };
                return self.add(name, host::FlowPort::new(packet_port));
            }
            Transport::Model(spec) => {
                let host = HostConfig { flow: flow_id, node, peer, role, start };
                let other_paths = FlowId(path_numbers(self.model, index).start as u32);
                let window = self.windows.entry((here, there)).or_default().shared.clone();
                let number = window.members();
                let codec = flow.transport.linux().map(|linux| self.codec_of(&name, linux, role));
                let site = Site { host, flow, index, log, seed: self.seed, other_paths, window, codec };
                let end = AnyEnd::new(spec.end(&site));
                let id = self.add(name, end);
                self.hold((here, there), number, id);
                return id;
            }
            Transport::Udp(udp) => {
                // The reader permits only message workloads over datagrams.
                let plan = if let App::Messages(plan) = &flow.app { Some(plan) } else { None };
                let (Some(plan), Role::Active) = (plan, role) else {
                    let useful = plan.map_or(UsefulLife::Always, |plan| plan.useful);
                    return self.add(name, UdpSink::new(log.clone(), useful));
                };
                let (payload, header, lifetime) = (udp.payload, udp.header, udp.lifetime);
                let sizes = DatagramConfig { flow: flow_id, node, peer, payload, header, lifetime };
                let schedule = MessageSchedule::new(plan, &flow.name, self.seed);
                return self.add(name, UdpSource::new(sizes, start, schedule, log.clone()));
            }
        };
        let cache = config.share.any().then(|| self.caches.entry((here, there)).or_default().clone());
        let tcp = self.shared(config);
        let host = HostConfig { flow: flow_id, node, peer, role, start };
        let codec = flow.transport.linux().map(|linux| self.codec_of(&name, linux, role));
        if let Some(workload) = workload(flow, role, log, self.seed) {
            let mut party = MultiConnectionHost::new(host, tcp, workload);
            if let Some(cache) = cache {
                party = party.sharing(cache);
            }
            if let Some((manager, number)) = self.manager(here, index) {
                party = party.managed(manager, number);
            }
            let member = self.membership(here, there, flow, config);
            if let Some(member) = member.clone() {
                party = party.sending_in(member);
            }
            let id = match codec {
                Some(codec) => self.add(name, party.coded(codec)),
                None => self.add(name, party),
            };
            self.enrol(here, there, member, id);
            return id;
        }
        let (bytes, lasts) = flow.app.bulk().unwrap_or_default();
        let manager = self.manager(here, index);
        let app: Box<dyn transport::app::App> = match (media(flow, role, Manner::default(), log), role) {
            (Some(media), _) => media,
            (None, Role::Active) => Box::new(Bulk::new(bytes, lasts)),
            (None, Role::Passive) => Box::new(sink(flow)),
        };
        let mut host = Host::new(host, tcp, app);
        if let Some(cache) = cache {
            host = host.sharing(cache);
        }
        if let Some((manager, number)) = manager {
            host = host.managed(&manager, number);
        }
        let member = self.membership(here, there, flow, config);
        if let Some(member) = &member {
            host = host.sending_in(member);
        }
        let id = match codec {
            Some(codec) => self.add(name, host.coded(&codec, 0)),
            None => self.add(name, host),
        };
        self.enrol(here, there, member, id);
        id
    }

    /// Addresses and initial sequence numbers of a model's end opposite a kernel. The numbers depend on the
    /// seed, as a kernel's are random.
    fn codec_of(&self, name: &str, linux: &Linux, role: Role) -> CodecConfig {
        let [from, to] = ADDRESSES[usize::from(linux.ip == Ip::V6)];
        let (here, there) = if role == Role::Active { (from, to) } else { (to, from) };
        let bits = self.seed.stream(name, "numbers").bits();
        CodecConfig { here, there, origin: [bits as u32, (bits >> 32) as u32] }
    }

    /// Packet ports of the stations, or both ends of a wire, and the routes between them. A station has one port per
    /// station that it reaches.
    fn stations(&mut self) -> Vec<ElementId> {
        let model = self.model;
        let first = model.flows.len() + self.travels.len();
        for pair in &model.pairs {
            for &link in pair.there.iter().rev().chain(pair.back.iter().rev()) {
                self.link(link);
            }
        }
        let machine = |b: &mut Self, node: usize| {
            let name = model.nodes[node].name.clone();
            if let (Some(wire), Some(pair)) = (&model.nodes[node].wire, model.pairs.first()) {
                let side = usize::from(pair.ends[0] != node);
                let end = host::FramePortConfig {
                    framing: wire.framing(),
                    flow: FlowId(first as u32),
                    node: NodeId(node as u16),
                    peer: NodeId(pair.ends[1 - side] as u16),
                    reply: side == 1,
                };
                return b.add(name, host::FramePort::new(end));
            }
            let mut machine = host::NodePort::new(NodeId(node as u16));
            for (i, pair) in model.pairs.iter().enumerate() {
                let flow = FlowId((first + i) as u32);
                if let Some(side) = pair.ends.iter().position(|end| *end == node) {
                    machine.add_peer(NodeId(pair.ends[1 - side] as u16), flow, side == 1);
                }
            }
            b.add(name, machine)
        };
        model.stations.iter().map(|&node| machine(self, node)).collect()
    }
}
