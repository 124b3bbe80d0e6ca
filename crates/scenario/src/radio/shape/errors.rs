//! Tables of block errors: the variants of `radio.gprs.errors`.

use super::{SHARE, SPAN};
use crate::grammar::shape::{Need, Shape, TableShape, ValueKind, Variant, field, table};
use radio::quality::Profile;

static CONSTANT: TableShape = table(
    "constant",
    "Each block is lost with this probability.",
    &[
        field("rate", SHARE, Need::Required("0.05"), "Block error rate of data blocks."),
        field("control", SHARE, Need::Default("0"), "Block error rate of control blocks, which are CS-1."),
    ],
);
static STATES: TableShape = table(
    "states",
    "Two states of exponentially distributed length.",
    &[
        field("good", SHARE, Need::Default("0"), "Block error rate in the good state."),
        field("bad", SHARE, Need::Default("1"), "Block error rate in the bad state."),
        field("good-lasts", SPAN, Need::Required("\"10 s\""), "Mean length of the good state."),
        field("bad-lasts", SPAN, Need::Required("\"1 s\""), "Mean length of the bad state."),
    ],
);
static RECORDED: TableShape = table(
    "recorded",
    "Block error rates from a file.",
    &[field("file", Shape::One(ValueKind::File), Need::Required("\"bler.csv\""), "Lines of t_s,error_rate.")],
);
static C_OVER_I: TableShape = TableShape {
    name: "c-i",
    doc: "Carrier to interference through the curves of the coding schemes.",
    fields: &[
        field("db", Shape::One(ValueKind::Number(-30.0, 60.0)), Need::Optional, "Mean C/I, dB."),
        field("file", Shape::One(ValueKind::File), Need::Optional, "Lines of t_s,c_over_i_db."),
        field(
            "profile",
            Shape::One(ValueKind::Word(Profile::NAMES)),
            Need::Default("\"ideal-hopping\""),
            "Which curves.",
        ),
        field(
            "gain",
            Shape::One(ValueKind::Number(-10.0, 20.0)),
            Need::Default("3"),
            "Margin of the receiver over the minimum of the specification, dB.",
        ),
        field(
            "correlation",
            Shape::One(ValueKind::Number(0.0, 0.9999)),
            Need::Default("0"),
            "Correlation of the fading from one block period to the next: 0.95 at 3 km/h without hopping.",
        ),
    ],
    one_of: &[&["db", "file"]],
    needs: &[],
};
pub(super) static QUALITY: &[Variant] = &[
    Variant { name: "none", doc: "Every block arrives.", shape: Shape::Table(&NO_ERRORS), bare: true },
    Variant { name: "constant", doc: "A constant rate.", shape: Shape::Table(&CONSTANT), bare: false },
    Variant { name: "states", doc: "Two states over time.", shape: Shape::Table(&STATES), bare: false },
    Variant { name: "recorded", doc: "Rates from a file.", shape: Shape::Table(&RECORDED), bare: false },
    Variant {
        name: "c-i",
        doc: "A carrier to interference ratio.",
        shape: Shape::Table(&C_OVER_I),
        bare: false,
    },
];
static NO_ERRORS: TableShape = table("none", "Every block arrives.", &[]);

pub(in crate::radio) fn quality_shape(name: &str) -> &'static TableShape {
    match name {
        "constant" => &CONSTANT,
        "states" => &STATES,
        "recorded" => &RECORDED,
        "c-i" => &C_OVER_I,
        _ => &NO_ERRORS,
    }
}
