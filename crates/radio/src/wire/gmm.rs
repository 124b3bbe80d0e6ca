//! Messages of GPRS mobility and session management as octets: attach without ciphering, routing area update, activation
//! of a PDP context for IPv4 (3GPP TS 24.008 sections 9.4 and 9.5). UI frames of LLGMM (SAPI 1) carry the messages.

use super::gb::{Mobile, imsi, radio_access};
use super::llc;

/// SAPI of LLGMM.
pub const SAPI: u8 = 1;

/// Protocol discriminators of GPRS mobility management (GMM) and session management (SM). A mobile uses transaction
/// identifier 0.
const GMM: u8 = 0x08;
const SM: u8 = 0x0a;

/// Message types (24.008 tables 10.4 and 10.4a).
mod kind {
    pub(super) const ATTACH_REQUEST: u8 = 0x01;
    pub(super) const ATTACH_ACCEPT: u8 = 0x02;
    pub(super) const ATTACH_COMPLETE: u8 = 0x03;
    pub(super) const ATTACH_REJECT: u8 = 0x04;
    pub(super) const AREA_UPDATE_REQUEST: u8 = 0x08;
    pub(super) const AREA_UPDATE_ACCEPT: u8 = 0x09;
    pub(super) const AREA_UPDATE_COMPLETE: u8 = 0x0a;
    pub(super) const AREA_UPDATE_REJECT: u8 = 0x0b;
    pub(super) const IDENTITY_REQUEST: u8 = 0x15;
    pub(super) const IDENTITY_RESPONSE: u8 = 0x16;
    pub(super) const ACTIVATE_REQUEST: u8 = 0x41;
    pub(super) const ACTIVATE_ACCEPT: u8 = 0x42;
    pub(super) const ACTIVATE_REJECT: u8 = 0x43;
}

/// Routing area 001-01-1-0 of the cell with a real PCU ([`super::pcuif::info`]).
pub const AREA: [u8; 6] = [0x00, 0xf1, 0x10, 0x00, 0x01, 0x00];

/// ATTACH REQUEST: GPRS attach by IMSI, without a previous routing area.
pub fn attach_request(mobile: &Mobile) -> Vec<u8> {
    // MS network capability; attach type 1 without a key (7); DRX parameter.
    let mut out = vec![GMM, kind::ATTACH_REQUEST, 2, 0xe5, 0xe0, 0x71, 0x0a, 0x00];
    with_length(&mut out, &imsi(mobile));
    // Old routing area: deleted.
    out.extend([0x00, 0xf1, 0x10, 0xff, 0xfe, 0xff]);
    with_length(&mut out, &radio_access(mobile));
    out
}

/// IDENTITY RESPONSE: the IMSI for identity type 1, otherwise an IMEI whose digits are all 1.
pub fn identity_response(mobile: &Mobile, kind: u8) -> Vec<u8> {
    let mut out = vec![GMM, kind::IDENTITY_RESPONSE];
    let imei = [0x1a, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11];
    if kind == 1 {
        with_length(&mut out, &imsi(mobile))
    } else {
        with_length(&mut out, &imei)
    }
    out
}

/// ATTACH COMPLETE.
pub fn attach_complete() -> Vec<u8> {
    vec![GMM, kind::ATTACH_COMPLETE]
}

/// ROUTING AREA UPDATE REQUEST with the old routing area, without a ciphering key.
pub fn area_update_request(mobile: &Mobile, old: [u8; 6]) -> Vec<u8> {
    let mut out = vec![GMM, kind::AREA_UPDATE_REQUEST, 0x70];
    out.extend(old);
    with_length(&mut out, &radio_access(mobile));
    out
}

/// ROUTING AREA UPDATE ACCEPT: updated, with a periodic timer of 54 minutes, and a P-TMSI.
pub fn area_update_accept(area: [u8; 6], identity: u32) -> Vec<u8> {
    let mut out = vec![GMM, kind::AREA_UPDATE_ACCEPT, 0, 0x49];
    out.extend(area);
    out.extend([0x18, 5, 0xf4]);
    out.extend(identity.to_be_bytes());
    out
}

/// ROUTING AREA UPDATE COMPLETE.
pub fn area_update_complete() -> Vec<u8> {
    vec![GMM, kind::AREA_UPDATE_COMPLETE]
}

/// ACTIVATE PDP CONTEXT REQUEST: dynamic IPv4 address, access point name, subscribed QoS, NSAPI 5, LLC SAPI 3.
pub fn activate_request(access_point: &str) -> Vec<u8> {
    let mut out = vec![SM, kind::ACTIVATE_REQUEST, llc::NSAPI, llc::SAPI, 3, 0, 0, 0, 2, 0x01, 0x21];
    let label = access_point.as_bytes();
    out.extend([0x28, label.len() as u8 + 1, label.len() as u8]);
    out.extend(label);
    out
}

fn with_length(to: &mut Vec<u8>, value: &[u8]) {
    to.push(value.len() as u8);
    to.extend(value);
}

/// A parsed message of the SGSN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// IDENTITY REQUEST: identity type.
    Identity(u8),
    /// ATTACH ACCEPT: the allocated P-TMSI, if present.
    Attached(Option<u32>),
    /// ATTACH REJECT: GMM cause.
    AttachRejected(u8),
    /// ROUTING AREA UPDATE ACCEPT: the allocated P-TMSI, if present.
    AreaUpdated(Option<u32>),
    /// ROUTING AREA UPDATE REJECT: GMM cause.
    AreaUpdateRejected(u8),
    /// ACTIVATE PDP CONTEXT ACCEPT: the IPv4 address.
    Activated([u8; 4]),
    /// ACTIVATE PDP CONTEXT REJECT: SM cause.
    ActivationRejected(u8),
}

/// Reads a message of the SGSN; `None` for other messages.
pub fn read(message: &[u8]) -> Option<Command> {
    let [discriminator, kind, rest @ ..] = message else { return None };
    match (discriminator & 15, *kind) {
        (GMM, kind::IDENTITY_REQUEST) => Some(Command::Identity(rest.first()? & 7)),
        (GMM, kind::ATTACH_ACCEPT) => {
            // The optional elements follow result, timer, priorities and routing area.
            Some(Command::Attached(temporary(rest.get(9..)?)))
        }
        // The optional elements follow result, timer and routing area.
        (GMM, kind::AREA_UPDATE_ACCEPT) => Some(Command::AreaUpdated(temporary(rest.get(8..)?))),
        (GMM, kind::AREA_UPDATE_REJECT) => Some(Command::AreaUpdateRejected(*rest.first()?)),
        (GMM, kind::ATTACH_REJECT) => Some(Command::AttachRejected(*rest.first()?)),
        (SM, kind::ACTIVATE_ACCEPT) => {
            // The QoS with its length octet follows the LLC SAPI; the radio priority follows the QoS.
            let quality = usize::from(*rest.get(1)?);
            let address = optional(rest.get(3 + quality..)?, 0x2b)?;
            Some(Command::Activated(address.get(2..6)?.try_into().ok()?))
        }
        (SM, kind::ACTIVATE_REJECT) => Some(Command::ActivationRejected(*rest.first()?)),
        _ => None,
    }
}

/// A parsed routing area update message of a mobile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Report {
    /// ROUTING AREA UPDATE REQUEST.
    AreaUpdateRequest,
    /// ROUTING AREA UPDATE COMPLETE.
    AreaUpdateComplete,
}

/// Reads a routing area update message of a mobile; `None` for other messages.
pub fn read_up(message: &[u8]) -> Option<Report> {
    match message {
        [discriminator, kind::AREA_UPDATE_REQUEST, ..] if discriminator & 15 == GMM => {
            Some(Report::AreaUpdateRequest)
        }
        [discriminator, kind::AREA_UPDATE_COMPLETE, ..] if discriminator & 15 == GMM => {
            Some(Report::AreaUpdateComplete)
        }
        _ => None,
    }
}

/// P-TMSI in the optional elements (identifier 0x18).
fn temporary(elements: &[u8]) -> Option<u32> {
    let octets = optional(elements, 0x18)?.get(1..5)?.try_into().ok()?;
    Some(u32::from_be_bytes(octets))
}

/// Value of an optional element with a length octet. Skips elements of one octet, P-TMSI signature and timers of fixed
/// length.
fn optional(mut rest: &[u8], wanted: u8) -> Option<&[u8]> {
    loop {
        let (id, length) = (*rest.first()?, *rest.get(1)?);
        let (head, length) = match id {
            // P-TMSI signature; T3302 without length; cause.
            0x19 => (1, 3),
            0x17 | 0x25 => (1, 1),
            _ if id & 0x80 != 0 => (1, 0),
            _ => (2, usize::from(length)),
        };
        let value = rest.get(head..head + length)?;
        if id == wanted {
            return Some(value);
        }
        rest = rest.get(head + length..)?;
    }
}

/// Uplink UI frame of a SAPI with the information field `octets`; `number` is N(U).
pub fn frame(sapi: u8, number: u32, octets: &[u8]) -> Vec<u8> {
    framed(false, sapi, number, octets)
}

/// UI frame of a SAPI with the information field `octets`. UI frames are commands: C/R is 0 uplink and 1 downlink.
pub fn framed(down: bool, sapi: u8, number: u32, octets: &[u8]) -> Vec<u8> {
    let number = number % 512;
    let mut out =
        vec![u8::from(down) << 6 | sapi & 15, 0xc0 | (number >> 6) as u8, ((number & 63) << 2) as u8 | 1];
    out.extend_from_slice(octets);
    let check = llc::check(&out);
    out.extend(&check.to_le_bytes()[..3]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Messages of osmo-sgsn 1.9: the P-TMSI follows a timer, the IPv4 address follows a QoS of 14 octets.
    #[test]
    fn what_a_real_sgsn_answers_is_read() {
        let octets = |text: &str| -> Vec<u8> {
            (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
        };
        assert_eq!(read(&octets("081502")), Some(Command::Identity(2)));
        let accept = octets("0802012a4400f11000010117161805f4d17b76ce");
        assert_eq!(read(&accept), Some(Command::Attached(Some(0xd17b_76ce))));
        let context = octets("8a42030e23621f72993f3f1143ffff000000042b060121ac10de01");
        assert_eq!(read(&context), Some(Command::Activated([172, 16, 222, 1])));
        assert_eq!(read(&[8, 4, 7]), Some(Command::AttachRejected(7)));
    }

    #[test]
    fn requests_have_their_elements() {
        let mobile = Mobile { tlli: 0, digits: 1, class: 4, egprs: None };
        let attach = attach_request(&mobile);
        assert_eq!(attach[8..17], [8, 0x09, 0x10, 0x10, 0x00, 0x00, 0x00, 0x00, 0x10]);
        assert_eq!(activate_request("internet")[9..14], [0x01, 0x21, 0x28, 9, 8]);
        let frame = frame(SAPI, 65, &attach);
        assert_eq!(frame[..3], [1, 0xc1, 5]);
        assert_eq!(llc::read(&frame).map(|f| (f.sapi, f.information.len())), Some((1, attach.len())));
    }

    #[test]
    fn an_update_of_the_routing_area_is_read_on_both_sides() {
        let mobile = Mobile { tlli: 0, digits: 1, class: 4, egprs: None };
        let request = area_update_request(&mobile, AREA);
        assert_eq!((request[2], &request[3..9]), (0x70, &AREA[..]));
        assert_eq!(read_up(&request), Some(Report::AreaUpdateRequest));
        assert_eq!(read_up(&area_update_complete()), Some(Report::AreaUpdateComplete));
        assert_eq!(read(&area_update_accept(AREA, 7)), Some(Command::AreaUpdated(Some(7))));
        assert_eq!(read(&[8, 11, 9]), Some(Command::AreaUpdateRejected(9)));
    }

    proptest! {
        #[test]
        fn any_octets_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = (read(&bytes), read_up(&bytes));
        }
    }
}
