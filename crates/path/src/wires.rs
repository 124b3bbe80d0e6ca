//! Wiring table from output ports to input ports, with static forwarding elements (routers) resolved ahead for each
//! flow and direction.
//!
//! All wires are in one array: look-up of a target needs one access. Elements that only forward by a static table are
//! resolved here and never run.

use crate::element::{ElementId, Port};
use base::packet::Packet;

/// End of a wire: target element and its input port. Without a wire: [`NOBODY`] and the sender. For a table:
/// its start in [`Wires::routes`] and [`TABLE`].
pub(crate) type PortEnd = (ElementId, u32);

/// Value of the input port in a [`PortEnd`] that refers to a static table.
const TABLE: u32 = u32::MAX;

/// Reserved element number: no target.
pub(crate) const NOBODY: ElementId = ElementId(u32::MAX);

/// Wires of a network: collected during construction, then laid out in arrays.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    /// Collected wires: element, output port, target.
    noted: Vec<(ElementId, Port, PortEnd)>,
    /// Targets of port 0 of each element, by element number, then targets of all other ports.
    ends: Vec<PortEnd>,
    /// Start of each element's other ports in `ends`, and at last the length of `ends`.
    others: Vec<u32>,
    /// Final targets of packets that enter a table, by [`Packet::ledger`]; table after table, each as long as the
    /// longest one and one entry more, which is for packets beyond the tables.
    routes: Vec<PortEnd>,
    /// Entries of the longest table.
    longest: usize,
    /// Elements with a static table, which never run.
    forwarders: Vec<ElementId>,
}

/// Output ports of a static forwarding element, by [`Packet::ledger`].
pub(crate) type Table<'a> = &'a [Option<Port>];

/// Elements that send to one element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Senders {
    None,
    One(ElementId),
    Several,
}

impl Senders {
    /// These and one more.
    fn and(self, id: ElementId) -> Self {
        if self == Senders::None || self == Senders::One(id) { Senders::One(id) } else { Senders::Several }
    }
}

impl Wires {
    /// Connects port `out` of `from` to `end`.
    pub(crate) fn note(&mut self, from: ElementId, out: Port, end: PortEnd) {
        self.noted.push((from, out, end));
    }

    /// Replaces the numbers of elements in the collected wires by those in `places`.
    pub(crate) fn renumber(&mut self, places: &[u32]) {
        let place = |id: &mut ElementId| id.0 = places.get(id.0 as usize).copied().unwrap_or(id.0);
        for (from, _, (to, _)) in &mut self.noted {
            place(from);
            place(to);
        }
    }

    /// Lays out the collected wires of `elements` elements; `tables`: elements with a static table.
    pub(crate) fn lay(&mut self, elements: usize, tables: &[(ElementId, Table<'_>)]) {
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
        self.ends = vec![(NOBODY, 0); next as usize];
        for i in 0..elements {
            let whose = (NOBODY, i as u32);
            self.ends[i] = whose;
            self.ends[self.others[i] as usize..self.others[i + 1] as usize].fill(whose);
        }
        for (from, out, end) in &self.noted {
            let i = from.0 as usize;
            let at = if out.0 == 0 { i } else { self.others[i] as usize + usize::from(out.0) - 1 };
            self.ends[at] = *end;
        }
        self.lay_tables(tables);
    }

    /// Computes `tables` and `routes`, and lets wires to a static table refer to its number.
    fn lay_tables(&mut self, tables: &[(ElementId, Table<'_>)]) {
        self.routes.clear();
        self.forwarders = tables.iter().map(|(owner, _)| *owner).collect();
        self.longest = tables.iter().map(|(_, table)| table.len()).max().unwrap_or(0);
        let elements = self.others.len() - 1;
        let mut numbers = vec![None; elements];
        for (t, (owner, _)) in tables.iter().enumerate() {
            numbers[owner.0 as usize] = Some(t);
        }
        let table_of = |id: ElementId| numbers.get(id.0 as usize).copied().flatten();
        for (owner, table) in tables {
            for ledger in 0..table.len() {
                // Each table is followed once at most: tables in a loop would forward for ever at one time.
                let mut end = (*owner, 0);
                for _ in 0..=tables.len() {
                    let Some(t) = table_of(end.0) else { break };
                    end = match tables[t].1.get(ledger) {
                        Some(Some(port)) => self.end(end.0, *port),
                        _ => (NOBODY, end.0.0),
                    };
                }
                self.routes.push(end);
            }
            let beyond = self.longest + 1 - table.len();
            self.routes.extend(std::iter::repeat_n((NOBODY, owner.0), beyond));
        }
        for end in &mut self.ends {
            if let Some(t) = table_of(end.0) {
                *end = (ElementId((t * (self.longest + 1)) as u32), TABLE);
            }
        }
    }

    /// Wires of the elements that run: sender, target, input port.
    fn wires(&self) -> impl Iterator<Item = (ElementId, PortEnd)> {
        let mut runs = vec![true; self.others.len().saturating_sub(1)];
        self.forwarders.iter().for_each(|id| runs[id.0 as usize] = false);
        (0..runs.len()).filter(move |i| runs[*i]).flat_map(|i| {
            let others = self.others[i] as usize..self.others[i + 1] as usize;
            let ends = std::iter::once(&self.ends[i]).chain(&self.ends[others]);
            ends.map(move |end| (ElementId(i as u32), *end))
        })
    }

    /// Number of wires to each element; two more for each entry of a table.
    pub(crate) fn wires_to(&self) -> Vec<u32> {
        let mut counts = vec![0; self.others.len().saturating_sub(1)];
        let direct = self.wires().filter(|(_, end)| end.1 != TABLE).map(|(_, end)| (end, 1));
        for ((to, _), n) in direct.chain(self.routes.iter().map(|end| (*end, 2))) {
            if let Some(count) = counts.get_mut(to.0 as usize) {
                *count += n;
            }
        }
        counts
    }

    /// For each element the only element that sends to it; none if no element or several send to it.
    pub(crate) fn sole_senders(&self) -> Vec<Option<ElementId>> {
        let entries = self.longest + 1;
        let mut senders = vec![Senders::None; self.others.len().saturating_sub(1)];
        let mut users = vec![Senders::None; self.routes.len() / entries];
        for (from, (to, port)) in self.wires() {
            let (list, at) = match port {
                TABLE => (&mut users, to.0 as usize / entries),
                _ => (&mut senders, to.0 as usize),
            };
            if let Some(known) = list.get_mut(at) {
                *known = known.and(from);
            }
        }
        for (user, routes) in users.iter().zip(self.routes.chunks(entries)) {
            for (to, _) in routes {
                if let Some(known) = senders.get_mut(to.0 as usize) {
                    *known = match *user {
                        Senders::None => *known,
                        Senders::One(id) => known.and(id),
                        Senders::Several => Senders::Several,
                    };
                }
            }
        }
        senders.iter().map(|known| if let Senders::One(id) = known { Some(*id) } else { None }).collect()
    }

    /// Target of `packet` sent from `from` by port `out`.
    #[inline(always)]
    pub(crate) fn reaches(&self, from: ElementId, out: Port, packet: &Packet) -> PortEnd {
        let end = self.end(from, out);
        if end.1 == TABLE { self.by_table(end.0.0 as usize, packet.ledger()) } else { end }
    }

    #[inline(always)]
    fn by_table(&self, first: usize, ledger: usize) -> PortEnd {
        self.routes[first + ledger.min(self.longest)]
    }

    /// Element to which all goes that `from` sends by port `out`; none without a wire, or if a table decides.
    pub(crate) fn only_target(&self, from: ElementId, out: Port) -> Option<ElementId> {
        let (to, port) = self.end(from, out);
        (to != NOBODY && port != TABLE).then_some(to)
    }

    /// Target of port `out` of `from`, where a static table is not resolved.
    #[inline]
    pub(crate) fn end(&self, from: ElementId, out: Port) -> PortEnd {
        if out.0 == 0 { self.ends[from.0 as usize] } else { self.other_end(from, out) }
    }

    #[cold]
    fn other_end(&self, from: ElementId, out: Port) -> PortEnd {
        let i = from.0 as usize;
        let at = self.others[i] as usize + usize::from(out.0) - 1;
        if at < self.others[i + 1] as usize { self.ends[at] } else { (NOBODY, from.0) }
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
            let end = (ElementId(k as u32), k as u32);
            wires.note(ElementId(from), Port(out), end);
            plain.insert((from, out), end);
        }
        wires.lay(9, &[]);
        for from in 0..9 {
            for out in 0..4 {
                let plain = plain.get(&(from, out)).copied().unwrap_or((NOBODY, from));
                assert_eq!(wires.end(ElementId(from), Port(out)), plain);
            }
        }
    }

    #[test]
    fn tables_are_followed_to_the_end() {
        let mut wires = Wires::default();
        let packet = |flow, reply| Packet {
            flow: base::packet::FlowId(flow),
            flags: if reply { base::packet::Flags::REPLY } else { base::packet::Flags::default() },
            ..Packet::NONE
        };
        // Element 0 sends to the table of 1, which forwards flow 0 to the table of 2, and its replies to 3. The table of
        // 2 forwards to 4.
        wires.note(ElementId(0), Port(0), (ElementId(1), 0));
        wires.note(ElementId(1), Port(0), (ElementId(2), 0));
        wires.note(ElementId(1), Port(1), (ElementId(3), 7));
        wires.note(ElementId(2), Port(0), (ElementId(4), 5));
        let (one, two) = ([Some(Port(0)), Some(Port(1)), None], [Some(Port(0)), None]);
        wires.lay(5, &[(ElementId(1), &one), (ElementId(2), &two)]);
        let reaches = |flow, reply| wires.reaches(ElementId(0), Port(0), &packet(flow, reply));
        assert_eq!(reaches(0, false), (ElementId(4), 5));
        assert_eq!(reaches(0, true), (ElementId(3), 7));
        assert_eq!(reaches(1, false), (NOBODY, 1), "no port for it");
        assert_eq!(reaches(1, true), (NOBODY, 1), "not in the table");
    }
}
