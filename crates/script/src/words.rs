//! Text of times, byte ranges and expectations of a TCP dialogue for messages and ladder diagrams.

use crate::dialogue::{Expect, Range};

/// Seconds with as many decimals as they have, at most four.
pub(crate) fn clock(t: f64) -> String {
    let text = format!("{t:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(crate) fn ranges(list: &[Range]) -> String {
    list.iter().map(|r| format!(" sack {}..{}", r[0], r[1])).collect()
}

/// Text of an expectation.
pub(crate) fn wanted(expect: &Expect) -> String {
    let list = |ranges: &[Range]| {
        ranges.iter().map(|r| format!("{}..{}", r[0], r[1])).collect::<Vec<_>>().join(", ")
    };
    let mut out = match (expect.send.is_empty(), expect.probe) {
        (true, true) => "a probe".to_owned(),
        (true, false) => "nothing".to_owned(),
        (false, true) => format!("a probe {}", list(&expect.send)),
        (false, false) => list(&expect.send),
    };
    let mut word = |yes: bool, text: &str| {
        if yes {
            out += text;
        }
    };
    word(expect.rtx, " again");
    word(expect.any_order, " in any order");
    word(expect.prefix_ok, " or its beginning");
    word(expect.optional, " or nothing");
    word(!expect.may_send.is_empty(), &format!(" (and perhaps {})", list(&expect.may_send)));
    word(expect.extra_mss > 0.0, &format!(" (and at most {} segments more)", expect.extra_mss));
    word(expect.any_new_ok, " (and anything new)");
    word(expect.any_send_ok, " (and anything else)");
    word(expect.no_rtx, " (nothing resent)");
    word(expect.first_new_has_cwr, " (CWR on the first new one)");
    out
}
