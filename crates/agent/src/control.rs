//! Who asks agents? The host that carries the path: it keeps a line to each of them for all repetitions of a run, knows
//! how far their clocks are ahead, hears at once when one is gone, and collects what they return.

use crate::clocks::Bounds;
use crate::line::{self, BEAT, Ear, Fault, Keys, Line};
use crate::list::Host;
use crate::message::{Carried, Message};
use crate::token::Token;
use crate::way::{BUFFER, Way};
use base::Span;
use emulate::Error;
use emulate::between::{Between, Compared};
use emulate::clock::{Clock, monotonic};
use emulate::device::{Device, Tunnel};
use emulate::elsewhere::{Elsewhere, Orders, Returned};
use emulate::facts::TcpInfo;
use emulate::lateness::Histogram;
use emulate::lent;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Questions for the time, at the start and at the end of a repetition.
const LOOKS: u64 = 32;
/// Servers of a scenario have five seconds until they listen, one after the other.
const PREPARING: Duration = Duration::from_secs(60);
/// What is returned comes within this.
const RETURNING: Duration = Duration::from_secs(60);
/// Calls on a way until the answer comes, and how long each is waited for.
const CALLS: u32 = 10;
const CALL: Duration = Duration::from_millis(200);
/// The greatest number of a way: 24 bits.
const WAYS: u32 = 1 << 24;

fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Agents, ready for a run. Dropped, they are free for others.
#[derive(Debug)]
pub struct Control {
    agents: Vec<Agent>,
    clock_limit: Span,
}

#[derive(Debug)]
struct Agent {
    name: String,
    machines: Vec<String>,
    address: SocketAddr,
    line: Arc<Line>,
    shared: Arc<Shared>,
    inbox: Mutex<Receiver<(Message, Vec<u8>)>>,
    /// What it has of the present repetition.
    part: Mutex<Part>,
    /// Dropped, the heart stops.
    beating: Option<Sender<()>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Part {
    ways: Vec<Arc<Mutex<Way>>>,
    next_way: u32,
    clock: Bounds,
}

/// What the hearing thread tells the others.
#[derive(Debug, Default)]
struct Shared {
    clock: Mutex<(Bounds, BTreeMap<u64, u64>)>,
    looked: Condvar,
    lost: Mutex<Option<String>>,
}

impl Control {
    /// Connects to all of them.
    ///
    /// # Errors
    /// [`Error::Agent`] for the first that is not to be had.
    pub fn connect(hosts: &[(Host, Token)], clock_limit: Span) -> Result<Control, Error> {
        let connected = |(host, token): &(Host, Token)| Agent::connect(host, token);
        Ok(Control { agents: hosts.iter().map(connected).collect::<Result<_, _>>()?, clock_limit })
    }

    /// Each agent: its name, where it is, and how well its clock is known at present.
    pub fn agents(&self) -> Vec<(String, SocketAddr, Compared)> {
        let told = |agent: &Agent| {
            let clock = held(&agent.part).clock;
            (agent.name.clone(), agent.address, clock.compared(&clock))
        };
        self.agents.iter().map(told).collect()
    }
}

impl Agent {
    fn connect(host: &Host, token: &Token) -> Result<Agent, Error> {
        let refused = |fault: Fault| Error::Agent { name: host.name.clone(), why: fault.to_string() };
        let (line, mut ear) = line::connect(host.address, token).map_err(refused)?;
        match ear.hear().map_err(refused)?.0 {
            Message::Welcome(_) => {}
            Message::Busy(with) => return Err(refused(Fault::Busy(with))),
            _ => return Err(refused(Fault::Nonsense("no welcome".to_owned()))),
        }
        let (line, shared) = (Arc::new(line), Arc::new(Shared::default()));
        let (tell, inbox) = channel();
        let (beating, beats) = channel();
        let hearing = (shared.clone(), line.clone());
        let asking = line.clone();
        let shared_too = shared.clone();
        let threads = vec![
            std::thread::spawn(move || hear(&mut ear, &hearing.0, &hearing.1, &tell)),
            std::thread::spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = beats.recv_timeout(BEAT) {
                    ask(&asking, &shared_too);
                }
            }),
        ];
        let agent = Agent {
            name: host.name.clone(),
            machines: host.machines.clone(),
            address: host.address,
            line,
            shared,
            inbox: Mutex::new(inbox),
            part: Mutex::new(Part { next_way: 1, ..Part::default() }),
            beating: Some(beating),
            threads,
        };
        let clock = agent.compare()?;
        held(&agent.part).clock = clock;
        Ok(agent)
    }

    fn fault(&self, why: impl Into<String>) -> Error {
        Error::Agent { name: self.name.clone(), why: why.into() }
    }

    /// That it is gone, if it is.
    fn gone(&self) -> Option<Error> {
        held(&self.shared.lost).clone().map(|why| self.fault(why))
    }

    fn say(&self, message: &Message) -> Result<(), Error> {
        self.line
            .say(message, &[])
            .map_err(|fault| self.gone().unwrap_or_else(|| self.fault(fault.to_string())))
    }

    /// Asks for the time a few times.
    fn compare(&self) -> Result<Bounds, Error> {
        let mut clock = held(&self.shared.clock);
        clock.0 = Bounds::default();
        while clock.0.looks < LOOKS {
            let before = clock.0.looks;
            drop(clock);
            ask(&self.line, &self.shared);
            clock = held(&self.shared.clock);
            while clock.0.looks == before {
                if let Some(error) = self.gone() {
                    return Err(error);
                }
                let waited = self.shared.looked.wait_timeout(clock, Duration::from_millis(100));
                clock = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        Ok(clock.0)
    }

    /// The next message, waited for.
    fn hear(&self, patience: Duration) -> Result<Option<(Message, Vec<u8>)>, Error> {
        match held(&self.inbox).recv_timeout(patience) {
            Ok(heard) => Ok(Some(heard)),
            Err(RecvTimeoutError::Timeout) => self.gone().map_or(Ok(None), Err),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone().unwrap_or_else(|| self.fault("was lost"))),
        }
    }

    /// Sends its part of the orders.
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
            part.ways.clear();
            first
        };
        if first.saturating_add(count) > WAYS {
            return Err(
                self.fault("has had more ways than a run can number; play fewer repetitions in one run")
            );
        }
        self.say(&Message::Prepare(first, part))
    }

    /// Waits until it has what was ordered.
    fn prepared(&self, stop: &AtomicBool) -> Result<(), Error> {
        let mut waited = Duration::ZERO;
        let step = Duration::from_millis(50);
        loop {
            match self.hear(step)? {
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

    /// Opens the way of this number, and sees whether packets come through.
    fn way(&self, number: u32) -> Result<Device, Error> {
        let refused = |error: io::Error| self.fault(format!("cannot be sent packets: {error}"));
        let (ours, _) = self.line.ends().map_err(refused)?;
        let socket = UdpSocket::bind(SocketAddr::new(ours.ip(), 0)).map_err(refused)?;
        socket.connect(self.address).map_err(refused)?;
        socket.set_nonblocking(true).map_err(refused)?;
        lent::deepen(&socket);
        let Keys(keys) = self.line.keys();
        let way = Arc::new(Mutex::new(Way::new(keys, number)));
        let mut pipe = Pipe { socket, way: way.clone(), datagram: vec![0; BUFFER] };
        for _ in 0..CALLS {
            // Refused where nobody listens yet, or any more.
            let _ = pipe.write(&[]);
            lent::readable(&[pipe.as_raw_fd()], CALL.as_millis() as i32);
            if pipe.answered() {
                held(&self.part).ways.push(way);
                return Ok(Device::tunnel(Box::new(pipe)));
            }
        }
        Err(self.fault(format!(
            "hears and says nothing by UDP at port {}: something between the hosts keeps it out",
            self.address.port()
        )))
    }

    /// Collects what it returns.
    fn collect(&self) -> Result<(Returned, Carried), Error> {
        let mut histories: BTreeMap<usize, Vec<(f64, TcpInfo)>> = BTreeMap::new();
        let mut outputs: BTreeMap<(usize, u8), Vec<u8>> = BTreeMap::new();
        loop {
            match self.hear(RETURNING)? {
                Some((Message::History(flow), bytes)) => {
                    let some: Vec<(f64, TcpInfo)> = serde_json::from_slice(&bytes)
                        .map_err(|_| self.fault("sent a history that cannot be read"))?;
                    histories.entry(flow).or_default().extend(some);
                }
                Some((Message::Output(command, which), bytes)) => {
                    let all = outputs.entry((command, which)).or_default();
                    if all.len() as u64 <= lent::MOST_OUTPUT {
                        all.extend(bytes);
                    }
                }
                Some((Message::Done, _)) => {}
                Some((Message::Returned(mut returned, carried), _)) => {
                    for end in returned.ends.iter_mut().filter(|end| end.writes) {
                        end.history = histories.remove(&end.flow).unwrap_or_default();
                    }
                    for command in &mut returned.commands {
                        let mut take = |which| outputs.remove(&(command.command, which)).unwrap_or_default();
                        command.outputs = [take(0), take(1)];
                    }
                    return Ok((returned, carried));
                }
                Some((Message::Failed(why), _)) => return Err(self.fault(format!("failed: {why}"))),
                Some(_) => return Err(self.fault("sent a message out of order")),
                None => return Err(self.fault("does not return what came out")),
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.beating = None;
        self.line.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Asks for the time; whether an answer can come is seen by who hears.
fn ask(line: &Line, shared: &Shared) {
    let number = {
        let mut clock = held(&shared.clock);
        let number = clock.1.last_key_value().map_or(0, |(last, _)| last + 1);
        clock.1.insert(number, monotonic());
        // An answer that never came is forgotten.
        if clock.1.len() > 64 {
            clock.1.pop_first();
        }
        number
    };
    let _ = line.say(&Message::Ping(number), &[]);
}

/// Hears until the agent is gone.
fn hear(ear: &mut Ear, shared: &Shared, line: &Line, tell: &Sender<(Message, Vec<u8>)>) {
    loop {
        match ear.hear() {
            Ok((Message::Pong(number, there), _)) => {
                let back = monotonic();
                let mut clock = held(&shared.clock);
                // The last question stays, so that numbers go on.
                let sent = clock.1.get(&number).copied();
                if let Some(sent) = sent.filter(|sent| *sent > 0) {
                    clock.0.look(sent, there, back);
                    clock.1.insert(number, 0);
                }
                shared.looked.notify_all();
            }
            Ok(heard) => {
                if tell.send(heard).is_err() {
                    return;
                }
            }
            Err(fault) => {
                *held(&shared.lost) = Some(fault.to_string());
                line.close();
                shared.looked.notify_all();
                return;
            }
        }
    }
}

/// This end of a way.
#[derive(Debug)]
struct Pipe {
    socket: UdpSocket,
    way: Arc<Mutex<Way>>,
    datagram: Vec<u8>,
}

impl Pipe {
    /// Whether an answer to a call has come.
    fn answered(&mut self) -> bool {
        while let Ok(n) = self.socket.recv(&mut self.datagram) {
            let bytes = self.datagram.get(..n).unwrap_or_default();
            if held(&self.way).open(bytes, monotonic()).is_some_and(<[u8]>::is_empty) {
                return true;
            }
        }
        false
    }
}

impl AsRawFd for Pipe {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Tunnel for Pipe {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = match self.socket.recv(&mut self.datagram) {
                Ok(n) => n,
                // An agent that is gone is told by its line, with the reason.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(e) => return Err(e),
            };
            let mut way = held(&self.way);
            let bytes = self.datagram.get(..n).unwrap_or_default();
            if let Some(packet) = way.open(bytes, monotonic()).filter(|packet| !packet.is_empty()) {
                let length = packet.len().min(into.len());
                into[..length].copy_from_slice(&packet[..length]);
                return Ok(length);
            }
        }
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        let n = held(&self.way).seal(packet, monotonic(), &mut self.datagram);
        let n = n.ok_or(io::ErrorKind::InvalidInput)?;
        self.socket.send(self.datagram.get(..n).unwrap_or_default()).map(drop)
    }
}

impl Elsewhere for Control {
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
        // Each agent numbers its own ways in the order of its own part.
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
            devices.push(agent.way(*next)?);
            *next += 1;
        }
        for agent in &self.agents {
            let clock = agent.compare()?;
            held(&agent.part).clock = clock;
        }
        Ok(devices)
    }

    fn start(&self, clock: Clock) -> Result<(), Error> {
        for agent in &self.agents {
            let part = held(&agent.part);
            let ahead = part.clock.ahead();
            part.ways.iter().for_each(|way| held(way).reckon(ahead, clock.origin()));
            let origin = clock.origin().saturating_add_signed(ahead);
            drop(part);
            agent.say(&Message::Start(origin, ahead))?;
        }
        Ok(())
    }

    fn attend(&self, over: &AtomicBool, done: &(dyn Fn() + Sync)) -> Result<(), Error> {
        while !over.load(Ordering::Relaxed) {
            for agent in &self.agents {
                match agent.hear(Duration::from_millis(2))? {
                    Some((Message::Done, _)) => done(),
                    Some((Message::Failed(why), _)) => return Err(agent.fault(format!("failed: {why}"))),
                    Some(_) => return Err(agent.fault("sent a message out of order")),
                    None => {}
                }
            }
        }
        Ok(())
    }

    fn finish(&self) -> Result<(Returned, Between), Error> {
        let mut between = Between { clock_limit: self.clock_limit, ..Between::default() };
        for agent in &self.agents {
            let later = agent.compare()?;
            let clock = held(&agent.part).clock;
            between.clocks.push((agent.name.clone(), clock.compared(&later)));
        }
        for agent in &self.agents {
            agent.say(&Message::Finish)?;
        }
        let mut all = Returned::default();
        for agent in &self.agents {
            let (returned, carried) = agent.collect()?;
            all.overrun += returned.overrun + carried.refused;
            all.ends.extend(returned.ends);
            all.commands.extend(returned.commands);
            between.from_path.merge(&Histogram::unpack(&carried.took));
            between.lost += carried.lost;
            between.overtaken += carried.overtaken;
            for way in std::mem::take(&mut held(&agent.part).ways) {
                let here = held(&way).carried();
                between.to_path.merge(&Histogram::unpack(&here.took));
                between.lost += here.lost;
                between.overtaken += here.overtaken;
            }
        }
        Ok((all, between))
    }
}
