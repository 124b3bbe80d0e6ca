//! Network element that controls a node's receiver congestion manager: priorities of flows, set by schedule
//! or trigger, as receive windows and throttle shares.
//!
//! Source: Gurtov, overview, section 5.5 (catalogue CM-07). Window manager and throttles of datagrams change
//! at the time of the event. No packet passes through this element.

use base::Time;
use base::packet::Packet;
use path::{Cx, Element, Port, Signal};
use std::collections::VecDeque;
use transport::tcp::receiver::WindowManager;

/// How the congestion manager controls a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Managed {
    /// By the receive windows of its connections; value: number of the flow in the window manager.
    Windows(usize),
    /// By a throttle, which is wired to this port and gets the flow's fraction of the access link.
    Throttle(u16),
    /// Not at all: datagrams without a throttle.
    Free,
}

/// A flow that carries data to this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManagedFlow {
    /// Name of the flow.
    pub name: String,
    /// Weight of the flow.
    pub priority: u32,
    /// How the flow is controlled.
    pub managed: Managed,
}

/// State of a managed flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Listed {
    /// Name of the flow.
    pub name: String,
    /// Weight.
    pub priority: u32,
    /// Number of connections that receive data; 0 for datagrams.
    pub connections: usize,
    /// Sum of the windows that its connections may advertise, bytes; none for datagrams.
    pub window: Option<u64>,
    /// Bytes that its connections received in order; none for datagrams.
    pub received: Option<u64>,
    /// Fraction of the access link that a throttle allows; none without a throttle.
    pub share: Option<f64>,
}

/// Control of the congestion manager of one node.
pub struct Manager {
    flows: Vec<ManagedFlow>,
    windows: WindowManager,
    /// Pending changes of the schedule: time, index of the flow, priority.
    script: VecDeque<(Time, usize, u32)>,
}

impl Manager {
    /// Congestion manager of these flows, with the schedule's changes of priorities: time, index of the flow,
    /// priority.
    pub fn new(flows: Vec<ManagedFlow>, windows: WindowManager, mut script: Vec<(Time, usize, u32)>) -> Self {
        script.sort_by_key(|change| change.0);
        Manager { flows, windows, script: script.into() }
    }

    /// Fraction of the access link for the flows that `of` selects, if all flows have data to receive.
    pub fn fraction(flows: &[ManagedFlow], of: impl Fn(&ManagedFlow) -> bool) -> f64 {
        let sum = |which: &dyn Fn(&ManagedFlow) -> bool| {
            flows.iter().filter(|flow| which(flow)).map(|flow| u64::from(flow.priority)).sum::<u64>()
        };
        sum(&of) as f64 / sum(&|_| true).max(1) as f64
    }

    /// Fraction of the aggregate window for connections: 1, unless a throttle limits datagrams to their
    /// share.
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

    /// Managed flows and their states at `now`, in the order of the scenario.
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
    /// No packet leaves this element.
    fn next_exit(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}
