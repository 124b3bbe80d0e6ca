//! Commands of a repetition (`Commands`): jobs in the namespaces of their nodes, servers that start before t = 0,
//! threads, outputs and results.

use super::nodes::CommandNodes;
use crate::remote::session::RemoteSession;
use crate::{Error, Surroundings};
use base::Time;
use base::rng::Seed;
use lab::node_addresses::start_of;
use netns::clock::Clock;
use netns::job::{self, CommandExit, CommandFacts, Job};
use netns::keeper::{Keeper, Plan, Streams};
use netns::mounts::MountView;
use netns::output::{self, Memory, Outputs};
use scenario::Model;
use scenario::model::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};

/// Commands of a model, by index in the model.
pub(super) struct Commands<'a> {
    /// Commands of this host that are not started yet.
    jobs: Vec<Option<Job<'a>>>,
    /// Servers already started, by index of the command.
    servers: Vec<(usize, Keeper)>,
    /// Execution record of each command.
    pub(super) ended: Vec<CommandExit>,
    /// Output in memory, of commands whose output is not written to files.
    memories: Vec<Option<Memory>>,
}

/// Threads that supervise commands, with the index of the command.
pub(super) type Workers<'scope> = Vec<(usize, ScopedJoinHandle<'scope, Result<CommandExit, Error>>)>;

impl<'a> Commands<'a> {
    /// Prepares the commands of this host.
    pub(super) fn prepare(
        model: &Model,
        seed: Seed,
        stage: &'a CommandNodes,
        around: &'a Surroundings,
        ordered: &RemoteSession<'_>,
    ) -> Result<Commands<'a>, Error> {
        let (mut jobs, mut memories) = (Vec::new(), Vec::new());
        for command in &model.commands {
            let (job, memory) = match ordered.holds(command.node) {
                true => (None, None),
                false => job(model, command, seed, stage, around).map(|(job, memory)| (Some(job), memory))?,
            };
            jobs.push(job);
            memories.push(memory);
        }
        let ended = vec![CommandExit::default(); jobs.len()];
        Ok(Commands { jobs, servers: Vec::new(), ended, memories })
    }

    /// Starts the servers whose start time is t = 0, and waits until each listens.
    pub(super) fn serve(
        &mut self,
        model: &Model,
        around: &Surroundings,
        given_up: impl Fn() -> bool + Copy,
    ) -> Result<(), Error> {
        for (i, job) in self.jobs.iter_mut().enumerate() {
            let serves = model.commands.get(i).is_some_and(|c| c.serves);
            if let Some(job) = job.take_if(|job| serves && job.start == Time::ZERO) {
                self.servers.push((i, job.begin(around.program()?, &mut self.ended[i], given_up)?));
            }
        }
        Ok(())
    }

    /// Number of commands on this host that the run waits for (all except servers).
    pub(super) fn awaited(&self, model: &Model) -> usize {
        (0..self.jobs.len()).filter(|i| is_awaited(model, *i)).count()
    }

    /// Starts a thread for each command and each server. The thread calls `done` when a command ends that the run
    /// waits for, and sets `over` when the foreground command ends.
    pub(super) fn start<'scope, 'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        (model, around): (&'env Model, &'env Surroundings),
        clock: Clock,
        over: &'env AtomicBool,
        done: &'env (impl Fn() + Sync),
    ) -> Workers<'scope>
    where
        'a: 'scope,
    {
        let jobs = std::mem::take(&mut self.jobs).into_iter().enumerate();
        let start = |(i, job): (usize, Job<'a>)| {
            let in_front = job.foreground.is_some();
            let worker = scope.spawn(move || {
                let ended = around.program().and_then(|program| Ok(job.run(program, clock, over)?));
                if is_awaited(model, i) {
                    done();
                }
                if in_front {
                    over.store(true, Ordering::Relaxed);
                }
                ended
            });
            (i, worker)
        };
        let mut workers: Workers<'scope> = jobs.filter_map(|(i, job)| Some((i, job?))).map(start).collect();
        workers.extend(std::mem::take(&mut self.servers).into_iter().map(|(i, keeper)| {
            let mut ended = self.ended[i].clone();
            ended.started = Some(Time::ZERO);
            let serve = move || {
                job::look_after(keeper, &mut ended, clock, over, None);
                Ok(ended)
            };
            (i, scope.spawn(serve))
        }));
        workers
    }

    /// Output kept in memory, for each command.
    pub(super) fn written(&mut self) -> Result<Vec<[Vec<u8>; 2]>, Error> {
        let memories = self.memories.iter_mut().zip(&mut self.ended);
        memories
            .map(|(memory, ended)| match memory {
                Some(memory) => Ok(memory.read(&mut ended.lacks)?),
                None => Ok(Default::default()),
            })
            .collect()
    }

    /// Results of the commands.
    pub(super) fn facts(self, model: &Model) -> Vec<CommandFacts> {
        let facts = |(command, ended): (&Command, CommandExit)| CommandFacts {
            name: command.name.clone(),
            serves: command.serves,
            ended,
        };
        model.commands.iter().zip(self.ended).map(facts).collect()
    }
}

fn is_awaited(model: &Model, command: usize) -> bool {
    model.commands.get(command).is_some_and(|c| !c.serves)
}

/// Prepared job of a command, and the memory for its output, if it is kept in memory.
fn job<'a>(
    model: &Model,
    command: &Command,
    seed: Seed,
    stage: &'a CommandNodes,
    around: &'a Surroundings,
) -> Result<(Job<'a>, Option<Memory>), Error> {
    let start = start_of(command, seed);
    let foreground = around.foreground.as_ref().filter(|front| front.name == command.name);
    let words = match foreground {
        Some(front) => front.words.clone(),
        None => ["/bin/sh", "-c", &command.run].map(Into::into).to_vec(),
    };
    let mut variables = around.variables.clone();
    variables.extend(around.user.iter().flat_map(|user| user.variables()));
    variables.push(("WILLIWAW_NODE".into(), model.nodes[command.node].name.clone().into()));
    let mut memory = None;
    let streams = match (&around.outputs, foreground) {
        (_, Some(_)) => Streams::Inherited,
        (Outputs::Folder(folder), None) => output::files(folder, &command.name)?,
        (Outputs::Memory, None) => memory.insert(Memory::new()?).streams()?,
        (Outputs::Nowhere, None) => Streams::Nowhere,
    };
    let plan = Plan {
        words,
        variables,
        view: MountView { hosts: Some(stage.hosts.clone()), resolver: Some(around.resolver.clone()) },
        user: around.user.clone(),
        terminal: foreground.is_some_and(|front| front.has_terminal()),
        apart: foreground.is_none(),
        start_file: foreground.and_then(|front| front.start_file.clone()),
        outside: false,
    };
    let space = &stage.at(command.node)?.space;
    Ok((Job { space, start, plan, streams, foreground }, memory))
}
