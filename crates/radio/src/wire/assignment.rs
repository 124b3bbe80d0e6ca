//! Assignments of TBFs as octets: Immediate Assignment on CCCH (3GPP TS 44.018 section 9.1.18) and Packet
//! Downlink and Uplink Assignment on PACCH (44.060 sections 11.2.7 and 11.2.29). Parsers only: a real network
//! writes these messages.

use super::bits::BitReader;
use super::message::OCTETS;

/// Addressee of a message on PACCH.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addressee {
    /// The mobile with this uplink TFI.
    Uplink(u8),
    /// The mobile with this downlink TFI.
    Downlink(u8),
    /// The mobile with this TLLI.
    Tlli(u32),
}

/// Assignment of a TBF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assignment {
    /// Uplink TBF on one timeslot, in answer to a channel request.
    Access {
        /// Octet of the channel request.
        request: u8,
        /// TFI.
        tfi: u8,
        /// Timeslot.
        slot: u8,
        /// USF on the timeslot.
        usf: u8,
        /// Coding scheme, 1 to 4.
        scheme: u8,
        /// Blocks with a TLLI use that scheme; otherwise CS-1.
        tlli_coded: bool,
    },
    /// Downlink TBF on one timeslot, for an idle mobile.
    Paged {
        /// TLLI of the mobile.
        tlli: u32,
        /// TFI.
        tfi: u8,
        /// Timeslot.
        slot: u8,
    },
    /// Downlink TBF for a mobile that has, or just had, a TBF.
    Downlink {
        /// Addressee.
        to: Addressee,
        /// TFI; `None`: that of the present TBF.
        tfi: Option<u8>,
        /// Timeslots, timeslot 0 in the lowest bit.
        slots: u8,
        /// The TBF restarts (CONTROL_ACK).
        anew: bool,
    },
    /// Uplink TBF for a mobile that has, or just had, a TBF.
    Uplink {
        /// Addressee.
        to: Addressee,
        /// TFI; `None`: that of the present TBF.
        tfi: Option<u8>,
        /// USF of each timeslot.
        usf: [Option<u8>; 8],
        /// Coding scheme, 1 to 4.
        scheme: u8,
    },
    /// Rejection of the channel request with this octet, and the wait indication, s.
    Rejected(u8, u8),
}

/// Reads an Immediate Assignment; `None` for another message or an assignment without packet resources.
pub fn read_immediate(octets: &[u8]) -> Option<Assignment> {
    match octets.get(2)? {
        // IMMEDIATE ASSIGNMENT REJECT: four references, each with its wait indication.
        0x3a => return Some(Assignment::Rejected(*octets.get(4)?, *octets.get(7)?)),
        0x3f => {}
        _ => return None,
    }
    // T/D 1: a TBF. Without frequency hopping the mobile allocation is empty.
    if octets.get(3)? & 0x10 == 0 {
        return None;
    }
    let slot = octets.get(4)? & 7;
    let request = *octets.get(7)?;
    let rest = 12 + usize::from(*octets.get(11)?);
    let mut r = BitReader::new(octets.get(rest..)?);
    if !(r.high()? && r.high()?) || r.flag()? {
        return None;
    }
    if r.flag()? {
        let tlli = r.take(32)? as u32;
        return r.flag()?.then(|| r.take(5).map(|tfi| Assignment::Paged { tlli, tfi: tfi as u8, slot }))?;
    }
    // 0: a single block.
    if !r.flag()? {
        return None;
    }
    let tfi = r.take(5)? as u8;
    r.take(1)?;
    // 1: fixed allocation.
    if r.flag()? {
        return None;
    }
    let usf = r.take(3)? as u8;
    r.take(1)?;
    if r.flag()? {
        r.take(5)?;
    }
    let scheme = r.take(2)? as u8 + 1;
    let tlli_coded = r.flag()?;
    Some(Assignment::Access { request, tfi, slot, usf, scheme, tlli_coded })
}

/// Reads a Packet Downlink or Uplink Assignment from a downlink control block with MAC header.
pub fn read_packet(block: &[u8]) -> Option<Assignment> {
    let mut r = BitReader::new(block.get(..OCTETS)?);
    let payload = r.take(2)?;
    r.take(6)?;
    match payload {
        1 => {}
        // Optional octet of RLC segmentation.
        2 => _ = r.take(8)?,
        _ => return None,
    }
    let kind = r.take(6)?;
    r.take(2)?;
    if r.flag()? {
        r.take(16)?;
    }
    match kind {
        2 => downlink(r),
        10 => uplink(r),
        _ => None,
    }
}

fn global_tfi(r: &mut BitReader<'_>) -> Option<Addressee> {
    let down = r.flag()?;
    let tfi = r.take(5)? as u8;
    Some(if down { Addressee::Downlink(tfi) } else { Addressee::Uplink(tfi) })
}

fn addressee(r: &mut BitReader<'_>) -> Option<Addressee> {
    if !r.flag()? {
        return global_tfi(r);
    }
    // 11: other identities, which the model's mobiles do not have.
    if r.flag()? { None } else { Some(Addressee::Tlli(r.take(32)? as u32)) }
}

/// Packet Timing Advance: the mobile is at the base station, so that the value is ignored.
fn timing_advance(r: &mut BitReader<'_>) -> Option<()> {
    if r.flag()? {
        r.take(6)?;
    }
    if r.flag()? {
        r.take(7)?;
    }
    Some(())
}

/// Frequency Parameters: TSC and an ARFCN; `None` with frequency hopping.
fn frequency(r: &mut BitReader<'_>) -> Option<()> {
    if r.flag()? {
        r.take(3)?;
        if r.take(2)? != 0 {
            return None;
        }
        r.take(10)?;
    }
    Some(())
}

fn downlink(mut r: BitReader<'_>) -> Option<Assignment> {
    let to = addressee(&mut r)?;
    // 0: message of release 97.
    if r.flag()? {
        return None;
    }
    r.take(3)?;
    let anew = r.flag()?;
    let slots = (r.take(8)? as u8).reverse_bits();
    timing_advance(&mut r)?;
    // P0, BTS_PWR_CTRL_MODE, PR_MODE.
    if r.flag()? {
        r.take(6)?;
    }
    frequency(&mut r)?;
    let tfi = if r.flag()? { Some(r.take(5)? as u8) } else { None };
    Some(Assignment::Downlink { to, tfi, slots, anew })
}

fn uplink(mut r: BitReader<'_>) -> Option<Assignment> {
    let to = addressee(&mut r)?;
    if r.flag()? {
        return None;
    }
    let scheme = r.take(2)? as u8 + 1;
    r.take(1)?;
    timing_advance(&mut r)?;
    frequency(&mut r)?;
    // 01: dynamic allocation.
    if r.take(2)? != 1 {
        return None;
    }
    r.take(1)?;
    // P0, PR_MODE.
    if r.flag()? {
        r.take(5)?;
    }
    r.take(1)?;
    let tfi = if r.flag()? { Some(r.take(5)? as u8) } else { None };
    if r.flag()? {
        r.take(8)?;
    }
    if r.flag()? {
        starting_time(&mut r)?;
    }
    let mut usf = [None; 8];
    let powered = r.flag()?;
    if powered {
        // ALPHA.
        r.take(4)?;
    }
    for slot in &mut usf {
        if r.flag()? {
            *slot = Some(r.take(3)? as u8);
            if powered {
                r.take(5)?;
            }
        }
    }
    Some(Assignment::Uplink { to, tfi, usf, scheme })
}

/// TBF Starting Time: absolute in 16 bits, or relative in 13; it is ignored.
fn starting_time(r: &mut BitReader<'_>) -> Option<()> {
    let relative = r.flag()?;
    r.take(if relative { 13 } else { 16 }).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::super::bits::BitWriter;
    use super::*;
    use proptest::prelude::*;

    /// The message of the real PCU for a request 0x78 on timeslot 7 (an octet string of its own test suite's form).
    #[test]
    fn an_access_is_granted() {
        let mut octets = vec![0x2d, 0x06, 0x3f, 0x10, 0x0f, 0xe3, 0x67, 0x78, 0x00, 0x00, 0x00, 0x00];
        // 11 (HH against 0x2b) 00 1, TFI 5, no polling, USF 3 fine, no P0, CS-2, TLLI blocks in CS-1.
        let rest = BitWriter::new().put(0b11, 2).put(0, 2).put(1, 1).put(5, 5).put(0, 2).put(3, 3).put(0, 2);
        octets.extend(rest.put(1, 2).put(0, 1).put(0, 1).put(0, 5).put(0, 2).filled(11));
        let access =
            Assignment::Access { request: 0x78, tfi: 5, slot: 7, usf: 3, scheme: 2, tlli_coded: false };
        assert_eq!(read_immediate(&octets), Some(access));
        let mut paged = octets[..12].to_vec();
        let rest = BitWriter::new().put(0b11, 2).put(1, 2).put(0xb876_5432, 32).put(1, 1).put(9, 5);
        paged.extend(rest.put(0, 10).filled(11));
        let expected = Assignment::Paged { tlli: 0xb876_5432, tfi: 9, slot: 7 };
        assert_eq!(read_immediate(&paged), Some(expected));
    }

    #[test]
    fn tbfs_are_assigned_on_pacch() {
        let head = |kind: u64| BitWriter::new().put(1, 2).put(8, 6).put(kind, 6).put(0, 3);
        let down = head(2).put(0, 1).put(0, 1).put(4, 5).put(0, 1).put(0, 3).put(1, 1).put(0b0000_0111, 8);
        let down = down.put(1, 1).put(0, 6).put(0, 1).put(0, 1).put(1, 1).put(7, 3).put(0, 2).put(871, 10);
        let expected =
            Assignment::Downlink { to: Addressee::Uplink(4), tfi: Some(6), slots: 0b1110_0000, anew: true };
        assert_eq!(read_packet(&down.put(1, 1).put(6, 5).put(0, 3).filled(23)), Some(expected));
        let up = head(10).put(2, 2).put(0x8000_0001, 32).put(0, 1).put(1, 2).put(0, 1).put(0, 2).put(0, 1);
        let up = up.put(1, 2).put(0, 1).put(0, 1).put(0, 1).put(1, 1).put(3, 5).put(0, 2).put(0, 1);
        let mut usf = [None; 8];
        usf[7] = Some(2);
        let expected = Assignment::Uplink { to: Addressee::Tlli(0x8000_0001), tfi: Some(3), usf, scheme: 2 };
        assert_eq!(read_packet(&up.put(0, 7).put(1, 1).put(2, 3).filled(23)), Some(expected));
    }

    proptest! {
        #[test]
        fn any_octets_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = (read_immediate(&bytes), read_packet(&bytes));
        }
    }
}
