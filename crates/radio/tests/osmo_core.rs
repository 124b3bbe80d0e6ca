//! The whole GPRS network of Osmocom behind our mobile: osmo-pcu, osmo-sgsn and osmo-ggsn of Debian, unchanged. The mobile
//! attaches, activates a context, and an echo request comes back from the far end of the GGSN. All of it runs in a
//! network namespace of its own, on the real clock. Without the programs or the rights the test reports this and is
//! skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "programs on the real clock are waited for")]

#[path = "common/mod.rs"]
mod common;
#[allow(dead_code, reason = "the SGSN is another program here")]
#[path = "pcu/program.rs"]
mod program;

use base::Time;
use base::trace::Tracer;
use common::SEED;
use path::{ElementId, Network};
use program::Program;
use radio::cell::config::UserConfig;
use radio::pcu::config::StationConfig;
use radio::pcu::{Message, PcuInterface, Station};
use radio::wire::gb::Mobile;
use radio::wire::gmm::{self, Command as Answer};
use radio::wire::llc;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const NAME: &str = "a_mobile_attaches_to_a_real_core";
/// Set in the process that is in the namespace.
const INSIDE: &str = "WILLIWAW_TEST_CORE";
const PROGRAMS: [&str; 3] = ["osmo-pcu", "osmo-sgsn", "osmo-ggsn"];
/// Address of the GGSN's end of the tunnel of packets.
const GGSN: [u8; 4] = [172, 16, 222, 0];

const SGSN_TEXT: &str = "line vty\n no login\nsgsn\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n \
    ggsn 0 gtp-version 1\n authentication optional\n auth-policy accept-all\nns\n bind udp local\n  \
    listen 127.0.0.1 23000\n  accept-ipaccess\nbssgp\n";
const GGSN_TEXT: &str = "line vty\n no login\nggsn ggsn0\n gtp state-dir .\n gtp bind-ip 127.0.0.2\n apn internet\n  \
    gtpu-mode tun\n  tun-device tun4\n  type-support v4\n  ip prefix dynamic 172.16.222.0/24\n  \
    ip ifconfig 172.16.222.0/24\n  no shutdown\n default-apn internet\n no shutdown ggsn\n";

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Path, name: &str, text: &str) -> Running {
    let file = format!("{name}.cfg");
    std::fs::write(folder.join(&file), text).expect("a configuration is written");
    let log = std::fs::File::create(folder.join(format!("{name}.log"))).expect("a log is made");
    let child = Command::new(format!("/usr/bin/{name}"))
        .args(["-c", &file])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("the program is there");
    Running(child)
}

/// Our mobile with its cell before the PCU.
struct Phone {
    program: Program,
    network: Network,
    station: ElementId,
    identity: Mobile,
    numbers: [u32; 2],
}

impl Phone {
    fn period(&mut self) {
        let due = self.network.next_wake().unwrap_or(Time::NEVER);
        self.network.run_until(due);
        let now = self.network.now();
        while let Some(Some(message)) =
            self.network.enter(now, self.station, |station: &mut Station, _| station.next_message())
        {
            if message.link == PcuInterface::Station {
                self.program.send(&message.octets);
            }
        }
        // A block period in a fifth of its time: the programs' own timers are seconds long.
        self.program.patience(Duration::from_millis(4));
        while let Some(octets) = self.program.receive() {
            let message = Message { link: PcuInterface::Station, octets };
            let hears = |station: &mut Station, cx: &mut path::Cx<'_>| station.on_message(cx, &message);
            self.network.enter(now, self.station, hears);
        }
    }

    fn say(&mut self, sapi: u8, octets: &[u8]) {
        let number = &mut self.numbers[usize::from(sapi != gmm::SAPI)];
        let frame = gmm::frame(sapi, *number, octets);
        *number += 1;
        let now = self.network.now();
        self.network.enter(now, self.station, |station: &mut Station, _| station.say(0, frame));
    }

    /// The first message among `periods` that `wanted` takes.
    fn hear<T>(&mut self, periods: u32, mut wanted: impl FnMut(&llc::Read<'_>) -> Option<T>) -> Option<T> {
        for _ in 0..periods {
            self.period();
            let now = self.network.now();
            while let Some(Some(frame)) =
                self.network.enter(now, self.station, |station: &mut Station, _| station.said(0))
            {
                if let Some(found) = llc::read(&frame).and_then(|read| wanted(&read)) {
                    return Some(found);
                }
            }
        }
        None
    }

    fn answer(&mut self, periods: u32) -> Option<Answer> {
        self.hear(periods, |read| gmm::read(read.information).filter(|_| read.sapi == gmm::SAPI))
    }
}

/// Internet checksum.
fn checksum(octets: &[u8]) -> [u8; 2] {
    let words = octets.chunks(2).map(|c| u32::from(c[0]) << 8 | u32::from(*c.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

/// An ICMP echo request in IPv4.
fn echo(from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    let mut icmp = vec![8, 0, 0, 0, 0, 1, 0, 1];
    icmp.extend(b"through a real core");
    let sum = checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum);
    let mut packet = vec![0x45, 0, 0, 20 + icmp.len() as u8, 0, 1, 0, 0, 64, 1, 0, 0];
    packet.extend(from.iter().chain(&to));
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum);
    packet.extend(icmp);
    packet
}

fn inside() {
    let loopback = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(loopback.is_ok_and(|s| s.success()), "loopback comes up");
    let folder = tempfile::tempdir().expect("a folder");
    let _ggsn = start(folder.path(), "osmo-ggsn", GGSN_TEXT);
    std::thread::sleep(Duration::from_millis(500));
    let _sgsn = start(folder.path(), "osmo-sgsn", SGSN_TEXT);
    std::thread::sleep(Duration::from_secs(1));
    let mut config =
        StationConfig { slots: 1, ports: [22_000, 23_000], users: vec![UserConfig::new("phone")] };
    let Some(program) = Program::start(|socket| config.text(socket)) else { return };
    config.ports = [22_000, 23_000];
    let mut network = Network::new(1, Tracer::of(&[]));
    let station = network.add(Station::new(&config, SEED));
    network.start(None);
    let identity = Mobile { tlli: 0x7a00_0001, digits: 1, class: 4, egprs: None };
    let mut phone = Phone { program, network, station, identity, numbers: [0; 2] };
    let name = |phone: &mut Phone, tlli| {
        let now = phone.network.now();
        phone.network.enter(now, phone.station, |station: &mut Station, _| station.rename(0, tlli));
    };
    // The PCU sets up Gb with the SGSN, which takes seconds of its clock.
    (0..1000).for_each(|_| phone.period());
    name(&mut phone, identity.tlli);
    phone.say(gmm::SAPI, &gmm::attach_request(&phone.identity.clone()));
    let log = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let attached = loop {
        match phone.answer(2000) {
            Some(Answer::Identity(kind)) => {
                let response = gmm::identity_response(&identity, kind);
                phone.say(gmm::SAPI, &response);
            }
            other => break other,
        }
    };
    let Some(Answer::Attached(Some(temporary))) = attached else {
        panic!("{attached:?}: {} {}", phone.program.log(), log("osmo-sgsn.log"))
    };
    // Local TLLI of the P-TMSI: its two upper bits are set.
    name(&mut phone, temporary | 0xc000_0000);
    phone.say(gmm::SAPI, &gmm::attach_complete());
    phone.say(gmm::SAPI, &gmm::activate_request("internet"));
    let context = phone.answer(2000);
    let Some(Answer::Activated(address)) = context else { panic!("{context:?}: {}", log("osmo-sgsn.log")) };
    eprintln!("attached with P-TMSI {temporary:08x}, address {address:?}");
    let packet = echo(address, GGSN);
    // SN-UNITDATA: first segment, no compression, number 0.
    let mut segment = vec![0x60 | llc::NSAPI, 0, 0, 0];
    segment.extend(&packet);
    phone.say(llc::SAPI, &segment);
    let reply = phone.hear(3000, |read| {
        let packet = read.information.get(4..).filter(|_| read.sapi == llc::SAPI)?;
        (packet.get(20) == Some(&0)).then(|| packet.to_vec())
    });
    let reply = reply.unwrap_or_else(|| panic!("no reply: {}", log("osmo-sgsn.log")));
    assert_eq!((&reply[12..16], &reply[16..20], &reply[28..]), (&GGSN[..], &address[..], &packet[28..]));
    eprintln!("echo reply of {} octets from {:?}", reply.len(), GGSN);
}

/// Issue 20, item 8: GMM attach, context activation and a packet both ways over osmo-pcu, osmo-sgsn and osmo-ggsn.
#[test]
fn a_mobile_attaches_to_a_real_core() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    if let Some(missing) = PROGRAMS.iter().find(|p| !Path::new("/usr/bin").join(p).exists()) {
        return eprintln!("skipped: {missing} is not installed");
    }
    let may = Command::new("unshare").args(["-n", "ip", "tuntap", "add", "tun4", "mode", "tun"]).status();
    if !may.is_ok_and(|s| s.success()) {
        return eprintln!("skipped: no rights for a network namespace with a tun device");
    }
    let own = std::env::current_exe().expect("this program");
    let status = Command::new("unshare")
        .arg("-n")
        .arg(own)
        .args(["--exact", NAME, "--nocapture"])
        .env(INSIDE, "1")
        .status();
    assert!(status.is_ok_and(|s| s.success()), "the test in its namespace");
}
