//! Congestion control of ATP (paper section III.D): AIMD, TFRC, the carrier's, none, or a Congestion Manager window
//! shared by start-time fair queueing.

use base::{Span, Time};
use dccp::tfrc::{Feedback, Sender, SenderConfig};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use transport::macroflow::Granting;

base::named! {
    /// Which congestion control.
    pub enum Method {
        /// AIMD: the window grows by a fragment per round trip and halves at a loss.
        Aimd = "aimd",
        /// Rate control by TFRC (RFC 5348).
        Tfrc = "tfrc",
        /// The window of all flows from this host to that one (Congestion Manager).
        Shared = "shared",
        /// No congestion control: fragments are sent as they are written.
        None = "none",
    }
}

/// Initial window in fragments (RFC 3390 for fragments of up to 1095 bytes).
const INITIAL: f64 = 4.0;

/// A window in fragments.
#[derive(Clone, Debug)]
pub struct Window {
    size: f64,
    threshold: f64,
    pipe: u32,
    /// Reductions happen at most once per round trip.
    reduced: Option<Time>,
    reductions: u64,
}

impl Default for Window {
    fn default() -> Self {
        Window { size: INITIAL, threshold: f64::INFINITY, pipe: 0, reduced: None, reductions: 0 }
    }
}

impl Window {
    fn is_open(&self) -> bool {
        f64::from(self.pipe) < libm::floor(self.size).max(1.0)
    }
    fn grow(&mut self, fragments: u32) {
        for _ in 0..fragments {
            self.size += if self.size < self.threshold { 1.0 } else { 1.0 / self.size };
        }
    }
    /// Time to send this number of fragments while the window grows by one a round trip; `None` in slow start, when the
    /// window does not reflect the path yet.
    fn time_for(&self, fragments: u64, rtt: Span) -> Option<Span> {
        if rtt.is_zero() || self.size < self.threshold {
            return None;
        }
        // Rounds n in which W + (W + 1) + ... of them leave: n W + n (n - 1) / 2.
        let (all, first) = (fragments as f64, self.size.max(1.0) - 0.5);
        let rounds = libm::sqrt(first * first + 2.0 * all) - first;
        Some(Span::from_secs_f64(rounds * rtt.as_secs_f64()))
    }
    fn reduce(&mut self, now: Time, rtt: Span) {
        if self.reduced.is_some_and(|t| now.since(t) < rtt) {
            return;
        }
        self.reduced = Some(now);
        self.reductions += 1;
        self.size = (self.size / 2.0).max(1.0);
        self.threshold = self.size.max(2.0);
    }
    fn collapse(&mut self) {
        self.threshold = (self.size / 2.0).max(2.0);
        self.size = 1.0;
        self.reductions += 1;
    }
}

/// A flow that holds a shared window.
#[derive(Clone, Copy, Debug)]
struct Member {
    weight: f64,
    /// Virtual time at which its last fragment is served: each takes the inverse of the weight.
    served: f64,
    /// True if the flow has fragments to send.
    waits: bool,
}

/// A window and the flows that hold it. Which flow sends next is start-time fair queueing (Goyal, Vin and Cheng 1996): turns
/// are in the ratio of the weights, however long the acknowledgement of a fragment takes, and a flow that was idle
/// has no turns saved up.
#[derive(Clone, Debug, Default)]
struct Held {
    window: Window,
    members: Vec<Member>,
    /// Start of the fragment sent last, in virtual time.
    now: f64,
}

impl Held {
    /// Virtual time at which the next fragment of a flow would start.
    fn start(&self, member: &Member) -> f64 {
        member.served.max(self.now)
    }

    /// The waiting flow whose turn it is; of equals the first.
    fn next(&self) -> Option<usize> {
        let waiting = self.members.iter().enumerate().filter(|(_, member)| member.waits);
        let mut first: Option<(usize, f64)> = None;
        for (index, member) in waiting {
            let start = self.start(member);
            if first.is_none_or(|(_, least)| start < least) {
                first = Some((index, start));
            }
        }
        first.map(|(index, _)| index)
    }

    /// A flow may send unless the turn of another one that waits comes first.
    fn is_open(&self, index: usize) -> bool {
        let Some(own) = self.members.get(index).map(|member| self.start(member)) else { return true };
        let first = |next: usize| next == index || self.members.get(next).is_none_or(|m| own < self.start(m));
        self.window.is_open() && self.next().is_none_or(first)
    }

    /// Records that a fragment of a flow is sent.
    fn serve(&mut self, index: usize, waits: bool) {
        if let Some(member) = self.members.get_mut(index) {
            self.now = self.now.max(member.served);
            member.served = self.now + 1.0 / member.weight;
            member.waits = waits;
        }
    }
}

/// A window that several flows hold. A flow that waits learns from [`Granting::granted`] that its turn has come.
#[derive(Clone, Debug, Default)]
pub struct SharedWindow(Arc<Mutex<Held>>);

impl SharedWindow {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Fragments that it allows now.
    pub fn size(&self) -> f64 {
        self.lock().window.size
    }
    /// Flows that hold it; the next one to join has this number.
    pub fn members(&self) -> usize {
        self.lock().members.len()
    }
    fn join(self, weight: u32) -> Share {
        let mut held = self.lock();
        let index = held.members.len();
        held.members.push(Member { weight: f64::from(weight.max(1)), served: 0.0, waits: false });
        drop(held);
        Share { window: self, index }
    }
}

impl Granting for SharedWindow {
    fn granted(&self) -> Vec<u16> {
        let held = self.lock();
        let next = held.next().filter(|_| held.window.is_open());
        next.and_then(|index| u16::try_from(index).ok()).into_iter().collect()
    }
}

/// A flow's part of a shared window.
#[derive(Clone, Debug)]
pub struct Share {
    window: SharedWindow,
    index: usize,
}

impl Share {
    /// The window.
    pub fn window(&self) -> &SharedWindow {
        &self.window
    }
    fn wait(&self, waits: bool) {
        if let Some(member) = self.window.lock().members.get_mut(self.index) {
            member.waits = waits;
        }
    }
    fn is_open(&self) -> bool {
        self.window.lock().is_open(self.index)
    }
}

/// Congestion control of one flow.
#[derive(Clone, Debug)]
pub enum Control {
    /// AIMD window of this flow alone.
    Aimd(Window),
    /// TFRC sending rate.
    Tfrc(Box<Sender>),
    /// Window shared with other flows.
    Shared(Share),
    /// Congestion control of the carrier (the transport below).
    Carrier {
        /// The carrier accepts the next fragment now.
        open: bool,
    },
    /// No control.
    None,
}

impl Control {
    /// The control of a flow with fragments of `size` bytes on the wire; `shared` and `weight` are for
    /// [`Method::Shared`].
    pub fn new(method: Method, size: u32, shared: SharedWindow, weight: u32) -> Self {
        match method {
            Method::Aimd => Control::Aimd(Window::default()),
            Method::Tfrc => {
                let config = SenderConfig { size, ..SenderConfig::default() };
                Control::Tfrc(Box::new(Sender::new(config)))
            }
            Method::Shared => Control::Shared(shared.join(weight)),
            Method::None => Control::None,
        }
    }

    fn with(&mut self, act: impl FnOnce(&mut Window)) {
        match self {
            Control::Aimd(window) => act(window),
            Control::Shared(share) => act(&mut share.window.lock().window),
            Control::Tfrc(_) | Control::Carrier { .. } | Control::None => {}
        }
    }

    /// Earliest time at which a fragment may be sent.
    pub fn next_send(&self) -> Time {
        match self {
            Control::Aimd(window) => {
                if window.is_open() {
                    Time::ZERO
                } else {
                    Time::NEVER
                }
            }
            Control::Shared(share) => {
                if share.is_open() {
                    Time::ZERO
                } else {
                    Time::NEVER
                }
            }
            Control::Tfrc(sender) => sender.next_send(),
            Control::Carrier { open } => {
                if *open {
                    Time::ZERO
                } else {
                    Time::NEVER
                }
            }
            Control::None => Time::ZERO,
        }
    }
    /// Records that a fragment is sent; `bytes` with its headers.
    pub fn on_send(&mut self, now: Time, bytes: u32, more: bool) {
        if let Control::Tfrc(sender) = self {
            sender.on_size(bytes);
            sender.on_send(now, more);
        }
        if let Control::Carrier { open } = self {
            *open = false;
        }
        if let Control::Shared(share) = self {
            share.window.lock().serve(share.index, more);
        }
        self.with(|w| w.pipe += 1);
    }
    /// No fragment waits.
    pub fn on_idle(&mut self) {
        if let Control::Shared(share) = self {
            share.wait(false);
        }
    }
    /// Fragments wait that may not leave.
    pub fn on_blocked(&mut self, now: Time) {
        if let Control::Shared(share) = self {
            share.wait(true);
        }
        if let Control::Tfrc(sender) = self {
            sender.on_blocked(now);
        }
    }
    /// Fragments left the network: `acked` of them arrived, `gone` of them did not.
    pub fn on_left(&mut self, acked: u32, gone: u32) {
        self.with(|w| {
            w.pipe = w.pipe.saturating_sub(acked + gone);
            w.grow(acked);
        });
    }
    /// Fragments that had been counted as gone arrived after all: the network carries more.
    pub fn on_arrived_late(&mut self, fragments: u32) {
        self.with(|w| w.grow(fragments));
    }
    /// A loss, or a mark.
    pub fn on_congestion(&mut self, now: Time, rtt: Span) {
        self.with(|w| w.reduce(now, rtt));
    }
    /// The retransmission timer expired with `outstanding` fragments in flight.
    pub fn on_timeout(&mut self, outstanding: u32) {
        self.with(|w| {
            w.pipe = w.pipe.saturating_sub(outstanding);
            w.collapse();
        });
    }
    /// TFRC's report.
    pub fn on_report(&mut self, now: Time, report: &Feedback) {
        if let Control::Tfrc(sender) = self {
            sender.on_feedback(now, report);
        }
    }
    /// Expiry time of TFRC's nofeedback timer.
    pub fn next_timeout(&self) -> Time {
        if let Control::Tfrc(sender) = self { sender.next_timeout() } else { Time::NEVER }
    }
    /// Handles the expiry of TFRC's nofeedback timer.
    pub fn on_nofeedback(&mut self, now: Time) {
        if let Control::Tfrc(sender) = self {
            sender.on_timeout(now);
        }
    }
    /// Estimated time to send this number of bytes in fragments of `size` bytes; `None` without a limit.
    pub fn time_for(&self, bytes: u64, rtt: Span, size: u32) -> Option<Span> {
        let window = |window: &Window| window.time_for(bytes.div_ceil(u64::from(size.max(1))), rtt);
        match self {
            Control::Aimd(own) => window(own),
            Control::Shared(share) => window(&share.window.lock().window),
            Control::Tfrc(sender) => {
                (sender.loss() > 0.0).then(|| Span::from_secs_f64(bytes as f64 / sender.rate()))
            }
            Control::Carrier { .. } | Control::None => None,
        }
    }
    /// Reductions of the window, or loss event rate above zero.
    pub fn reductions(&self) -> u64 {
        match self {
            Control::Aimd(window) => window.reductions,
            Control::Shared(share) => share.window.lock().window.reductions,
            Control::Tfrc(sender) => u64::from(sender.loss() > 0.0),
            Control::Carrier { .. } | Control::None => 0,
        }
    }
}
