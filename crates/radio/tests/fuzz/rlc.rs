//! Fuzz body of RLC: a sender and a receiver, blocks that are lost, repeated or forged, and forged reports.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use radio::coding::Scheme;
use radio::rlc::receive::{BlockPart, Receiver};
use radio::rlc::send::{SendOptions, Sender};
use radio::rlc::{Mode, Numbering};

/// Options, then steps: a PDU, a block that arrives or is lost, a report, old, cut or forged. No panic; V(A) and V(S)
/// keep their order within the window; nothing counts as acknowledged beyond the data sent.
pub(crate) fn blocks(bytes: &[u8]) {
    let Some(([options, window], mut steps)) = bytes.split_first_chunk::<2>() else { return };
    let egprs = options & 1 != 0;
    let numbering = if egprs { Numbering::egprs(u32::from(*window) * 8) } else { Numbering::GPRS };
    let mode = if options & 2 == 0 { Mode::Acknowledged } else { Mode::Unacknowledged };
    let resegment = egprs && options & 4 != 0;
    let rules = SendOptions { preemptive: options & 8 != 0, hold_off: u32::from(options >> 4), resegment };
    let mut sender = Sender::new(numbering, mode, rules);
    let mut receiver = Receiver::new(numbering, mode, resegment);
    let mut report = receiver.report();
    let schemes: Vec<Scheme> = (1..=9).filter_map(|n| Scheme::numbered(egprs, n)).collect();
    let mut pushed = 0_u32;
    for now in 0_u32.. {
        let [step, value, rest @ ..] = steps else { break };
        steps = rest;
        let value = u32::from(*value);
        match step % 8 {
            0 => {
                sender.feed.push(1 + value * 8, pushed);
                pushed += 1;
            }
            1..=3 => {
                let scheme = schemes[value as usize % schemes.len()];
                let Some(block) = sender.next(now, scheme, value & 128 != 0) else { continue };
                for unit in block.units() {
                    assert!(unit.bsn < sender.vs(), "a block that was never new");
                    if step % 8 != 3 {
                        // Wire values are numbers modulo SNS.
                        let wire = numbering.wire(unit.bsn);
                        if let Some(bsn) = receiver.resolve(wire) {
                            receiver.take(bsn, unit.part, unit.last);
                        }
                    }
                }
            }
            4 => report = receiver.report(),
            5 => {
                sender.on_report(&report, now);
            }
            6 => {
                let mut forged = receiver.report_of(value);
                forged.complete = forged.complete.wrapping_add(value << 4);
                forged.end = forged.end.wrapping_add(value.wrapping_mul(0x0101_0101));
                sender.on_report(&forged, now);
            }
            _ => {
                let part = [BlockPart::Whole, BlockPart::First, BlockPart::Second][value as usize % 3];
                if let Some(bsn) = receiver.resolve(value << 3 & (numbering.space - 1)) {
                    receiver.take(bsn, part, value & 64 != 0);
                }
            }
        }
        assert!(sender.va() <= sender.vs(), "V(A) beyond V(S)");
        assert!(receiver.vq() <= receiver.vr(), "V(Q) beyond V(R)");
        if mode == Mode::Acknowledged {
            assert!(sender.vs() - sender.va() <= numbering.window, "a window that is too wide");
            assert!(receiver.vr() - receiver.vq() <= numbering.window, "a window that is too wide");
        }
    }
}
