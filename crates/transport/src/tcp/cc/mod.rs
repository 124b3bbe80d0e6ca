//! Congestion control: interface of an algorithm ([`CongestionAlgorithm`]), its inputs (ACK, reduction, delivery
//! sample, loss), and the list of algorithms.
//!
//! One file per algorithm. The list at the end of
//! this file is the only other place that names an algorithm (`docs/adding.md` shows how to add one).
//!
//! The sender owns the window. It calls the algorithm for each event, and the algorithm sets the window. An
//! algorithm keeps its other state to itself; it can save it before a reduction and restore it if the
//! reduction was spurious.

pub mod abe;
pub mod cubic_linux;
pub mod hystart;
pub mod hystart_plus;
pub mod slow_start;
mod window;

pub use window::Window;

use super::config::Config;
use crate::recovery::rate::RateSample;
use crate::recovery::sent::Record;
use base::{Span, Time, named};

/// An ACK of new data outside of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acked {
    /// Arrival time.
    pub now: Time,
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// Next byte that the receiver expects.
    pub ack: u64,
    /// One past the highest byte sent.
    pub sent: u64,
    /// RTT sample, if there is one.
    pub sample: Option<Span>,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
}

named! {
    /// Cause of a window reduction.
    pub enum Reason {
        /// Duplicate acknowledgements or SACK show a loss.
        Loss = "loss",
        /// The retransmission timer expired.
        Timeout = "timeout",
        /// An ECN mark (RFC 3168).
        Mark = "mark",
    }
}

/// Sender state at a reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// Cause of the reduction.
    pub reason: Reason,
    /// Bytes that count as outstanding: the flight, or the usable window if `halving = "window"`.
    pub outstanding: f64,
    /// Half of `outstanding`, bytes; in whole segments if `halving = "window"`.
    pub half: f64,
}

/// Delivery sample of an ACK, in recovery or not, for algorithms that need rates.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Arrival time.
    pub now: Time,
    /// Delivery-rate sample (`recovery::rate`), if there is a valid one.
    pub rate: Option<RateSample>,
    /// Bytes delivered on the connection so far, cumulatively or by SACK.
    pub delivered: u64,
    /// Bytes that this ACK delivered.
    pub fresh: u64,
    /// Estimated bytes in flight after the ACK.
    pub flight: u64,
    /// RTT of the newest delivered segment, if it was sent once.
    pub rtt: Option<Span>,
    /// Loss recovery is in progress.
    pub recovering: bool,
    /// Bytes in flight when the newest delivered segment was sent, with this segment.
    pub sent_in_flight: u32,
    /// Bytes marked lost on the connection so far.
    pub lost: u64,
    /// Number of separate ranges marked lost.
    pub lost_ranges: u64,
    /// Transmission time of the newest delivered segment.
    pub newest_sent: Time,
}

/// A segment marked lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Time of detection.
    pub now: Time,
    /// Record of the segment at detection.
    pub record: Record,
    /// Bytes marked lost on the connection so far, with this segment.
    pub lost: u64,
    /// Bytes delivered on the connection so far.
    pub delivered: u64,
}

/// Congestion control algorithm. Only the first three methods are required.
pub trait CongestionAlgorithm {
    /// Creates the algorithm from the configuration.
    fn new(config: &Config) -> Self
    where
        Self: Sized;

    /// Opens the window for an ACK outside of recovery.
    fn on_ack(&mut self, window: &mut Window, ack: &Acked);

    /// Processes the RTT sample of an ACK that does not open the window, in recovery or not; `_ack.bytes` is 0.
    fn on_round_trip(&mut self, _window: &mut Window, _ack: &Acked) {}

    /// Returns the new ssthresh at a reduction, bytes. The sender applies a minimum of two segments, and sets
    /// cwnd to ssthresh (loss, mark) or to one segment (timeout).
    fn on_reduction(&mut self, window: &Window, reduction: &Reduction) -> f64;

    /// Saves the state before a reduction that may be spurious.
    fn save(&mut self) {}

    /// Restores the saved state; the response has restored the window.
    fn restore(&mut self, _now: Time, _window: &mut Window) {}

    /// Processes an idle period: `_idle` is the time without transmissions, which ends at `_now`.
    fn on_idle(&mut self, _now: Time, _idle: Span) {}

    /// Processes a delivery sample; called only with [`CongestionAlgorithm::wants_rates`].
    fn on_delivery(&mut self, _window: &mut Window, _delivery: &Delivery) {}

    /// Processes the loss of a segment. A recovery that marks losses calls it before the
    /// [`CongestionAlgorithm::on_delivery`] of the ACK that revealed the loss. With other recoveries a segment counts as lost
    /// when it is retransmitted. Called only with [`CongestionAlgorithm::needs_losses`].
    fn on_lost(&mut self, _window: &Window, _loss: &Loss) {}

    /// Whether the algorithm needs [`CongestionAlgorithm::on_lost`].
    fn needs_losses(&self) -> bool {
        false
    }

    /// Whether the algorithm needs [`CongestionAlgorithm::on_delivery`], and thus send records.
    fn wants_rates(&self) -> bool {
        false
    }

    /// Whether the algorithm sends below the estimated capacity on purpose. Rate samples then count as
    /// application-limited.
    fn holds_back(&self) -> bool {
        false
    }

    /// Whether only `on_delivery` sets the window; losses and recoveries leave it unchanged.
    fn owns_window(&self) -> bool {
        false
    }

    /// Pacing rate, bytes per second; `None`: the algorithm sets only the window.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
}

/// Generates the scenario word, the state type and the dispatch from the list of algorithms.
macro_rules! controls {
    ($($(#[$meta:meta])+ $variant:ident = $word:literal in $module:ident;)+) => {
        $(pub mod $module;)+

        named! {
            /// Congestion control: growth of the window, and its reduction at a loss.
            pub enum CongestionControl { $($(#[$meta])+ $variant = $word),+ }
        }

        /// The state of the congestion control of one sender.
        #[derive(Clone, Debug)]
        pub enum Controller { $($(#[$meta])+ $variant($module::$variant)),+ }

        impl CongestionAlgorithm for Controller {
            fn new(config: &Config) -> Self {
                match config.cc {
                    $(CongestionControl::$variant => Controller::$variant(CongestionAlgorithm::new(config))),+
                }
            }
            #[inline]
            fn on_ack(&mut self, window: &mut Window, ack: &Acked) {
                match self { $(Controller::$variant(c) => c.on_ack(window, ack)),+ }
            }
            fn on_reduction(&mut self, window: &Window, reduction: &Reduction) -> f64 {
                match self { $(Controller::$variant(c) => c.on_reduction(window, reduction)),+ }
            }
            fn on_round_trip(&mut self, window: &mut Window, ack: &Acked) {
                match self { $(Controller::$variant(c) => c.on_round_trip(window, ack)),+ }
            }
            fn save(&mut self) {
                match self { $(Controller::$variant(c) => c.save()),+ }
            }
            fn restore(&mut self, now: Time, window: &mut Window) {
                match self { $(Controller::$variant(c) => c.restore(now, window)),+ }
            }
            fn on_idle(&mut self, now: Time, idle: Span) {
                match self { $(Controller::$variant(c) => c.on_idle(now, idle)),+ }
            }
            fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
                match self { $(Controller::$variant(c) => c.on_delivery(window, delivery)),+ }
            }
            fn on_lost(&mut self, window: &Window, loss: &Loss) {
                match self { $(Controller::$variant(c) => c.on_lost(window, loss)),+ }
            }
            fn needs_losses(&self) -> bool {
                match self { $(Controller::$variant(c) => c.needs_losses()),+ }
            }
            #[inline]
            fn wants_rates(&self) -> bool {
                match self { $(Controller::$variant(c) => c.wants_rates()),+ }
            }
            fn holds_back(&self) -> bool {
                match self { $(Controller::$variant(c) => c.holds_back()),+ }
            }
            #[inline]
            fn owns_window(&self) -> bool {
                match self { $(Controller::$variant(c) => c.owns_window()),+ }
            }
            #[inline]
            fn pacing_rate(&self) -> Option<f64> {
                match self { $(Controller::$variant(c) => c.pacing_rate()),+ }
            }
        }
    };
}

// The only list of congestion controls: word, type and file of each.
controls! {
    /// One segment per RTT, halved at a loss (RFC 5681).
    Reno = "reno" in reno;
    /// A cubic function of the time since the last loss (RFC 9438).
    Cubic = "cubic" in cubic;
    /// Model of the path's bandwidth and RTT (version 1, draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr = "bbr" in bbr;
    /// Model of the path's bandwidth and RTT with loss-based bounds (version 3, draft-ietf-ccwg-bbr).
    Bbr3 = "bbr3" in bbr3;
}
