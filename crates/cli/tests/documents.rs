//! Command lines of the documentation: each is run in a folder with the files it names, or named with its reason in
//! `data/documents.toml`; all of them are read by the program's own argument parser.

#![allow(clippy::disallowed_methods, reason = "the commands of the pages are found by the PATH of the test")]

mod common;

use common::Desk;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[derive(Deserialize)]
struct Skips {
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
struct Skip {
    page: String,
    line: String,
    /// Run where the process may make network namespaces.
    #[serde(default)]
    rights: bool,
    #[serde(rename = "reason")]
    _reason: String,
}

/// Programs whose lines count as commands.
const PROGRAMS: &[&str] = &["williwaw", "make", "cargo", "git", "tshark", "pip", "curl", "sudo", "python3"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Pages and their commands, continued lines joined and comments cut off.
fn commands() -> Vec<(String, Vec<String>)> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/users"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                pages.push(format!("{folder}/{name}"));
            }
        }
    }
    pages.sort();
    let of = |page: String| {
        let text = std::fs::read_to_string(root().join(&page)).unwrap().replace("\\\n", " ");
        let mut lines = Vec::new();
        let mut block: Option<bool> = None;
        for line in text.lines() {
            match (line.strip_prefix("```"), block) {
                (Some(kind), None) => block = Some(matches!(kind, "sh" | "")),
                (Some(_), Some(_)) => block = None,
                // Lines of diagrams are indented.
                (None, Some(true)) if PROGRAMS.contains(&line.split(' ').next().unwrap_or_default()) => {
                    lines.push(line.split(" # ").next().unwrap_or_default().trim().to_owned());
                }
                _ => {}
            }
        }
        (page, lines)
    };
    pages.into_iter().map(of).filter(|(_, lines)| !lines.is_empty()).collect()
}

fn skips() -> Vec<Skip> {
    let text = include_str!("data/documents.toml");
    toml::from_str::<Skips>(text).unwrap().skip
}

fn shell(desk: &Desk, line: &str) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_williwaw")).parent().unwrap().to_owned();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    // Commands that wait for a user would never end.
    let mut command = Command::new("timeout");
    command
        .args(["120", "sh", "-c", line])
        .current_dir(desk.folder.path())
        .env("PATH", path)
        .stdin(Stdio::null());
    command.env("GITHUB_STEP_SUMMARY", "summary.md").env("SLURM_ARRAY_TASK_ID", "1").output().unwrap()
}

/// A folder with the files that the pages name.
fn desk() -> Desk {
    let desk = Desk::new();
    for name in ["scenarios", "experiments"] {
        std::os::unix::fs::symlink(root().join(name).canonicalize().unwrap(), desk.path(name)).unwrap();
    }
    for name in ["scenario.toml", "before.toml", "after.toml", "links.toml"] {
        desk.write(name, &common::SMALL.replace("repetitions = 5", "repetitions = 10"));
    }
    desk.write("key", "0123456789abcdef0123456789abcdef\n");
    // One axis: a comparison fixes the other.
    let one = desk
        .read("scenario.toml")
        .replace("\"flow.download.transport.tcp.spurious\" = [\"none\", \"eifel\"]\n", "");
    desk.write("scenario.toml", &one);
    desk.write("drive.csv", "t_s,rate_bps\n0,1500000\n1,400000\n2,3000000\n");
    desk.write("up.trace", "1\n2\n3\n");
    let lines = [2326, 10_000, 812, 54_000, 7_700, 120].iter().enumerate().map(|(i, bytes)| {
        format!("10.0.0.1 - - [10/Oct/2000:13:55:{:02} -0700] \"GET /{i} HTTP/1.0\" 200 {bytes}\n", 36 + i)
    });
    desk.write("access.log", &lines.collect::<String>());
    desk.write("down.trace", "1\n2\n3\n");
    // Captures: both sides of one transfer. The runs of this folder have names that no page uses.
    let made = desk.run(&["run", "scenario.toml", "--pcap=0", "--snap", "0", "--out", "made"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let made = files(&desk.path("made"));
    let of = |end: &str| made.iter().find(|path| path.ends_with(end)).unwrap_or_else(|| panic!("{made:?}"));
    let (server, phone) = (of("cell0.rep0.server.pcapng"), of("cell0.rep0.phone.pcapng"));
    for (name, from) in [
        ("server.pcapng", server),
        ("server.pcap", server),
        ("download.pcap", server),
        ("trace.pcap", server),
        ("big.pcap", server),
        ("rep0.pcapng", of("cell0.rep0.pcapng")),
        ("first.pcapng", server),
        ("phone.pcapng", phone),
        ("phone.pcap", phone),
    ] {
        std::fs::copy(from, desk.path(name)).unwrap();
    }
    for side in ["before", "after"] {
        let out = format!("runs/{side}");
        assert_eq!(desk.run(&["run", "scenario.toml", "--out", &out]).code, 0);
    }
    desk
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// Whether commands can be run behind a link here, with the tools of the pages' command lines; a missing one is
/// reported.
fn rights() -> bool {
    let tried =
        shell(&Desk::new(), "command -v curl python3 pasta && williwaw shell --link 'delay=1 ms' -- true");
    if !tried.status.success() {
        eprintln!("skipped: commands behind a link: {}", String::from_utf8_lossy(&tried.stderr));
    }
    tried.status.success()
}

#[test]
fn every_command_of_the_documentation_does_what_it_says() {
    let (skips, mut used, mut ran, mut left, mut wrong) = (skips(), Vec::new(), 0, 0, Vec::new());
    let rights = rights();
    for (page, lines) in commands() {
        let desk = desk();
        for line in lines {
            let skip = skips
                .iter()
                .position(|skip| (skip.page == "*" || skip.page == page) && line.starts_with(&skip.line));
            if let Some(skip) = skip {
                used.push(skip);
                if !(rights && skips[skip].rights) {
                    left += 1;
                    continue;
                }
            }
            let done = shell(&desk, &line);
            // A failed expectation and an undecided comparison are answers, too.
            if !matches!(done.status.code(), Some(0 | 1 | 5)) {
                wrong.push(format!("{page}: {line}\n{}", String::from_utf8_lossy(&done.stderr)));
            }
            ran += 1;
        }
    }
    eprintln!("{ran} commands were run, {left} left to other tests or to the reader");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran > 30, "{ran} commands were run");
    let idle: Vec<&str> = skips
        .iter()
        .enumerate()
        .filter(|(i, _)| !used.contains(i))
        .map(|(_, skip)| skip.line.as_str())
        .collect();
    assert!(idle.is_empty(), "no page has these lines any more: {idle:?}");
}

#[test]
fn every_command_of_the_documentation_is_understood() {
    let desk = Desk::new();
    let mut wrong = Vec::new();
    for (page, lines) in commands() {
        for line in lines.iter().filter(|line| line.starts_with("williwaw ")) {
            // Help is printed if all before it is understood.
            let line = line.trim_end_matches('&').split(" > ").next().unwrap_or_default();
            if line.starts_with("williwaw import ") {
                continue; // everything behind it belongs to the other program
            }
            let asked = match line.split_once(" -- ") {
                Some((own, rest)) => format!("{own} --help -- {rest}"),
                None => format!("{line} --help"),
            };
            let done = shell(&desk, &asked);
            if !done.status.success() {
                wrong.push(format!("{page}: {line}\n{}", String::from_utf8_lossy(&done.stderr)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
