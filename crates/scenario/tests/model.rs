//! Reading of valid scenario files into the model, part by part.

use base::dist::Dist;
use base::{Rate, Span, Time};
use path::qdisc::{drop_head, drop_tail};
use scenario::model::*;
use scenario::{Diagnostics, NoFiles, Scenario, read, read_with};
use transport::tcp::config::{Recovery, Spurious};

const PATH: &str = r#"
williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
"#;
const FLOW: &str = r#"
[[flow]]
name = "download"
from = "server"
to = "phone"
app = { bulk = { bytes = "100 kB" } }
"#;

fn whole(hop: &str, flow: &str) -> String {
    // Adds a delay if the hop has none, because a round trip must take time.
    let delay = if hop.contains("delay") { "" } else { "delay = \"1 ms\"\n" };
    format!("{PATH}{delay}{hop}{FLOW}{flow}")
}

fn good(text: &str) -> Scenario {
    read("test.toml", text.as_bytes(), &NoFiles).unwrap_or_else(|d| panic!("{text}\n{d}"))
}

fn bad(text: &str) -> Diagnostics {
    read("test.toml", text.as_bytes(), &NoFiles).map(|s| s.describe()).expect_err(text)
}

/// The codes of all diagnostics, each with the text it underlines.
fn codes(diagnostics: &Diagnostics) -> Vec<(String, String)> {
    diagnostics.iter().map(|d| (d.code.to_owned(), diagnostics.sources().slice(d.place).to_owned())).collect()
}

fn example() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/good/reno-and-eifel.toml");
    std::fs::read_to_string(path).expect("the example is there")
}

#[test]
fn the_example_is_two_links_one_gate_and_six_cells() {
    let scenario = good(&example());
    let model = scenario.first();
    let names: Vec<&str> = model.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["server", "phone"]);
    let [down, up] = model.links.as_slice() else { panic!("{:?}", model.links) };
    assert_eq!((down.name.as_str(), down.from, down.to), ("radio.down", 0, 1));
    assert_eq!((up.name.as_str(), up.from, up.to), ("radio.up", 1, 0));
    assert_eq!(down.rate, LinkRate::Constant(Rate::from_bps(30_000)));
    assert_eq!(up.delay, Delay::Constant(Span::from_millis(300)));
    assert_eq!(
        down.queue,
        Queue::DropTail(drop_tail::Options { limit: Capacity { packets: Some(10), bytes: None } })
    );
    let [gate] = model.gates.as_slice() else { panic!("{:?}", model.gates) };
    assert_eq!((gate.name.as_str(), gate.links.as_slice()), ("radio.reselection", [0, 1].as_slice()));
    assert_eq!((down.gates.as_slice(), up.gates.as_slice()), ([0].as_slice(), [0].as_slice()));
    assert_eq!(
        gate.timing,
        Timing::Every {
            every: Dist::Uniform(20e9, 40e9),
            from: CountedFrom::Start,
            first: First::Stationary,
            lasts: Dist::Uniform(3e9, 15e9),
        }
    );
    let flow = &model.flows[0];
    assert_eq!((flow.route.as_slice(), flow.way_back.as_slice()), ([0].as_slice(), [1].as_slice()));
    assert_eq!(flow.app, App::Bulk { bytes: Some(307_200), lasts: None });
    assert_eq!(model.run, Run { repetitions: 100, seed: 1, limit: Span::from_secs(3600), links: false });
    assert!(model.expect[0].holds(149.0) && !model.expect[0].holds(150.0));

    let cells: Vec<_> = scenario.cells().map(Result::unwrap).collect();
    assert_eq!(cells.len(), 6);
    let Transport::Tcp { profile, config } = &cells[5].model.flows[0].transport else { panic!("tcp") };
    assert_eq!(profile, "ns2-2001");
    assert_eq!((config.recovery, config.spurious), (Recovery::Sack, Spurious::Eifel));
    assert_eq!(cells[1].params[0].1, "reno");
    assert_eq!(cells[1].params[1].1, "eifel");
    // The rest of the model is the same in every cell.
    let rest = |m: &Model| Model { flows: Vec::new(), ..m.clone() };
    assert!(cells.iter().all(|c| rest(&c.model) == rest(model)));
}

#[test]
fn what_is_given_once_holds_for_both_directions() {
    let model = good(&whole("rate = { down = \"2mbit\", up = \"64 kbit/s\" }\ndelay = \"10ms\"\n", ""))
        .first()
        .clone();
    assert_eq!(model.links[0].rate, LinkRate::Constant(Rate::from_bps(2_000_000)));
    assert_eq!(model.links[1].rate, LinkRate::Constant(Rate::from_bps(64_000)));
    assert_eq!(model.links[0].delay, model.links[1].delay);
    assert_eq!(model.links[0].queue, Queue::default());
}

#[test]
fn silence_means_no_limit_and_no_delay() {
    let link = good(&whole("delay = { down = \"5 ms\", up = \"0 s\" }\n", "")).first().links[1].clone();
    assert_eq!(
        (link.rate, link.delay, link.queue),
        (LinkRate::Unlimited, Delay::Constant(Span::ZERO), Queue::default())
    );
}

#[test]
fn schedules_start_at_zero_and_go_forward() {
    let scenario = good(&whole(
        "rate = { schedule = [[\"0 s\", \"300 kbit/s\"], [\"10 s\", \"10 kbit/s\"]], repeat = \"20 s\" }\n",
        "",
    ));
    let LinkRate::Schedule(schedule) = &scenario.first().links[0].rate else { panic!() };
    let at = |s| schedule.at(Time::from_secs_f64(s)).map(Rate::bps);
    assert_eq!(
        (at(0.0), at(9.9), at(10.0), at(20.0), at(39.0)),
        (Some(300_000), Some(300_000), Some(10_000), Some(300_000), Some(10_000))
    );

    for (wrong, place) in [
        ("schedule = [[\"1 s\", \"1 kbit/s\"]]", "\"1 s\""),
        ("schedule = [[\"0 s\", \"1 kbit/s\"], [\"0 s\", \"2 kbit/s\"]]", "\"0 s\""),
        ("schedule = [[\"0 s\", \"1 kbit/s\"], [\"9 s\", \"2 kbit/s\"]], repeat = \"8 s\"", "\"8 s\""),
        ("schedule = []", "[]"),
    ] {
        let found = codes(&bad(&whole(&format!("rate = {{ {wrong} }}\n"), "")));
        assert_eq!(found, [("bad-value".to_owned(), place.to_owned())], "{wrong}");
    }
}

#[test]
fn every_timing_is_one_of_four() {
    let gate = |timing: &str| whole(&format!("[[hop.gate]]\nname = \"g\"\n{timing}\n"), "");
    let timing = |t: &str| good(&gate(t)).first().gates[0].timing.clone();
    assert_eq!(
        timing("start = \"28 s\"\nlasts = \"12 s\""),
        Timing::Once { start: Dist::Constant(28e9), lasts: Dist::Constant(12e9) }
    );
    let t = |s| Time::from_secs_f64(s);
    assert_eq!(
        timing("spikes = [[\"30 s\", \"9 s\"], [\"50 s\", \"1 s\"]]"),
        Timing::Listed(vec![(t(30.0), Span::from_secs(9)), (t(50.0), Span::from_secs(1))])
    );
    // Without `first`, the first comes one interval after the start.
    let Timing::Every { first, from, .. } =
        timing("every = \"exponential(30 s)\"\nfrom = \"end\"\nlasts = \"5 s\"")
    else {
        panic!()
    };
    assert_eq!((first, from), (First::After(Dist::Exponential(30e9)), CountedFrom::End));

    for (wrong, code) in [
        ("lasts = \"3 s\"", "missing-key"),
        ("every = \"3 s\"", "conflict"),
        ("spikes = []\nlasts = \"1 s\"", "conflict"),
        ("start = \"1 s\"\nlasts = \"1 s\"\nfirst = \"2 s\"", "conflict"),
        ("spikes = [[\"30 s\", \"9 s\"], [\"35 s\", \"1 s\"]]", "bad-value"),
        ("every = \"0 s\"\nlasts = \"1 s\"", "bad-value"),
        ("every = \"9 s\"\nlasts = \"1 s\"\nfirst = \"stationry\"", "bad-value"),
    ] {
        let found = codes(&bad(&gate(wrong)));
        assert!(found.len() == 1 && found[0].0 == code, "{wrong}: {found:?}");
    }
}

#[test]
fn a_gate_that_may_overlap_itself_is_warned_of() {
    let text = whole(
        "[[hop.gate]]\nname = \"g\"\nevery = \"uniform(5 s, 40 s)\"\nlasts = \"uniform(3 s, 15 s)\"\n",
        "",
    );
    assert_eq!(good(&text).warnings().iter().map(|d| d.code).collect::<Vec<_>>(), ["overlap"]);
    let text = text.replace("uniform(3 s, 15 s)", "1 min");
    let scenario = good(&text);
    let warning = scenario.warnings().iter().next().expect("a warning");
    assert!(
        warning.message.contains("at least 60 s") && warning.message.contains("40 s at most"),
        "{}",
        warning.message
    );
}

/// Each interruption is drawn and kept, so a slip of the unit ("1 us" for "1 s") would fill the memory.
#[test]
fn what_happens_all_the_time_is_refused() {
    let gate = |every: &str| format!("[[hop.gate]]\nname = \"g\"\nevery = \"{every}\"\nlasts = \"1 us\"\n");
    assert_eq!(codes(&bad(&whole(&gate("1 us"), "")))[0].0, "bad-value");
    good(&whole(&gate("1 ms"), ""));
}

#[test]
fn spikes_of_every_repetition_come_from_a_file() {
    let text = whole("[[hop.gate]]\nname = \"g\"\nfile = \"spikes.csv\"\n", "");
    let load = |csv: &'static str| {
        move |path: &str| {
            if path == "spikes.csv" { Ok(csv.as_bytes().to_vec()) } else { Err(format!("no `{path}`")) }
        }
    };
    let files = load("rep,start_s,length_s\n0,0.830397648,5.597309266\n2,1,2\n2,0.5,0.25\n");
    let scenario = read("a.toml", text.as_bytes(), &files).unwrap();
    let Timing::PerRepetition(all) = &scenario.first().gates[0].timing else { panic!() };
    assert_eq!(all[0], [(Time::from_nanos(830_397_648), Span::from_nanos(5_597_309_266))]);
    assert!(all[1].is_empty());
    assert_eq!(all[2][0].0, Time::from_secs_f64(0.5));

    let wrong = load("rep,start_s,length_s\n0,1\nx,1,2\n1,-1,2\n");
    let found = read("a.toml", text.as_bytes(), &wrong).unwrap_err();
    let places: Vec<(&str, usize)> = found
        .iter()
        .map(|d| (found.sources().name(d.place), found.sources().position(d.place).line))
        .collect();
    assert_eq!(places, [("spikes.csv", 2), ("spikes.csv", 3), ("spikes.csv", 4)]);
    assert_eq!(codes(&bad(&text)), [("no-file".to_owned(), "\"spikes.csv\"".to_owned())]);
}

#[test]
fn losses_are_scripted_or_random() {
    let loss = |kind: &str| {
        good(&whole(&format!("[[hop.loss]]\nname = \"l\"\ndirections = \"down\"\n{kind}\n"), ""))
            .first()
            .losses[0]
            .clone()
    };
    let scripted = loss("packets = \"20, 9-15\"");
    assert_eq!((scripted.kind, scripted.links), (LossKind::Packets(vec![9..=15, 20..=20]), vec![0]));
    assert_eq!(loss("probability = 0.01").kind, LossKind::Probability(0.01));
    assert_eq!(
        loss("two-state = { per-packet = { to-bad = 0.01, to-good = 0.3 } }").kind,
        LossKind::PerPacketStates { to_bad: 0.01, to_good: 0.3, loss_good: 0.0, loss_bad: 1.0 }
    );
    let drawn = loss("two-state = { per-packet = { to-bad = \"uniform(0.01, 0.03)\", to-good = 0.3 } }").kind;
    let LossKind::Drawn(mean, parts) = drawn else { panic!("{drawn:?}") };
    let states = LossKind::PerPacketStates { to_bad: 0.02, to_good: 0.3, loss_good: 0.0, loss_bad: 1.0 };
    assert_eq!((*mean, parts.len(), parts[0].0.name()), (states, 1, "to-bad"));
    assert!(matches!(
        loss("two-state = { over-time = { good = \"exponential(10 s)\", bad = \"1 s\", loss-bad = 0.5 } }")
            .kind,
        LossKind::OverTimeStates { loss_bad: 0.5, .. }
    ));
}

#[test]
fn a_graph_is_routed_where_there_is_one_shortest_way() {
    let text = r#"
williwaw = 1
[[node]]
name = "router"
[[link]]
name = "out"
from = "server"
to = "router"
rate = "10 Mbit/s"
delay = "5 ms"
[[link]]
name = "home"
from = "router"
to = "server"
[[hop]]
name = "radio"
between = ["router", "phone"]
rate = "100 kbit/s"
[[link]]
name = "satellite"
from = "phone"
to = "server"
delay = "300 ms"
[[flow]]
name = "plain"
from = "server"
to = "phone"
app = "bulk"
[[flow]]
name = "written"
from = "server"
to = "phone"
way-back = ["radio", "home"]
app = "bulk"
"#;
    let model = good(text).first().clone();
    let way = |links: &[usize]| links.iter().map(|&l| model.links[l].name.clone()).collect::<Vec<_>>();
    assert_eq!(way(&model.flows[0].route), ["out", "radio.down"]);
    assert_eq!(way(&model.flows[0].way_back), ["satellite"]);
    assert_eq!(way(&model.flows[1].way_back), ["radio.up", "home"]);
    assert_eq!(model.flows[0].app, App::Bulk { bytes: None, lasts: None });
}

#[test]
fn set_changes_one_value_by_its_path() {
    let text = example();
    let with = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        read_with("example.toml", text.as_bytes(), &NoFiles, &sets)
    };
    let scenario = with(&[
        "hop.radio.rate.up=10kbit/s",
        "hop.radio.queue.drop-head.limit=\"100 kB\"",
        "hop.radio.gate.reselection.every=60 s",
        "flow.*.transport.tcp.rto.min=200 ms",
        "flow.download.transport.tcp.recovery=newreno",
        "run.repetitions=5",
    ])
    .unwrap_or_else(|d| panic!("{d}"));
    let model = scenario.first();
    assert_eq!(model.links[0].rate, LinkRate::Constant(Rate::from_bps(30_000)));
    assert_eq!(model.links[1].rate, LinkRate::Constant(Rate::from_bps(10_000)));
    assert_eq!(
        model.links[0].queue,
        Queue::DropHead(drop_head::Options { limit: Capacity { packets: None, bytes: Some(100_000) } })
    );
    assert!(matches!(&model.gates[0].timing, Timing::Every { every: Dist::Constant(x), .. } if *x == 60e9));
    let Transport::Tcp { config, .. } = &model.flows[0].transport else { panic!("tcp") };
    assert_eq!((config.rto.min, config.recovery), (Span::from_millis(200), Recovery::NewReno));
    assert_eq!(model.run.repetitions, 5);
    // A key that the grid varies is fixed by `--set`.
    assert_eq!(scenario.cell_count(), Some(2));
    assert_ne!(scenario.hash(), good(&text).hash());
    assert_eq!(scenario.overrides()[5], ("run.repetitions".to_owned(), "5".to_owned()));

    for (wrong, underlined) in [
        ("hop.radoi.rate=1 Mbit/s", "radoi"),
        ("hop.radio.rat=1 Mbit/s", "rat"),
        ("hop.radio.rate=fast", "fast"),
        ("hop.radio=x", "radio"),
        ("hop=x", "hop"),
        ("flow.download.transport.tcp.rto=1 s", "rto"),
        ("flow.download.transport.tcp.recovery=sakc", "sakc"),
        ("hop.radio.delay.down.x=1 s", "x"),
        ("run.seed.x=1", "x"),
        ("grid.x=1", "grid"),
        ("nonsense", "nonsense"),
        ("run.seed=", "run.seed="),
    ] {
        let found = with(&[wrong]).map(|s| s.describe()).expect_err(wrong);
        assert!(
            codes(&found).iter().all(|(_, text)| text == underlined),
            "{wrong}: {:?}\n{found}",
            codes(&found)
        );
    }
}

#[test]
fn a_key_that_excludes_others_replaces_them() {
    let with = |set: &str| {
        let sets = [set.to_owned()];
        let scenario =
            read_with("x", example().as_bytes(), &NoFiles, &sets).unwrap_or_else(|d| panic!("{set}\n{d}"));
        scenario.first().gates[0].timing.clone()
    };
    assert!(matches!(
        with("hop.radio.gate.reselection.start=10 s"),
        Timing::Once { lasts: Dist::Uniform(..), .. }
    ));
    assert!(matches!(with("hop.radio.gate.*.spikes=[[\"30 s\", \"9 s\"]]"), Timing::Listed(_)));
}

#[test]
fn grid_values_are_underlined_in_the_grid() {
    let text = whole(
        "",
        "[grid]\n\"hop.radio.delay\" = [\"1 ms\", \"2 mss\"]\n\"flow.download.transport.tcp.mss\" = [\"1 kB\"]\n",
    );
    assert_eq!(codes(&bad(&text)), [("bad-value".to_owned(), "\"2 mss\"".to_owned())]);
    let twice = whole("", "[grid]\n\"run.seed\" = [1, 2]\nrun.seed = [3]\n");
    assert_eq!(codes(&bad(&twice))[0].0, "same-name");
    // A key set by the grid may be missing in the file; a key shared by the whole grid cannot be varied.
    let given = whole("", "[grid]\nhop.radio.queue.drop-tail.limit = [\"5 packets\", \"50 packets\"]\n");
    assert_eq!(good(&given).cell_count(), Some(2));
    let fixed = whole("", "[grid]\n\"run.repetitions\" = [1, 2]\n");
    assert_eq!(codes(&bad(&fixed))[0].0, "bad-path");
}

#[test]
fn keys_joined_by_a_comma_vary_together() {
    let text = whole(
        "",
        "[grid]\n\"hop.radio.delay, run.seed\" = [[\"1 ms\", 7], [\"2 ms\", 8]]\n\"run.limit\" = [\"1 s\", \"2 s\"]\n",
    );
    let cells: Vec<_> = good(&text).cells().map(Result::unwrap).collect();
    let seen: Vec<(f64, u64, f64)> = cells
        .iter()
        .map(|c| (c.model.links[0].delay.mean_s(), c.model.run.seed, c.model.run.limit.as_secs_f64()))
        .collect();
    assert_eq!(seen, [(0.001, 7, 1.0), (0.001, 7, 2.0), (0.002, 8, 1.0), (0.002, 8, 2.0)]);
    assert_eq!(codes(&bad(&text.replace(", 8]", "]")))[0].1, "[\"2 ms\"]");
}

#[test]
fn a_combination_that_is_impossible_in_one_cell_is_found() {
    let text = whole(
        "",
        "[grid]\n\"flow.download.transport.tcp.recovery\" = [\"newreno\", \"rfc6675\"]\n\"flow.download.transport.tcp.sack\" = [\"auto\", false]\n",
    );
    assert_eq!(codes(&bad(&text)), [("impossible".to_owned(), "\"rfc6675\"".to_owned())]);
}

#[test]
fn expectations_take_units_lists_and_bare_numbers() {
    let text = whole(
        "",
        "[expect]\ndownload.spurious_timeouts.mean = 0\n\"download.throughput_bps.median\" = [\"> 20 kbit/s\", \"< 1 Mbit/s\"]\n\"all.jain_index.p10\" = \">= 0.9\"\n",
    );
    let expect = good(&text).first().expect.clone();
    let plain: Vec<_> = expect.iter().map(|e| (e.flow, e.comparison.name(), e.bound)).collect();
    assert_eq!(plain, [(Some(0), "=", 0.0), (Some(0), ">", 20e3), (Some(0), "<", 1e6), (None, ">=", 0.9)]);
    assert_eq!(expect[1].key, "download.throughput_bps.median");
}

#[test]
fn same_names_are_shown_together() {
    let text = whole("", FLOW);
    let found = bad(&text);
    let d = found.iter().find(|d| d.code == "same-name").expect("it is said");
    assert_eq!(found.sources().slice(d.place), "\"download\"");
    assert_eq!(d.others.len(), 1);
}

#[test]
fn all_that_is_missing_is_named() {
    let found = bad("title = \"x\"\n[[hop]]\nrate = \"1 kbit/s\"\n[[flow]]\nname = \"f\"\n");
    let messages: Vec<&str> = found.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "this scenario lacks `williwaw`",
            "this hop lacks `name`",
            "this hop lacks `between`",
            "flow `f` lacks `from`",
            "flow `f` lacks `to`",
            "flow `f` lacks `app`"
        ]
    );
}

#[test]
fn the_cost_of_a_cell_is_of_the_right_size() {
    let cost = good(&whole("rate = \"100 kbit/s\"\n", "[run]\nrepetitions = 10\n")).cost();
    // 100 kB at 100 kbit/s are 8 s of payload and some headers; 69 segments and their ACKs.
    assert_eq!((cost.cells, cost.runs), (1, 10));
    assert!((80.0..120.0).contains(&cost.simulated_s), "{cost:?}");
    assert!((690.0..1400.0).contains(&cost.packets), "{cost:?}");
    assert_eq!(cost.packets, cost.packet_hops);
    // A load of 8 kbit/s in packets of 1000 bytes for those ten seconds, in both directions.
    let load = "rate = \"100 kbit/s\"\n[[hop.background]]\nname = \"b\"\nrate = \"8 kbit/s\"\n";
    let loaded = good(&whole(load, "[run]\nrepetitions = 10\n")).cost();
    assert!((160.0..240.0).contains(&(loaded.packets - cost.packets)), "{loaded:?}");
}

#[test]
fn a_grid_without_end_is_refused_and_a_huge_one_questioned() {
    let axis = |key: &str| format!("\"{key}\" = [{}]\n", vec!["1"; 1000].join(", "));
    let keys = ["run.seed", "flow.download.transport.tcp.dupthresh", "flow.download.transport.tcp.rto.k"];
    let grid: String = keys.iter().map(|k| axis(k)).collect();
    let scenario = good(&whole("", &format!("[grid]\n{grid}")));
    assert_eq!(scenario.cell_count(), Some(1_000_000_000));
    assert!(
        scenario
            .question()
            .expect("it is asked")
            .render(scenario::Style::default())
            .contains("1 000 000 000 runs")
    );
    // Every cell can still be built by its number.
    assert_eq!(scenario.cell(999_999_999).unwrap().params.len(), 3);

    // 2000^6 cells overflow the cell count.
    let axis = |key: &str| format!("\"{key}\" = [{}]\n", vec!["2"; 2000].join(", "));
    let more = ["dupthresh", "rto.k", "recovery-burst", "delayed-ack.every", "sack-blocks"];
    let grid: String = more.iter().map(|k| axis(&format!("flow.download.transport.tcp.{k}"))).collect();
    let found = bad(&whole("", &format!("[grid]\n{grid}{}", axis("run.seed"))));
    assert_eq!(codes(&found)[0].0, "too-large");
}

#[test]
fn a_scenario_is_described_in_words() {
    insta::assert_snapshot!(good(&example()).describe());
}

#[test]
fn the_hash_is_of_the_text() {
    let text = example();
    assert_eq!(good(&text).hash(), good(&text).hash());
    assert_ne!(good(&text).hash(), good(&text.replace("300 ms", "301 ms")).hash());
    assert_eq!(good(&text).hash().len(), 32);
}

#[test]
fn rates_come_from_recorded_traces() {
    let text = whole("rate = { down = { trace = \"t\" }, up = \"1 Mbit/s\" }\n", "");
    let with = |csv: &'static str| {
        let files = move |_: &str| Ok(csv.as_bytes().to_vec());
        read("a.toml", text.as_bytes(), &files).map(|s| s.first().links[0].rate.clone())
    };
    let LinkRate::Schedule(steps) = with("# mahimahi\n0\n5\n5\n6\n10\n").unwrap() else { panic!() };
    assert_eq!(steps.repeat, Some(Span::from_millis(10)));
    // Each millisecond has the rate of the opportunities at its end; the opportunity at 0 counts at 10.
    let rates: Vec<u64> =
        (0..10).map(|ms| steps.at(Time::ZERO + Span::from_millis(ms)).unwrap().bps() / 12_032_000).collect();
    assert_eq!(rates, [0, 0, 0, 0, 2, 1, 0, 0, 0, 2]);
    let LinkRate::Schedule(steps) = with("t_s,bit_per_s\n0,1e6\n1.5,20000\n").unwrap() else { panic!() };
    assert_eq!(steps.at(Time::from_secs_f64(1.5)), Some(Rate::from_bps(20_000)));
    for wrong in ["", "0\n", "5\n4\n", "x\n", "1,5\n", "0,0\n", "0,-1\n"] {
        assert!(codes(&with(wrong).unwrap_err()).iter().all(|(code, _)| code == "bad-file"), "{wrong}");
    }
}

/// NS-06: measured delays are steps; the first holds from the start, and the file may begin again.
#[test]
fn delays_come_from_recorded_traces() {
    let text =
        |more: &str| whole(&format!("delay = {{ down = {{ trace = \"t\"{more} }}, up = \"1 s\" }}\n"), "");
    let with = |more: &str, csv: &'static str| {
        let files = move |_: &str| Ok(csv.as_bytes().to_vec());
        read("a.toml", text(more).as_bytes(), &files).map(|s| s.first().links[0].delay.clone())
    };
    let ms = Span::from_millis;
    let at = |s: f64| Time::from_secs_f64(s);
    let csv = "t_s,delay_s\n# a GPRS phone\n0.5, 0.32\n2,320 ms\n3.5,11\n";
    let Delay::Schedule(steps) = with("", csv).unwrap() else { panic!() };
    assert_eq!(steps.steps, [(at(0.0), ms(320)), (at(2.0), ms(320)), (at(3.5), ms(11_000))]);
    assert_eq!((steps.repeat, steps.at(at(99.0))), (None, Some(ms(11_000))));
    let Delay::Schedule(steps) = with(", repeat = \"10 s\"", csv).unwrap() else { panic!() };
    assert_eq!(steps.at(at(11.0)), Some(ms(320)));
    for wrong in ["", "5\n", "1,2,3\n", "x,1\n", "1,-1\n", "2,1\n2,1\n", "3,1\n1,1\n", "1,nan\n"] {
        assert!(codes(&with("", wrong).unwrap_err()).iter().all(|(code, _)| code == "bad-file"), "{wrong}");
    }
    assert_eq!(codes(&with(", repeat = \"3 s\"", csv).unwrap_err())[0].0, "bad-value");
    assert_eq!(codes(&bad(&text("")))[0].0, "no-file");
}

#[test]
fn distributions_come_from_measured_values() {
    let text = whole("[[hop.gate]]\nname = \"g\"\nevery = \"60 s\"\nlasts = \"empirical(pauses.txt)\"\n", "");
    let files = |_: &str| Ok(b"# pauses\n3.5\n300 ms\n".to_vec());
    let scenario = read("a.toml", text.as_bytes(), &files).unwrap_or_else(|d| panic!("{d}"));
    let Timing::Every { lasts, .. } = &scenario.first().gates[0].timing else { panic!() };
    assert_eq!(*lasts, Dist::Empirical([3.5e9, 3e8].into()));
    assert_eq!(codes(&bad(&text))[0].0, "bad-value");
}

#[test]
fn a_rate_that_is_multiplied_must_be_there() {
    let text =
        whole("[[hop.rate-change]]\nname = \"fade\"\nfactor = 0.1\nstart = \"1 s\"\nlasts = \"2 s\"\n", "");
    assert_eq!(codes(&bad(&text))[0].0, "impossible");
    let change = good(&text.replace("[[hop.rate-change]]", "rate = \"1 Mbit/s\"\n[[hop.rate-change]]"))
        .first()
        .rate_changes[0]
        .clone();
    assert_eq!(
        (change.name.as_str(), change.to, change.links.len()),
        ("radio.fade", ChangedRate::Times(0.1), 2)
    );
}

#[test]
fn machines_may_write_json() {
    let value: toml::Value = toml::from_str(&example()).unwrap();
    let text = serde_json::to_string_pretty(&serde_json::to_value(value).unwrap()).unwrap();
    let (scenario, other) = (good(&text), good(&example()));
    assert_eq!(scenario.first(), other.first());
    assert_eq!(scenario.cell_count(), Some(6));
    let wrong = bad(&text.replace("\"30 kbit/s\"", "\"30 kilo\""));
    assert_eq!(codes(&wrong), [("bad-value".to_owned(), "\"30 kilo\"".to_owned())]);
    for wrong in [
        "{",
        "{\"a\" 1}",
        "{\"a\": nul}",
        "{\"a\": 30 kbit}",
        "{\"a\": 1, \"a\": 2}",
        "{\"a\": \"x}",
        "{} x",
        "{\"a\": [1 2]}",
    ] {
        assert_eq!(codes(&bad(wrong))[0].0, "syntax", "{wrong}");
    }
}

/// EI-27: shared values must exist: each of the three errors is reported at its place.
#[test]
fn sharing_what_nobody_learns_is_told() {
    let text = |options: &str| whole("", &format!("transport = {{ tcp = {{ {options} }} }}\n"));
    let told = |options: &str| good(&text(options)).warnings().iter().map(|d| d.code).collect::<Vec<_>>();
    assert_eq!(told("share.rto = true"), ["no-effect"]);
    assert_eq!(told("share.min-rtt = true, spurious = \"eifel\""), ["no-effect"]);
    assert_eq!(told("share.age = \"1 min\""), ["no-effect"]);
    let learns =
        "spurious = \"eifel\", rto.adapt = \"keep-backoff\", share.rto = true, share.age = \"1 min\"";
    assert!(told(learns).is_empty());
}
