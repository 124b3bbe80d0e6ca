//! Parser of packetdrill scripts: each line with its time, and a system call, segment, assertion or command.

use super::lex::Cursor;
use crate::dialogue::{Range, Unreadable};
use base::spelling::nearest;

/// A parsed script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// `--name=value` lines, with their line numbers.
    pub options: Vec<(String, String, usize)>,
    /// `// williwaw: key = value` comments, with their line numbers.
    pub choices: Vec<(String, String, usize)>,
    /// Lines with an event, in order.
    pub lines: Vec<Line>,
}

/// A line with its time and event.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Line number, from 1.
    pub number: usize,
    /// Time of the event.
    pub when: When,
    /// Event.
    pub action: Action,
}

/// Time of an event, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Seconds after the previous line.
    After(f64),
    /// Seconds after the start of the script.
    At(f64),
    /// At any time (`*`).
    Any,
    /// Between two times, seconds after the previous line.
    AfterBetween(f64, f64),
    /// Between two times, seconds after the start of the script.
    Between(f64, f64),
}

/// Event or expectation.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A system call of the application.
    Call(Syscall),
    /// A segment from the peer.
    In(Packet),
    /// A segment that the tested end must send.
    Out(Packet),
    /// `%{ ... }%`: assertions on the observable state.
    Code(String),
    /// A command between backticks.
    Shell(String),
    /// A line that this parser does not support: its first words.
    Other(String),
}

/// A system call: `write(4, ..., 1000) = 1000`.
#[derive(Clone, Debug, PartialEq)]
pub struct Syscall {
    /// Name of the call.
    pub name: String,
    /// Arguments, as written.
    pub args: Vec<String>,
    /// Return value as written, without the text after the number.
    pub result: String,
}

/// A TCP segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    /// ECN field of the IP header, if written: `ect0`, `noecn`, `ce`...
    pub ecn: Option<String>,
    /// SYN.
    pub syn: bool,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
    /// ECE (in a SYN: with CWR, an offer of ECN).
    pub ece: bool,
    /// CWR.
    pub cwr: bool,
    /// ACK.
    pub ack_flag: bool,
    /// First sequence number and one past the last, as written; SYN and FIN do not count.
    pub range: Range,
    /// `ack N`.
    pub ack: Option<u64>,
    /// `win N`, unscaled as in the header.
    pub win: Option<u64>,
    /// TCP options; `None` for `<...>`, which matches any options.
    pub options: Option<Vec<TcpOption>>,
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq)]
pub enum TcpOption {
    /// Maximum segment size.
    Mss(u64),
    /// Padding.
    Nop,
    /// End of the options.
    Eol,
    /// SACK permitted.
    SackOk,
    /// Window scale: shift count.
    WindowScale(u64),
    /// TSval and TSecr.
    Timestamps(u64, u64),
    /// SACK blocks.
    Sack(Vec<Range>),
    /// Another option, by name.
    Other(String),
}

/// Prefix of an option of this program in a comment.
const OURS: &str = "williwaw:";

impl Script {
    /// Reads a script.
    pub fn read(text: &str) -> Result<Script, Unreadable> {
        let mut script = Script::default();
        let mut c = Cursor::new(text);
        loop {
            let mut wrong = None;
            c.space(|comment, line| {
                let Some(choice) = comment.trim().strip_prefix(OURS) else { return };
                match choice.split_once('=') {
                    Some((k, v)) => {
                        let value = v.trim().trim_matches('"').to_owned();
                        script.choices.push((k.trim().to_owned(), value, line));
                    }
                    None => wrong = Some(line),
                }
            })?;
            if let Some(line) = wrong {
                let message = format!("a choice is written `// {OURS} KEY = VALUE`");
                return Err(Unreadable { line, column: 1, message });
            }
            if c.peek().is_none() {
                return Ok(script);
            }
            let number = c.line;
            if c.eat("--") {
                let name = c.take_while(|c| !c.is_whitespace() && c != '=').to_owned();
                let value = if c.eat("=") { c.take_while(|c| !c.is_whitespace()) } else { "" };
                script.options.push((name, value.to_owned(), number));
                continue;
            }
            // A command may have no time.
            let when = if c.peek() == Some('`') { When::After(0.0) } else { when(&mut c)? };
            c.blanks();
            let action = action(&mut c)?;
            script.lines.push(Line { number, when, action });
        }
    }
}

fn when(c: &mut Cursor<'_>) -> Result<When, Unreadable> {
    if c.eat("*") {
        return Ok(When::Any);
    }
    let relative = c.eat("+");
    let from = c.seconds()?;
    if c.eat("~") {
        c.eat("+");
        let to = c.seconds()?;
        if to < from {
            return Err(c.error("the later time should stand second"));
        }
        return Ok(if relative { When::AfterBetween(from, to) } else { When::Between(from, to) });
    }
    let here = *c;
    c.blanks();
    if c.eat("...") {
        // A blocking call starts at the first time and returns at the second.
        c.blanks();
        c.eat("+");
        let to = c.seconds()?.max(from);
        return Ok(if relative { When::AfterBetween(from, to) } else { When::Between(from, to) });
    } else {
        *c = here;
    }
    Ok(if relative { When::After(from) } else { When::At(from) })
}

fn action(c: &mut Cursor<'_>) -> Result<Action, Unreadable> {
    match c.peek() {
        Some('<') | Some('>') => {
            let inbound = c.next() == Some('<');
            c.blanks();
            match packet(c)? {
                Ok(packet) if inbound => Ok(Action::In(packet)),
                Ok(packet) => Ok(Action::Out(packet)),
                Err(other) => Ok(Action::Other(other)),
            }
        }
        Some('%') => {
            c.expect("%{")?;
            Ok(Action::Code(c.take_until("}%")?.to_owned()))
        }
        Some('`') => {
            c.next();
            Ok(Action::Shell(c.take_until("`")?.trim().to_owned()))
        }
        Some(letter) if letter.is_ascii_alphabetic() => call(c),
        _ => Err(c.error("a call, `<`, `>`, `%{` or a command between backticks should stand here")),
    }
}

/// System calls of packetdrill; those that the model lacks make a script unsupported.
const CALLS: &[&str] = &[
    "socket",
    "bind",
    "listen",
    "accept",
    "accept4",
    "connect",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "write",
    "writev",
    "send",
    "sendto",
    "sendmsg",
    "fcntl",
    "ioctl",
    "close",
    "shutdown",
    "getsockopt",
    "setsockopt",
    "poll",
    "cap_set",
    "open",
    "sendfile",
    "epoll_create",
    "epoll_ctl",
    "epoll_wait",
    "pipe",
    "splice",
];

fn call(c: &mut Cursor<'_>) -> Result<Action, Unreadable> {
    let at = *c;
    let name = c.word().to_owned();
    if !CALLS.contains(&name.as_str())
        && let Some(meant) = nearest(&name, CALLS.iter().copied())
    {
        return Err(at.error(format!("there is no call `{name}`; did you mean `{meant}`?")));
    }
    c.blanks();
    c.expect("(")?;
    let start = *c;
    let mut args = vec![String::new()];
    let mut depth = 0u32;
    let mut quoted = false;
    loop {
        let Some(letter) = c.next() else { return Err(start.error("this call has no end")) };
        match letter {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => break,
            ')' | ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                args.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = args.last_mut() {
            last.push(letter);
        }
    }
    let args = args.iter().map(|a| a.trim().to_owned()).collect();
    c.blanks();
    c.expect("=")?;
    c.blanks();
    let result = c.take_while(|c| !c.is_whitespace()).to_owned();
    if result.is_empty() {
        return Err(c.error("what the call returns should stand here"));
    }
    // Name of an error, and its description: both are skipped.
    c.take_while(|c| c != '\n');
    Ok(Action::Call(Syscall { name, args, result }))
}

/// A segment, or the first words of an unsupported line.
fn packet(c: &mut Cursor<'_>) -> Result<Result<Packet, String>, Unreadable> {
    let mut packet = Packet::default();
    if c.eat("[") {
        packet.ecn = Some(c.take_until("]")?.trim().to_owned());
        c.blanks();
    }
    let at = *c;
    let flags = c.take_while(|c| !c.is_whitespace());
    let known = |f: char| "SFPRUEW.-".contains(f);
    if flags.is_empty() || !flags.chars().all(known) {
        if flags.starts_with(|f: char| f.is_ascii_alphabetic()) {
            // Other protocols: icmp, udp, gre.
            c.take_while(|c| c != '\n');
            return Ok(Err(flags.to_owned()));
        }
        return Err(at.error("the segment's flags should stand here: `S`, `.`, `P.`, `F.`"));
    }
    packet.syn = flags.contains('S');
    packet.fin = flags.contains('F');
    packet.rst = flags.contains('R');
    packet.ece = flags.contains('E');
    packet.cwr = flags.contains('W');
    packet.ack_flag = flags.contains('.');
    c.blanks();
    let at = *c;
    let from = c.number("the first sequence number")?;
    c.expect(":")?;
    let to = c.number("the sequence number one past the last")?;
    c.expect("(")?;
    let len = c.number("the length")?;
    c.expect(")")?;
    if to < from || to - from != len {
        return Err(at.error(format!("from {from} to {to} are not {len} bytes")));
    }
    packet.range = [from, to];
    packet.options = Some(Vec::new());
    loop {
        c.blanks();
        if c.eat("ack ") {
            c.blanks();
            packet.ack = Some(c.number("the acknowledgement")?);
        } else if c.eat("win ") {
            c.blanks();
            packet.win = Some(c.number("the window")?);
        } else if c.eat("<") {
            packet.options = options(c)?;
        } else if ["//", "/*", "\n"].iter().any(|end| c.rest().starts_with(end)) || c.peek().is_none() {
            break;
        } else {
            let word = c.take_while(|c| !c.is_whitespace()).to_owned();
            c.take_while(|c| c != '\n');
            return Ok(Err(format!("`{word}` of a segment")));
        }
    }
    Ok(Ok(packet))
}

fn options(c: &mut Cursor<'_>) -> Result<Option<Vec<TcpOption>>, Unreadable> {
    let mut out = Vec::new();
    let start = *c;
    loop {
        c.blanks();
        if c.eat("...") {
            c.blanks();
            c.expect(">")?;
            return Ok(None);
        }
        let at = *c;
        let word = c.word();
        c.blanks();
        let option = match word {
            "mss" => TcpOption::Mss(c.number("the segment size")?),
            "nop" => TcpOption::Nop,
            "eol" => TcpOption::Eol,
            "sackOK" => TcpOption::SackOk,
            "wscale" => TcpOption::WindowScale(c.number("the window's shift")?.min(14)),
            "TS" => {
                c.expect("val")?;
                c.blanks();
                let value = c.number("the timestamp")?;
                c.blanks();
                c.expect("ecr")?;
                c.blanks();
                TcpOption::Timestamps(value, c.number("the echoed timestamp")?)
            }
            "sack" => {
                let mut blocks = Vec::new();
                while c.peek().is_some_and(|d| d.is_ascii_digit()) {
                    let left = c.number("the left edge")?;
                    c.expect(":")?;
                    blocks.push([left, c.number("the right edge")?]);
                    c.blanks();
                }
                TcpOption::Sack(blocks)
            }
            "" if c.peek() == Some('>') && out.is_empty() => {
                c.next();
                return Ok(Some(out));
            }
            "" => return Err(at.error("a TCP option should stand here")),
            other => {
                let other = other.to_owned();
                c.take_while(|c| c != ',' && c != '>' && c != '\n');
                TcpOption::Other(other)
            }
        };
        out.push(option);
        c.blanks();
        if c.eat(">") {
            return Ok(Some(out));
        }
        if c.peek().is_none() {
            return Err(start.error("these options have no end"));
        }
        c.expect(",")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Line {
        let script = Script::read(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(script.lines.len(), 1, "{line}");
        script.lines[0].clone()
    }

    #[test]
    fn times_have_their_shapes() {
        let when = |t: &str| one(&format!("{t} close(3) = 0")).when;
        assert_eq!(when("+.1"), When::After(0.1));
        assert_eq!(when("+1.25"), When::After(1.25));
        assert_eq!(when("2"), When::At(2.0));
        assert_eq!(when("0.5"), When::At(0.5));
        assert_eq!(when("*"), When::Any);
        assert_eq!(when("+.2~+.3"), When::AfterBetween(0.2, 0.3));
        assert_eq!(when("1.2~1.3"), When::Between(1.2, 1.3));
        assert_eq!(when("+0...0.200"), When::AfterBetween(0.0, 0.2));
        assert_eq!(when("+.002 ... 0.004"), When::AfterBetween(0.002, 0.004));
    }

    #[test]
    fn segments_are_taken_apart() {
        let Action::In(p) = one("+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>").action
        else {
            panic!()
        };
        assert!(p.syn && !p.ack_flag && p.ack.is_none());
        assert_eq!((p.range, p.win), ([0, 0], Some(32792)));
        let options = p.options.unwrap();
        assert_eq!(
            (options.len(), &options[0], &options[5]),
            (6, &TcpOption::Mss(1000), &TcpOption::WindowScale(7))
        );
        let Action::Out(p) = one("* > P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 100 ecr 700>").action
        else {
            panic!()
        };
        assert_eq!((p.range, p.ack, p.ack_flag), ([1, 1001], Some(1), true));
        assert_eq!(p.options.unwrap()[2], TcpOption::Timestamps(100, 700));
        let Action::In(p) =
            one("+.1 < [ce] E. 1:1(0) ack 1 win 257 <sack 2001:3001 5001:6001,nop,nop>").action
        else {
            panic!()
        };
        assert_eq!((p.ecn.as_deref(), p.ece), (Some("ce"), true));
        assert_eq!(p.options.unwrap()[0], TcpOption::Sack(vec![[2001, 3001], [5001, 6001]]));
        let Action::Out(p) = one("+0 > S. 0:0(0) ack 1 <...> // any").action else { panic!() };
        assert_eq!(p.options, None);
    }

    #[test]
    fn calls_code_commands_options_and_comments() {
        let text = "// williwaw: recovery = \"reno\"\n--tolerance_usecs=10000\n`./defaults.sh`\n\
                    /* two\n lines */ 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                    +0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0\n\
                    +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n\
                    +0 %{ assert tcpi_snd_cwnd == 10,\n 'a, b' }%\n";
        let script = Script::read(text).unwrap();
        assert_eq!(script.choices, [("recovery".to_owned(), "reno".to_owned(), 1)]);
        assert_eq!(script.options, [("tolerance_usecs".to_owned(), "10000".to_owned(), 2)]);
        assert_eq!(script.lines[0].action, Action::Shell("./defaults.sh".to_owned()));
        let Action::Call(call) = &script.lines[2].action else { panic!() };
        assert_eq!(call.args, ["3", "SOL_SOCKET", "SO_REUSEADDR", "[1]", "4"]);
        let Action::Call(call) = &script.lines[3].action else { panic!() };
        assert_eq!((call.name.as_str(), call.result.as_str(), script.lines[3].number), ("connect", "-1", 7));
        assert!(matches!(&script.lines[4].action, Action::Code(code) if code.contains("tcpi_snd_cwnd")));
        assert_eq!(one("+0 > icmp unreachable").action, Action::Other("icmp".to_owned()));
    }

    #[test]
    fn a_mistake_has_its_place() {
        let at = |text: &str| Script::read(text).unwrap_err().to_string();
        assert_eq!(
            at("+0 < S 0:0(0) win 1\n+0 > . 1:1001(999) ack 1"),
            "2:8: from 1 to 1001 are not 999 bytes"
        );
        assert_eq!(at("+x close(3) = 0"), "1:2: a time should stand here: `+0.1`, `0.1`, `*`");
        assert_eq!(at("+0 > . 1:1(0) ack x"), "1:19: the acknowledgement should be a whole number");
        assert_eq!(at("+0 > . 1:1(0) ack 1 <mss>"), "1:25: the segment size should be a whole number");
        assert_eq!(at("+0 close(3\n"), "1:10: this call has no end");
        assert_eq!(at("+0 close(3)"), "1:12: `=` should stand here, not the end of the line");
        assert_eq!(at("+0 %{ assert 1"), "1:6: `}%` never comes");
        assert_eq!(
            at("+0 !"),
            "1:4: a call, `<`, `>`, `%{` or a command between backticks should stand here"
        );
        assert_eq!(at("// williwaw: fast"), "1:1: a choice is written `// williwaw: KEY = VALUE`");
    }
}
