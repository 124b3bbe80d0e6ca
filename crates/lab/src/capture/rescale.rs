//! Correction of window scales in a written capture: the window scale of an end follows from its largest window, which
//! it may offer after packets were written with a smaller scale.
//!
//! The window field is the window divided by a power of two, rounded up, so that a field with a smaller scale has all
//! that a field with a larger one needs. The correction changes the field, the scale option of a SYN, and the checksum
//! (RFC 1624). It keeps all lengths.

use super::ends::flow_of;
use ::capture::PcapngWriter;
use ::capture::segment::End;
use base::wire::icmp::ICMP;
use base::wire::{TCP, flag, option};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Window scales of both ends of a flow; `None`: no option.
type Scales = [Option<u8>; 2];

/// Bytes that are read and corrected at a time.
const ROOM: usize = 1 << 18;
/// Bound of the positions that are kept: 8 MB.
const MOST: usize = 1 << 20;
/// Length of a packet block before its packet, bytes.
const HEAD: usize = 28;
/// Length of an IPv4 header without options, bytes.
const IP: usize = 20;
/// Largest TCP header, bytes.
const LARGEST: usize = 60;

/// Changes of window scales while files are written.
#[derive(Default)]
pub(super) struct Rescaling {
    /// Position in each file, in its order, at which packets have the scales of a change and all before.
    positions: Vec<Vec<u64>>,
    /// Changes in order.
    changes: Vec<Change>,
    /// Whether a change cannot be corrected.
    lost: bool,
}

/// Change of the window scales of a flow.
#[derive(Clone, Copy)]
struct Change {
    /// Index in [`Rescaling::positions`].
    at: usize,
    flow: usize,
    before: Scales,
    now: Scales,
}

impl Rescaling {
    /// Notes that the scales of a flow change; [`Rescaling::begin`] follows.
    pub(super) fn change(&mut self, flow: usize, before: Scales, now: Scales) {
        // The option has a length.
        self.lost |= before.map(|scale| scale.is_none()) != now.map(|scale| scale.is_none());
        self.changes.push(Change { at: self.positions.len(), flow, before, now });
    }

    /// Notes that packets have the new scales from the present end of each file on.
    ///
    /// # Errors
    /// Errors of the files.
    pub(super) fn begin<W: Write + Seek>(&mut self, writers: &mut [PcapngWriter<W>]) -> io::Result<()> {
        if self.lost || (self.positions.len() + 1) * writers.len() > MOST {
            self.lost = true;
            return Ok(());
        }
        let positions = writers.iter_mut().map(|writer| writer.out().stream_position());
        self.positions.push(positions.collect::<io::Result<_>>()?);
        Ok(())
    }

    /// Whether no scale has changed.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Corrects the file `at`, whose packets have had the scales of `ends` since the last change. Returns false if it
    /// cannot be corrected.
    ///
    /// # Errors
    /// Errors of the file.
    pub(super) fn correct<F>(&self, file: &mut F, at: usize, ends: &[[End; 2]]) -> io::Result<bool>
    where
        F: Read + Write + Seek + ?Sized,
    {
        let Some(last) = self.positions.last().and_then(|last| last.get(at)).filter(|_| !self.lost) else {
            return Ok(!self.lost);
        };
        let finals: Vec<Scales> = ends.iter().map(|ends| ends.map(|end| end.scale)).collect();
        let mut scales = finals.clone();
        // Scales at the beginning of the file: those before the first change of each flow.
        self.changes.iter().rev().for_each(|change| scales[change.flow] = change.before);
        let begin = |change: &Change| self.positions.get(change.at).and_then(|all| all.get(at));
        let mut changes = self.changes.iter().peekable();
        let mut buffer = vec![0; ROOM];
        let mut from = 0;
        while from < *last {
            file.seek(SeekFrom::Start(from))?;
            let length = usize::try_from(last - from).unwrap_or(ROOM).min(ROOM);
            let part = &mut buffer[..length];
            file.read_exact(part)?;
            let (mut done, mut changed) = (0, false);
            while let Some(size) = block_at(part, done) {
                let place = from + done as u64;
                while let Some(change) = changes.next_if(|change| begin(change).is_none_or(|at| *at <= place))
                {
                    scales[change.flow] = change.now;
                }
                let block = &mut part[done..done + size];
                done += size;
                if block[..4] != 6u32.to_le_bytes() {
                    continue;
                }
                let kept = word(block, 20) as usize;
                let Some(packet) = block.get_mut(HEAD..HEAD + kept) else { return Ok(false) };
                match rescale(packet, &scales, &finals) {
                    Some(touched) => changed |= touched,
                    None => return Ok(false),
                }
            }
            if done == 0 {
                return Ok(false); // a block larger than the buffer
            }
            if changed {
                file.seek(SeekFrom::Start(from))?;
                file.write_all(&part[..done])?;
            }
            from += done as u64;
        }
        file.flush()?;
        Ok(true)
    }
}

/// Length of the block at an offset, if all of it is there.
fn block_at(part: &[u8], at: usize) -> Option<usize> {
    let size = word(part.get(at..at + 8)?, 4) as usize;
    (size >= 12 && at + size <= part.len()).then_some(size)
}

/// Little-endian word; 0 beyond the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word))
}

/// Field of 16 bits, if it is there.
fn half(packet: &[u8], at: usize) -> Option<u16> {
    packet.get(at..)?.first_chunk().map(|half| u16::from_be_bytes(*half))
}

/// Corrects a packet, which may be cut anywhere, from scales `scales` to `finals`. Returns whether it changed, `None` if
/// it cannot be corrected.
fn rescale(packet: &mut [u8], scales: &[Scales], finals: &[Scales]) -> Option<bool> {
    let tcp = match header(packet, 0) {
        Header::At(tcp) => tcp,
        Header::No => return Some(false),
        Header::Unclear => return None,
    };
    let (Some(from), Some(to)) = (half(packet, tcp), half(packet, tcp + 2)) else { return Some(false) };
    let (flow, side) = flow_of(from, to)?;
    let (before, now) = (scales.get(flow)?, finals.get(flow)?);
    let (Some(old), Some(new)) = (before[side], now[side]) else { return Some(false) };
    let (Some(offset), Some(flags)) = (packet.get(tcp + 12), packet.get(tcp + 13)) else {
        return Some(false);
    };
    let end = tcp + 4 * usize::from(offset >> 4);
    if old == new {
        return Some(false);
    }
    // Half a field cannot be corrected.
    if packet.len() == tcp + 15 || packet.len() == tcp + 17 {
        return None;
    }
    let (was, is) = if flags & flag::SYN != 0 {
        let word = [option::NOTHING, option::SCALE, 3, old];
        let options = (tcp + IP..end).step_by(4);
        let mut places = options.filter(|&place| packet.get(place..place + 4).is_none_or(|at| at == word));
        if let Some(byte) = places.next().and_then(|place| packet.get_mut(place + 3)) {
            *byte = new;
        }
        (u16::from_be_bytes([3, old]), u16::from_be_bytes([3, new]))
    } else {
        let Some(window) = half(packet, tcp + 14).filter(|_| now[1 - side].is_some()) else {
            return Some(false);
        };
        let scaled = window.div_ceil(1 << (new - old));
        packet[tcp + 14..tcp + 16].copy_from_slice(&scaled.to_be_bytes());
        (window, scaled)
    };
    if let Some(sum) = half(packet, tcp + 16) {
        //= RFC 1624 section 3: HC' = ~(~HC + ~m + m')
        let sum = u32::from(!sum) + u32::from(!was) + u32::from(is);
        let folded = (sum & 0xffff) + (sum >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        packet[tcp + 16..tcp + 18].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    }
    Some(true)
}

/// Place of the TCP header in a packet.
enum Header {
    At(usize),
    /// The packet has none, or the captured part ends before it.
    No,
    /// The packet has a part of one.
    Unclear,
}

/// Place of the TCP header of the IPv4 packet at an offset. An ICMP error quotes one: its checksum stays as it is, since
/// the quoted checksum makes up for what else changes in the quoted header.
fn header(packet: &[u8], at: usize) -> Header {
    let (Some(first), Some(fragment), Some(protocol)) =
        (packet.get(at), half(packet, at + 6), packet.get(at + 9))
    else {
        return Header::No;
    };
    let offset = 8 * usize::from(fragment & 0x1fff);
    match *protocol {
        TCP if *first != 0x45 => Header::Unclear,
        TCP if offset == 0 => Header::At(at + IP),
        TCP if offset < LARGEST => Header::Unclear,
        // Type 3, destination unreachable, quotes the packet behind eight bytes.
        ICMP if at == 0 && *first == 0x45 && packet.get(IP) == Some(&3) => header(packet, IP + 8),
        _ => Header::No,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ends::port;
    use super::*;
    use ::capture::segment::{self, IpFields};
    use base::Time;
    use base::tcp::{Segment, Timestamps};
    use base::wire::{fragment, icmp};
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    const FLOW: usize = 3;

    /// Packet of an end with these scales.
    fn packet(segment: &Segment, side: usize, scales: [u8; 2]) -> Vec<u8> {
        let end = |side: usize| End {
            address: Ipv4Addr::new(10, 0, 0, 1 + side as u8).into(),
            port: port(FLOW, side),
            scale: Some(scales[side]),
            permits_sack: true,
            mss: 1460,
            ..End::NOBODY
        };
        let mut out = Vec::new();
        let ip = IpFields { id: 7, ttl: 64, ..IpFields::default() };
        segment::packet(&mut out, &end(side), &end(1 - side), segment, ip, usize::MAX);
        out
    }

    /// Scales of flow [`FLOW`].
    fn scales(of: [u8; 2]) -> Vec<Scales> {
        [vec![[None; 2]; FLOW], vec![of.map(Some)]].concat()
    }

    proptest! {
        /// A corrected packet is that of the larger scale, wherever the capture cuts it, and inside an ICMP error.
        #[test]
        fn corrected_packets_are_those_of_the_larger_scale(
            (side, syn, stamps) in (0usize..2, any::<bool>(), any::<bool>()),
            (seq, len) in (any::<u32>(), 0u32..1400),
            (old, more) in ([0u8..8, 0u8..8], [0u8..7, 0u8..7]),
            (fill, keep) in (0.0..1.0f64, 0usize..120),
        ) {
            let new = [old[0] + more[0], old[1] + more[1]];
            let window = (65_535.0 * fill * f64::from(1u32 << old[side])) as u32;
            let timestamps = stamps.then(|| Timestamps { value: Time::from_nanos(5_000_000), echo: Time::NEVER });
            let segment = Segment {
                seq: u64::from(seq), len, window, syn, timestamps, has_ack: !syn, ..Segment::default()
            };
            let (before, after) = (packet(&segment, side, old), packet(&segment, side, new));
            let quoting = |packet: &[u8]| icmp::too_big(packet, 576).unwrap();
            for (mut before, after) in [(quoting(&before), quoting(&after)), (before, after)] {
                let kept = keep.min(before.len());
                match rescale(&mut before[..kept], &scales(old), &scales(new)) {
                    Some(_) => prop_assert_eq!(&before[..kept], &after[..kept]),
                    // The capture ends inside a field.
                    None => prop_assert!([35, 37, 63, 65].contains(&kept)),
                }
            }
        }

        /// Fragments: the first one has the header. What cannot be corrected is refused.
        #[test]
        fn fragments_are_corrected_or_refused(window in 0u32..65_536, mtu in 28u32..600) {
            let segment = Segment { len: 1000, window, has_ack: true, ..Segment::default() };
            let cut = |scales| {
                let mut whole = packet(&segment, 0, scales);
                whole[6] &= !0x40; // routers may cut it
                fragment::cut(&whole, mtu).unwrap()
            };
            let (before, after) = (cut([0, 0]), cut([3, 0]));
            for (mut before, after) in before.into_iter().zip(after) {
                // Fragments have other checksums of IP than the whole, of which they are cut in both cases.
                match rescale(&mut before, &scales([0, 0]), &scales([3, 0])) {
                    Some(_) => prop_assert_eq!(before, after),
                    // The next one begins inside the largest header.
                    None => prop_assert!((mtu - 20) / 8 * 8 < 60),
                }
            }
        }
    }

    #[test]
    fn ports_name_flow_and_end() {
        for flow in [0, 1, 16_383, 16_384, 40_000] {
            for side in [0, 1] {
                assert_eq!(flow_of(port(flow, side), port(flow, 1 - side)), Some((flow, side)));
            }
        }
        assert_eq!(flow_of(5000, 49_152), None);
    }
}
