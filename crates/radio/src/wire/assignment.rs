//! Parsers of TBF assignments: Immediate Assignment and its reject on CCCH (3GPP TS 44.018 section 9.1.18), Packet
//! Downlink and Uplink Assignment on PACCH (44.060 sections 11.2.7 and 11.2.29). There are no writers: a real network
//! sends these messages.

use super::bits::BitReader;
use super::message::OCTETS;
use crate::coding::Scheme;
use crate::rlc::Numbering;

/// Addressee of a message on PACCH.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addressee {
    /// Mobile with this uplink TFI.
    Uplink(u8),
    /// Mobile with this downlink TFI.
    Downlink(u8),
    /// Mobile with this TLLI.
    Tlli(u32),
}

/// RLC parameters of an assigned uplink TBF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UplinkCoding {
    /// Commanded coding scheme.
    pub scheme: Scheme,
    /// Blocks with a TLLI use `scheme`; if false, they use CS-1 or MCS-1.
    pub tlli_coded: bool,
    /// Sequence number space and window.
    pub numbering: Numbering,
    /// EGPRS: resegmentation (retransmission in halves) is permitted.
    pub resegment: bool,
}

impl UplinkCoding {
    /// RLC parameters of a GPRS TBF; `code` is the scheme's code, 0 to 3 for CS-1 to CS-4.
    fn gprs(code: u64, tlli_coded: bool) -> Option<UplinkCoding> {
        let scheme = Scheme::numbered(false, code as u8 + 1)?;
        Some(UplinkCoding { scheme, tlli_coded, numbering: Numbering::GPRS, resegment: false })
    }
    /// RLC parameters of an EGPRS TBF; `code` is the scheme's code, 0 to 8, `window` the code of the window size.
    fn egprs(code: u64, tlli_coded: bool, window: u64, resegment: bool) -> Option<UplinkCoding> {
        let scheme = Scheme::numbered(true, code as u8 + 1)?;
        Some(UplinkCoding { scheme, tlli_coded, numbering: window_of(window), resegment })
    }
}

/// EGPRS numbering for a window size code (44.060 table 12.5.2.1).
fn window_of(code: u64) -> Numbering {
    Numbering::egprs(64 + 32 * code as u32)
}

/// Request reference: the channel request to which an assignment belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// GPRS channel request of 8 bits.
    Octet(u8),
    /// Five lowest bits of an EGPRS Packet Channel Request (Extended RA).
    Extended(u8),
}

/// Content of an assignment or reject message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assignment {
    /// Immediate Assignment of an uplink TBF on one timeslot, in response to a channel request.
    Access {
        /// Request reference.
        request: Request,
        /// TFI.
        tfi: u8,
        /// Timeslot.
        slot: u8,
        /// USF on the timeslot.
        usf: u8,
        /// RLC parameters.
        coding: UplinkCoding,
    },
    /// Immediate Assignment of a downlink TBF on one timeslot, to an idle mobile.
    Paged {
        /// TLLI of the mobile.
        tlli: u32,
        /// TFI.
        tfi: u8,
        /// Timeslot.
        slot: u8,
        /// Sequence number space and window.
        numbering: Numbering,
    },
    /// Packet Downlink Assignment, to a mobile that has a TBF or whose TBF has just ended.
    Downlink {
        /// Addressee.
        to: Addressee,
        /// TFI; `None`: TFI of the present TBF.
        tfi: Option<u8>,
        /// Bit mask of the timeslots, timeslot 0 in the lowest bit.
        slots: u8,
        /// CONTROL_ACK: the mobile starts a new TBF.
        anew: bool,
        /// Sequence number space and window.
        numbering: Numbering,
    },
    /// Packet Uplink Assignment, to a mobile that has a TBF or whose TBF has just ended.
    Uplink {
        /// Addressee.
        to: Addressee,
        /// TFI; `None`: TFI of the present TBF.
        tfi: Option<u8>,
        /// USF of each timeslot; `None` for a timeslot that is not assigned.
        usf: [Option<u8>; 8],
        /// RLC parameters.
        coding: UplinkCoding,
    },
    /// Immediate Assignment Reject: request reference, wait indication in seconds.
    Rejected(Request, u8),
}

/// Reads an Immediate Assignment or its reject; `None` for other messages and for assignments without a TBF.
pub fn read_immediate(octets: &[u8]) -> Option<Assignment> {
    match octets.get(2)? {
        // IMMEDIATE ASSIGNMENT REJECT: four request references, each with a wait indication.
        0x3a => return rejected(octets),
        0x3f => {}
        _ => return None,
    }
    // T/D 1: the message assigns a TBF. The mobile allocation is empty without frequency hopping.
    if octets.get(3)? & 0x10 == 0 {
        return None;
    }
    let slot = octets.get(4)? & 7;
    let request = *octets.get(7)?;
    let rest = 12 + usize::from(*octets.get(11)?);
    let mut r = BitReader::new(octets.get(rest..)?);
    match (r.high()?, r.high()?) {
        (true, true) => {}
        (false, true) => return egprs_access(r, slot),
        _ => return None,
    }
    if r.flag()? {
        return None;
    }
    if r.flag()? {
        return paged(r, slot);
    }
    // 0: a single block is assigned, no TBF.
    if !r.flag()? {
        return None;
    }
    let (tfi, usf) = tfi_and_usf(&mut r)?;
    let code = r.take(2)?;
    let coding = UplinkCoding::gprs(code, r.flag()?)?;
    Some(Assignment::Access { request: Request::Octet(request), tfi, slot, usf, coding })
}

/// Content of an Immediate Assignment Reject by its first reference, which a real PCU repeats in the other three.
fn rejected(octets: &[u8]) -> Option<Assignment> {
    let (octet, wait) = (*octets.get(4)?, *octets.get(7)?);
    // Extended RA is in the first rest octet if the reference has the value 127.
    let rest = octets.get(20).copied().filter(|o| octet == 0x7f && o & 0x80 != 0);
    let request = rest.map_or(Request::Octet(octet), |o| Request::Extended(o >> 2 & 31));
    Some(Assignment::Rejected(request, wait))
}

/// TFI and USF from the fields TFI, POLLING, USF, USF_GRANULARITY, P0 and PR_MODE; `None` with fixed allocation.
fn tfi_and_usf(r: &mut BitReader<'_>) -> Option<(u8, u8)> {
    let tfi = r.take(5)? as u8;
    r.take(1)?;
    if r.flag()? {
        return None;
    }
    let usf = r.take(3)? as u8;
    r.take(1)?;
    if r.flag()? {
        r.take(5)?;
    }
    Some((tfi, usf))
}

/// EGPRS Packet Uplink Assignment in the IA Rest Octets (44.018 section 10.5.2.16).
fn egprs_access(mut r: BitReader<'_>, slot: u8) -> Option<Assignment> {
    if r.take(2)? != 0 {
        return None;
    }
    let request = Request::Extended(r.take(5)? as u8);
    // Access Technologies Request; then a flag, 0 for a multi block allocation (two-phase access).
    if r.flag()? || !r.flag()? {
        return None;
    }
    let (tfi, usf) = tfi_and_usf(&mut r)?;
    let (code, tlli_coded) = (r.take(4)?, r.flag()?);
    if r.flag()? {
        // BEP_PERIOD2.
        r.take(4)?;
    }
    let resegment = r.flag()?;
    let coding = UplinkCoding::egprs(code, tlli_coded, r.take(5)?, resegment)?;
    Some(Assignment::Access { request, tfi, slot, usf, coding })
}

/// Packet Downlink Assignment in the IA Rest Octets (44.018 section 10.5.2.16).
fn paged(mut r: BitReader<'_>, slot: u8) -> Option<Assignment> {
    let tlli = r.take(32)? as u32;
    if !r.flag()? {
        return None;
    }
    let tfi = r.take(5)? as u8;
    // RLC_MODE; ALPHA; GAMMA, POLLING and TA_VALID; TIMING_ADVANCE_INDEX; TBF_STARTING_TIME; P0 and modes.
    r.take(1)?;
    let mut optional = |bits: u32, then: u32| {
        if r.flag()? {
            r.take(bits)?;
        }
        r.take(then)
    };
    optional(4, 7)?;
    optional(4, 0)?;
    optional(16, 0)?;
    optional(6, 0)?;
    // Additions of release 99: the EGPRS window.
    let numbering = if r.high()? { window_of(r.take(5)?) } else { Numbering::GPRS };
    Some(Assignment::Paged { tlli, tfi, slot, numbering })
}

/// Reads a Packet Downlink or Uplink Assignment from a downlink control block that begins with the MAC header.
pub fn read_packet(block: &[u8]) -> Option<Assignment> {
    let mut r = BitReader::new(block.get(..OCTETS)?);
    let payload = r.take(2)?;
    r.take(6)?;
    match payload {
        1 => {}
        // The optional octet of RLC segmentation precedes the message.
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
    // Bits 11: other identities, which mobiles of the model do not have.
    if r.flag()? { None } else { Some(Addressee::Tlli(r.take(32)? as u32)) }
}

/// Reads Packet Timing Advance and ignores the values: the mobiles of the model have no distance to the base station.
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
    // 0: release 97 message without additions.
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
    let numbering = additions(&mut r).unwrap_or(Numbering::GPRS);
    Some(Assignment::Downlink { to, tfi, slots, anew, numbering })
}

/// EGPRS window in the release 99 additions; `None` if they contain no window.
fn additions(r: &mut BitReader<'_>) -> Option<Numbering> {
    // Power Control Parameters: ALPHA, and GAMMA of each timeslot.
    if r.flag()? {
        r.take(4)?;
        for _ in 0..8 {
            if r.flag()? {
                r.take(5)?;
            }
        }
    }
    if r.flag()? {
        starting_time(r)?;
    }
    // Measurement Mapping is for fixed allocation only.
    if r.flag()? || !r.flag()? || !r.flag()? {
        return None;
    }
    Some(window_of(r.take(5)?))
}

fn uplink(mut r: BitReader<'_>) -> Option<Assignment> {
    let to = addressee(&mut r)?;
    let coding = if r.flag()? { egprs_coding(&mut r)? } else { gprs_coding(&mut r)? };
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
    Some(Assignment::Uplink { to, tfi, usf, coding })
}

fn gprs_coding(r: &mut BitReader<'_>) -> Option<UplinkCoding> {
    let code = r.take(2)?;
    let coding = UplinkCoding::gprs(code, r.flag()?);
    timing_advance(r)?;
    coding
}

/// EGPRS contents of a Packet Uplink Assignment up to the frequency parameters.
fn egprs_coding(r: &mut BitReader<'_>) -> Option<UplinkCoding> {
    // 00: EGPRS; then neither a TLLI of contention resolution nor COMPACT.
    if r.take(2)? != 0 {
        return None;
    }
    if r.flag()? {
        r.take(32)?;
    }
    if r.flag()? {
        return None;
    }
    let (code, resegment, window) = (r.take(4)?, r.flag()?, r.take(5)?);
    // Access Technologies Request: a list, ended by a 0 bit.
    while r.flag()? {
        r.take(4)?;
    }
    r.take(1)?;
    let tlli_coded = r.flag()?;
    if r.flag()? {
        r.take(4)?;
    }
    timing_advance(r)?;
    if r.flag()? {
        r.take(2)?;
    }
    UplinkCoding::egprs(code, tlli_coded, window, resegment)
}

/// Reads TBF Starting Time, absolute in 16 bits or relative in 13, and ignores the value.
fn starting_time(r: &mut BitReader<'_>) -> Option<()> {
    let relative = r.flag()?;
    r.take(if relative { 13 } else { 16 }).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::super::bits::BitWriter;
    use super::*;
    use proptest::prelude::*;

    /// Immediate Assignment as a real PCU sends it for the channel request 0x78 on timeslot 7.
    #[test]
    fn an_access_is_granted() {
        let mut octets = vec![0x2d, 0x06, 0x3f, 0x10, 0x0f, 0xe3, 0x67, 0x78, 0x00, 0x00, 0x00, 0x00];
        // 11 (HH against 0x2b) 00 1, TFI 5, no polling, USF 3 fine, no P0, CS-2, TLLI blocks in CS-1.
        let rest = BitWriter::new().put(0b11, 2).put(0, 2).put(1, 1).put(5, 5).put(0, 2).put(3, 3).put(0, 2);
        octets.extend(rest.put(1, 2).put(0, 1).put(0, 1).put(0, 5).put(0, 2).filled(11));
        let coding = UplinkCoding::gprs(1, false).unwrap();
        let access = Assignment::Access { request: Request::Octet(0x78), tfi: 5, slot: 7, usf: 3, coding };
        assert_eq!(read_immediate(&octets), Some(access));
        let mut paged = octets[..12].to_vec();
        let rest = BitWriter::new().put(0b11, 2).put(1, 2).put(0xb876_5432, 32).put(1, 1).put(9, 5);
        let mut egprs = paged.clone();
        paged.extend(rest.clone().put(0, 12).filled(11));
        let expected = |numbering| Some(Assignment::Paged { tlli: 0xb876_5432, tfi: 9, slot: 7, numbering });
        assert_eq!(read_immediate(&paged), expected(Numbering::GPRS));
        // H (a 0 bit against the filler 0x2b), then the window size code 1.
        egprs.extend(rest.put(0, 12).put(0, 1).put(1, 5).filled(11));
        assert_eq!(read_immediate(&egprs), expected(Numbering::egprs(96)));
    }

    /// Assignment and reject for an EGPRS Packet Channel Request whose five lowest bits are 9.
    #[test]
    fn an_access_of_egprs_is_granted() {
        let mut octets = vec![0x2d, 0x06, 0x3f, 0x10, 0x0f, 0xe3, 0x67, 0x7f, 0x00, 0x00, 0x00, 0x00];
        // 01 (LH against 0x2b) 00, Extended RA 9, no list, 1, TFI 5, no polling, USF 3, MCS-7 also with a TLLI, window 64.
        let rest = BitWriter::new().put(0b01, 2).put(0, 2).put(9, 5).put(0, 1).put(1, 1).put(5, 5).put(0, 2);
        octets.extend(rest.put(3, 3).put(0, 2).put(6, 4).put(1, 1).put(0, 1).put(1, 1).put(0, 9).filled(11));
        let coding = UplinkCoding::egprs(6, true, 0, true).unwrap();
        let request = Request::Extended(9);
        let access = Assignment::Access { request, tfi: 5, slot: 7, usf: 3, coding };
        assert_eq!(read_immediate(&octets), Some(access));
        let mut rejection = vec![0x4d, 0x06, 0x3a, 0x10];
        (0..4).for_each(|_| rejection.extend([0x7f, 0, 0, 20]));
        rejection.extend([0x80 | 9 << 2, 0x2b, 0x2b]);
        assert_eq!(read_immediate(&rejection), Some(Assignment::Rejected(request, 20)));
    }

    #[test]
    fn tbfs_are_assigned_on_pacch() {
        let head = |kind: u64| BitWriter::new().put(1, 2).put(8, 6).put(kind, 6).put(0, 3);
        let down = head(2).put(0, 1).put(0, 1).put(4, 5).put(0, 1).put(0, 3).put(1, 1).put(0b0000_0111, 8);
        let down = down.put(1, 1).put(0, 6).put(0, 1).put(0, 1).put(1, 1).put(7, 3).put(0, 2).put(871, 10);
        let expected = |numbering| Assignment::Downlink {
            to: Addressee::Uplink(4),
            tfi: Some(6),
            slots: 0b1110_0000,
            anew: true,
            numbering,
        };
        let down = down.put(1, 1).put(6, 5);
        let gprs = expected(Numbering::GPRS);
        assert_eq!(read_packet(&down.clone().put(0, 4).filled(23)), Some(gprs));
        // Release 99 additions with the window size code 2.
        let egprs = expected(Numbering::egprs(128));
        assert_eq!(read_packet(&down.put(0, 3).put(3, 2).put(2, 5).put(0, 5).filled(23)), Some(egprs));
        let up = head(10).put(2, 2).put(0x8000_0001, 32).put(0, 1).put(1, 2).put(0, 1).put(0, 2).put(0, 1);
        let up = up.put(1, 2).put(0, 1).put(0, 1).put(0, 1).put(1, 1).put(3, 5).put(0, 2).put(0, 1);
        let mut usf = [None; 8];
        usf[7] = Some(2);
        let coding = UplinkCoding::gprs(1, false).unwrap();
        let expected = Assignment::Uplink { to: Addressee::Tlli(0x8000_0001), tfi: Some(3), usf, coding };
        assert_eq!(read_packet(&up.put(0, 7).put(1, 1).put(2, 3).filled(23)), Some(expected));
    }

    proptest! {
        #[test]
        fn any_octets_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = (read_immediate(&bytes), read_packet(&bytes));
        }
    }
}
