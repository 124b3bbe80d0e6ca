//! The claim: after the kill of any process at any time, nothing remains of a run: no process, no namespace, and with
//! them no device, route or rule. Five emulations at once are killed ten times each, a random process at a random
//! moment.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

use assert_cmd::cargo::cargo_bin;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Number of parallel emulations, and of kills of each.
const BESIDE: u64 = 5;
const TIMES: u64 = 10;
/// Network namespaces of one emulation: two machines, and the test namespace at its start.
const NAMESPACES: u64 = 3;
/// Timeout of the search for remains.
const PATIENCE: Duration = Duration::from_secs(10);

/// A user namespace with a limited number of network namespaces, so that remaining ones cause an error.
struct Room(Child);

impl Room {
    fn new() -> Option<Room> {
        let held = Command::new("unshare")
            .args(["--user", "--map-root-user", "sh", "-c", "echo up; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut room = Room(held);
        let mut line = String::new();
        use std::io::BufRead as _;
        std::io::BufReader::new(room.0.stdout.as_mut()?).read_line(&mut line).ok()?;
        (line == "up\n" && room.limit(BESIDE * NAMESPACES)).then_some(room)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--user", "--preserve-credentials", "--target", &self.0.id().to_string(), "--"])
            .args(words);
        command
    }

    fn limit(&self, n: u64) -> bool {
        let set = format!("echo {n} > /proc/sys/user/max_net_namespaces");
        self.command(&["sh", "-c", &set]).status().is_ok_and(|status| status.success())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process and all that descend from it.
fn tree(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut at = 0;
    while let Some(&pid) = all.get(at) {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|n| n.parse::<u32>().ok()));
        }
        at += 1;
    }
    all
}

/// Processes with this mark in their arguments.
fn marked(mark: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = all.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(mark)).collect()
}

/// A number that looks random (SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn one(room: &Room, number: u64) {
    // Finds processes in a session of their own, and orphans.
    let mark = format!("9876{}.{number}", std::process::id());
    let hidden = format!("setsid sleep {mark} & (sleep {mark} &) ; sleep {mark}");
    let program = cargo_bin("williwaw");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    let scenario = format!(
        "williwaw = 1\n[[hop]]\nname = \"link\"\nbetween = [\"server\", \"phone\"]\ndelay = \"5 ms\"\n\
         [[command]]\nname = \"far\"\nat = \"server\"\nrun = \"{hidden}\"\n"
    );
    std::fs::write(&file, scenario).unwrap();
    let mut state = number;
    for time in 0..TIMES {
        let words = [program.to_str().unwrap(), "shell", file.to_str().unwrap(), "--", "sh", "-c", &hidden];
        let mut child =
            room.command(words.as_slice()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(random(&mut state) % 700));
        let all = tree(child.id());
        let victim = all[(random(&mut state) % all.len() as u64) as usize];
        let _ = Command::new("kill").args(["-9", &victim.to_string()]).stderr(Stdio::null()).status();
        // Processes that lost a killed peer must end.
        std::thread::sleep(Duration::from_millis(50));
        let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).stderr(Stdio::null()).status();
        let since = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < PATIENCE, "it does not end, time {time}");
            std::thread::sleep(Duration::from_millis(10));
        }
        while !marked(&mark).is_empty() {
            assert!(since.elapsed() < PATIENCE, "left, time {time}: {:?}", marked(&mark));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Fifty kills, and room for one more emulation afterwards and for no second one.
#[test]
fn whoever_is_killed_nothing_is_left() {
    let Some(room) = Room::new() else { return eprintln!("skipped: no user namespaces here") };
    let tried = |room: &Room| {
        let words = [cargo_bin("williwaw").to_str().unwrap(), "shell", "--link", "delay=5 ms", "--", "true"]
            .map(str::to_owned);
        room.command(&words.each_ref().map(String::as_str)).output().unwrap()
    };
    let first = tried(&room);
    if first.status.code() != Some(0) {
        return eprintln!("skipped: {}", String::from_utf8_lossy(&first.stderr));
    }
    std::thread::scope(|scope| {
        let room = &room;
        let all: Vec<_> = (0..BESIDE).map(|number| scope.spawn(move || one(room, number))).collect();
        for one in all {
            one.join().unwrap();
        }
    });
    // Namespaces go a moment after the last who held them.
    let since = Instant::now();
    assert!(room.limit(NAMESPACES));
    while tried(&room).status.code() != Some(0) {
        assert!(since.elapsed() < PATIENCE, "{}", String::from_utf8_lossy(&tried(&room).stderr));
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(room.limit(1));
    assert_eq!(tried(&room).status.code(), Some(125), "the limit is felt");
}
