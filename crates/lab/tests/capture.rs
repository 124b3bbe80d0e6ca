//! Tests of the capture of a simulated repetition: its packets are those of the model, and its comments state
//! the ground truth. Other programs (tshark, capinfos, tcptrace) accept it and agree with its counts; without
//! them the test reports this.

use base::wire::checksum::Sum;
use base::wire::{TCP, UDP, flag};
use capture::Reader;
use lab::capture::{CaptureFile, Captured, Foresight, Streamed, SweepCaptures, capture, stream};
use lab::once::{Options, run_once};
use lab::sweep::{Sweep, SweepControl};
use scenario::Model;
use scenario::metric::Metric;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use testkit::Download;

/// A link that stalls and loses, one flow or two over it.
fn scenario(tcp: &str) -> Model {
    testkit::model::<&str>(&text(tcp), &[])
}

/// Text of that scenario.
fn text(tcp: &str) -> String {
    let path = Download::over("400 kbit/s", "150 ms").drop_tail(12);
    let faults = "[[hop.gate]]\nname = \"reselection\"\nat = \"after-queue\"\nevery = \"uniform(8 s, 12 s)\"\n\
                  lasts = \"uniform(1 s, 5 s)\"\n[[hop.loss]]\nname = \"errors\"\nprobability = 0.01";
    let flows = path.faults(faults).tcp(tcp).bytes("500 kB").and("other", "7 s", "100 kB");
    flows.limit("1 h").text().replace("williwaw = 1", "williwaw = 1\ntitle = \"stalls and losses\"")
}

/// TCPs whose captures differ in kind: with options and without, two-way and one-way.
const TCPS: [&str; 4] = [
    r#"profile = "rfc", recovery = "rfc6675", timestamps = true, spurious = "frto""#,
    r#"profile = "rfc", recovery = "newreno", timestamps = false, window-scale = false"#,
    r#"profile = "linux-6.x""#,
    r#"profile = "ns2-2001", recovery = "sack", timestamps = true, spurious = "eifel""#,
];

/// Content of a comment: word and value.
fn words(comment: &str) -> BTreeMap<&str, &str> {
    comment.split(' ').filter_map(|word| word.split_once('=')).collect()
}

#[test]
fn what_is_in_it_is_what_the_model_did() {
    for tcp in TCPS {
        let model = scenario(tcp);
        let outcome = run_once(&model, 0, Options::default());
        let capture = capture(&model, 0);
        let hosts: Vec<&str> = capture.hosts().iter().map(|tap| tap.name.as_str()).collect();
        assert_eq!(hosts, ["server", "phone"]);
        let file = capture.write(Vec::new(), None, 0, "test").unwrap();
        let mut reader = Reader::open(&file[..]).unwrap();
        let mut counts: BTreeMap<(u32, &str), f64> = BTreeMap::new();
        // Of each direction of a flow: whose an identification is.
        let mut seen: BTreeMap<(u16, u16, u32), (u32, u32, u64)> = BTreeMap::new();
        let mut copies: BTreeMap<(u16, u32), BTreeSet<u32>> = BTreeMap::new();
        let mut last = 0;
        while let Some(frame) = reader.next().unwrap() {
            let packet = frame.decode().unwrap();
            assert!(frame.time_ns >= last, "out of order");
            last = frame.time_ns;
            let tcp = packet.tcp().unwrap();
            assert_eq!(Sum::ZERO.and(&frame.bytes[..20]).finish(), 0, "checksum of IP");
            let inside = &frame.bytes[20..];
            let pseudo =
                Sum::ZERO.and_pseudo(packet.ip.source, packet.ip.destination, TCP, inside.len() as u32);
            assert_eq!(pseudo.and(inside).finish(), 0, "checksum of TCP");
            assert!(!tcp.odd && !tcp.cut && !packet.cut);
            let id = packet.ip.id.unwrap();
            let comment = frame.comments().next().unwrap();
            let said = words(comment);
            // One packet has one, at all taps, and no other packet has it.
            let this = (tcp.seq, tcp.ack, said["packet"].parse::<u64>().unwrap());
            let known = *seen.entry((tcp.source, tcp.destination, id)).or_insert(this);
            assert_eq!(known, this, "an identification twice");
            assert!(id > 0);
            if frame.interface == 0 && packet.payload_len > 0 {
                let flow = u32::from(tcp.source - 49_152);
                *counts.entry((flow, "sent")).or_default() += 1.0;
                let mut count = |what: &'static str, is: bool| {
                    *counts.entry((flow, what)).or_default() += f64::from(u8::from(is));
                };
                count("again", said.contains_key("verdict"));
                count("unneeded", said.get("verdict") == Some(&"unneeded"));
                count("spurious", said.get("timeout") == Some(&"spurious"));
                count("genuine", said.get("timeout") == Some(&"genuine"));
                count("dropped", said.contains_key("dropped"));
                let segment = copies.entry((tcp.source, tcp.seq)).or_default();
                let before = segment.len();
                segment.insert(id);
                assert!(segment.len() > before, "a retransmission with an old identification");
            }
        }
        assert!(reader.notices().is_empty());
        let mut judged = 0.0;
        for (flow, measures) in outcome.flows.iter().enumerate() {
            let here = |what| counts[&(flow as u32, what)];
            for (what, metric) in [
                ("sent", Metric::SegmentsSent),
                ("again", Metric::SegmentsRetransmitted),
                ("unneeded", Metric::UnneededRetransmissions),
                ("spurious", Metric::SpuriousTimeouts),
                ("genuine", Metric::GenuineTimeouts),
            ] {
                assert_eq!(Some(here(what)), measures.get(metric), "{tcp}: {what} of flow {flow}");
            }
            judged += here("unneeded").min(here("dropped"));
        }
        assert!(judged > 0.0, "{tcp}: nothing happened");
    }
}

/// Every tap of a packet on its path, in order, with its recorded fields.
#[test]
fn each_tap_sees_what_passes_it() {
    let model = scenario(TCPS[0]);
    let capture = capture(&model, 1);
    let names: Vec<&str> = capture.taps().iter().map(|tap| tap.name.as_str()).collect();
    assert_eq!(names, ["server", "phone", "radio.down in", "radio.down out", "radio.up in", "radio.up out"]);
    let all = capture.write(Vec::new(), None, 60, "test").unwrap();
    let mut reader = Reader::open(&all[..]).unwrap();
    let (mut ways, mut at) = (BTreeMap::<u64, Vec<u32>>::new(), [0usize; 6]);
    while let Some(frame) = reader.next().unwrap() {
        assert!(frame.bytes.len() <= 60);
        at[frame.interface as usize] += 1;
        let packet = words(frame.comments().next().unwrap())["packet"].parse().unwrap();
        ways.entry(packet).or_default().push(frame.interface);
    }
    let (mut through, mut lost) = (0, 0);
    for way in ways.values() {
        match way.as_slice() {
            [0, 2, 3, 1] | [1, 4, 5, 0] => through += 1,
            [0, 2] | [0, 2, 3] | [1, 4] | [1, 4, 5] => lost += 1,
            odd => panic!("{odd:?}"),
        }
    }
    assert!(through > 500 && lost > 10, "{through} {lost}");
    // A file of one tap has that tap's packets.
    for (tap, count) in at.iter().enumerate() {
        let one = capture.write(Vec::new(), Some(tap), 96, "test").unwrap();
        let mut reader = Reader::open(&one[..]).unwrap();
        while reader.next().unwrap().is_some() {}
        assert_eq!(reader.frames() as usize, *count);
        assert_eq!(reader.interfaces()[0].name.as_deref(), Some(names[tap]));
    }
}

#[test]
fn marks_are_seen_from_where_they_are_made() {
    let model = testkit::model::<&str>(
        r#"
        williwaw = 1
        title = "marks"
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "1 Mbit/s"
        delay = "50 ms"
        queue = { red = { limit = "50 packets", min = 5, max = 15, ecn = true } }
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = { tcp = { profile = "rfc", ecn = true } }
        app = { bulk = { bytes = "400 kB" } }
        "#,
        &[],
    );
    let file = capture(&model, 0).write(Vec::new(), None, 0, "test").unwrap();
    let mut reader = Reader::open(&file[..]).unwrap();
    let (mut marks, mut echoes, mut reduced) = ([0; 6], 0, 0);
    while let Some(frame) = reader.next().unwrap() {
        let packet = frame.decode().unwrap();
        marks[frame.interface as usize] += usize::from(packet.ip.ecn == 3);
        let tcp = packet.tcp().unwrap();
        echoes += usize::from(tcp.has(flag::ECE) && !tcp.has(flag::SYN));
        reduced += usize::from(tcp.has(flag::CWR) && !tcp.has(flag::SYN));
    }
    assert_eq!((marks[0], marks[2]), (0, 0));
    assert!(marks[3] > 0 && marks[3] == marks[1], "{marks:?}");
    assert!(echoes > 0 && reduced > 0);
}

fn output(program: &str, args: &[&str], file: &std::path::Path) -> Option<String> {
    match Command::new(program).args(args).arg(file).output() {
        Ok(out) => Some(String::from_utf8_lossy(&out.stdout).into_owned()),
        Err(_) => {
            eprintln!("left out: no {program} on this machine");
            None
        }
    }
}

#[test]
fn other_programs_accept_it() {
    for tcp in TCPS {
        let model = scenario(tcp);
        let outcome = run_once(&model, 2, Options::default());
        let mut file = tempfile::Builder::new().suffix(".pcapng").tempfile().unwrap();
        let bytes = capture(&model, 2).write(Vec::new(), Some(0), 0, "test").unwrap();
        let mut reader = Reader::open(&bytes[..]).unwrap();
        // tcptrace counts a FIN that is sent again among the data.
        let (mut ends, mut bare) = (BTreeSet::new(), 0);
        while let Some(frame) = reader.next().unwrap() {
            let packet = frame.decode().unwrap();
            let tcp = packet.tcp().unwrap();
            if tcp.source != 5001
                && packet.payload_len == 0
                && tcp.has(flag::FIN)
                && !ends.insert((tcp.source, tcp.seq))
            {
                bare += 1;
            }
        }
        file.write_all(&bytes).unwrap();
        let path = file.path();
        if let Some(text) = output("capinfos", &["-c", "-M", "-T", "-r", "-m"], path) {
            assert!(text.contains(&format!(",{}", reader.frames())), "{text}");
        }
        let strict = ["-n", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
        let wrong = "_ws.malformed or ip.checksum.status == \"Bad\" or tcp.checksum.status != \"Good\" or tcp.options.unknown";
        if let Some(text) = output("tshark", &[&strict[..], &["-Y", wrong, "-r"]].concat(), path) {
            assert_eq!(text, "", "{tcp}");
        }
        if let Some(text) =
            output("tshark", &[&strict[..], &["-q", "-z", "expert,error", "-r"]].concat(), path)
        {
            assert!(!text.contains("Errors"), "{tcp}: {text}");
        }
        if let Some(text) = output("tcptrace", &["-n", "-l"], path) {
            let resent: f64 = text
                .lines()
                .filter_map(|line| {
                    line.trim()
                        .strip_prefix("rexmt data pkts:")?
                        .split_whitespace()
                        .next()?
                        .parse::<f64>()
                        .ok()
                })
                .sum();
            let ours: f64 = outcome.flows.iter().filter_map(|f| f.get(Metric::SegmentsRetransmitted)).sum();
            assert_eq!(resent, ours + bare as f64, "{tcp}: tcptrace");
        }
    }
}

/// The glyphs of a file for xplot: how often each is drawn.
fn glyphs(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        *counts.entry(line.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    counts
}

#[test]
fn xplot_files_have_the_glyphs_of_tcptrace() {
    let model = scenario(TCPS[0]);
    let ours = lab::picture::picture(&model, 0, 0).xplot();
    assert!(ours.starts_with("timeval double\ntitle\n") && ours.ends_with("go\n"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.pcapng");
    let bytes = capture(&model, 0).write(Vec::new(), Some(0), 0, "test").unwrap();
    std::fs::write(&file, &bytes).unwrap();
    // Every SACK block that came is drawn. (tcptrace leaves some out.)
    let (mut reader, mut blocks) = (Reader::open(&bytes[..]).unwrap(), 0);
    while let Some(frame) = reader.next().unwrap() {
        let packet = frame.decode().unwrap();
        let tcp = packet.tcp().unwrap();
        blocks += if tcp.destination == 49_152 { tcp.blocks().len() } else { 0 };
    }
    assert_eq!(glyphs(&ours).get("S"), Some(&blocks));
    let drawn = Command::new("tcptrace").args(["-n", "-S"]).arg(&file).current_dir(folder.path()).output();
    if drawn.is_err() {
        eprintln!("left out: no tcptrace on this machine");
        return;
    }
    // The first connection, data direction.
    let theirs = std::fs::read_to_string(folder.path().join("a2b_tsg.xpl")).unwrap();
    let (ours, theirs) = (glyphs(&ours), glyphs(&theirs));
    // Theirs has the SYN beside, and the acknowledgements that open and close.
    for (glyph, beside) in [("R", 0), ("dtick", 0), ("darrow", 2), ("uarrow", 3)] {
        let (ours, theirs) = (ours.get(glyph).unwrap_or(&0), theirs.get(glyph).unwrap_or(&0));
        assert!(*ours > 0 && (*ours..=ours + beside).contains(theirs), "{glyph}: {ours} and {theirs}");
    }
}

/// The captures of a repetition, written while it runs, by the name of the tap; none if a packet outlived its end.
fn streamed(model: &Model, snap: u32) -> Option<BTreeMap<String, Vec<u8>>> {
    streamed_with(model, 0, snap, None)
}

/// [`streamed`] of a repetition whose foresight may be known.
fn streamed_with(
    model: &Model,
    repetition: u64,
    snap: u32,
    known: Option<Foresight>,
) -> Option<BTreeMap<String, Vec<u8>>> {
    struct Out(String, std::sync::mpsc::Sender<(String, Vec<u8>)>);
    impl std::io::Write for Out {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1.send((self.0.clone(), bytes.to_vec())).unwrap();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (sender, written) = std::sync::mpsc::channel();
    let mut open = |tap: Option<&capture::Tap>| {
        Ok(Out(tap.map_or(String::new(), |tap| tap.name.clone()), sender.clone()))
    };
    let done = stream(model, repetition, snap, "test", known, &mut open).unwrap();
    let Streamed::Whole(count) = done else { return None };
    drop(sender);
    let mut files = BTreeMap::<String, Vec<u8>>::new();
    written.iter().for_each(|(name, bytes)| files.entry(name).or_default().extend(bytes));
    assert_eq!(files.len(), count);
    Some(files)
}

/// Each file that is written while the repetition runs is that of the whole capture, byte for byte.
#[test]
fn streamed_captures_are_the_same_bytes() {
    for tcp in TCPS {
        let model = scenario(tcp);
        let whole = capture(&model, 0);
        for snap in [0, 60] {
            let files = streamed(&model, snap).expect("no packet outlives its end");
            assert_eq!(files.len(), 3);
            for (at, tap) in whole.hosts().iter().enumerate() {
                let expected = whole.write(Vec::new(), Some(at), snap, "test").unwrap();
                assert!(files[&tap.name] == expected, "{tcp}: the file of {}", tap.name);
            }
            let expected = whole.write(Vec::new(), None, snap, "test").unwrap();
            assert!(files[""] == expected, "{tcp}: the file of all taps");
        }
    }
}

/// Files by repetition and name of the tap.
type Shelf = Arc<Mutex<BTreeMap<(u64, String), Vec<u8>>>>;

/// A file in memory that goes to a shelf when it is kept.
struct Memory {
    file: Cursor<Vec<u8>>,
    place: (u64, String),
    shelf: Shelf,
}

impl Read for Memory {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Memory {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl CaptureFile for Memory {
    fn keep(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(self.file.get_mut());
        self.shelf.lock().unwrap().insert(self.place.clone(), bytes);
        Ok(())
    }
}

/// Captures of the repetitions that `wanted` selects, onto a shelf; no file is created if `works` is false.
fn shelved(
    wanted: impl Fn(u64) -> bool + Send + Sync + 'static,
    snap: u32,
    works: bool,
) -> (SweepCaptures, Shelf) {
    let shelf = Shelf::default();
    let on = shelf.clone();
    let open = move |_, repetition, tap: Option<&capture::Tap>| {
        if !works {
            return Err(io::Error::other("no file"));
        }
        let place = (repetition, tap.map_or(String::new(), |tap| tap.name.clone()));
        Ok(Box::new(Memory { file: Cursor::default(), place, shelf: on.clone() }) as Box<dyn CaptureFile>)
    };
    (SweepCaptures::of(wanted, open, snap, "test"), shelf)
}

/// Files of a repetition that its run for the results wrote.
fn of_one_pass(model: &Model, snap: u32) -> (Captured, BTreeMap<String, Vec<u8>>) {
    let (captures, shelf) = shelved(|_| true, snap, true);
    assert!(captures.run(0, model, 0, &AtomicBool::new(false)).is_some());
    let files = std::mem::take(&mut *shelf.lock().unwrap());
    let captured = captures.take(0, 0).expect("a capture");
    (captured, files.into_iter().map(|((_, name), bytes)| (name, bytes)).collect())
}

/// The runs of a sweep write the captures of chosen repetitions, or keep their foresight if they cannot. The captures
/// are those of two passes, and the results those of a sweep without captures; with background load too, which a
/// recorded run schedules packet by packet.
#[test]
fn the_run_for_the_results_writes_the_capture() {
    let background = "[[hop.background]]\nname = \"load\"\nrate = \"100 kbit/s\"\npacket = \"250 B\"\n";
    // Load on a link with losses is scheduled packet by packet in any run.
    let losses = "[[hop.loss]]\nname = \"errors\"\nprobability = 0.01";
    let loaded = text(TCPS[2]).replace(losses, background);
    assert!(loaded.contains(background));
    for text in TCPS.map(text).into_iter().chain([loaded]) {
        let scenario = scenario::read("s.toml", text.as_bytes(), &scenario::NoFiles).expect("a scenario");
        let stop = AtomicBool::new(false);
        let control =
            SweepControl { progress: &|_| (), stop: &stop, jobs: 2, shuffle_ties: None, player: None };
        let sweep = |captures| {
            let mut sweep = Sweep::new(&scenario, Some(3), None, "test").expect("a sweep");
            sweep.captures = captures;
            let (mut rows, complete) = sweep.run(None, &control).expect("rows");
            assert!(complete);
            rows.sort_by_key(|row| (row.repetition, row.flow.clone()));
            (sweep, rows)
        };
        let (_, plain) = sweep(None);
        for works in [true, false] {
            let (captures, shelf) = shelved(|repetition| repetition > 0, 96, works);
            let (sweep, rows) = sweep(Some(captures));
            assert_eq!(rows, plain, "{text}");
            let captures = sweep.captures.expect("captures");
            assert!(captures.take(0, 0).is_none(), "not wanted");
            for repetition in [1, 2] {
                let model = scenario.first();
                let files = match captures.take(0, repetition) {
                    Some(Captured::Whole(3)) if works => {
                        let shelf = shelf.lock().unwrap();
                        let files = shelf.iter().filter(|((of, _), _)| *of == repetition);
                        files.map(|((_, name), bytes)| (name.clone(), bytes.clone())).collect()
                    }
                    Some(Captured::Foreseen(known)) if !works => {
                        streamed_with(model, repetition, 96, Some(known)).expect("no packet outlives its end")
                    }
                    _ => panic!("{repetition}: {text}"),
                };
                assert!(captures.take(0, repetition).is_none());
                assert!(Some(files) == streamed_with(model, repetition, 96, None), "{repetition}: {text}");
            }
        }
    }
}

/// Windows that grow after packets were written are corrected in the files, SYN and quoting errors included.
#[test]
fn windows_that_grow_are_corrected_in_one_pass() {
    let hop = |name: &str, ends: &str, more: &str| {
        format!(
            "[[hop]]\nname = \"{name}\"\nbetween = [{ends}]\nrate = \"100 Mbit/s\"\n{more}\n\
             queue = {{ drop-tail = {{ limit = \"4000 packets\" }} }}\n"
        )
    };
    let slow = hop("slow", "\"a\", \"b\"", "delay = \"150 ms\"");
    let small = hop("small", "\"b\", \"c\"", "mtu = \"1000 B\"\ndelay = \"1 ms\"");
    let flow = |to: &str| {
        format!(
            "[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"{to}\"\napp = {{ bulk = {{}} }}\n\
             transport = {{ tcp = {{ profile = \"linux-6.x\", receive-buffer.most = \"32 MB\" }} }}\n\
             [run]\nlimit = \"4 s\"\n"
        )
    };
    for (hops, to) in [(slow.clone(), "b"), (format!("{slow}{small}"), "c")] {
        let model = testkit::model::<&str>(&format!("williwaw = 1\n{hops}{}", flow(to)), &[]);
        for snap in [0, 96, 30] {
            let (captured, files) = of_one_pass(&model, snap);
            assert!(matches!(captured, Captured::Whole(3)), "{to}, {snap} bytes");
            assert!(Some(files) == streamed(&model, snap), "{to}, {snap} bytes");
        }
    }
}

/// Bearers without radio taps are streamed like any hop; those of a GPRS cell wait for the end.
#[test]
fn captures_over_bearers_are_streamed_but_for_gprs() {
    let bearers = [
        ("hscsd = { error = 0.05 }", true),
        ("wcdma = { error = 0.1 }", true),
        ("cdma2000 = { error = 0.05 }", true),
        ("gprs = {}", false),
    ];
    for (bearer, is_streamed) in bearers {
        let text = format!(
            "williwaw = 1\n[[hop]]\nname = \"air\"\nbetween = [\"server\", \"phone\"]\nradio = {{ {bearer} }}\n\
             [[flow]]\nname = \"f\"\nfrom = \"server\"\nto = \"phone\"\napp = {{ bulk = {{ bytes = \"200 kB\" }} }}\n"
        );
        let model = testkit::model::<&str>(&text, &[]);
        let files = streamed(&model, 0);
        assert_eq!(files.is_some(), is_streamed, "{bearer}");
        if let Some(files) = files {
            let (captured, of_one) = of_one_pass(&model, 0);
            assert!(matches!(captured, Captured::Whole(_)) && files == of_one, "{bearer}");
            let expected = capture(&model, 0).write(Vec::new(), None, 0, "test").unwrap();
            assert!(files[""] == expected, "{bearer}: the file of all taps");
            assert!(expected.len() > 200_000, "{bearer}: {}", expected.len());
        }
    }
}

/// A copy made by the network has the number of its original: streaming is right whether the copy comes at once or
/// half a minute later.
#[test]
fn copies_made_by_the_network_are_streamed_right() {
    for delay in ["\"5 ms\"", "{ random = \"uniform(5 ms, 30 s)\", reorder = true }"] {
        let text = format!(
            "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = {delay}\n\
             [[hop.duplication]]\nname = \"twice\"\nprobability = 0.05\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\n\
             app = {{ cbr = {{ rate = \"900 kbit/s\", packet = \"500 B\", count = 20000 }} }}\n[run]\nlimit = \"1 h\"\n"
        );
        let model = testkit::model::<&str>(&text, &[]);
        let expected = capture(&model, 0).write(Vec::new(), None, 0, "test").unwrap();
        let (captured, files) = of_one_pass(&model, 0);
        assert_eq!(files.is_empty(), !matches!(captured, Captured::Whole(_)), "{delay}");
        for files in streamed(&model, 0).into_iter().chain((!files.is_empty()).then_some(files)) {
            assert!(files[""] == expected, "{delay}: the file of all taps");
        }
    }
}

/// RT-01: datagrams of the model have the ports of their flows, their length and a right checksum; a datagram with bit
/// errors does not reach the receiver.
#[test]
fn rt_01_datagrams_have_ports_and_checksums() {
    let mut text = r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "100 kbit/s"
        delay = "50 ms"
        [[hop.error]]
        name = "bits"
        directions = "down"
        probability = 0.2
        mode = "corrupt"
        [run]
        limit = "20 s"
        "#
    .to_owned();
    for name in ["a", "b"] {
        text.push_str(&format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"phone\"\ntransport = {{ udp = {{ payload = \"100 B\" }} }}\n\
             app = {{ cbr = {{ rate = \"8 kbit/s\", packet = \"75 B\", lasts = \"10 s\" }} }}\n"
        ));
    }
    let model = testkit::model::<&str>(&text, &[]);
    let outcome = run_once(&model, 0, Options::default());
    let file = capture(&model, 0).write(Vec::new(), None, 0, "test").unwrap();
    let mut reader = Reader::open(&file[..]).unwrap();
    let mut counts: BTreeMap<(u32, u16), f64> = BTreeMap::new();
    while let Some(frame) = reader.next().unwrap() {
        let packet = frame.decode().unwrap();
        let inside = &frame.bytes[20..];
        let word = |at: usize| u16::from_be_bytes([inside[at], inside[at + 1]]);
        assert_eq!((word(2), usize::from(word(4)), inside.len()), (5001, 8 + 75, 8 + 75));
        let pseudo = Sum::ZERO.and_pseudo(packet.ip.source, packet.ip.destination, UDP, inside.len() as u32);
        assert!(word(6) != 0 && pseudo.and(inside).finish() == 0, "checksum of UDP");
        if frame.interface < 2 {
            *counts.entry((frame.interface, word(0))).or_default() += 1.0;
        }
    }
    for flow in [0_u16, 1] {
        let get = |metric| outcome.flows[usize::from(flow)].get(metric).unwrap();
        assert_eq!(counts[&(0, 49_152 + flow)], get(Metric::MessagesSent));
        assert_eq!(counts[&(1, 49_152 + flow)], get(Metric::MessagesDelivered));
        assert!(get(Metric::MessagesDelivered) < get(Metric::MessagesSent));
    }
}
