//! Observable state of a TCP sender in dialogues (`state` events): cwnd, ssthresh, pipe, RTO and others, by
//! name and with bounds.
//!
//! A variable that a TCP does not keep is neither shown nor compared.

use crate::harness::{EventKind, TestHarness};
use base::event::Event;
use std::collections::BTreeMap;
use toml::Value;
use transport::tcp::config::Recovery;

/// A value with its tolerance.
struct Shown {
    value: f64,
    /// The value by another legitimate definition.
    or: f64,
    slack: f64,
}

/// Tolerance of values kept in bytes, segments.
const SEGMENT: f64 = 1.0;
/// Tolerance of times, seconds.
const MILLISECOND: f64 = 1e-3;

fn show(harness: &TestHarness, name: &str) -> Option<Shown> {
    let s = &harness.connection.sender;
    let mss = f64::from(s.config().mss);
    let plain = |value: f64, slack: f64| Some(Shown { value, or: value, slack });
    let segments = |bytes: f64| plain(bytes / mss, SEGMENT);
    let seconds = |span: base::Span| plain(span.as_secs_f64(), MILLISECOND);
    let flag = |b: bool| plain(f64::from(u8::from(b)), 0.0);
    match name {
        // Some TCPs add the inflation by duplicate ACKs to cwnd, some keep it apart; the wire does not show
        // which.
        "cwnd_mss" => {
            let inflated = s.tcb.window.cwnd + s.inflation() as f64;
            Some(Shown { value: s.tcb.window.cwnd / mss, or: inflated / mss, slack: SEGMENT })
        }
        "awnd_mss" if s.config().recovery == Recovery::Fack => segments(s.pipe()? as f64),
        "ssthresh_mss" => segments(s.tcb.window.ssthresh),
        "pipe_mss" => segments(s.pipe()? as f64),
        "in_recovery" => flag(s.recovering()),
        "srtt" => seconds(s.tcb.rto.srtt()),
        "rttvar" => seconds(s.tcb.rto.rttvar()),
        "rto" => seconds(s.tcb.rto.timeout()),
        "spurious_detected" => flag(found_spurious(harness)),
        _ => None,
    }
}

/// Names of values in the notation; a TCP need not keep each.
const NAMES: &[&str] = &[
    "cwnd_mss",
    "ssthresh_mss",
    "pipe_mss",
    "awnd_mss",
    "in_recovery",
    "lost_segments",
    "srtt",
    "rttvar",
    "rto",
    "spurious_detected",
];

/// Name of the value in a key, and its bound.
fn bound_of(key: &str) -> (&str, Bound) {
    match key {
        k if k.ends_with("_min") => (&k[..k.len() - 4], Bound::Least),
        k if k.ends_with("_max") => (&k[..k.len() - 4], Bound::Most),
        k => (k, Bound::Exactly),
    }
}

/// Whether the notation has a value of this key.
pub(crate) fn knows(key: &str) -> bool {
    NAMES.contains(&bound_of(key).0)
}

/// Whether the last of verdicts, first timeouts and fast retransmits is a verdict of spurious.
fn found_spurious(harness: &TestHarness) -> bool {
    let last = harness.log.iter().rev().find_map(|m| match m.what {
        EventKind::Inside(
            Event::Verdict { spurious, .. } | Event::FastRetransmitVerdict { spurious, .. },
        ) => Some(spurious),
        EventKind::Inside(Event::RtoFired { expirations: 1, .. } | Event::FastRetransmit { .. }) => {
            Some(false)
        }
        _ => None,
    });
    last.unwrap_or(false)
}

/// First value that differs from the expectation: key with the expected value, and the actual value.
pub(crate) fn differs(
    harness: &TestHarness,
    values: &BTreeMap<String, Value>,
) -> Result<(), (String, String)> {
    for (key, expected) in values {
        let (name, bound) = bound_of(key);
        let Some(Shown { value, or, slack }) = show(harness, name) else { continue };
        let number = expected.as_float().or(expected.as_integer().map(|i| i as f64));
        let Some(wanted) = number.or(expected.as_bool().map(|b| f64::from(u8::from(b)))) else {
            return Err((format!("{key} = {expected}"), "that is neither a number nor true or false".into()));
        };
        let slack = slack.max(1e-9);
        let good = |value: f64| match bound {
            Bound::Least => value > wanted - slack,
            Bound::Most => value < wanted + slack,
            Bound::Exactly => (value - wanted).abs() < slack,
        };
        if !good(value) && !good(or) {
            let seen = match (expected.is_bool(), value > 0.0) {
                (true, yes) => yes.to_string(),
                (false, _) => number_of(value),
            };
            return Err((format!("{key} = {expected}"), format!("{name} is {seen}")));
        }
    }
    Ok(())
}

enum Bound {
    Least,
    Most,
    Exactly,
}

/// The number with at most four decimals, without trailing zeros.
fn number_of(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
