//! The bodies of the fuzz targets of this crate: what a serial line and an interface bring.

use base::wire::frame::{Framing, is_between_neighbours};
use base::wire::hdlc::{self, Deframer, Found, FrameError};
use base::wire::{self, offload};

/// Frames, what is none, and talk, joined.
fn found(pieces: impl Iterator<Item = Vec<u8>>) -> (Vec<Vec<u8>>, Vec<FrameError>, Vec<u8>) {
    let (mut frames, mut wrong, mut talk) = (Vec::new(), Vec::new(), Vec::new());
    let mut deframer = Deframer::default();
    for piece in pieces {
        deframer.take(&piece, |found| match found {
            Found::Frame(frame) => frames.push(frame.to_vec()),
            Found::Wrong(why) => wrong.push(why),
            Found::Talk(bytes) => talk.extend(bytes),
        });
    }
    (frames, wrong, talk)
}

/// A serial line: the first byte is the length of its pieces, the rest is what stands on it. In pieces it says what it
/// says whole; a frame is good, of a size that frames have, and found again once it is put on a line.
pub(crate) fn line(bytes: &[u8]) {
    let Some((piece, line)) = bytes.split_first() else { return };
    let whole = found([line.to_vec()].into_iter());
    let pieces = line.chunks(usize::from(*piece).max(1)).map(<[u8]>::to_vec);
    assert_eq!(found(pieces), whole);
    let mut again = Vec::new();
    for frame in &whole.0 {
        assert!((hdlc::LEAST..=hdlc::MOST).contains(&frame.len()) && hdlc::is_good(frame));
        assert!(Framing::Ppp.packet(frame).is_none_or(|at| at < frame.len()));
        hdlc::put(frame, &mut again);
    }
    assert_eq!(found([again].into_iter()), (whole.0, Vec::new(), Vec::new()));
}

/// A frame of an interface, behind what its kernel says of it: where the sum begins, where it stands, how large its pieces
/// are. No panic; what it is cut into are packets, no larger than they were to be, with all of the payload.
pub(crate) fn large(bytes: &[u8]) {
    let Some((&[start, field, piece], frame)) = bytes.split_first_chunk() else { return };
    let mut copy = frame.to_vec();
    offload::complete(&mut copy, start.into(), field.into());
    let Some(at) = Framing::Ethernet.packet(frame) else { return };
    is_between_neighbours(&frame[at..]);
    let piece = usize::from(piece) * 4;
    let Some(pieces) = offload::cut(frame, at, piece) else { return };
    let Ok(before) = wire::IpHead::read(&frame[at..], (frame.len() - at) as u32) else { return };
    // What stands before the payload, told by a piece that is full.
    let size = before.size as usize;
    let heads = if pieces.len() > 1 { pieces[0].len() - at - piece } else { 0 };
    let mut payload = 0;
    for one in &pieces {
        let head = wire::IpHead::read(&one[at..], 0).expect("a piece is a packet");
        assert_eq!(head.size as usize, one.len() - at);
        payload += one.len() - at - heads;
    }
    assert_eq!(payload, size - heads);
}
