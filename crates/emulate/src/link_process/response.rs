//! Responses of a link process, one line each: line reader with a length limit, and parser of delivery time or loss of
//! a packet (docs/link-process.md).

use base::Time;
use path::outside::{PacketArrival, PacketFate};
use std::io::{BufRead, BufReader, Read};

/// Longest response line, bytes, end of line included.
pub const LONGEST: u64 = 128;

/// Next line of the program's output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Response {
    /// A line, without its end. Invalid UTF-8 is replaced.
    Line(String),
    /// A line of more than [`LONGEST`] bytes; its rest is not read.
    TooLong,
    /// The output ended in the middle of this line.
    Cut(String),
}

/// Lines of a program's output, until it ends, fails, or exceeds the line length.
pub struct Responses<R> {
    output: Option<BufReader<R>>,
}

impl<R: Read> Responses<R> {
    /// Lines of `output`.
    pub fn of(output: R) -> Responses<R> {
        Responses { output: Some(BufReader::new(output)) }
    }
}

impl<R: Read> Iterator for Responses<R> {
    type Item = Response;

    fn next(&mut self) -> Option<Response> {
        let mut line = Vec::new();
        let read = self.output.as_mut()?.take(LONGEST).read_until(b'\n', &mut line);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match (read, line.as_slice()) {
            (Ok(_), [line @ .., b'\n']) => Some(Response::Line(text(line))),
            (Ok(n), _) if n as u64 == LONGEST => {
                self.output = None;
                Some(Response::TooLong)
            }
            (_, line) => {
                self.output = None;
                (!line.is_empty()).then(|| Response::Cut(text(line)))
            }
        }
    }
}

/// Parses a response: `NUMBER at NANOSECONDS` or `NUMBER lost`.
///
/// # Errors
/// The fault of an invalid response, with the valid form.
pub fn answer(line: &str, packet: &PacketArrival) -> Result<PacketFate, String> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (number, fate) = match words[..] {
        [number, "at", t] => (number, t.parse().map(|t| PacketFate::At(Time::from_nanos(t))).ok()),
        [number, "lost"] => (number, Some(PacketFate::Lost)),
        _ => ("", None),
    };
    let Some(fate) = fate else {
        return Err("an answer is `NUMBER at NANOSECONDS` or `NUMBER lost`".to_owned());
    };
    if number.parse() != Ok(packet.number) {
        return Err(format!("packet {} was asked about", packet.number));
    }
    match fate {
        PacketFate::At(t) if t <= packet.at => {
            Err(format!("it arrived at {}, and is delivered later than that", packet.at.as_nanos()))
        }
        PacketFate::At(t) if t == Time::NEVER => {
            Err("that is no time; `NUMBER lost` loses a packet".to_owned())
        }
        fate => Ok(fate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: PacketArrival = PacketArrival { at: Time::from_nanos(7), number: 12, size: 40, flow: 0 };

    #[test]
    fn answers_are_times_after_the_question() {
        assert_eq!(answer("12 at 8", &PACKET), Ok(PacketFate::At(Time::from_nanos(8))));
        assert_eq!(answer("12 lost", &PACKET), Ok(PacketFate::Lost));
        for wrong in [
            "",
            "12",
            "12 at",
            "12 at -1",
            "12 at 7",
            "13 at 9",
            "13 lost",
            "12 at 9 ms",
            "12 at 18446744073709551615",
        ] {
            assert!(answer(wrong, &PACKET).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lines_end_where_the_output_does() {
        let said = |bytes: &[u8]| Responses::of(bytes).collect::<Vec<_>>();
        let line = |text: &str| Response::Line(text.to_owned());
        assert_eq!(said(b"1 at 5\n2 lost\n"), [line("1 at 5"), line("2 lost")]);
        assert_eq!(said(b"1 at 5\r\n\n2 l"), [line("1 at 5\r"), line(""), Response::Cut("2 l".to_owned())]);
        assert_eq!(said(&[b'9'; 200]), [Response::TooLong]);
        // 127 bytes and the end of line are within the limit.
        let full = [[b'9'; 127].as_slice(), b"\n"].concat();
        assert_eq!(said(&full), [line(&"9".repeat(127))]);
        assert_eq!(said(&[[b'9'; 128].as_slice(), b"\n1 lost\n"].concat()), [Response::TooLong]);
    }
}
