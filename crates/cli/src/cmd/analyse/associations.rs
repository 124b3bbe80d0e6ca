//! SCTP associations in the output of `williwaw analyse`: diagnosis, table, JSON, and page sections with
//! pictures.

use super::source::Read;
use crate::output::table::TextTable;
use analyse::association::{Association, AssociationDirection, TimeoutVerdict};
use analyse::story::{bytes, count};
use base::Time;
use report::{Item, Section};
use serde_json::{Value, json};
use view::frame::Frame;

/// Maximum number of associations drawn on a page.
const DRAWN: usize = 4;

/// Associations with their numbers, the largest first.
fn sorted(read: &Read) -> Vec<(usize, &Association)> {
    let mut all: Vec<(usize, &Association)> = read.associations.iter().enumerate().collect();
    all.sort_by_key(|(number, a)| (std::cmp::Reverse(a.directions[a.main()].bytes), *number));
    all
}

/// Diagnosis in three sentences: finding, certainty, remedy; empty without an association.
pub(super) fn story(read: &Read) -> Vec<String> {
    let Some((number, a)) = sorted(read).first().copied() else { return Vec::new() };
    let direction = &a.directions[a.main()];
    let span = direction.span.map_or(0.0, |(from, until)| until.since(from).as_secs_f64());
    let rate = direction.goodput_bps().map_or(String::new(), |bps| format!(" ({:.1} kbit/s)", bps / 1e3));
    let which = match read.associations.len() {
        1 => "One SCTP association".to_owned(),
        n => format!("Of {n} SCTP associations the largest, {number},"),
    };
    let mut what = format!(
        "{which} carried {} in {span:.2} s{rate}: {} of {} retransmitted",
        bytes(direction.acknowledged_bytes),
        direction.resent,
        count(direction.chunks, "chunk"),
    );
    if direction.timeouts.is_empty() {
        what += ", and no timeout.";
    } else {
        let timeouts = count(direction.timeouts.len() as u64, "timeout");
        what +=
            &format!(", {timeouts}, for which the sender waited {:.2} s.", direction.waited().as_secs_f64());
    }
    let mut out = vec![what];
    if direction.resent > 0 {
        let mut sure = format!("The receiver reported {} as duplicates.", count(direction.unneeded, "chunk"));
        if !direction.timeouts.is_empty() {
            let judged = [TimeoutVerdict::Spurious, TimeoutVerdict::Genuine, TimeoutVerdict::Unknown]
                .map(|judged| direction.judged(judged));
            sure += &format!(
                " Of the timeouts {} were spurious, {} genuine, {} unknown.",
                judged[0], judged[1], judged[2]
            );
        }
        out.push(sure);
    }
    out.extend(advice(direction).map(str::to_owned));
    out
}

fn advice(direction: &AssociationDirection) -> Option<&'static str> {
    if direction.judged(TimeoutVerdict::Spurious) > 0 {
        return Some("A larger RTO.Min at the sender, or one path less variable, avoids spurious timeouts.");
    }
    if direction.judged(TimeoutVerdict::Genuine) > 0 && direction.fast_retransmits == 0 {
        return Some(
            "Losses were found by the timer alone: the window was too small for three missing reports.",
        );
    }
    (direction.closed_windows > 0).then_some(
        "The receiver closed its window: its application reads too slowly, or its buffer is small.",
    )
}

/// Table with one row for each association, at most `most`.
pub(super) fn table(read: &Read, most: usize) -> TextTable {
    let heads = [
        "no",
        "from",
        "to",
        "data",
        "time",
        "goodput",
        "chunks",
        "resent",
        "unneeded",
        "timeouts",
        "spurious",
        "fast",
        "gap sacks",
        "rtt min",
        "mean",
        "ended",
    ];
    let mut board = TextTable { heads: heads.map(str::to_owned).to_vec(), ..TextTable::default() };
    for (number, a) in sorted(read).into_iter().take(most) {
        let main = a.main();
        let direction = &a.directions[main];
        let span = direction.span.map_or(0.0, |(from, until)| until.since(from).as_secs_f64());
        let (least, mean) = direction.rtt.map_or(("-".into(), "-".into()), |r| {
            (format!("{:.3} s", r.min_s), format!("{:.3} s", r.mean_s))
        });
        board.rows.push(vec![
            number.to_string(),
            a.ends[main].to_string(),
            a.ends[1 - main].to_string(),
            bytes(direction.acknowledged_bytes),
            format!("{span:.2} s"),
            direction.goodput_bps().map_or("-".into(), |bps| format!("{:.1} kbit/s", bps / 1e3)),
            direction.chunks.to_string(),
            direction.resent.to_string(),
            direction.unneeded.to_string(),
            direction.timeouts.len().to_string(),
            direction.judged(TimeoutVerdict::Spurious).to_string(),
            direction.fast_retransmits.to_string(),
            direction.gap_sacks.to_string(),
            least,
            mean,
            a.ended.unwrap_or("-").to_owned(),
        ]);
    }
    board
}

/// JSON of each association; times are seconds from the first packet.
pub(super) fn documents(read: &Read) -> Vec<Value> {
    let at = |t: Time| t.as_secs_f64() - read.start.as_secs_f64();
    let direction = |direction: &AssociationDirection| {
        let timeouts = direction.timeouts.iter().map(|timeout| {
            json!({
                "t": at(timeout.t),
                "tsn": timeout.tsn,
                "waited_s": timeout.waited.as_secs_f64(),
                "kind": match timeout.judged {
                    TimeoutVerdict::Spurious => "spurious",
                    TimeoutVerdict::Genuine => "genuine",
                    TimeoutVerdict::Unknown => "unknown",
                },
            })
        });
        json!({
            "packets": direction.packets,
            "data_chunks": direction.chunks,
            "data_bytes": direction.bytes,
            "acknowledged_bytes": direction.acknowledged_bytes,
            "messages": direction.messages,
            "streams": direction.streams,
            "destination_addresses": direction.destinations,
            "chunks_resent": direction.resent,
            "duplicates_reported": direction.unneeded,
            "fast_retransmits": direction.fast_retransmits,
            "timeouts": timeouts.collect::<Vec<_>>(),
            "sacks": direction.sacks,
            "sacks_with_gaps": direction.gap_sacks,
            "gap_blocks": direction.gap_blocks,
            "closed_windows": direction.closed_windows,
            "heartbeats": direction.heartbeats,
            "heartbeats_answered": direction.heartbeats_answered,
            "forward_tsns": direction.forwards,
            "rtt_s": direction.rtt.map(|r| json!({ "samples": r.samples, "min": r.min_s, "mean": r.mean_s, "max": r.max_s })),
            "goodput_bps": direction.goodput_bps(),
            "waited_s": direction.waited().as_secs_f64(),
        })
    };
    let one = |(number, a): (usize, &Association)| {
        json!({
            "number": number,
            "ends": [a.ends[0].to_string(), a.ends[1].to_string()],
            "opened": a.opened,
            "ended": a.ended,
            "first_s": at(a.first),
            "last_s": at(a.last),
            "interface": a.interface,
            "main": a.main(),
            "ways": [direction(&a.directions[0]), direction(&a.directions[1])],
        })
    };
    read.associations.iter().enumerate().map(one).collect()
}

/// Sections of a page: the table, and pictures of the largest associations.
pub(super) fn sections(read: &Read, frame: &Frame) -> Vec<Section> {
    if read.associations.is_empty() {
        return Vec::new();
    }
    let table = crate::cmd::run::page::table("SCTP associations, the largest first", &table(read, 100));
    let mut out = vec![Section {
        heading: "SCTP associations".to_owned(),
        text: story(read).join("\n\n"),
        items: vec![table.into()],
    }];
    for (number, a) in sorted(read).into_iter().take(DRAWN) {
        let frame = Frame { title: "Time and sequence".to_owned(), ..frame.clone() };
        let items: Vec<Item> = vec![view::association::picture(a, read.start, frame).into()];
        out.push(Section { heading: format!("SCTP association {number}"), text: String::new(), items });
    }
    out
}
