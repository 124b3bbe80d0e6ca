//! What does a first scenario look like? A file that runs as it is, with every part explained and
//! the alternatives beside it in comments.

/// The starter file, as `williwaw new` writes it.
pub const STARTER: &str = r#"# A williwaw scenario. Read it with `williwaw check FILE`, run it with `williwaw run FILE`.
# Quantities carry their unit: "30 kbit/s", "300 ms", "100 kB". k is 1000, Ki is 1024.
williwaw = 1
title = "A download while the phone changes cells"

# The path: hops from the fixed end to the mobile end. `down` is toward the mobile end.
[[hop]]
name = "radio"
between = ["server", "phone"]
rate = { down = "30 kbit/s", up = "10 kbit/s" }      # or one for both: "30 kbit/s"
# rate = { schedule = [["0 s", "300 kbit/s"], ["10 s", "10 kbit/s"]], repeat = "20 s" }
delay = "300 ms"                                     # one way; transmission time is extra
queue = { drop-tail = { limit = "10 packets" } }     # or "100 kB", "10 packets, 15 kB", "unlimited"

# Interruptions: no new packet is served for a while. Any time may be a distribution:
# "uniform(3 s, 15 s)", "exponential(10 s)", "lognormal(5 s, 2 s)", "pareto(1 s, 1.5, 60 s)"...
[[hop.gate]]
name = "reselection"
every = "uniform(20 s, 40 s)"                        # from start to start
first = "stationary"                                 # as if it had always been going on
lasts = "uniform(3 s, 15 s)"
# instead of every/first: start = "10 s" once, spikes = [["30 s", "9 s"]], or file = "spikes.csv"

# Losses on the way: numbered packets for a scripted case, or chance.
# [[hop.loss]]
# name = "noise"
# directions = "down"
# probability = 0.01                                 # or packets = "9-15"

# Who sends what to whom, and with which protocol.
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = { tcp = { profile = "rfc", recovery = "newreno", timestamps = true } }
app = { bulk = { bytes = "100 kB" } }

[run]
repetitions = 20                                     # each with its own weather
seed = 1                                             # the same seed, the same weather
limit = "1 h"                                        # simulated time, whatever is left

# Every combination is a cell; keys are paths by name. `--set KEY=VALUE` takes the same keys.
[grid]
"flow.download.transport.tcp.spurious" = ["none", "eifel"]

# What must come out, or the exit status is 1.
[expect]
"download.goodput_ratio.mean" = "> 0.5"
"#;

#[cfg(test)]
mod tests {
    use crate::{NoFiles, read};

    #[test]
    fn the_starter_is_a_scenario() {
        let scenario =
            read("starter.toml", super::STARTER.as_bytes(), &NoFiles).unwrap_or_else(|d| panic!("{d}"));
        assert!(scenario.warnings().is_empty(), "{}", scenario.warnings());
        assert_eq!(scenario.cell_count(), Some(2));
        assert!(scenario.question().is_none());
    }

    /// The lines that are commented out are good lines too.
    #[test]
    fn what_the_starter_suggests_is_right() {
        let text = super::STARTER
            .replace("# [[hop.loss]]\n# name", "[[hop.loss]]\nname")
            .replace("# directions = ", "directions = ")
            .replace("# probability = ", "probability = ")
            .replace("rate = { down", "# rate = { down")
            .replace("# rate = { schedule", "rate = { schedule");
        let scenario = read("starter.toml", text.as_bytes(), &NoFiles).unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(scenario.first().losses.len(), 1);
    }
}
