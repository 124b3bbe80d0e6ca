//! Grammar of link faults: gates, rate changes, losses.
//!
//! Gates interrupt service, rate changes alter the rate, losses drop packets. Each has a name, and
//! `link.name` is the key of its random stream. Weather depends on seed, repetition and time, never on
//! traffic or on the cell of the grid.
//!
//! A gate or a rate change takes exactly one timing:
//! - `every`, with `lasts`: repeated. Intervals count from start to start, or with `from = "end"` from the
//!   end of one to the start of the next. The first comes one interval after the start of the run, or at
//!   `first`: a time, a distribution or `"stationary"` (as if the process had no beginning).
//! - `start`, with `lasts`: once in every repetition.
//! - `spikes = [["30 s", "9 s"], ...]`: listed times and durations.
//! - `file = "spikes.csv"`: `rep,start_s,length_s`, repetitions counted from 0.

use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Quantity, Shape, TableShape, ValueKind, Variant, field, table};
use crate::grammar::tree::{Tree, Value};
use crate::model::share::{Part, expected};
use crate::model::{
    ChangedRate, CountedFrom, Direction, Fate, First, Gate, GateMode, Loss, LossKind, Position, RateChange,
    Timing,
};
use base::dist::Dist;
use base::{Span, Time};

const NAME: Field = field(
    "name",
    Shape::One(ValueKind::Name),
    Need::Required("\"reselection\""),
    "How grids and results call it.",
);
pub(crate) const DIRECTIONS: Field = field(
    "directions",
    Shape::One(ValueKind::Word(&["both", "down", "up"])),
    Need::Default("\"both\""),
    "Which directions of a hop it acts on.",
);
const EVERY: Field = field(
    "every",
    Shape::One(ValueKind::Dist(Quantity::Span)),
    Need::Optional,
    "Again and again: the time from one to the next.",
);
const FROM: Field = field(
    "from",
    Shape::One(ValueKind::Word(&["start", "end"])),
    Need::Default("\"start\""),
    "Whether that interval counts from the start or from the end of the one before.",
);
const FIRST: Field = field(
    "first",
    Shape::Either(&[Shape::One(ValueKind::Text)]),
    Need::Optional,
    "When the first one starts: a time, a distribution, or \"stationary\", as if it had always been going on. Without it, one interval after the start.",
);
const LASTS: Field =
    field("lasts", Shape::One(ValueKind::Dist(Quantity::Span)), Need::Optional, "Duration of each.");
const START: Field =
    field("start", Shape::One(ValueKind::Dist(Quantity::Span)), Need::Optional, "Once: when it starts.");
const SPIKES: Field = field(
    "spikes",
    Shape::List(&Shape::Pair(ValueKind::Span, ValueKind::Span)),
    Need::Optional,
    "At given times: [[\"30 s\", \"9 s\"], ...], start and length.",
);
const FILE: Field = field(
    "file",
    Shape::One(ValueKind::File),
    Need::Optional,
    "At given times of its own for every repetition: a file of rep,start_s,length_s, repetitions counted from 0.",
);

const TIMINGS: &[&[&str]] = &[&["every", "start", "spikes", "file"]];
const TIMING_NEEDS: &[(&str, &[&str])] = &[
    ("first", &["every"]),
    ("from", &["every"]),
    ("every", &["lasts"]),
    ("start", &["lasts"]),
    ("lasts", &["every", "start"]),
];

static GATE: TableShape = TableShape {
    name: "gate",
    doc: "An interval in which no service starts: a handover, an outage, a voice call. The packet in service \
          finishes.",
    fields: &[
        NAME,
        field(
            "at",
            Shape::One(ValueKind::Word(&["after-queue", "before-queue"])),
            Need::Default("\"after-queue\""),
            "Between queue and service, or before packets join the queue.",
        ),
        DIRECTIONS,
        field(
            "mode",
            Shape::One(ValueKind::Word(&["hold", "drop"])),
            Need::Default("\"hold\""),
            "Whether packets wait at the closed gate or are dropped.",
        ),
        EVERY,
        FROM,
        FIRST,
        LASTS,
        START,
        SPIKES,
        FILE,
    ],
    one_of: TIMINGS,
    needs: TIMING_NEEDS,
};

static RATE_CHANGE: TableShape = TableShape {
    name: "rate-change",
    doc: "Another rate for a while: a fade, another cell, other users.",
    fields: &[
        NAME,
        DIRECTIONS,
        field(
            "rate",
            Shape::One(ValueKind::Rate),
            Need::Optional,
            "The rate meanwhile; 0 freezes service in the middle of a packet.",
        ),
        field("factor", Shape::One(ValueKind::Number(0.0, 1e6)), Need::Optional, "Or a factor on the rate."),
        EVERY,
        FROM,
        FIRST,
        LASTS,
        START,
        SPIKES,
        FILE,
    ],
    one_of: &[TIMINGS[0], &["rate", "factor"]],
    needs: TIMING_NEEDS,
};

/// A probability, or a distribution from which each repetition draws one.
pub(crate) const DRAWN: Shape = Shape::One(ValueKind::Dist(Quantity::Share));
const LOSS_GOOD: Field = field("loss-good", DRAWN, Need::Default("0"), "Loss probability in the good state.");
const LOSS_BAD: Field = field("loss-bad", DRAWN, Need::Default("1"), "Loss probability in the bad state.");

static PER_PACKET: TableShape = table(
    "per-packet",
    "The state changes from packet to packet.",
    &[
        field("to-bad", DRAWN, Need::Required("0.01"), "Probability of turning bad before a packet."),
        field("to-good", DRAWN, Need::Required("0.3"), "Probability of turning good before a packet."),
        LOSS_GOOD,
        LOSS_BAD,
    ],
);
/// Duration of the good state, of losses and errors.
pub(crate) const GOOD_LASTS: Field = field(
    "good",
    Shape::One(ValueKind::Dist(Quantity::Span)),
    Need::Required("\"exponential(10 s)\""),
    "How long the good state lasts.",
);
/// Duration of the bad state.
pub(crate) const BAD_LASTS: Field = field(
    "bad",
    Shape::One(ValueKind::Dist(Quantity::Span)),
    Need::Required("\"exponential(1 s)\""),
    "How long the bad state lasts.",
);
static OVER_TIME: TableShape = table(
    "over-time",
    "The state lasts for a while, whatever the traffic.",
    &[GOOD_LASTS, BAD_LASTS, LOSS_GOOD, LOSS_BAD],
);

/// Two states, with transitions by packets or by time.
const TWO_STATE: Shape = Shape::Choice(&[
    Variant {
        name: "per-packet",
        doc: "The state changes from packet to packet.",
        shape: Shape::Table(&PER_PACKET),
        bare: false,
    },
    Variant {
        name: "over-time",
        doc: "The state lasts for a while, whatever the traffic.",
        shape: Shape::Table(&OVER_TIME),
        bare: false,
    },
]);

const PACKETS: Field = field(
    "packets",
    Shape::One(ValueKind::Ordinals),
    Need::Optional,
    "These: data packets on the link, counted from 1 in each direction (\"9-15, 20\").",
);
const PROBABILITY: Field = field(
    "probability",
    DRAWN,
    Need::Optional,
    "Each packet with this probability. A distribution is drawn once for each repetition.",
);

static LOSS: TableShape = TableShape {
    name: "loss",
    doc: "Packets lost after transmission.",
    fields: &[
        NAME,
        DIRECTIONS,
        PACKETS,
        PROBABILITY,
        field(
            "two-state",
            TWO_STATE,
            Need::Optional,
            "Two states with a loss probability each (Gilbert, Elliott).",
        ),
        field(
            "mark",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Packets of connections with ECN are marked in place of lost (RFC 3168).",
        ),
    ],
    one_of: &[&["packets", "probability", "two-state"]],
    needs: &[],
};

static DUPLICATION: TableShape = TableShape {
    name: "duplication",
    doc: "Packets of which the network makes a second copy, which arrives right after the first.",
    fields: &[
        NAME,
        DIRECTIONS,
        PACKETS,
        PROBABILITY,
        field(
            "two-state",
            TWO_STATE,
            Need::Optional,
            "Two states with a probability each; `loss-good` and `loss-bad` are those of a copy.",
        ),
    ],
    one_of: &[&["packets", "probability", "two-state"]],
    needs: &[],
};

/// `[[hop.gate]]`, `[[link.gate]]`.
pub(crate) const GATES: Field =
    field("gate", Shape::Tables(&GATE), Need::Optional, "Interruptions of service.");
/// `[[hop.rate-change]]`.
pub(crate) const RATE_CHANGES: Field =
    field("rate-change", Shape::Tables(&RATE_CHANGE), Need::Optional, "Times of another rate.");
/// `[[hop.loss]]`.
pub(crate) const LOSSES: Field = field("loss", Shape::Tables(&LOSS), Need::Optional, "Packet losses.");

/// `[[hop.duplication]]`, `[[link.duplication]]`.
pub(crate) const DUPLICATIONS: Field =
    field("duplication", Shape::Tables(&DUPLICATION), Need::Optional, "Packets that arrive twice.");

/// Links of a hop or link with their directions; a `[[link]]` has none.
pub(crate) struct Owner<'a> {
    pub(crate) name: &'a str,
    pub(crate) links: &'a [(usize, Option<Direction>)],
}

impl Owner<'_> {
    pub(crate) fn links(&self, reader: Reader<'_>, cx: &Cx<'_>) -> Option<Vec<usize>> {
        let word = reader.word("directions")?;
        let all: Vec<usize> = self
            .links
            .iter()
            .filter(|(_, direction)| word == "both" || direction.is_none_or(|d| d.name() == word))
            .map(|(index, _)| *index)
            .collect();
        if let (Some(tree), [(_, None)]) = (reader.get("directions"), self.links)
            && word != "both"
        {
            cx.push(
                Diagnostic::error("conflict", tree.place, "a link has one direction only")
                    .help("remove `directions`; a hop has two"),
            );
            return None;
        }
        Some(all)
    }
}

/// Reads the faults of a hop or link. Faults refer to links by index; the caller adds the reverse references.
pub(crate) fn read(
    reader: Reader<'_>,
    owner: &Owner<'_>,
    cx: &Cx<'_>,
) -> (Vec<Gate>, Vec<RateChange>, Vec<Loss>) {
    let element = |r: &Reader<'_>| Some(format!("{}.{}", owner.name, r.name()?));
    let gates = reader.tables("gate", &GATE).filter_map(|r| {
        let timing = timing(r, cx);
        let links = owner.links(r, cx);
        Some(Gate {
            name: element(&r)?,
            at: if r.word("at")? == "before-queue" { Position::BeforeQueue } else { Position::AfterQueue },
            mode: if r.word("mode")? == "drop" { GateMode::Drop } else { GateMode::Hold },
            timing: timing?,
            links: links?,
        })
    });
    let rate_changes = reader.tables("rate-change", &RATE_CHANGE).filter_map(|r| {
        let timing = timing(r, cx);
        let links = owner.links(r, cx);
        let to = match r.get("rate") {
            Some(_) => ChangedRate::To(r.rate("rate")?),
            None => ChangedRate::Times(r.number("factor")?),
        };
        Some(RateChange { name: element(&r)?, to, timing: timing?, links: links? })
    });
    let losses = reader.tables("loss", &LOSS).filter_map(|r| {
        let links = owner.links(r, cx);
        let fate = if r.flag("mark")? { Fate::Marked } else { Fate::Lost };
        Some(Loss { name: element(&r)?, kind: loss(r, cx)?, fate, links: links? })
    });
    let copies = reader.tables("duplication", &DUPLICATION).filter_map(|r| {
        let links = owner.links(r, cx);
        Some(Loss { name: element(&r)?, kind: loss(r, cx)?, fate: Fate::Duplicated, links: links? })
    });
    let losses = losses.chain(copies);
    (gates.collect(), rate_changes.collect(), losses.collect())
}

/// Reader of probabilities: a drawn one is recorded with its part and replaced by its mean.
pub(crate) struct Drawing<'a, 'b> {
    /// Drawn probabilities.
    pub(crate) parts: Vec<(Part, Dist)>,
    /// Context for files and diagnostics.
    pub(crate) cx: &'a Cx<'b>,
}

impl Drawing<'_, '_> {
    /// Probability under `key`.
    pub(crate) fn read(&mut self, reader: Reader<'_>, key: &str, part: Part) -> Option<f64> {
        Some(match reader.dist(key, self.cx)? {
            Dist::Constant(p) => p,
            drawn => {
                let expected = expected(&drawn);
                self.parts.push((part, drawn));
                expected
            }
        })
    }
}

fn loss(reader: Reader<'_>, cx: &Cx<'_>) -> Option<LossKind> {
    if let Some(tree) = reader.get("packets") {
        return leaf::ordinals(tree).ok().map(LossKind::Packets);
    }
    let mut drawing = Drawing { parts: Vec::new(), cx };
    let kind = random_loss(reader, &mut drawing)?;
    Some(if drawing.parts.is_empty() { kind } else { LossKind::Drawn(Box::new(kind), drawing.parts) })
}

fn random_loss(reader: Reader<'_>, drawing: &mut Drawing<'_, '_>) -> Option<LossKind> {
    if reader.get("probability").is_some() {
        return drawing.read(reader, "probability", Part::Probability).map(LossKind::Probability);
    }
    let [entry] = reader.get("two-state")?.table()?.entries.as_slice() else { return None };
    if entry.key == "per-packet" {
        let r = Reader::new(&entry.tree, &PER_PACKET);
        return Some(LossKind::PerPacketStates {
            to_bad: drawing.read(r, "to-bad", Part::ToBad)?,
            to_good: drawing.read(r, "to-good", Part::ToGood)?,
            loss_good: drawing.read(r, "loss-good", Part::Good)?,
            loss_bad: drawing.read(r, "loss-bad", Part::Bad)?,
        });
    }
    let r = Reader::new(&entry.tree, &OVER_TIME);
    let cx = drawing.cx;
    let (good, bad) = (r.dist("good", cx)?, r.dist("bad", cx)?);
    if least(&good) == 0.0 && most(&good) == Some(0.0) || least(&bad) == 0.0 && most(&bad) == Some(0.0) {
        cx.push(
            Diagnostic::error("bad-value", r.tree.place, "a state that lasts no time is not a state")
                .help("for independent losses write `probability`"),
        );
        return None;
    }
    Some(LossKind::OverTimeStates {
        good,
        bad,
        loss_good: drawing.read(r, "loss-good", Part::Good)?,
        loss_bad: drawing.read(r, "loss-bad", Part::Bad)?,
    })
}

/// Minimum of a distribution, or 0 if unknown.
fn least(dist: &Dist) -> f64 {
    match dist {
        Dist::Constant(c) => *c,
        Dist::Uniform(a, _) | Dist::Pareto(a, ..) => *a,
        Dist::TwoState { first, second, .. } => first.min(*second),
        Dist::Empirical(values) => values.iter().copied().fold(f64::INFINITY, f64::min),
        _ => 0.0,
    }
}

/// Maximum of a distribution, if bounded.
pub(crate) fn most(dist: &Dist) -> Option<f64> {
    match dist {
        Dist::Constant(c) => Some(*c),
        Dist::Uniform(_, b) => Some(*b),
        Dist::Pareto(_, _, max) => *max,
        Dist::TwoState { first, second, .. } => Some(first.max(*second)),
        Dist::Empirical(values) => values.iter().copied().reduce(f64::max),
        _ => None,
    }
}

/// Shortest mean interval of repeated events, ns; a bound, because each event is drawn and stored.
const SHORTEST_PERIOD: f64 = 10_000.0;

fn timing(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Timing> {
    if let Some(tree) = reader.get("spikes") {
        return listed(tree, cx).map(Timing::Listed);
    }
    if let Some(tree) = reader.get("file") {
        return cx.spikes(tree.text()?, tree.place).map(Timing::PerRepetition);
    }
    if reader.get("start").is_some() {
        return Some(Timing::Once { start: reader.dist("start", cx)?, lasts: reader.dist("lasts", cx)? });
    }
    let first = reader.get("first").map(|tree| first(tree, cx));
    let every = reader.dist("every", cx)?;
    let from = if reader.word("from")? == "end" { CountedFrom::End } else { CountedFrom::Start };
    let lasts = reader.dist("lasts", cx)?;
    let place = reader.place("every");
    if most(&every) == Some(0.0) {
        cx.push(
            Diagnostic::error("bad-value", place, "an interval of nothing repeats without end")
                .help("give a time of more than 0 s"),
        );
        return None;
    }
    let period = every.mean() + if from == CountedFrom::End { lasts.mean() } else { 0.0 };
    if period < SHORTEST_PERIOD {
        cx.push(
            Diagnostic::error("bad-value", place, "this happens more than a hundred thousand times a second")
                .help("give a longer interval: \"1 s\" or \"20 ms\", for example"),
        );
        return None;
    }
    if let (CountedFrom::Start, Some(latest)) = (from, most(&every))
        && least(&lasts) >= latest
    {
        let (least, latest) = (Span::from_nanos(least(&lasts) as u64), Span::from_nanos(latest as u64));
        let message = format!("each lasts at least {least} and the next starts after {latest} at most");
        cx.push(
            Diagnostic::warning("overlap", reader.place("lasts"), message)
                .also(place, "counted from start to start")
                .help("from the first one on it never ends; with from = \"end\" they never overlap"),
        );
    } else if let (CountedFrom::Start, Some(longest)) = (from, most(&lasts)) {
        let shortest = least(&every);
        if shortest > 0.0 && longest > shortest {
            let (longest, shortest) = (Span::from_nanos(longest as u64), Span::from_nanos(shortest as u64));
            cx.push(
                Diagnostic::warning(
                    "overlap",
                    reader.place("lasts"),
                    format!("one may last {longest} and the next start after {shortest}"),
                )
                .also(place, "counted from start to start")
                .help("those that overlap are one long one; with from = \"end\" they never overlap"),
            );
        }
    }
    let first = match first {
        None => First::After(every.clone()),
        Some(first) => first?,
    };
    Some(Timing::Every { every, from, first, lasts })
}

fn first(tree: &Tree, cx: &Cx<'_>) -> Option<First> {
    if tree.text() == Some("stationary") {
        return Some(First::Stationary);
    }
    match leaf::dist(tree, Quantity::Span, cx) {
        Ok(dist) => Some(First::After(dist)),
        Err(mut complaint) => {
            if let Value::Text(text) = &tree.value
                && crate::grammar::spelling::nearest(text, ["stationary"]).is_some()
            {
                complaint.message = format!("`{text}` is not a time");
                complaint.label = "did you mean `stationary`?".into();
            }
            complaint.help = "a time, a distribution, or \"stationary\"".into();
            cx.complain("bad-value", tree.place, complaint);
            None
        }
    }
}

fn listed(tree: &Tree, cx: &Cx<'_>) -> Option<Vec<(Time, Span)>> {
    let mut spikes: Vec<(Time, Span)> = Vec::new();
    for pair in tree.list()? {
        let [start, length] = pair.list()? else { return None };
        let start_time = Time::ZERO + leaf::span(start).ok()?;
        let length = leaf::span(length).ok()?;
        if let Some((before, lasts)) = spikes.last()
            && start_time < *before + *lasts
        {
            let ends = (*before + *lasts).since(Time::ZERO);
            cx.push(
                Diagnostic::error(
                    "bad-value",
                    pair.place,
                    format!("this starts before the one in front of it ends, at {ends}"),
                )
                .help("sort them, and join those that overlap"),
            );
            return None;
        }
        spikes.push((start_time, length));
    }
    Some(spikes)
}
