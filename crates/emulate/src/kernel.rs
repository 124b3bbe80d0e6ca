//! What are the ends of a flow whose transport is the kernel's? Two namespaces with a device each, a socket in
//! each, and a thread at each that carries the workload.

use crate::bulk::{self, Job};
use crate::clock::Clock;
use crate::device::Device;
use crate::driver::{Gateway, Kind};
use crate::facts::{FlowFacts, TcpInfo};
use crate::ordered::Ordered;
use crate::player::{self, End, Times};
use crate::space::Space;
use crate::watch::Watch;
use crate::{Error, messages, sys};
use base::Time;
use base::rng::Seed;
use host::Told;
use scenario::build::{Ends, workload};
use scenario::model::{App, Flow, Ip, Linux};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::AtomicBool;
use std::thread::{Scope, ScopedJoinHandle};
use transport::app::datagrams::{Hearing, Speaking};
use transport::app::lines::{Letters, Workload};
use transport::app::tell::Pace;
use transport::tcp::Role;

/// A flow whose ends are kernels.
pub(crate) struct Real {
    /// Its index in the model.
    pub(crate) flow: usize,
    pub(crate) ends: Ends,
    job: Job,
    cc: Option<String>,
    /// Where the end that waits is reached.
    to: SocketAddr,
    /// Its networks; none where another host has an end.
    spaces: [Option<Space>; 2],
    carries: Carries,
}

/// What its ends do.
enum Carries {
    /// One writes, the other reads; as far as they are here.
    Bulk { listener: Option<TcpListener>, stream: Option<TcpStream> },
    /// Both write and read, on any number of connections.
    Lines { listener: TcpListener, from: Box<dyn Workload>, to: Box<dyn Workload> },
    /// One speaks, the other hears.
    Datagrams { sockets: [UdpSocket; 2], speaking: Box<Speaking>, hearing: Box<Hearing> },
}

/// What an end had to tell.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) told: Told,
    watch: Watch,
    /// The last word on each connection.
    lasts: Vec<TcpInfo>,
    written: u64,
    fault: Option<String>,
    /// Kept open until the network stands still: a reset must not overtake an acknowledgement.
    _stream: Option<TcpStream>,
}

impl From<bulk::Told> for Report {
    fn from(told: bulk::Told) -> Report {
        let bulk::Told { finished, bytes, watch, fault, stream } = told;
        let told = Told { finished, received: bytes, connections: 1, ..Told::default() };
        let lasts = vec![watch.info];
        Report { told, watch, lasts, written: 0, fault, _stream: stream }
    }
}

impl From<player::Told> for Report {
    fn from(told: player::Told) -> Report {
        let player::Told { finished, read, written, lines, watch, lasts, seen, fault } = told;
        let told = Told { finished, received: read, connections: lines, seen };
        Report { told, watch, lasts, written, fault, _stream: None }
    }
}

/// The two threads of a flow: who opens, who waits; as far as they are here.
pub(crate) type Workers<'scope> = [Option<ScopedJoinHandle<'scope, Report>>; 2];

/// The address of the end that writes, or of the one that reads: from the range for tests of networks (RFC 2544), or a
/// private prefix (RFC 4193) that machines do not have. Namespaces do not see each other, so all flows may have the same.
pub(crate) fn address(writes: bool, ip: Ip) -> IpAddr {
    let last = if writes { 1 } else { 2 };
    match ip {
        Ip::V4 => Ipv4Addr::new(198, 18, 0, last).into(),
        Ip::V6 => Ipv6Addr::new(0xfd77, 0x696c, 0x6c69, 0xffff, 0, 0, 0, last.into()).into(),
    }
}

/// A namespace for an end of such a flow.
pub(crate) fn space(ip: Ip) -> Result<Space, Error> {
    match ip {
        Ip::V4 => Space::new(),
        Ip::V6 => Space::six(),
    }
}

/// What every namespace is set to before the scenario's own settings: what one run leaves behind shall be
/// nothing to the next.
const ALWAYS: &[(&str, &str)] = &[("net.ipv4.tcp_no_metrics_save", "1")];

impl Real {
    /// Sets up both ends, or the ways to them.
    pub(crate) fn new(
        (index, flow): (usize, &Flow),
        linux: &Linux,
        ends: Ends,
        (seed, limit): (Seed, Time),
        ordered: &mut Ordered<'_>,
        gateways: &mut Vec<Gateway>,
    ) -> Result<Real, Error> {
        let mut end = |writes, door| {
            let (space, device) = match ordered.end((index, writes)) {
                Some(device) => (None, device),
                None => here(linux, writes).map(|(space, device)| (Some(space), device))?,
            };
            gateways.push(Gateway { door, device, kind: Kind::Flow });
            Ok::<_, Error>(space)
        };
        let spaces = [end(true, ends.from)?, end(false, ends.to)?];
        let (bytes, lasts) = flow.app.bulk().unwrap_or_default();
        let job = Job { start: ends.start, limit, bytes, lasts, reads: flow.reads.map(Into::into) };
        let carries = Carries::new(flow, linux, job, seed, &spaces)?;
        let to = SocketAddr::new(address(false, linux.ip), bulk::PORT);
        Ok(Real { flow: index, ends, job, cc: linux.cc.clone(), to, spaces, carries })
    }

    /// Starts the threads that are here; each calls `done` once.
    pub(crate) fn start<'scope, 'env>(
        &'env mut self,
        scope: &'scope Scope<'scope, 'env>,
        (clock, realtime): (Clock, bool),
        over: &'env AtomicBool,
        done: &'env (impl Fn() + Sync),
    ) -> Workers<'scope> {
        let Real { job, spaces: [near, _], carries, cc, to: peer, .. } = self;
        let (job, peer) = (*job, *peer);
        let times = Times { clock, start: job.start, limit: job.limit, over, realtime };
        match carries {
            Carries::Bulk { listener, stream } => {
                let to = listener.as_ref().map(|listener| {
                    scope.spawn(move || bulk::receive(listener, job, clock, over, done).into())
                });
                let from = stream.as_ref().map(|stream| {
                    scope.spawn(move || {
                        let told = bulk::send(stream, peer.ip(), job, clock, over);
                        done();
                        told.into()
                    })
                });
                [from, to]
            }
            Carries::Lines { listener, from, to } => {
                let to = scope.spawn(move || {
                    times.settle_in(false);
                    player::play(End::Waits(listener), &mut **to, times, done).into()
                });
                let from = scope.spawn(move || {
                    if let Some(Err(error)) = near.as_ref().map(Space::enter) {
                        done();
                        return Report { fault: Some(error.to_string()), ..Report::default() };
                    }
                    // Not every congestion control may be asked for without rights, and sockets are made as they are needed.
                    times.settle_in(cc.is_some());
                    let end = End::Opens { to: peer, cc: cc.as_deref() };
                    player::play(end, &mut **from, times, done).into()
                });
                [Some(from), Some(to)]
            }
            Carries::Datagrams { sockets: [speaks, hears], speaking, hearing } => {
                let to = scope.spawn(move || {
                    times.settle_in(false);
                    messages::hear(hears, hearing, times, done).into()
                });
                let from = scope.spawn(move || {
                    times.settle_in(false);
                    messages::speak(speaks, peer, speaking, times, done).into()
                });
                [Some(from), Some(to)]
            }
        }
    }

    /// Whether what is on its way when both ends are done matters: nobody waits for the last datagrams.
    pub(crate) fn trails(&self) -> bool {
        matches!(self.carries, Carries::Datagrams { .. })
    }

    /// Whether its workload was done.
    pub(crate) fn complete(&self, [from, to]: &[Report; 2]) -> bool {
        let timed = self.job.lasts.is_some() && matches!(self.carries, Carries::Bulk { .. });
        from.told.finished.is_some() && (to.told.finished.is_some() || timed)
    }

    /// Packets that its devices threw away.
    pub(crate) fn overrun(&self) -> Result<u64, Error> {
        self.spaces.iter().flatten().map(Space::overrun).sum()
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
        let counters = |space: &Option<Space>, writes| match space {
            Some(space) => space.counters(),
            None => Ok(ordered.counters((self.flow, writes))),
        };
        let mut facts = FlowFacts {
            info: watch.info,
            // Where the kernel never said anything, there was none.
            connections: lasts.iter().filter(|info| info.state != 0).copied().collect(),
            history: watch.history.clone(),
            from: counters(&self.spaces[0], true)?,
            to: counters(&self.spaces[1], false)?,
            faults,
        };
        if facts.info.state == 0 && to.told.received == 0 && !self.trails() {
            facts.faults.push("the connection was never established".into());
        }
        Ok(facts)
    }
}

/// Makes an end at this host, and its device.
fn here(linux: &Linux, writes: bool) -> Result<(Space, Device), Error> {
    let space = space(linux.ip)?;
    for (name, value) in ALWAYS {
        space.set(name, value)?;
    }
    for (name, value) in &linux.sysctl {
        space.set(name, value)?;
    }
    let device = space.device(address(writes, linux.ip), linux.mtu)?;
    Ok((space, device))
}

impl Carries {
    fn new(
        flow: &Flow,
        linux: &Linux,
        job: Job,
        seed: Seed,
        spaces: &[Option<Space>; 2],
    ) -> Result<Carries, Error> {
        let [Some(here), Some(there)] = spaces else { return Carries::elsewhere(flow, linux, spaces) };
        let letters = Letters::default();
        if let (Some(payload), App::Tell(plan)) = (linux.protocol.payload(), &flow.app) {
            let socket = |space: &Space, port: u16| {
                space.inside(|| {
                    let open = || {
                        let socket = UdpSocket::bind((bulk::any(linux.ip), port))?;
                        socket.set_nonblocking(port != 0)?;
                        Ok(socket)
                    };
                    open().map_err(Error::of("making a socket for datagrams"))
                })
            };
            let pace = Pace::new(plan, &flow.name, seed);
            return Ok(Carries::Datagrams {
                sockets: [socket(here, 0)?, socket(there, bulk::PORT)?],
                speaking: Box::new(Speaking::new(payload, job.start, pace, letters.clone())),
                hearing: Box::new(Hearing::new(letters, plan.useful)),
            });
        }
        let listener = bulk::listen(there, linux.ip)?;
        let side = |role| workload(flow, role, &letters, seed);
        let (Some(from), Some(to)) = (side(Role::Active), side(Role::Passive)) else {
            let stream = bulk::socket(here, linux.cc.as_deref(), linux.ip)?;
            return Ok(Carries::Bulk { stream: Some(stream), listener: Some(listener) });
        };
        if let Some(cc) = &linux.cc {
            // What is accepted has it too; that there is such a one is known before anything starts.
            let named = || sys::congestion_control(listener.as_raw_fd(), cc);
            named().map_err(Error::of(format!("making a socket with congestion control `{cc}`")))?;
        }
        Ok(Carries::Lines { listener, from, to })
    }

    /// With an end at another host, which carries bulk data and nothing else.
    fn elsewhere(flow: &Flow, linux: &Linux, [here, there]: &[Option<Space>; 2]) -> Result<Carries, Error> {
        if flow.app.bulk().is_none() {
            return Err(Error::Refused {
                what: format!(
                    "having an end of `{}` at another host, which carries bulk data only",
                    flow.name
                ),
                source: std::io::ErrorKind::Unsupported.into(),
            });
        }
        let stream =
            here.as_ref().map(|space| bulk::socket(space, linux.cc.as_deref(), linux.ip)).transpose()?;
        let listener = there.as_ref().map(|space| bulk::listen(space, linux.ip)).transpose()?;
        Ok(Carries::Bulk { listener, stream })
    }
}
