//! Summary of a measurement log (`TestOutcome`): metrics with statistics for each test, retransmissions, conditions of
//! transfers with pauses, JSON document.

use crate::cause::Cause;
use crate::entry::{Disconnection, Entry, LinkCommand, Run, StartEntry};
use crate::flow::Pause;
use crate::kernel::Kernel;
use crate::modem::{ModemEvent, cause_of_silence};
use crate::plan::Test;
use crate::probe;
use base::alternation::{Alternation, alternation};
use results::Summary;
use serde_json::{Map, Value, json};

/// Schema identifier of the JSON document.
pub const SCHEMA: &str = "williwaw-measure/1";
/// Share of retransmitted segments above which a repetition counts as heavily retransmitted, as in the published HSCSD
/// and GPRS measurements.
const HEAVY: f64 = 1.0 / 3.0;

/// Metric over the repetitions of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Name with its unit at the end (`throughput_bps`).
    pub name: &'static str,
    /// Mean, confidence interval and percentiles.
    pub summary: Summary,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Whether the values are lower bounds: a buffer that may not have been full.
    pub at_least: bool,
}

/// Results of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestResults {
    /// Name of the test.
    pub name: String,
    /// Planned repetitions.
    pub planned: u32,
    /// Completed repetitions.
    pub done: usize,
    /// Connections lost during a repetition.
    pub broken: usize,
    /// Metrics.
    pub metrics: Vec<Measured>,
    /// Share of repetitions with more than a third of the segments retransmitted; None without kernel statistics.
    pub heavy: Option<f64>,
    /// Conditions of transfers with pauses; None without pauses or without kernel statistics.
    pub paused: Option<Paused>,
    /// Alternation of the RTT of small packets between two levels: mean over the repetitions that show it.
    pub alternates: Option<Alternation>,
}

/// Conditions of transfers with pauses, from the kernel statistics of both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paused {
    /// Number of pauses in all repetitions.
    pub pauses: usize,
    /// Data were lost; None: the retransmissions are neither all unneeded nor all needed.
    pub lossy: Option<bool>,
    /// Throughput outside of the pauses, bit/s, of the repetition with the smallest share of pauses. Data that wait
    /// behind a lost segment are a pause for the receiver while the link carries them. With losses, the rate is
    /// therefore None if pauses last more than a quarter of the remaining time.
    pub rate_bps: Option<f64>,
    /// Largest final receive window over the repetitions, segments.
    pub window_segments: Option<f64>,
}

/// Results of a measurement.
#[derive(Clone, Debug)]
pub struct TestOutcome<'a> {
    begin: &'a StartEntry,
    runs: Vec<Run>,
    /// Lost or failed connections, in order.
    pub disconnections: Vec<&'a Disconnection>,
    /// Commands that set up and released the link.
    pub link: Vec<&'a LinkCommand>,
    /// Events of the modem, in order.
    pub modem: Vec<ModemEvent>,
    /// The plan was completed.
    pub complete: bool,
    end: Value,
    /// Results of each step of the plan.
    pub tests: Vec<TestResults>,
}

impl<'a> TestOutcome<'a> {
    /// Summary of log entries; None if the first is not [`Entry::Begin`].
    pub fn of(entries: &'a [Entry]) -> Option<TestOutcome<'a>> {
        let Some(Entry::Begin(begin)) = entries.first() else { return None };
        let (mut runs, mut disconnections, mut complete, mut end) = (vec![], vec![], false, Value::Null);
        let (mut link, mut modem) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::Begin(_) => {}
                Entry::Link(command) => link.push(command),
                Entry::Modem(event) => modem.push(event.clone()),
                Entry::Run(run) => runs.push(run.as_ref().clone()),
                Entry::Account(account) => {
                    let of: Option<&mut Run> = runs.get_mut(account.run);
                    if let Some(run) = of.filter(|_| !account.info.is_empty()) {
                        run.server.kernel.info.clone_from(&account.info);
                        run.server.closed = true;
                    }
                }
                Entry::Disconnection(lost) => disconnections.push(lost),
                Entry::End(last) => {
                    complete = last.complete;
                    end = json!({
                        "t": last.t, "counters": last.counters, "capture_missed": last.capture_missed,
                        "others": last.others,
                    });
                }
            }
        }
        let steps = begin.plan.steps.iter().enumerate();
        let tests = steps
            .map(|(i, step)| {
                let own: Vec<&Run> = runs.iter().filter(|run| run.step == i).collect();
                tested(&step.test, step.repetitions, &own)
            })
            .collect();
        Some(TestOutcome { begin, runs, disconnections, link, modem, complete, end, tests })
    }

    /// Number of pauses by the cause that the modem shows, in the order of [`Cause::ALL`]; without a modem empty.
    pub fn pauses_by_cause(&self) -> Vec<(Cause, usize)> {
        if self.modem.is_empty() {
            return Vec::new();
        }
        let pauses = self.runs.iter().flat_map(|run| &run.pauses);
        let shown = |pause: &Pause| cause_of_silence(&self.modem, pause.t, pause.until);
        let causes: Vec<Cause> =
            pauses.map(|pause| shown(pause).map_or(Cause::Unknown, |(cause, _)| cause)).collect();
        let count = |cause| (cause, causes.iter().filter(|found| **found == cause).count());
        Cause::ALL.into_iter().map(count).filter(|(_, n)| *n > 0).collect()
    }

    /// JSON document of `measure --json`.
    pub fn document(&self) -> Value {
        let tests: Vec<Value> = self.begin.plan.steps.iter().zip(&self.tests).enumerate().map(|(i, (step, tested))| {
            let metrics: Map<String, Value> =
                tested.metrics.iter().map(|m| (m.name.to_owned(), metric(m))).collect();
            json!({
                "name": tested.name,
                "test": step.test,
                "repetitions": { "planned": tested.planned, "done": tested.done, "broken": tested.broken },
                "metrics": metrics,
                "heavy_retransmission_share": tested.heavy,
                "paused": tested.paused.map(|p| json!({
                    "pauses": p.pauses, "lossy": p.lossy, "rate_bps": p.rate_bps, "window_segments": p.window_segments,
                })),
                "alternates": tested.alternates.map(|a| json!({ "low_s": a.low, "high_s": a.high, "share": a.share })),
                "runs": self.runs.iter().filter(|run| run.step == i).collect::<Vec<_>>(),
            })
        }).collect();
        let pauses: Vec<Value> = self
            .runs
            .iter()
            .flat_map(|run| run.pauses.iter().map(move |pause| (run, pause)))
            .map(|(run, pause)| {
                let silence = format!("no byte for {:.1} s", pause.until - pause.t);
                let (cause, evidence) = match cause_of_silence(&self.modem, pause.t, pause.until) {
                    Some((cause, shown)) => (cause, format!("{silence}; {shown}")),
                    None => (Cause::Unknown, silence),
                };
                json!({ "t": pause.t, "until": pause.until, "kind": "pause", "cause": cause, "evidence": evidence,
                        "step": run.step, "repetition": run.repetition })
            })
            .collect();
        let StartEntry { started, server, address, client_name, server_name, settings, plan, .. } =
            self.begin;
        json!({
            "schema": SCHEMA,
            "started": started,
            "complete": self.complete,
            "server": { "asked": server, "address": address, "name": server_name },
            "client": { "name": client_name, "settings": settings },
            "socket": plan.socket,
            "tests": tests,
            "disconnections": self.disconnections,
            "link": self.link,
            "modem": self.modem,
            "pauses": pauses,
            "end": self.end,
        })
    }
}

fn metric(m: &Measured) -> Value {
    let mut out = results::json::summary_document(Some(&m.summary));
    out["min"] = json!(m.min);
    out["max"] = json!(m.max);
    out
}

fn tested(test: &Test, planned: u32, runs: &[&Run]) -> TestResults {
    let whole: Vec<&Run> = runs.iter().copied().filter(|run| run.complete).collect();
    let mut metrics = Vec::new();
    let mut add = |name, values: Vec<f64>| metrics.extend(measured(name, &values));
    let each =
        |value: fn(&Run) -> Option<f64>| whole.iter().filter_map(|run| value(run)).collect::<Vec<f64>>();
    match test {
        Test::Bulk { .. } | Test::Buffer { .. } => {
            add(
                "throughput_bps",
                each(|run| Some(run.bytes as f64 * 8.0 / run.seconds.filter(|s| *s > 0.0)?)),
            );
            add("download_time_s", each(|run| run.seconds));
        }
        // Complete transactions of an interrupted sequence count as well.
        Test::Transactions { .. } => {
            add("response_time_s", runs.iter().flat_map(|run| run.response_s.iter().copied()).collect());
        }
        Test::Echo { .. } => {}
    }
    if matches!(test, Test::Buffer { .. }) {
        add("buffer_bytes", each(|run| Some(run.buffer?.bytes)));
        add("rtt_idle_s", each(|run| Some(run.buffer?.idle_s)));
        add("rtt_loaded_s", each(|run| Some(run.buffer?.loaded_s)));
    }
    if matches!(test, Test::Echo { .. }) {
        add("rtt_s", runs.iter().flat_map(|run| run.rtt_s.iter().copied()).collect());
        add("jitter_s", each(|run| probe::jitter(&run.rtt_s)));
        add("lost_share", each(|run| Some(1.0 - run.rtt_s.len() as f64 / f64::from(run.probes.max(1)))));
    }
    let kernels = whole.iter().any(|run| run.client.spoke());
    if kernels && !matches!(test, Test::Echo { .. }) {
        add("segments_sent", each(|run| Some(segments(run).0)));
        add("segments_retransmitted", each(|run| Some(segments(run).1)));
    }
    // A mean over a lower bound is one too.
    let bounded = whole.iter().any(|run| run.buffer.is_some_and(|buffer| buffer.at_least));
    if let Some(buffer) = metrics.iter_mut().find(|metric| metric.name == "buffer_bytes") {
        buffer.at_least = bounded;
    }
    let heavy = whole.iter().filter(|run| segments(run).1 > HEAVY * segments(run).0).count();
    TestResults {
        name: test.name(),
        planned,
        done: whole.len(),
        broken: runs.len() - whole.len(),
        metrics,
        paused: if matches!(test, Test::Bulk { .. }) { paused(&whole) } else { None },
        alternates: if matches!(test, Test::Echo { .. }) { alternates(&whole) } else { None },
        heavy: (kernels && !whole.is_empty()).then(|| heavy as f64 / whole.len() as f64),
    }
}

/// Mean alternation, if more than half of the repetitions show one.
fn alternates(runs: &[&Run]) -> Option<Alternation> {
    let in_order = |run: &&Run| {
        let mut sent: Vec<(f64, f64)> = run.rtt_t.iter().copied().zip(run.rtt_s.iter().copied()).collect();
        sent.sort_by(|a, b| a.0.total_cmp(&b.0));
        alternation(&sent.into_iter().map(|(_, s)| s).collect::<Vec<_>>())
    };
    let found: Vec<Alternation> = runs.iter().filter_map(in_order).collect();
    let n = found.len() as f64;
    let mean = |of: fn(&Alternation) -> f64| found.iter().map(of).sum::<f64>() / n;
    (found.len() * 2 > runs.len()).then(|| Alternation {
        low: mean(|a| a.low),
        high: mean(|a| a.high),
        share: mean(|a| a.share),
        triples: found.iter().map(|a| a.triples).sum(),
    })
}

/// `TCPI_OPT_SACK` of `include/uapi/linux/tcp.h`.
const OPTION_SACK: u64 = 2;

/// Number of retransmitted data segments. Handshake retransmissions precede the first sample of the connection, and
/// duplicates of a SYN are not reported.
fn resent(kernel: &Kernel) -> u64 {
    if kernel.info.get("bytes_retrans") == Some(&0) {
        return 0;
    }
    let handshake = kernel.history.first().map_or(0, |look| u64::from(look.retransmissions));
    kernel.get("total_retrans").saturating_sub(handshake)
}

/// Whether data of a transfer were lost; None: the retransmissions are neither all unneeded nor all needed.
fn lost(run: &Run) -> Option<bool> {
    if !run.client.spoke() || !run.server.kernel.spoke() {
        return None;
    }
    let ends = [&run.client, &run.server.kernel].map(|kernel| (resent(kernel), kernel.get("dsack_dups")));
    let reports = run.client.get("options") & OPTION_SACK != 0;
    // Duplicate reports to an end without retransmitted data concern its SYN.
    let unneeded: u64 = ends.iter().map(|(resent, reported)| (*reported).min(*resent)).sum();
    match (ends.iter().map(|(resent, _)| resent).sum(), unneeded) {
        (0, _) => Some(false),
        // A receiver with SACK reports each duplicate (RFC 2883). Reports may be lost, so a smaller number is
        // inconclusive.
        (resent, unneeded) if reports && unneeded >= resent => Some(false),
        (_, 0) if reports => Some(true),
        _ => None,
    }
}

/// Largest ratio of pauses to remaining time at which the rate is known despite losses.
const HELD: f64 = 0.25;

fn paused(runs: &[&Run]) -> Option<Paused> {
    let pauses = runs.iter().map(|run| run.pauses.len()).sum();
    if pauses == 0 || !runs.iter().any(|run| run.client.spoke() && run.server.kernel.spoke()) {
        return None;
    }
    let losses: Vec<Option<bool>> = runs.iter().map(|run| lost(run)).collect();
    let lossy = match losses.iter().flatten().any(|lost| *lost) {
        true => Some(true),
        false => losses.iter().all(Option::is_some).then_some(false),
    };
    let rate = |run: &&Run| {
        let silent: f64 = run.pauses.iter().map(|pause| pause.until - pause.t).sum();
        let moving = run.seconds? - silent;
        let known = lossy == Some(false) || silent <= HELD * moving;
        (moving > 0.0 && known).then(|| (silent / moving, run.bytes as f64 * 8.0 / moving))
    };
    let window = |run: &&Run| {
        let of = |get: &dyn Fn(&str) -> u64| match (get("snd_wnd"), get("snd_mss")) {
            (0, _) | (_, 0) => None,
            // The sender of the data is the end with more data segments.
            (window, mss) => Some((get("data_segs_out"), window as f64 / mss as f64)),
        };
        let ends = [of(&|name| run.client.get(name)), of(&|name| run.server.kernel.get(name))];
        ends.into_iter().flatten().max_by_key(|(sent, _)| *sent).map(|(_, window)| window)
    };
    Some(Paused {
        pauses,
        lossy,
        rate_bps: runs.iter().filter_map(rate).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, rate)| rate),
        window_segments: runs.iter().filter_map(window).max_by(f64::total_cmp),
    })
}

/// Data segments sent by both ends, and retransmitted segments, by kernel statistics.
fn segments(run: &Run) -> (f64, f64) {
    let both = |name: &str| (run.client.get(name) + run.server.kernel.get(name)) as f64;
    (both("data_segs_out"), both("total_retrans"))
}

fn measured(name: &'static str, values: &[f64]) -> Option<Measured> {
    let summary = Summary::of(values)?;
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Measured { name, summary, min, max, at_least: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::InfoSample;

    /// Transfer down: the server's kernel is the sender.
    fn transfer(resent: u64, unneeded: u64, options: u64) -> Run {
        let mut run = Run { complete: true, seconds: Some(32.0), bytes: 100_000, ..Run::default() };
        run.pauses.push(Pause { t: 10.0, until: 22.0 });
        let told = |fields: &[(&str, u64)]| fields.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
        run.client.info =
            told(&[("options", options), ("snd_mss", 536), ("snd_wnd", 65_536), ("data_segs_out", 1)]);
        run.server.kernel.info = told(&[
            ("total_retrans", resent),
            ("dsack_dups", unneeded),
            ("snd_mss", 536),
            ("snd_wnd", 32_160),
            ("data_segs_out", 190),
        ]);
        run
    }

    /// SC-08: conditions of a measured path.
    #[test]
    fn sc_08_pauses_tell_loss_rate_and_window() {
        let of = |resent, unneeded, options| paused(&[&transfer(resent, unneeded, options)]);
        let found = of(0, 0, OPTION_SACK).unwrap();
        assert_eq!((found.pauses, found.lossy), (1, Some(false)));
        // 100 kB in the 20 s outside of the pause; window offered to the sender of the data.
        assert_eq!((found.rate_bps, found.window_segments), (Some(40_000.0), Some(60.0)));
        for (resent, unneeded, options, lossy) in [
            (19, 19, OPTION_SACK, Some(false)),
            (19, 0, OPTION_SACK, Some(true)),
            (19, 12, OPTION_SACK, None),
            (19, 0, 0, None),
        ] {
            assert_eq!(of(resent, unneeded, options).unwrap().lossy, lossy, "{resent} {unneeded}");
        }
        // Handshake counters of the kernel are not data: a SYN was sent three times and reported, a SYN-ACK twice.
        let mut late = transfer(3, 1, OPTION_SACK);
        let syn = |retransmissions| InfoSample { retransmissions, ..InfoSample::default() };
        late.server.kernel.history.push(syn(2));
        late.client.history.push(syn(3));
        late.client.info.extend([("total_retrans", 3), ("dsack_dups", 2)].map(|(k, v)| (k.to_owned(), v)));
        assert_eq!(paused(&[&late]).unwrap().lossy, Some(false));
        late.server.kernel.info.insert("dsack_dups".to_owned(), 0);
        assert_eq!(
            paused(&[&late]).unwrap().lossy,
            Some(true),
            "no report of the segment that was sent again"
        );
        // One transfer with a loss decides; a transfer without a verdict does not override it.
        let (clean, open, lossy) =
            (transfer(4, 4, OPTION_SACK), transfer(4, 2, OPTION_SACK), transfer(4, 0, OPTION_SACK));
        assert_eq!(paused(&[&clean, &open, &lossy]).unwrap().lossy, Some(true));
        assert_eq!(paused(&[&clean, &open]).unwrap().lossy, None);
        // Data wait behind a gap while the link carries others: the transfer with the shorter pause determines the
        // rate.
        let mut hole = transfer(4, 0, OPTION_SACK);
        (hole.seconds, hole.pauses[0].until) = (Some(26.0), 15.0);
        let long = transfer(4, 0, OPTION_SACK);
        assert_eq!(paused(&[&long, &hole]).unwrap().rate_bps, Some(100_000.0 * 8.0 / 21.0));
        assert_eq!(paused(&[&long]).unwrap().rate_bps, None);
        let quiet = Run { pauses: Vec::new(), ..transfer(0, 0, OPTION_SACK) };
        assert_eq!(paused(&[&quiet]), None);
    }
}
