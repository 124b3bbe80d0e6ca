//! Gb interface as octets: writers and parser of BSSGP PDUs in NS-UNITDATA over UDP (3GPP TS 48.018 sections 10 and 11,
//! 48.016 section 9).

use super::bits::BitWriter;
use base::{Span, Time};

/// UDP port of the network service over IP (IANA).
pub const PORT: u16 = 2157;
/// BVCI of the model's cell; BVCI 0 is for signalling, 1 for point-to-multipoint.
pub const BVCI: u16 = 2;

/// BSSGP PDU types (48.018 table 11.3.26).
pub mod kind {
    /// DL-UNITDATA.
    pub const DL_UNITDATA: u8 = 0x00;
    /// UL-UNITDATA.
    pub const UL_UNITDATA: u8 = 0x01;
    /// FLOW-CONTROL-BVC.
    pub const FLOW_CONTROL_BVC: u8 = 0x26;
    /// FLOW-CONTROL-BVC-ACK.
    pub const FLOW_CONTROL_BVC_ACK: u8 = 0x27;
    /// FLOW-CONTROL-MS.
    pub const FLOW_CONTROL_MS: u8 = 0x28;
    /// FLOW-CONTROL-MS-ACK.
    pub const FLOW_CONTROL_MS_ACK: u8 = 0x29;
    /// FLUSH-LL.
    pub const FLUSH_LL: u8 = 0x2a;
    /// FLUSH-LL-ACK.
    pub const FLUSH_LL_ACK: u8 = 0x2b;
    /// LLC-DISCARDED.
    pub const LLC_DISCARDED: u8 = 0x2c;
    /// BVC-RESET.
    pub const BVC_RESET: u8 = 0x22;
    /// BVC-RESET-ACK.
    pub const BVC_RESET_ACK: u8 = 0x23;
    /// BVC-UNBLOCK.
    pub const BVC_UNBLOCK: u8 = 0x24;
    /// BVC-UNBLOCK-ACK.
    pub const BVC_UNBLOCK_ACK: u8 = 0x25;
}

/// Information element identifiers (48.018 table 11.3).
pub mod element {
    /// Alignment octets.
    pub const ALIGNMENT: u8 = 0x00;
    /// BVCI.
    pub const BVCI: u8 = 0x04;
    /// Cell Identifier.
    pub const CELL: u8 = 0x08;
    /// Flush Action.
    pub const FLUSH_ACTION: u8 = 0x0c;
    /// LLC-PDU.
    pub const LLC_PDU: u8 = 0x0e;
    /// LLC Frames Discarded.
    pub const FRAMES_DISCARDED: u8 = 0x0f;
    /// Number of octets affected.
    pub const OCTETS_AFFECTED: u8 = 0x25;
    /// PDU Lifetime.
    pub const LIFETIME: u8 = 0x16;
    /// Tag.
    pub const TAG: u8 = 0x1e;
    /// TLLI.
    pub const TLLI: u8 = 0x1f;
    /// Bmax default MS, units of 100 octets.
    pub const BMAX_DEFAULT_MS: u8 = 0x01;
    /// Bucket Leak Rate, units of 100 bit/s.
    pub const BUCKET_LEAK_RATE: u8 = 0x03;
    /// BVC Bucket Size, units of 100 octets.
    pub const BVC_BUCKET_SIZE: u8 = 0x05;
    /// IMSI.
    pub const IMSI: u8 = 0x0d;
    /// MS Radio Access Capability.
    pub const RADIO_ACCESS: u8 = 0x13;
    /// MS Bucket Size, units of 100 octets.
    pub const MS_BUCKET_SIZE: u8 = 0x14;
    /// R default MS, units of 100 bit/s.
    pub const R_DEFAULT_MS: u8 = 0x1c;
}

/// QoS profile for best effort: peak rate 0, no A, T, C/R and precedence bits.
const QOS: [u8; 3] = [0, 0, 0x20];
/// Routing area 001-01-1-1 of the model's cell.
const ROUTING_AREA: [u8; 6] = [0x00, 0xf1, 0x10, 0x00, 0x01, 0x01];

/// Appends an information element with its length in one octet up to 127 and in two above (48.018 section 10.1.2).
pub fn put(to: &mut Vec<u8>, element: u8, value: &[u8]) {
    to.push(element);
    if value.len() < 128 {
        to.push(0x80 | value.len() as u8);
    } else {
        to.extend((value.len() as u16 & 0x7fff).to_be_bytes());
    }
    to.extend_from_slice(value);
}

/// NS-UNITDATA with a BSSGP PDU.
pub fn unitdata(bvci: u16, pdu: &[u8]) -> Vec<u8> {
    let mut out = vec![0, 0];
    out.extend(bvci.to_be_bytes());
    out.extend_from_slice(pdu);
    out
}

/// DL-UNITDATA with an LLC frame; `lifetime` is the PDU Lifetime, `None` for no limit.
pub fn down(tlli: u32, lifetime: Option<Span>, frame: &[u8]) -> Vec<u8> {
    let mut pdu = vec![kind::DL_UNITDATA];
    pdu.extend(tlli.to_be_bytes());
    pdu.extend(QOS);
    // 65535: no limit.
    let centiseconds = lifetime.map_or(u16::MAX, |l| (l.as_nanos() / 10_000_000).min(65_534) as u16);
    put(&mut pdu, element::LIFETIME, &centiseconds.to_be_bytes());
    put(&mut pdu, element::LLC_PDU, frame);
    unitdata(BVCI, &pdu)
}

/// Identity and capabilities of a mobile, as the SGSN sends them to the BSS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mobile {
    /// TLLI.
    pub tlli: u32,
    /// Last digits of the IMSI, as a number.
    pub digits: u16,
    /// GPRS multislot class.
    pub class: u8,
    /// EGPRS multislot class; `None` for a mobile without EGPRS.
    pub egprs: Option<u8>,
}

/// DL-UNITDATA with an LLC frame and the IMSI and radio access capability of the mobile.
pub fn down_known(bvci: u16, mobile: &Mobile, lifetime: Option<Span>, frame: &[u8]) -> Vec<u8> {
    let mut pdu = vec![kind::DL_UNITDATA];
    pdu.extend(mobile.tlli.to_be_bytes());
    pdu.extend(QOS);
    let centiseconds = lifetime.map_or(u16::MAX, |l| (l.as_nanos() / 10_000_000).min(65_534) as u16);
    put(&mut pdu, element::LIFETIME, &centiseconds.to_be_bytes());
    // The order of table 10.2.1 of 48.018.
    put(&mut pdu, element::RADIO_ACCESS, &radio_access(mobile));
    put(&mut pdu, element::IMSI, &imsi(mobile));
    put(&mut pdu, element::LLC_PDU, frame);
    unitdata(bvci, &pdu)
}

/// IMSI in BCD: 001 01 and ten digits; the first digit shares an octet with the identity type.
pub(super) fn imsi(mobile: &Mobile) -> Vec<u8> {
    let text = format!("001010000000{:03}", mobile.digits % 1000);
    let digit = |i: usize| text.as_bytes()[i] - b'0';
    let mut imsi = vec![digit(0) << 4 | 9];
    imsi.extend((0..7).map(|i| digit(2 * i + 2) << 4 | digit(2 * i + 1)));
    imsi
}

/// MS Radio Access Capability (24.008 section 10.5.5.12a): GSM P, power class 1, multislot classes of GPRS and EGPRS.
pub(super) fn radio_access(mobile: &Mobile) -> Vec<u8> {
    // The length counts from the power class on, without the final bit for further technologies.
    let length = if mobile.egprs.is_some() { 30 } else { 18 };
    let w = BitWriter::new().put(0, 4).put(length, 7).put(1, 3).put(0, 1);
    // ES IND, then no pseudo-synchronisation and no group calls.
    let w = w.put(1, 1).put(0, 3);
    // Multislot capability: no HSCSD; GPRS with its class, without extended allocation; no measurement times.
    let w = w.put(1, 1).put(0, 1).put(1, 1).put(u64::from(mobile.class), 5).put(0, 1).put(0, 1);
    match mobile.egprs {
        // No other access technology; spare bits.
        None => w.put(0, 3).filled(4),
        // No ECSD; EGPRS with its class, without extended allocation; no dual transfer mode; 8-PSK power class 2.
        Some(class) => {
            let w = w.put(0, 1).put(1, 1).put(u64::from(class), 5).put(0, 1).put(0, 1);
            w.put(1, 1).put(2, 2).put(0, 3).filled(6)
        }
    }
}

/// UL-UNITDATA with an LLC frame received in cell `cell`.
pub fn up(tlli: u32, cell: u16, frame: &[u8]) -> Vec<u8> {
    let mut pdu = vec![kind::UL_UNITDATA];
    pdu.extend(tlli.to_be_bytes());
    pdu.extend(QOS);
    let mut id = ROUTING_AREA.to_vec();
    id.extend(cell.to_be_bytes());
    put(&mut pdu, element::CELL, &id);
    put(&mut pdu, element::LLC_PDU, frame);
    unitdata(BVCI, &pdu)
}

/// FLUSH-LL for a mobile in the model's cell: the BSS deletes the mobile's frames.
pub fn flush(tlli: u32) -> Vec<u8> {
    flush_in(BVCI, tlli)
}

/// FLUSH-LL for a mobile in the cell `bvci`: the BSS deletes the mobile's frames.
pub fn flush_in(bvci: u16, tlli: u32) -> Vec<u8> {
    let mut pdu = vec![kind::FLUSH_LL];
    put(&mut pdu, element::TLLI, &tlli.to_be_bytes());
    put(&mut pdu, element::BVCI, &bvci.to_be_bytes());
    unitdata(0, &pdu)
}

/// FLUSH-LL-ACK with the number of deleted octets.
pub fn flush_ack(tlli: u32, octets: u32) -> Vec<u8> {
    let mut pdu = vec![kind::FLUSH_LL_ACK];
    put(&mut pdu, element::TLLI, &tlli.to_be_bytes());
    put(&mut pdu, element::FLUSH_ACTION, &[0]);
    put(&mut pdu, element::OCTETS_AFFECTED, &octets.to_be_bytes()[1..]);
    unitdata(0, &pdu)
}

/// LLC-DISCARDED: number of frames and octets of a mobile that the BSS has discarded.
pub fn discarded(tlli: u32, frames: u8, octets: u32) -> Vec<u8> {
    let mut pdu = vec![kind::LLC_DISCARDED];
    put(&mut pdu, element::TLLI, &tlli.to_be_bytes());
    put(&mut pdu, element::FRAMES_DISCARDED, &[frames]);
    put(&mut pdu, element::BVCI, &BVCI.to_be_bytes());
    put(&mut pdu, element::OCTETS_AFFECTED, &octets.to_be_bytes()[1..]);
    unitdata(0, &pdu)
}

/// A parsed BSSGP PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read<'a> {
    /// BVCI in the NS-UNITDATA header.
    pub bvci: u16,
    /// PDU type, a constant of [`kind`].
    pub kind: u8,
    /// TLLI of a UNITDATA PDU; `None` in other PDUs.
    pub tlli: Option<u32>,
    elements: &'a [u8],
}

impl<'a> Read<'a> {
    /// Value of the first information element with the identifier `wanted`.
    pub fn element(&self, wanted: u8) -> Option<&'a [u8]> {
        let mut rest = self.elements;
        while let [id, length, ..] = rest {
            let (head, length) = if length & 0x80 != 0 {
                (2, usize::from(length & 0x7f))
            } else {
                (3, usize::from(*length) << 8 | usize::from(*rest.get(2)?))
            };
            let value = rest.get(head..head + length)?;
            if *id == wanted {
                return Some(value);
            }
            rest = rest.get(head + length..)?;
        }
        None
    }
}

/// Reads NS-UNITDATA; `None` for other NS PDUs and for short datagrams.
pub fn read(datagram: &[u8]) -> Option<Read<'_>> {
    let [0, _, high, low, kind, rest @ ..] = datagram else { return None };
    let bvci = u16::from_be_bytes([*high, *low]);
    let data = matches!(*kind, kind::DL_UNITDATA | kind::UL_UNITDATA);
    if !data {
        return Some(Read { bvci, kind: *kind, tlli: None, elements: rest });
    }
    let tlli = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?);
    Some(Read { bvci, kind: *kind, tlli: Some(tlli), elements: rest.get(7..)? })
}

/// Expiry time of a frame that arrived at `since` with a PDU Lifetime in hundredths of a second.
pub fn expires(since: Time, centiseconds: u16) -> Time {
    if centiseconds == u16::MAX {
        Time::NEVER
    } else {
        since + Span::from_millis(10 * u64::from(centiseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unitdata_come_back() {
        let frame = vec![7; 506];
        let datagram = down(0xc000_0002, Some(Span::from_secs(6)), &frame);
        let read = read(&datagram).unwrap();
        assert_eq!((read.bvci, read.kind, read.tlli), (BVCI, kind::DL_UNITDATA, Some(0xc000_0002)));
        assert_eq!(read.element(element::LIFETIME), Some(&600u16.to_be_bytes()[..]));
        assert_eq!(read.element(element::LLC_PDU), Some(&frame[..]));
        let datagram = up(1, 9, &frame[..20]);
        let read = super::read(&datagram).unwrap();
        assert_eq!(read.element(element::CELL).map(|c| c[7]), Some(9));
        assert_eq!((read.element(element::LLC_PDU), read.element(0x55)), (Some(&frame[..20]), None));
        let datagram = flush_ack(5, 70_000);
        assert_eq!(
            super::read(&datagram).and_then(|r| r.element(element::OCTETS_AFFECTED)),
            Some(&[1, 17, 112][..])
        );
    }

    #[test]
    fn lifetimes_end() {
        assert_eq!(expires(Time::ZERO, 600), Time::ZERO + Span::from_secs(6));
        assert!(expires(Time::ZERO, u16::MAX).is_never());
    }

    proptest! {
        #[test]
        fn any_octets_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(read) = read(&bytes) {
                (0..=255).for_each(|e| _ = read.element(e));
            }
        }
    }
}
