//! What are the ends of a flow whose transport is the kernel's? Two namespaces with a device each, a socket in
//! each, and a thread at each that carries the workload.

use crate::Error;
use crate::bulk::{self, Job};
use crate::clock::Clock;
use crate::driver::{Gateway, Kind};
use crate::facts::FlowFacts;
use crate::ordered::Ordered;
use crate::space::Space;
use path::ElementId;
use scenario::build::Ends;
use scenario::model::Linux;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread::{Scope, ScopedJoinHandle};

/// A flow whose ends are kernels.
pub(crate) struct Real {
    /// Its index in the model.
    pub(crate) flow: usize,
    pub(crate) ends: Ends,
    pub(crate) job: Job,
    from: End<TcpStream>,
    to: End<TcpListener>,
}

/// An end.
enum End<S> {
    /// Its network and its socket.
    Here(Space, S),
    /// Another host has it.
    Elsewhere,
}

impl<S> End<S> {
    fn space(&self) -> Option<&Space> {
        match self {
            End::Here(space, _) => Some(space),
            End::Elsewhere => None,
        }
    }
}

/// The two threads of a flow: who writes, who reads; as far as they are here.
pub(crate) type Workers<'scope> = [Option<ScopedJoinHandle<'scope, bulk::Told>>; 2];

/// Addresses of the range for tests of networks (RFC 2544): they exist nowhere else. Namespaces do not see each
/// other, so all flows may have the same two.
const FROM: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const TO: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// That of the end that writes, or of the one that reads.
pub(crate) fn address(writes: bool) -> Ipv4Addr {
    if writes { FROM } else { TO }
}

/// What every namespace is set to before the scenario's own settings: what one run leaves behind shall be
/// nothing to the next.
const ALWAYS: &[(&str, &str)] = &[("net.ipv4.tcp_no_metrics_save", "1")];

/// Makes an end at this host, or asks for the way to it.
fn end<S>(
    at: (usize, bool),
    door: ElementId,
    linux: &Linux,
    socket: impl FnOnce(&Space) -> Result<S, Error>,
    ordered: &mut Ordered<'_>,
    gateways: &mut Vec<Gateway>,
) -> Result<End<S>, Error> {
    let kind = Kind::Flow;
    if let Some(device) = ordered.end(at) {
        gateways.push(Gateway { door, device, kind });
        return Ok(End::Elsewhere);
    }
    let space = Space::new()?;
    for (name, value) in ALWAYS {
        space.set(name, value)?;
    }
    for (name, value) in &linux.sysctl {
        space.set(name, value)?;
    }
    gateways.push(Gateway { door, device: space.device(address(at.1), linux.mtu)?, kind });
    let socket = socket(&space)?;
    Ok(End::Here(space, socket))
}

impl Real {
    /// Sets up both ends.
    pub(crate) fn new(
        flow: usize,
        ends: Ends,
        linux: &Linux,
        job: Job,
        ordered: &mut Ordered<'_>,
        gateways: &mut Vec<Gateway>,
    ) -> Result<Real, Error> {
        let stream = |space: &Space| bulk::socket(space, linux.cc.as_deref());
        let from = end((flow, true), ends.from, linux, stream, ordered, gateways)?;
        let to = end((flow, false), ends.to, linux, bulk::listen, ordered, gateways)?;
        Ok(Real { flow, ends, job, from, to })
    }

    /// Starts the threads that are here; each calls `done` once.
    pub(crate) fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        clock: Clock,
        over: &'env AtomicBool,
        done: &'env (impl Fn() + Sync),
    ) -> Workers<'scope> {
        let job = self.job;
        let to = match &self.to {
            End::Elsewhere => None,
            End::Here(_, listener) => {
                Some(scope.spawn(move || bulk::receive(listener, job, clock, over, done)))
            }
        };
        let from = match &self.from {
            End::Elsewhere => None,
            End::Here(_, stream) => Some(scope.spawn(move || {
                let told = bulk::send(stream, TO, job, clock, over);
                done();
                told
            })),
        };
        [from, to]
    }

    /// Packets that its devices threw away.
    pub(crate) fn overrun(&self) -> Result<u64, Error> {
        [self.from.space(), self.to.space()].into_iter().flatten().map(Space::overrun).sum()
    }

    /// What its kernels say.
    pub(crate) fn facts(&self, told: &[bulk::Told; 2], ordered: &Ordered<'_>) -> Result<FlowFacts, Error> {
        let [from, to] = told;
        let faults = [("from", from), ("to", to)];
        let faults = faults
            .iter()
            .filter_map(|(end, told)| Some(format!("{end}: {}", told.fault.as_ref()?)))
            .collect();
        let counters = |space: Option<&Space>, writes| match space {
            Some(space) => space.counters(),
            None => Ok(ordered.counters((self.flow, writes))),
        };
        let mut facts = FlowFacts {
            info: from.info,
            history: from.history.clone(),
            from: counters(self.from.space(), true)?,
            to: counters(self.to.space(), false)?,
            faults,
        };
        if facts.info.state == 0 {
            facts.faults.push("the connection was never established".into());
        }
        Ok(facts)
    }
}
