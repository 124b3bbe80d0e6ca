//! Receiver congestion manager: one receive window for all connections of a host, split by priority (Gurtov, overview,
//! section 5.5; catalogue CM-01, CM-02, CM-05, CM-06, CM-07, CM-08).
//!
//! The aggregate is slightly above the bandwidth-delay product of the access link. Where the host knows the
//! link's rate, link-layer hints set the aggregate over time, and a handover to a fast link opens the windows at once.
//! Otherwise additive increase and multiplicative decrease estimate the aggregate: one segment more per aggregate
//! window received, half when data are missing. An offered right edge never retreats (RFC 9293 section
//! 3.8.6.2.1), so that a smaller share takes effect as data arrive.

use super::Receiver;
use base::Time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Source of the aggregate window.
#[derive(Clone, PartialEq, Debug)]
pub enum Aggregate {
    /// From the access rate: ascending times, each with the window in bytes from then on; the first also
    /// applies before its time.
    Known(Vec<(Time, u64)>),
    /// Estimated by additive increase and multiplicative decrease, starting at this many bytes.
    Estimated(u64),
}

#[derive(Debug)]
struct Inner {
    aggregate: Aggregate,
    /// Estimate of the aggregate window, bytes; used with [`Aggregate::Estimated`].
    estimate: f64,
    /// Bytes received by all members.
    received: u64,
    /// Value of `received` before which the estimate is not decreased again.
    decrease_after: u64,
    /// Fraction of a known aggregate for connections; the rest is for datagrams.
    part: f64,
    /// Priority of each flow.
    flows: Vec<u32>,
    members: Vec<Member>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    flow: usize,
    active: bool,
    /// Bytes received in order.
    received: u64,
    /// Minimum share of the connection, bytes.
    least: u64,
}

/// State of a flow under the manager.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowState {
    /// Weight.
    pub priority: u32,
    /// Connections that receive data.
    pub connections: usize,
    /// Sum of the shares of these connections, bytes.
    pub window: u64,
    /// Bytes received in order by all connections of the flow, ended ones included.
    pub received: u64,
}

/// Window manager of a host, shared by its connections.
#[derive(Clone, Debug)]
pub struct WindowManager(Arc<Mutex<Inner>>);

impl WindowManager {
    /// A manager without members.
    pub fn new(aggregate: Aggregate) -> Self {
        let estimate = if let Aggregate::Estimated(bytes) = aggregate { bytes as f64 } else { 0.0 };
        WindowManager(Arc::new(Mutex::new(Inner {
            aggregate,
            estimate,
            received: 0,
            decrease_after: 0,
            part: 1.0,
            flows: Vec::new(),
            members: Vec::new(),
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a flow and returns its number.
    pub fn add_flow(&self, priority: u32) -> usize {
        let mut inner = self.inner();
        inner.flows.push(priority.max(1));
        inner.flows.len() - 1
    }

    /// Sets the priority of a flow, for its present and later connections.
    pub fn set_priority(&self, flow: usize, priority: u32) {
        if let Some(known) = self.inner().flows.get_mut(flow) {
            *known = priority.max(1);
        }
    }

    /// Sets the fraction of a known aggregate window that connections share.
    pub fn set_part(&self, part: f64) {
        self.inner().part = part;
    }

    /// State of a flow at `now`; none if there is no such flow.
    pub fn state(&self, flow: usize, now: Time) -> Option<FlowState> {
        let inner = self.inner();
        let priority = *inner.flows.get(flow)?;
        let mut state = FlowState { priority, ..FlowState::default() };
        for (i, member) in inner.members.iter().enumerate().filter(|(_, m)| m.flow == flow) {
            state.received += member.received;
            if member.active {
                state.connections += 1;
                state.window = state.window.saturating_add(inner.window(i, now));
            }
        }
        Some(state)
    }

    /// Adds a connection of a flow, with segments of `mss` bytes. The connection is active from its first data on.
    pub fn join(&self, flow: usize, mss: u32) -> WindowShare {
        let (mut inner, mss) = (self.inner(), u64::from(mss.max(1)));
        inner.members.push(Member { flow, active: false, received: 0, least: LEAST_SEGMENTS * mss });
        WindowShare { manager: self.clone(), member: inner.members.len() - 1, mss }
    }
}

impl Inner {
    /// Bytes that a connection may offer.
    fn window(&self, member: usize, now: Time) -> u64 {
        let all = match &self.aggregate {
            Aggregate::Known(steps) => {
                let next = steps.partition_point(|(from, _)| *from <= now);
                steps.get(next.saturating_sub(1)).map_or(u64::MAX, |(_, bytes)| *bytes)
            }
            Aggregate::Estimated(_) => self.estimate as u64,
        };
        let known = matches!(self.aggregate, Aggregate::Known(_));
        let all = if known { (all as f64 * self.part) as u64 } else { all };
        let priority = |m: &Member| u64::from(self.flows.get(m.flow).copied().unwrap_or(1));
        let mine = priority(&self.members[member]);
        let others = self.members.iter().enumerate().filter(|(i, m)| m.active && *i != member);
        let sum = mine + others.map(|(_, m)| priority(m)).sum::<u64>();
        let share = u128::from(all) * u128::from(mine) / u128::from(sum);
        u64::try_from(share).unwrap_or(u64::MAX).max(self.members[member].least)
    }
}

/// One connection's share of the host's aggregate window.
#[derive(Clone, Debug)]
pub struct WindowShare {
    manager: WindowManager,
    member: usize,
    mss: u64,
}

/// Minimum share, segments: with one segment, a loss causes no duplicate ACK.
const LEAST_SEGMENTS: u64 = 2;

impl WindowShare {
    /// Processes received data: `bytes` are now in order; `gap`: data before the segment are missing.
    pub fn arrived(&self, bytes: u64, gap: bool) {
        let mut inner = self.manager.inner();
        inner.members[self.member].active = true;
        inner.members[self.member].received += bytes;
        inner.received += bytes;
        if !matches!(inner.aggregate, Aggregate::Estimated(_)) {
            return;
        }
        if gap && inner.received >= inner.decrease_after {
            inner.estimate = (inner.estimate / 2.0).max((LEAST_SEGMENTS * self.mss) as f64);
            inner.decrease_after = inner.received + inner.estimate as u64;
        } else if !gap {
            inner.estimate += self.mss as f64 * bytes as f64 / inner.estimate.max(1.0);
        }
    }

    /// Deactivates the connection: the other connections divide its share.
    pub fn leave(&self) {
        self.manager.inner().members[self.member].active = false;
    }

    /// Bytes that the connection may offer now.
    pub fn window(&self, now: Time) -> u64 {
        self.manager.inner().window(self.member, now)
    }
}

/// Receiver state of a connection whose host has a window manager.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) share: WindowShare,
    /// Time of the receiver's last call.
    pub(super) now: Time,
    /// One past the last byte that was ever offered.
    pub(super) edge: u64,
}

impl Receiver {
    /// Limits the offered window to `share` from now on.
    pub(in crate::tcp) fn manage(&mut self, share: WindowShare) {
        self.shared = Some(Box::new(Shared { share, now: Time::ZERO, edge: 0 }));
    }

    /// Releases the share: the peer's FIN and all its data have arrived.
    pub(in crate::tcp) fn finish(&mut self) {
        if let Some(shared) = &self.shared {
            shared.share.leave();
        }
    }

    /// Window limited to the share, bytes; the right edge never retreats. `alone`: window without the share.
    #[cold]
    pub(super) fn offered_of_share(&mut self, alone: u32) -> u32 {
        let Some(shared) = &mut self.shared else { return alone };
        let share = shared.share.window(shared.now) >> self.shift << self.shift;
        shared.edge = shared.edge.max(self.next + share.min(u64::from(alone)));
        u32::try_from(shared.edge - self.next).map_or(alone, |window| window.min(alone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Span;

    fn s(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    /// Shares follow priorities, of those that are active, and hints change the whole (CM-01, CM-02, CM-05).
    #[test]
    fn shares_follow_priorities_and_hints() {
        let manager = WindowManager::new(Aggregate::Known(vec![(s(0), 9_000), (s(10), 90_000)]));
        let (two, one) = (manager.add_flow(2), manager.add_flow(1));
        let (high, low) = (manager.join(two, 500), manager.join(one, 500));
        assert_eq!((high.window(s(1)), low.window(s(1))), (9_000, 9_000));
        high.arrived(1, false);
        low.arrived(1, false);
        assert_eq!((high.window(s(1)), low.window(s(1))), (6_000, 3_000));
        assert_eq!((high.window(s(10)), low.window(s(10))), (60_000, 30_000));
        high.leave();
        assert_eq!(low.window(s(1)), 9_000);
        let narrow = WindowManager::new(Aggregate::Known(vec![(s(0), 10)]));
        assert_eq!(narrow.join(narrow.add_flow(1), 500).window(s(0)), 1000);
    }

    /// CM-07: a priority holds for all connections of its flow, present and later, from the change on.
    #[test]
    fn priorities_change_at_any_time() {
        let manager = WindowManager::new(Aggregate::Known(vec![(s(0), 12_000)]));
        let (pages, film) = (manager.add_flow(1), manager.add_flow(1));
        let shares = [manager.join(pages, 500), manager.join(film, 500)];
        shares.iter().for_each(|share| share.arrived(100, false));
        assert_eq!((shares[0].window(s(1)), shares[1].window(s(1))), (6_000, 6_000));
        manager.set_priority(film, 3);
        assert_eq!((shares[0].window(s(1)), shares[1].window(s(1))), (3_000, 9_000));
        let later = manager.join(film, 500);
        later.arrived(50, false);
        let state = manager.state(film, s(1)).unwrap();
        assert_eq!(state, FlowState { priority: 3, connections: 2, window: 10_284, received: 150 });
        manager.set_part(0.5);
        assert_eq!(manager.state(pages, s(1)).unwrap().window, 1_000);
        manager.set_priority(7, 1);
        assert_eq!(manager.state(7, s(1)), None);
    }

    /// A segment more for each window received, half of it for a gap, once a window (CM-06).
    #[test]
    fn an_unknown_rate_is_estimated() {
        let manager = WindowManager::new(Aggregate::Estimated(8_000));
        let share = manager.join(manager.add_flow(1), 1000);
        (0..8).for_each(|_| share.arrived(1000, false));
        let grown = share.window(s(0));
        assert!((8_900..9_000).contains(&grown), "{grown}");
        share.arrived(0, true);
        share.arrived(0, true);
        assert_eq!(share.window(s(0)), grown / 2);
    }
}
