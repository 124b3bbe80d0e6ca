//! Responses to a spurious timeout: restored congestion state, RTO adaptation.
//!
//! A response restores congestion state and adapts the retransmission timer. The sender itself continues with
//! the next unsent segment and applies `rto.adapt`.
//!
//! A new response is a file that implements [`SpuriousResponse`] and a line in the list below.

use super::cc::Window;
use super::config::Config;
use super::spurious::Episode;
use crate::recovery::digest::AckDigest;
use crate::recovery::rto::RtoTimer;
use base::Span;

/// Input and output of a response.
pub struct ResponseContext<'a> {
    /// The timeout or fast retransmit judged.
    pub episode: &'a Episode,
    /// The ACK that revealed the spurious retransmission.
    pub ack: &'a AckDigest,
    /// Late verdict, from ACKs of retransmissions (LATE_SPUR_TO): few data may be outstanding.
    pub late: bool,
    /// Congestion state after the timeout or fast retransmit and the time since.
    pub window: &'a mut Window,
    /// Retransmission timer.
    pub rto: &'a mut RtoTimer,
    /// Bytes outstanding after the ACK.
    pub flight: u64,
}

/// A response, with its state between episodes.
pub trait SpuriousResponse: Sized {
    /// Creates the response from the configuration; `peer` is the assumed peer's window, bytes.
    fn new(config: &Config, peer: u64) -> Self;
    /// Responds to a spurious verdict. True if cwnd already accounts for this ACK, so that the ACK must not
    /// open it again.
    fn on_spurious(&mut self, context: ResponseContext<'_>) -> bool;
    /// The timeout was genuine.
    fn on_genuine(&mut self) {}
    /// A window of data was acknowledged without a timeout.
    fn on_quiet_window(&mut self) {}
    /// The ACK up to `_ack` gave an RTT sample, which the timer has already used.
    fn on_sample(&mut self, _ack: u64, _rtt: Span, _rto: &mut RtoTimer) {}
}

macro_rules! responses {
    ($($(#[$doc:meta])+ $name:ident = $word:literal in $module:ident;)+) => {
        $(pub mod $module;)+

        base::named! {
            /// Response to a spurious timeout.
            pub enum Response { $($(#[$doc])+ $name = $word),+ }
        }

        /// The available responses.
        #[derive(Clone, Debug)]
        pub enum Responder { $($(#[$doc])+ $name($module::$name)),+ }

        impl Responder {
            /// The response that the configuration names.
            pub fn new(config: &Config, peer: u64) -> Self {
                match config.response { $(Response::$name => Responder::$name(SpuriousResponse::new(config, peer))),+ }
            }
            /// Responds to a spurious verdict; see [`SpuriousResponse::on_spurious`].
            pub fn on_spurious(&mut self, context: ResponseContext<'_>) -> bool {
                match self { $(Responder::$name(r) => r.on_spurious(context)),+ }
            }
            /// The timeout was genuine.
            pub fn on_genuine(&mut self) {
                match self { $(Responder::$name(r) => r.on_genuine()),+ }
            }
            /// A window of data was acknowledged without a timeout.
            pub fn on_quiet_window(&mut self) {
                match self { $(Responder::$name(r) => r.on_quiet_window()),+ }
            }
            /// An RTT sample was taken; see [`SpuriousResponse::on_sample`].
            pub fn on_sample(&mut self, ack: u64, rtt: Span, rto: &mut RtoTimer) {
                match self { $(Responder::$name(r) => r.on_sample(ack, rtt, rto)),+ }
            }
        }
    };
}

// The only list of responses: word, type and file of each.
responses! {
    /// No response.
    None = "none" in none;
    /// The staged response of the original Eifel algorithm (Ludwig and Katz 2000).
    Staged = "staged" in staged;
    /// Eifel response (RFC 4015): restoration without a burst, and an adapted timer.
    Rfc4015 = "rfc4015" in rfc4015;
    /// cwnd and ssthresh at least as large as before (Linux).
    Undo = "undo" in undo;
    /// Full restoration of cwnd and ssthresh ("Responding", option 1).
    Restore1 = "restore-1" in restore_1;
    /// cwnd and ssthresh half of the old window ("Responding", option 2).
    Restore2 = "restore-2" in restore_2;
    /// ssthresh half of the old window, slow start from one segment ("Responding", option 3).
    Restore3 = "restore-3" in restore_3;
    /// cwnd and ssthresh the old window ("Responding", option 4).
    Restore4 = "restore-4" in restore_4;
}
