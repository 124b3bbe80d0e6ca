//! Encoders and parsers of RLC/MAC control messages: GPRS and EGPRS Ack/Nack, dummy control blocks, Packet Control
//! Acknowledgement (3GPP TS 44.060 section 11.2).
//!
//! Each message is one CS-1 block of 23 octets: MAC header and 22 octets of message with spare padding.

use super::bits::{BitReader, BitWriter};
use crate::rlc::receive::Report;
use crate::rlc::{Bsn, Numbering};

/// Length of a control block, octets.
pub const OCTETS: usize = 23;

/// Message types of the uplink (44.060 table 11.2.0.2).
mod up {
    pub(super) const CONTROL_ACK: u64 = 1;
    pub(super) const DOWNLINK_ACK: u64 = 2;
    pub(super) const DUMMY: u64 = 3;
    pub(super) const EGPRS_DOWNLINK_ACK: u64 = 8;
}

/// Message types of the downlink (44.060 table 11.2.0.1).
mod down {
    pub(super) const UPLINK_ACK: u64 = 9;
    pub(super) const DUMMY: u64 = 0b10_0101;
}

/// Fields of a GPRS Ack/Nack message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckNack {
    /// TFI of the acknowledged TBF.
    pub tfi: u8,
    /// Final ack indicator: all blocks up to the final one are received.
    pub last: bool,
    /// SSN, the starting sequence number: V(R) on the wire.
    pub ssn: u8,
    /// Received block bitmap: the 64 blocks before SSN, the oldest in the most significant bit.
    pub received: u64,
}

impl AckNack {
    /// Ack/Nack fields of a receiver's report.
    pub fn of(tfi: u8, report: &Report) -> AckNack {
        let has = |bsn: Option<Bsn>| bsn.is_none_or(|b| b < report.complete || report.received.get(b));
        let received =
            (1..=64u32).rev().fold(0, |bits, i| bits << 1 | u64::from(has(report.end.checked_sub(i))));
        AckNack { tfi, last: report.last, ssn: Numbering::GPRS.wire(report.end) as u8, received }
    }
    /// Whether the bitmap acknowledges the block with this number on the wire; `None` if the bitmap does not cover it.
    pub fn has(&self, wire: u32) -> Option<bool> {
        let back = u32::from(self.ssn).wrapping_sub(wire) & 127;
        (1..=64).contains(&back).then(|| self.received >> (back - 1) & 1 == 1)
    }
}

/// Fields of a Packet Uplink Ack/Nack of an EGPRS TBF, with an uncompressed bitmap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EgprsAckNack {
    /// TFI of the acknowledged TBF.
    pub tfi: u8,
    /// EGPRS Channel Coding Command: number of the MCS, 1 to 9.
    pub scheme: u8,
    /// RESEGMENT: retransmission in halves is permitted.
    pub resegment: bool,
    /// TLLI for contention resolution.
    pub tlli: Option<u32>,
    /// Final ack indicator: all blocks up to the final one are received.
    pub last: bool,
    /// V(Q) on the wire: all blocks before V(Q) are received.
    pub complete: u16,
    /// Length of the bitmap in bits; the first bit is for V(Q) + 1.
    pub length: u8,
    /// Bitmap of received blocks, the oldest block in the lowest bit.
    pub received: u128,
}

/// MAC header of a downlink control block.
fn down_head(poll: Option<u8>, usf: u8) -> BitWriter {
    BitWriter::new()
        .put(1, 2)
        .put(u64::from(poll.unwrap_or(0)), 2)
        .put(u64::from(poll.is_some()), 1)
        .put(u64::from(usf), 3)
}

/// MAC header of an uplink control block.
fn up_head() -> BitWriter {
    BitWriter::new().put(1, 2).put(0, 6)
}

/// Packet Downlink Ack/Nack (section 11.2.6). `wants`: octets in the uplink queue, for a channel request in the
/// message.
pub fn downlink_ack(ack: &AckNack, wants: Option<u16>) -> Vec<u8> {
    let mut w = up_head()
        .put(up::DOWNLINK_ACK, 6)
        .put(u64::from(ack.tfi), 5)
        .put(u64::from(ack.last), 1)
        .put(u64::from(ack.ssn), 7)
        .put(ack.received, 64);
    w = channel_request(w, wants);
    // Channel quality: C_VALUE, RXQUAL, SIGN_VAR; no interference levels, no release 99 additions.
    w.put(30, 6).put(0, 3).put(0, 6).put(0, 8).put(0, 1).filled(OCTETS)
}

/// Channel Request Description: peak throughput class 1, radio priority 4, acknowledged RLC, LLC data first.
fn channel_request(w: BitWriter, wants: Option<u16>) -> BitWriter {
    match wants {
        None => w.put(0, 1),
        Some(octets) => w.put(1, 1).put(1, 4).put(3, 2).put(0, 1).put(0, 1).put(u64::from(octets), 16),
    }
}

/// EGPRS Packet Downlink Ack/Nack (section 11.2.6a).
pub fn egprs_downlink_ack(tfi: u8, report: &Report, wants: Option<u16>) -> Vec<u8> {
    egprs_downlink_ack_in_steps(tfi, report, wants, 1)
}

/// EGPRS Packet Downlink Ack/Nack whose bitmap has the largest possible multiple of `step` bits; a later message covers
/// the rest of the window.
pub fn egprs_downlink_ack_in_steps(tfi: u8, report: &Report, wants: Option<u16>, step: usize) -> Vec<u8> {
    let w = up_head()
        .put(up::EGPRS_DOWNLINK_ACK, 6)
        .put(u64::from(tfi), 5)
        // MS_OUT_OF_MEMORY 0; no channel quality report.
        .put(0, 2);
    let w = channel_request(w, wants);
    // No PFI, no extension.
    egprs_description(w.put(0, 2), report, step).filled(OCTETS)
}

/// EGPRS Ack/Nack Description with an uncompressed bitmap (section 12.3.1): as many blocks as fit, with a length
/// field.
fn egprs_description(w: BitWriter, report: &Report, step: usize) -> BitWriter {
    const HEAD: usize = 1 + 8 + 1 + 1 + 1 + 11 + 1;
    let room = (OCTETS * 8).saturating_sub(w.len() + HEAD + 1);
    // The first bit is for V(Q) + 1, because V(Q) is missing by definition.
    let all = report.end.saturating_sub(report.complete + 1) as usize;
    let shown = all.min(room) / step.max(1) * step.max(1);
    let numbering = Numbering { space: 2048, window: 64 };
    let length = (shown + HEAD - 9) as u64;
    let mut w = w
        .put(1, 1)
        .put(length, 8)
        .put(u64::from(report.last), 1)
        // BOW, beginning of window: always 1, because the bitmap starts at V(Q).
        .put(1, 1)
        .put(u64::from(shown == all), 1)
        .put(u64::from(numbering.wire(report.complete + 1)), 11)
        .put(0, 1);
    // The last bit is for the oldest block, as in the GPRS bitmap.
    for bsn in (report.complete + 1..report.complete + 1 + shown as u32).rev() {
        w.push(report.received.get(bsn));
    }
    w
}

/// Packet Uplink Ack/Nack of a GPRS TBF (section 11.2.28); `poll`: RRBP code of a poll, for the final report.
pub fn uplink_ack(ack: &AckNack, scheme: u8, poll: Option<u8>, usf: u8) -> Vec<u8> {
    down_head(poll, usf)
        .put(down::UPLINK_ACK, 6)
        // Page mode normal; TFI; GPRS branch.
        .put(0, 2)
        .put(0, 2)
        .put(u64::from(ack.tfi), 5)
        .put(0, 1)
        .put(u64::from(scheme.saturating_sub(1)), 2)
        .put(u64::from(ack.last), 1)
        .put(u64::from(ack.ssn), 7)
        .put(ack.received, 64)
        // No TLLI, timing advance, power control, extension, fixed allocation and release 99 additions.
        .put(0, 6)
        .filled(OCTETS)
}

/// Packet Uplink Ack/Nack of an EGPRS TBF (section 11.2.28).
pub fn egprs_uplink_ack(tfi: u8, report: &Report, scheme: u8, poll: Option<u8>, usf: u8) -> Vec<u8> {
    let w = down_head(poll, usf)
        .put(down::UPLINK_ACK, 6)
        .put(0, 2)
        .put(0, 2)
        .put(u64::from(tfi), 5)
        // EGPRS branch, first form.
        .put(1, 1)
        .put(0, 2)
        .put(u64::from(scheme.saturating_sub(1)), 4)
        // RESEGMENT, PRE_EMPTIVE_TRANSMISSION, two requests for the mobile's radio access capability.
        .put(0, 4)
        // No TLLI; TBF_EST 0; no timing advance in two forms, power control and extension.
        .put(0, 6);
    egprs_description(w, report, 1).filled(OCTETS)
}

/// Packet Downlink Dummy Control Block (section 11.2.8).
pub fn downlink_dummy(poll: Option<u8>, usf: u8) -> Vec<u8> {
    down_head(poll, usf).put(down::DUMMY, 6).put(0, 2).put(0, 1).filled(OCTETS)
}

/// Packet Uplink Dummy Control Block (section 11.2.8b).
pub fn uplink_dummy(tlli: u32) -> Vec<u8> {
    up_head().put(up::DUMMY, 6).put(u64::from(tlli), 32).filled(OCTETS)
}

/// Packet Control Acknowledgement (section 11.2.2).
pub fn control_ack(tlli: u32) -> Vec<u8> {
    up_head().put(up::CONTROL_ACK, 6).put(u64::from(tlli), 32).put(3, 2).filled(OCTETS)
}

/// A parsed control message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// GPRS Packet Downlink Ack/Nack: report, octets in the uplink queue if the mobile requests a TBF.
    DownlinkAck(AckNack, Option<u16>),
    /// GPRS Packet Uplink Ack/Nack: report, TLLI for contention resolution, number of the commanded scheme (1 to 4 for
    /// CS-1 to CS-4).
    UplinkAck(AckNack, Option<u32>, u8),
    /// EGPRS Packet Uplink Ack/Nack.
    EgprsUplinkAck(EgprsAckNack),
    /// Packet Downlink Dummy Control Block.
    DownlinkDummy,
    /// Packet Uplink Dummy Control Block: TLLI.
    UplinkDummy(u32),
    /// Packet Control Acknowledgement: TLLI.
    ControlAck(u32),
    /// Another message: its message type.
    Other(u8),
}

/// Reads a downlink control block: RRBP code of a poll, USF, message; `None` for other blocks.
pub fn read_down(block: &[u8]) -> Option<(Option<u8>, u8, Message)> {
    let mut r = BitReader::new(block.get(..OCTETS)?);
    let payload = r.take(2)?;
    let (rrbp, polls, usf) = (r.take(2)? as u8, r.flag()?, r.take(3)? as u8);
    if payload == 2 {
        // The optional octet of RLC segmentation precedes the message; messages of several blocks are not joined.
        r.take(8)?;
    } else if payload != 1 {
        return None;
    }
    let kind = r.take(6)?;
    let message = match kind {
        down::DUMMY => Message::DownlinkDummy,
        down::UPLINK_ACK => {
            uplink_ack_of(r).or_else(|| egprs_uplink_ack_of(r)).unwrap_or(Message::Other(kind as u8))
        }
        _ => Message::Other(kind as u8),
    };
    Some((polls.then_some(rrbp), usf, message))
}

fn uplink_ack_of(mut r: BitReader<'_>) -> Option<Message> {
    r.take(4)?;
    let tfi = r.take(5)? as u8;
    if r.flag()? {
        return None;
    }
    let scheme = r.take(2)? as u8 + 1;
    let (last, ssn, received) = (r.flag()?, r.take(7)? as u8, r.take(64)?);
    let tlli = if r.flag()? { Some(r.take(32)? as u32) } else { None };
    Some(Message::UplinkAck(AckNack { tfi, last, ssn, received }, tlli, scheme))
}

/// Reads an EGPRS Packet Uplink Ack/Nack. `None` for a compressed bitmap, which a window of 64 never needs, and for a
/// bitmap that does not begin at V(Q).
fn egprs_uplink_ack_of(mut r: BitReader<'_>) -> Option<Message> {
    r.take(4)?;
    let tfi = r.take(5)? as u8;
    if !r.flag()? || r.take(2)? != 0 {
        return None;
    }
    let (scheme, resegment) = (r.take(4)? as u8 + 1, r.flag()?);
    // PRE_EMPTIVE_TRANSMISSION, two requests for the mobile's radio access capability.
    r.take(3)?;
    let tlli = if r.flag()? { Some(r.take(32)? as u32) } else { None };
    // TBF_EST.
    r.take(1)?;
    // Packet Timing Advance: value, index with timeslot.
    if r.flag()? {
        for bits in [6, 7] {
            if r.flag()? {
                r.take(bits)?;
            }
        }
    }
    if r.flag()? {
        r.take(2)?;
    }
    // Power control parameters and extension bits: a message with them is rejected, since they leave no room for a bitmap.
    if r.take(2)? != 0 {
        return None;
    }
    let described = if r.flag()? { r.take(8)? as u32 } else { r.left() as u32 };
    let (last, begins) = (r.flag()?, r.flag()?);
    r.take(1)?;
    let first = r.take(11)? as u16;
    if r.flag()? || !begins {
        return None;
    }
    let length = described.checked_sub(15)?.min(128);
    let mut received = 0;
    // The last bit is for the oldest block.
    for _ in 0..length {
        received = received << 1 | u128::from(r.flag()?);
    }
    let complete = first.wrapping_sub(1) & 2047;
    let length = length as u8;
    Some(Message::EgprsUplinkAck(EgprsAckNack {
        tfi,
        scheme,
        resegment,
        tlli,
        last,
        complete,
        length,
        received,
    }))
}

/// Reads the message of an uplink control block; `None` for other blocks.
pub fn read_up(block: &[u8]) -> Option<Message> {
    let mut r = BitReader::new(block.get(..OCTETS)?);
    if r.take(2)? != 1 {
        return None;
    }
    r.take(6)?;
    let kind = r.take(6)?;
    Some(match kind {
        up::DOWNLINK_ACK => {
            let tfi = r.take(5)? as u8;
            let (last, ssn, received) = (r.flag()?, r.take(7)? as u8, r.take(64)?);
            let wants = if r.flag()? {
                r.take(8)?;
                Some(r.take(16)? as u16)
            } else {
                None
            };
            Message::DownlinkAck(AckNack { tfi, last, ssn, received }, wants)
        }
        up::DUMMY => Message::UplinkDummy(r.take(32)? as u32),
        up::CONTROL_ACK => Message::ControlAck(r.take(32)? as u32),
        _ => Message::Other(kind as u8),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlc::Mode;
    use crate::rlc::receive::{BlockPart, Receiver};
    use proptest::prelude::*;

    fn report(blocks: &[u32], numbering: Numbering) -> Report {
        let mut receiver = Receiver::new(numbering, Mode::Acknowledged, false);
        blocks.iter().for_each(|b| _ = receiver.take(*b, BlockPart::Whole, false));
        receiver.report()
    }

    #[test]
    fn reports_come_back_with_their_bits() {
        let report = report(&[0, 1, 3, 4, 7], Numbering::GPRS);
        let ack = AckNack::of(9, &report);
        assert_eq!(ack.ssn, 8);
        let known: Vec<_> = (0..8).map(|b| ack.has(b)).collect();
        assert_eq!(known, [true, true, false, true, true, false, false, true].map(Some));
        assert_eq!((ack.has(8), ack.has(71)), (None, None));
        assert_eq!(read_up(&downlink_ack(&ack, Some(1500))), Some(Message::DownlinkAck(ack, Some(1500))));
        let block = uplink_ack(&ack, 2, Some(1), 3);
        assert_eq!(read_down(&block), Some((Some(1), 3, Message::UplinkAck(ack, None, 2))));
    }

    #[test]
    fn other_messages_come_back() {
        assert_eq!(read_up(&uplink_dummy(0xc000_0001)), Some(Message::UplinkDummy(0xc000_0001)));
        assert_eq!(read_up(&control_ack(0xc000_0001)), Some(Message::ControlAck(0xc000_0001)));
        let dummy = downlink_dummy(None, 7);
        // First octets of a dummy control block from a real PCU.
        assert_eq!(dummy[..3], [0x47, 0x94, 0x2b]);
        assert_eq!(read_down(&dummy), Some((None, 7, Message::DownlinkDummy)));
        assert!(read_down(&[0; 23]).is_none() && read_up(&[0x40; 5]).is_none());
        let long = report(&(1..600).collect::<Vec<_>>(), Numbering::egprs(1024));
        assert_eq!(egprs_downlink_ack(3, &long, None).len(), OCTETS);
        assert_eq!(egprs_uplink_ack(3, &long, 9, None, 7).len(), OCTETS);
    }

    /// GP-08: an EGPRS uplink report is parsed back to its bits; a report with a bitmap in steps omits the rest.
    #[test]
    fn gp_08_egprs_reports_come_back_with_their_bits() {
        let some = report(&[0, 1, 3, 4, 7], Numbering::egprs(64));
        let expected = EgprsAckNack {
            tfi: 9,
            scheme: 7,
            resegment: false,
            tlli: None,
            last: false,
            complete: 2,
            length: 5,
            received: 0b1_0011,
        };
        let block = egprs_uplink_ack(9, &some, 7, Some(1), 3);
        assert_eq!(read_down(&block), Some((Some(1), 3, Message::EgprsUplinkAck(expected))));
        let many = report(&(1..22).collect::<Vec<_>>(), Numbering::egprs(64));
        let octets = egprs_downlink_ack_in_steps(3, &many, None, 8);
        let mut r = BitReader::new(&octets);
        r.take(8 + 6 + 5 + 2 + 1 + 2);
        assert_eq!(r.take(1 + 8), Some(1 << 8 | (15 + 16)), "16 of 21 bits");
        // Final ack indicator 0; BOW 1, from V(Q) on; EOW 0, not up to the end of the window.
        assert_eq!(r.take(3), Some(0b010));
    }

    /// GP-08: the last bit of the EGPRS bitmap is for the oldest block after V(Q), as in a real PCU's messages.
    #[test]
    fn gp_08_the_bitmap_of_egprs_ends_with_the_oldest_block() {
        let received: Vec<u32> = (1..24).filter(|b| *b != 8).collect();
        let octets = egprs_downlink_ack(3, &report(&received, Numbering::egprs(64)), None);
        let mut r = BitReader::new(&octets);
        // MAC header, type, TFI, two flags, no channel request, no PFI, no extension; then the Ack/Nack Description before
        // its bitmap.
        r.take(8 + 6 + 5 + 2 + 1 + 2);
        assert_eq!(r.take(1 + 8), Some(1 << 8 | (15 + 23)));
        r.take(1 + 1 + 1 + 11 + 1);
        assert_eq!(r.take(23), Some(0x7f_ffff & !(1 << 7)));
    }

    proptest! {
        #[test]
        fn any_octets_are_read(block in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = (read_up(&block), read_down(&block));
        }
    }
}
