//! The claim: between two namespaces with the emulator between them, what is measured is what the path is, and what
//! the kernels report. Each test makes namespaces of its own, which vanish with it; where the process may not, it
//! says so and is skipped.
#![cfg(target_os = "linux")]

mod common;

use base::Span;
use base::rng::Seed;
use base::trace::Tracer;
use common::{Memory, asking, beside, serving};
use emulate::clock::Clock;
use emulate::driver::{Driver, Gateway, Kind};
use emulate::space::Space;
use measure::client::{Config, measure};
use measure::entry::{End, Entry, Run};
use measure::plan::{PUBLISHED_SIZES, Plan, Socket, Test};
use measure::server::Server;
use measure::summary::Outcome;
use scenario::NoFiles;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};

const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// A path of one hop: what stands in its table. The server is the fixed end, so that its data go down.
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

/// What the server's namespace counted, and what the client kept.
struct Measured {
    entries: Vec<Entry>,
    there: BTreeMap<String, u64>,
}

/// Measures over a path; none where the process lacks rights, which is said.
fn over(hop: &str, change: impl FnOnce(&mut Plan), steps: Vec<(Test, u32)>) -> Option<Measured> {
    over_with(hop, |config| change(&mut config.plan), steps)
}

fn over_with(hop: &str, change: impl FnOnce(&mut Config), steps: Vec<(Test, u32)>) -> Option<Measured> {
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
    let spaces = [Space::new().unwrap(), Space::new().unwrap()];
    let gateways = spaces.iter().zip([(SERVER, ends.from), (CLIENT, ends.to)]).map(|(space, (at, door))| {
        space.set("net.ipv4.tcp_no_metrics_save", "1").unwrap();
        Gateway { door, device: space.device(at, 1500).unwrap(), kind: Kind::Flow }
    });
    let clock = Clock::starting_in(Span::from_millis(1));
    let mut driver = Driver::new(world.network, gateways.collect(), clock, Span::ZERO).unwrap();
    let done = AtomicBool::new(false);
    let memory = Memory::default();
    let mut config = asking(&SERVER.to_string(), "word", steps);
    config.plan.stall = 60.0;
    change(&mut config);
    std::thread::scope(|scope| {
        let (driver, done, memory, config) = (&mut driver, &done, &memory, &config);
        scope.spawn(move || {
            driver.settle_in(false);
            driver.run(|_, _| done.load(Ordering::Relaxed)).unwrap();
        });
        let (at_server, at_client) = (&spaces[0], &spaces[1]);
        let measured = scope.spawn(move || {
            let mut served = serving((SERVER, measure::PORT).into(), Some("word"));
            served.window = config.plan.socket.window;
            let bound = at_server.inside(|| Ok(Server::bind(served)));
            let server = bound.unwrap().unwrap();
            at_server.enter().unwrap(); // the threads that serve are born where this one is
            beside(&server, || {
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
    Some(Measured { entries: memory.0.into_inner().unwrap(), there })
}

fn runs(entries: &[Entry]) -> Vec<&Run> {
    entries
        .iter()
        .filter_map(|entry| if let Entry::Run(run) = entry { Some(run.as_ref()) } else { None })
        .collect()
}

fn end(entries: &[Entry]) -> &End {
    entries.iter().find_map(|entry| if let Entry::End(end) = entry { Some(end) } else { None }).unwrap()
}

/// The transactions of the HSCSD and GPRS study: its sizes, its counts, its segments and its window, over a path
/// quick enough for a test; and both kernels' counters say what was reported (WL-01, WL-02, WL-05, WL-10).
#[test]
fn the_published_transactions() {
    let steps: Vec<(Test, u32)> = PUBLISHED_SIZES
        .iter()
        .map(|&(request, reply)| (Test::Transactions { request, reply, count: 120 }, 19))
        .collect();
    let socket = Socket { mss: Some(536), window: Some(16 * 1024), cc: None };
    let hop = r#"
        rate = "1 Gbit/s"
        delay = "0 s"
        queue = "unlimited"
        [[hop.loss]]
        name = "noise"
        directions = "down"
        packets = "100, 2000, 7000, 7010"
    "#;
    let Some(measured) = over(hop, |plan| plan.socket = socket, steps) else { return };
    let runs = runs(&measured.entries);
    assert_eq!(runs.len(), 3 * 19);
    for run in &runs {
        let (request, reply) = PUBLISHED_SIZES[run.step];
        assert_eq!((run.response_s.len(), run.server.transactions), (120, 120));
        assert_eq!(run.bytes, u64::from(reply) * 120);
        assert_eq!(run.server.received, u64::from(request) * 120);
        assert!(run.server.kernel.get("snd_mss") <= 536 && run.client.get("snd_mss") <= 536);
        assert!(
            run.server.kernel.get("snd_wnd") <= 16 * 1024,
            "the client offers {}",
            run.server.kernel.get("snd_wnd")
        );
        assert!(run.client.get("snd_wnd") <= 16 * 1024, "the server offers {}", run.client.get("snd_wnd"));
    }
    let outcome = Outcome::of(&measured.entries).unwrap();
    assert!(outcome.tests.iter().all(|test| test.metrics[0].summary.n == 19 * 120));
    // Whatever was sent again was sent on these connections: the tables of both kernels say nearly the same.
    let reported: u64 = runs.iter().map(|run| run.server.kernel.get("total_retrans")).sum();
    assert!(reported >= 4, "four segments were lost, {reported} were sent again");
    // A connection's last words, its own report, follow the last look at it: one segment each.
    let after = runs.len() as u64 + 1;
    let there = measured.there.get("TcpRetransSegs").copied().unwrap_or(0);
    assert!((reported..=reported + after).contains(&there), "{there} by the tables, {reported} reported");
    let here: u64 = runs.iter().map(|run| run.client.get("total_retrans")).sum();
    let table = end(&measured.entries).counters.get("TcpRetransSegs").copied().unwrap_or(0);
    assert!((here..=here + after).contains(&table), "{table} by the tables, {here} reported");
}

/// Rate, round trip and buffer of a path are what the scenario says (WL-04, WL-11).
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
    let Some(measured) = over(hop, |_| {}, steps) else { return };
    let runs = runs(&measured.entries);
    let rate = |run: &Run| run.bytes as f64 * 8.0 / run.seconds.unwrap();
    // Never faster than the payload's share of the link; start-up costs less than half.
    let share = 1448.0 / 1500.0;
    assert!((1e6..2e6 * share).contains(&rate(runs[0])), "{} bit/s down", rate(runs[0]));
    assert!((0.5e6..1e6 * share).contains(&rate(runs[1])), "{} bit/s up", rate(runs[1]));
    // Twice the delay, and what 60 bytes take on the links.
    let least = runs[2].rtt_s.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((0.0407..0.06).contains(&least), "a round trip of {least} s");
    // Twenty packets wait at most, and one is in service.
    let buffer = runs[3].buffer.expect("an estimate");
    assert!(!buffer.at_least, "nothing overflowed");
    assert!((21_000.0..34_000.0).contains(&buffer.bytes), "{buffer:?}");
    assert!((1.7e6..2.1e6).contains(&buffer.rate_bps), "{buffer:?}");
}

/// A path that stands still is a pause, told with its time; the connection lives on (WL-03).
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
    let outcome = Outcome::of(&measured.entries).unwrap();
    assert!(outcome.disconnections.is_empty());
    assert_eq!(outcome.document()["pauses"][0]["kind"], "pause");
}

/// Its own capture holds every data segment that the kernels count (WL-02).
#[test]
fn its_own_capture_holds_what_the_kernels_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.pcapng");
    let hop = "rate = \"4 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"unlimited\"";
    let steps = vec![(Test::Bulk { down: true, bytes: 100_000, seconds: 0.0 }, 1)];
    let Some(measured) = over_with(hop, |config| config.capture = Some(path.clone()), steps) else { return };
    assert_eq!(end(&measured.entries).capture_missed, Some(0));
    let run = runs(&measured.entries)[0].clone();
    let mut reader = capture::Reader::open(std::fs::File::open(&path).unwrap()).unwrap();
    let (mut bytes, mut packets) = (0, 0);
    while let Some(frame) = reader.next().unwrap() {
        let packet = frame.decode().unwrap();
        assert!(frame.bytes.len() <= 160, "only headers are kept");
        packets += 1;
        if packet.ip.source == SERVER {
            bytes += u64::from(packet.payload_len);
        }
    }
    // Besides the measured bytes there are messages of some hundred bytes, and each end's report.
    let sent = run.server.kernel.get("bytes_sent");
    assert!(bytes >= sent && bytes < sent + 50_000, "{bytes} bytes captured, {sent} sent");
    assert!(packets > 100);
}
