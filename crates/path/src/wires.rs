//! Where does each port lead? All wires in one array, those of an element side by side: following one
//! touches no memory of its own.

use crate::element::{ElementId, Port};

/// The end of a wire.
pub(crate) type End = (ElementId, Port);

/// The wires of a network: first noted, then laid.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    noted: Vec<(ElementId, Port, End)>,
    /// The first port of every element, which is the only one of most, then the others.
    ends: Vec<Option<End>>,
    /// Where each element's others begin in `ends`, and where the last one's end.
    others: Vec<u32>,
}

impl Wires {
    /// Port `out` of `from` is to lead to `end`.
    pub(crate) fn note(&mut self, from: ElementId, out: Port, end: End) {
        self.noted.push((from, out, end));
    }

    /// Lays what was noted, among so many elements.
    pub(crate) fn lay(&mut self, elements: usize) {
        let mut others = vec![0; elements + 1];
        for (from, out, _) in &self.noted {
            let count: &mut u32 = &mut others[from.0 as usize];
            *count = (*count).max(u32::from(out.0));
        }
        let mut next = elements as u32;
        for count in &mut others {
            next += std::mem::replace(count, next);
        }
        self.others = others;
        self.ends = vec![None; next as usize];
        for (from, out, end) in &self.noted {
            let i = from.0 as usize;
            let at = if out.0 == 0 { i } else { self.others[i] as usize + usize::from(out.0) - 1 };
            self.ends[at] = Some(*end);
        }
    }

    /// Where port `out` of `from` leads.
    #[inline]
    pub(crate) fn end(&self, from: ElementId, out: Port) -> Option<End> {
        let i = from.0 as usize;
        if out.0 == 0 {
            return self.ends[i];
        }
        let at = self.others[i] as usize + usize::from(out.0) - 1;
        if at < self.others[i + 1] as usize { self.ends[at] } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_port_leads_where_it_was_led() {
        let mut wires = Wires::default();
        let mut plain = BTreeMap::new();
        let noted = [(4u32, 2u16), (0, 0), (4, 0), (8, 1), (3, 0), (4, 2)];
        for (k, (from, out)) in noted.into_iter().enumerate() {
            let end = (ElementId(k as u32), Port(k as u16));
            wires.note(ElementId(from), Port(out), end);
            plain.insert((from, out), end);
        }
        wires.lay(9);
        for from in 0..9 {
            for out in 0..4 {
                assert_eq!(wires.end(ElementId(from), Port(out)), plain.get(&(from, out)).copied());
            }
        }
    }
}
