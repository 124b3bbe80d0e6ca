//! Program at a flow end (`Program`): a command in the end's network namespace, opposite a model, with its environment
//! variables and supervision.
//!
//! The program uses its own sockets, or a stack in user space. The model at the opposite end determines when the flow
//! is done, so the run does not wait for the program.

use super::endpoint::Report;
use crate::{Error, Surroundings};
use base::Time;
use netns::clock::Clock;
use netns::job::{self, CommandExit, Job};
use netns::keeper::{Keeper, Plan, Streams};
use netns::mounts::MountView;
use netns::namespace::Namespace;
use netns::output::{self, Outputs};
use scenario::model::{Flow, Linux};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Program at a flow end, prepared or running.
pub(crate) struct Program {
    pub(crate) space: Namespace,
    /// Path of this executable, which is started as the keeper.
    keeper: PathBuf,
    plan: Plan,
    streams: Option<Streams>,
    /// Start time of an active program; None: passive, so it listens before t = 0.
    start: Option<Time>,
    serving: Option<Keeper>,
    ended: CommandExit,
}

/// Addresses and port of a program's flow.
pub(crate) struct ProgramAddress<'a> {
    /// Name of the node.
    pub(crate) node: &'a str,
    /// Address of the program, address of the model.
    pub(crate) addresses: [IpAddr; 2],
    /// Port of the passive end.
    pub(crate) port: u16,
    /// Start time of an active program; None: passive.
    pub(crate) start: Option<Time>,
}

impl Program {
    /// Prepares the program of a flow end.
    pub(crate) fn new(
        space: Namespace,
        (flow, linux): (&Flow, &Linux),
        at: &ProgramAddress<'_>,
        around: &Surroundings,
    ) -> Result<Program, Error> {
        let mut variables = around.variables.clone();
        variables.extend(around.user.iter().flat_map(|user| user.variables()));
        let own = [
            ("WILLIWAW_NODE", at.node.to_owned()),
            ("WILLIWAW_HERE", at.addresses[0].to_string()),
            ("WILLIWAW_PEER", at.addresses[1].to_string()),
            ("WILLIWAW_PORT", at.port.to_string()),
        ];
        let bytes = flow.app.bulk().and_then(|(bytes, _)| bytes);
        let bytes = bytes.map(|bytes| ("WILLIWAW_BYTES", bytes.to_string()));
        let own = own.into_iter().chain(bytes);
        variables.extend(own.map(|(name, value)| (name.to_owned(), value.into())));
        let command = linux.program.clone().unwrap_or_default();
        let plan = Plan {
            words: ["/bin/sh".into(), "-c".into(), command.into()].to_vec(),
            variables,
            view: MountView { hosts: None, resolver: Some(around.resolver.clone()) },
            user: around.user.clone(),
            terminal: false,
            apart: true,
            start_file: None,
            outside: false,
        };
        let streams = match &around.outputs {
            Outputs::Folder(folder) => output::files(folder, &format!("{}@{}", flow.name, at.node))?,
            Outputs::Memory | Outputs::Nowhere => Streams::Nowhere,
        };
        let keeper = around.program()?.to_owned();
        let (start, ended) = (at.start, CommandExit::default());
        Ok(Program { space, keeper, plan, streams: Some(streams), start, serving: None, ended })
    }

    /// Starts a passive program and waits until it listens.
    pub(crate) fn serve(&mut self, given_up: impl Fn() -> bool) -> Result<(), Error> {
        if self.start.is_none()
            && let Some(streams) = self.streams.take()
        {
            let job = job(&self.space, Time::ZERO, &self.plan, streams);
            self.serving = Some(job.begin(&self.keeper, &mut self.ended, given_up)?);
        }
        Ok(())
    }

    /// Runs or supervises the program until `over`; errors go into the report.
    pub(crate) fn run(&mut self, clock: Clock, over: &AtomicBool) -> Report {
        if let Some(keeper) = self.serving.take() {
            job::look_after(keeper, &mut self.ended, clock, over, None);
        } else if let Some(streams) = self.streams.take() {
            let job = job(&self.space, self.start.unwrap_or(Time::ZERO), &self.plan, streams);
            match job.run(&self.keeper, clock, over) {
                Ok(ended) => self.ended = ended,
                Err(error) => return Report { fault: Some(error.to_string()), ..Report::default() },
            }
        }
        Report { fault: self.fault(), ..Report::default() }
    }

    /// Errors of the program, if any.
    fn fault(&self) -> Option<String> {
        let mut faults = self.ended.lacks.clone();
        if let Some(status) = self.ended.status.as_ref().filter(|status| status.code != 0) {
            let why = status.fault.as_ref().map_or(String::new(), |why| format!(" ({why})"));
            faults.push(format!("its program ended with status {}{why}", status.code));
        }
        (!faults.is_empty()).then(|| faults.join("; "))
    }
}

fn job<'a>(space: &'a Namespace, start: Time, plan: &Plan, streams: Streams) -> Job<'a> {
    Job { space, start, plan: plan.clone(), streams, foreground: None }
}
