//! Agreement of the TCP model with Linux: number of retransmissions, verdicts, and, within a tenth, download time.
//! Without rights, recorded results are compared.

use emulate::agreement::{self, AgreementError, CASES, SenderVerdict, SideResult};

/// Model against the recorded results. A case whose options this build lacks is reported, not counted.
#[test]
fn the_model_does_what_linux_did() {
    let facts = agreement::facts().unwrap();
    let cases = agreement::cases(CASES).unwrap();
    let mut wrong = Vec::new();
    let (mut compared, mut agree) = (0, 0);
    for case in &cases {
        let kernels = facts.of(&case.name);
        assert!(!kernels.is_empty() && !facts.lines(&case.name).is_empty(), "{} was not recorded", case.name);
        match agreement::by_model(case) {
            Ok(model) => {
                compared += 1;
                let what = model.against(kernels).what.join("; ");
                match (&case.differs, what.is_empty()) {
                    (None, false) => wrong.push(format!("{}: {what}", case.name)),
                    (Some(why), true) => wrong.push(format!("{}: no longer differs ({why})", case.name)),
                    _ => agree += u32::from(what.is_empty()),
                }
            }
            Err(why) => eprintln!("skipped: {} needs what this build lacks\n{why}", case.name),
        }
    }
    eprintln!("{}", agreement::table(&cases, &facts));
    eprintln!("{compared} of {} cases were compared, {agree} agree", cases.len());
    assert!(wrong.is_empty(), "the model differs:\n{}", wrong.join("\n"));
}

/// Behaviour of the recorded kernel: without F-RTO and timestamps it resends the window after a spurious timeout. With
/// either, it resends one segment and the preceding probe, and undoes the reduction.
#[test]
fn the_recorded_kernel_knows_a_spurious_timeout() {
    let facts = agreement::facts().unwrap();
    let all = |case: &str, holds: &dyn Fn(&SideResult) -> bool| {
        assert!(facts.of(case).iter().all(holds), "{case}: {:?}", facts.of(case));
    };
    for case in ["spike", "spike-no-frto", "spike-no-timestamps", "spike-no-sack"] {
        all(case, &|d| {
            d.retransmissions <= 2 && d.unneeded == d.retransmissions && d.kind == SenderVerdict::Spurious
        });
    }
    for case in ["spike-neither", "spike-bare"] {
        all(case, &|d| d.retransmissions >= 13 && d.unneeded == d.retransmissions && d.timeouts == 1);
    }
    all("loss-five", &|d| d.retransmissions == 5 && d.unneeded == 0 && d.timeouts == 0);
    all("plain", &|d| d.retransmissions == 0 && d.kind == SenderVerdict::None);
}

/// Kernel of this machine against the recorded one, all cases in parallel in namespaces: some 21 s.
#[cfg(target_os = "linux")]
#[test]
fn this_kernel_does_what_was_recorded() {
    if let Err(error) = emulate::rights() {
        eprintln!("skipped: {error}");
        return;
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    if !release.starts_with("6.") {
        eprintln!("skipped: the facts are of Linux 6, this is {release}");
        return;
    }
    let facts = agreement::facts().unwrap();
    let cases = agreement::cases(CASES).unwrap();
    let played: Vec<Result<SideResult, AgreementError>> = std::thread::scope(|scope| {
        let all: Vec<_> = cases.iter().map(|case| scope.spawn(|| agreement::by_kernel(case))).collect();
        all.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let mut wrong = Vec::new();
    for (case, deed) in cases.iter().zip(played) {
        let deed = match deed {
            Ok(deed) => deed,
            Err(why) => {
                eprintln!("{}: {why}", case.name);
                continue; // a machine that is too busy proves nothing
            }
        };
        let recorded = facts.of(&case.name);
        // Two runs of a real stack differ by a segment: whether the last ACK precedes a timer.
        let near = |count: &dyn Fn(&SideResult) -> u64| {
            recorded.iter().any(|r| count(r).abs_diff(count(&deed)) <= 1)
        };
        let same = recorded.iter().any(|r| r.kind == deed.kind)
            && near(&|d| d.retransmissions)
            && near(&|d| d.unneeded)
            && near(&|d| d.timeouts);
        let time = deed.against(recorded).time;
        if !same || time.is_none_or(|share| share.abs() > agreement::TIME) {
            wrong.push(format!(
                "{}: {:?} and recorded {recorded:?}",
                case.name,
                SideResult { lines: Vec::new(), ..deed }
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
