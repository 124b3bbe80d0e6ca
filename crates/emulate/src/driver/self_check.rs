//! Self-check of the real-time driver: one TCP model in virtual time inside the network, and in real time behind the
//! devices of two namespaces.
//!
//! The difference of both completion times is the error of clocks and devices. The devices carry IP packets of the
//! right size with a segment number; the segment itself is passed in memory.

use crate::accuracy::lateness::Timing;
use crate::driver::{Driver, Gateway, PortOwner};
use crate::{Error, Options};
use base::packet::{FlowId, NodeId, Packet};
use base::rng::Seed;
use base::tcp::Segment;
use base::trace::Tracer;
use base::wire::Malformed;
use base::{Span, Time};
use host::{Host, HostConfig, PacketPort, PortQueues};
use netns::clock::Clock;
use netns::device::Device;
use netns::namespace::Namespace;
use netns::sys::veth;
use path::{Cx, Element, ElementId, Network, Port};
use scenario::Model;
use scenario::build::build;
use scenario::metric::Metric;
use scenario::model::{Linux, Transport};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use transport::app::{App, Bulk, Sink};
use transport::tcp::Role;

/// Completion times under both clocks, with the lateness in real time.
#[derive(Clone, Debug)]
pub struct BothClocks {
    /// Time from the start until the sender knows that all data are delivered, in virtual time, s.
    pub in_virtual_time: f64,
    /// Time from the start until the sender knows that all data are delivered, in real time, s.
    pub in_real_time: f64,
    /// Timing of the driver of the path.
    pub path: Timing,
    /// Timing of the drivers of both ends.
    pub ends: [Timing; 2],
}

impl BothClocks {
    /// Bound of the difference, s: sum of all lateness at the packet ports and at both ends. Real time may also be
    /// shorter by up to this bound, since lateness can change the order of events.
    pub fn explained(&self) -> f64 {
        let all = [&self.path, &self.ends[0], &self.ends[1]];
        all.iter().map(|t| (t.egress.sum() + t.ingress.sum()).as_secs_f64()).sum()
    }
}

/// Number of the last segment, and segments in transit outside of the network with their packet headers, by number.
type InTransit = Arc<Mutex<(u64, BTreeMap<u64, (Segment, Packet)>)>>;

/// Packet port of a model outside of the network: segments leave as packets, and packets arrive as segments.
pub struct ModelPort {
    in_transit: InTransit,
    queues: PortQueues,
}

/// Position of the segment number in a packet, after the IPv4 header.
const NUMBER: std::ops::Range<usize> = 20..28;
/// IP protocol number for experiments (RFC 3692).
const PROTOCOL: u8 = 253;
/// Unassigned addresses: no kernel answers.
const UNASSIGNED: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 9, 1), Ipv4Addr::new(198, 18, 9, 2)];

impl PacketPort for ModelPort {
    fn inject(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Result<Option<u64>, Malformed> {
        let number = bytes.get(NUMBER).and_then(|b| b.try_into().ok()).map(u64::from_be_bytes);
        let number = number.filter(|_| bytes[9] == PROTOCOL).ok_or(Malformed::Short)?;
        let found = self.in_transit.lock().ok().and_then(|mut in_transit| in_transit.1.remove(&number));
        let (segment, head) = found.ok_or(Malformed::Header)?;
        let (body, id) = cx.emit(&segment, head.size);
        cx.forward(Port(0), Packet { id, body, ecn: bytes[1] & 3, ..head });
        Ok(Some(id))
    }
    fn queues(&mut self) -> &mut PortQueues {
        &mut self.queues
    }
}

impl Element for ModelPort {
    /// Queues a segment of the host for departure.
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let (Some(segment), Ok(mut in_transit)) = (cx.absorb::<Segment>(&packet), self.in_transit.lock())
        else {
            return;
        };
        in_transit.0 += 1;
        let number = in_transit.0;
        in_transit.1.insert(number, (segment, packet));
        let mut bytes = vec![0; (packet.size as usize).max(NUMBER.end)];
        let length = (bytes.len() as u16).to_be_bytes();
        bytes[..4].copy_from_slice(&[0x45, packet.ecn, length[0], length[1]]);
        bytes[8..10].copy_from_slice(&[64, PROTOCOL]);
        bytes[12..16].copy_from_slice(&UNASSIGNED[0].octets());
        bytes[16..20].copy_from_slice(&UNASSIGNED[1].octets());
        bytes[NUMBER].copy_from_slice(&number.to_be_bytes());
        self.queues.leave(cx.now(), packet.id, bytes);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}

/// Time from the end of the preparation to t = 0.
const LEAD: Span = Span::from_millis(100);
/// Address of the device in each namespace; no packet is sent to it.
const OWN: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// MTU, larger than any segment of a model.
const MTU: u32 = 65_535;

/// Runs the only flow of a model, a bulk transfer over the model's TCP, under both clocks.
///
/// # Errors
/// [`netns::Error::Rights`] if the process may not create namespaces and devices; [`Error::Kernel`] if the model is
/// not of this kind, or does not end within its limit.
pub fn twins(model: &Model, repetition: u64, options: &Options) -> Result<BothClocks, Error> {
    let unfit = |what: &str| Error::of(what)(std::io::ErrorKind::InvalidInput.into());
    let [flow] = &model.flows[..] else { return Err(unfit("looking for the only flow")) };
    let config = flow.transport.tcp().ok_or_else(|| unfit("looking for a model of TCP"))?;
    let (bytes, lasts) = flow.app.bulk().ok_or_else(|| unfit("looking for bulk data"))?;
    let ran = lab::run_once(model, repetition, lab::once::Options::default());
    let time = |flows: &[lab::measure::FlowMeasures]| flows.first()?.get(Metric::CompletionTime);
    let in_virtual_time = time(&ran.flows).ok_or_else(|| unfit("ending in virtual time before the limit"))?;

    let mut outside = model.clone();
    for flow in &mut outside.flows {
        flow.transport = Transport::Linux(Linux::default());
    }
    let mut world = build(&outside, Seed { seed: model.run.seed, repetition }, Tracer::off());
    world.network.start(None);
    let ends = world.flows[0];
    let spaces = [Namespace::new()?, Namespace::new()?];
    let mut gateways = Vec::new();
    for (space, packet_port) in spaces.iter().zip([ends.from, ends.to]) {
        gateways.push(Gateway { packet_port, device: space.device(OWN, MTU, false)?, kind: PortOwner::Flow });
    }
    let in_transit = InTransit::default();
    let clock = Clock::starting_in(LEAD);
    let mut path = Driver::new(world.network, gateways, clock, options.spin);
    let shared = Arc::new(*config);
    let mut hosts = Vec::new();
    for (space, role) in spaces.iter().zip([Role::Active, Role::Passive]) {
        let mut network = Network::new(1, Tracer::off());
        let head = HostConfig { flow: FlowId(0), node: NodeId(0), peer: NodeId(1), role, start: ends.start };
        let app: Box<dyn App> =
            if role == Role::Active { Box::new(Bulk::new(bytes, lasts)) } else { Box::new(Sink::new(bytes)) };
        let host = network.add(Host::new(head, shared.clone(), app));
        let plug = network.add(ModelPort { in_transit: in_transit.clone(), queues: PortQueues::default() });
        network.wire(host, Port(0), plug, Port(0));
        network.wire(plug, Port(0), host, Port(0));
        network.start(None);
        let frames = || {
            veth::frames(netns::namespace::DEVICE)
                .map_err(netns::Error::right("opening a socket for packets"))
        };
        let device = Device::packets(space.inside(frames)?);
        let gateway = Gateway { packet_port: plug, device, kind: PortOwner::ModelPort };
        let driver = Driver::new(network, vec![gateway], clock, options.spin);
        hosts.push((host, driver));
    }
    let over = AtomicBool::new(false);
    let limit = Time::ZERO + model.run.limit;
    let results: Vec<std::io::Result<()>> = std::thread::scope(|scope| {
        let over = &over;
        let mut workers = vec![scope.spawn(|| {
            path.settle_in(options.realtime);
            path.run(|_, _| over.load(Ordering::Relaxed))
        })];
        for (i, (host, driver)) in hosts.iter_mut().enumerate() {
            let host: ElementId = *host;
            workers.push(scope.spawn(move || {
                driver.settle_in(options.realtime);
                driver.run(|network, now| {
                    let done = network.element::<Host>(host).is_none_or(|host| host.finished().is_some());
                    if (i == 0 && done) || now > limit {
                        over.store(true, Ordering::Relaxed);
                    }
                    over.load(Ordering::Relaxed)
                })
            }));
        }
        workers
            .into_iter()
            .map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    for result in results {
        result.map_err(Error::of("driving a network"))?;
    }
    let (host, driver) = &hosts[0];
    let finished = driver.network.element::<Host>(*host).and_then(Host::finished);
    let finished = finished.ok_or_else(|| unfit("ending in real time before the limit"))?;
    let timing = |i: usize| hosts[i].1.timing.clone();
    Ok(BothClocks {
        in_virtual_time,
        in_real_time: finished.since(ends.start).as_secs_f64(),
        path: path.timing,
        ends: [timing(0), timing(1)],
    })
}

/// Reason why the scenarios of the self-check cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The table of scenarios is not TOML.
    #[error(transparent)]
    Table(#[from] toml::de::Error),
    /// A scenario is refused, for example because of its recorded rate: the diagnostics.
    #[error("{0}")]
    Scenario(String),
}

/// Scenarios of a few seconds each in which both clocks should agree: constant link, delay spike, losses, oscillating
/// rate, link retransmissions, and a rate from a file. `recorded`: content of that file, in any form that a scenario
/// accepts; None: a synthetic rate.
///
/// # Errors
/// A text that is not a valid scenario, with its diagnostics.
pub fn scenarios(recorded: Option<&[u8]>) -> Result<Vec<(String, Model)>, ScenarioError> {
    let table: toml::Table = toml::from_str(include_str!("../../twins.toml"))?;
    let load = |path: &str| match path {
        "lte.trace" => Ok(recorded.map_or_else(|| wave().into_bytes(), <[u8]>::to_vec)),
        other => Err(format!("there is no {other}")),
    };
    let one = |(name, entry): (&String, &toml::Value)| {
        let hop = entry.get("hop").and_then(toml::Value::as_str).unwrap_or_default();
        let text = format!(
            "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\ndelay = \"50 ms\"\n{hop}\n\
             [[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\ntransport = {{ tcp = {{ timestamps = true }} }}\n\
             app = {{ bulk = {{ bytes = \"200 kB\" }} }}\n[run]\nlimit = \"60 s\"\n"
        );
        let scenario = scenario::read(name, text.as_bytes(), &load)
            .map_err(|wrong| ScenarioError::Scenario(wrong.render(scenario::Style::default())))?;
        Ok((name.clone(), scenario.first().clone()))
    };
    table.iter().map(one).collect()
}

/// Synthetic rate in steps of 100 ms, as variable as the rate of a phone in a car: 0.3 to 3 Mbit/s, from 40
/// multiples of a golden angle.
fn wave() -> String {
    let step = |i: u64| {
        let wave = (i * 377 % 610) as f64 / 610.0;
        format!("{},{}\n", i as f64 / 10.0, (300_000.0 + 2_700_000.0 * wave * wave).round())
    };
    (0..40).map(step).collect()
}
