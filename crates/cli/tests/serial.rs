//! The claim: two serial lines are one wire with a link in it; PPP frames pass unchanged (catalogue SW-12, SW-15). The
//! two ends are this test, with a framing of its own, and `pppd` where it is installed.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod wired;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use wired::Wire;

const PROGRAM: &str = env!("CARGO_BIN_EXE_williwaw");
const PATIENCE: Duration = Duration::from_secs(20);
/// O_NOCTTY: the device does not become the controlling terminal of this process.
const NO_TERMINAL: i32 = 0o400;

/// `williwaw wire` between two serial lines.
fn between(ends: [&str; 2], args: &[&str]) -> Wire {
    let mut command = Command::new(PROGRAM);
    command.arg("wire").args(ends).args(args);
    Wire::open(command)
}

/// Peer at a serial line.
struct Peer {
    line: File,
    heard: Receiver<u8>,
}

impl Peer {
    fn at(path: &str) -> Peer {
        let open = || File::options().read(true).write(true).custom_flags(NO_TERMINAL).open(path).unwrap();
        let (said, heard) = channel();
        let mut ear = open();
        std::thread::spawn(move || {
            let mut bytes = [0; 256];
            while let Ok(n @ 1..) = ear.read(&mut bytes) {
                if bytes[..n].iter().any(|byte| said.send(*byte).is_err()) {
                    return;
                }
            }
        });
        Peer { line: open(), heard }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.line.write_all(bytes).unwrap();
    }

    /// Receives this number of bytes.
    fn hear(&self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.heard.recv_timeout(PATIENCE).unwrap()).collect()
    }

    /// Next frame without its frame check sequence, which is verified.
    fn frame(&self) -> Vec<u8> {
        let mut frame = Vec::new();
        loop {
            match self.hear(1)[0] {
                0x7e if frame.is_empty() => {}
                0x7e => break,
                0x7d => frame.push(self.hear(1)[0] ^ 0x20),
                byte => frame.push(byte),
            }
        }
        let inner = frame[..frame.len() - 2].to_vec();
        assert_eq!(frame[frame.len() - 2..], check(&inner), "{frame:02x?}");
        inner
    }

    fn is_silent_for(&self, time: Duration) -> bool {
        self.heard.recv_timeout(time).is_err()
    }
}

/// Frame check sequence of RFC 1662, computed bit by bit.
fn check(bytes: &[u8]) -> [u8; 2] {
    let mut fcs = 0xffffu16;
    for bit in bytes.iter().flat_map(|byte| (0..8).map(move |k| u16::from(byte >> k & 1))) {
        fcs = if (fcs ^ bit) & 1 == 1 { fcs >> 1 ^ 0x8408 } else { fcs >> 1 };
    }
    (!fcs).to_le_bytes()
}

/// A frame on a line, with the characters of the default control character map escaped.
fn framed(inner: &[u8]) -> Vec<u8> {
    let mut line = vec![0x7e];
    for byte in inner.iter().copied().chain(check(inner)) {
        if byte < 0x20 || byte == 0x7d || byte == 0x7e {
            line.extend([0x7d, byte ^ 0x20]);
        } else {
            line.push(byte);
        }
    }
    line.push(0x7e);
    line
}

/// A request of LCP to configure: magic number, all control characters as they are.
const LCP: [u8; 20] = [0xff, 3, 0xc0, 0x21, 1, 1, 0, 16, 2, 6, 0, 0, 0, 0, 5, 6, 0x11, 0x22, 0x7e, 0x7d];

/// A frame with a UDP packet of `n` bytes of payload.
fn packet(n: usize) -> Vec<u8> {
    let mut inner = vec![0xff, 3, 0, 0x21, 0x45, 0];
    inner.extend((28 + n as u16).to_be_bytes());
    inner.extend([0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 7]);
    inner.extend((8 + n as u16).to_be_bytes());
    inner.extend([0, 0]);
    inner.extend((0..n).map(|i| i as u8));
    inner
}

/// SW-12: text outside frames passes at once; frames pass unchanged, each after the link's delay and the transmission
/// time of all its bytes; invalid frames do not pass.
#[test]
fn frames_pass_and_take_their_time() {
    // 8000 bit/s: a millisecond for each byte.
    let wire = between(["pty", "pty"], &["--link", "rate=8000 bit/s, delay=100 ms"]);
    let (mut phone, mut server) = (Peer::at(&wire.ends[0]), Peer::at(&wire.ends[1]));
    phone.say(b"CLIENT");
    assert_eq!(server.hear(6), b"CLIENT");
    server.say(b"CLIENTSERVER\r\n");
    assert_eq!(phone.hear(14), b"CLIENTSERVER\r\n");
    for inner in [LCP.to_vec(), packet(300), vec![0xc0, 0x23, 1, 1, 0, 4], packet(0)] {
        let since = Instant::now();
        phone.say(&framed(&inner));
        assert_eq!(server.frame(), inner);
        let took = since.elapsed().as_secs_f64();
        // The frame has its check sequence, and neither flags nor escapes.
        let least = 0.1 + (inner.len() + 2) as f64 * 1e-3;
        assert!(took >= least && took < least + 0.2, "{took} s, and {least} s at least");
    }
    server.say(&framed(&packet(40)));
    assert_eq!(phone.frame(), packet(40), "both ways");
    let mut bad = framed(&packet(40));
    bad[20] ^= 1;
    phone.say(&bad);
    phone.say(b"~ab~");
    assert!(server.is_silent_for(Duration::from_millis(400)));
    phone.say(&framed(&LCP));
    assert_eq!(server.frame(), LCP);
    let told = wire.close();
    let end = &told["ends"][0];
    assert_eq!((&end["frames_in"], &told["ends"][1]["frames_out"]), (&5.into(), &5.into()), "{told}");
    assert_eq!(end["talk_bytes"], 6);
    assert_eq!(end["wrong"]["a wrong check sequence"], 1, "{told}");
    assert_eq!(end["wrong"]["too short"], 1, "{told}");
}

/// SW-50: frames pass unchanged and in order, however bytes are split, and with flags shared by two frames.
#[test]
fn pieces_and_shared_flags() {
    let wire = between(["pty", "pty"], &["--link", "delay=1 ms"]);
    let (mut phone, server) = (Peer::at(&wire.ends[0]), Peer::at(&wire.ends[1]));
    let mut line = Vec::new();
    for n in 0..40 {
        line.pop();
        line.extend(framed(&packet(n)));
    }
    for (i, piece) in line.chunks(7).enumerate() {
        phone.say(piece);
        if i % 16 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    for n in 0..40 {
        assert_eq!(server.frame(), packet(n));
    }
    let told = wire.close();
    assert_eq!(told["ends"][0]["frames_in"], 40);
}

/// A file of this name in `folder`, with what differs of a path between two terminals; the wire that it is.
fn from_file(folder: &Path, name: &str, differs: &str) -> Wire {
    let file = folder.join(name);
    let text = format!(
        "williwaw = 1\n[[hop]]\nname = \"link\"\nbetween = [\"server\", \"phone\"]\ndelay = \"1 ms\"\n{differs}\
         [[node]]\nname = \"phone\"\nwire = \"pty\"\n[[node]]\nname = \"server\"\nwire = \"pty\"\n"
    );
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["wire", "--scenario", file.to_str().unwrap()]);
    Wire::open(command)
}

/// A bit error of the link breaks the frame, and the receiver detects it by the frame check sequence; a lost frame is
/// lost whole.
#[test]
fn errors_of_the_link_are_felt() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = "[[hop.error]]\nname = \"bits\"\nbit-probability = 0.001\nmode = \"corrupt\"\n";
    let wire = from_file(folder.path(), "errors.toml", wrong);
    let (mut phone, server) = (Peer::at(&wire.ends[0]), Peer::at(&wire.ends[1]));
    let (mut broken, n) = (0, 60);
    for _ in 0..n {
        let inner = packet(100);
        phone.say(&framed(&inner));
        let mut frame = Vec::new();
        loop {
            match server.hear(1)[0] {
                0x7e if frame.is_empty() => {}
                0x7e => break,
                0x7d => frame.push(server.hear(1)[0] ^ 0x20),
                byte => frame.push(byte),
            }
        }
        let (got, sequence) = frame.split_at(frame.len() - 2);
        let good = check(got) == sequence;
        assert_eq!(good, got == inner && sequence == check(&inner), "what is wrong is found");
        broken += usize::from(!good);
    }
    // Of 1100 bits one in a thousand is wrong: two frames of three.
    assert!((20..=55).contains(&broken), "{broken} of {n}");
    wire.close();
}

/// SW-43: triggers change the link and restore it while it runs.
#[test]
fn a_trigger_reaches_a_wire() {
    let folder = tempfile::tempdir().unwrap();
    let states = "[[state-machine]]\nname = \"cable\"\n[[state-machine.state]]\nname = \"short\"\n\
                  [[state-machine.state]]\nname = \"long\"\n\
                  [[state-machine.state.on]]\nname = \"link\"\ndelay = \"300 ms\"\n";
    let wire = from_file(folder.path(), "triggered.toml", states);
    let (mut phone, server) = (Peer::at(&wire.ends[0]), Peer::at(&wire.ends[1]));
    let trigger = |words: &[&str]| {
        let done = Command::new(PROGRAM).arg("trigger").args(words).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let mut took = || {
        let since = Instant::now();
        phone.say(&framed(&LCP));
        assert_eq!(server.frame(), LCP);
        since.elapsed()
    };
    took();
    assert!(trigger(&[]).contains(&format!("({}): cable.short, cable.long", wire.process.id())));
    let long = Duration::from_millis(300);
    trigger(&["--run", "triggered", "cable.long"]);
    assert!(took() >= long);
    trigger(&["--run", "triggered", "cable.short"]);
    assert!(took() < long);
    wire.close();
}

/// An existing device is used like a pseudo-terminal: here the end of another wire. The delays add up (SW-15).
#[test]
fn a_device_is_an_end_too() {
    let first = between(["pty", "pty"], &["--link", "delay=50 ms"]);
    let second = between([&first.ends[1], "pty"], &["--link", "delay=70 ms", "--speed", "115200"]);
    assert_eq!(second.ends[0], first.ends[1]);
    let (mut phone, mut server) = (Peer::at(&first.ends[0]), Peer::at(&second.ends[1]));
    phone.say(b"AT\r");
    assert_eq!(server.hear(3), b"AT\r");
    server.say(b"OK\r\n");
    assert_eq!(phone.hear(4), b"OK\r\n");
    let since = Instant::now();
    phone.say(&framed(&packet(10)));
    assert_eq!(server.frame(), packet(10));
    let took = since.elapsed();
    assert!(took >= Duration::from_millis(120) && took < Duration::from_millis(400), "{took:?}");
    let told = second.close();
    assert_eq!((&told["ends"][0]["frames_in"], &told["dropped"]), (&1.into(), &0.into()));
}

/// The link's frames are captured as PPP, readable by tshark.
#[test]
fn captures_are_ppp() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("line.pcapng");
    let wire = between(["pty", "pty"], &["--link", "delay=1 ms", "--pcap", file.to_str().unwrap()]);
    let (mut phone, server) = (Peer::at(&wire.ends[0]), Peer::at(&wire.ends[1]));
    for inner in [LCP.to_vec(), packet(20)] {
        phone.say(&framed(&inner));
        server.frame();
    }
    wire.close();
    let mut reader = capture::Reader::open(File::open(&file).unwrap()).unwrap();
    let mut seen = Vec::new();
    while let Some(frame) = reader.next().unwrap() {
        seen.push((frame.interface, frame.bytes.to_vec()));
    }
    seen.sort();
    let at = |tap: u32| seen.iter().filter(|(interface, _)| *interface == tap).count();
    let links = (2..6).map(at).filter(|n| *n > 0).collect::<Vec<_>>();
    assert_eq!((at(0), at(1), &links[..]), (2, 2, &[2, 2][..]), "both ends, and both sides of one link");
    assert!(seen.contains(&(0, LCP.to_vec())) && seen.contains(&(1, packet(20))), "{seen:02x?}");
    let Ok(output) = Command::new("tshark").args(["-r", file.to_str().unwrap()]).output() else {
        return eprintln!("skipped: there is no tshark here");
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("PPP LCP") && said.contains("Configuration Request"), "{said}");
    assert!(said.contains("10.0.0.1") && said.contains("10.0.0.2"), "{said}");
}

/// After a kill the pseudo-terminals are gone, and their users get an error.
#[test]
fn killed_it_leaves_nothing() {
    let mut wire = between(["pty", "pty"], &["--link", "delay=1 ms"]);
    let phone = Peer::at(&wire.ends[0]);
    wire.process.kill().unwrap();
    wire.process.wait().unwrap();
    assert!(matches!(
        phone.heard.recv_timeout(PATIENCE),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected)
    ));
    let others = std::mem::take(&mut wire.ends);
    assert!(!std::path::Path::new(&others[1]).exists(), "nobody is at the other one");
}

/// Invalid ends of a wire are refused with a remedy.
#[test]
fn unfit_ends_are_refused() {
    let refused = |ends: &[&str], code: i32, words: &str| {
        let output = Command::new(PROGRAM).arg("wire").args(ends).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(words) && said.contains("help:"), "{words}: {said}");
    };
    refused(&["pty", "/dev/there-is-none"], 3, "/dev/there-is-none");
    refused(&["pty", "/dev/null"], 3, "no serial device");
    refused(&["pty", "eth1"], 2, "no frames in common");
    refused(&["pty"], 2, "two ends");
    refused(&[], 2, "two ends");
    refused(&["pty", "pty", "--link", "nonsense"], 2, "nonsense");
    // Other verbs name `williwaw wire` as the remedy.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wire.toml");
    let text = "williwaw = 1\n[[hop]]\nname = \"link\"\nbetween = [\"server\", \"phone\"]\ndelay = \"1 ms\"\n\
                [[node]]\nname = \"phone\"\nwire = \"pty\"\n[[node]]\nname = \"server\"\nwire = \"pty\"\n";
    std::fs::write(&file, text).unwrap();
    let output =
        Command::new(PROGRAM).args(["wire", "pty", "pty", "--scenario"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("name no ends on the command line"), "{said}");
    for verb in ["run", "emulate"] {
        let output = Command::new(PROGRAM).arg(verb).arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("williwaw wire"), "{said}");
    }
}

/// Two `pppd` negotiate and ping each other over a link between them.
#[test]
fn pppd_speaks_through_it() {
    let there =
        Command::new("pppd").arg("--version").output().is_ok() && std::path::Path::new("/dev/ppp").exists();
    if !there {
        return eprintln!("skipped: no pppd, or a kernel without PPP (/dev/ppp)");
    }
    let wire = between(["pty", "pty"], &["--link", "rate=64 kbit/s, delay=50 ms"]);
    let ends = [("10.64.0.1:10.64.0.2", "call0"), ("10.64.0.2:10.64.0.1", "call1")];
    let mut all = Vec::new();
    for ((addresses, name), path) in ends.into_iter().zip(&wire.ends) {
        let words = ["nodetach", "local", "noauth", "nodefaultroute", "ifname", name, addresses];
        // Each in a network of its own, so that their addresses do not meet.
        all.push(Command::new("unshare").args(["--net", "pppd", path]).args(words).spawn().unwrap());
    }
    let since = Instant::now();
    let target = all[0].id().to_string();
    loop {
        let words = ["--net", "--target", &target, "--", "ping", "-c", "1", "-W", "2", "10.64.0.2"];
        let said = Command::new("nsenter").args(words).output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        if let Some(ms) =
            said.split("time=").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok())
        {
            assert!(ms >= 100.0, "{ms}");
            break;
        }
        assert!(since.elapsed() < PATIENCE * 2, "they do not come together");
    }
    for mut one in all {
        let _ = one.kill();
        let _ = one.wait();
    }
    wire.close();
}
