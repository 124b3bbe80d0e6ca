//! The claim: a named link has the values of its file; keys of the hop override them.

use base::{Rate, Span};
use scenario::model::{Delay, Direction, Link, LinkRate, LossKind, Model, Queue, Timing};
use scenario::preset::{NAMES, about, text};
use scenario::{NoFiles, Style, read_with};

fn read(hop: &str, set: &[&str]) -> Result<Model, String> {
    let text = format!(
        "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\n{hop}\n\
         [[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\napp = {{ bulk = {{ bytes = \"1 MB\" }} }}\n"
    );
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    match read_with("test.toml", text.as_bytes(), &NoFiles, &set) {
        Ok(scenario) => Ok(scenario.first().clone()),
        Err(diagnostics) => Err(diagnostics.render(Style::default())),
    }
}

fn model(hop: &str, set: &[&str]) -> Model {
    read(hop, set).unwrap_or_else(|error| panic!("{error}"))
}

fn link(model: &Model, direction: Direction) -> &Link {
    model.links.iter().find(|l| l.direction == Some(direction)).expect("a hop has both")
}

fn bps(model: &Model, direction: Direction) -> u64 {
    match &link(model, direction).rate {
        LinkRate::Constant(rate) => rate.bps(),
        other => panic!("{other:?}"),
    }
}

/// WC-09: every preset can be read, has a rate, a delay and a buffer each way, and names the source of its numbers.
#[test]
fn every_preset_is_a_whole_link_with_its_sources() {
    for name in NAMES {
        let model = model(&format!("preset = \"{name}\""), &[]);
        for direction in [Direction::Down, Direction::Up].into_iter().filter(|_| model.bearers.is_empty()) {
            let link = link(&model, direction);
            assert!(bps(&model, direction) > 10_000, "{name}");
            assert!(link.delay.mean_s() > 0.001, "{name}");
            assert!(matches!(link.queue, Queue::DropTail(c) if c.limit.bytes.is_some()), "{name}");
        }
        let file = text(name).expect("listed");
        assert!(about(name).contains("Confidence: "), "{name} says how far it is to be believed");
        assert!(file.contains("oss") && file.lines().all(|line| line.chars().count() <= 180), "{name}");
        let mut said = false;
        for line in file.lines().filter(|line| !line.is_empty()) {
            // A number has its source on its line, or on the one above it.
            let number = line.split('#').next().unwrap_or("").chars().any(|c| c.is_ascii_digit());
            assert!(!number || said || line.contains('#'), "{name}: `{line}` has no source");
            said = line.starts_with('#');
        }
    }
    let umts = model("preset = \"umts\"", &[]);
    assert_eq!((bps(&umts, Direction::Down), bps(&umts, Direction::Up)), (384_000, 64_000));
}

#[test]
fn all_presets_at_once() {
    let mut all = String::new();
    for name in NAMES {
        all += &format!(
            "== {name}\n{}\n{}\n",
            about(name),
            describe(&model(&format!("preset = \"{name}\""), &[]))
        );
    }
    insta::assert_snapshot!(all);
}

fn describe(model: &Model) -> String {
    let mut out = String::new();
    for direction in [Direction::Down, Direction::Up] {
        let link = link(model, direction);
        out += &format!("{}: {:?}, {:?}, {:?}\n", direction.name(), link.rate, link.delay, link.queue);
    }
    for bearer in &model.bearers {
        out += &format!("{}: {:?}\n", bearer.name, bearer.kind);
    }
    for gate in &model.gates {
        out += &format!("{}: {:?}\n", gate.name, gate.timing);
    }
    for change in &model.rate_changes {
        out += &format!("{}: {:?} {:?}\n", change.name, change.to, change.timing);
    }
    for loss in &model.losses {
        out += &format!("{}: {:?}\n", loss.name, loss.kind);
    }
    out
}

/// Keys of a hop override the preset: a whole value, one direction of it, one key of a fault, or one fault more.
#[test]
fn what_the_hop_says_goes_before() {
    let plain = model("preset = \"lte-driving\"", &[]);
    let slower = model("preset = \"lte-driving\"\nrate = \"1 Mbit/s\"", &[]);
    assert_eq!(bps(&slower, Direction::Up), 1_000_000);
    assert_eq!(link(&slower, Direction::Up).queue, link(&plain, Direction::Up).queue);
    let down = model("preset = \"lte-driving\"\nrate = { down = \"1 Mbit/s\" }", &[]);
    assert_eq!(bps(&down, Direction::Down), 1_000_000);
    assert_eq!(bps(&down, Direction::Up), bps(&plain, Direction::Up));
    let longer = model("preset = \"lte-driving\"", &["hop.radio.gate.handover.lasts=2 s"]);
    assert_eq!(longer.gates.len(), plain.gates.len());
    let handover =
        |m: &Model| m.gates.iter().find(|g| g.name == "radio.handover").cloned().expect("a handover");
    let (Timing::Every { every, lasts, .. }, Timing::Every { every: as_it_was, .. }) =
        (handover(&longer).timing, handover(&plain).timing)
    else {
        panic!("again and again")
    };
    assert_eq!(every, as_it_was);
    assert_eq!(lasts.mean(), 2e9);
    let once = model(
        "preset = \"lte-driving\"\n[[hop.gate]]\nname = \"handover\"\nspikes = [[\"5 s\", \"1 s\"]]\n\
         [[hop.gate]]\nname = \"tunnel\"\nstart = \"60 s\"\nlasts = \"20 s\"\n\
         [[hop.loss]]\nname = \"residual\"\npackets = \"7\"",
        &[],
    );
    assert_eq!(once.gates.len(), plain.gates.len() + 1);
    assert!(matches!(handover(&once).timing, Timing::Listed(list) if list.len() == 1));
    assert!(matches!(once.losses[0].kind, LossKind::Packets(_)));
    let still = model("preset = \"umts\"\ndelay = \"0 ms\"", &[]);
    assert_eq!(link(&still, Direction::Down).delay, Delay::Constant(Span::ZERO));
    assert_eq!(link(&still, Direction::Down).rate, LinkRate::Constant(Rate::from_bps(384_000)));
}

/// Bearers: two operators' networks, and a key of the hop beside those of the preset.
#[test]
fn presets_of_bearers() {
    use scenario::model::radio::BearerKind;
    let gprs = |hop: &str| match model(hop, &[]).bearers.remove(0).kind {
        BearerKind::Gprs(of) => of.user,
        other => panic!("{other:?}"),
    };
    let (osmo, openbts) = (gprs("preset = \"gprs-rlc\""), gprs("preset = \"gprs-rlc-openbts\""));
    assert_eq!((osmo.tbf.t3192, osmo.n3105), (Span::from_millis(1500), 8));
    assert_eq!((openbts.tbf.t3192, openbts.n3105), (Span::from_millis(500), 12));
    let other = gprs("preset = \"gprs-rlc\"\n[hop.radio.gprs]\nscheme = \"cs-4\"\nclass = 4");
    assert_eq!((other.down.scheme, other.sgsn), (radio::coding::Scheme::Cs4, osmo.sgsn));
    let framed = |name: &str| {
        matches!(model(&format!("preset = \"{name}\""), &[]).bearers[0].kind, BearerKind::Framed(_))
    };
    assert!(framed("hscsd") && framed("umts-rlc") && framed("cdma2000"));
}

/// A bearer with a real PCU takes channel, mobile and SGSN; keys that the program decides are refused.
#[test]
fn a_real_pcu_leaves_no_say_in_what_it_decides() {
    use scenario::model::radio::BearerKind;
    let own = "errors = { constant = { rate = 0.1, control = 0.0 } }\ndelays = { core = \"50 ms\" }";
    let gprs = |keys: &str| format!("[hop.radio.gprs]\npcu = \"osmo\"\n{keys}");
    let model = model(&gprs(own), &[]);
    assert!(matches!(&model.bearers[0].kind, BearerKind::Gprs(of) if of.pcu.is_some()));
    let egprs =
        "scheme = { down = \"mcs-9\", up = \"mcs-4\" }\nreselection = { at = [\"5 s\"], resume = \"1 s\" }";
    assert!(read(&gprs(egprs), &[]).is_ok(), "EGPRS and times of changes of cell");
    let llc = "llc = { mode = \"acknowledged\", t200 = \"9 s\", n200 = 2, window = 8 }";
    assert!(read(&gprs(llc), &[]).is_ok(), "acknowledged LLC");
    for (keys, word) in [
        ("tbf = { t3192 = \"1 s\" }", "`tbf` has no effect with `pcu`"),
        ("llc = { mode = \"acknowledged\", feedback = \"1 s\" }", "`llc.feedback` has no effect with `pcu`"),
        ("sgsn = { leak = \"20 kbit/s\" }", "`sgsn.leak` has no effect with `pcu`"),
        ("scheme = { down = \"mcs-9\", up = \"cs-2\" }", "both directions in GPRS or both in EGPRS"),
        ("reselection = { outage = \"3 s\" }", "`reselection.outage` has no effect with `pcu`"),
        ("delays = { bsc = \"3 ms\" }", "`delays.bsc` has no effect with `pcu`"),
        ("pcu-at = \"bts\"", "`pcu-at` has no effect with `pcu`"),
        (RESTART, "`restart` has no effect with `pcu`"),
    ] {
        let error = read(&gprs(keys), &[]).expect_err(keys);
        assert!(error.contains(word), "{error}");
    }
    let error = read(&gprs("").replace("osmo", "osmos"), &[]).expect_err("there is none");
    assert!(error.contains("osmo"), "{error}");
    let second = |cell: &str| {
        format!(
            "{}\n[[hop]]\nname = \"second\"\nbetween = [\"server\", \"laptop\"]\nradio = {{ gprs = {{ {cell}, cell = \"shared\" }} }}",
            gprs("cell = \"shared\"")
        )
    };
    for (cell, word) in
        [("class = 4", "one PCU for all its mobiles"), ("pcu = \"osmo\", timeslots = 2", "other `timeslots`")]
    {
        let error = read(&second(cell), &[]).expect_err(cell);
        assert!(error.contains(word), "{error}");
    }
}

const RESTART: &str =
    "[[hop.radio.gprs.restart]]\nname = \"crash\"\nelement = \"sgsn\"\nat = [\"5 s\"]\nlasts = \"9 s\"";

/// WL-14, GP-01: a restart of the SGSN beside acknowledged LLC, one without times, and a firewall open to an unknown flow are
/// refused.
#[test]
fn restarts_and_firewalls_with_mistakes() {
    let gprs = |keys: &str, restart: &str| format!("[hop.radio.gprs]\n{keys}\n{restart}");
    assert!(read(&gprs("pcu-at = \"bts\"", RESTART), &[]).is_ok());
    let error =
        read(&gprs("llc = { mode = \"acknowledged\" }", RESTART), &[]).expect_err("LLC would restart");
    assert!(error.contains("a restart of the SGSN ends acknowledged LLC"), "{error}");
    let pcu = RESTART.replace("sgsn", "pcu");
    assert!(read(&gprs("llc = { mode = \"acknowledged\" }", &pcu), &[]).is_ok());
    let error = read(&gprs("", &RESTART.replace("at = [\"5 s\"]\n", "")), &[]).expect_err("no times");
    assert!(error.contains("`every`") && error.contains("`at`"), "{error}");
    let error =
        read("radio = \"gprs\"\nfirewall = { open-to = [\"downlod\"] }", &[]).expect_err("no such flow");
    assert!(error.contains("there is no flow `downlod`"), "{error}");
}

/// A grid may vary the preset, and errors are reported at the hop.
#[test]
fn presets_in_grids_and_mistakes() {
    let set = ["hop.radio.preset=geo"];
    assert_eq!(bps(&model("preset = \"umts\"", &set), Direction::Down), 30_000_000);
    let error = read("preset = \"lte-drivin\"", &[]).expect_err("there is none");
    assert!(error.contains("did you mean `lte-driving`?") && error.contains("test.toml:5:10"), "{error}");
}

/// Presets from recorded drives have the recorded mean rates, fades and gaps included.
#[test]
fn drives_have_the_recorded_mean_rates() {
    for (name, down, up) in [("lte-driving", 12.8e6, 5.9e6), ("hspa-driving", 2.02e6, 0.94e6)] {
        let model = model(&format!("preset = \"{name}\""), &[]);
        let mut share = 1.0;
        for change in &model.rate_changes {
            let Timing::Every { every, lasts, .. } = &change.timing else { panic!("again and again") };
            let scenario::model::ChangedRate::Times(factor) = change.to else { panic!("a factor") };
            share *= (every.mean() + factor * lasts.mean()) / (every.mean() + lasts.mean());
        }
        for gate in model.gates.iter().filter(|g| g.name.ends_with(".gap")) {
            let Timing::Every { every, lasts, .. } = &gate.timing else { panic!("again and again") };
            share *= 1.0 - lasts.mean() / every.mean();
        }
        for (direction, recorded) in [(Direction::Down, down), (Direction::Up, up)] {
            let mean = share * bps(&model, direction) as f64;
            assert!((mean / recorded - 1.0).abs() < 0.02, "{name}: {mean} for {recorded}");
        }
    }
}
