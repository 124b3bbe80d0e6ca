//! Which papers are part of the program? Their folders in `experiments/`, file by file.

use super::experiment::Paper;

macro_rules! paper {
    ($name:literal: $($file:literal),+ $(,)?) => {
        Paper {
            name: $name,
            files: &[$(($file, include_str!(concat!("../../../../experiments/", $name, "/", $file)))),+],
        }
    };
}

/// Every paper whose experiments can be reproduced.
pub const PAPERS: &[Paper] = &[
    paper!(
        "gprs-eifel": "claims.toml",
        "reselections.scenario.toml",
        "intervals.scenario.toml",
        "live.scenario.toml",
        "topology.scenario.toml",
        "spike.scenario.toml",
        "scripted-losses.scenario.toml",
        "table1.toml",
        "table2.toml",
        "table3.toml",
        "fig1.toml",
        "fig2.toml",
        "fig3.toml",
        "fig4.toml",
        "fig5.toml",
        "fig6.toml",
        "fig7.toml",
        "repair.toml",
    ),
    paper!(
        "responding": "claims.toml",
        "path.scenario.toml",
        "table1.toml",
        "table2.toml",
        "table3.toml",
        "table4.toml",
    ),
    paper!(
        "delays": "claims.toml",
        "bsdi.scenario.toml",
        "remedies.scenario.toml",
        "stacks.scenario.toml",
        "fig1.toml",
        "fig6.toml",
        "newreno-penalty.toml",
        "remedies.toml",
        "rto-chain.toml",
    ),
    paper!(
        "robust": "claims.toml",
        "loop.scenario.toml",
        "loss.scenario.toml",
        "losses.scenario.toml",
        "spike.scenario.toml",
        "fig1.toml",
        "fig2.toml",
        "fig3.toml",
        "fig4.toml",
        "fig5.toml",
        "fig6.toml",
        "endless-loop.toml",
        "every-second-dupack.toml",
        "limited-transmit-rto.toml",
        "newreno-timer.toml",
        "rtt-spike-tolerance.toml",
        "rttvar-coefficient.toml",
    ),
];
