//! Network of two SCTP ends over one or several paths, for tests of whole associations.
#![allow(dead_code, reason = "each test uses a part")]

use base::event::{Category, Record};
use base::packet::{FlowId, NodeId};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use host::{ADDRESSES, CodecConfig, Host, HostConfig};
use path::capacity::Capacity;
use path::gate::{Closures, Gate};
use path::hold::Hold;
use path::link::{Link, LinkConfig, QueueLimit};
use path::loss::{Loss, Rule};
use path::{ElementId, Network, Port};
use sctp::wire::Codec;
use sctp::{Association, Config};
use transport::app::App;
use transport::endpoint::Role;

/// One network path.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) rate: Option<u64>,
    pub(crate) delay: Span,
    /// Queue limit of the link in the data direction, packets.
    pub(crate) queue: Option<u32>,
    /// Ranges of data packets, by ordinal, that are lost.
    pub(crate) loses: Vec<(u32, u32)>,
    /// Probability of loss in both directions.
    pub(crate) loss: f64,
    /// Interval in which the gate is closed; packets wait before the queue.
    pub(crate) pause: Option<(Time, Time)>,
}

impl Way {
    pub(crate) fn of(rate: u64, delay: Span) -> Way {
        Way { rate: Some(rate), delay, queue: None, loses: Vec::new(), loss: 0.0, pause: None }
    }
}

pub(crate) struct Lab {
    pub(crate) network: Network,
    pub(crate) from: ElementId,
    pub(crate) to: ElementId,
}

pub(crate) fn secs(s: f64) -> Time {
    Time::from_secs_f64(s)
}

fn chain(network: &mut Network, way: &Way, data: bool, seed: u64) -> (ElementId, ElementId) {
    let capacity = way.rate.map_or(Capacity::Unlimited, |r| Capacity::Fixed(Rate::from_bps(r)));
    let packets = way.queue.filter(|_| data);
    let limit = QueueLimit { packets, bytes: None, drop_head: false };
    let seed = Seed { seed, repetition: 0 };
    let name = if data { "data" } else { "back" };
    let mut ids = Vec::new();
    if data {
        ids.push(network.add(Loss::new(Rule::Scripted(way.loses.clone()), seed.stream(name, "script"))));
    }
    ids.push(network.add(Loss::new(Rule::Random(way.loss), seed.stream(name, "loss"))));
    ids.push(network.add(Link::new(LinkConfig { capacity, delay: way.delay, limit }, Vec::new())));
    if let (true, Some(pause)) = (data, way.pause) {
        let gate = Gate::new(Closures::List(vec![pause]), name, seed);
        ids.push(network.add(Hold::new(gate, true)));
    }
    for pair in ids.windows(2) {
        network.wire(pair[1], Port(0), pair[0], Port(0));
    }
    (ids[ids.len() - 1], ids[0])
}

/// Two ends with these applications, with transport events recorded.
pub(crate) fn lab(config: &Config, ways: &[Way], seed: u64, apps: [Box<dyn App>; 2]) -> Lab {
    recorded(config, ways, seed, apps, &[Category::Transport])
}

/// Two ends as [`lab`], with other recorded categories.
pub(crate) fn recorded(
    config: &Config,
    ways: &[Way],
    seed: u64,
    apps: [Box<dyn App>; 2],
    categories: &[Category],
) -> Lab {
    build(config, ways, seed, apps, categories, false)
}

/// Two ends that exchange bytes on the path, as between a model and a kernel.
pub(crate) fn coded(config: &Config, ways: &[Way], seed: u64, apps: [Box<dyn App>; 2]) -> Lab {
    build(config, ways, seed, apps, &[Category::Transport], true)
}

fn build(
    config: &Config,
    ways: &[Way],
    seed: u64,
    apps: [Box<dyn App>; 2],
    categories: &[Category],
    bytes: bool,
) -> Lab {
    let mut network = Network::new(ways.len(), Tracer::of(categories));
    let config = Config { paths: ways.len() as u8, ..config.clone() };
    let [writes, reads] = apps;
    let end = |network: &mut Network, role: Role, app| {
        let here = u16::from(role == Role::Passive);
        let host = HostConfig {
            flow: FlowId(0),
            node: NodeId(here),
            peer: NodeId(1 - here),
            role,
            start: Time::ZERO,
        };
        let ports = CodecConfig::ports(role == Role::Active);
        let name = if role == Role::Active { "from" } else { "to" };
        let chance = Seed { seed, repetition: 0 }.stream("test", name);
        let association = Association::new(config.clone(), role, ports, chance);
        let held = Host::holding(&host, association, app).with_paths(FlowId(1));
        let [here, there] = [ADDRESSES[0][usize::from(here)], ADDRESSES[0][usize::from(1 - here)]];
        let codec = Codec::new(&CodecConfig { here, there, origin: [0; 2] }, ports);
        network.add(if bytes { held.over(Box::new(codec)) } else { held })
    };
    let to = end(&mut network, Role::Passive, reads);
    let there: Vec<_> = ways.iter().map(|way| chain(&mut network, way, true, seed)).collect();
    let from = end(&mut network, Role::Active, writes);
    let back: Vec<_> = ways.iter().map(|way| chain(&mut network, way, false, seed)).collect();
    for (i, ((a, b), (c, d))) in there.into_iter().zip(back).enumerate() {
        let port = Port(i as u16);
        network.wire(from, port, a, Port(0));
        network.wire(b, Port(0), to, port);
        network.wire(to, port, c, Port(0));
        network.wire(d, Port(0), from, port);
    }
    network.start(None);
    Lab { network, from, to }
}

impl Lab {
    pub(crate) fn run(&mut self, until: f64) -> &mut Self {
        self.network.run_until(secs(until));
        self
    }
    pub(crate) fn host(&self, id: ElementId) -> &Host<Association> {
        self.network.element(id).expect("an end")
    }
    pub(crate) fn sender(&self) -> &Association {
        self.host(self.from).connection()
    }
    pub(crate) fn receiver(&self) -> &Association {
        self.host(self.to).connection()
    }
    pub(crate) fn records(&mut self) -> Vec<Record> {
        self.network.tracer().take()
    }
}
