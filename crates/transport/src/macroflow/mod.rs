//! Congestion manager of a sending host (RFC 3124; catalogue CM-10): streams to one destination form a macroflow
//! and share one congestion window.
//!
//! | RFC 3124 | here |
//! |---|---|
//! | `cm_open`, `cm_close` | [`Macroflow::open`], [`Stream::close`] |
//! | `cm_mtu` | [`Stream::mtu`] |
//! | `cm_request`, `cmapp_send` | [`Stream::request`], [`Stream::take_grant`]; [`Macroflow::granted`] returns the owners of streams with grants |
//! | `cm_notify` | [`Stream::notify`] |
//! | `cm_update` | [`Stream::update`] |
//! | `cm_query` | [`Stream::query`] |
//! | `cm_thresh`, `cmapp_update` | [`Stream::set_thresholds`], [`Stream::take_change`] |
//! | `cm_getmacroflow`, `cm_setmacroflow` | [`Stream::macroflow`], [`Stream::move_to`] |
//! | weights (section 3.5) | [`Stream::set_weight`] |
//!
//! There are no callbacks: a stream polls its grants, and the element that owns the streams calls the owners that
//! [`Macroflow::granted`] returns. Bytes are those of the transport's payload. Departures from the example module
//! of section 5.2: losses reported within a round trip of a reduction are of the same congestion and reduce
//! nothing, and a macroflow that was idle restarts from its initial window (RFC 5681 section 4.1).

mod controller;
mod scheduler;

use base::{Span, Time};
use controller::Controller;
pub use controller::{MacroflowState, Query};
use scheduler::Scheduler;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a loss was detected (`lossmode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossMode {
    /// No loss by congestion.
    NoCongestion,
    /// Some of the outstanding data were lost.
    LossFeedback,
    /// No feedback for all outstanding data: a timeout.
    NoFeedback,
    /// The receiver echoed a mark of congestion (ECN).
    ExplicitCongestion,
}

/// Feedback of a stream (`cm_update`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// Bytes that arrived since the last feedback.
    pub received: u64,
    /// Bytes that were lost.
    pub lost: u64,
    /// How the loss was detected.
    pub mode: LossMode,
    /// RTT sample.
    pub rtt: Option<Span>,
}

/// Relative changes of rate and RTT that a stream requests reports of (`cm_thresh`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// The rate is below this multiple of the rate last reported.
    pub rate_down: f64,
    /// The rate is above this multiple of the rate last reported.
    pub rate_up: f64,
    /// The RTT is below this multiple of the RTT last reported.
    pub rtt_down: f64,
    /// The RTT is above this multiple of the RTT last reported.
    pub rtt_up: f64,
}

/// Number of the element that owns a stream, and number of the stream (line) in that element.
type Place = (u16, u32);

#[derive(Debug)]
struct Member {
    /// Owner of the stream.
    place: Place,
    mtu: u64,
    /// Bytes outstanding.
    outstanding: u64,
    /// Grants not used yet.
    grants: u32,
    thresholds: Option<(Thresholds, Option<Query>)>,
}

#[derive(Debug)]
struct Inner {
    controller: Controller,
    scheduler: Scheduler,
    /// Open streams by number; numbers are not used again.
    members: BTreeMap<u64, Member>,
    /// Number of the next stream.
    next: u64,
    /// Grants not used yet, by place; places without grants are not listed.
    granted: BTreeMap<Place, u32>,
    /// Bytes granted and not sent yet.
    reserved: u64,
}

impl Inner {
    /// Grants single packets to waiting streams while the window has room.
    fn schedule(&mut self) {
        while let Some(next) = self.scheduler.first() {
            let Some(member) = self.members.get_mut(&next) else { return };
            let used = self.controller.outstanding() + self.reserved;
            // A window smaller than a packet admits one packet.
            if used > 0 && (used + member.mtu) as f64 > self.controller.window() {
                return;
            }
            self.scheduler.serve(next);
            member.grants += 1;
            self.reserved += member.mtu;
            *self.granted.entry(member.place).or_default() += 1;
        }
    }

    /// Takes up to `most` grants from a stream; returns their number.
    fn take_grants(&mut self, stream: u64, most: u32) -> u32 {
        let Some(member) = self.members.get_mut(&stream) else { return 0 };
        let taken = member.grants.min(most);
        if taken > 0 {
            member.grants -= taken;
            self.reserved -= member.mtu * u64::from(taken);
            let left = self.granted.entry(member.place).or_default();
            *left -= taken;
            if *left == 0 {
                self.granted.remove(&member.place);
            }
        }
        taken
    }
}

/// Congestion window shared by several senders: returns the owners that may send.
pub trait Granting: std::fmt::Debug + Send + Sync {
    /// Owners of senders that wait and may send now, ascending, each once.
    fn granted(&self) -> Vec<u16>;
    /// Whether any sender waits and may send now.
    fn has_grants(&self) -> bool {
        !self.granted().is_empty()
    }
}

impl Granting for Macroflow {
    fn granted(&self) -> Vec<u16> {
        Macroflow::granted(self)
    }
    fn has_grants(&self) -> bool {
        Macroflow::has_grants(self)
    }
}

/// Streams with one congestion state.
#[derive(Clone, Debug)]
pub struct Macroflow(Arc<Mutex<Inner>>);

impl Macroflow {
    /// A macroflow without streams. `initial_window`: its first congestion window, bytes.
    pub fn new(initial_window: u64) -> Self {
        Macroflow(Arc::new(Mutex::new(Inner {
            controller: Controller::new(initial_window),
            scheduler: Scheduler::default(),
            members: BTreeMap::new(),
            next: 0,
            granted: BTreeMap::new(),
            reserved: 0,
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a stream with packets of `mtu` bytes of payload. `owner`: number of the element that holds it, returned by [`Self::granted`].
    pub fn open(&self, owner: u16, weight: u32, mtu: u32) -> Stream {
        self.open_line((owner, 0), weight, mtu)
    }

    /// Adds a stream as [`Self::open`] does. `place`: number of the element that holds it, and that of the stream in
    /// this element, returned by [`Self::next_granted`].
    pub fn open_line(&self, place: (u16, u32), weight: u32, mtu: u32) -> Stream {
        let mut inner = self.inner();
        let mtu = u64::from(mtu.max(1));
        let number = inner.next;
        inner.next += 1;
        inner.members.insert(number, Member { place, mtu, outstanding: 0, grants: 0, thresholds: None });
        inner.scheduler.add(number, weight);
        Stream { macroflow: self.clone(), number, place, mtu, weight }
    }

    /// Owners of streams with grants, ascending, each once.
    pub fn granted(&self) -> Vec<u16> {
        let mut owners: Vec<u16> = self.inner().granted.keys().map(|(owner, _)| *owner).collect();
        owners.dedup();
        owners
    }

    /// The first line of an owner, from `line` on, that has a grant.
    pub fn next_granted(&self, owner: u16, line: u32) -> Option<u32> {
        self.inner().granted.range((owner, line)..=(owner, u32::MAX)).next().map(|((_, line), _)| *line)
    }

    /// Whether a stream has a grant.
    pub fn has_grants(&self) -> bool {
        !self.inner().granted.is_empty()
    }

    /// Whether a stream of another owner has a grant.
    pub fn calls_others(&self, owner: u16) -> bool {
        let granted = &self.inner().granted;
        let ends = [granted.first_key_value(), granted.last_key_value()];
        ends.into_iter().flatten().any(|((of, _), _)| *of != owner)
    }

    /// Congestion state.
    pub fn state(&self) -> MacroflowState {
        self.inner().controller.state()
    }
}

/// A stream of a macroflow. A closed stream has no requests, grants or reports.
#[derive(Clone, Debug)]
pub struct Stream {
    macroflow: Macroflow,
    number: u64,
    place: Place,
    mtu: u64,
    weight: u32,
}

impl Stream {
    fn with<R>(&self, act: impl FnOnce(&mut Inner, u64) -> R) -> R {
        act(&mut self.macroflow.inner(), self.number)
    }

    /// Payload of a full packet, bytes.
    pub fn mtu(&self) -> u64 {
        self.mtu
    }

    /// Requests grants for `packets` packets; replaces earlier requests (0: withdraws them).
    pub fn request(&self, now: Time, packets: u32) {
        self.with(|inner, n| {
            if let Some(member) = inner.members.get(&n) {
                let more = packets.saturating_sub(member.grants);
                inner.controller.wake(now, inner.reserved);
                inner.scheduler.wait(n, more);
                inner.schedule();
            }
        });
    }

    /// Takes a grant for one packet, if there is one.
    pub fn take_grant(&self) -> bool {
        self.with(|inner, n| inner.take_grants(n, 1) > 0)
    }

    /// Whether a grant waits to be taken.
    pub fn has_grant(&self) -> bool {
        self.with(|inner, n| inner.members.get(&n).is_some_and(|member| member.grants > 0))
    }

    /// Counts `sent` bytes as outstanding; 0: a grant was not used, and another stream may have it.
    pub fn notify(&self, now: Time, sent: u64) {
        self.with(|inner, n| {
            if let Some(member) = inner.members.get_mut(&n) {
                member.outstanding += sent;
                inner.controller.notify(now, sent);
                inner.schedule();
            }
        });
    }

    /// Withdraws all requests and returns all grants, for other streams to send (`cm_notify` with 0 bytes).
    pub fn decline(&self, now: Time) {
        self.with(|inner, n| {
            inner.take_grants(n, u32::MAX);
            inner.scheduler.wait(n, 0);
        });
        self.notify(now, 0);
    }

    /// Passes feedback to the congestion controller.
    pub fn update(&self, now: Time, feedback: &Feedback) {
        self.with(|inner, n| {
            let Some(member) = inner.members.get_mut(&n) else { return };
            let gone = (feedback.received + feedback.lost).min(member.outstanding);
            member.outstanding -= gone;
            let received = feedback.received.min(gone);
            let feedback = Feedback { received, lost: gone - received, ..*feedback };
            inner.controller.update(now, member.mtu, &feedback);
            inner.schedule();
        });
    }

    /// This stream's share of the rate, smoothed RTT and its deviation; none before the first RTT sample.
    pub fn query(&self) -> Option<Query> {
        self.with(|inner, n| {
            let share = inner.scheduler.share(n);
            inner.controller.query().map(|query| Query { rate: query.rate * share, ..query })
        })
    }

    /// Sets the changes that [`Self::take_change`] reports.
    pub fn set_thresholds(&self, thresholds: Thresholds) {
        let now = self.query();
        self.with(|inner, n| {
            if let Some(member) = inner.members.get_mut(&n) {
                member.thresholds = Some((thresholds, now));
            }
        });
    }

    /// State of the path, if rate or RTT has passed a threshold since the last report.
    pub fn take_change(&self) -> Option<Query> {
        let now = self.query()?;
        self.with(|inner, n| {
            let (limits, last) = inner.members.get_mut(&n)?.thresholds.as_mut()?;
            let beyond = last.is_none_or(|last| {
                let (rate, rtt) = (now.rate / last.rate, now.srtt.as_secs_f64() / last.srtt.as_secs_f64());
                rate < limits.rate_down
                    || rate > limits.rate_up
                    || rtt < limits.rtt_down
                    || rtt > limits.rtt_up
            });
            if beyond {
                *last = Some(now);
            }
            beyond.then_some(now)
        })
    }

    /// Sets the weight in the scheduler.
    pub fn set_weight(&mut self, weight: u32) {
        self.weight = weight;
        self.with(|inner, n| inner.scheduler.set_weight(n, weight));
    }

    /// Macroflow of this stream.
    pub fn macroflow(&self) -> &Macroflow {
        &self.macroflow
    }

    /// Moves the stream to another macroflow, where its outstanding bytes count from now on.
    pub fn move_to(&mut self, now: Time, macroflow: &Macroflow) {
        let outstanding = self.with(|inner, n| inner.members.get(&n).map_or(0, |member| member.outstanding));
        self.close();
        *self = macroflow.open_line(self.place, self.weight, self.mtu as u32);
        self.notify(now, outstanding);
    }

    /// Ends the stream: its outstanding and granted bytes no longer count.
    pub fn close(&self) {
        self.with(|inner, n| {
            inner.take_grants(n, u32::MAX);
            inner.scheduler.remove(n);
            if let Some(member) = inner.members.remove(&n) {
                inner.controller.forget(member.outstanding);
                inner.schedule();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1000;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }
    fn feedback(received: u64, lost: u64, mode: LossMode) -> Feedback {
        Feedback { received, lost, mode, rtt: Some(Span::from_millis(100)) }
    }
    fn send(stream: &Stream, now: Time, packets: u64) {
        for _ in 0..packets {
            stream.request(now, 1);
            assert!(stream.take_grant());
            stream.notify(now, MTU);
        }
    }
    /// Sends until the window is full; its last request waits.
    fn send_all(stream: &Stream, now: Time) -> u64 {
        let mut sent = 0;
        loop {
            stream.request(now, 1);
            if !stream.take_grant() {
                return sent;
            }
            stream.notify(now, MTU);
            sent += MTU;
        }
    }

    /// CM-10: two streams send no more than one window together, and a new stream starts with the window that
    /// the others have opened.
    #[test]
    fn streams_share_one_window() {
        let macroflow = Macroflow::new(4 * MTU);
        let (a, b) = (macroflow.open(0, 1, 1000), macroflow.open(1, 1, 1000));
        assert_eq!((send_all(&a, at(0)), send_all(&b, at(0))), (4 * MTU, 0));
        // Slow start: 4 packets acknowledged open the window to 8; both streams wait, and each gets a packet.
        a.update(at(100), &feedback(4 * MTU, 0, LossMode::NoCongestion));
        assert_eq!((macroflow.state().window, macroflow.granted()), (8.0 * MTU as f64, vec![0, 1]));
        assert_eq!(send_all(&b, at(100)) + send_all(&a, at(100)), 8 * MTU);
        b.update(at(200), &feedback(8 * MTU, 0, LossMode::NoCongestion));
        let late = macroflow.open(2, 1, 1000);
        assert_eq!(
            send_all(&late, at(200)),
            12 * MTU,
            "15 packets, less one outstanding and two granted to the others"
        );
    }

    /// Grants follow the weights while all streams wait (section 5.3 with weights), also where feedback frees several packets.
    #[test]
    fn grants_follow_weights() {
        let macroflow = Macroflow::new(MTU);
        let streams = [3, 1].map(|weight| macroflow.open(weight as u16, weight, 1000));
        let mut sent = [0; 2];
        streams.iter().for_each(|stream| stream.request(at(0), 1));
        for ms in 0..400 {
            let turn = streams.iter().position(Stream::take_grant).unwrap();
            sent[turn] += 1;
            streams[turn].notify(at(ms), MTU);
            streams[turn].request(at(ms), 1);
            // The window stays at a packet: each one is lost.
            streams[turn].update(at(ms), &feedback(0, MTU, LossMode::NoFeedback));
        }
        assert_eq!(sent, [300, 100]);
        let macroflow = Macroflow::new(8 * MTU);
        let streams = [3, 1].map(|weight| macroflow.open(weight as u16, weight, 1000));
        streams.iter().for_each(|stream| stream.request(at(0), 100));
        let taken = streams
            .each_ref()
            .map(|stream| std::iter::repeat_with(|| stream.take_grant()).take_while(|has| *has).count());
        assert_eq!(taken, [8, 0], "all of the window was free for the first one");
        streams[0].notify(at(0), 8 * MTU);
        streams[0].update(at(100), &feedback(0, 4 * MTU, LossMode::LossFeedback));
        streams[0].update(at(110), &feedback(0, 4 * MTU, LossMode::LossFeedback));
        let taken = streams
            .each_ref()
            .map(|stream| std::iter::repeat_with(|| stream.take_grant()).take_while(|has| *has).count());
        assert_eq!(taken, [3, 1], "by weight; the one that asked later gains nothing");
    }

    /// Section 5.2: a loss halves, a timeout leaves one packet, both once for a round trip; unused grants and
    /// closed streams take nothing away.
    #[test]
    fn losses_reduce_and_nothing_leaks() {
        let macroflow = Macroflow::new(8 * MTU);
        let (a, b) = (macroflow.open(0, 1, 1000), macroflow.open(1, 1, 1000));
        send(&a, at(0), 8);
        a.update(at(100), &feedback(0, MTU, LossMode::LossFeedback));
        b.update(at(120), &feedback(0, 0, LossMode::LossFeedback));
        assert_eq!(
            (macroflow.state().window, macroflow.state().threshold),
            (4.0 * MTU as f64, 4.0 * MTU as f64)
        );
        a.update(at(300), &feedback(0, 7 * MTU, LossMode::NoFeedback));
        assert_eq!((macroflow.state().window, macroflow.state().outstanding), (MTU as f64, 0));
        b.request(at(300), 1);
        a.request(at(300), 1);
        assert!(b.take_grant() && !a.has_grant());
        b.notify(at(300), 0);
        assert!(a.has_grant(), "the grant that was not used goes to the other");
        a.close();
        b.request(at(300), 1);
        assert!(b.has_grant(), "what a closed stream was granted is free");
        assert_eq!(send_all(&a, at(300)), 0);
    }

    /// `cm_query` and `cm_thresh`: window over RTT, by shares; changes within the thresholds are not reported.
    #[test]
    fn queries_and_thresholds() {
        let macroflow = Macroflow::new(4 * MTU);
        let (a, b) = (macroflow.open(0, 1, 1000), macroflow.open(1, 3, 1000));
        assert_eq!(a.query(), None);
        send_all(&a, at(0));
        a.set_thresholds(Thresholds { rate_down: 0.5, rate_up: 1.8, rtt_down: 0.5, rtt_up: 2.0 });
        a.update(at(100), &feedback(4 * MTU, 0, LossMode::NoCongestion));
        // 8000 B in 100 ms are 640 kbit/s, a quarter of them for weight 1 of 4.
        let query = a.query().unwrap();
        assert!((query.rate - 160e3).abs() < 1.0 && query.srtt == Span::from_millis(100), "{query:?}");
        assert_eq!((a.take_change(), a.take_change()), (Some(query), None));
        send_all(&b, at(100));
        b.update(at(200), &feedback(4 * MTU, 0, LossMode::NoCongestion));
        assert_eq!(a.take_change(), None, "1.5 times the rate is within the thresholds");
        b.update(at(200), &feedback(4 * MTU, 0, LossMode::NoCongestion));
        assert!(a.take_change().is_some());
    }

    /// Streams move between macroflows with their outstanding bytes.
    #[test]
    fn a_stream_moves_with_its_data() {
        let (one, other) = (Macroflow::new(4 * MTU), Macroflow::new(4 * MTU));
        let mut stream = one.open(0, 1, 1000);
        send_all(&stream, at(0));
        stream.move_to(at(1), &other);
        assert_eq!((one.state().outstanding, other.state().outstanding), (0, 4 * MTU));
        assert_eq!(send_all(&stream, at(1)), 0);
    }

    /// A macroflow that was idle for longer than an RTO starts from its initial window (RFC 5681 section 4.1).
    #[test]
    fn an_idle_macroflow_restarts() {
        let macroflow = Macroflow::new(2 * MTU);
        let stream = macroflow.open(0, 1, 1000);
        for round in 0..4 {
            send(&stream, at(100 * round), 2 << round);
            stream.update(at(100 * round + 100), &feedback((2 << round) * MTU, 0, LossMode::NoCongestion));
        }
        assert_eq!(macroflow.state().window, 32.0 * MTU as f64);
        send(&stream, at(900), 32);
        stream.update(at(1000), &feedback(32 * MTU, 0, LossMode::NoCongestion));
        assert_eq!(send_all(&stream, at(9000)), 2 * MTU);
    }

    /// Streams that ended leave nothing behind, so that the cost of a grant does not grow with their number; a closed
    /// stream has no share, and closing it again changes nothing.
    #[test]
    fn closed_streams_leave_nothing() {
        let macroflow = Macroflow::new(4 * MTU);
        let lasting = macroflow.open(7, 1, 1000);
        for ms in 0..1000 {
            let short = macroflow.open(ms as u16 % 3, 1, 1000);
            assert_eq!(send_all(&short, at(ms)), 4 * MTU);
            short.close();
            short.close();
            short.notify(at(ms), MTU);
            short.update(at(ms), &feedback(0, MTU, LossMode::LossFeedback));
            let inner = macroflow.inner();
            assert_eq!((inner.members.len(), inner.granted.len(), inner.reserved), (1, 0, 0));
        }
        assert_eq!((macroflow.state().window, macroflow.state().outstanding), (4.0 * MTU as f64, 0));
        lasting.request(at(1000), 1);
        assert!(macroflow.has_grants() && macroflow.calls_others(1) && !macroflow.calls_others(7));
        let third = macroflow.open_line((7, 3), 1, 1000);
        third.request(at(1000), 1);
        assert_eq!(
            [0, 1, 3, 4].map(|line| macroflow.next_granted(7, line)),
            [Some(0), Some(3), Some(3), None]
        );
        assert_eq!((macroflow.granted(), macroflow.next_granted(6, 0)), (vec![7], None));
    }
}
