//! Test that the TCP model of Linux sends the same segments as the kernel on paths without a known
//! difference, and that transfer times differ by at most 2 %. Needs a kernel in virtual time; without one the
//! test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use common::beside::{Who, alike, cases};

/// Maximum relative difference of transfer times, unless the case states a reason.
const TIME: f64 = 0.02;

#[test]
fn the_model_sends_what_the_kernel_sends() {
    let Some(kernels) = common::kernels() else { return };
    let cases = cases();
    let mut wrong = Vec::new();
    for case in &cases.case {
        let [kernel, model] = [Who::Kernel, Who::Model].map(|who| cases.play(&kernels, case, [who; 2], None));
        let (same, apart) = alike(&kernel, &model);
        match (&case.differs, apart) {
            (None, Some([a, b])) => {
                wrong.push(format!(
                    "{}: after {same} segments the kernel sends {a}, the model {b}",
                    case.name
                ));
            }
            (Some(why), None) => wrong.push(format!("{}: no longer differs ({why})", case.name)),
            _ => {}
        }
        let share = model.time / kernel.time - 1.0;
        match (&case.slower, share.abs() <= TIME) {
            (None, false) => wrong.push(format!("{}: takes {:+.1} % of the time", case.name, 100.0 * share)),
            (Some(why), true) => wrong.push(format!("{}: no longer slower ({why})", case.name)),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Over the narrow paths, a sending kernel gets the same acknowledgements and windows from the model as from
/// a kernel, to the end of the transfer.
#[test]
fn the_model_answers_what_the_kernel_answers() {
    let Some(kernels) = common::kernels() else { return };
    let cases = cases();
    for case in cases.case.iter().filter(|case| case.name.contains("narrow")) {
        let answers = |to: Who| -> Vec<(u64, u32)> {
            let played = cases.play(&kernels, case, [Who::Kernel, to], None);
            let one = |line: &emulate::agreement::SenderEvent| match line.what {
                emulate::agreement::SenderEventKind::Ack(ack, window) => Some((ack, window)),
                _ => None,
            };
            played.lines.iter().filter_map(one).collect()
        };
        let (kernel, model) = (answers(Who::Kernel), answers(Who::Model));
        let same = kernel.iter().zip(&model).take_while(|(a, b)| a == b).count();
        assert!(
            same == kernel.len() && same == model.len(),
            "{}: {same} answers are alike, then {:?} and {:?}",
            case.name,
            kernel.get(same),
            model.get(same)
        );
    }
}
