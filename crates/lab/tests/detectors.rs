//! The claim: each detector is as accurate as its principle allows. Every verdict is compared with the true fate of
//! every copy, in three kinds of weather: pauses alone, pauses with losses, and outages of the reverse path. The
//! limits below follow from the algorithms, not from measurements.
//!
//! Sound: it says "spurious" only where the retransmission was unneeded. Complete: it finds every timeout that
//! was. Where packets keep their order and none is doubled, every detector is sound as long as no
//! acknowledgement is lost, and Eifel even then; without its test for lost acknowledgements Eifel is complete
//! in pauses too. The others owe an answer where they say so in their files.

use base::event::Event;
use base::truth::Cause;
use lab::once::{Options, run_once};
use proptest::prelude::*;
use scenario::Model;
use scenario::metric::Metric;
use testkit::Download;

const PAUSES: &str = "[[hop.gate]]\nname = \"pauses\"\nevery = \"uniform(8 s, 20 s)\"\nfirst = \"uniform(2 s, 9 s)\"\nlasts = \"uniform(500 ms, 8 s)\"";
const LOSSES: &str = "[[hop.loss]]\nname = \"noise\"\ndirections = \"down\"\nprobability = 0.02";
const BACK: &str = "[[hop.gate]]\nname = \"outages\"\ndirections = \"up\"\nevery = \"uniform(8 s, 20 s)\"\nfirst = \"uniform(2 s, 9 s)\"\nlasts = \"uniform(500 ms, 8 s)\"";
const BACK_LOSSES: &str = "[[hop.loss]]\nname = \"deaf\"\ndirections = \"up\"\nprobability = 0.15";

fn path(rate: u32, delay_us: u32, queue: u32, weather: &str, options: &str, seed: u16) -> String {
    let path =
        Download::over(&format!("{rate} bit/s"), &format!("{delay_us} us")).drop_tail(queue).faults(weather);
    let flow = path.tcp(&format!("mss = \"1000 B\", {options}")).bytes("400 kB");
    flow.limit("10 h").run(&format!("seed = {seed}")).text()
}

fn read(text: &str) -> Model {
    testkit::model::<&str>(text, &[])
}

fn model(weather: &[&str], options: &str) -> Model {
    read(&path(200_000, 120_000, 20, &weather.join("\n"), options, 1))
}

/// How verdicts and truth meet.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
struct Meeting {
    /// Said and is spurious.
    right: u32,
    /// Said to be spurious, and is not.
    wrong: u32,
    /// Said to be genuine, and is.
    genuine: u32,
    /// Said to be genuine, and is spurious.
    missed: u32,
    /// Spurious, and nothing was said.
    silent: u32,
}

impl Meeting {
    fn judge(&mut self, said: bool, is: bool) {
        *match (said, is) {
            (true, true) => &mut self.right,
            (true, false) => &mut self.wrong,
            (false, false) => &mut self.genuine,
            (false, true) => &mut self.missed,
        } += 1;
    }
}

/// Verdicts on timeouts, and on fast retransmits. Of timeouts in a row the first counts, or the last.
fn meet(model: &Model, last: bool) -> [Meeting; 2] {
    let mut out = [Meeting::default(); 2];
    for repetition in 0..20 {
        let mut run = run_once(model, repetition, Options { trace: true, shuffle_ties: None });
        assert!(run.complete);
        let ends = run.world.flows[0];
        let mut truths = run.world.network.ledgers()[0].verdicts().into_iter();
        let mut open: [Option<bool>; 2] = [None; 2];
        let mut row = 0;
        for record in run.world.network.tracer().take() {
            if record.source.0 != ends.from.0 {
                continue;
            }
            match record.event {
                Event::RtoFired { expirations, .. } => {
                    row = expirations;
                    if row == 1 {
                        // An episode that is open when the next begins was never judged. The next segment can be a
                        // FIN, which the truth does not cover.
                        out[0].silent += u32::from(open[0].take() == Some(true));
                    }
                }
                Event::FastRetransmit { .. } => out[1].silent += u32::from(open[1].take() == Some(true)),
                Event::DataSent { cause, .. } if cause != Cause::New => {
                    let truth = truths.next().map(|v| v.unneeded);
                    let kind = match cause {
                        Cause::Timeout if last || row == 1 => 0,
                        Cause::Fast => 1,
                        _ => continue,
                    };
                    open[kind] = truth;
                }
                Event::Verdict { spurious, .. } => {
                    if let Some(is) = open[0].take() {
                        out[0].judge(spurious, is);
                    }
                }
                Event::FastRetransmitVerdict { spurious, .. } => {
                    if let Some(is) = open[1].take() {
                        out[1].judge(spurious, is);
                    }
                }
                _ => {}
            }
        }
    }
    out
}

/// Detectors with the options that they need; whether the last of timeouts in a row counts.
const DETECTORS: [(&str, &str, bool); 8] = [
    ("eifel", "", false),
    ("eifel", ", judge-lost-acks = true", false),
    ("frto", ", timestamps = false", false),
    ("frto-basic", ", timestamps = false", false),
    ("dsack", ", sack = true", false),
    ("linux", ", sack = true", false),
    ("linux", ", sack = true, timestamps = false", false),
    ("min-rtt", ", timestamps = false", true),
];
const RECOVERIES: [&str; 9] =
    ["tahoe", "reno", "newreno", "newreno-sack", "sack", "rfc3517", "rfc6675", "fack", "rack"];

fn options(recovery: &str, detector: &str, more: &str) -> String {
    format!("recovery = \"{recovery}\", spurious = \"{detector}\"{more}")
}

/// EI-01, EI-03, EI-20, EI-21, EI-22, EI-23, EI-25: in order and without duplicates no detector calls a loss spurious,
/// and each finds some spurious timeouts, with any pauses and losses.
#[test]
fn whoever_says_spurious_is_right() {
    let weathers = [vec![PAUSES], vec![PAUSES, LOSSES], vec![BACK], vec![BACK, BACK_LOSSES]];
    for weather in &weathers {
        for recovery in RECOVERIES {
            for (detector, more, last) in DETECTORS {
                let [timeouts, fast] = meet(&model(weather, &options(recovery, detector, more)), last);
                let who = format!("{weather:?} {recovery} {detector}{more}: {timeouts:?} {fast:?}");
                assert_eq!((timeouts.wrong, fast.wrong), (0, 0), "{who}");
                // Duplicate reports are lost with the acknowledgements that carry them.
                assert!(timeouts.right > 0 || (detector == "dsack" && weather.len() == 2), "{who}");
            }
        }
    }
}

/// EI-26: one bit each way is as good as timestamps, unless ACKs are lost: then the next ACK, for another segment, is
/// taken for that of the retransmission.
#[test]
fn the_retransmit_flag_is_right_while_no_acknowledgement_is_lost() {
    for weather in [vec![PAUSES], vec![PAUSES, LOSSES]] {
        for recovery in RECOVERIES {
            let [timeouts, fast] = meet(&model(&weather, &options(recovery, "retransmit-flag", "")), false);
            assert_eq!((timeouts.wrong, fast.wrong), (0, 0), "{weather:?} {recovery}");
            assert!(timeouts.right > 0, "{weather:?} {recovery}");
        }
    }
}

/// EI-01, EI-02: where the acknowledgements all come, the first one after a spurious timeout answers the
/// original, and its echo says so. The test for lost acknowledgements (RFC 3522 step 5) gives some of them
/// up: those where one acknowledgement covers all that is outstanding.
#[test]
fn eifel_finds_every_spurious_timeout_that_it_judges() {
    for weather in [vec![PAUSES], vec![PAUSES, LOSSES]] {
        for recovery in RECOVERIES {
            let with = |more: &str| meet(&model(&weather, &options(recovery, "eifel", more)), false);
            let [timeouts, fast] = with(", judge-lost-acks = true");
            assert_eq!((timeouts.missed, fast.missed), (0, 0), "{weather:?} {recovery}");
            let [doubtful, _] = with("");
            assert!(doubtful.missed <= doubtful.right, "{weather:?} {recovery}: {doubtful:?}");
        }
    }
}

/// EI-21: the least round trip detects only ACKs within a round trip of the retransmission. The end of a pause falls
/// anywhere between two expirations, which are further apart than that: most spurious timeouts are missed.
#[test]
fn the_least_round_trip_misses_most() {
    let [timeouts, _] = meet(&model(&[PAUSES], &options("rfc6675", "min-rtt", ", timestamps = false")), true);
    assert!(timeouts.missed > timeouts.right, "{timeouts:?}");
}

/// EI-20: a sender of ns-2's kind forgets all reports when new data are acknowledged. A repeated report is then no
/// news: here the timeout's loss was real, and only data sent long before it were reported again.
#[test]
fn a_report_that_was_forgotten_is_no_news() {
    let weather = "[[hop.gate]]\nname = \"pauses\"\nevery = \"exponential(3000 ms)\"\ndirections = \"down\"\n\
        lasts = \"exponential(2470 ms)\"\n[[hop.loss]]\nname = \"loss-down\"\ndirections = \"down\"\nprobability = 0.037\n";
    for recovery in ["sack", "newreno-sack"] {
        let options = options(recovery, "frto", ", timestamps = false");
        let [timeouts, _] = meet(&read(&path(26_161, 44_374, 14, weather, &options, 27)), false);
        assert_eq!(timeouts.wrong, 0, "{recovery}: {timeouts:?}");
        assert!(timeouts.right > 0, "{recovery}: {timeouts:?}");
    }
}

/// New segments that leave at the instant of the verdict on a timeout, segments dropped, and unneeded retransmissions.
fn after_the_verdict(flight: &str) -> (usize, f64, f64) {
    let pause = "[[hop.gate]]\nname = \"pause\"\nspikes = [[\"5 s\", \"4 s\"]]";
    let options = format!(
        "recovery = \"newreno\", sack = false, timestamps = true, window = \"200 segments\", \
         initial-ssthresh = \"30 segments\", spurious = \"eifel\", \
         response = \"restore-1\", flight = \"{flight}\""
    );
    let model = read(&path(200_000, 120_000, 45, pause, &options, 1));
    let mut run = run_once(&model, 0, Options { trace: true, shuffle_ties: None });
    let get = |metric| run.flows[0].get(metric).unwrap();
    let (dropped, unneeded) = (get(Metric::PacketsDropped), get(Metric::UnneededRetransmissions));
    assert_eq!(get(Metric::SpuriousTimeouts), 1.0);
    let from = run.world.flows[0].from.0;
    let records: Vec<_> =
        run.world.network.tracer().take().into_iter().filter(|r| r.source.0 == from).collect();
    let verdict =
        records.iter().find(|r| matches!(r.event, Event::Verdict { spurious: true, .. })).unwrap().t;
    let new = |r: &&base::event::Record| {
        r.t == verdict && matches!(r.event, Event::DataSent { cause: Cause::New, .. })
    };
    (records.iter().filter(new).count(), dropped, unneeded)
}

/// TB-26: with BSD's pipe the flight is whole again once the sender continues with new data: no burst. With marks that
/// are never removed, all but a segment of a window of more than 30 seems to have left: that much leaves at once, and
/// meets a full queue.
#[test]
fn a_flight_counted_by_marks_must_be_restored() {
    let (bsd, dropped, unneeded) = after_the_verdict("bsd");
    assert!(bsd <= 2 && dropped == 0.0 && unneeded == 1.0, "{bsd} {dropped} {unneeded}");
    let (explicit, dropped, _) = after_the_verdict("explicit");
    assert!(explicit >= 25 && dropped >= 5.0, "{explicit} {dropped}");
}

/// EI-30: where the way back is narrow, an acknowledgement for every segment or two is lost by the hundred; one for every four
/// finds room, and the transfer is faster.
#[test]
fn fewer_acknowledgements_relieve_the_way_back() {
    let run = |every: u32| {
        let options =
            format!("window = \"16 segments\", delayed-ack = {{ every = {every}, timer = \"500 ms\" }}");
        let text = path(1_000_000, 100_000, 100, "", &options, 1);
        let narrow = [
            "hop.radio.rate={ down = '1 Mbit/s', up = '8 kbit/s' }",
            "hop.radio.queue={ down = 'unlimited', up = { drop-tail = { limit = '1 packets' } } }",
        ];
        let outcome = run_once(&testkit::model(&text, &narrow), 0, Options::default());
        let get = |metric| outcome.flows[0].get(metric).unwrap();
        (get(Metric::PacketsDropped), get(Metric::DownloadTime))
    };
    let (each, two, four) = (run(1), run(2), run(4));
    assert!(each.0 > 200.0 && two.0 > 20.0 && four.0 == 0.0, "{each:?} {two:?} {four:?}");
    assert!(four.1 < two.1 && two.1 < each.1, "{each:?} {two:?} {four:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// EI-01, EI-20, EI-22: the same in whatever weather, on whatever path that keeps the order. F-RTO is not asked where
    /// acknowledgements are lost: it takes the first report that comes through for news (RFC 5682 section 3.1), and
    /// that of a segment whose earlier report was lost is none.
    #[test]
    fn nobody_is_wrong_in_random_weather(
        rate in 9_003u32..900_000,
        delay_us in 3_001u32..600_000,
        queue in 2u32..40,
        pauses in proptest::option::of((3_000u32..30_000, 200u32..9_000, 0usize..3)),
        losses in [0u32..90, 0u32..90],
        (recovery, detector) in (0..RECOVERIES.len(), 0..7usize),
        seed: u16,
    ) {
        let (detector, more, last) = DETECTORS[detector];
        let losses = if detector == "frto" { [losses[0], 0] } else { losses };
        let mut weather = String::new();
        if let Some((every, lasts, way)) = pauses {
            let way = ["both", "down", "up"][way];
            weather += &format!("[[hop.gate]]\nname = \"pauses\"\nevery = \"exponential({every} ms)\"\n\
                directions = \"{way}\"\nlasts = \"exponential({lasts} ms)\"\n");
        }
        for (way, permille) in ["down", "up"].into_iter().zip(losses) {
            weather += &format!("[[hop.loss]]\nname = \"loss-{way}\"\ndirections = \"{way}\"\nprobability = {}\n",
                f64::from(permille) / 1000.0);
        }
        let options = options(RECOVERIES[recovery], detector, more);
        let text = path(rate, delay_us, queue, &weather, &options, seed);
        let [timeouts, fast] = meet(&read(&text), last);
        prop_assert_eq!((timeouts.wrong, fast.wrong), (0, 0), "{}", text);
    }
}
