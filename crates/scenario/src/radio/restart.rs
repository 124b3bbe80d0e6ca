//! Grammar of restarts of network elements (`[[hop.radio.gprs.restart]]`).

use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Need, Quantity, Shape, TableShape, ValueKind, field};
use base::Time;
use radio::cell::config::{NetworkElement, Restart, RestartTimes};

const DIST: Shape = Shape::One(ValueKind::Dist(Quantity::Span));
const TIMES: Shape = Shape::One(ValueKind::Span);

pub(super) static RESTART: TableShape = TableShape {
    name: "restart",
    doc: "Restarts of a network element after faults of its software. It loses its state and queues, and packets wait \
          or are lost until it works again.",
    fields: &[
        field("name", Shape::One(ValueKind::Name), Need::Required("\"crash\""), "How grids call it."),
        field(
            "element",
            Shape::One(ValueKind::Word(NetworkElement::NAMES)),
            Need::Required("\"pcu\""),
            "The PCU loses all TBFs and its queues, and LLC frames that arrive meanwhile. The BSC loses the TBFs, and \
             also the queues of the PCU if that is a part of it (`pcu-at`). The SGSN loses its queues, and all \
             packets and frames that arrive meanwhile.",
        ),
        field("every", DIST, Need::Optional, "From the end of one to the start of the next."),
        field("at", Shape::List(&TIMES), Need::Optional, "At these times."),
        field(
            "lasts",
            DIST,
            Need::Required("\"uniform(20 s, 40 s)\""),
            "Until the mobiles have service again; for the SGSN with the attach and the activation of the PDP context.",
        ),
    ],
    one_of: &[&["every", "at"]],
    needs: &[],
};

/// Reads the restarts of the bearer of hop `hop`. `acknowledged`: LLC is in acknowledged mode.
pub(super) fn read(r: Reader<'_>, hop: &str, acknowledged: bool, cx: &Cx<'_>) -> Option<Vec<Restart>> {
    r.tables("restart", &RESTART).map(|r| one(r, hop, acknowledged, cx)).collect()
}

fn one(r: Reader<'_>, hop: &str, acknowledged: bool, cx: &Cx<'_>) -> Option<Restart> {
    let element = NetworkElement::from_name(r.word("element")?)?;
    if element == NetworkElement::Sgsn && acknowledged {
        let message = "a restart of the SGSN ends acknowledged LLC, whose re-establishment is not modelled";
        cx.push(
            Diagnostic::error("impossible", r.place("element"), message)
                .help("`llc.mode = \"unacknowledged\"`, or another element"),
        );
        return None;
    }
    let times = match r.get("at") {
        Some(tree) => {
            let each = tree.list()?.iter().map(|t| leaf::span(t).ok().map(|span| Time::ZERO + span));
            let mut times: Vec<Time> = each.collect::<Option<_>>()?;
            times.sort_unstable();
            RestartTimes::Listed(times)
        }
        None => RestartTimes::Every(r.dist("every", cx)?),
    };
    Some(Restart { name: format!("{hop}.{}", r.name()?), element, times, lasts: r.dist("lasts", cx)? })
}
