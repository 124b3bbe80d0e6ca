//! Generated reference page of trace events, from the table in `base::event`: name, meaning, fields and units
//! of each event.

use crate::NOTE;
use base::event::REFERENCE;
use std::fmt::Write;

/// The generated page.
pub(crate) fn page() -> String {
    let mut out = String::from(NOTE);
    out.push_str(
        "# Events\n\n\
         What a run can record, from the table in `crates/base/src/event.rs`. Every record also has the instant at\n\
         which it happened and its source: the element of the path, or the end of the flow. `bytes` of a sequence\n\
         number count from the start of the stream; the SYN is byte 0 and data start at 1.\n\n\
         | event | what happened | fields |\n|---|---|---|\n",
    );
    for (name, doc, fields) in REFERENCE {
        let fields: Vec<String> = fields.iter().map(|(field, unit)| format!("`{field}`: {unit}")).collect();
        let _ = writeln!(out, "| `{name}` | {} | {} |", doc.trim(), fields.join("<br>"));
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_event_has_its_line_and_its_fields() {
        let page = super::page();
        assert_eq!(page.matches("\n| `").count(), base::event::REFERENCE.len());
        assert!(
            page.contains("| `transport:rto_fired` | The retransmission timer expired. | `seq`: "),
            "{page}"
        );
    }
}
