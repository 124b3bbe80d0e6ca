//! Tests in the setting of the study of delay spikes (Fu, Atiquzzaman, Ivancic 2003): 1.4 s each way, a spike
//! of 12 s at 28 s before the queue, 150 s of bulk data.

mod common;

use base::Span;
use base::event::Event;
use base::truth::Cause;
use common::{Lab, Way, lab, secs};
use sctp::Config;
use transport::app::{App, Bulk, Sink};

const PAYLOAD: u32 = 536;

fn study(profile: &str, bps: u64, window: u32, queue: Option<u32>) -> Lab {
    let mut config = Config::profile(profile).unwrap();
    config.mtu = PAYLOAD + 48;
    config.sack_every = 1;
    let weight = if config.window_counts_headers { PAYLOAD + 16 } else { PAYLOAD };
    config.window = u64::from(window * weight);
    let way = Way { queue, pause: Some((secs(28.0), secs(40.0))), ..Way::of(bps, Span::from_millis(1400)) };
    let mut l = lab(&config, &[way], 1, [Box::new(Bulk::new(None, None)), Box::new(Sink::new(None))]);
    l.run(150.0);
    l
}

/// Deliveries of stock ns-2.35 in this setting (`peers/ns2/sctp.tcl`): window, queue, bit/s, chunks. Lower
/// rates are in `data/ns2-low-rates.csv`.
const NS2: &[(u32, Option<u32>, u64, u64)] = &[
    (60, None, 42_800, 1155),
    (60, None, 46_800, 1195),
    (60, None, 78_000, 1811),
    (60, None, 100_000, 2024),
    (60, None, 1_500_000, 2145),
    (20, None, 42_800, 795),
    (20, None, 46_800, 803),
    (20, None, 78_000, 823),
    (20, None, 100_000, 823),
    (20, None, 1_500_000, 843),
    (60, Some(50), 42_800, 1123),
    (60, Some(50), 46_800, 1110),
    (60, Some(50), 78_000, 1821),
    (60, Some(50), 100_000, 2025),
    (60, Some(50), 1_500_000, 2136),
    (20, Some(13), 42_800, 795),
    (20, Some(13), 46_800, 797),
    (20, Some(13), 78_000, 817),
    (20, Some(13), 100_000, 817),
    (20, Some(13), 1_500_000, 837),
];

/// SC-01: the profile of ns-2.35 delivers as many chunks as ns-2.35, within 0.4 %.
#[test]
fn the_profile_of_ns2_delivers_what_ns2_delivers() {
    for &(window, queue, bps, theirs) in NS2 {
        let l = study("ns2-2.35", bps, window, queue);
        let ours = l.receiver().numbers()[1];
        let off = (ours as f64 / theirs as f64 - 1.0).abs();
        assert!(off < 0.004, "window {window}, queue {queue:?}, {bps} bit/s: {ours}, ns-2.35 {theirs}");
    }
}

/// A case of `data/ns2-low-rates.csv`.
struct Low {
    window: u32,
    queue: Option<u32>,
    bps: u64,
    delivered: u64,
    /// Packets sent: time in s, TSN from 1.
    sent: Vec<(f64, u64)>,
}

fn low_rates() -> Vec<Low> {
    let mut cases: Vec<Low> = Vec::new();
    for line in include_str!("data/ns2-low-rates.csv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<u64>().unwrap();
        if fields[0] == "case" {
            let queue = Some(number(2) as u32).filter(|n| *n > 0);
            let (window, bps, delivered) = (number(1) as u32, number(3), number(4));
            cases.push(Low { window, queue, bps, delivered, sent: Vec::new() });
        } else {
            cases.last_mut().unwrap().sent.push((fields[0].parse().unwrap(), number(1)));
        }
    }
    cases
}

/// DATA packets that our sender transmits: time in s, TSN from 1.
fn sends(l: &mut Lab) -> Vec<(f64, u64)> {
    let from = l.from.0;
    let records = l.records().into_iter().filter(|r| r.source.0 == from);
    let sent = records.filter_map(|r| match r.event {
        Event::DataSent { seq, .. } => Some((r.t.as_secs_f64(), seq + 1)),
        _ => None,
    });
    sent.collect()
}

/// SC-01: at the rates of GPRS the profile of ns-2.35 sends the same packets as ns-2.35 to the end of the
/// session. Times differ by the bytes of the set-up, which are real here. In three cases a chunk is
/// fast-retransmitted behind fifty others and its timer expires; there the timer expires up to 4.6 s earlier.
#[test]
fn the_profile_of_ns2_sends_packet_by_packet_what_ns2_sends() {
    let cases = low_rates();
    assert_eq!(cases.len(), 16);
    for Low { window, queue, bps, delivered, sent } in cases {
        let mut l = study("ns2-2.35", bps, window, queue);
        let here = format!("window {window}, queue {queue:?}, {bps} bit/s");
        let ours = sends(&mut l);
        let compared = ours.len().min(sent.len());
        assert!(
            compared > 200 && compared + 5 >= ours.len().max(sent.len()),
            "{here}: {} {}",
            ours.len(),
            sent.len()
        );
        let first = ours.iter().zip(&sent).find(|(a, b)| a.1 != b.1);
        assert_eq!(first, None, "{here}: the first difference");
        let lag = ours.iter().zip(&sent).map(|(a, b)| (a.0 - b.0).abs()).fold(0.0, f64::max);
        let late = queue == Some(50) && bps != 15_600;
        assert!(lag < if late { 4.6 } else { 0.12 }, "{here}: {lag} s");
        let off = l.receiver().numbers()[1].abs_diff(delivered);
        assert!(off <= if late { 5 } else { 0 }, "{here}: {off} chunks");
    }
}

/// SC-03: all outstanding chunks are retransmitted after a spurious timeout, and duplicate SACKs cause no
/// fast retransmit.
#[test]
fn the_spike_makes_go_back_n_and_no_spurious_fast_retransmit() {
    for (profile, _, _) in sctp::config::PROFILES {
        let l = study(profile, 46_800, 20, None);
        let verdicts = l.network.ledgers()[0].verdicts();
        let unneeded = |cause| verdicts.iter().filter(|v| v.unneeded && v.cause == cause).count();
        assert!(unneeded(Cause::Timeout) >= 2, "{profile}");
        assert!(unneeded(Cause::GoBackN) >= 15, "{profile}: {}", unneeded(Cause::GoBackN));
        assert_eq!(unneeded(Cause::Fast), 0, "{profile}");
    }
}

/// SC-02: packets of the study have 52 B of headers, and SACKs have 68 B.
#[test]
fn packets_of_the_study_have_its_sizes() {
    let l = study("ns2-2002", 46_800, 20, None);
    let (from, to) = (l.host(l.from).counters(), l.host(l.to).counters());
    let set_up = from.bytes_sent - from.data_sent * u64::from(PAYLOAD + 52);
    assert!(set_up < 300, "INIT and COOKIE ECHO: {set_up} B");
    let sacks = l.receiver().counts().sacks;
    let set_up = to.bytes_sent - sacks * 68;
    assert!(to.acks_sent - sacks == 2 && set_up < 300, "INIT ACK and COOKIE ACK: {set_up} B");
}

/// SC-04: if duplicate SACKs release no data, no new data are sent while they arrive.
#[test]
fn duplicates_clock_out_no_new_data() {
    let sent = |sends| {
        let mut config = Config::profile("rfc2960").unwrap();
        config.mtu = PAYLOAD + 48;
        (config.sack_every, config.sends_on_duplicates) = (1, sends);
        config.window = u64::from(20 * PAYLOAD);
        let way = Way { pause: Some((secs(28.0), secs(40.0))), ..Way::of(46_800, Span::from_millis(1400)) };
        let apps: [Box<dyn App>; 2] = [Box::new(Bulk::new(None, None)), Box::new(Sink::new(None))];
        let mut l = lab(&config, &[way], 1, apps);
        l.run(60.0);
        let from = l.from.0;
        let mut duplicate_at = Vec::new();
        let mut new_at = Vec::new();
        for record in l.records().into_iter().filter(|r| r.source.0 == from) {
            match record.event {
                Event::AckReceived { duplicate: true, .. } => duplicate_at.push(record.t),
                Event::DataSent { cause: Cause::New, .. } => new_at.push(record.t),
                _ => {}
            }
        }
        assert!(!duplicate_at.is_empty(), "there are duplicates");
        new_at.iter().filter(|t| duplicate_at.contains(t)).count()
    };
    assert_eq!(sent(false), 0);
}

#[test]
#[ignore = "prints a table"]
fn table() {
    for (window, queue) in [(60, None), (20, None), (60, Some(50)), (20, Some(13))] {
        for bps in [9_050, 13_400, 15_600, 21_400, 42_800, 46_800, 78_000, 100_000, 1_500_000] {
            print!("{window} {queue:?} {bps}:");
            for (profile, _, _) in sctp::config::PROFILES {
                let l = study(profile, bps, window, queue);
                let counts = l.sender().counts();
                print!(
                    " {profile} {} ({}t {}f)",
                    l.receiver().numbers()[1],
                    counts.timeouts,
                    counts.fast_retransmits
                );
            }
            println!();
        }
    }
}
