//! Grammar of workloads: bulk, request, web page, messages.
//!
//! Bulk data, requests and replies, web pages, and messages at their own pace: at a constant rate, in bursts, or as a
//! news ticker.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::Place;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Kind, Need, Quantity, Shape, TableShape, Variant, field, table};
use crate::grammar::tree::Tree;
use crate::model::{App, Asking, Keep, Linux, Protocol, Reads, Telling, Transport, Useful};
use base::Span;
use base::dist::Dist;

const BYTES: Shape = Shape::One(Kind::Dist(Quantity::Bytes));
const SPAN: Shape = Shape::One(Kind::Dist(Quantity::Span));

static BULK: TableShape = table(
    "bulk",
    "Data as fast as the transport takes it.",
    &[
        field("bytes", Shape::One(Kind::Bytes), Need::Optional, "How much. Without it, without end."),
        field(
            "lasts",
            Shape::One(Kind::Span),
            Need::Optional,
            "For how long. Without it, until all is delivered or the run ends.",
        ),
        field(
            "read-rate",
            Shape::One(Kind::Rate),
            Need::Optional,
            "How fast the other end reads; what it has not read fills its receive window. Without it, at once.",
        ),
        field(
            "read-pause",
            Shape::One(Kind::Span),
            Need::Optional,
            "For how long after its start the other end reads nothing. Without it, it reads from the start.",
        ),
    ],
);

const LASTS: Field = field(
    "lasts",
    Shape::One(Kind::Span),
    Need::Optional,
    "For how long. Without it, until everything is done or the run ends.",
);
const SERVE: Field = field(
    "serve",
    SPAN,
    Need::Default("\"0 s\""),
    "How long the server takes for each answer, from the last byte of the request.",
);
const PATIENCE: Field = field(
    "patience",
    SPAN,
    Need::Optional,
    "What takes longer is given up: its connections are reset, and the next request follows at once. Without it, nothing is.",
);
const COUNT: Field =
    field("count", Shape::One(Kind::Count(1, 1 << 40)), Need::Optional, "How many. Without it, without end.");
const PLAYOUT: Field = field(
    "playout",
    Shape::One(Kind::Span),
    Need::Optional,
    "A message that arrives later than this after it was made is too late. Without it, none is; in a ticker, one that arrives after the next was made.",
);
/// Classes of applications with the delay that each stands, one way (3GPP TS 22.105 section 5.5; for conversations the upper end of
/// the 100 to 300 ms of the overview, section 2.1).
const CLASSES: &[&str] = &["conversational", "streaming", "interactive", "background"];
const CLASS: Field = field(
    "class",
    Shape::One(Kind::Word(CLASSES)),
    Need::Optional,
    "Class of the application, in place of `playout`: conversational, 300 ms one way; interactive, 4 s; streaming, 10 s; background, any delay.",
);

static REQUEST_REPLY: TableShape = table(
    "request-reply",
    "One request after the other: `from` asks, `to` answers.",
    &[
        field("request", BYTES, Need::Required("\"280 B\""), "Size of a request."),
        field("reply", BYTES, Need::Required("\"499 B\""), "Size of its reply."),
        COUNT,
        LASTS,
        field("think", SPAN, Need::Default("\"0 s\""), "From a reply to the next request."),
        field(
            "think-from",
            Shape::One(Kind::Word(&["reply", "request"])),
            Need::Default("\"reply\""),
            "request: `think` counts from the request, as ping does; a late reply delays the next one.",
        ),
        SERVE,
        PATIENCE,
        field(
            "keep",
            Shape::One(Kind::Word(&["session", "object"])),
            Need::Default("\"session\""),
            "session: one connection for all requests. object: one for each.",
        ),
    ],
);

static WEB: TableShape = table(
    "web",
    "Pages: a main object, then the objects in it, then reading time: `from` asks, `to` answers. The defaults are those of \
     the EGPRS study (its table IV), which gives mean and maximum of the number of objects; the shape follows from the two.",
    &[
        field(
            "pages",
            Shape::One(Kind::Count(1, 1 << 40)),
            Need::Optional,
            "How many pages. Without it, without end.",
        ),
        LASTS,
        field("request", BYTES, Need::Default("\"250 B\""), "Size of each request."),
        field(
            "main",
            BYTES,
            Need::Default("\"lognormal(10710 B, 25032 B)\""),
            "Size of a page's main object.",
        ),
        field(
            "objects",
            Shape::One(Kind::Dist(Quantity::Number)),
            Need::Default("\"pareto(1, 0.74, 55)\""),
            "How many objects are in a page; rounded. They are known when the main object is there.",
        ),
        field("object", BYTES, Need::Default("\"lognormal(7758 B, 126168 B)\""), "Size of each of them."),
        field(
            "largest",
            Shape::One(Kind::Bytes),
            Need::Default("\"1 GB\""),
            "No object is larger than this; what is drawn larger is cut.",
        ),
        field(
            "reading",
            SPAN,
            Need::Default("\"exponential(30 s)\""),
            "From the end of a page to the next one.",
        ),
        SERVE,
        PATIENCE,
        field(
            "connections",
            Shape::One(Kind::Count(1, 1000)),
            Need::Default("1"),
            "At most so many connections at a time.",
        ),
        field(
            "keep",
            Shape::One(Kind::Word(&["object", "page", "session"])),
            Need::Default("\"page\""),
            "How long a connection is kept: for one object (HTTP 1.0), for a page, or for all pages.",
        ),
        field(
            "pipelining",
            Shape::One(Kind::Flag),
            Need::Default("false"),
            "Whether a request may leave before the answer to the one before it has come.",
        ),
    ],
);

static CBR: TableShape = table(
    "cbr",
    "Messages of one size at a constant rate.",
    &[
        field(
            "rate",
            Shape::One(Kind::Rate),
            Need::Required("\"64 kbit/s\""),
            "How fast, without any headers.",
        ),
        field(
            "packet",
            Shape::One(Kind::Bytes),
            Need::Default("\"160 B\""),
            "Each message, without headers.",
        ),
        COUNT,
        LASTS,
        PLAYOUT,
        CLASS,
    ],
);

static ON_OFF: TableShape = table(
    "on-off",
    "Messages at a constant rate, in bursts with silences between.",
    &[
        field(
            "rate",
            Shape::One(Kind::Rate),
            Need::Required("\"64 kbit/s\""),
            "How fast within a burst, without any headers.",
        ),
        field(
            "packet",
            Shape::One(Kind::Bytes),
            Need::Default("\"160 B\""),
            "Each message, without headers.",
        ),
        field(
            "on",
            SPAN,
            Need::Required("\"exponential(1 s)\""),
            "How long a burst lasts. The first one begins at once.",
        ),
        field("off", SPAN, Need::Required("\"exponential(1.35 s)\""), "How long the silence after it lasts."),
        COUNT,
        LASTS,
        PLAYOUT,
        CLASS,
    ],
);

static TICKER: TableShape = table(
    "ticker",
    "News: a message now and then, which makes the one before it obsolete.",
    &[
        field("size", BYTES, Need::Required("\"1 kB\""), "Size of a message."),
        field("every", SPAN, Need::Required("\"5 s\""), "From one message to the next."),
        COUNT,
        LASTS,
        PLAYOUT,
        CLASS,
    ],
);

static UDP: TableShape = table(
    "udp",
    "Datagrams that nobody acknowledges or repeats; for messages at their own pace.",
    &[
        field(
            "payload",
            Shape::One(Kind::Bytes),
            Need::Default("\"1472 B\""),
            "Most bytes of a message in one datagram; larger messages take several.",
        ),
        field("header", Shape::One(Kind::Bytes), Need::Default("\"28 B\""), "Headers of each: IPv4 and UDP."),
        field(
            "lifetime",
            Shape::One(Kind::Span),
            Need::Optional,
            "For how long each is of use: its deadline for routers with queue = deadline. Without it, for ever.",
        ),
    ],
);

/// `app`.
pub(crate) static APPS: &[Variant] = &[
    Variant {
        name: "bulk",
        doc: "Data as fast as the transport takes it.",
        shape: Shape::Table(&BULK),
        bare: true,
    },
    Variant {
        name: "request-reply",
        doc: "One request after the other, each with its reply.",
        shape: Shape::Table(&REQUEST_REPLY),
        bare: false,
    },
    Variant { name: "web", doc: "Pages with objects in them.", shape: Shape::Table(&WEB), bare: true },
    Variant {
        name: "cbr",
        doc: "Messages of one size at a constant rate.",
        shape: Shape::Table(&CBR),
        bare: false,
    },
    Variant {
        name: "on-off",
        doc: "Messages in bursts with silences between.",
        shape: Shape::Table(&ON_OFF),
        bare: false,
    },
    Variant {
        name: "ticker",
        doc: "A message now and then, which makes the one before it obsolete.",
        shape: Shape::Table(&TICKER),
        bare: false,
    },
];

/// `transport = "udp"`.
pub(crate) const DATAGRAMS: Variant = Variant {
    name: "udp",
    doc: "Datagrams, without any control of how fast they leave.",
    shape: Shape::Table(&UDP),
    bare: true,
};

/// The word and the table behind a choice; the table is empty where the word stands alone.
pub(crate) fn chosen<'t>(
    tree: &'t Tree,
    shape: impl Fn(&str) -> Option<&'static TableShape>,
) -> Option<(&'t str, Reader<'t>)> {
    match tree.table() {
        Some(table) => {
            let [entry] = table.entries.as_slice() else { return None };
            Some((&entry.key, Reader::new(&entry.tree, shape(&entry.key)?)))
        }
        None => Some((tree.text()?, Reader::new(tree, shape(tree.text()?)?))),
    }
}

fn of_app(name: &str) -> Option<&'static TableShape> {
    match APPS.iter().find(|v| v.name == name)?.shape {
        Shape::Table(shape) => Some(shape),
        _ => None,
    }
}

/// Reads `transport`, if it says udp.
pub(crate) fn udp(tree: &Tree, cx: &Cx<'_>) -> Option<Option<Transport>> {
    let (_, reader) = chosen(tree, |name| (name == "udp").then_some(&UDP))?;
    let size = |key: &str, least: u64| {
        let bytes = reader.bytes(key)?;
        let good = u32::try_from(bytes).ok().filter(|n| (least..=65_507).contains(&u64::from(*n)));
        if good.is_none() {
            let message = format!("`{key}` of a datagram is from {least} B to 65507 B");
            cx.push(Diagnostic::error("bad-value", reader.place(key), message));
        }
        good
    };
    let (payload, header) = (size("payload", 1), size("header", 0));
    let lifetime = optional(reader, "lifetime", |key| reader.span(key));
    Some((|| {
        Some(Transport::Udp(crate::model::Udp { payload: payload?, header: header?, lifetime: lifetime? }))
    })())
}

/// Reads `app`.
pub(crate) fn read(reader: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    let (word, app) = chosen(reader.get("app")?, of_app)?;
    match word {
        "bulk" => bulk(app, cx),
        "request-reply" => request_reply(app, cx),
        "web" => web(app, cx),
        "cbr" | "on-off" => paced(app, word == "on-off", cx),
        "ticker" => ticker(app, cx),
        _ => None,
    }
}

/// How the other end reads, if the workload says.
pub(crate) fn reads(reader: Reader<'_>) -> Option<Reads> {
    let (_, bulk) = chosen(reader.get("app")?, of_app).filter(|(word, _)| *word == "bulk")?;
    let (rate, pause) = (bulk.get("read-rate").is_some(), bulk.get("read-pause").is_some());
    if !rate && !pause {
        return None;
    }
    let rate = if rate { Some(bulk.rate("read-rate")?) } else { None };
    let pause = if pause { bulk.span("read-pause")? } else { Span::ZERO };
    Some(Reads { rate, pause })
}

/// What cannot be carried by what.
pub(crate) fn fits(app: &App, transport: &Transport, place: Place, cx: &Cx<'_>) {
    let complain = |message: &str, help: &str| {
        cx.push(Diagnostic::error("impossible", place, message).help(help));
    };
    match (app, transport) {
        (App::Ask(_) | App::Tell(_), Transport::Ends(ends))
            if ends.iter().any(|end| end.model().is_some()) =>
        {
            complain(
                "a model of this protocol opposite a kernel carries bulk data",
                "write app = { bulk = {} }, or the same transport for both ends",
            );
        }
        (App::Ask(_) | App::Tell(_), Transport::Ends(ends))
            if ends.iter().filter_map(Transport::linux).any(|linux| linux.program.is_some()) =>
        {
            complain(
                "a program at an end carries bulk data",
                "write app = { bulk = {} }, or leave `program` out",
            );
        }
        (_, Transport::Ends(ends)) => ends.iter().for_each(|end| fits(app, end, place, cx)),
        (app, Transport::Model(spec)) => {
            if let Err(misfit) = spec.fits(app) {
                complain(misfit.message, misfit.help);
            }
        }
        (
            App::Bulk { .. } | App::Ask(_),
            Transport::Udp(_) | Transport::Linux(Linux { protocol: Protocol::Udp { .. }, .. }),
        ) => complain(
            "datagrams carry messages at their own pace; this workload needs a connection",
            "write transport = \"tcp\", or a workload such as app = { cbr = { rate = \"64 kbit/s\" } }",
        ),
        (App::Ask(_), Transport::Linux(Linux { protocol: Protocol::Dccp { .. }, .. })) => complain(
            "DCCP does not send again what is lost; requests and answers need that",
            "write transport = \"linux\", or a workload such as app = { cbr = { rate = \"64 kbit/s\" } }",
        ),
        (App::Ask(_), Transport::Tcp { config, .. })
            if config.handshake == transport::tcp::config::Handshake::OneWay =>
        {
            complain(
                "this workload sends data in both directions, and connections of this profile carry them in one only",
                "choose another profile, such as \"rfc\"",
            );
        }
        _ => {}
    }
}

fn optional<T>(reader: Reader<'_>, key: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    match reader.get(key) {
        Some(_) => read(key).map(Some),
        None => Some(None),
    }
}

fn bulk(bulk: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    let bytes = optional(bulk, "bytes", |key| bulk.bytes(key))?;
    if bytes == Some(0) {
        cx.push(
            Diagnostic::error(
                "bad-value",
                bulk.place("bytes"),
                "a transfer of nothing ends before it begins",
            )
            .help("give at least 1 B, or remove `bytes` for a transfer without end"),
        );
        return None;
    }
    Some(App::Bulk { bytes, lasts: optional(bulk, "lasts", |key| bulk.span(key))? })
}

fn count(reader: Reader<'_>, key: &str) -> Option<Option<u64>> {
    optional(reader, key, |key| reader.count(key).map(|n| n as u64))
}

fn keep(reader: Reader<'_>) -> Option<Keep> {
    Keep::from_name(reader.word("keep")?)
}

fn patience(r: Reader<'_>, cx: &Cx<'_>) -> Option<Option<Dist>> {
    let patience = optional(r, "patience", |key| r.dist(key, cx))?;
    if let Some(dist) = &patience {
        takes_time(dist, r, "patience", cx)?;
    }
    Some(patience)
}

fn request_reply(r: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    Some(App::Ask(Box::new(Asking {
        pages: count(r, "count")?,
        lasts: optional(r, "lasts", |key| r.span(key))?,
        request: r.dist("request", cx)?,
        reply: r.dist("reply", cx)?,
        objects: Dist::Constant(0.0),
        object: Dist::Constant(0.0),
        largest: 1 << 40,
        think: r.dist("think", cx)?,
        paced: r.word("think-from")? == "request",
        serve: r.dist("serve", cx)?,
        patience: patience(r, cx)?,
        connections: 1,
        keep: keep(r)?,
        pipelining: false,
    })))
}

fn web(r: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    Some(App::Ask(Box::new(Asking {
        pages: count(r, "pages")?,
        lasts: optional(r, "lasts", |key| r.span(key))?,
        request: r.dist("request", cx)?,
        reply: r.dist("main", cx)?,
        objects: r.dist("objects", cx)?,
        object: r.dist("object", cx)?,
        largest: r.bytes("largest")?.max(1),
        think: r.dist("reading", cx)?,
        paced: false,
        serve: r.dist("serve", cx)?,
        patience: patience(r, cx)?,
        connections: r.count("connections")? as u32,
        keep: keep(r)?,
        pipelining: r.flag("pipelining")?,
    })))
}

/// Complains of what would happen without end at one instant.
fn takes_time(dist: &Dist, reader: Reader<'_>, key: &str, cx: &Cx<'_>) -> Option<()> {
    if dist.mean() >= 1.0 {
        return Some(());
    }
    let message = format!("with this `{key}` no time passes, and everything would happen at once");
    cx.push(Diagnostic::error("bad-value", reader.place(key), message).help("give more than 0"));
    None
}

fn useful(r: Reader<'_>, without: Useful, cx: &Cx<'_>) -> Option<Useful> {
    if let Some(tree) = r.get("class") {
        if r.get("playout").is_some() {
            let message = "`class` and `playout` both say when a message is too late";
            cx.push(Diagnostic::error("impossible", tree.place, message).help("leave one of them out"));
            return None;
        }
        return Some(match r.word("class")? {
            "conversational" => Useful::For(Span::from_millis(300)),
            "interactive" => Useful::For(Span::from_secs(4)),
            "streaming" => Useful::For(Span::from_secs(10)),
            _ => Useful::Always,
        });
    }
    Some(optional(r, "playout", |key| r.span(key))?.map_or(without, Useful::For))
}

fn paced(r: Reader<'_>, bursts: bool, cx: &Cx<'_>) -> Option<App> {
    let (rate, packet) = (r.rate("rate")?, r.bytes("packet")?);
    if rate.bps() == 0 || packet == 0 || packet > 1 << 30 {
        let (key, help) =
            if rate.bps() == 0 { ("rate", "give more than 0") } else { ("packet", "give from 1 B to 1 GiB") };
        let message = format!("with this `{key}` there are no messages");
        cx.push(Diagnostic::error("bad-value", r.place(key), message).help(help));
        return None;
    }
    let every = Dist::Constant(rate.span_of(packet).as_nanos() as f64);
    takes_time(&every, r, "rate", cx)?;
    let bursts = if bursts {
        let (on, off) = (r.dist("on", cx)?, r.dist("off", cx)?);
        takes_time(&on, r, "on", cx)?;
        Some((on, off))
    } else {
        None
    };
    Some(App::Tell(Box::new(Telling {
        size: Dist::Constant(packet as f64),
        every,
        bursts,
        count: count(r, "count")?,
        lasts: optional(r, "lasts", |key| r.span(key))?,
        useful: useful(r, Useful::Always, cx)?,
    })))
}

fn ticker(r: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    let every = r.dist("every", cx)?;
    takes_time(&every, r, "every", cx)?;
    Some(App::Tell(Box::new(Telling {
        size: r.dist("size", cx)?,
        every,
        bursts: None,
        count: count(r, "count")?,
        lasts: optional(r, "lasts", |key| r.span(key))?,
        useful: useful(r, Useful::UntilNext, cx)?,
    })))
}
