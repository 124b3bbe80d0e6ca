//! Virtual-time driver of a network with guest kernels: takes turns in event order, moves packets, fires
//! triggers.
//!
//! The network and the kernels take turns: the one with the earliest event runs. Of events at one time, the
//! network's are first, then packets that leave a network card, then kernels by index. Packets are exchanged
//! between turns while all kernels wait. Therefore no kernel is interrupted while it runs, and a run is
//! deterministic.

use crate::kernel_nodes::{KernelNode, KernelRole, speaks};
use crate::{BOOT, Error, pcu, workload_protocol};
use base::Time;
use host::{ExternalSockets, ExternalUdp, FlowPort, NodePort, PacketPort};
use lab::capture::ports::{Capture, PacketMeta};
use path::{Cx, ElementId, Network};
use radio::pcu::Station;

/// Calls `act` with the packet port of a kernel.
fn through<R>(
    network: &mut Network,
    at: Time,
    (kind, packet_port): (KernelRole, ElementId),
    act: impl FnOnce(&mut dyn PacketPort, &mut Cx<'_>) -> R,
) -> Option<R> {
    match kind {
        KernelRole::Flow => {
            network.enter(at, packet_port, |packet_port: &mut FlowPort, cx| act(packet_port, cx))
        }
        KernelRole::Machine => {
            network.enter(at, packet_port, |packet_port: &mut NodePort, cx| act(packet_port, cx))
        }
        KernelRole::Pcu => None,
    }
}

/// Fires the trigger with index `place`, with `value` if the trigger takes one; returns the time, or `None`
/// without such a trigger.
fn trigger(network: &mut Network, at: Time, place: u64, value: u64) -> Option<Time> {
    let mut name = network.triggers().names().nth(usize::try_from(place).ok()?)?.to_owned();
    if name.ends_with('=') {
        name.push_str(&value.to_string());
    }
    network.trigger(at, &name).then(|| network.now())
}

/// A network and its kernels.
pub struct Driver {
    /// The network, started.
    pub network: Network,
    /// Guest kernels.
    pub kernel_nodes: Vec<KernelNode>,
    /// Elements of model endpoints whose other end is a kernel.
    pub wired: Vec<ElementId>,
    /// Packet capture, if requested; its packet ports are those of the kernels, then those of `wired`.
    pub capture: Option<Capture>,
}

/// Decision before each turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Continue.
    GoOn,
    /// No further datagrams are ordered: request the end of the kernels that send datagrams.
    Hush,
    /// Request the end of programs and workloads; their kernels then write their results.
    End,
    /// Stop.
    Stop,
}

/// Maximum number of consecutive kernel turns at one time, to detect a livelock.
const TURNS: u32 = 200_000;

/// Time of the network, from the calendar time of a kernel.
fn of_guest(ns: u64) -> Time {
    Time::from_nanos(ns.saturating_sub(BOOT.as_nanos()))
}

/// Calendar time of a kernel, from the time of the network.
fn for_guest(t: Time) -> u64 {
    t.as_nanos().saturating_add(BOOT.as_nanos()).min(crate::calendar::NEVER)
}

impl Driver {
    /// Boots every kernel up to t = 0, one after the other, since they cannot exchange packets before.
    ///
    /// # Errors
    /// A kernel dies, hangs, or is not ready at t = 0.
    pub fn boot(&mut self) -> Result<(), Error> {
        let origin = BOOT.as_nanos();
        for kernel_node in &mut self.kernel_nodes {
            let guest = &mut kernel_node.guest;
            guest.boot()?;
            loop {
                if guest.expects() {
                    guest.deliver(guest.now())?;
                }
                // Packets sent before t = 0 are dropped.
                let (at, out) = (guest.next_wake(), guest.next_departure());
                if out <= at && out < origin {
                    guest.depart()?;
                    if guest.expects() {
                        guest.deliver(out)?;
                    }
                } else if at < origin {
                    guest.run(at, origin.min(out), &mut |_, _| origin)?;
                } else if !guest.expects() {
                    break;
                }
            }
            if !guest.state().ready {
                let what = format!("it was not ready {} s after its start", BOOT.as_secs_f64());
                return Err(guest.fault(what));
            }
        }
        Ok(())
    }

    /// Runs until `limit`, until `done` (called before each turn) stops the run, or until there are no more events.
    /// True if `done` stopped the run.
    ///
    /// # Errors
    /// A kernel dies, hangs, or does not advance in time.
    pub fn run(
        &mut self,
        limit: Time,
        mut done: impl FnMut(&Network, &[KernelNode]) -> Next,
    ) -> Result<bool, Error> {
        let mut turns = 0;
        let mut last = Time::ZERO;
        // Messages that the kernels sent before t = 0.
        (0..self.kernel_nodes.len()).for_each(|i| self.listen(i));
        loop {
            self.hand_over()?;
            match done(&self.network, &self.kernel_nodes) {
                Next::GoOn => {}
                Next::Hush => self.end(speaks)?,
                Next::End => self.end(|_, kernel_node| {
                    kernel_node.kind != KernelRole::Flow || kernel_node.remote.is_some()
                })?,
                Next::Stop => return Ok(true),
            }
            let soonest = |(i, kernel_node): (usize, &KernelNode)| (kernel_node.guest.next_wake(), i);
            let (wake, i) = self.kernel_nodes.iter().enumerate().map(soonest).min().unwrap_or((u64::MAX, 0));
            let due = self.network.next_wake().unwrap_or(Time::NEVER);
            let at = of_guest(wake);
            let leaving = |(i, kernel_node): (usize, &KernelNode)| (kernel_node.guest.next_departure(), i);
            let (out, sender) =
                self.kernel_nodes.iter().enumerate().map(leaving).min().unwrap_or((u64::MAX, 0));
            let leaves = of_guest(out);
            if due.min(at).min(leaves) > limit {
                return Ok(false);
            }
            if due <= at && due <= leaves {
                self.network.run_until(due);
                continue;
            }
            if out <= wake {
                self.depart(sender, leaves)?;
                continue;
            }
            turns = if at > last { 0 } else { turns + 1 };
            last = last.max(at);
            if turns > TURNS {
                let what = format!("it stays at {} s for ever", at.as_secs_f64());
                return Err(self.kernel_nodes[i].guest.fault(what));
            }
            self.turn(i, wake, due.min(limit))?;
            self.listen(i);
        }
    }

    /// Moves a packet from a kernel's network card into the network.
    fn depart(&mut self, i: usize, at: Time) -> Result<(), Error> {
        let Driver { network, kernel_nodes, capture, .. } = self;
        let KernelNode { guest, packet_port, kind, .. } = &mut kernel_nodes[i];
        let Some(packet) = guest.depart()? else { return Ok(()) };
        let after = network.records().len();
        let taken =
            through(network, at, (*kind, *packet_port), |packet_port, cx| packet_port.inject(cx, &packet));
        if let (Some(Ok(number)), Some(capture)) = (taken, capture) {
            capture.add(i, PacketMeta { t: at, number, after, late: None }, &packet);
        }
        Ok(())
    }

    /// Processes messages of a kernel's init: connection states, and triggers fired by its programs.
    fn listen(&mut self, i: usize) {
        let Driver { network, kernel_nodes, capture, .. } = self;
        let at = of_guest(kernel_nodes[i].guest.now());
        for word in kernel_nodes[i].guest.words() {
            if let Some((number, name, value)) =
                workload_protocol::call(&word).filter(|_| kernel_nodes[i].kind == KernelRole::Machine)
            {
                let done = trigger(network, at, name, value).map(Time::as_nanos);
                kernel_nodes[i].guest.tell_init(workload_protocol::called(number, done));
                continue;
            }
            if kernel_nodes[i].kind == KernelRole::Pcu {
                if let Some(message) = workload_protocol::pcu_message(&word) {
                    pcu::keep(capture, i, at, &message);
                    let station = kernel_nodes[i].packet_port;
                    network.enter(at, station, |station: &mut Station, cx| station.on_message(cx, &message));
                }
                continue;
            }
            let Some(remote) = kernel_nodes[i].remote else { continue };
            if let Some(standing) = workload_protocol::socket_state(&word) {
                network
                    .enter(at, remote, |remote: &mut ExternalSockets, cx| remote.update(cx.now(), standing));
            } else if let Some(ordinal) = workload_protocol::datagram_received(&word) {
                network.enter(at, remote, |external_udp: &mut ExternalUdp, cx| {
                    external_udp.receive(cx.now(), ordinal)
                });
            }
        }
    }

    /// Requests the end of the work of the kernels that `who` selects, at the latest time that any kernel may have
    /// reached; the network runs up to this time before.
    fn end(&mut self, who: impl Fn(&Network, &KernelNode) -> bool) -> Result<(), Error> {
        let latest = self.kernel_nodes.iter().map(|kernel_node| kernel_node.guest.reach()).max().unwrap_or(0);
        self.network.run_until(of_guest(latest));
        for kernel_node in &mut self.kernel_nodes {
            if who(&self.network, kernel_node) {
                kernel_node.guest.tell_init(workload_protocol::END.to_vec());
            }
        }
        self.hand_over()
    }

    /// Runs one kernel until the next event of the network or of another kernel.
    fn turn(&mut self, i: usize, wake: u64, due: Time) -> Result<(), Error> {
        let others = self.kernel_nodes.iter().enumerate().filter(|(k, _)| *k != i);
        let free = others
            .map(|(_, kernel_node)| kernel_node.guest.next_wake())
            .min()
            .unwrap_or(u64::MAX)
            .min(for_guest(due));
        let out = self
            .kernel_nodes
            .iter()
            .map(|kernel_node| kernel_node.guest.next_departure())
            .min()
            .unwrap_or(u64::MAX);
        let free = free.min(out);
        let Driver { network, kernel_nodes, capture, .. } = self;
        let KernelNode { guest, packet_port, kind, .. } = &mut kernel_nodes[i];
        // Packets that wait for a free receive buffer are delivered before the kernel advances.
        let free = if guest.expects() { wake } else { free };
        guest.run(wake, free, &mut |now, packet| {
            let before = network.counters().absorbed;
            let at = of_guest(now);
            let after = network.records().len();
            let taken =
                through(network, at, (*kind, *packet_port), |packet_port, cx| packet_port.inject(cx, packet));
            if let (Some(Ok(number)), Some(capture)) = (taken, &mut *capture) {
                capture.add(i, PacketMeta { t: at, number, after, late: None }, packet);
            }
            // A packet has crossed the network without delay: stop the kernel, so that the packet is
            // delivered now.
            let through = network.counters().absorbed != before;
            let next = network.next_wake().unwrap_or(Time::NEVER);
            if through { now } else { free.min(for_guest(next)) }
        })
    }

    /// Moves packets from packet ports to their kernels, and reports departures to the network.
    fn hand_over(&mut self) -> Result<(), Error> {
        let now = self.network.now();
        for (i, kernel_node) in self.kernel_nodes.iter_mut().enumerate() {
            while let Some(Some(leaving)) = through(
                &mut self.network,
                now,
                (kernel_node.kind, kernel_node.packet_port),
                |packet_port, _| packet_port.next_departure(),
            ) {
                if let Some(capture) = &mut self.capture {
                    let after = self.network.records().len();
                    let (t, number) = (leaving.due, Some(leaving.id));
                    capture.add(i, PacketMeta { t, number, after, late: None }, &leaving.bytes);
                }
                kernel_node.guest.push(leaving.bytes);
            }
            if kernel_node.kind == KernelRole::Pcu {
                while let Some(Some(message)) =
                    self.network.enter(now, kernel_node.packet_port, |station: &mut Station, _| {
                        station.next_message()
                    })
                {
                    pcu::keep(&mut self.capture, i, now, &message);
                    kernel_node.guest.tell_init(workload_protocol::message(&message));
                }
            }
            let Some(remote) = kernel_node.remote else { continue };
            while let Some(Some(order)) =
                self.network.enter(now, remote, |remote: &mut ExternalSockets, _| remote.next_order())
            {
                kernel_node.guest.tell_init(workload_protocol::order(order));
            }
            while let Some(Some(datagram)) =
                self.network.enter(now, remote, |external_udp: &mut ExternalUdp, _| external_udp.next_order())
            {
                kernel_node.guest.tell_init(workload_protocol::send_datagram(datagram));
            }
        }
        self.keep();
        self.deliver()
    }

    /// Moves recorded packets of the models to the packet capture.
    fn keep(&mut self) {
        let Driver { network, kernel_nodes, wired, capture } = self;
        let Some(capture) = capture else { return };
        for (i, &id) in wired.iter().enumerate() {
            for (at, packet) in host::take_packets(network, id) {
                let note = PacketMeta { t: at, number: None, after: 0, late: None };
                capture.add(kernel_nodes.len() + i, note, &packet);
            }
        }
    }

    /// Delivers queued packets to each kernel.
    fn deliver(&mut self) -> Result<(), Error> {
        let now = for_guest(self.network.now());
        for kernel_node in self.kernel_nodes.iter_mut().filter(|kernel_node| kernel_node.guest.expects()) {
            kernel_node.guest.deliver(now)?;
        }
        Ok(())
    }
}
