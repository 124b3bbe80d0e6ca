//! What is resent when acknowledgements repeat, and when is that over? One file a strategy; each is
//! told of the same facts and acts through the sender's few actions.

pub mod newreno;
pub mod reno;
pub mod rfc6675;
pub mod sack;
pub mod tahoe;

use super::config::{Config, Recovery};
use super::sender::Sender;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;

/// The state of a recovery strategy.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// Fast retransmit and slow start.
    Tahoe(tahoe::Tahoe),
    /// Fast recovery until the first new acknowledgement.
    Reno(reno::Reno),
    /// Fast recovery until everything is repaired.
    NewReno(newreno::NewReno),
    /// Pipe-based SACK of the simulators.
    Sack(sack::SackPipe),
    /// Conservative SACK.
    Rfc6675(rfc6675::Rfc6675),
}

impl Strategy {
    /// The one that the configuration names. Without SACK the standard falls back to NewReno.
    pub fn new(config: &Config) -> Self {
        match config.recovery {
            Recovery::Tahoe => Strategy::Tahoe(Default::default()),
            Recovery::Reno => Strategy::Reno(Default::default()),
            Recovery::NewReno => Strategy::NewReno(Default::default()),
            Recovery::Sack if config.uses_sack() => Strategy::Sack(Default::default()),
            Recovery::Rfc6675 if config.uses_sack() => Strategy::Rfc6675(Default::default()),
            Recovery::Sack | Recovery::Rfc6675 => Strategy::NewReno(Default::default()),
        }
    }

    /// An acknowledgement came; the sender's state is as before it, but for round-trip times, a
    /// possible response to a spurious timeout, and the scoreboard. Sends what it lets out.
    pub fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        match &sender.strategy {
            Strategy::Tahoe(_) => tahoe::on_ack(sender, io, ack),
            Strategy::Reno(_) => reno::on_ack(sender, io, ack),
            Strategy::NewReno(_) => newreno::on_ack(sender, io, ack),
            Strategy::Sack(_) => sack::on_ack(sender, io, ack),
            Strategy::Rfc6675(_) => rfc6675::on_ack(sender, io, ack),
        }
    }

    /// The timer expired: whatever was going on is over.
    pub fn on_timeout(&mut self) {
        match self {
            // Its duplicates go on counting, which shows only where the bug fix is off.
            Strategy::Tahoe(_) => {}
            Strategy::Reno(s) => *s = Default::default(),
            Strategy::NewReno(s) => *s = Default::default(),
            Strategy::Sack(s) => s.on_timeout(),
            Strategy::Rfc6675(s) => *s = Default::default(),
        }
    }

    /// True while lost segments are being repaired without a timeout.
    pub fn recovering(&self) -> bool {
        match self {
            Strategy::Tahoe(_) => false,
            Strategy::Reno(s) => s.recovering,
            Strategy::NewReno(s) => s.recovering,
            Strategy::Sack(s) => s.recovering,
            Strategy::Rfc6675(s) => s.point.is_some(),
        }
    }

    /// True while recovering with a strategy that stays in recovery on a partial acknowledgement.
    pub fn repairs_partially(&self) -> bool {
        !matches!(self, Strategy::Reno(_)) && self.recovering()
    }

    /// By how many bytes duplicates inflate the window.
    pub fn inflation(&self) -> u64 {
        match self {
            Strategy::Reno(s) => s.inflation,
            Strategy::NewReno(s) => s.inflation,
            Strategy::Tahoe(_) | Strategy::Sack(_) | Strategy::Rfc6675(_) => 0,
        }
    }

    /// What the strategy believes to be in the network, bytes, if it keeps such a count.
    pub fn pipe(&self, sender: &Sender) -> Option<u64> {
        match self {
            Strategy::Sack(s) => s.recovering.then(|| s.pipe.max(0) as u64 * u64::from(sender.mss())),
            Strategy::Rfc6675(s) => Some(s.pipe(sender)),
            _ => None,
        }
    }
}
