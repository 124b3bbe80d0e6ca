//! Gate closures of one repetition: drawn once for the metrics of all its flows.

use base::Time;
use base::rng::Seed;
use scenario::build::closures;
use scenario::model::{Flow, Model};
use std::cell::OnceCell;

/// Begin and end of a closure.
type Closure = (Time, Time);

/// Gate closures of one repetition.
pub(crate) struct GateClosures<'m> {
    model: &'m Model,
    seed: Seed,
    /// No flow is measured beyond this time.
    until: Time,
    drawn: OnceCell<Vec<(usize, Time, Time)>>,
}

impl<'m> GateClosures<'m> {
    pub(crate) fn new(model: &'m Model, seed: Seed, until: Time) -> Self {
        GateClosures { model, seed, until, drawn: OnceCell::new() }
    }

    /// Gate, begin and end of each closure that begins before `end`, by gate.
    fn all(&self, end: Time) -> impl Iterator<Item = (usize, Time, Time)> {
        debug_assert!(end <= self.until);
        let all = self.drawn.get_or_init(|| closures(self.model, self.seed, self.until));
        all.iter().copied().filter(move |closure| closure.1 < end)
    }

    /// Closures that begin before `end`, by gate.
    pub(crate) fn before(&self, end: Time) -> impl Iterator<Item = Closure> {
        self.all(end).map(|(_, from, until)| (from, until))
    }

    /// Times before `end` in which each network path of a flow has a closed gate, ascending and disjoint.
    pub(crate) fn shut(&self, flow: &Flow, end: Time) -> Vec<Closure> {
        let own = [&flow.route, &flow.way_back];
        let others = flow.other_paths.iter().map(|[there, back]| [there, back]);
        let paths = std::iter::once(own).chain(others).map(|path| self.of_path(&path, end));
        paths.reduce(|a, b| common(&a, &b)).unwrap_or_default()
    }

    /// Times in which a gate on the links of a path is closed, ascending and disjoint.
    fn of_path(&self, path: &[&Vec<usize>], end: Time) -> Vec<Closure> {
        let lies_on = |gate: usize| {
            let links = &self.model.gates[gate].links;
            path.iter().any(|way| way.iter().any(|link| links.contains(link)))
        };
        let mut closed: Vec<Closure> =
            self.all(end).filter(|(gate, ..)| lies_on(*gate)).map(|(_, from, until)| (from, until)).collect();
        closed.sort_unstable();
        closed.dedup_by(|next, last| {
            let joined = next.0 <= last.1;
            if joined {
                last.1 = last.1.max(next.1);
            }
            joined
        });
        closed
    }
}

/// Intersection of two ascending lists of disjoint intervals.
fn common(a: &[Closure], b: &[Closure]) -> Vec<Closure> {
    let (mut i, mut j, mut both) = (0, 0, Vec::new());
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let (from, until) = (x.0.max(y.0), x.1.min(y.1));
        if from < until {
            both.push((from, until));
        }
        if x.1 < y.1 {
            i += 1;
        } else {
            j += 1;
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shut_while_both_are() {
        let at = |list: &[(u64, u64)]| -> Vec<Closure> {
            list.iter().map(|&(from, until)| (Time::from_nanos(from), Time::from_nanos(until))).collect()
        };
        let (a, b) = (at(&[(0, 5), (8, 20), (30, 31)]), at(&[(3, 9), (10, 12), (31, 40)]));
        assert_eq!(common(&a, &b), at(&[(3, 5), (8, 9), (10, 12)]));
        assert_eq!(common(&b, &a), common(&a, &b));
        assert_eq!(common(&a, &[]), []);
    }
}
