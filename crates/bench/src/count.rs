//! Benchmark of instructions per packet and per data segment: one run of a case under callgrind, `count CASE
//! SECONDS`. The cases `gprs` and `gprs-empty` (one segment) have repetitions in place of seconds.
//!
//! Prints packet hops and data segments. `benches/count.py` takes the difference of runs of two lengths, so
//! that scenario reading and network construction do not count.

use crate::dumbbell::{model, run_untimed, totals};
use crate::{gprs, say};
use scenario::{Model, NoFiles, read};

/// Scenario of a download; `OPTIONS` is replaced.
const DOWNLOAD: &str = r#"
williwaw = 1
[[hop]]
name = "hop"
between = ["server", "phone"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { drop-tail = { limit = "100 packets" } }
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = { tcp = { OPTIONS } }
app = "bulk"
"#;
/// Scenario of the channel in `benches/full-channel.toml`, with a model of the kernel that `emulate` would
/// use.
const CHANNEL: &str = include_str!("../../../benches/full-channel.toml");

/// Scenario of a case, which ends after `seconds`; `None` for an unknown case.
fn scenario(case: &str, seconds: u32) -> Option<Model> {
    if case == "dumbbell" {
        return Some(model(50, 100.0, 499, seconds));
    }
    if let Some(flows) = case.strip_prefix("growth-") {
        let flows = flows.parse().ok()?;
        return Some(model(flows, 2.0 * f64::from(flows), 10 * flows, seconds));
    }
    let text = match case {
        "sack" => DOWNLOAD.replace("OPTIONS", r#"profile = "ns2-2001", recovery = "sack""#),
        "linux" => DOWNLOAD.replace("OPTIONS", r#"profile = "linux-6.x""#),
        "channel" => CHANNEL
            .replace(r#"{ linux = { cc = "cubic" } }"#, r#"{ tcp = { profile = "linux-6.x" } }"#)
            .replace(r#"{ bulk = { lasts = "20 s" } }"#, r#""bulk""#),
        _ => return None,
    };
    match read("count", text.as_bytes(), &NoFiles) {
        Ok(scenario) => {
            let mut model = scenario.first().clone();
            model.run.limit = base::Span::from_secs(u64::from(seconds));
            Some(model)
        }
        Err(wrong) => panic!("{}", wrong.render(scenario::Style::default())),
    }
}

/// Runs the case; false if the arguments do not name one.
pub(crate) fn measure(case: &str, seconds: &str) -> bool {
    if let Some(empty) = ["gprs", "gprs-empty"].iter().position(|name| *name == case) {
        let Ok(repetitions) = seconds.parse() else { return false };
        let (hops, segments) = gprs::count(empty == 1, repetitions);
        say(&format!("hops {hops} segments {segments}"));
        return true;
    }
    let Some(model) = seconds.parse().ok().and_then(|seconds| scenario(case, seconds)) else { return false };
    let world = run_untimed(&model);
    let t = totals(&world);
    say(&format!("hops {} segments {} delivered {}", t.hops, t.data, t.delivered));
    true
}
