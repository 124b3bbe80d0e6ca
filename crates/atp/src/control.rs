//! Congestion control of ATP (paper section III.D): AIMD, TFRC, or a window that all flows between two hosts share.

use base::{Span, Time};
use dccp::tfrc::{Feedback, Sender, SenderConfig};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

base::named! {
    /// Which congestion control.
    pub enum Method {
        /// A window that grows by a fragment a round trip and halves at a loss.
        Aimd = "aimd",
        /// A smooth rate (RFC 5348).
        Tfrc = "tfrc",
        /// The window of all flows from this host to that one (Congestion Manager).
        Shared = "shared",
        /// None: fragments leave as they are written.
        None = "none",
    }
}

/// Initial window in fragments (RFC 3390 for fragments of up to 1095 bytes).
const INITIAL: f64 = 4.0;
/// A flow that found the shared window full asks again after this: nothing tells it that another flow's data left.
pub(crate) const ASK_AGAIN: Span = Span::from_millis(20);

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

/// A window that several flows hold.
#[derive(Clone, Debug, Default)]
pub struct SharedWindow(Arc<Mutex<Window>>);

impl SharedWindow {
    fn lock(&self) -> MutexGuard<'_, Window> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Fragments that it allows now.
    pub fn size(&self) -> f64 {
        self.lock().size
    }
}

/// The control of one flow.
#[derive(Clone, Debug)]
pub enum Control {
    /// A window of its own.
    Aimd(Window),
    /// A rate.
    Tfrc(Box<Sender>),
    /// A window that others hold too.
    Shared(SharedWindow),
    /// That of the transport below, which takes the next fragment now, or does not.
    Carrier {
        /// It does.
        open: bool,
    },
    /// No control.
    None,
}

impl Control {
    /// The control of a flow with fragments of `size` bytes on the wire.
    pub fn new(method: Method, size: u32, shared: SharedWindow) -> Self {
        match method {
            Method::Aimd => Control::Aimd(Window::default()),
            Method::Tfrc => {
                let config = SenderConfig { size, ..SenderConfig::default() };
                Control::Tfrc(Box::new(Sender::new(config)))
            }
            Method::Shared => Control::Shared(shared),
            Method::None => Control::None,
        }
    }

    fn with(&mut self, act: impl FnOnce(&mut Window)) {
        match self {
            Control::Aimd(window) => act(window),
            Control::Shared(shared) => act(&mut shared.lock()),
            Control::Tfrc(_) | Control::Carrier { .. } | Control::None => {}
        }
    }

    /// When a fragment may leave, at the earliest.
    pub fn next_send(&self) -> Time {
        match self {
            Control::Aimd(window) => {
                if window.is_open() {
                    Time::ZERO
                } else {
                    Time::NEVER
                }
            }
            Control::Shared(shared) => {
                if shared.lock().is_open() {
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
    /// A fragment leaves.
    pub fn on_send(&mut self, now: Time, more: bool) {
        if let Control::Tfrc(sender) = self {
            sender.on_send(now, more);
        }
        if let Control::Carrier { open } = self {
            *open = false;
        }
        self.with(|w| w.pipe += 1);
    }
    /// Fragments wait that may not leave.
    pub fn on_blocked(&mut self, now: Time) {
        if let Control::Tfrc(sender) = self {
            sender.on_blocked(now);
        }
    }
    /// Fragments left the network: `acked` of them arrived, `gone` of them did not. `grows`: they were not lost.
    pub fn on_left(&mut self, acked: u32, gone: u32) {
        self.with(|w| {
            w.pipe = w.pipe.saturating_sub(acked + gone);
            w.grow(acked);
        });
    }
    /// A loss, or a mark.
    pub fn on_congestion(&mut self, now: Time, rtt: Span) {
        self.with(|w| w.reduce(now, rtt));
    }
    /// The retransmission timer expired with `outstanding` fragments on their way.
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
    /// TFRC's nofeedback timer.
    pub fn next_timeout(&self) -> Time {
        if let Control::Tfrc(sender) = self { sender.next_timeout() } else { Time::NEVER }
    }
    /// It expired.
    pub fn on_nofeedback(&mut self, now: Time) {
        if let Control::Tfrc(sender) = self {
            sender.on_timeout(now);
        }
    }
    /// Estimate of the rate, bytes per second, of fragments of `size` bytes; none where nothing limits.
    pub fn rate(&self, rtt: Span, size: u32) -> Option<f64> {
        let rtt = rtt.as_secs_f64();
        // In slow start the window says nothing yet about the path.
        let known = |window: &Window| rtt > 0.0 && window.size >= window.threshold;
        let of = |window: &Window| known(window).then(|| window.size.max(1.0) * f64::from(size) / rtt);
        match self {
            Control::Aimd(window) => of(window),
            Control::Shared(shared) => of(&shared.lock()),
            Control::Tfrc(sender) => (sender.loss() > 0.0).then(|| sender.rate()),
            Control::Carrier { .. } | Control::None => None,
        }
    }
    /// Reductions of the window, or loss event rate above zero.
    pub fn reductions(&self) -> u64 {
        match self {
            Control::Aimd(window) => window.reductions,
            Control::Shared(shared) => shared.lock().reductions,
            Control::Tfrc(sender) => u64::from(sender.loss() > 0.0),
            Control::Carrier { .. } | Control::None => 0,
        }
    }
}
