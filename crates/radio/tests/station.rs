//! The cell before a real PCU: packets through Debian's osmo-pcu 1.1.0, whose RLC/MAC is the network's. Its timers run
//! on the real clock here, far behind its blocks. Without the program the test reports this and is skipped.

#![allow(clippy::disallowed_methods, reason = "a program on the real clock is waited for")]

#[path = "common/mod.rs"]
mod common;
#[path = "pcu/program.rs"]
mod program;

use base::packet::{Flags, Packet};
use base::trace::Tracer;
use base::{Span, Time};
use common::{SEED, Sink};
use path::{ElementId, Network, Port};
use program::Program;
use radio::cell::config::{LlcConfig, UserConfig};
use radio::cell::element;
use radio::coding::Scheme;
use radio::llc::LlcMode;
use radio::pcu::config::StationConfig;
use radio::pcu::{Counts, Message, PcuInterface, Station};
use radio::quality::Source;
use std::time::{Duration, Instant};

struct Trial {
    program: Program,
    network: Network,
    station: ElementId,
    sinks: Vec<ElementId>,
    sent: u64,
}

impl Trial {
    fn start(slots: u8, users: Vec<UserConfig>) -> Option<Trial> {
        let mut config = StationConfig { slots, ports: [0; 2], users };
        let program = Program::start(|socket| config.text(socket))?;
        program.patience(Duration::from_millis(500));
        config.ports = program.ports();
        let mut network = Network::new(1, Tracer::of(&[]));
        let sinks: Vec<ElementId> =
            (0..2 * config.users.len()).map(|_| network.add(Sink::default())).collect();
        let station = network.add(Station::new(&config, SEED));
        for (port, sink) in sinks.iter().enumerate() {
            network.wire(station, Port(port as u16), *sink, Port(0));
        }
        network.start(None);
        let mut trial = Trial { program, network, station, sinks, sent: 0 };
        trial.connect();
        Some(trial)
    }

    /// Lets blocks pass in real time until Gb stands.
    fn connect(&mut self) {
        let begin = Instant::now();
        while !self.cell().is_ready() {
            let late = begin.elapsed() >= Duration::from_secs(10);
            assert!(!late, "the cell was not unblocked on Gb: {}", self.program.log());
            self.period();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn cell(&self) -> &Station {
        self.network.element::<Station>(self.station).expect("it is there")
    }

    fn hears(&mut self, link: PcuInterface, octets: Vec<u8>) {
        let (now, message) = (self.network.now(), Message { link, octets });
        self.network.enter(now, self.station, |station: &mut Station, cx| station.on_message(cx, &message));
    }

    /// Lets a block period pass, and hands over what both sides say.
    fn period(&mut self) {
        let due = self.network.next_wake().unwrap_or(Time::NEVER);
        self.network.run_until(due);
        loop {
            let now = self.network.now();
            let mut asked = 0;
            while let Some(Some(message)) =
                self.network.enter(now, self.station, |station: &mut Station, _| station.next_message())
            {
                match message.link {
                    PcuInterface::Station => {
                        asked += u32::from(message.octets[0] == 0x10);
                        self.program.send(&message.octets);
                    }
                    PcuInterface::Gb => _ = self.program.sgsn.send(&message.octets),
                }
            }
            // Each ready-to-send has one answer.
            while asked > 0 {
                let Some(octets) = self.program.receive() else { break };
                asked -= u32::from(octets[0] == 0 && octets[4] == 5);
                self.hears(PcuInterface::Station, octets);
            }
            self.program.patience(Duration::from_micros(300));
            while let Some(octets) = self.program.receive() {
                self.hears(PcuInterface::Station, octets);
            }
            self.program.patience(Duration::from_millis(500));
            let mut buffer = [0; 2048];
            let mut heard = false;
            while let Ok((n, from)) = self.program.sgsn.recv_from(&mut buffer) {
                let _ = self.program.sgsn.connect(from);
                self.hears(PcuInterface::Gb, buffer[..n].to_vec());
                heard = true;
            }
            if !heard {
                return;
            }
        }
    }

    fn pass(&mut self, seconds: u64) {
        let end = self.network.now() + Span::from_secs(seconds);
        while self.network.now() < end {
            self.period();
        }
    }

    fn send(&mut self, size: u32, port: Port) {
        self.sent += 1;
        let now = self.network.now();
        let packet = Packet { id: self.sent, born: now, size, flags: Flags::DATA, ..Packet::NONE };
        self.network.inject(now, self.station, port, packet);
    }

    fn got(&self, port: Port) -> Vec<(f64, u64)> {
        let sink = self.network.element::<Sink>(self.sinks[usize::from(port.0)]).expect("it is there");
        sink.0.iter().map(|(t, p)| (t.as_secs_f64(), p.id)).collect()
    }
}

/// Packets both ways through the real PCU, with a tenth of the blocks lost in each direction: they arrive in order.
#[test]
fn packets_pass_a_real_pcu() {
    let mut user = UserConfig::new("phone");
    for direction in [&mut user.down, &mut user.up] {
        direction.quality = Source::Constant { data: 0.1, control: 0.02 };
    }
    let Some(mut trial) = Trial::start(1, vec![user]) else {
        eprintln!("skipped: osmo-pcu is not installed");
        return;
    };
    for _ in 0..3 {
        trial.send(40, element::up(0));
    }
    // A mobile that requests the channel while it is paged makes this PCU discard the downlink TBF.
    trial.pass(5);
    for _ in 0..20 {
        trial.send(576, element::down(0));
    }
    trial.pass(35);
    let (down, up) = (trial.got(element::down(0)), trial.got(element::up(0)));
    let counts: Counts = trial.cell().counts();
    eprintln!("down {} up {}: {down:?} {up:?} {counts:?}", down.len(), up.len());
    let ids = |got: &[(f64, u64)]| got.iter().map(|g| g.1).collect::<Vec<_>>();
    assert_eq!(ids(&up), (1..=3).collect::<Vec<_>>(), "{}", trial.program.log());
    assert_eq!(ids(&down), (4..=23).collect::<Vec<_>>(), "{}", trial.program.log());
    assert!(counts.wrong == 0 && counts.accesses > 0 && counts.lost > 0, "{counts:?}");
}

/// GP-22: acknowledged LLC in both directions through the real PCU. Packets arrive once and in order.
#[test]
fn gp_22_acknowledged_llc_passes_a_real_pcu() {
    let mut user = UserConfig::new("phone");
    user.llc = LlcConfig { mode: LlcMode::Acknowledged, k: 6, ..LlcConfig::default() };
    for direction in [&mut user.down, &mut user.up] {
        direction.quality = Source::Constant { data: 0.05, control: 0.02 };
    }
    let Some(mut trial) = Trial::start(1, vec![user]) else {
        eprintln!("skipped: osmo-pcu is not installed");
        return;
    };
    for _ in 0..3 {
        trial.send(1500, element::up(0));
    }
    trial.pass(20);
    for _ in 0..20 {
        trial.send(576, element::down(0));
    }
    trial.pass(60);
    let (down, up) = (trial.got(element::down(0)), trial.got(element::up(0)));
    let (counts, of) = (trial.cell().counts(), trial.cell().user_counts(0));
    eprintln!("down {} up {}: {counts:?} {of:?}", down.len(), up.len());
    let ids = |got: &[(f64, u64)]| got.iter().map(|g| g.1).collect::<Vec<_>>();
    assert_eq!(ids(&up), (1..=3).collect::<Vec<_>>(), "{up:?} {}", trial.program.log());
    assert_eq!(ids(&down), (4..=23).collect::<Vec<_>>(), "{down:?} {}", trial.program.log());
    assert!(counts.wrong == 0 && counts.lost > 0, "{counts:?}");
}

/// A mobile of EGPRS with a scheme in each direction: channel request of 11 bits, TBFs of EGPRS both ways, retransmission
/// of a tenth of the blocks. Packets arrive in order.
#[test]
fn packets_pass_a_real_pcu_in_egprs() {
    for scheme in [Scheme::Mcs2, Scheme::Mcs9] {
        let mut user = UserConfig::new("phone");
        for direction in [&mut user.down, &mut user.up] {
            direction.scheme = scheme;
            direction.quality = Source::Constant { data: 0.1, control: 0.02 };
        }
        let Some(mut trial) = Trial::start(1, vec![user]) else {
            eprintln!("skipped: osmo-pcu is not installed");
            return;
        };
        for _ in 0..3 {
            trial.send(576, element::up(0));
        }
        trial.pass(5);
        for _ in 0..20 {
            trial.send(576, element::down(0));
        }
        trial.pass(20);
        for _ in 0..6 {
            trial.send(1500, element::up(0));
        }
        trial.pass(20);
        let (down, up) = (trial.got(element::down(0)), trial.got(element::up(0)));
        let counts: Counts = trial.cell().counts();
        eprintln!("{scheme}: down {} up {}: {counts:?}", down.len(), up.len());
        let ids = |got: &[(f64, u64)]| got.iter().map(|g| g.1).collect::<Vec<_>>();
        let sent = (1..=3).chain(24..=29).collect::<Vec<_>>();
        assert_eq!(ids(&up), sent, "{scheme}: {counts:?} {up:?} {}", trial.program.log());
        assert_eq!(ids(&down), (4..=23).collect::<Vec<_>>(), "{scheme}: {counts:?} {}", trial.program.log());
        assert!(counts.wrong == 0 && counts.accesses > 0 && counts.lost > 0, "{counts:?}");
    }
}
