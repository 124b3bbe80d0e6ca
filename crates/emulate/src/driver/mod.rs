//! Real-time driver: one thread that reads packets, advances the network and writes due packets.
//!
//! One thread that reads, models and writes. It stamps what it reads, lets the network run up to the present, writes
//! what has become due, and sleeps until the next thing is.
//!
//! Nothing leaves early: a packet is written only when the present is past its due time. Nothing drifts: due
//! times are made of arrival stamps and of the model, never of the moment at which the driver got round to it.

#[cfg(target_os = "linux")]
pub(crate) mod cpu_budget;
pub mod self_check;
#[cfg(target_os = "linux")]
pub mod trigger_socket;

use self::cpu_budget::Strain;
use self::self_check::Plug;
use self::trigger_socket::Ear;
use crate::accuracy::lateness::Timing;
use crate::accuracy::live::Live;
use base::{Span, Time};
use host::{Door, Gate, Machine, Wire};
use lab::capture::doors::{Capture, Note};
use netns::clock::Clock;
use netns::device::Device;
use netns::sys::{self, Waiting};
use path::{Cx, Element, ElementId, Network};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;

/// A door and the device behind it.
#[derive(Debug)]
pub struct Gateway {
    /// The element.
    pub door: ElementId,
    /// Its device, non-blocking.
    pub device: Device,
    /// What kind of door it is.
    pub kind: Kind,
}

/// What a door belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The end of a flow: a [`host::Door`].
    Flow,
    /// A machine: a [`host::Machine`].
    Machine,
    /// A model that lives outside: a [`Plug`].
    Plug,
    /// The end of a wire: a [`host::Wire`].
    Wire,
}

impl Gateway {
    /// Acts through the door.
    fn with<R>(
        &self,
        network: &mut Network,
        at: Time,
        act: impl FnOnce(&mut dyn Gate, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        match self.kind {
            Kind::Flow => network.enter(at, self.door, |door: &mut Door, cx| act(door, cx)),
            Kind::Plug => network.enter(at, self.door, |door: &mut Plug, cx| act(door, cx)),
            Kind::Wire => network.enter(at, self.door, |door: &mut Wire, cx| act(door, cx)),
            Kind::Machine => network.enter(at, self.door, |door: &mut Machine, cx| act(door, cx)),
        }
    }

    /// Sets the time of day at t = 0. Deadlines in headers count from midnight.
    fn set_time_of_day(&self, network: &mut Network, day: Span) {
        fn of<T: Gate + Element>(network: &mut Network, door: ElementId, day: Span) {
            if let Some(door) = network.element_mut::<T>(door) {
                door.set_time_of_day(day);
            }
        }
        match self.kind {
            Kind::Flow => of::<Door>(network, self.door, day),
            Kind::Plug => of::<Plug>(network, self.door, day),
            Kind::Wire => of::<Wire>(network, self.door, day),
            Kind::Machine => of::<Machine>(network, self.door, day),
        }
    }
}

/// A network and its clock.
pub struct Driver {
    /// The network, started.
    pub network: Network,
    /// How exact it was so far.
    pub timing: Timing,
    /// Where packets are kept, if they are; its doors in the order of the gateways, then those of `wired`.
    pub capture: Option<Capture>,
    /// Models that speak with real stacks in bytes, where packets are kept.
    wired: Vec<ElementId>,
    /// Where it is noted now and then how exact it is.
    pub live: Option<Arc<Live>>,
    ear: Option<Ear>,
    clock: Clock,
    gateways: Vec<Gateway>,
    timer: OwnedFd,
    waiting: Waiting,
    /// It has just been told where there is something to read.
    told: bool,
    /// The last look at each device.
    looked: Vec<Time>,
    buffer: Vec<u8>,
    /// How long it may spin and work.
    strain: Strain,
    /// Packets that had left the network when the doors were last emptied.
    absorbed: u64,
}

/// Packets read from one device before the others have their turn.
const DRAIN: usize = 32;
/// Larger than any IP packet.
const BUFFER: usize = 1 << 17;
/// The longest sleep: somebody may want the driver to stop.
const NAP: Span = Span::from_millis(20);
/// Between two notes of how exact it is.
const NOTE: Span = Span::from_millis(200);

impl Driver {
    /// A driver at the origin of `clock`; `spin` as in [`crate::Options`].
    ///
    /// # Errors
    /// The kernel gives no timer.
    pub fn new(network: Network, gateways: Vec<Gateway>, clock: Clock, spin: Span) -> io::Result<Driver> {
        let (timer, mut network) = (sys::timer()?, network);
        for gateway in &gateways {
            gateway.set_time_of_day(&mut network, clock.time_of_day());
        }
        let fds = gateways.iter().map(|g| g.device.as_raw_fd()).chain([timer.as_raw_fd()]);
        Ok(Driver {
            waiting: Waiting::new(fds),
            told: false,
            network,
            timing: Timing::default(),
            capture: None,
            wired: Vec::new(),
            live: None,
            ear: None,
            clock,
            looked: vec![Time::ZERO; gateways.len()],
            gateways,
            timer,
            buffer: vec![0; BUFFER],
            strain: Strain::new(spin),
            absorbed: 0,
        })
    }

    /// Packets that its devices have lost because it did not read them in time, as far as they count them here.
    pub fn overrun(&self) -> u64 {
        self.gateways.iter().map(|gateway| gateway.device.overrun()).sum()
    }

    /// Lets it hear who calls a name of the network.
    pub fn hear(&mut self, ear: Ear) {
        let fds = self.gateways.iter().map(|g| g.device.as_raw_fd());
        self.waiting = Waiting::new(fds.chain([self.timer.as_raw_fd(), ear.fd()]));
        self.ear = Some(ear);
    }

    /// Keeps what passes these models, too.
    pub fn keep_packets_of(&mut self, models: Vec<ElementId>) {
        models.iter().for_each(|&id| host::keep_packets(&mut self.network, id));
        self.wired = models;
    }

    /// Moves to the capture what has passed the models since.
    fn keep(&mut self) {
        let Driver { network, gateways, wired, capture, .. } = self;
        let Some(capture) = capture else { return };
        for (i, &id) in wired.iter().enumerate() {
            for (at, packet) in host::take_packets(network, id) {
                let note = Note { t: at, number: None, after: 0, late: None };
                capture.add(gateways.len() + i, note, &packet);
            }
        }
    }

    /// Starts at the origin of another clock.
    pub fn begin(&mut self, clock: Clock) {
        self.clock = clock;
        for gateway in &self.gateways {
            gateway.set_time_of_day(&mut self.network, self.clock.time_of_day());
        }
    }

    /// Makes the calling thread fit for this: real-time priority if `wanted` and allowed, no timer slack; then
    /// it gives up what rights it has.
    pub fn settle_in(&mut self, wanted: bool) {
        sys::punctual();
        self.timing.realtime = wanted && sys::real_time(sys::DRIVER).is_ok();
        if !self.timing.realtime {
            self.strain.never_spin();
        }
        // A process without rights has none to give up.
        let _ = sys::drop_rights();
    }

    /// Runs until `done`, asked now and then with the present, says so.
    ///
    /// # Errors
    /// The kernel's, of a device that is gone.
    pub fn run(&mut self, mut done: impl FnMut(&mut Network, Time) -> bool) -> io::Result<()> {
        let mut noted = Time::ZERO;
        loop {
            // What is due first: reading costs time even where there is nothing to read.
            self.write_due();
            let busy = self.read_all()?;
            self.keep();
            let now = self.clock.now();
            if let Some(ear) = &self.ear {
                ear.attend(&mut self.network, now);
                self.write_out();
            }
            if let Some(live) = self.live.as_ref().filter(|_| now >= noted) {
                live.note(now, &self.timing);
                noted = now + NOTE;
            }
            if done(&mut self.network, self.clock.now()) {
                return Ok(());
            }
            if self.timing.realtime {
                self.strain.look(now, sys::thread_time);
                if let Some(until) = self.strain.rest() {
                    let rest = std::time::Duration::from_nanos(self.clock.until(until).as_nanos());
                    #[allow(
                        clippy::disallowed_methods,
                        reason = "this is the driver: it rests before the kernel stops it"
                    )]
                    std::thread::sleep(rest);
                }
            }
            if !busy {
                self.sleep()?;
            }
        }
    }

    /// Reads what has come; true if there may be more.
    fn read_all(&mut self) -> io::Result<bool> {
        let mut more = false;
        let told = std::mem::take(&mut self.told);
        for i in 0..self.gateways.len() {
            if told && !self.waiting.ready(i) {
                continue;
            }
            let mut n = 0;
            while n < DRAIN {
                let gateway = &mut self.gateways[i];
                let length = match gateway.device.read(&mut self.buffer) {
                    Ok(length) => length,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => return Err(e),
                };
                n += 1;
                let stamp = self.clock.now();
                self.timing.ingress.add(stamp.since(self.looked[i]));
                let bytes = self.buffer.get(..length).unwrap_or_default();
                let after = self.network.records().len();
                let taken = gateway.with(&mut self.network, stamp, |door, cx| door.take_in(cx, bytes));
                match (taken, &mut self.capture) {
                    (Some(Ok(number)), Some(capture)) => {
                        capture.add(i, Note { t: stamp, number, after, late: None }, bytes);
                    }
                    (Some(Ok(_)), None) => {}
                    _ => self.timing.strange += 1,
                }
                // What became due meanwhile does not wait for the rest.
                self.write_out();
            }
            more |= n == DRAIN;
            self.looked[i] = self.clock.now();
        }
        Ok(more)
    }

    /// Lets the network run up to the present, one instant after the other, and writes what becomes due.
    fn write_due(&mut self) {
        loop {
            let now = self.clock.now();
            match self.network.next_wake() {
                Some(due) if due <= now => {
                    self.network.run_until(due);
                    self.write_out();
                }
                _ => {
                    self.network.run_until(now);
                    return;
                }
            }
        }
    }

    /// Writes what the network has brought to its doors.
    fn write_out(&mut self) {
        let absorbed = self.network.counters().absorbed;
        if std::mem::replace(&mut self.absorbed, absorbed) == absorbed {
            return;
        }
        for (i, gateway) in self.gateways.iter_mut().enumerate() {
            loop {
                let now = self.network.now();
                let next = gateway.with(&mut self.network, now, |door, _| door.next_out());
                let Some(Some(leaving)) = next else { break };
                if gateway.device.write(&leaving.bytes).is_err() {
                    self.timing.refused += 1;
                }
                let written = self.clock.now();
                let late = written.since(leaving.due);
                self.timing.egress.add(late);
                if let Some(capture) = &mut self.capture {
                    let after = self.network.records().len();
                    let note = Note { t: written, number: Some(leaving.id), after, late: Some(late) };
                    capture.add(i, note, &leaving.bytes);
                }
                gateway.with(&mut self.network, now, |door, _| door.give_back(leaving.bytes));
            }
        }
    }

    /// Sleeps until something comes or may be due at a door; what happens inside is caught up with then. The timer is
    /// absolute: however long it took to come here, it goes off when the next thing is due.
    fn sleep(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let due = self.network.next_exit().unwrap_or(Time::NEVER);
        let early = due - self.strain.window();
        if due <= now || (early <= now && self.strain.may_spin(now, due)) {
            return Ok(()); // the next turn comes round at once, and reads what has come meanwhile
        }
        let until = if early > now { early } else { due };
        sys::set_timer(&self.timer, self.clock.raw(until.min(now + NAP)))?;
        for (i, gateway) in self.gateways.iter().enumerate() {
            self.waiting.also_to_write(i, gateway.device.wants_to_write());
        }
        self.waiting.wait()?;
        self.told = true;
        let woken = self.clock.now();
        self.looked.fill(woken);
        Ok(())
    }
}
