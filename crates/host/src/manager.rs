//! Control of a receiver congestion manager: the flows of one node, and their priorities while it runs
//! (Gurtov, overview, section 5.5; catalogue CM-07).
//!
//! A trigger or the scenario's schedule sets a priority. The window manager and the throttles of datagrams
//! follow at that time. No packet passes through this element.

use base::Time;
use base::packet::Packet;
use path::{Cx, Element, Port, Signal};
use std::collections::VecDeque;
use transport::tcp::receiver::WindowManager;

/// How a flow is managed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Managed {
    /// By the receive windows of its connections; its number in the window manager.
    Windows(usize),
    /// By a throttle, which is wired to this port; it gets its fraction of the access link.
    Throttle(u16),
    /// Datagrams without a throttle.
    Free,
}

/// A flow that data reach at this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManagedFlow {
    /// Its name.
    pub name: String,
    /// Weight.
    pub priority: u32,
    /// How it is managed.
    pub managed: Managed,
}

/// State of a managed flow, for a list.
#[derive(Clone, PartialEq, Debug)]
pub struct Listed {
    /// Name of the flow.
    pub name: String,
    /// Weight.
    pub priority: u32,
    /// Connections that receive data; 0 for datagrams.
    pub connections: usize,
    /// Bytes that they may offer together; none for datagrams.
    pub window: Option<u64>,
    /// Bytes that they received in order; none for datagrams.
    pub received: Option<u64>,
    /// Fraction of the access link; none if nothing throttles it.
    pub share: Option<f64>,
}

/// Control of the congestion manager of one node.
pub struct Manager {
    flows: Vec<ManagedFlow>,
    windows: WindowManager,
    /// Changes of the scenario: time, flow, priority.
    script: VecDeque<(Time, usize, u32)>,
}

impl Manager {
    /// With the scenario's changes of priorities: time, index of the flow, priority.
    pub fn new(flows: Vec<ManagedFlow>, windows: WindowManager, mut script: Vec<(Time, usize, u32)>) -> Self {
        script.sort_by_key(|change| change.0);
        Manager { flows, windows, script: script.into() }
    }

    /// Fraction of the access link that flow `flow` gets if all flows have something to receive.
    pub fn fraction(flows: &[ManagedFlow], of: impl Fn(&ManagedFlow) -> bool) -> f64 {
        let sum = |which: &dyn Fn(&ManagedFlow) -> bool| {
            flows.iter().filter(|flow| which(flow)).map(|flow| u64::from(flow.priority)).sum::<u64>()
        };
        sum(&of) as f64 / sum(&|_| true).max(1) as f64
    }

    /// Fraction of the aggregate window for connections: all of it, unless a throttle keeps datagrams to theirs.
    pub fn part_of_connections(flows: &[ManagedFlow]) -> f64 {
        if flows.iter().any(|flow| matches!(flow.managed, Managed::Throttle(_))) {
            Manager::fraction(flows, |flow| matches!(flow.managed, Managed::Windows(_)))
        } else {
            1.0
        }
    }

    fn set(&mut self, cx: &mut Cx<'_>, flow: usize, priority: u32) {
        let Some(known) = self.flows.get_mut(flow) else { return };
        known.priority = priority;
        if let Managed::Windows(number) = known.managed {
            self.windows.set_priority(number, priority);
        }
        self.windows.set_part(Manager::part_of_connections(&self.flows));
        for flow in &self.flows {
            if let Managed::Throttle(port) = flow.managed {
                let share = Manager::fraction(&self.flows, |other| other.name == flow.name);
                cx.signal(Port(port), Signal::Share(share));
            }
        }
    }

    /// The flows and their states at `now`, in the order of the scenario.
    pub fn list(&self, now: Time) -> Vec<Listed> {
        let throttled = Manager::part_of_connections(&self.flows) < 1.0;
        let one = |flow: &ManagedFlow| {
            let state = match flow.managed {
                Managed::Windows(number) => self.windows.state(number, now),
                Managed::Throttle(_) | Managed::Free => None,
            };
            let share = throttled.then(|| Manager::fraction(&self.flows, |other| other.name == flow.name));
            Listed {
                name: flow.name.clone(),
                priority: flow.priority,
                connections: state.map_or(0, |state| state.connections),
                window: state.map(|state| state.window),
                received: state.map(|state| state.received),
                share: share.filter(|_| matches!(flow.managed, Managed::Throttle(_))),
            }
        };
        self.flows.iter().map(one).collect()
    }
}

impl Element for Manager {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.discard(&packet);
    }
    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        if let Signal::Set { number, value } = signal {
            self.set(cx, usize::from(number), value);
        }
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        while let Some(&(at, flow, priority)) = self.script.front()
            && at <= cx.now()
        {
            self.script.pop_front();
            self.set(cx, flow, priority);
        }
    }
    fn next_wake(&self) -> Time {
        self.script.front().map_or(Time::NEVER, |change| change.0)
    }
    /// Nothing leaves it.
    fn next_exit(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}
