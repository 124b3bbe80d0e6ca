//! Comparison of one download by a kernel and by its TCP model in virtual time: cases, runs, segments of each
//! sender.

use emulate::agreement::{SenderEvent, SenderEventKind, lines};
use scenario::metric::Metric;
use serde::Deserialize;
use std::collections::BTreeMap;
use testkit::Download;

/// Cases of the comparison.
#[derive(Deserialize)]
pub struct Cases {
    model: BTreeMap<String, Vec<String>>,
    path: BTreeMap<String, Path>,
    pub case: Vec<Case>,
}

#[derive(Deserialize)]
pub struct Path {
    bytes: String,
    rate: String,
    delay: String,
}

#[derive(Deserialize)]
pub struct Case {
    pub name: String,
    pub cc: String,
    path: String,
    queue: u32,
    /// Time and duration of the link's outage.
    pause: Option<[String; 2]>,
    /// First segment that differs, and the reason.
    pub differs: Option<String>,
    /// Reason why the times differ by more than the limit.
    pub slower: Option<String>,
}

/// Sender and receiver.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Kernel,
    Model,
}

/// Segments and duration of a run.
pub struct Played {
    pub time: f64,
    pub resent: f64,
    pub lines: Vec<SenderEvent>,
}

pub fn cases() -> Cases {
    toml::from_str(include_str!("../data/beside.toml")).expect("the cases")
}

impl Cases {
    /// Text about the path of a case.
    pub fn about(&self, case: &Case) -> [String; 3] {
        let path = &self.path[&case.path];
        let pause = case.pause.as_ref().map_or("none".into(), |[start, lasts]| format!("{lasts} at {start}"));
        [format!("{}, {}", path.rate, path.delay), case.queue.to_string(), pause]
    }

    fn scenario(&self, case: &Case, [from, to]: [Who; 2]) -> String {
        let path = &self.path[&case.path];
        let gate = case.pause.as_ref().map_or(String::new(), |[start, lasts]| {
            format!("[[hop.gate]]\nname = \"pause\"\nat = \"after-queue\"\nstart = \"{start}\"\nlasts = \"{lasts}\"")
        });
        let end = |who: Who| match who {
            Who::Kernel => format!("{{ linux = {{ cc = {:?} }} }}", case.cc),
            Who::Model => {
                let own = self.model[&case.cc].join(", ");
                format!("{{ tcp = {{ profile = \"linux-6.x\", cc = {:?}, {own} }} }}", case.cc)
            }
        };
        let transport =
            if from == to { end(from) } else { format!("{{ from = {}, to = {} }}", end(from), end(to)) };
        let Path { bytes, rate, delay } = path;
        let queue = case.queue;
        let over = Download::over(rate, delay).drop_tail(queue).faults(&gate);
        over.transport(&transport).bytes(bytes).limit("5 min").text()
    }

    /// Runs a case; with `look` the kernel's window is sampled at this interval, in milliseconds.
    pub fn play(&self, kernels: &uml::Kernels, case: &Case, ends: [Who; 2], look: Option<u64>) -> Played {
        let model = super::model(&self.scenario(case, ends), &[]);
        if ends == [Who::Model; 2] {
            let options = lab::once::Options { trace: true, shuffle_ties: None };
            return played(lab::run_once(&model, 0, options), &[]);
        }
        let look = look.map(base::Span::from_millis);
        let options = uml::Options { trace: true, look, ..uml::Options::default() };
        let never = std::sync::atomic::AtomicBool::new(false);
        let outcome = uml::once(&model, 0, kernels, &options, &never).unwrap_or_else(|e| panic!("{e}"));
        let history = outcome.facts[0].clone().filter(|_| look.is_some()).unwrap_or_default().history;
        played(outcome.ran, &history)
    }
}

/// Head of the table.
pub const HEAD: &str = "\
| control | rate, delay | queue | pause | kernel: time, resent | model: time, resent | | segments alike | the kernel then sends | the model |
|---|---|---:|---|---:|---:|---:|---:|---|---|";

impl Cases {
    /// Row of the table for a case.
    pub fn row(&self, kernels: &uml::Kernels, case: &Case) -> String {
        let kernel = self.play(kernels, case, [Who::Kernel; 2], None);
        let model = self.play(kernels, case, [Who::Model; 2], None);
        let [path, queue, pause] = self.about(case);
        let (same, apart) = alike(&kernel, &model);
        let (same, then) = match apart {
            None => (format!("all {same}"), Default::default()),
            Some(then) => (same.to_string(), then),
        };
        let share = 100.0 * (model.time / kernel.time - 1.0);
        format!(
            "| {} | {path} | {queue} | {pause} | {:.2} s, {} | {:.2} s, {} | {share:+.1} % | {same} | {} | {} |",
            case.cc, kernel.time, kernel.resent, model.time, model.resent, then[0], then[1]
        )
    }
}

fn played(mut ran: lab::once::RunOutcome, history: &[(f64, netns::facts::TcpInfo)]) -> Played {
    let records = ran.world.network.tracer().take();
    let get = |metric| ran.flows[0].get(metric).unwrap_or(f64::NAN);
    Played {
        time: get(Metric::DownloadTime),
        resent: get(Metric::SegmentsRetransmitted),
        lines: lines(&records, ran.world.flows[0].from.0, history),
    }
}

/// Number of equal segments before the first difference, and the next segment of each side; `None` if all are
/// equal.
pub fn alike(a: &Played, b: &Played) -> (usize, Option<[String; 2]>) {
    let data = |played: &Played| -> Vec<(f64, u64, u32, bool)> {
        let one = |line: &SenderEvent| match line.what {
            SenderEventKind::Data(seq, len, again) => Some((line.t, seq, len, again)),
            _ => None,
        };
        played.lines.iter().filter_map(one).collect()
    };
    let (a, b) = (data(a), data(b));
    let same = a.iter().zip(&b).take_while(|(x, y)| (x.1, x.2) == (y.1, y.2)).count();
    if same == a.len() && same == b.len() {
        return (same, None);
    }
    let say = |all: &[(f64, u64, u32, bool)]| match all.get(same) {
        None => "nothing more".to_owned(),
        Some((t, seq, _, true)) => format!("segment {} again, {t:.2} s", seq / 1448 + 1),
        Some((t, _, _, false)) => format!("new data, {t:.2} s"),
    };
    (same, Some([say(&a), say(&b)]))
}
