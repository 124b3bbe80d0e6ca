//! Links served by programs, under both clocks: with a program that behaves like a model link, metrics and packets
//! equal those of the model (SW-18). The programs are shell lines, so nothing has to be installed.

mod fuzz;

use base::rng::Seed;
use emulate::{Options, link_process};
use lab::once::{RunOutcome, run_attached, run_once};
use proptest::prelude::*;
use scenario::metric::Metric;
use scenario::{Model, NoFiles, Style, read_with};
use std::sync::atomic::AtomicBool;

/// Link of 100 kbit/s, 50 ms and an unlimited queue: a byte takes 80 000 ns.
const LINK: &str = r#"
down=0; up=0
while read -r kind way number at size flow; do
    [ "$kind" = packet ] || continue
    if [ "$way" = down ]; then
        [ "$at" -gt "$down" ] && down=$at
        down=$((down + size * 80000)); done=$down
    else
        [ "$at" -gt "$up" ] && up=$at
        up=$((up + size * 80000)); done=$up
    fi
    echo "$number at $((done + 50000000))"
done"#;

/// Transfer of some seconds over a hop with these keys.
fn model(hop: &str) -> Model {
    let text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        {hop}
        [[flow]]
        name = "f"
        from = "server"
        to = "phone"
        transport = {{ tcp = {{ mss = "960 B" }} }}
        app = {{ bulk = {{ bytes = "20 kB" }} }}
        [run]
        limit = "60 s"
        "#
    );
    match read_with("test.toml", text.as_bytes(), &NoFiles, &[]) {
        Ok(scenario) => scenario.first().clone(),
        Err(diagnostics) => panic!("{}", diagnostics.render(Style::default())),
    }
}

fn served(program: &str) -> Model {
    model(&format!("process = '''{program}'''"))
}

/// Run in virtual time, or the fault of the program.
fn virtually(model: &Model) -> Result<RunOutcome, String> {
    let (sender, faults) = link_process::faults();
    let seed = Seed { seed: model.run.seed, repetition: 0 };
    let mut attach = |world: &mut _| link_process::attach(model, seed, world, &sender);
    let ran = run_attached(model, 0, None, &mut attach, &|| true)?;
    match (link_process::first(&faults), ran) {
        (None, Some(outcome)) => Ok(outcome),
        (why, _) => Err(why.unwrap_or_default()),
    }
}

fn really(model: &Model, stop: &AtomicBool) -> Result<RunOutcome, String> {
    let options = Options { realtime: false, ..Options::default() };
    emulate::once(model, 0, &options, stop).map(|real| real.ran).map_err(|error| error.to_string())
}

/// Metrics that do not depend on the link's report of its queue.
fn numbers(outcome: &RunOutcome) -> Vec<(Metric, Option<f64>)> {
    let told = |metric: &Metric| *metric != Metric::QueueDelay;
    Metric::ALL.iter().copied().filter(told).map(|m| (m, outcome.flows[0].get(m))).collect()
}

#[test]
fn sw_18_a_program_in_place_of_a_link_gives_its_numbers_in_both_clocks() {
    let plain =
        run_once(&model("rate = \"100 kbit/s\"\ndelay = \"50 ms\""), 0, lab::once::Options::default());
    let of_program = served(LINK);
    let first = virtually(&of_program).unwrap();
    assert!(plain.complete && first.complete);
    assert_eq!(numbers(&first), numbers(&plain));
    assert_eq!(numbers(&virtually(&of_program).unwrap()), numbers(&first));
    // The times of the model do not depend on the lateness of the driver.
    let real = really(&of_program, &AtomicBool::new(false)).unwrap();
    assert_eq!(numbers(&real), numbers(&plain));
}

#[test]
fn sw_18_what_a_program_loses_is_lost() {
    // Every seventh packet toward the phone is lost.
    let lossy = LINK.replace(
        "    echo",
        "    [ \"$way\" = down ] && [ $((number % 7)) = 0 ] && { echo \"$number lost\"; continue; }\n    echo",
    );
    let outcome = virtually(&served(&lossy)).unwrap();
    let of = |metric| outcome.flows[0].get(metric).unwrap();
    assert!(outcome.complete && of(Metric::SegmentsDropped) > 0.0);
    // A retransmission that is lost is needed again; the last of a series may not be.
    let needed = of(Metric::SegmentsRetransmitted) - of(Metric::UnneededRetransmissions);
    assert!(0.0 < needed && needed <= of(Metric::SegmentsDropped), "{needed}");
    assert_eq!(of(Metric::SegmentsDelivered), 21.0);
}

#[test]
fn sw_18_a_program_that_fails_is_one_error_in_both_clocks() {
    let faults = [
        ("exit 3", "ended with exit status: 3 before it answered about packet"),
        ("./there-is-none.py", "there is no such program"),
        ("kill -9 $$", "ended with signal: 9"),
        ("exec >&-; exec sleep 5", "closed its output before it answered"),
        ("read -r l; read -r l; printf '1 lo'", "in the middle of an answer, `1 lo`"),
        ("read -r l; read -r l; echo 1 at 0", "later than that"),
        ("read -r l; read -r l; echo soon", "an answer is"),
        ("while read -r l; do echo 999999 at 5; done", "was asked about"),
        ("while :; do echo 999999 lost; done", "was asked about"),
        ("yes | tr -d '\\n'", "a line of more than 128 bytes"),
    ];
    for (program, why) in faults {
        // The first packet leaves later than t = 0.
        let mut model = served(program);
        model.flows[0].start = base::dist::Dist::Constant(1e9);
        for told in [virtually(&model), really(&model, &AtomicBool::new(false))] {
            let told = told.map(|_| ()).unwrap_err();
            assert!(told.contains("hop `radio`") && told.contains(why), "{program}: {told}");
        }
    }
}

#[test]
fn sw_18_the_program_decides_alone() {
    let text = |more: &str| {
        format!(
            "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nprocess = \"x\"\n{more}\n\
             [[flow]]\nname = \"f\"\nfrom = \"server\"\nto = \"phone\"\napp = {{ bulk = {{ bytes = \"1 kB\" }} }}\n"
        )
    };
    let read = |more: &str| read_with("test.toml", text(more).as_bytes(), &NoFiles, &[]).map(|_| ());
    read("").map_err(|d| d.render(Style::default())).unwrap();
    for more in ["rate = \"1 kbit/s\"", "delay = \"1 s\"", "queue = \"unlimited\"", "stay = \"1 s\""] {
        let told = read(more).unwrap_err().render(Style::default());
        assert!(told.contains("the program decides that"), "{told}");
    }
}

proptest! {
    #[test]
    fn sw_18_any_output_is_read(
        head in any::<[u8; 2]>(),
        noise in prop::collection::vec(any::<u8>(), 0..400),
        lines in "((0|1|2|255|x)( at| lost)?( [0-9]{0,25})?\r?\n){0,20}",
        number in 0u8..3,
    ) {
        fuzz::link_process(&[&head[..], &noise].concat());
        fuzz::link_process(&[&[head[0], number], lines.as_bytes(), &noise].concat());
    }
}

#[test]
fn sw_18_outputs_that_fuzzing_left_are_read() {
    testkit::corpus::replay("link_process", 8, fuzz::link_process);
}
