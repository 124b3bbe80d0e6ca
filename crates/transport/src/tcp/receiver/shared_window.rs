//! Receiver congestion manager: one receive window for all connections of a host, split by priority (Gurtov, overview,
//! section 5.5; catalogue CM-01, CM-02, CM-05, CM-06, CM-08).
//!
//! The aggregate is slightly above the bandwidth-delay product of the access link. Where the host knows the
//! link's rate, link-layer hints give it over time, and a handover to a fast link opens the windows at once.
//! Otherwise additive increase and multiplicative decrease estimate it: one segment more per aggregate window
//! received, half of it when data are missing. An offered right edge is never taken back (RFC 9293 section
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
    /// The estimate, bytes.
    estimate: f64,
    /// Bytes received by all members.
    received: u64,
    /// No further decrease before this many bytes are received.
    decrease_after: u64,
    members: Vec<Member>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    priority: u32,
    active: bool,
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
            members: Vec::new(),
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection with segments of `mss` bytes; it counts from its first data on.
    pub fn join(&self, priority: u32, mss: u32) -> WindowShare {
        let mut inner = self.inner();
        inner.members.push(Member { priority: priority.max(1), active: false });
        WindowShare { manager: self.clone(), member: inner.members.len() - 1, mss: u64::from(mss.max(1)) }
    }
}

/// Share of one connection.
#[derive(Clone, Debug)]
pub struct WindowShare {
    manager: WindowManager,
    member: usize,
    mss: u64,
}

/// Minimum share, segments; with less, a loss yields no duplicate ACKs.
const LEAST_SEGMENTS: u64 = 2;

impl WindowShare {
    /// Data arrived: `bytes` of them in order; `gap`: data before them are missing.
    pub(super) fn arrived(&self, bytes: u64, gap: bool) {
        let mut inner = self.manager.inner();
        inner.members[self.member].active = true;
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

    /// The connection has ended: its share goes to the others.
    pub(super) fn leave(&self) {
        self.manager.inner().members[self.member].active = false;
    }

    /// Bytes that the connection may offer now.
    pub fn window(&self, now: Time) -> u64 {
        let inner = self.manager.inner();
        let all = match &inner.aggregate {
            Aggregate::Known(steps) => {
                let next = steps.partition_point(|(from, _)| *from <= now);
                steps.get(next.saturating_sub(1)).map_or(u64::MAX, |(_, bytes)| *bytes)
            }
            Aggregate::Estimated(_) => inner.estimate as u64,
        };
        let mine = u64::from(inner.members[self.member].priority);
        let others = inner.members.iter().enumerate().filter(|(i, m)| m.active && *i != self.member);
        let sum = mine + others.map(|(_, m)| u64::from(m.priority)).sum::<u64>();
        let share = u128::from(all) * u128::from(mine) / u128::from(sum);
        u64::try_from(share).unwrap_or(u64::MAX).max(LEAST_SEGMENTS * self.mss)
    }
}

/// A connection's share of its host's window.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) share: WindowShare,
    /// Time of the receiver's last call.
    pub(super) now: Time,
    /// One past the last byte that was ever offered.
    pub(super) edge: u64,
}

impl Receiver {
    /// Limits the offer to a share of the host's window from now on.
    pub(in crate::tcp) fn manage(&mut self, share: WindowShare) {
        self.shared = Some(Box::new(Shared { share, now: Time::ZERO, edge: 0 }));
    }

    /// The peer has sent everything: releases the share.
    pub(in crate::tcp) fn finish(&mut self) {
        if let Some(shared) = &self.shared {
            shared.share.leave();
        }
    }

    /// Window within the share; an offered right edge stays.
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
        let (high, low) = (manager.join(2, 500), manager.join(1, 500));
        assert_eq!((high.window(s(1)), low.window(s(1))), (9_000, 9_000));
        high.arrived(1, false);
        low.arrived(1, false);
        assert_eq!((high.window(s(1)), low.window(s(1))), (6_000, 3_000));
        assert_eq!((high.window(s(10)), low.window(s(10))), (60_000, 30_000));
        high.leave();
        assert_eq!(low.window(s(1)), 9_000);
        assert_eq!(WindowManager::new(Aggregate::Known(vec![(s(0), 10)])).join(1, 500).window(s(0)), 1000);
    }

    /// A segment more for each window received, half of it for a gap, once a window (CM-06).
    #[test]
    fn an_unknown_rate_is_estimated() {
        let share = WindowManager::new(Aggregate::Estimated(8_000)).join(1, 1000);
        (0..8).for_each(|_| share.arrived(1000, false));
        let grown = share.window(s(0));
        assert!((8_900..9_000).contains(&grown), "{grown}");
        share.arrived(0, true);
        share.arrived(0, true);
        assert_eq!(share.window(s(0)), grown / 2);
    }
}
