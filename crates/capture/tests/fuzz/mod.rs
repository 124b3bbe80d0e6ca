//! Fuzz targets of capture files and packet headers, replayed by `cargo test`: for any bytes, reading ends, invents no
//! packet, and does not depend on how the bytes are split.
#![allow(dead_code, reason = "each fuzz target uses one of them")]

use base::wire::{TcpHead, read};
use capture::anonymise::{Key, Mapping, copy};
use capture::{Link, Reader, Tap, decode};
use std::io::{self, Read};

/// Reader that returns few bytes per call.
struct Pieces<'a> {
    bytes: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.size.min(into.len()).min(self.bytes.len());
        into[..n].copy_from_slice(&self.bytes[..n]);
        self.bytes = &self.bytes[n..];
        Ok(n)
    }
}

/// Frame as read: time, interface, original length, captured length, comments.
type Seen = (i64, u32, u32, Vec<u8>, Vec<String>);

fn all(from: impl Read, length: usize) -> Option<(Vec<Seen>, usize)> {
    let mut reader = Reader::open(from).ok()?;
    let mut seen = Vec::new();
    let (mut bytes, mut last) = (0, 0);
    while let Some(frame) = reader.next().unwrap() {
        assert!(frame.wire_len as usize >= frame.bytes.len());
        assert!(frame.offset >= last && frame.offset < length as u64);
        last = frame.offset;
        bytes += frame.bytes.len();
        let _ = (frame.decode(), frame.flags());
        let comments = frame.comments().map(str::to_owned).collect();
        seen.push((frame.time_ns, frame.interface, frame.wire_len, frame.bytes.to_vec(), comments));
    }
    assert!(bytes <= length && reader.position() <= length as u64);
    assert!(seen.iter().all(|s| (s.1 as usize) < reader.interfaces().len()));
    assert!(reader.next().unwrap().is_none(), "the end is not the end");
    Some((seen, reader.notices().kept().len()))
}

fn file(bytes: &[u8], size: usize) {
    let whole = all(bytes, bytes.len());
    assert_eq!(whole, all(Pieces { bytes, size }, bytes.len()), "pieces of {size}");
    // An anonymised copy can be read, and is complete.
    if let Ok(mut reader) = Reader::open(bytes) {
        let mut out = Vec::new();
        let tally = copy(&mut reader, &mut out, &mut Mapping::new(Key([7; 16])), "").unwrap();
        let (seen, notices) = all(&out[..], out.len()).unwrap_or_default();
        assert_eq!((seen.len() as u64, notices), (tally.written, 0));
    }
}

/// Any file; without a pcap magic number it gets a header. The first byte selects the size of the pieces.
pub(crate) fn pcap(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else { return };
    let size = usize::from(size) + 1;
    file(bytes, size);
    let magic = [0xa1b2_c3d4u32, 0xa1b2_3c4d, 0xa1b2_cd34][size % 3];
    let mut with = if size % 2 == 0 { magic.to_le_bytes().to_vec() } else { magic.to_be_bytes().to_vec() };
    with.extend(bytes);
    file(&with, size);
}

/// Any file; then the same after a section header and an interface description.
pub(crate) fn pcapng(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else { return };
    let size = usize::from(size) + 1;
    file(bytes, size);
    let writer = capture::PcapngWriter::new(Vec::new(), vec![Tap::ip("any")], "").unwrap();
    let mut with = writer.finish().unwrap();
    with.extend(bytes);
    file(&with, size);
}

/// Frame of any link type. The first two bytes are the type, the third is added to the original length.
pub(crate) fn frame(bytes: &[u8]) {
    let Some((&[low, high, more], bytes)) = bytes.split_first_chunk::<3>() else { return };
    let link = Link(u16::from_le_bytes([low, high & 1]));
    let wire = bytes.len() as u32 + u32::from(more);
    let Ok(packet) = decode(link, bytes, wire) else { return };
    assert!(packet.payload.len() <= packet.payload_len as usize && packet.payload.len() <= bytes.len());
    assert!(packet.ip.header <= packet.ip.size && packet.network <= bytes.len());
    if !packet.cut {
        assert_eq!(packet.payload.len(), packet.payload_len as usize);
    }
    // The reader of a port, which accepts only complete packets, agrees.
    if let Ok(digest) = read(&bytes[packet.network..])
        && let Some(tcp) = digest.tcp
        && let Some(here) = packet.tcp()
        // PPPoE may contain a smaller length.
        && digest.size == packet.ip.size
    {
        assert_eq!((&tcp, digest.payload, digest.ecn), (here, packet.payload_len, packet.ip.ecn));
    }
}

/// TCP options of a segment.
pub(crate) fn tcp_options(bytes: &[u8]) {
    for told in [bytes.len().div_ceil(4).min(10), bytes.len() / 4 % 11, 10] {
        let mut segment = vec![0; 20];
        segment[12] = (5 + told as u8) << 4;
        segment.extend(bytes);
        let Some((head, length)) = TcpHead::read(&segment) else { panic!("a header of {told} words") };
        assert_eq!(length, 20 + 4 * told);
        assert_eq!(head.cut, segment.len() < length);
        assert!(head.sacks <= 4 && head.blocks().len() == usize::from(head.sacks));
        // Bytes after the header have no influence.
        segment.truncate(length);
        let alone = TcpHead::read(&segment).map(|(head, _)| head);
        assert_eq!(alone, Some(head));
    }
}
