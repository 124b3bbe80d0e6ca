//! Body of the fuzz target `radio`: parsers of blocks, frames and PDUs, and a sender whose mobile reports anything.

use radio::coding::Scheme;
use radio::rlc::bits::Bits;
use radio::rlc::receive::Report;
use radio::rlc::send::{SendOptions, Sender};
use radio::rlc::{Mode, Numbering};
use radio::wire::{assignment, block, gb, gmm, llc, message, pcuif};

/// Input is read by every parser, and drives a sender.
pub(crate) fn blocks(bytes: &[u8]) {
    parsers(bytes);
    for numbering in [Numbering::GPRS, Numbering::egprs(192)] {
        hostile(numbering, bytes);
    }
}

fn parsers(bytes: &[u8]) {
    for up in [false, true] {
        if let Some(read) = block::read_gprs(up, bytes) {
            assert!(read.segments.iter().all(|s| s.octets.end <= bytes.len()));
        }
        for unit in block::read_egprs(up, bytes).map(|(_, units)| units).unwrap_or_default() {
            if let Some((_, segments)) = block::read_egprs_body(unit.none, &unit.octets) {
                assert!(segments.iter().all(|s| s.octets.end <= unit.octets.len()));
            }
        }
    }
    let _ = (message::read_down(bytes), message::read_up(bytes));
    let _ = (assignment::read_immediate(bytes), assignment::read_packet(bytes), pcuif::read(bytes));
    let _ = (gmm::read(bytes), gmm::read_up(bytes));
    if let Some(read) = llc::read(bytes) {
        let _ = llc::read_segment(read.information);
    }
    let _ = llc::read_segment(bytes);
    if let Some(pdu) = gb::read(bytes) {
        (0..=255).for_each(|element| _ = pdu.element(element));
    }
}

/// Six octets are one turn: some blocks, then a report with numbers near the sender's, or far from them.
fn hostile(numbering: Numbering, bytes: &[u8]) {
    let rules = SendOptions { hold_off: 3, resegment: true, ..SendOptions::default() };
    let mut sender = Sender::new(numbering, Mode::Acknowledged, rules).keeping_cuts();
    let scheme = if numbering.space > 128 { Scheme::Mcs9 } else { Scheme::Cs2 };
    let mut octets = 0;
    for (tick, turn) in bytes.chunks_exact(6).enumerate() {
        let size = 1 + u32::from(turn[0]) * 6;
        sender.feed.push(size, tick);
        octets += u64::from(size);
        for _ in 0..turn[1] % 32 {
            let Some(block) = sender.next(tick as u32, scheme, turn[1] & 64 != 0) else { break };
            for unit in block.units() {
                assert!((sender.va()..sender.vs()).contains(&unit.bsn));
                assert!(sender.cut_of(unit.bsn).is_some());
            }
        }
        let near = |octet: u8| (sender.va() + u32::from(octet)).saturating_sub(64);
        let mut received = Bits::new(if turn[5] & 1 == 0 { numbering.window } else { 64 });
        (0..64).filter(|i| turn[4] >> (i % 8) & 1 == 1).for_each(|i| received.set(sender.va() + i));
        let far = turn[5] & 2 != 0;
        let complete = if far { u32::MAX - u32::from(turn[2]) } else { near(turn[2]) };
        let report = Report { complete, end: near(turn[3]), received, last: turn[5] & 4 != 0 };
        sender.on_report(&report, tick as u32);
        assert!(sender.va() <= sender.vs() && sender.vs() <= sender.va() + numbering.window);
        assert!(sender.outstanding() <= numbering.window && sender.feed.waiting() <= octets);
        if turn[5] & 8 != 0 {
            sender.restart(numbering, |_| ());
            assert!(sender.va() == 0 && sender.vs() == 0);
        }
    }
}
