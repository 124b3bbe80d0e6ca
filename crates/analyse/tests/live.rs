//! Captures of a Linux kernel's transfers with sixteen kinds of impairment, in namespaces, in parallel: counts equal
//! the kernel's counters, verdicts equal the emulator's log.
//!
//! TA-01, TA-03: spurious and genuine timeouts of Linux are distinguished from its capture.
#![cfg(target_os = "linux")]

#[path = "common/linux.rs"]
mod linux;

use analyse::{Flow, Need, Reason, join};
use linux::{TROUBLES, judged, play_all};

#[test]
fn linux_is_judged_as_the_emulator_saw_it() {
    let mut wrong = Vec::new();
    for (name, played) in play_all(&TROUBLES) {
        let alone = judged(&played.sides[0]);
        let mut both = vec![(0, alone.clone())];
        let there: Vec<(usize, Flow)> = vec![(0, judged(&played.sides[1]))];
        assert_eq!(join::join(&mut both, &there), 1);
        let (direction, both) = (&alone.directions[0], &both[0].1.directions[0]);
        let count =
            |reason: Reason| direction.retransmissions.iter().filter(|r| r.reason == reason).count() as u64;
        let truth: Vec<(u64, bool)> = played.truths.iter().map(|t| (t.seq, t.unneeded)).collect();
        let said = |w: &analyse::FlowDirection| -> Vec<(u64, Option<bool>)> {
            let need = |n: Need| (n != Need::Unknown).then_some(n == Need::Unneeded);
            w.retransmissions.iter().map(|r| (r.seq, need(r.need))).collect()
        };
        let is: Vec<(u64, Option<bool>)> = truth.iter().map(|t| (t.0, Some(t.1))).collect();
        let resent = direction.retransmissions.len() as u64;
        let [kernel_resent, timeouts, probes] = played.kernel;
        eprintln!(
            "{name}: kernel {kernel_resent} resent, {timeouts} timeouts, {probes} probes; seen {resent}, {}, {}; {} unneeded",
            direction.timeouts.len(),
            count(Reason::Probe),
            direction.count(Need::Unneeded),
        );
        let mut check = |what: &str, holds: bool, more: String| {
            if !holds {
                wrong.push(format!("{name}: {what}: {more}"));
            }
        };
        // The kernel's counters include SYN and FIN, which a busy machine may delay until they are retransmitted.
        let control = direction.control_again;
        check(
            "resent",
            resent + control == kernel_resent,
            format!("{resent} and {control} for {kernel_resent}"),
        );
        let seen = (direction.timeouts.len() as u64, count(Reason::Probe));
        // A probe of the only outstanding segment looks like a timeout.
        let told = seen.0 + seen.1 + control >= timeouts && seen.0 <= timeouts + probes && seen.1 <= probes;
        check("timeouts", told, format!("{seen:?} for {timeouts} and {probes}"));
        check("both captures", said(both) == is, format!("{:?} is {is:?}", said(both)));
        type Told = (u64, Option<bool>);
        let meets = |(s, i): (&Told, &Told)| s.0 == i.0 && s.1.is_none_or(|s| Some(s) == i.1);
        let alone = said(direction);
        let all = alone.len() == is.len() && alone.iter().zip(&is).all(meets);
        check("the sender's capture", all, format!("{:?} is {is:?}", direction.retransmissions));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
