//! Loss recovery strategies: retransmission and end of recovery.
//!
//! One file a strategy; each is told of the same facts and acts through the sender's few actions.
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
pub mod tahoe;
pub mod tail_probe;

use super::config::Config;
use super::sender::{Sender, Timer};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::recovery::sent::Sent;

/// What a strategy is. Its state lies in the sender, so what acts takes the sender whole.
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

    /// An acknowledgement came.
    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest);
    /// The timer expired: whatever was going on is over.
    fn on_timeout(&mut self) {
        *self = Self::default();
    }
    /// The timer expired and the window is closed: resends.
    fn resend(sender: &mut Sender, io: &mut Io<'_>) {
        sender.go_back_after_timeout(io);
    }
    /// The last timeout was spurious; transmission goes on with the next unsent segment.
    fn on_spurious(_sender: &mut Sender) {}
    /// New data were sent.
    fn on_new_data(_sender: &mut Sender, _io: &mut Io<'_>) {}
    /// One of its timers expired.
    fn on_timer(_sender: &mut Sender, _io: &mut Io<'_>, _timer: Timer) {}
    /// Lost segments are being repaired without a timeout.
    fn recovering(&self) -> bool;
    /// It stays in recovery on a partial acknowledgement.
    fn repairs_partially(&self) -> bool {
        self.recovering()
    }
    /// By how many bytes duplicates inflate the window.
    fn inflation(&self) -> u64 {
        0
    }
    /// How many bytes beyond the oldest one do not count against the window.
    fn beyond(&self) -> u64 {
        self.inflation()
    }
    /// What it believes to be in the network, bytes, if it keeps such a count.
    fn pipe(&self, _sender: &Sender) -> Option<u64> {
        None
    }
}

/// A state that lies in the sum.
trait Held {
    /// The state of the strategy in use, which must be this one.
    fn of(strategy: &mut Strategy) -> &mut Self;
}

/// The state of the strategy in use, which must be of that kind.
fn state<S: Held>(sender: &mut Sender) -> &mut S {
    S::of(&mut sender.strategy)
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

        $(impl Held for $state {
            fn of(strategy: &mut Strategy) -> &mut Self {
                match strategy {
                    Strategy::$variant(state) => state,
                    _ => unreachable!("asked by another strategy"),
                }
            }
        })+

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

            /// An acknowledgement came; the sender's state is as before it, but for round-trip times, a
            /// possible response to a spurious timeout, and the scoreboard. Sends what it lets out.
            pub fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
                match &sender.strategy { $(Strategy::$variant(_) => <$state>::on_ack(sender, io, ack)),+ }
            }

            /// The timer expired: whatever was going on is over.
            pub fn on_timeout(&mut self) {
                match self { $(Strategy::$variant(state) => state.on_timeout()),+ }
            }

            /// The timer expired and the window is closed: resends.
            pub fn resend(sender: &mut Sender, io: &mut Io<'_>) {
                match &sender.strategy { $(Strategy::$variant(_) => <$state>::resend(sender, io)),+ }
            }

            /// The last timeout was spurious.
            pub fn on_spurious(sender: &mut Sender) {
                match &sender.strategy { $(Strategy::$variant(_) => <$state>::on_spurious(sender)),+ }
            }

            /// New data were sent. Called only where the configuration says that somebody wants to know.
            pub fn on_new_data(sender: &mut Sender, io: &mut Io<'_>) {
                match &sender.strategy { $(Strategy::$variant(_) => <$state>::on_new_data(sender, io)),+ }
            }

            /// One of its timers expired.
            pub fn on_timer(sender: &mut Sender, io: &mut Io<'_>, timer: Timer) {
                match &sender.strategy {
                    $(Strategy::$variant(_) => <$state>::on_timer(sender, io, timer)),+
                }
            }

            /// True while lost segments are being repaired without a timeout.
            pub fn recovering(&self) -> bool {
                match self { $(Strategy::$variant(state) => state.recovering()),+ }
            }

            /// True while recovering with a strategy that stays in recovery on a partial acknowledgement.
            pub fn repairs_partially(&self) -> bool {
                match self { $(Strategy::$variant(state) => state.repairs_partially()),+ }
            }

            /// By how many bytes duplicates inflate the window.
            pub fn inflation(&self) -> u64 {
                match self { $(Strategy::$variant(state) => state.inflation()),+ }
            }

            /// How many bytes beyond the oldest one do not count against the window: what duplicates
            /// inflated, or what is known not to be in the network.
            pub fn beyond(&self) -> u64 {
                match self { $(Strategy::$variant(state) => state.beyond()),+ }
            }

            /// What the strategy believes to be in the network, bytes, if it keeps such a count.
            pub fn pipe(&self, sender: &Sender) -> Option<u64> {
                match self { $(Strategy::$variant(state) => state.pipe(sender)),+ }
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
