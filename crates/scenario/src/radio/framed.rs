//! Grammar of framed bearers with a channel of their own (`radio.hscsd`, `radio.wcdma`, `radio.cdma2000`), and their
//! reader.

use super::circuit;
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Quantity, Shape, TableShape, ValueKind, field, table};
use crate::model::Direction;
use crate::tables::path::hop;
use base::{Rate, Span, Time};
use radio::framed::circuit::Coding;
use radio::framed::config::{ChannelState, Disconnections, FramedConfig, Reports};
use radio::framed::reach::MobilePosition;

const SHARE: Shape = Shape::One(ValueKind::Number(0.0, 1.0));
const SPAN: Shape = Shape::One(ValueKind::Span);
const DIST: Shape = Shape::One(ValueKind::Dist(Quantity::Span));
static RATE: Shape = Shape::One(ValueKind::Rate);
static ERROR: Shape = SHARE;
static BUFFER: Shape = Shape::One(ValueKind::Bytes);
static SLOTS: Shape = Shape::One(ValueKind::Count(1, 8));

static STATE: TableShape = table(
    "state",
    "A state of the channel: rate, frame losses, duration.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"fast\""),
            "Its name, the key of its random stream.",
        ),
        field(
            "rate",
            Shape::PerDirection(&RATE),
            Need::Required("\"13.4 kbit/s\""),
            "Rate of user data in frames; \"0 bit/s\" for a hole.",
        ),
        field("error", Shape::PerDirection(&ERROR), Need::Default("0"), "Frame error rate."),
        field("lasts", DIST, Need::Optional, "Duration. Without it, unlimited."),
        field(
            "weight",
            Shape::One(ValueKind::Number(0.0, 1e6)),
            Need::Default("1"),
            "Weight with which it follows another state.",
        ),
    ],
);
static PLACE: TableShape = table(
    "place",
    "A distance and a load, from one instant on: link budget of a macro cell (3GPP TR 25.942).",
    &[
        field("at", SPAN, Need::Default("\"0 s\""), "From this time on."),
        field(
            "distance",
            Shape::One(ValueKind::Number(10.0, 50_000.0)),
            Need::Required("500"),
            "To the site, m.",
        ),
        field(
            "load",
            Shape::One(ValueKind::Number(0.0, 0.99)),
            Need::Default("0.5"),
            "Load by others, 0 to 0.99.",
        ),
        field(
            "sites",
            Shape::One(ValueKind::Number(100.0, 100_000.0)),
            Need::Default("2000"),
            "Distance between sites, m.",
        ),
        field(
            "margin",
            Shape::One(ValueKind::Number(-20.0, 40.0)),
            Need::Default("6"),
            "For shadowing and fading, dB.",
        ),
    ],
);
static DISCONNECTION: TableShape = table(
    "disconnections",
    "Losses of the circuit with everything in it.",
    &[
        field(
            "every",
            DIST,
            Need::Required("\"exponential(690 s)\""),
            "Time from the end of one to the next.",
        ),
        field("lasts", DIST, Need::Default("\"30 s\""), "Time until the connection is re-established."),
        field(
            "handover",
            Shape::One(ValueKind::Number(0.0, 1e6)),
            Need::Default("1"),
            "Weight of failed handovers among the causes.",
        ),
        field(
            "air-interface",
            Shape::One(ValueKind::Number(0.0, 1e6)),
            Need::Default("1"),
            "Weight of the air interface.",
        ),
        field(
            "remote-equipment",
            Shape::One(ValueKind::Number(0.0, 1e6)),
            Need::Default("1"),
            "Weight of the remote equipment.",
        ),
    ],
);
const STATES: Field = field(
    "state",
    Shape::Tables(&STATE),
    Need::Optional,
    "States of the channel, in place of its only state; the first one is the initial state.",
);
const FEEDBACK: Field = field(
    "feedback",
    SPAN,
    Need::Optional,
    "From the end of a frame until the sender has a report about it.",
);
const ATTEMPTS: Field = field(
    "attempts",
    Shape::One(ValueKind::Count(1, 255)),
    Need::Optional,
    "Transmissions of a frame before its packet is given up.",
);
const DELAY: Field = field(
    "delay",
    SPAN,
    Need::Optional,
    "One-way delay in addition to transmission: interleaving, processing, fixed network.",
);
const BUFFERS: Field =
    field("buffer", Shape::PerDirection(&BUFFER), Need::Optional, "Queue limit. Without it, unlimited.");
const KEEP: Field = field(
    "keep",
    Shape::One(ValueKind::Flag),
    Need::Default("false"),
    "The first state is kept while data wait: the resource is not released.",
);
const ERRORS: Field = field(
    "error",
    Shape::PerDirection(&ERROR),
    Need::Optional,
    "Frame error rate where no states are given.",
);

pub(super) static HSCSD: TableShape = table(
    "hscsd",
    "High-speed circuit-switched data and basic GSM data: timeslots of 14.4 or 9.6 kbit/s with non-transparent RLP.",
    &[
        field("slots", Shape::PerDirection(&SLOTS), Need::Default("{ down = 3, up = 1 }"), "Timeslots."),
        field(
            "coding",
            Shape::One(ValueKind::Word(&["14.4", "9.6"])),
            Need::Default("\"14.4\""),
            "User rate of a timeslot; RLP carries 13.4 or 10.0 kbit/s of it.",
        ),
        field(
            "cap",
            Shape::One(ValueKind::Word(&["none", "a-interface", "v110", "v120"])),
            Need::Default("\"v110\""),
            "Limit of the fixed side: 64, 38.4 or 57.6 kbit/s.",
        ),
        STATES,
        ERRORS,
        FEEDBACK,
        field(
            "t1",
            SPAN,
            Need::Default("\"600 ms\""),
            "RLP timer: the last frames are retransmitted after this time.",
        ),
        DELAY,
        BUFFERS,
        field("disconnections", Shape::Table(&DISCONNECTION), Need::Optional, "Losses of the circuit."),
        field(
            "adaptation",
            Shape::Table(&circuit::ADAPTATION),
            Need::Optional,
            "Automatic link adaptation by C/I, in place of `error` and `state`.",
        ),
        field(
            "contention",
            Shape::Table(&circuit::CONTENTION),
            Need::Optional,
            "Calls that compete for the timeslots: upgrades and downgrades in the call.",
        ),
    ],
);
pub(super) static WCDMA: TableShape = table(
    "wcdma",
    "W-CDMA of release 99 with RLC in acknowledged mode: PDUs of 336 bits, polls, status reports, MaxDAT.",
    &[
        field(
            "rate",
            Shape::PerDirection(&RATE),
            Need::Default("{ down = \"384 kbit/s\", up = \"64 kbit/s\" }"),
            "Rate of the dedicated channel.",
        ),
        field(
            "tti",
            SPAN,
            Need::Default("\"10 ms\""),
            "Transmission time interval: all PDUs of one are coded together.",
        ),
        field(
            "place",
            Shape::Tables(&PLACE),
            Need::Optional,
            "Where the mobile is and how busy the cells are; the channel has the largest usual rate that fits there, and no more \
             than `rate`.",
        ),
        field(
            "together",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "PDUs of one interval are lost together, as one coded unit; `error` is then that of the interval.",
        ),
        field("window", Shape::One(ValueKind::Count(64, 1024)), Need::Default("1024"), "PDUs outstanding."),
        field(
            "poll-every",
            Shape::One(ValueKind::Count(1, 1024)),
            Need::Default("32"),
            "Number of PDUs between polls.",
        ),
        field("poll-timer", SPAN, Need::Default("\"150 ms\""), "A poll after this time."),
        field("status-prohibit", SPAN, Need::Default("\"100 ms\""), "Least time between status reports."),
        ATTEMPTS,
        STATES,
        ERRORS,
        KEEP,
        FEEDBACK,
        DELAY,
        BUFFERS,
    ],
);
pub(super) static CDMA2000: TableShape = table(
    "cdma2000",
    "cdma2000 1x with RLP type 3: NAKs in rounds, no other reports; a high-rate channel is assigned and released.",
    &[
        field("frame", SPAN, Need::Default("\"20 ms\""), "Physical frame: 5, 10, 20, 40 or 80 ms."),
        field(
            "octets",
            Shape::One(ValueKind::Count(5, 800)),
            Need::Default("20"),
            "Octets of an RLP frame; several share a physical frame at high rates.",
        ),
        field("rounds", Shape::List(&NAKS), Need::Default("[1, 2, 3]"), "NAKs of each round."),
        field(
            "nak-timer",
            SPAN,
            Need::Default("\"100 ms\""),
            "From the last NAK of a round to the next one.",
        ),
        STATES,
        ERRORS,
        KEEP,
        FEEDBACK,
        DELAY,
        BUFFERS,
    ],
);
const NAKS: Shape = Shape::One(ValueKind::Count(1, 10));

/// Value for one direction of a key that may be split.
fn split<T>(
    r: Reader<'_>,
    key: &str,
    d: Direction,
    read: impl Fn(&crate::grammar::tree::Tree) -> Option<T>,
) -> Option<T> {
    let tree = r.or_default(key)?;
    read(hop::of(Some(&*tree), d)?)
}

const BOTH: [Direction; 2] = [Direction::Down, Direction::Up];

pub(super) fn hscsd(r: Reader<'_>, name: &str, cx: &Cx<'_>) -> Option<FramedConfig> {
    let slots = |d| split(r, "slots", d, |t| leaf::count(t, 1, 8).ok()).map(|n| n as u8);
    let (down, up) = (slots(Direction::Down)?, slots(Direction::Up)?);
    if up > down {
        cx.push(
            Diagnostic::error(
                "bad-value",
                r.place("slots"),
                "HSCSD has at most as many timeslots uplink as downlink",
            )
            .help("write slots = { down = 3, up = 1 }"),
        );
        return None;
    }
    let mut config = FramedConfig::hscsd(name, down, up);
    if r.word("coding")? == "9.6" {
        config.octets = 25;
        let rate = |n: u8| Rate::from_bps(10_000 * u64::from(n));
        config.states[0].rate = [rate(down), rate(up)];
        config.states[0].name = "9.6".into();
        config.timeslots.1 = Coding::F96;
    }
    for key in ["adaptation", "contention"] {
        if r.get(key).is_some() && r.get("state").is_some() {
            cx.push(
                Diagnostic::error("conflict", r.place(key), format!("`{key}` with [[...state]]"))
                    .also(r.place("state"), "the states already have rates")
                    .help(format!("remove the states, or `{key}`")),
            );
            return None;
        }
    }
    if let Some(tree) = r.get("adaptation") {
        config.adaptation = Some(circuit::adaptation(Reader::new(tree, &circuit::ADAPTATION), cx)?);
    }
    if let Some(tree) = r.get("contention") {
        let r = Reader::new(tree, &circuit::CONTENTION);
        config.contention = Some(circuit::contention(r, [down, up], cx)?);
    }
    config.cap = match r.word("cap")? {
        "a-interface" => Some(Rate::from_bps(64_000)),
        "v110" => Some(Rate::from_bps(38_400)),
        "v120" => Some(Rate::from_bps(57_600)),
        _ => None,
    };
    config.reports = Reports::Continuous { timer: r.span("t1")? };
    if let Some(tree) = r.get("disconnections") {
        let d = Reader::new(tree, &DISCONNECTION);
        let causes = ["handover", "air-interface", "remote-equipment"].map(|c| d.number(c));
        let [Some(a), Some(b), Some(c)] = causes else { return None };
        config.disconnections = Some(Disconnections {
            every: d.dist("every", cx)?,
            lasts: d.dist("lasts", cx)?,
            causes: [a, b, c],
        });
    }
    common(r, &mut config, cx)?;
    Some(config)
}

pub(super) fn wcdma(r: Reader<'_>, name: &str, cx: &Cx<'_>) -> Option<FramedConfig> {
    let mut config = FramedConfig::wcdma(name);
    for (i, d) in BOTH.into_iter().enumerate() {
        config.states[0].rate[i] = split(r, "rate", d, |t| leaf::rate(t).ok())?;
    }
    config.period = at_least_a_millisecond(r, "tti", cx)?;
    config.together = r.flag("together")?;
    let most = config.states[0].rate;
    config.limits = r.tables("place", &PLACE).map(|p| limit(p, most)).collect::<Option<_>>()?;
    config.limits.sort_by_key(|(from, _)| *from);
    config.numbering.window = r.count("window")? as u32;
    config.reports = Reports::Polled {
        every: r.count("poll-every")? as u32,
        timer: r.span("poll-timer")?,
        prohibit: r.span("status-prohibit")?,
    };
    if r.get("attempts").is_some() {
        config.attempts = Some(r.count("attempts")? as u8);
    }
    config.keep = r.flag("keep")?;
    common(r, &mut config, cx)?;
    Some(config)
}

/// Rate limit by location in the cell: start time, and rates by direction.
fn limit(r: Reader<'_>, most: [Rate; 2]) -> Option<(Time, [Rate; 2])> {
    let spot = MobilePosition {
        distance: r.number("distance")?,
        sites: r.number("sites")?,
        load: r.number("load")?,
        margin: r.number("margin")?,
    };
    Some((Time::ZERO + r.span("at")?, spot.rate(most)))
}

pub(super) fn cdma2000(r: Reader<'_>, name: &str, cx: &Cx<'_>) -> Option<FramedConfig> {
    let mut config = FramedConfig::cdma2000(name);
    config.period = at_least_a_millisecond(r, "frame", cx)?;
    config.octets = r.count("octets")? as u32;
    let rounds = r.or_default("rounds")?;
    let naks: Option<Vec<u8>> =
        rounds.list()?.iter().map(|t| leaf::count(t, 1, 10).ok().map(|n| n as u8)).collect();
    config.reports = Reports::Rounds { naks: naks?, timer: r.span("nak-timer")? };
    config.keep = r.flag("keep")?;
    common(r, &mut config, cx)?;
    Some(config)
}

fn at_least_a_millisecond(r: Reader<'_>, key: &str, cx: &Cx<'_>) -> Option<Span> {
    let span = r.span(key)?;
    if span < Span::from_millis(1) {
        cx.push(
            Diagnostic::error("bad-value", r.place(key), format!("`{key}` is shorter than any frame"))
                .help("give at least \"1 ms\""),
        );
        return None;
    }
    Some(span)
}

/// Options common to all kinds.
fn common(r: Reader<'_>, config: &mut FramedConfig, cx: &Cx<'_>) -> Option<()> {
    if r.get("feedback").is_some() {
        config.feedback = r.span("feedback")?;
    }
    if r.get("delay").is_some() {
        config.delay = r.span("delay")?;
    }
    for (i, d) in BOTH.into_iter().enumerate() {
        if let Some(tree) = hop::of(r.get("buffer"), d) {
            config.buffer[i] = Some(leaf::bytes(tree).ok()?);
        }
        if let Some(tree) = hop::of(r.get("error"), d) {
            let error = leaf::number(tree, 0.0, 1.0).ok()?;
            config.states.iter_mut().for_each(|s| s.error[i] = error);
        }
    }
    let states: Option<Vec<ChannelState>> = r.tables("state", &STATE).map(|s| state(s, cx)).collect();
    let states = states?;
    if !states.is_empty() {
        if states.len() == 1 && states[0].lasts.is_some() {
            cx.push(
                Diagnostic::error(
                    "bad-value",
                    r.place("state"),
                    "a single state that ends needs a successor",
                )
                .help("add a second [[...state]], or leave `lasts` out"),
            );
            return None;
        }
        config.states = states;
    }
    Some(())
}

fn state(r: Reader<'_>, cx: &Cx<'_>) -> Option<ChannelState> {
    let rate = |d| split(r, "rate", d, |t| leaf::rate(t).ok());
    let error = |d| split(r, "error", d, |t| leaf::number(t, 0.0, 1.0).ok());
    let lasts = match r.get("lasts") {
        Some(_) => Some(r.dist("lasts", cx)?),
        None => None,
    };
    Some(ChannelState {
        name: r.name()?,
        rate: [rate(Direction::Down)?, rate(Direction::Up)?],
        error: [error(Direction::Down)?, error(Direction::Up)?],
        lasts,
        weight: r.number("weight")?,
    })
}
