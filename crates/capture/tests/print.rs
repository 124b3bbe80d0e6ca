//! Printed packet lines compared with those of tcpdump, on public captures (SW-51). The files are not part of the
//! project; where they or tcpdump are absent, the test reports this.

use capture::print::{Conversations, Inside, Printer};
use capture::{Frame, Reader};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|dir| dir.join("shared/data/captures"));
    above.into_iter().find(|dir| dir.is_dir())
}

fn lines(path: &Path, printer: &mut Printer) -> Vec<String> {
    let mut reader = Reader::open(File::open(path).unwrap()).unwrap();
    let mut all = Vec::new();
    while let Some(frame) = reader.next().unwrap() {
        all.push(printer.line(&frame));
    }
    all
}

/// Header part of a line: without tcpdump's decoding of application bytes after the length, and with options of
/// Multipath TCP by their first word.
fn head(line: &str) -> String {
    let mut line = line.to_owned();
    if let Some(at) = line.find(", length ") {
        let digits = line[at + 9..].find(|c: char| !c.is_ascii_digit()).map_or(line.len(), |n| at + 9 + n);
        line.truncate(digits);
    }
    while let Some(at) = line.find("mptcp ") {
        let end = line[at..].find([',', ']']).map_or(line.len(), |n| at + n);
        // Lists in braces contain commas.
        let open = line[at..end].contains('{') && !line[at..end].contains('}');
        let end = if open { line[at..].find('}').map_or(line.len(), |n| at + n + 1) } else { end };
        line.replace_range(at..end, "multipath");
    }
    line
}

#[test]
fn lines_equal_those_of_tcpdump() {
    let Some(folder) = folder() else {
        println!("skipped: the public captures are not here");
        return;
    };
    if Command::new("tcpdump").arg("--version").output().is_err() {
        println!("skipped: tcpdump is not installed");
        return;
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "pcap" || e == "pcapng"));
    files.sort();
    assert_eq!(files.len(), 12);
    let (mut equal, mut other) = (0, Vec::new());
    for file in &files {
        let told = Command::new("tcpdump").args(["-nn", "-tt", "-r"]).arg(file).output().unwrap();
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let told: Vec<&str> = told.lines().collect();
        let ours = lines(file, &mut Printer::default());
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(ours.len(), told.len(), "{name}");
        for (ours, theirs) in ours.iter().zip(&told) {
            if head(ours) == head(theirs) {
                equal += 1;
            } else {
                other.push(format!("{name}\n  {ours}\n  {theirs}"));
            }
        }
    }
    println!("{equal} lines of 12 captures are equal to tcpdump's, {} differ", other.len());
    // tcpdump decodes names in datagrams of port 53; the printer prints their length.
    other
        .retain(|pair| !(pair.contains(".53") && pair.contains("UDP, length") && pair.contains("[|domain]")));
    assert!(other.is_empty(), "{} differ:\n{}", other.len(), other[..other.len().min(8)].join("\n"));
}

/// An additional protocol is one function.
#[test]
fn another_protocol_is_plugged_in() {
    fn mine(_: &mut Conversations, inside: Inside<'_>, out: &mut String) {
        out.push_str(&format!(
            "{} > {}: mine, length {}",
            inside.ip.source, inside.ip.destination, inside.length
        ));
    }
    let mut packet = vec![0x45, 0, 0, 24, 0, 0, 0, 0, 64, 253, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.extend([1, 2, 3, 4]);
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101, 7, 5, 24, 24] {
        file.extend(word.to_le_bytes());
    }
    file.extend(&packet);
    let line = |printer: &mut Printer| {
        let mut reader = Reader::open(&file[..]).unwrap();
        let frame: Frame<'_> = reader.next().unwrap().unwrap();
        printer.line(&frame)
    };
    let mut printer = Printer::default();
    assert_eq!(line(&mut printer), "7.000005 IP 10.0.0.1 > 10.0.0.2: ip-proto-253 4");
    printer.plug(253, mine);
    assert_eq!(line(&mut printer), "7.000005 IP 10.0.0.1 > 10.0.0.2: mine, length 4");
}
