//! Registration of a modem over its domains (`Registry`): changes of cell, lost and denied registrations from result codes.
//!
//! A packet domain in which the modem was once registered counts; the circuit domain counts until then. With two packet domains
//! one registration suffices, so that a change between radio technologies is no loss.

use super::event::ModemEventKind;
use super::result_code::{Cell, Domain, Registration, Status};

/// Registration over all domains.
#[derive(Debug, Default)]
pub(super) struct Registry {
    /// Last status by domain: circuit, packet, evolved; `None`: not reported.
    statuses: [Option<Status>; 3],
    /// A packet domain was once registered.
    packet: bool,
    /// Serving cell, and the domain that reported it.
    serving: Option<(Domain, Cell)>,
    /// Last state: registered or not; `None`: unknown.
    registered: Option<bool>,
}

impl Registry {
    /// Takes a report; returns the event that it is, with the cells before and after it.
    pub(super) fn on_report(
        &mut self,
        report: Registration,
    ) -> Option<(ModemEventKind, Option<Cell>, Option<Cell>)> {
        let Registration { domain, status, cell } = report;
        let previous = self.statuses[domain as usize].replace(status);
        let here = status == Status::Registered;
        self.packet |= here && domain != Domain::Circuit;
        let counts = if self.packet { 1..3 } else { 0..1 };
        let counted = &self.statuses[counts];
        let now = if counted.contains(&Some(Status::Registered)) {
            true
        } else if counted.iter().any(Option::is_some) {
            false
        } else {
            return None;
        };
        let denied = status == Status::Denied && previous != Some(Status::Denied);
        let before = self.serving.map(|(_, cell)| cell);
        let moved = here.then_some(cell).flatten().filter(|cell| self.moves(domain, *cell));
        if let Some(cell) = moved {
            self.serving = Some((domain, cell));
        }
        let was = self.registered.replace(now);
        let after = self.serving.map(|(_, cell)| cell);
        match (was, now) {
            (Some(true), true) if before.is_some() && moved.is_some() => {
                Some((ModemEventKind::CellChange, before, moved))
            }
            (Some(true), true) if moved.is_none() => None,
            (_, true) => Some((ModemEventKind::Registered, before, after)),
            (_, false) if denied => Some((ModemEventKind::Denied, before, None)),
            (Some(false), false) => None,
            (_, false) => Some((ModemEventKind::RegistrationLost, before, None)),
        }
    }

    /// Whether a reported cell is another one than the serving cell. Area codes differ between domains.
    fn moves(&self, domain: Domain, cell: Cell) -> bool {
        match self.serving {
            None => true,
            Some((reporter, serving)) if reporter == domain => serving != cell,
            Some((_, serving)) => serving.id != cell.id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::result_code::ResultCode;
    use super::*;

    /// Events of lines: kind, and the identity of the cell after it.
    fn events(lines: &[&str]) -> Vec<(ModemEventKind, Option<u64>)> {
        let mut registry = Registry::default();
        let reports = lines.iter().map(|line| match ResultCode::of(line) {
            Some(ResultCode::Registration(report)) => report,
            other => panic!("{line}: {other:?}"),
        });
        reports
            .filter_map(|report| registry.on_report(report))
            .map(|(kind, _, after)| (kind, after.map(|cell| cell.id)))
            .collect()
    }

    /// WL-14: a change of cell is reported once, whichever domains report it.
    #[test]
    fn wl_14_a_change_of_cell_is_one_event() {
        let gsm = [
            "+CREG: 2,1,\"00C3\",\"0001\"",
            "+CGREG: 2,1,\"00C3\",\"0001\"",
            "+CREG: 1,\"00C3\",\"0001\"",
            "+CREG: 1,\"00C3\",\"0002\"",
            "+CGREG: 1,\"00C3\",\"0002\"",
        ];
        let change = |id| (ModemEventKind::CellChange, Some(id));
        assert_eq!(events(&gsm), [(ModemEventKind::Registered, Some(1)), change(2)]);
        // The area alone changes: another cell, if the same domain reports it.
        let same = ["+CGREG: 1,\"00C3\",\"0002\"", "+CGREG: 1,\"00C4\",\"0002\""];
        assert_eq!(events(&same), [(ModemEventKind::Registered, Some(2)), change(2)]);
        // LTE: the location area differs from the tracking area.
        let lte = [
            "+CEREG: 1,\"1000\",\"0000A01\",7",
            "+CREG: 6,\"2000\",\"0000A01\",7",
            "+CREG: 1,\"2000\",\"0A01\"",
        ];
        assert_eq!(events(&lte), [(ModemEventKind::Registered, Some(0xA01))]);
    }

    /// WL-14: from E-UTRAN to GERAN the modem stays registered; the loss of both packet domains is one.
    #[test]
    fn wl_14_losses_over_domains() {
        let lines = [
            "+CREG: 1,\"0001\",\"000A\"",
            "+CGREG: 0",
            "+CEREG: 1,\"0001\",\"000A\",7",
            "+CGREG: 1,\"0002\",\"000B\",0",
            "+CEREG: 4",
            "+CGREG: 2",
            "+CGREG: 3",
            "+CGREG: 1,\"0002\",\"000C\",0",
        ];
        assert_eq!(
            events(&lines),
            [
                (ModemEventKind::Registered, Some(10)),
                (ModemEventKind::CellChange, Some(11)),
                (ModemEventKind::RegistrationLost, None),
                (ModemEventKind::Denied, None),
                (ModemEventKind::Registered, Some(12)),
            ]
        );
        // A phone without packet service: the circuit domain counts.
        let circuit = ["+CGREG: 0", "+CEREG: 0", "+CREG: 1", "+CREG: 2", "+CREG: 1,\"0001\",\"0002\""];
        let kinds: Vec<ModemEventKind> = events(&circuit).into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(
            kinds,
            [ModemEventKind::Registered, ModemEventKind::RegistrationLost, ModemEventKind::Registered]
        );
    }
}
