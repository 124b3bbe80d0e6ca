//! Kernel flow ends: two namespaces with a device and a worker thread each.
//!
//! Two namespaces with a device each, and a thread at each that plays its part; as far as they are at this host.

use super::endpoint::{self, Part, Report};
use super::multi::Times;
use crate::Error;
use crate::driver::{Gateway, Kind};
use crate::remote::hosts::Setting;
use crate::remote::session::Ordered;
use crate::remote::spec::EndWork;
use base::Time;
use base::rng::Seed;
use netns::clock::Clock;
use netns::device::Device;
use netns::facts::FlowFacts;
use netns::namespace::Namespace;
use scenario::build::Ends;
use scenario::model::{App, Flow, Linux};
use std::sync::atomic::AtomicBool;
use std::thread::{Scope, ScopedJoinHandle};
use transport::app::lines::Letters;
use transport::app::notes;
use transport::app::tell::Pace;
use transport::tcp::Role;

/// A flow whose ends are kernels.
pub(crate) struct Real {
    /// Its index in the model.
    pub(crate) flow: usize,
    pub(crate) ends: Ends,
    limit: Time,
    /// Who opens and who waits; none where another host has the end.
    here: [Option<(Namespace, Part)>; 2],
    plan: Flow,
    seed: Seed,
    /// Most bytes of a message in a datagram, if it has them.
    payload: Option<u32>,
}

/// The two threads of a flow: who opens, who waits; as far as they are here.
pub(crate) type Workers<'scope> = [Option<ScopedJoinHandle<'scope, Report>>; 2];

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
        let mut space = |opens, door| {
            let (space, device) = match ordered.end((index, opens)) {
                Some(device) => (None, device),
                None => here(linux, opens).map(|(space, device)| (Some(space), device))?,
            };
            gateways.push(Gateway { door, device, kind: Kind::Flow });
            Ok::<_, Error>(space)
        };
        let spaces = [space(true, ends.from)?, space(false, ends.to)?];
        let (letters, work) = (Letters::default(), EndWork::of(flow, linux, seed));
        let shared = spaces.iter().all(Option::is_some).then_some(&letters);
        let part = |space: Option<Namespace>, role| {
            let Some(space) = space else { return Ok(None) };
            let at = (&space, &Setting::from(linux), linux.ip);
            let part = Part::new((&work, role == Role::Active), at, (ends.start, limit), shared)?;
            Ok::<_, Error>(Some((space, part)))
        };
        let [from, to] = spaces;
        // Who waits is there first.
        let to = part(to, Role::Passive)?;
        let here = [part(from, Role::Active)?, to];
        let (plan, payload) = (flow.clone(), linux.protocol.payload());
        Ok(Real { flow: index, ends, limit, here, plan, seed, payload })
    }

    /// Starts the threads that are here; each calls `done` once.
    pub(crate) fn start<'scope, 'env>(
        &'env mut self,
        scope: &'scope Scope<'scope, 'env>,
        (clock, realtime): (Clock, bool),
        over: &'env AtomicBool,
        done: &'env (impl Fn() + Sync),
    ) -> Workers<'scope> {
        let times = Times { clock, start: self.ends.start, limit: self.limit, over, realtime };
        let start =
            |(space, part): &'env mut (Namespace, Part)| scope.spawn(move || part.run(space, times, done));
        self.here.each_mut().map(|end| end.as_mut().map(start))
    }

    /// Whether what is on its way when both ends are done matters: nobody waits for the last datagrams.
    pub(crate) fn trails(&self) -> bool {
        self.payload.is_some()
    }

    /// Whether its ends are at two hosts, or another one.
    fn is_apart(&self) -> bool {
        self.here.iter().any(Option::is_none)
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
        from.told.finished.is_some() && (to.told.finished.is_some() || timed)
    }

    /// Packets that its devices threw away.
    pub(crate) fn overrun(&self) -> Result<u64, Error> {
        self.here.iter().flatten().map(|(space, _)| Ok(space.overrun()?)).sum()
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
        let counters = |end: &Option<(Namespace, Part)>, opens| match end {
            Some((space, _)) => space.counters(),
            None => Ok(ordered.counters((self.flow, opens))),
        };
        let mut facts = FlowFacts {
            info: watch.info,
            // Where the kernel never said anything, there was none.
            connections: lasts.iter().filter(|info| info.state != 0).copied().collect(),
            history: watch.history.clone(),
            from: counters(&self.here[0], true)?,
            to: counters(&self.here[1], false)?,
            faults,
        };
        if facts.info.state == 0 && to.told.received == 0 && !self.trails() {
            facts.faults.push("the connection was never established".into());
        }
        Ok(facts)
    }
}

/// Makes an end at this host, and its device.
fn here(linux: &Linux, opens: bool) -> Result<(Namespace, Device), Error> {
    let space = endpoint::space(linux.ip)?;
    for (name, value) in ALWAYS {
        space.set(name, value)?;
    }
    for (name, value) in &linux.sysctl {
        space.set(name, value)?;
    }
    let device = space.device(endpoint::address(opens, linux.ip), linux.mtu)?;
    Ok((space, device))
}
