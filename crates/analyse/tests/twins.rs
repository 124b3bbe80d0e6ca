//! Facts that the sender's capture cannot show are reported as unknown. Two runs look equal to their sender, packet by
//! packet: in one the data of an outage are lost, in the other their ACKs. If the receiver neither reports duplicates
//! nor counts packets in the IP identification, that capture alone cannot distinguish the runs.
//!
//! TA-01, TA-03: limit of the verdicts that any analyser can derive from one capture.

mod common;

use analyse::{Analyser, Flow, Limits, Observation, RecoveryVerdict};
use base::event::Category;
use base::trace::Tracer;
use common::meeting::read;
use common::observed::observed;

/// The outage drops the data from the segment at 3.13 s on, or their ACK.
const DATA: (&str, &str) = ("down", "3050 ms");
const ANSWERS: (&str, &str) = ("up", "3200 ms");

/// Sender's capture of a run whose outage drops packets of this direction, and number of its spurious timeouts.
fn run(outage: (&str, &str), options: &str) -> (Vec<Observation>, usize) {
    let (mut packets, spurious) = numbered(outage, options);
    // Linux counts the packets of a connection in the IP identification; IPv6 has none.
    packets.iter_mut().for_each(|o| o.id = None);
    (packets, spurious)
}

/// Like `run`, with a receiver that counts packets in the IP identification.
fn numbered((direction, from): (&str, &str), options: &str) -> (Vec<Observation>, usize) {
    let text = format!(
        r#"williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
rate = "200 kbit/s"
delay = "100 ms"
[[hop.gate]]
name = "outage"
directions = "{direction}"
mode = "drop"
spikes = [["{from}", "22 s"]]
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = {{ tcp = {{ profile = "rfc", mss = "1000 B", window = "1000 B", recovery = "reno", {options}, delayed-ack = {{ every = 1 }} }} }}
app = {{ bulk = {{ bytes = "60 kB" }} }}
[run]
limit = "10 min"
"#
    );
    let model = read(&text);
    let mut run = lab::once::run_recorded(&model, 0, Tracer::of(&[Category::Packets]), None);
    let sightings = run.world.network.tracer().take_sightings();
    let truths = run.world.network.ledgers()[0].verdicts();
    let sack = options.contains("sack = true");
    let packets = observed(&sightings, run.world.flows[0].from.0, 0, sack);
    (packets, truths.iter().filter(|t| t.spurious.is_some()).count())
}

fn analysed(packets: &[Observation]) -> Flow {
    let mut analyser = Analyser::new(Limits::default());
    packets.iter().for_each(|o| analyser.push(o));
    analyser.finish().remove(0)
}

#[test]
fn twins_are_called_unknown() {
    for options in ["timestamps = true, sack = false", "timestamps = false, sack = false"] {
        let ((lost, none), (unheard, all)) = (run(DATA, options), run(ANSWERS, options));
        assert!(none == 0 && all >= 3, "{options}: {none} and {all} spurious");
        assert!(lost == unheard, "{options}: the sender sees the same");
        // For the first run the more frequent case may be reported: data are lost more often than ACKs.
        let kinds: Vec<RecoveryVerdict> =
            analysed(&lost).directions[0].timeouts.iter().map(|t| t.kind).collect();
        assert_eq!(kinds.len(), all, "{options}");
        assert!(kinds[1..].iter().all(|k| *k == RecoveryVerdict::Unknown), "{options}: {kinds:?}");
        assert_ne!(kinds[0], RecoveryVerdict::Spurious, "{options}");
    }
}

#[test]
fn numbers_tell_them_apart() {
    for options in ["timestamps = true, sack = false", "timestamps = false, sack = false"] {
        let ((lost, none), (unheard, all)) = (numbered(DATA, options), numbered(ANSWERS, options));
        assert!(none == 0 && all >= 3 && lost != unheard, "{options}: {none} and {all} spurious");
        for (packets, kind) in [(lost, RecoveryVerdict::Genuine), (unheard, RecoveryVerdict::Spurious)] {
            let told: Vec<RecoveryVerdict> =
                analysed(&packets).directions[0].timeouts.iter().map(|t| t.kind).collect();
            assert_eq!(told, vec![kind; all], "{options}");
        }
    }
}

#[test]
fn reports_of_duplicates_tell_them_apart() {
    let options = "timestamps = true, sack = true, dsack = true";
    let ((lost, _), (unheard, _)) = (run(DATA, options), run(ANSWERS, options));
    assert!(lost != unheard);
    let kinds = |packets: &[Observation]| {
        analysed(packets).directions[0].timeouts.iter().map(|t| t.kind).collect::<Vec<_>>()
    };
    assert!(kinds(&lost).iter().all(|k| *k == RecoveryVerdict::Genuine), "{:?}", kinds(&lost));
    assert!(kinds(&unheard).iter().all(|k| *k == RecoveryVerdict::Spurious), "{:?}", kinds(&unheard));
}
