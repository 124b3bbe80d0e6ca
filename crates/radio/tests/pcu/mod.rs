//! Driver of osmo-pcu as a program: base station by PCUIF 0x0a, SGSN by NS and BSSGP over UDP.
//!
//! The interface is that of Osmocom's `pcuif_proto.h` (message of 1006 octets, packed, little endian), as in Debian's
//! osmo-pcu 1.1.0. The PCU answers each ready-to-send with one block, so blocks pass as fast as it answers.

mod program;

use program::Program;
use radio::wire::gb::{self, element, kind};
use radio::wire::pcuif::{self, BVCI, Info, PcuMessage};
use std::time::{Duration, Instant};

/// Options of a scenario that the PCU's own configuration sets.
pub(crate) struct Setup<'a> {
    /// Lines of the `pcu` node.
    pub(crate) lines: &'a [&'a str],
    /// Timeslots with a PDCH, as a mask with timeslot 0 in the lowest bit.
    pub(crate) slots: u8,
    /// The base station knows MCS-1 to MCS-9.
    pub(crate) egprs: bool,
}

/// A running PCU with its base station and its SGSN.
pub(crate) struct Pcu {
    program: Program,
    /// LLC frames that the PCU handed up.
    pub(crate) frames: Vec<(u32, Vec<u8>)>,
    /// Messages that it sent on AGCH and PCH.
    pub(crate) common: Vec<Vec<u8>>,
    /// The cell is unblocked on Gb.
    ready: bool,
    /// Number of the block period.
    pub(crate) tick: u32,
}

impl Pcu {
    /// Starts it; none where the program is not installed.
    pub(crate) fn start(setup: &Setup<'_>) -> Option<Pcu> {
        let program = Program::start(|socket| {
            let mut text = String::from("log stderr\n logging level set-all error\nline vty\n no login\n");
            text.push_str(&format!("pcu\n pcu-socket {socket}\n"));
            setup.lines.iter().for_each(|l| text.push_str(&format!(" {l}\n")));
            text
        })?;
        program.patience(Duration::from_secs(2));
        let ports = program.ports();
        let mut pcu = Pcu { program, frames: Vec::new(), common: Vec::new(), ready: false, tick: 1 };
        pcu.program.receive();
        pcu.program.send(&pcuif::info(&Info { slots: setup.slots, ports, initial: 0, egprs: setup.egprs }));
        let begin = Instant::now();
        while !pcu.ready {
            let late = begin.elapsed() >= Duration::from_secs(10);
            assert!(!late, "the cell was not unblocked on Gb: {}", pcu.program.log());
            pcu.listen();
            std::thread::sleep(Duration::from_millis(1));
        }
        // Messages sent meanwhile (activation of the timeslots) are ignored.
        pcu.program.patience(Duration::from_millis(20));
        while pcu.program.receive().is_some() {}
        pcu.program.patience(Duration::from_secs(2));
        Some(pcu)
    }

    /// A channel request.
    pub(crate) fn rach(&self, request: u8) {
        self.program.send(&pcuif::request(self.tick, request));
    }

    /// An EGPRS Packet Channel Request.
    pub(crate) fn rach_egprs(&self, bits: u16) {
        self.program.send(&pcuif::request_egprs(self.tick, bits));
    }

    /// The downlink block of this block period on a timeslot.
    pub(crate) fn block(&mut self, slot: u8) -> Option<Vec<u8>> {
        self.program.send(&pcuif::time(self.tick));
        self.program.send(&pcuif::ready(self.tick, slot));
        loop {
            let message = self.program.receive()?;
            match pcuif::read(&message) {
                Some(PcuMessage::Block { octets, .. }) => return Some(octets.to_vec()),
                Some(PcuMessage::Grant(octets) | PcuMessage::Paged(octets)) => {
                    self.common.push(octets.to_vec())
                }
                _ => {}
            }
        }
    }

    /// An uplink block of this block period on a timeslot.
    pub(crate) fn uplink(&self, slot: u8, octets: &[u8]) {
        self.program.send(&pcuif::uplink(self.tick, slot, octets, 200));
    }

    /// The next block period begins.
    pub(crate) fn step(&mut self) {
        self.tick += 1;
        self.listen();
    }

    /// An LLC frame for a mobile.
    pub(crate) fn down(&self, tlli: u32, frame: &[u8]) {
        let pdu = gb::down(tlli, None, frame);
        self.tell(&gb::unitdata(BVCI, &pdu[4..]));
        std::thread::sleep(Duration::from_millis(1));
    }

    /// An LLC frame for a mobile with its radio access capability.
    pub(crate) fn down_known(&self, mobile: &gb::Mobile, frame: &[u8]) {
        self.tell(&gb::down_known(BVCI, mobile, None, frame));
        std::thread::sleep(Duration::from_millis(1));
    }

    /// A message sent on the PCH is confirmed as sent.
    pub(crate) fn confirm(&self, octets: &[u8]) {
        self.program.send(&pcuif::paged(octets));
    }

    fn tell(&self, datagram: &[u8]) {
        let _ = self.program.sgsn.send(datagram);
    }

    /// Answers the messages received over Gb.
    pub(crate) fn listen(&mut self) {
        let mut buffer = [0; 2048];
        while let Ok((n, from)) = self.program.sgsn.recv_from(&mut buffer) {
            let _ = self.program.sgsn.connect(from);
            let datagram = buffer[..n].to_vec();
            match datagram[0] {
                // NS-RESET: NSVCI and NSEI in the answer.
                2 => {
                    let mut ack = vec![3, 1, 0x82];
                    ack.extend(BVCI.to_be_bytes());
                    ack.extend([4, 0x82]);
                    ack.extend(BVCI.to_be_bytes());
                    self.tell(&ack);
                }
                6 => self.tell(&[7]),
                10 => self.tell(&[11]),
                0 => self.bssgp(&datagram),
                _ => {}
            }
        }
    }

    fn bssgp(&mut self, datagram: &[u8]) {
        let Some(pdu) = gb::read(datagram) else { return };
        let echo = |answer: u8, wanted: u8, bvci: u16| {
            let mut out = vec![answer];
            if let Some(value) = pdu.element(wanted) {
                gb::put(&mut out, wanted, value);
            }
            gb::unitdata(bvci, &out)
        };
        match pdu.kind {
            kind::BVC_RESET => self.tell(&echo(kind::BVC_RESET_ACK, element::BVCI, 0)),
            kind::BVC_UNBLOCK => self.tell(&echo(kind::BVC_UNBLOCK_ACK, element::BVCI, 0)),
            kind::FLOW_CONTROL_BVC => {
                self.tell(&echo(kind::FLOW_CONTROL_BVC_ACK, element::TAG, pdu.bvci));
                self.ready = true;
            }
            kind::UL_UNITDATA => {
                let frame = pdu.element(element::LLC_PDU).unwrap_or_default().to_vec();
                self.frames.push((pdu.tlli.unwrap_or(0), frame));
            }
            _ => {}
        }
    }
}
