//! Public captures: frames, bytes, segments and payload bytes equal the counts of tshark. The expected counts are also
//! listed here, so that the test works without tshark. The files are not part of the project; where they are absent,
//! the test reports this.

use capture::{Reader, Transport};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File, and its counts: frames, their bytes, TCP segments, payload bytes by the lengths in IP headers.
const FACTS: [(&str, [u64; 4]); 12] = [
    ("mlab_large-ndt.pcap", [519, 1_658_141, 519, 1_623_871]),
    ("mlab_ndt-4c6fb.pcap", [18_240, 23_391_223, 18_240, 22_167_731]),
    ("tcpdump_mptcp-v0.pcap", [264, 35_146, 264, 13_682]),
    ("tcpdump_quic_handshake.pcap", [18, 5490, 0, 0]),
    ("tcptrace_dsack.pcap", [15_712, 17_826_512, 15_710, 16_787_352]),
    ("tcptrace_long_rtt.pcap", [42, 4096, 42, 31_441]),
    ("tcptrace_single_byte_rexmit.pcap", [27, 12_003, 27, 10_348]),
    ("tcptrace_zwnd.pcap", [26_690, 25_996_287, 26_686, 24_554_350]),
    ("zeek_retransmit-fast009.pcap", [39, 30_757, 39, 28_547]),
    ("zeek_retransmit-timeout.pcapng", [3, 198, 3, 36]),
    ("zeek_ssh-dups.pcap", [377, 56_814, 377, 31_912]),
    ("zeek_timestamp.pcap", [878, 1_057_964, 878, 1_000_000]),
];

/// Files for which tshark counts other payload. In this file, the original length of truncated frames equals the
/// captured length, which tshark uses; but sequence numbers advance by the 1448 bytes of the IP header (and tcptrace
/// agrees with the count here).
const TSHARK_DIFFERS: [(&str, u64); 1] = [("tcptrace_long_rtt.pcap", 1188)];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/captures")
}

fn ours(path: &Path) -> [u64; 4] {
    let mut reader = Reader::open(File::open(path).unwrap()).unwrap();
    let mut counts = [0; 4];
    while let Some(frame) = reader.next().unwrap() {
        counts[0] += 1;
        counts[1] += u64::from(frame.wire_len);
        if let Ok(packet) = frame.decode()
            && let Transport::Tcp(_) = packet.transport
        {
            counts[2] += 1;
            counts[3] += u64::from(packet.payload_len);
        }
    }
    assert!(reader.notices().is_empty(), "{}: {:?}", path.display(), reader.notices().kept());
    counts
}

/// Counts of tshark. `None` where it is not installed.
fn tshark(path: &Path) -> Option<[u64; 4]> {
    let out = Command::new("tshark")
        .args(["-n", "-T", "fields", "-e", "frame.len", "-e", "tcp.len", "-r"])
        .arg(path)
        .output()
        .ok()?;
    let mut counts = [0; 4];
    for line in String::from_utf8(out.stdout).unwrap().lines() {
        let mut fields = line.split('\t').map(|field| field.parse::<u64>().ok());
        counts[0] += 1;
        counts[1] += fields.next().flatten()?;
        if let Some(payload) = fields.next().flatten() {
            counts[2] += 1;
            counts[3] += payload;
        }
    }
    Some(counts)
}

#[test]
fn counted_as_tshark_counts() {
    for (name, counts) in FACTS {
        let path = folder().join(name);
        if !path.exists() {
            eprintln!("left out: {} is not here", path.display());
            continue;
        }
        assert_eq!(ours(&path), counts, "{name}");
        match tshark(&path) {
            Some(theirs) => {
                let differs = TSHARK_DIFFERS.iter().find(|(file, _)| *file == name);
                let payload = differs.map_or(counts[3], |(_, payload)| *payload);
                assert_eq!(theirs, [counts[0], counts[1], counts[2], payload], "{name}: tshark");
            }
            None => eprintln!("left out: no tshark to compare {name} with"),
        }
    }
}
