//! The claim: no table of lower-layer events makes its reader panic or slow.

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

/// A layer of its own for each of the most events that a table may have: was quadratic, 5 billion comparisons.
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
