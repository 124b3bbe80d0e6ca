//! Tests of networks of cells from scenario files: populations, weather, invalid files, table IV.

use base::dist::Sampler;
use base::rng::Seed;
use lab::system::tables;
use scenario::NoFiles;
use scenario::metric::Metric;
use scenario::model::App;

fn text(users: &str, egprs: &str) -> String {
    format!(
        "williwaw = 1\n[[system]]\nname = \"net\"\negprs = {{ {egprs} }}\n[[system.users]]\nname = \"ftp\"\n{users}\n\
         app = {{ request-reply = {{ request = \"250 B\", reply = \"30 kB\", think = \"5 s\", keep = \"object\" }} }}\n\
         [run]\nlimit = \"60 s\"\n"
    )
}

fn read(text: &str) -> Result<scenario::Scenario, String> {
    scenario::read("test", text.as_bytes(), &NoFiles).map_err(|d| d.to_string())
}

/// EG-16, EG-23, EG-24, EG-25: a population has one row; its members are flows with TCP at both ends and calls again and again.
#[test]
fn eg_16_eg_23_eg_24_eg_25_a_population_has_one_row_and_tables() {
    let scenario = read(&text("count = 30\nstart = \"uniform(0 s, 5 s)\"", "")).unwrap();
    let model = scenario.first();
    assert_eq!((model.flows.len(), model.subjects()), (30, vec!["ftp".to_owned()]));
    let outcome = lab::run_once(model, 0, lab::once::Options::default());
    let [(name, row)] = &outcome.populations[..] else { panic!("one population") };
    assert_eq!(name, "ftp");
    let get = |metric| row.get(metric).unwrap();
    assert!(get(Metric::Pages) > 60.0 && get(Metric::TransferRate) > 20e3, "{}", get(Metric::Pages));
    assert!((0.8..3.0).contains(&get(Metric::RoundTrip)), "{}", get(Metric::RoundTrip));
    assert!(get(Metric::Erlang) > 0.02 && get(Metric::BlockErrorRate) > 0.0);
    let tables = tables::rows(model, &outcome.world, base::Time::ZERO + model.run.limit);
    let all = tables::all();
    let sizes: Vec<(&str, usize)> = all.iter().zip(&tables).map(|(t, rows)| (t.name, rows.len())).collect();
    assert_eq!(sizes[..3], [("users", 30), ("cells", 75), ("slots", 525)]);
    for (table, rows) in all.iter().zip(&tables) {
        assert!(rows.iter().all(|(_, v)| v.len() == table.columns.len()), "{}", table.name);
    }
    let sum = |table: &str, column: &str| -> f64 {
        let i = all.iter().position(|t| t.name == table).unwrap();
        let c = all[i].columns.iter().position(|c| c.name == column).unwrap();
        tables[i].iter().filter_map(|(_, v)| v[c]).sum()
    };
    assert_eq!(sum("cells", "octets_down"), sum("users", "octets_down"), "cells carry what users get");
    let blocks = sum("users", "radio_blocks_down") + sum("users", "radio_blocks_up");
    assert_eq!(sum("radio", "radio_blocks"), blocks, "each radio block has one C/I");
    let uses = sum("slots", "use_down") - sum("cells", "erlang_down");
    assert!(uses.abs() < 1e-6 && (sum("cells", "erlang_down") / 75.0 - get(Metric::Erlang)).abs() < 1e-9);
    let sent: f64 = (1..=9).map(|k| sum("radio", &format!("mcs_{k}_sent"))).sum();
    let lost: f64 = (1..=9).map(|k| sum("radio", &format!("mcs_{k}_lost"))).sum();
    assert!(sent > blocks && lost > 0.0 && lost < 0.4 * sent, "{lost} of {sent}");
    assert!(sum("system", "sgsn_octets") > 0.0 && sizes[3].1 > 30);
    let mean = sum("system", "erlang_down") / sizes[3].1 as f64;
    assert!((mean / get(Metric::Erlang) - 1.0).abs() < 0.1, "{mean}: seconds add up to the run");
}

/// EG-14: packets beyond the SGSN's buffer are dropped there, and the core network's delay is in the round trip: twice
/// the difference where no packet waits for another (a reply of one segment), less where a file fills the queue.
#[test]
fn eg_14_core_network_and_buffer() {
    let run = |reply: &str, egprs: &str| {
        let text = text("count = 20\nstart = \"0 s\"", egprs).replace("30 kB", reply);
        let scenario = read(&text).unwrap();
        let outcome = lab::run_once(scenario.first(), 0, lab::once::Options::default());
        let row = outcome.populations[0].1.clone();
        (row.get(Metric::RoundTrip).unwrap(), row.get(Metric::PacketsDropped).unwrap())
    };
    let added = |reply| run(reply, "core-delay = \"450 ms\"").0 - run(reply, "core-delay = \"50 ms\"").0;
    let (alone, queued) = (added("1 kB"), added("30 kB"));
    assert!((alone - 0.8).abs() < 0.08, "{alone} s beside the 0.8 s of two crossings");
    assert!(queued > 0.4 && queued < alone, "{queued} s: with the longer round trip less waits at the SGSN");
    assert!(run("30 kB", "core-delay = \"50 ms\"").1 < 1.0);
    assert!(run("30 kB", "sgsn-buffer = \"8 KiB\"").1 > 10.0);
}

/// EG-03: the transport changes neither places nor calls; each repetition has other ones.
#[test]
fn eg_03_variants_meet_the_same_weather() {
    let place = |set: &str, repetition| {
        let users = format!("count = 10\nspeed = 50\n{set}");
        let scenario = read(&text(&users, "reselect-after = \"1 s\"")).unwrap();
        let model = scenario.first();
        let outcome = lab::run_once(model, repetition, lab::once::Options::default());
        let cells = outcome.world.network.element::<cells::system::Cells>(outcome.world.systems[0]).unwrap();
        (0..10).map(|m| cells.mobile(m).1).collect::<Vec<_>>()
    };
    let reno = place("transport = { tcp = { profile = \"rfc-2002\" } }", 0);
    assert_eq!(reno, place("transport = { tcp = { profile = \"rfc\", mss = \"536 B\" } }", 0));
    assert_ne!(reno, place("transport = \"tcp\"", 1));
}

/// EG-25: the radio events of a user stand under its picture, and change nothing; the map has mobiles and cell changes.
#[test]
fn eg_25_pictures_of_a_network() {
    let users = "count = 12\nspeed = 90\nstart = \"0 s\"";
    let scenario = read(&text(users, "reselect-after = \"500 ms\", hysteresis = 0")).unwrap();
    let model = scenario.first();
    let changes = |m: usize| {
        let outcome = lab::run_once(model, 0, lab::once::Options::default());
        let cells = outcome.world.network.element::<cells::system::Cells>(outcome.world.systems[0]).unwrap();
        cells.meter().mobiles[m].changes.len()
    };
    let picture = lab::picture::picture(model, 0, 3);
    let layer = |name: &str| picture.layers.iter().find(|l| l.name == name).map_or(0, |l| l.events.len());
    assert_eq!(layer("serving cell"), 2 * changes(3) + 1, "a stretch for each cell and each change");
    assert!(changes(3) > 0 && layer("TBF down") > 3 && !picture.sent.is_empty());
    let units: Vec<&str> = picture.panels.iter().map(|p| p.unit.as_str()).collect();
    assert_eq!(units, ["C/I (dB)", "MCS", "RLC blocks lost (%)", "bytes"]);
    let map = lab::picture::systems::map(model, 0, 0).unwrap();
    assert_eq!(
        (map.sites.len(), map.ground.len(), map.moments[0].mobiles.len()),
        (25, map.points * map.points, 12)
    );
    assert_eq!(map.changes.len(), (0..12).map(changes).sum::<usize>());
    let mut ground = map.ground.clone();
    ground.sort_by(f32::total_cmp);
    // The static layout's median (radio-facts: 13.6 dB), here of one draw of the shadowing.
    assert!((ground[ground.len() / 2] - 13.6).abs() < 1.0, "{}", ground[ground.len() / 2]);
}

#[test]
fn wrong_systems_are_refused_with_a_remedy() {
    for (users, egprs, wanted) in [
        ("count = 5", "cell-radius = -5", "from 1 to"),
        ("count = 5", "reuse = \"3/9\"", "does not tile"),
        ("count = 5", "timeslots = 9", "add transceivers"),
        ("count = 5", "down-slots = 8", "a cell has 7"),
        ("count = 5", "cells = 74", "75, 108"),
        ("count = 5\nnear-site = 25", "", "there is no site 25"),
        ("count = 5\nwithin = 100", "", "add `near-site`"),
        ("count = 5\nnear-site = 3\nwithin = -1", "", "from 1 to"),
        ("count = 5\nspeed = -3", "", "from 0 to"),
        ("count = 5", "up-slots = 8", "a cell has 7"),
        ("count = 5", "timeslots = 17, trx = 3", "have 16"),
        ("count = 5", "cells = 27", "reuse 5/15 does not tile a torus of 3 by 3 sites"),
        ("count = 5", "reselection-delay = \"700 s\"", "`reselection-delay` is at most 600 s"),
        ("count = 5", "sgsn-buffer = 0", "sgsn-buffer"),
        ("count = 5", "interface = \"fast\"", "bursts"),
        ("count = 0", "", "from 1 to"),
        ("", "", "count"),
        ("count = 5", "curves = \"none.csv\"", "none.csv"),
    ] {
        let error = read(&text(users, egprs)).unwrap_err();
        assert!(error.contains(wanted), "{users} {egprs}: {error}");
    }
    // Each error names its line, and several are reported at once.
    let error = read(&text("count = 0\nwithin = 100", "cell-radius = -5")).unwrap_err();
    assert!(error.contains("cell-radius") && error.contains("count") && error.contains("test:"), "{error}");
    let crowd = text("count = 20000", "");
    let more =
        crowd.replace("[run]", "[[system.users]]\nname = \"more\"\ncount = 20000\napp = \"web\"\n[run]");
    assert!(read(&more).unwrap_err().contains("40000 users, and a network of cells has at most 32768"));
    let none = read("williwaw = 1\n[[system]]\nname = \"net\"\n").unwrap_err();
    assert!(none.contains("users"), "{none}");
}

/// EG-21, C076: table IV: logarithms of sizes, objects and reading times as the distributions say.
#[test]
fn eg_18_eg_21_c076_pages_follow_table_iv() {
    let text = "williwaw = 1\n[[system]]\nname = \"net\"\n[[system.users]]\nname = \"web\"\ncount = 1\napp = \"web\"\n";
    let scenario = read(text).unwrap();
    let App::Requests(plan) = &scenario.first().flows[0].app else { panic!("a web page asks") };
    let sample = |dist: &base::dist::Dist, purpose: &str, n: usize| {
        let mut sampler =
            Sampler::new(dist.clone(), Seed { seed: 1, repetition: 0 }.stream("table4", purpose));
        (0..n).map(|_| sampler.draw()).collect::<Vec<f64>>()
    };
    let moments = |all: &[f64]| {
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        (mean, libm::sqrt(all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n))
    };
    let logs = |dist, purpose| {
        moments(&sample(dist, purpose, 100_000).into_iter().map(libm::log).collect::<Vec<_>>())
    };
    for (dist, purpose, mean, deviation) in
        [(&plan.reply, "main", 8.346, 1.366), (&plan.object, "object", 6.166, 2.363)]
    {
        let (m, d) = logs(dist, purpose);
        assert!((m / mean - 1.0).abs() < 0.02 && (d / deviation - 1.0).abs() < 0.02, "{purpose}: {m} {d}");
    }
    let objects: Vec<f64> = sample(&plan.objects, "objects", 100_000).into_iter().map(f64::round).collect();
    assert!((moments(&objects).0 / 5.5 - 1.0).abs() < 0.05 && objects.iter().all(|n| *n <= 55.0));
    let reading = moments(&sample(&plan.think, "reading", 100_000)).0 / 1e9;
    assert!((reading / 30.0 - 1.0).abs() < 0.05, "{reading}");
}

/// Values of columns of the table of cells after a repetition, by cell.
fn cell_columns<const N: usize>(text: &str, names: [&str; N]) -> Vec<[Option<f64>; N]> {
    let scenario = read(text).unwrap();
    let model = scenario.first();
    let outcome = lab::run_once(model, 0, lab::once::Options::default());
    let tables = tables::rows(model, &outcome.world, base::Time::ZERO + model.run.limit);
    let all = tables::all();
    let at = all.iter().position(|t| t.name == "cells").unwrap();
    let places = names.map(|name| all[at].columns.iter().position(|c| c.name == name).unwrap());
    tables[at].iter().map(|(_, values)| places.map(|c| values[c])).collect()
}

/// EG-12: voice blocking, in the table of cells, is Erlang's loss formula within four standard errors of 75 independent
/// cells; calls carried are the traffic carried; packet data with a block to send lost periods to calls.
#[test]
fn eg_12_voice_blocking_by_cell_is_erlang_b() {
    let names = [
        "voice_calls_offered",
        "voice_calls_carried",
        "voice_blocking",
        "voice_erlang",
        "voice_preempted_down",
        "voice_preempted_up",
    ];
    // 20 s are long beside the tick of 20 ms, to which gaps and lengths of calls are cut.
    let (limit, length, slots) = (3000.0, 20.0, 7);
    for erlang in [3.0, 6.0, 9.0] {
        let text = text("count = 75\nstart = \"0 s\"", &format!("voice = {erlang}, voice-call = \"20 s\""))
            .replace("\"60 s\"", "\"3000 s\"");
        let cells = cell_columns(&text, names).into_iter().map(|c| c.map(Option::unwrap)).collect::<Vec<_>>();
        let by_cell = |of: &dyn Fn(&[f64; 6]) -> f64| {
            let (n, mean) = (cells.len() as f64, cells.iter().map(of).sum::<f64>() / cells.len() as f64);
            let variance = cells.iter().map(|c| (of(c) - mean).powi(2)).sum::<f64>() / (n - 1.0);
            (mean, (variance / n).sqrt())
        };
        // The recursion of Erlang B.
        let loss = (1..=slots).fold(1.0, |b, n| erlang * b / (f64::from(n) + erlang * b));
        let holds = |what: &str, (mean, error): (f64, f64), expected: f64| {
            println!("{erlang} Erlang: {what} {mean:.4} +- {error:.4}, expected {expected:.4}");
            assert!((mean - expected).abs() < 4.0 * error, "{erlang}: {what} {mean} +- {error}, {expected}");
            error
        };
        let error = holds("blocking", by_cell(&|c| 1.0 - c[1] / c[0]), loss);
        assert!(error < 0.06 * loss, "{error}: too wide to tell");
        holds("calls", by_cell(&|c| c[0]), limit / length * erlang);
        let error = holds("Erlang carried", by_cell(&|c| c[3]), erlang * (1.0 - loss));
        assert!(error < 0.02 * erlang);
        for [offered, carried, blocking, held, down, up] in &cells {
            assert!((blocking - (1.0 - carried / offered)).abs() < 1e-12);
            assert!(down + up <= 2.0 * 50.0 * limit * held);
        }
        let [down, up] = [4, 5].map(|i| cells.iter().map(|c| c[i]).sum::<f64>());
        assert!(down > 0.0 && up > 0.0, "{down} {up}");
    }
    let without = cell_columns(&text("count = 1\nstart = \"0 s\"", ""), names);
    assert!(without.iter().flatten().all(Option::is_none), "no rows of calls without voice");
}

/// EG-11: requests of TBFs that find all timeslots full are queued, and counted; none is with few mobiles.
#[test]
fn eg_11_requests_that_wait_are_counted_by_cell() {
    let names = ["tbf_requests_down", "tbf_blocking_down", "tbf_requests_up", "tbf_blocking_up"];
    let run = |count: u32, egprs: &str| {
        let users = format!("count = {count}\nstart = \"0 s\"\nnear-site = 3\nwithin = 300");
        let cells = cell_columns(&text(&users, egprs), names);
        let sum = |of: &dyn Fn(&[Option<f64>; 4]) -> f64| cells.iter().map(of).sum::<f64>();
        let queued = |way: usize| {
            sum(&|c| c[2 * way].unwrap() * c[2 * way + 1].unwrap_or(0.0)) / sum(&|c| c[2 * way].unwrap())
        };
        (queued(0), queued(1), cells.iter().filter(|c| c[1].is_some()).count())
    };
    let (down, up, cells) = run(6, "");
    assert!(down == 0.0 && up == 0.0 && (1..=4).contains(&cells), "{down} {up} {cells}");
    let (down, up, _) = run(120, "");
    println!("120 mobiles at one site: {down:.3} downlink, {up:.3} uplink");
    assert!(down > 0.1 && up == 0.0, "an uplink timeslot for each of 49 mobiles a cell: {down} {up}");
}
