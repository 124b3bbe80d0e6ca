//! ATP on the wire: figure 2 of the paper behind a UDP header, or an RTP header and UDP (RFC 3550, RFC 768).

use crate::packet::{Atp, Content, HEADER, checksum};
use base::Time;

/// Version of the protocol, two bits.
const VERSION: u16 = 1;
/// Bits of the flags word below the version.
const ACK: u16 = 1 << 13;
const ABR: u16 = 1 << 12;
const EXP: u16 = 1 << 11;
const CE: u16 = 1 << 10;
const SYN: u16 = 1 << 9;
const FIN: u16 = 1 << 8;
const REQUEST: u16 = 1 << 7;
/// UDP port of both ends.
pub const PORT: u16 = 5004;

/// Milliseconds modulo 2^32; all ones: no deadline.
fn deadline(at: Time) -> u32 {
    if at.is_never() { u32::MAX } else { ((at.as_nanos() / 1_000_000) % u64::from(u32::MAX)) as u32 }
}

fn flags(packet: &Atp) -> u16 {
    let set = |flag: u16, on: bool| if on { flag } else { 0 };
    let own = match &packet.content {
        Content::Ack { congested, expired, .. } => ACK | set(CE, *congested) | set(EXP, *expired),
        Content::Abort => ABR,
        Content::Syn => SYN,
        Content::Fin => FIN,
        Content::Request { .. } => REQUEST,
        Content::Fragment { .. } | Content::Report(_) | Content::Unreachable => 0,
    };
    VERSION << 14 | own | set(ACK, packet.answer)
}

/// Appends the UDP header (not for DCCP, whose connection writes its own), for RTP its header too, ATP's header, SACK vector and payload (zeros).
pub fn write(packet: &Atp, out: &mut Vec<u8>) {
    let start = out.len();
    let udp = !packet.carrier.is_dccp();
    if udp {
        out.extend_from_slice(&[0; 8]);
    }
    if let Content::Report(compound) = &packet.content {
        compound.write(out);
        if udp {
            finish(out, start, rtp::wire::PORT + 1);
        }
        return;
    }
    if packet.carrier.is_rtp() {
        header(packet, out);
    }
    let head = out.len();
    out.extend_from_slice(&flags(packet).to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(&(packet.adu as u32).to_be_bytes());
    out.extend_from_slice(&(packet.length as u32).to_be_bytes());
    out.extend_from_slice(&deadline(packet.deadline).to_be_bytes());
    let (fragment, first, second) = match &packet.content {
        Content::Fragment { number, tx, rtt, .. } => {
            (*number, *tx as u32, (rtt.as_nanos() / 1000).min(u64::from(u32::MAX)) as u32)
        }
        Content::Ack { echo, .. } => {
            (0, echo.0 as u32, (echo.2.as_nanos() / 1000).min(u64::from(u32::MAX)) as u32)
        }
        _ => (0, 0, 0),
    };
    for word in [fragment, first, second] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    match &packet.content {
        Content::Ack { vector, report, .. } => {
            for word in 0..vector.words() {
                let bits =
                    (0..32).filter(|i| vector.has(32 * word + i)).fold(0_u32, |w, i| w | 1 << (31 - i));
                out.extend_from_slice(&bits.to_be_bytes());
            }
            if let Some(report) = report {
                out.extend_from_slice(&((report.loss * f64::from(u32::MAX)) as u32).to_be_bytes());
                out.extend_from_slice(&(report.rate.min(f64::from(u32::MAX)) as u32).to_be_bytes());
            }
        }
        Content::Fragment { bytes, .. } => out.resize(out.len() + *bytes as usize, 0),
        _ => {}
    }
    let covered = match packet.content {
        Content::Fragment { .. } => HEADER as usize + packet.coverage as usize,
        _ => usize::MAX,
    };
    let sum = checksum(&out[head..], covered);
    out[head + 2..head + 4].copy_from_slice(&sum.to_be_bytes());
    if udp {
        // RTCP has the port above that of RTP (RFC 3550 section 11).
        let control = packet.carrier.is_rtp() && !matches!(packet.content, Content::Fragment { .. });
        finish(out, start, PORT + u16::from(control));
    }
}

/// Completes the UDP header at `start`.
fn finish(out: &mut [u8], start: usize, port: u16) {
    let length = u16::try_from(out.len() - start).unwrap_or(u16::MAX);
    for (at, value) in [(0, port), (2, port), (4, length)] {
        out[start + at..start + at + 2].copy_from_slice(&value.to_be_bytes());
    }
}

/// The RTP header of data (RFC 3550 section 5.1), or an RTCP application packet before an acknowledgement (section 6.7; alone
/// in its datagram: RFC 5506).
fn header(packet: &Atp, out: &mut Vec<u8>) {
    let (ssrc, timestamp) = packet.rtp;
    match &packet.content {
        Content::Fragment { number, tx, .. } => {
            let marker = number + 1 == packet.fragments;
            let (payload_type, seq) = (rtp::Format::Dynamic.properties().payload_type, *tx as u16);
            rtp::wire::Header { marker, payload_type, seq, timestamp, ssrc, length: 12 }.write(out);
        }
        _ => {
            let words = match &packet.content {
                Content::Ack { vector, report, .. } => vector.words() + if report.is_some() { 2 } else { 0 },
                _ => 0,
            };
            out.extend_from_slice(&[0x80, 204]);
            out.extend_from_slice(&((2 + HEADER / 4 + words) as u16).to_be_bytes());
            out.extend_from_slice(&ssrc.to_be_bytes());
            out.extend_from_slice(b"SRTP");
        }
    }
}
