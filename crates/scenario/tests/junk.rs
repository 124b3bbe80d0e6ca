//! Robustness of the scenario reader: any input yields a scenario or a bounded list of diagnostics, without panic, in
//! time linear in its length.

use proptest::prelude::*;
use scenario::{NoFiles, Style, read, read_with};

const EXAMPLE: &str = include_str!("good/reno-and-eifel.toml");

/// Reads a text, renders its diagnostics and visits its cells; returns whether it was a scenario.
fn digest(text: &[u8]) -> bool {
    match read("junk", text, &NoFiles) {
        Ok(scenario) => {
            let _ = (scenario.describe(), scenario.question(), scenario.hash());
            for cell in scenario.cells().take(20) {
                let _ = cell;
            }
            true
        }
        Err(diagnostics) => {
            assert!(diagnostics.has_errors());
            for width in [1, 40, 100] {
                let text = diagnostics.render(Style { width, colour: width == 40, limit: 300 });
                assert!(text.len() < 4_000_000);
            }
            let _ = diagnostics.to_json();
            for d in diagnostics.iter() {
                assert!(!d.message.is_empty());
                let whole = diagnostics.sources().text(d.place).len();
                assert!(
                    d.place.start <= d.place.end && d.place.end as usize <= whole,
                    "{d:?} beyond {whole}"
                );
            }
            false
        }
    }
}

/// Pieces of text, valid in scenarios or not.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "williwaw = 1\n",
        "[[hop]]\n",
        "[[hop.gate]]\n",
        "[[hop.loss]]\n",
        "[[flow]]\n",
        "[[link]]\n",
        "[[node]]\n",
        "[run]\n",
        "[grid]\n",
        "[expect]\n",
        "name = \"a\"\n",
        "name = \"b\"\n",
        "between = [\"a\", \"b\"]\n",
        "from = \"a\"\n",
        "to = \"b\"\n",
        "rate = \"1 kbit/s\"\n",
        "rate = { down = \"1 bit/s\" }\n",
        "delay = \"uniform(1 s, 2 s)\"\n",
        "every = \"5 s\"\n",
        "lasts = \"1 s\"\n",
        "file = \"x\"\n",
        "app = \"bulk\"\n",
        "transport = { tcp = { rto = { min = 3 } } }\n",
        "\"hop.a.rate\" = [\"1 bit/s\", 3]\n",
        "\"flow.*.transport.tcp.recovery\" = [\"reno\"]\n",
        "hop.a.delay.down = [\"1 s\"]\n",
        "\"a.download_time_s.mean\" = \"< 3 s\"\n",
        "a.b.c = 3\n",
        "queue = { drop-tail = { limit = \"0 packets\" } }\n",
        "seed = 99999999999999999999\n",
        "x = [1, [2, {y = 3}]]\n",
        "= ",
        "[",
        "]]",
        "{",
        "\"",
        "\"\"\"",
        "'",
        "#",
        "\n",
        "µ",
        "\u{202e}",
        ".",
    ];
    prop_oneof![8 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        digest(&bytes);
    }

    #[test]
    fn text(text in "\\PC{0,200}") {
        digest(text.as_bytes());
    }

    #[test]
    fn pieces(pieces in proptest::collection::vec(piece(), 0..30)) {
        digest(pieces.concat().as_bytes());
    }

    /// A good file with some bytes replaced, removed or repeated.
    #[test]
    fn mutations(edits in proptest::collection::vec((0..EXAMPLE.len(), 0..12usize, any::<u8>(), 0..3u8), 1..6)) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        for (at, length, byte, kind) in edits {
            let at = at.min(bytes.len());
            let end = (at + length).min(bytes.len());
            match kind {
                0 => bytes[at..end].fill(byte),
                1 => drop(bytes.drain(at..end)),
                _ => {
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        digest(&bytes);
    }

    #[test]
    fn json_pieces(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"williwaw\":1", "\"hop\":[{\"name\":\"a\"}]", "1e999", "-", "\\", "\"\\u12", "true", "null", "µ", " ",
    ]), 0..20)) {
        digest(format!("{{{}", pieces.concat()).as_bytes());
    }

    /// One value of a good file replaced by another kind of value.
    #[test]
    fn other_values(line in 0..40usize, value in prop_oneof![
        Just("3"), Just("-1"), Just("1e400"), Just("nan"), Just("true"), Just("\"\""), Just("\"1e300 h\""), Just("[]"), Just("{}"),
        Just("[[]]"), Just("{ down = 1, up = {} }"), Just("1979-05-27"), Just("\"uniform(,)\""), Just("\"(\""), Just("\"pareto(0 s, 0)\""),
    ]) {
        let lines: Vec<String> = EXAMPLE
            .lines()
            .enumerate()
            .map(|(i, text)| match text.split_once(" = ") {
                Some((key, _)) if i == line => format!("{key} = {value}"),
                _ => text.to_owned(),
            })
            .collect();
        digest(lines.join("\n").as_bytes());
    }

    #[test]
    fn overrides(key in "[a-z.*]{0,20}|(hop|flow|run)\\.(radio|download|\\*)\\.[a-z.-]{0,20}", value in ".{0,20}") {
        let _ = read_with("x", EXAMPLE.as_bytes(), &NoFiles, &[format!("{key}={value}"), value]);
    }
}

/// A megabyte of each kind of trouble. These would take minutes if anything were quadratic.
#[test]
fn a_megabyte_of_anything_is_answered() {
    let size = 1 << 20;
    let repeat = |s: &str| s.repeat(size / s.len());
    let numbered = |f: &dyn Fn(usize) -> String| (0..size / f(10_000).len()).map(f).collect::<String>();
    let mut all = vec![
        vec![b'x'; size],
        vec![0xff; size],
        repeat("[").into_bytes(),
        repeat("a.").into_bytes(),
        repeat("a = [").into_bytes(),
        repeat("= 1\n").into_bytes(),
        repeat("[[hop]]\n").into_bytes(),
        repeat("[[hop\n").into_bytes(),
        repeat("x = 'y\n").into_bytes(),
        repeat("\"").into_bytes(),
        repeat("\n").into_bytes(),
        repeat("{\"a\":").into_bytes(),
        format!("{{\"a\": [{}1]}}", repeat("1,")).into_bytes(),
        format!("title = \"{}\"\n", "y".repeat(size)).into_bytes(),
        format!("{} = 1\n", "k".repeat(size)).into_bytes(),
        format!("x = [{}]\n", repeat("1,")).into_bytes(),
    ];
    let one: [&dyn Fn(usize) -> String; 7] = [
        &|i| format!("key{i} = {i}\n"),
        &|i| format!("[[hop]]\nname = \"h{i}\"\nbetween = [\"n{i}\", \"n{}\"]\ndelay = \"1 ms\"\n", i + 1),
        &|i| format!("[[flow]]\nname = \"f{i}\"\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\n"),
        &|i| format!("[[node]]\nname = \"n{i}\"\n"),
        &|i| format!("[table{i}]\n"),
        &|i| format!("[[hop]]\nname = \"h{i}\"\nbetween = [\"a\", \"a\"]\n"),
        &|i| format!("k{i} = {i} x\n"),
    ];
    all.extend(one.iter().map(|f| numbered(f).into_bytes()));
    let mut values = String::from(EXAMPLE);
    values = values.replace("[\"none\", \"eifel\"]", &format!("[{}]", repeat("\"none\",")));
    all.push(values.into_bytes());
    all.push(EXAMPLE.replace("recovery = \"reno\"", &numbered(&|i| format!("x{i} = 1, "))).into_bytes());
    all.push([EXAMPLE, &numbered(&|i| format!("\"f{i}.x.y\" = 1\n"))].concat().into_bytes());
    for text in all {
        digest(&text);
    }
}

#[test]
fn the_example_is_not_junk() {
    assert!(digest(EXAMPLE.as_bytes()));
}
