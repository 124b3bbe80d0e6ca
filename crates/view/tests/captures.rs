//! Pictures of a capture: they show the analyser's verdicts, mark by mark; for captures of a simulated repetition, the
//! verdicts equal the truth.

use analyse::{Analyser, Flow, Limits, Need, Observation, RecoveryVerdict, join};
use base::Time;
use report::{Picture, Truth};
use std::fs::File;
use std::path::Path;
use testkit::Download;
use view::View;
use view::frame::Frame;
use view::lines::{Line, chart};
use view::sequence::picture;

fn keep() -> Limits {
    Limits { points: true, arrivals: true, ..Limits::default() }
}

fn read(bytes: impl std::io::Read) -> (Vec<(usize, Flow)>, Time) {
    let mut reader = capture::Reader::open(bytes).unwrap();
    let mut analyser = Analyser::new(keep());
    let mut start = None;
    while let Ok(Some(frame)) = reader.next() {
        start.get_or_insert(frame.time_ns);
        if let Some(o) = Observation::of(&frame) {
            analyser.push(&o);
        }
    }
    let start = Time::from_nanos(start.unwrap_or(0) as u64);
    (analyser.finish().into_iter().enumerate().collect(), start)
}

/// Number of marks of a kind in the picture equals that in the analysis.
fn counts_agree(picture: &Picture, view: &View<'_>, name: &str) {
    let direction = view.data();
    let drawn = |kind| picture.sent.iter().filter(|e| e.kind == kind).count() as u64;
    let told = |need| direction.count(need);
    assert_eq!(drawn(report::SegmentKind::Retransmission), told(Need::Needed), "{name}");
    assert_eq!(drawn(report::SegmentKind::Unneeded), told(Need::Unneeded), "{name}");
    assert_eq!(drawn(report::SegmentKind::Unknown), told(Need::Unknown), "{name}");
    assert_eq!(picture.sent.len(), direction.transmissions.len(), "{name}");
    assert_eq!(picture.acks.len(), direction.acks.len(), "{name}");
    let timeouts = |truth| picture.timeouts.iter().filter(|e| e.truth == truth).count() as u64;
    for (truth, kind) in [
        (Truth::Spurious, RecoveryVerdict::Spurious),
        (Truth::Genuine, RecoveryVerdict::Genuine),
        (Truth::Unknown, RecoveryVerdict::Unknown),
    ] {
        assert_eq!(timeouts(truth), direction.timeouts_of(kind), "{name}");
    }
    assert_eq!(picture.fast_retransmits.len(), direction.fast_retransmits.len(), "{name}");
    let of_path = direction.spikes.iter().filter(|s| s.kind != analyse::flow::SpikeKind::Timer).count();
    assert_eq!(picture.spikes.len(), of_path, "{name}");
}

/// Public captures, where they are present (TA-02).
#[test]
fn what_others_captured_is_drawn_as_it_is_judged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/captures");
    let Ok(files) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there are no captures by others here");
        return;
    };
    let mut drawn = 0;
    for file in files {
        let path = file.unwrap().path();
        let name = path.display().to_string();
        let (flows, start) = read(File::open(&path).unwrap());
        for (_, flow) in &flows {
            for direction in 0..2 {
                let view = View { flow, direction, other: None, start };
                let all = picture(&view, Frame::default());
                counts_agree(&all, &view, &name);
                // A time window shows no more than the whole, and nothing outside it.
                let (from, until) = (all.from + (all.until - all.from) / 3.0, all.until);
                let part = picture(&view, Frame { from: Some(from), until: Some(until), ..Frame::default() });
                assert!(part.sent.iter().all(|e| (from..=until).contains(&e.t)), "{name}");
                assert_eq!(part.sent.len(), all.sent.iter().filter(|e| e.t >= from).count(), "{name}");
                if all.sent.len() > 3000 {
                    continue; // drawing the large captures repeatedly only takes time
                }
                for line in [Line::Rtt, Line::Throughput, Line::Outstanding, Line::Window] {
                    let chart = chart(&view, line, Frame::default());
                    assert!(chart.svg(400, 300).ends_with("</svg>"), "{name}");
                    let values = chart.panel.series.iter().flat_map(|s| &s.points);
                    assert!(values.into_iter().all(|p| p[0].is_finite() && p[1] >= 0.0), "{name}");
                }
                assert!(all.svg(320, 240).ends_with("</svg>") && all.xplot().ends_with("go\n"), "{name}");
                drawn += 1;
            }
        }
    }
    assert!(drawn > 0, "no connection in {}", folder.display());
}

/// A download over a radio link that stalls and loses, captured at both its ends.
fn scenario() -> Download {
    let path =
        Download::over("400 kbit/s", "150 ms").drop_tail(40).spikes("reselection", r#"[["6 s", "4 s"]]"#);
    let lossy = path.faults("[[hop.loss]]\nname = \"errors\"\ndirections = \"down\"\npackets = \"60, 170\"");
    lossy.tcp(r#"profile = "linux-6.x""#).bytes("500 kB")
}

/// Both ends on one clock: every arrival is later than its transmission, by the link's delay at least; retransmissions
/// drawn as unneeded are those of the simulator (TA-01, TA-05).
#[test]
fn both_ends_of_a_simulated_repetition_meet() {
    let model = testkit::model::<&str>(&scenario().text(), &[]);
    let model = &model;
    let captured = lab::capture::capture(model, 0);
    let file = |tap: usize| captured.write(Vec::new(), Some(tap), 0, "test").unwrap();
    let (mut flows, start) = read(&file(0)[..]);
    let (others, _) = read(&file(1)[..]);
    assert_eq!(join::join(&mut flows, &others), 1);
    let flow = &flows[0].1;
    let view = View { flow, direction: View::busier(flow), other: Some(&others[0].1), start };
    let drawn = picture(&view, Frame::default());
    let truth = lab::picture::picture(model, 0, 0);
    assert_eq!(drawn.received.len(), truth.received.len());
    let clocks = view::clocks::clocks(&view).unwrap();
    assert!(clocks.ahead_s.abs() <= clocks.within_s + 1e-6 && clocks.drift_ppm.is_none(), "{clocks:?}");
    for r in &drawn.received {
        let sent = drawn.sent.iter().filter(|s| s.seq == r.seq).map(|s| s.t).fold(f64::INFINITY, f64::min);
        assert!(r.t - sent > 0.149, "byte {} arrives {} s after it was sent", r.seq, r.t - sent);
    }
    let of = |p: &Picture, kind| p.sent.iter().filter(|s| s.kind == kind).count();
    for kind in [report::SegmentKind::New, report::SegmentKind::Retransmission, report::SegmentKind::Unneeded]
    {
        assert_eq!(of(&drawn, kind), of(&truth, kind), "{kind:?}");
    }
    assert_eq!(of(&drawn, report::SegmentKind::Unknown), 0);
    // The scenario's interruption lies below the timeout that it caused.
    let layers =
        view::layers::read("time_s,event,until_s\n6,reselection,10\n90,later,\n", "radio", 0.0).unwrap();
    let under = report::under(&drawn.timeouts, &drawn.sent, &layers);
    let caused: Vec<_> = under.iter().filter(|u| u.kind == Truth::Spurious).collect();
    assert!(!caused.is_empty(), "{:?}", drawn.timeouts);
    assert!(caused.iter().all(|u| u.events.iter().any(|e| e.event.event == "reselection")), "{caused:?}");
    assert!(under.iter().all(|u| u.events.iter().all(|e| e.event.event != "later")));
}
