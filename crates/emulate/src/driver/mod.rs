//! Real-time driver of an emulation (`Driver`): one thread that reads packets from devices, advances the network, and
//! writes due packets.
//!
//! A packet gets a time stamp when it is read, and is written only after its due time, so no packet leaves early. Due
//! times are computed from arrival stamps and the model, never from the time at which the driver runs, so there is no
//! drift. A driver that spins executes events up to 5 us before their time, and then waits for the due time of the packet.
//!
//! With segmentation offload a large packet is cut when it is read: each segment enters the network by itself, all of
//! them at the time of the read. Segments that are due at one wake-up may leave as a large packet ([`egress`]).

#[cfg(target_os = "linux")]
pub(crate) mod cpu_budget;
#[cfg(target_os = "linux")]
mod egress;
pub mod self_check;
#[cfg(target_os = "linux")]
pub mod trigger_socket;

use self::cpu_budget::CpuBudget;
use self::egress::{Batch, HOLD, Leaving};
use self::self_check::ModelPort;
use self::trigger_socket::TriggerListener;
use crate::accuracy::lateness::Timing;
use crate::accuracy::live::Live;
use crate::accuracy::wake_up::WakeUpLatency;
use base::{Span, Time};
use host::{FlowPort, FramePort, NodePort, PacketPort};
use lab::capture::ports::{Capture, PacketMeta};
use netns::clock::Clock;
use netns::device::Device;
use netns::sys::{self, PollSet};
use path::{Cx, Element, ElementId, Network};
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;

/// Packet port with its device.
#[derive(Debug)]
pub struct Gateway {
    /// Element of the packet port.
    pub packet_port: ElementId,
    /// Non-blocking device.
    pub device: Device,
    /// Kind of packet port.
    pub kind: PortOwner,
}

/// Owner of a packet port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortOwner {
    /// Flow end: a [`host::FlowPort`].
    Flow,
    /// Node: a [`host::NodePort`].
    Machine,
    /// Model outside of the network: a [`ModelPort`].
    ModelPort,
    /// End of a wire: a [`host::FramePort`].
    Wire,
}

impl Gateway {
    /// Calls `act` with the packet port at the time `at`.
    fn with<R>(
        &self,
        network: &mut Network,
        at: Time,
        act: impl FnOnce(&mut dyn PacketPort, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        match self.kind {
            PortOwner::Flow => {
                network.enter(at, self.packet_port, |packet_port: &mut FlowPort, cx| act(packet_port, cx))
            }
            PortOwner::ModelPort => {
                network.enter(at, self.packet_port, |packet_port: &mut ModelPort, cx| act(packet_port, cx))
            }
            PortOwner::Wire => {
                network.enter(at, self.packet_port, |packet_port: &mut FramePort, cx| act(packet_port, cx))
            }
            PortOwner::Machine => {
                network.enter(at, self.packet_port, |packet_port: &mut NodePort, cx| act(packet_port, cx))
            }
        }
    }

    /// The packet port, for what needs no time.
    fn port<'a>(&self, network: &'a mut Network) -> Option<&'a mut dyn PacketPort> {
        fn of<T: PacketPort + Element>(network: &mut Network, id: ElementId) -> Option<&mut dyn PacketPort> {
            network.element_mut::<T>(id).map(|packet_port| packet_port as &mut dyn PacketPort)
        }
        match self.kind {
            PortOwner::Flow => of::<FlowPort>(network, self.packet_port),
            PortOwner::ModelPort => of::<ModelPort>(network, self.packet_port),
            PortOwner::Wire => of::<FramePort>(network, self.packet_port),
            PortOwner::Machine => of::<NodePort>(network, self.packet_port),
        }
    }

    /// Sets the time of day at t = 0, since deadlines in headers count from midnight.
    fn set_time_of_day(&self, network: &mut Network, day: Span) {
        if let Some(packet_port) = self.port(network) {
            packet_port.set_time_of_day(day);
        }
    }
}

/// Real-time driver: a network, its packet ports and a clock.
pub struct Driver {
    /// Network, started.
    pub network: Network,
    /// Timing accuracy so far.
    pub timing: Timing,
    /// Capture, if packets are recorded. Its ports are those of the gateways, followed by those of `wired`.
    pub capture: Option<Capture>,
    /// Models opposite a real stack whose packets are captured.
    wired: Vec<ElementId>,
    /// Live counters, if they are displayed.
    pub live: Option<Arc<Live>>,
    /// Trigger socket, if the run has one.
    ear: Option<TriggerListener>,
    clock: Clock,
    /// Last reading of the clock.
    present: Time,
    gateways: Vec<Gateway>,
    /// Departures of each device that are not written yet.
    batches: Vec<Batch>,
    /// Time since which a batch is open.
    held: Option<Time>,
    /// Latency of wake-ups by timeout.
    latency: WakeUpLatency,
    /// Due time of the last sleep, and the time before it at which the sleep ends.
    led: (Time, Time),
    /// Descriptors to poll: devices, trigger socket.
    waiting: PollSet,
    /// `waiting` was just polled, so its readiness is valid.
    notified: bool,
    /// Time of the last read of each device, or of the last wake-up if that is later.
    looked: Vec<Time>,
    buffer: Vec<u8>,
    /// CPU budget of the thread.
    cpu_budget: CpuBudget,
    /// Number of packets that had reached packet ports when the packet ports were last emptied.
    absorbed: u64,
}

/// Maximum number of packets read from one device before the next device is read.
const DRAIN: usize = 32;
/// Buffer size; larger than any IP packet.
const BUFFER: usize = 1 << 17;
/// Time before their due time at which a spinning driver executes events: longer than one turn of its loop. Code and
/// state of the path are then in the cache when the packet is due. A packet read meanwhile enters at most this late.
const AHEAD: Span = Span::from_nanos(5_000);
/// Longest sleep: a stop request is noticed within this time.
const NAP: Span = Span::from_millis(20);
/// Interval between updates of `live`.
const NOTE: Span = Span::from_millis(200);

impl Driver {
    /// Driver at the origin of `clock`; `spin` as in [`crate::Options`].
    ///
    pub fn new(mut network: Network, gateways: Vec<Gateway>, clock: Clock, spin: Span) -> Driver {
        for gateway in &gateways {
            gateway.set_time_of_day(&mut network, clock.time_of_day());
        }
        let fds = gateways.iter().map(|g| g.device.as_raw_fd());
        let offload = !gateways.iter().any(|gateway| gateway.device.lacks_offload());
        Driver {
            waiting: PollSet::new(fds),
            notified: false,
            network,
            timing: Timing { offload, ..Timing::default() },
            capture: None,
            wired: Vec::new(),
            live: None,
            ear: None,
            clock,
            present: Time::ZERO,
            looked: vec![Time::ZERO; gateways.len()],
            batches: gateways.iter().map(|gateway| Batch::new(&gateway.device)).collect(),
            held: None,
            gateways,
            latency: WakeUpLatency::default(),
            led: (Time::ZERO, Time::ZERO),
            buffer: vec![0; BUFFER],
            cpu_budget: CpuBudget::new(spin),
            absorbed: 0,
        }
    }

    /// Packets dropped by the devices because they were not read in time, as far as the devices count them.
    pub fn overrun(&self) -> u64 {
        self.gateways.iter().map(|gateway| gateway.device.overrun()).sum()
    }

    /// Attaches the trigger socket.
    pub fn hear(&mut self, ear: TriggerListener) {
        let fds = self.gateways.iter().map(|g| g.device.as_raw_fd());
        self.waiting = PollSet::new(fds.chain([ear.fd()]));
        self.ear = Some(ear);
    }

    /// Captures the packets of these models as well (see `wired`).
    pub fn keep_packets_of(&mut self, models: Vec<ElementId>) {
        models.iter().for_each(|&id| host::keep_packets(&mut self.network, id));
        self.wired = models;
    }

    /// Moves packets recorded at the models to the capture.
    fn keep(&mut self) {
        let Driver { network, gateways, wired, capture, .. } = self;
        let Some(capture) = capture else { return };
        for (i, &id) in wired.iter().enumerate() {
            for (at, packet) in host::take_packets(network, id) {
                let note = PacketMeta { t: at, number: None, after: 0, late: None };
                capture.add(gateways.len() + i, note, &packet);
            }
        }
    }

    /// Restarts at the origin of another clock.
    pub fn begin(&mut self, clock: Clock) {
        self.clock = clock;
        (self.present, self.led) = (Time::ZERO, (Time::ZERO, Time::ZERO));
        for gateway in &self.gateways {
            gateway.set_time_of_day(&mut self.network, self.clock.time_of_day());
        }
    }

    /// Reads the clock.
    fn look(&mut self) -> Time {
        self.present = self.clock.now();
        self.present
    }

    /// Prepares the calling thread: real-time priority if `wanted` and permitted, no timer slack, no privileges any
    /// more.
    pub fn settle_in(&mut self, wanted: bool) {
        sys::punctual();
        self.timing.realtime = wanted && sys::real_time(sys::DRIVER).is_ok();
        if !self.timing.realtime {
            self.cpu_budget.never_spin();
        }
        // An unprivileged process has nothing to drop.
        let _ = sys::drop_rights();
    }

    /// Runs until `done` returns true; `done` is called regularly with the current time.
    ///
    /// # Errors
    /// An error of the kernel, for example of a removed device.
    pub fn run(&mut self, mut done: impl FnMut(&mut Network, Time) -> bool) -> io::Result<()> {
        let mut noted = Time::ZERO;
        loop {
            // Due packets are written first, since reading takes time even without packets.
            self.write_due();
            let busy = self.read_all()?;
            self.keep();
            let now = self.clock.now();
            if let Some(ear) = &self.ear {
                ear.attend(&mut self.network, now);
                self.collect();
                self.flush();
            }
            if let Some(live) = self.live.as_ref().filter(|_| now >= noted) {
                live.note(now, &self.timing);
                noted = now + NOTE;
            }
            if done(&mut self.network, self.clock.now()) {
                return Ok(());
            }
            if self.timing.realtime {
                self.cpu_budget.look(now, || self.latency.third_quartile(), sys::thread_time);
                if let Some(until) = self.cpu_budget.rest() {
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

    /// Reads waiting packets from all devices; true if more may wait.
    fn read_all(&mut self) -> io::Result<bool> {
        let mut more = false;
        let notified = std::mem::take(&mut self.notified);
        for i in 0..self.gateways.len() {
            if notified && !self.waiting.ready(i) {
                continue;
            }
            let woke = notified && self.waiting.readable(i);
            let (mut n, mut stamp) = (0, Time::ZERO);
            loop {
                let gateway = &mut self.gateways[i];
                // The segments of a large packet have arrived at one instant.
                let arrived = gateway.device.has_segments();
                if n >= DRAIN && !arrived {
                    break;
                }
                let length = match gateway.device.read(&mut self.buffer) {
                    Ok(length) => length,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => return Err(e),
                };
                n += 1;
                if !arrived {
                    // A packet that ended the sleep had arrived by then, which is the network's time.
                    let there = self.network.now();
                    stamp = if woke && n == 1 { there } else { self.look().max(there) };
                }
                self.timing.ingress.add(stamp.since(self.looked[i]));
                let bytes = self.buffer.get(..length).unwrap_or_default();
                let after = self.network.records().len();
                let taken =
                    self.gateways[i].with(&mut self.network, stamp, |port, cx| port.inject(cx, bytes));
                match (taken, &mut self.capture) {
                    (Some(Ok(number)), Some(capture)) => {
                        capture.add(i, PacketMeta { t: stamp, number, after, late: None }, bytes);
                    }
                    (Some(Ok(_)), None) => {}
                    _ => self.timing.strange += 1,
                }
                // Packets that became due in the meantime do not wait for the other devices.
                self.collect();
                self.flush_by(stamp);
            }
            self.flush();
            more |= n >= DRAIN;
            self.looked[i] = self.look();
        }
        Ok(more)
    }

    /// Advances the network to the present, event by event, and writes due packets. A driver that spins executes events
    /// that are due soon.
    fn write_due(&mut self) {
        // The end of a sleep was read from the clock.
        let mut now = if self.notified { self.present } else { self.look() };
        let spins = !self.cpu_budget.window().is_zero() || (now < self.led.0 && now >= self.led.1);
        let ahead = if spins { AHEAD } else { Span::ZERO };
        loop {
            self.flush_by(now);
            match self.network.next_wake() {
                Some(due) if due <= now + ahead => {
                    self.network.run_until(due);
                    self.collect();
                    now = self.look();
                }
                _ => {
                    self.network.run_until(now);
                    return self.flush();
                }
            }
        }
    }

    /// Takes the packets that have reached the packet ports: segments that may be joined to the batches, all others to
    /// their devices.
    fn collect(&mut self) {
        let absorbed = self.network.counters().absorbed;
        if std::mem::replace(&mut self.absorbed, absorbed) == absorbed {
            return;
        }
        for i in 0..self.gateways.len() {
            loop {
                let packet_port = self.gateways[i].port(&mut self.network);
                let Some(departure) = packet_port.and_then(|port| port.next_departure()) else { break };
                let leaving = Leaving { departure, after: self.network.records().len() };
                self.depart(i, leaving);
            }
        }
    }

    /// Adds a packet to the batch of its device, or writes it behind the batch.
    fn depart(&mut self, i: usize, leaving: Leaving) {
        if !self.gateways[i].device.offloads() {
            return self.write_one(i, leaving);
        }
        let fast = self.batches[i].is_fast(leaving.departure.due);
        let mut left = if fast { self.batches[i].add(leaving) } else { Some(leaving) };
        if left.is_some() && self.batches[i].is_open() {
            self.write_batch(i);
            left = left.and_then(|leaving| if fast { self.batches[i].add(leaving) } else { Some(leaving) });
        }
        match left {
            Some(leaving) => self.write_one(i, leaving),
            None if self.batches[i].is_ended() => self.write_batch(i),
            None if self.held.is_none() => self.held = Some(self.present),
            None => {}
        }
    }

    /// Writes all batches.
    fn flush(&mut self) {
        if self.held.take().is_some() {
            (0..self.batches.len()).for_each(|i| self.write_batch(i));
        }
    }

    /// Writes all batches if one is open for long at the time `now`.
    fn flush_by(&mut self, now: Time) {
        if self.held.is_some_and(|since| now.since(since) > HOLD) {
            self.flush();
        }
    }

    fn write_batch(&mut self, i: usize) {
        if !self.batches[i].is_open() {
            return;
        }
        self.await_due(self.batches[i].due());
        let (segments, taken) = self.batches[i].write(&mut self.gateways[i].device);
        let (mut segments, written) = (segments, self.look());
        for leaving in segments.drain(..) {
            self.note(i, leaving, (written, taken));
        }
        self.batches[i].reuse(segments);
    }

    fn write_one(&mut self, i: usize, leaving: Leaving) {
        self.await_due(leaving.departure.due);
        let taken = self.gateways[i].device.write(&leaving.departure.bytes).is_ok();
        let written = self.look();
        self.note(i, leaving, (written, taken));
    }

    /// Waits for a due time that the network has reached, at most [`AHEAD`].
    fn await_due(&mut self, due: Time) {
        while self.present < due {
            std::hint::spin_loop();
            self.look();
        }
    }

    /// Records a packet: the time at which it was written, and whether the kernel took it.
    fn note(&mut self, i: usize, Leaving { departure, after }: Leaving, (written, taken): (Time, bool)) {
        self.timing.refused += u64::from(!taken);
        let late = written.since(departure.due);
        self.timing.egress.add(late);
        if let Some(capture) = &mut self.capture {
            let note = PacketMeta { t: written, number: Some(departure.id), after, late: Some(late) };
            capture.add(i, note, &departure.bytes);
        }
        if let Some(packet_port) = self.gateways[i].port(&mut self.network) {
            packet_port.recycle(departure.bytes);
        }
    }

    /// Sleeps until a packet arrives, or until the spin window before the next time at which a packet can leave by
    /// a packet port; events inside of the network need no wake-up. Without a spin window the sleep ends early by the
    /// latency of wake-ups ([`WakeUpLatency`]).
    fn sleep(&mut self) -> io::Result<()> {
        let now = self.look();
        let due = self.network.next_exit().unwrap_or(Time::NEVER);
        let window = self.cpu_budget.window();
        let leads = window.is_zero() && self.timing.realtime;
        if leads && self.led.0 != due {
            self.led = (due, due - self.latency.lead(due.since(now)));
        }
        let early = if leads { self.led.1 } else { due - window };
        if due <= now || (early <= now && (leads || self.cpu_budget.may_spin(now, due))) {
            return Ok(()); // the next turn starts at once and reads new packets
        }
        let until = (if early > now { early } else { due }).min(now + NAP);
        for (i, gateway) in self.gateways.iter().enumerate() {
            self.waiting.also_to_write(i, gateway.device.wants_to_write());
        }
        self.waiting.wait(self.clock.until(until))?;
        self.notified = true;
        let woken = self.look();
        self.looked.fill(woken);
        // Sleeps that a packet ended late count too: those without a packet are the quick wake-ups.
        if woken >= until {
            self.latency.add(woken.since(until));
        }
        Ok(())
    }
}
