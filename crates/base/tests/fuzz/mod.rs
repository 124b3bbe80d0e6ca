//! Fuzz targets of wire formats: bytes from a serial line, and frames from an interface with segmentation
//! offload.

use base::wire::frame::{Framing, is_between_neighbours};
use base::wire::hdlc::{self, Deframed, Deframer, FrameError};
use base::wire::join::{Join, MOST_HEADERS};
use base::wire::{self, offload};

/// Frames, framing errors and plain text, joined.
fn found(pieces: impl Iterator<Item = Vec<u8>>) -> (Vec<Vec<u8>>, Vec<FrameError>, Vec<u8>) {
    let (mut frames, mut wrong, mut talk) = (Vec::new(), Vec::new(), Vec::new());
    let mut deframer = Deframer::default();
    for piece in pieces {
        deframer.take(&piece, |found| match found {
            Deframed::Frame(frame) => frames.push(frame.to_vec()),
            Deframed::Wrong(why) => wrong.push(why),
            Deframed::Talk(bytes) => talk.extend(bytes),
        });
    }
    (frames, wrong, talk)
}

/// Deframes a serial line: the first byte is the length of its pieces, the rest is the input. Pieces and
/// whole input yield equal results; an accepted frame has a valid size and is found again after encoding.
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

/// Cuts a frame of an interface behind its kernel header: offsets of the checksum, size of segments. No
/// panic; the results are packets within the size limit, with all of the payload.
pub(crate) fn large(bytes: &[u8]) {
    let Some((&[start, field, piece], frame)) = bytes.split_first_chunk() else { return };
    let mut copy = frame.to_vec();
    offload::complete(&mut copy, start.into(), field.into());
    let Some(at) = Framing::Ethernet.packet(frame) else { return };
    is_between_neighbours(&frame[at..]);
    let piece = usize::from(piece) * 4;
    let Some(pieces) = offload::cut(frame, at, piece) else { return };
    let Ok(before) = wire::IpHead::read(&frame[at..], (frame.len() - at) as u32) else { return };
    // Headers before the payload, from a full segment.
    let size = before.size as usize;
    let heads = if pieces.len() > 1 { pieces[0].len() - at - piece } else { 0 };
    let mut payload = 0;
    for one in &pieces {
        let head = wire::IpHead::read(&one[at..], 0).expect("a piece is a packet");
        assert_eq!(head.size as usize, one.len() - at);
        payload += one.len() - at - heads;
    }
    assert_eq!(payload, size - heads);
    let packets: Vec<&[u8]> = pieces.iter().map(|one| &one[at..]).collect();
    join(&packets);
}

/// Joins packets as far as they continue each other: the large packet is valid, and cut again it gives the same octets.
fn join(packets: &[&[u8]]) {
    let Some((mut joined, first)) = packets.first().and_then(|first| Some((Join::new(first)?, *first)))
    else {
        return;
    };
    let number = 1 + packets[1..].iter().take_while(|next| joined.add(first, next)).count();
    assert_eq!(joined.number(), number);
    if number < 2 {
        return;
    }
    let mut headers = [0; MOST_HEADERS];
    joined.write_headers(first, &mut headers);
    let (ip, length) = joined.header_lengths();
    let mut whole = headers[..length].to_vec();
    packets[..number].iter().for_each(|packet| whole.extend(&packet[length..]));
    assert_eq!(offload::cut(&whole, 0, joined.piece()).expect("a large packet"), &packets[..number]);
    assert!(offload::complete(&mut whole, ip, joined.transport().checksum()));
    assert_eq!(wire::read(&whole).map(|digest| digest.size as usize), Ok(whole.len()));
}
