//! Grammar of `[[system]]`: a network of EGPRS cells and its users.
//!
//! The keys of `egprs` are the rows of table III of Sanchez and others (VTC 2002) and further parameters that
//! it leaves open; defaults are those of the table. Users are populations: each member becomes a flow over
//! the system.

use super::flow;
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::{BESIDE, Cx};
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Quantity, Shape, TableShape, ValueKind, field, table};
use crate::model::{App, Flow, Model, System, User};
use crate::protocol;
use crate::topology::Graph;
use crate::workload;
use base::Span;
use cells::adaptation::{PowerControl, Rule};
use cells::config::{CellChange, Config, Hopping, Interface, Mobile, Placing, Receiver, SizeCounting};
use cells::curve::Curves;
use cells::geometry::Reuse;
use radio::coding::Scheme;
use std::sync::Arc;

const fn number(key: &'static str, least: f64, most: f64, default: &'static str, doc: &'static str) -> Field {
    field(key, Shape::One(ValueKind::Number(least, most)), Need::Default(default), doc)
}
const fn count(key: &'static str, least: i64, most: i64, default: &'static str, doc: &'static str) -> Field {
    field(key, Shape::One(ValueKind::Count(least, most)), Need::Default(default), doc)
}
const fn span(key: &'static str, default: &'static str, doc: &'static str) -> Field {
    field(key, Shape::One(ValueKind::Span), Need::Default(default), doc)
}
const fn word(
    key: &'static str,
    words: &'static [&'static str],
    default: &'static str,
    doc: &'static str,
) -> Field {
    field(key, Shape::One(ValueKind::Word(words)), Need::Default(default), doc)
}
const fn flag(key: &'static str, default: &'static str, doc: &'static str) -> Field {
    field(key, Shape::One(ValueKind::Flag), Need::Default(default), doc)
}

/// Names of the EGPRS coding schemes.
const SCHEMES: &[&str] = &["mcs-1", "mcs-2", "mcs-3", "mcs-4", "mcs-5", "mcs-6", "mcs-7", "mcs-8", "mcs-9"];

static EGPRS: TableShape = table(
    "egprs",
    "A network of EGPRS cells: tri-sector sites on a torus, interference of the blocks on air, link adaptation, incremental \
     redundancy, power control, RLC in acknowledged mode, an SGSN and a core network. Table III of the EGPRS study is the default.",
    &[
        count("cells", 27, 12_288, "75", "Cells: three times a square, so that the sites close on a torus."),
        number("cell-radius", 1.0, 1e5, "500", "Radius of a cell, m; sites are three radii apart."),
        number("beamwidth", 1.0, 360.0, "65", "Half-power width of the antennas, degrees."),
        number(
            "boresight",
            0.0,
            360.0,
            "0",
            "Direction of the first sector from the line to the next site, degrees.",
        ),
        word("reuse", Reuse::NAMES, "\"1/3\"", "Reuse of the carriers for packet data."),
        word("bcch-reuse", Reuse::NAMES, "\"5/15\"", "Reuse of the BCCH carriers, on which mobiles measure."),
        word("hopping", Hopping::NAMES, "\"random\"", "Frequency hopping over the carriers of a group."),
        count("carriers", 1, 64, "3", "Carriers of a group."),
        count("trx", 2, 16, "2", "Transceivers of a cell; the BCCH's carries no packet data."),
        count("timeslots", 1, 120, "7", "Timeslots for packet data in a cell."),
        count("down-slots", 1, 8, "3", "Timeslots of a mobile, downlink."),
        count("up-slots", 1, 8, "1", "Timeslots of a mobile, uplink."),
        count("rlc-window", 64, 1024, "384", "RLC window, blocks; bounded by the number of timeslots."),
        count("poll", 1, 1024, "20", "Blocks between two polls for a report."),
        span("report-delay", "\"140 ms\"", "From a poll until its report takes effect at the sender."),
        flag("preemptive", "false", "Retransmit unacknowledged blocks when nothing else can be sent."),
        flag("resegment", "false", "Retransmit blocks in halves with a more robust scheme."),
        span("tbf-setup", "\"120 ms\"", "Set-up of a TBF, each way."),
        span("tbf-hold-down", "\"0 s\"", "Time for which an idle downlink TBF is kept (delayed release)."),
        span("tbf-hold-up", "\"0 s\"", "Time for which an idle uplink TBF is kept (extended uplink TBF)."),
        word("adaptation", Rule::NAMES, "\"throughput\"", "Link adaptation."),
        word(
            "initial-scheme",
            SCHEMES,
            "\"mcs-6\"",
            "Before the first report; always, with adaptation = \"fixed\".",
        ),
        word("scheme-cap", SCHEMES, "\"mcs-9\"", "No faster scheme is used."),
        number("forgetting", 0.001, 1.0, "0.2", "Weight of the newest block in the measured quality."),
        number("report-error", 0.0, 20.0, "0", "Standard deviation of the error of a report, dB."),
        flag("incremental-redundancy", "true", "Combine the transmissions of a block softly."),
        flag("header-errors", "true", "A block whose header is lost leaves no soft bits."),
        word(
            "power-control",
            &["both", "down", "up", "none"],
            "\"both\"",
            "Directions in which power is controlled.",
        ),
        number("power-target", -10.0, 60.0, "27", "Downlink: target C/I, dB."),
        number("power-range", 0.0, 30.0, "10", "Downlink: range below full power, dB."),
        number("power-alpha", 0.0, 1.0, "0.6", "Uplink: alpha of the open loop."),
        number("power-gamma", 0.0, 62.0, "26", "Uplink: Gamma of the channel, dB."),
        word("interface", Interface::NAMES, "\"bursts\"", "Link-to-system interface."),
        word("receiver", Receiver::NAMES, "\"typical\"", "Implementation loss of the receivers."),
        number("evm", 5.0, 100.0, "30", "No SINR exceeds this, dB (modulation errors)."),
        field(
            "curves",
            Shape::One(ValueKind::File),
            Need::Optional,
            "A file of link-level curves in place of the built-in one.",
        ),
        field(
            "fixed-ci",
            Shape::One(ValueKind::Number(-20.0, 120.0)),
            Need::Optional,
            "Ideal radio: each burst has this C/I, dB. Without it, interference, noise and fading.",
        ),
        number("frequency", 400.0, 6000.0, "900", "Carrier frequency, MHz: Doppler shift."),
        number("loss-1km", 50.0, 200.0, "120.9", "Path loss at 1 km, dB."),
        number("loss-slope", 20.0, 60.0, "37.6", "Path loss for each decade of distance, dB."),
        number("eirp", 0.0, 80.0, "57.5", "Power of a base station with its antenna, dBm."),
        number("mobile-power", 0.0, 40.0, "33", "Largest power of a mobile, dBm."),
        number("back-off", 0.0, 10.0, "2", "Average power of 8-PSK below GMSK, dB."),
        number("noise", -130.0, -80.0, "-111", "Noise of a mobile's receiver, dBm."),
        number("shadowing", 0.0, 20.0, "6", "Standard deviation of shadow fading, dB."),
        number("shadow-distance", 1.0, 1000.0, "50", "Distance at which its correlation is 1/e, m."),
        number("shadow-sites", 0.0, 1.0, "0.5", "Its correlation between two sites."),
        span("core-delay", "\"250 ms\"", "Between server and SGSN, each way."),
        field(
            "core-rate",
            Shape::One(ValueKind::Rate),
            Need::Optional,
            "Rate of the core network's links: each packet takes its transmission time too. Without it, none.",
        ),
        field(
            "sgsn-buffer",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"64 KiB\""),
            "Buffer of each mobile at the SGSN.",
        ),
        word("buffer-counts", SizeCounting::NAMES, "\"bssgp\"", "Size that a packet counts in that buffer."),
        count(
            "header-octets",
            0,
            200,
            "11",
            "LLC and SNDCP headers of a packet on the air interface, octets.",
        ),
        count("bssgp-octets", 0, 200, "50", "BSSGP and network service headers of a packet, octets."),
        span("measure-every", "\"480 ms\"", "Between two measurements of neighbour cells."),
        span("level-average", "\"2 s\"", "Time constant of averaged levels."),
        number(
            "hysteresis",
            0.0,
            20.0,
            "4",
            "Reselection hysteresis: level by which another cell must be stronger, \
                                              dB.",
        ),
        span("reselect-after", "\"5 s\"", "Time for which another cell must be stronger."),
        span("reselection-delay", "\"1 s\"", "Interruption of data at a reselection."),
        word(
            "reselection-data",
            CellChange::NAMES,
            "\"kept\"",
            "Treatment of data in flight at a reselection.",
        ),
        number("turn-probability", 0.0, 1.0, "0.2", "Chance that a mobile turns after each 20 m."),
        number("turn-angle", 0.0, 180.0, "45", "Largest angle of a turn, degrees."),
        number("voice", 0.0, 100.0, "0", "Voice calls on the timeslots of a cell, Erlang."),
        span("voice-call", "\"90 s\"", "Mean length of a voice call."),
    ],
);

static USERS: TableShape = table(
    "users",
    "A population of mobiles with one behaviour. Each is a flow: the mobile requests, or the server sends.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"ftp\""),
            "How grids and results call the population.",
        ),
        field("count", Shape::One(ValueKind::Count(1, 30_000)), Need::Required("100"), "How many."),
        field(
            "near-site",
            Shape::One(ValueKind::Count(0, 4095)),
            Need::Optional,
            "They start around this site. Without it, anywhere.",
        ),
        number("within", 1.0, 1e5, "500", "With near-site: within this distance, m."),
        number("speed", 0.0, 500.0, "3", "Their speed, km/h."),
        field(
            "start",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Default("\"uniform(0 s, 60 s)\""),
            "When each begins.",
        ),
        field("transport", Shape::PerEnd(&protocol::CHOICE), Need::Default("\"tcp\""), "Their protocol."),
        field(
            "app",
            Shape::Choice(workload::APPS),
            Need::Required(
                "{ request-reply = { request = \"250 B\", reply = \"200 kB\", think = \"exponential(60 s)\", keep = \"object\" } }",
            ),
            "Their workload.",
        ),
    ],
);

/// `[[system]]`.
pub(crate) static SYSTEM: TableShape = table(
    "system",
    "Many mobiles in one network.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"net\""),
            "How grids and results call it.",
        ),
        field("egprs", Shape::Table(&EGPRS), Need::Default("{}"), "A network of EGPRS cells."),
        field("users", Shape::Tables(&USERS), Need::Required("..."), "Populations of users."),
    ],
);

/// Reads all systems; the flows of their users are added to `flows`.
pub(crate) fn read(root: Reader<'_>, graph: &mut Graph, flows: &mut Vec<Flow>, cx: &Cx<'_>) -> Vec<System> {
    root.tables("system", &SYSTEM).filter_map(|reader| one(reader, graph, flows, cx)).collect()
}

/// Names of the populations, for expectations.
pub(crate) fn names<'t>(root: Reader<'t>) -> impl Iterator<Item = Option<String>> + use<'t> {
    root.tables("system", &SYSTEM)
        .flat_map(|system| system.tables("users", &USERS).map(|r| r.name()).collect::<Vec<_>>())
}

fn one(reader: Reader<'_>, graph: &mut Graph, flows: &mut Vec<Flow>, cx: &Cx<'_>) -> Option<System> {
    let name = reader.name();
    let tree = reader.or_default("egprs")?;
    let egprs = Reader::new(&tree, &EGPRS);
    let config = config(egprs, cx);
    let curves = curves(egprs, cx);
    let mut users = Vec::new();
    let mut mobiles = Vec::new();
    let server = name.as_deref().map(|name| graph.node(name));
    let mut complete = true;
    for group in reader.tables("users", &USERS) {
        let sites = config.as_ref().map(|c| c.side * c.side);
        complete &= server
            .and_then(|server| population(group, server, sites, graph, flows, (&mut users, &mut mobiles), cx))
            .is_some();
    }
    if users.is_empty() && complete {
        cx.push(
            Diagnostic::error("no-flow", reader.tree.place, "this system has no users").help(
                "[[system.users]]\nname = \"ftp\"\ncount = 100\napp = { request-reply = { request = \"250 B\", reply = \"200 kB\" } }",
            ),
        );
    }
    let mut config = config?;
    config.mobiles = mobiles;
    if let Err(wrong) = config.check() {
        // `users` is a key of the system; all other keys belong to `egprs`.
        let key = Some(wrong.key).filter(|key| *key != "users");
        let place = key.and_then(|key| egprs.get(key)).map_or(reader.tree.place, |t| t.place);
        cx.push(Diagnostic::error("impossible", place, wrong.message).help(wrong.help));
        return None;
    }
    let plan = cells::system::Plan { config, curves: curves?, observe: Default::default() };
    complete.then_some(System { name: name?, plan: Arc::new(plan), users })
}

/// Reads one population: a flow and a mobile for each member.
fn population(
    reader: Reader<'_>,
    server: usize,
    sites: Option<u32>,
    graph: &mut Graph,
    flows: &mut Vec<Flow>,
    (users, mobiles): (&mut Vec<User>, &mut Vec<Mobile>),
    cx: &Cx<'_>,
) -> Option<()> {
    let transport = flow::transport(reader, cx);
    let app = workload::read(reader, cx);
    if let (Some(app), Some(transport)) = (&app, &transport) {
        workload::fits(app, transport, reader.place("app"), cx);
    }
    let group = reader.name()?;
    let node = graph.node(&group);
    let (app, transport, start) = (app?, transport?, reader.dist("start", cx)?);
    let count = reader.count("count")?;
    let near =
        reader.count("near-site").map(|site| site as u32).filter(|_| reader.get("near-site").is_some());
    if near.is_none() && reader.get("within").is_some() {
        let message = "`within` is a distance from a site, and these users have none";
        cx.push(
            Diagnostic::error("bad-value", reader.place("within"), message)
                .help("add `near-site`, or leave `within` out: then they start anywhere"),
        );
        return None;
    }
    if let (Some(site), Some(sites)) = (near, sites)
        && site >= sites
    {
        let message = format!("there is no site {site}: the system has {sites}, numbered from 0");
        cx.push(
            Diagnostic::error("bad-value", reader.place("near-site"), message).help("choose one of them"),
        );
        return None;
    }
    let within = reader.number("within")?;
    let placing = near.map_or(Placing::Uniform, |site| Placing::Near(site, within));
    let speed = reader.number("speed")? / 3.6;
    // The active end: the mobile for requests, the server for files and messages.
    let mobile_asks = matches!(app, App::Requests(_));
    let (from, to) = if mobile_asks { (node, server) } else { (server, node) };
    let digits = format!("{}", count - 1).len();
    for i in 0..count {
        let name = format!("{group}-{i:0digits$}");
        // Placement and movement are seeded by the mobile's number in the system, so that members stay paired
        // between variants.
        mobiles.push(Mobile { placing, speed, identity: mobiles.len() as u64 });
        users.push(User { flow: flows.len(), group: group.clone(), mobile_asks });
        flows.push(Flow {
            name,
            from,
            to,
            start: start.clone(),
            route: Vec::new(),
            way_back: Vec::new(),
            other_paths: Vec::new(),
            transport: transport.clone(),
            app: app.clone(),
            reads: workload::bulk::reads(reader),
            priority: 1,
        });
    }
    Some(())
}

fn curves(egprs: Reader<'_>, cx: &Cx<'_>) -> Option<Curves> {
    let Some(file) = egprs.get("curves") else { return Some(Curves::built_in()) };
    let path = file.text()?;
    let source = match cx.text(path) {
        Ok(source) => source,
        Err(message) => {
            cx.push(Diagnostic::error("no-file", file.place, message).help(BESIDE));
            return None;
        }
    };
    let lines = cx.lines(source);
    let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    match Curves::read(&text.join("\n")) {
        Ok(curves) => Some(curves),
        Err(wrong) => {
            let at =
                wrong.line.checked_sub(1).and_then(|i| lines.get(i)).map_or(file.place, |(place, _)| *place);
            cx.push(
                Diagnostic::error("bad-file", at, wrong.message)
                    .also(file.place, "named here")
                    .help("the built-in file `crates/cells/data/curves.csv` shows the form"),
            );
            None
        }
    }
}

fn config(r: Reader<'_>, cx: &Cx<'_>) -> Option<Config> {
    let mut c = Config::default();
    let cells = r.count("cells")?;
    c.side = match Config::side_of(cells as u64) {
        Some(side) => side,
        None => {
            let message = format!("{cells} cells are not three times a square");
            cx.push(
                Diagnostic::error("bad-value", r.place("cells"), message)
                    .help("choose 27, 48, 75, 108, 147, 192, 243, 300, ... cells"),
            );
            return None;
        }
    };
    let n = |key| r.number(key);
    let u = |key| r.count(key).map(|x| x as u32);
    c.radio.site_distance = 3.0 * n("cell-radius")?;
    c.radio.beamwidth = n("beamwidth")?;
    c.radio.boresight = n("boresight")?;
    c.reuse = Reuse::from_name(r.word("reuse")?)?;
    c.bcch_reuse = Reuse::from_name(r.word("bcch-reuse")?)?;
    c.hopping = Hopping::from_name(r.word("hopping")?)?;
    c.carriers = u("carriers")?;
    c.interface = Interface::from_name(r.word("interface")?)?;
    c.receiver = Receiver::from_name(r.word("receiver")?)?;
    c.evm_db = n("evm")?;
    c.incremental_redundancy = r.flag("incremental-redundancy")?;
    c.header_errors = r.flag("header-errors")?;
    c.adaptation.rule = Rule::from_name(r.word("adaptation")?)?;
    c.adaptation.initial = Scheme::from_name(r.word("initial-scheme")?)?;
    c.adaptation.cap = Scheme::from_name(r.word("scheme-cap")?)?;
    c.adaptation.forget = n("forgetting")?;
    c.adaptation.error_db = n("report-error")?;
    let control = r.word("power-control")?;
    if control == "none" || control == "up" {
        c.power[0] = PowerControl::None;
    } else {
        c.power[0] = PowerControl::Target(n("power-target")?, n("power-range")?);
    }
    if control == "none" || control == "down" {
        c.power[1] = PowerControl::None;
    } else {
        c.power[1] = PowerControl::OpenLoop { alpha: n("power-alpha")?, gamma: n("power-gamma")? };
    }
    c.radio.fixed_ci_db = r.get("fixed-ci").and_then(|_| n("fixed-ci"));
    c.radio.frequency_mhz = n("frequency")?;
    c.radio.loss_1km_db = n("loss-1km")?;
    c.radio.slope_db = n("loss-slope")?;
    c.radio.eirp_dbm = n("eirp")?;
    c.radio.mobile_dbm = n("mobile-power")?;
    c.radio.backoff_db = n("back-off")?;
    c.radio.noise_dbm = n("noise")?;
    c.radio.shadow_db = n("shadowing")?;
    c.radio.shadow_distance = n("shadow-distance")?;
    c.radio.shadow_sites = n("shadow-sites")?;
    c.turning = (n("turn-probability")?, n("turn-angle")?);
    c.voice = n("voice")?;
    c.voice_call = r.span("voice-call")?;
    radio_link(r, &mut c, cx)?;
    Some(c)
}

/// Longest delay that the element's agenda can hold.
const LONGEST: Span = Span::from_secs(600);

/// Reads the parameters of RLC, MAC, core network and reselection.
fn radio_link(r: Reader<'_>, c: &mut Config, cx: &Cx<'_>) -> Option<()> {
    let u = |key| r.count(key).map(|x| x as u32);
    let s = |key| {
        let span = r.span(key)?;
        if span > LONGEST {
            let message = format!("`{key}` is at most 600 s");
            cx.push(Diagnostic::error("bad-value", r.place(key), message).help("choose a shorter time"));
            return None;
        }
        Some(span)
    };
    c.mac.trx = u("trx")?;
    c.mac.slots = u("timeslots")?;
    c.mac.mobile_slots = [u("down-slots")?, u("up-slots")?];
    c.mac.window = u("rlc-window")?;
    c.mac.poll = u("poll")?;
    c.mac.report_delay = s("report-delay")?;
    c.mac.preemptive = r.flag("preemptive")?;
    c.mac.resegment = r.flag("resegment")?;
    c.mac.setup = [s("tbf-setup")?; 2];
    c.mac.hold = [s("tbf-hold-down")?, s("tbf-hold-up")?];
    c.core.delay = r.span("core-delay")?;
    c.core.rate_bps = r.get("core-rate").and_then(|_| r.rate("core-rate")).map(|rate| rate.bps());
    c.core.buffer = u32::try_from(r.bytes("sgsn-buffer")?).unwrap_or(u32::MAX);
    c.core.counting = SizeCounting::from_name(r.word("buffer-counts")?)?;
    c.core.llc_octets = u("header-octets")?;
    c.core.bssgp_octets = u("bssgp-octets")?;
    c.reselection.period = s("measure-every")?;
    c.reselection.average = r.span("level-average")?;
    c.reselection.hysteresis_db = r.number("hysteresis")?;
    c.reselection.lasts = s("reselect-after")?;
    c.reselection.outage = s("reselection-delay")?;
    c.reselection.data = CellChange::from_name(r.word("reselection-data")?)?;
    Some(())
}

impl Model {
    /// Subjects of result rows: flows outside of populations, then populations.
    pub fn subjects(&self) -> Vec<String> {
        let plain = (0..self.flows.len()).filter(|i| self.system_of(*i).is_none());
        let mut names: Vec<String> = plain.map(|i| self.flows[i].name.clone()).collect();
        for user in self.systems.iter().flat_map(|s| &s.users) {
            if names.last() != Some(&user.group) {
                names.push(user.group.clone());
            }
        }
        names
    }

    /// Flows outside of populations.
    pub fn plain_flows(&self) -> &[Flow] {
        let first = self.systems.iter().filter_map(|s| Some(s.users.first()?.flow)).min();
        &self.flows[..first.unwrap_or(self.flows.len())]
    }

    /// System of a flow, and the number of its mobile in it.
    pub fn system_of(&self, flow: usize) -> Option<(&System, usize)> {
        self.systems.iter().find_map(|system| {
            // The flows of a system are consecutive.
            let first = system.users.first()?.flow;
            let mobile = flow.checked_sub(first)?;
            (system.users.get(mobile)?.flow == flow).then_some((system, mobile))
        })
    }
}
