//! Description of a radio bearer of a scenario in one line of text.

use crate::model::Bearer;
use crate::model::radio::BearerKind;
use radio::cell::config::{Delays, UserConfig};
use radio::quality::Source;

/// Bearer in one line.
pub(super) fn bearer(bearer: &Bearer) -> String {
    match &bearer.kind {
        BearerKind::Gprs(of) => {
            let user = &of.user;
            if let Some(program) = of.pcu {
                return format!(
                    "GPRS bearer in cell `{}` with {} timeslots served by the real PCU `{program}`: class {}, at most \
                     {} down and {} up, LLC frames of {} octets",
                    of.cell, of.timeslots, user.class.number, user.down.scheme, user.up.scheme, user.llc.n201,
                );
            }
            let abis = of.abis.map_or(String::new(), |rate| format!("; Abis of {rate}"));
            format!(
                "GPRS bearer in cell `{}`: class {}, {} down with {} timeslots wanted, {} up with {}; RLC {} with a window of {}, LLC {} with frames of {} octets{abis}; {}; {}; {}",
                of.cell,
                user.class.number,
                user.down.scheme,
                user.down.slots,
                user.up.scheme,
                user.up.slots,
                user.down.mode,
                user.down.numbering.window,
                user.llc.mode,
                user.llc.n201,
                gprs_delays(user),
                gprs_buffers(user),
                gprs_errors(user),
            )
        }
        BearerKind::Framed(of) => {
            let states: Vec<String> = of
                .states
                .iter()
                .map(|s| {
                    let [down, up] = s.error;
                    format!(
                        "{} ({} down, {} up; {} and {} of frames lost)",
                        s.name,
                        s.rate[0],
                        s.rate[1],
                        percent(down),
                        percent(up)
                    )
                })
                .collect();
            let mut line =
                format!("frames of {} octets each {}; states: {}", of.octets, of.period, states.join(", "));
            let [down, up] = of.buffer.map(room);
            let delay =
                if of.delay.is_zero() { "no delay".to_owned() } else { format!("{} delay", of.delay) };
            line.push_str(&format!("; {delay}; buffers: {down} down, {up} up"));
            if of.adaptation.is_some() {
                line.push_str("; 14.4 or 9.6 kbit/s a timeslot by C/I");
            }
            if let Some(contention) = &of.contention {
                let calls = contention.calls;
                line.push_str(&format!(
                    "; {calls} Erlang of other calls on {} timeslots",
                    contention.timeslots
                ));
            }
            line
        }
    }
}

/// Share as a percentage.
fn percent(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Limit of a buffer in octets.
fn room(octets: Option<u64>) -> String {
    octets.map_or("unlimited".to_owned(), |octets| format!("{octets} B"))
}

/// One-way delays outside of the radio interface.
fn gprs_delays(user: &UserConfig) -> String {
    let Delays { core, abis, bsc, terminal, .. } = user.delays;
    let named =
        [("core", core), ("Gb", user.sgsn.gb_delay), ("Abis", abis), ("BSC", bsc), ("terminal", terminal)];
    let some = named.iter().filter(|(_, span)| !span.is_zero());
    let delays: Vec<String> = some.map(|(name, span)| format!("{name} {span}")).collect();
    if delays.is_empty() { "no delays".to_owned() } else { format!("delays: {}", delays.join(", ")) }
}

/// Buffers of the SGSN, RLC and the terminal.
fn gprs_buffers(user: &UserConfig) -> String {
    let limit = |octets: Option<u64>, number: Option<u32>| match (octets, number) {
        (None, Some(number)) => format!("{number} packets"),
        (Some(octets), Some(number)) => format!("{octets} B and {number} packets"),
        (octets, None) => room(octets),
    };
    format!(
        "buffers: SGSN {}, RLC {}, terminal {}",
        limit(user.sgsn.octets, user.sgsn.pdus),
        room(user.rlc_buffer),
        limit(user.terminal.octets, user.terminal.packets)
    )
}

/// Errors of radio blocks in each direction.
fn gprs_errors(user: &UserConfig) -> String {
    let of = |source: &Source| match source {
        Source::Constant { data, control } if data == control => percent(*data),
        Source::Constant { data, control } => {
            format!("{} ({} of control blocks)", percent(*data), percent(*control))
        }
        Source::States { good, bad, .. } => format!("{} or {}, in two states", percent(*good), percent(*bad)),
        _ => "of varying quality".to_owned(),
    };
    format!("block errors: {} down, {} up", of(&user.down.quality), of(&user.up.quality))
}
