//! Result codes of a modem's control port (`ResultCode`): registration, packet sessions, signal, ends of commands (3GPP TS 27.007,
//! ITU-T V.250).

use serde::{Deserialize, Serialize};

/// Longest line, bytes; longer ones are no result codes of interest.
const LONGEST: usize = 256;

/// Domain of a registration, by the command that reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Circuit-switched services (`+CREG`).
    Circuit,
    /// Packet-switched services of GERAN and UTRAN (`+CGREG`).
    Packet,
    /// The evolved packet system, E-UTRAN (`+CEREG`).
    Evolved,
}

/// Status of a registration in one domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Registered, at home (1, 9) or roaming (5, 10).
    Registered,
    /// Not registered, and not searching (0).
    Idle,
    /// Not registered, searching for an operator (2).
    Searching,
    /// Denied by the network (3).
    Denied,
    /// Unknown, as out of coverage (4).
    Unknown,
    /// Short messages or emergency services alone (6, 7, 8, 11).
    Limited,
}

impl Status {
    fn of(number: u8) -> Option<Status> {
        Some(match number {
            0 => Status::Idle,
            1 | 5 | 9 | 10 => Status::Registered,
            2 => Status::Searching,
            3 => Status::Denied,
            4 => Status::Unknown,
            6..=8 | 11 => Status::Limited,
            _ => return None,
        })
    }
}

/// Cell with its location or tracking area.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// Location area code (2 octets) or tracking area code (2 or 3 octets).
    pub area: u32,
    /// Cell identity, at most 36 bits.
    pub id: u64,
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04X}/{:04X}", self.area, self.id)
    }
}

/// Registration as reported for one domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registration {
    /// Domain.
    pub domain: Domain,
    /// Status.
    pub status: Status,
    /// Serving cell, if the code names one.
    pub cell: Option<Cell>,
}

/// End of a packet session (`+CGEV`, section 10.1.19).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionEnd {
    /// The network ended it (`NW`), not the terminal (`ME`).
    pub by_network: bool,
    /// The terminal was detached, not only a context or PDN connection deactivated.
    pub detach: bool,
}

/// Result code, unsolicited or as a response to a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultCode {
    /// Registration (`+CREG`, `+CGREG`, `+CEREG`; sections 7.2, 10.1.20, 10.1.22).
    Registration(Registration),
    /// End of a packet session.
    SessionEnd(SessionEnd),
    /// End of a circuit-switched call (`NO CARRIER`).
    NoCarrier,
    /// Signal level, dBm (`+CSQ`, section 8.5); `None`: not detectable.
    Signal(Option<i16>),
    /// The command is complete (`OK`).
    Done,
    /// The command is refused (`ERROR`, `+CME ERROR`, `+CMS ERROR`).
    Refused,
}

impl ResultCode {
    /// Result code of a line; `None`: an echo, a code without interest, or no code at all.
    pub fn of(line: &str) -> Option<ResultCode> {
        match line {
            "OK" => return Some(ResultCode::Done),
            "ERROR" => return Some(ResultCode::Refused),
            "NO CARRIER" => return Some(ResultCode::NoCarrier),
            _ => {}
        }
        let (name, rest) = line.split_once(':')?;
        match name {
            "+CREG" => registration(Domain::Circuit, rest),
            "+CGREG" => registration(Domain::Packet, rest),
            "+CEREG" => registration(Domain::Evolved, rest),
            "+CGEV" => session_end(rest),
            "+CSQ" => signal(rest),
            "+CME ERROR" | "+CMS ERROR" => Some(ResultCode::Refused),
            _ => None,
        }
    }
}

/// Reads status, area and cell. The response to a read command has the reporting mode in front (`2,1,"00C3","12AB"`), an
/// unsolicited code has not (`1,"00C3","12AB"`). Some modems leave the quotes out.
fn registration(domain: Domain, text: &str) -> Option<ResultCode> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let number = |i: usize| fields.get(i).filter(|field| field.len() <= 2)?.parse::<u8>().ok();
    let mode_first = match fields.get(2) {
        _ if number(1).is_none_or(|status| Status::of(status).is_none()) => false,
        // Without quotes, three fields are status, area and cell.
        Some(third) => third.starts_with('"') || third.is_empty() || fields.len() > 3,
        None => true,
    };
    let at = usize::from(mode_first);
    let status = Status::of(number(at)?)?;
    let area = hex(fields.get(at + 1)).and_then(|area| u32::try_from(area).ok());
    // 3GPP TS 23.003 section 4.1: no valid location area.
    let area = area.filter(|area| ![0, 0xFFFE, 0xFFFF].contains(area));
    let cell = area.zip(hex(fields.get(at + 2))).map(|(area, id)| Cell { area, id });
    Some(ResultCode::Registration(Registration { domain, status, cell }))
}

fn hex(field: Option<&&str>) -> Option<u64> {
    let digits = field?.trim_matches('"');
    (digits.len() <= 9).then(|| u64::from_str_radix(digits, 16).ok())?
}

fn session_end(text: &str) -> Option<ResultCode> {
    let mut words = text.split([' ', ',']).filter(|word| !word.is_empty());
    let by_network = match words.next()? {
        "NW" => true,
        "ME" => false,
        _ => return None,
    };
    let (first, second) = (words.next()?, words.next());
    let detach = match (first, second) {
        ("DETACH", _) => true,
        ("PDN", Some("DEACT")) => false,
        // With numbers alone it is a secondary context or a dedicated bearer: the address stays.
        ("DEACT", Some(kind)) if kind.parse::<u32>().is_err() => false,
        _ => return None,
    };
    Some(ResultCode::SessionEnd(SessionEnd { by_network, detach }))
}

/// Level of `rssi` steps of 2 dB from -113 dBm; 99: unknown or not detectable.
fn signal(text: &str) -> Option<ResultCode> {
    let level = text.split(',').next()?.trim().parse::<i16>().ok()?;
    match level {
        0..=31 => Some(ResultCode::Signal(Some(-113 + 2 * level))),
        99 => Some(ResultCode::Signal(None)),
        _ => None,
    }
}

/// Lines of a control port, separated by carriage returns and line feeds. Bytes that are no printable ASCII are left out, and
/// so are lines longer than [`LONGEST`].
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: String,
    overlong: bool,
}

impl Lines {
    /// Takes bytes and passes each complete line that is not empty.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        for byte in bytes {
            match byte {
                b'\r' | b'\n' => {
                    let line = self.line.trim();
                    if !self.overlong && !line.is_empty() {
                        each(line);
                    }
                    self.line.clear();
                    self.overlong = false;
                }
                b' '..=b'~' if self.line.len() < LONGEST => self.line.push(char::from(*byte)),
                b' '..=b'~' => self.overlong = true,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: &str) -> Option<(Status, Option<Cell>)> {
        match ResultCode::of(line)? {
            ResultCode::Registration(Registration { status, cell, .. }) => Some((status, cell)),
            other => panic!("{other:?}"),
        }
    }

    /// WL-14: unsolicited codes and responses to read commands, with and without quotes.
    #[test]
    fn wl_14_registrations_in_every_notation() {
        let cell = Some(Cell { area: 0xC3, id: 0x12AB });
        let (here, none) = (Some((Status::Registered, cell)), |status| Some((status, None)));
        for line in [
            "+CREG: 1,\"00C3\",\"12AB\"",
            "+CREG: 1,\"00C3\",\"12AB\",0",
            "+CREG: 2,1,\"00C3\",\"12AB\"",
            "+CREG: 2,5,\"00C3\",\"12AB\",3",
            "+CREG:1, 00C3, 12AB",
            "+CREG: 2,1,00C3,12AB",
            "+CGREG: 5,\"00c3\",\"000012ab\",7,\"01\"",
            "+CEREG: 2,1,\"00C3\",\"00012AB\",7",
        ] {
            assert_eq!(place(line), here, "{line}");
        }
        assert_eq!(place("+CREG: 1,5,12AB").unwrap().1, Some(Cell { area: 5, id: 0x12AB }));
        for (line, status) in [
            ("+CREG: 0", Status::Idle),
            ("+CREG: 2", Status::Searching),
            ("+CREG: 0,2", Status::Searching),
            ("+CREG: 2,0,\"FFFF\",\"12AB\"", Status::Idle),
            ("+CGREG: 3", Status::Denied),
            ("+CGREG: 3,\"0000\",\"12AB\"", Status::Denied),
            ("+CEREG: 4", Status::Unknown),
            ("+CREG: 6,,", Status::Limited),
            ("+CEREG: 2,1,,", Status::Registered),
        ] {
            assert_eq!(place(line), none(status), "{line}");
        }
        for line in ["+CREG:", "+CREG: ", "+CREG: 12", "+CREG: x", "+CREG: -1", "+CREG: (0-2)", "CREG: 1"] {
            assert_eq!(ResultCode::of(line), None, "{line}");
        }
    }

    /// WL-14: who ended a packet session; the end of a dedicated bearer is none.
    #[test]
    fn wl_14_ends_of_packet_sessions() {
        let end = |line: &str| match ResultCode::of(line)? {
            ResultCode::SessionEnd(SessionEnd { by_network, detach }) => Some((by_network, detach)),
            other => panic!("{other:?}"),
        };
        assert_eq!(end("+CGEV: NW DETACH"), Some((true, true)));
        assert_eq!(end("+CGEV: ME DETACH"), Some((false, true)));
        assert_eq!(end("+CGEV: NW DEACT \"IP\",\"10.0.0.9\",1"), Some((true, false)));
        assert_eq!(end("+CGEV: NW DEACT IP, 10.0.0.9"), Some((true, false)));
        assert_eq!(end("+CGEV: NW PDN DEACT 1"), Some((true, false)));
        assert_eq!(end("+CGEV: ME PDN DEACT 1,0"), Some((false, false)));
        for line in
            ["NW DEACT 1,2,0", "NW PDN ACT 1", "NW CLASS B", "NW MODIFY 1,0,0", "REJECT IP, 1", "NW", ""]
        {
            assert_eq!(end(&format!("+CGEV: {line}")), None, "{line}");
        }
    }

    #[test]
    fn levels_and_ends_of_commands() {
        assert_eq!(ResultCode::of("+CSQ: 0,0"), Some(ResultCode::Signal(Some(-113))));
        assert_eq!(ResultCode::of("+CSQ: 31,99"), Some(ResultCode::Signal(Some(-51))));
        assert_eq!(ResultCode::of("+CSQ: 99,99"), Some(ResultCode::Signal(None)));
        assert_eq!(ResultCode::of("+CSQ: 32,99"), None);
        assert_eq!(ResultCode::of("+CME ERROR: 30"), Some(ResultCode::Refused));
        assert_eq!(ResultCode::of("NO CARRIER"), Some(ResultCode::NoCarrier));
        assert_eq!(ResultCode::of("AT+CREG=2"), None);
    }

    #[test]
    fn lines_are_bounded_and_printable() {
        let mut lines = Lines::default();
        let mut heard = Vec::new();
        let long = [b"x".repeat(LONGEST + 1), b"\r\nOK\r".to_vec()].concat();
        let parts: [&[u8]; 4] = [b"\r\n+CS", b"Q: 9\x80\0,0\r\n\n", &long, b"\nNO CARRIER"];
        parts.iter().for_each(|part| lines.push(part, |line| heard.push(line.to_owned())));
        assert_eq!(heard, ["+CSQ: 9,0", "OK"]);
    }
}
