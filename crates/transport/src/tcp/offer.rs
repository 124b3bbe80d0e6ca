//! Option negotiation with a peer that is not a model.
//!
//! Two models take their options from the scenario. With a real peer, its SYN decides: options that it does
//! not offer are turned off, as if they had never been configured.

use super::config::{Config, Sack};
use super::connection::Connection;
use super::receiver::Receiver;
use super::sender::Sender;
use std::sync::Arc;

/// Options offered in the peer's SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// MSS option, bytes, options counted (RFC 6691); none: no MSS option.
    pub mss: Option<u16>,
    /// SACK-permitted (RFC 2018 section 2).
    pub sack: bool,
    /// Timestamps (RFC 7323 section 3.2).
    pub timestamps: bool,
    /// Window scale (RFC 7323 section 2.2).
    pub scale: bool,
}

/// Default MSS without an MSS option (RFC 9293 section 3.7.1), IPv4.
const UNSAID_MSS: u16 = 536;
/// Smallest segment size, bytes.
const LEAST_MSS: u32 = 64;

impl Config {
    /// Options that a SYN with this configuration offers.
    pub fn offer(&self) -> Offer {
        //= RFC 6691 section 2: the MSS option does not account for TCP options
        let options = if self.timestamps { self.wire.timestamps } else { 0 };
        let mss = u16::try_from(self.mss + options).unwrap_or(u16::MAX);
        let scale = self.window_scale;
        Offer { mss: Some(mss), sack: self.uses_sack(), timestamps: self.timestamps, scale }
    }

    /// This configuration limited to the options in the peer's offer.
    #[must_use]
    pub fn agreed(&self, offer: Offer) -> Config {
        let timestamps = self.timestamps && offer.timestamps;
        //= RFC 7323 section 2.2: both sides must send the option, or neither scales
        let window_scale = self.window_scale && offer.scale;
        //= RFC 2018 section 2: only an end that has received SACK-permitted may send SACK
        let sack = if offer.sack { self.sack } else { Sack::Off };
        //= RFC 6691 section 2: options are taken out of the peer's MSS
        let options = if timestamps { self.wire.timestamps } else { 0 };
        let most = u32::from(offer.mss.unwrap_or(UNSAID_MSS)).saturating_sub(options).max(LEAST_MSS);
        Config { mss: self.mss.min(most), sack, timestamps, window_scale, ..*self }
    }
}

impl Connection {
    /// Applies the offer of the peer's SYN before the SYN is processed. Later SYNs change nothing.
    pub fn agree(&mut self, offer: Offer) {
        let agreed = self.config().agreed(offer);
        if self.has_heard_peer() || agreed == *self.config() {
            return;
        }
        let agreed = Arc::new(agreed);
        self.sender.agree(agreed.clone());
        self.receiver.agree(&agreed);
        self.use_config(agreed);
    }
}

impl Sender {
    /// Restarts with a changed configuration; only the SYN has been sent.
    fn agree(&mut self, config: Arc<Config>) {
        let fresh = Sender::new(config);
        self.start_anew(fresh);
    }
}

impl Receiver {
    /// Restarts with a changed configuration; nothing has been received.
    fn agree(&mut self, config: &Config) {
        let fresh = Receiver::new(config);
        self.start_anew(fresh);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Offer = Offer { mss: Some(1460), sack: true, timestamps: true, scale: true };

    /// TP-02, RFC 6691: twelve bytes of a segment of 1460 are the timestamps'.
    #[test]
    fn what_both_want_is_used() {
        let config = Config { timestamps: true, sack: Sack::On, ..Config::default() };
        let agreed = config.agreed(ALL);
        assert_eq!(agreed, Config { mss: 1448, ..config });
        assert_eq!(agreed.agreed(ALL), agreed);
        let small = Config { mss: 512, ..config };
        assert_eq!(small.agreed(ALL), small);
    }

    /// TB-30: the smaller of the two sizes holds at both ends, and what both offer is used.
    #[test]
    fn two_models_agree() {
        let big = Config { mss: 1448, sack: Sack::On, ..Config::default() };
        let small = Config { mss: 536, timestamps: false, ..big };
        let (a, b) = (big.agreed(small.offer()), small.agreed(big.offer()));
        assert_eq!((a.mss, b.mss, a.timestamps, b.timestamps), (536, 536, false, false));
        assert_eq!((a.agreed(b.offer()), big.agreed(big.offer())), (a, big));
    }

    #[test]
    fn what_one_does_not_want_is_not() {
        let config = Config { timestamps: true, sack: Sack::On, ..Config::default() };
        let none = Offer { mss: None, sack: false, timestamps: false, scale: false };
        let agreed = config.agreed(none);
        assert_eq!((agreed.mss, agreed.timestamps, agreed.window_scale), (536, false, false));
        assert!(!agreed.uses_sack() && !agreed.scales_windows());
        // An option that is off stays off for any offer.
        let plain = Config { timestamps: false, sack: Sack::Off, window_scale: false, ..Config::default() };
        assert_eq!(plain.agreed(ALL), plain);
        assert_eq!(config.agreed(Offer { mss: Some(0), ..ALL }).mss, LEAST_MSS);
    }
}
