//! SGSN side of the Gb interface to a real PCU: network service (NS) and BSSGP flow control over UDP (3GPP TS 48.016,
//! 48.018).
//!
//! The file answers NS and BSSGP resets and tests, reads the buckets of flow control that the PCU announces, and reads
//! the number of frames that the PCU discards.

use crate::bssgp::{Bucket, CellBucket};
use crate::wire::gb::{self, Read, element, kind};
use base::Rate;

/// PDU types of the network service (48.016 section 9.2).
mod ns {
    pub(super) const RESET: u8 = 2;
    pub(super) const RESET_ACK: u8 = 3;
    pub(super) const UNBLOCK: u8 = 6;
    pub(super) const UNBLOCK_ACK: u8 = 7;
    pub(super) const ALIVE: u8 = 10;
    pub(super) const ALIVE_ACK: u8 = 11;
    pub(super) const UNITDATA: u8 = 0;
    /// NSVCI and NSEI information elements (48.016 section 10.3).
    pub(super) const NSVCI: u8 = 1;
    pub(super) const NSEI: u8 = 4;
}

/// Meaning of the PCU's datagram for the SGSN.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum GbMessage<'a> {
    /// The datagram needs no action except its answer.
    Nothing,
    /// An LLC frame of a mobile: TLLI, octets.
    Frame(u32, &'a [u8]),
    /// FLOW-CONTROL-BVC: bucket of the cell, default bucket of its mobiles.
    Cell(Option<Bucket>, Option<Bucket>),
    /// Bucket of a mobile: TLLI, bucket.
    Mobile(u32, Bucket),
    /// Discarded frames of a mobile: TLLI, number.
    Discarded(u32, u8),
}

fn number(pdu: &Read<'_>, wanted: u8) -> Option<u64> {
    let value = pdu.element(wanted)?;
    (value.len() <= 4).then(|| value.iter().fold(0, |n, o| n << 8 | u64::from(*o)))
}

fn bucket(pdu: &Read<'_>, size: u8, leak: u8) -> Option<Bucket> {
    let (size, leak) = (number(pdu, size)?, number(pdu, leak)?);
    Some(Bucket { size: 100 * size, leak: Rate::from_bps(100 * leak) })
}

/// Reads a datagram of the PCU: writes the SGSN's answer to `answer` and returns the meaning.
pub(super) fn hear<'a>(datagram: &'a [u8], id: u16, answer: &mut Option<Vec<u8>>) -> GbMessage<'a> {
    match datagram.first() {
        Some(&ns::RESET) => {
            let mut ack = vec![ns::RESET_ACK];
            gb::put(&mut ack, ns::NSVCI, &id.to_be_bytes());
            gb::put(&mut ack, ns::NSEI, &id.to_be_bytes());
            *answer = Some(ack);
            GbMessage::Nothing
        }
        Some(&ns::UNBLOCK) => {
            *answer = Some(vec![ns::UNBLOCK_ACK]);
            GbMessage::Nothing
        }
        Some(&ns::ALIVE) => {
            *answer = Some(vec![ns::ALIVE_ACK]);
            GbMessage::Nothing
        }
        Some(&ns::UNITDATA) => gb::read(datagram).map_or(GbMessage::Nothing, |pdu| {
            *answer = echo(&pdu);
            meaning(datagram, &pdu)
        }),
        _ => GbMessage::Nothing,
    }
}

/// Acknowledgement of a PDU, with the information elements that it must repeat.
fn echo(pdu: &Read<'_>) -> Option<Vec<u8>> {
    let (ack, elements, bvci): (u8, &[u8], u16) = match pdu.kind {
        kind::BVC_RESET => (kind::BVC_RESET_ACK, &[element::BVCI], 0),
        kind::BVC_UNBLOCK => (kind::BVC_UNBLOCK_ACK, &[element::BVCI], 0),
        kind::FLOW_CONTROL_BVC => (kind::FLOW_CONTROL_BVC_ACK, &[element::TAG], pdu.bvci),
        kind::FLOW_CONTROL_MS => (kind::FLOW_CONTROL_MS_ACK, &[element::TLLI, element::TAG], pdu.bvci),
        _ => return None,
    };
    let mut out = vec![ack];
    for wanted in elements {
        if let Some(value) = pdu.element(*wanted) {
            gb::put(&mut out, *wanted, value);
        }
    }
    Some(gb::unitdata(bvci, &out))
}

fn meaning<'a>(datagram: &'a [u8], pdu: &Read<'_>) -> GbMessage<'a> {
    let whose = number(pdu, element::TLLI).map(|tlli| tlli as u32);
    match pdu.kind {
        kind::UL_UNITDATA => {
            let frame = gb::read(datagram).and_then(|pdu| pdu.element(element::LLC_PDU));
            match (pdu.tlli, frame) {
                (Some(tlli), Some(frame)) => GbMessage::Frame(tlli, frame),
                _ => GbMessage::Nothing,
            }
        }
        kind::FLOW_CONTROL_BVC => GbMessage::Cell(
            bucket(pdu, element::BVC_BUCKET_SIZE, element::BUCKET_LEAK_RATE),
            bucket(pdu, element::BMAX_DEFAULT_MS, element::R_DEFAULT_MS),
        ),
        kind::FLOW_CONTROL_MS => {
            match (whose, bucket(pdu, element::MS_BUCKET_SIZE, element::BUCKET_LEAK_RATE)) {
                (Some(tlli), Some(bucket)) => GbMessage::Mobile(tlli, bucket),
                _ => GbMessage::Nothing,
            }
        }
        kind::LLC_DISCARDED => match (whose, number(pdu, element::FRAMES_DISCARDED)) {
            (Some(tlli), Some(frames)) => GbMessage::Discarded(tlli, frames as u8),
            _ => GbMessage::Nothing,
        },
        _ => GbMessage::Nothing,
    }
}

/// Sets the announced bucket of a cell; an unchanged bucket keeps its fill level.
pub(super) fn renew(cell: &mut Option<(Bucket, CellBucket)>, bucket: Option<Bucket>) {
    if cell.as_ref().map(|c| c.0) != bucket {
        *cell = bucket.map(|b| (b, CellBucket::new(b)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// GP-24: an announcement of the PCU sets the bucket and is acknowledged with its tag.
    #[test]
    fn gp_24_flow_control_is_taken_and_acknowledged() {
        let mut pdu = vec![kind::FLOW_CONTROL_BVC];
        gb::put(&mut pdu, element::TAG, &[7]);
        gb::put(&mut pdu, element::BVC_BUCKET_SIZE, &[0, 80]);
        gb::put(&mut pdu, element::BUCKET_LEAK_RATE, &[0, 64]);
        gb::put(&mut pdu, element::BMAX_DEFAULT_MS, &[0, 20]);
        gb::put(&mut pdu, element::R_DEFAULT_MS, &[0, 32]);
        let mut answer = None;
        let datagram = gb::unitdata(9, &pdu);
        let heard = hear(&datagram, 9, &mut answer);
        let of = |size, bps| Some(Bucket { size, leak: Rate::from_bps(bps) });
        assert_eq!(heard, GbMessage::Cell(of(8_000, 6_400), of(2_000, 3_200)));
        assert_eq!(answer, Some(vec![0, 0, 0, 9, kind::FLOW_CONTROL_BVC_ACK, element::TAG, 0x81, 7]));
        hear(&[10], 9, &mut answer);
        assert_eq!(answer, Some(vec![11]));
    }

    proptest! {
        #[test]
        fn any_datagram_is_heard(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut answer = None;
            let _ = hear(&bytes, 1, &mut answer);
        }
    }
}
