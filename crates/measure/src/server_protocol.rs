//! Server's state machine of the measurement protocol (`ServerProtocol`): greeting, limits, sequence of jobs with
//! reports, slots of clients.
//!
//! Input: received bytes and time. Output: bytes to send. It uses no sockets.

use crate::flow::{Arrivals, Chunks, Output, Pause};
use crate::message::{Amount, Direction, Item, Job, Malformed, Message, Reader, Refusal, VERSION};
use base::{Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Limits that the server imposes on clients.
#[derive(Clone, Debug, Default)]
pub struct ServerLimits {
    /// Required access token; None: no token required.
    pub token: Option<String>,
    /// Upper limit of bytes of a job; 0: no limit.
    pub bytes: u64,
    /// Longest job duration; None: no limit.
    pub lasts: Option<Span>,
}

/// Counter of slots for accepted clients.
#[derive(Debug)]
pub struct Slots {
    most: usize,
    taken: AtomicUsize,
}

impl Slots {
    /// Slots for `most` concurrent clients.
    pub fn new(most: usize) -> Arc<Slots> {
        Arc::new(Slots { most, taken: AtomicUsize::new(0) })
    }

    fn take(self: &Arc<Self>) -> Option<Slot> {
        let free = |taken: usize| (taken < self.most).then_some(taken + 1);
        let took = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, free);
        took.is_ok().then(|| Slot(self.clone()))
    }
}

/// Slot of one client, released on drop.
#[derive(Debug)]
struct Slot(Arc<Slots>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Identity of server and connection, sent to an accepted client.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Key of the datagram echo.
    pub key: u64,
    /// UDP port of the datagram echo; 0: none.
    pub port: u16,
    /// Version of the server's program and kernel.
    pub name: String,
}

/// Record of a served job.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedJob {
    /// Job.
    pub job: Job,
    /// Time of the job request.
    pub asked: Time,
    /// Measured bytes received.
    pub received: u64,
    /// Measured bytes sent.
    pub sent: u64,
    /// Time from the first to the last byte received, s.
    pub receiving_s: f64,
    /// Pauses between received bytes, in seconds since `asked`.
    pub pauses: Vec<Pause>,
    /// Number of complete transactions.
    pub transactions: u32,
}

/// Server side of one connection.
#[derive(Debug)]
pub struct ServerProtocol {
    rules: ServerLimits,
    identity: Identity,
    threshold: Span,
    reader: Reader,
    out: VecDeque<Output>,
    state: State,
    begun: Option<(Job, u32)>,
    account: Option<u64>,
    served: Option<ServedJob>,
    refusal: Option<String>,
    places: Option<Arc<Slots>>,
    place: Option<Slot>,
}

#[derive(Debug)]
enum State {
    Greeting,
    Idle,
    /// Receives bytes; in a timed transfer, `left` counts the rest of a chunk.
    Taking {
        job: Job,
        asked: Time,
        left: u64,
        timed: bool,
        arrivals: Arrivals,
    },
    /// Sends bytes for `lasts`, until `end`, which is set at the first byte.
    Giving {
        job: Job,
        asked: Time,
        lasts: Span,
        end: Option<Time>,
        sent: u64,
        chunks: Chunks,
    },
    Transacting {
        asked: Time,
        request: u32,
        reply: u32,
        count: u32,
        done: u32,
        left: u64,
        arrivals: Arrivals,
    },
    Probing {
        asked: Time,
    },
    /// Waits for the report, which the driver adds.
    Reporting,
    Over,
}

impl ServerProtocol {
    /// New connection. `threshold`: shortest gap between bytes that counts as a pause.
    pub fn new(rules: ServerLimits, identity: Identity, threshold: Span) -> ServerProtocol {
        ServerProtocol {
            rules,
            identity,
            threshold,
            reader: Reader::default(),
            out: VecDeque::new(),
            state: State::Greeting,
            begun: None,
            account: None,
            served: None,
            refusal: None,
            places: None,
            place: None,
        }
    }

    /// Requires a slot of `places` for the client's acceptance.
    #[must_use]
    pub fn within(mut self, places: Arc<Slots>) -> ServerProtocol {
        self.places = Some(places);
        self
    }

    /// Processes received bytes.
    ///
    /// # Errors
    /// The input is invalid. A refusal is queued, and the connection [is over](Self::is_over).
    pub fn on_bytes(&mut self, now: Time, mut bytes: &[u8]) -> Result<(), Malformed> {
        while !matches!(self.state, State::Over) {
            match self.reader.next(&mut bytes) {
                Ok(None) => break,
                Ok(Some(Item::Payload(n))) => self.on_payload(now, n),
                Ok(Some(Item::Message(message))) => self.on_message(now, message),
                Err(error) => {
                    self.refuse(Refusal::Nonsense, error.to_string());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Next output; None until further input.
    pub fn next_out(&mut self, now: Time) -> Option<Output> {
        if self.out.is_empty()
            && let State::Giving { job, asked, lasts, end, sent, chunks } = &mut self.state
        {
            if now < *end.get_or_insert(now + *lasts) {
                let bytes = chunks.next(now);
                *sent += u64::from(bytes);
                self.out.push_back(Output::Bytes(Message::Chunk { bytes }.bytes()));
                self.out.push_back(Output::Payload(u64::from(bytes)));
            } else {
                self.out.push_back(Output::Bytes(Message::End.bytes()));
                let served = given(*job, *asked, *sent);
                self.finish(served);
            }
        }
        self.out.pop_front()
    }

    /// Job accepted since the last call, and receive window to offer for it in bytes (0: default).
    pub fn take_begun(&mut self) -> Option<(Job, u32)> {
        self.begun.take()
    }

    /// Key of an earlier connection whose final statistics are requested. The driver answers with
    /// [`report`](Self::report).
    pub fn take_account(&mut self) -> Option<u64> {
        self.account.take()
    }

    /// Completed job, once all its data are sent. The driver answers with [`report`](Self::report).
    pub fn take_served(&mut self) -> Option<ServedJob> {
        if self.out.is_empty() { self.served.take() } else { None }
    }

    /// Queues the report on a job; ignored if the client was refused in the meantime.
    pub fn report(&mut self, json: String) {
        if !matches!(self.state, State::Reporting) {
            return;
        }
        self.out.push_back(Output::Bytes(Message::Report { json }.bytes()));
        self.state = State::Idle;
    }

    /// Whether the connection is over and all output is taken.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over) && self.out.is_empty()
    }

    /// Whether the client has been accepted.
    pub fn is_welcome(&self) -> bool {
        !matches!(self.state, State::Greeting | State::Over)
    }

    /// Whether a job is running.
    pub fn is_working(&self) -> bool {
        !matches!(self.state, State::Idle | State::Greeting | State::Over)
    }

    /// Refuses the client.
    pub fn refuse(&mut self, why: Refusal, text: String) {
        self.refusal = Some(text.clone());
        self.out.push_back(Output::Bytes(Message::Refused { why, text }.bytes()));
        self.state = State::Over;
    }

    /// Text of a new refusal, for the server's log.
    pub fn take_refusal(&mut self) -> Option<String> {
        self.refusal.take()
    }

    fn on_message(&mut self, now: Time, message: Message) {
        match (&mut self.state, message) {
            (State::Greeting, Message::Hello { version, token, .. }) => {
                if version != VERSION {
                    let text = format!("this server uses version {VERSION}, the client version {version}");
                    self.refuse(Refusal::Version, text);
                } else if self.rules.token.as_ref().is_some_and(|ours| !same(ours, &token)) {
                    let text = if token.is_empty() { "it requires a token" } else { "the token is wrong" };
                    self.refuse(Refusal::Token, text.to_owned());
                } else if let Some(text) = self.crowded() {
                    self.refuse(Refusal::Busy, text);
                } else {
                    let Identity { key, port, name } = self.identity.clone();
                    let welcome = Message::Welcome { version: VERSION, key, port, name };
                    self.out.push_back(Output::Bytes(welcome.bytes()));
                    self.state = State::Idle;
                }
            }
            (State::Idle, Message::Begin { job, window }) => self.begin(now, job, window),
            (State::Idle, Message::Account { key }) => {
                self.account = Some(key);
                self.state = State::Reporting;
            }
            (State::Taking { timed: true, left: left @ 0, .. }, Message::Chunk { bytes }) => {
                *left = u64::from(bytes);
                self.reader.expect(u64::from(bytes));
            }
            (State::Taking { timed: true, left: 0, job, asked, arrivals }, Message::End) => {
                let served = taken(*job, *asked, arrivals);
                self.finish(served);
            }
            (State::Probing { asked }, Message::End) => {
                let served = taken(Job::Probes, *asked, &Arrivals::new(self.threshold));
                self.finish(served);
            }
            _ => self.refuse(Refusal::Nonsense, "that does not belong there".to_owned()),
        }
    }

    /// Takes a slot; returns the text of the refusal if none is free.
    fn crowded(&mut self) -> Option<String> {
        let places = self.places.as_ref()?;
        self.place = places.take();
        let most = places.most;
        self.place.is_none().then(|| format!("it serves {most} clients already"))
    }

    fn begin(&mut self, now: Time, job: Job, window: u32) {
        if let Some(text) = self.too_much(job) {
            self.refuse(Refusal::TooMuch, text);
            return;
        }
        self.out.push_back(Output::Bytes(Message::Ready.bytes()));
        let arrivals = Arrivals::new(self.threshold);
        self.state = match job {
            Job::Bulk { direction: Direction::Up, amount } => {
                let (left, timed) = if let Amount::Bytes(n) = amount { (n, false) } else { (0, true) };
                self.reader.expect(left);
                State::Taking { job, asked: now, left, timed, arrivals }
            }
            Job::Bulk { direction: Direction::Down, amount: Amount::Bytes(n) } => {
                self.out.push_back(Output::Payload(n));
                self.served = Some(given(job, now, n));
                State::Reporting
            }
            Job::Bulk { direction: Direction::Down, amount: Amount::Lasts(lasts) } => {
                State::Giving { job, asked: now, lasts, end: None, sent: 0, chunks: Chunks::new() }
            }
            Job::Transactions { request, reply, count } => {
                self.reader.expect(u64::from(request));
                let left = u64::from(request);
                State::Transacting { asked: now, request, reply, count, done: 0, left, arrivals }
            }
            Job::Probes => State::Probing { asked: now },
        };
        self.begun = Some((job, window));
    }

    fn too_much(&self, job: Job) -> Option<String> {
        let (bytes, lasts) = match job {
            Job::Bulk { amount: Amount::Bytes(n), .. } => (n, Span::ZERO),
            Job::Bulk { amount: Amount::Lasts(span), .. } => (0, span),
            Job::Transactions { request, reply, count } => {
                ((u64::from(request) + u64::from(reply)).saturating_mul(u64::from(count)), Span::ZERO)
            }
            Job::Probes => (0, Span::ZERO),
        };
        let ServerLimits { bytes: most, lasts: longest, .. } = self.rules;
        if most > 0 && bytes > most {
            return Some(format!("this server carries at most {most} bytes in one go, not {bytes}"));
        }
        let longest = longest.filter(|longest| lasts > *longest)?;
        let (longest, lasts) = (longest.as_secs_f64(), lasts.as_secs_f64());
        Some(format!("this server works at most {longest} s in one go, not {lasts} s"))
    }

    fn on_payload(&mut self, now: Time, n: u64) {
        match &mut self.state {
            State::Taking { job, asked, left, timed, arrivals } => {
                arrivals.came(now, n);
                *left -= n.min(*left);
                if *left == 0 && !*timed {
                    let served = taken(*job, *asked, arrivals);
                    self.finish(served);
                }
            }
            State::Transacting { asked, request, reply, count, done, left, arrivals } => {
                arrivals.came(now, n);
                *left -= n.min(*left);
                if *left > 0 {
                    return;
                }
                self.out.push_back(Output::Payload(u64::from(*reply)));
                *done += 1;
                if done < count {
                    *left = u64::from(*request);
                    self.reader.expect(*left);
                    return;
                }
                let job = Job::Transactions { request: *request, reply: *reply, count: *count };
                let mut served = taken(job, *asked, arrivals);
                // Gaps between requests are think time of the client, not pauses of the path.
                served.pauses.clear();
                served.transactions = *done;
                served.sent = u64::from(*reply) * u64::from(*done);
                self.finish(served);
            }
            _ => {}
        }
    }

    fn finish(&mut self, served: ServedJob) {
        self.served = Some(served);
        self.state = State::Reporting;
    }
}

fn given(job: Job, asked: Time, sent: u64) -> ServedJob {
    let (receiving_s, pauses) = (0.0, Vec::new());
    ServedJob { job, asked, received: 0, sent, receiving_s, pauses, transactions: 0 }
}

fn taken(job: Job, asked: Time, arrivals: &Arrivals) -> ServedJob {
    let receiving = arrivals.first.zip(arrivals.last).map_or(Span::ZERO, |(first, last)| last.since(first));
    ServedJob {
        job,
        asked,
        received: arrivals.bytes,
        sent: 0,
        receiving_s: receiving.as_secs_f64(),
        pauses: arrivals.pauses_since(asked),
        transactions: 0,
    }
}

/// Compares two tokens in a time independent of their content.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}
