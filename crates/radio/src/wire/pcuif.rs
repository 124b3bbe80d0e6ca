//! PCUIF, the message interface between base station and PCU: encoders and parser for version 0x0a of Osmocom's format
//! (osmo-pcu 1.1.0).
//!
//! Each message has 1006 octets, packed, little endian. The base station sets the pace: the PCU answers each
//! ready-to-send of a timeslot with one block. Source: `include/osmocom/pcu/pcuif_proto.h` of Osmocom's
//! osmo-pcu.

use crate::tdma::{self, Tick};

/// Length of a message, octets.
pub const SIZE: usize = 1006;
/// Maximum length of a block in a message, octets.
pub const LARGEST: usize = 162;
/// ARFCN of the cell; the value has no effect in the model.
pub const ARFCN: u16 = 871;
/// Value of BVCI, NSEI and NSVCI of the cell.
pub const BVCI: u16 = 1234;

/// Message types.
mod kind {
    pub(super) const DATA_REQ: u8 = 0x00;
    pub(super) const DATA_CNF: u8 = 0x01;
    pub(super) const DATA_IND: u8 = 0x02;
    pub(super) const RTS_REQ: u8 = 0x10;
    pub(super) const RACH_IND: u8 = 0x22;
    pub(super) const INFO_IND: u8 = 0x32;
    pub(super) const ACT_REQ: u8 = 0x40;
    pub(super) const TIME_IND: u8 = 0x52;
}

/// Service access points: channel of a data message.
mod sapi {
    pub(super) const RACH: u8 = 1;
    pub(super) const AGCH: u8 = 2;
    pub(super) const PCH: u8 = 3;
    pub(super) const PDTCH: u8 = 5;
}

/// Cell information that the base station sends to the PCU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// Bit mask of the timeslots with a PDCH, timeslot 0 in the lowest bit.
    pub slots: u8,
    /// UDP ports of Gb on loopback: port of the PCU, port of the SGSN.
    pub ports: [u16; 2],
    /// Initial coding scheme of a TBF, number 1 to 4; 0: chosen by the PCU.
    pub initial: u8,
    /// True if the base station supports MCS-1 to MCS-9.
    pub egprs: bool,
}

/// A parsed message: from the PCU, or with an uplink block for the PCU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PcuMessage<'a> {
    /// Downlink block for a timeslot; empty if the PCU has nothing to send.
    Block {
        /// Timeslot.
        slot: u8,
        /// Octets of the block.
        octets: &'a [u8],
    },
    /// Uplink block of a timeslot, for the PCU; empty if no block was decoded.
    Heard {
        /// Timeslot.
        slot: u8,
        /// Octets of the block.
        octets: &'a [u8],
    },
    /// Message to be sent on the AGCH.
    Grant(&'a [u8]),
    /// Message to be sent on the PCH, without the three digits of the paging group.
    Paged(&'a [u8]),
    /// Activation or deactivation of a PDCH by the PCU.
    Activate {
        /// Timeslot.
        slot: u8,
        /// True for activation.
        on: bool,
    },
    /// Another message: its type.
    Other(u8),
}

/// Reads a message of the PCU, or an uplink block for the PCU; `None` if the message is too short.
pub fn read(message: &[u8]) -> Option<PcuMessage<'_>> {
    let (kind, body) = (*message.first()?, message.get(4..)?);
    Some(match kind {
        kind::DATA_REQ | kind::DATA_IND => {
            let (sapi, length) = (*body.first()?, usize::from(*body.get(1)?));
            let octets = body.get(2..2 + length)?;
            // Frame number and ARFCN separate the block from TRX number and timeslot.
            let slot = *body.get(2 + LARGEST + 7)?;
            match sapi {
                sapi::PDTCH if slot < 8 && kind == kind::DATA_IND => PcuMessage::Heard { slot, octets },
                sapi::PDTCH if slot < 8 => PcuMessage::Block { slot, octets },
                sapi::AGCH => PcuMessage::Grant(octets),
                sapi::PCH => PcuMessage::Paged(octets.get(3..)?),
                _ => PcuMessage::Other(kind),
            }
        }
        kind::ACT_REQ => match *body.get(2)? {
            slot if slot < 8 => PcuMessage::Activate { slot, on: *body.first()? != 0 },
            _ => PcuMessage::Other(kind),
        },
        other => PcuMessage::Other(other),
    })
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![kind, 0, 0, 0];
    out.extend_from_slice(body);
    out.resize(SIZE, 0);
    out
}

/// Cell information, sent once after the PCU has connected.
pub fn info(info: &Info) -> Vec<u8> {
    let mut b: Vec<u8> = Vec::new();
    b.extend(0x0au32.to_le_bytes());
    // Active, CS-1 to CS-4, MCS-1 to MCS-9.
    let schemes = if info.egprs { 0x1ff << 20 } else { 0 };
    b.extend((1u32 | 15 << 16 | schemes).to_le_bytes());
    for trx in 0..8 {
        b.extend(ARFCN.to_le_bytes());
        b.extend([if trx == 0 { info.slots } else { 0 }, 0]);
        b.extend(0u32.to_le_bytes());
        for _ in 0..8 {
            b.push(7);
            b.extend([0; 12]);
        }
    }
    // BSIC, routing area 001-01-1-0.
    b.extend([63, 1, 0, 1, 0, 0, 1, 0, 0, 0]);
    b.extend(BVCI.to_le_bytes());
    // Timers of the network service and of BSSGP, in the PCU's units (s or ms).
    b.extend([3, 3, 3, 3, 30, 3, 10, 3, 3, 3, 3, 3, 10, 3, 10, 3, 10, 3]);
    b.extend(20_960u16.to_le_bytes());
    b.extend(50u16.to_le_bytes());
    b.push(3);
    b.extend(BVCI.to_le_bytes());
    // T3142, T3169, T3191 (s), T3193 (10 ms), T3195 (s), N3101, N3103, N3105, BS_CV_MAX.
    b.extend([20, 5, 5, 160, 5, 10, 4, 8, 15]);
    // Extension of TBFs, ms; initial coding schemes.
    b.extend(250u16.to_le_bytes());
    b.extend(250u16.to_le_bytes());
    b.extend([if info.initial == 0 { 2 } else { info.initial }, 6]);
    for value in [BVCI, 0, info.ports[0], 0, info.ports[1], 0] {
        b.extend(value.to_le_bytes());
    }
    b.extend([4, 0, 127, 0, 0, 1]);
    b.extend([0; 28]);
    message(kind::INFO_IND, &b)
}

/// Time indication of a block period.
pub fn time(tick: Tick) -> Vec<u8> {
    message(kind::TIME_IND, &tdma::frame_of(tick).to_le_bytes())
}

/// Ready-to-send for a block period of a timeslot.
pub fn ready(tick: Tick, slot: u8) -> Vec<u8> {
    let mut b = vec![sapi::PDTCH, 0, 0, 0];
    b.extend(tdma::frame_of(tick).to_le_bytes());
    b.extend(ARFCN.to_le_bytes());
    b.extend([0, slot, (tick % tdma::BLOCKS) as u8]);
    message(kind::RTS_REQ, &b)
}

/// Uplink block of a block period; empty `octets`: no block was decoded. `quality` is C/I in tenths of a dB.
pub fn uplink(tick: Tick, slot: u8, octets: &[u8], quality: i16) -> Vec<u8> {
    let octets = &octets[..octets.len().min(LARGEST)];
    let mut b = vec![sapi::PDTCH, octets.len() as u8];
    b.extend_from_slice(octets);
    b.resize(2 + LARGEST, 0);
    b.extend(tdma::frame_of(tick).to_le_bytes());
    b.extend(ARFCN.to_le_bytes());
    // -60 dBm, no bit errors, no timing offset.
    b.extend([0, slot, (tick % tdma::BLOCKS) as u8, (-60i8) as u8]);
    b.extend(0u16.to_le_bytes());
    b.extend(0i16.to_le_bytes());
    b.extend(quality.to_le_bytes());
    message(kind::DATA_IND, &b)
}

/// A channel request of 8 bits on the RACH in the first frame of a block period.
pub fn request(tick: Tick, octet: u8) -> Vec<u8> {
    access(tick, octet.into(), [0, 0])
}

/// An EGPRS Packet Channel Request of 11 bits (44.060 section 11.2.5a) from a mobile that sends 8-PSK: training
/// sequence TS1, which is burst type 2.
pub fn request_egprs(tick: Tick, bits: u16) -> Vec<u8> {
    access(tick, bits & 0x7ff, [1, 2])
}

/// Access burst. `form`: 1 for 11 bits or 0 for 8 bits, burst type.
fn access(tick: Tick, bits: u16, form: [u8; 2]) -> Vec<u8> {
    let mut b = vec![sapi::RACH];
    b.extend(bits.to_le_bytes());
    b.extend(0i16.to_le_bytes());
    b.extend(tdma::frame_of(tick).to_le_bytes());
    b.extend(ARFCN.to_le_bytes());
    b.extend(form);
    b.extend([0; 2]);
    message(kind::RACH_IND, &b)
}

/// Confirmation of a message sent on the PCH.
pub fn paged(octets: &[u8]) -> Vec<u8> {
    let octets = &octets[..octets.len().min(LARGEST)];
    let mut b = vec![sapi::PCH, octets.len() as u8];
    b.extend_from_slice(octets);
    b.resize(2 + LARGEST + 18, 0);
    message(kind::DATA_CNF, &b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_have_their_places() {
        let said = |slot: u8, sapi: u8, octets: &[u8]| {
            let mut m = uplink(7, slot, octets, 0);
            (m[0], m[4]) = (0, sapi);
            m
        };
        assert_eq!(read(&said(6, 5, &[1, 2])), Some(PcuMessage::Block { slot: 6, octets: &[1, 2] }));
        assert_eq!(read(&said(0, 2, &[9; 23])), Some(PcuMessage::Grant(&[9; 23])));
        assert_eq!(read(&said(0, 3, &[0, 0, 0, 6])), Some(PcuMessage::Paged(&[6])));
        assert_eq!(read(&message(0x40, &[1, 0, 7, 0])), Some(PcuMessage::Activate { slot: 7, on: true }));
        let cell = info(&Info { slots: 0x80, ports: [1, 2], initial: 0, egprs: false });
        assert_eq!((cell.len(), cell[4], cell[12..15].to_vec()), (SIZE, 0x0a, vec![0x67, 3, 0x80]));
        assert_eq!(ready(12, 7)[8..12], 52u32.to_le_bytes());
    }

    proptest! {
        #[test]
        fn any_octets_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
        }
    }
}
