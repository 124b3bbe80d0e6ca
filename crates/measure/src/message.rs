//! Messages of the measurement protocol (`Message`) and their incremental parser (`Reader`), which also counts
//! measured bytes.
//!
//! A message is: kind (one byte), length (four bytes, big-endian), body. Messages and measured bytes share one
//! connection.
//!
//! A body is received completely before it is parsed. Its length is limited by kind, so a peer cannot occupy more than
//! [`LONGEST`] bytes. Measured bytes have no frame: their number is announced, and [`Reader`] counts them without
//! storing them.

use base::Span;

/// Protocol version; both ends must have the same.
pub const VERSION: u16 = 2;
/// Longest message body, bytes (a report).
pub const LONGEST: usize = 256 * 1024;
/// Longest token, bytes.
pub const LONGEST_TOKEN: usize = 256;
/// Largest request, reply or chunk, bytes.
pub const LARGEST_MESSAGE: u32 = 1 << 24;

/// First bytes of a greeting: they distinguish another program from another version.
const MAGIC: [u8; 4] = *b"wwlt";
/// Length of kind and length fields, bytes.
const HEAD: usize = 5;

/// Direction of the measured bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From client to server.
    Up,
    /// From server to client.
    Down,
}

impl Direction {
    /// Name of the direction.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// Size of a bulk transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Number of bytes.
    Bytes(u64),
    /// Duration from the sender's first byte; never zero.
    Lasts(Span),
}

/// Measurement job on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Bulk transfer in one direction.
    Bulk {
        /// Direction.
        direction: Direction,
        /// Size.
        amount: Amount,
    },
    /// Transactions: the client sends a request, the server a reply, repeatedly.
    Transactions {
        /// Bytes of a request, at least 1.
        request: u32,
        /// Bytes of a reply, at least 1.
        reply: u32,
        /// Number of transactions.
        count: u32,
    },
    /// Datagram echo while the connection is idle; ended by the client.
    Probes,
}

/// Reason of a refusal by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Different protocol version.
    Version,
    /// Missing or wrong token.
    Token,
    /// Too many connections.
    Busy,
    /// The job exceeds a limit of the server.
    TooMuch,
    /// Message not valid in this state.
    Nonsense,
}

/// Message of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// First message of the client.
    Hello {
        /// Protocol version of the client.
        version: u16,
        /// Identifier of the run, by which the server distinguishes clients.
        session: u64,
        /// Access token; may be empty.
        token: String,
    },
    /// Acceptance by the server.
    Welcome {
        /// Protocol version of the server.
        version: u16,
        /// Key of the datagram echo, valid while this connection exists.
        key: u64,
        /// UDP port of the datagram echo; 0: none.
        port: u16,
        /// Version of the server's program and kernel, for the log.
        name: String,
    },
    /// Refusal by the server; the connection ends.
    Refused {
        /// Reason.
        why: Refusal,
        /// Reason in words.
        text: String,
    },
    /// Job request of the client.
    Begin {
        /// Job.
        job: Job,
        /// Receive window that the server should offer, bytes; 0: system default.
        window: u32,
    },
    /// Acceptance of the job by the server; the bytes of the job follow.
    Ready,
    /// Header of a chunk of measured bytes.
    Chunk {
        /// Bytes of the chunk, at least 1.
        bytes: u32,
    },
    /// Last message of a timed transfer or of probes.
    End,
    /// Server's report on a job as JSON, or final statistics of an earlier connection as the response to
    /// [`Message::Account`].
    Report {
        /// JSON text.
        json: String,
    },
    /// Client's request, before a job, of the server's final kernel statistics of an earlier connection.
    Account {
        /// Key from the earlier connection's [`Message::Welcome`].
        key: u64,
    },
}

/// Reason why bytes are not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Unknown kind: the peer is another program.
    #[error("no message of this protocol begins with the byte {0:#04x}")]
    Kind(u8),
    /// The body exceeds the limit of its kind.
    #[error("a message of {0} bytes is too long")]
    Long(u32),
    /// The body does not match its kind.
    #[error("a message of kind {0} has invalid contents")]
    Body(u8),
}

impl Refusal {
    const ALL: [Refusal; 5] =
        [Refusal::Version, Refusal::Token, Refusal::Busy, Refusal::TooMuch, Refusal::Nonsense];
}

impl Message {
    /// Serialises the message; texts beyond their limit are truncated.
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
                    // The body of another version is not parsed.
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

/// Longest body of a message kind, bytes; None: unknown kind.
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

/// Item parsed from the byte stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Complete message.
    Message(Message),
    /// Number of measured bytes.
    Payload(u64),
}

/// Incremental parser of a connection's byte stream.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// Bytes of an incomplete message.
    kept: Vec<u8>,
    /// Measured bytes announced and not received yet.
    payload: u64,
}

impl Reader {
    /// Announces measured bytes.
    pub fn expect(&mut self, bytes: u64) {
        self.payload += bytes;
    }

    /// Removes one item from the front of `bytes`; None if more bytes are needed.
    ///
    /// # Errors
    /// [`Malformed`]; the stream is not usable afterwards.
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
            // The first byte is read alone, since it already identifies another program.
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
        /// For any segmentation of the stream, messages and measured bytes are parsed as sent.
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
        // Another version is recognised by its number, whatever follows.
        let mut other = vec![1, 0, 0, 0, 9];
        other.extend(b"wwlt");
        other.extend([0, 9, 1, 2, 3]);
        let heard = Message::Hello { version: 9, session: 0, token: String::new() };
        assert_eq!(read(&other), Ok(Some(Item::Message(heard))));
    }
}
