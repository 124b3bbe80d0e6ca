//! Fuzz targets of lower-layer event tables and qlog files: any text or bytes as input.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

/// A table is read, or rejected with an existing line number; every time is finite, and no event ends before it begins.
pub(crate) fn layers(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match view::layers::read(text, "table", 0.5) {
        Ok(layers) => {
            for layer in &layers {
                assert!(!layer.events.is_empty(), "a layer without events");
                for event in &layer.events {
                    assert!(event.t.is_finite() && event.until.is_none_or(|until| until >= event.t));
                }
            }
        }
        Err(wrong) => {
            assert!(!wrong.why.is_empty());
            assert!((1..=text.lines().count().max(1)).contains(&wrong.line), "{wrong:?}");
        }
    }
}

/// Any bytes as a qlog are read, or rejected with a reason; a readable one is drawn, and every time lies within the
/// trace.
pub(crate) fn qlog(bytes: &[u8]) {
    match view::qlog::read(bytes) {
        Ok(qlog) => {
            for trace in &qlog.traces {
                assert!(trace.seconds.is_finite() && trace.seconds >= 0.0);
                for packet in &trace.sent {
                    let times = [Some(packet.t), packet.lost, packet.acknowledged];
                    assert!(
                        times.into_iter().flatten().all(|t| (0.0..=trace.seconds).contains(&t)),
                        "{packet:?}"
                    );
                }
                assert!(trace.sent.len() as u64 <= trace.events);
                let picture = view::qlog::picture(trace, view::frame::Frame::default());
                assert!(picture.until > picture.from);
            }
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}
