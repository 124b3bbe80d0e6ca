//! What a fuzzer does to what comes from another host, and to the file that names them. The fuzzer's target and the replay
//! of its corpus share this file.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use agent::list;
use agent::message::{self, MOST, Message, PIECE, Pieces};
use agent::token::Token;
use agent::way::{self, Seen};
use emulate::facts::TcpInfo;
use emulate::lateness::Histogram;

/// The first byte says what the rest is.
pub(crate) fn agent(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    match first & 3 {
        // Pieces, as the line's frames bring them: two bytes with the length of each.
        0 => {
            let (mut pieces, mut rest) = (Pieces::default(), rest);
            while let Some((length, after)) = rest.split_first_chunk::<2>() {
                let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
                let (piece, after) = after.split_at(length);
                match pieces.add(piece) {
                    Ok(Some((message, bytes))) => heard(&message, &bytes),
                    Ok(None) => {}
                    Err(_) => return,
                }
                rest = after;
            }
        }
        // The JSON of a message, and bytes behind a line feed.
        1 => {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let (json, bytes) = rest.split_at(end);
            let whole = [&[0], &(json.len() as u32).to_be_bytes()[..], json, bytes].concat();
            if let Ok(Some((message, bytes))) = Pieces::default().add(&whole) {
                heard(&message, &bytes);
            }
        }
        2 => {
            let text = String::from_utf8_lossy(rest);
            let _ = (Token::parse(&text), list::address(&text));
            match list::read(&text, &["server", "phone"]) {
                Ok(list) => assert!(!list.hosts.is_empty()),
                Err(wrong) => assert!(wrong.iter().all(|why| !why.is_empty()) && !wrong.is_empty()),
            }
        }
        _ => {
            let mut seen = Seen::default();
            for datagram in rest.chunks(8) {
                if way::of(datagram).is_some() {
                    let number: u64 = datagram.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
                    seen.add(number & ((1 << 40) - 1));
                    assert!(!seen.add(number & ((1 << 40) - 1)), "taken twice");
                }
            }
            let _ = seen.lost();
        }
    }
}

/// What was understood is said again in the same words.
fn heard(message: &Message, bytes: &[u8]) {
    assert!(bytes.len() <= MOST);
    if let Message::Returned(_, carried) = message {
        let took = Histogram::unpack(&carried.took);
        let _ = (took.quantile(0.5), took.above(took.max()));
    }
    let _ = serde_json::from_slice::<Vec<(f64, TcpInfo)>>(bytes);
    let mut again = Pieces::default();
    let said = message::write(message, bytes);
    let (last, before) = said.split_last().expect("a message has a piece");
    assert!(said.iter().all(|piece| piece.len() <= PIECE));
    for piece in before {
        assert_eq!(again.add(piece), Ok(None));
    }
    assert_eq!(again.add(last), Ok(Some((message.clone(), bytes.to_vec()))));
}
