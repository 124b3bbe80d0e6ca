//! Tables of arithmetic: a formula (the RTO of RFC 6298) checked against rows of inputs and expected values.
//!
//! A script without events is a table of arithmetic (`arith-*.toml`): rows of inputs and the values that
//! follow from them, within a relative error of 1e-5.
//!
//! The only formula is the retransmission timer of RFC 6298. The rows of one list are a sequence: a row with
//! `rtt` is a sample, a row with `timeouts` a number of expiries; a row with a list of `samples` starts a new
//! sequence. `srtt`, `rttvar` and `rto` are compared after the row, or after each sample if they are lists.
//! Parameters are keys of the table or of `[options]`: `rto_min`, `rto_max`, `rto_initial`, `granularity`.
//! Tables of other formulas and unknown words are unsupported.

use crate::dialogue::Dialogue;
use crate::verdict::{DialogueVerdict, Failure};
use base::Span;
use toml::{Table, Value};
use transport::recovery::rto::RtoTimer;
use transport::tcp::Config;

const EMPTY: &str = "a script without events and without rows to compare";

/// Relative tolerance of a value.
const TOLERANCE: f64 = 1e-5;

/// Checks a table.
pub(crate) fn check(dialogue: &Dialogue) -> DialogueVerdict {
    match rows(dialogue) {
        Ok(done) => done,
        Err(word) => DialogueVerdict::Unsupported(word),
    }
}

fn rows(dialogue: &Dialogue) -> Result<DialogueVerdict, String> {
    if dialogue.table.is_empty() {
        return Err(EMPTY.to_owned());
    }
    if !dialogue.rfc.iter().any(|rfc| rfc.contains("6298")) {
        return Err(format!("a table of RFC {}", dialogue.rfc.join(", ")));
    }
    let mut config = Config::default().rto;
    // A table states its clock granularity; without one it is negligible.
    config.tick = Span::from_nanos(1);
    for (key, value) in dialogue.options.iter().chain(scalars(&dialogue.table)) {
        parameter(&mut config, key, value)?;
    }
    let mut checked = 0;
    for (name, value) in &dialogue.table {
        let Value::Array(list) = value else { continue };
        let mut timer = RtoTimer::new(config);
        for (i, row) in list.iter().enumerate() {
            let Value::Table(row) = row else { return Err(format!("`{name}` is no list of rows")) };
            if row.contains_key("samples") {
                timer = RtoTimer::new(config);
            }
            match step(&mut timer, row, &format!("{name}, row {}", i + 1))? {
                Ok(compared) => checked += compared,
                Err(failure) => return Ok(DialogueVerdict::Fail(failure)),
            }
        }
    }
    if checked == 0 {
        return Err(EMPTY.to_owned());
    }
    Ok(DialogueVerdict::Pass { unasked: 0 })
}

/// Scalar parameters of the table; those of a subtable count as if they were at the top.
fn scalars(table: &Table) -> impl Iterator<Item = (&String, &Value)> {
    table.iter().flat_map(|(key, value)| match value {
        Value::Table(inner) => inner.iter().collect::<Vec<_>>(),
        Value::Array(_) => Vec::new(),
        _ => vec![(key, value)],
    })
}

fn number(key: &str, value: &Value) -> Result<f64, String> {
    let number = value.as_float().or(value.as_integer().map(|i| i as f64));
    number.filter(|n| (0.0..1e7).contains(n)).ok_or_else(|| format!("{key} = {value}"))
}

fn parameter(config: &mut transport::tcp::config::RtoConfig, key: &str, value: &Value) -> Result<(), String> {
    let span = || number(key, value).map(Span::from_secs_f64);
    let fixed = |expected: f64| match number(key, value)? {
        n if (n - expected).abs() < 1e-12 => Ok(()),
        _ => Err(format!("{key} = {value}")),
    };
    match key {
        "rto_min" => config.min = span()?,
        "rto_max" => config.max = span()?,
        "rto_initial" | "initial_rto" => config.initial = span()?,
        "granularity" | "g" | "G" => config.tick = span()?.max(Span::from_nanos(1)),
        "k" | "K" => config.k = number(key, value)? as u32,
        "alpha" => fixed(0.125)?,
        "beta" => fixed(0.25)?,
        "tolerance" | "rel_tol" => fixed(TOLERANCE)?,
        _ => return Err(format!("`{key}` of a table")),
    }
    Ok(())
}

type Outcome = Result<usize, Box<Failure>>;

fn step(timer: &mut RtoTimer, row: &Table, place: &str) -> Result<Outcome, String> {
    let mut samples: Vec<f64> = Vec::new();
    let mut timeouts = 0;
    let mut wanted: Vec<(&str, &Value)> = Vec::new();
    for (key, value) in row {
        match (key.as_str(), value) {
            ("rtt" | "r" | "R" | "sample", v) => samples.push(number(key, v)?),
            ("samples" | "rtts", Value::Array(list)) => {
                for v in list {
                    samples.push(number(key, v)?);
                }
            }
            ("timeouts" | "expirations" | "backoffs", v) => timeouts = number(key, v)? as u32,
            ("srtt" | "rttvar" | "rto", v) => wanted.push((key, v)),
            (_, Value::String(_)) => {}
            _ => return Err(format!("`{key}` of a table ({place})")),
        }
    }
    let mut compared = 0;
    for (i, sample) in samples.iter().enumerate() {
        timer.end_backoff();
        timer.sample(Span::from_secs_f64(*sample));
        for (key, value) in &wanted {
            let Value::Array(list) = value else { continue };
            let Some(value) = list.get(i) else { return Err(format!("`{key}` is too short ({place})")) };
            if let Err(failure) = compare(timer, key, number(key, value)?, place) {
                return Ok(Err(failure));
            }
            compared += 1;
        }
    }
    for _ in 0..timeouts.min(1000) {
        timer.back_off();
    }
    for (key, value) in wanted.iter().filter(|(_, v)| !v.is_array()) {
        if let Err(failure) = compare(timer, key, number(key, value)?, place) {
            return Ok(Err(failure));
        }
        compared += 1;
    }
    Ok(Ok(compared))
}

fn compare(timer: &RtoTimer, key: &str, wanted: f64, place: &str) -> Result<(), Box<Failure>> {
    let seen = match key {
        "srtt" => timer.srtt(),
        "rttvar" => timer.rttvar(),
        _ => timer.timeout(),
    }
    .as_secs_f64();
    // The timer has a resolution of one nanosecond.
    if (seen - wanted).abs() <= TOLERANCE * wanted.abs() + 2e-9 {
        return Ok(());
    }
    Err(Box::new(Failure {
        why: format!("a number differs in {place}"),
        expected: format!("{key} = {wanted}"),
        seen: format!("{key} = {seen}"),
        ..Failure::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::{Reading, play};

    fn judge(body: &str) -> DialogueVerdict {
        let text = format!("format = 1\nid = \"arith-x\"\nrfc = [\"6298\"]\n{body}");
        play(&Dialogue::read(&text).unwrap(), Reading::AsWritten)
    }

    /// RFC 6298 section 2, computed by hand: samples 0.8 s, then 0.4 s.
    #[test]
    fn a_history_of_samples() {
        let rows = "[[row]]\nrtt = 0.8\nsrtt = 0.8\nrttvar = 0.4\nrto = 2.4\n\
                    [[row]]\nrtt = 0.4\nsrtt = 0.75\nrttvar = 0.4\nrto = 2.35\n\
                    [[row]]\ntimeouts = 2\nrto = 9.4\n";
        assert_eq!(judge(rows), DialogueVerdict::Pass { unasked: 0 });
        let DialogueVerdict::Fail(failure) = judge(&rows.replace("2.35", "2.36")) else { panic!() };
        assert_eq!((failure.expected.as_str(), failure.seen.as_str()), ("rto = 2.36", "rto = 2.35"));
        assert!(failure.why.contains("row, row 2"), "{}", failure.why);
    }

    #[test]
    fn a_case_with_its_own_samples() {
        let rows = "rto_min = 0.2\n[[case]]\nsamples = [0.8, 0.4]\nsrtt = [0.8, 0.75]\nrto = 2.35\n\
                    [[case]]\nsamples = [0.01]\nrto = 0.2\n";
        assert_eq!(judge(rows), DialogueVerdict::Pass { unasked: 0 });
        assert!(matches!(judge(&rows.replace("rto = 0.2", "rto = 1.0")), DialogueVerdict::Fail(_)));
    }

    #[test]
    fn what_is_not_known_is_unsupported() {
        assert!(matches!(judge("[[row]]\nrtt = 1\nphase = 3\nsrtt = 1\n"), DialogueVerdict::Unsupported(_)));
        assert!(matches!(
            judge("alpha = 0.5\n[[row]]\nrtt = 1\nsrtt = 1\n"),
            DialogueVerdict::Unsupported(_)
        ));
        assert!(matches!(judge(""), DialogueVerdict::Unsupported(_)));
        let other = "format = 1\nid = \"arith-tfrc\"\nrfc = [\"5348\"]\n[[row]]\np = 0.1\nx = 2.0\n";
        let DialogueVerdict::Unsupported(why) = play(&Dialogue::read(other).unwrap(), Reading::AsWritten)
        else {
            panic!()
        };
        assert_eq!(why, "a table of RFC 5348");
    }
}
