//! UDP and QUIC flows in the output of `williwaw analyse`: diagnosis, table, JSON, and page sections with
//! pictures.

use super::source::Read;
use crate::output::table::TextTable;
use analyse::datagram::{DatagramDirection, DatagramFlow, Gap, Quic, Spin, SpinBit};
use analyse::story::{bytes, count};
use base::Time;
use report::{Item, Section};
use serde_json::{Value, json};
use view::frame::Frame;

/// Maximum number of flows drawn on a page.
const DRAWN: usize = 4;
/// Fewest datagrams of a flow that is drawn.
const LEAST_DRAWN: u64 = 20;

/// Flows with their numbers, the largest first.
pub(in crate::cmd) fn sorted(read: &Read) -> Vec<(usize, &DatagramFlow)> {
    let mut all: Vec<(usize, &DatagramFlow)> = read.datagrams.iter().enumerate().collect();
    all.sort_by_key(|(number, flow)| (std::cmp::Reverse(flow.directions[flow.main()].bytes), *number));
    all
}

fn rate(bps: f64) -> String {
    if bps >= 1e6 { format!("{:.2} Mbit/s", bps / 1e6) } else { format!("{:.1} kbit/s", bps / 1e3) }
}

fn protocol(flow: &DatagramFlow) -> &'static str {
    if flow.quic.is_some() { "QUIC" } else { "UDP" }
}

fn spinning(flow: &DatagramFlow) -> Option<&Spin> {
    match &flow.quic {
        Some(Quic { spin: SpinBit::Spins(spin), .. }) => Some(spin),
        _ => None,
    }
}

/// Diagnosis in three sentences: finding, certainty, remedy; empty without a flow.
pub(super) fn story(read: &Read) -> Vec<String> {
    let Some((number, flow)) = sorted(read).first().copied() else { return Vec::new() };
    let direction = &flow.directions[flow.main()];
    let which = match read.datagrams.len() {
        1 => format!("One flow of {}", protocol(flow)),
        n => format!("Of {n} flows of UDP the largest, {number} ({}),", protocol(flow)),
    };
    let seconds = flow.last.since(flow.first).as_secs_f64();
    let mean = direction.rate_bps().map_or(String::new(), |bps| format!(" ({})", rate(bps)));
    let mut what = format!("{which} carried {} in {seconds:.2} s{mean}", bytes(direction.bytes));
    match (flow.silence_count, flow.silences.iter().max_by_key(|gap| gap.lasts)) {
        (n, Some(longest)) => {
            let lasts = longest.lasts.as_secs_f64();
            let each = if n == 1 { "of" } else { "of which the longest took" };
            what += &format!(", with {} {each} {lasts:.2} s.", count(n, "silence"));
        }
        _ => what.push_str(", without a silence of a second."),
    }
    let mut sure =
        "Losses and retransmissions of the payload are encrypted or not visible in the capture.".to_owned();
    if let Some(spin) = spinning(flow) {
        sure += &format!(
            " Its spin bit gives round trips of {:.0} ms in the median, {:.0} ms minimum and {:.0} ms maximum.",
            spin.median_s * 1e3,
            spin.min_s * 1e3,
            spin.max_s * 1e3
        );
    } else if flow.quic.is_some() {
        sure += " Its spin bit gives no round trips in this capture.";
    }
    let mut out = vec![what, sure];
    if flow.quic.is_some() {
        out.push("A qlog of either end shows losses and timers: `williwaw analyse FILE.qlog`.".to_owned());
    }
    out
}

/// Table with one row for each flow, at most `most`.
pub(super) fn table(read: &Read, most: usize) -> TextTable {
    let heads = [
        "no",
        "from",
        "to",
        "protocol",
        "datagrams",
        "data",
        "time",
        "rate",
        "back",
        "longest gap",
        "silences",
        "spin rtt",
    ];
    let mut board = TextTable { heads: heads.map(str::to_owned).to_vec(), ..TextTable::default() };
    for (number, flow) in sorted(read).into_iter().take(most) {
        let main = flow.main();
        let (direction, back) = (&flow.directions[main], &flow.directions[1 - main]);
        let gap =
            direction.gaps.first().map_or("-".to_owned(), |gap| format!("{:.2} s", gap.lasts.as_secs_f64()));
        board.rows.push(vec![
            number.to_string(),
            flow.ends[main].to_string(),
            flow.ends[1 - main].to_string(),
            protocol(flow).to_owned(),
            direction.packets.to_string(),
            bytes(direction.bytes),
            format!("{:.2} s", flow.last.since(flow.first).as_secs_f64()),
            direction.rate_bps().map_or("-".to_owned(), rate),
            bytes(back.bytes),
            gap,
            flow.silence_count.to_string(),
            spinning(flow).map_or("-".to_owned(), |spin| format!("{:.0} ms", spin.median_s * 1e3)),
        ]);
    }
    board
}

/// JSON of each flow; times are seconds from the first packet.
pub(super) fn documents(read: &Read) -> Vec<Value> {
    let at = |t: Time| t.as_secs_f64() - read.start.as_secs_f64();
    let gaps = |gaps: &[Gap]| -> Vec<Value> {
        gaps.iter().map(|gap| json!({ "t": at(gap.from), "lasts_s": gap.lasts.as_secs_f64() })).collect()
    };
    let direction = |direction: &DatagramDirection| {
        json!({
            "datagrams": direction.packets,
            "bytes": direction.bytes,
            "rate_bps": direction.rate_bps(),
            "first_s": direction.span.map(|(first, _)| at(first)),
            "last_s": direction.span.map(|(_, last)| at(last)),
            "longest_gaps": gaps(&direction.gaps),
        })
    };
    let quic = |quic: &Quic| {
        let (word, spin) = match &quic.spin {
            SpinBit::Spins(spin) => ("spins", Some(spin)),
            SpinBit::Random => ("random", None),
            SpinBit::Constant => ("constant", None),
        };
        json!({
            "version": format!("{:#010x}", quic.version),
            "long_headers": quic.long_headers,
            "spin_bit": word,
            "spin_rtt_s": spin.map(|spin| json!({
                "samples": spin.samples.len(),
                "min": spin.min_s,
                "median": spin.median_s,
                "max": spin.max_s,
                "to_server_median": spin.to_server_s,
            })),
        })
    };
    let one = |(number, flow): (usize, &DatagramFlow)| {
        json!({
            "number": number,
            "ends": [flow.ends[0].to_string(), flow.ends[1].to_string()],
            "first_s": at(flow.first),
            "last_s": at(flow.last),
            "interface": flow.interface,
            "main": flow.main(),
            "silences": { "count": flow.silence_count, "longest": gaps(&flow.silences) },
            "quic": flow.quic.as_ref().map(quic),
            "ways": [direction(&flow.directions[0]), direction(&flow.directions[1])],
        })
    };
    read.datagrams.iter().enumerate().map(one).collect()
}

/// Sections of a page: the table, and pictures of the largest flows.
pub(super) fn sections(read: &Read, frame: &Frame) -> Vec<Section> {
    if read.datagrams.is_empty() {
        return Vec::new();
    }
    let table = crate::cmd::run::page::table("UDP flows, the largest first", &table(read, 50));
    // Without TCP and SCTP the page begins with this diagnosis already.
    let text = if read.tcp + read.sctp > 0 { story(read).join("\n\n") } else { String::new() };
    let mut out = vec![Section { heading: "UDP flows".to_owned(), text, items: vec![table.into()] }];
    let drawn =
        sorted(read).into_iter().filter(|(_, flow)| flow.directions[flow.main()].packets >= LEAST_DRAWN);
    for (number, flow) in drawn.take(DRAWN) {
        let frame = || Frame { title: String::new(), ..frame.clone() };
        let mut items: Vec<Item> = vec![view::datagram::rates(flow, read.start, frame()).into()];
        items.extend(view::datagram::round_trips(flow, read.start, frame()).map(Item::from));
        out.push(Section {
            heading: format!("{} flow {number}", protocol(flow)),
            text: String::new(),
            items,
        });
    }
    out
}
