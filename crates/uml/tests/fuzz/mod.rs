//! Fuzz target of a guest's calendar, network card and memory: arbitrary bytes are the kernel's messages and
//! memory. The fuzzer's target and the replay of its corpus share this file.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use std::cell::RefCell;
use uml::calendar::{Calendar, Message, Op};
use uml::nic::{Frame, Nic};
use uml::ring::{Memory, RingFault};
use uml::vhost;

/// The guest's memory, from address 0.
struct OwnMemory(RefCell<Vec<u8>>);

impl OwnMemory {
    fn range(&self, at: u64, n: usize) -> Result<std::ops::Range<usize>, RingFault> {
        let outside = RingFault::Outside(at, n as u64);
        let from = usize::try_from(at).map_err(|_| outside)?;
        let until = from.checked_add(n).filter(|end| *end <= self.0.borrow().len()).ok_or(outside)?;
        Ok(from..until)
    }
}

impl Memory for OwnMemory {
    fn read(&self, at: u64, to: &mut [u8]) -> Result<(), RingFault> {
        let range = self.range(at, to.len())?;
        to.copy_from_slice(&self.0.borrow()[range]);
        Ok(())
    }
    fn write(&self, at: u64, from: &[u8]) -> Result<(), RingFault> {
        let range = self.range(at, from.len())?;
        self.0.borrow_mut()[range].copy_from_slice(from);
        Ok(())
    }
}

/// Takes this number of bytes; fewer at the end.
fn next<'a>(bytes: &mut &'a [u8], n: usize) -> &'a [u8] {
    let (part, rest) = bytes.split_at(n.min(bytes.len()));
    *bytes = rest;
    part
}

fn word(bytes: &mut &[u8]) -> u64 {
    next(bytes, 2).iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// A byte selects the input: a message to the calendar, bytes or a request to the card, bytes in the memory, a packet
/// for the kernel, a turn. Time never decreases, no turn exceeds its limit, and every packet has a valid length.
pub fn kernel(mut bytes: &[u8]) {
    let mut calendar = Calendar::new(0);
    let mut nic = Nic::new(
        [2, 0, 0, 0, 0, 1],
        bytes.len() % 2 == 1,
        if bytes.len().is_multiple_of(3) { 9000 } else { 1500 },
    );
    let memory = OwnMemory(RefCell::new(vec![0; 1 << 16]));
    let mut stream = Vec::new();
    let (mut broken, mut allowed) = (false, 0);
    while let [what, rest @ ..] = bytes {
        bytes = rest;
        let before = calendar.now();
        match what % 7 {
            0 => {
                let op = word(&mut bytes) as u32 % 11;
                let message = Message { op, seq: word(&mut bytes) as u32, time: word(&mut bytes) };
                broken |= calendar.receive(message).is_err();
            }
            1 => {
                let n = word(&mut bytes) as usize % 64;
                stream.extend(next(&mut bytes, n));
                while let Ok(Some(message)) = vhost::Message::take(&mut stream) {
                    assert!(message.payload.len() <= vhost::LONGEST);
                    let _ = nic.answer(&message, usize::from(message.is_reply));
                }
            }
            2 => {
                let request = word(&mut bytes) as u32 % 40;
                let n = word(&mut bytes) as usize % 64;
                let payload = next(&mut bytes, n).to_vec();
                let message = vhost::Message { request, wants_reply: true, is_reply: false, payload };
                let _ = nic.answer(&message, 1);
            }
            3 => {
                let at = word(&mut bytes);
                let n = word(&mut bytes) as usize % 64;
                let _ = memory.write(at, next(&mut bytes, n));
            }
            4 => {
                for frame in nic.sent(&memory).unwrap_or_default() {
                    let (Frame::Packet(inner) | Frame::Word(inner)) = frame;
                    assert!((1..=65_535).contains(&inner.len()));
                    let _ = uml::workload_protocol::socket_state(&inner);
                    let _ = uml::workload_protocol::call(&inner);
                }
                let _ = nic.release(&memory);
                let _ = nic.wants_call(&memory, 1);
            }
            5 => {
                let n = word(&mut bytes) as usize % 1500;
                let _ = nic.receive(&memory, next(&mut bytes, n));
            }
            _ if calendar.waits() && !broken => {
                let at = calendar.request().min(before + 1000);
                allowed = at.max(before) + 500;
                for message in calendar.run(at, allowed) {
                    let ack = Message { op: Op::Ack as u32, time: 0, ..message };
                    assert_eq!(calendar.receive(ack), Ok(None));
                }
            }
            _ => {}
        }
        assert!(calendar.now() >= before, "time went back");
        assert!(calendar.now() <= allowed, "it ran beyond what it was allowed");
    }
}
