//! Grammar of GPRS bearers (`radio.gprs`): RLC/MAC configuration of a mobile.

use super::{real, restart, service, shape};
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::{BESIDE, Cx, seconds};
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::TableShape;
use crate::grammar::tree::{Table, Tree, Value};
use crate::model::Direction;
use crate::model::radio::Gprs;
use crate::tables::path::hop;
use crate::tables::path::queue::capacity;
use base::{Span, Time};
use radio::bssgp::{Bucket, SgsnConfig};
use radio::cell::config::{
    Delays, Demand, DirectionConfig, IdleRepeat, LlcConfig, PcuSite, Room, UserConfig, Voice,
};
use radio::coding::Scheme;
use radio::llc::LlcMode;
use radio::mac::multislot;
use radio::mac::tbf::{Durations, Setup, TbfConfig};
use radio::mobility::{Faults, Instants, MobilityConfig, Parts, ReselectionControl};
use radio::parameters::{self, Id};
use radio::pcu::config::Program;
use radio::quality::{Profile, Source, Steps};
use radio::rlc::poll::Policy;
use radio::rlc::{Mode, Numbering};
use radio::tdma;

/// An empty table, for absent keys.
fn empty(place: crate::diagnostic::source::SourceSpan) -> Tree {
    Tree { value: Value::Table(Table::default()), place }
}

/// Calls `read` with the table under `key`, or with an empty table.
fn part<T>(
    r: Reader<'_>,
    key: &str,
    shape: &'static TableShape,
    read: impl FnOnce(Reader<'_>) -> Option<T>,
) -> Option<T> {
    let none = empty(r.tree.place);
    read(Reader::new(r.get(key).unwrap_or(&none), shape))
}

/// Reads the bearer of hop `name`.
pub(super) fn read(r: Reader<'_>, name: &str, flows: &[String], cx: &Cx<'_>) -> Option<Gprs> {
    let mut user = UserConfig::new(name);
    let number = r.count("class")? as u8;
    let Some(class) = multislot::of(number) else {
        cx.push(
            Diagnostic::error(
                "bad-value",
                r.place("class"),
                format!("there is no multislot class {number} here"),
            )
            .help("classes 1 to 12 and 30 to 34 can send and receive in turn (3GPP TS 45.002 annex B)"),
        );
        return None;
    };
    user.class = class;
    let wanted = [Direction::Down, Direction::Up]
        .map(|d| hop::of(r.get("slots"), d).and_then(|t| leaf::count(t, 1, 8).ok()).map(|n| n as u8));
    let up = wanted[1].unwrap_or(1);
    let down = wanted[0].unwrap_or(class.down);
    user.up = direction(r, Direction::Up, up, cx)?;
    user.down = direction(r, Direction::Down, down, cx)?;
    if let Some(tree) = r.get("demand") {
        let d = Reader::new(tree, &shape::DEMAND);
        user.demand =
            Some(Demand { period: d.span("period")?, grow: d.number("grow")?, shrink: d.number("shrink")? });
    }
    (user.tbf, user.n3105) = part(r, "tbf", &shape::TBF, |r| tbf(r, cx))?;
    user.llc = part(r, "llc", &shape::LLC, llc)?;
    user.sgsn = part(r, "sgsn", &shape::SGSN, sgsn)?;
    user.rlc_buffer = optional(r, "rlc-buffer", |r, k| r.bytes(k))?;
    if let Some(tree) = r.get("terminal-buffer") {
        let limit = capacity(tree)?;
        user.terminal = Room { octets: limit.bytes, packets: limit.packets };
    }
    user.delays = part(r, "delays", &shape::DELAYS, |r| {
        Some(Delays {
            core: r.span("core")?,
            gn_rate: optional(r, "gn-rate", |r, k| r.rate(k))?,
            gn_overhead: r.bytes("gn-overhead")?.min(1 << 16) as u32,
            abis: r.span("abis")?,
            bsc: r.span("bsc")?,
            terminal: r.span("terminal")?,
            cable: optional(r, "cable", |r, k| r.rate(k))?,
        })
    })?;
    user.mobility = part(r, "reselection", &shape::RESELECTION, |r| mobility(r, cx))?;
    if let Some(tree) = r.get("voice") {
        let v = Reader::new(tree, &shape::VOICE);
        user.voice = Some(Voice { every: v.dist("every", cx)?, lasts: v.dist("lasts", cx)? });
    }
    user.weight = r.count("weight")? as u32;
    let cell = match r.get("cell") {
        Some(tree) => leaf::name(tree).ok()?,
        None => name.to_owned(),
    };
    let timeslots = r.count("timeslots")? as u8;
    let acknowledged = user.llc.mode == LlcMode::Acknowledged;
    let pcu = optional(r, "pcu", |r, key| Program::from_name(r.word(key)?))?;
    if pcu.is_some() && !real::fits(r, cx) {
        return None;
    }
    Some(Gprs {
        pcu,
        cell,
        timeslots,
        turn: r.count("turn")? as u32,
        abis: optional(r, "abis-rate", |r, k| r.rate(k))?,
        pcu_at: PcuSite::from_name(r.word("pcu-at")?)?,
        restarts: restart::read(r, name, acknowledged, cx)?,
        bucket: part(r, "sgsn", &shape::SGSN, |r| {
            let size = r.bytes("cell-bucket")?;
            Some(optional(r, "cell-leak", |r, k| r.rate(k))?.map(|leak| Bucket { size, leak }))
        })?,
        load: service::cell_load(r, timeslots, cx)?,
        traffic: r
            .tables("traffic", &service::TRAFFIC)
            .map(|t| service::traffic(t, flows, cx))
            .collect::<Option<_>>()?,
        tariff: match r.get("tariff") {
            Some(tree) => Some(service::tariff(Reader::new(tree, &service::TARIFF))?),
            None => None,
        },
        user,
    })
}

/// Reads an optional key; outer `None` if it could not be read.
pub(super) fn optional<'t, T>(
    r: Reader<'t>,
    key: &str,
    read: impl FnOnce(Reader<'t>, &str) -> Option<T>,
) -> Option<Option<T>> {
    match r.get(key) {
        Some(_) => read(r, key).map(Some),
        None => Some(None),
    }
}

fn direction(r: Reader<'_>, d: Direction, slots: u8, cx: &Cx<'_>) -> Option<DirectionConfig> {
    let mut config = DirectionConfig::new(slots);
    let scheme = r.or_default("scheme")?;
    let word = leaf::word(hop::of(Some(&*scheme), d)?, Scheme::NAMES).ok()?;
    config.scheme = Scheme::from_name(word)?;
    let none = empty(r.tree.place);
    let rlc = Reader::new(hop::of(r.get("rlc"), d).unwrap_or(&none), &shape::RLC);
    config.mode = Mode::from_name(rlc.word("mode")?)?;
    let window = rlc.count("window")? as u32;
    config.numbering =
        if config.scheme.is_egprs() || window > 64 { Numbering::egprs(window) } else { Numbering::GPRS };
    config.policy = policy(rlc)?;
    config.idle = IdleRepeat::from_name(rlc.word("idle-repeat")?)?;
    config.hold_off = rlc.span("hold-off")?;
    config.resegment = rlc.flag("resegment")?;
    config.persistence = optional(rlc, "persistence", |r, k| r.span(k))?;
    if let Some(tree) = hop::of(r.get("errors"), d) {
        config.quality = quality(tree, cx)?;
    }
    Some(config)
}

fn policy(r: Reader<'_>) -> Option<Policy> {
    let tree = r.or_default("report")?;
    let none = empty(r.tree.place);
    let (word, inner) = match tree.table() {
        Some(table) => {
            let [entry] = table.entries.as_slice() else { return None };
            (entry.key.as_str(), &entry.tree)
        }
        None => (tree.text()?, &none),
    };
    Some(match word {
        "on-gap" => {
            let r = Reader::new(inner, &shape::ON_GAP);
            Policy::OnGap { n: r.count("blocks")? as u32, after: r.count("after")? as u32 }
        }
        "adaptive" => {
            let r = Reader::new(inner, &shape::ADAPTIVE);
            Policy::Adaptive {
                n: r.count("blocks")? as u32,
                poor: r.count("poor")? as u32,
                threshold: r.number("threshold")?,
            }
        }
        _ => Policy::Every { n: Reader::new(inner, &shape::EVERY).count("blocks")? as u32 },
    })
}

fn quality(tree: &Tree, cx: &Cx<'_>) -> Option<Source> {
    let none = empty(tree.place);
    let (word, inner) = match tree.table() {
        Some(table) => {
            let [entry] = table.entries.as_slice() else { return None };
            (entry.key.as_str(), &entry.tree)
        }
        None => (tree.text()?, &none),
    };
    let r = Reader::new(inner, shape::quality_shape(word));
    let in_ticks = |span: Span| span.as_secs_f64() * tdma::BLOCKS_PER_SECOND as f64;
    Some(match word {
        "constant" => Source::Constant { data: r.number("rate")?, control: r.number("control")? },
        "states" => Source::States {
            good: r.number("good")?,
            bad: r.number("bad")?,
            good_lasts: in_ticks(r.span("good-lasts")?),
            bad_lasts: in_ticks(r.span("bad-lasts")?),
        },
        "recorded" => Source::Recorded(steps(r.get("file")?, 0.0, 1.0, cx)?),
        "c-i" => Source::Interference {
            c_over_i: match r.get("file") {
                Some(tree) => steps(tree, -60.0, 100.0, cx)?,
                None => Steps(vec![(0, r.number("db")?)]),
            },
            profile: Profile::from_name(r.word("profile")?)?,
            gain: r.number("gain")?,
            correlation: r.number("correlation")?,
        },
        _ => Source::Constant { data: 0.0, control: 0.0 },
    })
}

/// Reads a file of lines `t_s,value`.
pub(super) fn steps(tree: &Tree, least: f64, most: f64, cx: &Cx<'_>) -> Option<Steps> {
    let source = match cx.text(tree.text()?) {
        Ok(source) => source,
        Err(message) => {
            cx.push(Diagnostic::error("no-file", tree.place, message).help(BESIDE));
            return None;
        }
    };
    let before = cx.errors();
    let mut all: Vec<(u32, f64)> = Vec::new();
    for (place, line) in cx.lines(source) {
        if line.is_empty() || line.starts_with('#') || line.starts_with("t_s") {
            continue;
        }
        let read = line.split_once(',').and_then(|(t, v)| {
            let value: f64 = v.trim().parse().ok()?;
            let tick = tdma::next_tick(Time::ZERO + seconds(t.trim()).ok()?);
            ((least..=most).contains(&value) && all.last().is_none_or(|(last, _)| *last <= tick))
                .then_some((tick, value))
        });
        match read {
            Some(step) => all.push(step),
            None => cx.push(
                Diagnostic::error("bad-file", place, "this line cannot be read")
                    .also(tree.place, "named here")
                    .help(format!(
                        "a line is t_s,value with times that go forward and values from {least} to {most}"
                    )),
            ),
        }
    }
    if all.is_empty() && cx.errors() == before {
        cx.push(
            Diagnostic::error("bad-file", tree.place, "this file has no values")
                .help("write lines of t_s,value"),
        );
    }
    (cx.errors() == before).then_some(Steps(all))
}

fn tbf(r: Reader<'_>, cx: &Cx<'_>) -> Option<(TbfConfig, u32)> {
    let preset: parameters::Preset = match r.word("network")? {
        "openbts" => parameters::OPENBTS,
        "release-97" => parameters::VENDOR,
        _ => &[],
    };
    let timer = |key: &str, id: Id| match r.get(key) {
        Some(_) => r.span(key),
        None => Some(Span::from_millis(u64::from(parameters::with(preset, id)))),
    };
    let hold = |d: Direction, id: Id| match hop::of(r.get("hold"), d) {
        Some(tree) => leaf::span(tree).ok(),
        None => Some(Span::from_millis(u64::from(parameters::with(preset, id)))),
    };
    let mut setup = Durations::default();
    if let Some(tree) = r.get("setup") {
        let s = Reader::new(tree, &shape::SETUP);
        for way in Setup::ALL {
            setup = setup.with(*way, s.dist(way.name(), cx)?);
        }
    }
    let permanent = r.flag("permanent")?;
    let countdown = optional(r, "countdown", |r, k| r.count(k))?;
    let config = TbfConfig {
        two_phases: r.count("phases")? == 2,
        setup: if permanent { Durations::none() } else { setup },
        t3192: timer("t3192", Id::T3192)?,
        hold_down: hold(Direction::Down, Id::DlDelay)?,
        hold_up: hold(Direction::Up, Id::UlDelay)?,
        keep_alive: r.span("keep-alive")?,
        non_drx: timer("non-drx", Id::DrxTimerMax)?,
        ready: timer("ready", Id::T3314)?,
        bs_cv_max: countdown.map_or(parameters::with(preset, Id::BsCvMax), |n| n as u32),
        permanent,
    };
    Some((config, parameters::with(preset, Id::N3105)))
}

fn llc(r: Reader<'_>) -> Option<LlcConfig> {
    Some(LlcConfig {
        mode: LlcMode::from_name(r.word("mode")?)?,
        n201: r.count("n201")? as u32,
        t200: r.span("t200")?,
        n200: r.count("n200")? as u32,
        k: r.count("window")? as u32,
        feedback: r.span("feedback")?,
        flush: r.flag("flush")?,
    })
}

fn sgsn(r: Reader<'_>) -> Option<SgsnConfig> {
    let (pdus, octets) = match r.get("buffer") {
        Some(tree) => {
            let limit = capacity(tree)?;
            (limit.packets, limit.bytes)
        }
        None => (None, None),
    };
    let size = r.bytes("bucket")?;
    Some(SgsnConfig {
        bucket: optional(r, "leak", |r, k| r.rate(k))?.map(|leak| Bucket { size, leak }),
        octets,
        pdus,
        lifetime: optional(r, "lifetime", |r, k| r.span(k))?,
        gb_rate: optional(r, "gb-rate", |r, k| r.rate(k))?,
        gb_overhead: r.bytes("gb-overhead")?.min(1 << 16) as u32,
        gb_delay: r.span("gb-delay")?,
    })
}

fn mobility(r: Reader<'_>, cx: &Cx<'_>) -> Option<MobilityConfig> {
    let instants = if r.get("every").is_some() {
        Some(Instants::Every(r.dist("every", cx)?))
    } else if let Some(tree) = r.get("at") {
        let mut all: Vec<Time> =
            tree.list()?.iter().map(|t| leaf::span(t).ok().map(|s| Time::ZERO + s)).collect::<Option<_>>()?;
        all.sort();
        Some(Instants::Listed(all))
    } else if let Some(tree) = r.get("file") {
        Some(Instants::Listed(instants(tree, cx)?))
    } else {
        None
    };
    let faults = part(r, "faults", &shape::FAULTS, |r| {
        Some(Faults {
            resent_frames: r.count("resent-frames")? as u8,
            flush_new_cell: r.flag("flush-new-cell")?,
            dummy_outage: r.span("dummy-outage")?,
        })
    })?;
    let [bsc, area, sgsn] = [r.number("same-bsc")?, r.number("routing-area")?, r.number("inter-sgsn")?];
    let rest = 1.0 - bsc - area - sgsn;
    if rest < -1e-9 {
        cx.push(
            Diagnostic::error(
                "bad-value",
                r.tree.place,
                "the shares of changes of cell add up to more than 1",
            )
            .help("`same-bsc`, `routing-area` and `inter-sgsn` leave the rest to cell updates"),
        );
        return None;
    }
    Some(MobilityConfig {
        instants,
        control: ReselectionControl::from_name(r.word("control")?)?,
        standing: r.flag("standing")?,
        extents: [bsc, rest.max(0.0), area, sgsn],
        location_area: r.number("location-area")?,
        parts: Parts {
            synchronise: r.dist("synchronise", cx)?,
            system_information: r.dist("system-information", cx)?,
            assisted: r.dist("assisted", cx)?,
            access: r.dist("access", cx)?,
            cell_update: r.dist("cell-update", cx)?,
            routing_area: r.dist("routing-area-update", cx)?,
            inter_sgsn: r.dist("sgsn-context", cx)?,
            location: r.dist("location-update", cx)?,
            resume: r.dist("resume", cx)?,
        },
        outage: optional(r, "outage", |r, k| r.dist(k, cx))?,
        failure: r.number("failure")?,
        failed: r.dist("failed", cx)?,
        deletes: r.number("deletes")?,
        faults,
    })
}

/// Reads a file of times, one per line.
fn instants(tree: &Tree, cx: &Cx<'_>) -> Option<Vec<Time>> {
    let source = match cx.text(tree.text()?) {
        Ok(source) => source,
        Err(message) => {
            cx.push(Diagnostic::error("no-file", tree.place, message).help(BESIDE));
            return None;
        }
    };
    let before = cx.errors();
    let mut all = Vec::new();
    for (place, line) in cx.lines(source) {
        if line.is_empty() || line.starts_with('#') || line == "t_s" {
            continue;
        }
        match seconds(&line) {
            Ok(at) => all.push(Time::ZERO + at),
            Err(message) => cx.push(
                Diagnostic::error("bad-file", place, message)
                    .also(tree.place, "named here")
                    .help("one time in seconds a line"),
            ),
        }
    }
    all.sort();
    (cx.errors() == before).then_some(all)
}
