//! Worker side of a distributed emulation: owns namespaces, sockets and commands of a repetition.
//!
//! It makes what was ordered, runs it by the clock it is given, and gives back what came out. All of it hangs on what
//! is returned here: dropped, it is gone, and with the process too.

use super::hosts::{CommandOrder, CommandReturned, EndOrder, Orders, Returned, Setting};
use super::results::EndReturned;
use crate::sockets::bulk::PORT;
use crate::sockets::endpoint::{self, Part, Report};
use crate::sockets::multi::Times;
use crate::{Error, Surroundings};
use base::Time;
use netns::clock::Clock;
use netns::device::Device;
use netns::job::{self, Ended, Job};
use netns::keeper::{Keeper, Plan};
use netns::mounts::View;
use netns::namespace::Namespace;
use netns::output::Memory;
use netns::sys;
use scenario::model::Ip;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What was ordered, ready to start.
pub struct Lent {
    made: Made,
    ends: Vec<End>,
}

/// What several threads look at.
struct Made {
    machines: Vec<(String, Namespace)>,
    commands: Vec<Ready>,
    orders: Orders,
}

struct End {
    space: Namespace,
    part: Part,
}

/// A command before its start; of who serves from the start, also its keeper.
#[derive(Debug)]
struct Ready {
    outputs: Memory,
    keeper: Option<Keeper>,
    ended: Ended,
}

impl Lent {
    /// Makes what is ordered and starts who serves from the start. Gives the devices too: those of the machines, then
    /// those of the ends of flows.
    ///
    /// # Errors
    /// [`Error::Rights`]; what the kernel refused; an order that makes no sense.
    pub fn prepare(
        orders: Orders,
        around: &Surroundings,
        given_up: impl Fn() -> bool,
    ) -> Result<(Lent, Vec<Device>), Error> {
        let mut made = Made { machines: Vec::new(), commands: Vec::new(), orders };
        let (mut ends, mut devices) = (Vec::new(), Vec::new());
        for order in &made.orders.machines {
            let space = Namespace::machine()?;
            set(&space, &order.linux)?;
            devices.push(space.gateway(order.at, order.linux.mtu, None)?);
            made.machines.push((order.node.clone(), space));
        }
        for order in &made.orders.ends {
            let (ip, limit) = (order.ip(), Time::from_nanos(made.orders.limit_ns));
            let space = endpoint::space(ip)?;
            set(&space, &Setting { cc: None, ..order.linux.clone() })?;
            devices.push(space.device(endpoint::address(order.opens, ip), order.linux.mtu)?);
            let times = (Time::from_nanos(order.start_ns), limit);
            let to = SocketAddr::new(endpoint::address(false, ip), PORT);
            let part = Part::new((&order.work, order.opens), (&space, &order.linux, ip), times, (to, None))?;
            ends.push(End { space, part });
        }
        for i in 0..made.orders.commands.len() {
            let ready = Ready { outputs: Memory::new()?, keeper: None, ended: Ended::default() };
            made.commands.push(ready);
            let order = &made.orders.commands[i];
            if order.serves && order.start_ns == 0 {
                let mut ended = Ended { started: Some(Time::ZERO), ..Ended::default() };
                let keeper = made.job(i, around)?.begin(around.program()?, &mut ended, &given_up)?;
                made.commands[i].keeper = Some(keeper);
                made.commands[i].ended = ended;
            }
        }
        Ok((Lent { made, ends }, devices))
    }

    /// Runs it by this clock until `over`, which also ends whatever still runs; calls `done` for each end of a flow and
    /// each command that does not serve, when it is done.
    ///
    /// # Errors
    /// A command could not be started at all; what the kernel refused.
    pub fn run(
        self,
        clock: Clock,
        around: &Surroundings,
        over: &AtomicBool,
        done: &(dyn Fn() + Sync),
    ) -> Result<Returned, Error> {
        let Lent { mut made, mut ends } = self;
        let limit = Time::from_nanos(made.orders.limit_ns);
        let servers: Vec<Option<(Keeper, Ended)>> =
            made.commands.iter_mut().map(|ready| Some((ready.keeper.take()?, ready.ended.clone()))).collect();
        let (told, ended) = std::thread::scope(|scope| {
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
            // A run of machines alone lasts until somebody ends it.
            while !over.load(Ordering::Relaxed) {
                sys::wait_for(-1, false, 20);
            }
            let told: Vec<Report> =
                ends.into_iter().map(|end| end.join().unwrap_or_else(|_| failed())).collect();
            let ended: Vec<Result<Ended, Error>> = commands
                .into_iter()
                .map(|one| one.join().unwrap_or(Err(netns::Error::System.into())))
                .collect();
            (told, ended)
        });
        let mut returned = Returned::default();
        for ((order, end), told) in made.orders.ends.iter().zip(&ends).zip(told) {
            returned.overrun += end.space.overrun()?;
            let at = (order.flow, order.opens);
            returned.ends.push(EndReturned::of(at, told, end.space.counters()?));
        }
        for (_, space) in &made.machines {
            returned.overrun += space.overrun()?;
        }
        for ((order, ready), ended) in made.orders.commands.iter().zip(&mut made.commands).zip(ended) {
            returned.commands.push(told_of(order, ready, ended?)?);
        }
        Ok(returned)
    }
}

impl Made {
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
            view: View {
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

/// What an end tells whose thread is gone.
fn failed() -> Report {
    Report { fault: Some("it failed in the middle".into()), ..Report::default() }
}

impl EndOrder {
    fn ip(&self) -> Ip {
        if self.six { Ip::V6 } else { Ip::V4 }
    }
}

/// What became of a command, with what it wrote.
fn told_of(order: &CommandOrder, ready: &mut Ready, ended: Ended) -> Result<CommandReturned, Error> {
    let mut told = CommandReturned {
        command: order.command,
        started_ns: ended.started.map(Time::as_nanos),
        ended_ns: ended.ended.map(Time::as_nanos),
        status: ended.status,
        lacks: ended.lacks,
        outputs: Default::default(),
    };
    told.outputs = ready.outputs.read(&mut told.lacks)?;
    Ok(told)
}

/// Sets the kernel of a machine or an end as a scenario asks. Whoever orders from elsewhere may touch the network stack
/// and nothing else.
fn set(space: &Namespace, linux: &Setting) -> Result<(), Error> {
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

/// Which of these can be read, after `ms` milliseconds at most.
pub fn readable(fds: &[RawFd], ms: i32) -> Vec<bool> {
    sys::readable(fds, Some(ms))
}

/// Makes the calling thread fit to carry packets: real-time priority where allowed, no timer slack, and no other rights
/// than it needs. Tells whether it has the priority.
pub fn settle_in() -> bool {
    sys::punctual();
    let realtime = sys::real_time(sys::DRIVER).is_ok();
    // A process without rights has none to give up.
    let _ = sys::drop_rights();
    realtime
}

/// Lets bursts wait in a socket, as far as the system allows.
pub fn deepen(socket: &UdpSocket) {
    sys::deepen(socket.as_raw_fd());
}
