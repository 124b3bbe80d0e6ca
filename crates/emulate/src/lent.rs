//! What does a host do that lends machines? It makes what was ordered, runs it by the clock it is given, and gives
//! back what came out. All of it hangs on what is returned here: dropped, it is gone, and with the process too.

use crate::bulk;
use crate::clock::Clock;
use crate::device::Device;
use crate::elsewhere::{CommandOrder, CommandReturned, EndOrder, EndReturned, Orders, Returned, Setting};
use crate::job::{self, Ended, Job};
use crate::keeper::{Keeper, Plan};
use crate::output::Memory;
use crate::space::Space;
use crate::sys;
use crate::view::View;
use crate::{Error, Surroundings, kernel};
use base::{Span, Time};
use scenario::model::Ip;
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What was ordered, ready to start.
#[derive(Debug)]
pub struct Lent {
    machines: Vec<(String, Space)>,
    ends: Vec<End>,
    commands: Vec<Ready>,
    orders: Orders,
}

#[derive(Debug)]
struct End {
    space: Space,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    Writes(TcpStream),
    Reads(TcpListener),
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
        let mut lent = Lent { machines: Vec::new(), ends: Vec::new(), commands: Vec::new(), orders };
        let mut devices = Vec::new();
        for order in &lent.orders.machines {
            let space = Space::machine()?;
            set(&space, &order.linux)?;
            devices.push(space.gateway(order.at, order.linux.mtu, None)?);
            lent.machines.push((order.node.clone(), space));
        }
        for order in &lent.orders.ends {
            let space = kernel::space(order.ip())?;
            set(&space, &Setting { cc: None, ..order.linux.clone() })?;
            devices.push(space.device(kernel::address(order.writes, order.ip()), order.linux.mtu)?);
            let socket = if order.writes {
                Socket::Writes(bulk::socket(&space, order.linux.cc.as_deref(), order.ip())?)
            } else {
                Socket::Reads(bulk::listen(&space, order.ip())?)
            };
            lent.ends.push(End { space, socket });
        }
        for i in 0..lent.orders.commands.len() {
            let ready = Ready { outputs: Memory::new()?, keeper: None, ended: Ended::default() };
            lent.commands.push(ready);
            let order = &lent.orders.commands[i];
            if order.serves && order.start_ns == 0 {
                let mut ended = Ended { started: Some(Time::ZERO), ..Ended::default() };
                let keeper = lent.job(i, around)?.begin(around.program()?, &mut ended, &given_up)?;
                lent.commands[i].keeper = Some(keeper);
                lent.commands[i].ended = ended;
            }
        }
        Ok((lent, devices))
    }

    fn space(&self, node: &str) -> Result<&Space, Error> {
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

    /// Runs it by this clock until `over`, which also ends whatever still runs; calls `done` for each end of a flow and
    /// each command that does not serve, when it is done.
    ///
    /// # Errors
    /// A command could not be started at all; what the kernel refused.
    pub fn run(
        mut self,
        clock: Clock,
        around: &Surroundings,
        over: &AtomicBool,
        done: &(dyn Fn() + Sync),
    ) -> Result<Returned, Error> {
        let limit = Time::from_nanos(self.orders.limit_ns);
        let servers: Vec<Option<(Keeper, Ended)>> =
            self.commands.iter_mut().map(|ready| Some((ready.keeper.take()?, ready.ended.clone()))).collect();
        let (told, ended) = std::thread::scope(|scope| {
            let this = &self;
            let ends: Vec<_> = this
                .orders
                .ends
                .iter()
                .zip(&this.ends)
                .map(|(order, end)| scope.spawn(move || carry(order, end, limit, clock, over, done)))
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
                            let ended =
                                this.job(i, around).and_then(|job| job.run(around.program()?, clock, over));
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
            let told: Vec<bulk::Told> = ends.into_iter().map(|end| end.join().unwrap_or_default()).collect();
            let ended: Vec<Result<Ended, Error>> =
                commands.into_iter().map(|one| one.join().unwrap_or(Err(Error::System))).collect();
            (told, ended)
        });
        let mut returned = Returned::default();
        for ((order, end), told) in self.orders.ends.iter().zip(&self.ends).zip(told) {
            returned.overrun += end.space.overrun()?;
            returned.ends.push(EndReturned {
                flow: order.flow,
                writes: order.writes,
                finished_ns: told.finished.map(Time::as_nanos),
                bytes: told.bytes,
                fault: told.fault,
                info: told.watch.info,
                history: told.watch.history,
                counters: end.space.counters()?,
            });
        }
        for (_, space) in &self.machines {
            returned.overrun += space.overrun()?;
        }
        for ((order, ready), ended) in self.orders.commands.iter().zip(&mut self.commands).zip(ended) {
            returned.commands.push(told_of(order, ready, ended?)?);
        }
        Ok(returned)
    }
}

impl EndOrder {
    fn ip(&self) -> Ip {
        if self.six { Ip::V6 } else { Ip::V4 }
    }
}

fn carry(
    order: &EndOrder,
    end: &End,
    limit: Time,
    clock: Clock,
    over: &AtomicBool,
    done: &(dyn Fn() + Sync),
) -> bulk::Told {
    let job = bulk::Job {
        start: Time::from_nanos(order.start_ns),
        limit,
        bytes: order.bytes,
        lasts: order.lasts_ns.map(Span::from_nanos),
        reads: order.reads,
    };
    match &end.socket {
        Socket::Reads(listener) => bulk::receive(listener, job, clock, over, done),
        Socket::Writes(stream) => {
            let told = bulk::send(stream, kernel::address(false, order.ip()), job, clock, over);
            done();
            told
        }
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
fn set(space: &Space, linux: &Setting) -> Result<(), Error> {
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
