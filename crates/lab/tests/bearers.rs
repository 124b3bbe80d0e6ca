//! Radio bearers from scenario files: bills, load of a cell, distance, traffic classes, causes of lost circuits, tables.

mod common;

use common::metric;
use lab::once::{Options, RunOutcome, run_once};
use scenario::Model;
use scenario::metric::Metric;
use testkit::Download;
use testkit::radio_hop::{flow, over_radio};

fn play(model: &Model) -> RunOutcome {
    run_once(model, 0, Options::default())
}

/// One download over a GPRS bearer with these keys.
fn gprs(keys: &str, more: &str) -> RunOutcome {
    play(&testkit::model::<&str>(&gprs_text(keys, more, "\"tcp\""), &[]))
}

fn gprs_text(keys: &str, more: &str, transport: &str) -> String {
    let transfer = flow("transfer", "server", "phone", transport, "{ bulk = { bytes = \"100 kB\" } }");
    over_radio(&format!("[hop.radio.gprs]\n{keys}\n{more}"), &transfer, "20 min")
}

/// Bearers do not count how long packets wait in their buffers, so that the delay is unknown and not 0.
#[test]
fn queue_delay_over_a_bearer_is_unknown() {
    let bearer = gprs("sgsn = { buffer = \"50 kB\" }", "");
    assert!(metric(&bearer, 0, Metric::DownloadTime) > 0.0);
    assert_eq!(bearer.flows[0].get(Metric::QueueDelay), None);
    let link =
        play(&testkit::model::<&str>(&Download::over("30 kbit/s", "300 ms").bytes("100 kB").text(), &[]));
    assert!(metric(&link, 0, Metric::QueueDelay) > 0.0);
}

/// CH-03, CH-04, CH-05: omissions of a bill by volume, and a tariff with surcharges by cause.
#[test]
fn ch_03_ch_04_ch_05_bills_of_the_radio_network() {
    let tariff =
        "[hop.radio.gprs.tariff]\nkilobyte = 2\nrepeated-kilobyte = 0.5\nreselection = 7\nallocation = 0.25";
    let at = "reselection = { at = [\"15 s\"] }";
    let clean = gprs("", tariff);
    let poor = gprs(&format!("errors = {{ constant = {{ rate = 0.2 }} }}\n{at}"), tariff);
    for outcome in [&clean, &poor] {
        let get = |m| metric(outcome, 0, m);
        let (all, unbilled) = (get(Metric::RadioOctets), get(Metric::RadioOctetsUnbilled));
        assert!(unbilled > 0.0 && unbilled < all, "{unbilled} of {all}");
        // Blocks of data are CS-2 with 33 octets, the rest is CS-1 with 23.
        let repeated = get(Metric::RadioBlocksRepeated);
        let setups = get(Metric::TbfSetups);
        let surcharges = 0.5 * repeated * 33.0 / 1000.0 + 7.0 * get(Metric::CellChanges) + 0.25 * setups;
        assert!((get(Metric::BillSurcharges) - surcharges).abs() < 1e-9);
        assert!(get(Metric::BillGateway) >= get(Metric::BillRadio) - surcharges - 1e-9);
    }
    let gap = |o: &RunOutcome| {
        metric(o, 0, Metric::BillGateway) - metric(o, 0, Metric::BillRadio)
            + metric(o, 0, Metric::BillSurcharges)
    };
    // Nothing is lost between gateway and mobile: both count the same octets. With the change of cell some are.
    assert!(gap(&clean).abs() < 1e-9 && gap(&poor) > 1.0, "{} {}", gap(&clean), gap(&poor));
    assert!(metric(&poor, 0, Metric::RadioOctetsUnbilled) > metric(&clean, 0, Metric::RadioOctetsUnbilled));
    assert!(metric(&poor, 0, Metric::BillSurcharges) > metric(&clean, 0, Metric::BillSurcharges) + 7.0);
}

/// MO-11: calls on the timeslots and other packet users slow a download down; a reserved timeslot keeps it alive.
#[test]
fn mo_11_calls_and_other_users_take_the_rate() {
    let time = |load: &str| {
        let keys = format!("class = 4\ntimeslots = 4\n{load}");
        metric(&gprs(&keys, ""), 0, Metric::DownloadTime)
    };
    let alone = time("");
    // Far more calls than timeslots: three of four are always taken, and one of our three is left.
    let calls = time("cell-load = { calls = 60, reserved = 1 }");
    assert!((2.2..3.6).contains(&(calls / alone)), "{calls} {alone}");
    // About three other users on each of four timeslots: a quarter of the blocks.
    let others = time("cell-load = { users = 12, user-stays = \"10 s\" }");
    assert!((2.2..5.0).contains(&(others / alone)), "{others} {alone}");
}

/// WL-14: causes of lost circuits are distinguished.
#[test]
fn wl_14_causes_of_disconnections() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        radio = { hscsd = { disconnections = { every = "exponential(20 s)", lasts = "1 s", handover = 6, air-interface = 3, remote-equipment = 0 } } }
        [[flow]]
        name = "quiet"
        from = "server"
        to = "phone"
        transport = { udp = {} }
        app = { ticker = { size = "100 B", every = "5 s", count = 2000 } }
        [run]
        limit = "3 h"
    "#;
    let outcome = play(&testkit::model::<&str>(text, &[]));
    let [handover, air, remote] =
        [Metric::DisconnectionsHandover, Metric::DisconnectionsAir, Metric::DisconnectionsRemote]
            .map(|m| metric(&outcome, 0, m));
    assert_eq!(handover + air + remote, metric(&outcome, 0, Metric::CellChanges));
    assert!(remote == 0.0 && handover > 1.5 * air && air > 100.0, "{handover} {air} {remote}");
}

/// WL-14: pauses of a GPRS bearer by cause: changes of cell, voice calls, restarts of each element.
#[test]
fn wl_14_causes_of_pauses() {
    let keys = r#"
        sgsn = { buffer = "50 kB", leak = "30 kbit/s" }
        reselection = { at = ["8 s"] }
        voice = { every = "40 s", lasts = "5 s" }
    "#;
    let restart = |element: &str, at: &str| {
        format!(
            "[[hop.radio.gprs.restart]]\nname = \"{element}-{}\"\nelement = \"{element}\"\nat = [{at}]\nlasts = \"4 s\"\n",
            at.len()
        )
    };
    let all = [("pcu", "\"14 s\", \"24 s\""), ("bsc", "\"32 s\""), ("sgsn", "\"40 s\"")];
    let restarts: String = all.iter().map(|(element, at)| restart(element, at)).collect();
    use Metric::*;
    let causes = [CellChanges, RestartsPcu, RestartsBsc, RestartsSgsn, RestartTime];
    let with = gprs(keys, &restarts);
    assert_eq!(causes.map(|m| metric(&with, 0, m)), [1.0, 2.0, 1.0, 1.0, 16.0]);
    assert!(metric(&with, 0, PacketsLostInRestarts) >= 4.0 && metric(&with, 0, VoiceCalls) >= 1.0);
    let without = gprs(keys, "");
    assert_eq!(causes.map(|m| metric(&without, 0, m)), [1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(metric(&without, 0, PacketsLostInRestarts), 0.0);
    assert!(metric(&with, 0, DownloadTime) > metric(&without, 0, DownloadTime) + 10.0);
}

/// WC-02, WC-10: place and common fate of PDUs from a scenario file.
#[test]
fn wc_10_rate_by_distance_and_load() {
    let time = |place: &str| {
        let text = format!(
            r#"
            williwaw = 1
            [[hop]]
            name = "radio"
            between = ["server", "phone"]
            radio = {{ wcdma = {{ together = true, place = [{place}] }} }}
            [[flow]]
            name = "transfer"
            from = "server"
            to = "phone"
            app = {{ bulk = {{ bytes = "300 kB" }} }}
            [run]
            limit = "1 h"
            "#
        );
        metric(&play(&testkit::model::<&str>(&text, &[])), 0, Metric::DownloadTime)
    };
    let near = time("{ distance = 200, load = 0.2 }");
    let edge = time("{ distance = 1000, load = 0.8 }");
    let both = time("{ distance = 200, load = 0.2 }, { at = \"3 s\", distance = 1000, load = 0.8 }");
    assert!(near < 12.0 && edge > 1.5 * near, "{near} {edge}");
    assert!(near < both && both < edge, "{near} {both} {edge}");
}

/// GP-21, GP-24, GP-43: classes and the bucket of the cell from a scenario file; a class of an unknown flow is refused.
#[test]
fn gp_21_gp_24_gp_43_from_scenario_files() {
    let class = |flow: &str| {
        format!(
            "[[hop.radio.gprs.traffic]]\nname = \"a\"\nflows = [\"{flow}\"]\nhold = \"3 s\"\nrepeats = false"
        )
    };
    let lossy = "errors = { constant = { rate = 0.05 } }\nrlc = { idle-repeat = \"never\" }";
    let plain = gprs(lossy, "");
    let given_up = gprs(lossy, &class("transfer"));
    assert_eq!(metric(&plain, 0, Metric::PacketsDropped), 0.0);
    assert!(metric(&given_up, 0, Metric::PacketsDropped) > 5.0);
    let free = metric(&gprs("", ""), 0, Metric::DownloadTime);
    let shared = metric(
        &gprs("sgsn = { cell-leak = \"12 kbit/s\", cell-bucket = \"2 kB\" }", ""),
        0,
        Metric::DownloadTime,
    );
    assert!(shared > 1.5 * free, "{free} {shared}");
    let text = format!(
        "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"a\", \"b\"]\n[hop.radio.gprs]\n{}\n[[flow]]\nname = \"transfer\"\nfrom = \"a\"\nto = \"b\"\napp = {{ bulk = {{ bytes = \"1 kB\" }} }}\n",
        class("transfers")
    );
    let wrong =
        scenario::read("test", text.as_bytes(), &scenario::NoFiles).map(|_| ()).unwrap_err().to_string();
    assert!(
        wrong.contains("there is no flow `transfers`") && wrong.contains("did you mean `transfer`"),
        "{wrong}"
    );
}

/// GP-02, GP-46: rates of Abis and Gn from a scenario file.
#[test]
fn gp_46_rates_of_abis_and_gn() {
    let time = |more: &str| {
        let keys = format!("class = 8\nscheme = \"cs-4\"\ntimeslots = 4\nllc = {{ n201 = 1520 }}\n{more}");
        metric(&gprs(&keys, ""), 0, Metric::DownloadTime)
    };
    let free = time("");
    let abis = time("abis-rate = \"32 kbit/s\"");
    // 32 kbit/s carry 67.8 blocks of 50 octets a second, and acknowledgements' reports are downlink blocks too.
    assert!(abis > 100_000.0 / (67.8 * 50.0) && abis > 1.5 * free, "{abis} {free}");
    let gn = time("delays = { gn-rate = \"16 kbit/s\" }");
    assert!(gn > 8.0 * 100_000.0 / 16_000.0 && gn < 1.3 * 8.0 * 100_000.0 / 16_000.0, "{gn}");
}

/// GP-40: link adaptation by a file of C/I, and calls that take timeslots, from a scenario file.
#[test]
fn gp_40_a_circuit_from_a_scenario_file() {
    let text = |keys: &str| {
        format!(
            r#"
            williwaw = 1
            [[hop]]
            name = "radio"
            between = ["server", "phone"]
            [hop.radio.hscsd]
            {keys}
            [[flow]]
            name = "transfer"
            from = "server"
            to = "phone"
            app = {{ bulk = {{ bytes = "200 kB" }} }}
            [run]
            limit = "1 h"
            "#
        )
    };
    let files = |_: &str| Ok(b"t_s,c_over_i_db\n0,25\n10,4\n".to_vec());
    let time = |keys: &str| {
        let scenario = scenario::read("circuit.toml", text(keys).as_bytes(), &files);
        let scenario = scenario.unwrap_or_else(|d| panic!("{d}"));
        metric(&play(scenario.first()), 0, Metric::DownloadTime)
    };
    let (good, poor) = (time("adaptation = { db = 25 }"), time("adaptation = { file = \"drive\" }"));
    assert!(good < 60.0 && poor > 1.2 * good, "{good} {poor}");
    let busy = time("contention = { timeslots = 3, calls = 20 }");
    assert!(busy > 2.0 * good, "{busy} {good}");
    let refused = |keys: &str| {
        scenario::read("circuit.toml", text(keys).as_bytes(), &files).map(|_| ()).unwrap_err().to_string()
    };
    let state = "adaptation = { db = 9 }\nstate = [{ name = \"a\", rate = \"9 kbit/s\" }]";
    assert!(refused(state).contains("with [[...state]]"));
    assert!(
        refused("contention = { timeslots = 2, calls = 1 }").contains("more timeslots than the cell has (2)")
    );
    let last = "contention = { calls = 1, fallback = [{ down = 2, up = 2 }] }";
    assert!(refused(last).contains("the last fallback needs more than one timeslot"));
    let wide = "contention = { calls = 1, fallback = [{ down = 1, up = 2 }, { down = 1, up = 1 }] }";
    assert!(refused(wide).contains("1 timeslots downlink and 2 uplink"));
}

/// NS-07, GP-03: rows of users, cells and timeslots of GPRS bearers.
#[test]
fn tables_of_gprs_bearers() {
    let bearer = "radio = { gprs = { cell = \"here\", timeslots = 4 } }";
    let mut text = "williwaw = 1\n[run]\nlimit = \"200 s\"\n".to_owned();
    for name in ["one", "two"] {
        text.push_str(&format!(
            "[[hop]]\nname = \"{name}\"\nbetween = [\"server\", \"phone-{name}\"]\n{bearer}\n"
        ));
        text.push_str(&format!("[[flow]]\nname = \"f-{name}\"\nfrom = \"server\"\nto = \"phone-{name}\"\napp = {{ bulk = {{ bytes = \"50 kB\" }} }}\n"));
    }
    let model = testkit::model::<&str>(&text, &[]);
    let outcome = play(&model);
    let tables = lab::system::tables::rows(&model, &outcome.world, base::Time::ZERO + model.run.limit);
    let all = lab::system::tables::all();
    let names: Vec<&str> = tables[0].iter().map(|r| r.0.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!((tables[1].len(), tables[1][0].0.as_str(), tables[2].len()), (1, "here", 4));
    let at = |t: usize, column: &str| all[t].columns.iter().position(|c| c.name == column).unwrap();
    let sum = |t: usize, column: &str| tables[t].iter().filter_map(|r| r.1[at(t, column)]).sum::<f64>();
    assert_eq!(sum(0, "octets_down"), sum(1, "octets_down"));
    assert!(sum(0, "octets_down") > 100_000.0);
    assert!((sum(2, "use_down") - sum(1, "erlang_down")).abs() < 1e-9 && sum(1, "erlang_down") > 0.1);
    assert!(lab::system::tables::wanted(&model));
}

/// MO-01: a link outage, a handover, a voice call of higher priority and a scheduler that serves another mobile first each
/// interrupt a download for seconds. Nothing is lost, and the retransmission timer expires spuriously.
#[test]
fn mo_01_four_causes_of_delay_spikes() {
    let window = "{ tcp = { window = \"8 KiB\" } }";
    let link = |faults: &str| {
        let path = Download::over("30 kbit/s", "300 ms").unlimited().faults(faults).transport(window);
        play(&testkit::model::<&str>(&path.text(), &[]))
    };
    let bearer = |keys: &str| play(&testkit::model::<&str>(&gprs_text(keys, "", window), &[]));
    let turns = |turn: u32| {
        let text = include_str!("../../../experiments/overview/turns.scenario.toml");
        play(&testkit::model(text, &[format!("hop.first.radio.gprs.turn={turn}")]))
    };
    let outage = "[[hop.gate]]\nname = \"tunnel\"\nspikes = [[\"15 s\", \"8 s\"]]";
    let causes = [
        ("link outage", link(""), link(outage)),
        ("handover", bearer(""), bearer("reselection = { at = [\"15 s\"], outage = \"8 s\", deletes = 0 }")),
        ("voice call", bearer(""), bearer("voice = { every = \"15 s\", lasts = \"8 s\" }")),
        ("scheduler", turns(1), turns(400)),
    ];
    for (cause, without, with) in &causes {
        let get = |m| (metric(without, 0, m), metric(with, 0, m));
        let (spurious, genuine) = (get(Metric::SpuriousTimeouts), get(Metric::GenuineTimeouts));
        let (time, drops) = (get(Metric::DownloadTime), get(Metric::PacketsDropped));
        assert!(spurious.1 > spurious.0 && genuine == (0.0, 0.0), "{cause}: {spurious:?} {genuine:?}");
        assert!(time.1 > time.0 + 5.0 && drops == (0.0, 0.0), "{cause}: {time:?} {drops:?}");
    }
}

/// QM-12: the best buffer is slightly above the bandwidth-delay product, 5 to 10 packets over GPRS. Without three packets
/// at the link (one of them in service) fast retransmit has too few duplicates; more room adds delay and no throughput.
#[test]
fn qm_12_the_best_buffer_is_slightly_above_the_product() {
    // 576 B at 30 kbit/s take 0.154 s, an ACK 0.011 s: 2.9 kB in a round trip of 0.765 s.
    let product: f64 = 30e3 * (2.0 * 0.3 + (576.0 + 40.0) * 8.0 / 30e3) / 8.0 / 576.0;
    let at = |limit: u32| {
        let path = Download::over("30 kbit/s", "300 ms").drop_tail(limit).tcp("mss = \"536 B\"");
        let outcome = play(&testkit::model::<&str>(&path.bytes("300 kB").limit("20 min").text(), &[]));
        [Metric::DownloadTime, Metric::QueueDelay, Metric::GenuineTimeouts].map(|m| metric(&outcome, 0, m))
    };
    let all: Vec<(u32, [f64; 3])> = (1..=40).map(|limit| (limit, at(limit))).collect();
    let least = all.iter().map(|(_, [time, ..])| *time).fold(f64::INFINITY, f64::min);
    let (best, [_, delay, _]) = *all.iter().find(|(_, [time, ..])| *time < 1.01 * least).unwrap();
    assert!((5..=10).contains(&best), "{best}");
    assert!((1.0..2.0).contains(&(f64::from(best) / product)), "{best} {product}");
    assert!(all[0].1[2] > 10.0 && all[1..].iter().all(|(_, [.., timeouts])| *timeouts <= 1.0), "{all:?}");
    assert!(all[39].1[1] > 5.0 * delay, "{all:?}");
}
