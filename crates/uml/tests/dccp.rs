//! Tests of DCCP of a real kernel in virtual time: messages and bulk data, and its CCID 3 beside the model's, whose
//! `rules = "linux"` name what differs. Needs a kernel with DCCP under the name `default` or `dccp`; without one each
//! test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use common::{kernels, model, play, talk};
use scenario::Model;
use scenario::metric::Metric;
use uml::{KernelOutcome, Kernels, kernel};

/// The kernel with DCCP, if it is built.
fn speakers() -> Option<Kernels> {
    let cache = common::variable("XDG_CACHE_HOME");
    let cache = cache.or_else(|| Some(common::variable("HOME")?.join(".cache")))?.join("williwaw");
    let named = kernel::place(&cache, "dccp");
    let (init, chance) = kernel::guest_programs(&cache).expect("the program of a guest");
    let own = Kernels {
        kernel: named,
        named: cache.join("kernels"),
        init,
        chance,
        place: std::env::temp_dir(),
        patience: std::time::Duration::from_secs(60),
        folder: "/".into(),
    };
    let mut all = kernels().into_iter().chain([own]);
    let found = all.find(|kernels| kernel::has_dccp(&kernels.kernel).is_ok());
    if found.is_none() {
        eprintln!("skipped: no kernel speaks DCCP; `williwaw linux build` makes one");
    }
    found
}

fn get(outcome: &KernelOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

/// RT-05: messages over a kernel's DCCP arrive in order, all of them on a clean path, and a repeated run is
/// equal.
#[test]
fn messages_go_over_dccp_of_a_kernel() {
    let Some(kernels) = speakers() else { return };
    let app = "{ cbr = { rate = \"64 kbit/s\", packet = \"160 B\", lasts = \"5 s\" } }";
    for ccid in [2, 3] {
        let own = format!("{{ linux = {{ protocol = \"dccp\", ccid = {ccid} }} }}");
        let model = model(&talk("", &own, app), &[]);
        let outcome = play(&kernels, &model, 0);
        let facts = outcome.facts[0].as_ref().expect("a kernel's flow");
        assert!(facts.faults.is_empty() && outcome.ran.complete, "ccid {ccid}: {:?}", facts.faults);
        let sent = get(&outcome, Metric::MessagesSent);
        assert_eq!((sent, get(&outcome, Metric::MessagesDelivered)), (250.0, 250.0), "ccid {ccid}");
        // The connection takes a round trip, and CCID 3 starts with few packets per round trip: no message
        // arrives before the propagation delay and its transmission time.
        let alone = 0.1 + (160.0 + 36.0) * 8.0 / 1e6;
        assert!(get(&outcome, Metric::MessageDelay) > alone, "ccid {ccid}");
        assert!(play(&kernels, &model, 0).capture == outcome.capture, "a repetition differs from itself");
    }
}

const PATH: &str = r#"
    williwaw = 1
    [[hop]]
    name = "radio"
    between = ["server", "phone"]
    rate = "400 kbit/s"
    delay = "50 ms"
    queue = { drop-tail = { limit = "20 packets" } }
    MORE
    [[flow]]
    name = "talk"
    from = "server"
    to = "phone"
    transport = "tcp"
    app = { bulk = { lasts = "30 s" } }
    [run]
    limit = "90 s"
"#;

/// A path: its name, its changes of [`PATH`], and further keys of the hop.
type Way = (&'static str, &'static [&'static str], &'static str);
const LOSS_1: &str = "[[hop.loss]]\nname = \"air\"\ndirections = \"down\"\nprobability = 0.01";
const LOSS_3: &str = "[[hop.loss]]\nname = \"air\"\ndirections = \"down\"\nprobability = 0.03";
const PAUSE: &str = "[[hop.gate]]\nname = \"pause\"\nevery = \"15 s\"\nlasts = \"3 s\"";

/// The ten paths of the comparison.
const PATHS: &[Way] = &[
    ("400 kbit/s, 50 ms, 20 packets", &[], ""),
    (
        "100 kbit/s, 100 ms, 10 packets",
        &[
            "hop.radio.rate=100 kbit/s",
            "hop.radio.delay=100 ms",
            "hop.radio.queue.drop-tail.limit=10 packets",
        ],
        "",
    ),
    (
        "1 Mbit/s, 20 ms, 30 packets",
        &["hop.radio.rate=1 Mbit/s", "hop.radio.delay=20 ms", "hop.radio.queue.drop-tail.limit=30 packets"],
        "",
    ),
    (
        "50 kbit/s, 300 ms, 10 packets",
        &["hop.radio.rate=50 kbit/s", "hop.radio.delay=300 ms", "hop.radio.queue.drop-tail.limit=10 packets"],
        "",
    ),
    (
        "400 kbit/s, 150 ms, 50 packets",
        &["hop.radio.delay=150 ms", "hop.radio.queue.drop-tail.limit=50 packets"],
        "",
    ),
    ("400 kbit/s, 10 ms, 20 packets", &["hop.radio.delay=10 ms"], ""),
    (
        "800 kbit/s, 50 ms, 40 packets",
        &["hop.radio.rate=800 kbit/s", "hop.radio.queue.drop-tail.limit=40 packets"],
        "",
    ),
    (
        "1 Mbit/s, 50 ms, 1 % lost",
        &["hop.radio.rate=1 Mbit/s", "hop.radio.queue.drop-tail.limit=100 packets"],
        LOSS_1,
    ),
    (
        "1 Mbit/s, 50 ms, 3 % lost",
        &["hop.radio.rate=1 Mbit/s", "hop.radio.queue.drop-tail.limit=100 packets"],
        LOSS_3,
    ),
    ("400 kbit/s, a pause of 3 s each 15 s", &[], PAUSE),
];

/// Packets of a flow over a path that arrived, of the first 30 s and of the 30 s after them.
fn arrived(run: impl Fn(&Model) -> f64, way: &Way, transport: &str) -> [f64; 2] {
    let of = |lasts: &str| {
        let (change, more) = (way.1, way.2);
        let own =
            [&*format!("flow.talk.transport={transport}"), &*format!("flow.talk.app.bulk.lasts={lasts}")];
        run(&model(&PATH.replace("MORE", more), &[change, &own].concat()))
    };
    let (half, all) = (of("30 s"), of("60 s"));
    [half, all - half]
}

/// RT-05, RT-06: CCID 3 of the model beside the kernel's on ten paths: packets that arrived. With the kernel's departures from
/// the RFCs (`rules = "linux"`) as many arrive in the first 30 s and in the next, so the departures are what differs. Without them as many
/// arrive in the next 30 s: two departures are about the first loss interval, which the average forgets with the ninth loss event
/// (RFC 5348 section 5.4). On the path with pauses reports by timer and by counter, which RFC 4342 section 10.3 both permits,
/// differ in every pause.
#[test]
fn ccid_3_lies_beside_the_kernels_on_ten_paths() {
    let Some(kernels) = speakers() else { return };
    let of_kernel = |model: &Model| get(&play(&kernels, model, 0), Metric::PacketsValid);
    let of_model = |model: &Model| {
        let outcome = lab::run_once(model, 0, lab::once::Options::default());
        outcome.flows[0].get(Metric::PacketsValid).unwrap_or(f64::NAN)
    };
    let mut far = Vec::new();
    for way in PATHS {
        // As wide a window of sequence numbers as the model's, in place of 100.
        let kernel =
            "{ linux = { protocol = \"dccp\", sysctl = { \"net.dccp.default.seq_window\" = \"1000\" } } }";
        let kernel = arrived(of_kernel, way, kernel);
        let [rfc, linux] = ["rfc", "linux"].map(|rules| {
            let own = arrived(of_model, way, &format!("{{ dccp = {{ ccid = 3, rules = \"{rules}\" }} }}"));
            [own[0] / kernel[0], own[1] / kernel[1]]
        });
        println!(
            "{}: kernel {kernel:?}, model with its rules {linux:.3?}, with those of the RFCs {rfc:.3?}",
            way.0
        );
        let near = |ratio: f64| (0.95..=1.05).contains(&ratio);
        if !linux.into_iter().all(near) || !near(rfc[1]) && way.2 != PAUSE {
            far.push((way.0, linux, rfc));
        }
    }
    assert!(far.is_empty(), "{far:?}");
}
