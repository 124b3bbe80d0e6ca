//! Threads of a repetition in real time: driver, flow ends, commands, remote hosts, trigger socket; end of the run by
//! completion, limit or stop.

use super::commands::Commands;
use super::ends::RealFlow;
use crate::driver::Driver;
use crate::driver::trigger_socket::TriggerSocket;
use crate::remote::session::RemoteSession;
use crate::sockets::endpoint::Report;
use crate::{Error, Surroundings};
use base::{Span, Time};
use lab::run::Pending;
use netns::clock::Clock;
use scenario::Model;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Time after the limit at which the run ends even if workloads have not signalled completion.
const GRACE: Span = Span::from_secs(2);

/// State shared by all threads.
pub(super) struct Threads<'a> {
    pub(super) clock: Clock,
    pub(super) limit: Time,
    /// Request real-time priority.
    pub(super) realtime: bool,
    pub(super) around: &'a Surroundings,
    pub(super) stop: &'a AtomicBool,
    pub(super) ordered: &'a RemoteSession<'a>,
    pub(super) trigger_socket: Option<&'a TriggerSocket>,
    /// The model has a wire, whose traffic has no known completion: the run is never complete.
    pub(super) wired: bool,
}

/// Reports of the local ends of each kernel flow.
type Reports = Vec<[Option<Report>; 2]>;

impl Threads<'_> {
    /// Runs all threads until the driver ends. Returns whether all workloads were completed, and the reports of local
    /// flow ends.
    pub(super) fn run(
        &self,
        model: &Model,
        driver: &mut Driver,
        reals: &mut [RealFlow],
        commands: &mut Commands<'_>,
        mut pending: Pending,
    ) -> Result<(bool, Reports), Error> {
        // Set when the driver ends, so that all workloads end too; `stop` belongs to the caller.
        let over = AtomicBool::new(false);
        let working =
            AtomicUsize::new(reals.iter().map(RealFlow::awaited).sum::<usize>() + commands.awaited(model));
        let done = || {
            working.fetch_sub(1, Ordering::AcqRel);
        };
        let users = self.around.users();
        let trails = reals.iter().any(RealFlow::trails);
        let mut complete = false;
        let (driven, reports, ended, attended) = std::thread::scope(|scope| {
            let (over, working, done, users) = (&over, &working, &done, &users);
            let with = (self.clock, self.realtime);
            let workers: Vec<_> = reals.iter_mut().map(|real| real.start(scope, with, over, done)).collect();
            let commanded = commands.start(scope, (model, self.around), self.clock, over, done);
            let attended = scope.spawn(move || self.ordered.attend(over, done));
            if let Some(line) = self.trigger_socket {
                scope.spawn(move || line.answer(over, users));
            }
            let driving = scope.spawn(|| {
                driver.settle_in(self.realtime);
                let result = driver.run(|network, now| {
                    let modelled = pending.is_over(network);
                    let idle = working.load(Ordering::Acquire) == 0;
                    complete = idle && modelled && !self.wired && !(trails && network.bodies() > 0);
                    // The loss of a remote host also sets `over`.
                    let left = over.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed);
                    complete || left || self.is_late(now, idle)
                });
                over.store(true, Ordering::Relaxed);
                result
            });
            // The calling thread keeps its privileges for commands that are started later.
            let driven = driving.join();
            let reports: Reports = workers
                .into_iter()
                .map(|both| both.map(|worker| worker.map(|worker| worker.join().unwrap_or_default())))
                .collect();
            let ended: Vec<_> = commanded.into_iter().map(|(i, worker)| (i, worker.join())).collect();
            (driven, reports, ended, attended.join())
        });
        joined(driven).map_err(Error::of("driving the network"))?;
        for (i, result) in ended {
            commands.ended[i] = joined(result)?;
        }
        joined(attended)?;
        Ok((complete, reports))
    }

    /// Whether the time limit ends the run: at the limit if no workload is running, otherwise [`GRACE`] later. A run
    /// with a foreground command has no limit.
    fn is_late(&self, now: Time, idle: bool) -> bool {
        now > self.limit && (idle || now > self.limit + GRACE) && self.around.foreground.is_none()
    }
}

/// Result of a thread; a panic is resumed.
fn joined<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
