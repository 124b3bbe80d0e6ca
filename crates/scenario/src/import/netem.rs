//! Import of `tc qdisc` with netem and tbf, in the syntax of iproute2 (man pages tc-netem, tc-tbf and tc). The first
//! device is the downlink, the second the uplink.

use super::ImportError;
use super::draft::{DIRECTIONS, Draft, Hop};
use super::words::{lines, shown, split};
use std::iter::Peekable;
use std::slice::Iter;

type Words<'a> = Peekable<Iter<'a, String>>;

/// Reads commands, one per line.
pub(super) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut draft = Draft { hops: vec![Hop { name: "link".into(), ..Hop::default() }], ..Draft::default() };
    let mut devices: Vec<String> = Vec::new();
    let mut found = false;
    for line in lines(text) {
        let words = split(&line)?;
        let mut words = words.iter().peekable();
        found |= command(&mut words, &mut devices, &mut draft)?;
    }
    if !found {
        let help = "write it as tc takes it: tc qdisc add dev eth0 root netem delay 100ms 20ms loss 1%";
        return Err(ImportError::new("this contains neither netem nor tbf", help));
    }
    if devices.len() < 2 {
        draft.roughly.push(
            "tc acts on packets that leave one device: direction down here; direction up stays unchanged"
                .into(),
        );
    }
    Ok(draft)
}

/// Reads one command; false for another kind of queue discipline.
fn command(words: &mut Words<'_>, devices: &mut Vec<String>, draft: &mut Draft) -> Result<bool, ImportError> {
    let mut direction = 0;
    while let Some(word) = words.next() {
        match word.as_str() {
            "sudo" | "tc" | "qdisc" | "add" | "change" | "replace" | "root" => {}
            word if word.ends_with("/tc") => {}
            "dev" => {
                let device = value(words, "dev")?;
                direction = devices.iter().position(|d| *d == device).unwrap_or_else(|| {
                    devices.push(device.clone());
                    devices.len() - 1
                });
                if direction > 1 {
                    let message =
                        format!("`{}` is the third device; a link has two directions", shown(&device));
                    return Err(ImportError::new(message, "give the commands of two devices"));
                }
            }
            "parent" | "handle" => {
                value(words, word)?;
            }
            "netem" => {
                netem(words, direction, draft)?;
                return Ok(true);
            }
            "tbf" => {
                tbf(words, direction, draft)?;
                return Ok(true);
            }
            "class" | "filter" | "del" | "show" => {
                draft.left_out.push(format!("`tc ... {word}`: only queues that are added are read"));
                return Ok(false);
            }
            other => {
                let message = format!("`{}` is not understood in `tc qdisc`", shown(other));
                let help = "netem and tbf are; write tc qdisc add dev eth0 root netem delay 100ms";
                return Err(ImportError::new(message, help));
            }
        }
    }
    Ok(false)
}

fn value(words: &mut Words<'_>, after: &str) -> Result<String, ImportError> {
    match words.next() {
        Some(word) => Ok(word.clone()),
        None => Err(ImportError::new(format!("`{}` lacks its value", shown(after)), "see man tc-netem")),
    }
}

/// Next word, if it is a value and no keyword.
fn optional<T>(words: &mut Words<'_>, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    let value = words.peek().and_then(|word| read(word))?;
    words.next();
    Some(value)
}

fn required<T>(
    words: &mut Words<'_>,
    after: &str,
    what: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, ImportError> {
    let word = value(words, after)?;
    read(&word).ok_or_else(|| {
        ImportError::new(format!("`{}` after `{after}` is not {what}", shown(&word)), format!("give {what}"))
    })
}

fn number_and_unit(text: &str) -> Option<(f64, String)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let value = text.get(..end)?.parse::<f64>().ok()?;
    Some((value, text.get(end..)?.to_ascii_lowercase()))
}

/// Time in seconds; a number without unit is microseconds.
fn time(text: &str) -> Option<f64> {
    let (value, unit) = number_and_unit(text)?;
    let factor = match unit.as_str() {
        "s" | "sec" | "secs" => 1.0,
        "ms" | "msec" | "msecs" => 1e-3,
        "us" | "usec" | "usecs" | "" => 1e-6,
        "ns" | "nsec" | "nsecs" => 1e-9,
        _ => return None,
    };
    Some(value * factor)
}

/// Rate in bit/s; in tc, `bps` is bytes per second.
fn rate(text: &str) -> Option<f64> {
    let (value, unit) = number_and_unit(text)?;
    let factor = match unit.as_str() {
        "bit" | "" => 1.0,
        "kbit" => 1e3,
        "mbit" => 1e6,
        "gbit" => 1e9,
        "tbit" => 1e12,
        "kibit" => 1024.0,
        "mibit" => 1024.0 * 1024.0,
        "gibit" => 1024.0 * 1024.0 * 1024.0,
        "bps" => 8.0,
        "kbps" => 8e3,
        "mbps" => 8e6,
        "gbps" => 8e9,
        _ => return None,
    };
    Some(value * factor).filter(|bps| *bps >= 1.0)
}

/// Size in bytes.
fn size(text: &str) -> Option<f64> {
    let (value, unit) = number_and_unit(text)?;
    let factor = match unit.as_str() {
        "b" | "" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024.0 * 1024.0,
        "g" | "gb" => 1024.0 * 1024.0 * 1024.0,
        "kbit" => 128.0,
        "mbit" => 128.0 * 1024.0,
        _ => return None,
    };
    Some(value * factor)
}

/// Share from 0 to 1; tc accepts percent with and without the sign.
fn percent(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%').unwrap_or(text);
    if !number.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    number.parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p)).map(|p| p / 100.0)
}

fn count(text: &str) -> Option<u32> {
    text.parse().ok()
}

fn ms(seconds: f64) -> String {
    format!("{} ms", trim(seconds * 1e3))
}

/// Rounds off binary representation errors.
fn trim(x: f64) -> f64 {
    let rounded = (x * 1e9).round() / 1e9;
    if rounded.is_finite() { rounded } else { x }
}

#[derive(Default)]
struct Netem {
    delay: Option<(f64, f64)>,
    distribution: Option<String>,
    rate: Option<f64>,
    limit: u32,
    losses: Vec<String>,
    duplicate: f64,
}

fn netem(words: &mut Words<'_>, direction: usize, draft: &mut Draft) -> Result<(), ImportError> {
    let mut n = Netem { limit: 1000, ..Netem::default() };
    let mut out = |note: String| draft.left_out.push(note);
    while let Some(word) = words.next() {
        match word.as_str() {
            "delay" | "latency" => {
                let mean = required(words, word, "a time such as 100ms", time)?;
                let jitter = optional(words, time).unwrap_or(0.0);
                if let Some(share) = optional(words, percent) {
                    out(format!(
                        "delay: that each jitter depends on the one before by {} %",
                        trim(share * 100.0)
                    ));
                }
                n.delay = Some((mean, jitter));
            }
            "distribution" => n.distribution = Some(value(words, word)?),
            "limit" => n.limit = required(words, word, "a number of packets", count)?,
            "rate" => {
                n.rate = Some(required(words, word, "a rate such as 1mbit", rate)?);
                let extra: Vec<u32> = std::iter::from_fn(|| optional(words, count)).take(3).collect();
                if extra.iter().any(|n| *n != 0) {
                    out("rate: overhead and cells".into());
                }
            }
            "loss" | "drop" => loss(words, word, &mut n, &mut out)?,
            "duplicate" => {
                let share = required(words, word, "a share such as 1%", percent)?;
                if let Some(next) = optional(words, percent) {
                    out(format!(
                        "duplicate: that each depends on the one before by {} %",
                        trim(next * 100.0)
                    ));
                }
                n.duplicate = share;
            }
            "corrupt" => {
                let share = required(words, word, "a share such as 1%", percent)?;
                optional(words, percent);
                if share > 0.0 {
                    out(format!("{word} {} %", trim(share * 100.0)));
                }
            }
            "reorder" => {
                let share = required(words, word, "a share such as 25%", percent)?;
                optional(words, percent);
                out(format!("reorder {} %: packets that pass without the delay", trim(share * 100.0)));
            }
            "gap" => {
                required(words, word, "a number of packets", count)?;
                out("gap".into());
            }
            "ecn" => out("ecn: lost packets are marked where they can be".into()),
            "seed" => {
                value(words, word)?;
                out("seed: give `run.seed`".into());
            }
            "slot" => {
                while optional(words, |w| (!KEYWORDS.contains(&w)).then_some(())).is_some() {}
                out("slot: packets in groups".into());
            }
            other => {
                let message = format!("`{}` is not an option of netem", shown(other));
                return Err(ImportError::new(message, format!("its options are {}", KEYWORDS.join(", "))));
            }
        }
    }
    put(n, direction, draft);
    Ok(())
}

const KEYWORDS: &[&str] = &[
    "limit",
    "delay",
    "distribution",
    "loss",
    "corrupt",
    "duplicate",
    "reorder",
    "gap",
    "rate",
    "ecn",
    "seed",
    "slot",
];

fn loss(
    words: &mut Words<'_>,
    word: &str,
    n: &mut Netem,
    out: &mut impl FnMut(String),
) -> Result<(), ImportError> {
    match words.peek().map(|w| w.as_str()) {
        Some("state") => {
            words.next();
            let p13 = required(words, "state", "a probability such as 1%", percent)?;
            let p31 = optional(words, percent).unwrap_or(1.0 - p13);
            let rest: Vec<f64> = std::iter::from_fn(|| optional(words, percent)).take(3).collect();
            if rest.iter().any(|p| *p != 0.0) {
                out("loss state: the losses of single packets and the good packets within bursts".into());
            }
            n.losses.push(states(p13, p31, 0.0, 1.0));
        }
        Some("gemodel") => {
            words.next();
            let p = required(words, "gemodel", "a probability such as 1%", percent)?;
            let r = optional(words, percent).unwrap_or(1.0 - p);
            let bad = optional(words, percent).unwrap_or(1.0);
            let good = optional(words, percent).unwrap_or(0.0);
            n.losses.push(states(p, r, good, bad));
        }
        next => {
            if next == Some("random") {
                words.next();
            }
            let share = required(words, word, "a share such as 1%", percent)?;
            if let Some(share) = optional(words, percent) {
                out(format!("loss: that each depends on the one before by {} %", trim(share * 100.0)));
            }
            if share > 0.0 {
                n.losses.push(format!("probability = {}", trim(share)));
            }
        }
    }
    Ok(())
}

fn states(to_bad: f64, to_good: f64, good: f64, bad: f64) -> String {
    format!(
        "two-state = {{ per-packet = {{ to-bad = {}, to-good = {}, loss-good = {}, loss-bad = {} }} }}",
        trim(to_bad),
        trim(to_good),
        trim(good),
        trim(bad)
    )
}

fn put(n: Netem, direction: usize, draft: &mut Draft) {
    let way = DIRECTIONS[direction];
    if let Some((mean, jitter)) = n.delay {
        draft.hops[0].delay[direction] = Some(delay(mean, jitter, n.distribution.as_deref(), way, draft));
    }
    if let Some(bps) = n.rate {
        draft.hops[0].rate[direction] = Some(format!("\"{} bit/s\"", bps.round()));
        draft.roughly.push(format!(
            "{way}: rate {} bit/s: netem counts the header of the link (14 B on Ethernet) with each packet",
            bps.round()
        ));
        draft.hops[0].queue[direction] =
            Some(format!("{{ drop-tail = {{ limit = \"{} packets\" }} }}", n.limit.max(1)));
        draft.roughly.push(format!(
            "{way}: limit {} packets: netem also counts packets that it delays; here only packets that wait for the \
             rate count",
            n.limit
        ));
    } else if n.limit != 1000 {
        draft.left_out.push(format!("{way}: limit {}: without a rate no packet waits here", n.limit));
    }
    for (i, loss) in n.losses.iter().enumerate() {
        let share = loss.starts_with("probability");
        draft.hops[0]
            .faults
            .push(format!("[[hop.loss]]\nname = \"loss-{way}-{}\"\ndirections = \"{way}\"\n{loss}\n", i + 1));
        if share {
            draft.exactly.push(format!("{way}: loss of each packet with {loss}"));
        } else {
            draft
                .roughly
                .push(format!("{way}: {loss}: the state changes before a packet here, in netem after it"));
        }
    }
    if n.duplicate > 0.0 {
        let share = trim(n.duplicate);
        draft.hops[0].faults.push(format!(
            "[[hop.duplication]]\nname = \"duplicate-{way}\"\ndirections = \"{way}\"\nprobability = {share}\n"
        ));
        draft.roughly.push(format!(
            "{way}: duplicate with probability {share}: a copy arrives with the first here; netem queues and delays it on its own"
        ));
    }
}

fn delay(mean: f64, jitter: f64, distribution: Option<&str>, way: &str, draft: &mut Draft) -> String {
    if jitter == 0.0 {
        draft.exactly.push(format!("{way}: delay {}", ms(mean)));
        return format!("\"{}\"", ms(mean));
    }
    let random = match distribution {
        None | Some("uniform") => {
            let least = (mean - jitter).max(0.0);
            if mean < jitter {
                draft
                    .roughly
                    .push(format!("{way}: delay: netem sets times below 0 to 0; here the range begins at 0"));
            } else {
                draft.exactly.push(format!("{way}: delay between {} and {}", ms(least), ms(mean + jitter)));
            }
            format!("uniform({}, {})", ms(least), ms(mean + jitter))
        }
        Some("normal") => {
            draft.roughly.push(format!(
                "{way}: delay normal({}, {}): netem uses a table of up to four deviations",
                ms(mean),
                ms(jitter)
            ));
            format!("normal({}, {})", ms(mean), ms(jitter))
        }
        Some(other) => {
            draft.roughly.push(format!(
                "{way}: delay distribution `{}`: a lognormal one with the same mean and deviation",
                shown(other)
            ));
            format!("lognormal({}, {})", ms(mean.max(1e-6)), ms(jitter))
        }
    };
    draft.exactly.push(format!("{way}: a packet with a short delay overtakes one with a long delay"));
    format!("{{ random = \"{random}\", reorder = true }}")
}

fn tbf(words: &mut Words<'_>, direction: usize, draft: &mut Draft) -> Result<(), ImportError> {
    let (mut bps, mut burst, mut latency, mut limit) = (None, 0.0, None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "rate" => bps = Some(required(words, word, "a rate such as 1mbit", rate)?),
            "burst" | "buffer" | "maxburst" => {
                burst = required(words, word, "a size such as 32kbit", |w| size(w.split('/').next()?))?
            }
            "latency" => latency = Some(required(words, word, "a time such as 400ms", time)?),
            "limit" => limit = Some(required(words, word, "a size such as 10kb", size)?),
            "peakrate" | "mtu" | "minburst" | "mpu" | "overhead" | "linklayer" => {
                value(words, word)?;
                draft.left_out.push(format!("tbf: {word}"));
            }
            other => {
                let message = format!("`{}` is not an option of tbf", shown(other));
                return Err(ImportError::new(
                    message,
                    "its options are rate, burst, latency, limit, peakrate, mtu",
                ));
            }
        }
    }
    let Some(bps) = bps else {
        return Err(ImportError::new(
            "tbf lacks its rate",
            "write tbf rate 1mbit burst 32kbit latency 400ms",
        ));
    };
    let way = DIRECTIONS[direction];
    draft.hops[0].rate[direction] = Some(format!("\"{} bit/s\"", bps.round()));
    draft.roughly.push(format!(
        "{way}: rate {} bit/s: tbf lets bursts of {} B pass at once, and counts the header of the link",
        bps.round(),
        burst.round()
    ));
    let bytes = limit.or(latency.map(|s| s * bps / 8.0 + burst));
    if let Some(bytes) = bytes.filter(|b| *b >= 1.0) {
        draft.hops[0].queue[direction] =
            Some(format!("{{ drop-tail = {{ limit = \"{} B\" }} }}", bytes.round()));
        draft.exactly.push(format!("{way}: a queue of {} B", bytes.round()));
    }
    Ok(())
}
