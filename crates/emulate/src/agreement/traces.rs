//! Recorded traces of the Linux kernel for the agreement with the TCP model: name and text of each case.

/// Name and trace of each recorded case.
pub(crate) const ALL: &[(&str, &str)] = &[
    ("plain", include_str!("../../agreement/traces/plain.txt")),
    ("spike", include_str!("../../agreement/traces/spike.txt")),
    ("spike-no-frto", include_str!("../../agreement/traces/spike-no-frto.txt")),
    ("spike-no-timestamps", include_str!("../../agreement/traces/spike-no-timestamps.txt")),
    ("spike-neither", include_str!("../../agreement/traces/spike-neither.txt")),
    ("spike-no-sack", include_str!("../../agreement/traces/spike-no-sack.txt")),
    ("spike-bare", include_str!("../../agreement/traces/spike-bare.txt")),
    ("loss-one", include_str!("../../agreement/traces/loss-one.txt")),
    ("loss-five", include_str!("../../agreement/traces/loss-five.txt")),
    ("loss-no-sack", include_str!("../../agreement/traces/loss-no-sack.txt")),
    ("loss-last", include_str!("../../agreement/traces/loss-last.txt")),
    ("spike-and-loss", include_str!("../../agreement/traces/spike-and-loss.txt")),
    ("spike-and-loss-neither", include_str!("../../agreement/traces/spike-and-loss-neither.txt")),
    ("overflow", include_str!("../../agreement/traces/overflow.txt")),
    ("overflow-and-spike", include_str!("../../agreement/traces/overflow-and-spike.txt")),
];
