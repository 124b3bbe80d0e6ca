//! Responses to a spurious timeout: restored congestion state, RTO adaptation.
//!
//! Which congestion state is restored and how the timer is made more careful. On with the next unsent segment, and
//! `rto.adapt`, are the sender's part.
//!
//! A new response is a file that implements [`Respond`] and a line in the list below.

use super::cc::Window;
use super::config::Config;
use super::spurious::Episode;
use crate::recovery::digest::AckDigest;
use crate::recovery::rto::RtoTimer;
use base::Span;

/// What a response may look at and change.
pub struct Scene<'a> {
    /// The timeout or fast retransmit judged.
    pub episode: &'a Episode,
    /// The acknowledgement that revealed it.
    pub ack: &'a AckDigest,
    /// It was revealed by an answer to what was resent: there may be little outstanding.
    pub late: bool,
    /// The congestion state, as the timeout or fast retransmit and what followed left it.
    pub window: &'a mut Window,
    /// The timer.
    pub rto: &'a mut RtoTimer,
    /// Bytes outstanding after the acknowledgement.
    pub flight: u64,
}

/// A response, with what it remembers between episodes.
pub trait Respond: Sized {
    /// The one for these choices; the peer's window is taken to be `peer` bytes.
    fn new(config: &Config, peer: u64) -> Self;
    /// Spurious. True if the window now counts what the acknowledgement at hand lets out, so that
    /// it does not open the window again.
    fn on_spurious(&mut self, scene: Scene<'_>) -> bool;
    /// The timeout was a loss.
    fn on_genuine(&mut self) {}
    /// A window of data was acknowledged without a timeout.
    fn on_quiet_window(&mut self) {}
    /// The acknowledgement up to `ack` measured a round trip, which the timer has taken in.
    fn on_sample(&mut self, _ack: u64, _rtt: Span, _rto: &mut RtoTimer) {}
}

macro_rules! responses {
    ($($(#[$doc:meta])+ $name:ident = $word:literal in $module:ident;)+) => {
        $(pub mod $module;)+

        base::named! {
            /// What follows from the verdict "spurious".
            pub enum Response { $($(#[$doc])+ $name = $word),+ }
        }

        /// The responses there are.
        #[derive(Clone, Debug)]
        pub enum Responder { $($(#[$doc])+ $name($module::$name)),+ }

        impl Responder {
            /// The one that the configuration names.
            pub fn new(config: &Config, peer: u64) -> Self {
                match config.response { $(Response::$name => Responder::$name(Respond::new(config, peer))),+ }
            }
            /// Spurious; see [`Respond::on_spurious`].
            pub fn on_spurious(&mut self, scene: Scene<'_>) -> bool {
                match self { $(Responder::$name(r) => r.on_spurious(scene)),+ }
            }
            /// The timeout was a loss.
            pub fn on_genuine(&mut self) {
                match self { $(Responder::$name(r) => r.on_genuine()),+ }
            }
            /// A window of data was acknowledged without a timeout.
            pub fn on_quiet_window(&mut self) {
                match self { $(Responder::$name(r) => r.on_quiet_window()),+ }
            }
            /// A round trip was measured; see [`Respond::on_sample`].
            pub fn on_sample(&mut self, ack: u64, rtt: Span, rto: &mut RtoTimer) {
                match self { $(Responder::$name(r) => r.on_sample(ack, rtt, rto)),+ }
            }
        }
    };
}

// THE list of responses: word, type and file are made known here and nowhere else.
responses! {
    /// Nothing but the verdict in the trace.
    None = "none" in none;
    /// The staged response of the original Eifel algorithm (Ludwig and Katz 2000).
    Staged = "staged" in staged;
    /// RFC 4015: restore, without a burst, and adapt the timer.
    Rfc4015 = "rfc4015" in rfc4015;
    /// Window and threshold not smaller than they were (Linux).
    Undo = "undo" in undo;
    /// Threshold and window as they were ("Responding", option 1).
    Restore1 = "restore-1" in restore_1;
    /// Both half of the old window ("Responding", option 2).
    Restore2 = "restore-2" in restore_2;
    /// Threshold half of the old window, slow start from one segment ("Responding", option 3).
    Restore3 = "restore-3" in restore_3;
    /// Both the old window ("Responding", option 4).
    Restore4 = "restore-4" in restore_4;
}
