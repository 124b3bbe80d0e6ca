//! Client's state machine of the measurement protocol (`ClientProtocol`): greeting, request of a job, measured bytes,
//! report of the server.
//!
//! Input: received bytes and time. Output: bytes to send. It uses no sockets.

use crate::flow::{Arrivals, Chunks, Output, Pause};
use crate::message::{Amount, Direction, Item, Job, Malformed, Message, Reader, Refusal, VERSION};
use base::{Span, Time};
use std::collections::VecDeque;

/// Permanent incompatibility with the server, so that a retry is useless.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientFault {
    /// The peer is another program.
    #[error("the program that answers is not a `williwaw measure server`: {0}")]
    Stranger(Malformed),
    /// The server uses another protocol version.
    #[error("the server uses version {0} of the protocol, this client version {VERSION}")]
    Version(u16),
    /// The server refuses the client.
    #[error("the server refuses: {text}")]
    Refused {
        /// Reason.
        why: Refusal,
        /// Text from the server.
        text: String,
    },
    /// The server sent a message that is invalid in this state.
    #[error("the server sent a message that the protocol does not permit at this point")]
    Nonsense,
}

/// Request of one job.
#[derive(Clone, Debug)]
pub struct Request {
    /// Identifier of the run.
    pub session: u64,
    /// Access token; may be empty.
    pub token: String,
    /// Job.
    pub job: Job,
    /// Keys of earlier connections whose final statistics are requested first.
    pub owed: Vec<u64>,
    /// Receive window that the server should offer, bytes; 0: default.
    pub window: u32,
    /// Think time from a reply to the next request.
    pub think: Span,
    /// Shortest gap between bytes that counts as a pause.
    pub threshold: Span,
}

/// Client side of one connection.
#[derive(Clone, Debug)]
pub struct ClientProtocol {
    request: Request,
    reader: Reader,
    out: VecDeque<Output>,
    state: State,
    /// Key and port of the datagram echo, and name of the server.
    welcome: Option<(u64, u16, String)>,
    /// Time of the job request; a download is measured from here.
    asked: Option<Time>,
    /// Time when the first measured byte was sent.
    sending: Option<Time>,
    sent: u64,
    arrivals: Arrivals,
    transactions: Vec<(Time, Span)>,
    report: Option<(Time, String)>,
    accounts: Vec<(u64, String)>,
}

#[derive(Clone, Debug)]
enum State {
    Greeted,
    /// Receives the server's final statistics of earlier connections.
    Hearing,
    /// The job is requested; no measured bytes arrive before the server accepts it.
    Asked,
    Taking {
        left: u64,
        timed: bool,
    },
    /// Sends bytes for `lasts`, until `end`, which is set at the first byte.
    Giving {
        lasts: Span,
        end: Option<Time>,
        chunks: Chunks,
    },
    /// The next request is due at `at`.
    Thinking {
        at: Time,
    },
    Waiting {
        since: Time,
        left: u64,
    },
    Probing,
    Reporting,
    Done,
}

impl ClientProtocol {
    /// New connection: queues the greeting.
    pub fn new(request: Request) -> ClientProtocol {
        let Request { session, token, .. } = request.clone();
        let hello = Message::Hello { version: VERSION, session, token };
        let arrivals = Arrivals::new(request.threshold);
        ClientProtocol {
            request,
            reader: Reader::default(),
            out: VecDeque::from([Output::Bytes(hello.bytes())]),
            state: State::Greeted,
            welcome: None,
            asked: None,
            sending: None,
            sent: 0,
            arrivals,
            transactions: Vec::new(),
            report: None,
            accounts: Vec::new(),
        }
    }

    /// Processes received bytes.
    ///
    /// # Errors
    /// [`ClientFault`]; the connection is not usable afterwards.
    pub fn on_bytes(&mut self, now: Time, mut bytes: &[u8]) -> Result<(), ClientFault> {
        loop {
            match self.reader.next(&mut bytes).map_err(ClientFault::Stranger)? {
                None => return Ok(()),
                Some(Item::Payload(n)) => self.on_payload(now, n),
                Some(Item::Message(message)) => self.on_message(now, message)?,
            }
        }
    }

    /// Next output; None until [`next_wake`](Self::next_wake) or further input.
    pub fn next_out(&mut self, now: Time) -> Option<Output> {
        if self.out.is_empty() {
            self.refill(now);
        }
        let next = self.out.pop_front();
        if let Some(Output::Payload(n)) = next {
            self.sending.get_or_insert(now);
            self.sent += n;
        }
        next
    }

    fn refill(&mut self, now: Time) {
        match &mut self.state {
            State::Giving { lasts, end, chunks } => {
                if now < *end.get_or_insert(now + *lasts) {
                    let bytes = chunks.next(now);
                    self.out.push_back(Output::Bytes(Message::Chunk { bytes }.bytes()));
                    self.out.push_back(Output::Payload(u64::from(bytes)));
                } else {
                    self.out.push_back(Output::Bytes(Message::End.bytes()));
                    self.state = State::Reporting;
                }
            }
            State::Thinking { at } if *at <= now => {
                if let Job::Transactions { request, reply, .. } = self.request.job {
                    self.out.push_back(Output::Payload(u64::from(request)));
                    self.reader.expect(u64::from(reply));
                    self.state = State::Waiting { since: now, left: u64::from(reply) };
                }
            }
            _ => {}
        }
    }

    /// Whether output is queued that needs no timer.
    pub fn has_out(&self) -> bool {
        !self.out.is_empty()
    }

    /// Time of the next output without further input.
    pub fn next_wake(&self) -> Time {
        match &self.state {
            State::Thinking { at } => *at,
            _ => Time::NEVER,
        }
    }

    /// Ends the datagram echo.
    pub fn end_probes(&mut self) {
        if matches!(self.state, State::Probing) {
            self.out.push_back(Output::Bytes(Message::End.bytes()));
            self.state = State::Reporting;
        }
    }

    /// Key and port of the datagram echo, while datagrams may be sent.
    pub fn echo(&self) -> Option<(u64, u16)> {
        let probing = matches!(self.state, State::Probing);
        self.welcome.as_ref().filter(|_| probing).map(|(key, port, _)| (*key, *port))
    }
    /// Name of the server.
    pub fn server(&self) -> Option<&str> {
        self.welcome.as_ref().map(|(_, _, name)| name.as_str())
    }
    /// Whether the server has accepted the client.
    pub fn is_welcome(&self) -> bool {
        self.welcome.is_some()
    }
    /// Whether the report of the server has arrived.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }
    /// Key of this connection at the server.
    pub fn key(&self) -> Option<u64> {
        self.welcome.as_ref().map(|(key, _, _)| *key)
    }
    /// Server's final statistics of earlier connections by key, as JSON; empty where the server has none.
    pub fn accounts(&self) -> &[(u64, String)] {
        &self.accounts
    }
    /// Report of the server as JSON.
    pub fn report(&self) -> Option<&str> {
        self.report.as_ref().map(|(_, json)| json.as_str())
    }
    /// Time of the job request.
    pub fn asked(&self) -> Option<Time> {
        self.asked
    }
    /// Measured bytes: received, sent.
    pub fn bytes(&self) -> (u64, u64) {
        (self.arrivals.bytes, self.sent)
    }
    /// Start and duration of each transaction.
    pub fn transactions(&self) -> &[(Time, Span)] {
        &self.transactions
    }
    /// Time from the job request to the first measured byte.
    pub fn first_byte(&self) -> Option<Span> {
        Some(self.arrivals.first?.since(self.asked?))
    }
    /// Pauses between received bytes, relative to `origin`; empty for transactions, whose durations show pauses.
    pub fn pauses_since(&self, origin: Time) -> Vec<Pause> {
        match self.request.job {
            Job::Transactions { .. } => Vec::new(),
            _ => self.arrivals.pauses_since(origin),
        }
    }

    /// Duration of the job. Down: from the request to the last byte. Up: from the first byte sent to the report of the
    /// server.
    pub fn duration(&self) -> Option<Span> {
        let (report, _) = self.report.as_ref()?;
        Some(match self.request.job {
            Job::Bulk { direction: Direction::Up, .. } => report.since(self.sending?),
            Job::Bulk { direction: Direction::Down, .. } => self.arrivals.last?.since(self.asked?),
            _ => report.since(self.asked?),
        })
    }

    fn on_message(&mut self, now: Time, message: Message) -> Result<(), ClientFault> {
        match (&mut self.state, message) {
            (_, Message::Refused { why, text }) => return Err(ClientFault::Refused { why, text }),
            (State::Greeted, Message::Welcome { version, .. }) if version != VERSION => {
                return Err(ClientFault::Version(version));
            }
            (State::Greeted, Message::Welcome { key, port, name, .. }) => {
                self.welcome = Some((key, port, name));
                self.ask(now);
            }
            (State::Hearing, Message::Report { json }) => {
                self.accounts.extend(self.request.owed.pop().map(|key| (key, json)));
                self.ask(now);
            }
            (State::Asked, Message::Ready) => self.begin(now),
            (State::Taking { timed: true, left: left @ 0 }, Message::Chunk { bytes }) => {
                *left = u64::from(bytes);
                self.reader.expect(u64::from(bytes));
            }
            (State::Taking { timed: true, left: 0 }, Message::End) => self.state = State::Reporting,
            (State::Reporting, Message::Report { json }) => {
                self.report = Some((now, json));
                self.state = State::Done;
            }
            _ => return Err(ClientFault::Nonsense),
        }
        Ok(())
    }

    /// Requests outstanding statistics, one connection at a time, then the job.
    fn ask(&mut self, now: Time) {
        let message = match self.request.owed.last() {
            Some(&key) => {
                self.state = State::Hearing;
                Message::Account { key }
            }
            None => {
                self.asked = Some(now);
                self.state = State::Asked;
                Message::Begin { job: self.request.job, window: self.request.window }
            }
        };
        self.out.push_back(Output::Bytes(message.bytes()));
    }

    fn begin(&mut self, now: Time) {
        self.state = match self.request.job {
            Job::Bulk { direction: Direction::Up, amount: Amount::Bytes(n) } => {
                self.out.push_back(Output::Payload(n));
                State::Reporting
            }
            Job::Bulk { direction: Direction::Up, amount: Amount::Lasts(lasts) } => {
                State::Giving { lasts, end: None, chunks: Chunks::new() }
            }
            Job::Bulk { direction: Direction::Down, amount } => {
                let (left, timed) = if let Amount::Bytes(n) = amount { (n, false) } else { (0, true) };
                self.reader.expect(left);
                State::Taking { left, timed }
            }
            Job::Transactions { .. } => State::Thinking { at: now },
            Job::Probes => State::Probing,
        };
    }

    fn on_payload(&mut self, now: Time, n: u64) {
        self.arrivals.came(now, n);
        match &mut self.state {
            State::Taking { left, timed } => {
                *left -= n.min(*left);
                if *left == 0 && !*timed {
                    self.state = State::Reporting;
                }
            }
            State::Waiting { since, left } => {
                *left -= n.min(*left);
                if *left > 0 {
                    return;
                }
                self.transactions.push((*since, now.since(*since)));
                let Job::Transactions { count, .. } = self.request.job else { return };
                let more = self.transactions.len() < count as usize;
                self.state =
                    if more { State::Thinking { at: now + self.request.think } } else { State::Reporting };
            }
            _ => {}
        }
    }
}
