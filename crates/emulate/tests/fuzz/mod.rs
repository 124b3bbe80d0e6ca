//! Fuzz target of this crate: responses of a link process (docs/link-process.md).

use base::Time;
use emulate::link_process::response::{LONGEST, Response, Responses, answer};
use path::outside::{PacketArrival, PacketFate};
use std::io::{self, Read};

/// Delivers `bytes` in pieces of at most `most` bytes.
struct Pieces<'a> {
    bytes: &'a [u8],
    most: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let most = self.most.min(to.len());
        self.bytes.read(&mut to[..most])
    }
}

/// Output of a program: the first byte is the length of the pieces, the second the packet of the request. Lines do not
/// depend on the pieces, and none is too long; a delivery time is later than the request and is encoded to equal text.
pub(crate) fn link_process(bytes: &[u8]) {
    let Some((&[most, number], output)) = bytes.split_first_chunk() else { return };
    let whole: Vec<Response> = Responses::of(output).collect();
    let pieces = Pieces { bytes: output, most: usize::from(most).max(1) };
    assert!(Responses::of(pieces).eq(whole.iter().cloned()));
    let before_last = whole.len().saturating_sub(1);
    assert!(whole.iter().take(before_last).all(|said| matches!(said, Response::Line(_))));
    let packet = PacketArrival { at: Time::from_nanos(1000), number: number.into(), size: 40, flow: 0 };
    for said in whole {
        let Response::Line(line) = said else { continue };
        // A byte that is not UTF-8 becomes three.
        assert!(line.len() as u64 <= 3 * LONGEST);
        let again = match answer(&line, &packet) {
            Ok(PacketFate::Lost) => (PacketFate::Lost, format!("{number} lost")),
            Ok(PacketFate::At(t)) => {
                assert!(packet.at < t && t < Time::NEVER);
                (PacketFate::At(t), format!("{number} at {}", t.as_nanos()))
            }
            Err(why) => {
                assert!(!why.is_empty());
                continue;
            }
        };
        assert_eq!(answer(&again.1, &packet), Ok(again.0));
    }
}
