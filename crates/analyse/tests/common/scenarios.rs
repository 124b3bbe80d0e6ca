//! Random TCP transfers by number, with a random stream for each choice: recovery, detector, response, options,
//! losses, delay spikes, reordering, buffers.

use base::rng::{Seed, Stream};

/// Scenario with its classification.
#[derive(Clone, Debug)]
pub struct Case {
    /// Number of the scenario.
    pub number: u64,
    /// Text of the scenario.
    pub text: String,
    /// Evidence in the sender's capture: timestamps, DSACK.
    pub options: &'static str,
    /// Losses of data.
    pub loss: &'static str,
    /// Losses of ACKs.
    pub ack_loss: &'static str,
    /// Direction of the delay spikes.
    pub spike: &'static str,
    /// Whether the path reorders packets.
    pub order: &'static str,
    /// Loss recovery of the sender.
    pub recovery: &'static str,
    /// Detector of spurious timeouts.
    pub detector: &'static str,
}

struct Draw(Stream);

impl Draw {
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.0.bits() % all.len() as u64) as usize]
    }
    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }
    /// Uniform on a logarithmic scale.
    fn ratio(&mut self, low: f64, high: f64) -> f64 {
        libm::exp(self.within(libm::log(low), libm::log(high)))
    }
    fn one_in(&mut self, n: u64) -> bool {
        self.0.bits().is_multiple_of(n)
    }
}

const OPTIONS: [&str; 4] = ["timestamps and DSACK", "timestamps", "DSACK", "neither"];
const PLAIN: [&str; 3] = ["tahoe", "reno", "newreno"];
const ALL: [&str; 9] =
    ["tahoe", "reno", "newreno", "newreno-sack", "sack", "rfc3517", "rfc6675", "fack", "rack"];
const RESPONSES: [&str; 8] =
    ["none", "staged", "rfc4015", "undo", "restore-1", "restore-2", "restore-3", "restore-4"];

/// Scenario `number`.
pub fn case(number: u64) -> Case {
    let mut d = Draw(Seed { seed: 5, repetition: number }.stream("analyse", "truth"));
    let options = OPTIONS[(number % 4) as usize];
    let (stamps, sack) = (options.contains("timestamps"), options.contains("DSACK"));
    let recovery = if sack { d.of(&ALL) } else { d.of(&PLAIN) };
    let mut detectors = vec!["none", "frto", "frto-basic", "min-rtt"];
    if stamps {
        detectors.push("eifel");
    }
    if sack {
        detectors.extend(["dsack", "dsack-count", "linux"]);
    }
    let detector = d.of(&detectors);
    let response = d.of(&RESPONSES);
    let loss = d.of(&["none", "random", "bursts"]);
    let ack_loss = d.of(&["none", "random", "none"]);
    let spike = d.of(&["none", "both", "down", "up", "both", "down"]);
    let order = if d.one_in(8) { "overtaking" } else { "kept" };
    let mss = d.of(&[256, 536, 1000, 1448]);
    let rate = d.ratio(12_000.0, 6_000_000.0);
    let up = rate * d.of(&[1.0, 0.5, 0.25]);
    let delay_ms = d.ratio(5.0, 400.0);
    let queue = d.of(&[6, 12, 25, 60, 200]);
    let bytes = (rate * d.within(4.0, 20.0) / 8.0).clamp(20.0 * f64::from(mss), 600_000.0);
    let mut faults = String::new();
    match loss {
        "random" => {
            let p = d.ratio(0.003, 0.06);
            faults +=
                &format!("[[hop.loss]]\nname = \"noise\"\ndirections = \"down\"\nprobability = {p:.4}\n");
        }
        "bursts" => {
            let (b, g) = (d.ratio(0.002, 0.02), d.within(0.2, 0.8));
            faults += &format!(
                "[[hop.loss]]\nname = \"bursts\"\ndirections = \"down\"\ntwo-state = {{ per-packet = {{ to-bad = {b:.4}, to-good = {g:.3} }} }}\n"
            );
        }
        _ => {}
    }
    if ack_loss == "random" {
        let p = d.ratio(0.01, 0.25);
        faults += &format!("[[hop.loss]]\nname = \"deaf\"\ndirections = \"up\"\nprobability = {p:.4}\n");
    }
    if spike != "none" {
        let (every, lasts) = (d.ratio(3.0, 20.0), d.ratio(0.4, 8.0));
        let mode = if d.one_in(6) { "drop" } else { "hold" };
        let at = d.of(&["after-queue", "before-queue"]);
        faults += &format!(
            "[[hop.gate]]\nname = \"spikes\"\ndirections = \"{spike}\"\nat = \"{at}\"\nmode = \"{mode}\"\n\
             every = \"uniform({:.0} ms, {:.0} ms)\"\nfrom = \"end\"\nlasts = \"uniform({:.0} ms, {:.0} ms)\"\n",
            every * 500.0,
            every * 1000.0,
            lasts * 500.0,
            lasts * 1000.0
        );
    }
    let delay = if order == "overtaking" {
        let more = d.within(0.2, 1.0) * delay_ms;
        format!("{{ random = \"uniform({delay_ms:.3} ms, {:.3} ms)\", reorder = true }}", delay_ms + more)
    } else {
        format!("\"{delay_ms:.3} ms\"")
    };
    let profile = d.of(&["rfc", "rfc", "linux-6.x", "rfc-2002", "linux-2.4"]);
    let delayed = d.of(&["", ", delayed-ack = { every = 1 }"]);
    let text = format!(
        r#"williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
rate = {{ down = "{rate:.0} bit/s", up = "{up:.0} bit/s" }}
delay = {{ down = {delay}, up = {delay} }}
queue = {{ drop-tail = {{ limit = "{queue} packets" }} }}
{faults}
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = {{ tcp = {{ profile = "{profile}", mss = "{mss} B", window = "{window} B", recovery = "{recovery}", spurious = "{detector}", response = "{response}", timestamps = {stamps}, sack = {sack}, dsack = {sack}{delayed} }} }}
app = {{ bulk = {{ bytes = "{bytes:.0} B" }} }}
[run]
limit = "20 min"
seed = {seed}
"#,
        window = d.of(&[8192, 16384, 65535, 200_000]),
        seed = number % 60_000,
    );
    Case { number, text, options, loss, ack_loss, spike, order, recovery, detector }
}
