//! Evidence of duplicate segments: DSACK blocks, or the timestamp echo of a duplicate ACK, show which two copies
//! arrived.

use super::{Judge, Need, is_too_late, set};
use crate::facts::copies::{Copies, Evidence, Fate};
use crate::facts::digest::AckDigest;
use crate::facts::rtt::Rtt;

impl Judge {
    /// Evaluates a duplicate ACK with a later timestamp echo: a duplicate segment triggered it.
    pub(super) fn echoed(&mut self, copies: &mut Copies, d: &AckDigest, rtt: &Rtt) {
        let Some(echo) = d.echo else { return };
        let arrived = |serial| copies.get(serial).is_none_or(|c| matches!(c.fate, Fate::Arrived(_)));
        let trigger = self
            .open
            .stamped(echo)
            .map(|open| open.copy)
            .find(|c| c.end <= d.ack && !arrived(c.serial))
            .map(|c| (c.seq, c.end, c.serial));
        if let Some((seq, end, serial)) = trigger {
            self.duplicate(copies, d, seq, end, Evidence::Duplicate, Some(serial), rtt);
        }
    }

    /// Evaluates the report of a duplicate segment `[left, right)`.
    #[allow(clippy::too_many_arguments, reason = "each is one fact")]
    pub(super) fn duplicate(
        &mut self,
        copies: &mut Copies,
        d: &AckDigest,
        left: u64,
        right: u64,
        evidence: Evidence,
        trigger: Option<u64>,
        rtt: &Rtt,
    ) {
        let mut group: Vec<(u64, Option<u32>)> = copies
            .of(left, right)
            .filter(|c| c.seq <= left && right <= c.end && !is_too_late(c, d.t, rtt))
            .map(|c| (c.serial, c.stamp))
            .collect();
        group.sort_unstable();
        if group.len() < 2 {
            return;
        }
        self.raise(group[1].0);
        let named = |g: &&(u64, Option<u32>)| d.echo.is_some() && g.1 == d.echo && right <= d.ack;
        let trigger = trigger.or_else(|| {
            let mut named = group[1..].iter().filter(named);
            match (named.next(), named.next()) {
                (Some(one), None) => Some(one.0),
                _ => None,
            }
        });
        let trigger = trigger.or((group.len() == 2).then(|| group[1].0));
        let mut reports = 0;
        for serial in self.open.of(left, right) {
            let Some(open) = self.open.get_mut(serial) else { continue };
            open.reports += 1;
            reports = reports.max(open.reports);
        }
        if reports as usize >= group.len() - 1 {
            for (serial, _) in &group {
                set(copies, *serial, Fate::Arrived(evidence));
            }
        }
        if let Some(trigger) = trigger {
            self.comes_now(copies, trigger);
            self.raise(trigger);
            set(copies, trigger, Fate::Arrived(evidence));
            if group[1].0 == trigger {
                set(copies, group[0].0, Fate::Arrived(evidence));
            }
        }
        // The other arrival was sent before the trigger: most likely the first copy not known to be lost.
        let last = trigger.or(group.last().map(|g| g.0)).unwrap_or(0);
        let gone =
            |serial: u64| copies.get(serial).is_none_or(|c| matches!(c.fate, Fate::Lost(Evidence::Order)));
        let first = group.iter().map(|g| g.0).find(|s| *s < last && !gone(*s));
        if let Some(first) = first {
            set(copies, first, Fate::Arrived(evidence));
        }
        // Two copies arrived: the last one or the trigger, and one sent before it.
        let sure = trigger.or(group.last().map(|g| g.0));
        let open = sure.and_then(|serial| self.open.get_mut(serial));
        if let Some(open) = open.filter(|o| left <= o.copy.seq.max(o.acked) && o.copy.end <= right) {
            open.settled = Some((Need::Unneeded, evidence));
        }
    }
}
