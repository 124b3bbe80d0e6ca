//! Findings besides verdicts: implementation faults, bottleneck buffer, rates, causes of idle time; and incomplete
//! captures.

mod common;

use analyse::capture_point::Side;
use analyse::fault::FaultKind;
use analyse::flow::SpikeKind;
use analyse::idle::IdleCause;
use analyse::profile::Point;
use analyse::{Analyser, Flow, Limits, Need, Observation, Reason, story};
use base::event::Category;
use base::trace::Tracer;
use base::wire::flag;
use base::{Span, Time};
use common::meeting::read;
use common::observed::observed;

/// Packets of the common scenario with these tables of link, transport and application.
fn packets(link: &str, transport: &str, app: &str, receiver: bool) -> Vec<Observation> {
    let (profile, transport) = match transport.strip_prefix("rfc3481: ") {
        Some(rest) => ("rfc3481", rest),
        None => ("rfc", transport),
    };
    let text = format!(
        r#"williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
rate = "200 kbit/s"
delay = "100 ms"
queue = {{ drop-tail = {{ limit = "12 packets" }} }}
{link}
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = {{ tcp = {{ profile = "{profile}", mss = "1000 B", recovery = "reno", {transport} }} }}
app = {{ {app} }}
[run]
limit = "10 min"
"#
    );
    let text = match transport.contains("mss =") {
        true => text.replacen("mss = \"1000 B\", ", "", 1),
        false => text,
    };
    let model = read(&text);
    let mut run = lab::once::run_recorded(&model, 0, Tracer::of(&[Category::Packets]), None);
    let sightings = run.world.network.tracer().take_sightings();
    let ends = run.world.flows[0];
    observed(&sightings, if receiver { ends.to.0 } else { ends.from.0 }, 0, transport.contains("sack = true"))
}

/// A message of 192 B each second.
const TICKER: &str = "ticker = { size = \"192 B\", every = \"1 s\", count = 20 }";
const BULK: &str = "bulk = { bytes = \"200 kB\" }";
const SPIKE: &str = "[[hop.gate]]\nname = \"pause\"\nspikes = [[\"3 s\", \"6 s\"]]";

fn analysed(packets: &[Observation]) -> Flow {
    let mut analyser = Analyser::new(Limits { points: true, ..Limits::default() });
    packets.iter().for_each(|o| analyser.push(o));
    let mut flows = analyser.finish();
    assert_eq!(flows.len(), 1);
    flows.remove(0)
}

fn faults(link: &str, transport: &str) -> Vec<FaultKind> {
    let flow = analysed(&packets(link, transport, BULK, false));
    let mut kinds: Vec<FaultKind> = flow.directions[0].faults.iter().map(|f| f.kind).collect();
    kinds.dedup();
    kinds
}

/// TA-14: each implementation fault is found in the capture that shows it, and in no other.
#[test]
fn faults_are_found_where_they_are() {
    let one = "[[hop.loss]]\nname = \"one\"\ndirections = \"down\"\npackets = \"40\"";
    assert_eq!(faults("", "window = \"30 kB\""), []);
    assert_eq!(faults(SPIKE, "window = \"12 kB\""), []);
    assert_eq!(faults(one, "window = \"10 kB\""), []);
    let has = |link: &str, transport: &str, kind: FaultKind| {
        let found = faults(link, transport);
        assert!(found.contains(&kind), "{transport}: {kind} not in {found:?}");
    };
    has("", "initial-window = \"16 kB\", window = \"20 kB\"", FaultKind::InitialWindow);
    has("", "window-overrun = 2, window = \"6 kB\"", FaultKind::WindowOverrun);
    has("", "rto.percent = 30, rto.min = \"10 ms\", window = \"8 kB\"", FaultKind::EarlyTimer);
    has(one, "dupthresh = 1, window = \"10 kB\"", FaultKind::EarlyFastRetransmit);
    has(one, "dupthresh = 2, window = \"10 kB\"", FaultKind::EarlyFastRetransmit);
    // A segment is lost from a window that a gate delays: the following segments are acknowledged after the timeout.
    let both = format!("{SPIKE}\n{}", one.replace("\"40\"", "\"65\""));
    has(
        &both,
        "duplicates.after-timeout = \"clock\", bug-fix = \"off\", timestamps = false, window = \"12 kB\"",
        FaultKind::DuplicatesClock,
    );
    has(SPIKE, "timeout-resends = \"outstanding\", window = \"12 kB\"", FaultKind::ResendsOutstanding);
}

/// TA-04: the data outstanding when the first lost segment was sent equal the path's capacity: queue, packet in
/// service, propagation.
#[test]
fn the_buffer_is_estimated() {
    let flow = analysed(&packets("", "window = \"200 kB\", delayed-ack = { every = 1 }", BULK, false));
    let direction = &flow.directions[0];
    assert!(direction.count(Need::Needed) > 0);
    // Twelve packets wait and one is in service; at 200 kbit/s some five are in transit there, and their ACKs back.
    let bytes = direction.buffer_bytes.unwrap();
    assert!((14_000..=20_000).contains(&bytes), "{bytes}");
    assert!(!direction.bursts.is_empty() || direction.count(Need::Needed) < 3);
}

/// TA-09, TA-12: throughput, goodput, and unneeded retransmissions.
#[test]
fn a_spike_is_told_from_a_loss() {
    let flow = analysed(&packets(SPIKE, "window = \"8 kB\"", BULK, false));
    let direction = &flow.directions[0];
    assert_eq!(direction.delivered_bytes, 200_000);
    assert!(direction.data_bytes > 200_000 && direction.throughput_bps() > direction.goodput_bps());
    assert!(
        direction.timeouts.iter().all(|t| t.kind == analyse::RecoveryVerdict::Spurious),
        "{:?}",
        direction.timeouts
    );
    assert_eq!(direction.count(Need::Needed), 0);
    assert_eq!(direction.retransmissions[0].reason, Reason::Timeout);
    let spike = direction.spikes.iter().find(|s| s.until.since(s.t) > Span::from_secs(5)).unwrap();
    assert_eq!(spike.kind, SpikeKind::Delay);
    assert_eq!(direction.place.side(), Side::Sender);
    let told = story::tell(&[&flow]);
    assert!(told.what.contains("timeout") && told.sure.starts_with("This is quite sure"), "{told:?}");
    assert!(told.advice.contains("F-RTO"), "{told:?}");
    // TA-02: all segments and ACKs are available for the picture.
    assert_eq!(direction.transmissions.len() as u64, direction.data_packets);
    assert!(direction.acks.len() > 100);
}

/// One segment is lost and the sender waits for its timer: this is no outage.
#[test]
fn a_sender_that_is_silent_has_no_outage() {
    let one = "[[hop.loss]]\nname = \"one\"\ndirections = \"down\"\npackets = \"40\"";
    let flow = analysed(&packets(one, "window = \"1000 B\"", BULK, false));
    let kinds: Vec<SpikeKind> = flow.directions[0].spikes.iter().map(|s| s.kind).collect();
    assert_eq!(kinds, [SpikeKind::Timer]);
}

/// Causes of idle time: receiver's window, application, or path.
#[test]
fn pauses_have_their_causes() {
    let time = |link: &str, transport: &str, app: &str| {
        analysed(&packets(link, transport, app, false)).directions[0].time
    };
    let window = time("", "window = \"3 kB\"", BULK);
    assert!(window.of(IdleCause::Receiver) > Span::from_secs(5), "{window:?}");
    let path = time("", "window = \"60 kB\"", BULK);
    assert!(path.of(IdleCause::Congestion) > Span::from_secs(5), "{path:?}");
    assert!(path.of(IdleCause::Receiver) < Span::from_secs(1), "{path:?}");
    let flow = analysed(&packets("", "window = \"3 kB\"", BULK, false));
    let told = story::tell(&[&flow]);
    assert!(told.what.contains("receiver's window was full"), "{told:?}");
}

/// PR-18: each recommendation of RFC 3481.
#[test]
fn the_profile_is_checked() {
    let points = |transport: &str| {
        let flow = analysed(&packets("", transport, BULK, false));
        flow.directions[0].profile.iter().map(|a| (a.point, a.followed)).collect::<Vec<_>>()
    };
    let good = points("rfc3481: sack = true, window = \"30 kB\"");
    for point in [Point::Timestamps, Point::Sack, Point::Mtu, Point::InitialWindow, Point::Window] {
        assert!(good.contains(&(point, Some(true))), "{point}: {good:?}");
    }
    let bad =
        points("timestamps = false, window = \"3 kB\", initial-window = \"1 segments\", mss = \"256 B\"");
    for point in [Point::Timestamps, Point::Sack, Point::Mtu, Point::InitialWindow, Point::Window] {
        assert!(bad.contains(&(point, Some(false))), "{point}: {bad:?}");
    }
}

/// An application that sends little says nothing about the MTU and the initial window.
#[test]
fn a_flow_limited_by_its_application_gets_no_advice_about_sizes() {
    let small = analysed(&packets("", "window = \"30 kB\"", TICKER, false));
    let told: Vec<_> = small.directions[0].profile.iter().map(|a| (a.point, a.followed)).collect();
    for point in [Point::Mtu, Point::InitialWindow] {
        assert!(told.contains(&(point, None)), "{point}: {:?}", small.directions[0].profile);
    }
}

/// Next to the receiver every arrival is observed: data that arrived before are unneeded, data that fill a gap are
/// needed.
#[test]
fn a_capture_at_the_receiver_is_known_as_such() {
    let loss = "[[hop.loss]]\nname = \"some\"\ndirections = \"down\"\npackets = \"30-31,60\"";
    let flow = analysed(&packets(loss, "window = \"12 kB\", sack = true", BULK, true));
    let direction = &flow.directions[0];
    assert_eq!(direction.place.side(), Side::Receiver);
    assert_eq!(
        (direction.count(Need::Needed), direction.count(Need::Unknown)),
        (3, 0),
        "{:?}",
        direction.retransmissions
    );
    let flow = analysed(&packets(SPIKE, "window = \"8 kB\", timestamps = false", BULK, true));
    let direction = &flow.directions[0];
    assert!(
        direction.count(Need::Unneeded) > 3 && direction.count(Need::Needed) == 0,
        "{:?}",
        direction.retransmissions
    );
}

/// Duplicate frames are not retransmissions: every packet twice, on one interface or on two.
#[test]
fn what_the_capture_took_twice_is_left_out() {
    let plain = packets(SPIKE, "window = \"8 kB\"", BULK, false);
    let mut twice = Vec::new();
    for o in &plain {
        twice.push(*o);
        twice.push(Observation { t: o.t + Span::from_nanos(40_000), interface: 1, ..*o });
    }
    twice.sort_by_key(|o| o.t);
    let (one, two) = (analysed(&plain), analysed(&twice));
    assert_eq!(two.captured_twice, plain.len() as u64);
    assert_eq!((two.packets, two.bytes), (one.packets, one.bytes));
    let seen = |f: &Flow| f.directions[0].retransmissions.iter().map(|r| (r.seq, r.need)).collect::<Vec<_>>();
    assert_eq!(seen(&one), seen(&two));
}

/// A capture that begins in the middle, and captures with missing packets, cause no false findings.
#[test]
fn captures_that_are_not_whole() {
    let plain = packets("", "window = \"12 kB\"", BULK, false);
    let late = analysed(&plain[60..]);
    assert!(!late.opened && late.directions.iter().all(|w| w.retransmissions.is_empty()));
    let whole = analysed(&plain);
    assert!(whole.opened && whole.directions[0].retransmissions.is_empty());
    let holes: Vec<Observation> =
        plain.iter().enumerate().filter(|(i, _)| i % 17 != 11 || *i < 20).map(|(_, o)| *o).collect();
    let torn = analysed(&holes);
    let direction = &torn.directions[0];
    assert!(direction.retransmissions.is_empty() && direction.missing_bytes > 3000, "{direction:?}");
    assert_eq!(direction.delivered_bytes, whole.directions[0].delivered_bytes);
    // One direction only.
    let mute: Vec<Observation> = plain.iter().filter(|o| o.head.source == 40_000).copied().collect();
    let flow = analysed(&mute);
    assert_eq!(flow.directions[0].data_bytes, whole.directions[0].data_bytes);
    assert!(flow.directions[0].rtt.is_none());
}

/// With GRO or LRO an ACK may be captured before its data: the data are captured late, not retransmitted.
#[test]
fn data_captured_behind_their_acknowledgement_are_no_retransmissions() {
    let plain = packets("", "window = \"12 kB\"", BULK, true);
    let whole = analysed(&plain);
    let mut late = plain.clone();
    let mut swapped = 0;
    for i in 1..late.len() {
        let (a, b) = (late[i - 1], late[i]);
        if a.payload > 0 && b.payload == 0 && b.head.ack == a.head.seq.wrapping_add(a.payload) {
            late[i - 1] = Observation { t: a.t, ..b };
            late[i] = Observation { t: a.t + Span::from_nanos(2000), ..a };
            swapped += 1;
        }
    }
    assert!(swapped > 20, "{swapped}");
    let direction = &analysed(&late).directions[0];
    assert_eq!(
        (direction.retransmissions.len(), direction.out_of_order, direction.acknowledged_unseen),
        (0, 0, 0)
    );
    assert_eq!(
        (direction.data_packets, direction.delivered_bytes),
        (whole.directions[0].data_packets, whole.directions[0].delivered_bytes)
    );
    // Data far below the cumulative ACK were retransmitted, or the capture lacks the first copy.
    for o in late.iter_mut().filter(|o| o.payload > 0).skip(50) {
        o.t += Span::from_secs(1);
    }
    late.sort_by_key(|o| o.t);
    assert!(!analysed(&late).directions[0].retransmissions.is_empty());
}

/// The peer still has an older connection with these ports: it acknowledges unsent data and is reset, and the SYN is
/// retransmitted.
#[test]
fn an_acknowledgement_of_an_older_connection_counts_for_nothing() {
    let plain = packets("", "window = \"12 kB\"", BULK, false);
    let (syn, back) = (plain[0], plain[1]);
    assert!(syn.head.has(flag::SYN) && back.head.has(flag::SYN | flag::ACK));
    let mut stale = Observation { t: syn.t + Span::from_millis(20), ..back };
    (stale.head.flags, stale.head.permits_sack, stale.head.mss) = (flag::ACK, false, None);
    stale.head.ack = syn.head.seq.wrapping_add(5000);
    stale.head.seq = back.head.seq.wrapping_sub(70_000);
    let mut reset = Observation { t: syn.t + Span::from_millis(21), ..syn };
    (reset.head.flags, reset.head.permits_sack, reset.head.mss) = (flag::RST, false, None);
    reset.head.seq = stale.head.ack;
    let mut packets = vec![syn, stale, reset];
    packets.extend(plain.iter().map(|o| Observation { t: o.t + Span::from_secs(3), ..*o }));
    let (odd, whole) = (analysed(&packets), analysed(&plain));
    let direction = &odd.directions[0];
    assert_eq!(
        (direction.retransmissions.len(), direction.acknowledged_unseen),
        (0, 0),
        "{:?}",
        direction.retransmissions
    );
    assert_eq!(direction.delivered_bytes, whole.directions[0].delivered_bytes);
}

/// Several processors captured in parallel: the SYN-ACK precedes the SYN in the file.
#[test]
fn an_opening_behind_its_answer_begins_nothing_new() {
    let mut packets = packets("", "window = \"12 kB\"", BULK, false);
    let whole = analysed(&packets);
    packets.swap(0, 1);
    let flow = analysed(&packets);
    assert!(flow.opened && flow.client == whole.client, "{flow:?}");
    assert_eq!(
        (flow.packets, flow.directions[0].data_bytes),
        (whole.packets, whole.directions[0].data_bytes)
    );
    assert_eq!((flow.directions[0].retransmissions.len(), flow.directions[0].acknowledged_unseen), (0, 0));
}

/// Two hosts answered the SYN with different sequence numbers, and the connection uses the one captured second.
#[test]
fn data_tell_which_answer_to_the_opening_counts() {
    let mut packets = packets("", "window = \"12 kB\"", BULK, true);
    let whole = analysed(&packets);
    let syn = packets[0];
    let mut other = syn;
    other.head.seq = syn.head.seq.wrapping_add(0x7000_0000);
    packets[0] = other;
    let flow = analysed(&packets);
    assert_eq!(flow.directions[0].data_bytes, whole.directions[0].data_bytes);
    assert!(
        flow.directions[0].retransmissions.is_empty() && flow.directions[0].strange <= 2,
        "{}",
        flow.directions[0].strange
    );
}

/// First sentences of the diagnosis of nearly empty captures, and of transfers without any ACK.
#[test]
fn sentences_of_torn_captures_are_unsure() {
    let plain = packets("", "window = \"12 kB\"", BULK, false);
    let told = |packets: &[Observation]| story::tell(&[&analysed(packets)]);
    assert!(told(&plain).sure.starts_with("This is quite sure"));
    let data = |o: &Observation| o.payload > 0;
    let mut n = 0;
    let torn: Vec<Observation> = plain
        .iter()
        .filter(|o| {
            n += usize::from(data(o));
            !data(o) || n % 4 == 1
        })
        .copied()
        .collect();
    let story = told(&torn);
    assert!(story.sure.starts_with("This is unsure") && story.sure.contains("misses"), "{story:?}");
    let mute: Vec<Observation> =
        plain.iter().enumerate().filter(|(i, o)| *i < 3 || data(o)).map(|(_, o)| *o).take(9).collect();
    assert!(told(&mute).what.contains("without any acknowledgement"), "{:?}", told(&mute));
    // A single segment: no advice for it.
    let one: Vec<Observation> = plain.iter().enumerate().filter(|(i, _)| *i < 4).map(|(_, o)| *o).collect();
    assert_eq!(told(&one).advice, "Nothing needs to be changed.");
}

/// The ports are reused by another connection.
#[test]
fn ports_are_used_again() {
    let plain = packets("", "window = \"12 kB\"", BULK, false);
    let shift = |o: &Observation| {
        let mut o = Observation { t: o.t + Span::from_secs(100), ..*o };
        o.head.seq = o.head.seq.wrapping_add(777_777);
        o.head.ack = o.head.ack.wrapping_add(777_777);
        o
    };
    let mut analyser = Analyser::default();
    plain.iter().for_each(|o| analyser.push(o));
    plain.iter().map(shift).for_each(|o| analyser.push(&o));
    let flows = analyser.finish();
    assert_eq!(flows.len(), 2);
    assert!(
        flows.iter().all(|f| f.directions[0].delivered_bytes == 200_000 && f.directions[0].retransmissions.is_empty())
    );
    assert!(flows[1].first >= Time::ZERO + Span::from_secs(100));
}
