//! Workload protocol between the simulator and a guest's init: orders to sockets, connection states,
//! datagrams, trigger calls, PCU messages.
//!
//! The simulator sends orders, and the guest's init sends connection states. Messages are frames with an EtherType
//! that programs do not see. They have 24 bytes, except for the end message and PCU messages. `guest/agent.c`,
//! `guest/datagrams.c`, `guest/bulk.c`, `guest/calls.c` and `guest/pcu.c` implement the guest's side.

use host::{SocketOrder, SocketState};
use radio::pcu::{Message, PcuInterface};
use transport::app::datagrams::Datagram;

/// Length of a message, bytes: operation, connection and two numbers.
const SIZE: usize = 24;
/// Message that ends all work; shorter than any other message.
pub const END: &[u8] = b"end";
/// Order: open a connection.
const OPEN: u32 = 1;
/// Order: write bytes to a connection.
const WRITE: u32 = 2;
/// Order: shut down a connection after its bytes.
const CLOSE: u32 = 3;
/// Order: reset a connection.
const ABORT: u32 = 4;
/// State of a connection: bytes received and acknowledged.
const STANDS: u32 = 6;
/// State of a connection that is broken.
const BROKEN: u32 = 7;
/// Order: send a datagram.
const SAY: u32 = 8;
/// A datagram was received.
const HEARD: u32 = 9;
/// Order: read bytes of a connection.
const READ: u32 = 10;
/// Trigger call of a program.
const CALL: u32 = 11;
/// Response to a trigger call.
const CALLED: u32 = 12;
/// Message between PCU and base station.
const STATION: u32 = 13;
/// Message between PCU and SGSN (Gb).
const GB: u32 = 14;

/// Serialises a message to the PCU program of a guest.
pub fn message(message: &Message) -> Vec<u8> {
    let what = match message.link {
        PcuInterface::Station => STATION,
        PcuInterface::Gb => GB,
    };
    let mut word = Vec::with_capacity(8 + message.octets.len());
    word.extend(what.to_ne_bytes());
    word.extend((message.octets.len() as u32).to_ne_bytes());
    word.extend_from_slice(&message.octets);
    word
}

/// Parses a message of the PCU program; `None` for another kind of message.
pub fn pcu_message(word: &[u8]) -> Option<Message> {
    let (what, rest) = word.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let link = match u32::from_ne_bytes(*what) {
        STATION => PcuInterface::Station,
        GB => PcuInterface::Gb,
        _ => return None,
    };
    let octets = rest.get(..u32::from_ne_bytes(*length) as usize)?.to_vec();
    Some(Message { link, octets })
}

/// Serialises the order to send a datagram.
pub fn send_datagram(datagram: Datagram) -> Vec<u8> {
    word(SAY, datagram.ordinal, u64::from(datagram.bytes))
}

/// Number of a received datagram; `None` for another kind of message.
pub fn datagram_received(word: &[u8]) -> Option<u32> {
    let (what, rest) = word.split_first_chunk()?;
    let number = u32::from_ne_bytes(*rest.first_chunk()?);
    (u32::from_ne_bytes(*what) == HEARD && word.len() >= SIZE).then_some(number)
}

/// Trigger fired by a program: number of the call, index of the trigger, and its value (0 without one);
/// `None` for another kind of message.
pub fn call(word: &[u8]) -> Option<(u32, u64, u64)> {
    let (what, rest) = word.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (name, rest) = rest.split_first_chunk()?;
    let (value, _) = rest.split_first_chunk()?;
    let called = u32::from_ne_bytes(*what) == CALL;
    called.then(|| (u32::from_ne_bytes(*number), u64::from_ne_bytes(*name), u64::from_ne_bytes(*value)))
}

/// Serialises the response to trigger call `number`; `at` is the time of the trigger, ns of the network, `None` for
/// an unknown trigger.
pub fn called(number: u32, at: Option<u64>) -> Vec<u8> {
    word(CALLED, number, at.unwrap_or(u64::MAX))
}

/// Serialises an order.
pub fn order(order: SocketOrder) -> Vec<u8> {
    let (what, line, bytes) = match order {
        SocketOrder::Open(line) => (OPEN, line, 0),
        SocketOrder::Write(line, bytes) => (WRITE, line, bytes),
        SocketOrder::Close(line) => (CLOSE, line, 0),
        SocketOrder::Abort(line) => (ABORT, line, 0),
        SocketOrder::Read(line, bytes) => (READ, line, bytes),
    };
    word(what, line as u32, bytes)
}

/// A message of 24 bytes: operation, connection or number, a 64-bit number, and zeros.
fn word(what: u32, line: u32, bytes: u64) -> Vec<u8> {
    let mut word = Vec::with_capacity(SIZE);
    word.extend(what.to_ne_bytes());
    word.extend(line.to_ne_bytes());
    word.extend(bytes.to_ne_bytes());
    word.extend([0; 8]);
    word
}

/// Parses a connection state; `None` for another kind of message.
pub fn socket_state(word: &[u8]) -> Option<SocketState> {
    let (what, rest) = word.split_first_chunk()?;
    let (line, rest) = rest.split_first_chunk()?;
    let (received, rest) = rest.split_first_chunk()?;
    let (acknowledged, _) = rest.split_first_chunk()?;
    let what = u32::from_ne_bytes(*what);
    (what == STANDS || what == BROKEN).then(|| SocketState {
        conn: u32::from_ne_bytes(*line) as usize,
        received: u64::from_ne_bytes(*received),
        acknowledged: u64::from_ne_bytes(*acknowledged),
        broken: what == BROKEN,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_are_words_and_words_standings() {
        let word = order(SocketOrder::Write(3, 1 << 40));
        assert_eq!((word.len(), socket_state(&word)), (SIZE, None));
        let mut bytes = [STANDS.to_ne_bytes(), 3u32.to_ne_bytes()].concat();
        bytes.extend(7u64.to_ne_bytes());
        assert_eq!(socket_state(&bytes), None);
        bytes.extend(9u64.to_ne_bytes());
        let state = SocketState { conn: 3, received: 7, acknowledged: 9, broken: false };
        assert_eq!(socket_state(&bytes), Some(state));
        bytes[..4].copy_from_slice(&BROKEN.to_ne_bytes());
        assert_eq!(socket_state(&bytes), Some(SocketState { broken: true, ..state }));
    }

    #[test]
    fn datagrams_are_words() {
        let order = send_datagram(Datagram { ordinal: 5, offset: 9, bytes: 160, message: 0, last: true });
        assert_eq!((order.len(), datagram_received(&order), socket_state(&order)), (SIZE, None, None));
        assert_eq!(order[8..16], 160u64.to_ne_bytes());
        let mut bytes = order;
        bytes[..4].copy_from_slice(&HEARD.to_ne_bytes());
        assert_eq!((datagram_received(&bytes), socket_state(&bytes)), (Some(5), None));
        assert_eq!(datagram_received(&bytes[..SIZE - 1]), None);
    }

    #[test]
    fn calls_are_words() {
        let mut bytes = called(7, Some(3));
        assert_eq!((bytes.len(), call(&bytes), socket_state(&bytes)), (SIZE, None, None));
        bytes[..4].copy_from_slice(&CALL.to_ne_bytes());
        assert_eq!(
            (call(&bytes), socket_state(&bytes), datagram_received(&bytes)),
            (Some((7, 3, 0)), None, None)
        );
        assert_eq!(call(&bytes[..SIZE - 1]), None);
        assert_eq!(called(7, None)[8..16], u64::MAX.to_ne_bytes());
    }

    proptest! {
        #[test]
        fn any_bytes_will_do(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(datagram_received(&bytes).is_none() || bytes.len() >= SIZE);
            prop_assert!(socket_state(&bytes).is_none() || bytes.len() >= SIZE);
            prop_assert!(call(&bytes).is_none() || bytes.len() >= SIZE);
        }
    }
}
