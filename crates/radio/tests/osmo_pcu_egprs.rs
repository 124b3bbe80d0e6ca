//! Our EGPRS downlink beside a real PCU, block by block: Debian's osmo-pcu 1.1.0 and our sender with our formats, the same
//! LLC frames, the same lost blocks, the same reports. The first difference has a known cause (docs/pcu-agreement.md).
//! Without the program the test reports this and is skipped.

#![allow(clippy::disallowed_methods, reason = "a program on the real clock is waited for")]

#[path = "pcu/marks.rs"]
mod marks;
#[allow(dead_code, reason = "the other comparison uses the rest")]
mod pcu;
#[path = "pcu/egprs_up.rs"]
mod up;

use marks::Marks;
use pcu::{Pcu, Setup};
use radio::coding::Scheme;
use radio::llc::LlcMode;
use radio::rlc::receive::{BlockPart, Receiver};
use radio::rlc::send::{RadioBlock, SendOptions, Sender, Unit as Sent};
use radio::rlc::{Mode, Numbering};
use radio::wire::block::{self, Header, Piece, Unit};
use radio::wire::gb::Mobile;
use radio::wire::llc::{self, Numbers};
use radio::wire::message;

const TLLI: u32 = 0xc000_0001;
/// Start of an LLC dummy command (44.064 section 6.4.2.2), which fills a TBF that is kept.
const DUMMY_COMMAND: [u8; 3] = [0x43, 0xc0, 0x01];
/// Default window of the PCU for one timeslot.
const WINDOW: u32 = 64;

struct Case {
    name: &'static str,
    scheme: Scheme,
    frames: u32,
    /// Percent of blocks lost.
    loss: u32,
    /// Bitmaps of reports are cut to whole octets.
    whole: bool,
}

#[derive(Debug, Default)]
struct Found {
    /// Radio blocks before the first difference, and repeats among them.
    equal: u32,
    repeats: u32,
    difference: Option<(&'static str, String)>,
    reports: u32,
}

fn frame(number: u32) -> Vec<u8> {
    let mode = LlcMode::Unacknowledged;
    let numbers =
        Numbers { mode, up: false, frame: number, expected: 0, packet: number, segment: 0, more: false };
    let body: Vec<u8> = (0..490).map(|i| (i as u32 * 7 + number * 31) as u8).collect();
    llc::frame(&numbers, &body)
}

/// Our end of the network.
struct Line {
    sender: Sender<usize>,
    frames: Vec<Vec<u8>>,
}

impl Line {
    /// What our sender puts on air with this header. Polls and final blocks are the PCU's to say.
    fn octets(&self, block: &RadioBlock, header: &Header) -> Vec<u8> {
        let sent: Vec<Sent> = block.units().collect();
        let pieces: Vec<Vec<Piece<'_>>> = sent.iter().map(|unit| self.pieces(unit)).collect();
        let units: Vec<Unit<'_>> = sent
            .iter()
            .zip(&pieces)
            .map(|(unit, pieces)| Unit {
                bsn: unit.bsn % 2048,
                part: unit.part,
                first_scheme: unit.first_scheme,
                attempt: unit.attempt,
                flag: false,
                tlli: None,
                zero: self.sender.cut_of(unit.bsn).unwrap_or_default().zero,
                pieces,
            })
            .collect();
        block::egprs(block.scheme, header, &units)
    }

    fn pieces(&self, unit: &Sent) -> Vec<Piece<'_>> {
        let cut = self.sender.cut_of(unit.bsn).unwrap_or_default();
        let (mut left, mut from, mut number) = (usize::from(cut.octets), cut.offset as usize, cut.pdu);
        let mut pieces = Vec::new();
        while left > 0 {
            let pdu = self.sender.feed.pdu(number).expect("it is held until it is acknowledged");
            let n = left.min(pdu.size as usize - from);
            let ends = pieces.len() < usize::from(cut.ends);
            pieces.push(Piece { octets: &self.frames[pdu.token][from..from + n], ends });
            (left, from, number) = (left - n, 0, number + 1);
        }
        pieces
    }
}

fn found(case: &Case) -> Option<Found> {
    let number = case.scheme.number();
    let (initial, most) = (format!("mcs {number} 1"), format!("mcs max {number} 1"));
    let lines = [
        "flow-control-interval 10",
        "gamma 0",
        "alloc-algorithm a",
        "no cs downgrade-threshold",
        &initial,
        &most,
    ];
    let mut pcu = Pcu::start(&Setup { lines: &lines, slots: 0x80, egprs: true })?;
    let numbering = Numbering::egprs(WINDOW);
    let mut line = Line {
        sender: Sender::new(numbering, Mode::Acknowledged, SendOptions::default()).keeping_cuts(),
        frames: Vec::new(),
    };
    let mobile = Mobile { tlli: TLLI, digits: 1, class: 1, egprs: Some(1) };
    for n in 0..case.frames {
        let frame = frame(n);
        pcu.down_known(&mobile, &frame);
        line.sender.feed.push(frame.len() as u32, line.frames.len());
        line.frames.push(frame);
    }
    let mut receiver = Receiver::new(numbering, Mode::Acknowledged, false);
    let (mut found, mut marks) = (Found::default(), Marks::default());
    let (mut lottery, mut tfi) = (12_345u32, 0);
    // Answers to polls: when, and a report rather than a control acknowledgement.
    let mut reserved: Vec<(u32, bool)> = Vec::new();
    for _ in 0..900 {
        let tick = pcu.tick;
        let octets = pcu.block(7).unwrap_or_default();
        for octets in std::mem::take(&mut pcu.common) {
            pcu.confirm(&octets);
            // The PCU gives the mobile time to leave the PCH (X2002, 200 ms of its clock).
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        let egprs = Scheme::EGPRS.iter().find(|s| usize::from(s.properties().octets[0]) == octets.len());
        if let Some((header, units)) = egprs.and_then(|_| block::read_egprs(false, &octets)) {
            tfi = header.tfi;
            let ours = line.sender.next(tick, case.scheme, true);
            let dummy = units.iter().any(|u| u.octets.windows(3).any(|w| w == DUMMY_COMMAND));
            match ours.as_ref().filter(|_| found.difference.is_none()) {
                Some(block) => {
                    let mut bytes = line.octets(block, &header);
                    // ES/P: the form of the PCU's polls is its own choice.
                    bytes[0] = bytes[0] & !0x18 | octets[0] & 0x18;
                    if bytes == octets {
                        found.equal += 1;
                        block.units().for_each(|unit| marks.sent(&unit));
                        found.repeats += u32::from(block.first.attempt > 0);
                    } else {
                        let text = format!(
                            "PCU {:?} {} octets, ours {} {:?}: {octets:02x?} {bytes:02x?}",
                            units.iter().map(|u| u.bsn).collect::<Vec<_>>(),
                            octets.len(),
                            block.scheme,
                            block.units().map(|u| u.bsn).collect::<Vec<_>>(),
                        );
                        let first = units.iter().map(|u| u.bsn).collect::<Vec<_>>();
                        let sent = block.units().map(|u| u.bsn % 2048).collect::<Vec<_>>();
                        let cause = if dummy {
                            "LLC dummy command"
                        } else if first.len() == 2 && first[0] == first[1] && sent == first[..1] {
                            "one block twice"
                        } else if marks.explain(2048, &first, &block.units().collect::<Vec<_>>()) {
                            "marked blocks first"
                        } else if first != sent {
                            "order"
                        } else {
                            "content"
                        };
                        found.difference = Some((cause, text));
                    }
                }
                None if found.difference.is_none() => {
                    let cause = if dummy { "LLC dummy command" } else { "ours is idle" };
                    found.difference = Some((cause, format!("block {:?}", units[0].bsn)));
                }
                None => {}
            }
            lottery = lottery.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let arrives = (lottery >> 8) % 100 >= case.loss;
            if arrives {
                for unit in &units {
                    if let Some(bsn) = receiver.resolve(unit.bsn) {
                        receiver.take(bsn, BlockPart::Whole, false);
                    }
                }
                if let Some(rrbp) = header.poll {
                    reserved.push((tick + 3 + u32::from(rrbp), true));
                }
            }
        } else if let Some((Some(rrbp), ..)) = message::read_down(&octets) {
            reserved.push((tick + 3 + u32::from(rrbp), false));
        }
        match reserved.iter().position(|(t, _)| *t == tick).map(|i| reserved.remove(i).1) {
            Some(true) => {
                let mut report = receiver.report();
                let bits = (report.end - report.complete).saturating_sub(1);
                if case.whole {
                    report.end -= bits % 8;
                }
                if case.whole && (1..8).contains(&bits) {
                    // Fewer are left for the next poll.
                    pcu.uplink(7, &[]);
                } else {
                    found.reports += 1;
                    pcu.uplink(7, &message::egprs_downlink_ack(tfi, &report, None));
                    line.sender.on_report(&report, tick);
                    marks.heard(&report);
                }
            }
            Some(false) => pcu.uplink(7, &message::control_ack(TLLI)),
            None => pcu.uplink(7, &[]),
        }
        pcu.step();
    }
    Some(found)
}

/// So many radio blocks are equal, octet by octet, before the first difference, which has this cause.
#[test]
fn egprs_blocks_beside_a_real_pcu() {
    let case = |name, scheme, loss, whole| Case { name, scheme, frames: 24, loss, whole };
    const KEPT: &str = "LLC dummy command";
    const MARKED: &str = "marked blocks first";
    let cases = [
        (case("MCS-1", Scheme::Mcs1, 0, false), 550, KEPT),
        (case("MCS-3", Scheme::Mcs3, 0, false), 328, KEPT),
        (case("MCS-5", Scheme::Mcs5, 0, false), 218, KEPT),
        (case("MCS-6", Scheme::Mcs6, 0, false), 164, KEPT),
        (case("MCS-7", Scheme::Mcs7, 0, false), 111, KEPT),
        (case("MCS-8", Scheme::Mcs8, 0, false), 88, "one block twice"),
        (case("MCS-9", Scheme::Mcs9, 0, false), 84, KEPT),
        (case("MCS-4, 10 % lost", Scheme::Mcs4, 10, false), 25, "order"),
        (case("MCS-4, 10 % lost, bitmaps of whole octets", Scheme::Mcs4, 10, true), 312, MARKED),
        (case("MCS-6, 10 % lost, bitmaps of whole octets", Scheme::Mcs6, 10, true), 189, MARKED),
        (case("MCS-9, 10 % lost, bitmaps of whole octets", Scheme::Mcs9, 10, true), 44, MARKED),
    ];
    for (case, equal, cause) in &cases {
        let Some(found) = found(case) else {
            eprintln!("skipped: osmo-pcu is not installed");
            return;
        };
        let (name, difference) = (case.name, found.difference.as_ref().map(|d| d.0));
        eprintln!(
            "{name}: {} blocks equal ({} repeats), then {difference:?}; {} reports",
            found.equal, found.repeats, found.reports
        );
        // A report that is late on the real clock moves the end of the kept range by some blocks.
        assert!(found.equal + 3 >= *equal && found.reports > 10, "{name}: {found:?}");
        assert_eq!(difference, Some(*cause), "{name}: {found:?}");
    }
}

/// EGPRS uplinks: access with 11 bits, blocks with TLLI, countdown, reports bit by bit, repeats, and a closed window.
#[test]
fn egprs_reports_beside_a_real_pcu() {
    let all = |_: u32| true;
    let case = |name, scheme, loss| up::Case { name, scheme, frames: 12, loss, hears: all };
    let cases = [
        case("up, MCS-1", Scheme::Mcs1, 0),
        case("up, MCS-4", Scheme::Mcs4, 0),
        case("up, MCS-6", Scheme::Mcs6, 0),
        case("up, MCS-7", Scheme::Mcs7, 0),
        case("up, MCS-9", Scheme::Mcs9, 0),
        case("up, MCS-4, 10 % lost", Scheme::Mcs4, 10),
        case("up, MCS-9, 10 % lost", Scheme::Mcs9, 10),
        up::Case {
            hears: |n| !(1..8).contains(&n),
            ..case("up, MCS-2, reports missing: stall", Scheme::Mcs2, 0)
        },
    ];
    for case in &cases {
        let Some(found) = up::found(case) else {
            eprintln!("skipped: osmo-pcu is not installed");
            return;
        };
        eprintln!(
            "{}: {} blocks, {} repeats, {} frames; {} reports equal, then {:?}; stalled {}; ended {}",
            case.name,
            found.sent,
            found.repeats,
            found.frames,
            found.equal,
            found.difference,
            found.stalled,
            found.ended
        );
        assert!(found.difference.is_none() && found.ended, "{}: {found:?}", case.name);
        assert_eq!(found.frames, case.frames as usize, "{}: {found:?}", case.name);
        assert!(found.equal > 1 && (case.loss == 0 || found.repeats > 0), "{}: {found:?}", case.name);
        assert!(!case.name.contains("stall") || found.stalled > 0, "{}: {found:?}", case.name);
    }
}
