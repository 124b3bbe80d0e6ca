//! Test that each word of each TCP option shows on the wire: a dialogue passes with it and fails with another
//! word in its place.

use script::{Dialogue, DialogueVerdict, Reading, play};
use std::path::Path;
use toml::Value;

fn suite() -> Vec<Dialogue> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dialogues");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files.iter().map(|f| Dialogue::read(&std::fs::read_to_string(f).unwrap()).unwrap()).collect()
}

/// Words of an option; the first is its default.
fn words(of: &[&str]) -> Vec<Value> {
    of.iter().map(|w| Value::String((*w).to_owned())).collect()
}

fn flags() -> Vec<Value> {
    vec![Value::Boolean(false), Value::Boolean(true)]
}

#[test]
fn every_word_of_every_option_shows_on_the_wire() {
    let suite = suite();
    let recoveries =
        ["newreno", "tahoe", "reno", "newreno-sack", "sack", "rfc3517", "rfc6675", "fack", "rack"];
    let detectors = ["none", "eifel", "frto", "frto-basic", "dsack", "min-rtt", "retransmit-flag", "linux"];
    let responses = ["rfc4015", "none", "staged", "undo", "restore-1", "restore-2", "restore-3", "restore-4"];
    // The first value is the default.
    let options: Vec<(&str, Vec<Value>)> = vec![
        ("recovery", words(&recoveries)),
        ("sack", flags()),
        ("timestamps", flags()),
        ("limited_transmit", flags()),
        ("dupthresh", vec![Value::Integer(3), Value::Integer(2), Value::Integer(5)]),
        ("spurious", words(&detectors)),
        ("response", words(&responses)),
        ("byte_counting", words(&["none", "abc-l2", "unlimited"])),
        ("cwnd_validation", flags()),
        ("rto_min", vec![Value::Float(1.0), Value::Float(0.2)]),
        ("ecn", flags()),
        ("delayed_ack", flags()),
        ("cc", words(&["reno", "cubic", "bbr", "bbr3"])),
    ];
    let mut silent = Vec::new();
    for (key, words) in &options {
        for word in words {
            let mut of = suite.iter().filter(|d| d.options.get(*key).unwrap_or(&words[0]) == word);
            let shows = of.any(|dialogue| {
                words.iter().filter(|other| *other != word).any(|other| {
                    let mut changed = dialogue.clone();
                    changed.options.insert((*key).to_owned(), other.clone());
                    matches!(play(&changed, Reading::Strict), DialogueVerdict::Fail(_))
                })
            });
            if !shows {
                silent.push(format!("{key} = {word}"));
            }
        }
    }
    assert!(silent.is_empty(), "no dialogue shows {}", silent.join("; "));
}
