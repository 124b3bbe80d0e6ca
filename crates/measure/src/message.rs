//! Measurement protocol messages: kind, length, body.
//!
//! Messages before and after the bytes that are measured, on the same connection: a kind (one byte), a length (four,
//! big-endian), a body.
//!
//! A body is read whole before it is believed, and none may be longer than its kind allows, so a peer cannot make
//! this end keep more than [`LONGEST`] bytes. Bytes that are measured have no frame: how many come is said before
//! they do, and [`Reader`] counts them without keeping them.

use base::Span;

/// The version of the protocol. Both ends must speak the same.
pub const VERSION: u16 = 2;
/// The longest body of a message, bytes: that of a report.
pub const LONGEST: usize = 256 * 1024;
/// The longest token, bytes.
pub const LONGEST_TOKEN: usize = 256;
/// The most bytes of one request, one reply or one chunk.
pub const LARGEST_MESSAGE: u32 = 1 << 24;

/// The first bytes of a greeting, so that a stranger is told from an older version.
const MAGIC: [u8; 4] = *b"wwlt";
/// Bytes of a message before its body.
const HEAD: usize = 5;

/// Which way the measured bytes go: `down` is from the server to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the client.
    Up,
    /// To the client.
    Down,
}

impl Direction {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// How much a bulk transfer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// As much as goes in so long, from the sender's first byte; never no time at all.
    Lasts(Span),
}

/// What is to be done next on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Bytes in one direction.
    Bulk {
        /// Whereto.
        direction: Direction,
        /// How much.
        amount: Amount,
    },
    /// The client sends a request, the server a reply, and so on.
    Transactions {
        /// Bytes of a request, at least 1.
        request: u32,
        /// Bytes of a reply, at least 1.
        reply: u32,
        /// So many times.
        count: u32,
    },
    /// The connection stays quiet while datagrams are echoed; the client ends it.
    Probes,
}

/// Why a server will not talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The client speaks another version.
    Version,
    /// The token is missing or wrong.
    Token,
    /// Too many connections.
    Busy,
    /// A job larger than the server allows.
    TooMuch,
    /// What was said makes no sense there.
    Nonsense,
}

/// What one end tells the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The client's first.
    Hello {
        /// The protocol it speaks.
        version: u16,
        /// Names the run, so that a server can tell clients apart.
        session: u64,
        /// Lets it in where a server asks for one; else empty.
        token: String,
    },
    /// The server's answer.
    Welcome {
        /// The protocol it speaks.
        version: u16,
        /// Opens the server's echo of datagrams for as long as this connection lasts.
        key: u64,
        /// Where datagrams are echoed; 0 if nowhere.
        port: u16,
        /// Program and kernel, to be recorded.
        name: String,
    },
    /// The server's other answer; the connection ends.
    Refused {
        /// What kind of reason.
        why: Refusal,
        /// The reason in words.
        text: String,
    },
    /// What to do.
    Begin {
        /// This.
        job: Job,
        /// Bytes that the server shall offer as its receive window; 0: as its system likes.
        window: u32,
    },
    /// The server takes the job: what follows is the job's.
    Ready,
    /// So many measured bytes follow.
    Chunk {
        /// How many, at least 1.
        bytes: u32,
    },
    /// No more chunks follow.
    End,
    /// What the server saw of the job, as JSON; or of another connection, when that is what was asked.
    Report {
        /// The text.
        json: String,
    },
    /// Before a job: what did the server's kernel say of an earlier connection when it was closed?
    Account {
        /// The key of that connection's [`Message::Welcome`].
        key: u64,
    },
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The kind is none of ours: the peer is another program.
    #[error("no message of this protocol begins with the byte {0:#04x}")]
    Kind(u8),
    /// The body is longer than any of its kind.
    #[error("a message of {0} bytes is too long")]
    Long(u32),
    /// The body does not hold what its kind says.
    #[error("a message of kind {0} does not hold what it should")]
    Body(u8),
}

impl Refusal {
    const ALL: [Refusal; 5] =
        [Refusal::Version, Refusal::Token, Refusal::Busy, Refusal::TooMuch, Refusal::Nonsense];
}

impl Message {
    /// The bytes on the wire. A text that is too long for its field is cut.
    pub fn bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let kind = match self {
            Message::Hello { version, session, token } => {
                body.extend(MAGIC);
                body.extend(version.to_be_bytes());
                body.extend(session.to_be_bytes());
                text(&mut body, token, LONGEST_TOKEN);
                1
            }
            Message::Welcome { version, key, port, name } => {
                body.extend(MAGIC);
                body.extend(version.to_be_bytes());
                body.extend(key.to_be_bytes());
                body.extend(port.to_be_bytes());
                text(&mut body, name, 200);
                2
            }
            Message::Refused { why, text: reason } => {
                body.push(*why as u8);
                text(&mut body, reason, 200);
                3
            }
            Message::Begin { job, window } => {
                body.extend(window.to_be_bytes());
                match *job {
                    Job::Bulk { direction, amount } => {
                        body.push(u8::from(direction == Direction::Down));
                        let (unit, n) = match amount {
                            Amount::Bytes(n) => (0, n),
                            Amount::Lasts(span) => (1, span.as_nanos()),
                        };
                        body.push(unit);
                        body.extend(n.to_be_bytes());
                    }
                    Job::Transactions { request, reply, count } => {
                        body.push(2);
                        body.extend(
                            [request.to_be_bytes(), reply.to_be_bytes(), count.to_be_bytes()].concat(),
                        );
                    }
                    Job::Probes => body.push(3),
                }
                4
            }
            Message::Chunk { bytes } => {
                body.extend(bytes.to_be_bytes());
                5
            }
            Message::End => 6,
            Message::Ready => 8,
            Message::Report { json } => {
                text(&mut body, json, LONGEST);
                7
            }
            Message::Account { key } => {
                body.extend(key.to_be_bytes());
                9
            }
        };
        let mut out = vec![kind];
        out.extend((body.len() as u32).to_be_bytes());
        out.extend(body);
        out
    }

    fn read(kind: u8, body: &[u8]) -> Option<Message> {
        let mut rest = body;
        let rest = &mut rest;
        let message = match kind {
            1 => {
                magic(rest)?;
                let version = u16::from_be_bytes(take(rest)?);
                if version != VERSION {
                    // What another version puts here is its own business.
                    return Some(Message::Hello { version, session: 0, token: String::new() });
                }
                let session = u64::from_be_bytes(take(rest)?);
                Message::Hello { version, session, token: rest_as_text(rest)? }
            }
            2 => {
                magic(rest)?;
                let version = u16::from_be_bytes(take(rest)?);
                if version != VERSION {
                    return Some(Message::Welcome { version, key: 0, port: 0, name: String::new() });
                }
                let (key, port) = (u64::from_be_bytes(take(rest)?), u16::from_be_bytes(take(rest)?));
                Message::Welcome { version, key, port, name: rest_as_text(rest)? }
            }
            3 => {
                let [why] = take(rest)?;
                let why = *Refusal::ALL.get(usize::from(why)).unwrap_or(&Refusal::Nonsense);
                Message::Refused { why, text: rest_as_text(rest)? }
            }
            4 => {
                let window = u32::from_be_bytes(take(rest)?);
                Message::Begin { job: job(rest)?, window }
            }
            5 => {
                let bytes = u32::from_be_bytes(take(rest)?);
                if !(1..=LARGEST_MESSAGE).contains(&bytes) {
                    return None;
                }
                Message::Chunk { bytes }
            }
            6 => Message::End,
            8 => Message::Ready,
            7 => Message::Report { json: rest_as_text(rest)? },
            9 => Message::Account { key: u64::from_be_bytes(take(rest)?) },
            _ => return None,
        };
        rest.is_empty().then_some(message)
    }
}

/// The longest body that a message of this kind may have; none: there is no such kind.
fn longest(kind: u8) -> Option<usize> {
    match kind {
        1 => Some(LONGEST_TOKEN + 14),
        2 | 3 => Some(256),
        4..=6 | 8 | 9 => Some(32),
        7 => Some(LONGEST),
        _ => None,
    }
}

fn job(rest: &mut &[u8]) -> Option<Job> {
    let [kind] = take(rest)?;
    Some(match kind {
        0 | 1 => {
            let [unit] = take(rest)?;
            let n = u64::from_be_bytes(take(rest)?);
            let amount = match unit {
                0 if n > 0 => Amount::Bytes(n),
                1 if n > 0 => Amount::Lasts(Span::from_nanos(n)),
                _ => return None,
            };
            let direction = if kind == 0 { Direction::Up } else { Direction::Down };
            Job::Bulk { direction, amount }
        }
        2 => {
            let mut word = || Some(u32::from_be_bytes(take(rest)?));
            let (request, reply, count) = (word()?, word()?, word()?);
            let sizes = 1..=LARGEST_MESSAGE;
            if !sizes.contains(&request) || !sizes.contains(&reply) || count == 0 {
                return None;
            }
            Job::Transactions { request, reply, count }
        }
        3 => Job::Probes,
        _ => return None,
    })
}

fn text(body: &mut Vec<u8>, text: &str, most: usize) {
    let end = (0..=text.len().min(most)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    body.extend(&text.as_bytes()[..end]);
}

fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = from.split_first_chunk::<N>()?;
    *from = tail;
    Some(*head)
}

fn magic(from: &mut &[u8]) -> Option<()> {
    (take(from)? == MAGIC).then_some(())
}

fn rest_as_text(from: &mut &[u8]) -> Option<String> {
    let text = std::str::from_utf8(from).ok()?.to_owned();
    *from = &[];
    Some(text)
}

/// What has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A whole message.
    Message(Message),
    /// So many of the bytes that were expected.
    Payload(u64),
}

/// Makes items of what a connection brings, in whatever pieces it comes.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// The beginning of a message.
    kept: Vec<u8>,
    /// Measured bytes still to come.
    payload: u64,
}

impl Reader {
    /// The next so many bytes are measured ones.
    pub fn expect(&mut self, bytes: u64) {
        self.payload += bytes;
    }

    /// Takes one item from the front of `bytes`; none once more bytes are needed.
    ///
    /// # Errors
    /// [`Malformed`]; nothing sensible can follow.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Item>, Malformed> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if self.payload > 0 {
            let n = self.payload.min(bytes.len() as u64);
            self.payload -= n;
            *bytes = &bytes[n as usize..];
            return Ok(Some(Item::Payload(n)));
        }
        loop {
            let wanted = match self.kept.as_slice() {
                [kind, a, b, c, d, ..] => {
                    let length = u32::from_be_bytes([*a, *b, *c, *d]);
                    let most = longest(*kind).ok_or(Malformed::Kind(*kind))?;
                    if length as usize > most {
                        return Err(Malformed::Long(length));
                    }
                    HEAD + length as usize
                }
                [kind, ..] if longest(*kind).is_none() => return Err(Malformed::Kind(*kind)),
                _ => HEAD,
            };
            if self.kept.len() == wanted && wanted > HEAD || self.kept.len() >= HEAD && wanted == HEAD {
                let kind = self.kept[0];
                let message = Message::read(kind, &self.kept[HEAD..]).ok_or(Malformed::Body(kind))?;
                self.kept.clear();
                return Ok(Some(Item::Message(message)));
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            // A byte at first, so that a stranger is known by the first one.
            let n = if self.kept.is_empty() { 1 } else { (wanted - self.kept.len()).min(bytes.len()) };
            self.kept.extend_from_slice(&bytes[..n]);
            *bytes = &bytes[n..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn jobs() -> impl Strategy<Value = Job> {
        let bulk = (any::<bool>(), any::<bool>(), 1u64..).prop_map(|(down, bytes, n)| Job::Bulk {
            direction: if down { Direction::Down } else { Direction::Up },
            amount: if bytes { Amount::Bytes(n) } else { Amount::Lasts(Span::from_nanos(n)) },
        });
        let sizes = || 1..=LARGEST_MESSAGE;
        let transactions = (sizes(), sizes(), 1u32..).prop_map(|(request, reply, count)| Job::Transactions {
            request,
            reply,
            count,
        });
        prop_oneof![bulk, transactions, Just(Job::Probes)]
    }

    fn messages() -> impl Strategy<Value = Message> {
        prop_oneof![
            (any::<u64>(), ".{0,40}").prop_map(|(session, token)| Message::Hello {
                version: VERSION,
                session,
                token
            }),
            (any::<u64>(), any::<u16>(), ".{0,40}").prop_map(|(key, port, name)| Message::Welcome {
                version: VERSION,
                key,
                port,
                name
            }),
            (0..5usize, ".{0,40}").prop_map(|(i, text)| Message::Refused { why: Refusal::ALL[i], text }),
            (jobs(), any::<u32>()).prop_map(|(job, window)| Message::Begin { job, window }),
            (1..=LARGEST_MESSAGE).prop_map(|bytes| Message::Chunk { bytes }),
            Just(Message::End),
            Just(Message::Ready),
            ".{0,400}".prop_map(|json| Message::Report { json }),
            any::<u64>().prop_map(|key| Message::Account { key }),
        ]
    }

    proptest! {
        /// However a connection cuts them, messages and measured bytes come out as they went in.
        #[test]
        fn what_is_said_is_heard(
            said in prop::collection::vec((messages(), 0u64..300), 1..6),
            cuts in prop::collection::vec(1usize..50, 1..20)
        ) {
            let mut wire = Vec::new();
            for (message, payload) in &said {
                wire.extend(message.bytes());
                wire.extend(vec![7; *payload as usize]);
            }
            let mut reader = Reader::default();
            let (mut heard, mut counted) = (Vec::new(), Vec::new());
            let mut rest = wire.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break }
                let (mut piece, tail) = rest.split_at((*cut).min(rest.len()));
                rest = tail;
                while let Some(item) = reader.next(&mut piece).unwrap() {
                    match item {
                        Item::Message(message) => {
                            reader.expect(said[heard.len()].1);
                            heard.push(message);
                            counted.push(0);
                        }
                        Item::Payload(n) => *counted.last_mut().unwrap() += n,
                    }
                }
                prop_assert!(piece.is_empty());
            }
            prop_assert_eq!(heard, said.iter().map(|s| s.0.clone()).collect::<Vec<_>>());
            prop_assert_eq!(counted, said.iter().map(|s| s.1).collect::<Vec<_>>());
        }
    }

    #[test]
    fn strangers_and_liars_are_known_at_once() {
        let read = |bytes: &[u8]| Reader::default().next(&mut &*bytes);
        assert_eq!(read(b"SSH-2.0-x"), Err(Malformed::Kind(b'S')));
        assert_eq!(read(&[7, 0xff, 0xff, 0xff, 0xff]), Err(Malformed::Long(u32::MAX)));
        assert_eq!(read(&[5, 0, 0, 0, 4, 0, 0, 0, 0]), Err(Malformed::Body(5)));
        assert_eq!(read(&[6, 0, 0, 0, 1, 0]), Err(Malformed::Body(6)));
        // Another version is heard as such, whatever it says behind its number.
        let mut other = vec![1, 0, 0, 0, 9];
        other.extend(b"wwlt");
        other.extend([0, 9, 1, 2, 3]);
        let heard = Message::Hello { version: 9, session: 0, token: String::new() };
        assert_eq!(read(&other), Ok(Some(Item::Message(heard))));
    }
}
