//! Public captures: connections, bytes and retransmissions equal the counts of tshark and tcptrace, or the difference
//! is known (`docs/analyser.md`). The files are not part of the project; where they are absent, the test reports this.

use analyse::idle::IdleCause;
use analyse::{Analyser, Flow, Need, Observation, Reason, RecoveryVerdict, story};
use base::Span;
use std::fs::File;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    // Beside the checkout, in any parent folder.
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|dir| dir.join("shared/data/captures"));
    above.into_iter().find(|dir| dir.exists()).unwrap_or_default()
}

fn flows(name: &str) -> Option<Vec<Flow>> {
    let mut reader = capture::Reader::open(File::open(folder().join(name)).ok()?).unwrap();
    let mut analyser = Analyser::default();
    while let Some(frame) = reader.next().unwrap() {
        if let Some(o) = Observation::of(&frame) {
            analyser.push(&o);
        }
    }
    Some(analyser.finish())
}

/// Counts of a file.
#[derive(PartialEq, Eq, Debug)]
struct Counts {
    flows: usize,
    packets: u64,
    data_packets: u64,
    data_bytes: u64,
    resent: u64,
    twice: u64,
    probes: u64,
}

fn count(flows: &[Flow]) -> Counts {
    let directions = || flows.iter().flat_map(|f| &f.directions);
    Counts {
        flows: flows.len(),
        packets: flows.iter().map(|f| f.packets).sum(),
        data_packets: directions().map(|w| w.data_packets).sum(),
        data_bytes: directions().map(|w| w.data_bytes).sum(),
        resent: directions().map(|w| w.retransmissions.len() as u64 + w.out_of_order).sum(),
        twice: flows.iter().map(|f| f.captured_twice).sum(),
        probes: directions().map(|w| w.window_probes + w.keep_alives).sum(),
    }
}

/// File; connections, packets, data packets, data bytes, segments below the highest sequence number (tshark:
/// retransmission, fast retransmission, spurious retransmission and out-of-order together), duplicate captures,
/// probes.
const FACTS: [(&str, [u64; 7]); 12] = [
    ("mlab_large-ndt.pcap", [1, 519, 159, 1_623_871, 0, 0, 0]),
    ("mlab_ndt-4c6fb.pcap", [1, 18_240, 8841, 22_167_731, 39, 0, 0]),
    ("tcpdump_mptcp-v0.pcap", [2, 264, 151, 13_682, 0, 0, 0]),
    ("tcpdump_quic_handshake.pcap", [0, 0, 0, 0, 0, 0, 0]),
    ("tcptrace_dsack.pcap", [1, 15_710, 11_594, 16_787_352, 7, 0, 0]),
    ("tcptrace_long_rtt.pcap", [1, 42, 22, 31_441, 5, 0, 0]),
    ("tcptrace_single_byte_rexmit.pcap", [1, 27, 13, 10_348, 4, 0, 0]),
    // tshark counts the six probes of a closed window as data, with a byte each.
    ("tcptrace_zwnd.pcap", [1, 26_686, 17_986, 24_554_344, 0, 0, 6]),
    ("zeek_retransmit-fast009.pcap", [1, 39, 21, 28_547, 3, 0, 0]),
    ("zeek_retransmit-timeout.pcapng", [1, 3, 2, 36, 1, 0, 0]),
    // 377 packets, nearly all four times at one instant, 97 different ones by tshark's fields; one side has no identification. The
    // first three ACKs of that side are the votes, so their nine copies stay. tshark calls 166 copies retransmissions.
    ("zeek_ssh-dups.pcap", [1, 106, 54, 7978, 0, 271, 0]),
    ("zeek_timestamp.pcap", [1, 878, 691, 1_000_000, 0, 0, 0]),
];

#[test]
fn counts_are_those_of_tshark_and_tcptrace() {
    let mut looked = 0;
    for (name, [n, packets, data_packets, data_bytes, resent, twice, probes]) in FACTS {
        let Some(flows) = flows(name) else { continue };
        let is = Counts { flows: n as usize, packets, data_packets, data_bytes, resent, twice, probes };
        assert_eq!(count(&flows), is, "{name}");
        looked += 1;
    }
    if looked == 0 {
        eprintln!("skipped: there are no captures in {}", folder().display());
    } else {
        assert_eq!(looked, FACTS.len());
    }
}

/// TA-03: verdicts equal those of a manual analysis.
#[test]
fn verdicts_on_known_files() {
    let Some(timeout) = flows("zeek_retransmit-timeout.pcapng") else {
        eprintln!("skipped: there are no captures in {}", folder().display());
        return;
    };
    let direction = &timeout[0].directions[timeout[0].main()];
    assert_eq!(direction.retransmissions.len(), 1);
    let fast = flows("zeek_retransmit-fast009.pcap").unwrap();
    let direction = &fast[0].directions[1];
    assert_eq!(direction.count(Need::Needed), 3);
    assert_eq!(direction.fast_retransmits.len(), 1);
    assert_eq!(direction.fast_retransmits[0].kind, RecoveryVerdict::Genuine);
    let dsack = flows("tcptrace_dsack.pcap").unwrap();
    let direction = &dsack[0].directions[0];
    assert_eq!(
        (direction.count(Need::Needed), direction.fast_retransmits.len(), direction.timeouts.len()),
        (7, 3, 0)
    );
    // The receiver closed its window for 22 s with six probes; the application had data to send in this time.
    let closed = flows("tcptrace_zwnd.pcap").unwrap();
    let flow = closed.iter().find(|f| f.directions[f.main()].window_probes == 6).expect("probes");
    let time = flow.directions[flow.main()].time;
    assert!(time.of(IdleCause::Closed) > Span::from_secs(22), "{time:?}");
    assert!(time.of(IdleCause::Application) < Span::from_secs(2), "{time:?}");
    let told = story::tell(&[flow]);
    assert!(told.what.contains("window was closed"), "{}", told.what);
}

/// Cause named in the first sentence of the diagnosis, without figures.
fn blame(flow: &Flow) -> Option<&'static str> {
    let told = story::tell(&[flow]);
    if told.sure.starts_with("This is unsure") {
        return None;
    }
    let words = [
        "timeout",
        "window was closed",
        "window was full",
        "delay spike",
        "was down",
        "application had nothing",
    ];
    words.into_iter().find(|word| told.what.contains(word))
}

/// TA-03: if a capture begins late, verdicts become unknown but do not change otherwise. A window of 0 is 0 at any
/// scale.
#[test]
fn late_captures_say_nothing_else() {
    let mut wrong = Vec::new();
    let (mut captures, mut verdicts) = (0, 0);
    for (name, _) in FACTS {
        let Ok(file) = File::open(folder().join(name)) else { continue };
        let mut reader = capture::Reader::open(file).unwrap();
        let mut all = Vec::new();
        while let Some(frame) = reader.next().unwrap() {
            all.extend(Observation::of(&frame));
        }
        let judged = |packets: &[Observation]| {
            let mut analyser = Analyser::default();
            packets.iter().for_each(|o| analyser.push(o));
            analyser.finish()
        };
        let whole = judged(&all);
        let known = |f: &Flow| {
            whole
                .iter()
                .find(|w| {
                    (w.client, w.server) == (f.client, f.server)
                        || (w.server, w.client) == (f.client, f.server)
                })
                .cloned()
        };
        for cut in 1..=50.min(all.len().saturating_sub(1)) {
            captures += 1;
            for flow in judged(&all[cut..]) {
                let Some(before) = known(&flow) else { continue };
                let swapped = before.client != flow.client;
                for (i, direction) in flow.directions.iter().enumerate() {
                    let is = &before.directions[if swapped { 1 - i } else { i }];
                    for r in &direction.retransmissions {
                        let wire = |w: &analyse::FlowDirection, seq: u64| w.origin.wrapping_add(seq as u32);
                        let same = is
                            .retransmissions
                            .iter()
                            .find(|s| s.t == r.t && wire(is, s.seq) == wire(direction, r.seq));
                        verdicts += 1;
                        let need = r.need != Need::Unknown && same.is_none_or(|s| s.need != r.need);
                        let reasons = [Reason::Timeout, Reason::Unknown];
                        let timeout =
                            r.reason == Reason::Timeout && same.is_none_or(|s| !reasons.contains(&s.reason));
                        if need || timeout {
                            wrong.push(format!("{name} without {cut}: {r:?} is {same:?}"));
                        }
                    }
                }
                let (told, is) = (blame(&flow), blame(&before));
                let unsure = story::tell(&[&before]).sure.starts_with("This is unsure");
                // The cause may lie in missing packets; no other cause is named.
                if told.is_some() && told != is && !unsure {
                    wrong.push(format!("{name} without {cut}: {told:?} is {is:?}"));
                }
                if is == Some("window was closed") && told != is {
                    wrong.push(format!("{name} without {cut}: {told:?}"));
                }
            }
        }
    }
    eprintln!("{captures} captures, {verdicts} verdicts");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
}
