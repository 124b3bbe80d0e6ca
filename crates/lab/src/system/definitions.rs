//! Definitions of the columns of radio network result tables for docs/results.md: users, cells, timeslots,
//! load by second, blocks by C/I.

use super::tables;

/// Table, column, definition. `mcs_K` stands for every coding scheme.
const COLUMNS: &[(&str, &str, &str)] = &[
    (
        "users",
        "x_m",
        "position east of the centre of the area at the end of the repetition. Empty for a bearer",
    ),
    ("users", "y_m", "position north of that centre. Empty for a bearer"),
    ("users", "serving_cell", "number of its cell at the end. Empty for a bearer"),
    ("users", "transfers", "transfers that were complete. Empty for a bearer"),
    ("users", "transfer_rate_bps", "mean over its transfers of bytes over time. Empty without one"),
    (
        "users",
        "round_trip_s",
        "sum of the mean delays of a packet from its host to the mobile and of one back. Empty without either, and for a bearer",
    ),
    ("users", "octets_down", "octets that arrived at the mobile"),
    ("users", "octets_up", "octets that arrived from it"),
    ("users", "radio_blocks_down", "radio blocks sent to it"),
    ("users", "radio_blocks_up", "radio blocks that it sent"),
    (
        "users",
        "block_error_rate_down",
        "RLC blocks that could not be decoded, of those sent to it; for a bearer radio blocks, those of control among them. Empty without one",
    ),
    (
        "users",
        "block_error_rate_up",
        "RLC blocks that could not be decoded, of those that it sent; for a bearer as downlink",
    ),
    (
        "users",
        "ci_mean_down",
        "mean C/I of its radio blocks in decibels. Empty without one, and for a bearer",
    ),
    (
        "users",
        "ci_mean_up",
        "mean C/I at the base station of the radio blocks that it sent. Empty without one, and for a bearer",
    ),
    ("users", "tbfs_down", "temporary block flows that were set up towards it"),
    ("users", "tbfs_up", "temporary block flows that it requested"),
    ("users", "reselections", "changes of cell"),
    (
        "users",
        "dropped_at_sgsn",
        "packets that its full queue dropped; for a bearer also those that were too old",
    ),
    ("users", "lost_in_reselections", "packets that were discarded with the old cell"),
    ("cells", "x_m", "position of its site east of the centre of the area. Empty for the cell of bearers"),
    ("cells", "y_m", "position of its site north of that centre. Empty for the cell of bearers"),
    ("cells", "erlang_down", "downlink timeslots that carried a radio block, on average over the repetition"),
    ("cells", "erlang_up", "uplink timeslots that carried a radio block, on average over the repetition"),
    ("cells", "octets_down", "octets delivered to mobiles in it"),
    ("cells", "octets_up", "octets delivered from mobiles in it"),
    ("cells", "throughput_down_bps", "`octets_down` over the length of the repetition"),
    ("cells", "throughput_up_bps", "`octets_up` over the length of the repetition"),
    (
        "cells",
        "block_error_rate_down",
        "RLC blocks that could not be decoded, of those sent. Empty without one",
    ),
    (
        "cells",
        "block_error_rate_up",
        "uplink RLC blocks that could not be decoded, of those sent. Empty without one",
    ),
    ("cells", "entered", "mobiles that entered by a change of cell"),
    (
        "cells",
        "voice_calls_offered",
        "voice calls offered. Empty without voice load, as all columns of voice, and for bearers",
    ),
    ("cells", "voice_calls_carried", "voice calls that got a timeslot"),
    (
        "cells",
        "voice_blocking",
        "blocking probability: calls that found a call on each timeslot, of those offered",
    ),
    ("cells", "voice_erlang", "timeslots held by calls, on average over the repetition"),
    (
        "cells",
        "voice_preempted_down",
        "block periods in which a call held a timeslot and a TBF there had a downlink radio block to send",
    ),
    (
        "cells",
        "voice_preempted_up",
        "block periods in which a call held a timeslot and a TBF there had an uplink radio block to send",
    ),
    (
        "cells",
        "tbf_requests_down",
        "downlink TBFs that requested timeslots after their set-up. Empty for bearers",
    ),
    ("cells", "tbf_requests_up", "uplink TBFs that requested timeslots. Empty for bearers"),
    (
        "cells",
        "tbf_blocking_down",
        "requests that found a full timeslot at each position and were queued, of all downlink requests; none is refused. \
         Empty without one, and for bearers",
    ),
    (
        "cells",
        "tbf_blocking_up",
        "uplink requests that found a full timeslot at each position and were queued, of all uplink requests. Empty without one, and for bearers",
    ),
    ("slots", "use_down", "share of block periods with a downlink radio block; 1 is busy all the time"),
    ("slots", "use_up", "share of block periods with an uplink radio block"),
    ("slots", "rlc_octets_down", "downlink RLC octets delivered. Empty for a bearer"),
    ("slots", "rlc_octets_up", "uplink RLC octets delivered. Empty for a bearer"),
    (
        "slots",
        "throughput_down_bps",
        "`rlc_octets_down` over the length of the repetition. Empty for a bearer",
    ),
    ("slots", "throughput_up_bps", "`rlc_octets_up` over the length of the repetition. Empty for a bearer"),
    (
        "system",
        "t_s",
        "end of the interval, which begins at the preceding row: a second, or more without activity",
    ),
    ("system", "erlang_down", "busy downlink timeslots of a cell in the interval, mean over all cells"),
    ("system", "erlang_up", "busy uplink timeslots of a cell in the interval, mean over all cells"),
    ("system", "throughput_down_bps", "rate of octets delivered downlink in the interval, all cells"),
    ("system", "throughput_up_bps", "rate of octets delivered uplink in the interval, all cells"),
    (
        "system",
        "block_error_rate_down",
        "downlink RLC blocks not decoded in the interval, of those sent. Empty without one",
    ),
    (
        "system",
        "block_error_rate_up",
        "uplink RLC blocks not decoded in the interval, of those sent. Empty without one",
    ),
    ("system", "sgsn_octets", "octets that wait at the SGSN at `t_s`, all mobiles"),
    ("system", "sgsn_octets_largest", "those of the mobile with most"),
    ("system", "mobiles_with_tbf", "mobiles with a downlink TBF at `t_s`"),
    ("radio", "up", "0 downlink, 1 uplink"),
    ("radio", "ci_db", "lower end of the decibel of C/I"),
    ("radio", "radio_blocks", "radio blocks with this C/I"),
    ("radio", "mcs_K_sent", "RLC blocks among them sent with the coding scheme MCS-K"),
    ("radio", "mcs_K_lost", "those of them that could not be decoded"),
];

/// Section of docs/results.md about the tables of networks. Links have a section of their own.
///
/// # Errors
/// A column without a definition, or a definition without a column.
pub(crate) fn section() -> Result<String, String> {
    let mut out = String::from(
        "\n## Tables of networks\n\nA run with a network of cells fills five more tables ([egprs.md](egprs.md)); GPRS bearers fill the first three \
         ([radio.md](radio.md)). All have the key columns of `flows.parquet`; `flow` is the name of the subject of a row. \"Together\" is the rule by which a document \
         combines rows.\n",
    );
    let mut used = vec![false; COLUMNS.len()];
    for table in tables::all().iter().filter(|table| table.name != "links") {
        out.push_str(&format!(
            "\n### {}.parquet\n\nA row is {}.\n\n| column | unit | together | definition |\n|---|---|---|---|\n",
            table.name, table.row
        ));
        for column in &table.columns {
            let word = match column.name.strip_prefix("mcs_").and_then(|rest| rest.split_once('_')) {
                Some((_, end)) => format!("mcs_K_{end}"),
                None => column.name.clone(),
            };
            let at = COLUMNS.iter().position(|(of, name, _)| *of == table.name && *name == word);
            let at = at.ok_or_else(|| format!("{}.parquet: `{word}` is not defined", table.name))?;
            if std::mem::replace(&mut used[at], true) {
                continue;
            }
            let unit = if column.unit.is_empty() { "1" } else { &column.unit };
            out.push_str(&format!("| `{word}` | {unit} | {} | {} |\n", column.combine, COLUMNS[at].2));
        }
    }
    match COLUMNS.iter().zip(&used).find(|(_, used)| !**used) {
        Some(((table, column, _), _)) => Err(format!("{table}.parquet has no column `{column}`")),
        None => Ok(out),
    }
}
