//! Our RLC beside a real PCU, block by block: Debian's osmo-pcu 1.1.0 sends and receives what our sender, receiver,
//! and formats send and receive, over the same lost blocks. The first difference of each scenario has a known cause
//! (docs/pcu-agreement.md). Without the program the test reports this and is skipped.

#![allow(clippy::disallowed_methods, reason = "a program on the real clock is waited for")]

#[path = "pcu/marks.rs"]
mod marks;
#[allow(dead_code, reason = "the other comparison uses the rest")]
mod pcu;

use marks::Marks;
use pcu::{Pcu, Setup};
use radio::coding::Scheme;
use radio::llc::LlcMode;
use radio::mac::countdown;
use radio::rlc::feed::Cut;
use radio::rlc::poll::{Policy, Poller};
use radio::rlc::receive::{BlockPart, Receiver, Report};
use radio::rlc::send::{SendOptions, Sender};
use radio::rlc::{Mode, Numbering};
use radio::wire::block::{self, Header, Piece, Unit};
use radio::wire::llc::{self, Numbers};
use radio::wire::message::{self, AckNack, Message};

const TLLI: u32 = 0xb876_5432;
/// Start of an LLC dummy command (44.064 section 6.4.2.2), which fills a TBF that is kept.
const DUMMY_COMMAND: [u8; 3] = [0x43, 0xc0, 0x01];

/// One comparison.
struct Case {
    name: &'static str,
    lines: &'static [&'static str],
    slots: &'static [u8],
    /// LLC frames up and down: how many, and octets of each.
    up: (u32, usize),
    down: (u32, usize),
    /// Percent of blocks lost in each direction.
    loss: [u32; 2],
    /// The mobile answers a poll, by its number from 0.
    answers: fn(u32) -> bool,
    /// The mobile decodes a report on its uplink, by its number from 0.
    hears: fn(u32) -> bool,
    /// The mobile comes back to the cell at this block period, with a channel request and a NULL frame of LLC. It
    /// answers all polls from then on.
    returns: Option<u32>,
}

const BASE: Case = Case {
    name: "",
    lines: &["no cs downgrade-threshold", "alloc-algorithm a"],
    slots: &[7],
    up: (2, 500),
    down: (8, 506),
    loss: [0, 0],
    answers: |_| true,
    hears: |_| true,
    returns: None,
};

/// Result.
#[derive(Debug, Default)]
struct Found {
    /// Downlink blocks before the first difference.
    equal: u32,
    /// The first difference.
    difference: Option<(&'static str, String)>,
    /// Downlink blocks compared with repeats among them.
    repeats: u32,
    /// The first downlink block that only one of both polls, and which one.
    poll: Option<(u32, &'static str)>,
    /// Polls of the PCU without an answer in a row at the end.
    unanswered: u32,
    /// Uplink reports that equal ours, and those that differ.
    reports: [u32; 2],
    /// Uplink frames that the PCU handed up whole.
    frames: usize,
    /// Timeslots with downlink data.
    slots: Vec<u8>,
    /// Block periods with a closed window at our senders, downlink and uplink.
    stalled: [u64; 2],
    /// Downlink blocks equal since the mobile came back; none while it is away.
    since: Option<u32>,
}

fn frame(number: u32, octets: usize, up: bool) -> Vec<u8> {
    let mode = LlcMode::Unacknowledged;
    let numbers = Numbers { mode, up, frame: number, expected: 0, packet: number, segment: 0, more: false };
    let body: Vec<u8> = (0..octets - 10).map(|i| (i as u32 * 7 + number * 31) as u8).collect();
    llc::frame(&numbers, &body)
}

/// One end with its frames.
struct Line {
    sender: Sender<usize>,
    pdus: Vec<Vec<u8>>,
}

impl Line {
    fn new() -> Line {
        let sender = Sender::new(Numbering::GPRS, Mode::Acknowledged, SendOptions::default()).keeping_cuts();
        Line { sender, pdus: Vec::new() }
    }
    fn push(&mut self, frame: Vec<u8>) {
        self.sender.feed.push(frame.len() as u32, self.pdus.len());
        self.pdus.push(frame);
    }
    /// A report; frames that the other end has whole are forgotten.
    fn on_report(&mut self, report: &Report, tick: u32) {
        self.sender.on_report(report, tick);
        let all = self.sender.va();
        self.sender.feed.deliver(all, |_| {});
        self.sender.feed.release(all);
    }
    /// Number of the first frame of which no octet is in a block.
    fn untouched(&self) -> u64 {
        let last = self.sender.vs().checked_sub(1).and_then(|bsn| self.sender.cut_of(bsn));
        last.map_or(0, |cut| {
            // The last octets of the block begin a frame, unless it ends with one.
            let whole = cut.pdu + u64::from(cut.ends);
            let begun = self.sender.feed.pdu(whole).is_some_and(|pdu| pdu.first < self.sender.vs());
            whole + u64::from(begun)
        })
    }
    fn block(&self, scheme: Scheme, bsn: u32, header: &Header, flag: bool, tlli: Option<u32>) -> Vec<u8> {
        let cut: Cut = self.sender.cut_of(bsn).unwrap_or_default();
        let (mut left, mut from, mut number) = (usize::from(cut.octets), cut.offset as usize, cut.pdu);
        let mut pieces = Vec::new();
        while left > 0 {
            let pdu = self.sender.feed.pdu(number).expect("it is held until it is acknowledged");
            let n = left.min(pdu.size as usize - from);
            let ends = pieces.len() < usize::from(cut.ends);
            pieces.push(Piece { octets: &self.pdus[pdu.token][from..from + n], ends });
            (left, from, number) = (left - n, 0, number + 1);
        }
        let unit = Unit {
            bsn: bsn % 128,
            part: BlockPart::Whole,
            first_scheme: scheme,
            attempt: 0,
            flag,
            tlli,
            zero: cut.zero,
            pieces: &pieces,
        };
        block::gprs(scheme, header, &unit)
    }
}

/// N(U) of the LLC frame at the start of a block without length indicators.
fn number_of(octets: &[u8]) -> u64 {
    u64::from(octets[4] & 7) << 6 | u64::from(octets[5] >> 2)
}

/// The PCU's report as our sender takes it.
fn report_of(ack: &AckNack, sender: &Sender<usize>) -> Report {
    let end = Numbering::GPRS.absolute(u32::from(ack.ssn), sender.va());
    let mut receiver = Receiver::new(Numbering::GPRS, Mode::Acknowledged, false);
    for b in 0..end {
        if b < sender.va() || ack.has(b % 128) == Some(true) {
            receiver.take(b, BlockPart::Whole, false);
        }
    }
    Report { end, last: ack.last, ..receiver.report() }
}

/// Action of a mobile in an uplink block reserved for it.
enum Reserved {
    Report,
    Control(Vec<u8>),
}

struct Trial<'a> {
    case: &'a Case,
    pcu: Pcu,
    up: Line,
    down: Line,
    /// The mobile's end of the downlink, and our view of the PCU's end of the uplink.
    mobile: Receiver,
    network: Receiver,
    poller: Poller,
    polls: u32,
    asked: u32,
    resolved: bool,
    with_tlli: Vec<bool>,
    reserved: Vec<(u32, u8, Reserved)>,
    usf: Vec<bool>,
    lottery: u32,
    active: bool,
    heard: u32,
    marks: Marks,
    /// Downlink frame that was untouched when the mobile came back.
    untouched: u64,
    found: Found,
}

impl Trial<'_> {
    fn lost(&mut self, percent: u32) -> bool {
        self.lottery = self.lottery.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.lottery >> 8) % 100 < percent
    }

    fn differ(&mut self, cause: &'static str, text: String) {
        if self.found.difference.is_none() {
            self.found.difference = Some((cause, text));
        }
    }

    /// The PCU has sent a block on a timeslot.
    fn downlink(&mut self, slot: u8, octets: &[u8]) {
        if octets[0] >> 6 == 0 {
            return self.data(slot, octets);
        }
        let Some((poll, _, message)) = message::read_down(octets) else { return };
        match message {
            Message::DownlinkDummy => {
                let sender = &self.down.sender;
                if self.active
                    && self.case.returns.is_none()
                    && self.found.difference.is_none()
                    && (sender.has_work() || sender.is_pending())
                {
                    let text = format!("V(A) {}, V(S) {}", sender.va(), sender.vs());
                    self.differ("the PCU is idle", text);
                }
            }
            Message::UplinkAck(ack, tlli, _) => {
                self.resolved |= tlli == Some(TLLI);
                let ours = AckNack::of(ack.tfi, &self.network.report());
                let know = |a: &AckNack| (0..self.network.vr()).map(|b| a.has(b % 128)).collect::<Vec<_>>();
                let same = ours.ssn == ack.ssn && know(&ours) == know(&ack) && ours.last == ack.last;
                self.found.reports[usize::from(!same)] += 1;
                self.heard += 1;
                if (self.case.hears)(self.heard - 1) {
                    let report = report_of(&ack, &self.up.sender);
                    self.up.on_report(&report, self.pcu.tick);
                }
            }
            Message::Other(_) => {}
            _ => {}
        }
        if let Some(rrbp) = poll {
            let answer = Reserved::Control(message::control_ack(TLLI));
            self.reserved.push((self.pcu.tick + 3 + u32::from(rrbp), slot, answer));
        }
    }

    /// A data block beside ours.
    fn data(&mut self, slot: u8, octets: &[u8]) {
        let read = block::read_gprs(false, octets).expect("a data block can be read");
        let tick = self.pcu.tick;
        self.active = true;
        if !self.found.slots.contains(&slot) {
            self.found.slots.push(slot);
        }
        let arrives = !self.lost(self.case.loss[0]);
        if self.found.since.is_some()
            && read.bsn == 0
            && self.down.sender.vs() > 0
            && self.found.since == Some(0)
        {
            // A new TBF: frames without acknowledgement are cut again.
            self.down.sender.restart(Numbering::GPRS, |_| {});
            self.mobile = Receiver::new(Numbering::GPRS, Mode::Acknowledged, false);
        }
        let compare = self.found.difference.is_none();
        let ours = self.down.sender.next(tick, Scheme::Cs2, true);
        match &ours {
            _ if !compare => {}
            None if octets.windows(3).any(|w| w == DUMMY_COMMAND) => {
                self.differ("LLC dummy command", format!("block {} of the TBF", read.bsn));
            }
            None => self.differ("ours is idle", format!("block {} of the PCU", read.bsn)),
            Some(b) => {
                let bytes = self.down.block(b.scheme, b.first.bsn, &read.header, read.flag, None);
                if bytes == octets {
                    self.found.equal += 1;
                    self.marks.sent(&b.first);
                    self.found.since = self.found.since.map(|n| n + 1);
                    self.found.repeats += u32::from(b.first.attempt > 0);
                } else {
                    let cause = if bytes.len() != octets.len() {
                        "coding scheme"
                    } else if self.found.since == Some(0) && number_of(octets) == self.untouched {
                        "frames lost with the TBF"
                    } else if self.marks.explain(128, &[read.bsn], &[b.first]) {
                        "marked blocks first"
                    } else if read.bsn != b.first.bsn % 128 {
                        "order"
                    } else {
                        "content"
                    };
                    let text = format!(
                        "PCU {} with {} octets, ours {} ({}) with {}: {octets:02x?} {bytes:02x?}",
                        read.bsn,
                        octets.len(),
                        b.first.bsn % 128,
                        b.first.reason,
                        bytes.len()
                    );
                    self.differ(cause, text);
                }
                let force = b.first.last || self.down.sender.is_stalled();
                let polls = self.poller.block(false, force && self.asked == 0);
                if polls != read.header.poll.is_some() && self.found.poll.is_none() {
                    self.found.poll = Some((self.found.equal, if polls { "ours" } else { "PCU" }));
                }
            }
        }
        if arrives && let Some(bsn) = self.mobile.resolve(read.bsn) {
            self.mobile.take(bsn, BlockPart::Whole, read.flag);
        }
        if let Some(rrbp) = read.header.poll {
            let number = self.polls;
            self.polls += 1;
            self.found.unanswered += 1;
            if arrives && (self.found.since.is_some() || (self.case.answers)(number)) {
                self.asked += 1;
                self.reserved.push((tick + 3 + u32::from(rrbp), slot, Reserved::Report));
            }
        }
    }

    /// The mobile's turn on a timeslot.
    fn uplink(&mut self, slot: u8, granted: bool) {
        let tick = self.pcu.tick;
        if let Some(i) = self.reserved.iter().position(|(t, s, _)| (*t, *s) == (tick, slot)) {
            match self.reserved.remove(i).2 {
                Reserved::Control(octets) => self.pcu.uplink(slot, &octets),
                Reserved::Report => {
                    self.asked -= 1;
                    self.found.unanswered = 0;
                    let report = self.mobile.report();
                    self.pcu.uplink(slot, &message::downlink_ack(&AckNack::of(0, &report), None));
                    self.down.on_report(&report, tick);
                    self.marks.heard(&report);
                }
            }
            return;
        }
        if !granted {
            // A block that a base station could not decode goes to the PCU without octets.
            return self.pcu.uplink(slot, &[]);
        }
        // A block with a TLLI has four octets less.
        let room = if self.resolved { 20 } else { 16 };
        let stalled = self.up.sender.is_stalled();
        let Some(unit) = self.up.sender.next_octets(tick, Scheme::Cs1, room, true) else {
            return self.pcu.uplink(slot, &[]);
        };
        if unit.bsn as usize == self.with_tlli.len() {
            self.with_tlli.push(!self.resolved);
        }
        let behind = self.up.sender.vs() - unit.bsn - 1;
        let cv = countdown::value(self.up.sender.feed.blocks_left(20) + behind, 1, 15);
        let tlli = self.with_tlli[unit.bsn as usize].then_some(TLLI);
        let header = Header { stalled, ..Header::up(0, cv as u8) };
        let octets = self.up.block(Scheme::Cs1, unit.bsn, &header, false, tlli);
        // The first block must arrive, so that both sides know the mobile.
        if unit.bsn > 0 && self.lost(self.case.loss[1]) {
            return self.pcu.uplink(slot, &[]);
        }
        self.network.take(unit.bsn, BlockPart::Whole, cv == 0);
        self.pcu.uplink(slot, &octets);
    }

    /// A downlink frame for both.
    fn send(&mut self, number: u32) {
        let frame = frame(number, self.case.down.1, false);
        self.pcu.down(TLLI, &frame);
        self.down.push(frame);
    }

    /// The mobile is in the cell again, with a new uplink TBF.
    fn come_back(&mut self) {
        self.resolved = false;
        self.with_tlli.clear();
        self.reserved.clear();
        self.up.sender.restart(Numbering::GPRS, |_| {});
        self.network = Receiver::new(Numbering::GPRS, Mode::Acknowledged, false);
        self.up.push(llc::null());
        self.found.since = Some(0);
        self.untouched = self.down.untouched();
        self.pcu.rach(0x78);
    }

    fn run(mut self) -> Found {
        self.pcu.rach(0x78);
        let (mut begun, mut again) = (false, false);
        for n in 0..1500 {
            if self.case.returns == Some(n) {
                self.come_back();
            }
            let slots = self.case.slots;
            let mut next = vec![false; 8];
            for &slot in slots {
                let Some(octets) = self.pcu.block(slot).filter(|o| !o.is_empty()) else { continue };
                next[usize::from(slot)] = octets[0] & 7 == 0;
                self.downlink(slot, &octets);
            }
            for &slot in slots {
                let granted = self.usf[usize::from(slot)];
                self.uplink(slot, granted);
            }
            self.usf = next;
            self.pcu.step();
            if !again {
                self.pcu.common.clear();
            }
            for octets in std::mem::take(&mut self.pcu.common) {
                // The mobile that came back is idle again, and the PCU pages it (X2002, 200 ms of its clock).
                self.pcu.confirm(&octets);
                std::thread::sleep(std::time::Duration::from_millis(300));
            }
            if self.found.since.is_some() && self.resolved && !again {
                // The PCU serves its queue when another frame comes.
                again = true;
                self.send(self.case.down.0);
            }
            if self.resolved && !begun {
                begun = true;
                for n in 0..self.case.down.0 {
                    self.send(n);
                }
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
        self.pcu.listen();
        let sent = |f: &Vec<u8>| self.up.pdus.contains(f);
        self.found.stalled = [&self.down, &self.up].map(|line| line.sender.counts().stalled);
        self.found.frames = self.pcu.frames.iter().filter(|(_, f)| sent(f)).count();
        self.found
    }
}

/// Compares one case; none without the program.
fn found(case: &Case) -> Option<Found> {
    let mut lines = vec!["flow-control-interval 10", "cs 2", "cs max 2 2", "gamma 0"];
    lines.extend(case.lines);
    let slots = case.slots.iter().fold(0, |mask, s| mask | 1u8 << s);
    let pcu = Pcu::start(&Setup { lines: &lines, slots, egprs: false })?;
    let mut up = Line::new();
    (0..case.up.0).for_each(|n| up.push(frame(n, case.up.1, true)));
    let receiver = || Receiver::new(Numbering::GPRS, Mode::Acknowledged, false);
    let trial = Trial {
        case,
        pcu,
        up,
        down: Line::new(),
        mobile: receiver(),
        network: receiver(),
        poller: Poller::new(Policy::Every { n: 20 }),
        polls: 0,
        asked: 0,
        resolved: false,
        with_tlli: Vec::new(),
        reserved: Vec::new(),
        usf: vec![false; 8],
        lottery: 12_345,
        active: false,
        heard: 0,
        marks: Marks::default(),
        untouched: 0,
        found: Found::default(),
    };
    Some(trial.run())
}

/// Thirteen scenarios: number of blocks that are equal, octet by octet, before the first difference, with its cause.
#[test]
fn blocks_beside_a_real_pcu() {
    const KEPT: &str = "LLC dummy command";
    const SMALL: (u32, usize) = (40, 26);
    const UPLOAD: Case = Case { up: (6, 500), down: (0, 0), ..BASE };
    let several: &[&str] = &["no cs downgrade-threshold", "alloc-algorithm b"];
    let cases = [
        (Case { name: "down", ..BASE }, 139, Some(KEPT)),
        (Case { name: "down, 10 % of blocks lost", loss: [10, 0], ..BASE }, 158, Some(KEPT)),
        (Case { name: "down, 30 % of blocks lost", loss: [30, 0], ..BASE }, 76, Some("coding scheme")),
        (Case { name: "down, small frames", down: SMALL, ..BASE }, 44, Some(KEPT)),
        (
            Case { name: "down, small frames, 10 % lost", down: (40, 50), loss: [10, 0], ..BASE },
            108,
            Some(KEPT),
        ),
        (
            Case {
                name: "down, three of four reports missing",
                down: (16, 506),
                answers: |n| n % 4 == 3,
                ..BASE
            },
            286,
            Some(KEPT),
        ),
        (
            Case { name: "down, four timeslots", slots: &[4, 5, 6, 7], lines: several, ..BASE },
            139,
            Some(KEPT),
        ),
        (
            Case { name: "down, the mobile leaves", down: (16, 506), answers: |n| n < 1, ..BASE },
            71,
            Some("the PCU is idle"),
        ),
        (Case { name: "up", ..UPLOAD }, 0, None),
        (Case { name: "up, 10 % of blocks lost", loss: [0, 10], ..UPLOAD }, 0, None),
        (
            Case {
                name: "down, 10 % lost, five of six reports missing: stall",
                down: (16, 506),
                answers: |n| n % 6 == 5,
                loss: [10, 0],
                ..BASE
            },
            86,
            Some("marked blocks first"),
        ),
        (Case { name: "up, reports missing: stall", hears: |n| !(1..8).contains(&n), ..UPLOAD }, 0, None),
        (
            Case {
                name: "down, the mobile leaves and comes back",
                down: (16, 506),
                answers: |n| n < 1,
                returns: Some(400),
                ..BASE
            },
            71,
            Some("frames lost with the TBF"),
        ),
    ];
    for (case, equal, cause) in &cases {
        let Some(found) = found(case) else {
            eprintln!("skipped: osmo-pcu is not installed");
            return;
        };
        let name = case.name;
        eprintln!(
            "{name}: {} blocks equal ({} repeats), then {}; {} reports equal, {} not; first poll {:?}; timeslots {:?}; stalled {:?}; since {:?}",
            found.equal,
            found.repeats,
            found.difference.as_ref().map_or("nothing", |d| d.0),
            found.reports[0],
            found.reports[1],
            found.poll,
            found.slots,
            found.stalled,
            found.since,
        );
        if case.returns.is_some() || name.contains("stall") {
            eprintln!("  {:?}", found.difference);
        }
        assert!(!name.contains("stall") || found.stalled.iter().any(|n| *n > 0), "{name}: {found:?}");
        assert!(found.equal >= *equal, "{name}: {found:?}");
        assert_eq!(found.difference.as_ref().map(|d| d.0), *cause, "{name}: {found:?}");
        let frames = (case.up.0 + u32::from(case.returns.is_some())) as usize;
        assert_eq!((found.reports[1], found.frames), (0, frames), "{name}: {found:?}");
        assert!(found.reports[0] > 0, "{name}: {found:?}");
        // N3105 of the PCU: the eighth poll without an answer is the last one.
        assert!(cause.is_none_or(|c| c != "the PCU is idle") || found.unanswered == 8, "{name}: {found:?}");
    }
}
