//! Sample report page and drawings of a download over a 30 kbit/s link with a cell change: Reno takes the
//! five seconds of silence for a loss; with Eifel it detects a spurious timeout.
//!
//! `cargo run -p williwaw-report --example sample -- page.html [drawing.svg] [bars.svg]`
//!
//! The sender is a minimal one for the sake of the drawing; real results come from the laboratory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use report::{
    Ack, Bar, BarGroup, Bars, Cell, CellVerdict, ComparisonStrip, Drop, FastRetransmit, Interval, Page,
    Picture, Received, Section, SegmentKind, Sent, Table, Timeout, TimerSample, Truth, WindowSample,
};

const SEGMENT: u64 = 1_000;
const SPIKE: (f64, f64) = (3.1, 8.1);

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let reno = Toy::new("Reno", false, false).run(48);
    let eifel = Toy::new("Reno with Eifel", true, false).run(48);
    let lossy = Toy::new("Reno, and the cell change loses what it holds", false, true).run(48);
    let drawing = reno.svg(720, 560);
    let bars = download_bars();
    let bars_svg = bars.svg(720, 340);
    let page = Page {
        title: "A phone changes cells during a download".to_owned(),
        provenance: vec![
            ("version".to_owned(), format!("williwaw {}", env!("CARGO_PKG_VERSION"))),
            ("scenario".to_owned(), "sample (a toy, not a result)".to_owned()),
            ("seed".to_owned(), "1".to_owned()),
        ],
        sections: vec![
            Section {
                heading: "What a spurious timeout looks like".to_owned(),
                text:
                    "Each picture shows one download from a server to a phone. Time runs to the right, the \
                       position in the data runs upward. Point at a segment to see its life."
                        .to_owned(),
                items: vec![reno.into(), eifel.into()],
            },
            Section {
                heading: "What a real loss looks like".to_owned(),
                text: String::new(),
                items: vec![lossy.into()],
            },
            Section {
                heading: "Published beside measured".to_owned(),
                text: "A value is inside when it differs from the published one by less than the band. The \
                       numbers here are made up."
                    .to_owned(),
                items: vec![download_table().into(), bars.into(), claims().into()],
            },
        ],
    };
    let path = args.next().unwrap_or_else(|| "sample.html".to_owned());
    std::fs::write(path, page.html())?;
    for text in [drawing, bars_svg] {
        if let Some(path) = args.next() {
            std::fs::write(path, text)?;
        }
    }
    Ok(())
}

const VARIANTS: [&str; 6] = ["Reno", "NewReno", "SACK", "Reno+Eifel", "NewReno+Eifel", "SACK+Eifel"];
const PUBLISHED: [(&str, [f64; 6]); 3] = [
    ("easy", [99.0, 103.0, 98.0, 95.0, 95.0, 95.0]),
    ("mediocre", [112.0, 125.0, 113.0, 103.0, 103.0, 103.0]),
    ("difficult", [142.0, 157.0, 143.0, 125.0, 125.0, 125.0]),
];

/// Sample value of a cell of the table, with half its confidence interval.
fn made_up(row: usize, column: usize, published: f64) -> (f64, f64) {
    let share = ((row * 7 + column * 5) % 11) as f64 / 11.0 - 0.45;
    (
        published * (1.0 + 0.06 * share) + if row == 2 && column == 1 { 14.0 } else { 0.0 },
        1.0 + row as f64 * 0.8,
    )
}

fn download_table() -> Table {
    let mut columns = vec!["reselections".to_owned()];
    columns.extend(VARIANTS.map(str::to_owned));
    let rows = PUBLISHED.iter().enumerate().map(|(row, (name, values))| {
        let cells = values.iter().enumerate().map(|(column, &published)| {
            let (measured, half) = made_up(row, column, published);
            let band = published * 0.05;
            let state =
                if (measured - published).abs() <= band { CellVerdict::Inside } else { CellVerdict::Outside };
            let text = format!("{measured:.1} \u{b1} {half:.1}\npublished {published}");
            let (low, high) = (measured - half, measured + half);
            Cell::judged(text, state).with_strip(ComparisonStrip { published, band, measured, low, high })
        });
        std::iter::once(Cell::plain(*name)).chain(cells).collect()
    });
    Table {
        title: "Download time of 300 kB (s), buffer 100 kB".to_owned(),
        columns,
        rows: rows.collect(),
        notes: vec![
            "Mean of 1000 repetitions with its 95 % interval; the strip shows the band (grey), the \
                     published value (line) and the measured one (dot with its interval)."
                .to_owned(),
        ],
    }
}

fn download_bars() -> Bars {
    let groups = PUBLISHED.iter().enumerate().map(|(row, (name, values))| BarGroup {
        name: (*name).to_owned(),
        bars: (VARIANTS.iter().zip(values).enumerate())
            .map(|(column, (name, &published))| {
                let (value, half) = made_up(row, column, published);
                let (low, high) = (value - half, value + half);
                Bar { name: (*name).to_owned(), value, low, high, published: Some(published) }
            })
            .collect(),
    });
    Bars { title: "Download time of 300 kB (s)".to_owned(), unit: "s".to_owned(), groups: groups.collect() }
}

fn claims() -> Table {
    let row = |claim: &str, state, detail: &str| {
        vec![
            Cell::plain(claim),
            Cell::judged(if state == CellVerdict::Holds { "holds" } else { "fails" }, state),
            detail.into(),
        ]
    };
    Table {
        title: "Claims".to_owned(),
        columns: ["claim", "verdict", "detail"].map(str::to_owned).to_vec(),
        rows: vec![
            row(
                "Eifel shortens the download of every flavour when nothing is lost",
                CellVerdict::Holds,
                "-4 % to -12 %, p < 0.001",
            ),
            row(
                "NewReno without Eifel is the slowest flavour",
                CellVerdict::Fails,
                "difference 0.3 s, p = 0.4",
            ),
        ],
        notes: vec![],
    }
}

/// Next event at the receiver or the sender.
enum Event {
    Arrive { copy: usize },
    Acknowledge { ack: u64, echo: f64, duplicate: bool },
    Timer { stamp: u64 },
}

/// Reno sender over a link of 30 kbit/s and 300 ms, with a gate that holds packets behind the queue from 3.1
/// s to 8.1 s.
struct Toy {
    picture: Picture,
    eifel: bool,
    lossy: bool,
    heap: BinaryHeap<(Reverse<u64>, Reverse<usize>)>,
    events: Vec<Option<Event>>,
    link_free: [f64; 2],
    total: u64,
    next: u64,
    una: u64,
    highest: u64,
    cwnd: f64,
    ssthresh: f64,
    dupacks: u32,
    srtt: Option<f64>,
    rttvar: f64,
    backoff: f64,
    stamp: u64,
    recovering: bool,
    saved: Option<(f64, f64, f64)>,
    expected: u64,
    have: Vec<bool>,
    arrived: Vec<bool>,
}

impl Toy {
    fn new(title: &str, eifel: bool, lossy: bool) -> Self {
        let subtitle = "30 kbit/s, 300 ms each way; the link is silent for 5 s".to_owned();
        Self {
            picture: Picture {
                title: title.to_owned(),
                subtitle,
                flow: "download".to_owned(),
                segment_bytes: SEGMENT as u32,
                spikes: vec![Interval { from: SPIKE.0, until: SPIKE.1, name: "cell reselection".to_owned() }],
                ..Picture::default()
            },
            eifel,
            lossy,
            heap: BinaryHeap::new(),
            events: Vec::new(),
            link_free: [0.0; 2],
            total: 0,
            next: 0,
            una: 0,
            highest: 0,
            cwnd: 2.0,
            ssthresh: 20.0,
            dupacks: 0,
            srtt: None,
            rttvar: 0.0,
            backoff: 1.0,
            stamp: 0,
            recovering: false,
            saved: None,
            expected: 0,
            have: Vec::new(),
            arrived: Vec::new(),
        }
    }

    fn run(mut self, total: u64) -> Picture {
        self.total = total;
        self.have = vec![false; total as usize];
        self.fill(0.0);
        while let Some((Reverse(ns), Reverse(index))) = self.heap.pop() {
            let now = ns as f64 / 1e9;
            match self.events[index].take() {
                Some(Event::Arrive { copy }) => self.arrive(now, copy),
                Some(Event::Acknowledge { ack, echo, duplicate }) => {
                    self.acknowledge(now, ack, echo, duplicate)
                }
                Some(Event::Timer { stamp }) if stamp == self.stamp && self.una < self.total => {
                    self.expire(now)
                }
                _ => {}
            }
            if self.una >= self.total {
                self.picture.until = now;
                break;
            }
        }
        self.judge();
        self.picture
    }

    fn schedule(&mut self, t: f64, event: Event) {
        self.heap.push((Reverse((t * 1e9) as u64), Reverse(self.events.len())));
        self.events.push(Some(event));
    }

    /// Time at which a packet of `bytes` bytes leaves the link in a direction.
    fn through(&mut self, now: f64, direction: usize, bytes: f64) -> f64 {
        let mut start = now.max(self.link_free[direction]);
        if (SPIKE.0..SPIKE.1).contains(&start) && !(self.lossy && direction == 1) {
            start = SPIKE.1;
        }
        self.link_free[direction] = start + bytes * 8.0 / 30_000.0;
        self.link_free[direction] + 0.3
    }

    fn send(&mut self, now: f64, segment: u64) {
        let (seq, end) = (segment * SEGMENT, (segment + 1) * SEGMENT);
        let kind = if segment < self.highest { SegmentKind::Retransmission } else { SegmentKind::New };
        self.highest = self.highest.max(segment + 1);
        let copy = self.picture.sent.len();
        self.picture.sent.push(Sent { t: now, seq, end, kind });
        self.arrived.push(false);
        let waits_until = now.max(self.link_free[0]);
        if self.lossy && (SPIKE.0..SPIKE.1).contains(&waits_until) {
            let place = "radio: cell change".to_owned();
            self.picture.drops.push(Drop { t: waits_until, seq, end, place });
        } else {
            let there = self.through(now, 0, SEGMENT as f64 + 40.0);
            self.schedule(there, Event::Arrive { copy });
        }
    }

    fn arrive(&mut self, now: f64, copy: usize) {
        let sent = self.picture.sent[copy].clone();
        let segment = sent.seq / SEGMENT;
        let duplicate = std::mem::replace(&mut self.have[segment as usize], true);
        self.arrived[copy] = true;
        self.picture.received.push(Received { t: now, seq: sent.seq, end: sent.end, duplicate });
        let before = self.expected;
        while self.have.get(self.expected as usize) == Some(&true) {
            self.expected += 1;
        }
        let back = self.through(now, 1, 40.0);
        self.schedule(
            back,
            Event::Acknowledge { ack: self.expected, echo: sent.t, duplicate: before == self.expected },
        );
    }

    fn acknowledge(&mut self, now: f64, ack: u64, echo: f64, duplicate: bool) {
        let bytes = ack * SEGMENT;
        self.picture.acks.push(Ack {
            t: now,
            ack: bytes,
            window_end: bytes + 20 * SEGMENT,
            sacks: vec![],
            duplicate,
        });
        if ack > self.una {
            self.measure(now - echo);
            if let Some((at, cwnd, ssthresh)) = self.saved.take()
                && self.eifel
                && echo < at
            {
                (self.cwnd, self.ssthresh, self.next) = (cwnd, ssthresh, self.highest);
                if let Some(timeout) = self.picture.timeouts.last_mut() {
                    timeout.detected = Some("eifel".to_owned());
                    timeout.detected_at = Some(now);
                }
            }
            self.una = ack;
            self.next = self.next.max(ack);
            self.dupacks = 0;
            self.backoff = 1.0;
            if std::mem::take(&mut self.recovering) {
                self.cwnd = self.ssthresh;
            } else {
                self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
            }
            self.arm(now);
        } else if ack == self.una && self.next > self.una {
            self.dupacks += 1;
            if self.dupacks == 3 {
                self.ssthresh = ((self.next - self.una) as f64 / 2.0).max(2.0);
                self.cwnd = self.ssthresh + 3.0;
                self.recovering = true;
                let seq = self.una * SEGMENT;
                self.picture.fast_retransmits.push(FastRetransmit { t: now, seq, truth: Truth::Genuine });
                self.send(now, self.una);
                self.arm(now);
            } else if self.recovering {
                self.cwnd += 1.0;
            }
        }
        self.fill(now);
    }

    fn expire(&mut self, now: f64) {
        self.saved = Some((now, self.cwnd, self.ssthresh));
        self.ssthresh = ((self.next - self.una) as f64 / 2.0).max(2.0);
        self.cwnd = 1.0;
        self.dupacks = 0;
        self.recovering = false;
        self.backoff *= 2.0;
        self.next = self.una;
        let seq = self.una * SEGMENT;
        self.picture.timeouts.push(Timeout { t: now, seq, ..Timeout::default() });
        self.arm(now);
        self.fill(now);
    }

    /// Sends the segments that the window permits and records them.
    fn fill(&mut self, now: f64) {
        let before = self.next;
        while self.next < self.total && ((self.next - self.una) as f64) < self.cwnd.min(20.0).floor() {
            self.send(now, self.next);
            self.next += 1;
        }
        if before == self.una && self.next > before {
            self.arm(now);
        }
        self.picture.window.push(WindowSample {
            t: now,
            cwnd: (self.cwnd * SEGMENT as f64) as u64,
            ssthresh: Some((self.ssthresh * SEGMENT as f64) as u64),
            flight: self.next.saturating_sub(self.una) * SEGMENT,
        });
    }

    fn measure(&mut self, rtt: f64) {
        match self.srtt {
            None => (self.srtt, self.rttvar) = (Some(rtt), rtt / 2.0),
            Some(srtt) => {
                self.rttvar += (0.25) * ((srtt - rtt).abs() - self.rttvar);
                self.srtt = Some(srtt + (rtt - srtt) / 8.0);
            }
        }
    }

    fn arm(&mut self, now: f64) {
        let base = self.srtt.map_or(3.0, |srtt| (srtt + 4.0 * self.rttvar).max(1.0));
        let rto = (base * self.backoff).min(60.0);
        self.stamp += 1;
        self.schedule(now + rto, Event::Timer { stamp: self.stamp });
        if let Some(srtt) = self.srtt {
            self.picture.timer.push(TimerSample { t: now, rto, srtt, rttvar: self.rttvar });
        }
    }

    /// A retransmission is unneeded if an earlier copy arrives; a timeout is spurious if the segment that it
    /// retransmits is unneeded.
    fn judge(&mut self) {
        let sent = self.picture.sent.clone();
        for (i, copy) in self.picture.sent.iter_mut().enumerate() {
            if copy.kind != SegmentKind::New && (0..i).any(|j| sent[j].seq == copy.seq && self.arrived[j]) {
                copy.kind = SegmentKind::Unneeded;
            }
        }
        let unneeded = |t: f64, seq: u64| {
            self.picture.sent.iter().any(|e| e.t == t && e.seq == seq && e.kind == SegmentKind::Unneeded)
        };
        let truths: Vec<bool> = self.picture.timeouts.iter().map(|e| unneeded(e.t, e.seq)).collect();
        let fast: Vec<bool> = self.picture.fast_retransmits.iter().map(|e| unneeded(e.t, e.seq)).collect();
        for (timeout, spurious) in self.picture.timeouts.iter_mut().zip(truths) {
            if spurious {
                timeout.truth = Truth::Spurious;
                let there = self.picture.received.iter().any(|e| e.seq == timeout.seq && e.t < timeout.t);
                timeout.cause = Some(if there { "ack_delayed" } else { "delayed" }.to_owned());
            }
        }
        for (event, spurious) in self.picture.fast_retransmits.iter_mut().zip(fast) {
            event.truth = if spurious { Truth::Spurious } else { Truth::Genuine };
        }
    }
}
