//! Agreement of the TCP model with the Linux kernel on the same path: cases, results of both sides, differences,
//! tables and traces side by side.
//!
//! The kernel runs in real time, the model in virtual time. A case sets options of both. Kernel results are recorded
//! with the kernel version, so that the comparison needs no privileges.

mod error;
pub(crate) mod traces;

pub use error::AgreementError;

use base::event::{Event, Record};
use base::{Span, Time};
use lab::once::run_once;
use scenario::metric::Metric;
use scenario::{Model, NoFiles, Style};
use std::fmt::Write as _;

/// Scenario of all cases.
pub const SCENARIO: &str = include_str!("../../agreement/scenario.toml");
/// Cases with their options (TOML).
pub const CASES: &str = include_str!("../../agreement/cases.toml");

/// Case: overrides of the scenario for both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Name.
    pub name: String,
    /// Description.
    pub about: String,
    /// `KEY=VALUE` overrides for the kernel.
    pub linux: Vec<String>,
    /// `KEY=VALUE` overrides for the model.
    pub tcp: Vec<String>,
    /// TCP profile of the model.
    pub profile: String,
    /// Known difference and its reason.
    pub differs: Option<String>,
}

/// Event at the data sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderEvent {
    /// Time, seconds from t = 0.
    pub t: f64,
    /// Kind of event.
    pub what: SenderEventKind,
}

/// Kind of event at the data sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderEventKind {
    /// A data segment was sent: first byte, length, whether it is a retransmission.
    Data(u64, u32, bool),
    /// An ACK arrived: cumulative ACK, window in bytes.
    Ack(u64, u32),
    /// The retransmission timer expired; reported by the model only.
    Timeout,
    /// Verdict of the spurious-timeout detection (true: spurious); reported by the model only.
    Verdict(bool),
    /// New state of the kernel: cwnd and ssthresh in segments, congestion control state, RTO in ms.
    State(u32, u32, u8, u32),
}

base::named! {
    /// Verdict of a sender on its own retransmissions.
    pub enum SenderVerdict {
        /// No retransmissions.
        None = "none",
        /// The sender undid its response, so it judged a retransmission spurious.
        Spurious = "spurious",
        /// The sender undid no response.
        Genuine = "genuine",
    }
}

/// Result of kernel or model.
#[derive(Clone, Debug, PartialEq)]
pub struct SideResult {
    /// Time from the start to the last byte at the receiver, s; None: not within the limit.
    pub download_time_s: Option<f64>,
    /// Number of data segments.
    pub segments: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Unneeded retransmissions.
    pub unneeded: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Verdict of the sender on its retransmissions.
    pub kind: SenderVerdict,
    /// Events, ascending in time.
    pub lines: Vec<SenderEvent>,
}

/// Difference between model and kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Difference of the download times, relative to the kernel's.
    pub time: Option<f64>,
    /// Descriptions of the mismatches.
    pub what: Vec<String>,
}

/// Tolerated difference of the download times, relative to the kernel's.
pub const TIME: f64 = 0.10;

impl SideResult {
    /// Compares the model with kernel runs. Real-time runs differ, so a match with any of them suffices for counts.
    pub fn against(&self, kernels: &[SideResult]) -> Difference {
        let mut what = Vec::new();
        let counts: Vec<u64> = kernels.iter().map(|k| k.retransmissions).collect();
        if !counts.contains(&self.retransmissions) {
            what.push(format!("{} retransmissions, not {}", self.retransmissions, list(&counts)));
        }
        let kinds: Vec<&str> = kernels.iter().map(|k| k.kind.name()).collect();
        if !kinds.contains(&self.kind.name()) {
            what.push(format!("judged {}, not {}", self.kind, list(&kinds)));
        }
        let times: Vec<f64> = kernels.iter().filter_map(|k| k.download_time_s).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let time = self.download_time_s.filter(|_| !times.is_empty()).map(|t| t / mean - 1.0);
        match time {
            Some(share) if share.abs() <= TIME => {}
            Some(share) => what.push(format!("takes {:+.0} % of the time", share * 100.0)),
            None => what.push("was not done".into()),
        }
        Difference { time, what }
    }
}

fn list(all: &[impl ToString + PartialEq]) -> String {
    let mut out: Vec<String> = all.iter().map(ToString::to_string).collect();
    out.dedup();
    out.join(" or ")
}

fn text_of(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |s| format!("{s:?}"))
}

/// Parses the cases.
///
/// # Errors
/// The text is invalid: the reason.
pub fn cases(text: &str) -> Result<Vec<Case>, AgreementError> {
    let root: toml::Table = text.parse()?;
    let empty = toml::Table::new();
    let sub =
        |t: &toml::Table, key: &str| t.get(key).and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let word = |t: &toml::Table, key: &str| {
        let value = t.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        value.ok_or_else(|| AgreementError::Missing(key.to_owned()))
    };
    let (profile, cc) = (word(&root, "profile")?, word(&root, "cc")?);
    let mut out = Vec::new();
    for case in root.get("case").and_then(toml::Value::as_array).into_iter().flatten() {
        let case = case.as_table().unwrap_or(&empty);
        let name = word(case, "name")?;
        let both: Vec<String> = case
            .get("both")
            .and_then(toml::Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect();
        let mut settings = sub(&root, "linux");
        settings.extend(sub(case, "linux"));
        let mut options = sub(&root, "tcp");
        options.extend(sub(case, "tcp"));
        // The kernel subtracts the timestamp option from the MSS; `mss` of the model is the payload.
        if !options.contains_key("mss") {
            let on = options.get("timestamps").and_then(toml::Value::as_bool).unwrap_or(true);
            options.insert("mss".into(), toml::Value::String(if on { "1448 B" } else { "1460 B" }.into()));
        }
        let flow = "flow.download.transport";
        let mut linux = both.clone();
        linux.push(format!("{flow}.linux.cc={cc:?}"));
        linux.extend(settings.iter().map(|(k, v)| format!("{flow}.linux.sysctl.{k}={}", text_of(v))));
        let mut tcp = both;
        tcp.push(format!("{flow}.tcp.profile={profile:?}"));
        tcp.extend(options.iter().map(|(k, v)| format!("{flow}.tcp.{k}={}", text_of(v))));
        let differs = word(case, "differs").ok();
        out.push(Case { name, about: word(case, "about")?, linux, tcp, profile: profile.clone(), differs });
    }
    Ok(out)
}

/// Model of the scenario with the overrides `set`.
///
/// # Errors
/// Invalid case, for example an option unknown to this build.
pub fn model(set: &[String]) -> Result<Model, AgreementError> {
    let read = scenario::read_with("agreement/scenario.toml", SCENARIO.as_bytes(), &NoFiles, set);
    read.map(|s| s.first().clone()).map_err(|d| AgreementError::Scenario(d.render(Style::default())))
}

/// Result of the model in a case.
///
/// # Errors
/// As [`model`].
pub fn by_model(case: &Case) -> Result<SideResult, AgreementError> {
    let model = model(&case.tcp)?;
    let mut outcome = run_once(&model, 0, lab::once::Options { trace: true, shuffle_ties: None });
    let records = outcome.world.network.tracer().take();
    let from = outcome.world.flows[0].from;
    let lines = lines(&records, from.0, &[]);
    let judged = lines.iter().any(|l| l.what == SenderEventKind::Verdict(true));
    let host = outcome.world.network.element::<host::Host>(from);
    let timeouts = host.map_or(0, |h| h.counters().expirations);
    Ok(deed(&outcome.flows[0], timeouts, judged, lines))
}

/// Result of the kernel in a case.
///
/// # Errors
/// As [`model`], errors of [`crate::once`], or a run that is not faithful.
pub fn by_kernel(case: &Case) -> Result<SideResult, AgreementError> {
    let model = model(&case.linux)?;
    let never = std::sync::atomic::AtomicBool::new(false);
    // Slow links are insensitive: a lateness of milliseconds changes no count.
    let options =
        crate::Options { trace: true, lateness_limit: Span::from_millis(20), ..crate::Options::default() };
    let outcome = crate::once(&model, 0, &options, &never)?;
    if let Some(why) = outcome.unfaithful(&options) {
        return Err(AgreementError::Unfaithful(why));
    }
    let facts = outcome.facts[0].clone().unwrap_or_default();
    let from = outcome.ran.world.flows[0].from;
    let lines = lines(outcome.ran.world.network.records(), from.0, &facts.history);
    Ok(deed(&outcome.ran.flows[0], facts.counter("TCPTimeouts"), facts.undone(), lines))
}

fn deed(
    measures: &lab::measure::FlowMeasures,
    timeouts: u64,
    took_back: bool,
    lines: Vec<SenderEvent>,
) -> SideResult {
    let count = |metric| measures.get(metric).unwrap_or(0.0) as u64;
    let retransmissions = count(Metric::SegmentsRetransmitted);
    let kind = match (retransmissions, took_back) {
        (0, _) => SenderVerdict::None,
        (_, true) => SenderVerdict::Spurious,
        (_, false) => SenderVerdict::Genuine,
    };
    SideResult {
        download_time_s: measures.get(Metric::DownloadTime),
        segments: count(Metric::SegmentsSent),
        retransmissions,
        unneeded: count(Metric::UnneededRetransmissions),
        timeouts,
        kind,
        lines,
    }
}

/// Events at the data sender: from the trace of its host or packet port, and from `TCP_INFO` samples.
pub fn lines(records: &[Record], from: u32, history: &[(f64, netns::facts::TcpInfo)]) -> Vec<SenderEvent> {
    let mut out = Vec::new();
    let mut high = 0;
    for record in records.iter().filter(|r| r.source.0 == from) {
        let what = match record.event {
            Event::DataSent { seq, len, .. } => {
                let again = seq < high;
                high = high.max(seq + u64::from(len));
                SenderEventKind::Data(seq, len, again)
            }
            Event::AckReceived { ack, window, .. } => SenderEventKind::Ack(ack, window),
            Event::RtoFired { .. } => SenderEventKind::Timeout,
            Event::Verdict { spurious, .. } => SenderEventKind::Verdict(spurious),
            _ => continue,
        };
        out.push(SenderEvent { t: secs(record.t), what });
    }
    for (t, i) in history {
        out.push(SenderEvent {
            t: *t,
            what: SenderEventKind::State(i.snd_cwnd, i.snd_ssthresh, i.ca_state, i.rto / 1000),
        });
    }
    out.sort_by(|a, b| a.t.total_cmp(&b.t));
    out
}

fn secs(t: Time) -> f64 {
    t.as_secs_f64()
}

/// Formats events, one per line.
pub fn write_lines(lines: &[SenderEvent]) -> String {
    let mut out = String::new();
    for line in lines {
        let _ = match line.what {
            SenderEventKind::Data(seq, len, again) => {
                writeln!(out, "{:.6} data {seq} {len}{}", line.t, if again { " again" } else { "" })
            }
            SenderEventKind::Ack(ack, window) => writeln!(out, "{:.6} ack {ack} {window}", line.t),
            SenderEventKind::Timeout => writeln!(out, "{:.6} timeout", line.t),
            SenderEventKind::Verdict(spurious) => writeln!(out, "{:.6} verdict {spurious}", line.t),
            SenderEventKind::State(cwnd, ssthresh, ca, rto) => {
                writeln!(out, "{:.6} state {cwnd} {ssthresh} {ca} {rto}", line.t)
            }
        };
    }
    out
}

/// Parses the output of [`write_lines`]; invalid lines are skipped.
pub fn read_lines(text: &str) -> Vec<SenderEvent> {
    let line = |l: &str| {
        let mut words = l.split_whitespace();
        let t = words.next()?.parse().ok()?;
        let kind = words.next()?;
        let rest: Vec<&str> = words.collect();
        let number = |i: usize| rest.get(i)?.parse::<u64>().ok();
        let what = match kind {
            "data" => SenderEventKind::Data(number(0)?, number(1)? as u32, rest.get(2) == Some(&"again")),
            "ack" => SenderEventKind::Ack(number(0)?, number(1)? as u32),
            "timeout" => SenderEventKind::Timeout,
            "verdict" => SenderEventKind::Verdict(rest.first() == Some(&"true")),
            "state" => SenderEventKind::State(
                number(0)? as u32,
                number(1)? as u32,
                number(2)? as u8,
                number(3)? as u32,
            ),
            _ => return None,
        };
        Some(SenderEvent { t, what })
    };
    text.lines().filter_map(line).collect()
}

/// A data segment and the events before it.
#[derive(Default)]
struct Step {
    notes: Vec<String>,
    segment: Option<(f64, u64, u32, bool)>,
}

impl Step {
    fn text(&self) -> String {
        self.segment.map_or(String::new(), |(t, seq, len, again)| {
            format!("{t:10.4}  {seq}..{}{}", seq + u64::from(len), if again { "  again" } else { "" })
        })
    }
}

/// Groups the events by data segment; events after the last segment form a step without a segment.
fn steps(lines: &[SenderEvent]) -> Vec<Step> {
    let mut out = Vec::new();
    let mut step = Step::default();
    for line in lines {
        if let SenderEventKind::Data(seq, len, again) = line.what {
            step.segment = Some((line.t, seq, len, again));
            out.push(std::mem::take(&mut step));
        } else {
            step.notes.push(note(line));
        }
    }
    out.push(step);
    out
}

/// Events of both sides in two columns, by data segment: kernel left, model right, with a mark at differences. Events
/// between two segments precede the later segment.
pub fn side_by_side(kernel: &[SenderEvent], model: &[SenderEvent]) -> String {
    let (left, right) = (steps(kernel), steps(model));
    let mut out = format!("{:>4}  {:<46}  {:<46}\n", "", "kernel", "model");
    let nothing = Step::default();
    for i in 0..left.len().max(right.len()) {
        let (a, b) = (left.get(i).unwrap_or(&nothing), right.get(i).unwrap_or(&nothing));
        for k in 0..a.notes.len().max(b.notes.len()) {
            let at = |step: &Step| step.notes.get(k).cloned().unwrap_or_default();
            let _ = writeln!(out, "{:>4}  {:<46}  {}", "", at(a), at(b));
        }
        let apart = match (a.segment, b.segment) {
            (None, None) => continue,
            (Some(x), Some(y)) if (x.1, x.2) == (y.1, y.2) => format!("{:+.3} s", y.0 - x.0),
            _ => "<<<".into(),
        };
        let _ = writeln!(out, "{:>4}  {:<46}  {:<40}{apart}", i + 1, a.text(), b.text());
    }
    out
}

fn note(line: &SenderEvent) -> String {
    match line.what {
        SenderEventKind::Ack(ack, window) => format!("{:10.4}      ack {ack} win {window}", line.t),
        SenderEventKind::Timeout => format!("{:10.4}      timeout", line.t),
        SenderEventKind::Verdict(spurious) => {
            format!("{:10.4}      verdict: {}", line.t, if spurious { "spurious" } else { "genuine" })
        }
        SenderEventKind::State(cwnd, ssthresh, ca, rto) => {
            let threshold = if ssthresh > 1 << 30 { "-".into() } else { ssthresh.to_string() };
            format!("{:10.4}      cwnd {cwnd}/{threshold} {} rto {rto} ms", line.t, state(ca))
        }
        SenderEventKind::Data(..) => String::new(),
    }
}

/// Names of the kernel's congestion control states.
fn state(ca: u8) -> &'static str {
    match ca {
        0 => "open",
        1 => "disorder",
        2 => "cwr",
        3 => "recovery",
        _ => "loss",
    }
}

/// Recorded results of the kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedResults {
    /// Version of the kernel recorded last.
    pub kernel: String,
    cases: Vec<(String, Vec<SideResult>)>,
}

/// Recorded results of this build.
const FACTS: &str = include_str!("../../agreement/facts.toml");

/// Parses the recorded results of this build.
///
/// # Errors
/// The text is invalid: the reason.
pub fn facts() -> Result<RecordedResults, AgreementError> {
    RecordedResults::read(FACTS)
}

impl RecordedResults {
    /// Parses the output of [`RecordedResults::write`].
    ///
    /// # Errors
    /// The text is invalid: the reason.
    pub fn read(text: &str) -> Result<RecordedResults, AgreementError> {
        let root: toml::Table = text.parse()?;
        let mut facts = RecordedResults {
            kernel: root.get("kernel").and_then(toml::Value::as_str).unwrap_or_default().to_owned(),
            cases: Vec::new(),
        };
        for (name, runs) in root.get("case").and_then(toml::Value::as_table).into_iter().flatten() {
            let mut deeds = Vec::new();
            for run in runs.as_array().into_iter().flatten() {
                let lacks =
                    |key: &str| AgreementError::Incomplete { case: name.clone(), key: key.to_owned() };
                let count = |key: &str| {
                    let value = run.get(key).and_then(toml::Value::as_integer);
                    value.map(|n| n as u64).ok_or_else(|| lacks(key))
                };
                let kind = run.get("kind").and_then(toml::Value::as_str).and_then(SenderVerdict::from_name);
                deeds.push(SideResult {
                    download_time_s: run.get("download_time_s").and_then(toml::Value::as_float),
                    segments: count("segments")?,
                    retransmissions: count("retransmissions")?,
                    unneeded: count("unneeded")?,
                    timeouts: count("timeouts")?,
                    kind: kind.ok_or_else(|| lacks("kind"))?,
                    lines: Vec::new(),
                });
            }
            facts.cases.push((name.clone(), deeds));
        }
        Ok(facts)
    }

    /// Kernel results of a case; empty if none are recorded.
    pub fn of(&self, case: &str) -> &[SideResult] {
        self.cases.iter().find(|(name, _)| name == case).map_or(&[], |(_, deeds)| deeds)
    }

    /// Events of the first recorded repetition of a case.
    pub fn lines(&self, case: &str) -> Vec<SenderEvent> {
        let traces = self::traces::ALL;
        traces.iter().find(|(name, _)| *name == case).map_or(Vec::new(), |(_, text)| read_lines(text))
    }

    /// Replaces the recorded results of a case.
    pub fn put(&mut self, case: &str, deeds: Vec<SideResult>) {
        self.cases.retain(|(name, _)| name != case);
        self.cases.push((case.to_owned(), deeds));
    }

    /// Formats the recorded results in the order of `cases`; further cases are omitted.
    pub fn write(&self, cases: &[Case]) -> String {
        let mut out = format!(
            "# What Linux did, three times each. Written by the example `agreement`; do not edit.\n\nkernel = {:?}\n",
            self.kernel
        );
        for case in cases {
            let _ = writeln!(out);
            for d in self.of(&case.name) {
                let time = d.download_time_s.map_or(String::new(), |t| format!("download_time_s = {t:.6}\n"));
                let _ = writeln!(
                    out,
                    "[[case.{}]]\n{time}segments = {}\nretransmissions = {}\nunneeded = {}\ntimeouts = {}\nkind = \"{}\"",
                    case.name, d.segments, d.retransmissions, d.unneeded, d.timeouts, d.kind
                );
            }
        }
        out
    }
}

/// Markdown table of recorded kernel results and model results, one row per case.
pub fn table(cases: &[Case], facts: &RecordedResults) -> String {
    let mut out = format!(
        "| case | Linux {}: time | again | timeouts | judged | model: time | again | timeouts | judged | |\n|---|---|---|---|---|---|---|---|---|---|\n",
        facts.kernel
    );
    let time = |d: &SideResult| d.download_time_s.map_or("-".into(), |t| format!("{t:.2} s"));
    for case in cases {
        let kernels = facts.of(&case.name);
        let each = |show: &dyn Fn(&SideResult) -> String| {
            let mut all: Vec<String> = kernels.iter().map(show).collect();
            all.sort();
            all.dedup();
            all.join(", ")
        };
        let _ = write!(
            out,
            "| {} | {} | {} | {} | {} | ",
            case.name,
            each(&time),
            each(&|d| d.retransmissions.to_string()),
            each(&|d| d.timeouts.to_string()),
            each(&|d| d.kind.to_string()),
        );
        let _ = match by_model(case) {
            Ok(m) => {
                let what = m.against(kernels).what;
                let verdict = if what.is_empty() { "agree".to_owned() } else { what.join("; ") };
                writeln!(
                    out,
                    "{} | {} | {} | {} | {verdict} |",
                    time(&m),
                    m.retransmissions,
                    m.timeouts,
                    m.kind
                )
            }
            Err(_) => writeln!(out, "- | - | - | - | not in this build |"),
        };
    }
    out
}

/// Documentation page with the whole comparison.
///
/// # Errors
/// Invalid cases or facts.
pub fn page() -> Result<String, AgreementError> {
    let cases = cases(CASES)?;
    let mut table = table(&cases, &facts()?);
    table.push_str("\nDifferences and their causes:\n\n");
    for case in &cases {
        if let Some(why) = &case.differs {
            let _ = writeln!(table, "- `{}`: {why}.", case.name);
        }
    }
    Ok(include_str!("../../agreement/page.md").replace("TABLE\n", &table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_can_be_read_and_lines_come_back() {
        let cases = cases(CASES).unwrap();
        assert!(cases.len() >= 6);
        for case in &cases {
            let model = model(&case.linux).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            assert!(model.flows[0].transport.linux().is_some());
        }
        let all = vec![
            SenderEvent { t: 1.5, what: SenderEventKind::Data(1449, 1448, true) },
            SenderEvent { t: 1.6, what: SenderEventKind::Ack(1449, 65535) },
            SenderEvent { t: 2.0, what: SenderEventKind::Timeout },
            SenderEvent { t: 2.5, what: SenderEventKind::Verdict(true) },
            SenderEvent { t: 3.0, what: SenderEventKind::State(10, 20, 4, 300) },
        ];
        assert_eq!(read_lines(&write_lines(&all)), all);
    }

    #[test]
    fn where_two_part_is_marked() {
        let data = |t, seq, again| SenderEvent { t, what: SenderEventKind::Data(seq, 100, again) };
        let text = side_by_side(
            &[data(0.0, 1, false), data(1.0, 101, false)],
            &[data(0.1, 1, false), data(1.0, 1, true)],
        );
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("+0.100 s") && lines[2].contains("<<<") && lines[2].contains("again"));
    }
}
