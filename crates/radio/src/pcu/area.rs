//! Routing area update of a mobile that uses a real PCU: GMM messages in LLC frames between mobile and SGSN (3GPP TS
//! 24.008 section 4.7.5, 23.060 section 6.9.1.2).
//!
//! The mobile queues its packets until it receives ROUTING AREA UPDATE ACCEPT; the SGSN queues downlink packets until it
//! receives COMPLETE. The mobile repeats an unanswered request (T3330), the SGSN an unanswered ACCEPT (T3350). Delays of
//! the core network are drawn at random; delays of the radio interface result from the PCU. The TLLI does not change.

use super::phone::Phone;
use crate::mobility::{Change, Extent};
use crate::parameters::Id;
use crate::tdma::{self, Tick};
use crate::wire::gb::{self, Mobile};
use crate::wire::gmm::{self, Command, Report};
use crate::wire::{llc, pcuif};
use base::{Span, Time};

/// Maximum number of transmissions of ACCEPT without COMPLETE (24.008 section 4.7.5.1.6).
const ACCEPTS: u8 = 5;

/// Whether a cell change includes a change of routing area.
pub(super) fn is_area(change: &Change) -> bool {
    matches!(change.extent, Extent::RoutingArea | Extent::InterSgsn)
}

/// A routing area update in progress at the SGSN.
pub(super) struct Accepting {
    /// Time of the next ACCEPT; [`Time::NEVER`] until the request arrives.
    at: Time,
    /// Time from request to the first ACCEPT.
    takes: Span,
    /// Time from COMPLETE to the first downlink packet.
    resume: Span,
    /// Number of transmissions of ACCEPT left.
    left: u8,
}

impl Phone {
    fn signal(&mut self, down: bool, message: &[u8]) -> Vec<u8> {
        self.signals += 1;
        gmm::framed(down, gmm::SAPI, self.signals, message)
    }

    pub(super) fn identity(&self) -> Mobile {
        let egprs = self.egprs.then_some(self.class);
        Mobile { tlli: self.tlli, digits: self.me, class: self.class, egprs }
    }

    /// The mobile sends a ROUTING AREA UPDATE REQUEST.
    pub(super) fn ask_for_update(&mut self, now: Tick) {
        let request = gmm::area_update_request(&self.identity(), gmm::AREA);
        let frame = self.signal(false, &request);
        self.uplink.push(frame);
        self.update = Some(now);
    }

    /// Repeats the request if T3330 has expired.
    pub(super) fn repeat_update(&mut self, now: Tick) {
        let late = |then: Tick| tdma::BLOCK.times(u64::from(now - then)) >= Id::T3330.span();
        if self.update.is_some_and(late) {
            self.ask_for_update(now);
        }
    }

    /// Handles a frame received by the mobile: on ACCEPT the mobile sends COMPLETE and its queued packets.
    pub(super) fn on_command(&mut self, frame: &[u8]) {
        let read = llc::read(frame).filter(|read| read.sapi == gmm::SAPI);
        let Some(Command::AreaUpdated(_)) = read.and_then(|read| gmm::read(read.information)) else { return };
        let frame = self.signal(false, &gmm::area_update_complete());
        self.uplink.push(frame);
        self.update = None;
        self.uplink.resume();
    }

    /// The SGSN has learned of the cell change and waits for the routing area update request.
    pub(super) fn expect_request(&mut self, change: &Change) {
        let (takes, resume) = (change.updated.since(change.known), change.resumed.since(change.updated));
        self.accepting = Some(Accepting { at: Time::NEVER, takes, resume, left: ACCEPTS });
        self.resumes = Time::NEVER;
    }

    /// Handles a frame of the mobile at the SGSN: request or COMPLETE.
    pub(super) fn on_signalling(&mut self, frame: &[u8], now: Time) {
        let read = llc::read(frame).filter(|read| read.sapi == gmm::SAPI);
        let report = read.and_then(|read| gmm::read_up(read.information));
        if self.accepting.is_none() && report == Some(Report::AreaUpdateRequest) {
            let (takes, resume) = (Span::ZERO, Span::ZERO);
            self.accepting = Some(Accepting { at: Time::NEVER, takes, resume, left: ACCEPTS });
        }
        let Some(accepting) = self.accepting.as_mut() else { return };
        match report {
            // A repeated request is answered immediately once an ACCEPT was sent.
            Some(Report::AreaUpdateRequest) if accepting.left < ACCEPTS => accepting.at = now,
            Some(Report::AreaUpdateRequest) => accepting.at = accepting.at.min(now + accepting.takes),
            Some(Report::AreaUpdateComplete) => {
                self.resumes = now + accepting.resume;
                self.accepting = None;
            }
            None => {}
        }
    }

    /// Datagram with ACCEPT, if it is due by `now`, and the time of the next ACCEPT.
    pub(super) fn accept(&mut self, now: Time) -> (Option<Vec<u8>>, Option<Time>) {
        let Some(accepting) = self.accepting.as_mut() else { return (None, None) };
        if accepting.at > now {
            return (None, Some(accepting.at));
        }
        if accepting.left == 0 {
            (self.resumes, self.accepting) = (now, None);
            return (None, None);
        }
        (accepting.left, accepting.at) = (accepting.left - 1, now + Id::T3350.span());
        let next = accepting.at;
        let message = gmm::area_update_accept(gmm::AREA, self.tlli);
        let frame = self.signal(true, &message);
        (Some(gb::down_known(pcuif::BVCI, &self.identity(), None, &frame)), Some(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::config::UserConfig;
    use crate::mobility::{Mobility, MobilityConfig};
    use base::packet::Packet;
    use base::rng::Seed;

    const SEED: Seed = Seed { seed: 1, repetition: 0 };

    fn phone() -> Phone {
        Phone::new(0, &UserConfig::new("phone"), SEED)
    }

    /// GP-29: T3330 repeats the request; packets wait until ACCEPT, and the mobile sends COMPLETE before them.
    #[test]
    fn gp_29_a_mobile_repeats_its_request_and_holds_its_packets() {
        let mut phone = phone();
        let (_, frames) = phone.stores[1].take(Packet { id: 1, size: 400, ..Packet::NONE });
        let octets = frames[0].len() as u16;
        frames.into_iter().for_each(|frame| phone.uplink.push(frame));
        phone.uplink.hold();
        assert_eq!(phone.uplink.wants(), None);
        phone.ask_for_update(0);
        let request = phone.uplink.wants().expect("a request");
        assert!(request < 60, "{request}");
        phone.repeat_update(749);
        assert_eq!((phone.signals, phone.uplink.wants()), (1, Some(request)));
        phone.repeat_update(750);
        assert_eq!((phone.signals, phone.uplink.wants()), (2, Some(2 * request)));
        let accept = gmm::framed(true, gmm::SAPI, 0, &gmm::area_update_accept(gmm::AREA, 7));
        phone.on_command(&accept);
        let complete = phone.uplink.wants().unwrap() - 2 * request - octets;
        assert_eq!((complete, phone.update), (2 + 6, None));
        phone.repeat_update(5_000);
        assert_eq!(phone.signals, 3);
    }

    /// GP-29: the SGSN answers after its delay, sends ACCEPT every 6 s up to five times without COMPLETE, and queues
    /// downlink packets meanwhile.
    #[test]
    fn gp_29_an_sgsn_repeats_its_accept() {
        let mut phone = phone();
        let config = MobilityConfig { extents: [0.0, 0.0, 1.0, 0.0], ..MobilityConfig::default() };
        let change = Mobility::new(&config, "phone", SEED).change(Time::ZERO, None);
        let takes = change.updated.since(change.known);
        assert!(is_area(&change) && takes > Span::from_millis(799));
        phone.expect_request(&change);
        let request =
            gmm::framed(false, gmm::SAPI, 0, &gmm::area_update_request(&phone.identity(), gmm::AREA));
        let mut now = Time::from_nanos(1_000_000_000);
        assert_eq!(phone.accept(now).0, None, "no request yet");
        phone.on_signalling(&request, now);
        now += takes;
        for n in 0..5 {
            assert!(phone.accept(now).0.is_some_and(|d| d[4] == 0), "ACCEPT {n} in DL-UNITDATA");
            assert_eq!(phone.accept(now + Span::from_millis(5_999)).0, None);
            assert!(phone.resumes.is_never());
            now += Span::from_secs(6);
        }
        assert_eq!((phone.accept(now), phone.resumes), ((None, None), now), "given up");
        phone.expect_request(&change);
        phone.on_signalling(&request, now);
        let complete = gmm::framed(false, gmm::SAPI, 1, &gmm::area_update_complete());
        phone.on_signalling(&complete, now);
        assert_eq!(phone.resumes, now + change.resumed.since(change.updated));
    }
}
