//! What are the ends of a flow whose transport is the kernel's? Two namespaces with a device each, a socket in
//! each, and a thread at each that carries the workload.

use crate::Error;
use crate::bulk::{self, Job};
use crate::clock::Clock;
use crate::driver::{Gateway, Kind};
use crate::facts::FlowFacts;
use crate::space::Space;
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
    spaces: [Space; 2],
    listener: TcpListener,
    stream: TcpStream,
}

/// The two threads of a flow: who reads, who writes.
pub(crate) type Workers<'scope> = [ScopedJoinHandle<'scope, bulk::Told>; 2];

/// Addresses of the range for tests of networks (RFC 2544): they exist nowhere else. Namespaces do not see each
/// other, so all flows may have the same two.
const FROM: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const TO: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// What every namespace is set to before the scenario's own settings: what one run leaves behind shall be
/// nothing to the next.
const ALWAYS: &[(&str, &str)] = &[("net.ipv4.tcp_no_metrics_save", "1")];

impl Real {
    /// Sets up both ends.
    pub(crate) fn new(
        flow: usize,
        ends: Ends,
        linux: &Linux,
        job: Job,
        gateways: &mut Vec<Gateway>,
    ) -> Result<Real, Error> {
        let spaces = [Space::new()?, Space::new()?];
        for (space, (at, door)) in spaces.iter().zip([(FROM, ends.from), (TO, ends.to)]) {
            for (name, value) in ALWAYS {
                space.set(name, value)?;
            }
            for (name, value) in &linux.sysctl {
                space.set(name, value)?;
            }
            gateways.push(Gateway { door, device: space.device(at, linux.mtu)?, kind: Kind::Flow });
        }
        let listener = bulk::listen(&spaces[1])?;
        let stream = bulk::socket(&spaces[0], linux.cc.as_deref())?;
        Ok(Real { flow, ends, job, spaces, listener, stream })
    }

    /// Starts both threads; each calls `done` once.
    pub(crate) fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        clock: Clock,
        over: &'env AtomicBool,
        done: &'env (impl Fn() + Sync),
    ) -> Workers<'scope> {
        let (job, stream, listener) = (self.job, &self.stream, &self.listener);
        let to = scope.spawn(move || bulk::receive(listener, job, clock, over, done));
        let from = scope.spawn(move || {
            let told = bulk::send(stream, TO, job, clock, over);
            done();
            told
        });
        [from, to]
    }

    /// Packets that its devices threw away.
    pub(crate) fn overrun(&self) -> Result<u64, Error> {
        Ok(self.spaces[0].overrun()? + self.spaces[1].overrun()?)
    }

    /// What its kernels say.
    pub(crate) fn facts(&self, told: &[bulk::Told; 2]) -> Result<FlowFacts, Error> {
        let [from, to] = told;
        let faults = [("from", from), ("to", to)];
        let faults = faults
            .iter()
            .filter_map(|(end, told)| Some(format!("{end}: {}", told.fault.as_ref()?)))
            .collect();
        let mut facts = FlowFacts {
            info: from.info,
            history: from.history.clone(),
            from: self.spaces[0].counters()?,
            to: self.spaces[1].counters()?,
            faults,
        };
        if facts.info.state == 0 {
            facts.faults.push("the connection was never established".into());
        }
        Ok(facts)
    }
}
