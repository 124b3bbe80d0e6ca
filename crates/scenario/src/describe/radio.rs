//! Description of a radio bearer of a scenario in one line of text.

use crate::model::Bearer;
use crate::model::radio::BearerKind;

/// Bearer in one line.
pub(super) fn bearer(bearer: &Bearer) -> String {
    match &bearer.kind {
        BearerKind::Gprs(of) => {
            let user = &of.user;
            if let Some(program) = of.pcu {
                return format!(
                    "GPRS bearer in cell `{}` with {} timeslots behind the real PCU `{program}`: class {}, at most {} down and {} up, LLC frames of {} octets",
                    of.cell, of.timeslots, user.class.number, user.down.scheme, user.up.scheme, user.llc.n201,
                );
            }
            let abis = of.abis.map_or(String::new(), |rate| format!("; Abis of {rate}"));
            format!(
                "GPRS bearer in cell `{}`: class {}, {} down with {} timeslots wanted, {} up with {}; RLC {} with a window of {}, LLC {} with frames of {} octets{abis}",
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
            )
        }
        BearerKind::Framed(of) => {
            let states: Vec<String> = of
                .states
                .iter()
                .map(|s| format!("{} ({} down, {} up)", s.name, s.rate[0], s.rate[1]))
                .collect();
            let mut line =
                format!("frames of {} octets each {}; states: {}", of.octets, of.period, states.join(", "));
            if of.adaptation.is_some() {
                line.push_str("; 14.4 or 9.6 kbit/s a timeslot by C/I");
            }
            if let Some(contention) = &of.contention {
                let calls = contention.calls;
                line.push_str(&format!(
                    "; {calls} Erlang of calls beside it on {} timeslots",
                    contention.timeslots
                ));
            }
            line
        }
    }
}
