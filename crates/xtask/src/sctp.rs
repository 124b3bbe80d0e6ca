//! Agreement of the SCTP model with the kernel's SCTP, packet by packet in virtual time: recording of the
//! kernel, comparison, generated page.
//!
//! `cargo run -p xtask -- sctp record [WILLIWAW]` runs the cases with a kernel at both ends by that binary
//! (`target/debug/williwaw`), and stores the packets at the sender's packet port as text. The page compares
//! the model's packets, in equal weather, with the first data at the same time.

use crate::say;
use crate::tree::Tree;
use base::wire::{self, IpHead, sctp};
use capture::Reader;
use scenario::{Model, NoFiles, Style};
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::process::Command;

const FOLDER: &str = "crates/sctp/agreement";
/// Number of lines of both sides that the page shows around the first difference.
const SHOWN: usize = 2;

/// A case: settings of the scenario, and the reason why kernel and model differ.
struct Case {
    name: String,
    about: String,
    set: Vec<String>,
    differs: Option<String>,
    /// Whether the model starts such that its first data leave with the kernel's.
    aligned: bool,
}

/// All cases, and the transports of both sides.
struct Cases {
    kernel: String,
    model: String,
    cases: Vec<Case>,
}

/// An SCTP packet at the sender's packet port.
#[derive(Clone, PartialEq, Debug)]
struct Line {
    /// Seconds from t = 0.
    t: f64,
    /// Whether the sender sends it.
    out: bool,
    /// Its chunks, as text.
    words: String,
}

fn cases(tree: &Tree) -> Result<Cases, String> {
    let path = format!("{FOLDER}/cases.toml");
    let root: toml::Table = tree.text(&path)?.parse().map_err(|e| format!("{path}: {e}"))?;
    let text = |table: &toml::Table, key: &str| {
        let found = table.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        found.ok_or_else(|| format!("{path}: there is no `{key}`"))
    };
    let listed = root.get("case").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let case = |value: &toml::Value| {
        let table = value.as_table().ok_or_else(|| format!("{path}: a case is a table"))?;
        let set = table.get("set").and_then(toml::Value::as_array).cloned().unwrap_or_default();
        Ok(Case {
            name: text(table, "name")?,
            about: text(table, "about")?,
            set: set.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect(),
            differs: text(table, "differs").ok(),
            aligned: table.get("aligned").and_then(toml::Value::as_bool).unwrap_or(true),
        })
    };
    let cases: Result<Vec<Case>, String> = listed.iter().map(case).collect();
    Ok(Cases { kernel: text(&root, "kernel")?, model: text(&root, "model")?, cases: cases? })
}

/// SCTP packets at an interface of a capture. TSNs of each direction count from the initial one.
fn lines(file: impl Read, interface: &str, origin: Option<i64>) -> Result<Vec<Line>, String> {
    let mut reader = Reader::open(file).map_err(|e| e.to_string())?;
    let (mut out, mut first, mut opener) = (Vec::new(), [None; 2], None);
    let mut start = origin;
    loop {
        let Some(frame) = reader.next().map_err(|e| e.to_string())? else { return Ok(out) };
        let start = *start.get_or_insert(frame.time_ns);
        let (at, time) = (frame.interface as usize, frame.time_ns);
        let bytes = frame.bytes.to_vec();
        let named = reader.interfaces().get(at).and_then(|i| i.name.clone()).unwrap_or_default();
        let Ok(ip) = IpHead::read(&bytes, 0) else { continue };
        if named != interface || ip.protocol != wire::SCTP {
            continue;
        }
        let inner = bytes.get(ip.header as usize..).unwrap_or_default();
        let Some((head, chunks)) = sctp::read(inner) else { continue };
        let leaves = *opener.get_or_insert(head.source) == head.source;
        let mut words = Vec::new();
        for chunk in chunks {
            if let Some((_, initial)) = chunk.init() {
                first[usize::from(!leaves)] = Some(initial);
            }
            words.push(word(&chunk, first[usize::from(!leaves)], first[usize::from(leaves)]));
        }
        out.push(Line { t: (time - start) as f64 / 1e9, out: leaves, words: words.join(" + ") });
    }
}

/// A chunk as text; TSNs are offsets from the initial ones.
fn word(chunk: &sctp::RawChunk<'_>, own: Option<u32>, other: Option<u32>) -> String {
    let above = |n: u32, first: Option<u32>| n.wrapping_sub(first.unwrap_or(0)) as i32;
    if let Some(data) = chunk.data() {
        let mark = if chunk.flags & 8 != 0 { " I" } else { "" };
        return format!("DATA {}{mark}", above(data.tsn, own));
    }
    if let Some(sack) = chunk.sack() {
        let mut text = format!("SACK {}", above(sack.cumulative, other));
        for (from, to) in &sack.gaps {
            let _ = write!(text, " gap {}-{}", above(*from, other), above(*to, other));
        }
        for twice in &sack.duplicates {
            let _ = write!(text, " dup {}", above(*twice, other));
        }
        return text;
    }
    let names = [
        (sctp::kind::INIT, "INIT"),
        (sctp::kind::INIT_ACK, "INIT-ACK"),
        (sctp::kind::HEARTBEAT, "HEARTBEAT"),
        (sctp::kind::HEARTBEAT_ACK, "HEARTBEAT-ACK"),
        (sctp::kind::ABORT, "ABORT"),
        (sctp::kind::SHUTDOWN, "SHUTDOWN"),
        (sctp::kind::SHUTDOWN_ACK, "SHUTDOWN-ACK"),
        (sctp::kind::COOKIE_ECHO, "COOKIE-ECHO"),
        (sctp::kind::COOKIE_ACK, "COOKIE-ACK"),
        (sctp::kind::SHUTDOWN_COMPLETE, "SHUTDOWN-COMPLETE"),
        (sctp::kind::FORWARD_TSN, "FORWARD-TSN"),
    ];
    let found = names.iter().find(|(kind, _)| *kind == chunk.kind);
    found.map_or_else(|| format!("TYPE-{}", chunk.kind), |(_, name)| (*name).to_owned())
}

fn text_of(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(out, "{:.6} {} {}", line.t, if line.out { '>' } else { '<' }, line.words);
    }
    out
}

fn read(text: &str) -> Option<Vec<Line>> {
    let line = |line: &str| {
        let (t, rest) = line.split_once(' ')?;
        let (side, words) = rest.split_once(' ')?;
        Some(Line { t: t.parse().ok()?, out: side == ">", words: words.to_owned() })
    };
    text.lines().map(line).collect()
}

/// Records the kernel's packets of all cases, or of the named cases; or prints both sides of one case.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<bool, String> {
    let tree = Tree::read(root)?;
    let all = cases(&tree)?;
    match words {
        [verb, name] if verb == "diff" => {
            let case = all.cases.iter().find(|case| case.name == *name).ok_or("there is no such case")?;
            let kernel = recorded(root, name)?;
            let (model, _) = without_heartbeats(played(&tree, &all, case, &kernel)?);
            say(&beside(&without_heartbeats(kernel).0, &model));
            Ok(true)
        }
        [verb, rest @ ..] if verb == "record" => {
            let own = root.join("target/debug/williwaw").display().to_string();
            let binary = rest.first().unwrap_or(&own);
            let wanted = |case: &&Case| rest.len() < 2 || rest[1..].contains(&case.name);
            for case in all.cases.iter().filter(wanted) {
                let lines = kernel(root, binary, &all, case)?;
                let path = root.join(FOLDER).join(format!("{}.txt", case.name));
                std::fs::write(&path, text_of(&lines)).map_err(|e| format!("{}: {e}", path.display()))?;
                say(&format!("{}: {} packets", case.name, lines.len()));
            }
            Ok(true)
        }
        _ => Err("usage: cargo run -p xtask -- sctp record [WILLIWAW [CASE...]] | sctp diff CASE".to_owned()),
    }
}

/// Runs a case with kernels.
fn kernel(root: &Path, binary: &str, all: &Cases, case: &Case) -> Result<Vec<Line>, String> {
    let out = std::env::temp_dir().join(format!("williwaw-sctp-{}", std::process::id()));
    let scenario = root.join(FOLDER).join("scenario.toml");
    let mut command = Command::new(binary);
    command.arg("run").arg(&scenario).arg("--out").arg(&out).arg("--pcap");
    command.arg("--set").arg(format!("flow.download.transport={}", all.kernel));
    case.set.iter().for_each(|set| _ = command.arg("--set").arg(set));
    let done = command.output().map_err(|e| format!("{binary}: {e}"))?;
    if !done.status.success() {
        return Err(format!("{}: {}", case.name, String::from_utf8_lossy(&done.stderr)));
    }
    let file = std::fs::File::open(out.join("rep0.pcapng")).map_err(|e| format!("{}: {e}", case.name))?;
    let lines = lines(file, "download@server", None);
    std::fs::remove_dir_all(&out).map_err(|e| e.to_string())?;
    lines
}

fn recorded(root: &Path, name: &str) -> Result<Vec<Line>, String> {
    let path = root.join(FOLDER).join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    read(&text).ok_or_else(|| format!("{}: a line is no packet", path.display()))
}

/// Runs a case with the model. Its start is shifted so that its first data leave with the kernel's: packets
/// of the association set-up differ in size.
fn played(tree: &Tree, all: &Cases, case: &Case, kernel: &[Line]) -> Result<Vec<Line>, String> {
    let scenario = tree.text(&format!("{FOLDER}/scenario.toml"))?;
    let play = |start: f64| {
        let mut set = case.set.clone();
        set.push(format!("flow.download.transport={}", all.model));
        set.push(format!("flow.download.start={start:.9} s"));
        let read = scenario::read_with("scenario.toml", scenario.as_bytes(), &NoFiles, &set);
        let read = read.map_err(|d| format!("{}: {}", case.name, d.render(Style::default())))?;
        at_sender(read.first())
    };
    let first = |lines: &[Line]| lines.iter().find(|line| line.words.starts_with("DATA")).map(|line| line.t);
    let model = play(0.0)?;
    let shift = first(kernel).zip(first(&model)).map_or(0.0, |(kernel, model)| kernel - model);
    if shift > 0.0 && case.aligned { play(shift) } else { Ok(model) }
}

/// The model's packets at the sender's packet port.
fn at_sender(model: &Model) -> Result<Vec<Line>, String> {
    let capture = lab::capture::capture(model, 0);
    let bytes = capture.write(Vec::new(), None, 0, "xtask").map_err(|e| e.to_string())?;
    lines(&bytes[..], "server", Some(lab::capture::EPOCH_S as i64 * 1_000_000_000))
}

/// Lines without heartbeats and their acknowledgements, and the number of those. Each end draws the times of
/// its heartbeats within half of an RTO (RFC 9260 section 8.3), so their position is random.
fn without_heartbeats(lines: Vec<Line>) -> (Vec<Line>, usize) {
    let all = lines.len();
    let rest: Vec<Line> = lines.into_iter().filter(|line| !line.words.starts_with("HEARTBEAT")).collect();
    let beats = all - rest.len();
    (rest, beats)
}

/// Index of the first data packet, where the comparison starts.
fn start(lines: &[Line]) -> usize {
    lines.iter().position(|line| line.words.starts_with("DATA")).unwrap_or(0)
}

/// Indexes of the first packets that differ, from the first data on; and the largest time difference before
/// them, seconds, relative to the first data.
fn first_difference(kernel: &[Line], model: &[Line]) -> (Option<[usize; 2]>, f64) {
    let (k, m) = (start(kernel), start(model));
    let most = (kernel.len() - k).max(model.len() - m);
    let (origin, other) = (kernel.get(k).map_or(0.0, |l| l.t), model.get(m).map_or(0.0, |l| l.t));
    let mut apart: f64 = 0.0;
    for i in 0..most {
        match (kernel.get(k + i), model.get(m + i)) {
            (Some(a), Some(b)) if a.out == b.out && a.words == b.words => {
                apart = apart.max(((a.t - origin) - (b.t - other)).abs());
            }
            _ => return (Some([k + i, m + i]), apart),
        }
    }
    (None, apart)
}

fn beside(kernel: &[Line], model: &[Line]) -> String {
    let (at, _) = first_difference(kernel, model);
    let mut out = String::new();
    let show = |line: Option<&Line>| {
        line.map_or(String::new(), |l| format!("{:10.4} {} {}", l.t, if l.out { '>' } else { '<' }, l.words))
    };
    let skew = start(model) as isize - start(kernel) as isize;
    for k in 0..kernel.len().max(model.len()) {
        let m = usize::try_from(k as isize + skew).ok();
        let mark = if at.is_some_and(|[first, _]| first == k) { " <<<" } else { "" };
        let right = show(m.and_then(|m| model.get(m)));
        let _ = writeln!(out, "{:50} {right}{mark}", show(kernel.get(k)));
    }
    out
}

/// The generated page.
pub(crate) fn page(root: &Path, tree: &Tree, findings: &mut Vec<String>) -> Result<String, String> {
    let all = cases(tree)?;
    let mut rows = String::new();
    let (mut whole, mut parted) = (0, String::new());
    for case in &all.cases {
        let kernel = recorded(root, &case.name)?;
        let (model, model_beats) = without_heartbeats(played(tree, &all, case, &kernel)?);
        let (kernel, kernel_beats) = without_heartbeats(kernel);
        if kernel_beats != model_beats {
            let counts = format!("{kernel_beats} of the kernel, {model_beats} of the model");
            findings.push(format!("{FOLDER}: {}: heartbeats and answers: {counts}", case.name));
        }
        let counts =
            [&kernel, &model].map(|lines| lines.iter().filter(|l| l.out && l.words.contains("DATA")).count());
        let (at, apart) = first_difference(&kernel, &model);
        match (at, &case.differs) {
            (Some(_), None) => findings.push(format!("{FOLDER}: {} differs without a reason", case.name)),
            (None, Some(_)) => findings.push(format!("{FOLDER}: {} differs no longer", case.name)),
            _ => {}
        }
        let which = at.map_or("none".to_owned(), |[k, _]| format!("{} of {}", k + 1, kernel.len()));
        whole += usize::from(at.is_none());
        let _ = writeln!(
            rows,
            "| {} | {} | {} | {} | {:.1} ms | {which} |",
            case.name,
            case.about,
            counts[0],
            counts[1],
            apart * 1e3
        );
        if let Some(at) = at {
            let _ = write!(
                parted,
                "\n### {}\n\n{}.\n\n```\n",
                case.name,
                case.differs.as_deref().unwrap_or("Unknown")
            );
            for (name, lines, at) in [("Linux", &kernel, at[0]), ("model", &model, at[1])] {
                let from = at.saturating_sub(SHOWN);
                for (i, line) in lines.iter().enumerate().take(at + SHOWN + 1).skip(from) {
                    let mark = if i == at { "  <<<" } else { "" };
                    let side = if line.out { '>' } else { '<' };
                    let _ = writeln!(parted, "{name} {:10.4} {side} {}{mark}", line.t, line.words);
                }
            }
            parted += "```\n";
        }
    }
    let count = all.cases.len();
    let mut out = HEAD.replace("{count}", &count.to_string()).replace("{whole}", &whole.to_string());
    out += &rows;
    if !parted.is_empty() {
        out += "\n## Differences and their causes\n";
        out += &parted;
    }
    Ok(out)
}

const HEAD: &str = "# The kernel's SCTP and its model

The profile `linux-6.x` of SCTP is compared with Linux 6.12 in virtual time. There are {count} cases over one path, with a kernel at both ends
or the model at both and equal conditions of the link. The path has 200 kbit/s and 100 ms each way; 128 KiB are sent in chunks of 1024 B. The options
that a case adds to `crates/sctp/agreement/scenario.toml` are in `cases.toml` in its folder, with the kernel's packets.

Compared are the packets at the sender's packet port from the first data on, in both directions and in their order: chunks, transmission
sequence numbers, gap and duplicate reports, I bits. Numbers of heartbeats and their acknowledgements are equal on both sides; their position is not
compared, because each end draws their times (RFC 9260 section 8.3). The table has the largest difference in time up to the first packet that
differs. Advertised windows are not compared: the kernel's application writes messages of 64 KiB, which fill its buffer until they
are complete. Packets of the set-up differ in size, by parameters that the model lacks and a larger cookie; so the model starts
later by their transmission time. The kernel's receive buffer is large enough, and it does not call a path potentially failed (RFC 7829,
`net.sctp.pf_enable = 0`): with that it sends heartbeats while data are outstanding.
Its timers count in ticks of 4 ms. The timer wheel rounds a timeout of up to two seconds up by at most 32 ms, a longer
one by at most 256 ms; such delays add up.

In {whole} of the {count} cases all packets are equal. `cargo run -p xtask -- sctp record` plays the kernels again.

| case | what happens | data: Linux | model | apart | first difference |
|---|---|---:|---:|---:|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    fn line(t: f64, out: bool, words: &str) -> Line {
        Line { t, out, words: words.to_owned() }
    }

    #[test]
    fn the_first_difference_is_found_behind_the_first_data() {
        let kernel = [line(0.0, true, "INIT"), line(0.4, true, "DATA 0"), line(0.6, false, "SACK 0")];
        let model = [line(0.4, true, "DATA 0"), line(0.61, false, "SACK 0")];
        let (at, apart) = first_difference(&kernel, &model);
        assert_eq!(at, None);
        assert!((apart - 0.01).abs() < 1e-9, "{apart}");
        let more = [line(0.4, true, "DATA 0"), line(0.6, false, "SACK 0"), line(0.6, true, "DATA 1")];
        assert_eq!(first_difference(&kernel, &more).0, Some([3, 2]));
        assert_eq!(read(&text_of(&kernel)).as_deref(), Some(&kernel[..]));
        let beats = [line(0.5, false, "HEARTBEAT"), line(0.5, true, "HEARTBEAT-ACK")];
        let late = [&kernel[..], &beats[..]].concat();
        assert_eq!(without_heartbeats(late), (kernel.to_vec(), 2));
    }
}
