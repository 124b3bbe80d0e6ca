//! Causes of disconnections and pauses from a modem that a pseudo-terminal plays: change of cell, lost registration, end by the
//! network, silence, garbage, a device that is missing or goes.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

#[allow(dead_code, reason = "each test uses some of it")]
mod common;

use common::{Memory, asking, beside, serving};
use measure::Error;
use measure::cause::Cause;
use measure::client::measure;
use measure::entry::{Disconnection, Entry};
use measure::modem::{ModemDevice, ModemEvent, ModemEventKind};
use measure::plan::Test;
use measure::server::Server;
use measure::summary::TestOutcome;
use netns::sys::serial;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

fn nap() {
    std::thread::sleep(Duration::from_millis(5));
}

/// What a modem answers to commands.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// `OK`, and its registrations when asked; `+CEREG` is unknown to it.
    Answers,
    /// Nothing.
    Silent,
    /// Bytes without meaning.
    Garbage,
}

/// Path to the server and a modem, both in the hand of the test.
struct Scene {
    manner: Manner,
    port: Mutex<Option<File>>,
    /// No bytes pass.
    held: AtomicBool,
    over: AtomicBool,
}

impl Scene {
    /// The modem says an unsolicited line.
    fn says(&self, line: &str) {
        let port = self.port.lock().unwrap();
        port.as_ref().unwrap().write_all(format!("\r\n{line}\r\n").as_bytes()).unwrap();
    }

    /// Silence of the path for a time, from the moment at which the modem says its lines.
    fn silence(&self, lines: &[&str], seconds: f64) {
        self.held.store(true, Ordering::Relaxed);
        lines.iter().for_each(|line| self.says(line));
        std::thread::sleep(Duration::from_secs_f64(seconds));
        self.held.store(false, Ordering::Relaxed);
    }

    fn unplug(&self) {
        drop(self.port.lock().unwrap().take());
    }

    /// Answers commands until the end.
    fn play_modem(&self) {
        let (mut heard, mut buffer) = (Vec::new(), [0; 256]);
        while !self.over.load(Ordering::Relaxed) {
            nap();
            let mut port = self.port.lock().unwrap();
            let Some(port) = port.as_mut() else { return };
            match port.read(&mut buffer) {
                Ok(n) => heard.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The client has closed the device.
                Err(error) => return assert_eq!(error.raw_os_error(), Some(libc::EIO)),
            }
            while let Some(end) = heard.iter().position(|byte| *byte == b'\r') {
                let command = String::from_utf8(heard.drain(..=end).collect()).unwrap();
                let answer: &[u8] = match (self.manner, command.trim()) {
                    (Manner::Silent, _) => b"",
                    (Manner::Garbage, _) => b"\x80\xFF\r\n+CREG: nonsense\r\n^BOOT:1,2\r\n",
                    (_, "AT+CREG?" | "AT+CGREG?") => b"\r\n+CGREG: 2,1,\"00C3\",\"000A\"\r\n\r\nOK\r\n",
                    (_, "AT+CEREG=2" | "AT+CEREG?") => b"\r\nERROR\r\n",
                    (_, "AT+CSQ") => b"\r\n+CSQ: 4,99\r\n\r\nOK\r\n",
                    (_, command) if command.starts_with("AT") => b"\r\nOK\r\n",
                    (_, other) => panic!("{other}"),
                };
                port.write_all(answer).unwrap();
            }
        }
    }

    /// Passes connections to the server.
    fn relay(&self, to: SocketAddr, listener: &TcpListener) {
        listener.set_nonblocking(true).unwrap();
        std::thread::scope(|scope| {
            while !self.over.load(Ordering::Relaxed) {
                nap();
                let Ok((client, _)) = listener.accept() else { continue };
                let server = TcpStream::connect(to).unwrap();
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                scope.spawn(move || self.pass(client, server));
                scope.spawn(move || self.pass(back.0, back.1));
            }
        });
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream) {
        from.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut buffer = [0; 1000];
        while !self.over.load(Ordering::Relaxed) {
            let n = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Err(_) => break,
            };
            while self.held.load(Ordering::Relaxed) && !self.over.load(Ordering::Relaxed) {
                nap();
            }
            if to.write_all(&buffer[..n]).is_err() {
                break;
            }
            // At most 200 kB/s, so that a transfer lasts.
            nap();
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    }
}

/// Entries of a measurement while `disturb` acts 1 s after its start.
fn measured(manner: Manner, test: Test, stall: f64, disturb: impl FnOnce(&Scene) + Send) -> Vec<Entry> {
    let server = Server::bind(serving(HERE.into(), None)).unwrap();
    let listener = TcpListener::bind(HERE).unwrap();
    let (ours, theirs, path) = serial::pair().unwrap();
    let memory = Memory::default();
    let mut config = asking(&listener.local_addr().unwrap().to_string(), "", vec![(test, 1)]);
    (config.plan.stall, config.plan.connect, config.plan.silence) = (stall, 1.0, 0.5);
    config.modem = Some(ModemDevice { path, speed: None });
    let ends = AtomicBool::new(false);
    let scene = Scene { manner, port: Mutex::new(Some(ours)), held: ends, over: AtomicBool::new(false) };
    /// The threads end however the test ends.
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    beside(&server, || {
        std::thread::scope(|scope| {
            let _ends = Ends(&scene.over);
            scope.spawn(|| scene.relay(server.addresses()[0], &listener));
            scope.spawn(|| scene.play_modem());
            let measuring = scope.spawn(|| measure(&config, &AtomicBool::new(false), &memory));
            std::thread::sleep(Duration::from_secs(1));
            // The device has been opened: the client alone holds it.
            drop(theirs);
            disturb(&scene);
            assert!(measuring.join().unwrap().unwrap());
        });
    });
    memory.0.into_inner().unwrap()
}

/// Small packets for 4 s.
fn echo() -> Test {
    Test::Echo { size: 32, count: 80, interval: 0.05, tcp: true }
}

fn modem(entries: &[Entry]) -> Vec<&ModemEvent> {
    let mut all = Vec::new();
    for entry in entries {
        if let Entry::Modem(event) = entry {
            all.push(event);
        }
    }
    all
}

fn lost(entries: &[Entry]) -> &Disconnection {
    let mut all = Vec::new();
    for entry in entries {
        if let Entry::Disconnection(lost) = entry {
            all.push(lost);
        }
    }
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]
}

/// WL-14: a change of cell and silence.
#[test]
fn wl_14_a_change_of_cell_beside_silence() {
    let entries = measured(Manner::Answers, echo(), 2.0, |scene| {
        scene.silence(&["+CGREG: 1,\"00C3\",\"000B\""], 3.0);
    });
    let lost = lost(&entries);
    assert_eq!((lost.cause, lost.kind.as_str()), (Cause::Handover, "stalled"), "{}", lost.evidence);
    assert!(lost.evidence.contains("change of cell at "), "{}", lost.evidence);
    assert!(lost.evidence.contains("(00C3/000A to 00C3/000B)"), "{}", lost.evidence);
    assert!(lost.evidence.contains("; -105 dBm at "), "{}", lost.evidence);
    let events = modem(&entries);
    let change = events.iter().find(|event| event.kind == ModemEventKind::CellChange).unwrap();
    // One clock: the change is 2 s before the loss is noticed.
    assert!((1.5..2.6).contains(&(lost.t - change.t)), "{} {}", lost.t, change.t);
    let kinds: Vec<ModemEventKind> = events.iter().map(|event| event.kind).collect();
    let first = [
        ModemEventKind::Answers,
        ModemEventKind::Refused,
        ModemEventKind::Registered,
        ModemEventKind::Refused,
    ];
    assert_eq!((&kinds[..4], kinds[4]), (&first[..], ModemEventKind::Signal));
}

/// WL-14: the registration is lost, and found again in the same cell; a call that ends with it is no cause.
#[test]
fn wl_14_a_lost_registration() {
    let entries = measured(Manner::Answers, echo(), 2.0, |scene| {
        scene.silence(&["NO CARRIER", "+CGREG: 2"], 3.0);
        scene.says("+CGREG: 1,\"00C3\",\"000A\"");
    });
    let lost = lost(&entries);
    assert_eq!(lost.cause, Cause::AirInterface, "{}", lost.evidence);
    assert!(lost.evidence.contains("no carrier at "), "{}", lost.evidence);
    assert!(lost.evidence.contains("registration lost at "), "{}", lost.evidence);
}

/// WL-14: the network deactivates the session, and the registration goes with it.
#[test]
fn wl_14_the_network_ends_the_session() {
    let entries = measured(Manner::Answers, echo(), 2.0, |scene| {
        scene.silence(&["+CGEV: NW PDN DEACT 1", "+CGREG: 0"], 3.0);
    });
    let lost = lost(&entries);
    assert_eq!(lost.cause, Cause::NetworkSoftware, "{}", lost.evidence);
    assert!(lost.evidence.contains("session deactivated by the network at "), "{}", lost.evidence);
}

/// WL-14: the end of a call alone is the other end's.
#[test]
fn wl_14_a_call_that_ends() {
    let entries = measured(Manner::Answers, echo(), 2.0, |scene| scene.silence(&["NO CARRIER"], 3.0));
    assert_eq!(lost(&entries).cause, Cause::RemoteEquipment);
}

/// WL-14: a pause without a disconnection has its cause too; the next one, without an event of the modem, has none.
#[test]
fn wl_14_causes_of_pauses() {
    let test = Test::Bulk { down: true, bytes: 500_000, seconds: 0.0 };
    let entries = measured(Manner::Answers, test, 10.0, |scene| {
        scene.silence(&["+CGREG: 2", "+CGREG: 1,\"00C3\",\"000B\""], 1.5);
    });
    let outcome = TestOutcome::of(&entries).unwrap();
    assert!(outcome.disconnections.is_empty());
    let document = outcome.document();
    let pauses = document["pauses"].as_array().unwrap();
    assert_eq!(pauses.len(), 1, "{pauses:?}");
    assert_eq!(pauses[0]["cause"], "handover", "{}", pauses[0]);
    assert_eq!(outcome.pauses_by_cause(), [(Cause::Handover, 1)]);
    let kinds: Vec<&str> =
        document["modem"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"registration-lost"), "{kinds:?}");
}

/// WL-14: a modem that says nothing, or nothing with a meaning, leaves the cause open and is reported once.
#[test]
fn wl_14_a_modem_without_answers() {
    let without_answers = |manner| {
        let test = Test::Echo { size: 32, count: 300, interval: 0.05, tcp: true };
        // Silence of the path behind the three attempts of 3 s.
        let entries = measured(manner, test, 2.0, |scene| {
            std::thread::sleep(Duration::from_secs(9));
            scene.silence(&[], 3.0);
        });
        let lost = lost(&entries);
        assert_eq!(lost.cause, Cause::Path, "{}", lost.evidence);
        let events = modem(&entries);
        let kinds: Vec<ModemEventKind> = events.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [ModemEventKind::Silent], "{events:?}");
        assert_eq!(events[0].line.contains("lines that are no result codes"), manner == Manner::Garbage);
    };
    std::thread::scope(|scope| {
        for manner in [Manner::Silent, Manner::Garbage] {
            scope.spawn(move || without_answers(manner));
        }
    });
}

/// WL-14: a device that goes ends nothing; one that is missing, or is no modem, is an error before the measurement.
#[test]
fn wl_14_a_device_that_goes_or_is_missing() {
    let entries = measured(Manner::Answers, echo(), 2.0, Scene::unplug);
    assert_eq!(modem(&entries).last().map(|event| event.kind), Some(ModemEventKind::Gone));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let missing = folder.path().join("missing");
    for (path, number) in [(missing, libc::ENOENT), (file, libc::ENOTTY)] {
        let path = path.to_str().unwrap().to_owned();
        let mut config = asking("127.0.0.1:1", "", vec![(echo(), 1)]);
        config.modem = Some(ModemDevice { path: path.clone(), speed: None });
        let memory = Memory::default();
        match measure(&config, &AtomicBool::new(false), &memory) {
            Err(Error::Modem { device, source }) => {
                assert_eq!((device, source.raw_os_error()), (path, Some(number)));
            }
            other => panic!("{other:?}"),
        }
        assert!(memory.0.into_inner().unwrap().is_empty());
    }
}
