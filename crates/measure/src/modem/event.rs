//! Events of a modem (`ModemEvent`), and the cause of a silence that the events beside it show.

use super::result_code::Cell;
use crate::cause::Cause;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModemEventKind {
    /// The modem answers commands.
    Answers,
    /// It answers no commands.
    Silent,
    /// The device is gone or cannot be read.
    Gone,
    /// It refuses a command.
    Refused,
    /// Registered, at first or again.
    Registered,
    /// The serving cell changed while the modem stayed registered.
    CellChange,
    /// Not registered.
    RegistrationLost,
    /// The network denied registration.
    Denied,
    /// The network detached the terminal.
    NetworkDetach,
    /// The network deactivated a context or PDN connection.
    NetworkDeactivation,
    /// The terminal detached.
    TerminalDetach,
    /// The terminal deactivated a context or PDN connection.
    TerminalDeactivation,
    /// A circuit-switched call ended.
    NoCarrier,
    /// Signal level.
    Signal,
}

impl ModemEventKind {
    /// Description.
    const fn words(self) -> &'static str {
        match self {
            ModemEventKind::Answers => "the modem answers",
            ModemEventKind::Silent => "the modem does not answer",
            ModemEventKind::Gone => "the modem was removed",
            ModemEventKind::Refused => "command refused",
            ModemEventKind::Registered => "registered",
            ModemEventKind::CellChange => "change of cell",
            ModemEventKind::RegistrationLost => "registration lost",
            ModemEventKind::Denied => "registration denied",
            ModemEventKind::NetworkDetach => "detached by the network",
            ModemEventKind::NetworkDeactivation => "session deactivated by the network",
            ModemEventKind::TerminalDetach => "detached by the terminal",
            ModemEventKind::TerminalDeactivation => "session deactivated by the terminal",
            ModemEventKind::NoCarrier => "no carrier",
            ModemEventKind::Signal => "signal",
        }
    }

    const fn is_registration(self) -> bool {
        matches!(self, ModemEventKind::Registered | ModemEventKind::CellChange) || self.is_loss()
    }

    const fn is_loss(self) -> bool {
        matches!(self, ModemEventKind::RegistrationLost | ModemEventKind::Denied)
    }
}

/// Event of a modem, as in the log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModemEvent {
    /// Time, s since the start of the measurement.
    pub t: f64,
    /// Kind.
    pub kind: ModemEventKind,
    /// Line of the modem, or the command or error that the event is about.
    pub line: String,
    /// Serving cell before the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Cell>,
    /// Serving cell after the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Cell>,
    /// Signal level, dBm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dbm: Option<i16>,
}

/// Longest time from an event to the last byte before a silence, s. The kernel takes bytes for some time after the event.
const BEFORE: f64 = 5.0;
/// Longest time from the last byte to the report of a lost radio link, s: RADIO_LINK_TIMEOUT of 64 SACCH blocks of 480 ms (3GPP TS
/// 45.008).
const LAG: f64 = 31.0;
/// Longest gap of a registration that ends in another cell as part of a change of cell, s. The published measurements found pauses of
/// 3 to 15 s at most changes.
const GAP: f64 = 15.0;
/// A lost registration counts this much later, s: modems report it before or after the network's message that caused it.
const SETTLE: f64 = 1.0;
/// Largest number of events in an evidence.
const SHOWN: usize = 4;

/// Cause of a silence from the last byte at `last` to `until`, with the evidence, from events in order of time. Statements of the
/// radio and the network decide by their order; the end of a call or an act of the terminal decides alone, since it also follows
/// them.
pub fn cause_of_silence(events: &[ModemEvent], last: f64, until: f64) -> Option<(Cause, String)> {
    let (from, to) = (last - BEFORE, until.min(last + LAG));
    let earlier = events.iter().rev().find(|event| event.t < from && event.kind.is_registration());
    let near = events.iter().filter(|event| (from..=to).contains(&event.t));
    let mut near: Vec<&ModemEvent> =
        earlier.filter(|event| event.kind.is_loss()).into_iter().chain(near).collect();
    near.retain(|event| weight(event.kind).is_some());
    let strong = near.iter().filter(|event| weight(event.kind) == Some(true));
    let counts = |event: &ModemEvent| {
        event.t + if event.kind == ModemEventKind::RegistrationLost { SETTLE } else { 0.0 }
    };
    let first = strong.min_by(|a, b| counts(a).total_cmp(&counts(b))).or(near.first())?;
    let cause = match first.kind {
        ModemEventKind::CellChange => Cause::Handover,
        ModemEventKind::RegistrationLost => match another_cell(events, first, until) {
            true => Cause::Handover,
            false => Cause::AirInterface,
        },
        ModemEventKind::Denied | ModemEventKind::NetworkDetach | ModemEventKind::NetworkDeactivation => {
            Cause::NetworkSoftware
        }
        ModemEventKind::NoCarrier => Cause::RemoteEquipment,
        _ => Cause::LocalLink,
    };
    Some((cause, evidence(events, &near, last, until)))
}

/// Whether an event decides: `true` by its order, `false` if it is alone.
const fn weight(kind: ModemEventKind) -> Option<bool> {
    match kind {
        ModemEventKind::CellChange
        | ModemEventKind::RegistrationLost
        | ModemEventKind::Denied
        | ModemEventKind::NetworkDetach
        | ModemEventKind::NetworkDeactivation => Some(true),
        ModemEventKind::NoCarrier | ModemEventKind::TerminalDetach | ModemEventKind::TerminalDeactivation => {
            Some(false)
        }
        _ => None,
    }
}

/// Whether the registration after a loss is soon and in another cell.
fn another_cell(events: &[ModemEvent], loss: &ModemEvent, until: f64) -> bool {
    let end = until.min(loss.t + GAP);
    let after = events.iter().filter(|event| (loss.t..=end).contains(&event.t));
    let mut back =
        after.filter(|event| matches!(event.kind, ModemEventKind::Registered | ModemEventKind::CellChange));
    back.any(|event| loss.before.zip(event.cell).is_some_and(|(old, new)| old != new))
}

/// Description of the deciding events, of the cell after them and of the last signal level before the silence ended.
fn evidence(events: &[ModemEvent], near: &[&ModemEvent], last: f64, until: f64) -> String {
    let mut text = String::new();
    let back = events.iter().find(|event| {
        let first = near.first().map_or(last, |event| event.t);
        event.kind == ModemEventKind::Registered && (first..=until).contains(&event.t)
    });
    let left = near.len().saturating_sub(SHOWN);
    for event in near.iter().copied().take(SHOWN).chain(back) {
        let joint = if text.is_empty() { "" } else { "; " };
        let _ = write!(text, "{joint}{} at {:.1} s", event.kind.words(), event.t);
        let _ = match (event.before, event.cell) {
            (Some(before), Some(cell)) if before != cell => write!(text, " ({before} to {cell})"),
            (_, Some(cell)) | (Some(cell), None) => write!(text, " ({cell})"),
            (None, None) => Ok(()),
        };
    }
    if left > 0 {
        let _ = write!(text, "; {left} more");
    }
    let signal = |event: &&ModemEvent| event.kind == ModemEventKind::Signal && event.t <= until;
    if let Some(ModemEvent { t, dbm: Some(dbm), .. }) = events.iter().rev().find(signal) {
        let _ = write!(text, "; {dbm} dBm at {t:.1} s");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModemEventKind as K;

    /// Event between two cells by their identities; 0: none.
    fn event((t, kind, before, cell): (f64, ModemEventKind, u64, u64)) -> ModemEvent {
        let of = |id| (id > 0).then_some(Cell { area: 1, id });
        ModemEvent { t, kind, line: String::new(), before: of(before), cell: of(cell), dbm: None }
    }

    /// Cause of a silence from 100 s to 130 s.
    fn cause(events: &[(f64, ModemEventKind, u64, u64)]) -> Option<Cause> {
        let events: Vec<ModemEvent> =
            [(0.5, K::Registered, 0, 1)].iter().chain(events).copied().map(event).collect();
        cause_of_silence(&events, 100.0, 130.0).map(|(cause, _)| cause)
    }

    /// WL-14: each kind of event leads to its cause of silence: change of cell, air interface, network, terminal, remote equipment.
    #[test]
    fn wl_14_what_is_beside_a_silence_shows_its_cause() {
        assert_eq!(cause(&[]), None);
        assert_eq!(cause(&[(101.0, K::CellChange, 1, 2)]), Some(Cause::Handover));
        assert_eq!(cause(&[(101.0, K::RegistrationLost, 1, 0)]), Some(Cause::AirInterface));
        let back = |t, cell| [(101.0, K::RegistrationLost, 1, 0), (t, K::Registered, 1, cell)];
        assert_eq!(cause(&back(109.0, 2)), Some(Cause::Handover));
        assert_eq!(cause(&back(109.0, 1)), Some(Cause::AirInterface), "the same cell again");
        assert_eq!(cause(&back(120.0, 2)), Some(Cause::AirInterface), "a gap in the coverage");
        for kind in [K::Denied, K::NetworkDetach, K::NetworkDeactivation] {
            assert_eq!(cause(&[(101.0, kind, 1, 0)]), Some(Cause::NetworkSoftware));
        }
        assert_eq!(cause(&[(101.0, K::NoCarrier, 0, 0)]), Some(Cause::RemoteEquipment));
        assert_eq!(cause(&[(101.0, K::TerminalDetach, 0, 0)]), Some(Cause::LocalLink));
        assert_eq!(cause(&[(101.0, K::Signal, 0, 0), (102.0, K::Silent, 0, 0)]), None);
    }

    /// WL-14: what follows from another event is not the cause.
    #[test]
    fn wl_14_consequences_do_not_decide() {
        let (lost, detach) = (K::RegistrationLost, K::NetworkDetach);
        assert_eq!(cause(&[(100.2, lost, 1, 0), (100.9, detach, 0, 0)]), Some(Cause::NetworkSoftware));
        assert_eq!(cause(&[(100.2, detach, 0, 0), (100.3, lost, 1, 0)]), Some(Cause::NetworkSoftware));
        assert_eq!(cause(&[(100.2, lost, 1, 0), (108.0, detach, 0, 0)]), Some(Cause::AirInterface));
        assert_eq!(cause(&[(100.2, K::NoCarrier, 0, 0), (101.0, lost, 1, 0)]), Some(Cause::AirInterface));
        assert_eq!(cause(&[(100.2, K::CellChange, 1, 2), (101.0, lost, 2, 0)]), Some(Cause::Handover));
    }

    /// WL-14: events far from the last byte show nothing, except a registration that was missing since then.
    #[test]
    fn wl_14_only_what_is_near_counts() {
        assert_eq!(cause(&[(94.0, K::CellChange, 1, 2)]), None);
        assert_eq!(cause(&[(96.0, K::CellChange, 1, 2)]), Some(Cause::Handover));
        assert_eq!(cause(&[(50.0, K::RegistrationLost, 1, 0)]), Some(Cause::AirInterface));
        assert_eq!(cause(&[(50.0, K::RegistrationLost, 1, 0), (60.0, K::Registered, 1, 1)]), None);
        let late = [event((131.5, K::CellChange, 1, 2))];
        assert_eq!(cause_of_silence(&late, 100.0, 300.0), None);
        assert_eq!(cause_of_silence(&late, 101.0, 131.0), None);
        assert!(cause_of_silence(&late, 101.0, 300.0).is_some());
    }

    #[test]
    fn the_evidence_names_cells_times_and_level() {
        let mut events = vec![event((99.0, K::Signal, 0, 0))];
        events[0].dbm = Some(-109);
        events.extend([(101.0, K::RegistrationLost, 1, 0), (104.25, K::Registered, 1, 0xAB)].map(event));
        let (_, text) = cause_of_silence(&events, 100.0, 130.0).unwrap();
        let parts =
            ["registration lost at 101.0 s (0001/0001)", "registered at 104.2 s (0001/0001 to 0001/00AB)"];
        assert_eq!(text, format!("{}; {}; -109 dBm at 99.0 s", parts[0], parts[1]));
    }
}
