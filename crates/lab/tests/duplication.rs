//! Tests of packet duplication as an impairment (NS-19), and of its effect on D-SACK, F-RTO and Eifel
//! ("Improving the Responsiveness of TCP", section II.C; "TCP in the Presence of Delay Spikes", section 2.1).

use base::event::Event;
use lab::once::{Options, RunOutcome, run_once};
use scenario::Model;
use scenario::metric::Metric;
use testkit::Download;

const PAUSES: &str = "[[hop.gate]]\nname = \"pauses\"\nspikes = [[\"4 s\", \"4 s\"], [\"14 s\", \"5 s\"]]";

fn model(faults: &str, options: &str) -> Model {
    let path = Download::over("200 kbit/s", "120 ms").drop_tail(40).faults(faults);
    let flow = path.tcp(&format!("mss = \"1000 B\", window = \"20 segments\", {options}")).bytes("400 kB");
    let text = flow.limit("10 min").run("seed = 3").text();
    testkit::model::<&str>(&text, &[])
}

fn copies(directions: &str, rule: &str) -> String {
    format!("{PAUSES}\n[[hop.duplication]]\nname = \"copies\"\ndirections = \"{directions}\"\n{rule}")
}

fn play(model: &Model) -> RunOutcome {
    run_once(model, 0, Options { trace: true, shuffle_ties: None })
}

/// How often the sender's detector said "spurious", and how often it did of all it said.
fn verdicts(outcome: &RunOutcome) -> (usize, usize) {
    let said: Vec<bool> = (outcome.world.network.records().iter())
        .filter_map(|r| match r.event {
            Event::Verdict { spurious, .. } => Some(spurious),
            _ => None,
        })
        .collect();
    (said.iter().filter(|s| **s).count(), said.len())
}

fn metric(outcome: &RunOutcome, metric: Metric) -> f64 {
    outcome.flows[0].get(metric).unwrap_or(f64::NAN)
}

/// Copies are counted, end like any packet, and cost nothing but their place in the network (NS-19).
#[test]
fn copies_arrive_and_the_books_balance() {
    for rule in ["probability = 0.3", "packets = \"3-5, 9\"", "probability = 1.0"] {
        let faults = copies("both", rule).replace(PAUSES, "");
        let outcome = play(&model(&faults, "spurious = \"none\""));
        let (plain, counters) = (play(&model("", "spurious = \"none\"")), outcome.world.network.counters());
        assert_eq!(counters.sent, counters.absorbed + counters.dropped, "{rule}");
        let of_plain = plain.world.network.counters();
        if rule == "packets = \"3-5, 9\"" {
            // Each copy is a segment that came twice, which is acknowledged at once.
            assert!(counters.sent >= of_plain.sent + 4 && counters.sent <= of_plain.sent + 12, "{rule}");
        }
        assert_eq!(metric(&outcome, Metric::SpuriousTimeouts), 0.0, "{rule}");
        assert_eq!(
            metric(&outcome, Metric::PacketsDropped),
            metric(&plain, Metric::PacketsDropped),
            "{rule}"
        );
        let (with, without) = (metric(&outcome, Metric::DownloadTime), metric(&plain, Metric::DownloadTime));
        assert!(with < 1.5 * without, "{rule}: {with} s against {without} s");
    }
}

/// A copy of the acknowledgement that follows a spurious timeout is a duplicate: F-RTO takes the timeout for genuine (RFC
/// 5682 section 2.1 step 3 a), and Eifel, which reads timestamps, does not mind (NS-19, EI-20, EI-01).
#[test]
fn copied_acknowledgements_blind_frto_and_not_eifel() {
    let up = copies("up", "probability = 1.0");
    for (options, copied) in [
        ("spurious = \"frto-basic\", recovery = \"newreno\", response = \"undo\"", false),
        ("spurious = \"eifel\", timestamps = true, recovery = \"newreno\", response = \"undo\"", true),
    ] {
        let alone = play(&model(PAUSES, options));
        let with = play(&model(&up, options));
        assert!(metric(&alone, Metric::SpuriousTimeouts) >= 2.0, "{options}");
        assert!(metric(&with, Metric::SpuriousTimeouts) >= 1.0, "{options}");
        let (found, of) = verdicts(&alone);
        assert_eq!((found, found > 0), (of, true), "{options}");
        let (found, of) = verdicts(&with);
        assert_eq!(found == of && of > 0, copied, "{options}: {found} of {of}");
        assert!(copied || found == 0, "{options}: {found} of {of}");
    }
}

/// A report of a segment that was never sent again tells that the network duplicates: D-SACK then judges nothing (RFC 3708
/// section 3 step A.4; NS-19, EI-22).
#[test]
fn copied_data_switch_the_dsack_detector_off() {
    let options = "spurious = \"dsack\", recovery = \"newreno\", sack = true, response = \"undo\"";
    // A pause longer than one expiration: data resent twice give no verdict.
    let short = PAUSES.replace("\"4 s\"], [\"14 s\", \"5 s\"]", "\"2 s\"], [\"14 s\", \"2 s\"]");
    let alone = verdicts(&play(&model(&short, options)));
    assert!(alone.0 > 0, "{alone:?}");
    let with = verdicts(&play(&model(&copies("down", "packets = \"2\"").replace(PAUSES, &short), options)));
    assert_eq!(with.0, 0, "{with:?}");
}
