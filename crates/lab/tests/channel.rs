//! Tests of the channel's scenario keys: each has its documented effect in a whole run with a sender that
//! reacts. The arithmetic of each part is tested in the crate `path`.

use base::Time;
use base::event::Event;
use lab::once::{Options, RunOutcome, run_once};
use scenario::Model;
use scenario::metric::Metric;
use std::path::Path;

/// A download of 100 kB over 100 kbit/s and 100 ms; `set` changes it.
fn model(set: &[&str]) -> Model {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "100 kbit/s"
        delay = "100 ms"
        [[hop.error]]
        name = "noise"
        probability = 0
        delay = "500 ms"
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = { tcp = { mss = "960 B", initial-window = "4 segments" } }
        app = { bulk = { bytes = "100 kB" } }
        [run]
        limit = "1000 s"
    "#;
    testkit::model(text, set)
}

fn run(set: &[&str]) -> RunOutcome {
    let outcome = run_once(&model(set), 0, Options::default());
    conserved(&outcome);
    outcome
}

fn conserved(outcome: &RunOutcome) {
    let (network, counters) = (&outcome.world.network, outcome.world.network.counters());
    assert_eq!(counters.sent, counters.absorbed + counters.dropped);
    assert_eq!(counters.bytes[0], counters.bytes[1] + counters.bytes[2]);
    assert_eq!((network.bodies(), network.packets_inside()), (0, 0));
}

fn get(outcome: &RunOutcome, metric: Metric) -> f64 {
    outcome.flows[0].get(metric).unwrap_or(f64::NAN)
}

fn time(set: &[&str]) -> f64 {
    get(&run(set), Metric::DownloadTime)
}

/// Every example of the channel runs to its end, leaves nothing behind, and gives the same again and when ties are
/// broken otherwise.
#[test]
fn every_example_runs_and_repeats() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/channel");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        count += 1;
        let load = |name: &str| std::fs::read(folder.join(name)).map_err(|e| e.to_string());
        let scenario =
            scenario::read("x.toml", &std::fs::read(&path).unwrap(), &load).unwrap_or_else(|d| panic!("{d}"));
        for cell in scenario.cells() {
            let model = cell.unwrap().model;
            let times = |shuffle_ties| {
                let outcome = run_once(&model, 1, Options { trace: false, shuffle_ties });
                // A download for some time ends with the limit, and with packets still under way.
                if model
                    .flows
                    .iter()
                    .all(|f| matches!(f.app, scenario::model::App::Bulk { bytes: Some(_), .. }))
                {
                    assert!(outcome.complete, "{}", path.display());
                    conserved(&outcome);
                }
                outcome.flows.iter().map(|f| f.get(Metric::Throughput)).collect::<Vec<_>>()
            };
            let once = times(None);
            assert_eq!(times(None), once);
            if model.flows.len() == 1 {
                assert_eq!(times(Some(7)), once, "{}", path.display());
            }
        }
    }
    assert!(count >= 7, "{count} examples");
}

/// SW-25, SW-26: blocks of 20 B with 5 B around each make 1000 B on the wire 1250 B, halved by compression 625 B.
#[test]
fn sw_26_sizes_change_on_the_link() {
    let plain = time(&["hop.radio.stay.down=1000 s", "hop.radio.stay.up=1000 s"]);
    let framed = time(&["hop.radio.framing={ payload = \"20 B\", overhead = \"5 B\" }"]);
    let halved = time(&["hop.radio.framing={ payload = \"20 B\", overhead = \"5 B\", factor = 0.5 }"]);
    // 105 segments: the time beyond transmission is equal for each.
    let of = |bytes: f64| 105.0 * bytes * 8.0 / 1e5;
    assert!((framed - plain - of(250.0)).abs() < 0.25, "{framed} {plain}");
    assert!((halved - plain - of(625.0 - 1000.0)).abs() < 0.4, "{halved} {plain}");
}

/// SW-27, SW-29: the send buffer adds to what waits before anything is dropped.
#[test]
fn sw_27_buffers_add_up() {
    let with = |send: &str| {
        let outcome = run(&["hop.radio.queue={ drop-tail = { limit = \"3 packets\" } }", send]);
        get(&outcome, Metric::PacketsDropped)
    };
    let (small, large) =
        (with("hop.radio.send-buffer=\"1 packets\""), with("hop.radio.send-buffer=\"100 packets\""));
    assert!(small > 0.0 && large == 0.0, "{small} {large}");
}

/// SW-28, SW-35, SW-38: a link with ARQ delivers frames lost on the air: no segment is lost, the sender sees delay.
#[test]
fn sw_28_repeats_hide_losses() {
    let noise = "hop.radio.error.noise.probability=0.1";
    let bare = run(&[noise]);
    let repeated = run(&[noise, "hop.radio.arq={ feedback = \"250 ms\" }"]);
    assert!(get(&bare, Metric::PacketsDropped) > 4.0);
    assert_eq!(get(&repeated, Metric::PacketsDropped), 0.0);
    assert!(get(&repeated, Metric::DownloadTime) < get(&bare, Metric::DownloadTime));
    // Out of order, the segments cause duplicate ACKs: unneeded fast retransmits.
    let free = run(&[noise, "hop.radio.arq={ feedback = \"250 ms\" }", "hop.radio.order=free"]);
    assert_eq!(get(&free, Metric::PacketsDropped), 0.0);
    assert!(get(&free, Metric::UnneededRetransmissions) > get(&repeated, Metric::UnneededRetransmissions));
}

/// SW-36, SW-37, SW-39: bit errors; a corrupt packet is a loss to the sender, found by the receiver; a delayed packet
/// is not lost.
#[test]
fn sw_37_wrong_bits_are_found_at_the_end() {
    let noise = "hop.radio.error.noise.bit-probability=1e-5";
    let [dropped, corrupt, late] =
        ["drop", "corrupt", "delay"].map(|mode| run(&[noise, &format!("hop.radio.error.noise.mode={mode}")]));
    for metric in [Metric::DownloadTime, Metric::SegmentsSent, Metric::PacketsDropped] {
        assert_eq!(get(&dropped, metric), get(&corrupt, metric), "to the sender they are the same");
    }
    assert!(get(&corrupt, Metric::PacketsDropped) > 0.0);
    assert_eq!(get(&late, Metric::PacketsDropped), 0.0);
    let (plain, lossy) = (time(&[]), get(&dropped, Metric::DownloadTime));
    assert!((plain..lossy).contains(&get(&late, Metric::DownloadTime)));
    let traced = Options { trace: true, shuffle_ties: None };
    let outcome = run_once(&model(&[noise, "hop.radio.error.noise.mode=corrupt"]), 0, traced);
    let corrupt = outcome
        .world
        .network
        .records()
        .iter()
        .filter(|r| matches!(r.event, Event::Dropped { reason, .. } if reason.name() == "corrupt"));
    assert!(corrupt.count() > 0);
}

/// SW-30: a handshake and an idle link: resources are asked for once each way, or each time if they are not kept.
#[test]
fn sw_30_resources_cost_a_while_each_time() {
    let plain = time(&[]);
    let kept = time(&["hop.radio.allocation={ delay = \"200 ms\", release = \"60 s\" }"]);
    let given_back = time(&["hop.radio.allocation={ delay = \"200 ms\" }"]);
    assert!((kept - plain - 0.4).abs() < 0.05, "once down, once up: {kept} {plain}");
    assert!(given_back > kept + 0.2, "{given_back} {kept}");
}

/// SW-24: what would wait for longer is dropped.
#[test]
fn sw_24_packets_stay_no_longer() {
    let outcome = run(&["hop.radio.stay=\"500 ms\""]);
    assert!(get(&outcome, Metric::PacketsDropped) > 0.0);
    assert!(get(&outcome, Metric::QueueDelay) < 0.5);
}

/// SW-45: a state may draw its rate and its share of errors from any distribution, each time it is entered; the same
/// seed draws the same, and another sender meets the same weather.
#[test]
fn sw_45_states_draw_rates_and_probabilities() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "1 Mbit/s"
        delay = "20 ms"
        queue = "unlimited"
        [[state-machine]]
        name = "cell"
        [[state-machine.state]]
        name = "any"
        lasts = "10 s"
        next = "any"
        [[state-machine.state.on]]
        name = "radio"
        rate = "uniform(100 kbit/s, 300 kbit/s)"
        error = { probability = "uniform(0, 0.2)" }
        [[flow]]
        name = "voice"
        from = "server"
        to = "phone"
        transport = "udp"
        app = { cbr = { rate = "72 kbit/s", packet = "172 B", lasts = "1000 s" } }
        [run]
        limit = "2000 s"
    "#;
    let run = |set: &[&str], n| run_once(&testkit::model(text, set), n, Options::default());
    let get = |outcome: &RunOutcome, metric| outcome.flows[0].get(metric).unwrap();
    let outcome = run(&[], 0);
    // A hundred stays: a tenth is lost on average, and 200 B take 8 ms at the mean of the inverse rate, ln 3 / 200 kbit/s.
    let loss = get(&outcome, Metric::LossRatio);
    assert!((0.08..0.12).contains(&loss), "{loss}");
    const LN_3: f64 = 1.098_612;
    let delay = get(&outcome, Metric::MessageDelay) - 0.02;
    assert!((delay - 1600.0 * LN_3 / 200e3).abs() < 0.0008, "{delay}");
    assert_eq!(run(&[], 0).flows, outcome.flows);
    assert_ne!(run(&[], 1).flows, outcome.flows);
}

/// SW-45: probabilities of losses, duplicates and errors, with or without states, are drawn once for each repetition,
/// and depend on the seed only. Over 40 repetitions they span the range of the distribution.
#[test]
fn sw_45_probabilities_are_drawn_for_each_repetition() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "1 Mbit/s"
        delay = "20 ms"
        queue = "unlimited"
        WHAT
        [[flow]]
        name = "voice"
        from = "server"
        to = "phone"
        transport = "udp"
        app = { cbr = { rate = "72 kbit/s", packet = "172 B", lasts = "40 s" } }
        [run]
        limit = "100 s"
    "#;
    let states = "to-bad = \"uniform(0.2, 0.3)\", to-good = 0.25";
    for (what, least, most) in [
        ("loss]]\nname = \"l\"\nprobability = \"uniform(0.1, 0.4)\"".to_owned(), 0.1, 0.4),
        ("error]]\nname = \"e\"\nprobability = \"uniform(0.1, 0.4)\"".to_owned(), 0.1, 0.4),
        (format!("loss]]\nname = \"l\"\ntwo-state = {{ per-packet = {{ {states}, loss-bad = \"uniform(0.2, 0.8)\" }} }}"), 0.1, 0.4),
        (format!("error]]\nname = \"e\"\ntwo-state = {{ per-frame = {{ {states}, error-bad = \"uniform(0.2, 0.8)\" }} }}"), 0.1, 0.4),
        ("loss]]\nname = \"l\"\ntwo-state = { over-time = { good = \"1 s\", bad = \"1 s\", loss-bad = \"uniform(0.2, 0.8)\" } }".to_owned(), 0.1, 0.4),
    ] {
        let text = text.replace("WHAT", &format!("[[hop.{what}"));
        let model = testkit::model::<&str>(&text, &[]);
        let lost = |n| {
            let outcome = run_once(&model, n, Options::default());
            outcome.flows[0].get(Metric::LossRatio).unwrap()
        };
        let mut all: Vec<f64> = (0..40).map(lost).collect();
        assert_eq!(all[7], lost(7), "{what}");
        all.sort_by(f64::total_cmp);
        // 2093 packets: a share varies by 0.01 itself; of 40 draws the outermost lie within a tenth of the range.
        let reach = most - least;
        assert!((least - 0.05..least + 0.2 * reach).contains(&all[0]), "{what}: {}", all[0]);
        assert!((most - 0.2 * reach..most + 0.05).contains(&all[39]), "{what}: {}", all[39]);
        let mean = all.iter().sum::<f64>() / 40.0;
        assert!((mean - (least + most) / 2.0).abs() < 0.06, "{what}: {mean}");
    }
}

/// SW-41, SW-42: a state changes rate and delay of both directions at one instant: 50 kB at 100 kbit/s, then a tenth.
#[test]
fn sw_42_states_change_the_link() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "100 kbit/s"
        delay = "100 ms"
        [[state-machine]]
        name = "mobility"
        [[state-machine.state]]
        name = "near"
        lasts = "exponential(4 s)"
        [[state-machine.state]]
        name = "far"
        lasts = "exponential(4 s)"
        [[state-machine.state.on]]
        name = "radio"
        rate = "20 kbit/s"
        delay = "300 ms"
        [[trigger]]
        name = "early"
        at = "1000 s"
        state = "mobility.far"
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = { tcp = { mss = "960 B" } }
        app = { bulk = { bytes = "300 kB" } }
        [run]
        limit = "1000 s"
    "#;
    let model = |set: &[&str]| testkit::model(text, set);
    let traced = Options { trace: true, shuffle_ties: None };
    let states = |outcome: &RunOutcome| -> Vec<(Time, u32, u32, bool)> {
        let mut all: Vec<_> = outcome
            .world
            .network
            .records()
            .iter()
            .filter_map(|r| match r.event {
                Event::StateEntered { state, triggered, .. } => Some((r.t, r.source.0, state, triggered)),
                _ => None,
            })
            .collect();
        all.sort_unstable();
        all
    };
    // Two senders meet equal weather, as long as both are running.
    let (a, b) = (
        run_once(&model(&[]), 0, traced),
        run_once(
            &model(&[
                "flow.download.transport.tcp.recovery=reno",
                "flow.download.transport.tcp.mss=\"500 B\"",
            ]),
            0,
            traced,
        ),
    );
    let times = |outcome: &RunOutcome| {
        let all = states(outcome);
        let until = outcome.flows[0].get(Metric::DownloadTime).unwrap();
        let mut times: Vec<Time> = all.into_iter().map(|s| s.0).filter(|t| t.as_secs_f64() < until).collect();
        times.dedup();
        times
    };
    let (ta, tb) = (times(&a), times(&b));
    let common = ta.len().min(tb.len());
    assert!(common > 3);
    assert_eq!(ta[..common], tb[..common]);
    // On average half the time is spent in each: 60 kbit/s.
    let mean: f64 = (0..40)
        .map(|rep| run_once(&model(&[]), rep, Options::default()).flows[0].get(Metric::Throughput).unwrap())
        .sum::<f64>()
        / 40.0;
    assert!((50e3..66e3).contains(&mean), "{mean}");
    // SW-43: a trigger reaches both directions at its instant.
    let forced = run_once(&model(&["trigger.early.at=\"500 ms\""]), 0, traced);
    let picture = lab::picture::picture(&model(&["trigger.early.at=\"500 ms\""]), 0, 0);
    assert_eq!((picture.spikes[0].from, picture.spikes[0].name.as_str()), (0.5, "mobility: far"));
    let by_trigger: Vec<_> = states(&forced).into_iter().filter(|s| s.3).map(|s| (s.0, s.2)).collect();
    assert_eq!(by_trigger, [(Time::from_secs_f64(0.5), 1); 2]);
}

/// SW-43: manual triggers are recorded, and replaying the record from a file gives an equal run.
#[test]
fn sw_43_triggers_are_written_down_and_played_again() {
    let text = |trigger: &str| {
        format!(
            r#"
            williwaw = 1
            [[hop]]
            name = "radio"
            between = ["server", "phone"]
            rate = "100 kbit/s"
            delay = "100 ms"
            queue = {{ drop-tail = {{ limit = "20 packets" }} }}
            [[state-machine]]
            name = "mobility"
            [[state-machine.state]]
            name = "near"
            [[state-machine.state]]
            name = "tunnel"
            lasts = "uniform(1 s, 4 s)"
            [[state-machine.state.on]]
            name = "radio"
            service = "hold"
            {trigger}
            [[flow]]
            name = "download"
            from = "server"
            to = "phone"
            transport = "tcp"
            app = {{ bulk = {{ bytes = "200 kB" }} }}
            "#
        )
    };
    let seed = base::rng::Seed { seed: 1, repetition: 0 };
    let finish = |mut world: scenario::build::World, model: &Model| {
        world.network.run_until(Time::from_secs_f64(300.0));
        lab::measure::flows(model, &world, 0, Time::from_secs_f64(300.0))[0]
            .get(Metric::DownloadTime)
            .unwrap()
    };
    let model = testkit::model::<&str>(&text(""), &[]);
    let mut world = scenario::build::build(&model, seed, base::trace::Tracer::off());
    world.network.start(None);
    let names: Vec<String> = world.network.triggers().names().map(str::to_owned).collect();
    assert_eq!(names, ["mobility.near", "mobility.tunnel"]);
    for at in [2.5, 7.25] {
        assert!(world.network.trigger(Time::from_secs_f64(at), "mobility.tunnel"));
    }
    let written: String =
        world.network.triggers().done().map(|(t, name)| format!("{},{name}\n", t.as_secs_f64())).collect();
    assert_eq!(written, "2.5,mobility.tunnel\n7.25,mobility.tunnel\n");
    let by_hand = finish(world, &model);
    let untouched = {
        let mut world = scenario::build::build(&model, seed, base::trace::Tracer::off());
        world.network.start(None);
        finish(world, &model)
    };
    assert!(by_hand > untouched + 2.0, "{by_hand} {untouched}");
    let again = text("[[trigger]]\nname = \"drive\"\nfile = \"drive.csv\"");
    let load = |_: &str| Ok(format!("t_s,name\n{written}").into_bytes());
    let again = scenario::read("again.toml", again.as_bytes(), &load).unwrap_or_else(|d| panic!("{d}"));
    let model = again.first().clone();
    let mut world = scenario::build::build(&model, seed, base::trace::Tracer::off());
    world.network.start(None);
    assert_eq!(finish(world, &model), by_hand);
}

/// SW-21, SW-20: with flow control nothing is lost before the slow stage, without it much is.
#[test]
fn sw_21_stages_stop_each_other() {
    let text = include_str!("../../../scenarios/channel/pipeline.toml");
    let dropped = |set: &[&str]| {
        let outcome = run_once(&testkit::model(text, set), 0, Options::default());
        conserved(&outcome);
        get(&outcome, Metric::PacketsDropped)
    };
    assert_eq!(dropped(&[]), 0.0);
    let free = ["hop.core.flow-control.window=1000", "hop.node.flow-control.window=1000"];
    assert!(dropped(&free) > 3.0);
}

/// SW-47, SW-48, QM-08: small packets first: the short transfer beside a long one is there sooner.
#[test]
fn sw_47_classes_let_some_go_first() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "200 kbit/s"
        delay = "50 ms"
        queue = { drop-tail = { limit = "40 packets" } }
        [[hop.class]]
        name = "first"
        flows = ["short"]
        priority = 1
        [[flow]]
        name = "short"
        from = "server"
        to = "phone"
        start = "10 s"
        transport = "tcp"
        app = { bulk = { bytes = "20 kB" } }
        [[flow]]
        name = "long"
        from = "server"
        to = "phone"
        transport = "tcp"
        app = { bulk = { bytes = "500 kB" } }
    "#;
    let short = |set: &[&str]| {
        get(&run_once(&testkit::model(text, set), 0, Options::default()), Metric::DownloadTime)
    };
    let first = short(&[]);
    let last = short(&["hop.radio.class.first.flows=[\"long\"]"]);
    let by_size = short(&[
        "hop.radio.class.first.flows=[\"short\", \"long\"]",
        "hop.radio.class.first.at-most=\"100 B\"",
    ]);
    assert!(first < 1.5 && last > 3.0 * first, "{first} {last}");
    assert!(by_size > first, "data are not small: {by_size}");
}

/// QM-05: marks in place of drops, by a threshold and by CoDel and PIE; the queue is short and nothing is lost.
#[test]
fn qm_05_marks_keep_queues_short() {
    let run = |queue: &str, ecn: &str| {
        let set = [
            format!("hop.radio.queue={queue}"),
            format!("flow.download.transport.tcp.ecn={ecn}"),
            // PIE drops where its probability is above a tenth (RFC 8033 section 5.1), as it is where slow start overshoots.
            "flow.download.transport.tcp.initial-ssthresh=\"16 segments\"".to_owned(),
            "flow.download.app.bulk.bytes=\"4 MB\"".to_owned(),
            "hop.radio.rate=\"1 Mbit/s\"".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let outcome = run(&set);
        (
            get(&outcome, Metric::QueueDelay),
            get(&outcome, Metric::PacketsDropped),
            get(&outcome, Metric::Throughput),
        )
    };
    let long = run("unlimited", "true");
    for queue in [
        "{ threshold = { mark = \"8 packets\" } }",
        "{ codel = { ecn = true, target = \"20 ms\", interval = \"300 ms\" } }",
        "{ pie = { ecn = true, target = \"40 ms\", burst = \"0 s\" } }",
    ] {
        let marked = run(queue, "true");
        assert!(marked.0 < long.0 / 2.0, "{queue}: {marked:?} {long:?}");
        assert_eq!(marked.1, 0.0, "{queue}: {marked:?}");
        assert!(marked.2 > 0.5 * long.2, "{queue}: {marked:?} {long:?}");
    }
    let dropped = run("{ codel = { target = \"20 ms\", interval = \"300 ms\" } }", "false");
    assert!(dropped.0 < long.0 / 2.0 && dropped.1 > 0.0, "{dropped:?}");
}

/// SW-49: load that enters at the core and ends behind the radio loads both, at random instants; the phone never sees it.
#[test]
fn sw_49_load_travels_on() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "core"
        between = ["server", "base"]
        rate = "2 Mbit/s"
        delay = "10 ms"
        [[hop.background]]
        name = "others"
        directions = "down"
        rate = "60 kbit/s"
        packet = "500 B"
        gaps = "random"
        [[hop]]
        name = "radio"
        between = ["base", "phone"]
        rate = "100 kbit/s"
        delay = "100 ms"
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = { tcp = { mss = "960 B" } }
        app = { bulk = { bytes = "200 kB" } }
        [run]
        limit = "1000 s"
    "#;
    let time = |set: &[&str]| {
        let outcome = run_once(&testkit::model(text, set), 0, Options::default());
        conserved(&outcome);
        get(&outcome, Metric::DownloadTime)
    };
    let here = time(&[]);
    let on = time(&["hop.core.background.others.until=radio"]);
    let none = time(&["hop.core.background.others.rate=\"0 bit/s\""]);
    assert!((here / none - 1.0).abs() < 0.05, "{here} {none}");
    // 60 of 100 kbit/s are asked for; at worst they are all gone.
    assert!((1.4..2.6).contains(&(on / none)), "{on} {none}");
}

/// Who drives a network by a real clock sleeps until something may come out of it: nothing comes out sooner, whatever
/// happens inside until then.
#[test]
fn nothing_leaves_before_it_is_said() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/channel");
    let mut slept = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let Ok(scenario) = scenario::read("channel.toml", text.as_bytes(), &scenario::NoFiles) else {
            continue;
        };
        let seed = base::rng::Seed { seed: 1, repetition: 0 };
        let mut network = scenario::build::build(scenario.first(), seed, base::trace::Tracer::off()).network;
        network.start(None);
        let mut said = network.next_exit();
        let mut before = network.counters();
        while let Some(due) = network.next_wake().filter(|t| *t < Time::from_nanos(60_000_000_000)) {
            network.run_until(due);
            let now = network.counters();
            if (now.sent, now.absorbed) != (before.sent, before.absorbed) {
                assert!(said.is_some_and(|exit| exit <= due), "{text}: at {due:?}, said was {said:?}");
                said = network.next_exit();
            } else {
                slept += 1;
            }
            before = now;
        }
    }
    assert!(slept > 1000, "only {slept} wake-ups would have been spared");
}
