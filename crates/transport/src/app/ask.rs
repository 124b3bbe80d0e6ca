//! Request-reply workloads: pages of objects over one or more connections.
//!
//! A user opens a page: requests its main object, then its embedded objects over one or more connections;
//! reads, and opens the next page. A page without embedded objects is one request and its reply. An impatient
//! user aborts the page and opens the next one at once: data of the old page still in the network are useless
//! (catalogue WL-05, WL-13, EG-18 to EG-20).

use super::lines::{Letter, Letters, Lines, Workload};
use super::seen::{Seen, Transfer};
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
    pub enum Keep {
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
pub struct Asking {
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
    pub keep: Keep,
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
struct Ask {
    request: u64,
    reply: u64,
    wait: Span,
    main: bool,
}

/// A request in progress.
#[derive(Clone, Copy, Debug)]
struct Asked {
    ask: Ask,
    at: Time,
    /// Bytes received on the connection at which the reply is complete.
    end: u64,
}

#[derive(Debug)]
struct Line {
    number: usize,
    asked: VecDeque<Asked>,
    /// Bytes written, and reply bytes expected, since the connection opened.
    written: u64,
    expected: u64,
}

/// Client of a request workload.
pub struct Asker {
    plan: Asking,
    letters: Letters,
    request: Sampler,
    reply: Sampler,
    objects: Sampler,
    object: Sampler,
    think: Sampler,
    serve: Sampler,
    patience: Option<Sampler>,
    /// Open connections.
    lines: Vec<Line>,
    waiting: VecDeque<Ask>,
    /// Start time of the present page.
    page: Option<Time>,
    /// Bytes of the present page received.
    page_bytes: u64,
    /// Pages started.
    begun: u64,
    next: Time,
    gives_up: Time,
    ends: Time,
    finished: Option<Time>,
    seen: Seen,
}

impl Asker {
    /// `name` is the flow's. Every quantity has its own random stream, so that variants see the same pages.
    pub fn new(plan: Asking, letters: Letters, name: &str, seed: Seed) -> Self {
        let sampler = |dist: &Dist, purpose: &str| Sampler::new(dist.clone(), seed.stream(name, purpose));
        Asker {
            request: sampler(&plan.request, "request"),
            reply: sampler(&plan.reply, "reply"),
            objects: sampler(&plan.objects, "objects"),
            object: sampler(&plan.object, "object"),
            think: sampler(&plan.think, "think"),
            serve: sampler(&plan.serve, "serve"),
            patience: plan.patience.as_ref().map(|dist| sampler(dist, "patience")),
            plan,
            letters,
            lines: Vec::new(),
            waiting: VecDeque::new(),
            page: None,
            page_bytes: 0,
            begun: 0,
            next: Time::NEVER,
            gives_up: Time::NEVER,
            ends: Time::NEVER,
            finished: None,
            seen: Seen::default(),
        }
    }

    fn ask(&mut self, main: bool) -> Ask {
        let bytes = |x: f64, most: u64| (x.round() as u64).clamp(1, most);
        let most = self.plan.largest;
        let reply = if main { &mut self.reply } else { &mut self.object };
        let reply = bytes(reply.draw(), most);
        let wait = Span::from_nanos(self.serve.draw() as u64);
        let request = self.letters.length(bytes(self.request.draw(), most), reply, wait);
        Ask { request, reply, wait, main }
    }

    fn begin(&mut self, now: Time, lines: &mut dyn Lines) {
        self.next = Time::NEVER;
        self.begun += 1;
        self.page = Some(now);
        self.page_bytes = 0;
        if let Some(patience) = &mut self.patience {
            self.gives_up = now + Span::from_nanos(patience.draw() as u64);
        }
        let main = self.ask(true);
        self.waiting.push_back(main);
        self.dispatch(now, lines);
    }

    /// Sends waiting requests as far as connections are available.
    fn dispatch(&mut self, now: Time, lines: &mut dyn Lines) {
        while !self.waiting.is_empty() {
            let Some(at) = self.line_for_next(lines) else { return };
            let Some(ask) = self.waiting.pop_front() else { return };
            let line = &mut self.lines[at];
            line.written += ask.request;
            line.expected += ask.reply;
            line.asked.push_back(Asked { ask, at: now, end: line.expected });
            let letter = Letter { end: line.written, made: now, reply: ask.reply, wait: ask.wait };
            self.letters.post(line.number, letter);
            if let Some(socket) = lines.line(line.number) {
                socket.write(ask.request);
            }
        }
    }

    /// Index of an idle connection, a new one, or with pipelining the one with the fewest pending requests.
    fn line_for_next(&mut self, lines: &mut dyn Lines) -> Option<usize> {
        if let Some(idle) = self.lines.iter().position(|line| line.asked.is_empty()) {
            return Some(idle);
        }
        if self.lines.len() < self.plan.connections as usize {
            let number = lines.open();
            self.lines.push(Line { number, asked: VecDeque::new(), written: 0, expected: 0 });
            return Some(self.lines.len() - 1);
        }
        // A connection for one object has no second request.
        if !self.plan.pipelining || self.plan.keep == Keep::Object {
            return None;
        }
        (0..self.lines.len()).min_by_key(|&i| self.lines[i].asked.len())
    }

    /// Processes complete replies on a connection; true if there was one.
    fn hear(&mut self, now: Time, at: usize, lines: &mut dyn Lines) -> bool {
        let number = self.lines[at].number;
        let Some(received) = lines.line(number).map(|socket| socket.received()) else { return false };
        let mut heard = false;
        while let Some(asked) = self.lines[at].asked.front().copied().filter(|asked| asked.end <= received) {
            self.lines[at].asked.pop_front();
            heard = true;
            self.seen.responses.push(now.since(asked.at));
            self.seen.bytes += asked.ask.request + asked.ask.reply;
            self.page_bytes += asked.ask.reply;
            if asked.ask.main {
                let objects = self.objects.draw().round() as u64;
                for _ in 0..objects.min(MOST_OBJECTS) {
                    let ask = self.ask(false);
                    self.waiting.push_back(ask);
                }
            }
        }
        heard
    }

    fn close(&mut self, at: usize, lines: &mut dyn Lines) {
        let line = self.lines.remove(at);
        if let Some(socket) = lines.line(line.number) {
            socket.close();
        }
    }

    fn give_up(&mut self, lines: &mut dyn Lines) {
        for line in self.lines.drain(..) {
            lines.abort(line.number);
            self.letters.forget(line.number);
        }
        self.waiting.clear();
        self.gives_up = Time::NEVER;
        self.seen.aborted += u64::from(self.page.take().is_some());
    }

    fn all_begun(&self) -> bool {
        self.plan.pages.is_some_and(|pages| self.begun >= pages)
    }

    fn finish(&mut self, now: Time, lines: &mut dyn Lines) {
        while !self.lines.is_empty() {
            self.close(0, lines);
        }
        (self.next, self.ends) = (Time::NEVER, Time::NEVER);
        self.finished = Some(now);
        self.letters.close(now);
    }

    fn page_done(&mut self, now: Time, lines: &mut dyn Lines) {
        let Some(began) = self.page.take() else { return };
        let took = now.since(began);
        self.seen.pages.push(took);
        self.seen.transfers.push(Transfer { began, took, bytes: std::mem::take(&mut self.page_bytes) });
        self.gives_up = Time::NEVER;
        if self.plan.keep != Keep::Session {
            while !self.lines.is_empty() {
                self.close(0, lines);
            }
        }
        if self.all_begun() {
            return self.finish(now, lines);
        }
        let from = if self.plan.paced { began } else { now };
        self.next = now.max(from + Span::from_nanos(self.think.draw() as u64));
    }
}

/// Upper bound of the objects per page, against a mistaken distribution.
const MOST_OBJECTS: u64 = 100_000;

impl Workload for Asker {
    fn started(&mut self, now: Time, lines: &mut dyn Lines) {
        if let Some(lasts) = self.plan.lasts {
            self.ends = now + lasts;
        }
        self.begin(now, lines);
    }

    fn progressed(&mut self, now: Time, line: usize, lines: &mut dyn Lines) {
        let Some(at) = self.lines.iter().position(|l| l.number == line) else { return };
        if !self.hear(now, at, lines) {
            return;
        }
        if self.plan.keep == Keep::Object {
            self.close(at, lines);
        }
        self.dispatch(now, lines);
        if self.waiting.is_empty() && self.lines.iter().all(|line| line.asked.is_empty()) {
            self.page_done(now, lines);
        }
    }

    fn timeout(&mut self, now: Time, lines: &mut dyn Lines) {
        if self.ends <= now {
            if self.page.is_some() {
                self.give_up(lines);
            }
            return self.finish(now, lines);
        }
        if self.gives_up <= now {
            self.give_up(lines);
            if self.all_begun() {
                return self.finish(now, lines);
            }
            self.next = now;
        }
        if self.next <= now {
            self.begin(now, lines);
        }
    }

    fn next_timeout(&self) -> Time {
        self.next.min(self.gives_up).min(self.ends)
    }
    fn finished(&self) -> Option<Time> {
        self.finished
    }
    fn seen(&self) -> &Seen {
        &self.seen
    }
}

/// A reply being prepared by the server.
#[derive(Clone, Copy, Debug)]
struct Answer {
    due: Time,
    line: usize,
    bytes: u64,
}

/// Server of a request workload; replies in the order of the requests of each connection.
pub struct Answerer {
    letters: Letters,
    making: Vec<Answer>,
    seen: Seen,
}

impl Answerer {
    /// Serves the requests in `letters`.
    pub fn new(letters: Letters) -> Self {
        Answerer { letters, making: Vec::new(), seen: Seen::default() }
    }
}

impl Workload for Answerer {
    fn started(&mut self, _now: Time, _lines: &mut dyn Lines) {}

    fn progressed(&mut self, now: Time, line: usize, lines: &mut dyn Lines) {
        let Some(received) = lines.line(line).map(|socket| socket.received()) else { return };
        while let Some(letter) = self.letters.take(line, received) {
            let before = self.making.iter().filter(|a| a.line == line).map(|a| a.due).max();
            let due = before.map_or(now, |before| before.max(now)) + letter.wait;
            self.making.push(Answer { due, line, bytes: letter.reply });
        }
        self.timeout(now, lines);
    }

    fn broken(&mut self, _now: Time, line: usize) {
        self.making.retain(|answer| answer.line != line);
        self.letters.forget(line);
    }

    fn timeout(&mut self, now: Time, lines: &mut dyn Lines) {
        for answer in self.making.extract_if(.., |answer| answer.due <= now) {
            if let Some(socket) = lines.line(answer.line) {
                socket.write(answer.bytes);
            }
        }
    }

    fn next_timeout(&self) -> Time {
        self.making.iter().map(|answer| answer.due).min().unwrap_or(Time::NEVER)
    }
    fn finished(&self) -> Option<Time> {
        self.letters.closed()
    }
    fn seen(&self) -> &Seen {
        &self.seen
    }
}
