//! Summary sentences: largest cost in time, certainty, advice.
//!
//! Three sentences in plain words for somebody who never read a capture.

use crate::fairness::jain_index;
use crate::flow::{Flow, Kind, SpikeKind, Way};
use crate::idle::IdleCause;
use crate::judge::Need;
use crate::place::Side;
use crate::profile;
use crate::reason::Reason;
use base::Span;

/// The three sentences, and what is true of all connections together.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    /// What cost the most time.
    pub what: String,
    /// How sure that is.
    pub sure: String,
    /// What to do.
    pub advice: String,
    /// Jain's index of the connections that moved data at the same time, where there are several.
    pub jain_index: Option<f64>,
}

/// What a transfer lost its time to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    Spurious,
    Genuine,
    Timer,
    Waiting,
    Silence,
    Closed,
    Receiver,
    Application,
    Queue,
    Path,
}

impl Flow {
    /// The direction in which most data went: 0 or 1.
    pub fn main(&self) -> usize {
        usize::from(self.ways[1].data_bytes > self.ways[0].data_bytes)
    }
}

/// Tells the story of these connections: that of the one in which most data went, in its words.
pub fn tell(flows: &[&Flow]) -> Story {
    let busy = |f: &&&Flow| f.ways[f.main()].data_packets > 0;
    let rates: Vec<f64> = flows.iter().filter(busy).filter_map(|f| f.ways[f.main()].goodput_bps()).collect();
    let jain = (rates.len() > 1).then(|| jain_index(&rates)).flatten();
    let Some(flow) = flows.iter().filter(busy).max_by_key(|f| f.ways[f.main()].data_bytes) else {
        return Story {
            what: "No connection in this capture carried data.".into(),
            sure: "Nothing can be judged.".into(),
            advice: "Capture again while the transfer runs, at the end that sends.".into(),
            jain_index: jain,
        };
    };
    let way = &flow.ways[flow.main()];
    let whole = way.data_span.map_or(Span::ZERO, |(from, until)| until.since(from));
    let (cost, span) = costliest(way, whole);
    let of = if flows.len() > 1 {
        format!("Of {} connections the largest, {} to {}, sent", flows.len(), sender(flow), receiver(flow))
    } else {
        format!("{} sent {}", sender(flow), receiver(flow))
    };
    let much = match way.delivered_bytes {
        0 => format!("{} that nobody acknowledged", bytes(way.data_bytes)),
        n => bytes(n),
    };
    let head = format!("{of} {much} in {}", seconds(whole));
    Story {
        what: format!("{head}; {}", what(cost, span, whole, way)),
        sure: sure(flow, way, cost),
        advice: advice(cost, span, way),
        jain_index: jain,
    }
}

fn sender(flow: &Flow) -> String {
    [flow.client, flow.server][flow.main()].to_string()
}

fn receiver(flow: &Flow) -> String {
    [flow.server, flow.client][flow.main()].to_string()
}

/// Time that timeouts of a kind cost: from when the timer began until an acknowledgement ended the wait.
fn lost_to(way: &Way, kind: Kind) -> Span {
    let mut upto = base::Time::ZERO;
    let mut sum = Span::ZERO;
    for t in &way.timeouts {
        let waited = if t.waited == Span::FOREVER { Span::ZERO } else { t.waited };
        let from = (t.t - waited).max(upto);
        let until = t.until.unwrap_or(t.t).max(t.t);
        if t.kind == kind {
            sum += until.since(from);
        }
        upto = upto.max(until);
    }
    sum
}

fn costliest(way: &Way, whole: Span) -> (Cost, Span) {
    // What comes before the first data and behind the last held nothing up.
    let (from, until) = way.data_span.unwrap_or_default();
    let silent = way
        .spikes
        .iter()
        .filter(|s| s.kind == SpikeKind::Delay)
        .fold(Span::ZERO, |sum, s| sum + s.until.min(until).since(s.t.max(from)));
    let (spurious, genuine) = (lost_to(way, Kind::Spurious), lost_to(way, Kind::Genuine));
    let unknown = lost_to(way, Kind::Unknown);
    // A spike is worth telling by itself where no timeout lies over it.
    let silence = silent - spurious;
    // A window that is full holds nobody up if it fills the path.
    let receiver = way.time.of(IdleCause::Receiver);
    let fills = profile::bandwidth_delay(way).is_some_and(|product| way.options.window >= product);
    let avoidable = [
        (Cost::Spurious, spurious),
        (Cost::Genuine, genuine),
        (Cost::Timer, unknown),
        (Cost::Waiting, way.time.of(IdleCause::Timer) - spurious - genuine - unknown),
        (Cost::Silence, silence),
        (Cost::Closed, way.time.of(IdleCause::Closed)),
        (Cost::Receiver, if fills { Span::ZERO } else { receiver }),
        (Cost::Application, way.time.of(IdleCause::Application)),
    ];
    let mut best = (Cost::Path, Span::ZERO);
    for (cost, span) in avoidable {
        if span > best.1 {
            best = (cost, span);
        }
    }
    if best.1.as_nanos() >= whole.as_nanos() / 10 && !best.1.is_zero() {
        return best;
    }
    // Next to the receiver it is not the path whose round trips are seen, but how long the receiver takes to answer.
    let seen = way.place.side() != Side::Receiver;
    let queueing = seen && way.rtt.is_some_and(|r| r.queueing_s > r.min_s);
    let rest = way.time.of(IdleCause::Congestion) + if fills { receiver } else { Span::ZERO };
    (if queueing { Cost::Queue } else { Cost::Path }, rest - spurious - genuine - silence)
}

fn what(cost: Cost, span: Span, whole: Span, way: &Way) -> String {
    let share = if whole.is_zero() { 0.0 } else { 100.0 * span.as_secs_f64() / whole.as_secs_f64() };
    let took = format!("{} ({:.0} %)", seconds(span.min(whole)), share.min(100.0));
    let words = match cost {
        Cost::Spurious => format!(
            "beyond what the path itself takes, most time, {took}, went with {}: the path stood still, the timer expired though \
             nothing was lost, and {} sent again for nothing",
            count(way.timeouts_of(Kind::Spurious), "timeout"),
            were(way.count(Need::Unneeded)),
        ),
        Cost::Genuine => format!(
            "beyond what the path itself takes, most time, {took}, went with {} after losses that no faster recovery repaired",
            count(way.timeouts_of(Kind::Genuine), "timeout")
        ),
        Cost::Timer => format!(
            "beyond what the path itself takes, most time, {took}, went with {} of which the capture does not tell whether they were needed",
            count(way.timeouts_of(Kind::Unknown), "timeout")
        ),
        Cost::Silence => {
            format!("the most time, {took}, the path was silent and then went on: a delay spike, not a loss")
        }
        Cost::Waiting => {
            format!("the most time, {took}, the sender was silent until a timer let it send again")
        }
        Cost::Closed => format!(
            "the most time, {took}, the receiver took nothing: its window was closed, since its application did not read"
        ),
        Cost::Receiver => {
            format!("the most time, {took}, the sender waited because the receiver's window was full")
        }
        Cost::Application => {
            format!("the most time, {took}, nothing was outstanding: the application had nothing to send")
        }
        Cost::Queue => format!(
            "the most time, {took}, data waited their turn: a round trip took {} on average and {} at best, the rest is a \
             queue",
            short(way.rtt.map_or(0.0, |r| r.mean_s)),
            short(way.rtt.map_or(0.0, |r| r.min_s))
        ),
        Cost::Path if span.is_zero() => "nothing held it up for long".to_owned(),
        Cost::Path => format!("the most time, {took}, went with plain round trips of the path"),
    };
    words + "."
}

fn sure(flow: &Flow, way: &Way, cost: Cost) -> String {
    let side = way.place.side();
    let place = match side {
        Side::Sender => "the capture stands next to the sender",
        Side::Receiver => {
            "the capture stands next to the receiver, where timers of the sender can only be guessed"
        }
        Side::Middle => "the capture stands in the middle of the path",
        Side::Unknown => "where the capture stands cannot be told",
    };
    let all = way.retransmissions.len() as u64;
    let judged = all - way.count(Need::Unknown);
    let verdicts = match (all, judged) {
        (0, _) => "nothing was sent again".to_owned(),
        (1, 1) => "the one retransmission is judged with evidence".to_owned(),
        (n, j) if n == j => format!("each of {} is judged with evidence", count(n, "retransmission")),
        (n, j) => format!(
            "{j} of {} are judged with evidence, the others are called unknown",
            count(n, "retransmission")
        ),
    };
    // Of which the capture missed more than half nobody can tell much.
    let missed = way.missing_bytes.max(way.acknowledged_unseen);
    let torn = missed > way.data_bytes;
    let how = match (cost, judged == all, side) {
        _ if torn => "This is unsure",
        (Cost::Timer, _, _) | (Cost::Application, _, Side::Receiver) => "This is unsure",
        (Cost::Receiver, _, _) if !way.options.window_known => "This is unsure",
        (_, true, Side::Sender) => "This is quite sure",
        (_, _, Side::Unknown) => "This is unsure",
        _ => "This is likely",
    };
    let gaps = if missed > 0 {
        format!("; the capture misses {} that were sent", bytes(missed))
    } else {
        String::new()
    };
    let opened = if flow.opened { "" } else { "; its beginning was not seen" };
    format!("{how}: {place}, and {verdicts}{gaps}{opened}.")
}

fn advice(cost: Cost, span: Span, way: &Way) -> String {
    let missing: Vec<&str> =
        [(way.options.sack == Some(false), "SACK"), (!way.options.timestamps, "timestamps")]
            .into_iter()
            .filter(|m| m.0)
            .map(|m| m.1)
            .collect();
    let switch_on = if missing.is_empty() {
        String::new()
    } else {
        format!("switch on {} at both ends; ", missing.join(" and "))
    };
    match cost {
        Cost::Spurious => format!(
            "Make spurious timeouts harmless: {switch_on}use a sender with F-RTO (RFC 5682) or Eifel (RFC 3522, 4015), and a \
             least timeout of 1 s on such a path."
        ),
        Cost::Genuine => format!(
            "Repair losses without the timer: {switch_on}use a sender with SACK recovery and tail loss probes (RFC 8985), and \
             look for what loses {}.",
            match way.bursts.len() {
                0 => "single packets".to_owned(),
                n => format!("packets in {}", count(n as u64, "burst")),
            }
        ),
        Cost::Timer => {
            "Capture at the receiver too and give that file with --receiver: then each verdict is certain.".to_owned()
        }
        Cost::Silence => {
            "Look below TCP for what holds the link up (handover, reselection, link-layer retransmission): the sender did \
             nothing wrong."
                .to_owned()
        }
        Cost::Waiting => {
            "Capture at the sender: from here its timers can only be guessed, and what it heard is not known.".to_owned()
        }
        Cost::Closed => {
            "Look at the application that receives: it did not read what had come. The network is not to blame.".to_owned()
        }
        Cost::Receiver => format!(
            "Raise the receive buffer (the greatest window was {}), and see that the receiving application reads in time.",
            bytes(way.options.window)
        ),
        Cost::Application if way.place.side() == Side::Receiver => {
            "Capture at the sender: from here a path that holds everything up looks like an application with nothing to send."
                .to_owned()
        }
        Cost::Application => "Look at the application or the server behind it, not at the network.".to_owned(),
        Cost::Queue => format!(
            "Make the bottleneck's buffer smaller or manage it actively{}, or limit the window.",
            way.buffer_bytes.map_or(String::new(), |b| format!(" (it held some {} when the first segment was lost)", bytes(b)))
        ),
        Cost::Path if span.is_zero() && way.retransmissions.is_empty() => {
            "Nothing needs to be mended here.".to_owned()
        }
        Cost::Path => {
            let probes = way.retransmissions.iter().filter(|r| r.reason == Reason::Fast).count();
            if probes > 0 {
                "Losses kept the window small: look for what loses packets.".to_owned()
            } else {
                "The transfer is as fast as its window lets it be; for more, shorten the path or open the window sooner."
                    .to_owned()
            }
        }
    }
}

/// So many of them, in words.
pub fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn were(n: u64) -> String {
    format!("{} {}", count(n, "segment"), if n == 1 { "was" } else { "were" })
}

/// Bytes as people write them.
pub fn bytes(n: u64) -> String {
    match n {
        0..10_000 => format!("{n} bytes"),
        10_000..10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}

fn seconds(s: Span) -> String {
    let s = s.as_secs_f64();
    if s < 1.0 { short(s) } else { format!("{s:.1} s") }
}

/// A short time, in milliseconds where thousandths of a second tell too little.
fn short(s: f64) -> String {
    if s >= 0.01 || s <= 0.0 { format!("{s:.3} s") } else { format!("{:.3} ms", s * 1e3) }
}
