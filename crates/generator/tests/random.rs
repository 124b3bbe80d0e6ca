//! Tests of random scenarios: they are valid, differ, keep their invariants, are forecast, and shrink when
//! they fail.

use generator::check;
use generator::generate::{Generator, keys, read, used};
use generator::shrink::shrink;
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn random_scenarios_keep_their_invariants() {
    let generator = Generator::new(7);
    let mut reached = BTreeSet::new();
    for number in 0..12 {
        let random = generator.scenario(number).expect("a valid one");
        let taken =
            check::run(&random.scenario).unwrap_or_else(|why| panic!("{number}: {why:?}\n{}", random.text));
        assert_eq!(check::run(&random.scenario).unwrap(), taken, "the same again");
        assert_eq!(generator.scenario(number).unwrap().text, random.text);
        reached.extend(used(&random.document));
    }
    check::threads(&generator.scenario(3).unwrap().scenario).unwrap();
    let all = keys(&scenario::schema::json_schema());
    assert!(all.iter().filter(|key| reached.contains(*key)).count() > 40, "{reached:?}");
}

fn foretold(scenario: &scenario::Scenario) -> lab::forecast::Forecast {
    lab::forecast::forecast(scenario, &scenario.cost())
}

#[test]
fn a_scenario_is_shortened_to_a_number_of_events_and_no_further() {
    let generator = Generator::new(21);
    let mut shortened = 0;
    for number in 0..40 {
        let whole = generator.scenario(number).unwrap();
        let within = generator.within(number, 20_000.0).unwrap();
        let limits = [&whole, &within].map(|random| random.scenario.first().run.limit);
        if foretold(&whole.scenario).events <= 20_000.0 {
            assert_eq!(whole.text, within.text);
        } else if limits[1] < limits[0] {
            shortened += 1;
            assert!(foretold(&within.scenario).events < foretold(&whole.scenario).events, "{number}");
        }
    }
    assert!(shortened > 0, "none of 40 scenarios was long");
}

#[test]
fn a_forecast_of_a_short_run_is_exact() {
    let text = "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n\
                [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = { bulk = { bytes = \"100 kB\" } }\n";
    let scenario = scenario::read("s.toml", text.as_bytes(), &scenario::NoFiles).unwrap();
    let taken = check::run(&scenario).unwrap();
    let foretold = foretold(&scenario);
    assert_eq!((foretold.packets, foretold.events), (taken.packets as f64, taken.events as f64));
    assert_eq!(foretold.exact, 1.0);
}

/// Fifty flows share a bottleneck: an earlier forecast assumed the whole rate for each.
#[test]
fn flows_that_share_a_bottleneck_are_forecast_within_a_factor_of_three() {
    let mut text = "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\n\
                    queue = { drop-tail = { limit = \"50 packets\" } }\n[run]\nlimit = \"60 s\"\n"
        .to_owned();
    for i in 0..50 {
        text.push_str(&format!(
            "[[flow]]\nname = \"f{i}\"\nfrom = \"a\"\nto = \"b\"\napp = {{ bulk = {{}} }}\n"
        ));
    }
    let scenario = scenario::read("s.toml", text.as_bytes(), &scenario::NoFiles).unwrap();
    let taken = check::run(&scenario).unwrap();
    let cost = scenario.cost();
    let foretold = foretold(&scenario);
    for (what, said, truth) in [
        ("analytic packets", cost.packets, taken.packets as f64),
        ("packets", foretold.packets, taken.packets as f64),
        ("hops", foretold.packet_hops, taken.hops as f64),
        ("events", foretold.events, taken.events as f64),
    ] {
        assert!((1.0 / 3.0..3.0).contains(&(said / truth)), "{what}: {said} foretold, {truth} true");
    }
}

/// A long transfer keeps one bit per packet: an earlier forecast assumed a ledger record of 60 B each.
#[test]
fn a_long_transfer_is_forecast_without_its_packets_in_memory() {
    let text = "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
                [run]\nlimit = \"600 s\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = { bulk = {} }\n";
    let scenario = scenario::read("s.toml", text.as_bytes(), &scenario::NoFiles).unwrap();
    let foretold = foretold(&scenario);
    assert!(foretold.packets > 1e6, "{} packets", foretold.packets);
    assert!(foretold.memory < 30e6, "{} B", foretold.memory);
}

/// Distributions without a mean must not yield a non-finite estimate.
#[test]
fn a_cauchy_distribution_makes_a_finite_estimate() {
    let text = "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n[run]\nlimit = \"60 s\"\n\
                [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nstart = \"cauchy(1 s, 1 s)\"\ntransport = \"udp\"\n\
                app = { on-off = { rate = \"100 kbit/s\", on = \"cauchy(1 s, 1 s)\", off = \"cauchy(1 s, 1 s)\" } }\n";
    let scenario =
        scenario::read("s.toml", text.as_bytes(), &scenario::NoFiles).unwrap_or_else(|d| panic!("{d}"));
    let cost = scenario.cost();
    assert!(cost.packets.is_finite() && cost.simulated_s.is_finite() && cost.packets > 10.0, "{cost:?}");
}

/// A queue of one packet on a link with header compression: dropped packets had already passed the
/// compressor.
#[test]
fn bytes_taken_by_header_compression_are_counted() {
    let text = "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\nrate = \"30 kbit/s\"\ndelay = \"100 ms\"\n\
                header-compression = \"rfc2507\"\nqueue = { drop-head = { limit = \"2 packets\" } }\n\
                [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = { bulk = { bytes = \"30 kB\" } }\n";
    let scenario = scenario::read("s.toml", text.as_bytes(), &scenario::NoFiles).unwrap();
    let outcome = lab::once::run_once(scenario.first(), 0, lab::once::Options::default());
    let counters = outcome.world.network.counters();
    assert!(counters.dropped > 0 && counters.compressed > 0, "{counters:?}");
    check::run(&scenario).unwrap();
}

#[test]
fn a_failure_is_shrunk_to_what_it_needs() {
    let random = (0..50).filter_map(|n| Generator::new(3).scenario(n)).max_by_key(|r| r.text.len()).unwrap();
    let has_delay = |document: &Value| document.to_string().contains("\"delay\":");
    assert!(has_delay(&random.document));
    let before = random.text.len();
    let small = shrink(random, &|random| has_delay(&random.document));
    assert!(small.text.len() < before && small.text.len() < 400, "{}", small.text);
    assert!(read(&small.document).is_some());
}

/// A stop flag takes effect within a repetition, however long the repetition is.
#[test]
#[allow(clippy::disallowed_methods, reason = "what is tested takes real time")]
fn a_stop_acts_within_200_ms() {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};
    let text = "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
                [run]\nlimit = \"1000 h\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = { bulk = {} }\n";
    let scenario = scenario::read("s.toml", text.as_bytes(), &scenario::NoFiles).unwrap();
    let stop = AtomicBool::new(false);
    let took = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let ran = lab::once::run_until_stopped(scenario.first(), 0, lab::once::Options::default(), &stop);
            (ran.is_none(), Instant::now())
        });
        std::thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        let stopped = Instant::now();
        let (none, ended) = run.join().unwrap();
        assert!(none, "there is no outcome of half a repetition");
        ended.duration_since(stopped)
    });
    assert!(took < Duration::from_millis(200), "{took:?}");
}

/// Found by random scenarios: an endless stream over ATP was divided into units without end (20 GB), and a
/// slow reader over a transport without a receive buffer woke up endlessly at one instant.
#[test]
fn streams_without_end_and_slow_readers_over_atp_are_harmless() {
    let text = |app: &str| {
        format!(
            "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\nrate = \"100 kbit/s\"\ndelay = \"10 ms\"\n[run]\nlimit = \"20 s\"\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"atp\"\napp = {{ bulk = {{ {app} }} }}\n"
        )
    };
    for app in ["", "bytes = \"100 kB\", read-rate = \"8 kbit/s\", read-pause = \"1 s\"", "bytes = \"10 MB\""]
    {
        let scenario = scenario::read("s.toml", text(app).as_bytes(), &scenario::NoFiles).unwrap();
        let taken = check::run(&scenario).unwrap();
        assert!((50..100_000).contains(&taken.packets), "{app}: {taken:?}");
    }
}
