//! Congestion control: cwnd, ssthresh, and the list of algorithms.
//!
//! The congestion window and its threshold, in bytes; who opens and closes them is a file per algorithm, and the list
//! at the end of this file is the only other place that knows of it (`docs/adding.md` walks through adding one).
//!
//! The sender owns the window. A control is told what happened and moves the window; it keeps to itself
//! whatever else it remembers, and can save that before a reduction and take it back if the reduction
//! was a mistake.

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

/// An acknowledgement of new data, outside of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acked {
    /// When it came.
    pub now: Time,
    /// Bytes it acknowledges for the first time.
    pub bytes: u64,
    /// Next byte that the receiver expects.
    pub ack: u64,
    /// One past the highest byte sent.
    pub sent: u64,
    /// The round trip that it measured, if it did.
    pub sample: Option<Span>,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
}

named! {
    /// Why the window is reduced.
    pub enum Reason {
        /// Duplicate acknowledgements or SACK show a loss.
        Loss = "loss",
        /// The retransmission timer expired.
        Timeout = "timeout",
        /// The network marked a packet (RFC 3168).
        Mark = "mark",
    }
}

/// A reduction: what the sender was doing when it learned of congestion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// Why.
    pub reason: Reason,
    /// Bytes that count as outstanding: the flight, or the usable window if `halving = "window"`.
    pub outstanding: f64,
    /// Half of it as `halving` counts, bytes: in whole segments if `halving = "window"`.
    pub half: f64,
}

/// What any acknowledgement delivered, recovery or not, for controls that ask for it.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// When.
    pub now: Time,
    /// The rate that it measured (`recovery::rate`), if it delivered anything.
    pub rate: Option<RateSample>,
    /// Bytes delivered on the connection so far, cumulatively or by SACK.
    pub delivered: u64,
    /// Bytes that this acknowledgement delivered.
    pub fresh: u64,
    /// Bytes believed to be in the network after it.
    pub flight: u64,
    /// The round trip of the segment sent last among those delivered, if it was sent once.
    pub rtt: Option<Span>,
    /// Lost segments are being repaired.
    pub recovering: bool,
    /// Bytes in flight when the segment sent last among those delivered was sent, itself included.
    pub sent_in_flight: u32,
    /// Bytes found lost on the connection so far, and in how many separate ranges.
    pub lost: u64,
    /// Ranges of them that do not touch.
    pub lost_ranges: u64,
    /// When the segment sent last among those delivered was sent.
    pub newest_sent: Time,
}

/// A segment that was found lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was found.
    pub now: Time,
    /// The segment, as it was then.
    pub record: Record,
    /// Bytes found lost on the connection so far, itself included.
    pub lost: u64,
    /// Bytes delivered on the connection so far.
    pub delivered: u64,
}

/// A congestion control. Everything but the first three has an answer for those who need no more.
pub trait Control {
    /// The one that the configuration describes.
    fn new(config: &Config) -> Self
    where
        Self: Sized;

    /// An acknowledgement outside of recovery: opens the window.
    fn on_ack(&mut self, window: &mut Window, ack: &Acked);

    /// An acknowledgement that does not open the window measured a round trip, perhaps in recovery; it acknowledges nothing.
    fn on_round_trip(&mut self, _window: &mut Window, _ack: &Acked) {}

    /// Congestion: the new threshold, bytes. The sender keeps it from falling below two segments, and
    /// closes the window to the threshold (loss, mark) or to one segment (timeout).
    fn on_reduction(&mut self, window: &Window, reduction: &Reduction) -> f64;

    /// A reduction is coming that may turn out to be a mistake: keeps what it remembers.
    fn save(&mut self) {}

    /// It was a mistake, and the response has restored the window: what was kept counts again.
    fn restore(&mut self, _now: Time, _window: &mut Window) {}

    /// Nothing was sent for so long although it could have been: that time does not count.
    fn on_idle(&mut self, _now: Time, _idle: Span) {}

    /// Any acknowledgement that delivered something, before recovery looks at it; asked for by
    /// [`Control::wants_rates`].
    fn on_delivery(&mut self, _window: &mut Window, _delivery: &Delivery) {}

    /// A segment was found lost. Where the recovery takes segments for lost, that comes before [`Control::on_delivery`]
    /// is told of the acknowledgement that showed it; elsewhere a segment is found lost when it is sent again.
    /// Asked for by [`Control::hears_losses`].
    fn on_lost(&mut self, _window: &Window, _loss: &Loss) {}

    /// Whether it needs [`Control::on_lost`].
    fn hears_losses(&self) -> bool {
        false
    }

    /// Whether it needs [`Control::on_delivery`], and so the record of transmissions.
    fn wants_rates(&self) -> bool {
        false
    }

    /// Whether it sends less than it believes the path takes, so that rates of what leaves now say little.
    fn holds_back(&self) -> bool {
        false
    }

    /// Whether the window is its own alone: losses and recoveries do not change it, `on_delivery` does.
    fn owns_window(&self) -> bool {
        false
    }

    /// The rate at which it wants to send, bytes a second; `None`: the window is all it says.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
}

/// Makes of the list of controls the word in the scenario, the state of a sender, and the dispatch.
macro_rules! controls {
    ($($(#[$meta:meta])+ $variant:ident = $word:literal in $module:ident;)+) => {
        $(pub mod $module;)+

        named! {
            /// Congestion control: how the window grows, and what a loss takes from it.
            pub enum CongestionControl { $($(#[$meta])+ $variant = $word),+ }
        }

        /// The state of the congestion control of one sender.
        #[derive(Clone, Debug)]
        pub enum Controller { $($(#[$meta])+ $variant($module::$variant)),+ }

        impl Control for Controller {
            fn new(config: &Config) -> Self {
                match config.cc {
                    $(CongestionControl::$variant => Controller::$variant(Control::new(config))),+
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
            fn hears_losses(&self) -> bool {
                match self { $(Controller::$variant(c) => c.hears_losses()),+ }
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

// THE list of congestion controls: word, type and file are made known here and nowhere else.
controls! {
    /// A segment a round trip, half at a loss (RFC 5681).
    Reno = "reno" in reno;
    /// A cubic function of the time since the last loss (RFC 9438).
    Cubic = "cubic" in cubic;
    /// A model of the path's rate and round trip (version 1, draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr = "bbr" in bbr;
    /// Likewise, bounded by what losses say (version 3, draft-ietf-ccwg-bbr).
    Bbr3 = "bbr3" in bbr3;
}
