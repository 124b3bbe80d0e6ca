//! Fuzz target of the reader of scenarios. The fuzzer's target and the replay of its corpus share this file.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use scenario::import::{ImportError, ImportFormat, import as translate};
use scenario::{NoFiles, Style, read, read_with};

/// Any bytes as a scenario: read, complained about, or asked everything short of running it.
pub(crate) fn scenario(bytes: &[u8]) {
    match read("fuzz.toml", bytes, &NoFiles) {
        Ok(scenario) => {
            let _ = (scenario.hash(), scenario.cost(), scenario.warnings().to_json());
            for cell in scenario.cells().take(8) {
                let _ = cell.map(|cell| cell.params.len());
            }
        }
        Err(wrong) => {
            assert!(!wrong.is_empty(), "refused without a reason");
            let text = wrong.render(Style::default());
            assert!(!text.is_empty());
            let _ = wrong.to_json();
        }
    }
}

/// Longer recordings take the reader of the resulting scenario more time than a fuzz run should spend.
const MOST: usize = 20_000;

/// Any text as another tool's description of a link, as each of the kinds: rejected with a reason, or a readable
/// scenario, with the text as a comment. Any file that it names is a trace.
pub(crate) fn import(bytes: &[u8]) {
    let Some(text) = bytes.get(..bytes.len().min(MOST)).and_then(|bytes| std::str::from_utf8(bytes).ok())
    else {
        return;
    };
    let files = |_: &str| -> Result<Vec<u8>, String> { Ok(b"1\n2\n3\n".to_vec()) };
    let _ = ImportFormat::of(text);
    for kind in [ImportFormat::Netem, ImportFormat::Mahimahi, ImportFormat::Recording] {
        match translate(kind, text) {
            Ok(imported) => {
                if let Err(wrong) = read_with("imported.toml", imported.scenario.as_bytes(), &files, &[]) {
                    panic!("{kind:?} became\n{}\n{}", imported.scenario, wrong.render(Style::default()));
                }
            }
            Err(ImportError { message, help }) => {
                assert!(!message.is_empty() && !help.is_empty(), "{message}: {help}")
            }
        }
    }
}

/// Scenarios that name each kind of file, which holds the bytes: read, or refused with the place in the file.
pub(crate) fn files(bytes: &[u8]) {
    let Some((first, text)) = bytes.split_first() else { return };
    let named = match first % 6 {
        0 => "rate = { trace = \"f\" }",
        1 => "rate = \"1 Mbit/s\"\ndelay = { trace = \"f\" }",
        2 => "rate = \"1 Mbit/s\"\n[[hop.gate]]\nname = \"g\"\nfile = \"f\"",
        3 => "rate = \"1 Mbit/s\"\n[[hop.gate]]\nname = \"g\"\nstart = \"empirical(f)\"\nlasts = \"1 s\"",
        4 => {
            "rate = \"1 Mbit/s\"\n[[state-machine]]\nname = \"m\"\n[[state-machine.state]]\nname = \"a\"\n\
             [[state-machine.state]]\nname = \"b\"\n[[trigger]]\nname = \"t\"\nfile = \"f\""
        }
        _ => "rate = \"1 Mbit/s\"\n[[hop.rate-change]]\nname = \"r\"\nfactor = 2\nfile = \"f\"",
    };
    let scenario = format!(
        "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\n{named}\n[[flow]]\nname = \"d\"\nfrom = \"a\"\n\
         to = \"b\"\napp = {{ bulk = {{ bytes = \"1 kB\" }} }}\n"
    );
    let load = |name: &str| if name == "f" { Ok(text.to_vec()) } else { Err("no such file".to_owned()) };
    match read("fuzz.toml", scenario.as_bytes(), &load) {
        Ok(scenario) => {
            let cost = scenario.cost();
            assert!(cost.packets.is_finite() && cost.simulated_s.is_finite(), "{cost:?}");
        }
        Err(wrong) => assert!(!wrong.is_empty(), "refused without a reason"),
    }
}

/// A network with every kind of trigger target: gates, states, rate changes.
const CALLED: &str = "williwaw = 1\n[[hop]]\nname = \"h\"\nbetween = [\"a\", \"b\"]\nrate = \"200 kbit/s\"\ndelay = \"20 ms\"\n\
    [[hop.gate]]\nname = \"g\"\nevery = \"3 s\"\nlasts = \"200 ms\"\n\
    [[state-machine]]\nname = \"m\"\n[[state-machine.state]]\nname = \"good\"\nlasts = \"exponential(1 s)\"\n\
    [[state-machine.state]]\nname = \"bad\"\nlasts = \"exponential(300 ms)\"\n[[state-machine.state.on]]\nname = \"h\"\nservice = \"hold\"\n\
    [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = { bulk = { bytes = \"40 kB\" } }\n[run]\nlimit = \"60 s\"\n";

/// Calls at any times while a network runs, by a name it has or by any bytes: an octet of time, an octet of choice, for
/// a strange name its length and bytes. Names alone are answered; time never goes back; packets are conserved.
pub(crate) fn calls(mut bytes: &[u8]) {
    let scenario = read("fuzz.toml", CALLED.as_bytes(), &NoFiles).expect("a scenario");
    let seed = base::rng::Seed { seed: 1, repetition: 0 };
    let mut world = scenario::build::build(scenario.first(), seed, base::trace::Tracer::off());
    let network = &mut world.network;
    network.start(None);
    let names: Vec<String> = network.triggers().names().map(str::to_owned).collect();
    assert!(!names.is_empty(), "nothing to call");
    let mut now = base::Time::ZERO;
    let mut called = 0;
    while let [wait, choice, rest @ ..] = bytes {
        now += base::Span::from_millis(u64::from(*wait) * 4);
        bytes = rest;
        let at = if choice & 64 == 0 { now } else { base::Time::ZERO };
        let before = network.now();
        let known = choice & 128 == 0;
        let name = if known {
            names[usize::from(choice & 63) % names.len()].clone()
        } else {
            let (name, rest) = bytes.split_at(usize::from(choice & 63).min(bytes.len()));
            bytes = rest;
            String::from_utf8_lossy(name).into_owned()
        };
        let done = network.trigger(at, &name);
        assert_eq!(done, names.contains(&name), "`{name}`");
        called += usize::from(done);
        assert!(network.now() >= before, "time went back");
    }
    assert_eq!(network.triggers().done().count(), called);
    network.run_until(now + base::Span::from_secs(60));
    let counters = network.counters();
    let inside = network.packets_inside() as u64;
    assert_eq!(counters.sent, counters.absorbed + counters.dropped + inside, "packets are not conserved");
}
