//! Controller of the agents of an emulation (`AgentControl`), on the host that carries the path: orders, packet
//! tunnels, clock offsets, start, results, loss of an agent.

use crate::agent_connection::{Peer, held};
use crate::clocks::Bounds;
use crate::control_connection::Keys;
use crate::list::Host;
use crate::message::{Message, TunnelStats};
use crate::token::Token;
use crate::tunnel::{BUFFER, EncryptedTunnel};
use base::Span;
use emulate::Error;
use emulate::accuracy::lateness::Histogram;
use emulate::accuracy::overhead::{ClockOffset, Overhead};
use emulate::remote::hosts::{Orders, RemoteHosts, RemoteResults};
use emulate::remote::results::Lists;
use emulate::remote::worker;
use netns::clock::{Clock, monotonic};
use netns::device::{Device, Tunnel};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Timeout of the preparation; each server of a scenario has five seconds to listen.
const PREPARING: Duration = Duration::from_secs(60);
/// Timeout of the results.
const RETURNING: Duration = Duration::from_secs(60);
/// Upper limit of probes of a tunnel.
const CALLS: u32 = 10;
/// Wait for the reply to a probe.
const CALL: Duration = Duration::from_millis(200);
/// Upper limit of tunnel numbers (24 bits).
const WAYS: u32 = 1 << 24;

/// Connected agents; drop disconnects them.
#[derive(Debug)]
pub struct AgentControl {
    agents: Vec<Agent>,
    clock_limit: Span,
}

#[derive(Debug)]
struct Agent {
    peer: Peer,
    machines: Vec<String>,
    /// Tunnels and clock offset in the current repetition.
    part: Mutex<RepTunnels>,
}

#[derive(Debug, Default)]
struct RepTunnels {
    tunnels: Vec<Arc<Mutex<EncryptedTunnel>>>,
    next_way: u32,
    clock: Bounds,
}

impl AgentControl {
    /// Connects to all agents.
    ///
    /// # Errors
    /// [`Error::Agent`] for the first agent that fails.
    pub fn connect(hosts: &[(Host, Token)], clock_limit: Span) -> Result<AgentControl, Error> {
        let connected = |(host, token): &(Host, Token)| Agent::connect(host, token);
        Ok(AgentControl { agents: hosts.iter().map(connected).collect::<Result<_, _>>()?, clock_limit })
    }

    /// Name, address and current clock offset of each agent.
    pub fn agents(&self) -> Vec<(String, SocketAddr, ClockOffset)> {
        let stats = |agent: &Agent| {
            let clock = held(&agent.part).clock;
            (agent.peer.name.clone(), agent.peer.address, clock.compared(&clock))
        };
        self.agents.iter().map(stats).collect()
    }
}

impl Agent {
    fn connect(host: &Host, token: &Token) -> Result<Agent, Error> {
        let peer = Peer::connect(host, token)?;
        let clock = peer.compare()?;
        let part = Mutex::new(RepTunnels { next_way: 1, clock, ..RepTunnels::default() });
        Ok(Agent { peer, machines: host.machines.clone(), part })
    }

    fn fault(&self, why: impl Into<String>) -> Error {
        self.peer.fault(why)
    }

    /// Sends the agent the orders for its nodes.
    fn order(&self, orders: &Orders) -> Result<(), Error> {
        let mine = |node: &String| self.machines.contains(node);
        let part = Orders {
            machines: orders.machines.iter().filter(|one| mine(&one.node)).cloned().collect(),
            ends: orders.ends.iter().filter(|one| mine(&one.node)).cloned().collect(),
            commands: orders.commands.iter().filter(|one| mine(&one.node)).cloned().collect(),
            ..orders.clone()
        };
        let count = (part.machines.len() + part.ends.len()) as u32;
        let first = {
            let mut part = held(&self.part);
            let first = part.next_way;
            part.next_way = first.saturating_add(count);
            part.tunnels.clear();
            first
        };
        if first.saturating_add(count) > WAYS {
            return Err(
                self.fault("has had more tunnels than a run can number; play fewer repetitions in one run")
            );
        }
        self.peer.send(&Message::Prepare(first, part), &[])
    }

    /// Waits until the agent has prepared its orders.
    fn prepared(&self, stop: &AtomicBool) -> Result<(), Error> {
        let mut waited = Duration::ZERO;
        let step = Duration::from_millis(50);
        loop {
            match self.peer.hear(step)? {
                Some((Message::Prepared, _)) => return Ok(()),
                Some((Message::Refused(why), _)) => {
                    return Err(self.fault(format!("cannot do its part: {why}")));
                }
                Some(_) => return Err(self.fault("sent a message out of order")),
                None => waited += step,
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            if waited > PREPARING {
                return Err(self.fault("was not ready when the run was given up"));
            }
        }
    }

    /// Opens a tunnel to the agent and checks that packets pass.
    fn open_tunnel(&self, number: u32) -> Result<Device, Error> {
        let refused = |error: io::Error| self.fault(format!("cannot be sent packets: {error}"));
        let (ours, _) = self.peer.line.ends().map_err(refused)?;
        let socket = UdpSocket::bind(SocketAddr::new(ours.ip(), 0)).map_err(refused)?;
        socket.connect(self.peer.address).map_err(refused)?;
        socket.set_nonblocking(true).map_err(refused)?;
        worker::deepen(&socket);
        let Keys(keys) = self.peer.line.keys();
        let tunnel = Arc::new(Mutex::new(EncryptedTunnel::new(keys, number)));
        let mut pipe = TunnelEnd { socket, tunnel: tunnel.clone(), datagram: vec![0; BUFFER] };
        for _ in 0..CALLS {
            // A datagram to a port without a listener is refused.
            let _ = pipe.write(&[]);
            worker::readable(&[pipe.as_raw_fd()], CALL.as_millis() as i32);
            if pipe.answered() {
                held(&self.part).tunnels.push(tunnel);
                return Ok(Device::tunnel(Box::new(pipe)));
            }
            // Detects whether the agent is lost, or a packet filter drops the datagrams.
            if self.peer.hear(Duration::from_millis(1))?.is_some() {
                return Err(self.fault("sent a message out of order"));
            }
        }
        Err(self.fault(format!(
            "no datagram passed at UDP port {}: a filter between the hosts drops them",
            self.peer.address.port()
        )))
    }

    /// Collects the results of the agent in this repetition.
    fn collect(&self) -> Result<(RemoteResults, TunnelStats), Error> {
        let mut ends: BTreeMap<(usize, bool), Lists> = BTreeMap::new();
        let mut outputs: BTreeMap<(usize, u8), Vec<u8>> = BTreeMap::new();
        loop {
            match self.peer.hear(RETURNING)? {
                Some((Message::List(flow, opens, list), bytes)) => {
                    let read = ends.entry((flow, opens)).or_default().add(list, &bytes);
                    read.map_err(|_| self.fault(format!("sent a list of {list} that cannot be read")))?;
                }
                Some((Message::Output(command, which), bytes)) => {
                    let all = outputs.entry((command, which)).or_default();
                    if all.len() as u64 <= netns::output::MOST_OUTPUT {
                        all.extend(bytes);
                    }
                }
                Some((Message::Done, _)) => {}
                Some((Message::RemoteResults(mut returned, carried), _)) => {
                    for end in &mut returned.ends {
                        end.lists = ends.remove(&(end.flow, end.opens)).unwrap_or_default();
                    }
                    for command in &mut returned.commands {
                        let mut take = |which| outputs.remove(&(command.command, which)).unwrap_or_default();
                        command.outputs = [take(0), take(1)];
                    }
                    return Ok((returned, carried));
                }
                Some((Message::Failed(why), _)) => return Err(self.fault(format!("failed: {why}"))),
                Some(_) => return Err(self.fault("sent a message out of order")),
                None => return Err(self.fault("does not return the packets that left")),
            }
        }
    }
}

/// End of a tunnel at the controller, as a packet device.
#[derive(Debug)]
struct TunnelEnd {
    socket: UdpSocket,
    tunnel: Arc<Mutex<EncryptedTunnel>>,
    datagram: Vec<u8>,
}

impl TunnelEnd {
    /// Whether the reply to a probe has arrived.
    fn answered(&mut self) -> bool {
        while let Ok(n) = self.socket.recv(&mut self.datagram) {
            let bytes = self.datagram.get(..n).unwrap_or_default();
            if held(&self.tunnel).open(bytes, monotonic()).is_some_and(<[u8]>::is_empty) {
                return true;
            }
        }
        false
    }
}

impl AsRawFd for TunnelEnd {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Tunnel for TunnelEnd {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = match self.socket.recv(&mut self.datagram) {
                Ok(n) => n,
                // The control connection reports the loss of an agent with its reason.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(e) => return Err(e),
            };
            let mut tunnel = held(&self.tunnel);
            let bytes = self.datagram.get(..n).unwrap_or_default();
            if let Some(packet) = tunnel.open(bytes, monotonic()).filter(|packet| !packet.is_empty()) {
                let length = packet.len().min(into.len());
                into[..length].copy_from_slice(&packet[..length]);
                return Ok(length);
            }
        }
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        let n = held(&self.tunnel).seal(packet, monotonic(), &mut self.datagram);
        let n = n.ok_or(io::ErrorKind::InvalidInput)?;
        self.socket.send(self.datagram.get(..n).unwrap_or_default()).map(drop)
    }
}

impl RemoteHosts for AgentControl {
    fn holds(&self, node: &str) -> bool {
        self.agents.iter().any(|agent| agent.machines.iter().any(|machine| machine == node))
    }

    fn prepare(&self, orders: Orders, stop: &AtomicBool) -> Result<Vec<Device>, Error> {
        for agent in &self.agents {
            agent.order(&orders)?;
        }
        for agent in &self.agents {
            agent.prepared(stop)?;
        }
        // Each agent numbers its tunnels in the order of the orders for it.
        let mut next: Vec<u32> = Vec::new();
        for agent in &self.agents {
            let mine = |node: &String| agent.machines.contains(node);
            let count = orders.machines.iter().filter(|one| mine(&one.node)).count()
                + orders.ends.iter().filter(|one| mine(&one.node)).count();
            next.push(held(&agent.part).next_way - count as u32);
        }
        let nodes =
            orders.machines.iter().map(|one| &one.node).chain(orders.ends.iter().map(|one| &one.node));
        let mut devices = Vec::new();
        for node in nodes {
            let owner = self.agents.iter().zip(&mut next).find(|(agent, _)| agent.machines.contains(node));
            let Some((agent, next)) = owner else { continue };
            devices.push(agent.open_tunnel(*next)?);
            *next += 1;
        }
        for agent in &self.agents {
            let clock = agent.peer.compare()?;
            held(&agent.part).clock = clock;
        }
        Ok(devices)
    }

    fn start(&self, clock: Clock) -> Result<(), Error> {
        for agent in &self.agents {
            let part = held(&agent.part);
            let ahead = part.clock.ahead();
            part.tunnels.iter().for_each(|tunnel| held(tunnel).reckon(ahead, clock.origin()));
            let origin = clock.origin().saturating_add_signed(ahead);
            drop(part);
            agent.peer.send(&Message::Start(origin, ahead), &[])?;
        }
        Ok(())
    }

    fn attend(&self, over: &AtomicBool, done: &(dyn Fn() + Sync)) -> Result<(), Error> {
        while !over.load(Ordering::Relaxed) {
            for agent in &self.agents {
                match agent.peer.hear(Duration::from_millis(2))? {
                    Some((Message::Done, _)) => done(),
                    Some((Message::Failed(why), _)) => return Err(agent.fault(format!("failed: {why}"))),
                    Some(_) => return Err(agent.fault("sent a message out of order")),
                    None => {}
                }
            }
        }
        Ok(())
    }

    fn finish(&self) -> Result<(RemoteResults, Overhead), Error> {
        let mut between = Overhead { clock_limit: self.clock_limit, ..Overhead::default() };
        for agent in &self.agents {
            let later = agent.peer.compare()?;
            let clock = held(&agent.part).clock;
            between.clocks.push((agent.peer.name.clone(), clock.compared(&later)));
        }
        for agent in &self.agents {
            agent.peer.send(&Message::Finish, &[])?;
        }
        let mut all = RemoteResults::default();
        for agent in &self.agents {
            let (returned, carried) = agent.collect()?;
            all.overrun += returned.overrun + carried.refused;
            all.ends.extend(returned.ends);
            all.commands.extend(returned.commands);
            between.from_path.merge(&Histogram::unpack(&carried.took));
            between.lost += carried.lost;
            between.overtaken += carried.overtaken;
            for tunnel in std::mem::take(&mut held(&agent.part).tunnels) {
                let here = held(&tunnel).carried();
                between.to_path.merge(&Histogram::unpack(&here.took));
                between.lost += here.lost;
                between.overtaken += here.overtaken;
            }
        }
        Ok((all, between))
    }
}
