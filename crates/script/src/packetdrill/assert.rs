//! Assertions on `tcp_info` in packetdrill scripts: `assert tcpi_snd_cwnd == 10, 'message'`.
//!
//! Other statements are reported as unsupported.

use crate::harness::TestHarness;

/// A failed assertion: its text, and the actual value.
pub(super) type Broken = (String, String);

/// Checks all statements of a piece of code. `Err` of the outer result: a statement is not supported.
pub(super) fn check(code: &str, harness: &TestHarness) -> Result<Result<(), Broken>, String> {
    // A statement ends with its line unless the line ends with a comma or a backslash.
    let mut statements: Vec<String> = Vec::new();
    let mut open = false;
    for line in code.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        for part in line.split(';').map(str::trim).filter(|p| !p.is_empty()) {
            match statements.last_mut() {
                Some(last) if open => *last += &format!(" {part}"),
                _ => statements.push(part.to_owned()),
            }
            open = part.ends_with([',', '\\', '(']);
        }
    }
    for statement in &statements {
        if statement.starts_with("print") {
            continue;
        }
        let Some(claim) = statement.strip_prefix("assert") else { return Err(format!("`{statement}`")) };
        // The text after the first comma is the message.
        let claim = claim.split(',').next().unwrap_or_default().trim();
        let claim = claim.strip_prefix('(').and_then(|c| c.strip_suffix(')')).unwrap_or(claim);
        for part in claim.split(" and ") {
            if let Some(broken) = compare(part.trim(), harness)? {
                return Ok(Err(broken));
            }
        }
    }
    Ok(Ok(()))
}

fn compare(claim: &str, harness: &TestHarness) -> Result<Option<Broken>, String> {
    let not_understood = || format!("`assert {claim}`");
    let signs = ["==", "!=", "<=", ">=", "<", ">"];
    let (sign, at) =
        signs.iter().find_map(|s| claim.find(s).map(|at| (*s, at))).ok_or_else(not_understood)?;
    let (name, rest) = (claim[..at].trim(), claim[at + sign.len()..].trim());
    let wanted = match STATES.iter().position(|state| *state == rest) {
        Some(state) => state as f64,
        None => rest.parse().map_err(|_| not_understood())?,
    };
    let seen = value(name, harness).ok_or_else(not_understood)?;
    let holds = match sign {
        "==" => (seen - wanted).abs() < 0.5,
        "!=" => (seen - wanted).abs() >= 0.5,
        "<=" => seen <= wanted,
        ">=" => seen >= wanted,
        "<" => seen < wanted,
        _ => seen > wanted,
    };
    Ok((!holds).then(|| (claim.to_owned(), format!("{name} is {seen}"))))
}

/// Congestion states of Linux by number (`enum tcp_ca_state`).
const STATES: [&str; 5] = ["TCP_CA_Open", "TCP_CA_Disorder", "TCP_CA_CWR", "TCP_CA_Recovery", "TCP_CA_Loss"];

/// Fields of `tcp_info`: counts in whole segments, times in microseconds.
fn value(name: &str, harness: &TestHarness) -> Option<f64> {
    let s = &harness.connection.sender;
    let mss = f64::from(s.config().mss);
    let micros = |span: base::Span| (span.as_nanos() / 1000) as f64;
    Some(match name {
        "tcpi_snd_cwnd" => (s.tcb.window.cwnd / mss).floor(),
        // Linux reports this value before ssthresh is set.
        "tcpi_snd_ssthresh" if s.tcb.window.ssthresh.is_infinite() => f64::from(i32::MAX),
        "tcpi_snd_ssthresh" => (s.tcb.window.ssthresh / mss).floor(),
        "tcpi_unacked" => (s.flight() as f64 / mss).ceil(),
        "tcpi_sacked" => (s.tcb.scoreboard.bytes() as f64 / mss).ceil(),
        // Linux counts a lost segment as lost until it is acknowledged, even after its retransmission.
        "tcpi_lost" => {
            let records = s.tcb.sent.as_ref()?.records().iter();
            records.filter(|r| !r.sacked && (r.lost || (r.resent && s.recovering()))).count() as f64
        }
        "tcpi_ca_state" if s.recovering() => 3.0,
        "tcpi_ca_state" if s.nxt() < s.max_sent() => 4.0,
        "tcpi_ca_state" => f64::from(u8::from(!s.tcb.scoreboard.is_empty())),
        "tcpi_snd_mss" => mss,
        "tcpi_rtt" => micros(s.tcb.rto.srtt()),
        "tcpi_rttvar" => micros(s.tcb.rto.rttvar()),
        "tcpi_rto" => micros(s.tcb.rto.timeout()),
        _ => return None,
    })
}
