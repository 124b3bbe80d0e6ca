//! Client protocol state machine on one connection.
//!
//! It greets, asks for one job, plays its part in it, and hears what the server saw. Bytes and the time come in,
//! bytes go out; sockets are elsewhere.

use crate::flow::{Arrivals, Chunks, Out, Pause};
use crate::message::{Amount, Direction, Item, Job, Malformed, Message, Reader, Refusal, VERSION};
use base::{Span, Time};
use std::collections::VecDeque;

/// Why the two cannot work together. Trying again would not help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Another program answers there.
    #[error("what answers there is no `williwaw measure server`: {0}")]
    Stranger(Malformed),
    /// Another version.
    #[error("the server speaks version {0} of the protocol, this client version {VERSION}")]
    Version(u16),
    /// The server will not.
    #[error("the server refuses: {text}")]
    Refused {
        /// What kind of reason.
        why: Refusal,
        /// The server's words.
        text: String,
    },
    /// A message that has no place there.
    #[error("the server says something that does not belong there")]
    Nonsense,
}

/// What to ask for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Names the run.
    pub session: u64,
    /// Lets it in; may be empty.
    pub token: String,
    /// The job.
    pub job: Job,
    /// Keys of earlier connections of which the server's account is asked for first.
    pub owed: Vec<u64>,
    /// The receive window that the server shall offer, bytes; 0: any.
    pub window: u32,
    /// Between a reply and the next request.
    pub think: Span,
    /// No byte for longer than this is a pause.
    pub threshold: Span,
}

/// What the client saw.
#[derive(Clone, Debug)]
pub struct Asking {
    request: Request,
    reader: Reader,
    out: VecDeque<Out>,
    state: State,
    /// Key and port of the echo, and the server's name.
    welcome: Option<(u64, u16, String)>,
    /// When the job was asked for; the clock of a download starts here.
    asked: Option<Time>,
    /// When the first measured byte was handed over to be sent.
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
    /// What the server tells of earlier connections.
    Hearing,
    /// The server may refuse the job; until it takes it, nothing that comes is measured.
    Asked,
    Taking {
        left: u64,
        timed: bool,
    },
    /// Bytes are handed over for `lasts`, until `end`, which is known with the first of them.
    Giving {
        lasts: Span,
        end: Option<Time>,
        chunks: Chunks,
    },
    /// A request goes at `at`.
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

impl Asking {
    /// Greets and asks.
    pub fn new(request: Request) -> Asking {
        let Request { session, token, .. } = request.clone();
        let hello = Message::Hello { version: VERSION, session, token };
        let arrivals = Arrivals::new(request.threshold);
        Asking {
            request,
            reader: Reader::default(),
            out: VecDeque::from([Out::Bytes(hello.bytes())]),
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

    /// Takes in what came.
    ///
    /// # Errors
    /// [`Fault`]; the connection is of no more use.
    pub fn on_bytes(&mut self, now: Time, mut bytes: &[u8]) -> Result<(), Fault> {
        loop {
            match self.reader.next(&mut bytes).map_err(Fault::Stranger)? {
                None => return Ok(()),
                Some(Item::Payload(n)) => self.on_payload(now, n),
                Some(Item::Message(message)) => self.on_message(now, message)?,
            }
        }
    }

    /// What is to be sent next; none: nothing before [`next_wake`](Self::next_wake) or more bytes.
    pub fn next_out(&mut self, now: Time) -> Option<Out> {
        if self.out.is_empty() {
            self.refill(now);
        }
        let next = self.out.pop_front();
        if let Some(Out::Payload(n)) = next {
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
                    self.out.push_back(Out::Bytes(Message::Chunk { bytes }.bytes()));
                    self.out.push_back(Out::Payload(u64::from(bytes)));
                } else {
                    self.out.push_back(Out::Bytes(Message::End.bytes()));
                    self.state = State::Reporting;
                }
            }
            State::Thinking { at } if *at <= now => {
                if let Job::Transactions { request, reply, .. } = self.request.job {
                    self.out.push_back(Out::Payload(u64::from(request)));
                    self.reader.expect(u64::from(reply));
                    self.state = State::Waiting { since: now, left: u64::from(reply) };
                }
            }
            _ => {}
        }
    }

    /// True if there is something to send that does not hang on the time.
    pub fn has_out(&self) -> bool {
        !self.out.is_empty()
    }

    /// When there will be something to send though nothing came.
    pub fn next_wake(&self) -> Time {
        match &self.state {
            State::Thinking { at } => *at,
            _ => Time::NEVER,
        }
    }

    /// Ends the echo of datagrams.
    pub fn end_probes(&mut self) {
        if matches!(self.state, State::Probing) {
            self.out.push_back(Out::Bytes(Message::End.bytes()));
            self.state = State::Reporting;
        }
    }

    /// The echo's key and port, once datagrams may be sent.
    pub fn echo(&self) -> Option<(u64, u16)> {
        let probing = matches!(self.state, State::Probing);
        self.welcome.as_ref().filter(|_| probing).map(|(key, port, _)| (*key, *port))
    }
    /// What the server called itself.
    pub fn server(&self) -> Option<&str> {
        self.welcome.as_ref().map(|(_, _, name)| name.as_str())
    }
    /// True once the server has taken this client in.
    pub fn is_welcome(&self) -> bool {
        self.welcome.is_some()
    }
    /// True once the report is here.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }
    /// The key that the server gave to this connection.
    pub fn key(&self) -> Option<u64> {
        self.welcome.as_ref().map(|(key, _, _)| *key)
    }
    /// The accounts of earlier connections, by their keys; empty texts where the server knows nothing.
    pub fn accounts(&self) -> &[(u64, String)] {
        &self.accounts
    }
    /// The server's report.
    pub fn report(&self) -> Option<&str> {
        self.report.as_ref().map(|(_, json)| json.as_str())
    }
    /// When the job was asked for.
    pub fn asked(&self) -> Option<Time> {
        self.asked
    }
    /// Measured bytes that came, and those that were handed over.
    pub fn bytes(&self) -> (u64, u64) {
        (self.arrivals.bytes, self.sent)
    }
    /// When each transaction began, and how long it took.
    pub fn transactions(&self) -> &[(Time, Span)] {
        &self.transactions
    }
    /// From asking to the first measured byte.
    pub fn first_byte(&self) -> Option<Span> {
        Some(self.arrivals.first?.since(self.asked?))
    }
    /// Pauses in what came, counted from `origin`. None of transactions: their times say it.
    pub fn pauses_since(&self, origin: Time) -> Vec<Pause> {
        match self.request.job {
            Job::Transactions { .. } => Vec::new(),
            _ => self.arrivals.pauses_since(origin),
        }
    }

    /// How long the job took as a user sees it. Downwards: from asking to the last byte. Upwards: from the first byte
    /// handed over until the server's word that all is there.
    pub fn duration(&self) -> Option<Span> {
        let (report, _) = self.report.as_ref()?;
        Some(match self.request.job {
            Job::Bulk { direction: Direction::Up, .. } => report.since(self.sending?),
            Job::Bulk { direction: Direction::Down, .. } => self.arrivals.last?.since(self.asked?),
            _ => report.since(self.asked?),
        })
    }

    fn on_message(&mut self, now: Time, message: Message) -> Result<(), Fault> {
        match (&mut self.state, message) {
            (_, Message::Refused { why, text }) => return Err(Fault::Refused { why, text }),
            (State::Greeted, Message::Welcome { version, .. }) if version != VERSION => {
                return Err(Fault::Version(version));
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
            _ => return Err(Fault::Nonsense),
        }
        Ok(())
    }

    /// Asks for what is owed, one account at a time, then for the job.
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
        self.out.push_back(Out::Bytes(message.bytes()));
    }

    fn begin(&mut self, now: Time) {
        self.state = match self.request.job {
            Job::Bulk { direction: Direction::Up, amount: Amount::Bytes(n) } => {
                self.out.push_back(Out::Payload(n));
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
