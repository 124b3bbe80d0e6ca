//! Tests of report pages: hostile names are escaped, a page fetches nothing, and its size is proportional to
//! its data.

use report::{
    Ack, Bar, BarGroup, Bars, Cell, CellVerdict, ComparisonStrip, Drop, FastRetransmit, Interval, Item,
    Layer, LayerEvent, Page, Panel, Picture, Received, Section, SegmentKind, Sent, Series, Table, Timeout,
    TimerSample, Truth, WindowSample,
};

const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror='a()'>\"&\u{0}\u{2028}";

/// A picture with every kind of event, with hostile names.
fn hostile_picture() -> Picture {
    let name = HOSTILE.to_owned();
    Picture {
        title: name.clone(),
        subtitle: name.clone(),
        flow: name.clone(),
        segment_bytes: 1000,
        datagrams: false,
        sent: vec![
            Sent { t: 0.0, seq: 0, end: 1000, kind: SegmentKind::New },
            Sent { t: 3.0, seq: 0, end: 1000, kind: SegmentKind::Unneeded },
            Sent { t: 4.0, seq: 0, end: 1000, kind: SegmentKind::Retransmission },
        ],
        received: vec![Received { t: 5.0, seq: 0, end: 1000, duplicate: false }],
        acks: vec![Ack { t: 6.0, ack: 1000, window_end: 9000, sacks: vec![[2000, 3000]], duplicate: false }],
        drops: vec![Drop { t: 0.1, seq: 0, end: 1000, place: name.clone() }],
        timeouts: vec![Timeout {
            t: 3.0,
            seq: 0,
            truth: Truth::Spurious,
            cause: Some(name.clone()),
            detected: Some(name.clone()),
            detected_at: Some(6.0),
        }],
        fast_retransmits: vec![FastRetransmit { t: 4.0, seq: 0, truth: Truth::Genuine }],
        spikes: vec![Interval { from: 1.0, until: 5.0, name: name.clone() }],
        panels: vec![Panel {
            unit: name.clone(),
            series: vec![Series {
                name: name.clone(),
                points: vec![[0.0, 1.0], [2.0, 3.0]],
                ..Series::default()
            }],
        }],
        layers: vec![Layer {
            name: name.clone(),
            events: vec![LayerEvent {
                t: 2.0,
                until: Some(3.0),
                event: name.clone(),
                detail: name,
                ..LayerEvent::default()
            }],
        }],
        from: 0.0,
        window: vec![WindowSample { t: 0.0, cwnd: 2000, ssthresh: None, flight: 1000 }],
        timer: vec![TimerSample { t: 0.0, rto: 3.0, srtt: 0.5, rttvar: 0.2 }],
        until: 7.0,
    }
}

fn hostile_page() -> Page {
    let name = HOSTILE.to_owned();
    let strip = ComparisonStrip { published: 1.0, band: 0.1, measured: 1.05, low: 1.0, high: 1.1 };
    let table = Table {
        title: name.clone(),
        columns: vec![name.clone(), name.clone()],
        rows: vec![
            vec![Cell::plain(HOSTILE), Cell::judged(HOSTILE, CellVerdict::Inside).with_strip(strip)],
            vec![],
        ],
        notes: vec![name.clone()],
    };
    let bars = Bars {
        title: name.clone(),
        unit: name.clone(),
        groups: vec![BarGroup {
            name: name.clone(),
            bars: vec![Bar {
                name: name.clone(),
                value: 1.0,
                low: 0.9,
                high: 1.1,
                published: Some(f64::NAN),
            }],
        }],
    };
    Page {
        title: name.clone(),
        provenance: vec![(name.clone(), name.clone())],
        sections: (0..3)
            .map(|_| Section {
                heading: name.clone(),
                text: name.clone(),
                items: vec![table.clone().into(), bars.clone().into(), hostile_picture().into()],
            })
            .collect(),
    }
}

fn page_of(picture: Picture) -> Page {
    let sections = vec![Section { items: vec![picture.into()], ..Section::default() }];
    Page { title: "a page".to_owned(), sections, ..Page::default() }
}

/// Names of the elements left open at the end of an XML text; fails on a wrong close.
fn unclosed(xml: &str) -> Vec<String> {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "a stray > before {:.60}", &rest[start..]);
        let end = rest[start..].find('>').expect("a tag ends") + start;
        let tag = &rest[start + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes of {tag}");
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap_or_default().to_owned());
        }
    }
    open
}

/// JSON data embedded in a page for its pictures.
fn embedded(html: &str) -> Vec<serde_json::Value> {
    let start = "<script type=\"application/json\">";
    let parts = html.split(start).skip(1);
    parts.map(|part| serde_json::from_str(part.split("</script>").next().unwrap()).unwrap()).collect()
}

fn many(n: u64) -> Picture {
    let step = |i: u64| i as f64 * 0.01;
    Picture {
        title: "many".to_owned(),
        segment_bytes: 1000,
        sent: (0..n)
            .map(|i| Sent {
                t: step(i),
                seq: i * 1000,
                end: i * 1000 + 1000,
                kind: if i % 50 == 0 { SegmentKind::Unneeded } else { SegmentKind::New },
            })
            .collect(),
        received: (0..n)
            .map(|i| Received {
                t: step(i) + 0.1,
                seq: i * 1000,
                end: i * 1000 + 1000,
                duplicate: i % 50 == 0,
            })
            .collect(),
        acks: (0..n).map(|i| Ack { t: step(i) + 0.2, ack: i * 1000 + 1000, ..Ack::default() }).collect(),
        timeouts: (0..n / 100)
            .map(|i| Timeout { t: step(i * 100), seq: i * 100_000, ..Timeout::default() })
            .collect(),
        window: (0..n)
            .map(|i| WindowSample {
                t: step(i),
                cwnd: i % 40 * 1000,
                ssthresh: Some(9000),
                flight: i % 30 * 1000,
            })
            .collect(),
        timer: (0..n).map(|i| TimerSample { t: step(i), rto: 1.0, srtt: 0.2, rttvar: 0.1 }).collect(),
        until: step(n),
        ..Picture::default()
    }
}

#[test]
fn hostile_names_stay_text() {
    let html = hostile_page().html();
    assert!(!html.contains("alert(1)</script>"), "a name closed a script element");
    assert!(!html.contains("<img"));
    // Three pictures with their data, and one program.
    assert_eq!(html.matches("<script").count(), 4);
    assert_eq!(html.matches("</script>").count(), 4);
    let data = embedded(&html);
    assert_eq!(data.len(), 3);
    assert_eq!(data[0]["title"], HOSTILE);
    assert_eq!(data[0]["spikes"][0]["name"], HOSTILE);
}

#[test]
fn a_page_fetches_nothing() {
    let html = hostile_page().html();
    assert!(html.contains("Content-Security-Policy"));
    let html = html.replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "src=\"", "@import", "url(", "<link"] {
        let user_text = html.matches(word).count() > 0;
        assert!(!user_text, "{word} in the page");
    }
}

#[test]
fn drawings_are_well_formed() {
    for picture in [hostile_picture(), Picture::default(), many(3000)] {
        assert!(unclosed(&picture.svg(720, 560)).is_empty());
    }
    assert!(unclosed(&Bars::default().svg(100, 100)).is_empty());
    for section in hostile_page().sections {
        for item in section.items {
            if let Item::Bars(bars) = item {
                let svg = bars.svg(640, 320);
                assert!(unclosed(&svg).is_empty());
                assert!(!svg.contains("NaN"));
            }
        }
    }
}

#[test]
fn an_empty_picture_is_a_picture() {
    let empty = Picture::default();
    let html = page_of(empty.clone()).html();
    assert!(html.contains("Nothing was sent in this picture."));
    assert_eq!(embedded(&html)[0]["sent"]["t"], serde_json::json!([]));
    assert!(empty.svg(0, 0).starts_with("<svg"));
    assert!(!Page::default().html().contains("<script"));
}

#[test]
fn numbers_that_are_none_are_left_out() {
    let mut picture = hostile_picture();
    picture.sent.push(Sent { t: f64::NAN, seq: u64::MAX - 1, end: u64::MAX, kind: SegmentKind::New });
    picture.acks.push(Ack { t: f64::INFINITY, ack: u64::MAX, ..Ack::default() });
    picture.timer.push(TimerSample { t: 1.0, rto: f64::NAN, srtt: f64::INFINITY, rttvar: -1.0 });
    picture.spikes.push(Interval { from: f64::NEG_INFINITY, until: f64::NAN, name: String::new() });
    picture.timeouts.push(Timeout { t: f64::NAN, ..Timeout::default() });
    picture.until = f64::NAN;
    let svg = picture.svg(600, 400);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    let data = embedded(&page_of(picture).html());
    assert_eq!(data[0]["sent"]["t"].as_array().unwrap().len(), 3);
    assert_eq!(data[0]["until"], 6.0);
}

#[test]
fn the_data_survive_serialisation() {
    let page = hostile_page();
    let json = serde_json::to_string(&page).unwrap();
    assert!(json.contains("\"kind\":\"unneeded\"") && json.contains("\"truth\":\"spurious\""));
    let back: Page = serde_json::from_str(&json).unwrap();
    assert_eq!(back.sections.len(), 3);
    let small: Picture = serde_json::from_str(r#"{"title":"t","segment_bytes":1000}"#).unwrap();
    assert_eq!(small.title, "t");
}

#[test]
fn a_huge_picture_costs_what_it_holds() {
    let (small, large) = (page_of(many(10_000)).html().len(), page_of(many(100_000)).html().len());
    assert!(large < small * 12, "{small} bytes became {large}");
    // The static drawing is bounded by its pixels, not by the data.
    let drawing = many(100_000).svg(900, 640);
    assert!(drawing.len() < 1_500_000, "{}", drawing.len());
    assert!(unclosed(&drawing).is_empty());
}

#[test]
fn verdicts_do_not_hang_on_colour() {
    let table = Table {
        title: "t".to_owned(),
        columns: vec!["claim".to_owned(), "verdict".to_owned()],
        rows: [CellVerdict::Inside, CellVerdict::Outside, CellVerdict::Holds, CellVerdict::Fails]
            .map(|state| vec![Cell::plain("a"), Cell::judged("1.0", state)])
            .to_vec(),
        notes: vec![],
    };
    assert_eq!(table.summary(), "1 of 2 values inside the band, 1 of 2 claims hold");
    let sections = vec![Section { items: vec![table.into()], ..Section::default() }];
    let html = Page { sections, ..Page::default() }.html();
    for word in ["inside the band", "outside the band", "holds", "fails", "\u{2713}", "\u{2717}"] {
        assert!(html.contains(word), "{word}");
    }
}
