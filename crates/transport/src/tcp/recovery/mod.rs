//! Loss recovery strategies: retransmission and end of recovery.
//!
//! One file a strategy; each is told of the same facts and acts through the few actions of the send variables
//! ([`Tcb`]). It sees neither the detector of spurious timeouts nor the response.
//!
//! A new strategy is a file with a state that implements [`Rules`], its `mod` line, and a line in the
//! list `strategies!` below: the word in scenario files, its sentence, its state. The list makes the
//! [`Recovery`] words, the [`Strategy`] sum and the calls; nothing is looked up while segments flow.

pub mod fack;
pub mod fack_ns2;
pub mod newreno;
pub mod newreno_sack;
pub mod prr;
pub mod rack;
mod rampdown;
pub mod reno;
pub mod rfc3517;
pub mod rfc6675;
pub mod sack;
mod state;
pub mod tahoe;
pub mod tail_probe;

use super::config::Config;
use super::sender::{Tcb, Timer};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::recovery::sent::Sent;
pub use state::{Phase, RecoveryState};

/// A strategy: its own state, with the send variables and the way out for segments handed in.
trait Rules: Default {
    /// It cannot work without selective acknowledgements; without them NewReno takes its place.
    const NEEDS_SACK: bool = false;
    /// It needs the record of transmissions ([`crate::recovery::sent`]).
    const KEEPS_RECORD: bool = false;
    /// Going back after a timeout, it passes over what the receiver has reported.
    const SKIPS_REPORTED: bool = false;
    /// Reports that came before a timeout are believed after it.
    const KEEPS_REPORTS: bool = false;
    /// It forgets all reports when new data are acknowledged, so that a later report may look like news and be none.
    const FORGETS_REPORTS: bool = false;
    /// After a timeout it sends again from the oldest byte on; otherwise it knows itself what is lost.
    const GOES_BACK: bool = true;
    /// It stays in recovery on a partial acknowledgement.
    const REPAIRS_PARTIALLY: bool = true;

    /// An acknowledgement came; the send variables are as before it, but for round-trip times, a possible response to a
    /// spurious timeout, and the scoreboard. Sends what it lets out.
    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest);
    /// The timer expired: whatever was going on is over.
    fn on_timeout(&mut self, recovery: &mut RecoveryState) {
        *self = Self::default();
        recovery.end();
    }
    /// The timer expired and the window is closed: resends.
    fn resend(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) {
        tcb.go_back_after_timeout(io);
    }
    /// The last timeout was spurious; transmission goes on with the next unsent segment.
    fn on_spurious(&mut self, _tcb: &mut Tcb) {}
    /// One of its timers expired.
    fn on_timer(&mut self, _tcb: &mut Tcb, _io: &mut Io<'_>, _timer: Timer) {}
    /// What it believes to be in the network, bytes, if it keeps such a count.
    fn pipe(&self, _tcb: &Tcb) -> Option<u64> {
        None
    }
}

macro_rules! strategies {
    ($($(#[$doc:meta])+ $variant:ident = $word:literal $(| $alias:literal)* => $state:ty;)+) => {
        base::named! {
            /// Loss recovery: what is resent on duplicate acknowledgements, and when it is over.
            pub enum Recovery { $($(#[$doc])+ $variant = $word $(| $alias)*),+ }
        }

        impl Recovery {
            /// Whether it needs selective acknowledgements.
            pub fn needs_sack(self) -> bool {
                match self { $(Recovery::$variant => <$state>::NEEDS_SACK),+ }
            }

            /// Whether a report that looks like news may be an old one.
            pub fn forgets_reports(self) -> bool {
                match self { $(Recovery::$variant => <$state>::FORGETS_REPORTS),+ }
            }

            /// Whether it needs the record of transmissions.
            pub fn keeps_record(self) -> bool {
                match self { $(Recovery::$variant => <$state>::KEEPS_RECORD),+ }
            }
        }

        /// The state of a recovery strategy.
        #[derive(Clone, Debug)]
        pub enum Strategy { $($(#[$doc])+ $variant($state)),+ }

        impl Strategy {
            fn named(recovery: Recovery) -> Self {
                match recovery { $(Recovery::$variant => Strategy::$variant(Default::default())),+ }
            }

            /// Whether it passes over what is reported when it goes back after a timeout.
            pub fn skips_reported(&self) -> bool {
                match self { $(Strategy::$variant(_) => <$state>::SKIPS_REPORTED),+ }
            }

            /// Whether it believes after a timeout what was reported before.
            pub fn keeps_reports(&self) -> bool {
                match self { $(Strategy::$variant(_) => <$state>::KEEPS_REPORTS),+ }
            }

            /// Whether it sends again from the oldest byte on after a timeout.
            pub fn goes_back(&self) -> bool {
                match self { $(Strategy::$variant(_) => <$state>::GOES_BACK),+ }
            }

            /// Whether it stays in recovery on a partial acknowledgement.
            pub fn repairs_partially(&self) -> bool {
                match self { $(Strategy::$variant(_) => <$state>::REPAIRS_PARTIALLY),+ }
            }

            /// An acknowledgement came: resends, and sends what it lets out.
            pub fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
                match self { $(Strategy::$variant(state) => state.on_ack(tcb, io, ack)),+ }
            }

            /// The timer expired: whatever was going on is over.
            pub fn on_timeout(&mut self, recovery: &mut RecoveryState) {
                match self { $(Strategy::$variant(state) => state.on_timeout(recovery)),+ }
            }

            /// The timer expired and the window is closed: resends.
            pub fn resend(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) {
                match self { $(Strategy::$variant(state) => state.resend(tcb, io)),+ }
            }

            /// The last timeout was spurious.
            pub fn on_spurious(&mut self, tcb: &mut Tcb) {
                match self { $(Strategy::$variant(state) => state.on_spurious(tcb)),+ }
            }

            /// One of its timers expired.
            pub fn on_timer(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, timer: Timer) {
                match self { $(Strategy::$variant(state) => state.on_timer(tcb, io, timer)),+ }
            }

            /// What the strategy believes to be in the network, bytes, if it keeps such a count.
            pub fn pipe(&self, tcb: &Tcb) -> Option<u64> {
                match self { $(Strategy::$variant(state) => state.pipe(tcb)),+ }
            }
        }
    };
}

strategies! {
    /// Fast retransmit, then slow start (Jacobson 1988).
    Tahoe = "tahoe" => tahoe::Tahoe;
    /// Fast recovery that ends with the first new acknowledgement (RFC 5681 section 3.2).
    Reno = "reno" => reno::Reno;
    /// Stays in recovery on partial acknowledgements (RFC 6582).
    NewReno = "newreno" => newreno::NewReno;
    /// As `sack`, with a retransmission on every partial acknowledgement. Without SACK: `newreno`.
    NewRenoSack = "newreno-sack" => newreno_sack::NewRenoSack;
    /// The pipe-based SACK sender of the simulators of 2001 (Fall and Floyd 1996). Without SACK: `newreno`.
    Sack = "sack" | "reno-sack" => sack::SackPipe;
    /// Conservative SACK recovery as first written (RFC 3517). Without SACK: `newreno`.
    Rfc3517 = "rfc3517" => rfc3517::Rfc3517;
    /// Conservative SACK recovery (RFC 6675). Without SACK: `newreno`.
    Rfc6675 = "rfc6675" => rfc6675::Rfc6675;
    /// What lies below the highest report has left the network (Mathis and Mahdavi 1996). Without SACK: `newreno`.
    Fack = "fack" => fack::Fack;
    /// FACK as the simulators of 2001 had it: one segment and slow start when recovery begins. Without SACK: `newreno`.
    FackNs2 = "fack-ns2" => Box<fack_ns2::FackNs2>;
    /// Lost is what was sent well before something that arrived (RFC 8985). Without SACK: `newreno`.
    Rack = "rack" => Box<rack::Rack>;
}

impl Strategy {
    /// The one that the configuration names.
    //= RFC 6675 section 1: without SACK, NewReno
    pub fn new(config: &Config) -> Self {
        let able = config.uses_sack() || !config.recovery.needs_sack();
        Strategy::named(if able { config.recovery } else { Recovery::NewReno })
    }

    /// The record of transmissions that it needs, if anybody needs one.
    pub fn record(&self) -> Sent {
        if matches!(self, Strategy::Rack(_)) { Sent::ordered() } else { Sent::default() }
    }
}
