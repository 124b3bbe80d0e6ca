//! Modem beside a measurement (`Modem`): a state machine that enables result codes at a control port, repeats commands without an
//! answer, and turns result codes into events.
//!
//! Commands are those of 3GPP TS 27.007. A modem that refuses some of them is used with the rest. One that answers none is tried
//! again after [`POLL`]; its unsolicited result codes count all the same.

mod event;
#[cfg(target_os = "linux")]
mod port;
#[cfg(not(target_os = "linux"))]
#[path = "port_portable.rs"]
mod port;
mod registry;
mod result_code;

pub use event::{ModemEvent, ModemEventKind, cause_of_silence};
pub(crate) use port::ModemPort;
pub use result_code::{Cell, Domain, Registration, ResultCode, SessionEnd, Status};

use base::{Span, Time};
use registry::Registry;
use result_code::Lines;

/// Control port of a modem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModemDevice {
    /// Path of the serial device.
    pub path: String,
    /// Speed, bit/s; `None`: the present one.
    pub speed: Option<u32>,
}

/// Commands in order: plain answers without echo, unsolicited codes with cell and area, packet events at once, and the present
/// registrations.
const COMMANDS: [&str; 8] = [
    "ATE0V1",
    "AT+CREG=2",
    "AT+CGREG=2",
    "AT+CEREG=2",
    "AT+CGEREP=2,1",
    "AT+CREG?",
    "AT+CGREG?",
    "AT+CEREG?",
];
/// Command for the signal level, repeated after [`POLL`].
const SIGNAL: &str = "AT+CSQ";
/// Interval between requests for the signal level, and between attempts with a silent modem.
const POLL: Span = Span::from_secs(10);
/// Time to wait for the answer to a command.
const ANSWER: Span = Span::from_secs(3);
/// Attempts with one command before the modem counts as silent.
const TRIES: u32 = 3;

/// State machine of a modem's control port.
#[derive(Debug)]
pub struct Modem {
    lines: Lines,
    registry: Registry,
    /// Index of the present command in [`COMMANDS`]; behind them, the request for the signal level.
    command: usize,
    /// Number of transmissions of the command; `None` before the first one.
    asked: Option<u32>,
    /// Earliest time of the next command.
    next: Time,
    /// Whether the last command got a response; `None` before the first response or timeout.
    answers: Option<bool>,
    /// Lines that are no result code of interest.
    others: u64,
    events: Vec<ModemEvent>,
}

impl Default for Modem {
    fn default() -> Self {
        Modem::new()
    }
}

impl Modem {
    /// State before the first command.
    pub fn new() -> Modem {
        Modem {
            lines: Lines::default(),
            registry: Registry::default(),
            command: 0,
            asked: None,
            next: Time::ZERO,
            answers: None,
            others: 0,
            events: Vec::new(),
        }
    }

    fn text(&self) -> &'static str {
        COMMANDS.get(self.command).copied().unwrap_or(SIGNAL)
    }

    /// Command to send now, without its carriage return.
    pub fn next_out(&mut self, now: Time) -> Option<&'static str> {
        if now < self.next {
            return None;
        }
        let tries = self.asked.unwrap_or(0);
        if tries >= TRIES {
            self.give_up(now);
            return None;
        }
        self.asked = Some(tries + 1);
        self.next = now + ANSWER;
        Some(self.text())
    }

    /// Earliest time of the next command.
    pub fn next_wake(&self) -> Time {
        self.next
    }

    /// Abandons the present command and starts again later.
    fn give_up(&mut self, now: Time) {
        if self.answers.replace(false) != Some(false) {
            let line = match self.others {
                0 => format!("no answer to {}", self.text()),
                others => format!("no answer to {}; {others} lines that are no result codes", self.text()),
            };
            self.note(now, ModemEventKind::Silent, &line);
        }
        (self.asked, self.command, self.next) = (None, 0, now + POLL);
    }

    /// Takes bytes from the control port.
    pub fn on_bytes(&mut self, now: Time, bytes: &[u8]) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes, |line| self.on_line(now, line));
        self.lines = lines;
    }

    fn on_line(&mut self, now: Time, line: &str) {
        let kind = match ResultCode::of(line) {
            None => {
                self.others += u64::from(line != self.text());
                return;
            }
            Some(ResultCode::Done) => return self.answered(now, false),
            Some(ResultCode::Refused) => return self.answered(now, true),
            Some(ResultCode::Registration(report)) => {
                if let Some((kind, before, cell)) = self.registry.on_report(report) {
                    let line = line.to_owned();
                    let t = now.as_secs_f64();
                    self.events.push(ModemEvent { t, kind, line, before, cell, dbm: None });
                }
                return;
            }
            Some(ResultCode::Signal(dbm)) => {
                self.note(now, ModemEventKind::Signal, line);
                if let Some(event) = self.events.last_mut() {
                    event.dbm = dbm;
                }
                return;
            }
            Some(ResultCode::NoCarrier) => ModemEventKind::NoCarrier,
            Some(ResultCode::SessionEnd(end)) => match (end.by_network, end.detach) {
                (true, true) => ModemEventKind::NetworkDetach,
                (true, false) => ModemEventKind::NetworkDeactivation,
                (false, true) => ModemEventKind::TerminalDetach,
                (false, false) => ModemEventKind::TerminalDeactivation,
            },
        };
        self.note(now, kind, line);
    }

    /// The present command ended.
    fn answered(&mut self, now: Time, refused: bool) {
        if self.asked.take().is_none() {
            return;
        }
        if self.answers.replace(true) != Some(true) {
            self.note(now, ModemEventKind::Answers, self.text());
        }
        self.next = now;
        if self.command >= COMMANDS.len() {
            self.next = now + POLL;
            return;
        }
        if refused {
            self.note(now, ModemEventKind::Refused, self.text());
        }
        self.command += 1;
    }

    fn note(&mut self, now: Time, kind: ModemEventKind, line: &str) {
        let (t, line) = (now.as_secs_f64(), line.to_owned());
        self.events.push(ModemEvent { t, kind, line, before: None, cell: None, dbm: None });
    }

    /// The device cannot be read any more.
    pub fn on_end(&mut self, now: Time, why: &str) {
        self.note(now, ModemEventKind::Gone, why);
    }

    /// Removes and returns the events since the last call.
    pub fn take_events(&mut self) -> Vec<ModemEvent> {
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn kinds(modem: &mut Modem) -> Vec<ModemEventKind> {
        modem.take_events().into_iter().map(|event| event.kind).collect()
    }

    /// WL-14: the commands go out one after the other, each after the answer to the last.
    #[test]
    fn wl_14_commands_wait_for_answers() {
        let mut modem = Modem::new();
        let mut said = Vec::new();
        while let Some(command) = modem.next_out(s(1)) {
            assert_eq!(modem.next_out(s(1)), None, "one at a time");
            said.push(command);
            let answer = match command {
                "AT+CEREG=2" | "AT+CEREG?" => "\r\nERROR\r\n",
                "AT+CREG?" => "\r\n+CREG: 2,1,\"0001\",\"000A\"\r\n\r\nOK\r\n",
                "AT+CSQ" => "\r\n+CSQ: 12,99\r\n\r\nOK\r\n",
                _ => "\r\nOK\r\n",
            };
            modem.on_bytes(s(1), answer.as_bytes());
        }
        assert_eq!((&said[..8], &said[8..]), (&COMMANDS[..], &[SIGNAL][..]));
        let events = modem.take_events();
        let heard: Vec<_> = events.iter().map(|event| (event.kind, event.line.as_str())).collect();
        assert_eq!(
            heard,
            [
                (ModemEventKind::Answers, "ATE0V1"),
                (ModemEventKind::Refused, "AT+CEREG=2"),
                (ModemEventKind::Registered, "+CREG: 2,1,\"0001\",\"000A\""),
                (ModemEventKind::Refused, "AT+CEREG?"),
                (ModemEventKind::Signal, "+CSQ: 12,99"),
            ]
        );
        assert_eq!((events[4].dbm, modem.next_wake()), (Some(-89), s(11)));
        modem.on_bytes(s(2), b"+CREG: 1,\"0001\",\"000B\"\r\n+CGEV: NW DETACH\r\nNO CARRIER\r\n");
        assert_eq!(
            kinds(&mut modem),
            [ModemEventKind::CellChange, ModemEventKind::NetworkDetach, ModemEventKind::NoCarrier]
        );
    }

    /// WL-14: silence and garbage are one event, commands go on, and codes count all the same.
    #[test]
    fn wl_14_a_silent_modem_is_tried_again() {
        let mut modem = Modem::new();
        let mut said = 0;
        for t in 0..60 {
            modem.on_bytes(s(t), b"garbage\xFF\r\n");
            said += usize::from(modem.next_out(s(t)) == Some("ATE0V1"));
        }
        // Three attempts of 3 s, then a pause of 10 s.
        assert_eq!(said, 10);
        let events = modem.take_events();
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0].line, "no answer to ATE0V1; 10 lines that are no result codes");
        modem.on_bytes(s(60), b"+CGREG: 1,\"0001\",\"000B\"\r\n+CGREG: 2\r\nOK\r\n");
        assert_eq!(
            kinds(&mut modem),
            [ModemEventKind::Registered, ModemEventKind::RegistrationLost, ModemEventKind::Answers]
        );
        modem.on_end(s(61), "unplugged");
        assert_eq!(kinds(&mut modem), [ModemEventKind::Gone]);
    }
}
