//! Comparison of the analyser's verdicts with the simulator's ground truth. Retransmissions correspond by time and
//! first byte.

use super::observed::{self, observed};
use super::scenarios::Case;
use analyse::flow::Retransmission;
use analyse::{Analyser, Flow, Limits, Need, Reason, RecoveryVerdict, join};
use base::event::Category;
use base::trace::Tracer;
use base::truth::{self, Cause};
use lab::once::run_recorded;
use scenario::{Model, NoFiles, Style, read_with};

/// Counts of verdicts by ground truth.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Retransmissions in the ground truth, and how many of them the analyser did not report.
    pub truths: u64,
    pub unseen: u64,
    /// Reported retransmissions that are not in the ground truth.
    pub invented: u64,
    /// Unneeded reported as unneeded; needed as unneeded; unneeded as needed; needed as needed.
    pub hits: u64,
    pub false_alarms: u64,
    pub misses: u64,
    pub rejections: u64,
    /// Reported as unknown: unneeded, needed.
    pub unknown: [u64; 2],
    /// Timeouts in the ground truth; reported correctly, wrongly, as unknown, or as another kind of retransmission.
    pub timeouts: u64,
    pub right: u64,
    pub wrong: u64,
    pub untold: u64,
    pub mistaken: u64,
    /// Other retransmissions reported as timeouts.
    pub false_timeouts: u64,
    /// Spurious timeouts with a reported cause, and number of correct causes.
    pub causes: u64,
    pub causes_right: u64,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, o: &Tally) {
        self.truths += o.truths;
        self.unseen += o.unseen;
        self.invented += o.invented;
        self.hits += o.hits;
        self.false_alarms += o.false_alarms;
        self.misses += o.misses;
        self.rejections += o.rejections;
        self.unknown[0] += o.unknown[0];
        self.unknown[1] += o.unknown[1];
        self.timeouts += o.timeouts;
        self.right += o.right;
        self.wrong += o.wrong;
        self.untold += o.untold;
        self.mistaken += o.mistaken;
        self.false_timeouts += o.false_timeouts;
        self.causes += o.causes;
        self.causes_right += o.causes_right;
    }
    fn share(part: u64, whole: u64) -> f64 {
        if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
    }
    /// Share of retransmissions reported as unneeded that were unneeded.
    pub fn precision(&self) -> f64 {
        Tally::share(self.hits, self.hits + self.false_alarms)
    }
    /// Share of unneeded retransmissions reported as unneeded; unknown counts as missed.
    pub fn recall(&self) -> f64 {
        Tally::share(self.hits, self.hits + self.misses + self.unknown[0])
    }
    /// Share of timeouts with a correct verdict; unknown counts as wrong.
    pub fn timeouts_right(&self) -> f64 {
        Tally::share(self.right, self.timeouts)
    }
}

/// Verdict that contradicts the ground truth.
#[derive(Clone, Debug)]
pub struct Odd {
    pub truth: truth::Retransmission,
    pub verdict: Option<Retransmission>,
}

/// Result of one scenario.
pub struct Meeting {
    /// With the sender's capture alone, and with both captures.
    pub alone: Tally,
    pub both: Tally,
    /// Wrong verdicts, with the sender's capture alone, and with both captures.
    pub odd: [Vec<Odd>; 2],
    /// Findings of the sender's capture alone.
    pub plain: Flow,
    /// For each retransmission in the sender's capture: likelihood of unneeded, whether it was unneeded, whether it
    /// was a timeout.
    pub weighed: Vec<(f64, bool, bool)>,
}

/// Findings of the sender's or the receiver's capture of a scenario.
pub fn captured(case: &Case, at_receiver: bool) -> Flow {
    let model = read(&case.text);
    let mut run = run_recorded(&model, 0, Tracer::of(&[Category::Packets]), None);
    let sightings = run.world.network.tracer().take_sightings();
    let ends = run.world.flows[0];
    let at = if at_receiver { ends.to.0 } else { ends.from.0 };
    let mut analyser = Analyser::new(Limits::default());
    observed(&sightings, at, 0, case.options.contains("DSACK")).iter().for_each(|o| analyser.push(o));
    analyser.finish().remove(0)
}

/// Verdicts from another capture compared with the ground truth: next to the receiver, or without the first packets.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Retransmissions in the capture; with a verdict, with a reason.
    pub seen: u64,
    pub judged: u64,
    pub reasoned: u64,
    /// Wrong verdicts.
    pub wrong: u64,
    /// Reported timeouts, and how many of them are false.
    pub timeouts: u64,
    pub invented: u64,
}

/// Ground truth of a scenario, and packets captured next to each end.
pub struct Truths {
    pub truths: Vec<truth::Retransmission>,
    pub here: Vec<analyse::Observation>,
    pub there: Vec<analyse::Observation>,
    /// Sender of the data, and its first sequence number.
    pub sender: std::net::IpAddr,
    pub first: u32,
}

/// Runs a scenario.
pub fn truths(case: &Case) -> Truths {
    let model = read(&case.text);
    let mut run = run_recorded(&model, 0, Tracer::of(&[Category::Packets]), None);
    let sightings = run.world.network.tracer().take_sightings();
    let ends = run.world.flows[0];
    let truths = run.world.network.ledgers()[0].verdicts();
    let at = |host| observed(&sightings, host, 0, case.options.contains("DSACK"));
    let (here, there) = (at(ends.from.0), at(ends.to.0));
    let sender = here.iter().find(|o| o.head.source == observed::PORTS[0]).expect("it sends").source;
    Truths { truths, here, there, sender, first: observed::FIRST[0] }
}

/// Verdicts from the capture next to the receiver, or next to the sender without its first packets.
pub fn elsewhere(case: &Case, at_receiver: bool, cut: usize) -> Elsewhere {
    elsewhere_with(case, at_receiver, &|place, _| place >= cut)
}

/// Verdicts from a capture with packets omitted; `keeps` has index and number of packets.
pub fn elsewhere_with(case: &Case, at_receiver: bool, keeps: &dyn Fn(usize, usize) -> bool) -> Elsewhere {
    let model = read(&case.text);
    let mut run = run_recorded(&model, 0, Tracer::of(&[Category::Packets]), None);
    let sightings = run.world.network.tracer().take_sightings();
    let ends = run.world.flows[0];
    let truths = run.world.network.ledgers()[0].verdicts();
    let at = |host| observed(&sightings, host, 0, case.options.contains("DSACK"));
    let (here, there) = (at(ends.from.0), at(ends.to.0));
    let seen = if at_receiver { &there } else { &here };
    let mut analyser = Analyser::new(Limits::default());
    let kept = seen.iter().enumerate().filter(|(place, _)| keeps(*place, seen.len()));
    kept.for_each(|(_, o)| analyser.push(o));
    let mut out = Elsewhere::default();
    let data = |o: &&analyse::Observation| o.payload > 0 && o.head.source == observed::PORTS[0];
    for flow in analyser.finish() {
        let Some(direction) = flow.directions.iter().find(|w| w.data_bytes > 0) else { continue };
        for r in &direction.retransmissions {
            let wire = direction.origin.wrapping_add(r.seq as u32);
            let packet = seen.iter().filter(data).find(|o| o.t == r.t && o.head.seq == wire);
            let sent =
                packet.and_then(|p| here.iter().filter(data).find(|o| (o.id, o.head.seq) == (p.id, wire)));
            let seq = u64::from(wire.wrapping_sub(observed::FIRST[0]));
            let Some(truth) = sent.and_then(|s| truths.iter().find(|t| t.t == s.t && t.seq == seq)) else {
                // Resegmented or merged: not found by its first byte.
                continue;
            };
            out.seen += 1;
            out.judged += u64::from(r.need != Need::Unknown);
            out.reasoned += u64::from(r.reason != Reason::Unknown);
            out.wrong += u64::from(r.need != Need::Unknown && (r.need == Need::Unneeded) != truth.unneeded);
            out.timeouts += u64::from(r.reason == Reason::Timeout);
            out.invented += u64::from(r.reason == Reason::Timeout && truth.cause != Cause::Timeout);
        }
    }
    out
}

/// Report from the sender's capture, and IP identifications of the packets that the receiver sent, and of those that
/// arrived.
pub fn replies(case: &Case) -> (Flow, Vec<u16>, Vec<u16>) {
    let model = read(&case.text);
    let mut run = run_recorded(&model, 0, Tracer::of(&[Category::Packets]), None);
    let sightings = run.world.network.tracer().take_sightings();
    let ends = run.world.flows[0];
    let at = |host| observed(&sightings, host, 0, case.options.contains("DSACK"));
    let numbers =
        |host| at(host).iter().filter(|o| o.head.source == observed::PORTS[1]).filter_map(|o| o.id).collect();
    let mut analyser = Analyser::new(Limits::default());
    at(ends.from.0).iter().for_each(|o| analyser.push(o));
    (analyser.finish().remove(0), numbers(ends.to.0), numbers(ends.from.0))
}

/// Runs a scenario and compares; the receiver counts packets in the IP identification, as Linux does.
pub fn meet(case: &Case) -> Meeting {
    meet_with(case, true)
}

/// Like `meet`; without `numbers` (IPv6, hosts that do not count) the receiver's packets have no IP identification.
pub fn meet_with(case: &Case, numbers: bool) -> Meeting {
    let model = read(&case.text);
    let mut run = run_recorded(&model, 0, Tracer::of(&[Category::Packets]), None);
    let sightings = run.world.network.tracer().take_sightings();
    let ends = run.world.flows[0];
    let truths = run.world.network.ledgers()[0].verdicts();
    let sack = case.options.contains("DSACK");
    let flows = |at: u32, keep: Limits| {
        let mut analyser = Analyser::new(keep);
        for mut o in observed(&sightings, at, 0, sack) {
            o.id = o.id.filter(|_| numbers || o.head.source == observed::PORTS[0]);
            analyser.push(&o);
        }
        analyser.finish().into_iter().enumerate().collect::<Vec<(usize, Flow)>>()
    };
    let keep = Limits { arrivals: true, ..Limits::default() };
    let mut here = flows(ends.from.0, keep);
    assert_eq!(here.len(), 1, "one connection: {}", case.text);
    let (alone, odd) = compare(&truths, &here[0].1);
    let plain = here[0].1.clone();
    let there = flows(ends.to.0, keep);
    let joined = join::join(&mut here, &there);
    assert!(joined == 1 || there.is_empty(), "{}", case.text);
    let (both, odd_both) = compare(&truths, &here[0].1);
    let weighed = weighed(&truths, &plain);
    Meeting { alone, both, odd: [odd, odd_both], plain, weighed }
}

/// Reported likelihoods with the ground truth.
fn weighed(truths: &[truth::Retransmission], flow: &Flow) -> Vec<(f64, bool, bool)> {
    let told = &flow.directions[0].retransmissions;
    let of = |t: &truth::Retransmission| {
        let from = told.partition_point(|v| v.t < t.t);
        let same = told[from..].iter().take_while(|v| v.t == t.t).find(|v| v.seq == t.seq)?;
        Some((same.likelihood?, t.unneeded, t.cause == Cause::Timeout))
    };
    truths.iter().filter_map(of).collect()
}

/// Packets of the sender's or receiver's capture of a scenario, one per line; retransmissions with their ground truth.
pub fn packets(case: &Case, there: bool) -> String {
    let model = read(&case.text);
    let mut run = run_recorded(&model, 0, Tracer::of(&[Category::Packets]), None);
    let sightings = run.world.network.tracer().take_sightings();
    let truths = run.world.network.ledgers()[0].verdicts();
    let mut out = String::new();
    let ends = run.world.flows[0];
    let at = if there { ends.to.0 } else { ends.from.0 };
    for o in observed(&sightings, at, 0, case.options.contains("DSACK")) {
        let h = &o.head;
        let own = |n: u32| n.wrapping_sub(observed::FIRST[0]);
        let stamps = h.timestamps.unwrap_or_default();
        let t = o.t.as_secs_f64();
        out += &if h.source == observed::PORTS[0] {
            let seq = own(h.seq);
            let truth = truths.iter().find(|x| x.t == o.t && x.seq == u64::from(seq));
            let said = truth.map_or(String::new(), |x| format!(" {} unneeded {}", x.cause, x.unneeded));
            format!("{t:.6} > {seq}+{} val {}{said}\n", o.payload, stamps.0)
        } else {
            let blocks: Vec<_> = h.blocks().iter().map(|b| (own(b.0), own(b.1))).collect();
            let id = o.id.unwrap_or_default();
            format!("{t:.6}     < {id} ack {} win {} ecr {} {blocks:?}\n", own(h.ack), h.window, stamps.1)
        };
    }
    out
}

/// The first cell of a scenario.
pub fn read(text: &str) -> Model {
    match read_with("random.toml", text.as_bytes(), &NoFiles, &[]) {
        Ok(scenario) => scenario.first().clone(),
        Err(wrong) => panic!("{}\n{text}", wrong.render(Style::default())),
    }
}

/// Compares ground truth and verdicts of the data's direction.
fn compare(truths: &[truth::Retransmission], flow: &Flow) -> (Tally, Vec<Odd>) {
    let direction = &flow.directions[0];
    let (mut tally, mut odd) = (Tally::default(), Vec::new());
    let mut verdicts = direction.retransmissions.iter().peekable();
    for truth in truths.iter().filter(|t| t.cause != Cause::WindowProbe) {
        tally.truths += 1;
        while verdicts.next_if(|v| (v.t, v.seq) < (truth.t, truth.seq) && v.t < truth.t).is_some() {
            tally.invented += 1;
        }
        let verdict = verdicts.next_if(|v| v.t == truth.t && v.seq == truth.seq).copied();
        let is_timeout = truth.cause == Cause::Timeout;
        tally.timeouts += u64::from(is_timeout);
        let Some(v) = verdict else {
            tally.unseen += 1;
            tally.mistaken += u64::from(is_timeout);
            odd.push(Odd { truth: *truth, verdict: None });
            continue;
        };
        let mut meets = true;
        match (truth.unneeded, v.need) {
            (true, Need::Unneeded) => tally.hits += 1,
            (true, Need::Needed) => (tally.misses, meets) = (tally.misses + 1, false),
            (false, Need::Unneeded) => (tally.false_alarms, meets) = (tally.false_alarms + 1, false),
            (false, Need::Needed) => tally.rejections += 1,
            (unneeded, Need::Unknown) => {
                tally.unknown[usize::from(!unneeded)] += 1;
                meets = false;
            }
        }
        match (is_timeout, v.reason == Reason::Timeout) {
            (true, true) => {
                let told = direction.timeouts.iter().find(|t| t.t == v.t && t.seq == v.seq);
                let kind = told.map_or(RecoveryVerdict::Unknown, |t| t.kind);
                match (truth.unneeded, kind) {
                    (_, RecoveryVerdict::Unknown) => tally.untold += 1,
                    (true, RecoveryVerdict::Spurious) | (false, RecoveryVerdict::Genuine) => tally.right += 1,
                    _ => tally.wrong += 1,
                }
                if let (Some(is), Some(said)) = (truth.spurious, told.and_then(|t| t.cause)) {
                    tally.causes += 1;
                    tally.causes_right += u64::from(is == said);
                }
            }
            (true, false) => (tally.mistaken, meets) = (tally.mistaken + 1, false),
            (false, true) => (tally.false_timeouts, meets) = (tally.false_timeouts + 1, false),
            (false, false) => {}
        }
        if !meets {
            odd.push(Odd { truth: *truth, verdict });
        }
    }
    tally.invented += verdicts.count() as u64;
    (tally, odd)
}
