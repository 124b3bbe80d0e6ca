//! Property tests of runs: packets and bytes are conserved, counters equal the trace, time never decreases,
//! windows are respected, transfers end, and a scenario gives equal bits with every output option.

use base::event::{Event, Record};
use base::packet::DropReason;
use base::{Span, Time};
use host::Host;
use lab::once::{Options, RunOutcome, run_once};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use scenario::metric::Metric;
use scenario::model::{LinkRate, Transport};
use scenario::{Model, NoFiles, read};
use std::cell::Cell;
use std::fmt::Write as _;
use transport::app::Socket as _;
use transport::tcp::config::{Halving, PathMtu};
use transport::tcp::{Config, OptionKind};

/// One hop of a random chain. Times and rates have odd digits, so that nothing coincides by accident.
#[derive(Clone, Debug)]
struct Hop {
    rates: [u32; 2],
    delays_us: [u32; 2],
    limit: Option<u32>,
    drop_head: bool,
    jitter_us: u32,
    reorder: bool,
    fault: Fault,
}

#[derive(Clone, Debug)]
enum Fault {
    None,
    Gate { before: bool, drop: bool, every_ms: u32, lasts_ms: u32 },
    Loss { permille: u32 },
    Bursts { to_bad: u32, to_good: u32 },
    Named { from: u32, count: u32 },
    Rate { every_ms: u32, lasts_ms: u32, rate: u32 },
}

#[derive(Clone, Debug)]
struct Flow {
    bytes: u32,
    start_us: u32,
    profile: usize,
    /// Which of the options, and a number from which its value is made.
    options: Vec<(usize, u32)>,
}

#[derive(Clone, Debug)]
struct Plan {
    hops: Vec<Hop>,
    flows: Vec<Flow>,
    seed: u16,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        3 => Just(Fault::None),
        3 => (any::<bool>(), prop::bool::weighted(0.2), 2000u32..40_000, 100u32..12_000)
            .prop_map(|(before, drop, every_ms, lasts_ms)| Fault::Gate { before, drop, every_ms, lasts_ms }),
        2 => (1u32..80).prop_map(|permille| Fault::Loss { permille }),
        1 => (1u32..50, 100u32..900).prop_map(|(to_bad, to_good)| Fault::Bursts { to_bad, to_good }),
        1 => (1u32..30, 1u32..6).prop_map(|(from, count)| Fault::Named { from, count }),
        1 => (3000u32..20_000, 100u32..3000, 0u32..40_000)
            .prop_map(|(every_ms, lasts_ms, rate)| Fault::Rate { every_ms, lasts_ms, rate }),
    ]
}

fn hop() -> impl Strategy<Value = Hop> {
    let rates = [8_003u32..3_000_000, 8_003u32..3_000_000];
    let delays = [7u32..700_000, 7u32..700_000];
    let queue = (prop::option::weighted(0.8, 0u32..40), prop::bool::weighted(0.2));
    let jitter = (prop_oneof![3 => Just(0u32), 1 => 1u32..200_000], any::<bool>());
    (rates, delays, queue, jitter, fault()).prop_map(
        |(rates, delays_us, (limit, drop_head), (jitter_us, reorder), fault)| Hop {
            rates,
            delays_us,
            limit,
            drop_head,
            jitter_us,
            reorder,
            fault,
        },
    )
}

fn flow() -> impl Strategy<Value = Flow> {
    let options = prop::collection::vec((0..Config::OPTIONS.len(), any::<u32>()), 0..6);
    (1u32..120_000, 0u32..3_000_000, 0usize..2, options)
        .prop_map(|(bytes, start_us, profile, options)| Flow { bytes, start_us, profile, options })
}

fn plan() -> impl Strategy<Value = Plan> {
    (
        prop::collection::vec(hop(), 1..3),
        prop_oneof![2 => prop::collection::vec(flow(), 1..2), 1 => prop::collection::vec(flow(), 2..4)],
        any::<u16>(),
    )
        .prop_map(|(hops, flows, seed)| Plan { hops, flows, seed })
}

/// A value for an option, as the scenario file writes it.
fn value(kind: OptionKind, key: &str, number: u32) -> String {
    match kind {
        OptionKind::Bool => number.is_multiple_of(2).to_string(),
        OptionKind::Count => (1 + number % 4).to_string(),
        OptionKind::Span if key == "rto.max" => format!("\"{} ms\"", 5_003 + number % 60_000),
        OptionKind::Span => format!("\"{} us\"", 1_007 + number % 1_500_000),
        OptionKind::Bytes if key == "mss" => format!("\"{} B\"", 200 + number % 1300),
        OptionKind::Bytes => format!("\"{} B\"", number % 60),
        OptionKind::Window if number.is_multiple_of(3) => "\"rfc6928\"".into(),
        OptionKind::Window => format!("\"{} segments\"", 1 + number % 50),
        OptionKind::Word(words) => format!("{:?}", words[number as usize % words.len()]),
    }
}

fn scenario_text(plan: &Plan) -> String {
    let mut s = String::from("williwaw = 1\n");
    let node = |i: usize| match i {
        0 => "server".to_owned(),
        i if i == plan.hops.len() => "phone".to_owned(),
        i => format!("router{i}"),
    };
    for (i, hop) in plan.hops.iter().enumerate() {
        let delay = |us: u32| match (hop.jitter_us, us) {
            (0, us) => format!("\"{us} us\""),
            (j, us) => {
                format!("{{ random = \"uniform({us} us, {} us)\", reorder = {} }}", us + j, hop.reorder)
            }
        };
        let queue = match hop.limit {
            None => "\"unlimited\"".into(),
            Some(n) => format!(
                "{{ {} = {{ limit = \"{n} packets\" }} }}",
                if hop.drop_head { "drop-head" } else { "drop-tail" }
            ),
        };
        let (down, up) = (delay(hop.delays_us[0]), delay(hop.delays_us[1]));
        let _ = writeln!(
            s,
            "[[hop]]\nname = \"hop{i}\"\nbetween = [{:?}, {:?}]\nrate = {{ down = \"{} bit/s\", up = \"{} bit/s\" }}\n\
             delay = {{ down = {down}, up = {up} }}\nqueue = {queue}",
            node(i),
            node(i + 1),
            hop.rates[0],
            hop.rates[1]
        );
        let process = |every: u32, lasts: u32| {
            format!(
                "every = \"uniform({} ms, {} ms)\"\nfrom = \"end\"\nlasts = \"uniform({} ms, {lasts} ms)\"\n",
                every / 2,
                every,
                lasts / 2
            )
        };
        match hop.fault {
            Fault::None => {}
            Fault::Gate { before, drop, every_ms, lasts_ms } => {
                let (at, mode) =
                    (if before { "before-queue" } else { "after-queue" }, if drop { "drop" } else { "hold" });
                let _ = writeln!(
                    s,
                    "[[hop.gate]]\nname = \"gate\"\nat = \"{at}\"\nmode = \"{mode}\"\n{}",
                    process(every_ms, lasts_ms)
                );
            }
            Fault::Loss { permille } => {
                let _ = writeln!(
                    s,
                    "[[hop.loss]]\nname = \"loss\"\nprobability = {}",
                    f64::from(permille) / 1000.0
                );
            }
            Fault::Bursts { to_bad, to_good } => {
                let (b, g) = (f64::from(to_bad) / 1000.0, f64::from(to_good) / 1000.0);
                let _ = writeln!(
                    s,
                    "[[hop.loss]]\nname = \"bursts\"\ntwo-state = {{ per-packet = {{ to-bad = {b}, to-good = {g} }} }}"
                );
            }
            Fault::Named { from, count } => {
                let _ = writeln!(s, "[[hop.loss]]\nname = \"named\"\npackets = \"{from}-{}\"", from + count);
            }
            Fault::Rate { every_ms, lasts_ms, rate } => {
                let _ = writeln!(
                    s,
                    "[[hop.rate-change]]\nname = \"fade\"\nrate = \"{rate} bit/s\"\n{}",
                    process(every_ms, lasts_ms)
                );
            }
        }
    }
    for (i, flow) in plan.flows.iter().enumerate() {
        let mut options = std::collections::BTreeMap::new();
        for &(which, number) in &flow.options {
            let spec = Config::OPTIONS[which];
            options.insert(spec.key, value(spec.kind, spec.key, number));
        }
        let profile = ["rfc", "ns2-2001"][flow.profile];
        let written: String = options.iter().fold(String::new(), |mut all, (key, value)| {
            let _ = write!(all, ", {key} = {value}");
            all
        });
        let _ = writeln!(
            s,
            "[[flow]]\nname = \"flow{i}\"\nfrom = \"server\"\nto = \"phone\"\nstart = \"{} us\"\n\
             transport = {{ tcp = {{ profile = \"{profile}\"{written} }} }}\napp = {{ bulk = {{ bytes = \"{} B\" }} }}",
            flow.start_us, flow.bytes
        );
    }
    let _ = writeln!(s, "[run]\nlimit = \"900 s\"\nseed = {}", plan.seed);
    s
}

fn config(model: &Model, flow: usize) -> Config {
    let Transport::Tcp { config, .. } = &model.flows[flow].transport else { panic!("a model's TCP") };
    *config
}

fn bytes(model: &Model, flow: usize) -> u64 {
    let Some((bytes, _)) = model.flows[flow].app.bulk() else { panic!("bulk data") };
    bytes.expect("every plan has an amount")
}

type Checked = Result<(), TestCaseError>;

/// Sent = taken in + dropped + inside.
fn conserved(outcome: &RunOutcome) -> Checked {
    let (network, c) = (&outcome.world.network, outcome.world.network.counters());
    prop_assert_eq!(c.sent, c.absorbed + c.dropped + network.packets_inside() as u64);
    prop_assert_eq!(network.bodies() as usize, network.packets_inside());
    // An end whose FIN is never acknowledged repeats it without limit; without such an end, nothing may remain.
    let ends = outcome.world.flows.iter().flat_map(|ends| [ends.from, ends.to]);
    let patient = |id| network.element::<Host>(id).expect("a host").connection().next_timeout().is_never();
    if outcome.complete && ends.into_iter().all(patient) {
        prop_assert_eq!(network.packets_inside(), 0, "after the drain");
    }
    if network.packets_inside() == 0 {
        prop_assert_eq!(c.bytes[0], c.bytes[1] + c.bytes[2]);
    }
    Ok(())
}

/// The always-on counters equal the fold of the trace.
fn counters_fold(model: &Model, outcome: &RunOutcome, records: &[Record]) -> Checked {
    let count = |f: &dyn Fn(&Record) -> bool| records.iter().filter(|r| f(r)).count() as u64;
    let c = outcome.world.network.counters();
    prop_assert_eq!(c.hops, count(&|r| matches!(r.event, Event::Delivered { .. })));
    prop_assert_eq!(c.dropped, count(&|r| matches!(r.event, Event::Dropped { .. })));
    let mut wire = 0;
    for (i, ends) in outcome.world.flows.iter().enumerate() {
        for end in [ends.from, ends.to] {
            let host = outcome.world.network.element::<Host>(end).expect("a host").counters();
            let own = |f: &dyn Fn(&Event) -> bool| count(&|r| r.source.0 == end.0 && f(&r.event));
            prop_assert_eq!(host.data_sent, own(&|e| matches!(e, Event::DataSent { .. })));
            prop_assert_eq!(host.data_received, own(&|e| matches!(e, Event::DataReceived { .. })));
            prop_assert_eq!(host.expirations, own(&|e| matches!(e, Event::RtoFired { .. })));
            wire += host.bytes_sent;
        }
        let in_queues = |r: &Record| matches!(r.event, Event::Dropped { flow, reason: DropReason::QueueFull, .. } if flow as usize == i);
        let of_flow = |r: &Record| matches!(r.event, Event::Dropped { flow, .. } if flow as usize == i);
        let ledgers = &outcome.world.network.ledgers()[2 * i..2 * i + 2];
        let queue_drops: u64 = ledgers.iter().map(|l| l.queue_drops).sum();
        let drops: u64 = ledgers.iter().map(|l| l.queue_drops + l.other_drops + l.ack_drops).sum();
        prop_assert_eq!(drops, count(&of_flow));
        prop_assert!(queue_drops <= count(&in_queues));
        let resent = outcome.flows[i].get(Metric::SegmentsRetransmitted).expect("counted");
        let unneeded = outcome.flows[i].get(Metric::UnneededRetransmissions).expect("counted");
        prop_assert_eq!(resent, ledgers[0].retransmissions() as f64);
        prop_assert!(unneeded <= resent);
        let sent = outcome.flows[i].get(Metric::SegmentsSent).expect("counted");
        prop_assert!(
            sent - resent >= (bytes(model, i) as f64 / f64::from(config(model, i).mss)).floor()
                || !outcome.complete
        );
    }
    prop_assert_eq!(wire, c.bytes[0]);
    Ok(())
}

/// Records come in the order of time, but for the start of a service, which a link notes when it is
/// asked; that one lies before its own delivery.
fn time_goes_forward(records: &[Record]) -> Checked {
    let mut last = Time::ZERO;
    let mut started = std::collections::BTreeMap::new();
    for r in records {
        match r.event {
            Event::ServiceStarted { packet } => {
                started.insert((r.source.0, packet), r.t);
                continue;
            }
            Event::Delivered { packet } => {
                prop_assert!(started[&(r.source.0, packet)] <= r.t, "delivered before it was served");
            }
            _ => {}
        }
        prop_assert!(r.t >= last, "{:?} after {:?}", r, last);
        last = r.t;
    }
    Ok(())
}

/// No more than the peer offers is ever outstanding, and the congestion window is at least a segment,
/// except where halving in whole segments may leave none. A path MTU probe may end at segments of 64 B.
fn windows_are_kept(model: &Model, outcome: &RunOutcome, records: &[Record]) -> Checked {
    for (i, ends) in outcome.world.flows.iter().enumerate() {
        let config = config(model, i);
        let offered = config.receiver.window.bytes(config.mss, u64::from(u32::MAX));
        // Excess of the sender over the window, as advertised.
        let offered = offered + u64::from(config.window_overrun) * u64::from(config.mss);
        // RFC 4821 section 7.7: after timeouts in a row the segment size is searched anew from below.
        let segment = if config.path_mtu == PathMtu::Probe { config.mss.min(64) } else { config.mss };
        for r in records.iter().filter(|r| r.source.0 == ends.from.0) {
            if let Event::Window { cwnd, flight, .. } = r.event {
                prop_assert!(u64::from(flight) <= offered, "{} outstanding of {}", flight, offered);
                prop_assert!(cwnd >= segment || config.halving == Halving::Window, "cwnd {}", cwnd);
            }
        }
    }
    Ok(())
}

/// A finished transfer delivered exactly its bytes, and not faster than light and the slowest link.
fn transfers_end(model: &Model, outcome: &RunOutcome) -> Checked {
    let (network, limit) = (&outcome.world.network, Time::ZERO + model.run.limit);
    // Who gives up leaves nothing to wait for.
    let ends = outcome.world.flows.iter().flat_map(|ends| [ends.from, ends.to]);
    let mut senders = ends.map(|id| &network.element::<Host>(id).expect("a host").connection().sender);
    let gave_up = senders.any(|sender| sender.gave_up());
    if !outcome.complete && !gave_up {
        prop_assert!(
            network.next_wake().is_none_or(|t| t > limit) && network.next_wake().is_some(),
            "stuck: {:?}",
            network.next_wake()
        );
    }
    let steady = model.rate_changes.is_empty();
    for (i, ends) in outcome.world.flows.iter().enumerate() {
        let (bytes, end) = (bytes(model, i), network.element::<Host>(ends.to).expect("a host"));
        prop_assert!(end.connection().received() <= bytes);
        let Some(time) = outcome.flows[i].get(Metric::DownloadTime) else { continue };
        prop_assert_eq!(end.connection().received(), bytes);
        let slowest = model.flows[i].route.iter().filter_map(|&l| match &model.links[l].rate {
            LinkRate::Constant(rate) => Some(rate.bps()),
            _ => None,
        });
        if let (true, Some(bps)) = (steady, slowest.min()) {
            let least = Span::from_secs_f64(bytes as f64 * 8.0 / bps as f64);
            prop_assert!(Span::from_secs_f64(time) >= least, "{} s for {:?}", time, least);
        }
    }
    Ok(())
}

/// What two runs must have in common to be called the same.
fn bits(outcome: &RunOutcome) -> Vec<u64> {
    let c = outcome.world.network.counters();
    let flows = outcome.flows.iter().flat_map(|f| &f.values).map(|v| v.map_or(u64::MAX, f64::to_bits));
    flows.chain([c.sent, c.absorbed, c.dropped, c.hops, c.bytes[0]]).collect()
}

fn check(plan: &Plan, tried: &Cell<u32>) -> Checked {
    let text = scenario_text(plan);
    // Some combinations make no sense, and the reader says so.
    let Ok(scenario) = read("random.toml", text.as_bytes(), &NoFiles) else {
        return Err(TestCaseError::reject("not a scenario"));
    };
    tried.set(tried.get() + 1);
    let model = scenario.first();
    let mut outcome = run_once(model, 0, Options { trace: true, shuffle_ties: None });
    let records = outcome.world.network.tracer().take();
    conserved(&outcome)?;
    counters_fold(model, &outcome, &records)?;
    time_goes_forward(&records)?;
    windows_are_kept(model, &outcome, &records)?;
    transfers_end(model, &outcome)?;
    let mut again = run_once(model, 0, Options { trace: true, shuffle_ties: None });
    prop_assert!(again.world.network.tracer().take() == records, "not the same trace twice");
    let untraced = run_once(model, 0, Options::default());
    prop_assert_eq!(bits(&untraced), bits(&outcome), "looking on changed it");
    // Another order of what falls together may change the run, but not the books.
    let shuffled = run_once(model, 0, Options { trace: false, shuffle_ties: Some(u64::from(plan.seed) + 1) });
    conserved(&shuffled)?;
    transfers_end(model, &shuffled)?;
    Ok(())
}

#[test]
fn whatever_the_scenario() {
    let config = ProptestConfig {
        cases: 10_000,
        failure_persistence: None,
        max_global_rejects: 100_000,
        ..ProptestConfig::default()
    };
    let tried = Cell::new(0);
    let mut runner = TestRunner::new(config);
    if let Err(wrong) = runner.run(&plan(), |plan| check(&plan, &tried)) {
        let text = match &wrong {
            proptest::test_runner::TestError::Fail(_, plan) => scenario_text(plan),
            _ => String::new(),
        };
        panic!("{wrong}\n{text}");
    }
    assert!(tried.get() >= 5000, "only {} plans were scenarios", tried.get());
}
