//! One repetition with real kernels in virtual time.
//!
//! As with models, but that each end of a kernel's flow is a kernel with a task. They boot, take turns with the
//! network until every workload is done, and tell what they counted.

use crate::calendar::NEVER;
use crate::drive::{Driver, Kind, Next, Post, speaks};
use crate::guest::{Guest, Setup};
use crate::task::{Bulk, Card, Datagrams, Lines, Task, Told, Work};
use crate::{Error, Kernels, Options, Outcome, machines};
use base::event::Category;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use host::{ADDRESSES, AnyEnd, Door, Host, Party, Remote, Said};
use lab::capture::doors::{Capture, Spot};
use lab::measure;
use lab::once::finished;
use netns::facts::FlowFacts;
use netns::proc;
use path::{ElementId, Network, Signal};
use scenario::Model;
use scenario::build::{Ends, World, build, sink, workload};
use scenario::model::{App, Flow, Ip, Linux, Protocol};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use transport::app::datagrams::{Hearing, Speaking};
use transport::app::tell::Pace;
use transport::tcp::Role;

/// What is still on its way when all workloads are done may take so long.
const DRAIN: Span = Span::from_secs(3600);
/// After the limit a guest has so long to tell what it has counted.
const GRACE: Span = Span::from_secs(2);
/// As much memory as lets the kernel choose its default buffers.
const MEMORY_MIB: u32 = 512;
/// What every guest is set to before the scenario's own settings, as in real time.
const ALWAYS: &[(&str, &str)] = &[("net.ipv4.tcp_no_metrics_save", "1")];

/// Plays repetition `repetition` of a model in virtual time, with real kernels where it asks for them. `stop`, once
/// set, ends it early.
///
/// # Errors
/// [`Error::Asked`] if the model asks for what cannot be; else what a kernel or the system did.
pub fn once(
    model: &Model,
    repetition: u64,
    kernels: &Kernels,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Outcome, Error> {
    let seed = Seed { seed: model.run.seed, repetition };
    let tracer =
        if options.trace { Tracer::of(&[Category::Path, Category::Transport]) } else { Tracer::off() };
    let mut world = build(model, seed, tracer);
    let remotes = remotes(model, &mut world, seed);
    let wired: Vec<ElementId> = wired(model, &world).collect();
    if options.capture {
        wired.iter().for_each(|&id| keep_packets(&mut world.network, id));
    }
    world.network.start(None);
    let limit = Time::ZERO + model.run.limit;
    let mut posts = Vec::new();
    let mut owners = Vec::new();
    let start = |name: &str, linux: &Linux, task: &Task, largest: u32, door: ElementId, kind: Kind| {
        let setup = Setup {
            kernel: kernels.find(linux.kernel.as_deref())?,
            init: kernels.init.clone(),
            chance: Some(kernels.chance.clone()),
            place: kernels.place.clone(),
            files: task.files(),
            seed: seed.stream(name, "kernel").bits(),
            memory_mib: MEMORY_MIB,
            modem: linux.modem,
            largest,
            patience: kernels.patience,
            name: name.to_owned(),
        };
        Ok::<Post, Error>(Post { guest: Guest::start(&setup)?, door, kind, remote: None })
    };
    for (i, (flow, ends)) in model.flows.iter().zip(&world.flows).enumerate() {
        for (side, door) in [ends.from, ends.to].into_iter().enumerate() {
            let Some(linux) = flow.transport.kernels()[side] else { continue };
            check(flow, linux, side)?;
            let name = name_of(&world, door);
            let largest = flow.transport.kernels().into_iter().flatten().map(|linux| linux.mtu).max();
            let task = task(flow, linux, *ends, limit, options, side == 0);
            let mut post = start(&name, linux, &task, largest.unwrap_or(linux.mtu), door, Kind::Flow)?;
            post.remote = remotes[i][side];
            posts.push(post);
            owners.push((i, side));
        }
    }
    for (&node, &door) in model.stations.iter().zip(&world.stations) {
        let linux = &model.nodes[node].linux;
        let task = machines::task(model, node, seed, limit, kernels, &world.network)?;
        let largest = model.stations.iter().map(|&node| model.nodes[node].linux.mtu).max();
        let largest = largest.unwrap_or(linux.mtu);
        posts.push(start(&model.nodes[node].name, linux, &task, largest, door, Kind::Machine)?);
        machines::introduce(model, &mut world.network, door);
    }
    let capture = options.capture.then(|| {
        let spot = |name: String, element: ElementId| Spot { name, element, framing: None };
        let kernels = posts.iter().map(|post| spot(post.guest.name().to_owned(), post.door));
        let models = wired.iter().map(|&id| spot(name_of(&world, id), id));
        Capture::new(kernels.chain(models).collect())
    });
    let network = std::mem::replace(&mut world.network, Network::new(0, Tracer::off()));
    let mut driver = Driver { network, posts, wired, capture };
    driver.boot()?;
    let mut waiting: Vec<Ends> = hosts(model, &world, &remotes);
    let datagrams = |flow: &Flow| flow.transport.linux().is_some_and(|l| l.protocol.payload().is_some());
    let flying = (0..model.flows.len()).filter(|&i| datagrams(&model.flows[i]));
    let flying: Vec<(usize, Ends)> = flying.map(|i| (2 * i, world.flows[i])).collect();
    let (mut hushed, mut ending) = (flying.is_empty(), false);
    let done = |post: &Post| post.guest.said().done;
    driver.run(limit + GRACE, |network, posts| {
        while waiting.last().is_some_and(|ends| finished(network, ends)) {
            waiting.pop();
        }
        if waiting.is_empty() && !hushed {
            hushed = true;
            return Next::Hush;
        }
        // What was said last is sent by then.
        let silent =
            |post: &Post| !speaks(network, post) || post.guest.next_departure() == NEVER && done(post);
        let over = waiting.is_empty() && posts.iter().all(silent) && landed(network, &flying);
        let waited = over || network.now() >= limit;
        if waited && posts.iter().all(done) || stop.load(Ordering::Relaxed) {
            return Next::Stop;
        }
        let idle = |post: &Post| done(post) || post.remote.is_some() || post.guest.said().idle;
        if waited && !ending && posts.iter().all(idle) {
            ending = true;
            return Next::End;
        }
        Next::GoOn
    })?;
    let Driver { network, mut posts, capture, .. } = driver;
    world.network = network;
    let mut complete = waiting.is_empty();
    let mut facts: Vec<Option<FlowFacts>> = vec![None; model.flows.len()];
    let machines = posts.split_off(owners.len());
    for (post, (owner, side)) in posts.iter().zip(owners) {
        let flow = &model.flows[owner];
        let told = told(post)?;
        let endless = flow.app.bulk().is_some_and(|(bytes, _)| bytes.is_none());
        if post.remote.is_none() {
            complete &= told.finished.is_some() || (endless && side == 1);
        }
        note(facts[owner].get_or_insert_default(), post, side, &told)?;
        let remote = post.remote.and_then(|remote| world.network.element::<Remote>(remote));
        let said = post.remote.and_then(|said| world.network.element::<Said>(said));
        let told = match (remote, said) {
            (Some(remote), _) => host::Told {
                finished: remote.workload().finished(),
                received: remote.received(),
                connections: remote.connections() as u64,
                seen: remote.workload().seen().clone(),
            },
            (_, Some(said)) => host::Told {
                finished: said.finished(),
                received: if side == 1 { said.seen().bytes } else { 0 },
                connections: 0,
                seen: said.seen().clone(),
            },
            (None, None) => host::Told {
                finished: told.finished,
                received: told.bytes,
                connections: 1,
                ..host::Told::default()
            },
        };
        let now = world.network.now();
        world.network.enter(now, post.door, |door: &mut Door, _| door.tell(told));
    }
    let told = machines.iter().map(|post| Ok((post, told(post)?))).collect::<Result<Vec<_>, Error>>()?;
    complete &= told.iter().all(|(_, told)| told.finished.is_some());
    let commands = machines::commands(model, &told)?;
    drop(machines);
    drop(posts);
    for &id in &world.backgrounds {
        world.network.signal(world.network.now(), id, Signal::Close);
    }
    if complete {
        let end = world.network.now() + DRAIN;
        world.network.run_until(end);
    }
    let flows = measure::flows(model, &world, repetition, limit);
    let populations = lab::system::populations(model, &world, &flows, limit);
    Ok(Outcome { ran: lab::once::Outcome { flows, populations, world, complete }, facts, commands, capture })
}

/// What real time can do and this cannot.
fn check(flow: &Flow, linux: &Linux, side: usize) -> Result<(), Error> {
    let refused = |what: String, mend: &str| Err(Error::Asked { what, mend: mend.to_owned() });
    if side == 1 && flow.reads.is_some() && linux.protocol != Protocol::Tcp {
        let what = format!("flow `{}` reads at a pace of its own, and not from a socket of TCP", flow.name);
        return refused(
            what,
            "of SCTP and Multipath TCP whatever comes is read at once; leave `read-rate` and `read-pause` out, or `protocol`",
        );
    }
    Ok(())
}

fn task(flow: &Flow, linux: &Linux, ends: Ends, limit: Time, options: &Options, sends: bool) -> Task {
    let (bytes, lasts) = flow.app.bulk().unwrap_or_default();
    let (here, there) = (usize::from(!sends), usize::from(sends));
    let [four, six] = ADDRESSES.map(|ends| ends[here]);
    let peer = ADDRESSES[usize::from(linux.ip == Ip::V6)][there];
    let (cc, protocol) = (linux.cc.clone(), linux.protocol);
    let work = match flow.app {
        App::Bulk { .. } => {
            let slowly = !sends && flow.reads.is_some();
            let (start, look) = (ends.start, options.look);
            Work::Bulk(Bulk { sends, peer, protocol, cc, start, bytes, look, slowly })
        }
        _ if protocol.payload().is_some() => Work::Datagrams(Datagrams { sends, peer }),
        App::Ask(_) | App::Tell(_) => Work::Lines(Lines { opens: sends, peer, protocol, cc }),
    };
    let address = if let IpAddr::V4(four) = four { four } else { Ipv4Addr::UNSPECIFIED };
    let six = if let (IpAddr::V6(six), Ip::V6) = (six, linux.ip) { Some(six) } else { None };
    Task {
        card: Card { address, width: 30, six, mtu: linux.mtu },
        sysctl: settings(linux).collect(),
        until: lasts.map_or(limit, |lasts| limit.min(ends.start + lasts)),
        work,
    }
}

/// What a guest is set to.
pub(crate) fn settings(linux: &Linux) -> impl Iterator<Item = (String, String)> {
    let always = ALWAYS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    always.chain(linux.sysctl.iter().cloned())
}

/// Puts the workloads of each flow beside the network whose connections are a kernel's, in the order of the model, the
/// opening end first: none for bulk data, which the kernel's own side carries by itself, unless it is read at a pace of its
/// own; and none at a model's end.
fn remotes(model: &Model, world: &mut World, seed: Seed) -> Vec<[Option<ElementId>; 2]> {
    let mut all = Vec::with_capacity(model.flows.len());
    for (i, flow) in model.flows.iter().enumerate() {
        let (start, letters) = (world.flows[i].start, world.letters[i].clone());
        let mut remote = |role: Role| {
            let (side, end) = if role == Role::Active { (0, flow.from) } else { (1, flow.to) };
            let linux = flow.transport.kernels()[side]?;
            let name = format!("{}@{}.app", flow.name, model.nodes[end].name);
            let id = match (linux.protocol.payload(), &flow.app) {
                (Some(payload), App::Tell(plan)) => {
                    let letters = letters.clone();
                    world.network.add(match role {
                        Role::Active => {
                            let pace = Pace::new(plan, &flow.name, seed);
                            Said::speaking(Speaking::new(payload, start, pace, letters))
                        }
                        Role::Passive => Said::hearing(Hearing::new(letters, plan.useful)),
                    })
                }
                _ if role == Role::Passive && flow.reads.is_some() => {
                    world.network.add(Remote::reading(start, sink(flow)))
                }
                _ => world.network.add(Remote::new(role, start, workload(flow, role, &letters, seed)?)),
            };
            world.names.push(name);
            Some(id)
        };
        let to = remote(Role::Passive);
        let from = remote(Role::Active);
        all.push([from, to]);
    }
    all
}

/// The ends of workloads that run in the network: those of models, and those over a kernel's connections.
fn hosts(model: &Model, world: &World, remotes: &[[Option<ElementId>; 2]]) -> Vec<Ends> {
    let flows = model.flows.iter().zip(&world.flows).zip(remotes);
    // Of bulk data without end, or for some time, the kernel that writes knows when it is over.
    let waited = |flow: &Flow| flow.app.bulk().is_none_or(|all| matches!(all, (Some(_), None)));
    let runs = |flow: &Flow, remotes: &[Option<ElementId>; 2]| {
        flow.transport.kernels().contains(&None) || (remotes.iter().any(Option::is_some) && waited(flow))
    };
    flows
        .filter(|((flow, _), remotes)| runs(flow, remotes))
        .map(|((_, ends), [from, to])| Ends {
            from: from.unwrap_or(ends.from),
            to: to.unwrap_or(ends.to),
            start: ends.start,
        })
        .collect()
}

/// Whether everything that was sent on these flows has come or was lost: nobody acknowledges datagrams, so nobody else
/// waits for the last of them.
fn landed(network: &Network, flows: &[(usize, Ends)]) -> bool {
    let counters = |id| network.element::<Door>(id).map(Door::counters).unwrap_or_default();
    flows.iter().all(|(ledger, ends)| {
        let lost = network.ledgers().get(*ledger).map_or(0, |l| l.queue_drops + l.other_drops);
        counters(ends.from).data_sent <= counters(ends.to).data_received + lost
    })
}

/// The models that have a kernel at the other end of their flow.
fn wired(model: &Model, world: &World) -> impl Iterator<Item = ElementId> {
    let flows = model.flows.iter().zip(&world.flows);
    flows
        .flat_map(|(flow, ends)| {
            let kernels = flow.transport.kernels();
            let mixed = kernels.iter().any(Option::is_some);
            [ends.from, ends.to].into_iter().zip(kernels).filter(move |(_, kernel)| mixed && kernel.is_none())
        })
        .map(|(id, _)| id)
}

fn keep_packets(network: &mut Network, id: ElementId) {
    let now = network.now();
    network.enter(now, id, |host: &mut Host, _| host.keep_packets());
    network.enter(now, id, |party: &mut Party, _| party.keep_packets());
    network.enter(now, id, |end: &mut AnyEnd, _| end.keep_packets());
}

fn name_of(world: &World, id: ElementId) -> String {
    world.names.get(id.0 as usize).cloned().unwrap_or_default()
}

/// What a guest has written down; nothing, if the run ended before it did.
fn text(post: &Post, name: &str) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(&file(post, name)?).into_owned())
}

/// The same, whatever it is.
pub(crate) fn file(post: &Post, name: &str) -> Result<Vec<u8>, Error> {
    if !post.guest.said().done {
        return Ok(Vec::new());
    }
    let path = post.guest.folder().join(name);
    std::fs::read(&path).map_err(Error::of(format!("{}: reading what it told", post.guest.name())))
}

fn told(post: &Post) -> Result<Told, Error> {
    Ok(Told::read(&text(post, "told")?))
}

/// Notes what one end of a flow tells; the sender's kernel is the one that is looked at.
fn note(facts: &mut FlowFacts, post: &Post, side: usize, told: &Told) -> Result<(), Error> {
    let mut counters = proc::counters(&text(post, "netstat")?);
    counters.extend(proc::counters(&text(post, "snmp")?));
    counters.extend(proc::counters_6(&text(post, "snmp6")?));
    let end = ["from", "to"][side];
    facts.faults.extend(told.fault.as_ref().map(|fault| format!("{end}: {fault}")));
    if side == 1 {
        facts.to = counters;
        return Ok(());
    }
    facts.from = counters;
    facts.history = told.history.clone();
    facts.info = facts.history.last().map(|(_, info)| *info).unwrap_or_default();
    // The last look is the end's, whether something had changed or not.
    if let [.., (_, before), _] = &facts.history[..]
        && before.window() == facts.info.window()
    {
        facts.history.pop();
    }
    Ok(())
}
