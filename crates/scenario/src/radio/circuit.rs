//! Grammar of an HSCSD circuit's link adaptation and timeslot contention (`radio.hscsd.adaptation`,
//! `radio.hscsd.contention`).

use super::gprs::steps;
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Need, Shape, TableShape, ValueKind, field, table};
use crate::model::Direction;
use crate::tables::path::hop;
use radio::framed::config::{Adaptation, Contention};
use radio::quality::Steps;

const SPAN: Shape = Shape::One(ValueKind::Span);
static DB: Shape = Shape::One(ValueKind::Number(-60.0, 100.0));
static FILE: Shape = Shape::One(ValueKind::File);
const SLOTS: Shape = Shape::One(ValueKind::Count(1, 8));

pub(super) static ADAPTATION: TableShape = table(
    "adaptation",
    "Automatic link adaptation: C/I decides frame errors, and between 14.4 and 9.6 kbit/s a timeslot. In place of `error` and `state`.",
    &[
        field("db", Shape::PerDirection(&DB), Need::Default("15"), "C/I, dB."),
        field(
            "file",
            Shape::PerDirection(&FILE),
            Need::Optional,
            "C/I from a file of lines `t_s,dB`, in place of `db`.",
        ),
        field(
            "gain",
            Shape::One(ValueKind::Number(-20.0, 20.0)),
            Need::Default("3"),
            "Margin of the receiver over the minimum of the specification, dB.",
        ),
        field("every", SPAN, Need::Default("\"480 ms\""), "Measurement period: a SACCH block."),
        field(
            "hysteresis",
            Shape::One(ValueKind::Number(0.0, 200.0)),
            Need::Default("2"),
            "Width of the transition around the C/I of equal throughput of both codings, dB.",
        ),
    ],
);
static FALLBACK: TableShape = table(
    "fallback",
    "An allocation in place of `slots`, where the cell has no timeslots for that; the first that fits counts.",
    &[
        field("down", SLOTS, Need::Required("2"), "Timeslots downlink."),
        field("up", SLOTS, Need::Required("2"), "Timeslots uplink."),
    ],
);
pub(super) static CONTENTION: TableShape = table(
    "contention",
    "Other calls of the cell, which take timeslots from this one: downgraded at once, upgraded at a regrading.",
    &[
        field("timeslots", SLOTS, Need::Default("7"), "Traffic channels of the cell."),
        field(
            "calls",
            Shape::One(ValueKind::Number(0.0, 100.0)),
            Need::Required("4"),
            "Offered voice traffic, Erlang. Calls find all timeslots but one.",
        ),
        field("call-lasts", SPAN, Need::Default("\"90 s\""), "Mean length of a call."),
        field("regrade", SPAN, Need::Default("\"5 s\""), "Time between upgrades."),
        field(
            "fallback",
            Shape::Tables(&FALLBACK),
            Need::Optional,
            "Allocations in order of preference. Without them, one timeslot each way.",
        ),
    ],
);

/// Reads link adaptation.
pub(super) fn adaptation(r: Reader<'_>, cx: &Cx<'_>) -> Option<Adaptation> {
    let c_over_i = |d: Direction| match hop::of(r.get("file"), d) {
        Some(tree) => steps(tree, -60.0, 100.0, cx),
        None => {
            let tree = r.or_default("db")?;
            let db = leaf::number(hop::of(Some(&*tree), d)?, -60.0, 100.0).ok()?;
            Some(Steps(vec![(0, db)]))
        }
    };
    Some(Adaptation {
        c_over_i: [c_over_i(Direction::Down)?, c_over_i(Direction::Up)?],
        gain: r.number("gain")?,
        every: r.span("every")?,
        hysteresis_db: r.number("hysteresis")?,
    })
}

/// Reads the voice calls that contend with a circuit for timeslots; `wanted` are its timeslots, downlink and uplink.
pub(super) fn contention(r: Reader<'_>, wanted: [u8; 2], cx: &Cx<'_>) -> Option<Contention> {
    let timeslots = r.count("timeslots")? as u8;
    let pair = |f: Reader<'_>| Some([f.count("down")? as u8, f.count("up")? as u8]);
    let mut fallback: Vec<[u8; 2]> = r.tables("fallback", &FALLBACK).map(pair).collect::<Option<_>>()?;
    if fallback.is_empty() {
        fallback.push([1, 1]);
    }
    let wrong = |what: String, remedy: &str| {
        cx.push(Diagnostic::error("bad-value", r.tree.place, what).help(remedy));
        None
    };
    if let Some([down, up]) = fallback.iter().find(|[down, up]| up > down) {
        return wrong(
            format!("a fallback has {down} timeslots downlink and {up} uplink"),
            "HSCSD has at most as many timeslots uplink as downlink",
        );
    }
    if fallback.last().is_some_and(|last| *last != [1, 1]) {
        return wrong(
            "the last fallback needs more than one timeslot, and calls may leave no more".into(),
            "add [[...fallback]] with down = 1 and up = 1 as the last one",
        );
    }
    if wanted[0].max(wanted[1]) > timeslots {
        return wrong(
            format!("`slots` asks for more timeslots than the cell has ({timeslots})"),
            "give `contention` more `timeslots`, or take fewer `slots`",
        );
    }
    Some(Contention {
        timeslots,
        calls: r.number("calls")?,
        call_lasts: r.span("call-lasts")?,
        regrade: r.span("regrade")?,
        fallback,
    })
}
