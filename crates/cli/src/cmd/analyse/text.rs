//! Terminal text of `williwaw analyse`: diagnosis, table of connections, and a list of events for each
//! connection.

use super::associations;
use super::datagrams;
use super::lower_layers::{LowerLayers, silences};
use super::source::Read;
use crate::console::streams::Console;
use crate::output::table::TextTable;
use crate::output::terminal;
use analyse::choice::Conditions;
use analyse::story::{Diagnosis, bytes, count};
use analyse::{Flow, FlowDirection, Need, RecoveryVerdict};
use base::Time;

/// Complete terminal text of an analysis.
pub(super) fn page(
    read: &Read,
    story: &Diagnosis,
    most: usize,
    console: &Console,
    below: Option<&LowerLayers>,
) -> String {
    let width = console.width.unwrap_or(100);
    let mut out = String::new();
    for sentence in [&story.what, &story.sure, &story.advice] {
        for line in terminal::wrap(sentence, width) {
            out += &line;
            out.push('\n');
        }
    }
    if let Some(jain) = story.jain_index {
        out += &format!("Jain's fairness index of the connections: {jain:.3}\n");
    }
    let mut order: Vec<&(usize, Flow)> = read.flows.iter().collect();
    order.sort_by_key(|f| (std::cmp::Reverse(f.1.directions[f.1.main()].data_bytes), f.0));
    let shown = &order[..order.len().min(most)];
    if !shown.is_empty() {
        out.push('\n');
        out += &terminal::text(&table(shown), console.width, console.colour);
        if order.len() > shown.len() {
            out += &format!("{} more connections; --most shows them\n", order.len() - shown.len());
        }
    }
    if !read.associations.is_empty() {
        if read.tcp > 0 {
            out.push('\n');
            for line in terminal::wrap(&associations::story(read).join(" "), width) {
                out += &line;
                out.push('\n');
            }
        }
        out.push('\n');
        out += &terminal::text(&associations::table(read, most), console.width, console.colour);
        let more = read.associations.len().saturating_sub(most);
        if more > 0 {
            out += &format!("{more} more associations; --most shows them\n");
        }
    }
    if !read.datagrams.is_empty() {
        if read.tcp + read.sctp > 0 {
            out.push('\n');
            for line in terminal::wrap(&datagrams::story(read)[..1].join(" "), width) {
                out += &line;
                out.push('\n');
            }
        }
        out.push('\n');
        out += &terminal::text(&datagrams::table(read, most), console.width, console.colour);
        let more = read.datagrams.len().saturating_sub(most);
        if more > 0 {
            out += &format!("{more} more flows of UDP; --most shows them\n");
        }
    }
    for (number, flow) in shown {
        out += &connection_events(*number, flow, read, most, width);
        if let Some(below) = below {
            out += &below.text(*number, flow, read, most, console);
        }
    }
    out
}

pub(super) fn table(flows: &[&(usize, Flow)]) -> TextTable {
    let heads = [
        "no",
        "from",
        "to",
        "data",
        "time",
        "goodput",
        "resent",
        "unneeded",
        "timeouts",
        "spurious",
        "rtt min",
        "mean",
        "capture at",
    ];
    let mut board = TextTable { heads: heads.map(str::to_owned).to_vec(), ..TextTable::default() };
    for (number, f) in flows {
        let main = f.main();
        let direction = &f.directions[main];
        let span = direction.data_span.map_or(0.0, |(a, b)| b.since(a).as_secs_f64());
        let ends = [f.client.to_string(), f.server.to_string()];
        let unknown = |n: u64| if n > 0 { format!(" ({n} unknown)") } else { String::new() };
        let (least, mean) =
            direction.rtt.map_or(("-".into(), "-".into()), |r| (length(r.min_s), length(r.mean_s)));
        board.rows.push(vec![
            number.to_string(),
            ends[main].clone(),
            ends[1 - main].clone(),
            bytes(direction.delivered_bytes),
            format!("{span:.2} s"),
            direction.goodput_bps().map_or("-".into(), rate),
            direction.retransmissions.len().to_string(),
            format!("{}{}", direction.count(Need::Unneeded), unknown(direction.count(Need::Unknown))),
            direction.timeouts.len().to_string(),
            format!(
                "{}{}",
                direction.timeouts_of(RecoveryVerdict::Spurious),
                unknown(direction.timeouts_of(RecoveryVerdict::Unknown))
            ),
            least,
            mean,
            direction.place.side().name().to_owned(),
        ]);
    }
    board
}

/// Duration with unit: milliseconds with two decimals below 0.1 s, otherwise seconds with three.
fn length(seconds: f64) -> String {
    if seconds < 0.1 { format!("{:.2} ms", seconds * 1e3) } else { format!("{seconds:.3} s") }
}

fn rate(bps: f64) -> String {
    match bps {
        b if b >= 1e6 => format!("{:.2} Mbit/s", b / 1e6),
        b => format!("{:.1} kbit/s", b / 1e3),
    }
}

/// Text of the events of one connection in order of time, at most `most` of each kind.
pub(super) fn connection_events(
    number: usize,
    flow: &Flow,
    read: &Read,
    most: usize,
    width: usize,
) -> String {
    let start = read.start;
    let mut lines: Vec<(Time, String)> = Vec::new();
    let mut back: Vec<(Time, String)> = Vec::new();
    of_way(&flow.directions[flow.main()], most, &mut lines);
    of_way(&flow.directions[1 - flow.main()], most, &mut back);
    // If both ends sent, sentences on the smaller direction name it.
    let client = flow.main() == 1;
    let sender = if client { flow.client } else { flow.server };
    lines.extend(back.into_iter().map(|(t, line)| (t, format!("{line} (data of {sender})"))));
    let main = &flow.directions[flow.main()];
    let mut out = String::new();
    let mut remarks: Vec<String> = Vec::new();
    if let Some(n) = main.buffer_bytes {
        remarks.push(format!("{} were outstanding when the first lost segment was sent", bytes(n)));
    }
    if flow.captured_twice > 0 {
        let copies = match flow.captured_twice {
            1 => "a further copy of a packet is".to_owned(),
            n => format!("{n} further copies of packets are"),
        };
        let apart = flow.copies_apart.as_secs_f64();
        remarks.push(format!("{copies} in the capture, up to {} later, and left out", length(apart)));
    }
    if let Some(n) = main.replies_lost.filter(|n| *n > 0) {
        remarks
            .push(format!("{} numbered by the receiver did not reach the capture point", count(n, "packet")));
    }
    if let Some(a) = main.rtt.and_then(|r| r.alternates) {
        remarks.push(format!(
            "round trips alternate between {:.3} s and {:.3} s, as if a radio channel is set up again for every \
             second packet",
            a.low, a.high
        ));
    }
    if let Some(protocol) = Conditions::of(main).recommended().filter(|_| !main.spikes.is_empty()) {
        let name = protocol.because();
        remarks.push(format!("for a path with such delay spikes the study of 2003 recommends {name}"));
    }
    remarks.extend(silences(flow, read));
    if !lines.is_empty() || !remarks.is_empty() {
        out += &format!("\nconnection {number}, {} \u{2013} {}\n", flow.client, flow.server);
    }
    lines.sort_by_key(|l| l.0);
    for (t, line) in lines {
        let at = if t >= start { t.since(start).as_secs_f64() } else { 0.0 };
        let head = format!("{at:>10.3}  ");
        for (i, part) in terminal::wrap(&line, width.saturating_sub(12).max(30)).iter().enumerate() {
            out += &if i == 0 { format!("{head}{part}\n") } else { format!("{:12}{part}\n", "") };
        }
    }
    let to_change: Vec<String> = main
        .profile
        .iter()
        .filter(|a| a.followed == Some(false))
        .map(|a| format!("RFC 3481 section {}: {}", a.point.section(), a.text))
        .collect();
    for line in remarks.into_iter().chain(to_change) {
        for (i, part) in terminal::wrap(&line, width.saturating_sub(12).max(30)).iter().enumerate() {
            out += &format!("{}{part}\n", if i == 0 { "            " } else { "              " });
        }
    }
    out
}

fn of_way(direction: &FlowDirection, most: usize, lines: &mut Vec<(Time, String)>) {
    let mut some = |all: Vec<(Time, String)>, what: &str| {
        let more = all.len().saturating_sub(most);
        let last = all.get(most.min(all.len()).saturating_sub(1)).map(|l| l.0);
        lines.extend(all.into_iter().take(most));
        if let (Some(t), true) = (last, more > 0) {
            lines.push((t, format!("({more} more {what})")));
        }
    };
    let timeouts = direction.timeouts.iter().map(|x| {
        let cause = x.cause.map_or(String::new(), |c| format!(", {}", c.name().replace('_', " ")));
        (x.t, format!("timeout, {}{cause}: byte {} was retransmitted ({})", x.kind, x.seq, x.evidence))
    });
    some(timeouts.collect(), "timeouts");
    let fast = direction.fast_retransmits.iter().map(|x| {
        (
            x.t,
            format!(
                "fast retransmit, {}: byte {} after {} duplicates ({})",
                x.kind, x.seq, x.duplicates, x.evidence
            ),
        )
    });
    some(fast.collect(), "fast retransmits");
    let runs = direction.go_back_n.iter().map(|x| {
        let span = x.until.since(x.t).as_secs_f64();
        (x.t, format!("go-back-N: {} segments in {span:.3} s, {} of them unneeded", x.segments, x.unneeded))
    });
    some(runs.collect(), "runs of go-back-N");
    let spikes = direction.spikes.iter().map(|x| {
        let span = x.until.since(x.t).as_secs_f64();
        (x.t, format!("{}: no acknowledgements for {span:.3} s", x.kind))
    });
    some(spikes.collect(), "silences of the path");
    let bursts =
        direction.bursts.iter().map(|x| (x.t, format!("{} segments in a row were lost", x.segments)));
    some(bursts.collect(), "bursts of losses");
    let pauses = direction.idles.iter().map(|x| {
        let span = x.until.since(x.t).as_secs_f64();
        (x.t, format!("the sender paused for {span:.3} s: {}", x.cause))
    });
    some(pauses.collect(), "pauses");
    let faults =
        direction.faults.iter().map(|x| (x.t, format!("fault: {} ({})", x.kind.says(), x.measured())));
    some(faults.collect(), "faults");
}
