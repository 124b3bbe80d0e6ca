//! Worker of an emulation on a remote host (`Worker`): creates the ordered namespaces, sockets and commands, runs
//! them on the given clock, returns results.
//!
//! The worker owns every resource and releases it on drop.

use super::hosts::{CommandOrder, CommandResult, EndOrder, KernelSettings, Orders, RemoteResults};
use super::results::EndResult;
use crate::sockets::bulk::PORT;
use crate::sockets::endpoint::{self, Part, Report};
use crate::sockets::multi::Times;
use crate::{Error, Surroundings};
use base::Time;
use netns::clock::Clock;
use netns::device::Device;
use netns::job::{self, CommandExit, Job};
use netns::keeper::{Keeper, Plan};
use netns::mounts::MountView;
use netns::namespace::Namespace;
use netns::output::Memory;
use netns::sys;
use scenario::model::Ip;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prepared resources of one repetition.
pub struct Worker {
    made: Resources,
    ends: Vec<End>,
}

/// Nodes and commands, shared by several threads.
struct Resources {
    /// Name and namespace of each node.
    machines: Vec<(String, Namespace)>,
    commands: Vec<PreparedCommand>,
    orders: Orders,
}

struct End {
    space: Namespace,
    part: Part,
}

/// Prepared command; a server also has its keeper.
#[derive(Debug)]
struct PreparedCommand {
    outputs: Memory,
    keeper: Option<Keeper>,
    ended: CommandExit,
}

impl Worker {
    /// Creates the ordered resources and starts the servers. Also returns the devices: of the nodes, then of the flow
    /// ends.
    ///
    /// # Errors
    /// [`netns::Error::Rights`]; an error of the kernel; an invalid order.
    pub fn prepare(
        orders: Orders,
        around: &Surroundings,
        given_up: impl Fn() -> bool,
    ) -> Result<(Worker, Vec<Device>), Error> {
        let mut made = Resources { machines: Vec::new(), commands: Vec::new(), orders };
        let (mut ends, mut devices) = (Vec::new(), Vec::new());
        for order in &made.orders.machines {
            let space = Namespace::machine()?;
            set(&space, &order.linux)?;
            devices.push(space.gateway(order.at, order.linux.mtu, None, made.orders.offload)?);
            made.machines.push((order.node.clone(), space));
        }
        for order in &made.orders.ends {
            let (ip, limit) = (order.ip(), Time::from_nanos(made.orders.limit_ns));
            let space = endpoint::space(ip)?;
            set(&space, &KernelSettings { cc: None, ..order.linux.clone() })?;
            let at = endpoint::address(order.opens, ip);
            devices.push(space.device(at, order.linux.mtu, made.orders.offload)?);
            let times = (Time::from_nanos(order.start_ns), limit);
            let to = SocketAddr::new(endpoint::address(false, ip), PORT);
            let part = Part::new((&order.work, order.opens), (&space, &order.linux, ip), times, (to, None))?;
            ends.push(End { space, part });
        }
        for i in 0..made.orders.commands.len() {
            let ready =
                PreparedCommand { outputs: Memory::new()?, keeper: None, ended: CommandExit::default() };
            made.commands.push(ready);
            let order = &made.orders.commands[i];
            if order.serves && order.start_ns == 0 {
                let mut ended = CommandExit { started: Some(Time::ZERO), ..CommandExit::default() };
                let keeper = made.job(i, around)?.begin(around.program()?, &mut ended, &given_up)?;
                made.commands[i].keeper = Some(keeper);
                made.commands[i].ended = ended;
            }
        }
        Ok((Worker { made, ends }, devices))
    }

    /// Runs on this clock until `over`, then ends all flow ends and commands. Calls `done` for each flow end, and for
    /// each command that is not a server, when it is done.
    ///
    /// # Errors
    /// A command could not be started; an error of the kernel.
    pub fn run(
        self,
        clock: Clock,
        around: &Surroundings,
        over: &AtomicBool,
        done: &(dyn Fn() + Sync),
    ) -> Result<RemoteResults, Error> {
        let Worker { mut made, mut ends } = self;
        let limit = Time::from_nanos(made.orders.limit_ns);
        let servers: Vec<Option<(Keeper, CommandExit)>> =
            made.commands.iter_mut().map(|ready| Some((ready.keeper.take()?, ready.ended.clone()))).collect();
        let (reports, ended) = std::thread::scope(|scope| {
            let this = &made;
            let ends: Vec<_> = this
                .orders
                .ends
                .iter()
                .zip(&mut ends)
                .map(|(order, End { space, part })| {
                    let (start, realtime) = (Time::from_nanos(order.start_ns), this.orders.realtime);
                    let times = Times { clock, start, limit, over, realtime };
                    scope.spawn(move || part.run(space, times, done))
                })
                .collect();
            let commands: Vec<_> = servers
                .into_iter()
                .enumerate()
                .map(|(i, server)| {
                    scope.spawn(move || match server {
                        Some((keeper, mut ended)) => {
                            job::look_after(keeper, &mut ended, clock, over, None);
                            Ok(ended)
                        }
                        None => {
                            let ended = this
                                .job(i, around)
                                .and_then(|job| Ok(job.run(around.program()?, clock, over)?));
                            if !this.orders.commands[i].serves {
                                done();
                            }
                            ended
                        }
                    })
                })
                .collect();
            // A run without flow ends and commands lasts until `over`.
            while !over.load(Ordering::Relaxed) {
                sys::wait_for(-1, false, 20);
            }
            let reports: Vec<Report> =
                ends.into_iter().map(|end| end.join().unwrap_or_else(|_| failed())).collect();
            let ended: Vec<Result<CommandExit, Error>> = commands
                .into_iter()
                .map(|one| one.join().unwrap_or(Err(netns::Error::System.into())))
                .collect();
            (reports, ended)
        });
        let mut returned = RemoteResults::default();
        for ((order, end), report) in made.orders.ends.iter().zip(&ends).zip(reports) {
            returned.overrun += end.space.overrun()?;
            let at = (order.flow, order.opens);
            returned.ends.push(EndResult::of(at, report, end.space.counters()?));
        }
        for (_, space) in &made.machines {
            returned.overrun += space.overrun()?;
        }
        for ((order, ready), ended) in made.orders.commands.iter().zip(&mut made.commands).zip(ended) {
            returned.commands.push(command_result(order, ready, ended?)?);
        }
        Ok(returned)
    }
}

impl Resources {
    fn space(&self, node: &str) -> Result<&Namespace, Error> {
        let found = self.machines.iter().find(|(name, _)| name == node).map(|(_, space)| space);
        found.ok_or_else(|| {
            Error::of(format!("finding the machine `{node}` of a command"))(io::ErrorKind::NotFound.into())
        })
    }

    fn job(&self, i: usize, around: &Surroundings) -> Result<Job<'_>, Error> {
        let (order, ready) = (&self.orders.commands[i], &self.commands[i]);
        let mut variables = around.variables.clone();
        variables.extend(around.user.iter().flat_map(|user| user.variables()));
        variables.push(("WILLIWAW_NODE".into(), order.node.clone().into()));
        let plan = Plan {
            words: ["/bin/sh", "-c", &order.run].map(Into::into).to_vec(),
            variables,
            view: MountView {
                hosts: Some(self.orders.hosts.clone()),
                resolver: Some(self.orders.resolver.clone()),
            },
            user: around.user.clone(),
            terminal: false,
            apart: true,
            start_file: None,
            outside: false,
        };
        let streams = ready.outputs.streams()?;
        let start = Time::from_nanos(order.start_ns);
        Ok(Job { space: self.space(&order.node)?, start, plan, streams, foreground: None })
    }
}

/// Report of a flow end whose thread has panicked.
fn failed() -> Report {
    Report { fault: Some("it failed in the middle".into()), ..Report::default() }
}

impl EndOrder {
    fn ip(&self) -> Ip {
        if self.six { Ip::V6 } else { Ip::V4 }
    }
}

/// Result of a command, with its output.
fn command_result(
    order: &CommandOrder,
    ready: &mut PreparedCommand,
    ended: CommandExit,
) -> Result<CommandResult, Error> {
    let mut result = CommandResult {
        command: order.command,
        started_ns: ended.started.map(Time::as_nanos),
        ended_ns: ended.ended.map(Time::as_nanos),
        status: ended.status,
        lacks: ended.lacks,
        outputs: Default::default(),
    };
    result.outputs = ready.outputs.read(&mut result.lacks)?;
    Ok(result)
}

/// Applies kernel settings to a namespace. A remote order may only set network settings.
fn set(space: &Namespace, linux: &KernelSettings) -> Result<(), Error> {
    if let Some((name, _)) = linux.sysctl.iter().find(|(name, _)| !name.starts_with("net.")) {
        return Err(Error::of(format!("setting {name}"))(io::ErrorKind::PermissionDenied.into()));
    }
    space.set("net.ipv4.tcp_no_metrics_save", "1")?;
    if let Some(cc) = &linux.cc {
        space.set("net.ipv4.tcp_congestion_control", cc)?;
    }
    for (name, value) in &linux.sysctl {
        space.set(name, value)?;
    }
    Ok(())
}

/// Which descriptors are readable; waits for at most `ms` milliseconds.
pub fn readable(fds: &[RawFd], ms: i32) -> Vec<bool> {
    sys::readable(fds, Some(ms))
}

/// Prepares the calling thread to relay packets: real-time priority if permitted, no timer slack, no privileges any
/// more. Returns whether it has real-time priority.
pub fn settle_in() -> bool {
    sys::punctual();
    let realtime = sys::real_time(sys::DRIVER).is_ok();
    // An unprivileged process has nothing to drop.
    let _ = sys::drop_rights();
    realtime
}

/// Enlarges the socket's buffers for bursts, as far as the system permits.
pub fn deepen(socket: &UdpSocket) {
    sys::deepen(socket.as_raw_fd());
}
