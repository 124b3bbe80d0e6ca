//! Test of equal bits: a scenario gives equal results on every machine and in every build, debug and release.
//! Each case is run with its whole trace and all metrics folded into one hash, recorded in this file. If
//! results are meant to change, the new hashes are printed by the failing test, and the change is recorded in
//! the changelog.

use base::event::Value;
use base::rng::{fnv1a, mix};
use lab::once::{Options, run_once};
use path::qdisc::QueueSpec;
use scenario::metric::Metric;
use scenario::{NoFiles, read};
use testkit::Download;
use transport::tcp::cc::CongestionControl;
use transport::tcp::config::words::Recovery;
use transport::tcp::response::Response;
use transport::tcp::spurious::Spurious;

/// Common part of all cases, except faults of the hop and options of TCP.
fn text(faults: &str, tcp: &str) -> String {
    let hop = Download::at("60 kbit/s").drop_tail(12);
    let hop = if faults.starts_with("delay") { hop } else { hop.delay("250 ms") };
    hop.faults(faults).tcp(tcp).bytes("150 kB").and("other", "7 s", "40 kB").limit("1 h").text()
}

/// Some of each kind; by name, so that a new one changes nothing here.
const METRICS: [Metric; 7] = [
    Metric::DownloadTime,
    Metric::Throughput,
    Metric::GoodputLinkRatio,
    Metric::SegmentsSent,
    Metric::UnneededRetransmissions,
    Metric::QueueDelay,
    Metric::JainIndex,
];

/// Everything that `repetitions` repetitions of a scenario trace and measure, as one number.
fn fold(text: &str, repetitions: u64) -> u64 {
    let scenario = match read("bits", text.as_bytes(), &NoFiles) {
        Ok(scenario) => scenario,
        Err(wrong) => panic!("{}", wrong.render(scenario::Style::default())),
    };
    let mut hash = 0;
    let mut eat = |x: u64| hash = mix(hash ^ x);
    for repetition in 0..repetitions {
        let outcome = run_once(scenario.first(), repetition, Options { trace: true, shuffle_ties: None });
        assert!(outcome.complete, "{text}");
        let mut world = outcome.world;
        for record in world.network.tracer().take() {
            eat(record.t.as_nanos());
            eat(u64::from(record.source.0));
            eat(fnv1a(record.event.name()));
            record.event.fields(|_, value| {
                eat(match value {
                    Value::Int(n) => n,
                    Value::Seconds(s) => s.to_bits(),
                    Value::Word(word) => fnv1a(word),
                    Value::Bool(b) => u64::from(b),
                });
            });
        }
        for flow in &outcome.flows {
            for metric in METRICS {
                eat(flow.get(metric).map_or(u64::MAX, f64::to_bits));
            }
        }
    }
    hash
}

const GATE: &str = "[[hop.gate]]\nname = \"gate\"\nevery = \"uniform(20 s, 40 s)\"\nfirst = \"stationary\"\nlasts = \"uniform(3 s, 15 s)\"";
const JITTER: &str = "[[hop.loss]]\nname = \"loss\"\nprobability = 0.02\n\
     [[hop.rate-change]]\nname = \"fade\"\nrate = \"9 kbit/s\"\nevery = \"exponential(15 s)\"\nlasts = \"lognormal(3 s, 2 s)\"\nfrom = \"end\"";
const BURSTS: &str =
    "[[hop.loss]]\nname = \"bursts\"\ntwo-state = { per-packet = { to-bad = 0.02, to-good = 0.4 } }";
/// Each packet waits on its own, so that some overtake others.
const SHUFFLED: &str = "delay = { random = \"uniform(200 ms, 500 ms)\", reorder = true }\n\
     [[hop.gate]]\nname = \"gate\"\nevery = \"uniform(20 s, 40 s)\"\nfirst = \"stationary\"\nlasts = \"uniform(3 s, 15 s)\"";

#[test]
fn every_build_gives_these_bits() {
    let cases = [
        ("reno in spikes", GATE, "profile = \"ns2-2001\", recovery = \"reno\"", RENO),
        (
            "sack in spikes, eifel",
            GATE,
            "profile = \"ns2-2001\", recovery = \"sack\", spurious = \"eifel\"",
            SACK,
        ),
        ("today's in fades", JITTER, "profile = \"rfc\"", RFC),
        (
            "newreno in bursts",
            BURSTS,
            "profile = \"rfc\", recovery = \"newreno\", sack = \"off\", spurious = \"eifel\", judge-fast-retransmits = false, rfc4015 = { timer = \"at-once\" }",
            BURST,
        ),
        (
            "rack in bursts, in proportion",
            BURSTS,
            "profile = \"rfc\", recovery = \"rack\", reduction = \"prr\", spurious = \"frto\"",
            RACK,
        ),
        (
            "rack in spikes out of order",
            SHUFFLED,
            "profile = \"rfc\", recovery = \"rack\", spurious = \"eifel\"",
            ORDER,
        ),
    ];
    let found: Vec<_> =
        cases.iter().map(|(name, faults, tcp, _)| (*name, fold(&text(faults, tcp), 5))).collect();
    let wanted: Vec<_> = cases.iter().map(|(name, _, _, bits)| (*name, *bits)).collect();
    assert_eq!(found, wanted, "\nfound {found:#018x?}");
}

const RENO: u64 = 0xdb45_fe2e_5153_ea78;
const SACK: u64 = 0xede9_c4fb_7b4a_8344;
const RFC: u64 = 0xf0f3_002f_eaaf_c8cd;
const BURST: u64 = 0x9b7c_4d38_0bfe_beae;
const RACK: u64 = 0x3d19_596c_efa7_1dce;
const ORDER: u64 = 0x2d19_c63c_e1b1_783b;

/// A short transfer over a link with pauses and losses: `queue` is its discipline, `transport` and `app` are the flow's.
fn short(queue: &str, transport: &str, app: &str) -> String {
    format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "100 kbit/s"
        delay = "150 ms"
        queue = {queue}
        [[hop.gate]]
        name = "gate"
        every = "uniform(8 s, 14 s)"
        first = "stationary"
        lasts = "uniform(1 s, 4 s)"
        [[hop.loss]]
        name = "loss"
        probability = 0.01
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = {transport}
        app = {app}
        [[flow]]
        name = "other"
        from = "server"
        to = "phone"
        start = "3 s"
        transport = {transport}
        app = {app}
        [run]
        limit = "3 min"
        "#
    )
}

const DROP_TAIL: &str = "{ drop-tail = { limit = \"12 packets\" } }";
const DOWNLOAD: &str = "{ bulk = { bytes = \"120 kB\" } }";
const TICKER: &str = "{ ticker = { size = \"3 kB\", every = \"2 s\", count = 20 } }";
const DATAGRAMS: &str = "{ cbr = { rate = \"40 kbit/s\", packet = \"500 B\", lasts = \"40 s\" } }";

/// One case for each word of the lists: strategies, congestion controls, detectors, responses, disciplines, transports.
fn by_word() -> Vec<(String, String)> {
    let mut cases = Vec::new();
    let mut tcp = |axis: &str, word: &str, options: &str| {
        let transport = format!("{{ tcp = {{ profile = \"rfc\", {axis} = \"{word}\"{options} }} }}");
        cases.push((format!("{axis} {word}"), short(DROP_TAIL, &transport, DOWNLOAD)));
    };
    Recovery::NAMES.iter().for_each(|word| tcp("recovery", word, ", spurious = \"eifel\""));
    CongestionControl::NAMES.iter().for_each(|word| tcp("cc", word, ", recovery = \"rack\""));
    Spurious::NAMES.iter().for_each(|word| tcp("spurious", word, ", response = \"rfc4015\""));
    Response::NAMES.iter().for_each(|word| tcp("response", word, ", spurious = \"eifel\""));
    let disciplines = [
        "\"unlimited\"",
        "{ drop-tail = { limit = \"9 packets\" } }",
        "{ drop-head = { limit = \"9 packets\" } }",
        "{ drop-random = { limit = \"9 packets\" } }",
        "{ drop-oldest = { limit = \"9 packets\" } }",
        "{ drop-late = { limit = \"9 packets\" } }",
        "{ red = { limit = \"30 packets\", min = 3, max = 9 } }",
        "{ red = { limit = \"30 packets\", adaptive = true } }",
        "{ threshold = { mark = \"4 packets\", limit = \"20 packets\" } }",
        "{ dual-threshold = { soft = \"4 packets\", hard = \"15 packets\" } }",
        "{ fq-codel = {} }",
        "{ codel = { limit = \"30 packets\" } }",
        "{ pie = { limit = \"30 packets\" } }",
    ];
    for queue in disciplines {
        let tcp = "{ tcp = { profile = \"rfc\", ecn = true } }";
        cases.push((format!("queue {queue}"), short(queue, tcp, DOWNLOAD)));
    }
    let (queue, atp) = ("{ deadline = {} }", "{ atp = { lifetime = \"5 s\" } }");
    cases.push((format!("queue {queue}"), short(queue, atp, TICKER)));
    for (transport, app) in [
        ("\"sctp\"", DOWNLOAD),
        ("\"sctp\"", TICKER),
        ("\"dccp\"", DATAGRAMS),
        ("\"atp\"", TICKER),
        ("{ atp = { lifetime = \"5 s\", control = \"tfrc\" } }", TICKER),
        ("\"udp\"", DATAGRAMS),
        ("\"icmp\"", "{ ticker = { size = \"32 B\", every = \"1 s\", count = 20 } }"),
        ("{ tcp = { profile = \"linux-6.x\" } }", DOWNLOAD),
        ("{ tcp = { profile = \"linux-2.4\" } }", DOWNLOAD),
        ("{ tcp = { profile = \"freebsd-4.1\" } }", DOWNLOAD),
        ("{ tcp = { profile = \"rfc\" } }", TICKER),
    ] {
        let (kind, _) = app[2..].split_once(' ').unwrap_or((app, ""));
        cases.push((format!("{kind} over {transport}"), short(DROP_TAIL, transport, app)));
    }
    cases
}

/// A strategy, congestion control, detector or response that is added to its list has no line here yet, which this says.
#[test]
fn every_word_gives_its_bits() {
    let cases = by_word();
    for discipline in QueueSpec::VARIANTS {
        let tried = |(name, _): &(String, String)| {
            name.starts_with("queue") && name.split([' ', '"']).any(|word| word == discipline.name)
        };
        assert!(cases.iter().any(tried), "no case has a queue of `{}`", discipline.name);
    }
    let found: String = cases.iter().map(|(name, text)| format!("{:016x} {name}\n", fold(text, 2))).collect();
    let wanted = include_str!("data/bits.txt");
    let new: Vec<&str> = found.lines().filter(|line| !wanted.lines().any(|known| known == *line)).collect();
    assert!(found == wanted, "lines that differ from tests/data/bits.txt:\n{}", new.join("\n"));
}
