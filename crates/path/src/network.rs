//! How do elements run together? An arena of them, one pending wake-up each, and an outbox that
//! delivers what they send in the order they sent it. The network is driven from outside: told up to
//! when to run, it executes everything due in order, each thing at its own scheduled time.

use crate::element::{Core, Counters, Cx, Element, ElementId, Parcel, Port, Signal};
use crate::schedule::Schedule;
use crate::wires::Wires;
use base::Time;
use base::packet::Packet;
use base::pool::Pool;
use base::trace::Tracer;
use base::truth::Ledger;
use std::any::Any;

/// A network under construction or running.
pub struct Network {
    elements: Vec<Box<dyn Element>>,
    schedule: Schedule,
    core: Core,
    /// What was in the outbox, while it is delivered.
    batch: Vec<Parcel>,
    now: Time,
}

impl Network {
    /// An empty network for `flows` flows.
    pub fn new(flows: usize, tracer: Tracer) -> Self {
        Network {
            elements: Vec::new(),
            schedule: Schedule::new(0),
            core: Core {
                pool: Pool::new(),
                tracer,
                ledgers: (0..2 * flows).map(|_| Ledger::default()).collect(),
                outbox: Vec::new(),
                wires: Wires::default(),
                counters: Counters::default(),
            },
            batch: Vec::new(),
            now: Time::ZERO,
        }
    }

    /// Adds an element. Add those further downstream first: at equal times they run first.
    pub fn add(&mut self, element: impl Element) -> ElementId {
        self.elements.push(Box::new(element));
        ElementId(self.elements.len() as u32 - 1)
    }

    /// Leads `from`'s port `out` to `to`'s port `into`.
    pub fn wire(&mut self, from: ElementId, out: Port, to: ElementId, into: Port) {
        self.core.wires.note(from, out, (to, into));
    }

    /// Ends construction: asks every element for its first wake-up.
    pub fn start(&mut self, shuffle_ties: Option<u64>) {
        self.schedule = Schedule::new(self.elements.len());
        self.core.wires.lay(self.elements.len());
        if let Some(seed) = shuffle_ties {
            self.schedule.shuffle_ties(seed);
        }
        for (i, element) in self.elements.iter().enumerate() {
            self.schedule.set(i, element.next_wake());
        }
    }

    /// When something is next due; `None`: never again.
    pub fn next_wake(&self) -> Option<Time> {
        self.schedule.first().map(|(t, _)| t)
    }

    /// Executes everything due up to and including `t`, in order, each at its own time.
    pub fn run_until(&mut self, t: Time) {
        while let Some((due, i)) = self.schedule.first() {
            if due > t {
                break;
            }
            self.wake(due, i);
        }
        self.now = self.now.max(t);
    }

    /// Executes wake-ups until `done` says so (asked after each), nothing is due any more, or
    /// something would be due after `limit`. True if `done` said so.
    pub fn run_while(&mut self, limit: Time, mut done: impl FnMut(&Network) -> bool, every: u32) -> bool {
        loop {
            for _ in 0..every {
                match self.schedule.first() {
                    Some((due, i)) if due <= limit => self.wake(due, i),
                    _ => return done(self),
                }
            }
            if done(self) {
                return true;
            }
        }
    }

    #[inline]
    fn wake(&mut self, due: Time, i: usize) {
        debug_assert!(due >= self.now, "time went back");
        self.now = due;
        self.core.counters.wakes += 1;
        let element = &mut self.elements[i];
        let next = element.wake(&mut Cx { now: due, me: ElementId(i as u32), core: &mut self.core });
        self.schedule.set(i, next);
        self.settle();
    }

    /// Delivers what is in the outbox, and then what that caused, in the order in which it was sent.
    #[inline]
    fn settle(&mut self) {
        while !self.core.outbox.is_empty() {
            std::mem::swap(&mut self.core.outbox, &mut self.batch);
            for Parcel { packet, to, port } in &self.batch {
                let (to, port) = (*to, Port(*port as u16));
                let i = to.0 as usize;
                let element = &mut self.elements[i];
                let mut cx = Cx { now: self.now, me: to, core: &mut self.core };
                let next = element.arrive(&mut cx, port, packet);
                self.schedule.no_later(i, next);
            }
            self.batch.clear();
        }
    }

    /// Puts a packet in from outside, at `at` or at the present if that is later.
    pub fn inject(&mut self, at: Time, to: ElementId, port: Port, packet: Packet) {
        self.run_until(at);
        self.core.outbox.push(Parcel { packet, to, port: u32::from(port.0) });
        self.settle();
    }

    /// Tells an element something, at `at` or at the present if that is later. Everything due before
    /// is executed first.
    pub fn signal(&mut self, at: Time, to: ElementId, signal: Signal) {
        self.run_until(at);
        let i = to.0 as usize;
        let element = &mut self.elements[i];
        element.on_signal(&mut Cx { now: self.now, me: to, core: &mut self.core }, signal);
        let next = element.next_wake();
        self.schedule.set(i, next);
        self.settle();
    }

    /// Lets somebody outside act through an element, at `at` or at the present if that is later: how a
    /// driver hands a door what came, and takes what goes. Everything due before is executed first. `None`,
    /// and nothing happens, if the element is no `T`.
    pub fn enter<T: Element, R>(
        &mut self,
        at: Time,
        id: ElementId,
        act: impl FnOnce(&mut T, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        self.element::<T>(id)?;
        self.run_until(at);
        let i = id.0 as usize;
        let any: &mut dyn Any = &mut **self.elements.get_mut(i)?;
        let element = any.downcast_mut::<T>()?;
        let done = act(element, &mut Cx { now: self.now, me: id, core: &mut self.core });
        let next = element.next_wake();
        self.schedule.set(i, next);
        self.settle();
        Some(done)
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.now
    }
    /// The counters.
    pub fn counters(&self) -> Counters {
        self.core.counters
    }
    /// What really happened, two ledgers per flow.
    pub fn ledgers(&self) -> &[Ledger] {
        &self.core.ledgers
    }
    /// The recorder.
    pub fn tracer(&mut self) -> &mut Tracer {
        &mut self.core.tracer
    }
    /// What was recorded so far, in order of recording.
    pub fn records(&self) -> &[base::event::Record] {
        self.core.tracer.records()
    }
    /// Bodies in the pool; as many as there are packets with a body inside elements.
    pub fn bodies(&self) -> u32 {
        self.core.pool.live()
    }
    /// Packets inside elements.
    pub fn packets_inside(&self) -> usize {
        self.elements.iter().map(|e| e.holds()).sum()
    }
    /// An element as what it is.
    pub fn element<T: Element>(&self, id: ElementId) -> Option<&T> {
        let any: &dyn Any = &**self.elements.get(id.0 as usize)?;
        any.downcast_ref()
    }
}
