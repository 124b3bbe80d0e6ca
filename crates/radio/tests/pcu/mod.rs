//! Driver of osmo-pcu as a program: base station by PCUIF 0x0a, SGSN by NS and BSSGP over UDP.
//!
//! The interface is that of Osmocom's `pcuif_proto.h` (message of 1006 octets, packed, little endian) as Debian's
//! osmo-pcu 1.1.0 speaks it. The PCU answers each ready-to-send with one block, so blocks pass as fast as it answers.

use radio::tdma;
use radio::wire::gb::{self, element, kind};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SIZE: usize = 1006;
const DATA_REQ: u8 = 0x00;
const DATA_IND: u8 = 0x02;
const RTS_REQ: u8 = 0x10;
const RACH_IND: u8 = 0x22;
const INFO_IND: u8 = 0x32;
const TIME_IND: u8 = 0x52;
const PDTCH: u8 = 5;
const ARFCN: u16 = 871;
const BVCI: u16 = 1234;
/// Options of a scenario that the PCU's own configuration sets.
pub(crate) struct Setup<'a> {
    /// Lines of the `pcu` node.
    pub(crate) lines: &'a [&'a str],
    /// Timeslots with a PDCH, as a mask with timeslot 0 in the lowest bit.
    pub(crate) slots: u8,
}

/// A running PCU with its base station and its SGSN.
pub(crate) struct Pcu {
    child: Child,
    bts: Socket,
    sgsn: UdpSocket,
    /// LLC frames that the PCU handed up.
    pub(crate) frames: Vec<(u32, Vec<u8>)>,
    /// Messages that it sent on AGCH and PCH.
    pub(crate) common: Vec<Vec<u8>>,
    /// The cell is unblocked on Gb.
    ready: bool,
    /// Number of the block period.
    pub(crate) tick: u32,
    _folder: tempfile::TempDir,
}

impl Drop for Pcu {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Pcu {
    /// Starts it; none where the program is not installed.
    pub(crate) fn start(setup: &Setup<'_>) -> Option<Pcu> {
        let program = "/usr/bin/osmo-pcu";
        if !Path::new(program).exists() {
            return None;
        }
        let folder = tempfile::tempdir().ok()?;
        let path = folder.path().join("pcu.sock");
        let listener = Socket::new(Domain::UNIX, Type::SEQPACKET, None).ok()?;
        listener.bind(&SockAddr::unix(&path).ok()?).ok()?;
        listener.listen(1).ok()?;
        listener.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let sgsn = UdpSocket::bind(("127.0.0.1", 0)).ok()?;
        sgsn.set_nonblocking(true).ok()?;
        let mut text = String::from("log stderr\n logging level set-all error\nline vty\n no login\n");
        text.push_str(&format!("pcu\n pcu-socket {}\n", path.display()));
        setup.lines.iter().for_each(|l| text.push_str(&format!(" {l}\n")));
        std::fs::write(folder.path().join("pcu.cfg"), text).ok()?;
        let log = folder.path().join("log");
        let child = Command::new(program)
            .args(["-c", "pcu.cfg"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).ok()?)
            .spawn()
            .ok()?;
        let Ok((bts, _)) = listener.accept() else {
            panic!("osmo-pcu does not connect: {}", std::fs::read_to_string(&log).unwrap_or_default());
        };
        bts.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        let free = UdpSocket::bind(("127.0.0.1", 0)).ok()?.local_addr().ok()?.port();
        let mut pcu = Pcu {
            child,
            bts,
            sgsn,
            frames: Vec::new(),
            common: Vec::new(),
            ready: false,
            tick: 1,
            _folder: folder,
        };
        pcu.receive();
        pcu.send(INFO_IND, &pcu.info(setup.slots, free));
        let begin = Instant::now();
        while !pcu.ready {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            assert!(begin.elapsed() < Duration::from_secs(10), "the cell was not unblocked on Gb: {log}");
            pcu.listen();
            std::thread::sleep(Duration::from_millis(1));
        }
        // What it sent meanwhile (activation of the timeslots) is not looked at.
        pcu.bts.set_read_timeout(Some(Duration::from_millis(20))).ok()?;
        while pcu.receive().is_some() {}
        pcu.bts.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        Some(pcu)
    }

    fn info(&self, slots: u8, local: u16) -> Vec<u8> {
        let mut b: Vec<u8> = Vec::new();
        b.extend(0x0au32.to_le_bytes());
        // Active, CS-1 to CS-4.
        b.extend((1u32 | 15 << 16).to_le_bytes());
        for trx in 0..8 {
            b.extend(ARFCN.to_le_bytes());
            b.extend([if trx == 0 { slots } else { 0 }, 0]);
            b.extend(0u32.to_le_bytes());
            for _ in 0..8 {
                b.push(7);
                b.extend([0; 12]);
            }
        }
        b.extend([63, 1, 0, 1, 0, 0, 1, 0, 0, 0]);
        b.extend(BVCI.to_le_bytes());
        b.extend([3, 3, 3, 3, 30, 3, 10, 3, 3, 3, 3, 3, 10, 3, 10, 3, 10, 3]);
        b.extend(20_960u16.to_le_bytes());
        b.extend(50u16.to_le_bytes());
        b.push(3);
        b.extend(BVCI.to_le_bytes());
        // T3142, T3169, T3191, T3193, T3195, N3101, N3103, N3105, BS_CV_MAX.
        b.extend([20, 5, 5, 160, 5, 10, 4, 8, 15]);
        b.extend(250u16.to_le_bytes());
        b.extend(250u16.to_le_bytes());
        b.extend([2, 6]);
        let port = self.sgsn.local_addr().map_or(0, |a| a.port());
        for value in [BVCI, 0, local, 0, port, 0] {
            b.extend(value.to_le_bytes());
        }
        b.extend([4, 0, 127, 0, 0, 1]);
        b.extend([0; 28]);
        b
    }

    fn send(&self, kind: u8, body: &[u8]) {
        let mut message = vec![kind, 0, 0, 0];
        message.extend_from_slice(body);
        message.resize(SIZE, 0);
        (&self.bts).write_all(&message).expect("the PCU takes a message");
    }

    fn receive(&self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 2048];
        let n = (&self.bts).read(&mut buffer).ok().filter(|n| *n > 0)?;
        buffer.truncate(n);
        Some(buffer)
    }

    /// A channel request.
    pub(crate) fn rach(&self, request: u16) {
        let mut b = vec![1];
        b.extend(request.to_le_bytes());
        b.extend(0i16.to_le_bytes());
        b.extend(tdma::frame_of(self.tick).to_le_bytes());
        b.extend(ARFCN.to_le_bytes());
        b.extend([0; 4]);
        self.send(RACH_IND, &b);
    }

    /// The downlink block of this block period on a timeslot.
    pub(crate) fn block(&mut self, slot: u8) -> Option<Vec<u8>> {
        let frame = tdma::frame_of(self.tick);
        self.send(TIME_IND, &frame.to_le_bytes());
        let mut b = vec![PDTCH, 0, 0, 0];
        b.extend(frame.to_le_bytes());
        b.extend(ARFCN.to_le_bytes());
        b.extend([0, slot, (self.tick % 12) as u8]);
        self.send(RTS_REQ, &b);
        loop {
            let message = self.receive()?;
            if message[0] != DATA_REQ {
                continue;
            }
            let octets = message[6..6 + usize::from(message[5])].to_vec();
            if message[4] == PDTCH {
                return Some(octets);
            }
            self.common.push(octets);
        }
    }

    /// An uplink block of this block period on a timeslot.
    pub(crate) fn uplink(&self, slot: u8, octets: &[u8]) {
        let mut b = vec![PDTCH, octets.len() as u8];
        b.extend_from_slice(octets);
        b.resize(2 + 162, 0);
        b.extend(tdma::frame_of(self.tick).to_le_bytes());
        b.extend(ARFCN.to_le_bytes());
        b.extend([0, slot, (self.tick % 12) as u8, (-60i8) as u8]);
        b.extend(0u16.to_le_bytes());
        b.extend(0i16.to_le_bytes());
        b.extend(200i16.to_le_bytes());
        self.send(DATA_IND, &b);
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

    fn tell(&self, datagram: &[u8]) {
        let _ = self.sgsn.send(datagram);
    }

    /// Answers what has come over Gb.
    pub(crate) fn listen(&mut self) {
        let mut buffer = [0; 2048];
        while let Ok((n, from)) = self.sgsn.recv_from(&mut buffer) {
            let _ = self.sgsn.connect(from);
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
