//! HTML page of `williwaw analyse --html` for a support case: diagnosis, table of connections, and pictures
//! of the largest connections.

use super::source::Read;
use super::text;
use crate::output::VERSION;
use analyse::Flow;
use analyse::story::Diagnosis;
use report::{Item, Layer, Page, Section};
use std::cmp::Reverse;
use view::View;
use view::frame::Frame;
use view::lines::Line;

/// Maximum number of connections drawn, so that the page fits into a mail.
const DRAWN: usize = 6;

/// Input of the page.
pub(super) struct PageInput<'a> {
    /// Name of the capture file.
    pub(super) name: String,
    pub(super) read: &'a Read,
    pub(super) story: &'a Diagnosis,
    /// Connections of the capture at the receiver, matched by their endpoints.
    pub(super) others: &'a [(usize, Flow)],
    /// Lower-layer events, on the time axis of the pictures.
    pub(super) layers: Vec<Layer>,
    /// Start and end of the requested time window, seconds from the first packet.
    pub(super) window: (Option<f64>, Option<f64>),
    /// Maximum number of events of one kind.
    pub(super) most: usize,
}

impl PageInput<'_> {
    pub(super) fn page(&self) -> Page {
        let mut order: Vec<&(usize, Flow)> = self.read.flows.iter().collect();
        order.sort_by_key(|(number, flow)| (Reverse(flow.directions[flow.main()].data_bytes), *number));
        let story = [&self.story.what, &self.story.sure, &self.story.advice];
        let story: Vec<&str> = story.into_iter().map(String::as_str).filter(|s| !s.is_empty()).collect();
        let mut sections = vec![Section {
            heading: "What happened".to_owned(),
            text: story.join("\n\n"),
            items: Vec::new(),
        }];
        if !order.is_empty() {
            let shown = &order[..order.len().min(100)];
            let table = crate::cmd::run::page::table("Connections, the largest first", &text::table(shown));
            let more = order.len() - shown.len();
            sections.push(Section {
                heading: "Connections".to_owned(),
                text: if more > 0 {
                    format!("{more} smaller connections are left out.")
                } else {
                    String::new()
                },
                items: vec![table.into()],
            });
        }
        sections.extend(order.iter().take(DRAWN).filter_map(|(number, flow)| self.connection(*number, flow)));
        let frame = Frame {
            layers: self.layers.clone(),
            from: self.window.0,
            until: self.window.1,
            ..Frame::default()
        };
        sections.extend(super::associations::sections(self.read, &frame));
        sections.extend(super::datagrams::sections(self.read, &frame));
        if order.len() > DRAWN {
            sections.push(Section {
                heading: "Further connections".to_owned(),
                text: format!(
                    "{} more connections are in the table and not drawn; --flow chooses one of them.",
                    order.len() - DRAWN
                ),
                items: Vec::new(),
            });
        }
        Page {
            title: format!("Capture {}", self.name),
            provenance: vec![
                ("version".to_owned(), VERSION.to_owned()),
                ("capture".to_owned(), self.name.clone()),
                ("frames".to_owned(), self.read.frames.to_string()),
            ],
            sections,
        }
    }

    /// Section with the pictures of one connection; `None` if it carried no data.
    fn connection(&self, number: usize, flow: &Flow) -> Option<Section> {
        let direction = View::busier(flow);
        let ends = |f: &Flow| [f.client, f.server];
        let same = |other: &Flow| ends(other) == ends(flow) || ends(other) == [flow.server, flow.client];
        let other = self.others.iter().map(|(_, other)| other).find(|other| same(other));
        let view = View { flow, direction, other, start: self.read.start };
        if view.data().transmissions.is_empty() {
            return None;
        }
        let (from, to) = view::frame::ends(&view);
        let frame = |title: &str| Frame {
            title: title.to_owned(),
            layers: self.layers.clone(),
            from: self.window.0,
            until: self.window.1,
        };
        let mut items: Vec<Item> = vec![view::sequence::picture(&view, frame("Time and sequence")).into()];
        for line in [Line::Throughput, Line::Rtt, Line::Outstanding, Line::Window] {
            items.push(view::lines::chart(&view, line, frame("")).into());
        }
        let events = text::connection_events(number, flow, self.read, self.most, usize::MAX);
        Some(Section {
            heading: format!("Connection {number}: {from} to {to}"),
            // The first line names the connection, as the heading does.
            text: events
                .lines()
                .filter(|line| !line.trim().is_empty() && !line.starts_with("connection "))
                .map(timed)
                .collect::<Vec<_>>()
                .join("\n\n"),
            items,
        })
    }
}

/// Line of the terminal text for a page, with the unit added to the instant at its beginning.
fn timed(line: &str) -> String {
    match line.trim().split_once("  ") {
        Some((instant, rest)) if instant.parse::<f64>().is_ok() => format!("{instant} s: {}", rest.trim()),
        _ => line.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::timed;

    #[test]
    fn an_instant_gets_its_unit() {
        assert_eq!(
            timed("    19.842  3 segments in a row were lost"),
            "19.842 s: 3 segments in a row were lost"
        );
        assert_eq!(timed("            115.8 kB were outstanding"), "115.8 kB were outstanding");
    }
}
