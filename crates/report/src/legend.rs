//! Legend of a picture: entries for the glyphs that occur in the picture, in rows below it.

use crate::model::{Picture, SegmentKind, Truth};
use crate::palette as ink;
use crate::strokes::{LEFT, fill};
use crate::svg::{Anchor, Svg, n};
use crate::text::width;

/// A glyph of the legend with its text.
pub(crate) struct Entry {
    glyph: &'static str,
    words: &'static str,
}

/// Height of a row, pixels.
pub(crate) const LINE: f64 = 16.0;

impl Picture {
    /// Entries for the glyphs that occur in the picture.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let (unneeded, needed) = self.resent();
        let mut entries = vec![Entry {
            glyph: "<path d=\"M3 -5V5\" stroke=\"#1b1f24\" stroke-width=\"1.8\"/>",
            words: "first transmission",
        }];
        let mut add = |present: bool, glyph, words| {
            if present {
                entries.push(Entry { glyph, words });
            }
        };
        add(needed > 0, "<path d=\"M3 -4.5L7 0L3 4.5L-1 0z\" fill=\"#0072b2\"/>", "retransmission, needed");
        add(
            unneeded > 0,
            "<path d=\"M3 -5L8 4H-2z\" fill=\"#d55e00\"/>",
            "unneeded retransmission: an earlier copy arrives",
        );
        add(
            self.sent.iter().any(|e| e.kind == SegmentKind::Unknown),
            "<path d=\"M-0.5 -3.5h7v7h-7z\" fill=\"#fff\" stroke=\"#6e7681\" stroke-width=\"1.4\"/>",
            "retransmission, need unknown",
        );
        add(
            !self.received.is_empty(),
            "<path d=\"M3 -3V3\" stroke=\"#3aa583\" stroke-width=\"2.2\"/>",
            "reaches the receiver",
        );
        add(
            self.received.iter().any(|e| e.duplicate),
            "<circle cx=\"3\" cy=\"0\" r=\"2.6\" fill=\"none\" stroke=\"#3aa583\" stroke-width=\"1.3\"/>",
            "duplicate at the receiver",
        );
        add(
            !self.acks.is_empty(),
            "<path d=\"M-2 3H4V-3H8\" fill=\"none\" stroke=\"#8a929b\" stroke-width=\"1.2\"/>",
            "cumulative acknowledgement",
        );
        add(
            !self.drops.is_empty(),
            "<path d=\"M-1 -4L7 4M7 -4L-1 4\" stroke=\"#a3307a\" stroke-width=\"2\"/>",
            "lost",
        );
        let spurious = self.timeouts.iter().filter(|e| e.truth == Truth::Spurious).count();
        add(
            spurious > 0,
            "<path d=\"M3 -6V6\" stroke=\"#d55e00\" stroke-width=\"1.4\" stroke-dasharray=\"4 3\"/>",
            "timer expires, nothing was lost",
        );
        let genuine = self.timeouts.iter().filter(|e| e.truth == Truth::Genuine).count();
        add(
            genuine > 0,
            "<path d=\"M3 -6V6\" stroke=\"#0072b2\" stroke-width=\"1.4\"/>",
            "timer expires after a loss",
        );
        add(
            spurious + genuine < self.timeouts.len(),
            "<path d=\"M3 -6V6\" stroke=\"#6e7681\" stroke-width=\"1.4\"/>",
            "timer expires, cause unknown",
        );
        add(
            self.timeouts.iter().any(|e| e.detected_at.is_some()),
            "<path d=\"M-1.5 -4h9l-4.5 7z\" fill=\"#fff\" stroke=\"#d55e00\" stroke-width=\"1.2\"/>",
            "detected by the sender",
        );
        let fast =
            |spurious: bool| self.fast_retransmits.iter().any(|e| (e.truth == Truth::Spurious) == spurious);
        add(
            fast(true),
            "<circle cx=\"3\" cy=\"0\" r=\"5.5\" fill=\"none\" stroke=\"#d55e00\" stroke-width=\"1.3\"/>",
            "spurious fast retransmit",
        );
        add(
            fast(false),
            "<circle cx=\"3\" cy=\"0\" r=\"5.5\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"1.3\"/>",
            "fast retransmit",
        );
        add(!self.spikes.is_empty(), "<path d=\"M-2 -5H8V5H-2z\" fill=\"#f6e3b4\"/>", "link disturbed");
        entries
    }
}

/// Draws the legend; `y` is the baseline of its first row.
pub(crate) fn draw(svg: &mut Svg, entries: &[Entry], w: f64, y: f64) {
    for (i, row) in rows(entries, w).iter().enumerate() {
        let y = y + i as f64 * LINE;
        for &(x, index) in row {
            let entry = &entries[index];
            svg.group(&format!("transform=\"translate({} {})\"", n(x), n(y - 4.0)));
            svg.path_markup(entry.glyph);
            svg.close();
            svg.text((x + 12.0, y), Anchor::Start, 10.5, &fill(ink::INK), entry.words);
        }
    }
}

/// Rows of the legend: horizontal position and index of each entry.
pub(crate) fn rows(entries: &[Entry], w: f64) -> Vec<Vec<(f64, usize)>> {
    let mut rows: Vec<Vec<(f64, usize)>> = vec![Vec::new()];
    let mut x = LEFT;
    for (i, entry) in entries.iter().enumerate() {
        let size = 30.0 + width(entry.words, 10.5);
        if x + size > w && x > LEFT {
            rows.push(Vec::new());
            x = LEFT;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, i));
        }
        x += size;
    }
    rows
}
