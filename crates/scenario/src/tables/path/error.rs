//! Grammar of frame errors of links (`[[hop.error]]`) and of states.
//!
//! An error has a probability per frame or per bit, constant or in two states, and an effect on an erroneous
//! frame. Without framing, each packet is a frame.

use super::fault::{BAD_LASTS, DIRECTIONS, DRAWN, Drawing, GOOD_LASTS, Owner};
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Quantity, Shape, TableShape, ValueKind, Variant, field, table};
use crate::model::channel::{Error, ErrorKind, ErrorMode, ErrorRate};
use crate::model::share::Part;
use base::dist::Dist;

const OF: Field = field(
    "of",
    Shape::One(ValueKind::Word(&["frame", "bit"])),
    Need::Default("\"frame\""),
    "Whether the probabilities are of each frame or of each bit.",
);
const GOOD: Field =
    field("error-good", DRAWN, Need::Default("0"), "Probability of an error in the good state.");
const BAD: Field = field("error-bad", DRAWN, Need::Default("1"), "Probability of an error in the bad state.");

static PER_FRAME: TableShape = table(
    "per-frame",
    "The state changes from frame to frame.",
    &[
        field("to-bad", DRAWN, Need::Required("0.01"), "Probability of turning bad before a frame."),
        field("to-good", DRAWN, Need::Required("0.3"), "Probability of turning good before a frame."),
        GOOD,
        BAD,
        OF,
    ],
);
static OVER_TIME: TableShape = table(
    "over-time",
    "The state lasts for a while, whatever the traffic.",
    &[GOOD_LASTS, BAD_LASTS, GOOD, BAD, OF],
);

const PROBABILITY: Field = field(
    "probability",
    DRAWN,
    Need::Optional,
    "Each frame is corrupted with this probability. A distribution is drawn once for each repetition.",
);
const PROBABILITY_OF_STATE: Field = field(
    "probability",
    Shape::One(ValueKind::Dist(Quantity::Share)),
    Need::Optional,
    "Each frame is corrupted with this probability. A distribution is drawn each time the state is entered.",
);
const BIT: Field = field(
    "bit-probability",
    DRAWN,
    Need::Optional,
    "Each bit is corrupted with this probability, and its frame with it. A distribution is drawn once for each \
     repetition.",
);
static TWO_STATES: &[Variant] = &[
    Variant {
        name: "per-frame",
        doc: "The state changes from frame to frame.",
        shape: Shape::Table(&PER_FRAME),
        bare: false,
    },
    Variant {
        name: "over-time",
        doc: "The state lasts for a while, whatever the traffic.",
        shape: Shape::Table(&OVER_TIME),
        bare: false,
    },
];
const TWO_STATE: Field = field(
    "two-state",
    Shape::Choice(TWO_STATES),
    Need::Optional,
    "Two states with a probability each (Gilbert, Elliott).",
);
const MODE: Field = field(
    "mode",
    Shape::One(ValueKind::Word(&["drop", "corrupt", "delay"])),
    Need::Default("\"drop\""),
    "Treatment of a frame with errors: the link discards it (and retransmits it with `arq`), forwards it with \
     corrupted bits, or delays it.",
);
const DELAY: Field = field(
    "delay",
    Shape::One(ValueKind::Dist(Quantity::Span)),
    Need::Optional,
    "With mode = \"delay\": the delay.",
);
const ONE_OF: &[&[&str]] = &[&["probability", "bit-probability", "two-state"]];

static ERROR: TableShape = TableShape {
    name: "error",
    doc: "Frame errors. Without `framing` a packet is one frame.",
    fields: &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"noise\""),
            "How grids and results call it.",
        ),
        DIRECTIONS,
        PROBABILITY,
        BIT,
        TWO_STATE,
        MODE,
        DELAY,
    ],
    one_of: ONE_OF,
    needs: &[],
};

/// Error of a state, which has no name.
pub(crate) static OF_STATE: TableShape = TableShape {
    name: "error",
    doc: "Frame errors in this state, in addition to the others.",
    fields: &[PROBABILITY_OF_STATE, BIT, TWO_STATE, MODE, DELAY],
    one_of: ONE_OF,
    needs: &[],
};

/// `[[hop.error]]`, `[[link.error]]`.
pub(crate) const ERRORS: Field = field("error", Shape::Tables(&ERROR), Need::Optional, "Frame errors.");

/// Reads the errors of a hop or link.
pub(crate) fn read(reader: Reader<'_>, owner: &Owner<'_>, cx: &Cx<'_>) -> Vec<Error> {
    let errors = reader.tables("error", &ERROR).filter_map(|r| {
        let links = owner.links(r, cx);
        let mode = mode(r, cx);
        let (kind, mode) = (kind(r, cx)?, mode?);
        Some(Error { name: format!("{}.{}", owner.name, r.name()?), kind, mode, links: links? })
    });
    errors.collect()
}

/// Reads the error of a state.
pub(crate) fn of_state(reader: Reader<'_>, cx: &Cx<'_>) -> Option<(ErrorKind, ErrorMode)> {
    let mode = mode(reader, cx);
    let kind = match reader.get("probability") {
        Some(_) => match reader.dist("probability", cx)? {
            Dist::Constant(p) => ErrorKind::Steady(ErrorRate::Frame(p)),
            drawn => ErrorKind::Drawn(drawn),
        },
        None => kind(reader, cx)?,
    };
    Some((kind, mode?))
}

fn mode(reader: Reader<'_>, cx: &Cx<'_>) -> Option<ErrorMode> {
    let word = reader.word("mode")?;
    let delay = reader.get("delay");
    match (word, delay) {
        ("delay", None) => {
            cx.push(
                Diagnostic::error(
                    "missing-key",
                    reader.place("mode"),
                    "the delay of the frames is not given",
                )
                .help("add delay = \"500 ms\", or a distribution"),
            );
            None
        }
        ("delay", Some(_)) => Some(ErrorMode::Delay(reader.dist("delay", cx)?)),
        (_, Some(tree)) => {
            cx.push(
                Diagnostic::warning(
                    "no-effect",
                    tree.place,
                    format!("mode = \"{word}\" does not delay frames"),
                )
                .help("write mode = \"delay\", or remove `delay`"),
            );
            Some(if word == "corrupt" { ErrorMode::Corrupt } else { ErrorMode::Drop })
        }
        ("corrupt", None) => Some(ErrorMode::Corrupt),
        _ => Some(ErrorMode::Drop),
    }
}

fn kind(reader: Reader<'_>, cx: &Cx<'_>) -> Option<ErrorKind> {
    let mut drawing = Drawing { parts: Vec::new(), cx };
    let kind = with_shares(reader, &mut drawing)?;
    Some(if drawing.parts.is_empty() { kind } else { ErrorKind::Shares(Box::new(kind), drawing.parts) })
}

fn with_shares(reader: Reader<'_>, drawing: &mut Drawing<'_, '_>) -> Option<ErrorKind> {
    if reader.get("probability").is_some() {
        let p = drawing.read(reader, "probability", Part::Probability)?;
        return Some(ErrorKind::Steady(ErrorRate::Frame(p)));
    }
    if reader.get("bit-probability").is_some() {
        let p = drawing.read(reader, "bit-probability", Part::Probability)?;
        return Some(ErrorKind::Steady(ErrorRate::Bit(p)));
    }
    let [entry] = reader.get("two-state")?.table()?.entries.as_slice() else { return None };
    let chance = |drawing: &mut Drawing<'_, '_>, r: Reader<'_>, key: &str, part: Part| {
        let p = drawing.read(r, key, part)?;
        Some(if r.word("of")? == "bit" { ErrorRate::Bit(p) } else { ErrorRate::Frame(p) })
    };
    if entry.key == "per-frame" {
        let r = Reader::new(&entry.tree, &PER_FRAME);
        return Some(ErrorKind::PerFrame {
            to_bad: drawing.read(r, "to-bad", Part::ToBad)?,
            to_good: drawing.read(r, "to-good", Part::ToGood)?,
            good: chance(drawing, r, "error-good", Part::Good)?,
            bad: chance(drawing, r, "error-bad", Part::Bad)?,
        });
    }
    let r = Reader::new(&entry.tree, &OVER_TIME);
    let cx = drawing.cx;
    let (good_lasts, bad_lasts) = (r.dist("good", cx)?, r.dist("bad", cx)?);
    if [&good_lasts, &bad_lasts].iter().any(|d| super::fault::most(d) == Some(0.0)) {
        cx.push(
            Diagnostic::error("bad-value", r.tree.place, "a state that lasts no time is not a state")
                .help("for steady errors write `probability`"),
        );
        return None;
    }
    Some(ErrorKind::OverTime {
        good_lasts,
        bad_lasts,
        good: chance(drawing, r, "error-good", Part::Good)?,
        bad: chance(drawing, r, "error-bad", Part::Bad)?,
    })
}
