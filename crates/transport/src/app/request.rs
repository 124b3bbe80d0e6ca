//! Request-reply workloads: pages of objects over one or more connections.
//!
//! A user opens a page: requests its main object, then its embedded objects over one or more connections;
//! reads, and opens the next page. A page without embedded objects is one request and its reply. An impatient
//! user aborts the page and opens the next one at once: data of the old page still in the network are useless
//! (catalogue WL-05, WL-13, EG-18 to EG-20).

use super::connections::{Connections, MessageLog, MessageMark, Workload};
use super::stats::{AppStats, Transfer};
use base::dist::{Dist, Sampler};
use base::rng::Seed;
use base::{Span, Time};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::VecDeque;

base::named! {
    /// Lifetime of a connection.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ConnectionLifetime {
        /// One object: HTTP 1.0.
        Object = "object",
        /// The objects of one page.
        Page = "page",
        /// All pages.
        Session = "session",
    }
}

/// Request plan: behaviour of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestPlan {
    /// Number of pages; none: unlimited.
    pub pages: Option<u64>,
    /// Duration; none: until all pages are complete.
    pub lasts: Option<Span>,
    /// Size of a request, bytes.
    pub request: Dist,
    /// Size of the main object, bytes.
    pub reply: Dist,
    /// Number of embedded objects per page.
    pub objects: Dist,
    /// Size of an embedded object, bytes.
    pub object: Dist,
    /// Upper bound of all sizes, bytes; larger draws are cut.
    #[serde(deserialize_with = "positive")]
    pub largest: u64,
    /// Reading time from the end of a page to the next request, nanoseconds.
    pub think: Dist,
    /// `think` counts from the request, so that requests keep a fixed interval; a late reply delays the next
    /// request.
    pub paced: bool,
    /// Server processing time per reply, nanoseconds.
    pub serve: Dist,
    /// Time after which the user aborts a page, nanoseconds.
    pub patience: Option<Dist>,
    /// Maximum concurrent connections.
    #[serde(deserialize_with = "positive")]
    pub connections: u32,
    /// Lifetime of a connection.
    pub keep: ConnectionLifetime,
    /// Whether a request may be sent before the previous reply has arrived.
    pub pipelining: bool,
}

/// A number above zero.
fn positive<'de, D: Deserializer<'de>, T: Deserialize<'de> + PartialEq + Default>(
    from: D,
) -> Result<T, D::Error> {
    let number = T::deserialize(from)?;
    if number == T::default() {
        Err(D::Error::custom("a plan without connections or bytes"))
    } else {
        Ok(number)
    }
}

/// One request and its reply.
#[derive(Clone, Copy, Debug)]
struct Request {
    request: u64,
    reply: u64,
    wait: Span,
    main: bool,
}

/// A request in progress.
#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    ask: Request,
    at: Time,
    /// Bytes received on the connection at which the reply is complete.
    end: u64,
}

#[derive(Debug)]
struct ClientConnection {
    number: usize,
    pending: VecDeque<PendingRequest>,
    /// Bytes written, and reply bytes expected, since the connection opened.
    written: u64,
    expected: u64,
}

/// Client of a request workload.
pub struct RequestClient {
    plan: RequestPlan,
    log: MessageLog,
    request: Sampler,
    reply: Sampler,
    objects: Sampler,
    object: Sampler,
    think: Sampler,
    serve: Sampler,
    patience: Option<Sampler>,
    /// Open connections.
    connections: Vec<ClientConnection>,
    waiting: VecDeque<Request>,
    /// Start time of the present page.
    page: Option<Time>,
    /// Bytes of the present page received.
    page_bytes: u64,
    /// Pages started.
    pages_started: u64,
    next: Time,
    abort_at: Time,
    ends: Time,
    finished: Option<Time>,
    stats: AppStats,
}

impl RequestClient {
    /// Client of `plan`; `name`: name of the flow. Every quantity has its own random stream, so that variants see the same pages.
    pub fn new(plan: RequestPlan, log: MessageLog, name: &str, seed: Seed) -> Self {
        let sampler = |dist: &Dist, purpose: &str| Sampler::new(dist.clone(), seed.stream(name, purpose));
        RequestClient {
            request: sampler(&plan.request, "request"),
            reply: sampler(&plan.reply, "reply"),
            objects: sampler(&plan.objects, "objects"),
            object: sampler(&plan.object, "object"),
            think: sampler(&plan.think, "think"),
            serve: sampler(&plan.serve, "serve"),
            patience: plan.patience.as_ref().map(|dist| sampler(dist, "patience")),
            plan,
            log,
            connections: Vec::new(),
            waiting: VecDeque::new(),
            page: None,
            page_bytes: 0,
            pages_started: 0,
            next: Time::NEVER,
            abort_at: Time::NEVER,
            ends: Time::NEVER,
            finished: None,
            stats: AppStats::default(),
        }
    }

    fn draw_request(&mut self, main: bool) -> Request {
        let bytes = |x: f64, most: u64| (x.round() as u64).clamp(1, most);
        let most = self.plan.largest;
        let reply = if main { &mut self.reply } else { &mut self.object };
        let reply = bytes(reply.draw(), most);
        let wait = Span::from_nanos(self.serve.draw() as u64);
        let request = self.log.length(bytes(self.request.draw(), most), reply, wait);
        Request { request, reply, wait, main }
    }

    fn begin(&mut self, now: Time, connections: &mut dyn Connections) {
        self.next = Time::NEVER;
        self.pages_started += 1;
        self.page = Some(now);
        self.page_bytes = 0;
        if let Some(patience) = &mut self.patience {
            self.abort_at = now + Span::from_nanos(patience.draw() as u64);
        }
        let main = self.draw_request(true);
        self.waiting.push_back(main);
        self.dispatch(now, connections);
    }

    /// Sends waiting requests as far as connections are available.
    fn dispatch(&mut self, now: Time, connections: &mut dyn Connections) {
        while !self.waiting.is_empty() {
            let Some(at) = self.connection_for_next(connections) else { return };
            let Some(ask) = self.waiting.pop_front() else { return };
            let conn = &mut self.connections[at];
            conn.written += ask.request;
            conn.expected += ask.reply;
            conn.pending.push_back(PendingRequest { ask, at: now, end: conn.expected });
            let mark =
                MessageMark { end: conn.written, created: now, reply: ask.reply, service_time: ask.wait };
            self.log.append(conn.number, mark);
            if let Some(socket) = connections.connection(conn.number) {
                socket.write(ask.request);
            }
        }
    }

    /// Index of an idle connection, a new one, or with pipelining the one with the fewest pending requests.
    fn connection_for_next(&mut self, connections: &mut dyn Connections) -> Option<usize> {
        if let Some(idle) = self.connections.iter().position(|conn| conn.pending.is_empty()) {
            return Some(idle);
        }
        if self.connections.len() < self.plan.connections as usize {
            let number = connections.open();
            self.connections.push(ClientConnection {
                number,
                pending: VecDeque::new(),
                written: 0,
                expected: 0,
            });
            return Some(self.connections.len() - 1);
        }
        // A connection for one object has no second request.
        if !self.plan.pipelining || self.plan.keep == ConnectionLifetime::Object {
            return None;
        }
        (0..self.connections.len()).min_by_key(|&i| self.connections[i].pending.len())
    }

    /// Processes complete replies on a connection; true if there was one.
    fn take_replies(&mut self, now: Time, at: usize, connections: &mut dyn Connections) -> bool {
        let number = self.connections[at].number;
        let Some(received) = connections.connection(number).map(|socket| socket.received()) else {
            return false;
        };
        let mut completed = false;
        while let Some(pending) =
            self.connections[at].pending.front().copied().filter(|pending| pending.end <= received)
        {
            self.connections[at].pending.pop_front();
            completed = true;
            self.stats.responses.push(now.since(pending.at));
            self.stats.bytes += pending.ask.request + pending.ask.reply;
            self.page_bytes += pending.ask.reply;
            if pending.ask.main {
                let objects = self.objects.draw().round() as u64;
                for _ in 0..objects.min(MOST_OBJECTS) {
                    let ask = self.draw_request(false);
                    self.waiting.push_back(ask);
                }
            }
        }
        completed
    }

    fn close(&mut self, at: usize, connections: &mut dyn Connections) {
        let conn = self.connections.remove(at);
        if let Some(socket) = connections.connection(conn.number) {
            socket.close();
        }
    }

    fn abort_page(&mut self, connections: &mut dyn Connections) {
        for conn in self.connections.drain(..) {
            connections.abort(conn.number);
            self.log.discard(conn.number);
        }
        self.waiting.clear();
        self.abort_at = Time::NEVER;
        self.stats.aborted += u64::from(self.page.take().is_some());
    }

    fn all_begun(&self) -> bool {
        self.plan.pages.is_some_and(|pages| self.pages_started >= pages)
    }

    fn finish(&mut self, now: Time, connections: &mut dyn Connections) {
        while !self.connections.is_empty() {
            self.close(0, connections);
        }
        (self.next, self.ends) = (Time::NEVER, Time::NEVER);
        self.finished = Some(now);
        self.log.close(now);
    }

    fn page_done(&mut self, now: Time, connections: &mut dyn Connections) {
        let Some(began) = self.page.take() else { return };
        let took = now.since(began);
        self.stats.pages.push(took);
        self.stats.transfers.push(Transfer { began, took, bytes: std::mem::take(&mut self.page_bytes) });
        self.abort_at = Time::NEVER;
        if self.plan.keep != ConnectionLifetime::Session {
            while !self.connections.is_empty() {
                self.close(0, connections);
            }
        }
        if self.all_begun() {
            return self.finish(now, connections);
        }
        let from = if self.plan.paced { began } else { now };
        self.next = now.max(from + Span::from_nanos(self.think.draw() as u64));
    }
}

/// Upper bound of the objects per page, against a mistaken distribution.
const MOST_OBJECTS: u64 = 100_000;

impl Workload for RequestClient {
    fn started(&mut self, now: Time, connections: &mut dyn Connections) {
        if let Some(lasts) = self.plan.lasts {
            self.ends = now + lasts;
        }
        self.begin(now, connections);
    }

    fn progressed(&mut self, now: Time, conn: usize, connections: &mut dyn Connections) {
        let Some(at) = self.connections.iter().position(|l| l.number == conn) else { return };
        if !self.take_replies(now, at, connections) {
            return;
        }
        if self.plan.keep == ConnectionLifetime::Object {
            self.close(at, connections);
        }
        self.dispatch(now, connections);
        if self.waiting.is_empty() && self.connections.iter().all(|conn| conn.pending.is_empty()) {
            self.page_done(now, connections);
        }
    }

    fn timeout(&mut self, now: Time, connections: &mut dyn Connections) {
        if self.ends <= now {
            if self.page.is_some() {
                self.abort_page(connections);
            }
            return self.finish(now, connections);
        }
        if self.abort_at <= now {
            self.abort_page(connections);
            if self.all_begun() {
                return self.finish(now, connections);
            }
            self.next = now;
        }
        if self.next <= now {
            self.begin(now, connections);
        }
    }

    fn next_timeout(&self) -> Time {
        self.next.min(self.abort_at).min(self.ends)
    }
    fn finished(&self) -> Option<Time> {
        self.finished
    }
    fn stats(&self) -> &AppStats {
        &self.stats
    }
}

/// A reply being prepared by the server.
#[derive(Clone, Copy, Debug)]
struct PendingReply {
    due: Time,
    conn: usize,
    bytes: u64,
}

/// Server of a request workload; replies in the order of the requests of each connection.
pub struct RequestServer {
    log: MessageLog,
    preparing: Vec<PendingReply>,
    stats: AppStats,
}

impl RequestServer {
    /// Serves the requests in `log`.
    pub fn new(log: MessageLog) -> Self {
        RequestServer { log, preparing: Vec::new(), stats: AppStats::default() }
    }
}

impl Workload for RequestServer {
    fn started(&mut self, _now: Time, _lines: &mut dyn Connections) {}

    fn progressed(&mut self, now: Time, conn: usize, connections: &mut dyn Connections) {
        let Some(received) = connections.connection(conn).map(|socket| socket.received()) else { return };
        while let Some(mark) = self.log.take(conn, received) {
            let before = self.preparing.iter().filter(|a| a.conn == conn).map(|a| a.due).max();
            let due = before.map_or(now, |before| before.max(now)) + mark.service_time;
            self.preparing.push(PendingReply { due, conn, bytes: mark.reply });
        }
        self.timeout(now, connections);
    }

    fn broken(&mut self, _now: Time, conn: usize) {
        self.preparing.retain(|answer| answer.conn != conn);
        self.log.discard(conn);
    }

    fn timeout(&mut self, now: Time, connections: &mut dyn Connections) {
        for answer in self.preparing.extract_if(.., |answer| answer.due <= now) {
            if let Some(socket) = connections.connection(answer.conn) {
                socket.write(answer.bytes);
            }
        }
    }

    fn next_timeout(&self) -> Time {
        self.preparing.iter().map(|answer| answer.due).min().unwrap_or(Time::NEVER)
    }
    fn finished(&self) -> Option<Time> {
        self.log.closed()
    }
    fn stats(&self) -> &AppStats {
        &self.stats
    }
}
