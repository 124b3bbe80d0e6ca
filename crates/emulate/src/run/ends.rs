//! Real flow ends: a network namespace with a device for each kernel or program.
//!
//! A thread at each plays its part, as far as it is at this host. A model may stand at the other end, in the network.

use crate::driver::{Gateway, Kind};
use crate::remote::session::Ordered;
use crate::sockets::bulk::PORT;
use crate::sockets::endpoint::{self, Part, Report};
use crate::sockets::multi::Times;
use crate::sockets::program::{self, Program};
use crate::sockets::spec::EndWork;
use crate::sockets::spec::Setting;
use crate::{Error, Surroundings};
use base::Time;
use base::rng::Seed;
use host::ADDRESSES;
use netns::clock::Clock;
use netns::device::Device;
use netns::facts::FlowFacts;
use netns::namespace::Namespace;
use scenario::Model;
use scenario::build::Ends;
use scenario::model::{App, Flow, Ip, Linux};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::thread::{Scope, ScopedJoinHandle};
use transport::app::lines::Letters;
use transport::app::notes;
use transport::app::tell::Pace;
use transport::tcp::Role;

/// Who is an end of a flow.
enum Player {
    /// Sockets and a thread of the laboratory, in a network namespace.
    Sockets(Namespace, Part),
    /// A program in such a namespace.
    Program(Box<Program>),
    /// Another host.
    Away,
    /// A model in the network.
    Model,
}

/// A flow with a kernel, or a program, at one of its ends at least.
pub(crate) struct Real {
    /// Its index in the model.
    pub(crate) flow: usize,
    pub(crate) ends: Ends,
    limit: Time,
    /// Who opens and who waits.
    players: [Player; 2],
    plan: Flow,
    seed: Seed,
    /// Most bytes of a message in a datagram, if it has them.
    payload: Option<u32>,
}

/// The threads of a flow: who opens, who waits; as far as they are here.
pub(crate) type Workers<'scope> = [Option<ScopedJoinHandle<'scope, Report>>; 2];

/// What every namespace is set to before the scenario's own settings: what one run leaves behind shall be
/// nothing to the next.
const ALWAYS: &[(&str, &str)] = &[("net.ipv4.tcp_no_metrics_save", "1")];

/// What both ends of a flow need of the run.
pub(crate) struct Site<'a> {
    pub(crate) model: &'a Model,
    pub(crate) around: &'a Surroundings,
    pub(crate) seed: Seed,
    pub(crate) limit: Time,
}

/// What is made before the sockets: a place for an end, if it is here.
enum Place {
    Space(Namespace),
    Away,
    Model,
}

impl Real {
    /// Sets up both ends, or the ways to them; none if no kernel takes part.
    pub(crate) fn new(
        index: usize,
        ends: Ends,
        site: &Site<'_>,
        ordered: &mut Ordered<'_>,
        gateways: &mut Vec<Gateway>,
    ) -> Result<Option<Real>, Error> {
        let flow = &site.model.flows[index];
        let kernels = flow.transport.kernels();
        let Some(any) = flow.transport.linux() else { return Ok(None) };
        let mixed = kernels.contains(&None);
        let mut place = |role: Role, door| {
            let opens = role == Role::Active;
            let Some(linux) = kernels[usize::from(!opens)] else { return Ok(Place::Model) };
            let (place, device) = match ordered.end((index, opens)) {
                Some(device) => (Place::Away, device),
                None => here(linux, address(opens, linux.ip, mixed))
                    .map(|(space, device)| (Place::Space(space), device))?,
            };
            gateways.push(Gateway { door, device, kind: Kind::Flow });
            Ok::<_, Error>(place)
        };
        let places = [place(Role::Active, ends.from)?, place(Role::Passive, ends.to)?];
        let letters = Letters::default();
        let shared = places.iter().all(|place| !matches!(place, Place::Away)).then_some(&letters);
        let player = |place: Place, role| {
            let opens = role == Role::Active;
            let (space, linux) = match (place, kernels[usize::from(!opens)]) {
                (Place::Space(space), Some(linux)) => (space, linux),
                (Place::Away, _) => return Ok(Player::Away),
                _ => return Ok(Player::Model),
            };
            if linux.program.is_some() {
                let node = if opens { flow.from } else { flow.to };
                let at = program::At {
                    node: &site.model.nodes[node].name,
                    addresses: [opens, !opens].map(|opens| address(opens, linux.ip, mixed)),
                    port: PORT,
                    start: opens.then_some(ends.start),
                };
                let program = Program::new(space, (flow, linux), &at, site.around)?;
                return Ok(Player::Program(Box::new(program)));
            }
            let work = EndWork::of(flow, linux, site.seed);
            let to = SocketAddr::new(address(false, linux.ip, mixed), PORT);
            let at = (&space, &Setting::from(linux), linux.ip);
            let part = Part::new((&work, opens), at, (ends.start, site.limit), (to, shared))?;
            Ok::<_, Error>(Player::Sockets(space, part))
        };
        let [from, to] = places;
        // Who waits is there first.
        let to = player(to, Role::Passive)?;
        let players = [player(from, Role::Active)?, to];
        let (plan, payload) = (flow.clone(), any.protocol.payload());
        let (limit, seed) = (site.limit, site.seed);
        Ok(Some(Real { flow: index, ends, limit, players, plan, seed, payload }))
    }

    /// Starts the programs that wait for the other end.
    pub(crate) fn serve(&mut self, given_up: impl Fn() -> bool + Copy) -> Result<(), Error> {
        for player in &mut self.players {
            if let Player::Program(program) = player {
                program.serve(given_up)?;
            }
        }
        Ok(())
    }

    /// How many of its ends say when they are done: not models, which are looked at, nor programs.
    pub(crate) fn awaited(&self) -> usize {
        let awaited = |player: &&Player| matches!(player, Player::Sockets(..) | Player::Away);
        self.players.iter().filter(awaited).count()
    }

    /// Starts the threads that are here; each end that is awaited calls `done` once.
    pub(crate) fn start<'scope, 'env>(
        &'env mut self,
        scope: &'scope Scope<'scope, 'env>,
        (clock, realtime): (Clock, bool),
        over: &'env AtomicBool,
        done: &'env (impl Fn() + Sync),
    ) -> Workers<'scope> {
        let times = Times { clock, start: self.ends.start, limit: self.limit, over, realtime };
        self.players.each_mut().map(|player| match player {
            Player::Sockets(space, part) => Some(scope.spawn(move || part.run(space, times, done))),
            Player::Program(program) => Some(scope.spawn(move || program.run(clock, over))),
            Player::Away | Player::Model => None,
        })
    }

    /// Whether what is on its way when both ends are done matters: nobody waits for the last datagrams.
    pub(crate) fn trails(&self) -> bool {
        self.payload.is_some()
    }

    /// Whether its ends are at two hosts, or another one.
    fn is_apart(&self) -> bool {
        self.players.iter().any(|player| matches!(player, Player::Away))
    }

    /// Completes what two ends told of which neither knew what the other did: when who waits was done, and what a listener
    /// heard.
    pub(crate) fn settle(&self, [from, to]: &mut [Report; 2]) {
        if !self.is_apart() || self.plan.app.bulk().is_some() {
            return;
        }
        to.told.finished = from.told.finished;
        let App::Tell(plan) = &self.plan.app else { return };
        let pace = Pace::new(plan, &self.plan.name, self.seed);
        let (said, came) = (notes::said(pace, self.payload, &from.said), std::mem::take(&mut to.came));
        if self.trails() {
            let (seen, last) = notes::heard(&said, &came, plan.useful);
            to.told.finished = to.told.finished.map(|at| at.max(last));
            (to.told.received, to.told.seen) = (seen.bytes, seen);
        } else {
            to.told.seen = notes::listened(&said, &came, plan.useful);
        }
    }

    /// Whether its workload was done.
    pub(crate) fn complete(&self, [from, to]: &[Report; 2]) -> bool {
        let timed = matches!(self.plan.app, App::Bulk { lasts: Some(_), .. });
        // A model's workload is looked at in the network; it is the one that knows when a program is done.
        let [writes, reads] =
            self.players.each_ref().map(|player| matches!(player, Player::Sockets(..) | Player::Away));
        (!writes || from.told.finished.is_some()) && (!reads || timed || to.told.finished.is_some())
    }

    /// Packets that its devices threw away.
    pub(crate) fn overrun(&self) -> Result<u64, Error> {
        self.players.iter().filter_map(Player::space).map(|space| Ok(space.overrun()?)).sum()
    }

    /// What its kernels say. `TCP_INFO` is that of the end that wrote more.
    pub(crate) fn facts(&self, reports: &[Report; 2], ordered: &Ordered<'_>) -> Result<FlowFacts, Error> {
        let [from, to] = reports;
        let faults = [("from", from), ("to", to)];
        let faults = faults
            .iter()
            .filter_map(|(end, told)| Some(format!("{end}: {}", told.fault.as_ref()?)))
            .collect();
        let Report { watch, lasts, .. } = if to.written > from.written { to } else { from };
        let counters = |player: &Player, opens| match player {
            Player::Sockets(space, _) => space.counters(),
            Player::Program(program) => program.space.counters(),
            Player::Away => Ok(ordered.counters((self.flow, opens))),
            Player::Model => Ok(BTreeMap::new()),
        };
        let mut facts = FlowFacts {
            info: watch.info,
            // Where the kernel never said anything, there was none.
            connections: lasts.iter().filter(|info| info.state != 0).copied().collect(),
            history: watch.history.clone(),
            from: counters(&self.players[0], true)?,
            to: counters(&self.players[1], false)?,
            faults,
        };
        if self.awaited() > 0 && facts.info.state == 0 && to.told.received == 0 && !self.trails() {
            facts.faults.push("the connection was never established".into());
        }
        Ok(facts)
    }
}

impl Player {
    /// Its namespace, if it has one here.
    fn space(&self) -> Option<&Namespace> {
        match self {
            Player::Sockets(space, _) => Some(space),
            Player::Program(program) => Some(&program.space),
            Player::Away | Player::Model => None,
        }
    }
}

/// The address of an end. Opposite a model it is the one that the model writes into its packets.
fn address(opens: bool, ip: Ip, mixed: bool) -> IpAddr {
    if !mixed {
        return endpoint::address(opens, ip);
    }
    ADDRESSES[usize::from(ip == Ip::V6)][usize::from(!opens)]
}

/// Makes an end at this host, and its device.
fn here(linux: &Linux, at: IpAddr) -> Result<(Namespace, Device), Error> {
    let space = endpoint::space(linux.ip)?;
    for (name, value) in ALWAYS {
        space.set(name, value)?;
    }
    for (name, value) in &linux.sysctl {
        space.set(name, value)?;
    }
    let device = space.device(at, linux.mtu)?;
    Ok((space, device))
}
