//! Loss recovery strategies: retransmission and end of recovery.
//!
//! One file per strategy. Each receives the same ACK digest and acts through the methods of the send
//! variables ([`Tcb`]). A strategy sees neither the spurious-timeout detector nor the response.
//!
//! A new strategy is a file with a state that implements [`LossRecovery`], its `mod` line, and a line in the list
//! `strategies!` below: the word in scenario files, its sentence, its state. From the list come the
//! [`Recovery`] words, the [`Strategy`] enum and the dispatch.

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
use crate::recovery::sent::SendRecords;
pub use state::{Phase, RecoveryState};

/// A recovery strategy with its own state; the send variables and the output are passed in.
trait LossRecovery: Default {
    /// Requires SACK; without SACK, NewReno replaces it.
    const NEEDS_SACK: bool = false;
    /// Requires the record of transmissions ([`crate::recovery::sent`]).
    const KEEPS_RECORD: bool = false;
    /// Go-back-N after a timeout skips SACKed ranges.
    const SKIPS_REPORTED: bool = false;
    /// Keeps the scoreboard across a timeout.
    const KEEPS_REPORTS: bool = false;
    /// Clears the scoreboard when new data are acknowledged, so that a SACK block reported before may count as new.
    const FORGETS_REPORTS: bool = false;
    /// Resends from SND.UNA on after a timeout (go-back-N); otherwise the strategy marks losses itself.
    const GOES_BACK: bool = true;
    /// Stays in recovery on a partial ACK.
    const REPAIRS_PARTIALLY: bool = true;
    /// An ACK may change the strategy's state although no data are outstanding and no recovery is in progress.
    const HEARS_IDLE: bool = true;

    /// Processes an ACK and sends the segments that it permits. The send variables are those before the ACK, except
    /// RTT, a response to a spurious timeout, and the scoreboard.
    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest);
    /// Resets the state at a timeout.
    fn on_timeout(&mut self, recovery: &mut RecoveryState) {
        *self = Self::default();
        recovery.end();
    }
    /// Retransmits after a timeout; cwnd is already at the loss window.
    fn resend(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) {
        tcb.go_back_after_timeout(io);
    }
    /// The last timeout was spurious; transmission continues with the next unsent segment.
    fn on_spurious(&mut self, _tcb: &mut Tcb) {}
    /// A timer of the strategy expired.
    fn on_timer(&mut self, _tcb: &mut Tcb, _io: &mut Io<'_>, _timer: Timer) {}
    /// Estimate of the bytes in flight, if the strategy keeps one.
    fn pipe(&self, _tcb: &Tcb) -> Option<u64> {
        None
    }
}

macro_rules! strategies {
    ($($(#[$doc:meta])+ $variant:ident = $word:literal $(| $alias:literal)* => $state:ty;)+) => {
        base::named! {
            /// Loss recovery: retransmission on duplicate ACKs, and the end of recovery.
            pub enum Recovery { $($(#[$doc])+ $variant = $word $(| $alias)*),+ }
        }

        impl Recovery {
            /// Whether it requires SACK.
            pub fn needs_sack(self) -> bool {
                match self { $(Recovery::$variant => <$state>::NEEDS_SACK),+ }
            }

            /// Whether a SACK block reported before may count as new.
            pub fn forgets_reports(self) -> bool {
                match self { $(Recovery::$variant => <$state>::FORGETS_REPORTS),+ }
            }

            /// Whether it requires the record of transmissions.
            pub fn keeps_record(self) -> bool {
                match self { $(Recovery::$variant => <$state>::KEEPS_RECORD),+ }
            }
        }

        /// State of a recovery strategy.
        #[derive(Clone, Debug)]
        pub enum Strategy { $($(#[$doc])+ $variant($state)),+ }

        impl Strategy {
            fn named(recovery: Recovery) -> Self {
                match recovery { $(Recovery::$variant => Strategy::$variant(Default::default())),+ }
            }

            /// Whether go-back-N after a timeout skips SACKed ranges.
            pub fn skips_reported(&self) -> bool {
                match self { $(Strategy::$variant(_) => <$state>::SKIPS_REPORTED),+ }
            }

            /// Whether it keeps the scoreboard across a timeout.
            pub fn keeps_reports(&self) -> bool {
                match self { $(Strategy::$variant(_) => <$state>::KEEPS_REPORTS),+ }
            }

            /// Whether it resends from SND.UNA on after a timeout.
            pub fn goes_back(&self) -> bool {
                match self { $(Strategy::$variant(_) => <$state>::GOES_BACK),+ }
            }

            /// Whether an ACK may change the strategy's state although no data are outstanding.
            pub fn hears_idle(&self) -> bool {
                match self { $(Strategy::$variant(_) => <$state>::HEARS_IDLE),+ }
            }

            /// Whether it stays in recovery on a partial ACK.
            pub fn repairs_partially(&self) -> bool {
                match self { $(Strategy::$variant(_) => <$state>::REPAIRS_PARTIALLY),+ }
            }

            /// Processes an ACK: retransmits, and sends the segments that it permits.
            pub fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
                match self { $(Strategy::$variant(state) => state.on_ack(tcb, io, ack)),+ }
            }

            /// Resets the state at a timeout.
            pub fn on_timeout(&mut self, recovery: &mut RecoveryState) {
                match self { $(Strategy::$variant(state) => state.on_timeout(recovery)),+ }
            }

            /// Retransmits after a timeout; cwnd is already at the loss window.
            pub fn resend(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) {
                match self { $(Strategy::$variant(state) => state.resend(tcb, io)),+ }
            }

            /// The last timeout was spurious.
            pub fn on_spurious(&mut self, tcb: &mut Tcb) {
                match self { $(Strategy::$variant(state) => state.on_spurious(tcb)),+ }
            }

            /// A timer of the strategy expired.
            pub fn on_timer(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, timer: Timer) {
                match self { $(Strategy::$variant(state) => state.on_timer(tcb, io, timer)),+ }
            }

            /// Estimate of the bytes in flight, if the strategy keeps one.
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
    /// Pipe-counting SACK sender of the simulators of 2001 (Fall and Floyd 1996). Without SACK: `newreno`.
    Sack = "sack" | "reno-sack" => sack::SackPipe;
    /// Conservative SACK recovery in its first version (RFC 3517). Without SACK: `newreno`.
    Rfc3517 = "rfc3517" => rfc3517::Rfc3517;
    /// Conservative SACK recovery (RFC 6675). Without SACK: `newreno`.
    Rfc6675 = "rfc6675" => rfc6675::Rfc6675;
    /// Data below the highest SACKed byte have left the network (Mathis and Mahdavi 1996). Without SACK:
    /// `newreno`.
    Fack = "fack" => fack::Fack;
    /// FACK of the simulators of 2001: one segment and slow start when recovery begins. Without SACK:
    /// `newreno`.
    FackNs2 = "fack-ns2" => Box<fack_ns2::FackNs2>;
    /// Segments sent well before an arrived one are lost (RFC 8985). Without SACK: `newreno`.
    Rack = "rack" => Box<rack::Rack>;
}

impl Strategy {
    /// The strategy that the configuration names.
    //= RFC 6675 section 1: without SACK, NewReno
    pub fn new(config: &Config) -> Self {
        let able = config.uses_sack() || !config.recovery.needs_sack();
        Strategy::named(if able { config.recovery } else { Recovery::NewReno })
    }

    /// Empty record of transmissions, in the form that the strategy needs.
    pub fn record(&self) -> SendRecords {
        if matches!(self, Strategy::Rack(_)) { SendRecords::ordered() } else { SendRecords::default() }
    }
}
