//! Overhead of distribution: packet transport between hosts and clock uncertainty.
//!
//! The way of each packet between the host with the path and the one with the stack, and how well their clocks are
//! known to agree.

use crate::accuracy::lateness::Histogram;
use base::Span;

/// What lay between the hosts of a run.
#[derive(Clone, Default, Debug)]
pub struct Between {
    /// How long packets took from the stacks elsewhere to the host with the path.
    pub to_path: Histogram,
    /// How long they took back.
    pub from_path: Histogram,
    /// Packets that never arrived.
    pub lost: u64,
    /// Packets that others overtook.
    pub overtaken: u64,
    /// The clocks of the hosts, by name.
    pub clocks: Vec<(String, Compared)>,
    /// What the comparison of clocks may be wrong by.
    pub clock_limit: Span,
}

/// A clock, compared with that of the host with the path.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Compared {
    /// How far it is ahead, nanoseconds; that is what the run reckoned with.
    pub ahead_ns: i64,
    /// By how much that may have been wrong at worst, at any time in the run: half a round trip, and how far the clocks
    /// moved against each other.
    pub uncertain: Span,
    /// Round trips that were looked at.
    pub looks: u64,
}

impl Between {
    /// Why such a run is not faithful, if it is not: packets that took longer than `limit` (one in a hundred may), that
    /// were lost on a way that is no part of the model, or clocks that nobody can compare well enough.
    pub fn fault(&self, limit: Span) -> Option<String> {
        for (way, direction) in [(&self.to_path, "to the path"), (&self.from_path, "from the path")] {
            let (late, all) = (way.above(limit), way.count());
            if late > all.div_ceil(100) {
                return Some(format!(
                    "{late} of {all} packets took more than {:.3} ms between hosts, {direction}, and one in a hundred \
                     may",
                    limit.as_secs_f64() * 1e3
                ));
            }
        }
        if self.lost > 0 {
            return Some(format!("{} packets were lost between hosts, outside the model", self.lost));
        }
        let (name, clock) = self.clocks.iter().max_by_key(|(_, clock)| clock.uncertain)?;
        (clock.uncertain > self.clock_limit).then(|| {
            format!(
                "the clock of agent `{name}` is known to {:.3} ms only, and {:.3} ms are allowed",
                clock.uncertain.as_secs_f64() * 1e3,
                self.clock_limit.as_secs_f64() * 1e3
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run over several hosts is judged by the way between them too.
    #[test]
    fn a_slow_way_and_an_unknown_clock_are_not_faithful() {
        let limit = Span::from_millis(1);
        let clock = |us: u64| Compared { uncertain: Span::from_nanos(us * 1000), ..Compared::default() };
        let fair =
            Between { clocks: vec![("b".into(), clock(300))], clock_limit: limit, ..Between::default() };
        assert_eq!(fair.fault(limit), None);
        let unknown =
            Between { clocks: vec![("b".into(), clock(300)), ("d".into(), clock(1001))], ..fair.clone() };
        assert!(unknown.fault(limit).is_some_and(|why| why.contains("`d`")));
        let mut slow = fair.clone();
        for _ in 0..3 {
            slow.to_path.add(Span::from_millis(2));
        }
        assert!(slow.fault(limit).is_some_and(|why| why.contains("to the path")));
        assert_eq!(slow.fault(Span::from_millis(3)), None);
        let lossy = Between { lost: 1, ..fair };
        assert!(lossy.fault(limit).is_some_and(|why| why.contains("lost")));
    }
}
