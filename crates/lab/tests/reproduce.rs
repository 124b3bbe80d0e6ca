//! The claim: the papers' experiments come out as published. Every value lies inside its band or has its
//! difference explained; every claim holds. Seed 1, the repetitions that each experiment is judged with.

use lab::reproduce::{Laboratory, Settings, list, quiet};
use lab::sweep::Control;
use std::sync::atomic::AtomicBool;

#[test]
fn every_experiment_comes_out_as_published() {
    let stop = AtomicBool::new(false);
    let control = Control { progress: &quiet, stop: &stop, jobs: 0, shuffle_ties: None };
    let settings = Settings { seeds: 0, reading_repetitions: 0, pictures: true, ..Settings::default() };
    let mut laboratory = Laboratory::new(settings, &control, "test");
    let mut wrong = Vec::new();
    let (mut values, mut claims) = (0, 0);
    for (id, _) in list().unwrap() {
        let r = laboratory.reproduce(&id).unwrap();
        values += r.values.len();
        claims += r.claims.len();
        assert_eq!(
            r.values.len(),
            r.experiment.table.as_ref().map_or(0, |t| t.values.len()),
            "{id}: every published value has its cell"
        );
        for v in r.values.iter().filter(|v| !v.within && v.why.is_none()) {
            wrong.push(format!("{id} {}: {} published, {:.3} measured", v.key, v.published, v.measured));
        }
        for c in r.claims.iter().filter(|c| !c.holds) {
            wrong.push(format!("{id} {}: {}", c.id, c.detail));
        }
        for (title, picture) in &r.pictures {
            assert!(!picture.sent.is_empty(), "{id}: {title} shows nothing");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Tables 2 and 3 and the charts of both, table 1; claims C001 to C020 and C143.
    assert_eq!((values, claims), (4 * 36 + 3, 21));
}
