//! Charts of one direction of a captured connection over time: RTT, throughput, outstanding data, offered window.

use crate::View;
use crate::frame::{self, Frame};
use report::{Chart, Ink, Panel, Series, Style};

/// Quantity of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Round-trip times, s.
    Rtt,
    /// Rate of sent and of acknowledged bytes, bit/s.
    Throughput,
    /// Outstanding data, bytes.
    Outstanding,
    /// Window offered by the receiver, bytes.
    Window,
}

/// Chart of a quantity.
pub fn chart(view: &View<'_>, line: Line, frame: Frame) -> Chart {
    let (from, until) = frame::window(view, &frame);
    let (panel, what) = match line {
        Line::Rtt => (rtt(view), "round trips"),
        Line::Throughput => (throughput(view, from, until), "throughput"),
        Line::Outstanding => (outstanding(view), "data outstanding"),
        Line::Window => (window(view), "the receiver's window"),
    };
    let mut panel = panel;
    for series in &mut panel.series {
        // Stairs keep the value at the left end of the time range.
        let before = series.points.partition_point(|p| p[0] < from);
        let keep = if series.style == Style::Stairs { before.saturating_sub(1) } else { before };
        series.points.drain(..keep);
        series.points.retain(|p| p[0] <= until);
        if let Some(first) = series.points.first_mut() {
            first[0] = first[0].max(from);
        }
    }
    let caption = caption(view, line, &panel);
    Chart {
        title: if frame.title.is_empty() { heading(what) } else { format!("{}: {what}", frame.title) },
        subtitle: frame::subtitle(view, None),
        caption,
        panel,
        spikes: frame::spikes(view).into_iter().filter(|e| e.until >= from && e.from <= until).collect(),
        timeouts: frame::timeouts(view).into_iter().filter(|e| e.t >= from && e.t <= until).collect(),
        layers: frame.layers,
        from,
        until,
    }
}

/// Text with a capital first letter.
pub(crate) fn heading(what: &str) -> String {
    let mut letters = what.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Caption of a chart: one sentence.
fn caption(view: &View<'_>, line: Line, panel: &Panel) -> String {
    let direction = view.data();
    let most = panel.series.first().map_or(0.0, |s| s.points.iter().map(|p| p[1]).fold(0.0, f64::max));
    match line {
        Line::Rtt => match direction.rtt {
            None => "No round trip could be measured.".to_owned(),
            Some(r) => format!(
                "{} round trips from the place of the capture to the receiver: {:.0} ms at least, {:.0} ms on average, {:.0} ms at most.",
                r.samples,
                r.min_s * 1e3,
                r.mean_s * 1e3,
                r.max_s * 1e3
            ),
        },
        Line::Throughput => match (direction.throughput_bps(), direction.goodput_bps()) {
            (Some(sent), Some(good)) => format!(
                "On average {:.0} kbit/s were sent and {:.0} kbit/s delivered.",
                sent / 1e3,
                good / 1e3
            ),
            _ => "Too little was sent for a rate.".to_owned(),
        },
        Line::Outstanding => format!("At most {} were outstanding.", analyse::story::bytes(most as u64)),
        Line::Window if panel.series.first().is_some_and(|s| s.points.is_empty()) => {
            "The capture does not show by how much the receiver scales its window.".to_owned()
        }
        Line::Window => {
            format!("The receiver advertised a window of at most {}.", analyse::story::bytes(most as u64))
        }
    }
}

/// Panel of RTT samples: one for each ACK of new data, from the last segment that it covers, unless covered data were
/// retransmitted (Karn's algorithm), since that segment may have waited behind a gap.
pub fn rtt(view: &View<'_>) -> Panel {
    let direction = view.data();
    let mut points = Vec::new();
    // Segments in order of time. `open`: first byte, end, send time, retransmitted or not, of segments that are not
    // acknowledged.
    let mut sent = direction.transmissions.iter().peekable();
    let mut open: std::collections::VecDeque<(u64, u64, base::Time, bool)> = Default::default();
    for ack in direction.acks.iter() {
        while let Some(s) = sent.next_if(|s| s.t <= ack.t) {
            if s.again.is_some() {
                for o in open.iter_mut().filter(|o| o.0 < s.end && s.seq < o.1) {
                    o.3 = true;
                }
            } else {
                open.push_back((s.seq, s.end, s.t, false));
            }
        }
        let (mut newest, mut again) = (None, false);
        open.retain(|o| {
            let covered = o.1 <= ack.ack;
            if covered {
                newest = Some(o.2);
                again |= o.3;
            }
            !covered
        });
        if let Some(t) = newest
            && !again
        {
            points.push([view.at(ack.t), ack.t.since(t).as_secs_f64()]);
        }
    }
    let series = Series { name: "round trip".to_owned(), ink: Ink::Main, style: Style::Dots, points };
    Panel { unit: "seconds".to_owned(), series: vec![series] }
}

/// Panel of outstanding bytes, with the outstanding bytes at the first loss.
pub fn outstanding(view: &View<'_>) -> Panel {
    let direction = view.data();
    let mut points: Vec<[f64; 2]> = Vec::new();
    let mut sent = direction.transmissions.iter().peekable();
    let mut acks = direction.acks.iter().peekable();
    let (mut highest, mut acked) = (0, 0);
    loop {
        let t = match (sent.peek(), acks.peek()) {
            (Some(s), Some(a)) if s.t <= a.t => {
                highest = highest.max(s.end);
                sent.next().map(|s| s.t)
            }
            (_, Some(a)) => {
                acked = acked.max(a.ack);
                acks.next().map(|a| a.t)
            }
            (Some(s), None) => {
                highest = highest.max(s.end);
                sent.next().map(|s| s.t)
            }
            (None, None) => break,
        };
        let Some(t) = t else { break };
        // Before the first ACK only bytes sent count, since a capture may begin in the middle of a connection.
        let low = if acked == 0 { direction.transmissions.first().map_or(0, |s| s.seq) } else { acked };
        let now = highest.saturating_sub(low) as f64;
        if points.last().is_none_or(|p| p[1] != now) {
            points.push([view.at(t), now]);
        }
    }
    let own = Series { name: "outstanding".to_owned(), ink: Ink::Other, style: Style::Stairs, points };
    let mut series = vec![own];
    if let Some(bytes) = direction.buffer_bytes {
        let ends = [view.at(view.flow.first), view.at(view.flow.last)];
        series.push(Series {
            name: "at the first loss".to_owned(),
            ink: Ink::Limit,
            style: Style::Stairs,
            points: ends.map(|t| [t, bytes as f64]).to_vec(),
        });
    }
    Panel { unit: "bytes".to_owned(), series }
}

/// Panel of the offered window and of the outstanding bytes.
pub fn window(view: &View<'_>) -> Panel {
    let mut points: Vec<[f64; 2]> = Vec::new();
    for ack in &view.data().acks {
        let Some(end) = ack.window_end else { continue };
        let now = end.saturating_sub(ack.ack) as f64;
        if points.last().is_none_or(|p| p[1] != now) {
            points.push([view.at(ack.t), now]);
        }
    }
    let offered =
        Series { name: "offered by the receiver".to_owned(), ink: Ink::Main, style: Style::Stairs, points };
    let mut panel = outstanding(view);
    panel.series.insert(0, offered);
    panel
}

/// Panel of the rate in a hundred intervals, bit/s: sent (retransmissions included), and acknowledged.
pub fn throughput(view: &View<'_>, from: f64, until: f64) -> Panel {
    let direction = view.data();
    let width = (until - from) / 100.0;
    let bin = |t: f64| ((t - from) / width).floor();
    let rates = |events: &mut dyn Iterator<Item = (f64, u64)>| {
        let mut bytes = vec![0u64; 101];
        for (t, n) in events.filter(|(t, _)| *t >= from && *t <= until) {
            if let Some(slot) = bytes.get_mut(bin(t) as usize) {
                *slot += n;
            }
        }
        // The last bin contains only the right edge.
        let edge = bytes.pop().unwrap_or(0);
        if let Some(last) = bytes.last_mut() {
            *last += edge;
        }
        let point = |(i, n): (usize, &u64)| [from + i as f64 * width, *n as f64 * 8.0 / width];
        bytes.iter().enumerate().map(point).collect::<Vec<_>>()
    };
    let sent = rates(&mut direction.transmissions.iter().map(|s| (view.at(s.t), s.end - s.seq)));
    let mut acked: Option<u64> = None;
    let delivered = rates(&mut direction.acks.iter().map(|a| {
        let before = acked.unwrap_or(a.ack).max(1);
        acked = Some(before.max(a.ack));
        (view.at(a.t), a.ack.saturating_sub(before))
    }));
    let series =
        |name: &str, ink, points| Series { name: name.to_owned(), ink, style: Style::Stairs, points };
    Panel {
        unit: "bit/s".to_owned(),
        series: vec![series("acknowledged", Ink::Main, delivered), series("sent", Ink::Other, sent)],
    }
}
