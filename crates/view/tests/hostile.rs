//! Hostile lower-layer event tables and qlog files: none causes a panic or a slow reader.

mod fuzz;

use proptest::prelude::*;
use std::fmt::Write as _;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn tables_do_no_harm(text in "[0-9eE.,\" a-z\n+-]{0,120}") {
        fuzz::layers(text.as_bytes());
        for head in ["time_s,event\n", "time_s,event,until_s,detail,layer,number\n"] {
            fuzz::layers(&[head.as_bytes(), text.as_bytes()].concat());
        }
    }
}

/// Names of a qlog in any order, and any bytes.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "{\"qlog_version\":\"0.4\",",
        "\"traces\":[",
        "\"trace\":{",
        "\"events\":[",
        "{\"time\":1,",
        "{\"time\":-5e300,",
        "\"name\":\"quic:packet_sent\",",
        "\"name\":\"quic:packet_received\",",
        "\"name\":\"recovery:packet_lost\",",
        "\"name\":\"recovery:metrics_updated\",",
        "\"data\":{",
        "\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":1}",
        "\"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[0,18446744073709551615]]}]",
        "}",
        "]",
        ",",
        "\u{1e}",
        "\n",
        "1e999",
        "null",
    ]);
    prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn qlogs_do_no_harm(text in words(), bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        fuzz::qlog(text.as_bytes());
        fuzz::qlog(&bytes);
    }
}

/// Maximum number of events, each in its own layer; this was quadratic, with 5 billion comparisons.
#[test]
fn a_layer_for_each_event_is_read_in_linear_time() {
    let mut text = "time_s,event,layer\n".to_owned();
    for i in 0..100_000 {
        let _ = writeln!(text, "{i},e,a layer with a long name, and the same beginning {i}");
    }
    let text = text.replace("name, and", "name and");
    let layers = view::layers::read(&text, "table", 0.0).expect("a table");
    assert_eq!(layers.len(), 100_000);
    assert!(
        layers.iter().enumerate().all(|(i, layer)| layer.events.len() == 1 && layer.events[0].t == i as f64)
    );
}
