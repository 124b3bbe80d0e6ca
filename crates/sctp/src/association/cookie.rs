//! State cookie (RFC 9260 section 5.1.3): authenticated content from which the passive end creates the
//! association; writer and reader.
//!
//! The passive end keeps no state before the cookie returns.

use crate::chunk::{Init, Opaque};
use base::Time;
use siphasher::sip::SipHasher24;
use std::hash::Hasher as _;

/// Length of a cookie, bytes: fields, authenticator and reserve.
const SIZE: usize = 60;
/// Number of bytes that the authenticator covers.
const COVERED: usize = SIZE - 8;

/// Content of a state cookie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cookie {
    /// Time at which the cookie was created.
    pub(super) made: Time,
    /// Verification tag and initial TSN of the end that created the cookie.
    pub(super) own: [u32; 2],
    /// Tags of an existing association, own tag first; 0 without one (section 5.2.2).
    pub(super) ties: [u32; 2],
    /// INIT of the peer.
    pub(super) peer: Init,
}

fn authenticator(secret: [u64; 2], bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(secret[0], secret[1]);
    hasher.write(bytes);
    hasher.finish()
}

impl Cookie {
    /// Bytes of the cookie, authenticated by the key `secret`.
    pub(super) fn write(&self, secret: [u64; 2]) -> Opaque {
        let Cookie { made, own, ties, peer } = self;
        let mut out = Vec::with_capacity(SIZE);
        out.extend(made.as_nanos().to_be_bytes());
        for word in [own[0], own[1], ties[0], ties[1], peer.tag, peer.window, peer.initial] {
            out.extend(word.to_be_bytes());
        }
        out.extend(peer.outbound.to_be_bytes());
        out.extend(peer.inbound.to_be_bytes());
        out.extend([peer.addresses, u8::from(peer.ecn), u8::from(peer.forward_tsn)]);
        out.resize(COVERED, 0);
        out.extend(authenticator(secret, &out).to_be_bytes());
        out.into()
    }

    /// Reads a cookie; `None` if it was not created with this key.
    pub(super) fn read(bytes: &[u8], secret: [u64; 2]) -> Option<Cookie> {
        let (covered, mac) = bytes.split_at_checked(COVERED)?;
        if u64::from_be_bytes(mac.try_into().ok()?) != authenticator(secret, covered) {
            return None;
        }
        let made = u64::from_be_bytes(covered.get(..8)?.try_into().ok()?);
        let word = |i: usize| Some(u32::from_be_bytes(covered.get(8 + 4 * i..12 + 4 * i)?.try_into().ok()?));
        let short = |at: usize| Some(u16::from_be_bytes(covered.get(at..at + 2)?.try_into().ok()?));
        let peer = Init {
            tag: word(4)?,
            window: word(5)?,
            initial: word(6)?,
            outbound: short(36)?,
            inbound: short(38)?,
            addresses: covered[40],
            ecn: covered[41] == 1,
            forward_tsn: covered[42] == 1,
            unrecognized: Vec::new(),
        };
        Some(Cookie {
            made: Time::from_nanos(made),
            own: [word(0)?, word(1)?],
            ties: [word(2)?, word(3)?],
            peer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_comes_back_and_no_altered_bit_is_accepted() {
        let peer = Init {
            tag: 1,
            window: 2,
            outbound: 3,
            inbound: 4,
            initial: 5,
            addresses: 2,
            ecn: true,
            forward_tsn: false,
            unrecognized: Vec::new(),
        };
        let cookie = Cookie { made: Time::from_nanos(77), own: [8, 9], ties: [10, 11], peer };
        let bytes = cookie.write([1, 2]);
        assert_eq!(Cookie::read(&bytes, [1, 2]), Some(cookie));
        assert_eq!(Cookie::read(&bytes, [1, 3]), None);
        for bit in 0..bytes.len() * 8 {
            let mut altered = bytes.to_vec();
            altered[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Cookie::read(&altered, [1, 2]), None, "bit {bit}");
        }
    }
}
