//! Overhead of an emulation over several hosts: transit time, loss and reordering of packets between hosts, and clock
//! offsets.

use crate::accuracy::lateness::Histogram;
use base::Span;

/// Packet transport and clock offsets between the hosts of an emulation.
#[derive(Clone, Default, Debug)]
pub struct Overhead {
    /// Transit time from remote hosts to the host that carries the path.
    pub to_path: Histogram,
    /// Transit time from the host that carries the path to remote hosts.
    pub from_path: Histogram,
    /// Packets lost between hosts.
    pub lost: u64,
    /// Packets reordered between hosts.
    pub overtaken: u64,
    /// Clock offsets by host name.
    pub clocks: Vec<(String, ClockOffset)>,
    /// Largest tolerated uncertainty of a clock offset.
    pub clock_limit: Span,
}

/// Clock offset of a host from the host that carries the path.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// Clock of the host less clock of the path, ns, as used in the run.
    pub ahead_ns: i64,
    /// Bound of the error during the run: half a round-trip time plus the drift between both clocks.
    pub uncertain: Span,
    /// Number of round trips measured.
    pub looks: u64,
}

impl Overhead {
    /// Reason why a run is not faithful: more than 1 % of packets took longer than `limit`, packets were lost
    /// between hosts, or a clock offset is too uncertain.
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

    /// The faithfulness of an emulation over several hosts includes packet transport and clocks.
    #[test]
    fn a_slow_way_and_an_unknown_clock_are_not_faithful() {
        let limit = Span::from_millis(1);
        let clock =
            |us: u64| ClockOffset { uncertain: Span::from_nanos(us * 1000), ..ClockOffset::default() };
        let fair =
            Overhead { clocks: vec![("b".into(), clock(300))], clock_limit: limit, ..Overhead::default() };
        assert_eq!(fair.fault(limit), None);
        let unknown =
            Overhead { clocks: vec![("b".into(), clock(300)), ("d".into(), clock(1001))], ..fair.clone() };
        assert!(unknown.fault(limit).is_some_and(|why| why.contains("`d`")));
        let mut slow = fair.clone();
        for _ in 0..3 {
            slow.to_path.add(Span::from_millis(2));
        }
        assert!(slow.fault(limit).is_some_and(|why| why.contains("to the path")));
        assert_eq!(slow.fault(Span::from_millis(3)), None);
        let lossy = Overhead { lost: 1, ..fair };
        assert!(lossy.fault(limit).is_some_and(|why| why.contains("lost")));
    }
}
