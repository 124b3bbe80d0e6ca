//! Measurements between two network namespaces over the emulator: results equal the path's properties and the kernels'
//! counters. Each test makes its own namespaces, which disappear with it; without the rights to do so, a test reports
//! this and is skipped.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "each test uses some of it")]
mod common;

use base::Span;
use base::rng::Seed;
use base::trace::Tracer;
use common::{Memory, asking, serving, watching};
use emulate::driver::{Driver, Gateway, PortOwner};
use measure::client::{Config, measure};
use measure::entry::{End, Entry, Run};
use measure::kernel::Kernel;
use measure::plan::{self, PUBLISHED_SIZES, Plan, Test};
use measure::server::{EventKind, Server};
use measure::summary::TestOutcome;
use netns::clock::Clock;
use netns::namespace::Namespace;
use scenario::NoFiles;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// Lateness of packets above which the emulated path counts as disturbed by the machine.
const LATE: Span = Span::from_millis(3);

/// Scenario of one hop with this table. The server is the fixed end, so that its data go down.
fn scenario(hop: &str) -> String {
    format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        {hop}
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = "linux"
        app = {{ bulk = {{ bytes = "1 kB" }} }}
        "#
    )
}

/// Kernel counters of a connection or of its whole stack, by name.
type Counts = BTreeMap<String, u64>;

/// Counters of the server's namespace, the kernel's final statistics of each connection, and the client's results.
struct Measured {
    entries: Vec<Entry>,
    there: Counts,
    closed: Vec<Counts>,
    /// Reason for a path that differs from its scenario, if this machine was too busy for it.
    late: Option<String>,
}

fn count(of: &Counts, name: &str) -> u64 {
    of.get(name).copied().unwrap_or(0)
}

/// Measures over a path. `None` where the process lacks rights, which is reported.
fn over(hop: &str, change: impl FnOnce(&mut Plan), steps: Vec<(Test, u32)>) -> Option<Measured> {
    over_with(hop, &[], |config| change(&mut config.plan), steps)
}

/// The TCP of both ends without any option but the MSS, as set in the kernel.
const NO_OPTIONS: &[(&str, &str)] =
    &[("net.ipv4.tcp_sack", "0"), ("net.ipv4.tcp_timestamps", "0"), ("net.ipv4.tcp_window_scaling", "0")];

fn over_with(
    hop: &str,
    sysctl: &[(&str, &str)],
    change: impl FnOnce(&mut Config),
    steps: Vec<(Test, u32)>,
) -> Option<Measured> {
    if let Err(error) = emulate::rights() {
        eprintln!("skipped: {error}");
        return None;
    }
    let text = scenario(hop);
    let scenario = match scenario::read_with("test.toml", text.as_bytes(), &NoFiles, &[]) {
        Ok(scenario) => scenario,
        Err(wrong) => panic!("{}", wrong.render(scenario::Style::default())),
    };
    let seed = Seed { seed: 1, repetition: 0 };
    let mut world = scenario::build::build(scenario.first(), seed, Tracer::off());
    world.network.start(None);
    let ends = world.flows[0];
    let spaces = [Namespace::new().unwrap(), Namespace::new().unwrap()];
    let gateways =
        spaces.iter().zip([(SERVER, ends.from), (CLIENT, ends.to)]).map(|(space, (at, packet_port))| {
            space.set("net.ipv4.tcp_no_metrics_save", "1").unwrap();
            for (key, value) in sysctl {
                space.set(key, value).unwrap();
            }
            Gateway { packet_port, device: space.device(at, 1500, true).unwrap(), kind: PortOwner::Flow }
        });
    let clock = Clock::starting_in(Span::from_millis(1));
    let mut driver = Driver::new(world.network, gateways.collect(), clock, Span::ZERO);
    let done = AtomicBool::new(false);
    let (memory, closed) = (Memory::default(), Mutex::new(Vec::new()));
    let mut config = asking(&SERVER.to_string(), "word", steps);
    config.plan.stall = 60.0;
    change(&mut config);
    std::thread::scope(|scope| {
        let (driver, done, memory, config, closed) = (&mut driver, &done, &memory, &config, &closed);
        scope.spawn(move || {
            driver.settle_in(false);
            driver.run(|_, _| done.load(Ordering::Relaxed)).unwrap();
        });
        let (at_server, at_client) = (&spaces[0], &spaces[1]);
        let measured = scope.spawn(move || {
            let mut served = serving((SERVER, measure::PORT).into(), Some("word"));
            served.window = config.plan.socket.window;
            let bound = at_server.inside(|| Ok::<_, netns::Error>(Server::bind(served)));
            let server = bound.unwrap().unwrap();
            at_server.enter().unwrap(); // threads inherit the namespace of the thread that starts them
            let hear = |event: measure::server::Event| {
                if let EventKind::Closed(info) = event.what {
                    closed.lock().unwrap().push(info);
                }
            };
            watching(&server, &hear, || {
                std::thread::scope(|inner| {
                    let client = inner.spawn(|| {
                        at_client.enter().unwrap();
                        measure(config, &AtomicBool::new(false), memory)
                    });
                    client.join().unwrap()
                })
            })
        });
        let result = measured.join();
        done.store(true, Ordering::Relaxed);
        assert!(result.unwrap().unwrap(), "not all was measured");
    });
    let there = spaces[0].counters().unwrap();
    let (entries, closed) = (memory.0.into_inner().unwrap(), closed.into_inner().unwrap());
    let late = driver.timing.fault(LATE);
    Some(Measured { entries, there, closed, late })
}

/// Measures with bounds on times: a result disturbed by a busy machine is measured again, and a persistent disturbance
/// is reported.
fn over_in_time(hop: &str, steps: &[(Test, u32)]) -> Option<Measured> {
    for _ in 0..3 {
        let measured = over(hop, |_| {}, steps.to_vec())?;
        match &measured.late {
            None => return Some(measured),
            Some(why) => eprintln!("again: {why}"),
        }
    }
    eprintln!("skipped: this machine is too busy for a path in real time");
    None
}

/// Repetitions in the entries, each with the final statistics of the server where those arrived.
fn runs(entries: &[Entry]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Run(run) => runs.push(run.as_ref().clone()),
            Entry::Account(account) => {
                runs[account.run].server.kernel.info.clone_from(&account.info);
                runs[account.run].server.closed = true;
            }
            _ => {}
        }
    }
    runs
}

fn end(entries: &[Entry]) -> &End {
    entries.iter().find_map(|entry| if let Entry::End(end) = entry { Some(end) } else { None }).unwrap()
}

/// The setting of the HSCSD and GPRS study: its transfers and transactions, sizes, counts, segments and window, over a
/// path fast enough for a test, with losses; both kernels' counters equal the report (WL-01, WL-02, WL-04, WL-05,
/// WL-10).
#[test]
fn the_published_setting() {
    let (steps, socket) = plan::published();
    let steps = steps.into_iter().map(|step| (step.test, step.repetitions)).collect();
    let hop = r#"
        rate = "1 Gbit/s"
        delay = "0 s"
        queue = "unlimited"
        [[hop.loss]]
        name = "noise"
        directions = "down"
        packets = "100, 2000, 7000, 7010, 20000"
        [[hop.loss]]
        name = "noise-up"
        directions = "up"
        packets = "50, 900, 12000"
    "#;
    let measured = over_with(hop, NO_OPTIONS, |config| config.plan.socket = socket, steps);
    let Some(measured) = measured else { return };
    let runs = runs(&measured.entries);
    assert_eq!(runs.len(), 2 * 40 + 3 * 19);
    for run in &runs {
        match run.step {
            0 => assert_eq!((run.bytes, run.server.received), (150_000, 150_000)),
            1 => assert_eq!((run.bytes, run.server.sent), (150_000, 150_000)),
            step => {
                let (request, reply) = PUBLISHED_SIZES[step - 2];
                assert_eq!((run.response_s.len(), run.server.transactions), (120, 120));
                assert_eq!(run.bytes, u64::from(reply) * 120);
                assert_eq!(run.server.received, u64::from(request) * 120);
            }
        }
        for kernel in [&run.server.kernel, &run.client] {
            assert!(kernel.get("snd_mss") <= 536, "segments of {}", kernel.get("snd_mss"));
            assert!(kernel.get("snd_wnd") <= 16 * 1024, "a window of {} is offered", kernel.get("snd_wnd"));
            // Timestamps, SACK and window scaling are bits of `tcpi_options`.
            assert_eq!(kernel.get("options") & 7, 0, "no options");
        }
    }
    let outcome = TestOutcome::of(&measured.entries).unwrap();
    assert!(outcome.tests[2..].iter().all(|test| test.metrics[0].summary.n == 19 * 120));
    let again = |of: fn(&Run) -> &Kernel| runs.iter().map(|run| of(run).get("total_retrans")).sum::<u64>();
    let (down, up) = (again(|run| &run.server.kernel), again(|run| &run.client));
    assert!(down >= 5 && up >= 3, "five segments were lost down and three up, {down} and {up} sent again");
    agree(&measured, &runs);
}

/// The path of `scenarios/hscsd.toml`, the published sizes, fewer of each: the path's limit is never exceeded, the
/// published maximum is not reached, and counts are exact (WL-05; `hscsd/table1`, `hscsd/fig6`).
#[test]
fn transactions_over_hscsd() {
    const COUNT: u32 = 3;
    // Published minimum, mean and maximum for each size, s (section IV.B of the study).
    const PUBLISHED: [[f64; 3]; 3] = [[0.8, 1.0, 7.2], [2.1, 2.7, 13.3], [2.3, 3.1, 26.8]];
    let text = include_str!("../../../scenarios/hscsd.toml");
    let hop = text.split_once("\nrate").and_then(|(_, rest)| rest.split_once("[[flow]]")).unwrap().0;
    let steps = PUBLISHED_SIZES
        .iter()
        .map(|&(request, reply)| (Test::Transactions { request, reply, count: COUNT }, 1))
        .collect();
    let (_, socket) = plan::published();
    let Some(measured) = over(&format!("rate{hop}"), |plan| plan.socket = socket, steps) else { return };
    let runs = runs(&measured.entries);
    for ((run, (request, reply)), published) in runs.iter().zip(PUBLISHED_SIZES).zip(PUBLISHED) {
        assert_eq!((run.response_s.len(), run.server.transactions), (COUNT as usize, COUNT));
        assert_eq!(run.bytes, u64::from(reply * COUNT));
        assert_eq!(run.server.received, u64::from(request * COUNT));
        // Both delays, and the transmission time of the bytes on the links with the shortest headers.
        let wire = |bytes: u32| f64::from(8 * (bytes + 40 * bytes.div_ceil(536)));
        let floor = 0.49 + wire(request) / 13_400.0 + wire(reply) / 38_400.0;
        for took in &run.response_s {
            assert!((floor..published[2]).contains(took), "{request}/{reply}: {took} s, at least {floor} s");
        }
        let least = run.response_s.iter().copied().fold(f64::INFINITY, f64::min);
        eprintln!(
            "{request}/{reply} B: least {least:.3} s, the path's {floor:.3} s; published {published:?} s"
        );
    }
    // The smallest size fits into one segment each way, independent of the window.
    let small = runs[0].response_s.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(
        small < PUBLISHED[0][1],
        "a small transaction takes {small} s, on average {} s then",
        PUBLISHED[0][1]
    );
    agree(&measured, &runs);
}

/// Counters in both kernels' tables equal their statistics of the connections, to the last segment; bytes sent by one
/// end equal those received by the other.
fn agree(measured: &Measured, runs: &[Run]) {
    let sum = |of: &mut dyn Iterator<Item = u64>| of.sum::<u64>();
    // Client: repetitions and all other connections since the first entry.
    let end = end(&measured.entries);
    let here = sum(&mut runs.iter().map(|run| run.client.get("total_retrans")));
    assert_eq!(here + end.others.retransmissions, count(&end.counters, "TcpRetransSegs"), "the client's");
    // Server: every connection, including the first greeting.
    let there = sum(&mut measured.closed.iter().map(|info| count(info, "total_retrans")));
    assert_eq!(there, count(&measured.there, "TcpRetransSegs"), "the server's");
    for run in runs {
        let (server, client) = (&run.server.kernel, &run.client);
        assert!(run.server.closed, "the server owes its last words");
        assert!(
            measured.closed.contains(&server.info),
            "what the client was told is what the server's kernel said"
        );
        for (from, to) in [(server, client), (client, server)] {
            // A receiver counts the FIN's sequence number as a byte; a sender counts data only.
            let sent = from.get("bytes_sent") - from.get("bytes_retrans");
            assert_eq!(sent + 1, to.get("bytes_received"));
            let acked = from.get("bytes_acked");
            assert!((sent..=sent + 2).contains(&acked), "{acked} acknowledged of {sent}, a SYN and a FIN");
        }
        assert!(server.get("bytes_received") >= run.server.received);
        assert!(client.get("bytes_received") >= run.bytes || run.server.sent == 0);
    }
}

/// Rate, round trip and buffer of a path equal those of the scenario (WL-04, WL-11).
#[test]
fn a_path_is_measured_as_it_is() {
    let hop = r#"
        rate = { down = "2 Mbit/s", up = "1 Mbit/s" }
        delay = "20 ms"
        queue = { drop-tail = { limit = "20 packets" } }
    "#;
    let steps = vec![
        (Test::Bulk { down: true, bytes: 150_000, seconds: 0.0 }, 1),
        (Test::Bulk { down: false, bytes: 150_000, seconds: 0.0 }, 1),
        (Test::Echo { size: 32, count: 10, interval: 0.02, tcp: false }, 1),
        (Test::Buffer { down: true, seconds: 3.0 }, 1),
    ];
    let Some(measured) = over_in_time(hop, &steps) else { return };
    let runs = runs(&measured.entries);
    let rate = |run: &Run| run.bytes as f64 * 8.0 / run.seconds.unwrap();
    // Never faster than the payload's share of the link; start-up costs less than half.
    let share = 1448.0 / 1500.0;
    assert!((1e6..2e6 * share).contains(&rate(&runs[0])), "{} bit/s down", rate(&runs[0]));
    assert!((0.5e6..1e6 * share).contains(&rate(&runs[1])), "{} bit/s up", rate(&runs[1]));
    // Twice the delay, and the transmission time of 60 bytes on the links.
    let least = runs[2].rtt_s.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((0.0407..0.06).contains(&least), "a round trip of {least} s");
    // At most twenty packets wait, and one is in service.
    let buffer = runs[3].buffer.expect("an estimate");
    assert!(!buffer.at_least, "nothing overflowed");
    assert!((21_000.0..34_000.0).contains(&buffer.bytes), "{buffer:?}");
    assert!((1.7e6..2.1e6).contains(&buffer.rate_bps), "{buffer:?}");
}

/// SC-08: conditions of a path with a pause, from both kernels' counters: spurious retransmissions are distinguished
/// from losses, and the handshake from data. 40 kbit/s and a window of 75 segments are those of the study; Eifel is
/// recommended without losses, SCTP with losses.
#[test]
fn sc_08_a_path_with_a_pause_tells_its_conditions() {
    let hop = |gate: &str, loss: &str| {
        format!(
            r#"
            rate = "40 kbit/s"
            delay = "100 ms"
            queue = {{ drop-tail = {{ limit = "200 packets" }} }}
            [[hop.gate]]
            name = "spike"
            at = "before-queue"
            {gate}
            {loss}
            "#
        )
    };
    let lost = "[[hop.loss]]\nname = \"errors\"\ndirections = \"down\"\npackets = \"12\"";
    // By the second pause the sender's timeout (4 s) and its tail loss probe (two RTTs of 2 s) are longer than the
    // pause, so that nothing is retransmitted unnecessarily.
    let cases = [
        ("start = \"6 s\"\nlasts = \"6 s\"", "", 60_000, false),
        ("start = \"7 s\"\nlasts = \"1.5 s\"", lost, 150_000, true),
    ];
    for (gate, loss, bytes, lossy) in cases {
        let change = |plan: &mut Plan| {
            (plan.socket.mss, plan.socket.window, plan.silence) = (Some(536), Some(40_000), 1.0);
        };
        let steps = vec![(Test::Bulk { down: true, bytes, seconds: 0.0 }, 1)];
        let Some(measured) = over(&hop(gate, loss), change, steps) else { return };
        let found = TestOutcome::of(&measured.entries).unwrap().tests[0].paused.expect("a pause");
        println!("{found:?}");
        assert_eq!(found.lossy, Some(lossy), "{:?}", runs(&measured.entries));
        assert!(found.rate_bps.is_some_and(|rate| (30e3..42.8e3).contains(&rate)), "{found:?}");
        assert!(found.window_segments.is_some_and(|window| window >= 60.0), "{found:?}");
    }
}

/// An interruption of the path is reported as a pause with its time; the connection survives (WL-03).
#[test]
fn a_path_that_stands_still_is_a_pause() {
    let hop = r#"
        rate = "1 Mbit/s"
        delay = "5 ms"
        queue = "unlimited"
        [[hop.gate]]
        name = "reselection"
        at = "after-queue"
        directions = "both"
        start = "600 ms"
        lasts = "900 ms"
    "#;
    let steps = vec![(Test::Bulk { down: true, bytes: 150_000, seconds: 0.0 }, 1)];
    let Some(measured) = over(hop, |plan| plan.silence = 0.4, steps) else { return };
    let runs = runs(&measured.entries);
    assert_eq!(runs[0].pauses.len(), 1, "{:?}", runs[0].pauses);
    let pause = runs[0].pauses[0];
    assert!((0.8..2.0).contains(&(pause.until - pause.t)), "{pause:?}");
    let outcome = TestOutcome::of(&measured.entries).unwrap();
    assert!(outcome.disconnections.is_empty());
    assert_eq!(outcome.document()["pauses"][0]["kind"], "pause");
}

/// The measurement's own capture contains every data segment that the kernels count (WL-02).
#[test]
fn its_own_capture_holds_what_the_kernels_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.pcapng");
    let hop = "rate = \"4 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"unlimited\"";
    let steps = vec![(Test::Bulk { down: true, bytes: 100_000, seconds: 0.0 }, 1)];
    let Some(measured) = over_with(hop, &[], |config| config.capture = Some(path.clone()), steps) else {
        return;
    };
    assert_eq!(end(&measured.entries).capture_missed, Some(0));
    let mut reader = capture::Reader::open(std::fs::File::open(&path).unwrap()).unwrap();
    let (mut bytes, mut packets) = (0, 0);
    while let Some(frame) = reader.next().unwrap() {
        let packet = frame.decode().unwrap();
        assert!(frame.bytes.len() <= 160, "only headers are kept");
        if packet.ip.source == SERVER {
            packets += u64::from(packet.payload_len > 0);
            bytes += u64::from(packet.payload_len);
        }
    }
    let of = |name: &str| measured.closed[1..].iter().map(|info| count(info, name)).sum::<u64>();
    // The first greeting was over before the capture began.
    assert_eq!((bytes, packets), (of("bytes_sent"), of("data_segs_out")));
    agree(&measured, &runs(&measured.entries));
}
